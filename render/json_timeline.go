package render

import (
	"github.com/vreport/vreport/analyze"
)

func newWireTimeline(t *analyze.Timeline) wireTimeline {
	w := wireTimeline{
		Title: t.Title, From: wireTime(t.From, t.Relative), Relative: t.Relative, Counted: t.Counted,
		Series: []wireSeries{}, Events: []wireEvent{},
	}
	if !t.Counted {
		w.Step = wireFloat(t.Step)
	}
	for _, s := range t.Series {
		w.Series = append(w.Series, newWireSeries(s))
	}
	for _, e := range t.Events {
		w.Events = append(w.Events, newWireEvent(e, t.Relative))
	}
	return w
}

func newWireEvent(e analyze.Event, relative bool) wireEvent {
	ev := wireEvent{At: wireTime(e.At, relative), Kind: e.Kind, Text: e.Text, Source: e.Source, Count: e.Count}
	if e.To != 0 {
		ev.To = wireTime(e.To, relative)
	}
	return ev
}

func newWireSeries(s analyze.TimelineSeries) wireSeries {
	w := wireSeries{
		Metric: s.Metric, Stat: s.Stat, Label: s.Label, By: wireBy(s.By), Unit: wireUnit(s.Unit), Side: wireSide(s.Side),
		Panel: s.Panel, PromQL: s.PromQL, Values: make([]*float64, len(s.Values)),
	}
	for i, v := range s.Values {
		w.Values[i] = wireSeriesValue(s.Unit, v)
	}
	return w
}

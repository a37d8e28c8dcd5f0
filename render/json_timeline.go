package render

import (
	"github.com/vreport/vreport/analyze"
)

func newWireTimeline(t *analyze.Timeline) wireTimeline {
	w := wireTimeline{
		Title: t.Title, From: wireTime(t.From, t.Relative), Relative: t.Relative, Step: wireFloat(t.Step),
		Series: []wireSeries{}, Events: []wireEvent{},
	}
	for _, s := range t.Series {
		w.Series = append(w.Series, newWireSeries(s))
	}
	for _, e := range t.Events {
		ev := wireEvent{At: wireTime(e.At, t.Relative), Kind: e.Kind, Text: e.Text, Source: e.Source}
		if e.To != 0 {
			ev.To = wireTime(e.To, t.Relative)
		}
		w.Events = append(w.Events, ev)
	}
	return w
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

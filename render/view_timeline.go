package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// timelineView is a chart of linked panels a time axis; of many, the first few
// are shown and the others folded.
type timelineView struct{ Timelines, Folded []timelinePart }

// maxOpenTimelines is how many timelines are shown without a click.
const maxOpenTimelines = 3

type timelinePart struct {
	Figure  *Figure
	Events  *Table
	Queries *Table
}

func viewTimeline(c *pageContext, value any) (any, error) {
	t, err := valueAs[analyze.Timelines](value)
	if err != nil {
		return nil, err
	}
	var v timelineView
	for i, tl := range t.Timelines {
		id := fmt.Sprintf("timeline-%d", i+1)
		panels := panelsOf(tl)
		if len(panels) == 0 {
			continue
		}
		ch, err := timelineChart(tl, panels)
		if err != nil {
			return nil, err
		}
		f := Figure{ID: id, Title: tl.Title, Height: fmt.Sprintf("time%d", len(panels)),
			Caption: timelineNote(tl, panels), Legend: timelineLegend(id, panels), Tables: []Panel{{Table: seriesTable(id, panels)}, {Table: valuesTable(id, tl, panels)}}}
		part := timelinePart{c.draw(f, ch), eventsTable(id, tl), timelineQueries(id, panels)}
		if len(v.Timelines) < maxOpenTimelines {
			v.Timelines = append(v.Timelines, part)
		} else {
			v.Folded = append(v.Folded, part)
		}
	}
	return &v, nil
}

func timelineNote(t *analyze.Timeline, panels []timePanel) string {
	s := fmt.Sprintf("A step is %s.", FormatSpan(t.Step))
	if t.Counted {
		s = "The axis counts time slices, whose length no file states."
	} else if t.Aligned {
		s += " Each side counts from its own start; one colour a side, the second dashed, thinner lines are the further figures."
	} else if t.Relative {
		s += " Times count from an arbitrary origin."
	} else {
		s += " Times are UTC."
	}
	if t.Points != "" {
		s += " " + t.Points
	}
	left := len(t.Series)
	for _, p := range panels {
		left -= len(p.series)
	}
	if left > 0 {
		s += fmt.Sprintf(" %d more series are in the JSON.", left)
	}
	kinds := map[string]bool{}
	for _, e := range t.Events {
		kinds[e.Kind] = true
	}
	var lines []string
	for _, k := range []struct{ kind, word string }{{"restart", "restarts"}, {"oom", "out of memory (oom)"}, {"died", "an engine died"}, {"timeout", "timeouts"}, {"5xx", "answers with 5xx"}, {analyze.EventPartial, "a slice in which the run ended (partial)"}} {
		if kinds[k.kind] {
			lines = append(lines, k.word)
		}
	}
	if lines != nil {
		s += " Dashed lines: " + strings.Join(lines, ", ") + "."
	}
	if kinds[analyze.EventIncident] {
		s += " Shaded: the incident."
	}
	if kinds["gap"] {
		s += " Grey areas: no data."
	}
	return s
}

// timelineTime formats a moment of a timeline's axis.
func timelineTime(t *analyze.Timeline, ns int64) string {
	if t.Counted {
		return fmt.Sprintf("slice %d", ns/1e9)
	}
	return FormatTime(ns, t.Relative)
}

// A timePanel is the series that share one y axis: one unit, and never two
// sides' times.
type timePanel struct {
	key    string
	title  string
	unit   serving.Unit
	series []timeSeries
}

type timeSeries struct {
	analyze.TimelineSeries
	index int // in the chart
	name  string
}

// maxPanels bounds the panels of a chart, as far as the style sheet has heights.
const maxPanels = 10

// panelOrder is how panels stand, top to bottom: what users get, what they feel,
// what waits, what memory does.
var panelOrder = []string{"throughput", "latency", "requests", "kv", "preemptions", "gpu"}

// panelsOf groups a timeline's series into panels; within one they keep the
// order they come in.
func panelsOf(t *analyze.Timeline) []timePanel {
	var out []timePanel
	many := manyLabels(t)
	sorted := slices.Clone(t.Series)
	rank := func(s analyze.TimelineSeries) int {
		if s.Unit == serving.Seconds {
			return 1
		}
		if i := slices.Index(panelOrder, s.Panel); i >= 0 {
			return i
		}
		return len(panelOrder)
	}
	slices.SortStableFunc(sorted, func(a, b analyze.TimelineSeries) int { return rank(a) - rank(b) })
	for _, s := range sorted {
		key, title := panelKey(s)
		i := slices.IndexFunc(out, func(p timePanel) bool { return p.key == key })
		if i < 0 {
			if len(out) == maxPanels {
				continue
			}
			i = len(out)
			out = append(out, timePanel{key: key, title: title, unit: s.Unit})
		}
		out[i].series = append(out[i].series, timeSeries{TimelineSeries: s, name: seriesTitle(s, many)})
	}
	n := 0
	for i := range out {
		if out[i].unit == serving.Seconds {
			out[i].nameLatency()
		}
		for k := range out[i].series {
			out[i].series[k].index = n
			n++
		}
	}
	return out
}

func panelKey(s analyze.TimelineSeries) (key, title string) {
	switch {
	case s.Unit == serving.Seconds:
		return latencyScale(s.Metric) + "|" + string(s.Side), "" // named after its series
	case s.Unit == serving.PerSecond:
		return s.Panel + "|" + s.Metric, figureTitle(s.Metric)
	case s.Unit == serving.Share && s.Panel == "kv":
		return "kv", "KV cache"
	case s.Unit == serving.Share:
		return s.Panel + "|share|" + s.Metric, figureTitle(s.Metric)
	}
	key = s.Panel + "|" + fmt.Sprint(s.Unit)
	if s.Panel == "requests" {
		return key, "Requests"
	}
	return key + "|" + s.Metric, figureTitle(s.Metric)
}

// latencyScale keeps apart what differs by orders of magnitude: beside an E2E of
// seconds a TPOT of milliseconds is a flat line.
func latencyScale(metric string) string {
	switch serving.MetricKey(metric) {
	case serving.TTFT, serving.Queue, serving.Prefill:
		return "first token"
	case serving.TPOT, serving.ITL, serving.Normalized:
		return "a token"
	}
	return "whole"
}

// nameLatency names a panel of times after the metrics in it and their side.
func (p *timePanel) nameLatency() {
	var names []string
	for _, s := range p.series {
		if n := figureTitle(s.Metric); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	p.title = strings.Join(names, ", ") + ", " + sideWord(p.series[0].Side)
}

func manyLabels(t *analyze.Timeline) bool {
	return slices.ContainsFunc(t.Series, func(s analyze.TimelineSeries) bool { return s.Label != t.Series[0].Label })
}

func seriesTitle(s analyze.TimelineSeries, many bool) string {
	name := strings.TrimSpace(figureTitle(s.Metric) + " " + s.Stat)
	if s.Unit == serving.Seconds && s.Side == serving.ServerSide {
		name += " (server)"
	}
	if len(s.By) > 0 {
		name += ", " + FormatTerms(s.By)
	}
	if many && s.Label != "" {
		name += " · " + s.Label
	}
	return name
}

func timelineLegend(id string, panels []timePanel) *Legend {
	l := &Legend{Charts: id, Label: "Series"}
	for _, p := range panels {
		for k, s := range p.series {
			l.Items = append(l.Items, LegendItem{Series: seriesName(s.index), Label: s.name, Swatch: swatch(p.color(k)), On: k < 8})
		}
	}
	return l
}

// color keeps neighbours in a panel apart, and starts panels that follow each
// other on different colours; only a panel of many series needs dashes.
func (p timePanel) color(k int) int {
	if h := p.series[k].Half; h != analyze.NoHalf {
		return look(h, 0)
	}
	return (p.series[0].index+k)%paletteOf + k/paletteOf*paletteOf
}

// width tells apart the series of one side, which share their colour: the first
// of each is the widest.
func (p timePanel) width(k int) float32 {
	if p.series[k].Half == analyze.NoHalf {
		return 1.7
	}
	before := 0
	for _, s := range p.series[:k] {
		if s.Half == p.series[k].Half {
			before++
		}
	}
	return max(.8, 2.2-.7*float32(before))
}

// seriesTable sums each series up by what can be read off the chart.
func seriesTable(id string, panels []timePanel) *Table {
	t := &Table{ID: id + "-series", Caption: "Series: lowest, highest and last value", Sortable: true, Head: []Head{col("Series"), col("Side"), numCol("min", "", ""), numCol("max", "", ""), numCol("last", "", ""), numCol("n", "steps", "")}}
	for _, p := range panels {
		for _, s := range p.series {
			lo, hi, last, n := math.NaN(), math.NaN(), math.NaN(), 0
			for _, v := range s.Values {
				if math.IsNaN(v) {
					continue
				}
				if n == 0 || v < lo {
					lo = v
				}
				if n == 0 || v > hi {
					hi = v
				}
				last = v
				n++
			}
			v := func(x float64) Cell { return valueCell(s.Unit, serving.Opt[float64]{V: x, OK: finite(x)}) }
			t.Rows = append(t.Rows, Row{Cells: []Cell{text(s.name), text(orMissing(string(s.Side))), v(lo), v(hi), v(last), number(FormatCount(int64(n)), fmt.Sprint(n))}})
		}
	}
	return t
}

// maxTableSteps and maxTableSeries bound the table of values; the JSON has all.
const (
	maxTableSteps  = 40
	maxTableSeries = 12
)

// valuesTable shows the series at some of the steps.
func valuesTable(id string, tl *analyze.Timeline, panels []timePanel) *Table {
	every := max(1, (tl.N+maxTableSteps-1)/maxTableSteps)
	t := &Table{ID: id + "-values", Caption: "Values", Head: []Head{{Label: "Time"}}}
	if every > 1 {
		t.Caption += fmt.Sprintf(", every %d. step; the JSON has all", every)
	}
	var list []timeSeries
	for _, p := range panels {
		list = append(list, p.series...)
	}
	if len(list) > maxTableSeries {
		t.Caption += fmt.Sprintf("; the first %d of %d series", maxTableSeries, len(list))
		list = list[:maxTableSeries]
	}
	for _, s := range list {
		t.Head = append(t.Head, metricCol(s.name, s.Unit))
	}
	for i := 0; i < tl.N; i += every {
		at := tl.From + int64(float64(i)*tl.Step*1e9)
		row := Row{Cells: []Cell{{Text: timelineTime(tl, at), Raw: fmt.Sprint(at)}}}
		for _, s := range list {
			v := serving.None[float64]()
			if i < len(s.Values) && finite(s.Values[i]) {
				v = serving.Some(s.Values[i])
			}
			row.Cells = append(row.Cells, valueCell(s.Unit, v))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// maxTableEvents bounds the table of events.
const maxTableEvents = 60

func gravest(all []analyze.Event, most int) []analyze.Event {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b analyze.Event) int { return graveness(a) - graveness(b) })
	sorted = sorted[:most]
	slices.SortStableFunc(sorted, func(a, b analyze.Event) int { return cmp.Compare(a.At, b.At) })
	return sorted
}

func eventsTable(id string, tl *analyze.Timeline) *Table {
	if len(tl.Events) == 0 {
		return nil
	}
	t := &Table{ID: id + "-events", Caption: "Events", Sortable: true, Head: []Head{col("Time"), col("Until"), col("Kind"), col("What"), col("Source")}}
	events := tl.Events
	if len(events) > maxTableEvents {
		// The gravest first, each kind in order of time.
		t.Caption += fmt.Sprintf(": the gravest %d of %d; the JSON has all", maxTableEvents, len(events))
		events = gravest(events, maxTableEvents)
	}
	for _, e := range events {
		until := faint(Missing)
		if e.To > 0 {
			until = text(timelineTime(tl, e.To))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: timelineTime(tl, e.At), Raw: fmt.Sprint(e.At)}, until, {Text: e.Kind, Pill: "warn"}, wrapped(e.Text), text(orMissing(e.Source))}})
	}
	return t.dropEmpty()
}

func timelineQueries(id string, panels []timePanel) *Table {
	t := &Table{ID: id + "-promql", Caption: "PromQL of each series", Head: []Head{col("Series"), col("PromQL")}}
	for _, p := range panels {
		for _, s := range p.series {
			if s.PromQL != "" {
				t.Rows = append(t.Rows, Row{Cells: []Cell{text(s.name), code(s.PromQL)}})
			}
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

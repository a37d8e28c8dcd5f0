package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// latencyView holds the percentile tables and the distributions, one part a
// side: a client's times and a server's never share a table or a chart.
type latencyView struct{ Sides []latencySide }

type latencySide struct {
	Title   string // "" where there is one side only
	Switch  *Switch
	Legend  *Legend
	Figures []*Figure
	Tables  []Panel
}

// maxCurves bounds the sources drawn in one chart; maxShown those that are on
// at first.
const (
	maxCurves = 24
	maxShown  = 5
)

var sides = []struct {
	side  serving.Side
	title string
}{
	{serving.Client, "Measured at the client"},
	{serving.ServerSide, "Measured at the server"},
	{serving.UnknownSide, "Measured where the data does not say"},
}

func viewLatency(c *pageContext, value any) (any, error) {
	l, err := valueAs[analyze.Latency](value)
	if err != nil {
		return nil, err
	}
	var v latencyView
	for _, s := range sides {
		var groups []analyze.LatencyGroup
		for _, g := range l.Groups {
			if g.Side == s.side || s.side == serving.UnknownSide && g.Side == "" {
				groups = append(groups, g)
			}
		}
		if len(groups) == 0 {
			continue
		}
		part, err := c.latencySide(string(s.side), groups)
		if err != nil {
			return nil, err
		}
		if len(part.Tables) == 0 {
			continue
		}
		part.Title = s.title
		v.Sides = append(v.Sides, part)
	}
	return &v, nil
}

func (c *pageContext) latencySide(side string, groups []analyze.LatencyGroup) (latencySide, error) {
	var v latencySide
	id := "latency-" + side
	metrics := metricsOf(groups)
	switch {
	case len(metrics) == 0:
	case len(groups) == 1:
		v.Tables = []Panel{{Table: c.oneSourceTable(id, groups[0])}}
	default:
		for _, m := range metrics {
			v.Tables = append(v.Tables, Panel{Group: id, Key: string(m.Key), Title: m.Title, Table: c.manySourcesTable(id, m, groups)})
		}
	}
	var options []SwitchOption
	for _, m := range metrics {
		options = append(options, SwitchOption{Key: string(m.Key), Label: m.Title})
	}
	if err := c.distributions(&v, id, metrics, groups); err != nil {
		return v, err
	}
	if len(v.Figures) > 0 || len(groups) > 1 {
		v.Switch = newSwitch(id, "Metric", options...)
	}
	if v.Switch == nil { // one metric: nothing to switch
		for i := range v.Tables {
			v.Tables[i].Key = ""
		}
	}
	if t := lengthsTable(id, groups); t != nil {
		v.Tables = append(v.Tables, Panel{Table: t})
	}
	return v, nil
}

// lengthsTable has the lengths of the requests, without which their latencies
// say little; nil where no source knows them.
func lengthsTable(id string, groups []analyze.LatencyGroup) *Table {
	t := &Table{ID: id + "-lengths", Caption: "Lengths of the same requests, in tokens", Sortable: true, Dense: true, Groups: []HeadGroup{{"", 1}}, Head: []Head{col("Source")}}
	keys := []serving.MetricKey{serving.PromptTokens, serving.OutputTokens, serving.CachedTokens}
	for _, k := range keys {
		t.Groups = append(t.Groups, HeadGroup{metricTitle(k), 5})
		t.Head = append(t.Head, numCol("mean", "", ""), numCol("p50", "", ""), numCol("p95", "", ""), numCol("max", "", ""), numCol("n", "", ""))
	}
	for _, g := range groups {
		row, known := Row{Cells: []Cell{text(g.Label)}}, false
		for _, k := range keys {
			d := g.Dists.Of(k)
			if d == nil {
				d = &analyze.Dist{Metric: k}
			} else {
				known = true
			}
			row.Cells = append(row.Cells, tokensCell(valueCell(serving.Tokens, d.Mean)), tokensCell(quantileCell(d, .5, false)), tokensCell(quantileCell(d, .95, false)), tokensCell(valueCell(serving.Tokens, d.Max)), countCell(d.Count))
		}
		if known {
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t.dropEmpty().collectKeys()
}

// tokensCell leaves the unit to the heading.
func tokensCell(c Cell) Cell {
	c.Text, _, _ = strings.Cut(c.Text, " token")
	return c
}

// metricsOf lists the durations that any source has, in metric order.
func metricsOf(groups []analyze.LatencyGroup) []serving.Metric {
	var out []serving.Metric
	for _, m := range serving.Metrics {
		if m.Unit == serving.Seconds && slices.ContainsFunc(groups, func(g analyze.LatencyGroup) bool { return g.Dists.Of(m.Key) != nil }) {
			out = append(out, m)
		}
	}
	return out
}

var shownQuantiles = []float64{.5, .9, .95, .99, .999}

func latencyHead(first string) []Head {
	h := []Head{col(first), metricCol("mean", serving.Seconds)}
	for _, p := range shownQuantiles {
		h = append(h, metricCol(serving.QuantileName(p), serving.Seconds))
	}
	return append(h, metricCol("max", serving.Seconds), numCol("n", "", ""))
}

// latencyCells are the figures of one distribution, as latencyHead heads them.
func latencyCells(d *analyze.Dist) []Cell {
	u := unitOf(d.Metric)
	cells := []Cell{valueCell(u, d.Mean)}
	for _, p := range shownQuantiles {
		cells = append(cells, quantileCell(d, p, true))
	}
	return append(cells, valueCell(u, d.Max), countCell(d.Count))
}

// oneSourceTable has a row a metric.
func (c *pageContext) oneSourceTable(id string, g analyze.LatencyGroup) *Table {
	t := &Table{ID: id + "-table", Caption: sourceCaption(g), Sortable: true, Head: latencyHead("Metric")}
	for _, d := range g.Dists {
		m, ok := serving.MetricOf(d.Metric)
		if !ok || m.Unit != serving.Seconds {
			continue
		}
		t.Rows = append(t.Rows, Row{Cells: append([]Cell{{Text: m.Title, Sub: metricNote(d, m)}}, c.doubtsAbout(g).latency(m.Key, latencyCells(d))...)})
	}
	return t.dropEmpty("n").collectKeys()
}

// manySourcesTable has a row a run or trace.
func (c *pageContext) manySourcesTable(id string, m serving.Metric, groups []analyze.LatencyGroup) *Table {
	t := &Table{ID: id + "-" + string(m.Key), Caption: m.Title + ": " + m.Long + ", " + sideWord(groups[0].Side), Sortable: true, Head: latencyHead("Source")}
	t.Head = append(t.Head, numCol("sent", "", ""), numCol("failed", "", ""))
	for _, g := range groups {
		d := g.Dists.Of(m.Key)
		if d == nil {
			continue
		}
		cells := append([]Cell{sourceCell(g, d)}, c.doubtsAbout(g).latency(m.Key, latencyCells(d))...)
		t.Rows = append(t.Rows, Row{Cells: append(cells, countCell(g.Counts.Sent), failedCell(g.Counts.Failed))})
	}
	return t.dropEmpty("n", "sent", "failed").collectKeys()
}

func sourceCell(g analyze.LatencyGroup, d *analyze.Dist) Cell {
	c := Cell{Text: g.Label, Sub: originWord(d)}
	if g.Run != nil {
		if s := FormatLoad(g.Run.Run.Load, g.Counts.Sent); s != Missing {
			c.Sub = strings.TrimPrefix(strings.TrimSuffix(s+", "+c.Sub, ", "), ", ")
		}
	}
	return c
}

// originWord says where figures are from, unless from requests as they are.
func originWord(d *analyze.Dist) string {
	var out []string
	switch d.Origin {
	case analyze.FromFile:
		out = append(out, "the file's own figures")
	case analyze.FromHistogram:
		out = append(out, "from a histogram")
	}
	if d.Gaps == "chunk" {
		out = append(out, "gaps between chunks, not tokens")
	}
	if d.RelError > 0 {
		out = append(out, "± "+FormatShare(d.RelError))
	}
	return strings.Join(out, ", ")
}

func metricNote(d *analyze.Dist, m serving.Metric) string {
	if s := originWord(d); s != "" {
		return m.Long + ", " + s
	}
	return m.Long
}

func sourceCaption(g analyze.LatencyGroup) string {
	s := g.Label + ", " + sideWord(g.Side)
	if g.Counts.Sent.OK {
		s += fmt.Sprintf(": %s sent, %s completed, %s failed", FormatCount(g.Counts.Sent.V), FormatCountOpt(g.Counts.Completed), FormatCountOpt(g.Counts.Failed))
	}
	return s
}

func sideWord(s serving.Side) string {
	switch s {
	case serving.Client:
		return "at the client"
	case serving.ServerSide:
		return "at the server"
	}
	return "side unknown"
}

// distributions adds the CDF and the histogram of every metric whose
// distribution is known, all sources in one chart.
func (c *pageContext) distributions(v *latencySide, id string, metrics []serving.Metric, groups []analyze.LatencyGroup) error {
	cdf := &chart{Variants: map[string]object{}}
	hist := &chart{Variants: map[string]object{}}
	fc := Figure{ID: id + "-cdf", Title: "CDF", Caption: "Share of requests at or below x.", Height: "m", Group: id}
	fh := Figure{ID: id + "-hist", Title: "Histogram", Caption: "Share of requests in each bin, up to p99.9.", Height: "m", Group: id}
	drawn := groups
	if len(drawn) > maxCurves {
		drawn = drawn[:maxCurves]
		fc.Caption += fmt.Sprintf(" The first %d of %d sources; the table has all.", maxCurves, len(groups))
	}
	for _, g := range drawn {
		cdf.Names = append(cdf.Names, g.Label)
		hist.Names = append(hist.Names, g.Label)
	}
	for _, m := range metrics {
		curves := curvesOf(m.Key, drawn)
		if len(curves) == 0 {
			continue
		}
		a, err := cdfOption(m, curves, c.limits(m.Key))
		if err != nil {
			return err
		}
		bins := binsOf(curves)
		b, err := histOption(m, curves, bins)
		if err != nil {
			return err
		}
		cdf.Variants[string(m.Key)], hist.Variants[string(m.Key)] = a, b
		if cdf.First == "" {
			cdf.First, hist.First = string(m.Key), string(m.Key)
		}
		fc.Tables = append(fc.Tables, Panel{Group: id, Key: string(m.Key), Title: m.Title, Table: cdfTable(fc.ID, m, curves)})
		fh.Tables = append(fh.Tables, Panel{Group: id, Key: string(m.Key), Title: m.Title, Table: histTable(fh.ID, m, curves, bins)})
	}
	if len(cdf.Variants) == 0 {
		return nil
	}
	v.Figures = []*Figure{c.draw(fc, cdf), c.draw(fh, hist)}
	v.Legend = curveLegend(fc.ID+" "+fh.ID, drawn)
	return nil
}

// curveLegend lists the sources that have a curve; of many only some are on at
// first, spread over the list.
func curveLegend(charts string, groups []analyze.LatencyGroup) *Legend {
	var at []int
	for i, g := range groups {
		if slices.ContainsFunc(g.Dists, func(d *analyze.Dist) bool { return len(d.CDF) > 0 }) {
			at = append(at, i)
		}
	}
	if len(at) < 2 {
		return nil
	}
	on := spread(len(at), maxShown)
	l := &Legend{Charts: charts, Label: "Sources in the charts"}
	for k, i := range at {
		l.Items = append(l.Items, LegendItem{Series: seriesName(i), Label: groups[i].Label, Swatch: swatch(look(groups[i].Half, i)), On: on[k]})
	}
	return l
}

// spread chooses k of n positions, evenly, the first and the last among them.
func spread(n, k int) []bool {
	out := make([]bool, n)
	if n <= k {
		for i := range out {
			out[i] = true
		}
		return out
	}
	for i := range k {
		out[i*(n-1)/(k-1)] = true
	}
	return out
}

// limits are the objectives of a metric that hold for all requests.
func (c *pageContext) limits(k serving.MetricKey) []serving.SLO {
	runs := analyze.Value[analyze.Runs](c.rep)
	if runs == nil {
		return nil
	}
	var out []serving.SLO
	for _, r := range runs.Runs {
		for _, s := range r.SLO {
			slo, err := serving.ParseSLO(s.Expr)
			if err != nil || slo.Metric != k || len(slo.By) > 0 || slices.ContainsFunc(out, func(o serving.SLO) bool { return o.Expr == slo.Expr }) {
				continue
			}
			out = append(out, slo)
		}
	}
	return out
}

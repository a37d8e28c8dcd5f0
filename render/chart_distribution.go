package render

import (
	"fmt"
	"math"
	"sort"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// A curve is one source's distribution: its values at cube.CDFGrid, in
// milliseconds.
type curve struct {
	series int
	look   int
	label  string
	dist   *analyze.Dist
	at     []float64
}

func curvesOf(k serving.MetricKey, groups []analyze.LatencyGroup) []curve {
	var out []curve
	for i, g := range groups {
		d := g.Dists.Of(k)
		if d == nil || len(d.CDF) != len(cube.CDFGrid) {
			continue
		}
		c := curve{series: i, look: look(g.Half, i), label: g.Label, dist: d, at: make([]float64, len(d.CDF))}
		for j, v := range d.CDF {
			c.at[j] = ms(v)
		}
		out = append(out, c)
	}
	return out
}

// share is the share of values at or below v: the grid's quantiles joined by
// straight lines.
func (c curve) share(v float64) float64 {
	i := sort.SearchFloat64s(c.at, v)
	switch {
	case i == len(c.at):
		return 1
	case c.at[i] == v:
		for i+1 < len(c.at) && c.at[i+1] == v {
			i++
		}
		return cube.CDFGrid[i]
	case i == 0:
		return 0
	}
	lo, hi := c.at[i-1], c.at[i]
	return cube.CDFGrid[i-1] + (cube.CDFGrid[i]-cube.CDFGrid[i-1])*(v-lo)/(hi-lo)
}

// spanOf is the range of curves that a chart shows: from the smallest to the
// p99.9 of the largest, so that one stray value does not flatten the rest.
func spanOf(curves []curve) (lo, hi float64, log bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	top := sort.SearchFloat64s(cube.CDFGrid, .999)
	for _, c := range curves {
		for _, v := range c.at {
			if v > 0 {
				lo = min(lo, v)
				break
			}
		}
		hi = max(hi, c.at[top])
	}
	if !(lo < hi) {
		if math.IsInf(lo, 0) {
			return 0, 1, false
		}
		return lo * .9, lo * 1.1, false
	}
	return lo, hi, hi/lo > 4
}

func cdfOption(m serving.Metric, curves []curve, limits []serving.SLO) (object, error) {
	lo, hi, log := spanOf(curves)
	kind, title := "value", m.Title
	var x axis
	if log {
		kind, title = "log", m.Title+", logarithmic"
		lo, hi = niceBounds(lo, hi)
	} else {
		pad := (hi - lo) * .04
		lo, hi = max(0, lo-pad), hi+pad
	}
	x = axis{name: title, kind: kind, format: "ms", min: sig4(lo), max: sig4(hi)}
	y := axis{kind: "value", format: "pct0", min: 0, max: 1}
	c := charts.NewLine()
	c.SetGlobalOptions(charts.WithXAxisOpts(x.x()), charts.WithYAxisOpts(y.y()), tooltip("axis", "tip:cdf"), charts.WithGridOpts(grid(46, 20, 14, 46)))
	series := []object{}
	for i, k := range curves {
		color := seriesColor(k.look)
		c.AddSeries(seriesName(k.series), nil, withData(k.points(log)),
			charts.WithLineStyleOpts(opts.LineStyle{Color: color, Width: 2, Type: seriesDash(k.look)}),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: color}),
			charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false), Symbol: "none"}))
		p := object{"clip": true}
		if i == 0 {
			if line := limitLines(limits, "xAxis", lo, hi); line != nil {
				p["markLine"] = line
			}
		}
		series = append(series, p)
	}
	return build(c, object{"xAxis": []object{x.patch()}, "yAxis": []object{quarters(y.patch())}, "series": series,
		"tooltip": object{"axisPointer": object{"label": object{"show": true, "formatter": "fmt:msPointer"}}},
		"aria":    aria(fmt.Sprintf("Cumulative distribution of %s of %d sources.", m.Title, len(curves)))})
}

// quarters puts the ticks of a share's axis at round places.
func quarters(p object) object {
	p["interval"] = .25
	return p
}

// points are the curve's corners: every second one in the middle, all of them in
// the tails, and none that lies on a spot with its neighbours.
func (c curve) points(log bool) [][]any {
	var out [][]any
	last := len(c.at) - 1
	for i, v := range c.at {
		if !drawable(v, log) || i%2 == 1 && cube.CDFGrid[i] > .1 && cube.CDFGrid[i] < .9 {
			continue
		}
		if i > 0 && i < last && c.at[i-1] == v && c.at[i+1] == v {
			continue
		}
		out = append(out, []any{sig4(v), cube.CDFGrid[i]})
	}
	return out
}

// limitLines marks the limits of objectives that lie within an axis.
func limitLines(limits []serving.SLO, axisKey string, lo, hi float64) object {
	var data []object
	for _, l := range limits {
		if v := ms(l.Limit); v >= lo && v <= hi {
			data = append(data, object{axisKey: sig4(v), "label": object{"formatter": "SLO " + FormatLimit(unitOf(l.Metric), l.Limit)}})
		}
	}
	if data == nil {
		return nil
	}
	return object{"silent": true, "symbol": "none", "data": data,
		"lineStyle": object{"color": inkSLO, "type": "dashed", "width": 1.5},
		"label":     object{"color": inkSLO, "position": "insideEndTop", "fontSize": 11}}
}

// bins are the edges of a histogram's bins, in milliseconds.
type bins []float64

const numBins = 28

func binsOf(curves []curve) bins {
	lo, hi, log := spanOf(curves)
	out := make(bins, numBins+1)
	for i := range out {
		f := float64(i) / numBins
		if log {
			out[i] = lo * math.Pow(hi/lo, f)
		} else {
			out[i] = lo + (hi-lo)*f
		}
	}
	return out
}

// shares are the shares of a curve in each bin; the first bin holds what is
// below it as well, so that only the far tail is missing.
func (b bins) shares(c curve) []float64 {
	out := make([]float64, len(b)-1)
	before := 0.0
	for i := range out {
		s := c.share(b[i+1])
		out[i] = s - before
		before = s
	}
	return out
}

func histOption(m serving.Metric, curves []curve, b bins) (object, error) {
	labels := make([]string, len(b)-1)
	for i := range labels {
		labels[i] = FormatLimit(serving.Seconds, roughly(b[i])/1000)
	}
	x := axis{name: m.Title + ", from this value on", kind: "category", labels: labels}
	y := axis{kind: "value", format: "pct0", min: 0}
	g := charts.WithGridOpts(grid(46, 20, 14, 46))
	var c builder
	series := []object{}
	if len(curves) == 1 {
		bar := charts.NewBar()
		bar.SetGlobalOptions(charts.WithXAxisOpts(x.x()), charts.WithYAxisOpts(y.y()), tooltip("axis", "tip:bins"), g)
		bar.SetXAxis(labels)
		bar.AddSeries(seriesName(curves[0].series), nil, withData(b.points(curves[0])),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(curves[0].look), Opacity: opts.Float(.88)}),
			charts.WithBarChartOpts(opts.BarChart{BarCategoryGap: "10%"}))
		series = append(series, object{"itemStyle": object{"borderRadius": []int{2, 2, 0, 0}}})
		c = bar
	} else {
		line := charts.NewLine()
		line.SetGlobalOptions(charts.WithXAxisOpts(x.x()), charts.WithYAxisOpts(y.y()), tooltip("axis", "tip:bins"), g)
		line.SetXAxis(labels)
		for _, k := range curves {
			color := seriesColor(k.look)
			line.AddSeries(seriesName(k.series), nil, withData(b.points(k)),
				charts.WithLineStyleOpts(opts.LineStyle{Color: color, Width: 1.6, Type: seriesDash(k.look)}),
				charts.WithItemStyleOpts(opts.ItemStyle{Color: color}),
				charts.WithLineChartOpts(opts.LineChart{ShowSymbol: opts.Bool(false), Symbol: "none", Step: "middle"}))
			series = append(series, object{"areaStyle": object{"color": color, "opacity": .10}})
		}
		c = line
	}
	return build(c, object{"xAxis": []object{x.patch()}, "yAxis": []object{y.patch()}, "series": series,
		"aria": aria(fmt.Sprintf("Histogram of %s of %d sources.", m.Title, len(curves)))})
}

// points are [bin, share, from, to], as tip:bins of report.js reads them.
func (b bins) points(c curve) [][]any {
	var out [][]any
	for i, s := range b.shares(c) {
		out = append(out, []any{i, sig4(s), sig4(b[i]), sig4(b[i+1])})
	}
	return out
}

// roughly rounds a bin's edge to two digits, for the axis.
func roughly(v float64) float64 {
	if v <= 0 {
		return 0
	}
	p := math.Pow(10, 1-math.Floor(math.Log10(v)))
	return math.Round(v*p) / p
}

// cdfTable is the quantiles a curve is read at, as they were computed; those in
// between come from the grid the curve is drawn from.
func cdfTable(id string, m serving.Metric, curves []curve) *Table {
	ps := []float64{.01, .05, .1, .25, .5, .75, .9, .95, .99, .999}
	t := &Table{ID: id + "-t-" + string(m.Key), Caption: m.Title + " by share of requests", Sortable: true, Head: []Head{col("Source")}}
	for _, p := range ps {
		t.Head = append(t.Head, metricCol(serving.QuantileName(p), m.Unit))
	}
	t.Head = append(t.Head, numCol("n", "", ""))
	for _, k := range curves {
		row := Row{Cells: []Cell{text(k.label)}}
		for _, p := range ps {
			row.Cells = append(row.Cells, k.quantileCell(m, p))
		}
		t.Rows = append(t.Rows, Row{Cells: append(row.Cells, countCell(k.dist.Count))})
	}
	return t.dropEmpty("n").collectKeys()
}

func (c curve) quantileCell(m serving.Metric, p float64) Cell {
	if _, ok := c.dist.Q(p); ok {
		return quantileCell(c.dist, p, false)
	}
	i := sort.SearchFloat64s(cube.CDFGrid, p)
	if i == len(cube.CDFGrid) || cube.CDFGrid[i] != p {
		return number(Missing, "")
	}
	return valueCell(m.Unit, serving.Some(c.dist.CDF[i]))
}

// histTable is the share of each source in each bin.
func histTable(id string, m serving.Metric, curves []curve, b bins) *Table {
	t := &Table{ID: id + "-t-" + string(m.Key), Caption: m.Title + ": share of requests a bin, in percent", Head: []Head{col("Bin")}}
	cols := make([][]float64, len(curves))
	for i, k := range curves {
		t.Head = append(t.Head, numCol(k.label, "", ""))
		cols[i] = b.shares(k)
	}
	for i := range len(b) - 1 {
		row := Row{Cells: []Cell{{Text: FormatDuration(b[i]/1000) + " – " + FormatDuration(b[i+1]/1000), Raw: RawValue(serving.NoUnit, serving.Some(round15(b[i])))}}}
		for k := range curves {
			row.Cells = append(row.Cells, Cell{Text: fixed(cols[k][i]*100, 1), Class: "num"})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

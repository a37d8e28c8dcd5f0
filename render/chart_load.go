package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// A loadPanel is one panel of the curves over the load.
type loadPanel struct {
	title, unit, raw string
	of               serving.Unit
	format           string // of report.js
	values           []serving.Opt[float64]
	limit            serving.Opt[float64]
	log              bool
}

func (p loadPanel) show(v serving.Opt[float64]) string {
	if p.of == serving.Seconds {
		return FormatValue(p.of, v)
	}
	return FormatValue(serving.NoUnit, v)
}

// loadPanels are the curves that have two points at least.
func (c *pageContext) loadPanels(s *analyze.Sweep, levels []level) []loadPanel {
	get := func(f func(level) serving.Opt[float64]) []serving.Opt[float64] {
		out := make([]serving.Opt[float64], len(levels))
		for i, l := range levels {
			out[i] = f(l)
		}
		return out
	}
	out := "Output throughput"
	if s.PerGPU {
		out += " per GPU"
	}
	latency := func(k serving.MetricKey, p float64, log bool) loadPanel {
		o := c.objectiveOn(s, k, p)
		return loadPanel{title: o.title(), raw: "ms", of: serving.Seconds, format: "ms", log: log, limit: o.limit,
			values: get(func(l level) serving.Opt[float64] { return l.quantile(k, o.p) })}
	}
	all := []loadPanel{
		{title: out, unit: "tok/s", raw: "tok/s", of: serving.PerSecond, format: "compact", values: get(func(l level) serving.Opt[float64] { return l.OutputPerS })},
		{title: "Goodput", unit: "req/s", raw: "req/s", of: serving.PerSecond, format: "compact", values: get(func(l level) serving.Opt[float64] { return l.Goodput })},
		latency(serving.TTFT, .99, true),
		latency(serving.TPOT, .5, false),
	}
	if len(c.limits(serving.E2E)) > 0 {
		all = append(all, latency(serving.E2E, .99, true))
	}
	all = slices.DeleteFunc(all, func(p loadPanel) bool {
		n := 0
		for _, v := range p.values {
			if v.OK && (!p.log || v.V > 0) {
				n++
			}
		}
		return n < 2
	})
	return all[:min(len(all), 4)]
}

// limited are the levels that have a place on the load axis: one without a limit
// on its rate has none.
func limited(levels []level) []level {
	return slices.DeleteFunc(slices.Clone(levels), func(l level) bool { return l.XUnlimited })
}

// regionInk are the colours of the regions.
var regionInk = map[string]string{analyze.Room: "var(--room)", analyze.Saturating: "var(--saturating)", analyze.Queueing: "var(--queueing)"}

// loadChart draws the curves over the load on linked panels, the regions shaded
// and the named points marked.
func (c *pageContext) loadChart(s *analyze.Sweep, levels []level) (*chart, int, error) {
	levels = limited(levels)
	panels := c.loadPanels(s, levels)
	if len(panels) == 0 {
		return nil, 0, nil
	}
	const left, top, height, gap = 58, 38, 88, 38
	lo, hi := math.Inf(1), 0.0
	for _, l := range levels {
		lo, hi = min(lo, l.X), max(hi, l.X)
	}
	x := axis{name: "Load (" + loadUnit(s.XName) + ")", kind: "value", format: "num"}
	if lo > 0 && hi/lo >= 8 {
		x.kind, x.base = "log", 2
		lo, hi = math.Pow(2, math.Floor(math.Log2(lo))), math.Pow(2, math.Ceil(math.Log2(hi)))
		x.min, x.max = lo, hi
	}
	line := charts.NewLine()
	line.SetGlobalOptions(tooltip("axis", "tip:level"))
	ch := &chart{}
	var xp, yp, sp, gp []object
	for i, p := range panels {
		last := i == len(panels)-1
		a := x
		a.grid = i
		if !last {
			a.name = ""
		}
		xo := a.x()
		xo.AxisLabel.Show = opts.Bool(last)
		xo.SplitLine = &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: inkGrid}}
		y := axis{name: p.name(), kind: "value", format: p.format, grid: i}
		plo, phi := p.bounds()
		if p.log && phi/plo > 4 {
			y.kind = "log"
			plo, phi = niceBounds(plo, phi)
			y.min, y.max = sig4(plo), sig4(phi)
			y.name += ", logarithmic"
		} else {
			plo = 0
		}
		yo := y.y()
		yo.SplitNumber = 3
		if i == 0 {
			line.SetGlobalOptions(charts.WithXAxisOpts(xo), charts.WithYAxisOpts(yo))
		} else {
			line.ExtendXAxis(xo)
			line.ExtendYAxis(yo)
		}
		ap := a.patch()
		ap["axisPointer"] = object{"show": true, "type": "line", "label": object{"show": false}}
		xp, yp = append(xp, ap), append(yp, y.yPatch(left))
		gp = append(gp, object{"left": left, "right": 24, "top": top + i*(height+gap), "height": height})
		ch.Names = append(ch.Names, p.title)
		line.AddSeries(seriesName(i), nil, withData(p.points(levels, s)),
			charts.WithLineStyleOpts(opts.LineStyle{Color: seriesColor(i), Width: 2}), charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(i), BorderWidth: 2}),
			charts.WithLineChartOpts(opts.LineChart{XAxisIndex: i, YAxisIndex: i, Symbol: "circle", SymbolSize: 7}))
		m := object{"showAllSymbol": true, "connectNulls": true}
		addRegions(m, s)
		if p.limit.OK {
			band(m, ms(p.limit.V), plo, "")
		}
		addNamedLines(m, s, i == 0, lo, hi, x.kind == "log")
		sp = append(sp, m)
	}
	links := make([]int, len(panels))
	for i := range links {
		links[i] = i
	}
	opt, err := build(line, object{"xAxis": xp, "yAxis": yp, "series": sp, "grid": gp, "axisPointer": object{"link": []object{{"xAxisIndex": links}}},
		"aria": aria(fmt.Sprintf("Throughput and latency over %d load levels.", len(levels)))})
	if err != nil {
		return nil, 0, err
	}
	ch.Option = opt
	return ch, len(panels), nil
}

// addRegions shades the regions of the curve.
func addRegions(series object, s *analyze.Sweep) {
	for _, r := range s.Regions {
		if !drawable(r.From, false) || !drawable(r.To, false) {
			continue
		}
		addArea(series, object{"xAxis": sig4(r.From), "itemStyle": object{"color": regionInk[r.Name]}}, object{"xAxis": sig4(r.To)})
	}
}

// addNamedLines marks the named points on the load axis; those that lie together
// share a line.
func addNamedLines(series object, s *analyze.Sweep, label bool, lo, hi float64, log bool) {
	place := func(x float64) float64 {
		if log {
			return math.Log(x/lo) / math.Log(hi/lo)
		}
		return (x - lo) / max(hi-lo, 1e-9)
	}
	var points []namedPoint
	for _, n := range namedPoints(s) {
		if n.short != "" && drawable(n.x, log) {
			points = append(points, n)
		}
	}
	slices.SortStableFunc(points, func(a, b namedPoint) int {
		switch {
		case a.x < b.x:
			return -1
		case a.x > b.x:
			return 1
		}
		return 0
	})
	row := 0
	for i := 0; i < len(points); {
		j, names, slo := i, []string{}, false
		for ; j < len(points) && place(points[j].x)-place(points[i].x) < 0.02; j++ {
			names, slo = append(names, points[j].short), slo || points[j].slo
		}
		ink := inkKnee
		if slo {
			ink = inkSLO
		}
		l := object{"show": label, "formatter": "{b}", "color": ink, "fontWeight": 600, "fontSize": 11, "position": "end", "distance": -13 * (row + len(names)), "align": "left", "padding": []int{0, 3, 0, 5}, "backgroundColor": inkPanel}
		// A name a line, on the side with more room: both hold on a phone's screen.
		before := place(points[i].x) > 0.5
		if before {
			l["align"], l["padding"] = "right", []int{0, 5, 0, 3}
		}
		addLine(series, object{"name": strings.Join(names, "\n"), "xAxis": sig4(points[i].x), "lineStyle": object{"color": ink, "type": "solid", "width": 1.5}, "label": l})
		// The next label goes below this one where it would run into it: both between
		// the lines, or on one side of them and near.
		if j < len(points) && (!before && place(points[j].x) > 0.5 || place(points[j].x)-place(points[i].x) < 0.4) && row < 3 {
			row += len(names)
		} else {
			row = 0
		}
		i = j
	}
}

func (p loadPanel) name() string {
	if p.unit == "" {
		return p.title
	}
	return p.title + " (" + p.unit + ")"
}

// bounds is the range of a panel's values in the unit of the chart, its limit
// included.
func (p loadPanel) bounds() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range append(slices.Clone(p.values), p.limit) {
		if v.OK && (!p.log || v.V > 0) {
			lo, hi = min(lo, p.plot(v.V)), max(hi, p.plot(v.V))
		}
	}
	return lo, hi
}

func (p loadPanel) plot(v float64) float64 {
	if p.of == serving.Seconds {
		return ms(v)
	}
	return v
}

func (p loadPanel) points(levels []level, s *analyze.Sweep) []object {
	var out []object
	for i, l := range levels {
		v := p.values[i]
		if !v.OK || p.log && v.V <= 0 {
			continue
		}
		d := object{"value": []any{sig4(l.X), sig4(p.plot(v.V))}, "title": loadName(s.XName) + " " + l.name, "text": p.text(v)}
		if l.miss {
			d["itemStyle"] = object{"color": inkPanel, "borderColor": inkFaint}
		}
		out = append(out, d)
	}
	return out
}

func (p loadPanel) text(v serving.Opt[float64]) string {
	if p.of == serving.Seconds {
		return FormatValue(p.of, v)
	}
	return FormatNumber(v.V) + " " + p.unit
}

package render

import (
	"fmt"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// The two ways to draw a frontier. vLLM's plot_pareto has tokens/s a user on x
// and tokens/s on y; people who tune for a first token want that one instead.
var frontierKinds = []struct{ key, label string }{
	{"user", "tok/s per user"},
	{"ttft", "TTFT"},
}

// frontierChart draws a sweep's levels in both ways; nil where there are fewer
// than two points to draw.
func frontierChart(s *analyze.Sweep, levels []level, o objective) (*chart, error) {
	ch := &chart{Variants: map[string]object{}, Names: []string{s.Label, "dominated"},
		Narrow: object{"grid": []object{{"left": 54, "right": 14}}, "xAxis": []object{{"splitNumber": 3}}}}
	for _, l := range levels {
		ch.Tips = append(ch.Tips, chartTip{loadName(s.XName) + " " + l.name, l.tip(s, o)})
	}
	for _, kind := range frontierKinds {
		opt, err := frontierOption(s, levels, o, kind.key)
		if err != nil {
			return nil, err
		}
		if opt == nil {
			continue
		}
		ch.Variants[kind.key] = opt
		if ch.First == "" {
			ch.First = kind.key
		}
	}
	if len(ch.Variants) == 0 {
		return nil, nil
	}
	return ch, nil
}

func frontierOption(s *analyze.Sweep, levels []level, o objective, kind string) (object, error) {
	out := "Output throughput (tok/s"
	if s.PerGPU {
		out += " per GPU"
	}
	out += ")"
	var line, rest []object
	knee := kneeLevel(s, levels)
	var kneeAt []any
	lo, hi := math.Inf(1), math.Inf(-1)
	for i, l := range levels {
		x, y, ok := l.place(o, kind)
		if !ok {
			continue
		}
		lo, hi = min(lo, y), max(hi, y)
		d := object{"value": []any{sig4(x), sig4(y), l.name}, "tip": i, "itemStyle": l.style(kind)}
		if i == knee {
			kneeAt = []any{sig4(x), sig4(y)}
		}
		if kind == "user" && l.Dominance == "dominated" {
			rest = append(rest, d)
		} else {
			line = append(line, d)
		}
	}
	if len(line)+len(rest) < 2 {
		return nil, nil
	}
	x := axis{name: "Output speed a user sees (tok/s)", kind: "value", format: "compact"}
	y := axis{name: out, kind: "value", format: "compact"}
	if kind == "ttft" {
		x = axis{name: out, kind: "value", format: "compact"}
		if o.limit.OK {
			lo, hi = min(lo, ms(o.limit.V)), max(hi, ms(o.limit.V))
		}
		lo, hi = niceBounds(lo, hi)
		y = axis{name: o.title() + ", logarithmic", kind: "log", format: "ms", min: sig4(lo), max: sig4(hi)}
	}
	xo := x.x()
	xo.SplitLine = &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: inkGrid}}
	yo := y.y()
	yo.Scale = opts.Bool(kind == "ttft")
	c := charts.NewLine()
	c.SetGlobalOptions(charts.WithXAxisOpts(xo), charts.WithYAxisOpts(yo), tooltip("item", "tip:point"), charts.WithGridOpts(grid(62, 30, 40, 48)))
	c.AddSeries(seriesName(0), nil, withData(line),
		charts.WithLineStyleOpts(opts.LineStyle{Color: seriesColor(0), Width: 2}), charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(0), BorderWidth: 2}),
		charts.WithLineChartOpts(opts.LineChart{Symbol: "circle", SymbolSize: 10}))
	c.AddSeries(seriesName(1), nil, withData(rest),
		charts.WithLineStyleOpts(opts.LineStyle{Width: 0}), charts.WithItemStyleOpts(opts.ItemStyle{Color: inkFaint, BorderWidth: 2}),
		charts.WithLineChartOpts(opts.LineChart{Symbol: "circle", SymbolSize: 9}))
	first := object{"z": 3, "showAllSymbol": true, "label": levelLabel(), "labelLayout": object{"hideOverlap": true}}
	if kneeAt != nil {
		first["markPoint"] = kneeMark(kneeAt)
	}
	if kind == "ttft" && o.limit.OK {
		band(first, ms(o.limit.V), lo, "meets "+o.expr)
	}
	return build(c, object{"xAxis": []object{x.patch()}, "yAxis": []object{y.yPatch(62)},
		"series": []object{first, {"z": 2, "showAllSymbol": true, "label": levelLabel(), "labelLayout": object{"hideOverlap": true}}},
		"aria":   aria(fmt.Sprintf("%s against %s for %d load levels.", y.name, x.name, len(line)+len(rest)))})
}

func levelLabel() object {
	return object{"show": true, "position": "top", "distance": 7, "formatter": "{@[2]}", "color": inkSoft, "fontSize": 11}
}

func kneeMark(at []any) object {
	return object{"symbol": "diamond", "symbolSize": 24, "silent": true, "data": []object{{"coord": at, "value": "knee"}},
		"itemStyle": object{"color": "transparent", "borderColor": inkKnee, "borderWidth": 2.5},
		"label":     object{"show": true, "position": "bottom", "distance": 8, "color": inkKnee, "fontWeight": 600, "formatter": "knee"}}
}

// band shades what meets a limit on a y axis, and draws the limit.
func band(series object, limit, from float64, label string) {
	series["markArea"] = object{"silent": true, "itemStyle": object{"color": inkBand},
		"label": object{"show": label != "", "position": "insideBottomRight", "color": inkSLO, "distance": 8, "fontSize": 11},
		"data":  [][]object{{{"yAxis": sig4(from), "name": label}, {"yAxis": sig4(limit)}}}}
	series["markLine"] = object{"silent": true, "symbol": "none", "label": object{"show": false},
		"lineStyle": object{"color": inkSLO, "type": "dashed", "width": 1.5}, "data": []object{{"yAxis": sig4(limit)}}}
}

// place is where a level stands, or false where an axis is missing.
func (l level) place(o objective, kind string) (x, y float64, ok bool) {
	if kind == "user" {
		return l.PerUser.V, l.OutputPerS.V, l.PerUser.OK && l.OutputPerS.OK
	}
	t := l.quantile(serving.TTFT, o.p)
	return l.OutputPerS.V, ms(t.V), l.OutputPerS.OK && t.OK && t.V > 0
}

// style is a level's sign: hollow where it misses an objective, grey where
// another level is better in both.
func (l level) style(kind string) object {
	color := seriesColor(0)
	if kind == "user" && l.Dominance == "dominated" {
		color = inkFaint
	}
	fill := color
	if l.miss {
		fill = inkPanel
	}
	return object{"color": fill, "borderColor": color, "borderWidth": 2}
}

// tip is what a level says when pointed at.
func (l level) tip(s *analyze.Sweep, o objective) [][2]string {
	var out [][2]string
	add := func(k, v string) {
		if v != Missing {
			out = append(out, [2]string{k, v})
		}
	}
	add("run", l.run().Run.Label)
	add("users in flight", FormatValue(serving.NoUnit, l.Users))
	add("output "+perWhat(s.PerGPU), FormatRateOpt(l.OutputPerS, "tok"))
	add("output per user", FormatRateOpt(l.PerUser, "tok"))
	add(o.title(), FormatValue(serving.Seconds, l.quantile(serving.TTFT, o.p)))
	add("TPOT p50", FormatValue(serving.Seconds, l.TPOT50))
	add("goodput", FormatRateOpt(l.Goodput, "req"))
	add("sent", FormatCountOpt(l.run().Counts.Sent))
	add("failed", FormatCountOpt(l.run().Counts.Failed))
	return out
}

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
func loadPanels(s *analyze.Sweep, levels []level, o objective) []loadPanel {
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
	all := []loadPanel{
		{title: out, unit: "tok/s", raw: "tok/s", of: serving.PerSecond, format: "compact", values: get(func(l level) serving.Opt[float64] { return l.OutputPerS })},
		{title: "Goodput", unit: "req/s", raw: "req/s", of: serving.PerSecond, format: "compact", values: get(func(l level) serving.Opt[float64] { return l.Goodput })},
		{title: o.title(), raw: "ms", of: serving.Seconds, format: "ms", log: true, limit: o.limit, values: get(func(l level) serving.Opt[float64] { return l.quantile(serving.TTFT, o.p) })},
		{title: "TPOT p50", raw: "ms", of: serving.Seconds, format: "ms", values: get(func(l level) serving.Opt[float64] { return l.TPOT50 })},
	}
	var kept []loadPanel
	for _, p := range all {
		n := 0
		for _, v := range p.values {
			if v.OK && (!p.log || v.V > 0) {
				n++
			}
		}
		if n > 1 {
			kept = append(kept, p)
		}
	}
	return kept
}

// loadChart draws the curves over the load on linked panels.
func loadChart(s *analyze.Sweep, levels []level, o objective) (*chart, int, error) {
	panels := loadPanels(s, levels, o)
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
		x.min, x.max = math.Pow(2, math.Floor(math.Log2(lo))), math.Pow(2, math.Ceil(math.Log2(hi)))
	}
	c := charts.NewLine()
	c.SetGlobalOptions(tooltip("axis", "tip:level"))
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
		}
		yo := y.y()
		yo.SplitNumber = 3
		if i == 0 {
			c.SetGlobalOptions(charts.WithXAxisOpts(xo), charts.WithYAxisOpts(yo))
		} else {
			c.ExtendXAxis(xo)
			c.ExtendYAxis(yo)
		}
		ap := a.patch()
		ap["axisPointer"] = object{"show": true, "type": "line", "label": object{"show": false}}
		xp, yp = append(xp, ap), append(yp, y.yPatch(left))
		gp = append(gp, object{"left": left, "right": 24, "top": top + i*(height+gap), "height": height})
		ch.Names = append(ch.Names, p.title)
		c.AddSeries(seriesName(i), nil, withData(p.points(levels, s)),
			charts.WithLineStyleOpts(opts.LineStyle{Color: seriesColor(i), Width: 2}), charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(i), BorderWidth: 2}),
			charts.WithLineChartOpts(opts.LineChart{XAxisIndex: i, YAxisIndex: i, Symbol: "circle", SymbolSize: 7}))
		m := object{"showAllSymbol": true, "connectNulls": true}
		if p.limit.OK && y.kind == "log" {
			band(m, ms(p.limit.V), plo, "")
		}
		addKneeLine(m, s, i == 0)
		sp = append(sp, m)
	}
	links := make([]int, len(panels))
	for i := range links {
		links[i] = i
	}
	opt, err := build(c, object{"xAxis": xp, "yAxis": yp, "series": sp, "grid": gp, "axisPointer": object{"link": []object{{"xAxisIndex": links}}},
		"aria": aria(fmt.Sprintf("Throughput and latency over %d load levels.", len(levels)))})
	if err != nil {
		return nil, 0, err
	}
	ch.Option = opt
	return ch, len(panels), nil
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
	for _, v := range append(append([]serving.Opt[float64](nil), p.values...), p.limit) {
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

// addKneeLine marks the knee on the load axis. It is counted in users in
// flight, which a closed loop that is reached holds at its concurrency.
func addKneeLine(series object, s *analyze.Sweep, label bool) {
	if s.Knee == nil || !s.Knee.X.OK || !(s.Knee.X.V > 0) {
		return
	}
	line, ok := series["markLine"].(object)
	if !ok {
		line = object{"silent": true, "symbol": "none", "label": object{"show": false}, "data": []object{}}
		series["markLine"] = line
	}
	line["data"] = append(line["data"].([]object), object{"xAxis": sig4(s.Knee.X.V),
		"lineStyle": object{"color": inkKnee, "type": "solid", "width": 1.5},
		"label":     object{"show": label, "formatter": "knee", "color": inkKnee, "fontWeight": 600, "position": "end", "distance": -13, "align": "left", "padding": []int{0, 0, 0, 5}}})
}

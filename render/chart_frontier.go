package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// A sweepCurve is a sweep in a chart of frontiers.
type sweepCurve struct {
	sweep  *analyze.Sweep
	levels []level
	name   string
}

// frontierLabel names an axis in the switch: tokens/s a user sees, or a
// percentile of a latency.
func frontierLabel(f analyze.Frontier) string {
	if f.Key == analyze.UserAxis {
		return "tok/s per user"
	}
	m, _ := serving.MetricOf(f.Metric)
	return m.Title + " " + serving.QuantileName(f.P)
}

// frontierChart draws sweeps on every pair of axes that they have; nil where
// there are fewer than two points to draw. With one sweep the points that others
// beat stand apart from its frontier; several are drawn whole, each in its
// colour.
func (c *pageContext) frontierChart(curves []sweepCurve) (*chart, []SwitchOption, error) {
	ch := &chart{Variants: map[string]object{},
		Narrow: object{"grid": []object{{"left": 54, "right": 14}}, "xAxis": []object{{"splitNumber": 3}}}}
	for _, k := range curves {
		ch.Names = append(ch.Names, k.name)
		for _, l := range k.levels {
			title := loadName(k.sweep.XName) + " " + l.name
			if len(curves) > 1 {
				title = k.name + ", " + title
			}
			ch.Tips = append(ch.Tips, chartTip{title, l.tip(c, k.sweep)})
		}
	}
	if len(curves) == 1 {
		ch.Names = append(ch.Names, "dominated")
	}
	var options []SwitchOption
	for _, f := range allFrontiers(curves) {
		opt, err := c.frontierOption(curves, f)
		if err != nil {
			return nil, nil, err
		}
		if opt == nil {
			continue
		}
		ch.Variants[f.Key] = opt
		options = append(options, SwitchOption{Key: f.Key, Label: frontierLabel(f)})
		if ch.First == "" {
			ch.First = f.Key
		}
	}
	if len(ch.Variants) == 0 {
		return nil, nil, nil
	}
	return ch, options, nil
}

// allFrontiers are the frontiers of the first sweep that has them, by key.
func allFrontiers(curves []sweepCurve) []analyze.Frontier {
	var out []analyze.Frontier
	seen := map[string]bool{}
	for _, k := range curves {
		for _, f := range k.sweep.Frontiers {
			if !seen[f.Key] {
				seen[f.Key] = true
				out = append(out, f)
			}
		}
	}
	return out
}

func frontierOf(s *analyze.Sweep, key string) *analyze.Frontier {
	for i := range s.Frontiers {
		if s.Frontiers[i].Key == key {
			return &s.Frontiers[i]
		}
	}
	return nil
}

// frontierPoints are the points of each series of a frontier.
type frontierPoints struct {
	series [][]object
	lo, hi float64 // of the second axis
	n      int
	marks  []object
}

func (c *pageContext) frontierOption(curves []sweepCurve, f analyze.Frontier) (object, error) {
	user := f.Key == analyze.UserAxis
	limit, limited := c.limitOf(f)
	pts := collectPoints(curves, f.Key)
	if pts.n < 2 {
		return nil, nil
	}
	out := "Output throughput (tok/s"
	if curves[0].sweep.PerGPU {
		out += " per GPU"
	}
	out += ")"
	x := axis{name: "Output speed a user sees (tok/s)", kind: "value", format: "compact"}
	y := axis{name: out, kind: "value", format: "compact"}
	lo, hi := pts.lo, pts.hi
	if !user {
		x = axis{name: out, kind: "value", format: "compact"}
		if limited {
			lo, hi = min(lo, ms(limit.Limit)), max(hi, ms(limit.Limit))
		}
		y = axis{name: frontierLabel(f), kind: "value", format: "ms"}
		if hi/lo > 4 {
			lo, hi = niceBounds(lo, hi)
			y = axis{name: frontierLabel(f) + ", logarithmic", kind: "log", format: "ms", min: sig4(lo), max: sig4(hi)}
		} else {
			lo = 0
		}
	}
	xo := x.x()
	xo.SplitLine = &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: inkGrid}}
	yo := y.y()
	yo.Scale = opts.Bool(y.kind == "log")
	line := charts.NewLine()
	line.SetGlobalOptions(charts.WithXAxisOpts(xo), charts.WithYAxisOpts(yo), tooltip("item", "tip:point"), charts.WithGridOpts(grid(62, 30, 40, 48)))
	var patches []object
	for i, data := range pts.series {
		half, n := pts.look(curves, i)
		ls := opts.LineStyle{Color: seriesColor(n), Width: 2, Type: seriesDash(n)}
		p := object{"z": 3, "showAllSymbol": true, "label": levelLabel(), "labelLayout": object{"hideOverlap": true}}
		if len(curves) == 1 && i == 1 { // what others beat
			ls, p["z"] = opts.LineStyle{Width: 0}, 2
		}
		line.AddSeries(seriesName(i), nil, withData(data), charts.WithLineStyleOpts(ls),
			charts.WithItemStyleOpts(opts.ItemStyle{Color: seriesColor(n), BorderWidth: 2}),
			charts.WithLineChartOpts(opts.LineChart{Symbol: symbolOf(half), SymbolSize: 10}))
		if i == 0 {
			if len(pts.marks) > 0 {
				p["markPoint"] = object{"silent": true, "data": pts.marks}
			}
			if !user && limited {
				band(p, ms(limit.Limit), lo, "meets "+FormatSLO(limit))
			}
		}
		patches = append(patches, p)
	}
	yp := y.yPatch(62)
	if y.kind == "value" {
		yp["boundaryGap"] = []string{"0%", "8%"} // room for the label of the highest level
	}
	return build(line, object{"xAxis": []object{x.patch()}, "yAxis": []object{yp}, "series": patches,
		"aria": aria(fmt.Sprintf("%s against %s for %d load levels.", y.name, x.name, pts.n))})
}

// limitOf is the objective on a frontier's own axis.
func (c *pageContext) limitOf(f analyze.Frontier) (serving.SLO, bool) {
	if f.Key == analyze.UserAxis {
		return serving.SLO{}, false
	}
	for _, l := range c.limits(f.Metric) {
		if !l.Mean && l.P == f.P {
			return l, true
		}
	}
	return serving.SLO{}, false
}

func collectPoints(curves []sweepCurve, key string) frontierPoints {
	out := frontierPoints{lo: math.Inf(1), hi: math.Inf(-1)}
	user, tip := key == analyze.UserAxis, 0
	for k, cv := range curves {
		f := frontierOf(cv.sweep, key)
		var on, off []object
		at := map[int][]any{}
		var labels []*crowd
		for i, l := range cv.levels {
			tip++
			if f == nil || i >= len(f.Values) || !f.Values[i].Y.OK || !f.Values[i].X.OK {
				continue
			}
			x, y := f.Values[i].X.V, f.Values[i].Y.V
			if !user {
				x, y = f.Values[i].Y.V, ms(f.Values[i].X.V)
			}
			if !drawable(x, false) || !drawable(y, !user) {
				continue
			}
			out.lo, out.hi = min(out.lo, y), max(out.hi, y)
			out.n++
			beaten := f.Classes[i] == "dominated"
			d := object{"value": []any{sig4(x), sig4(y), l.name}, "tip": tip - 1, "itemStyle": l.style(look(cv.sweep.Half, k), beaten)}
			if len(curves) > 1 && k%2 == 1 {
				d["label"] = object{"position": "bottom"} // away from those of its neighbour
			}
			labels = append(labels, &crowd{point: d, x: x, y: y, first: l.name, last: l.name})
			at[i] = []any{sig4(x), sig4(y)}
			if beaten && len(curves) == 1 {
				off = append(off, d)
			} else {
				on = append(on, d)
			}
		}
		labelCrowds(labels, !user)
		out.series = append(out.series, on)
		if len(curves) == 1 {
			out.series = append(out.series, off)
			out.marks = levelMarks(cv, at)
		}
	}
	return out
}

// look is the side and the look of the i-th series: a curve, or of a curve alone
// what others beat.
func (p frontierPoints) look(curves []sweepCurve, i int) (analyze.Half, int) {
	h := curves[min(i, len(curves)-1)].sweep.Half
	return h, look(h, i)
}

// A crowd is neighbouring levels whose labels would cover each other.
type crowd struct {
	point       object // of the first level, which carries the label
	x, y        float64
	first, last string
}

// labelCrowds gives levels that lie together one label, from the first to the
// last of them.
func labelCrowds(levels []*crowd, logY bool) {
	if len(levels) == 0 {
		return
	}
	height := func(c *crowd) float64 {
		if logY && c.y > 0 {
			return math.Log(c.y)
		}
		return c.y
	}
	xlo, xhi, ylo, yhi := levels[0].x, levels[0].x, height(levels[0]), height(levels[0])
	for _, c := range levels {
		xlo, xhi, ylo, yhi = min(xlo, c.x), max(xhi, c.x), min(ylo, height(c)), max(yhi, height(c))
	}
	near := func(a, b *crowd) bool {
		dx, dy := math.Abs(a.x-b.x)/max(xhi-xlo, 1e-9), math.Abs(height(a)-height(b))/max(yhi-ylo, math.Abs(yhi)*0.1, 1e-9)
		return dx < 0.045 && dy < 0.06
	}
	last := levels[0]
	end := last // of the crowd
	for _, c := range levels[1:] {
		if !near(end, c) {
			last, end = c, c
			continue
		}
		end = c
		last.last = c.first
		v := last.point["value"].([]any)
		v[2] = last.first + " … " + last.last
		c.point["label"] = object{"show": false}
	}
}

// levelMarks marks the levels next to the named points of a curve; those at one
// level share a mark.
func levelMarks(cv sweepCurve, at map[int][]any) []object {
	names := map[int][]string{}
	slo := map[int]bool{}
	for _, n := range namedPoints(cv.sweep) {
		if i := nearestLevel(cv.levels, n.x); i >= 0 && n.short != "" {
			names[i] = append(names[i], n.short)
			slo[i] = slo[i] || n.slo
		}
	}
	var out []object
	for i := range cv.levels {
		if len(names[i]) == 0 || at[i] == nil {
			continue
		}
		ink := inkKnee
		if slo[i] {
			ink = inkSLO
		}
		// A name a line: two beside each other are wider than what is left of a phone's
		// screen.
		text := strings.Join(names[i], "\n")
		label := object{"show": true, "position": "bottom", "distance": 8, "color": ink, "fontWeight": 600, "formatter": "{b}", "backgroundColor": inkPanel, "padding": []int{1, 4}, "borderRadius": 3}
		if side := sideOfLabel(i, at); side != "" {
			label["align"] = side
		}
		out = append(out, object{"coord": at[i], "name": text, "symbol": "diamond", "symbolSize": 24,
			"itemStyle": object{"color": "transparent", "borderColor": ink, "borderWidth": 2.5}, "label": label})
	}
	return out
}

// sideOfLabel keeps the label of a point near an edge of the chart inside of it: there
// the text ends, or begins, at the point.
func sideOfLabel(i int, at map[int][]any) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	x := func(p []any) float64 { v, _ := p[0].(float64); return v }
	for _, p := range at {
		lo, hi = min(lo, x(p)), max(hi, x(p))
	}
	place := (x(at[i]) - lo) / max(hi-lo, 1e-9)
	if lo > 0 && hi > 20*lo { // a logarithmic axis
		place = math.Log(x(at[i])/lo) / math.Log(hi/lo)
	}
	switch {
	case place > 0.8:
		return "right"
	case place < 0.1:
		return "left"
	}
	return ""
}

func levelLabel() object {
	return object{"show": true, "position": "top", "distance": 7, "formatter": "{@[2]}", "color": inkSoft, "fontSize": 11}
}

// band shades what meets a limit on a y axis, and draws the limit.
func band(series object, limit, from float64, label string) {
	addArea(series, object{"yAxis": sig4(from), "name": label, "itemStyle": object{"color": inkBand},
		"label": object{"show": label != "", "position": "insideBottomRight", "color": inkSLO, "distance": 8, "fontSize": 11}}, object{"yAxis": sig4(limit)})
	addLine(series, object{"yAxis": sig4(limit), "lineStyle": object{"color": inkSLO, "type": "dashed", "width": 1.5}, "label": object{"show": false}})
}

// addArea shades a stretch between two ends.
func addArea(series, from, to object) {
	a, ok := series["markArea"].(object)
	if !ok {
		a = object{"silent": true, "data": [][]object{}}
		series["markArea"] = a
	}
	a["data"] = append(a["data"].([][]object), []object{from, to})
}

func addLine(series, line object) {
	m, ok := series["markLine"].(object)
	if !ok {
		m = object{"silent": true, "symbol": "none", "data": []object{}}
		series["markLine"] = m
	}
	m["data"] = append(m["data"].([]object), line)
}

// style is a level's sign: hollow where it misses an objective, grey where
// another level is better on both axes.
func (l level) style(series int, beaten bool) object {
	color := seriesColor(series)
	if beaten {
		color = inkFaint
	}
	fill := color
	if l.miss {
		fill = inkPanel
	}
	return object{"color": fill, "borderColor": color, "borderWidth": 2}
}

// tip is what a level says when it is pointed at.
func (l level) tip(c *pageContext, s *analyze.Sweep) [][2]string {
	per := " tok/s"
	if s.PerGPU {
		per = " tok/s per GPU"
	}
	var out [][2]string
	add := func(key, value string) {
		if value != Missing && value != "" {
			out = append(out, [2]string{key, value})
		}
	}
	rate := func(v serving.Opt[float64], unit string) string {
		if !v.OK {
			return Missing
		}
		return FormatNumber(v.V) + unit
	}
	add("Throughput", rate(l.OutputPerS, per))
	add("Per user", rate(l.PerUser, " tok/s"))
	add("In flight", rate(l.Users, ""))
	add("Completed", rate(l.Rate, " req/s"))
	for _, k := range []serving.MetricKey{serving.TTFT, serving.TPOT} {
		o := c.objectiveOn(s, k, .99)
		add(o.title(), FormatValue(serving.Seconds, l.quantile(k, o.p)))
	}
	add("E2E p50", FormatValue(serving.Seconds, l.E2E50))
	add("Goodput", rate(l.Goodput, " req/s"))
	add("Frontier", l.frontier())
	add("Objectives", l.verdict())
	if !l.Reached {
		add("Load", "fewer requests sent than the concurrency")
	}
	if n := len(l.Runs); n > 1 {
		add("Repeats", FormatCount(int64(n)))
	}
	return out
}

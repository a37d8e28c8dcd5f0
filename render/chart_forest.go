package render

import (
	"fmt"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
)

// A forest draws changes with their intervals, one row a figure, and behind each
// the band within which a change does not matter.
type forest struct {
	rows   []*analyze.CompareRow
	labels []string
	more   int // called slices that are in the table only
}

// maxForest bounds the rows of a forest, as far as the style sheet has heights.
const maxForest = 24

// forestRows are the row counts that the style sheet has a height for.
var forestRows = []int{4, 6, 8, 12, 16, 24}

// newForest takes the figures that decide and the slices that were called; nil
// where nothing has a change to draw.
func newForest(c *analyze.Comparison) *forest {
	f := &forest{}
	add := func(r *analyze.CompareRow, label string) {
		switch {
		case !r.Ratio.OK || !finite(percentOf(r, r.Ratio.V)):
		case len(f.rows) == maxForest:
			f.more++
		default:
			f.rows, f.labels = append(f.rows, r), append(f.labels, label)
		}
	}
	for _, r := range c.Headline {
		add(r, figureName(r.Figure))
	}
	for _, r := range c.Slices {
		if r.Call == verdict.Slower || r.Call == verdict.Faster {
			add(r, byText(r.By)+": "+figureName(r.Figure))
		}
	}
	if len(f.rows) == 0 {
		return nil
	}
	return f
}

// percentOf is a change in percent: of a share the difference in percentage
// points.
func percentOf(r *analyze.CompareRow, v float64) float64 {
	if r.Figure.IsShare() {
		return v * 100
	}
	return (v - 1) * 100
}

// reach is how far the axis goes to either side, in percent. A change of several
// times its value would flatten all others.
func (f *forest) reach() float64 {
	most := 10.0
	for _, r := range f.rows {
		for _, v := range []float64{percentOf(r, r.Ratio.V), percentOf(r, r.Lo.Or(r.Ratio.V)), percentOf(r, r.Hi.Or(r.Ratio.V)), r.Threshold * 150} {
			if finite(v) {
				most = max(most, math.Abs(v)*1.08)
			}
		}
	}
	return math.Ceil(min(most, 150)/10) * 10
}

// lowest is the other end: nothing falls by more than all of it.
func lowest(reach float64) float64 { return -min(reach, 105) }

func (f *forest) figure(id string) (Figure, *chart, error) {
	out := Figure{ID: id, Title: "What changed, and how sure that is", Caption: "One row a figure: the change of the second side with its 95 % interval. The grey band is the change that does not matter (its threshold); a call needs an interval away from no change and an effect beyond the band. ▲ worse, ▼ better, ■ equivalent, ○ undecided. Of shares the change is in percentage points."}
	if f.more > 0 {
		out.Caption += fmt.Sprintf(" %d further slices that changed are in the table.", f.more)
	}
	for _, n := range forestRows {
		out.Height = fmt.Sprintf("f%d", n)
		if n >= len(f.rows) {
			break
		}
	}
	opt, err := f.option()
	ch := &chart{Option: opt, Names: []string{"change", "threshold", "text"}, Narrow: object{
		"grid":  []object{{"left": 128, "right": 12}},
		"yAxis": []object{{"axisLabel": object{"width": 120, "fontSize": 11}}}, "xAxis": []object{{"splitNumber": 3}},
		"series": []object{{}, {}, {"label": object{"show": false}}}}}
	for i, r := range f.rows {
		ch.Tips = append(ch.Tips, chartTip{f.labels[i], forestTip(r)})
	}
	return out, ch, err
}

func (f *forest) option() (object, error) {
	reach := f.reach()
	lo := lowest(reach)
	clip := func(v float64) any { return sig4(min(max(v, lo), reach)) }
	var data []object
	var texts [][]any
	var bands, intervals [][]object
	for i, r := range f.rows {
		ink := callInk(r)
		d := object{"value": []any{clip(percentOf(r, r.Ratio.V)), i}, "tip": i, "symbol": "circle", "symbolSize": 11,
			"itemStyle": object{"color": ink, "borderColor": ink, "borderWidth": 2}}
		switch r.Call {
		case verdict.Slower:
			d["symbol"] = "triangle"
		case verdict.Faster:
			d["symbol"], d["symbolRotate"] = "triangle", 180
		case verdict.Equivalent:
			d["symbol"] = "rect"
		default:
			d["itemStyle"] = object{"color": inkPanel, "borderColor": ink, "borderWidth": 2}
		}
		data = append(data, d)
		texts = append(texts, []any{reach, i, changeCell(r).Text})
		below := -r.Threshold
		if !r.Figure.IsShare() {
			below = 1/(1+r.Threshold) - 1 // as far below as above, as ratios go
		}
		bands = append(bands, segment(clip(below*100), clip(r.Threshold*100), i, object{"color": inkGrid, "width": 17, "type": "solid", "cap": "butt"}))
		if r.Lo.OK || r.Hi.OK {
			from, to := lo, reach // an open end goes to the edge
			if r.Lo.OK {
				from = percentOf(r, r.Lo.V)
			}
			if r.Hi.OK {
				to = percentOf(r, r.Hi.V)
			}
			intervals = append(intervals, segment(clip(from), clip(to), i, object{"color": ink, "width": 2.5, "type": "solid"}))
		}
	}
	x := axis{name: "Change", kind: "value", format: "change", min: lo, max: reach}
	xo := x.x()
	xo.SplitLine = &opts.SplitLine{Show: opts.Bool(true), LineStyle: &opts.LineStyle{Color: inkGrid}}
	y := axis{kind: "category", labels: f.labels}
	yo := y.y()
	yo.Inverse, yo.AxisLabel.Interval = opts.Bool(true), "0"
	c := charts.NewScatter()
	c.SetGlobalOptions(charts.WithXAxisOpts(xo), charts.WithYAxisOpts(yo), tooltip("item", "tip:point"), charts.WithGridOpts(grid(250, 84, 6, 46)))
	// What lies behind is a series of its own, so that points and intervals are
	// drawn over it.
	c.AddSeries(seriesName(0), nil, withData(data))
	c.AddSeries(seriesName(1), nil, withData([]any{}))
	c.AddSeries(seriesName(2), nil, withData(texts)) // the changes in words, at the edge
	yp := y.patch()
	yp["axisLabel"] = object{"width": 240, "overflow": "truncate", "color": inkSoft, "hideOverlap": false}
	zero := []object{{"xAxis": 0, "lineStyle": object{"color": inkAxis, "type": "solid", "width": 1}}}
	var behind []any
	for _, b := range bands {
		behind = append(behind, b)
	}
	behind = append(behind, zero[0])
	return build(c, object{"xAxis": []object{x.patch()}, "yAxis": []object{yp}, "series": []object{
		{"z": 6, "markLine": object{"z": 5, "silent": true, "symbol": "none", "label": object{"show": false}, "data": intervals, "animation": false}},
		{"z": 1, "silent": true, "markLine": object{"z": 1, "silent": true, "symbol": "none", "label": object{"show": false}, "data": behind, "animation": false}},
		{"silent": true, "symbolSize": 0, "label": object{"show": true, "formatter": "{@[2]}", "position": "right", "distance": 8, "color": inkText, "fontSize": 12}}},
		"aria": aria(fmt.Sprintf("Changes of %d figures with their intervals.", len(f.rows)))})
}

// segment is a line within a row, between two values.
func segment(from, to any, row int, style object) []object {
	return []object{{"coord": []any{from, row}, "lineStyle": style}, {"coord": []any{to, row}}}
}

func callInk(r *analyze.CompareRow) string {
	switch {
	case r.Mix:
	case r.Call == verdict.Slower:
		return "var(--bad)"
	case r.Call == verdict.Faster:
		return "var(--good)"
	case r.Call == verdict.Undecided:
		return "var(--warn)"
	}
	return inkFaint
}

// forestTip is what a row says when pointed at.
func forestTip(r *analyze.CompareRow) [][2]string {
	c, u := changeCell(r), figureUnit(r.Figure)
	out := [][2]string{{"before", FormatValue(u, r.Before)}, {"after", FormatValue(u, r.After)}, {"change", c.Text}}
	if c.Sub != "" {
		out = append(out, [2]string{"95 % interval", c.Sub})
	}
	out = append(out, [2]string{"call", callCell(r).Text}, [2]string{"threshold", thresholdText(r)}, [2]string{"tested by", methodText(r)})
	if r.Why != "" {
		out = append(out, [2]string{"because", r.Why})
	}
	return out
}

// thresholdText is the change that matters.
func thresholdText(r *analyze.CompareRow) string {
	if r.Figure.IsShare() {
		return "± " + FormatNumber(r.Threshold*100) + " pp"
	}
	return "± " + FormatShare(r.Threshold)
}

package render

import (
	"fmt"
	"math"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// A heatValue is a figure that a heat map can show.
type heatValue struct {
	key, label string
	unit       serving.Unit
	log        bool // shades by ratio, as latencies differ
	of         func(*analyze.Slice) (serving.Opt[float64], string, analyze.Quality)
}

var heatValues = []heatValue{
	{"ttft-p50", "TTFT p50", serving.Seconds, true, quantileOf(serving.TTFT, .5)},
	{"ttft-p99", "TTFT p99", serving.Seconds, true, quantileOf(serving.TTFT, .99)},
	{"tpot-p50", "TPOT p50", serving.Seconds, true, quantileOf(serving.TPOT, .5)},
	{"e2e-p50", "E2E p50", serving.Seconds, true, quantileOf(serving.E2E, .5)},
	{"goodput", "Goodput", serving.Share, false, func(s *analyze.Slice) (serving.Opt[float64], string, analyze.Quality) {
		if s.Goodput == nil {
			return serving.None[float64](), Missing, ""
		}
		return s.Goodput.Share, FormatShareOpt(s.Goodput.Share), analyze.QualityOK
	}},
	{"requests", "Requests", serving.RequestsUnit, true, func(s *analyze.Slice) (serving.Opt[float64], string, analyze.Quality) {
		return asFloat(s.Counts.Sent), FormatCountOpt(s.Counts.Sent), analyze.QualityOK
	}},
}

func quantileOf(k serving.MetricKey, p float64) func(*analyze.Slice) (serving.Opt[float64], string, analyze.Quality) {
	return func(s *analyze.Slice) (serving.Opt[float64], string, analyze.Quality) {
		d := s.Dists.Of(k)
		if d == nil {
			return serving.None[float64](), Missing, ""
		}
		q, _ := d.Q(p)
		return q.Value, FormatQuantile(serving.Seconds, q), q.Quality
	}
}

// heatSteps is the number of shades; each has an ink that stays readable on it
// in light and in dark.
const heatSteps = 7

func heatColor(step int) string { return fmt.Sprintf("var(--s%d)", step) }

func heatInk(step int) string {
	switch {
	case step <= 3:
		return "var(--s-lo)"
	case step == 4:
		return "var(--s-mid)"
	}
	return "var(--s-hi)"
}

// heatRows are the row counts that the style sheet has a height for.
var heatRows = []int{1, 2, 3, 4, 5, 6, 8, 12, 16, 24}

// figure draws the cross, a variant a figure.
func (h *heat) figure(id string) (Figure, *chart, error) {
	f := Figure{ID: id + "-heat", Group: id + "-heat", Title: h.y + " × " + lowerFirst(h.x)}
	if h.y == "" {
		f.Title = "By " + lowerFirst(h.x)
	}
	f.Title = upperFirst(f.Title)
	f.Caption = "The small figure is n, the requests sent. A mark tells how far n carries the value; a grey cell has requests without the value, an empty one has none."
	if h.folded > 0 {
		f.Caption += fmt.Sprintf(" The %d rows with the most requests are drawn; the table has %d more.", len(h.ys), h.folded)
	}
	for _, n := range heatRows {
		f.Height = fmt.Sprintf("r%d", n)
		if n >= len(h.ys) {
			break
		}
	}
	ch := &chart{Variants: map[string]object{}, Narrow: object{
		"grid": []object{{"left": 92, "right": 4, "bottom": 62}}, "yAxis": []object{{"axisLabel": object{"width": 84, "fontSize": 11}}},
		"xAxis":  []object{{"nameGap": 44, "axisLabel": object{"fontSize": 9.5, "rotate": 28}}},
		"series": []object{{"label": object{"fontSize": 9.5}}, {"label": object{"fontSize": 8.5}}}}}
	for y := range h.ys {
		for x := range h.xs {
			ch.Tips = append(ch.Tips, h.tip(x, y))
		}
	}
	var options []SwitchOption
	for _, v := range heatValues {
		opt, err := h.option(v)
		if err != nil {
			return f, nil, err
		}
		if opt == nil {
			continue
		}
		if ch.First == "" {
			ch.First = v.key
		}
		ch.Variants[v.key] = opt
		options = append(options, SwitchOption{Key: v.key, Label: v.label})
	}
	f.Switch = newSwitch(f.Group, "Figure", options...)
	return f, ch, nil
}

func (h *heat) option(v heatValue) (object, error) {
	lo, hi, found := h.rangeOf(v)
	if !found {
		return nil, nil
	}
	var data, counts []object
	for y := range h.ys {
		for x := range h.xs {
			s := h.cells[[2]int{x, y}]
			if s == nil {
				continue
			}
			val, shown, quality := v.of(s)
			if !val.OK && shown == Missing {
				counts = append(counts, object{"value": []any{x, y, 0, "n " + FormatCountOpt(s.Counts.Sent)}, "label": object{"color": inkFaint, "offset": []int{0, 0}},
					"itemStyle": object{"color": "var(--line-2)", "borderColor": inkPanel, "borderWidth": 3, "borderRadius": 6}})
				continue
			}
			step := v.step(val, lo, hi)
			data = append(data, object{"value": []any{x, y, step, v.short(val, shown) + QualityMark(quality)}, "tip": y*len(h.xs) + x,
				"itemStyle": object{"color": heatColor(step)}, "label": object{"color": heatInk(step)}})
			counts = append(counts, object{"value": []any{x, y, step, "n " + FormatCountOpt(s.Counts.Sent)}, "label": object{"color": heatInk(step)}, "itemStyle": object{"color": "transparent"}})
		}
	}
	c := charts.NewHeatMap()
	c.SetGlobalOptions(
		charts.WithXAxisOpts(opts.XAxis{Type: "category", Name: h.x, NameLocation: "middle", NameGap: 28, AxisLabel: &opts.AxisLabel{Color: inkSoft, Interval: "0"}, AxisLine: &opts.AxisLine{Show: opts.Bool(false)}, AxisTick: &opts.AxisTick{Show: opts.Bool(false)}, SplitArea: &opts.SplitArea{Show: opts.Bool(false)}}),
		charts.WithYAxisOpts(opts.YAxis{Type: "category", Inverse: opts.Bool(true), AxisLabel: &opts.AxisLabel{Color: inkSoft, Interval: "0", Width: 132, Overflow: "truncate"}, AxisLine: &opts.AxisLine{Show: opts.Bool(false)}}),
		charts.WithVisualMapOpts(opts.VisualMap{Type: "piecewise", Show: opts.Bool(false)}),
		tooltip("item", "tip:point"), charts.WithGridOpts(grid(142, 10, 6, 48)))
	c.AddSeries(seriesName(0), nil, withData(data), charts.WithLabelOpts(opts.Label{Show: opts.Bool(true), Formatter: "{@[3]}"}),
		charts.WithItemStyleOpts(opts.ItemStyle{BorderColor: inkPanel, BorderWidth: 3}))
	c.AddSeries(seriesName(1), nil, withData(counts), charts.WithLabelOpts(opts.Label{Show: opts.Bool(true), Formatter: "{@[3]}"}))
	var pieces []object
	for i := range heatSteps {
		pieces = append(pieces, object{"value": i, "color": heatColor(i)})
	}
	ticks := object{"axisTick": object{"show": false}, "data": h.ys}
	return build(c, object{
		"visualMap": []object{{"pieces": pieces, "dimension": 2, "seriesIndex": 0, "show": false}},
		"xAxis":     []object{{"nameTextStyle": object{"color": inkAxis, "fontSize": 12}, "data": h.xs}},
		"yAxis":     []object{ticks},
		"series": []object{
			{"label": object{"fontWeight": 600, "fontSize": 12.5, "offset": []int{0, -6}}, "itemStyle": object{"borderRadius": 6}, "emphasis": object{"itemStyle": object{"borderColor": inkText, "borderWidth": 1.5}}},
			{"silent": true, "label": object{"fontSize": 10, "offset": []int{0, 10}}, "emphasis": object{"disabled": true}}},
		"aria": aria(fmt.Sprintf("Heat map of %s by %s and %s.", v.label, orAll(h.y), lowerFirst(h.x)))})
}

func orAll(s string) string {
	if s == "" {
		return "all"
	}
	return s
}

func (h *heat) rangeOf(v heatValue) (lo, hi float64, found bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range h.cells {
		if val, _, _ := v.of(s); val.OK && drawable(val.V, false) {
			lo, hi, found = min(lo, val.V), max(hi, val.V), true
		}
	}
	return lo, hi, found
}

// step is the shade of a value between the lowest and the highest of the map. A
// value that is only bounded from below is as strong as it gets.
func (v heatValue) step(val serving.Opt[float64], lo, hi float64) int {
	if !val.OK {
		return heatSteps - 1
	}
	if hi <= lo {
		return 2
	}
	f := (val.V - lo) / (hi - lo)
	if v.log && lo > 0 {
		f = math.Log(val.V/lo) / math.Log(hi/lo)
	}
	return min(max(int(f*heatSteps), 0), heatSteps-1)
}

// short is a value for a cell: three digits, since cells are narrow on a phone.
func (v heatValue) short(val serving.Opt[float64], shown string) string {
	if v.unit != serving.Seconds || !val.OK || !(val.V > 0) {
		return shown
	}
	p := math.Pow(10, 2-math.Floor(math.Log10(val.V)))
	return FormatLimit(v.unit, math.Round(val.V*p)/p)
}

// tip is what a cell says when pointed at.
func (h *heat) tip(x, y int) chartTip {
	out := chartTip{Title: h.xs[x] + " " + lowerFirst(h.x)}
	if h.y != "" {
		out.Title = h.ys[y] + ", " + out.Title
	}
	s := h.cells[[2]int{x, y}]
	if s == nil {
		return out
	}
	out.Lines = [][2]string{{"sent", FormatCountOpt(s.Counts.Sent) + " (" + FormatShare(s.Share) + ")"}, {"completed", FormatCountOpt(s.Counts.Completed)}}
	for _, v := range heatValues {
		if val, shown, q := v.of(s); v.key != "requests" && (val.OK || shown != Missing) {
			out.Lines = append(out.Lines, [2]string{v.label, shown + QualityMark(q)})
		}
	}
	return out
}

// table is the heat map as text: TTFT p99 would be one figure of six, so every
// cell of the cross is a row with all of them.
func (h *heat) table(id string) *Table {
	t := &Table{ID: id + "-heat-t", Caption: "The heat map's cells", Sortable: true, Head: []Head{col(upperFirst(orAll(h.y))), col(h.x)}}
	for _, v := range heatValues {
		t.Head = append(t.Head, metricCol(v.label, v.unit))
	}
	for y := range h.ys {
		for x := range h.xs {
			s := h.cells[[2]int{x, y}]
			if s == nil {
				continue
			}
			row := Row{Cells: []Cell{text(h.ys[y]), text(h.xs[x])}}
			for _, v := range heatValues {
				val, shown, q := v.of(s)
				c := number(shown, RawValue(v.unit, val))
				c.mark(q)
				row.Cells = append(row.Cells, c)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t.dropEmpty().collectKeys()
}

// lowerFirst writes a title inside a sentence; an abbreviation stays as it is.
func lowerFirst(s string) string {
	if s == "" || s[0] < 'A' || s[0] > 'Z' || len(s) > 1 && s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return string(s[0]+0x20) + s[1:]
}

func upperFirst(s string) string {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return s
	}
	return string(s[0]-0x20) + s[1:]
}

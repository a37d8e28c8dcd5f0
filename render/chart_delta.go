package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A deltaMap is the slices of a comparison laid out as the heat map of slices is:
// one dimension across, the others down. A cell is a change.
type deltaMap struct {
	x, y    string
	xs, ys  []string
	figures []verdict.Figure
	rows    map[[2]int]map[verdict.Figure]*analyze.CompareRow
	words   map[[2]int]string // new, gone, too few: cells that were not compared
	folded  int
}

// newDeltaMap lays out the widest cross that was compared; nil where it has fewer
// than two cells.
func newDeltaMap(c *analyze.Comparison) *deltaMap {
	m := &deltaMap{rows: map[[2]int]map[verdict.Figure]*analyze.CompareRow{}, words: map[[2]int]string{}}
	dims := m.crossDims(c)
	if len(dims) == 0 {
		return nil
	}
	across, down := m.axes(c, dims)
	m.x, m.y = dimTitle(across), dimNames(down)
	at := func(by []serving.Term) ([2]int, bool) {
		if !sameDims(by, dims) {
			return [2]int{}, false
		}
		s := &analyze.Slice{By: by}
		return [2]int{place(&m.xs, valueOf(s, []string{across})), place(&m.ys, valueOf(s, down))}, true
	}
	for _, r := range c.Slices {
		for _, by := range append([][]serving.Term{r.By}, r.Also...) {
			if k, ok := at(by); ok {
				if m.rows[k] == nil {
					m.rows[k] = map[verdict.Figure]*analyze.CompareRow{}
				}
				m.rows[k][r.Figure] = r
			}
		}
		if !slices.Contains(m.figures, r.Figure) {
			m.figures = append(m.figures, r.Figure)
		}
	}
	if len(m.rows) < 2 {
		return nil
	}
	for _, g := range []struct {
		list []analyze.SliceRef
		word string
	}{{c.New, "new"}, {c.Gone, "gone"}, {c.TooSmall, "too few"}} {
		for _, s := range g.list {
			if k, ok := at(s.By); ok && m.rows[k] == nil {
				m.words[k] = g.word
			}
		}
	}
	slices.SortFunc(m.figures, func(a, b verdict.Figure) int { return strings.Compare(figureOrder(a), figureOrder(b)) })
	m.order()
	return m
}

// axes chooses what goes across and what down, of the dimensions with more than
// one value.
func (m *deltaMap) axes(c *analyze.Comparison, dims []string) (across string, down []string) {
	values := map[string]map[string]bool{}
	for _, r := range c.Slices {
		for _, by := range append([][]serving.Term{r.By}, r.Also...) {
			if sameDims(by, dims) {
				for _, t := range by {
					if values[t.Dim] == nil {
						values[t.Dim] = map[string]bool{}
					}
					values[t.Dim][t.Value] = true
				}
			}
		}
	}
	telling := slices.DeleteFunc(slices.Clone(dims), func(d string) bool { return len(values[d]) < 2 })
	if len(telling) == 0 {
		telling = dims
	}
	across = telling[len(telling)-1]
	if slices.Contains(telling, string(serving.PromptTokens)) {
		across = string(serving.PromptTokens)
	}
	return across, slices.DeleteFunc(telling, func(n string) bool { return n == across })
}

// figureOrder sorts figures as the metrics are.
func figureOrder(f verdict.Figure) string {
	i := slices.IndexFunc(serving.Metrics, func(m serving.Metric) bool { return m.Key == f.Metric })
	if i < 0 {
		i = 99
	}
	return fmt.Sprintf("%02d %s", i, f.Stat)
}

// crossDims are the dimensions of the widest cross among the compared slices,
// those of one value left out.
func (m *deltaMap) crossDims(c *analyze.Comparison) []string {
	var widest []serving.Term
	for _, r := range c.Slices {
		for _, by := range append([][]serving.Term{r.By}, r.Also...) {
			if len(by) > len(widest) || len(by) == len(widest) && len(by) > 0 && dimsText(by) < dimsText(widest) {
				widest = by
			}
		}
	}
	var out []string
	for _, t := range widest {
		out = append(out, t.Dim)
	}
	return out
}

func dimsText(by []serving.Term) string {
	var out []string
	for _, t := range by {
		out = append(out, t.Dim)
	}
	return strings.Join(out, "\x00")
}

func sameDims(by []serving.Term, dims []string) bool {
	return len(by) == len(dims) && !slices.ContainsFunc(by, func(t serving.Term) bool { return !slices.Contains(dims, t.Dim) })
}

func place(list *[]string, v string) int {
	if i := slices.Index(*list, v); i >= 0 {
		return i
	}
	*list = append(*list, v)
	return len(*list) - 1
}

// order sorts both axes, buckets by their bounds, and cuts the rows.
func (m *deltaMap) order() {
	xs, ys := slices.Clone(m.xs), slices.Clone(m.ys)
	sortValues(m.xs)
	sortValues(m.ys)
	if m.folded = max(0, len(m.ys)-maxHeatRows); m.folded > 0 {
		m.ys = m.ys[:maxHeatRows]
	}
	moved := func(k [2]int) ([2]int, bool) {
		to := [2]int{slices.Index(m.xs, xs[k[0]]), slices.Index(m.ys, ys[k[1]])}
		return to, to[1] >= 0
	}
	rows, words := map[[2]int]map[verdict.Figure]*analyze.CompareRow{}, map[[2]int]string{}
	for k, r := range m.rows {
		if to, ok := moved(k); ok {
			rows[to] = r
		}
	}
	for k, w := range m.words {
		if to, ok := moved(k); ok {
			words[to] = w
		}
	}
	m.rows, m.words = rows, words
}

// figure draws the map, a variant a figure.
func (m *deltaMap) figure(id string) (Figure, *chart, error) {
	f := Figure{ID: id, Group: id, Title: upperFirst(strings.TrimPrefix(m.y+" × ", " × ") + lowerFirst(m.x)),
		Caption: "The change of each slice. ▲ worse and ▼ better are called; a strong colour is a change of more than twice its threshold; = is equivalent; ? on grey is undecided: the data cannot tell."}
	if len(m.words) > 0 {
		f.Caption += " Slices that are new, gone or have too few requests are named."
	}
	if m.folded > 0 {
		f.Caption += fmt.Sprintf(" %d more rows are in the table.", m.folded)
	}
	for _, n := range heatRows {
		f.Height = fmt.Sprintf("r%d", n)
		if n >= len(m.ys) {
			break
		}
	}
	ch := &chart{Variants: map[string]object{}, Narrow: object{
		"grid": []object{{"left": 92, "right": 4, "bottom": 62}}, "yAxis": []object{{"axisLabel": object{"width": 84, "fontSize": 11}}},
		"xAxis": []object{{"nameGap": 44, "axisLabel": object{"fontSize": 9.5, "rotate": 28}}}, "series": []object{{"label": object{"fontSize": 9.5}}}}}
	var options []SwitchOption
	for _, fig := range m.figures {
		opt, err := m.option(ch, fig)
		if err != nil {
			return f, nil, err
		}
		key := strings.NewReplacer(":", "-", "_", "-").Replace(fig.String())
		if ch.First == "" {
			ch.First = key
		}
		ch.Variants[key] = opt
		options = append(options, SwitchOption{Key: key, Label: figureName(fig)})
	}
	f.Switch = newSwitch(id, "Figure", options...)
	return f, ch, nil
}

func (m *deltaMap) option(ch *chart, f verdict.Figure) (object, error) {
	var data []object
	for y := range m.ys {
		for x := range m.xs {
			k := [2]int{x, y}
			title := strings.TrimPrefix(m.ys[y]+", ", "all, ") + m.xs[x] + " " + lowerFirst(m.x)
			word, known := m.words[k]
			r := m.rows[k][f]
			switch {
			case r != nil:
				fill, ink := deltaInk(r)
				ch.Tips = append(ch.Tips, chartTip{title, append([][2]string{{"share", FormatShare(r.Share)}}, forestTip(r)...)})
				data = append(data, object{"value": []any{x, y, 0, deltaText(r)}, "tip": len(ch.Tips) - 1, "itemStyle": object{"color": fill}, "label": object{"color": ink}})
			case known || m.rows[k] != nil:
				if !known {
					word = "–"
				}
				data = append(data, object{"value": []any{x, y, 0, word}, "itemStyle": object{"color": "var(--line-2)"}, "label": object{"color": inkFaint, "fontWeight": 400}})
			}
		}
	}
	c := charts.NewHeatMap()
	c.SetGlobalOptions(
		charts.WithXAxisOpts(opts.XAxis{Type: "category", Name: m.x, NameLocation: "middle", NameGap: 28, AxisLabel: &opts.AxisLabel{Color: inkSoft, Interval: "0"}, AxisLine: &opts.AxisLine{Show: opts.Bool(false)}, AxisTick: &opts.AxisTick{Show: opts.Bool(false)}, SplitArea: &opts.SplitArea{Show: opts.Bool(false)}}),
		charts.WithYAxisOpts(opts.YAxis{Type: "category", Inverse: opts.Bool(true), AxisLabel: &opts.AxisLabel{Color: inkSoft, Interval: "0", Width: 132, Overflow: "truncate"}, AxisLine: &opts.AxisLine{Show: opts.Bool(false)}}),
		charts.WithVisualMapOpts(opts.VisualMap{Type: "piecewise", Show: opts.Bool(false)}),
		tooltip("item", "tip:point"), charts.WithGridOpts(grid(142, 10, 6, 48)))
	c.AddSeries(seriesName(0), nil, withData(data), charts.WithLabelOpts(opts.Label{Show: opts.Bool(true), Formatter: "{@[3]}"}),
		charts.WithItemStyleOpts(opts.ItemStyle{BorderColor: inkPanel, BorderWidth: 3}))
	return build(c, object{
		"visualMap": []object{{"pieces": []object{{"value": 0, "color": "var(--line-2)"}}, "dimension": 2, "seriesIndex": 0, "show": false}},
		"xAxis":     []object{{"nameTextStyle": object{"color": inkAxis, "fontSize": 12}, "data": m.xs}},
		"yAxis":     []object{{"axisTick": object{"show": false}, "data": m.ys}},
		"series":    []object{{"label": object{"fontWeight": 600, "fontSize": 12.5}, "itemStyle": object{"borderRadius": 6}, "emphasis": object{"itemStyle": object{"borderColor": inkText, "borderWidth": 1.5}}}},
		"aria":      aria(fmt.Sprintf("Heat map of the change of %s by %s and %s.", figureName(f), orAll(m.y), lowerFirst(m.x)))})
}

// deltaText is a cell: its sign and the change.
func deltaText(r *analyze.CompareRow) string {
	s := changeCell(r).Text
	if r.Mix {
		return "mix " + s
	}
	return callSign[r.Call] + " " + s
}

// deltaInk is a cell's fill and the ink that stays readable on it.
func deltaInk(r *analyze.CompareRow) (fill, ink string) {
	strong := math.Abs(percentOf(r, r.Ratio.V)) > 200*r.Threshold
	switch {
	case r.Mix:
	case r.Call == verdict.Slower && strong:
		return "var(--bad)", inkPanel
	case r.Call == verdict.Slower:
		return "var(--bad-bg)", "var(--bad)"
	case r.Call == verdict.Faster && strong:
		return "var(--good)", inkPanel
	case r.Call == verdict.Faster:
		return "var(--good-bg)", "var(--good)"
	case r.Call == verdict.Equivalent:
		return "var(--s0)", inkText
	}
	return "var(--line-2)", inkSoft
}

package render

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"
	"github.com/go-echarts/go-echarts/v2/types"
)

// The chart files of this package use go-echarts to build options and for
// nothing else: its own rendering lets a label become script. An option is
// built, marshalled with the standard encoder, completed by a patch where the
// builders lack something, and put into a JSON island that the page's script
// reads. Three rules keep data inert:
//
//   - a series is called s0, s1, …; what people read stands in spec.Names and
//     reaches the page as text;
//   - a formatter is a name ("fmt:ms", "tip:point") that the script looks up;
//   - a colour is a style sheet token ("var(--k1)"), so that one option serves
//     light, dark and print.

// An object is a piece of an ECharts option.
type object = map[string]any

// A chart is what the page's script needs to draw one chart.
type chart struct {
	Option   object            `json:"option,omitempty"`
	Variants map[string]object `json:"variants,omitempty"` // by the key of a switch
	First    string            `json:"first,omitempty"`    // the variant to start with
	Names    []string          `json:"names"`              // what series s0, s1, … are called
	Tips     []chartTip        `json:"tips,omitempty"`     // what points say, by the index in their data
	Narrow   object            `json:"narrow,omitempty"`   // laid over the option where the chart is narrow
	Time     *timeAxis         `json:"time,omitempty"`     // data are values on a regular time axis
	Formats  []string          `json:"formats,omitempty"`  // of a time chart: the formatter of each series
}

// A chartTip is what a point says when it is pointed at: text, formatted here.
type chartTip struct {
	Title string      `json:"title"`
	Lines [][2]string `json:"lines"`
}

// A timeAxis turns a list of values into points: milliseconds since the epoch,
// or since the start where it is relative.
type timeAxis struct {
	From     float64 `json:"from"`
	Step     float64 `json:"step"`
	Relative bool    `json:"relative"`
	Counted  bool    `json:"counted,omitempty"` // a second stands for a slice
}

// builder is the part of a go-echarts chart that is used here.
type builder interface {
	Validate()
	JSON() map[string]any
}

// build turns a go-echarts chart into a plain option and lays a patch over it.
// It fails on a NaN or an infinity, which JSON cannot hold; one among the data
// fails the page.
func build(c builder, patch object) (object, error) {
	c.Validate()
	plain := c.JSON()
	data := takeData(plain)
	var out object
	if err := copyJSON(&out, plain); err != nil {
		return nil, fmt.Errorf("chart option: %w", err)
	}
	putData(out, data)
	var p object
	if err := copyJSON(&p, patch); err != nil {
		return nil, fmt.Errorf("chart option: %w", err)
	}
	prune(out)
	// Legends are HTML beside the chart: they wrap, and a keyboard reaches them.
	// Every series has a colour of the style sheet.
	for _, k := range []string{"legend", "title", "toolbox", "color"} {
		delete(out, k)
	}
	mergeObject(out, p)
	return out, nil
}

// takeData takes the data out of a chart's series, which are most of a chart and
// need no copy to be written as they are.
func takeData(o object) []any {
	list, ok := o["series"].(charts.MultiSeries)
	if !ok {
		return nil
	}
	list = slices.Clone(list)
	data := make([]any, len(list))
	for i := range list {
		data[i], list[i].Data = list[i].Data, nil
	}
	o["series"] = list
	return data
}

func putData(o object, data []any) {
	for i, d := range data {
		if v := reflect.ValueOf(d); v.IsValid() && !(v.Kind() == reflect.Slice && v.IsNil()) {
			o["series"].([]any)[i].(object)["data"] = d
		}
	}
}

func copyJSON(dst *object, src any) error {
	raw, err := json.Marshal(src)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, dst)
}

// prune drops nulls, which the builders write for what was not set. Data may
// hold nulls: they are missing values.
func prune(o object) {
	for k, v := range o {
		switch t := v.(type) {
		case nil:
			delete(o, k)
		case object:
			prune(t)
		case []any:
			if k == "data" {
				continue
			}
			for _, e := range t {
				if m, ok := e.(object); ok {
					prune(m)
				}
			}
		}
	}
}

// mergeObject lays a patch over an option. Objects merge; a list merges by position
// where both sides are lists of objects (axes, grids, series), and replaces
// otherwise.
func mergeObject(dst, patch object) {
	for k, v := range patch {
		switch p := v.(type) {
		case object:
			if d, ok := dst[k].(object); ok {
				mergeObject(d, p)
				continue
			}
		case []any:
			if d, ok := dst[k].([]any); ok && k != "data" && mergeLists(d, p) {
				continue
			}
		}
		dst[k] = v
	}
}

func mergeLists(dst, patch []any) bool {
	if len(patch) > len(dst) {
		return false
	}
	for i := range patch {
		_, a := dst[i].(object)
		_, b := patch[i].(object)
		if !a || !b {
			return false
		}
	}
	for i := range patch {
		mergeObject(dst[i].(object), patch[i].(object))
	}
	return true
}

// Tokens of the style sheet.
const (
	inkAxis   = "var(--axis)"
	inkGrid   = "var(--grid)"
	inkText   = "var(--ink)"
	inkSoft   = "var(--ink-2)"
	inkFaint  = "var(--ink-3)"
	inkPanel  = "var(--panel)"
	inkSLO    = "var(--slo-line)"
	inkBand   = "var(--slo)"
	inkKnee   = "var(--knee)"
	paletteOf = 8
)

// seriesColor is the colour of the i-th thing in a chart; seriesDash tells
// apart those that share it.
func seriesColor(i int) string { return fmt.Sprintf("var(--k%d)", i%paletteOf+1) }

func seriesDash(i int) string { return []string{"solid", "dashed", "dotted"}[i/paletteOf%3] }

// swatch is the same as classes of the style sheet, for the legend.
func swatch(i int) string {
	return fmt.Sprintf("k%d", i%paletteOf+1) + []string{"", " dash", " dot"}[i/paletteOf%3]
}

// seriesName is how the i-th series is called inside an option.
func seriesName(i int) string { return fmt.Sprintf("s%d", i) }

// An axis describes an axis in the terms this package needs.
type axis struct {
	name   string
	kind   string // value, log, category, time
	format string // a formatter of report.js, "" for the default
	min    any
	max    any
	labels []string // of a category axis
	base   int      // of a log axis; 0 for 10
	grid   int
}

func (a axis) x() opts.XAxis {
	return opts.XAxis{Name: a.name, Type: a.kind, NameLocation: "middle", NameGap: 28, GridIndex: a.grid,
		Scale: opts.Bool(true), Min: a.min, Max: a.max,
		AxisLabel: &opts.AxisLabel{Formatter: a.formatter(), Color: inkAxis, HideOverlap: opts.Bool(true)},
		AxisLine:  &opts.AxisLine{LineStyle: &opts.LineStyle{Color: inkGrid}},
		AxisTick:  &opts.AxisTick{Show: opts.Bool(false)},
		SplitLine: &opts.SplitLine{Show: opts.Bool(false)}}
}

func (a axis) y() opts.YAxis {
	return opts.YAxis{Name: a.name, Type: a.kind, GridIndex: a.grid, Min: a.min, Max: a.max, SplitNumber: 4,
		AxisLabel: &opts.AxisLabel{Formatter: a.formatter(), Color: inkAxis, HideOverlap: opts.Bool(true)},
		AxisLine:  &opts.AxisLine{Show: opts.Bool(false)},
		SplitLine: &opts.SplitLine{LineStyle: &opts.LineStyle{Color: inkGrid}}}
}

func (a axis) formatter() types.FuncStr {
	if a.format == "" {
		return ""
	}
	return types.FuncStr("fmt:" + a.format)
}

// patch holds what the builders cannot say of an axis.
func (a axis) patch() object {
	p := object{"nameTextStyle": object{"color": inkAxis, "fontSize": 12}}
	if a.base != 0 {
		p["logBase"] = a.base
	}
	if a.labels != nil {
		p["data"] = a.labels
	}
	p["axisTick"] = object{"show": false}
	return p
}

// yPatch puts the name of a y axis over the plot, from its left edge.
func (a axis) yPatch(left int) object {
	p := a.patch()
	p["nameTextStyle"] = object{"color": inkText, "fontWeight": 600, "align": "left", "padding": []int{0, 0, 0, 8 - left}}
	p["nameGap"] = 12
	p["minorSplitLine"] = object{"show": false}
	return p
}

func tooltip(trigger, formatter string) charts.GlobalOpts {
	return charts.WithTooltipOpts(opts.Tooltip{Show: opts.Bool(true), Trigger: trigger, Formatter: types.FuncStr(formatter)})
}

func grid(left, right, top, bottom int) opts.Grid {
	s := func(n int) string { return fmt.Sprint(n) }
	return opts.Grid{Left: s(left), Right: s(right), Top: s(top), Bottom: s(bottom)}
}

// aria is a chart's text for those who do not see it. The default of ECharts
// reads out numbers without their meaning.
func aria(text string) object {
	return object{"enabled": true, "label": object{"description": text + " The data is in the table below."}}
}

func withData(data any) charts.SeriesOpts {
	return charts.WithSeriesOpts(func(s *charts.SingleSeries) { s.Data = data })
}

// sig4 rounds to four significant digits, which is finer than a pixel and
// keeps pages small; a value that is none becomes null.
func sig4(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	if v == 0 {
		return 0.0
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	if math.IsInf(p, 0) || p == 0 {
		return v
	}
	if r := math.Round(v*p) / p; finite(r) { // the largest numbers round to more
		return r
	}
	return v
}

// drawable reports whether a value can stand on an axis, which is logarithmic
// or not.
func drawable(v float64, log bool) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0)
}

// niceBounds widens a range to round numbers for a logarithmic axis: 1, 2 or 5
// times a power of ten.
func niceBounds(lo, hi float64) (float64, float64) {
	down := func(v float64) float64 {
		e := math.Pow(10, math.Floor(math.Log10(v)))
		for _, m := range []float64{5, 2, 1} {
			if v >= m*e*0.9999 {
				return m * e
			}
		}
		return e
	}
	up := func(v float64) float64 {
		e := math.Pow(10, math.Floor(math.Log10(v)))
		for _, m := range []float64{1, 2, 5, 10} {
			if v <= m*e*1.0001 {
				return m * e
			}
		}
		return 10 * e
	}
	return down(lo), up(hi)
}

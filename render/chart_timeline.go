package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-echarts/go-echarts/v2/charts"
	"github.com/go-echarts/go-echarts/v2/opts"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// timelineChart draws all panels of a time axis in one chart: one zoom, one
// pointer and one tooltip for all of them.
func timelineChart(tl *analyze.Timeline, panels []timePanel) (*chart, error) {
	const left, top, height, gap = 60, 34, 96, 34
	points := tl.N
	for _, p := range panels {
		for _, s := range p.series {
			points = max(points, len(s.Values))
		}
	}
	ch := &chart{Time: &timeAxis{From: float64(tl.From) / 1e6, Step: tl.Step * 1e3, Relative: tl.Relative, Counted: tl.Counted}}
	clock, pointer := "utc", "fmt:utcPointer"
	if tl.Relative {
		clock, pointer = "elapsed", "fmt:elapsedPointer"
	}
	if tl.Counted {
		clock, pointer = "counted", "fmt:countedPointer"
	}
	end := ch.Time.From + ch.Time.Step*float64(max(points-1, 1))
	c := charts.NewLine()
	c.SetGlobalOptions(tooltip("axis", "tip:time"))
	var xp, yp, sp, gp []object
	var links []int
	for i, p := range panels {
		last := i == len(panels)-1
		x := axis{kind: "time", format: clock, grid: i, min: ch.Time.From, max: end}
		xo := x.x()
		xo.AxisLabel.Show = opts.Bool(last)
		y := axis{name: p.label(), kind: "value", format: p.format(), grid: i}
		if p.unit == serving.Share {
			y.min = 0
			if p.within(1) {
				y.max = 1
			}
		}
		yo := y.y()
		yo.SplitNumber = 2
		if i == 0 {
			c.SetGlobalOptions(charts.WithXAxisOpts(xo), charts.WithYAxisOpts(yo))
		} else {
			c.ExtendXAxis(xo)
			c.ExtendYAxis(yo)
		}
		links = append(links, i)
		xp = append(xp, object{"axisPointer": object{"show": true, "label": object{"show": last, "formatter": pointer}}})
		yp = append(yp, y.yPatch(left))
		gp = append(gp, object{"left": left, "right": 20, "top": top + i*(height+gap), "height": height})
		for k, s := range p.series {
			color := seriesColor(p.color(k))
			width := p.width(k)
			data, every := downsample(s.Values, maxPoints)
			c.AddSeries(seriesName(s.index), nil, withData(p.data(data)),
				charts.WithLineStyleOpts(opts.LineStyle{Color: color, Width: width, Type: seriesDash(p.color(k))}), charts.WithItemStyleOpts(opts.ItemStyle{Color: color}),
				charts.WithLineChartOpts(opts.LineChart{XAxisIndex: i, YAxisIndex: i, ShowSymbol: opts.Bool(false), Symbol: "circle", SymbolSize: 5}))
			m := object{}
			if lonely(data) {
				m["showSymbol"] = true // a point with nothing beside it has no line
			}
			if p.unit == serving.Share && k == 0 && s.Half == analyze.NoHalf {
				m["areaStyle"] = object{"opacity": .12, "color": color}
			}
			if k == 0 {
				markEvents(m, tl, i == 0)
			}
			sp = append(sp, m)
			ch.Names = append(ch.Names, s.name)
			ch.Formats = append(ch.Formats, p.tipFormat())
			if every > 1 {
				ch.Time.Step = tl.Step * 1e3 * every
			}
		}
	}
	bottom := top + len(panels)*(height+gap)
	opt, err := build(c, object{"xAxis": xp, "yAxis": yp, "series": sp, "grid": gp,
		"axisPointer": object{"link": []object{{"xAxisIndex": links}}},
		"dataZoom": []object{{"type": "slider", "xAxisIndex": links, "filterMode": "none", "top": bottom + 4, "height": 20, "left": left, "right": 20, "showDetail": false, "brushSelect": false,
			"borderColor": "var(--line)", "fillerColor": inkBand, "dataBackground": object{"lineStyle": object{"color": inkAxis}, "areaStyle": object{"color": inkGrid}},
			"selectedDataBackground": object{"lineStyle": object{"color": inkAxis}, "areaStyle": object{"color": inkGrid}},
			"handleStyle":            object{"color": inkPanel, "borderColor": inkAxis}, "moveHandleStyle": object{"color": inkAxis}}},
		"aria": aria(fmt.Sprintf("%d panels on one time axis with %d series.", len(panels), len(ch.Names)))})
	if err != nil {
		return nil, err
	}
	ch.Option = opt
	return ch, nil
}

// lonely reports whether some value has no neighbour.
func lonely(values []float64) bool {
	for i, v := range values {
		before := i > 0 && finite(values[i-1])
		after := i+1 < len(values) && finite(values[i+1])
		if finite(v) && !before && !after {
			return true
		}
	}
	return false
}

// data are a series' values in the unit of the chart, null where missing.
func (p timePanel) data(values []float64) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if p.unit == serving.Seconds {
			v = ms(v)
		}
		out[i] = sig4(v)
	}
	return out
}

func (p timePanel) within(limit float64) bool {
	for _, s := range p.series {
		for _, v := range s.Values {
			if finite(v) && v > limit {
				return false
			}
		}
	}
	return true
}

// label is the panel's title; figureTitle has said the unit already where it is
// a rate, and the axis labels say the others.
func (p timePanel) label() string {
	if p.unit == serving.RequestsUnit && p.title == "Requests" {
		return "Requests (count)"
	}
	return p.title
}

func (p timePanel) format() string {
	switch p.unit {
	case serving.Seconds:
		return "ms"
	case serving.Share:
		return "pct0"
	case serving.Bytes:
		return "bytes"
	}
	return "compact"
}

func (p timePanel) tipFormat() string {
	switch p.unit {
	case serving.Seconds:
		return "ms"
	case serving.Share:
		return "pct"
	case serving.Bytes:
		return "bytes"
	case serving.PerSecond:
		return "rate"
	}
	return "num"
}

// maxMarks bounds the events drawn in a chart; the table beside it has all.
const maxMarks = 60

// grave orders events by how much a reader needs to see them.
var grave = []string{"oom", "died", "restart", "cut", "deploy", "gap", "timeout", "5xx"}

func graveness(e analyze.Event) int { return max(0, slices.Index(grave, e.Kind)) }

// marked are the events to draw: of one kind that stand too close to be told
// apart the first, and of too many the gravest.
func marked(tl *analyze.Timeline) []analyze.Event {
	apart := int64(tl.Step * float64(tl.N) * 1e9 / maxMarks)
	last := map[string]int64{}
	var out []analyze.Event
	for _, e := range tl.Events {
		if at, ok := last[e.Kind]; ok && e.Count > 0 && e.At-at < apart {
			continue
		}
		last[e.Kind] = e.At
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b analyze.Event) int { return graveness(a) - graveness(b) })
	return out[:min(len(out), maxMarks)]
}

// markEvents draws restarts and failures as lines and gaps as areas. Only their
// kind is written into the chart: what they say is in the table of events.
func markEvents(series object, tl *analyze.Timeline, label bool) {
	var lines []object
	var areas [][]object
	events := marked(tl)
	slices.SortStableFunc(events, func(a, b analyze.Event) int { return cmp.Compare(a.At, b.At) })
	near, kinds, labelled := math.Inf(-1), "", 0 // of the line before: what stands close to it shares its label
	for _, e := range events {
		at := float64(e.At) / 1e6
		if e.To > e.At && e.Count == 0 {
			from := object{"xAxis": at, "name": e.Kind}
			if e.Kind == analyze.EventIncident {
				from["itemStyle"] = object{"color": "var(--incident)"}
				from["label"] = object{"position": "insideTop"}
			}
			areas = append(areas, []object{from, {"xAxis": float64(e.To) / 1e6}})
			continue
		}
		// Labels are centred: two need half of each between them, in a chart of
		// about 150 letters.
		if room := float64(len(kinds)+len(e.Kind)+4) / 2 / 150; e.Count > 0 && at-near < tl.Step*float64(tl.N)*1e3*room {
			if !slices.Contains(strings.Split(kinds, " · "), e.Kind) {
				kinds += " · " + e.Kind
			}
			lines[labelled]["label"] = object{"formatter": kinds}
			lines = append(lines, object{"xAxis": at, "label": object{"show": false}})
			continue
		}
		near, kinds, labelled = at, e.Kind, len(lines)
		lines = append(lines, object{"xAxis": at, "label": object{"formatter": e.Kind}})
	}
	if lines != nil {
		series["markLine"] = object{"silent": true, "symbol": "none", "data": lines,
			"lineStyle": object{"color": "var(--mark)", "type": "dashed", "width": 1.4},
			"label":     object{"show": label, "color": "var(--mark)", "fontWeight": 600, "fontSize": 11, "position": "end", "distance": 3}}
	}
	if areas != nil {
		series["markArea"] = object{"silent": true, "data": areas, "itemStyle": object{"color": "var(--gap)"},
			"label": object{"show": label, "position": "insideBottom", "color": inkSoft, "fontSize": 11}}
	}
}

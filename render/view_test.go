package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// TestSectionGolden holds what each view computes (JSON) and how its template
// lays it out (HTML), for a report whose labels are hostile.
func TestSectionGolden(t *testing.T) {
	rep := richReport()
	for i, r := range rep.Results {
		if r.Section.Name == "latency" { // the fixture has runs only
			rep.Results[i].Value = latencyOfRuns(analyze.Value[analyze.Runs](rep))
		}
	}
	for _, r := range rep.Results {
		t.Run(r.Section.Name, func(t *testing.T) {
			c := newPageContext(rep, true)
			v, ok := viewOf(r.Section.Name)
			if !ok {
				t.Fatal("no view")
			}
			data, err := v.build(c, r.Value)
			must(t, err)
			golden(t, "views/"+r.Section.Name+".json", indented(t, map[string]any{"view": data, "charts": c.charts}))
			s, err := c.section(r)
			must(t, err)
			golden(t, "sections/"+r.Section.Name+".html", []byte(strings.TrimSpace(string(s.Body))+"\n"))
		})
	}
}

func latencyOfRuns(runs *analyze.Runs) *analyze.Latency {
	var l analyze.Latency
	for i, r := range runs.Runs {
		side := serving.Client
		if i == 1 {
			side = serving.ServerSide
		}
		l.Groups = append(l.Groups, analyze.LatencyGroup{Label: r.Run.Label, Run: r, Side: side, Counts: r.Counts, Dists: r.Dists})
	}
	return &l
}

// indented is JSON for people: < and > stay readable.
func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	must(t, e.Encode(v))
	return b.Bytes()
}

// TestPartialGolden holds each partial by itself.
func TestPartialGolden(t *testing.T) {
	table := &Table{ID: "t", Caption: "Caption <b>", Sortable: true, Dense: true, Groups: []HeadGroup{{"", 1}, {"TTFT", 2}},
		Head: []Head{col("Run"), metricCol("p50", serving.Seconds), numCol("Output", "tok/s", "tok/s")},
		Rows: []Row{
			{Class: "faint", Cells: []Cell{{Text: hostileLabel, Link: "run-1", Sub: "1 warning"}, {Text: "12.0 ms", Class: "num", Raw: "12", Lo: "11", Hi: "13", Sub: "[11, 13] ms", Mark: "?", MarkText: "few requests"}, number(Missing, "")}},
			{Cells: []Cell{{Text: hostileModel, Code: true}, {Text: "pass", Pill: "good"}, text(hostileText)}}}}
	table.collectKeys()
	sw := newSwitch("g", "Metric", SwitchOption{Key: "ttft", Label: "TTFT"}, SwitchOption{Key: "e2e", Label: "E2E"})
	legend := &Legend{Charts: "a b", Label: "Sources", Items: []LegendItem{{Series: "s0", Label: hostileModel, Swatch: "k1", On: true}, {Label: "knee", Swatch: "diamond"}}}
	figure := &Figure{ID: "f", Title: hostileText, Caption: "One point a level.", Height: "m", Group: "g", Drawn: true, Switch: sw, Legend: legend, Tables: []Panel{{Group: "g", Key: "ttft", Title: "TTFT", Table: table}}}
	bare := &Figure{ID: "f", Title: "Without a library", Height: "m", Tables: []Panel{{Table: table}}}
	for name, part := range map[string]struct {
		template string
		data     any
	}{
		"table": {"table", table}, "switch": {"switch", sw}, "legend": {"legend", legend}, "figure": {"figure", figure}, "figure-bare": {"figure", bare},
		"panel": {"panel", Panel{Group: "g", Key: "ttft", Title: "TTFT", Table: table}}, "facts": {"facts", []Fact{{"model", hostileModel}}},
		"warnings": {"warnings", Warnings{"Read with care", []string{hostileText}}}, "queries": {"queries", table},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			must(t, pageTemplates().ExecuteTemplate(&b, part.template, part.data))
			golden(t, "partials/"+name+".html", append(bytes.TrimSpace(b.Bytes()), '\n'))
		})
	}
}

func TestDownsample(t *testing.T) {
	nan := math.NaN()
	long := make([]float64, 10_000)
	for i := range long {
		long[i] = math.Sin(float64(i) / 50)
	}
	long[4321], long[77] = 99, -99
	for _, tt := range []struct {
		name   string
		values []float64
		limit  int
	}{
		{"short", []float64{1, 2, 3}, 10}, {"odd", []float64{1, 5, 2, 4, 3, nan, 7}, 4}, {"missing", []float64{nan, nan, nan, nan, nan, nan}, 2}, {"long", long, 1000},
	} {
		got, every := downsample(tt.values, tt.limit)
		if len(got) > max(tt.limit, 2) && len(got) > len(tt.values) {
			t.Errorf("%s: %d points of %d, limit %d", tt.name, len(got), len(tt.values), tt.limit)
		}
		if tt.name == "long" && len(got) > tt.limit {
			t.Errorf("%s: %d points, limit %d", tt.name, len(got), tt.limit)
		}
		if want := float64(len(tt.values)); float64(len(got))*every < want {
			t.Errorf("%s: %d points × %g steps do not reach the end of %g", tt.name, len(got), every, want)
		}
		lo, hi := bounds(tt.values)
		glo, ghi := bounds(got)
		if lo != glo || hi != ghi {
			t.Errorf("%s: range %g…%g, want %g…%g", tt.name, glo, ghi, lo, hi)
		}
	}
}

func bounds(vs []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range vs {
		if !math.IsNaN(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return lo, hi
}

func TestMergeObject(t *testing.T) {
	base := object{"grid": []any{object{"left": 1.}, object{"left": 2.}}, "tooltip": object{"show": true}, "data": []any{object{"a": 1.}}, "color": []any{"x"}}
	mergeObject(base, object{"grid": []any{object{"right": 3.}}, "tooltip": object{"trigger": "axis"}, "data": []any{object{"b": 2.}}, "color": []any{"y"}, "new": 1.})
	want := object{"grid": []any{object{"left": 1., "right": 3.}, object{"left": 2.}}, "tooltip": object{"show": true, "trigger": "axis"}, "data": []any{object{"b": 2.}}, "color": []any{"y"}, "new": 1.}
	if d := cmp.Diff(want, base); d != "" {
		t.Error(d)
	}
}

func TestSig4(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want any
	}{{0, 0.}, {123456, 123500.}, {-0.000123456, -0.0001235}, {9.9996, 10.}, {math.NaN(), nil}, {math.Inf(-1), nil}, {1e-320, 1e-320}, {math.MaxFloat64, math.MaxFloat64}} {
		if got := sig4(tt.in); got != tt.want {
			t.Errorf("sig4(%g) = %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestNiceBounds(t *testing.T) {
	for _, tt := range [][4]float64{{3, 47, 2, 50}, {1, 1000, 1, 1000}, {.0123, .9, .01, 1}, {5, 5, 5, 5}} {
		if lo, hi := niceBounds(tt[0], tt[1]); math.Abs(lo-tt[2]) > 1e-9 || math.Abs(hi-tt[3]) > 1e-9 {
			t.Errorf("niceBounds(%g, %g) = %g, %g, want %g, %g", tt[0], tt[1], lo, hi, tt[2], tt[3])
		}
	}
}

// TestCurveShare reads a distribution backwards.
func TestCurveShare(t *testing.T) {
	c := curve{at: make([]float64, len(cube.CDFGrid))}
	for i, p := range cube.CDFGrid {
		c.at[i] = 100 * p // uniform on 0…100 ms
	}
	for _, v := range []float64{0, 1, 12.5, 50, 97.31, 100} {
		if got := c.share(v); math.Abs(got-v/100) > 1e-9 {
			t.Errorf("share(%g) = %g", v, got)
		}
	}
	if c.share(-1) != 0 || c.share(101) != 1 {
		t.Error("outside of the range a share is 0 or 1")
	}
	flat := curve{at: make([]float64, len(cube.CDFGrid))}
	for i := range flat.at {
		flat.at[i] = 7
	}
	if flat.share(7) != 1 || flat.share(6.9) != 0 {
		t.Error("a distribution of one value steps there")
	}
	b := binsOf([]curve{c})
	sum := 0.
	for _, s := range b.shares(c) {
		sum += s
	}
	if sum < .998 || sum > 1 {
		t.Errorf("the bins hold %g of the requests", sum)
	}
}

// TestDegenerateCharts draws what has next to nothing to draw.
func TestDegenerateCharts(t *testing.T) {
	flat := func(v float64) *analyze.Dist {
		d := &analyze.Dist{Metric: serving.TTFT, Count: serving.Some(int64(1)), CDF: make([]float64, len(cube.CDFGrid))}
		for i := range d.CDF {
			d.CDF[i] = v
		}
		return d
	}
	for name, v := range map[string]float64{"zero": 0, "one value": .25, "tiny": 1e-9, "huge": 1e9} {
		g := []analyze.LatencyGroup{{Label: "a", Side: serving.Client, Dists: analyze.Dists{flat(v)}}, {Label: "b", Side: serving.Client, Dists: analyze.Dists{flat(v * 2)}}}
		c := newPageContext(&analyze.Report{}, true)
		if _, err := viewLatency(c, &analyze.Latency{Groups: g}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := viewLatency(c, &analyze.Latency{Groups: g[:1]}); err != nil {
			t.Errorf("%s alone: %v", name, err)
		}
		if _, err := island(c.charts); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := newPageContext(&analyze.Report{}, true)
	nan := []float64{math.NaN(), math.NaN()}
	for name, tl := range map[string]*analyze.Timeline{
		"empty": {}, "no values": {N: 2, Step: 1, Series: []analyze.TimelineSeries{{Metric: "ttft", Unit: serving.Seconds}}},
		"missing": {N: 2, Step: 1, Series: []analyze.TimelineSeries{{Metric: "kv_usage", Unit: serving.Share, Panel: "kv", Values: nan}}},
		"one":     {N: 1, Step: 15, Relative: true, Series: []analyze.TimelineSeries{{Metric: "x", Unit: serving.Bytes, Values: []float64{1}}}},
	} {
		if _, err := viewTimeline(c, &analyze.Timelines{Timelines: []*analyze.Timeline{tl}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	run := &analyze.RunStats{Run: &serving.Run{}}
	for name, s := range map[string]*analyze.Sweep{
		"nothing": {}, "no figures": {Points: []analyze.SweepPoint{{Runs: []*analyze.RunStats{run}}, {Runs: []*analyze.RunStats{run}}}},
		"zeros": {XName: "max_concurrency", Knees: []analyze.Knee{{X: serving.Some(0.), Level: serving.Some(0.)}}, Points: []analyze.SweepPoint{
			{Runs: []*analyze.RunStats{run}, OutputPerS: serving.Some(0.), PerUser: serving.Some(0.), TPOT50: serving.Some(0.)},
			{Runs: []*analyze.RunStats{run}, X: 1, XUnlimited: true, OutputPerS: serving.Some(0.), PerUser: serving.Some(0.), TPOT50: serving.Some(0.)}}},
	} {
		if _, err := viewSweeps(c, &analyze.Sweeps{Sweeps: []*analyze.Sweep{s}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	one := []analyze.Dimension{{Name: "a", Slices: []*analyze.Slice{{}}}}
	thin := &analyze.Slices{Datasets: []*analyze.DatasetStats{{}, {Alone: one}, {GroupBy: []string{"a"}, Cross: []*analyze.Slice{{}, {}}}}}
	if _, err := c.section(analyze.Result{Section: &analyze.Section{Name: "slices"}, Value: thin}); err != nil {
		t.Error(err)
	}
	if _, err := viewRuns(c, &analyze.Latency{}); err == nil {
		t.Error("a value of another section is no error")
	}
}

func TestDropEmpty(t *testing.T) {
	table := &Table{Groups: []HeadGroup{{"", 1}, {"A", 2}, {"B", 1}}, Head: []Head{col("Run"), col("x"), col("y"), col("failed")},
		Rows: []Row{{Cells: []Cell{text("a"), text("1"), text(Missing), text(Missing)}}, {Cells: []Cell{text("b"), text(Missing), text(""), text(Missing)}}}}
	table.dropEmpty("failed")
	want := &Table{Groups: []HeadGroup{{"", 1}, {"A", 1}, {"B", 1}}, Head: []Head{col("Run"), col("x"), col("failed")},
		Rows: []Row{{Cells: []Cell{text("a"), text("1"), text(Missing)}}, {Cells: []Cell{text("b"), text(Missing), text(Missing)}}}}
	if d := cmp.Diff(want, table); d != "" {
		t.Error(d)
	}
}

// Slices of a length that nothing states are counted: no clock is made up for them.
func TestCountedTimeline(t *testing.T) {
	tl := &analyze.Timeline{Title: "run", N: 3, Step: 1, Relative: true, Counted: true,
		Series: []analyze.TimelineSeries{{Metric: "ttft", Stat: "p50", Unit: serving.Seconds, Side: serving.Client, Panel: "latency", Values: []float64{.1, math.NaN(), .3}}},
		Events: []analyze.Event{{At: 2e9, Kind: analyze.EventPartial, Text: "cut short", Source: "run"}}}
	c := newPageContext(&analyze.Report{}, true)
	v, err := viewTimeline(c, &analyze.Timelines{Timelines: []*analyze.Timeline{tl}})
	if err != nil {
		t.Fatal(err)
	}
	part := v.(*timelineView).Timelines[0]
	if want := "The axis counts time slices, whose length no file states. Dashed lines: a slice in which the run ended (partial)."; part.Figure.Caption != want {
		t.Errorf("caption %q, want %q", part.Figure.Caption, want)
	}
	if got := part.Figure.Tables[1].Table.Rows[2].Cells[0].Text; got != "slice 2" {
		t.Errorf("the third value is of %q", got)
	}
	if got := part.Events.Rows[0].Cells[0].Text; got != "slice 2" {
		t.Errorf("the event is at %q", got)
	}
	ch := c.charts["timeline-1"]
	if text := fmt.Sprint(ch.Option); !ch.Time.Counted || !strings.Contains(text, "fmt:counted") || strings.Contains(text, "fmt:elapsed") {
		t.Errorf("axis %+v of %s", ch.Time, text)
	}
	if w := newWireTimeline(tl); !w.Counted || w.Step != nil || w.From != "+0s" {
		t.Errorf("JSON %+v", w)
	}
}

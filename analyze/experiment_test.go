package analyze

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

func TestExperimentResult(t *testing.T) {
	expected := func(a string) Condition { return Condition{Kind: Expected, Answer: a} }
	refutes := func(a string) Condition { return Condition{Kind: Refutes, Answer: a} }
	required := func(a string) Condition { return Condition{Kind: Required, Answer: a} }
	for _, tt := range []struct {
		name string
		cs   []Condition
		want ExperimentResult
	}{
		{"all speak for it", []Condition{expected("met"), refutes("not_met"), required("met")}, Adopt},
		{"refuted", []Condition{expected("met"), refutes("met"), required("met")}, Reject},
		{"the prediction failed", []Condition{expected("not_met"), refutes("not_met"), required("met")}, Reject},
		{"refuted though one repeat", []Condition{expected("met"), required("not_met"), refutes("met")}, Reject},
		{"one repeat", []Condition{expected("met"), refutes("not_met"), required("not_met")}, UndecidedYet},
		{"a refutation that cannot be answered", []Condition{expected("met"), refutes("undecided"), required("met")}, UndecidedYet},
		{"the prediction cannot be answered", []Condition{expected("undecided"), required("met")}, UndecidedYet},
	} {
		e := &Experiment{Conditions: tt.cs}
		if e.conclude(); e.Result != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, e.Result, tt.want)
		}
	}
}

// An answer is the whole interval's: a limit inside it is undecided.
func TestChangeCondition(t *testing.T) {
	tpot := verdict.Figure{Metric: serving.TPOT, Stat: "p95"}
	failed := verdict.Figure{Metric: verdict.FailedShare}
	some := serving.Some[float64]
	row := func(f verdict.Figure, v, lo, hi, assumed float64) *CompareRow {
		r := &verdict.Row{Figure: f, Ratio: some(v), Lo: some(lo), Hi: some(hi)}
		if assumed > 0 {
			r.Assumed = some(assumed)
		}
		return &CompareRow{Row: r}
	}
	for _, tt := range []struct {
		name  string
		row   *CompareRow
		above bool
		limit float64
		want  string
	}{
		{"beyond", row(tpot, .88, .85, .92, 0), false, -.05, "met"},
		{"short of it", row(tpot, .97, .96, .98, 0), false, -.05, "not_met"},
		{"around it", row(tpot, .95, .90, 1.01, 0), false, -.05, "undecided"},
		{"above", row(tpot, 1.3, 1.25, 1.35, 0), true, .2, "met"},
		{"not above", row(tpot, 1.05, 1.01, 1.1, 0), true, .2, "not_met"},
		{"one run a side", row(tpot, .88, .85, .92, .25), false, -.05, "undecided"},
		{"a share", row(failed, .03, .02, .04, 0), true, .01, "met"},
		{"another figure", row(failed, .03, .02, .04, 0), true, .01, "met"},
	} {
		c := &comparing{in: &Input{}, out: &Comparison{Headline: []*CompareRow{tt.row}}}
		got := c.changeCondition(Refutes, ChangeLimit{Figure: tt.row.Figure, Above: tt.above, Change: tt.limit})
		if got.Answer != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got.Answer, got.Why, tt.want)
		}
		if tt.row.Figure == tpot && math.Abs(got.Value.V-(tt.row.Ratio.V-1)) > 1e-12 {
			t.Errorf("%s: value %v", tt.name, got.Value)
		}
	}
	c := &comparing{in: &Input{}, out: &Comparison{}}
	if got := c.changeCondition(Expected, ChangeLimit{Figure: tpot}); got.Answer != "undecided" || got.Why == "" {
		t.Errorf("a figure that nobody has: %+v", got)
	}
}

// Decode pressure is refuted where first tokens lose more than TPOT gains.
func TestLossBeyondGain(t *testing.T) {
	some := serving.Some[float64]
	row := func(k serving.MetricKey, v, lo, hi float64) *CompareRow {
		return &CompareRow{Row: &verdict.Row{Figure: verdict.Figure{Metric: k, Stat: "p95"}, Ratio: some(v), Lo: some(lo), Hi: some(hi)}}
	}
	for _, tt := range []struct {
		name       string
		ttft, tpot *CompareRow
		want       string
	}{
		{"a doubled TTFT for a tenth of TPOT", row(serving.TTFT, 2, 1.8, 2.2), row(serving.TPOT, .9, .88, .92), "met"},
		{"a tenth of TTFT for a halved TPOT", row(serving.TTFT, 1.1, 1.05, 1.15), row(serving.TPOT, .5, .48, .52), "not_met"},
		{"nobody knows", row(serving.TTFT, 1.1, .8, 1.6), row(serving.TPOT, .9, .8, 1.1), "undecided"},
	} {
		c := &comparing{in: &Input{}, out: &Comparison{Headline: []*CompareRow{tt.ttft, tt.tpot}}}
		if got := c.lossBeyondGain(); got.Answer != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.name, got.Answer, got.Why, tt.want)
		}
	}
}

// Tracks of two days lie on one axis, each from its own start; a cut trace keeps
// its time.
func TestAlign(t *testing.T) {
	const day = int64(86400e9)
	tracks := func() []*track {
		mk := func(h Half, from int64) *track {
			return &track{label: "x", half: h, from: from, to: from + 60e9, step: 1e9, events: []Event{{At: from + 5e9, Kind: "restart"}},
				series: []trackSeries{{TimelineSeries: TimelineSeries{Metric: "ttft"}, at: []int64{from}, until: []int64{from + 60e9}, value: []float64{1}}}}
		}
		return []*track{mk(FirstHalf, 0), mk(SecondHalf, day), mk(SecondHalf, day+100e9)}
	}
	ts := tracks()
	align(&Sides{Names: [2]string{"a", "b"}}, ts, []Event{{At: day + 7e9, Kind: "deploy"}})
	if ts[0].from != 0 || ts[1].from != 0 || ts[2].from != 100e9 || ts[1].series[0].at[0] != 0 || ts[1].events[0].At != 5e9 {
		t.Errorf("tracks start at %d, %d and %d", ts[0].from, ts[1].from, ts[2].from)
	}
	if len(ts[1].events) != 2 || ts[1].events[1].At != 7e9 || len(ts[0].events) != 1 {
		t.Errorf("annotations are at %+v", ts[1].events)
	}
	if c := cluster(ts); len(c) != 2 || len(c[0]) != 2 {
		t.Errorf("%d axes, want the first runs of both sides on one", len(c))
	}
	s := &Sides{Names: [2]string{"a", "b"}}
	s.Windows[before].To, s.Windows[after].From, s.Windows[after].To = day, day, math.MaxInt64
	ts = tracks()
	if align(s, ts, nil); ts[1].from != day || ts[0].relative || ts[0].events[1].Kind != "cut" {
		t.Errorf("a cut trace was moved: %+v", ts[0])
	}
}

// GPU memory activity and TPOT that move together leave decode pressure standing;
// where they do not, it is refuted; and without both there is no answer.
func TestMemoryUnrelated(t *testing.T) {
	side := func(related, scraped bool, scrapes int) *serving.Dataset {
		rng := rand.New(rand.NewPCG(71, 72))
		engine := &serving.Server{ID: "e", Engine: "vllm", Histograms: []serving.HistogramSeries{{Metric: serving.TPOT}}}
		gpu := &serving.Server{ID: "g", Gauges: []serving.Gauge{{Name: serving.GPUMemActive}}}
		var count, sum float64
		for i := range scrapes {
			activity, tpot := rng.Float64(), rng.Float64()
			if related {
				tpot = activity + .1*rng.Float64()
			}
			at := int64(i+1) * 15e9
			count, sum = count+100, sum+100*(.01+.01*tpot)
			h := &engine.Histograms[0]
			engine.Times, h.Count, h.Sum = append(engine.Times, at), append(h.Count, count), append(h.Sum, sum)
			gpu.Times, gpu.Gauges[0].Values = append(gpu.Times, at-1e9), append(gpu.Gauges[0].Values, activity)
		}
		ds := &serving.Dataset{Servers: []*serving.Server{engine}}
		if scraped {
			ds.Servers = append(ds.Servers, gpu)
		}
		return ds
	}
	for _, tt := range []struct {
		name             string
		related, scraped bool
		scrapes          int
		want             string
	}{
		{"they move together", true, true, 40, answerNotMet},
		{"they do not", false, true, 40, answerMet},
		{"too few", true, true, 8, answerUnknown},
		{"no GPU scraped", true, false, 40, answerUnknown},
	} {
		s := &Sides{Data: [2]*serving.Dataset{side(tt.related, tt.scraped, tt.scrapes), side(tt.related, tt.scraped, tt.scrapes)}}
		c := &comparing{in: &Input{sides: s}, out: &Comparison{}}
		if got := c.memoryUnrelated(); got.Answer != tt.want || got.Why == "" {
			t.Errorf("%s: %+v, want %s", tt.name, got, tt.want)
		}
	}
}

// What several changes brought is not put down to one of them.
func TestOneChange(t *testing.T) {
	changed := func(kinds ...ChangeKind) Condition {
		c := &comparing{out: &Comparison{}}
		for i, k := range kinds {
			c.out.Changed = append(c.out.Changed, Changed{Kind: k, Key: fmt.Sprint("k", i)})
		}
		return c.oneChange()
	}
	for _, tt := range []struct {
		got  Condition
		want string
	}{
		{changed(), answerMet}, {changed(ChangedSetting), answerMet}, {changed(ChangedSetting, ChangedMethod), answerMet},
		{changed(ChangedSetting, ChangedVersion), answerNotMet}, {changed(ChangedSetting, ChangedWorkload), answerNotMet},
	} {
		if tt.got.Answer != tt.want {
			t.Errorf("%+v, want %s", tt.got, tt.want)
		}
	}
}

// Of a comparison a query is answered for each side, by its own scrapes.
func TestQueryTracksOfSides(t *testing.T) {
	raw := func(v float64) serving.Raw {
		return serving.Raw{Series: []serving.RawSeries{{Labels: map[string]string{"__name__": "up"}, T: []int64{0, 15000, 30000}, V: []float64{v, v, v}}}}
	}
	in := &Input{sides: &Sides{Names: [2]string{"old", "new"}, Data: [2]*serving.Dataset{{Raw: raw(1)}, {Raw: raw(2)}}}}
	in.Opt.PromQL = []Query{{Name: "up", Expr: "up"}}
	tracks, notes := queryTracks(context.Background(), in)
	if len(tracks) != 2 || len(notes) > 0 {
		t.Fatalf("%d tracks, notes %q; want one a side", len(tracks), notes)
	}
	for i, k := range tracks {
		s := k.series[0]
		if k.half != FirstHalf+Half(i) || s.value[0] != float64(i+1) || s.Label != in.sides.Names[i]+" · up" {
			t.Errorf("track %d: half %d, %q is %v", i, k.half, s.Label, s.value[0])
		}
	}
}

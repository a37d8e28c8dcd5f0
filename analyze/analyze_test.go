package analyze

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// Every section can run after those it reads, and says what it needs.
func TestSectionsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Sections {
		if names[s.Name] {
			t.Errorf("section %s is listed twice", s.Name)
		}
		names[s.Name] = true
		if s.Title == "" || s.Nav == "" || s.Doc == "" || s.Needs == "" || s.Run == nil {
			t.Errorf("section %s is incomplete: %+v", s.Name, s)
		}
	}
	for _, s := range Sections {
		for _, a := range s.After {
			if !names[a] || a == s.Name {
				t.Errorf("section %s is after %q, which is no other section", s.Name, a)
			}
		}
	}
	rep := analyzed(t, &serving.Dataset{}, DefaultOptions()) // panics on a cycle
	for _, r := range rep.Results {
		if r.Value == nil && r.Skipped == "" {
			t.Errorf("section %s has neither a value nor a reason", r.Section.Name)
		}
	}
}

// gateOf runs the SLO gate over 100 even requests from 10 to 109 ms.
func gateOf(t *testing.T, expr string, spoil func([]request)) Gate {
	reqs := steady(100, 10, 109)
	if spoil != nil {
		spoil(reqs)
	}
	opt := DefaultOptions()
	opt.SLOs, opt.Gates = slos(t, expr), []string{"slo"}
	return analyzed(t, &serving.Dataset{Runs: []*serving.Run{newRun("a", 4, reqs)}}, opt).Gate
}

// The gate decides on the interval, not on the point.
func TestSLOGateDecidesOnTheInterval(t *testing.T) {
	for _, tc := range []struct {
		expr string
		want GateResult
	}{
		{"ttft:p90<10s", GatePass},       // 100 of 100: at least 96.3 % with 95 % confidence
		{"ttft:p99<10s", GateUndecided},  // 96.3 % is not yet 99 %
		{"ttft:p50<1ms", GateFail},       // none
		{"ttft:p50<60ms", GateUndecided}, // 51 of 100 straddles one half
		{"ttft:p50<40ms", GateFail},
		{"ttft:p50<80ms", GatePass},
		{"ttft:mean<100ms", GatePass},
		{"ttft:mean<59.6ms", GateUndecided},
		{"ttft:mean<10ms", GateFail},
		{"workload=chat:ttft:p90<10s", GatePass},
		{"workload=other:ttft:p90<10s", GateUndecided}, // no such slice
	} {
		if g := gateOf(t, tc.expr, nil); g.Result != tc.want || len(g.Reasons) == 0 {
			t.Errorf("%s: %s %v, want %s with a reason", tc.expr, g.Result, g.Reasons, tc.want)
		}
	}
}

// Failed requests are misses: a server that fails fast does not pass.
func TestFailuresAreMisses(t *testing.T) {
	fail := func(reqs []request) {
		for i := range 30 {
			reqs[i].outcome = serving.Failed
		}
	}
	if g := gateOf(t, "ttft:p90<10s", fail); g.Result != GateFail {
		t.Errorf("p90 with 30 %% failed: %s %v, want fail", g.Result, g.Reasons)
	}
	if g := gateOf(t, "ttft:mean<10s", fail); g.Result != GateUndecided {
		t.Errorf("mean with 30 %% failed: %s %v, want undecided", g.Result, g.Reasons)
	}
}

func TestGateWithoutObjectivesIsAnError(t *testing.T) {
	opt := DefaultOptions()
	opt.Gates = []string{"slo"}
	_, err := Run(t.Context(), &serving.Dataset{Runs: []*serving.Run{newRun("a", 4, steady(10, 1, 2))}}, opt)
	if err == nil || !strings.Contains(err.Error(), "--slo") {
		t.Errorf("error %v, want one that names --slo", err)
	}
}

func TestRunStatsFromRequests(t *testing.T) {
	reqs := steady(100, 10, 109)
	for i := range 4 {
		reqs[i].outcome, reqs[i].ttft = serving.Timeout, -1
	}
	opt := DefaultOptions()
	opt.Goodput = []serving.Condition{{Metric: serving.TTFT, Limit: 0.0595}, {Metric: serving.TPOT, Limit: 0.02}}
	r := newRun("a", 4, reqs)
	r.GPUs = serving.Some(2)
	rep := analyzed(t, &serving.Dataset{Runs: []*serving.Run{r}}, opt)
	s := Value[Runs](rep).Runs[0]

	good, ok := 0, 0
	sum := 0.0
	for _, q := range reqs {
		if q.outcome == serving.OK {
			ok++
			sum += q.ttft
			if q.ttft <= 0.0595 {
				good++
			}
		}
	}
	if s.Counts.Sent.V != 100 || s.Counts.Completed.V != int64(ok) || s.Counts.Failed.V != 4 || s.Counts.Outcomes["timeout"] != 4 {
		t.Errorf("counts %+v", s.Counts)
	}
	near := func(what string, got serving.Opt[float64], want float64) {
		if !got.OK || math.Abs(got.V-want) > 1e-9*math.Abs(want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	near("mean ttft", s.Dists.Of(serving.TTFT).Mean, sum/float64(ok))
	near("requests/s", s.Throughput.Requests, float64(ok)/100)
	near("output/s", s.Throughput.Output, float64(ok)*50/100)
	near("output/s per GPU", s.Throughput.OutputPerGPU, float64(ok)*50/200)
	near("output/s per user", s.Throughput.OutputPerUser, float64(ok)*50/100/4)
	near("goodput share", s.Goodput.Share, float64(good)/100)
	near("goodput/s", s.Goodput.PerSecond, float64(good)/100)
	if d := s.Dists.Of(serving.TTFT); d.Origin != FromRequests || d.Side != serving.Client || d.Count.V != int64(ok) {
		t.Errorf("ttft is %s of %s with n %v", d.Origin, d.Side, d.Count)
	}
}

// A tampered mean is told; one that is right to the last digits is not.
func TestFileMismatch(t *testing.T) {
	reqs := steady(100, 10, 109)
	r := newRun("a", 4, reqs)
	sum := 0.0
	for _, q := range reqs {
		sum += q.ttft
	}
	r.Reported = []serving.Reported{
		{Field: "mean_ttft_ms", Metric: serving.TTFT, Stat: "mean", File: sum / 100 * 1000, PerBase: 1000},
		{Field: "median_ttft_ms", Metric: serving.TTFT, Stat: "p50", File: 80, PerBase: 1000},
	}
	s := Value[Runs](analyzed(t, &serving.Dataset{Runs: []*serving.Run{r}}, DefaultOptions())).Runs[0]
	if len(s.Mismatch) != 1 || s.Mismatch[0].Field != "median_ttft_ms" || s.Mismatch[0].File != 80 || math.Abs(s.Mismatch[0].Ours-59.5) > 1e-9 {
		t.Errorf("mismatches %+v, want the median only: 80 in the file, 59.5 ours", s.Mismatch)
	}
	if len(s.Warnings) != 1 {
		t.Errorf("warnings %q, want one", s.Warnings)
	}
}

// The made-up table of M2: TPOT p99/p50 is 1.5, ITL p99/p50 is 2.5.
func TestStallReading(t *testing.T) {
	dist := func(k serving.MetricKey, p50, p99 float64) *Dist {
		return &Dist{Metric: k, Gaps: "token", Quantiles: []Quantile{{P: 0.5, Value: serving.Some(p50)}, {P: 0.99, Value: serving.Some(p99)}}}
	}
	got := stallReading(Dists{dist(serving.TPOT, 0.04012, 0.0589), dist(serving.ITL, 0.03875, 0.09743)})
	if !strings.HasPrefix(got, "Stalls:") || !strings.Contains(got, "1.5 ×") || !strings.Contains(got, "2.5 ×") {
		t.Errorf("reading %q, want stalls with both ratios", got)
	}
	chunks := dist(serving.ITL, 0.03875, 0.09743)
	chunks.Gaps = "chunk"
	if got := stallReading(Dists{dist(serving.TPOT, 0.04, 0.058), chunks}); got != "" {
		t.Errorf("reading %q of chunk gaps, want none", got)
	}
}

// Client and server times never stand in one group.
func TestSidesStayApart(t *testing.T) {
	ds := &serving.Dataset{Runs: []*serving.Run{newRun("a", 4, steady(50, 1, 9))},
		Traces: []serving.Requests{newTable("trace", serving.ServerSide, steady(50, 1, 9))}}
	for _, g := range Value[Latency](analyzed(t, ds, DefaultOptions())).Groups {
		for _, d := range g.Dists {
			if d.Side != g.Side {
				t.Errorf("%s: %s is of the %s in a group of the %s", g.Label, d.Metric, d.Side, g.Side)
			}
		}
	}
}

// The slices of a dimension add up to the whole.
func TestSlicesAddUp(t *testing.T) {
	reqs := append(steady(100, 10, 109), steady(50, 500, 900)...)
	for i := range reqs {
		if i%3 == 0 {
			reqs[i].workload, reqs[i].in = "rag", 9000
		}
		if i%10 == 0 {
			reqs[i].outcome = serving.Cancelled
		}
	}
	rep := analyzed(t, &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.ServerSide, reqs)}}, DefaultOptions())
	d := Value[Slices](rep).Datasets[0]
	var got []string
	for _, dim := range d.Alone {
		var sent, done int64
		for _, s := range dim.Slices {
			sent, done = sent+s.Counts.Sent.V, done+s.Counts.Completed.V
		}
		if sent != d.All.Counts.Sent.V || done != d.All.Counts.Completed.V {
			t.Errorf("slices of %s add up to %d sent, %d completed; want %d, %d", dim.Name, sent, done, d.All.Counts.Sent.V, d.All.Counts.Completed.V)
		}
		got = append(got, dim.Name)
	}
	if diff := cmp.Diff([]string{"workload", "prompt_tokens", "output_tokens", "outcome"}, got); diff != "" {
		t.Errorf("dimensions (-want +got):\n%s", diff)
	}
	if len(d.Cross) != 2 {
		t.Errorf("%d slices in the cross, want chat × 512-2047 and rag × 8192-32767", len(d.Cross))
	}
}

// A closed-loop sweep of a machine that saturates at 8 in flight.
func TestSweepFrontierAndKnee(t *testing.T) {
	var runs []*serving.Run
	for _, c := range []int64{1, 2, 4, 8, 16, 32} {
		r := newRun("c"+string(rune('a'+c)), c, nil)
		r.Requests = nil
		rate := min(float64(c), 8) * 10 // tokens/s
		e2e := float64(c) / rate * 50
		r.Sent, r.Completed, r.Failed = serving.Some(int64(1000)), serving.Some(int64(1000)), serving.Some(int64(0))
		r.Output, r.Input = serving.Some(int64(50000)), serving.Some(int64(100000))
		r.Duration = serving.Some(50000 / rate)
		r.Reported = []serving.Reported{
			{Field: "request_throughput", Metric: serving.RateRequests, File: rate / 50, PerBase: 1},
			{Field: "output_throughput", Metric: serving.RateOutput, File: rate, PerBase: 1},
			{Field: "mean_e2el_ms", Metric: serving.E2E, Stat: "mean", File: e2e * 1000, PerBase: 1000}}
		runs = append(runs, r)
	}
	sw := Value[Sweeps](analyzed(t, &serving.Dataset{Runs: runs}, DefaultOptions()))
	if sw == nil || len(sw.Sweeps) != 1 || len(sw.Sweeps[0].Points) != 6 {
		t.Fatalf("sweeps %+v, want one of six levels", sw)
	}
	s := sw.Sweeps[0]
	if k := s.Knee("saturation"); !k.X.OK || math.Abs(k.X.V-8) > 0.01 {
		t.Errorf("knee %+v, want saturation at 8", k)
	}
	var classes []string
	for _, p := range s.Points {
		classes = append(classes, p.Dominance)
	}
	// Up to 8 a user keeps 10 tokens/s while the total grows: only the level
	// with the most output is not beaten. Beyond it users lose for nothing.
	want := []string{"dominated", "dominated", "dominated", "frontier", "dominated", "dominated"}
	if d := cmp.Diff(want, classes); d != "" {
		t.Errorf("dominance (-want +got):\n%s", d)
	}
}

// Telemetry of GPUs is drawn by itself, and a server of which nothing is drawn has
// no empty axis.
func TestTimelineOfGPUs(t *testing.T) {
	of := func(name serving.SeriesName) *serving.Dataset {
		return &serving.Dataset{Servers: []*serving.Server{{ID: "s", Label: "s", Times: []int64{0, 1e9, 2e9},
			Gauges: []serving.Gauge{{Name: name, Unit: serving.Share, Values: []float64{.1, .9, .8}}}}}}
	}
	tl := Value[Timelines](analyzed(t, of(serving.GPUUtil), DefaultOptions()))
	if tl == nil || len(tl.Timelines[0].Series) != 1 || tl.Timelines[0].Series[0].Panel != PanelGPU {
		t.Errorf("of GPU utilization: %+v", tl)
	}
	if tl := Value[Timelines](analyzed(t, of("something_else"), DefaultOptions())); tl != nil {
		t.Errorf("of what has no panel: %+v", tl.Timelines[0])
	}
}

// That no request ended some way is known where it is known how each ended.
func TestOutcomesAreAllCounted(t *testing.T) {
	reqs := steady(20, 10, 20)
	reqs[3].outcome, reqs[5].outcome = serving.Timeout, serving.Cancelled
	rep := analyzed(t, &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.Client, reqs)}}, DefaultOptions())
	got := Value[Slices](rep).Datasets[0].All.Counts.Outcomes
	want := map[string]int64{"ok": 18, "error": 0, "timeout": 1, "cancelled": 1, "incomplete": 0}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("outcomes (-want +got):\n%s", d)
	}
}

// A window without a request has a rate of 0 and no latency.
func TestQuietWindowsAreZeroNotMissing(t *testing.T) {
	reqs := steady(20, 10, 20)
	for i := range reqs[10:] {
		reqs[10+i].at += 100
	}
	rep := analyzed(t, &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.Client, reqs)}}, DefaultOptions())
	tl := Value[Timelines](rep).Timelines[0]
	zeros, missing := 0, 0
	for _, s := range tl.Series {
		for _, v := range s.Values {
			switch {
			case s.Metric == "requests_per_s" && math.IsNaN(v):
				t.Fatalf("a rate is missing: %v", s.Values)
			case s.Metric == "requests_per_s" && v == 0:
				zeros++
			case s.Metric == "ttft" && s.Stat == "p50" && math.IsNaN(v):
				missing++
			}
		}
	}
	if zeros == 0 || zeros != missing {
		t.Errorf("%d windows with a rate of 0 and %d without a TTFT, want as many of both", zeros, missing)
	}
}

// A comparison has no section that looks for a change within the data, and a
// report none about two sides.
func TestSectionsOfSides(t *testing.T) {
	names := func(in *Input) (out []string) {
		for _, s := range in.sections() {
			out = append(out, s.Name)
		}
		return out
	}
	one, two := names(&Input{}), names(&Input{sides: &Sides{}})
	for _, n := range []string{"diagnosis", "incident"} {
		if !slices.Contains(one, n) || slices.Contains(two, n) {
			t.Errorf("%s: of a report %v, of a comparison %v", n, one, two)
		}
	}
	if slices.Contains(one, "compare") || !slices.Contains(two, "compare") {
		t.Errorf("compare: of a report %v, of a comparison %v", one, two)
	}
}

package analyze

import (
	"container/heap"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/ingest/serving"
)

// looped runs n requests of a closed loop of so many clients on a server with
// slots: those without one wait. A step takes longer the more run.
func looped(n, clients, slots int) []request {
	free, next := make(ends, slots), make(ends, clients)
	running := float64(min(clients, slots))
	tpot := 0.010 + 0.0004*running
	var out []request
	for i := range n {
		at := heap.Pop(&next).(float64)
		start := max(at, heap.Pop(&free).(float64))
		decode := tpot * 49 * (0.9 + 0.2*float64((i*37)%n)/float64(n))
		ttft := start - at + 0.05
		end := at + ttft + decode
		heap.Push(&free, end)
		heap.Push(&next, end)
		out = append(out, request{at: at, ttft: ttft, tpot: decode / 49, e2e: ttft + decode, in: 1000, out: 50, workload: []string{"chat", "rag"}[i%2]})
	}
	return out
}

// loopedSweep is a concurrency sweep of a server with slots.
func loopedSweep(slots int, settings ...serving.Setting) *serving.Dataset {
	ds := &serving.Dataset{}
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		r := closedRun(fmt.Sprintf("c%d", n), int64(n), looped(max(60, 10*n), n, slots))
		r.Settings = settings
		ds.Runs = append(ds.Runs, r)
	}
	return ds
}

func sweepsOf(t *testing.T, ds *serving.Dataset, opt Options) *Sweeps {
	t.Helper()
	v := Value[Sweeps](analyzed(t, ds, opt))
	if v == nil {
		t.Fatal("no sweep")
	}
	return v
}

// onlySweep is the one sweep of a dataset.
func onlySweep(t *testing.T, ds *serving.Dataset, opt Options) *Sweep {
	t.Helper()
	v := sweepsOf(t, ds, opt)
	if len(v.Sweeps) != 1 {
		t.Fatalf("%d sweeps, want 1", len(v.Sweeps))
	}
	return v.Sweeps[0]
}

// The queue begins at the number of slots, and it stopped at the batch limit
// where a file says what that is.
func TestQueueAndWhatStoppedIt(t *testing.T) {
	for _, tc := range []struct {
		name     string
		settings []serving.Setting
		want     string
		evidence string
		missing  string
	}{
		{"limit", []serving.Setting{{Key: "max_num_seqs", Value: "8"}}, StoppedBySeqs, "the limit max_num_seqs is 8", ""},
		{"sglang's limit", []serving.Setting{{Key: "max_running_requests", Value: "8"}}, StoppedBySeqs, "the limit max_running_requests is 8", ""},
		{"a limit far off", []serving.Setting{{Key: "max_num_seqs", Value: "256"}}, StoppedByUnknown, "which is not what runs at once", "scrapes"},
		{"nothing known", nil, StoppedByUnknown, "by Little's law", "max_num_seqs"},
		{"no number", []serving.Setting{{Key: "max_num_seqs", Value: "auto"}}, StoppedByUnknown, "by Little's law", "max_num_seqs"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := onlySweep(t, loopedSweep(8, tc.settings...), DefaultOptions())
			r := s.Region(Queueing)
			if r == nil || r.From < 7 || r.From > 9 || r.To != 32 {
				t.Fatalf("queue %+v, want from 8 to 32", r)
			}
			if r.StoppedBy != tc.want || !strings.Contains(strings.Join(r.Evidence, "; "), tc.evidence) {
				t.Errorf("stopped by %s (%q), want %s (%q)", r.StoppedBy, r.Evidence, tc.want, tc.evidence)
			}
			if tc.missing != "" && !strings.Contains(strings.Join(r.Missing, "; "), tc.missing) {
				t.Errorf("missing %q, want %q", r.Missing, tc.missing)
			}
			if room := s.Region(Room); room == nil || room.From != 1 || room.To > r.From {
				t.Errorf("room %+v", room)
			}
		})
	}
	if r := onlySweep(t, loopedSweep(64), DefaultOptions()).Region(Queueing); r != nil {
		t.Errorf("nothing waits with 64 slots, yet %+v", r)
	}
}

// Which of several facts is what stopped a server: the batch limit first, then
// the pool, then the hardware, and the hardware only where the limit is known.
func TestStopWeighsEvidence(t *testing.T) {
	f := func(v float64) serving.Opt[float64] { return serving.Some(v) }
	s := onlySweep(t, loopedSweep(8), DefaultOptions())
	for _, tc := range []struct {
		name string
		ev   stopEvidence
		want string
	}{
		{"nothing", stopEvidence{}, StoppedByUnknown},
		{"limit by Little", stopEvidence{limit: f(8), limitFrom: "max_num_seqs"}, StoppedBySeqs},
		{"limit of two engines", stopEvidence{limit: f(4), limitFrom: "max_num_seqs", engines: 2}, StoppedBySeqs},
		{"limit by the gauge", stopEvidence{limit: f(100), running: f(97)}, StoppedBySeqs},
		{"gauge below the limit", stopEvidence{limit: f(8), running: f(5)}, StoppedByUnknown},
		{"pool full", stopEvidence{limit: f(64), running: f(9), kvUsage: f(0.99)}, StoppedByKV},
		{"preemptions", stopEvidence{kvUsage: f(0.7), preemptions: f(3)}, StoppedByKV},
		{"room in the pool", stopEvidence{kvUsage: f(0.7), preemptions: f(0)}, StoppedByUnknown},
		{"limit before pool", stopEvidence{limit: f(8), kvUsage: f(0.99)}, StoppedBySeqs},
		{"computed pool full", stopEvidence{pool: f(8.2), poolFrom: "computed"}, StoppedByKV},
		{"computed pool with room", stopEvidence{pool: f(80), poolFrom: "computed"}, StoppedByUnknown},
		{"bandwidth", stopEvidence{limit: f(64), running: f(9), kvUsage: f(0.4), bandwidth: f(0.62), compute: f(0.1)}, StoppedByBandwidth},
		{"compute", stopEvidence{limit: f(64), running: f(9), kvUsage: f(0.4), bandwidth: f(0.3), compute: f(0.5)}, StoppedByCompute},
		{"bandwidth, limit unknown", stopEvidence{bandwidth: f(0.62)}, StoppedByUnknown},
	} {
		r := Region{Name: Queueing, From: 8, To: 32}
		r.stop(s, tc.ev)
		if r.StoppedBy != tc.want {
			t.Errorf("%s: stopped by %s (%q), want %s", tc.name, r.StoppedBy, r.Evidence, tc.want)
		}
	}
}

// The ceilings of a known model on known hardware reach the evidence.
func TestStopReadsCeilings(t *testing.T) {
	ds := loopedSweep(8, serving.Setting{Key: "max_num_seqs", Value: "8"})
	for _, r := range ds.Runs {
		r.Model = serving.Some("meta-llama/Llama-3.1-8B-Instruct")
	}
	opt := DefaultOptions()
	gpu, ok := ceiling.Recognize("h100-sxm", nil)
	if !ok {
		t.Fatal("h100-sxm is not in the catalogue")
	}
	opt.Hardware = &ceiling.Hardware{GPU: gpu, Count: 1}
	s := onlySweep(t, ds, opt)
	r := s.Region(Queueing)
	text := strings.Join(r.Evidence, "; ")
	for _, want := range []string{"of the bandwidth ceiling", "of the compute ceiling", "the KV pool holds"} {
		if !strings.Contains(text, want) {
			t.Errorf("evidence %q lacks %q", text, want)
		}
	}
	// 8 requests of 1,025 tokens: (16.06 GB + 8 × 1,025 × 131,072 B) / 13.2 ms / 3.35 TB/s = 39 %.
	if !regexp.MustCompile(`3[89](\.\d)? % of the bandwidth`).MatchString(text) {
		t.Errorf("evidence %q, want about 39 %% of the bandwidth", text)
	}
	if !s.PerGPU || !strings.Contains(strings.Join(s.Notes, " "), "--hardware") {
		t.Errorf("the number of GPUs is that of --hardware: per GPU %t, notes %q", s.PerGPU, s.Notes)
	}
}

// rising is a sweep whose TTFT at each level runs evenly between two values, in
// milliseconds.
func rising(levels ...[4]float64) *serving.Dataset {
	ds := &serving.Dataset{}
	for i, l := range levels {
		r := newRun(fmt.Sprintf("c%g-%d", l[0], i), int64(l[0]), steady(int(l[1]), l[2], l[3]))
		ds.Runs = append(ds.Runs, r)
	}
	return ds
}

func TestCapacityIsABracket(t *testing.T) {
	for _, tc := range []struct {
		name       string
		levels     [][4]float64 // concurrency, requests, TTFT from … to
		pass, fail float64      // 0: none
		decided    bool
		reentry    []float64
		says       string
	}{
		{"between two levels", [][4]float64{{1, 200, 10, 50}, {2, 200, 10, 60}, {4, 200, 150, 300}}, 2, 4, true, nil, "Between concurrency 2"},
		{"all pass", [][4]float64{{1, 200, 10, 50}, {4, 200, 10, 60}}, 4, 0, false, nil, "At least concurrency 4"},
		{"none passes", [][4]float64{{2, 200, 150, 300}, {4, 200, 150, 400}}, 0, 2, true, nil, "Below concurrency 2"},
		{"again within", [][4]float64{{1, 200, 10, 50}, {2, 200, 150, 300}, {4, 200, 10, 60}}, 1, 2, true, []float64{4}, "not monotone"},
		{"straddles", [][4]float64{{1, 200, 10, 50}, {2, 200, 10, 110}, {4, 200, 150, 300}}, 2, 4, false, nil, "Undecided: by the 95 % intervals it surely passes up to 1 and surely fails from 4"},
		{"few requests", [][4]float64{{1, 12, 10, 50}, {2, 12, 150, 300}}, 1, 2, false, nil, "Undecided"},
		{"not reached", [][4]float64{{1, 200, 10, 50}, {2, 200, 10, 60}, {500, 200, 150, 300}}, 2, 0, false, nil, "At least concurrency 2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opt := DefaultOptions()
			opt.SLOs = slos(t, "ttft:p90<100ms")
			c := onlySweep(t, rising(tc.levels...), opt).Capacity
			if c == nil {
				t.Fatal("no capacity")
			}
			if c.Pass.Or(0) != tc.pass || c.Fail.Or(0) != tc.fail || c.Decided != tc.decided || !slices.Equal(c.Reentry, tc.reentry) || !strings.Contains(c.Text, tc.says) {
				t.Errorf("[%v, %v] decided %t again %v: %q\nwant [%g, %g] %t %v %q", c.Pass, c.Fail, c.Decided, c.Reentry, c.Text, tc.pass, tc.fail, tc.decided, tc.reentry, tc.says)
			}
			// Only between two levels is anything estimated.
			if want := tc.pass > 0 && tc.fail > 0; c.Estimate.OK != want || want && (c.Estimate.V < tc.pass || c.Estimate.V > tc.fail) {
				t.Errorf("estimate %v of [%g, %g]", c.Estimate, tc.pass, tc.fail)
			}
		})
	}
	if c := onlySweep(t, rising([4]float64{1, 200, 10, 50}, [4]float64{2, 200, 10, 50}), DefaultOptions()).Capacity; c != nil {
		t.Errorf("a capacity without an objective: %+v", c)
	}
}

func TestCapacityGate(t *testing.T) {
	ds := rising([4]float64{1, 200, 10, 50}, [4]float64{2, 200, 10, 110}, [4]float64{4, 200, 150, 300})
	for n, want := range map[float64]GateResult{1: GatePass, 2: GateUndecided, 3: GateUndecided, 4: GateFail, 64: GateFail} {
		opt := DefaultOptions()
		opt.SLOs, opt.Gates, opt.Capacity = slos(t, "ttft:p90<100ms"), []string{"capacity"}, n
		if g := analyzed(t, ds, opt).Gate; g.Result != want || len(g.Reasons) == 0 {
			t.Errorf("capacity>=%g: %s %v, want %s", n, g.Result, g.Reasons, want)
		}
	}
	opt := DefaultOptions()
	opt.Gates, opt.Capacity = []string{"capacity"}, 2
	if _, err := Run(t.Context(), ds, opt); err == nil || !strings.Contains(err.Error(), "--slo") {
		t.Errorf("without an objective: %v, want an error that names --slo", err)
	}
}

// A target rate takes whole instances of what was measured at the passing side.
func TestTarget(t *testing.T) {
	opt := DefaultOptions()
	opt.SLOs, opt.Target = slos(t, "ttft:p90<100ms"), 7
	ds := rising([4]float64{1, 200, 10, 50}, [4]float64{2, 200, 10, 60}, [4]float64{4, 200, 150, 300})
	s := onlySweep(t, ds, opt)
	// 200 requests in 100 s are 2/s: 7/s take 4, which leave 1/8.
	if x := s.Target; x == nil || x.Capacity.V != 2 || x.Instances.V != 4 || math.Abs(x.Headroom.V-0.125) > 1e-12 {
		t.Errorf("target %+v, want 4 instances of 2/s with 12.5 %% left", s.Target)
	}
	opt.SLOs = nil
	if x := onlySweep(t, ds, opt).Target; x == nil || x.Instances.OK || !strings.Contains(x.Text, "--slo") {
		t.Errorf("target without an objective %+v", x)
	}
	opt.SLOs = slos(t, "ttft:p90<1ms")
	if x := onlySweep(t, ds, opt).Target; x == nil || x.Instances.OK || !strings.Contains(x.Text, "no level") {
		t.Errorf("target where none passes %+v", x)
	}
}

// Goodput turns down where the good requests a second fall, though more are
// completed.
func TestTurnDown(t *testing.T) {
	opt := DefaultOptions()
	opt.Goodput = []serving.Condition{{Metric: serving.TTFT, Limit: 0.1}}
	s := onlySweep(t, rising([4]float64{1, 100, 10, 50}, [4]float64{2, 200, 10, 90}, [4]float64{4, 300, 50, 300}), opt)
	if x := s.TurnDown; x == nil || x.X != 2 || x.PerSecond != 2 || !x.Reached || !strings.Contains(x.Text, "Throughput still rises") {
		t.Errorf("turn-down %+v, want 2/s at 2", s.TurnDown)
	}
	want := []Attained{{Share: 0.9, Pass: serving.Some(2.0), Fail: serving.Some(4.0), Decided: true}, {Share: 0.95, Pass: serving.Some(2.0), Fail: serving.Some(4.0), Decided: true}}
	if d := cmp.Diff(want, s.Attained[:2]); d != "" {
		t.Errorf("attained (-want +got):\n%s", d)
	}
	s = onlySweep(t, rising([4]float64{1, 100, 10, 50}, [4]float64{2, 200, 10, 90}), opt)
	if x := s.TurnDown; x == nil || x.Reached || !strings.Contains(x.Text, "Not reached") {
		t.Errorf("turn-down of a rising goodput %+v", x)
	}
}

// Axes as vLLM's plot_pareto has them: output tokens/s over the concurrency and
// over the GPUs; the mean in flight where the concurrency was not reached.
func TestAxesAreThoseOfPlotPareto(t *testing.T) {
	ds := rising([4]float64{1, 100, 10, 50}, [4]float64{4, 200, 10, 60}, [4]float64{500, 400, 50, 70})
	for _, r := range ds.Runs {
		r.GPUs = serving.Some(2)
	}
	s := onlySweep(t, ds, DefaultOptions())
	for i, want := range [][3]float64{ // users, tokens/s a user, tokens/s a GPU
		{1, 100 * 50 / 100.0, 100 * 50 / 100.0 / 2},
		{4, 200 * 50 / 100.0 / 4, 200 * 50 / 100.0 / 2},
		{400 / 100.0 * 1.04, 50 / 1.04, 400 * 50 / 100.0 / 2}, // 400 requests in 100 s, 1.04 s each
	} {
		p := s.Points[i]
		got := [3]float64{p.Users.V, p.PerUser.V, p.OutputPerS.V}
		for k := range want {
			if math.Abs(got[k]/want[k]-1) > 1e-9 {
				t.Errorf("level %g: %v, want %v", p.X, got, want)
				break
			}
		}
	}
	if !s.PerGPU || s.Points[2].Reached || len(s.Unreached) != 1 {
		t.Errorf("per GPU %t, reached %t, unreached %q", s.PerGPU, s.Points[2].Reached, s.Unreached)
	}
	ds.Runs[0].GPUs = serving.None[int]()
	for _, s := range sweepsOf(t, ds, DefaultOptions()).Sweeps {
		for _, p := range s.Points {
			if s.PerGPU && p.Runs[0].Run == ds.Runs[0] {
				t.Error("a GPU count was made up")
			}
		}
	}
}

// Membership needs repeats or requests; repeats at a level are one point.
func TestMembership(t *testing.T) {
	level := func(id string, c int64, out float64) *serving.Run {
		r := &serving.Run{ID: id, Label: id, Source: serving.Pos{Path: "r/" + id + ".json"}, Format: "vllm-serve", Model: serving.Some("m"),
			Load: serving.LoadOf(serving.Some(c), serving.None[float64](), true), Duration: serving.Some(10_000 / out),
			Sent: serving.Some[int64](1000), Completed: serving.Some[int64](1000), Input: serving.Some[int64](1_000_000), Output: serving.Some[int64](10_000)}
		return r
	}
	single := &serving.Dataset{Runs: []*serving.Run{level("a", 1, 100), level("b", 2, 150), level("c", 4, 200)}}
	for _, p := range onlySweep(t, single, DefaultOptions()).Points {
		if p.Share.OK {
			t.Errorf("level %g: a share of resamples without repeats or requests", p.X)
		}
	}
	// Level 2 is beaten by 4 on average, but not in each repeat: 55 a user
	// against 50.
	repeats := &serving.Dataset{Runs: []*serving.Run{level("a1", 1, 100), level("a2", 1, 101), level("b1", 2, 70), level("b2", 2, 130), level("b3", 2, 70),
		level("c1", 4, 200), level("c2", 4, 202)}}
	s := onlySweep(t, repeats, DefaultOptions())
	if len(s.Points) != 3 || len(s.Points[1].Runs) != 3 {
		t.Fatalf("%d levels, want 3 with repeats", len(s.Points))
	}
	a, b, c := s.Points[0].Share, s.Points[1].Share, s.Points[2].Share
	if !a.OK || a.V != 1 || !c.OK || c.V != 1 || !b.OK || b.V < 0.15 || b.V > 0.4 {
		t.Errorf("shares %v %v %v, want 1, about 7/27, 1", a, b, c)
	}
	if again := onlySweep(t, repeats, DefaultOptions()); again.Points[1].Share != b {
		t.Errorf("shares differ from run to run: %v, %v", b, again.Points[1].Share)
	}
}

// A slice has its own curve and frontier.
func TestSlicesAreNeverMixed(t *testing.T) {
	opt := DefaultOptions()
	opt.GroupBy = []string{serving.ColWorkload}
	s := onlySweep(t, loopedSweep(8), opt)
	if len(s.Slices) != 2 {
		t.Fatalf("%d slices, want chat and rag", len(s.Slices))
	}
	for i, p := range s.Slices[0].Points {
		other := s.Slices[1].Points[i]
		if sum := p.OutputPerS.V + other.OutputPerS.V; math.Abs(sum/s.Points[i].OutputPerS.V-1) > 1e-9 {
			t.Errorf("level %g: slices give %g tokens/s, the level %g", p.X, sum, s.Points[i].OutputPerS.V)
		}
	}
	for _, x := range s.Slices {
		if len(x.Frontiers) == 0 || len(x.Frontiers[0].Classes) != len(x.Points) || len(x.By) != 1 {
			t.Errorf("slice %v has no frontier of its own", x.By)
		}
	}
}

// Two engines stand on one chart; closed and open loop do not.
func TestOverlays(t *testing.T) {
	ds := &serving.Dataset{}
	for _, engine := range []string{"vllm", "sglang"} {
		for _, r := range loopedSweep(8).Runs {
			r.Engine = serving.Some(engine)
			r.ID, r.Label = engine+r.ID, engine+r.Label
			r.Source.Path = engine + "/" + r.ID + ".json"
			ds.Runs = append(ds.Runs, r)
		}
	}
	for _, rate := range []float64{1, 2, 4} {
		r := openRun(fmt.Sprintf("r%g", rate), rate, station{slots: 8, service: 0.5, out: 50}.serve(poisson(200, rate)))
		r.Engine = serving.Some("vllm")
		ds.Runs = append(ds.Runs, r)
	}
	v := sweepsOf(t, ds, DefaultOptions())
	if len(v.Sweeps) != 3 || len(v.Overlays) != 1 || len(v.Overlays[0].Sweeps) != 2 {
		t.Fatalf("%d sweeps, overlays %+v, want 3 and one of two", len(v.Sweeps), v.Overlays)
	}
	if got := strings.Join(v.Overlays[0].Differ, "; "); !strings.Contains(got, "engine (vllm · sglang)") {
		t.Errorf("differ in %q, want the engine", got)
	}
	if s := v.Sweeps[2]; s.Mode != serving.OpenLoop || s.XName != "request_rate" {
		t.Errorf("third sweep %s over %s", s.Mode, s.XName)
	}
}

// Two settings varied at once are a grid, and no curve.
func TestGrid(t *testing.T) {
	ds := &serving.Dataset{}
	for i, c := range [][3]string{{"128", "2048", "10"}, {"128", "4096", "20"}, {"256", "2048", "15"}, {"256", "4096", "12"}, {"256", "4096", "18"}, {"64", "2048", "5"}} {
		var rate float64
		fmt.Sscan(c[2], &rate)
		r := newRun(fmt.Sprintf("g%d", i), 4, steady(int(rate)*100, 10, 20))
		r.Settings = []serving.Setting{{Key: "max_num_seqs", Value: c[0]}, {Key: "max_num_batched_tokens", Value: c[1]}}
		ds.Runs = append(ds.Runs, r)
	}
	v := sweepsOf(t, ds, DefaultOptions())
	if len(v.Grids) != 1 || len(v.Sweeps) != 0 {
		t.Fatalf("%d grids and %d sweeps, want one grid", len(v.Grids), len(v.Sweeps))
	}
	g := v.Grids[0]
	if !slices.Equal(g.Y, []string{"64", "128", "256"}) || !slices.Equal(g.X, []string{"2048", "4096"}) || g.Missing != 1 {
		t.Errorf("rows %q, columns %q, %d missing", g.Y, g.X, g.Missing)
	}
	if b := g.Cells[g.Best]; g.Y[b.Y] != "128" || g.X[b.X] != "4096" || b.Rate.V != 20 {
		t.Errorf("best %+v", b)
	}
	for _, c := range g.Cells {
		if g.Y[c.Y] == "256" && g.X[c.X] == "4096" && c.Rate.V != 18 {
			t.Errorf("of repeats the fastest counts: %+v", c)
		}
	}
}

// An open loop is saturated where its server falls behind, not where its run is
// short or few arrivals came.
func TestOpenSaturationMindsShortRuns(t *testing.T) {
	ds := &serving.Dataset{}
	for _, rate := range []float64{1, 2, 4, 8, 14, 24, 32} { // 8 slots of 0.5 s are 16/s
		ds.Runs = append(ds.Runs, openRun(fmt.Sprintf("r%g", rate), rate, station{slots: 8, service: 0.5, out: 50}.serve(poisson(int(20*rate), rate))))
	}
	s := onlySweep(t, ds, DefaultOptions())
	if k := s.Knee("saturation"); k == nil || k.Level.V != 24 {
		t.Errorf("saturation %+v, want 24/s, the first rate above 16/s", k)
	}
	if r := s.Region(Queueing); r == nil || r.From < 14 || r.From > 18 {
		t.Errorf("queue %+v, want from about 16/s", r)
	}
}

// The vector slo.goodput: eight requests of which four keep both conditions; the
// failed one counts against both.
func TestGoodputOfTheVector(t *testing.T) {
	ttft := []float64{120, 300, 480, 510, 90, 2000, -1, 450}
	tpot := []float64{20, 25, 31, 22, 19, 28, -1, 29.9}
	var reqs []request
	for i := range ttft {
		q := request{at: float64(i) / 2, ttft: ttft[i] / 1000, tpot: tpot[i] / 1000, e2e: 2.5, in: 100, out: 50, workload: "chat"}
		if ttft[i] < 0 {
			q.ttft, q.tpot, q.outcome = -1, -1, serving.Failed
		}
		reqs = append(reqs, q)
	}
	for _, tc := range []struct {
		goodput    []serving.Condition
		share, per float64
	}{
		{[]serving.Condition{{Metric: serving.TTFT, Limit: 0.5}, {Metric: serving.TPOT, Limit: 0.03}}, 0.5, 1},
		{[]serving.Condition{{Metric: serving.TTFT, Limit: 0.5}}, 0.625, 1.25},
		{[]serving.Condition{{Metric: serving.TPOT, Limit: 0.03}}, 0.75, 1.5},
	} {
		opt := DefaultOptions()
		opt.Goodput = tc.goodput
		r := newRun("a", 4, reqs)
		r.Duration = serving.Some(4.0)
		g := Value[Runs](analyzed(t, &serving.Dataset{Runs: []*serving.Run{r}}, opt)).Runs[0].Goodput
		if g == nil || g.Share.V != tc.share || g.PerSecond.V != tc.per {
			t.Errorf("%v: %+v, want %g of those sent and %g/s", tc.goodput, g, tc.share, tc.per)
		}
	}
}

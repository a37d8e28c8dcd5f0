package analyze

import (
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A station serves requests in slots, first come, first served: a queue whose
// truth is known.
type station struct {
	slots   int
	service float64 // seconds a request takes, ± 20 %
	out     int64
}

type ends []float64

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i] < e[j] }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(float64)) }
func (e *ends) Pop() any {
	o := *e
	x := o[len(o)-1]
	*e = o[:len(o)-1]
	return x
}

// serve returns what became of requests sent at these times.
func (s station) serve(at []float64) []request {
	rng := rand.New(rand.NewPCG(1, 2))
	var busy ends
	var out []request
	for _, t := range at {
		start := t
		if len(busy) >= s.slots {
			start = max(t, heap.Pop(&busy).(float64))
		}
		took := s.service * (0.8 + 0.4*rng.Float64())
		ttft := start - t + 0.1*took
		heap.Push(&busy, start+took)
		e2e := start - t + took
		out = append(out, request{at: t, ttft: ttft, tpot: (e2e - ttft) / float64(s.out-1), e2e: e2e, in: 1000, out: s.out, workload: "chat"})
	}
	return out
}

// closed returns n requests of a closed loop: each slot sends its next when the
// one before has ended and the client has thought for so long.
func closed(n, slots int, service, think float64) []request {
	rng := rand.New(rand.NewPCG(3, 4))
	free := make(ends, slots)
	for i := range free { // a start that is spread, not a crowd
		free[i] = float64(i) * service / float64(slots)
	}
	heap.Init(&free)
	var out []request
	for range n {
		t := heap.Pop(&free).(float64)
		took := service * (0.8 + 0.4*rng.Float64())
		out = append(out, request{at: t, ttft: 0.1 * took, tpot: 0.9 * took / 49, e2e: took, in: 1000, out: 50, workload: "chat"})
		heap.Push(&free, t+took+think)
	}
	return out
}

// poisson returns n arrival times at a rate.
func poisson(n int, rate float64) []float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	out, t := make([]float64, n), 0.0
	for i := range out {
		t += rng.ExpFloat64() / rate
		out[i] = t
	}
	return out
}

func openRun(id string, rate float64, reqs []request) *serving.Run {
	r := newRun(id, 1, reqs)
	r.Load = serving.LoadOf(serving.None[int64](), serving.Some(rate), false)
	r.Duration = spanOf(reqs)
	return r
}

func closedRun(id string, limit int64, reqs []request) *serving.Run {
	r := newRun(id, limit, reqs)
	r.Duration = spanOf(reqs)
	return r
}

func spanOf(reqs []request) serving.Opt[float64] {
	lo, hi := math.Inf(+1), 0.0
	for _, r := range reqs {
		lo, hi = min(lo, r.at), max(hi, r.at+max(0, r.e2e))
	}
	return serving.Some(hi - lo)
}

// findingsOf are the findings of runs and traces, but for small samples.
func findingsOf(t *testing.T, ds *serving.Dataset) []Finding {
	t.Helper()
	q := Value[QualityFindings](analyzed(t, ds, Options{}))
	if q == nil {
		return nil
	}
	var out []Finding
	for _, f := range q.Findings {
		if f.ID != "small_n" {
			out = append(out, f)
		}
	}
	return out
}

func ids(fs []Finding) string {
	var out []string
	for _, f := range fs {
		if !slices.Contains(out, f.ID) {
			out = append(out, f.ID)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// aggregate is a run without its requests.
func aggregate(id string, load serving.Load, n int64, duration float64, ms map[string]float64) *serving.Run {
	r := &serving.Run{ID: id, Label: id, Source: serving.Pos{Path: "r/" + id + ".json"}, Format: "vllm-serve", Model: serving.Some("m"), Load: load,
		Sent: serving.Some(n), Completed: serving.Some(n), Failed: serving.Some(int64(0)), Duration: serving.Some(duration),
		Input: serving.Some(1000 * n), Output: serving.Some(100 * n)}
	for _, k := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E} {
		for _, s := range []string{"mean", "p50", "p99", "max"} {
			if v, ok := ms[string(k)+" "+s]; ok {
				r.Reported = append(r.Reported, serving.Reported{Field: s + "_" + string(k) + "_ms", Metric: k, Stat: s, File: v, PerBase: 1000})
			}
		}
	}
	return r
}

func openLoad(rate float64) serving.Load {
	return serving.LoadOf(serving.None[int64](), serving.Some(rate), false)
}

func closedLoad(n int64) serving.Load {
	return serving.LoadOf(serving.Some(n), serving.None[float64](), true)
}

func TestFindings(t *testing.T) {
	spoiled := func(reqs []request, f func(i int, r *request)) []request {
		for i := range reqs {
			f(i, &reqs[i])
		}
		return reqs
	}
	slower := func(by func(i int) float64) func(i int, r *request) {
		return func(i int, r *request) {
			d := by(i)
			r.ttft += d
			r.e2e += d
		}
	}
	st := station{slots: 20, service: 1, out: 50}
	tests := []struct {
		name string
		runs []*serving.Run
		want string
	}{
		{"healthy closed loop", []*serving.Run{closedRun("a", 8, closed(800, 8, 1, 0))}, ""},
		{"healthy open loop", []*serving.Run{openRun("a", 10, st.serve(poisson(1000, 10)))}, ""},
		{"healthy short open loop", []*serving.Run{openRun("a", 10, st.serve(poisson(200, 10)))}, ""},
		{"overload", []*serving.Run{openRun("a", 30, st.serve(poisson(1500, 30)))}, "backlog"},
		{"generator in an open loop", []*serving.Run{openRun("a", 20, st.serve(poisson(1000, 10)))}, "generator_saturated"},
		{"generator in a closed loop", []*serving.Run{closedRun("a", 8, closed(800, 8, 1, 0.5))}, "generator_saturated"},
		{"few requests", []*serving.Run{closedRun("a", 32, closed(100, 32, 1, 0))}, "few_requests"},
		{"concurrency above requests", []*serving.Run{closedRun("a", 128, closed(100, 100, 1, 0))}, "concurrency_above_requests"},
		{"warm-up", []*serving.Run{closedRun("a", 8, spoiled(closed(400, 8, 1, 0), slower(func(i int) float64 { return 0.6 * math.Exp(-float64(i)/15) })))}, "warmup"},
		{"drift", []*serving.Run{openRun("a", 10, spoiled(st.serve(poisson(400, 10)), func(i int, r *request) { r.ttft = 0.1 + float64(i)/1000 }))}, "no_steady_state times_do_not_add_up"},
		{"above the cap", []*serving.Run{closedRun("a", 6, closed(800, 8, 1, 0))}, "little"},
		{"times of another definition", []*serving.Run{closedRun("a", 8, spoiled(closed(800, 8, 1, 0), func(_ int, r *request) { r.tpot *= 1.1 }))}, "times_do_not_add_up"},
		{"TPOT in another unit", []*serving.Run{closedRun("a", 8, spoiled(closed(800, 8, 1, 0), func(_ int, r *request) { r.tpot *= 1000 }))}, "times_do_not_add_up units"},
		{"TTFT in another unit", []*serving.Run{closedRun("a", 8, spoiled(closed(800, 8, 1, 0), func(_ int, r *request) { r.ttft *= 1000 }))}, "times_do_not_add_up units"},
		{"failures", []*serving.Run{closedRun("a", 8, spoiled(closed(800, 8, 1, 0), func(i int, r *request) {
			if i%20 == 0 {
				r.outcome, r.e2e, r.ttft, r.tpot = serving.Failed, 0.05, -1, -1
			}
		}))}, "failures_look_fast"},
		{"drain of an open loop", []*serving.Run{openRun("a", 10, spoiled(st.serve(poisson(300, 10)), func(i int, r *request) {
			if i == 299 {
				r.e2e, r.tpot = 30, (30-r.ttft)/49
			}
		}))}, "drain"},
		{"drain of a closed loop", []*serving.Run{closedRun("a", 8, spoiled(closed(400, 8, 1, 0), func(i int, r *request) {
			if i == 399 {
				r.e2e, r.tpot = 30, (30-r.ttft)/49
			}
		}))}, "little"},
		{"all at once", []*serving.Run{{ID: "a", Label: "a", Load: serving.LoadOf(serving.None[int64](), serving.None[float64](), true), Sent: serving.Some(int64(100)), Completed: serving.Some(int64(100)),
			Duration: serving.Some(60.0), Reported: []serving.Reported{{Field: "mean_ttft_ms", Metric: serving.TTFT, Stat: "mean", File: 20000, PerBase: 1000}}}}, "no_steady_state"},

		{"totals: healthy", []*serving.Run{aggregate("a", openLoad(10), 1000, 102, map[string]float64{"ttft mean": 50, "ttft p99": 90, "tpot mean": 20, "tpot p99": 25, "itl mean": 20})}, ""},
		{"totals: overload", []*serving.Run{aggregate("a", openLoad(10), 1000, 200, map[string]float64{"ttft mean": 48000, "ttft p99": 95000, "tpot mean": 20, "tpot p99": 25})}, "backlog"},
		{"totals: generator", []*serving.Run{aggregate("a", openLoad(10), 1000, 200, map[string]float64{"ttft mean": 50, "ttft p99": 90, "tpot mean": 20, "tpot p99": 25, "e2e mean": 2030, "e2e max": 2600})}, "generator_saturated"},
		{"totals: a cap that holds", []*serving.Run{aggregate("a", serving.LoadOf(serving.Some(int64(4)), serving.Some(10.0), false), 400, 210, map[string]float64{"ttft mean": 50, "tpot mean": 20, "e2e mean": 2030})}, "below_offered_rate"},
		{"totals: more drain than load", []*serving.Run{aggregate("a", openLoad(10), 50, 64, map[string]float64{"ttft mean": 50, "ttft p99": 90, "tpot mean": 600, "tpot p99": 700, "e2e mean": 59450})}, "drain"},
		{"totals: chunks", []*serving.Run{aggregate("a", closedLoad(4), 400, 210, map[string]float64{"ttft mean": 50, "tpot mean": 20, "tpot p50": 20, "itl mean": 60, "e2e mean": 2030})}, "chunks"},
		{"totals: seconds taken for milliseconds", []*serving.Run{aggregate("a", closedLoad(4), 400, 0.21, map[string]float64{"ttft mean": 0.05, "tpot mean": 0.02, "e2e mean": 2.03})}, "units"},
		{"totals: ITL in another unit", []*serving.Run{aggregate("a", closedLoad(4), 400, 210, map[string]float64{"ttft mean": 50, "tpot mean": 20, "itl mean": 20000, "e2e mean": 2030})}, "units"},
		{"totals: the mission's run", []*serving.Run{aggregate("a", closedLoad(64), 1000, 86.4, map[string]float64{"ttft mean": 214.63, "tpot mean": 53.7, "e2e mean": 5530})}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fs := findingsOf(t, &serving.Dataset{Runs: tt.runs})
			if got := ids(fs); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
				for _, f := range fs {
					t.Log(f.Message)
				}
			}
			for _, f := range fs {
				if KindOf(f.ID).Means == "" {
					t.Errorf("%s is no kind", f.ID)
				}
				if !strings.HasPrefix(f.Message, "a: ") || strings.Contains(f.Message, "%!") || strings.Contains(f.Message, "NaN") {
					t.Errorf("message %q", f.Message)
				}
			}
		})
	}
}

// A rate that a file without requests states is held against its count and duration.
func TestRateMismatch(t *testing.T) {
	for rate, want := range map[float64]string{1000.0 / 102: "", 9.85: "", 5: "file_mismatch", 20: "file_mismatch", 9804: "units"} {
		r := aggregate("a", openLoad(10), 1000, 102, map[string]float64{"ttft mean": 50, "ttft p99": 90, "tpot mean": 20, "tpot p99": 25, "itl mean": 20})
		r.Reported = append(r.Reported, serving.Reported{Field: "request_throughput", Metric: serving.RateRequests, File: rate, PerBase: 1})
		if got := ids(findingsOf(t, &serving.Dataset{Runs: []*serving.Run{r}})); !strings.Contains(got, want) || want != "file_mismatch" && strings.Contains(got, "file_mismatch") {
			t.Errorf("%v requests/s of 1000 in 102 s: %q, want %q", rate, got, want)
		}
	}
}

// More good requests than were sent are no share of all.
func TestFileGoodputShare(t *testing.T) {
	for rate, want := range map[float64]serving.Opt[float64]{5: serving.Some(0.5), 10.05: serving.Some(1.0), 50: serving.None[float64]()} {
		r := &serving.Run{Sent: serving.Some(int64(1000)), Duration: serving.Some(100.0), Reported: []serving.Reported{{Metric: serving.GoodRequests, File: rate, PerBase: 1}}}
		if got := fileGoodput(r).Share; got != want {
			t.Errorf("%v good requests/s of 10: share %v, want %v", rate, got, want)
		}
	}
}

// sweepOf are two levels of one sweep, the first with less load.
func sweepOf(t *testing.T, first, second func(*serving.Run)) []Finding {
	a := aggregate("a", closedLoad(4), 400, 100, map[string]float64{"ttft mean": 50, "ttft p50": 50, "tpot mean": 8.6, "e2e mean": 900, "e2e p50": 900})
	b := aggregate("b", closedLoad(8), 400, 80, map[string]float64{"ttft mean": 60, "ttft p50": 60, "tpot mean": 14.5, "e2e mean": 1500, "e2e p50": 1500})
	first(a)
	second(b)
	return findingsOf(t, &serving.Dataset{Runs: []*serving.Run{a, b}})
}

func set(r *serving.Run, k serving.MetricKey, stat string, ms float64) {
	for i := range r.Reported {
		if a := &r.Reported[i]; a.Metric == k && a.Stat == stat {
			a.File = ms
		}
	}
}

func TestWarmCache(t *testing.T) {
	started := func(s string) func(*serving.Run) {
		return func(r *serving.Run) { r.Started = serving.Some(s) }
	}
	faster := func(s string) func(*serving.Run) {
		return func(r *serving.Run) {
			started(s)(r)
			set(r, serving.TTFT, "p50", 20)
			set(r, serving.TTFT, "mean", 22)
		}
	}
	fs := sweepOf(t, started("20260131-120000"), faster("20260131-121000"))
	if ids(fs) != "warm_cache" || fs[0].Subject != "b" || !fs[0].Touches(serving.TTFT) {
		t.Errorf("%+v", fs)
	}
	if fs := sweepOf(t, started("20260131-120000"), started("20260131-121000")); len(fs) > 0 {
		t.Errorf("a slower first token: %+v", fs)
	}
	if fs := sweepOf(t, started("20260131-122000"), faster("20260131-121000")); len(fs) > 0 {
		t.Errorf("the level was started before: %+v", fs)
	}
	none := func(*serving.Run) {}
	if fs := sweepOf(t, none, func(r *serving.Run) { set(r, serving.TTFT, "p50", 20) }); len(fs) > 0 {
		t.Errorf("without times: %+v", fs)
	}
}

func TestFasterWithFailures(t *testing.T) {
	none := func(*serving.Run) {}
	fs := sweepOf(t, none, func(r *serving.Run) {
		r.Sent, r.Failed = serving.Some(int64(500)), serving.Some(int64(100))
		set(r, serving.E2E, "p50", 600)
	})
	if ids(fs) != "failures_look_fast" || len(fs) != 2 || !strings.Contains(fs[1].Message, "more load than a") {
		t.Errorf("%+v", fs)
	}
}

// Of a trace only time windows are known.
func TestTraceBacklog(t *testing.T) {
	st := station{slots: 20, service: 1, out: 50}
	for _, tt := range []struct {
		name string
		reqs []request
		want string
	}{
		{"steady", st.serve(poisson(4000, 14)), ""},
		{"overload", st.serve(poisson(6000, 30)), "backlog"},
		{"hopeless overload", station{slots: 2, service: 5, out: 50}.serve(poisson(600, 20)), "backlog"},
		{"a load that grows", st.serve(growing(4000, 4, 14)), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ds := &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.ServerSide, tt.reqs)}}
			if fs := findingsOf(t, ds); ids(fs) != tt.want {
				t.Errorf("%+v, want %q", fs, tt.want)
			} else if len(fs) > 0 && (fs[0].Value.V < 0 || fs[0].Value.V > 0.97) {
				t.Errorf("share served %v", fs[0].Value)
			}
		})
	}
}

// growing returns n arrivals whose rate grows from lo to hi.
func growing(n int, lo, hi float64) []float64 {
	rng := rand.New(rand.NewPCG(7, 8))
	out, t := make([]float64, n), 0.0
	for i := range out {
		t += rng.ExpFloat64() / (lo + (hi-lo)*float64(i)/float64(n))
		out[i] = t
	}
	return out
}

// Noise alone gives no warm-up, drift or backlog: a hundred healthy runs.
func TestHealthyRunsHaveNoFindings(t *testing.T) {
	st := station{slots: 40, service: 1, out: 50}
	found := 0
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 9))
		at, now := make([]float64, 400), 0.0
		for i := range at {
			now += rng.ExpFloat64() / 12
			at[i] = now
		}
		reqs := st.serve(at)
		for i := range reqs { // outputs of every length
			f := 0.3 + 1.4*rng.Float64()
			reqs[i].e2e = reqs[i].ttft + (reqs[i].e2e-reqs[i].ttft)*f
			reqs[i].tpot = (reqs[i].e2e - reqs[i].ttft) / 49
		}
		for _, f := range findingsOf(t, &serving.Dataset{Runs: []*serving.Run{openRun(fmt.Sprint(seed), 12, reqs)}}) {
			found++
			t.Log(f.Message)
		}
	}
	if found > 2 {
		t.Errorf("%d findings in 100 healthy runs", found)
	}
}

func TestFindingKindsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range FindingKinds {
		if k.ID == "" || k.Title == "" || k.Means == "" || k.Threshold == "" || seen[k.ID] {
			t.Errorf("%+v", k)
		}
		seen[k.ID] = true
	}
}

// The documentation has every kind as it is checked.
func TestDocsListTheKinds(t *testing.T) {
	b, err := os.ReadFile("../docs/quality.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range FindingKinds {
		source := k.Source
		if source == "" {
			source = "judgement"
		}
		row := fmt.Sprintf("| `%s` | %s. %s | %s | %s |\n", k.ID, k.Title, k.Means, k.Threshold, source)
		if !strings.Contains(string(b), row) {
			t.Errorf("docs/quality.md lacks the row\n%s", row)
		}
	}
}

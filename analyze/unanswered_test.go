package analyze

import (
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// aggregates are two runs of one sweep that state percentiles and hold no requests.
func aggregates() *serving.Dataset {
	ms := map[string]float64{"ttft p50": 300, "ttft p99": 900, "tpot p50": 10}
	return &serving.Dataset{Runs: []*serving.Run{aggregate("c4", closedLoad(4), 400, 100, ms), aggregate("c8", closedLoad(8), 800, 100, ms)}}
}

// sentOneASecond are n requests, one a second, every tenth of which fails.
func sentOneASecond(n int) []request {
	var out []request
	for i := range n {
		r := request{at: float64(i), ttft: 2, tpot: 0.02, e2e: 4, in: 100, out: 101, workload: "chat"}
		if i%10 == 9 {
			r.outcome = serving.Timeout
		}
		out = append(out, r)
	}
	return out
}

func traced(n int) *serving.Dataset {
	return &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.ServerSide, sentOneASecond(n))}}
}

// A check that more requests would not decide does not ask for more requests.
func TestWhyUndecided(t *testing.T) {
	for _, c := range []struct {
		name  string
		ds    *serving.Dataset
		slo   string
		title string
	}{
		{"aggregates", aggregates(), "ttft:p95<2s", "2 of 2 objective checks cannot be decided: the files hold aggregates only"},
		{"few requests", traced(5), "ttft:p95<3s", "1 of 1 objective checks cannot be decided with this many requests"},
		{"no such metric", traced(50), "itl:p95<1s", "1 of 1 objective checks cannot be decided: the data have no such times"},
	} {
		s := Value[Summary](analyzed(t, c.ds, Options{SLOs: slos(t, c.slo)}))
		if !strings.HasPrefix(s.Title, c.title) {
			t.Errorf("%s: %q, want %q", c.name, s.Title, c.title)
		}
	}
	mixed := map[string]int{"": 3, withoutMetric: 2}
	if got, want := undecidedWhy(mixed), ": 3 with this many requests; 2: the data have no such times"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A wanted rate is answered, or it is said why not, and never by asking for what was
// given.
func TestTargetSaysWhatItLacks(t *testing.T) {
	one := aggregates()
	one.Runs = one.Runs[:1]
	for _, c := range []struct {
		name string
		ds   *serving.Dataset
		slos []string
		want string
	}{
		{"no objective", aggregates(), nil, "pass --slo"},
		{"none that the files state", aggregates(), []string{"ttft:p95<2s"}, "none could be held against a level (ttft:p95<2s: the file holds no requests and no p95 of ttft, only p50, p99"},
		{"of other requests", aggregates(), []string{"workload=chat:ttft:p95<2s"}, "those given are about other requests"},
		{"one that they state", aggregates(), []string{"ttft:p99<2s"}, "30 requests/s take 4 instances"},
		{"one run", one, []string{"ttft:p99<2s"}, "it takes runs that differ in load only"},
		{"a trace", traced(50), []string{"ttft:p95<2s"}, "it takes benchmark runs at several loads"},
	} {
		rep := analyzed(t, c.ds, Options{SLOs: slos(t, c.slos...), Target: 30})
		texts := Value[Summary](rep).Points
		if sw := Value[Sweeps](rep); sw != nil {
			texts = []string{sw.Sweeps[0].Target.Text}
		}
		if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: %q, want %q", c.name, texts, c.want)
		}
		if len(c.slos) > 0 && slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "pass --slo") }) {
			t.Errorf("%s: asks for an objective that was given", c.name)
		}
	}
}

// Why there is no experiment names what is missing, not what is there.
func TestAdviceLacks(t *testing.T) {
	missed := &serving.Dataset{Runs: []*serving.Run{newRun("r", 8, sentOneASecond(200))}}
	for _, c := range []struct {
		name string
		ds   *serving.Dataset
		slo  []string
		want string
	}{
		{"a trace that misses its objective", traced(200), []string{"ttft:p95<1s"}, "a benchmark run, or scrapes of the engine"},
		{"a run without an objective", aggregates(), nil, "a missed objective (--slo)"},
		{"a run that misses one of E2E", missed, []string{"e2e:p95<1s"}, "beside the missed objective an observation"},
		{"a run that keeps its own", missed, []string{"e2e:p50<1m"}, "an objective that is surely missed"},
	} {
		rep := analyzed(t, c.ds, Options{SLOs: slos(t, c.slo...)})
		i := slices.IndexFunc(rep.Results, func(r Result) bool { return r.Section.Name == "advice" })
		if got := rep.Results[i].Skipped; !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The headline rate of a trace is that of a run: what completed, over the time.
func TestHeadlineRateCountsCompleted(t *testing.T) {
	reqs := sentOneASecond(100) // the last of which arrives at 99 s and takes 4
	run := newRun("r", 8, reqs)
	run.Duration = serving.Some(103.0)
	for name, ds := range map[string]*serving.Dataset{"trace": traced(100), "run": {Runs: []*serving.Run{run}}} {
		k := Value[Summary](analyzed(t, ds, Options{})).Cards
		i := slices.IndexFunc(k, func(c Card) bool { return c.Metric == string(serving.RateRequests) })
		if i < 0 || k[i].Label != "Requests completed" || k[i].N.V != 90 || k[i].Value.V < 89.9/103 || k[i].Value.V > 90.1/103 {
			t.Errorf("%s: %+v, want 90 completed over 103 s", name, k)
		}
	}
}

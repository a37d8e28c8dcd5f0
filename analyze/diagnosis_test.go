package analyze

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A staged request has what a server logs of it.
type staged struct {
	at, queue, prefill, tpot float64
	front                    float64 // 0: 4 ms
	prompt, output           int64
}

func stagedTable(reqs []staged) *column.Table {
	n := len(reqs)
	t := column.NewTable("requests", "requests.parquet", serving.ServerSide, n)
	at := make([]int64, n)
	for i, r := range reqs {
		at[i] = int64(r.at * 1e9)
	}
	t.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime}, at, nil)
	put := func(k serving.MetricKey, get func(staged) float64) {
		v := make([]float64, n)
		for i, r := range reqs {
			v[i] = get(r)
		}
		t.Floats(serving.Column{Name: string(k), Kind: serving.KindDuration}, v, nil)
	}
	front := func(r staged) float64 {
		if r.front > 0 {
			return r.front
		}
		return 0.004
	}
	decode := func(r staged) float64 { return r.tpot * float64(r.output-1) }
	put(serving.Queue, func(r staged) float64 { return r.queue })
	put(serving.Prefill, func(r staged) float64 { return r.prefill })
	put(serving.Decode, decode)
	put(serving.TPOT, func(r staged) float64 { return r.tpot })
	put(serving.TTFT, func(r staged) float64 { return front(r) + r.queue + r.prefill })
	put(serving.E2E, func(r staged) float64 { return front(r) + r.queue + r.prefill + decode(r) })
	for k, get := range map[serving.MetricKey]func(staged) int64{serving.PromptTokens: func(r staged) int64 { return r.prompt }, serving.OutputTokens: func(r staged) int64 { return r.output }} {
		v := make([]int64, n)
		for i, r := range reqs {
			v[i] = get(r)
		}
		t.Ints(serving.Column{Name: string(k), Kind: serving.KindCount}, v, nil)
	}
	return t
}

func diagnosed(t *testing.T, reqs []staged, opt Options) *Diagnosis {
	t.Helper()
	out, err := Diagnose(context.Background(), &serving.Dataset{Traces: []serving.Requests{stagedTable(reqs)}}, opt)
	if err != nil || out == nil {
		t.Fatalf("no diagnosis: %v", err)
	}
	return out.Diagnoses[0]
}

// alternate is request i's place in [0, 1): a fixed order without a trend.
func alternate(i int) float64 { return math.Mod(float64(i)*0.6180339887, 1) }

// An incident that its averages hide: prompt p50 stays and p95 grows from 2,400
// to 6,100 tokens; prefill p95 and TTFT p95 follow, queue and TPOT do not. It has
// to be read as "look at the long requests first".
func TestAveragesHideAnIncident(t *testing.T) {
	var reqs []staged
	for i := range 1200 {
		u := alternate(i)
		r := staged{at: float64(i) * 0.5, queue: 0.02 + 0.11*u, tpot: 0.038 + 0.004*u, prompt: 500 + int64(700*u), output: 100}
		if u > 0.93 {
			r.prompt = 2400
			if i >= 600 {
				r.prompt = 6100
			}
		}
		r.prefill = 0.05 + 0.0003*float64(r.prompt)
		reqs = append(reqs, r)
	}
	d := diagnosed(t, reqs, DefaultOptions())
	top := d.Top()
	if top == nil || top.Cause != "long_prompts" {
		t.Fatalf("verdict %q, want long_prompts", d.Verdict)
	}
	if !strings.Contains(d.Verdict, "Look at the long requests first, not at total capacity") {
		t.Errorf("verdict %q does not say where to look", d.Verdict)
	}
	var present []string
	for _, s := range d.Present() {
		present = append(present, s.ID)
	}
	if !slices.Equal(present, []string{"tail"}) {
		t.Errorf("symptoms %v, want the tail alone", present)
	}
	for _, h := range d.Hypotheses[1:] {
		if h.Status == rules.Supported {
			t.Errorf("%s is supported, too", h.Cause)
		}
	}
}

// The same reading from figures that people pass on: medians and p95 before and
// after, of which only prompts, prefill and TTFT move, and those at p95 alone.
func TestTableOfAnIncident(t *testing.T) {
	// A quantile function through p50 and p95.
	q := func(u, p50, p95 float64) float64 {
		switch {
		case u < 0.5:
			return p50 * (0.5 + u)
		case u < 0.95:
			return p50 + (p95-p50)*(u-0.5)/0.45
		}
		return p95 * (1 + (u-0.95)*4)
	}
	const n = 2000
	var reqs []staged
	for i := range 2 * n {
		u := alternate(i)
		r := staged{at: 0.5 * float64(i), output: 100, prompt: int64(q(u, 850, 2400)), queue: q(u, 0.05, 0.12), prefill: q(u, 0.25, 0.64), tpot: q(u, 0.035, 0.042), front: q(u, 0.02, 0.14)}
		if i >= n {
			r.prompt, r.queue, r.prefill, r.tpot, r.front = int64(q(u, 870, 6100)), q(u, 0.05, 0.13), q(u, 0.25, 1.9), q(u, 0.035, 0.043), q(u, 0.02, 0.17)
		}
		reqs = append(reqs, r)
	}
	for _, c := range []struct {
		name          string
		get           func(staged) float64
		p             float64
		before, after float64
	}{
		{"prompt", func(r staged) float64 { return float64(r.prompt) }, 0.5, 850, 870},
		{"prompt", func(r staged) float64 { return float64(r.prompt) }, 0.95, 2400, 6100},
		{"queue", func(r staged) float64 { return r.queue }, 0.95, 0.12, 0.13},
		{"prefill", func(r staged) float64 { return r.prefill }, 0.95, 0.64, 1.9},
		{"TTFT", func(r staged) float64 { return r.front + r.queue + r.prefill }, 0.95, 0.9, 2.2},
		{"TPOT", func(r staged) float64 { return r.tpot }, 0.95, 0.042, 0.043},
	} {
		for k, want := range []float64{c.before, c.after} {
			var x []float64
			for _, r := range reqs[k*n : (k+1)*n] {
				x = append(x, c.get(r))
			}
			slices.Sort(x)
			if got := stat.Quantile(x, c.p); math.Abs(got/want-1) > 0.01 {
				t.Errorf("%s p%g of part %d is %g, want %g", c.name, 100*c.p, k, got, want)
			}
		}
	}
	d := diagnosed(t, reqs, DefaultOptions())
	if top := d.Top(); top == nil || top.Cause != "long_prompts" || !strings.Contains(d.Verdict, "Look at the long requests first, not at total capacity") {
		t.Errorf("the verdict is %q", d.Verdict)
	}
}

// A percentile of few requests is no fact, and the reason is their number, not a
// column that is there.
func TestTooFewForAPercentile(t *testing.T) {
	var reqs []staged
	for i := range 140 {
		r := staged{at: float64(i), queue: 0.01, prefill: 0.2 + 0.02*alternate(i), tpot: 0.03, prompt: 800, output: 50}
		if i >= 70 {
			r.queue = 3
		}
		reqs = append(reqs, r)
	}
	d := diagnosed(t, reqs, DefaultOptions())
	i := slices.IndexFunc(d.Checks, func(c CheckResult) bool { return c.ID == "prompt_p99" })
	if c := d.Checks[i]; c.Answer != "needs" || !strings.Contains(c.Needs, "200 requests") {
		t.Errorf("p99 of 70 requests: %+v", c)
	}
}

// Stages add up, and the queue's rise is the queue's.
func TestQueueGrows(t *testing.T) {
	var reqs []staged
	at := 0.0
	for i := range 900 {
		r := staged{queue: 0.01 + 0.01*alternate(i), prefill: 0.05, tpot: 0.02, prompt: 500, output: 100}
		at += 0.5
		if i >= 400 {
			at -= 0.25
			r.queue += 0.05 * float64(i-400)
		}
		r.at = at
		reqs = append(reqs, r)
	}
	d := diagnosed(t, reqs, DefaultOptions())
	if top := d.Top(); top != nil && top.Cause != "over_capacity" {
		t.Errorf("%s is supported, want over_capacity or none", top.Cause)
	}
	for _, s := range d.Stages {
		sum := s.Queue + s.Prefill + s.Front + s.Rest
		if s.Of == serving.E2E {
			sum += s.Decode
		}
		if math.Abs(sum-s.Whole) > 1e-6 {
			t.Errorf("%s of %s, %s: parts give %g, whole is %g", s.Of, s.Window, s.Band, sum, s.Whole)
		}
	}
	i := slices.IndexFunc(d.Checks, func(c CheckResult) bool { return c.ID == "queue_share" })
	if c := d.Checks[i]; c.Answer != "yes" || c.Value.V < 0.95 || c.Window == "" || c.Source == "" {
		t.Errorf("the queue's share is %+v", c)
	}
	if i := slices.IndexFunc(d.Checks, func(c CheckResult) bool { return c.ID == "hot_replica" }); d.Checks[i].Answer != "needs" || d.Checks[i].Needs == "" {
		t.Errorf("without a replica column the check is %+v", d.Checks[i])
	}
}

// A test that sends above capacity at once has a calm beginning of seconds only;
// the backlog tells all the same.
func TestOverloadFromTheStart(t *testing.T) {
	var reqs []staged
	for i := range 300 {
		r := staged{at: 0.1 * float64(i), queue: 0.001, prefill: 0.25 + 0.02*alternate(i), tpot: 0.03, prompt: 800, output: 600}
		if i >= 35 {
			r.queue = 0.4 * float64(i-35)
		}
		reqs = append(reqs, r)
	}
	opt := DefaultOptions()
	opt.Goodput = []serving.Condition{{Metric: serving.TTFT, Limit: 1}, {Metric: serving.TPOT, Limit: 0.05}}
	d := diagnosed(t, reqs, opt)
	if top := d.Top(); top == nil || top.Cause != "overload_from_start" {
		t.Errorf("the verdict is %q, want overload_from_start; symptoms %v", d.Verdict, d.Symptoms)
	}
	answers := map[string]string{}
	for _, c := range d.Checks {
		answers[c.ID] = c.Answer
	}
	if answers["admitted"] != "yes" || answers["goodput_follows"] != "no" {
		t.Errorf("fewer admitted: %q, goodput rose: %q", answers["admitted"], answers["goodput_follows"])
	}
	for _, c := range diagnosed(t, reqs, DefaultOptions()).Checks {
		if c.ID == "goodput_follows" && c.Answer != "needs" {
			t.Errorf("without conditions the goodput rose: %q", c.Answer)
		}
	}
	for _, c := range d.Checks {
		if c.ID == "hot_replica" && (c.Answer != "needs" || c.Unit == serving.Seconds) {
			t.Errorf("a check of a ratio that is not known is %+v", c)
		}
	}
}

// A server that was empty takes some answers to fill: that is no incident, and
// the same steps later are one.
func TestFillingUp(t *testing.T) {
	for _, c := range []struct {
		calm  int
		known bool
	}{{30, false}, {150, true}} {
		var reqs []staged
		for i := range 400 {
			r := staged{at: 0.5 * float64(i), queue: 0.01, prefill: 0.1 + 0.01*alternate(i), tpot: 0.03, prompt: 800, output: 500}
			if i >= c.calm {
				r.queue, r.tpot = 0.3, 0.05
			}
			reqs = append(reqs, r)
		}
		if d := diagnosed(t, reqs, DefaultOptions()); d.Known != c.known {
			t.Errorf("after %d calm requests: %q", c.calm, d.Verdict)
		}
	}
}

// What is too short to compare is not known, and is no "no".
func TestShortPhasesAreNotKnown(t *testing.T) {
	var reqs []staged
	for i := range 400 {
		r := staged{at: 2 * float64(i), queue: 0.01, prefill: 0.25, tpot: 0.03, prompt: 800, output: 100}
		if i >= 12 {
			r.queue = 5 + 0.1*alternate(i)
		}
		reqs = append(reqs, r)
	}
	d := diagnosed(t, reqs, DefaultOptions())
	for _, s := range d.Symptoms {
		if s.ID == "tail" && d.Known && (s.Known || s.Present) {
			t.Errorf("12 requests give a p95 to compare with: %+v", s)
		}
	}
	if !d.Known {
		t.Error("no change was found")
	}
}

// A steady server has no symptom, whatever its level; an objective that it
// misses is one.
func TestSteadyServer(t *testing.T) {
	var reqs []staged
	for i := range 600 {
		reqs = append(reqs, staged{at: float64(i), queue: 0.4 * alternate(i), prefill: 0.3, tpot: 0.05, prompt: 3000, output: 200})
	}
	d := diagnosed(t, reqs, DefaultOptions())
	if len(d.Present()) > 0 || d.Top() != nil || d.Known {
		t.Errorf("a steady server gives %q with symptoms %v", d.Verdict, d.Present())
	}
	opt := DefaultOptions()
	opt.SLOs = slos(t, "ttft:p95<100ms")
	if d := diagnosed(t, reqs, opt); len(d.Present()) != 1 || d.Present()[0].ID != "ttft" {
		t.Errorf("an objective that is missed gives symptoms %v", d.Present())
	}
	opt.SLOs = slos(t, "ttft:p95<2000ms")
	if d := diagnosed(t, reqs, opt); len(d.Present()) > 0 {
		t.Errorf("an objective that is met gives symptoms %v", d.Present())
	}
}

// Runs at several loads are a sweep, not an incident.
func TestSweepIsNoIncident(t *testing.T) {
	ds := &serving.Dataset{Runs: []*serving.Run{newRun("a", 1, steady(100, 100, 200)), newRun("b", 8, steady(100, 900, 1900))}}
	out, err := Diagnose(context.Background(), ds, DefaultOptions())
	if err != nil || out != nil {
		t.Errorf("a sweep is diagnosed: %+v, %v", out, err)
	}
}

// A percentile that too few requests carry decides no objective: forty say nothing
// of a p99, four hundred do.
func TestDiagnosisNeedsRequests(t *testing.T) {
	opt := DefaultOptions()
	for _, expr := range []string{"ttft:p99<50ms"} {
		o, err := serving.ParseSLO(expr)
		if err != nil {
			t.Fatal(err)
		}
		opt.SLOs = append(opt.SLOs, o)
	}
	for n, want := range map[int]bool{40: false, 400: true} {
		var reqs []staged
		for i := range n {
			reqs = append(reqs, staged{at: float64(i), queue: 0.05, prefill: 0.05 + 0.01*alternate(i), tpot: 0.02, prompt: 500, output: 50})
		}
		s := diagnosed(t, reqs, opt).Symptoms[0]
		if s.Present != want || want && !strings.Contains(strings.Join(s.Evidence, ""), objectivePrefix) {
			t.Errorf("%d requests: late %v, evidence %v; want %v", n, s.Present, s.Evidence, want)
		}
	}
}

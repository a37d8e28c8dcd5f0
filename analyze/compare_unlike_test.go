package analyze

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

func TestLengthsExplain(t *testing.T) {
	ttft, rate := verdict.Figure{Metric: serving.TTFT, Stat: "p95"}, verdict.Figure{Metric: serving.RateRequests}
	e2e, failed := verdict.Figure{Metric: serving.E2E, Stat: "p50"}, verdict.Figure{Metric: verdict.FailedShare}
	for _, tt := range []struct {
		name           string
		prompt, output float64
		f              verdict.Figure
		ratio          float64
		want           string
	}{
		{"four times as long, four times as slow", 4, 1, ttft, 4, "prompts"},
		{"four times as long, forty times as slow", 4, 1, ttft, 40, "prompts"},
		{"longer and yet faster", 4, 1, ttft, .5, ""},
		{"shorter and faster", .25, 1, ttft, .5, "prompts"},
		{"shorter and yet slower", .25, 1, ttft, 1.5, ""},
		{"a tenth longer, a seventh slower", 1.1, 1, ttft, 1.15, "prompts"},
		{"a tenth longer, twice as slow", 1.1, 1, ttft, 2, ""},
		{"chance", 1.04, 1, ttft, 1.06, ""},
		{"longer prompts, fewer requests/s", 2, 1, rate, .8, "prompts"},
		{"longer prompts, more requests/s", 2, 1, rate, 1.2, ""},
		{"longer outputs, fewer requests/s", 1, 2, rate, .5, "outputs"},
		{"longer outputs, later first token", 1, 2, ttft, 1.5, ""},
		{"shorter outputs, earlier end", 1, .5, e2e, .5, "outputs"},
		{"longer prompts, more failures", 4, 1, failed, 1.1, ""},
	} {
		l := lengthShift{prompt: tt.prompt, output: tt.output}
		what, ok := l.explains(tt.f, math.Log(tt.ratio))
		if what != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, want %q", tt.name, what, tt.want)
		}
	}
}

// called lists the rows of a comparison that are called.
func calledRows(c *Comparison) []string {
	var out []string
	for _, r := range slices.Concat(c.Headline, c.Others, c.Levels, c.Slices) {
		if r.Call == verdict.Faster || r.Call == verdict.Slower {
			out = append(out, change(r)+": "+string(r.Call))
		}
	}
	return out
}

// Users who send longer prompts make no slower server of it, whatever the files
// know: benchmark runs, traces whose lengths move within their buckets, and slices.
func TestLongerPromptsAreNotSlower(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	bench := func(in int64, ttft float64) []*serving.Run {
		return repeat(rng, 8, func(by float64) []request { return load(rng, 100, "chat", in, ttft*by, 0.02*by) })
	}
	opt := DefaultOptions()
	opt.Gates = []string{"regression"}
	for _, tt := range []struct {
		name          string
		before, after []*serving.Run
		want          Verdict
		title         string
		gate          GateResult
	}{
		{"longer", bench(1000, .1), bench(4000, .4), VerdictUndecided, "mean prompt 1,003 → 4,003 tokens): whether the server got slower", GateUndecided},
		{"shorter", bench(4000, .4), bench(1000, .1), VerdictUndecided, "whether the server got faster", GateUndecided},
		{"longer and yet faster", bench(1000, .4), bench(4000, .1), VerdictBetter, "TTFT p95", GatePass},
		{"hardly longer and far slower", bench(1000, .1), bench(1100, .4), VerdictWorse, "TTFT p95", GateFail},
	} {
		c, rep := comparedRuns(t, opt, tt.before, tt.after)
		if c.Verdict != tt.want || !strings.Contains(c.Title, tt.title) || rep.Gate.Result != tt.gate {
			t.Errorf("%s: %s, %q, gate %s; want %s, %q, gate %s", tt.name, c.Verdict, c.Title, rep.Gate.Result, tt.want, tt.title, tt.gate)
		}
		if tt.want == VerdictUndecided && len(calledRows(c)) > 0 {
			t.Errorf("%s: called %q", tt.name, calledRows(c))
		}
	}

	trace := func(in int64, ttft float64) *serving.Dataset {
		reqs := slices.Concat(load(rng, 2000, "chat", in, ttft, 0.02), load(rng, 2000, "rag", in, ttft, 0.02))
		for i := range reqs {
			reqs[i].at = float64(i)
		}
		return &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.ServerSide, reqs)}}
	}
	rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{trace(600, .2), trace(1900, .6)}}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	c := Value[Comparison](rep)
	if len(c.Mix) == 0 {
		t.Error("the traces have cells in common, and nothing is split")
	}
	if called := calledRows(c); c.Verdict != VerdictUndecided || len(called) > 0 {
		t.Errorf("traces whose prompts grew within a bucket: %s, called %q", c.Verdict, called)
	}
	if c.Cause != "workload" || len(c.Slices) == 0 {
		t.Errorf("cause %q, %d slices", c.Cause, len(c.Slices))
	}
}

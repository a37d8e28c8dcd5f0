package analyze

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A slice that was named with a threshold decides, whatever became of it.
func TestGateOfASliceThatVanished(t *testing.T) {
	rng := rand.New(rand.NewPCG(65, 66))
	side := func(drop func(*request), others ...string) []*serving.Run {
		return repeat(rng, 8, func(by float64) []request {
			out := slices.Concat(load(rng, 150, "chat", 500, 0.1*by, 0.02*by), without(load(rng, 100, "long", 3000, 0.1*by, 0.02*by), drop))
			for _, w := range others {
				out = slices.Concat(out, load(rng, 60, w, 500, 0.1*by, 0.02*by), load(rng, 3, "rare", 500, 0.1*by, 0.02*by))
			}
			return out
		})
	}
	b, a := side(asIs, "old", "both"), side(noTTFT, "fresh", "both")
	for _, tt := range []struct {
		dim, value string
		figure     verdict.Figure
		want       string // "" where the slice is compared
	}{
		{serving.ColWorkload, "both", verdict.Figure{Metric: serving.TTFT}, ""},
		{"prompt_tokens", "2048-8191", verdict.Figure{Metric: serving.TPOT}, ""}, // the same requests as long
		{serving.ColWorkload, "long", verdict.Figure{Metric: serving.TPOT}, ""},
		{serving.ColWorkload, "long", verdict.Figure{Metric: serving.TTFT, Stat: "p95"}, "TTFT p95 of workload long: undecided, the sides do not both have"},
		{serving.ColWorkload, "old", verdict.Figure{Metric: serving.TTFT}, "after does not have the slice"},
		{serving.ColWorkload, "fresh", verdict.Figure{Metric: serving.TTFT}, "before does not have the slice"},
		{serving.ColWorkload, "rare", verdict.Figure{Metric: serving.TTFT}, "too few requests"},
		{serving.ColWorkload, "chta", verdict.Figure{Metric: serving.TTFT}, `the data have no workload "chta", only `},
		{serving.ColWorkload, "chat", verdict.Figure{Metric: serving.E2E, Stat: "p95"}, "slices are compared by"},
	} {
		opt := DefaultOptions()
		opt.GroupBy, opt.Gates = []string{serving.ColWorkload}, []string{"regression"}
		opt.Headline = []verdict.Figure{{Metric: serving.TPOT, Stat: "p95"}}
		opt.SliceThresholds = []SliceThreshold{{By: []serving.Term{{Dim: tt.dim, Value: tt.value}}, Figure: tt.figure, Share: 0.5}}
		_, rep := comparedRuns(t, opt, clones(b), clones(a))
		all := strings.Join(rep.Gate.Reasons, "\n")
		if want := map[bool]GateResult{true: GatePass, false: GateUndecided}[tt.want == ""]; rep.Gate.Result != want || !strings.Contains(all, tt.want) {
			t.Errorf("%s %s of %s: %s\n%s\nwant %s and %q", tt.figure, tt.value, tt.dim, rep.Gate.Result, all, want, tt.want)
		}
		if tt.want == "" && len(rep.Gate.Reasons) < 2 {
			t.Errorf("%s: the gate does not decide on it: %q", tt.value, rep.Gate.Reasons)
		}
	}
}

// clones are runs whose labels a comparison may change.
func clones(runs []*serving.Run) []*serving.Run {
	var out []*serving.Run
	for _, r := range runs {
		c := *r
		out = append(out, &c)
	}
	return out
}

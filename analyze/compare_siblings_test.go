package analyze

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A spot is where a planted change is: a workload, a region, both or neither.
type spot struct{ workload, region string }

func (p spot) has(workload, region string) bool {
	return (p.workload == "" || p.workload == workload) && (p.region == "" || p.region == region)
}

// planted draws the trace of a gateway with three workloads in two regions, whose
// decode is by some factor slower at one spot. Prompts of rag are long, but not all,
// and others' may be: lengths tell half of the story of rag, regions none of it.
func planted(seed uint64, rag float64, at spot, by float64) *serving.Dataset {
	rng := rand.New(rand.NewPCG(seed, 77))
	reqs, regions := make([]request, 4000), make([]string, 4000)
	for i := range reqs {
		workload, prompt := "chat", 400.0
		switch u := rng.Float64(); {
		case u < rag:
			workload, prompt = "rag", 6000
		case u < rag+0.25:
			workload, prompt = "code", 200
		}
		regions[i] = []string{"eu", "us"}[rng.IntN(2)]
		r := request{at: float64(i), workload: workload, in: int64(prompt * math.Exp(0.6*rng.NormFloat64())), out: 50 + rng.Int64N(200)}
		r.tpot = 0.02 * math.Exp(0.1*rng.NormFloat64())
		if workload == "rag" {
			r.tpot *= 2
		}
		if at.has(workload, regions[i]) {
			r.tpot *= by
		}
		r.ttft = 0.05 + 0.05*rng.ExpFloat64()
		r.e2e = r.ttft + float64(r.out-1)*r.tpot
		reqs[i] = r
	}
	t := newTable("t", serving.ServerSide, reqs)
	names := serving.NewDict()
	codes := make([]int32, len(regions))
	for i, r := range regions {
		codes[i] = names.Code(r)
	}
	t.Text(serving.Column{Name: "region", Kind: serving.KindText, Label: true}, codes, names, nil)
	return &serving.Dataset{Traces: []serving.Requests{t}}
}

// The title names what was slowed down, or all requests where all were, and no slice
// that merely has a share of the slow ones.
func TestTitleNamesWhatWasPlanted(t *testing.T) {
	const usual = 0.15
	for _, tc := range []struct {
		name    string
		at      spot
		by, rag float64
		groupBy []string
		heads   []verdict.Figure
		want    string // of the title
		not     []string
		verdict Verdict
	}{
		{name: "one workload", at: spot{workload: "rag"}, by: 1.4, want: "workload rag", not: []string{"region", "prompt_tokens", "cache"}, verdict: VerdictWorse},
		{name: "one workload, faster", at: spot{workload: "chat"}, by: 1 / 1.6, want: "workload chat", not: []string{"region", "prompt_tokens"}, verdict: VerdictBetter},
		{name: "one region", at: spot{region: "eu"}, by: 1.4, want: "region eu", not: []string{"workload", "prompt_tokens"}, verdict: VerdictWorse},
		{name: "everything", by: 1.4, want: "TPOT p95 +", not: []string{"region", "workload", "prompt_tokens"}, verdict: VerdictWorse},
		{name: "everything, of a tail less than runs may differ by", by: 1.23, want: "TPOT p50 +", not: []string{"region", "workload", "prompt_tokens"}, verdict: VerdictWorse},
		{name: "everything, but what decides is another figure", by: 1.4, heads: []verdict.Figure{{Metric: serving.TTFT, Stat: "p95"}}, want: "TPOT p", not: []string{"region", "workload", "prompt_tokens"}, verdict: VerdictWorse},
		{name: "a workload in a region", at: spot{"rag", "eu"}, by: 1.6, groupBy: []string{serving.ColWorkload, "region"}, want: "workload rag, region eu", verdict: VerdictWorse},
		{name: "a workload, cut by regions", at: spot{workload: "rag"}, by: 1.4, groupBy: []string{serving.ColWorkload, "region"}, want: "workload rag", not: []string{"region"}, verdict: VerdictWorse},
		{name: "only the mix", by: 1, rag: 0.4, want: "mix", not: []string{"region", "prompt_tokens"}},
		{name: "nothing", by: 1, not: []string{"region", "workload", "prompt_tokens"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for seed := range uint64(2) {
				rag := tc.rag
				if rag == 0 {
					rag = usual
				}
				opt := DefaultOptions()
				opt.Headline = tc.heads
				if tc.groupBy != nil {
					opt.GroupBy = tc.groupBy
				}
				sides := Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{planted(2*seed, usual, spot{}, 1), planted(2*seed+1, rag, tc.at, tc.by)}}
				rep, err := Compare(context.Background(), sides, opt)
				if err != nil {
					t.Fatal(err)
				}
				c := Value[Comparison](rep)
				if tc.verdict != "" && c.Verdict != tc.verdict || tc.verdict == "" && c.Verdict != VerdictEquivalent && c.Verdict != VerdictUndecided {
					t.Errorf("seed %d: %s, want %s: %s", seed, c.Verdict, tc.verdict, c.Title)
				}
				if !strings.Contains(c.Title, tc.want) {
					t.Errorf("seed %d: %q, want %q in it", seed, c.Title, tc.want)
				}
				for _, not := range tc.not {
					if strings.Contains(c.Title, not) {
						t.Errorf("seed %d: %q names %s", seed, c.Title, not)
					}
				}
			}
		})
	}
}

// A slice is never taken back for what all requests did where the whole hides it: with
// a cheaper mix all workloads may be slower and the whole is not.
func TestWholeThatHidesSlices(t *testing.T) {
	sides := Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{planted(1, 0.4, spot{}, 1), planted(2, 0.02, spot{}, 1.4)}}
	rep, err := Compare(context.Background(), sides, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	c := Value[Comparison](rep)
	found := false
	for _, r := range c.Slices {
		found = found || r.By[0].Value == "chat" && r.Figure == verdict.Figure{Metric: serving.TPOT, Stat: "p50"} && r.Call == verdict.Slower
	}
	if !found {
		t.Errorf("chat is 40 %% slower and not called: %s", c.Title)
	}
}

func TestStandsOut(t *testing.T) {
	row := func(ratio, lo, hi float64) *CompareRow {
		strata := []verdict.Stratum{{Before: verdict.Sample{Values: []float64{1}}, After: verdict.Sample{Values: []float64{ratio}}}}
		r, ok := verdict.Compare(verdict.Figure{Metric: serving.TPOT, Stat: "p95"}, 0.1, strata, 1)
		if !ok {
			t.Fatal("no row")
		}
		r.Lo, r.Hi = serving.Some(lo), serving.Some(hi)
		return &CompareRow{Row: r}
	}
	for i, tc := range []struct {
		row  *CompareRow
		rest float64 // ratio
		se   float64
		want bool
	}{
		{row(1.42, 1.38, 1.46), 1.00, 0.01, true},
		{row(1.26, 1.23, 1.28), 1.21, 0.01, false}, // alike
		{row(1.26, 1.23, 1.28), 1.12, 0.01, true},  // less than half as far
		{row(1.26, 1.23, 1.28), 1.13, 0.01, false}, // more
		{row(1.42, 1.38, 1.46), 0.90, 0.01, true},  // the other way
		{row(1.42, 1.38, 1.46), 1.00, 0.20, false}, // who knows
		{row(1.42, 0.90, 2.20), 1.00, 0.01, false},
		{row(1.09, 1.08, 1.10), 1.00, 0.01, false}, // matters to nobody
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := tc.row.standsOut(math.Log(tc.rest), tc.se); got != tc.want {
				t.Errorf("%v beside %v: %v", tc.row.Ratio.V, tc.rest, got)
			}
		})
	}
}

// Where a slice is worse and the gate cannot decide, the gate says which slice, and how
// to have it decide; that flag does.
func TestGateNamesTheSliceBeside(t *testing.T) {
	of := func(by float64) Sides {
		return Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{planted(1, 0.15, spot{}, 1), planted(2, 0.15, spot{workload: "code"}, by)}}
	}
	opt := DefaultOptions()
	opt.Gates = []string{"regression"}
	opt.Headline = []verdict.Figure{{Metric: serving.TTFT, Stat: "p95"}}
	rep, err := Compare(context.Background(), of(1.5), opt)
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(rep.Gate.Reasons, "\n"); rep.Gate.Result == GateFail || !strings.Contains(all, "--threshold 'workload=code:tpot:p50=3%'") {
		t.Errorf("gate %s: %s", rep.Gate.Result, all)
	}
	opt.SliceThresholds = []SliceThreshold{{By: []serving.Term{{Dim: serving.ColWorkload, Value: "code"}}, Figure: verdict.Figure{Metric: serving.TPOT, Stat: "p95"}, Share: 0.1}}
	if rep, err = Compare(context.Background(), of(1.5), opt); err != nil || rep.Gate.Result != GateFail {
		t.Errorf("%v, gate %s: %q, want fail", err, rep.Gate.Result, rep.Gate.Reasons)
	}
}

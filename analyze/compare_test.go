package analyze

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// load draws n requests a second apart whose times are a level times noise.
func load(rng *rand.Rand, n int, workload string, in int64, ttft, tpot float64) []request {
	out := make([]request, n)
	for i := range out {
		r := request{at: float64(i), in: in + int64(i%7), out: 50, workload: workload,
			ttft: ttft * math.Exp(0.1*rng.NormFloat64()), tpot: tpot * math.Exp(0.05*rng.NormFloat64())}
		r.e2e = r.ttft + 49*r.tpot
		out[i] = r
	}
	return out
}

// sided is one run of a side.
func sided(id string, cap int64, reqs []request, settings ...serving.Setting) *serving.Run {
	r := newRun(id, cap, reqs)
	r.Settings = settings
	return r
}

func comparedRuns(t *testing.T, opt Options, before, after []*serving.Run) (*Comparison, *Report) {
	t.Helper()
	rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{{Runs: before}, {Runs: after}}}, opt)
	if err != nil {
		t.Fatal(err)
	}
	return Value[Comparison](rep), rep
}

// repeat makes three runs of a load, whose levels differ by a percent.
func repeat(rng *rand.Rand, cap int64, make func(by float64) []request, settings ...serving.Setting) []*serving.Run {
	var out []*serving.Run
	for i := range 3 {
		out = append(out, sided(fmt.Sprintf("c%d-%d", cap, i), cap, make(1+0.01*float64(i-1)), settings...))
	}
	return out
}

func TestComparePairsLevels(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	chat := func(cap int64) *serving.Run {
		return sided(fmt.Sprint(cap), cap, load(rng, 60, "chat", 500, 0.1, 0.02))
	}
	c, _ := comparedRuns(t, DefaultOptions(), []*serving.Run{chat(4), chat(8), chat(16)}, []*serving.Run{chat(8), chat(16), chat(32)})
	var labels []string
	for _, p := range c.Pairs {
		labels = append(labels, p.Label)
	}
	if want := []string{"concurrency 8", "concurrency 16"}; !slices.Equal(labels, want) {
		t.Errorf("pairs %q, want %q", labels, want)
	}
	if len(c.Unpaired) != 2 || c.Unpaired[0].Side != "before" || c.Unpaired[1].Side != "after" {
		t.Errorf("unpaired %+v, want one of each side", c.Unpaired)
	}
}

// Runs of one load with very different lengths are several workloads, no repeats.
func TestComparePairsLikeLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	of := func(id string, in int64) *serving.Run { return sided(id, 8, load(rng, 60, "random", in, 0.1, 0.02)) }
	c, _ := comparedRuns(t, DefaultOptions(), []*serving.Run{of("short", 1000), of("long", 10000)}, []*serving.Run{of("long", 10100), of("short", 1010), of("huge", 50000)})
	if len(c.Pairs) != 2 || len(c.Unpaired) != 1 || !strings.Contains(c.Unpaired[0].Label, "huge") {
		t.Fatalf("%d pairs and unpaired %+v, want two and huge", len(c.Pairs), c.Unpaired)
	}
	for _, p := range c.Pairs {
		if b, a := p.Labels(before), p.Labels(after); strings.TrimPrefix(b[0], "before · ") != strings.TrimPrefix(a[0], "after · ") {
			t.Errorf("%s: %s is paired with %s", p.Label, b, a)
		}
	}
	// One workload a side is a pair whatever its lengths, and the change is named.
	c, _ = comparedRuns(t, DefaultOptions(), []*serving.Run{of("a", 1000)}, []*serving.Run{of("a", 2000)})
	if len(c.Pairs) != 1 || c.Cause != "workload" {
		t.Errorf("%d pairs, cause %q, want one pair with another workload", len(c.Pairs), c.Cause)
	}
}

// A grid of settings is compared setting by setting; what differs between the
// sides is what was changed.
func TestCompareGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 36))
	cell := func(seqs, version string) *serving.Run {
		return sided("seqs"+seqs, 8, load(rng, 60, "chat", 500, 0.1, 0.02), serving.Setting{Key: "max_num_seqs", Value: seqs}, serving.Setting{Key: "engine_version", Value: version})
	}
	c, _ := comparedRuns(t, DefaultOptions(), []*serving.Run{cell("32", "1"), cell("64", "1")}, []*serving.Run{cell("32", "2"), cell("64", "2")})
	if len(c.Pairs) != 2 {
		t.Fatalf("%d pairs, want one a value of max_num_seqs", len(c.Pairs))
	}
	if len(c.Changed) != 1 || c.Changed[0].Kind != ChangedVersion || c.Cause != "engine_version" {
		t.Errorf("changed %+v, cause %q, want the version alone", c.Changed, c.Cause)
	}
}

func TestCompareNamesWhatChanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(37, 38))
	of := func(settings ...serving.Setting) []*serving.Run {
		return []*serving.Run{sided("a", 8, load(rng, 60, "chat", 500, 0.1, 0.02), settings...)}
	}
	c, _ := comparedRuns(t, DefaultOptions(),
		of(serving.Setting{Key: "max_num_seqs", Value: "32"}, serving.Setting{Key: "gpu", Value: "A"}, serving.Setting{Key: "dataset_name", Value: "x"}),
		of(serving.Setting{Key: "max_num_seqs", Value: "64"}, serving.Setting{Key: "gpu", Value: "B"}, serving.Setting{Key: "dataset_name", Value: "y"}))
	var kinds []ChangeKind
	for _, x := range c.Changed {
		kinds = append(kinds, x.Kind)
	}
	if want := []ChangeKind{ChangedSetting, ChangedHardware, ChangedWorkload}; !slices.Equal(kinds, want) {
		t.Errorf("changed %v, want %v", kinds, want)
	}
	all := strings.Join(c.Cautions, "\n")
	for _, want := range []string{"2 things were changed at once (max_num_seqs, gpu)", "the workload is not the same", "one run a side"} {
		if !strings.Contains(all, want) {
			t.Errorf("cautions %q lack %q", all, want)
		}
	}
}

func TestCompareSlices(t *testing.T) {
	rng := rand.New(rand.NewPCG(39, 40))
	b := repeat(rng, 8, func(by float64) []request {
		return slices.Concat(load(rng, 80, "chat", 500, 0.1*by, 0.02*by), load(rng, 80, "rag", 3000, 0.3*by, 0.02*by), load(rng, 40, "old", 500, 0.1, 0.02), load(rng, 3, "rare", 500, 0.1, 0.02))
	})
	a := repeat(rng, 8, func(by float64) []request {
		return slices.Concat(load(rng, 80, "chat", 500, 0.1*by, 0.02*by), load(rng, 80, "rag", 3000, 0.4*by, 0.02*by), load(rng, 40, "fresh", 500, 0.1, 0.02), load(rng, 3, "rare", 500, 0.1, 0.02))
	})
	opt := DefaultOptions()
	opt.GroupBy = []string{serving.ColWorkload}
	opt.Gates = []string{"regression"}
	opt.SliceThresholds = []SliceThreshold{{By: []serving.Term{{Dim: serving.ColWorkload, Value: "chat"}}, Figure: verdict.Figure{Metric: serving.TTFT}, Share: 0.5}}
	c, rep := comparedRuns(t, opt, b, a)
	named := func(list []SliceRef, value string) bool {
		return slices.ContainsFunc(list, func(s SliceRef) bool { return s.By[0] == serving.Term{Dim: serving.ColWorkload, Value: value} })
	}
	if !named(c.New, "fresh") || !named(c.Gone, "old") || !named(c.TooSmall, "rare") {
		t.Errorf("new %v, gone %v, too small %v; want fresh, old, rare", c.New, c.Gone, c.TooSmall)
	}
	if c.Verdict != VerdictWorse || c.Slices[0].By[0].Value != "rag" && c.Slices[0].By[0].Dim != string(serving.PromptTokens) || c.Slices[0].Call != verdict.Slower {
		t.Errorf("%s, first slice %+v, want worse for rag", c.Verdict, c.Slices[0].By)
	}
	for _, r := range c.Slices {
		if r.By[0].Value == "chat" && (r.Call == verdict.Slower || r.Call == verdict.Faster) {
			t.Errorf("%s of chat is %s", r.Figure, r.Call)
		}
		if r.By[0].Value == "chat" && r.Figure.Metric == serving.TTFT && r.Threshold != 0.5 {
			t.Errorf("threshold %v of chat's %s, want the slice's own", r.Threshold, r.Figure)
		}
	}
	if rep.Gate.Result != GateFail {
		t.Errorf("gate %s: %v", rep.Gate.Result, rep.Gate.Reasons)
	}
}

// A gain paid for with another figure is mixed, and one cause is one setting.
func TestCompareTradeoff(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 42))
	b := repeat(rng, 8, func(by float64) []request { return load(rng, 120, "chat", 500, 0.4*by, 0.02*by) }, serving.Setting{Key: "max_num_seqs", Value: "32"})
	a := repeat(rng, 8, func(by float64) []request { return load(rng, 120, "chat", 500, 0.1*by, 0.03*by) }, serving.Setting{Key: "max_num_seqs", Value: "64"})
	c, _ := comparedRuns(t, DefaultOptions(), b, a)
	if c.Verdict != VerdictMixed || len(c.Tradeoffs) != 1 || c.Cause != "max_num_seqs" {
		t.Errorf("%s, tradeoffs %q, cause %q; want mixed by max_num_seqs", c.Verdict, c.Tradeoffs, c.Cause)
	}
}

// Other shares of the same workloads are a mix, split exactly.
func TestCompareMix(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 44))
	of := func(chat, rag int) []*serving.Run {
		return repeat(rng, 8, func(by float64) []request {
			return slices.Concat(load(rng, chat, "chat", 500, 0.1*by, 0.02*by), load(rng, rag, "rag", 3000, 0.4*by, 0.02*by))
		})
	}
	c, _ := comparedRuns(t, DefaultOptions(), of(270, 40), of(120, 190))
	if c.Verdict == VerdictWorse || c.Verdict == VerdictBetter || c.Cause != "mix" {
		t.Errorf("%s, cause %q: %s", c.Verdict, c.Cause, c.Title)
	}
	if len(c.Mix) == 0 {
		t.Fatal("nothing is split")
	}
	for _, m := range c.Mix {
		if d := math.Abs(m.Total - m.Mix - m.Within); d > 1e-12 {
			t.Errorf("%s: %v is not %v + %v", m.Figure, m.Total, m.Mix, m.Within)
		}
		if m.Figure.Metric == serving.TTFT && m.Figure.Stat == "mean" && !(m.Mix > 0.1 && math.Abs(m.Within) < 0.01) {
			t.Errorf("%s: mix %v, within %v; want nearly all of it the mix's", m.Figure, m.Mix, m.Within)
		}
	}
}

// Repeats that replay the same requests do not show what other requests would
// have done; where both sides replay the same, that cancels out.
func TestCompareKnowsReplays(t *testing.T) {
	of := func(seed uint64) []*serving.Run {
		var out []*serving.Run
		for i := range 3 {
			out = append(out, sided(fmt.Sprint(i), 8, load(rand.New(rand.NewPCG(seed, 1)), 60+int(seed), "chat", 500, 0.1, 0.02)))
		}
		return out
	}
	same, _ := comparedRuns(t, DefaultOptions(), of(1), of(1))
	other, _ := comparedRuns(t, DefaultOptions(), of(1), of(2))
	if p := same.Pairs[0]; p.replays(before) || p.replays(after) {
		t.Error("both sides replay the same requests, which is no chance left")
	}
	if p := other.Pairs[0]; !p.replays(before) || !p.replays(after) {
		t.Error("each side replays its own requests")
	}
	if v := other.Verdict; v != VerdictUndecided && v != VerdictEquivalent {
		t.Errorf("%s: %s", v, other.Title)
	}
}

// A trace whose level moves knows less than its requests seem to.
func TestCompareSeesDrift(t *testing.T) {
	rng := rand.New(rand.NewPCG(45, 46))
	trace := func(sd float64) *serving.Dataset {
		reqs := load(rng, 6000, "chat", 500, 0.1, 0.02)
		level := 0.0
		for i := range reqs {
			level = 0.998*level + sd*math.Sqrt(1-0.998*0.998)*rng.NormFloat64()
			reqs[i].ttft *= math.Exp(level)
		}
		return &serving.Dataset{Traces: []serving.Requests{newTable("t", serving.ServerSide, reqs)}}
	}
	of := func(sd float64) *verdict.Row {
		rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{trace(sd), trace(sd)}}, DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		return rowOf(Value[Comparison](rep).Headline, verdict.Figure{Metric: serving.TTFT, Stat: "p95"}).Row
	}
	still, moving := of(0), of(0.3)
	width := func(r *verdict.Row) float64 { return math.Log(r.Hi.V / r.Lo.V) }
	if width(moving) < 5*width(still) {
		t.Errorf("interval %v wide of a trace that drifts, %v of one that does not", width(moving), width(still))
	}
	if moving.Call == verdict.Faster || moving.Call == verdict.Slower {
		t.Errorf("the same thing is called %s (%+v)", moving.Call, moving)
	}
}

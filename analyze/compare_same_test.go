package analyze

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// drawn makes a side of anything: traces or runs, one or several repeats, with levels,
// lengths, failures and holes drawn from a seed. The same seed gives the same side.
func drawn(seed uint64, slower float64) *serving.Dataset {
	rng := rand.New(rand.NewPCG(seed, 99))
	reqs := func() []request {
		out := load(rng, 30+rng.IntN(120), "chat", 100+rng.Int64N(3000), math.Exp(rng.NormFloat64())*slower, 0.02*slower)
		if rng.IntN(2) == 0 {
			out = append(out, load(rng, 30+rng.IntN(100), "rag", 5000, 2*slower, 0.03*slower)...)
		}
		for i := range out {
			switch rng.IntN(12) {
			case 0:
				out[i].outcome, out[i].ttft, out[i].tpot, out[i].e2e = serving.Timeout, -1, -1, -1
			case 1:
				out[i].tpot = -1
			}
		}
		return out
	}
	ds := &serving.Dataset{}
	if rng.IntN(3) == 0 {
		ds.Traces = append(ds.Traces, newTable("t", serving.ServerSide, reqs()))
	}
	levels, repeats := rng.IntN(4), 1+rng.IntN(5)
	for l := range levels {
		for r := range repeats {
			ds.Runs = append(ds.Runs, newRun(fmt.Sprintf("c%d-%d", l, r), int64(1<<l), reqs()))
		}
	}
	return ds
}

func comparedSets(t *testing.T, before, after *serving.Dataset) *Comparison {
	t.Helper()
	rep, err := Compare(context.Background(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{before, after}}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	if c := Value[Comparison](rep); c != nil {
		return c
	}
	return &Comparison{Verdict: VerdictUndecided}
}

// Whatever a side is, it is not better, worse or mixed against itself; exchanging the
// sides exchanges the calls; and the same comparison gives the same bytes.
func TestComparedWithItself(t *testing.T) {
	mirror := map[Verdict]Verdict{VerdictBetter: VerdictWorse, VerdictWorse: VerdictBetter, VerdictMixed: VerdictMixed, VerdictEquivalent: VerdictEquivalent, VerdictUndecided: VerdictUndecided}
	opposite := map[verdict.Call]verdict.Call{verdict.Faster: verdict.Slower, verdict.Slower: verdict.Faster}
	called := 0
	for seed := range uint64(8) {
		c := comparedSets(t, drawn(seed, 1), drawn(seed, 1))
		if c.Verdict != VerdictEquivalent && c.Verdict != VerdictUndecided {
			t.Errorf("seed %d against itself: %s, %s", seed, c.Verdict, c.Title)
		}
		for _, r := range slices.Concat(c.Headline, c.Others, c.Levels, c.Slices) {
			if r.Call == verdict.Faster || r.Call == verdict.Slower || math.Abs(r.Effect()) > 1e-12 {
				t.Errorf("seed %d against itself: %s of %v is %s, effect %g", seed, r.Figure, r.By, r.Call, r.Effect())
			}
		}

		there, back := comparedSets(t, drawn(seed, 1), drawn(seed, 1.4)), comparedSets(t, drawn(seed, 1.4), drawn(seed, 1))
		if back.Verdict != mirror[there.Verdict] || there.Verdict == VerdictBetter {
			t.Errorf("seed %d: %s one way and %s the other", seed, there.Verdict, back.Verdict)
		}
		for i, r := range there.Headline {
			want, ok := opposite[r.Call]
			if !ok {
				want = r.Call
			}
			if back.Headline[i].Call != want {
				t.Errorf("seed %d: %s is %s one way and %s the other", seed, r.Figure, r.Call, back.Headline[i].Call)
			}
		}
		if there.Verdict == VerdictWorse {
			called++
		}
		if again := comparedSets(t, drawn(seed, 1), drawn(seed, 1.4)); !bytes.Equal(rowsText(there), rowsText(again)) {
			t.Errorf("seed %d: the same comparison gives other rows", seed)
		}
	}
	// Of what is two fifths slower most has to be seen, or the above proves nothing.
	if called < 4 {
		t.Errorf("%d of 8 are called worse", called)
	}
}

func rowsText(c *Comparison) []byte {
	type row struct {
		verdict.Row
		By  []serving.Term
		Mix bool
	}
	var rows []row
	for _, r := range slices.Concat(c.Headline, c.Others, c.Levels, c.Slices) {
		rows = append(rows, row{*r.Row, r.By, r.Mix})
	}
	return fmt.Appendf(nil, "%s %q %q %q %+v %+v", c.Verdict, c.Title, c.Points, c.Cautions, rows, c.Mix)
}

package analyze

import (
	"math"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// Eight requests in four seconds, counted by hand: good are those that meet both
// conditions, of all that were sent.
func TestGoodputCountedByHand(t *testing.T) {
	ttft := []float64{120, 300, 480, 510, 90, 2000, -1, 450} // ms; negative: failed
	tpot := []float64{20, 25, 31, 22, 19, 28, -1, 29.9}
	var reqs []request
	for i := range ttft {
		r := request{at: float64(i) / 2, in: 100, out: 10, ttft: ttft[i] / 1000, tpot: tpot[i] / 1000}
		if r.e2e = r.ttft + 9*r.tpot; ttft[i] < 0 {
			r.ttft, r.tpot, r.e2e, r.outcome = -1, -1, -1, serving.Failed
		}
		reqs = append(reqs, r)
	}
	run := newRun("r", 4, reqs)
	run.Duration = serving.Some(4.0)
	opt := DefaultOptions()
	opt.SLOs = slos(t, "ttft:p50<=500ms", "tpot:p50<=30ms")
	opt.Goodput = []serving.Condition{{Metric: serving.TTFT, Limit: .5}, {Metric: serving.TPOT, Limit: .03}}
	r := Value[Runs](analyzed(t, &serving.Dataset{Runs: []*serving.Run{run}}, opt)).Runs[0]
	g := r.Goodput
	if g == nil || g.Good.V != 4 || g.Of.V != 8 || math.Abs(g.Share.V-.5) > 1e-12 || math.Abs(g.PerSecond.V-1) > 1e-12 {
		t.Errorf("goodput %+v, want 4 of 8, 1 a second", g)
	}
	for i, want := range []float64{.625, .75} {
		if s := r.SLO[i]; math.Abs(s.Attainment.V-want) > 1e-12 {
			t.Errorf("%s: attainment %v, want %v", s.Expr, s.Attainment.V, want)
		}
	}
}

package analyze

import (
	"math"
	"slices"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

var inf = math.Inf(1)

// histOf is a histogram of latencies in seconds, with counts at or below bounds.
func histOf(bounds, cum []float64) histWindow {
	n := cum[len(cum)-1]
	return histWindow{metric: serving.TTFT, bounds: bounds, cum: cum, count: serving.Some(n), sum: serving.Some(n)}
}

// Replicas of two releases have other bounds: what their requests took does not
// depend on which of them comes first.
func TestHistSumOfUnlikeBounds(t *testing.T) {
	fast := histOf([]float64{0.1, 0.5, 1, inf}, []float64{100, 100, 100, 100})
	slow := histOf([]float64{0.2, 1, 10, inf}, []float64{0, 0, 900, 900})
	var got [2]spread
	for i, order := range [][]histWindow{{fast, slow}, {slow, fast}} {
		var h histSum
		for _, w := range order {
			h.add(w)
		}
		got[i] = h.spread()
		if n := h.buckets.Cum[len(h.buckets.Cum)-1]; n != got[i].N {
			t.Errorf("%v requests in buckets, %v in all", n, got[i].N)
		}
	}
	want := spread{N: 1000, Mean: 1, P50: nan, P95: nan, P99: nan, AtLeast: 1} // 1 s is the last bound that both have
	for _, s := range got {
		if s.N != want.N || s.Mean != want.Mean || s.AtLeast != want.AtLeast || !math.IsNaN(s.P50) || !math.IsNaN(s.P95) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// What is beyond the last bucket is at least its bound, and no value.
func TestSpreadBeyondTheLastBucket(t *testing.T) {
	var h histSum
	h.add(histOf([]float64{1, 10, inf}, []float64{60, 80, 100}))
	s := h.spread()
	if !(s.P50 > 0 && s.P50 < 1) || !math.IsNaN(s.P95) || s.AtLeast != 10 {
		t.Fatalf("%+v", s)
	}
	if s.floor(s.P50) != s.P50 || s.floor(s.P95) != 10 {
		t.Errorf("floors %v, %v", s.floor(s.P50), s.floor(s.P95))
	}
	base := spread{N: 100, Mean: 1, P50: 0.5, P95: 2, P99: 2}
	if g := growthOf("p95", base, s, p95Of); !g.atLeast || !g.by(5, 8) || g.by(5.01, 0) {
		t.Errorf("grows by %+v", g)
	}
	if g := growthOf("p95", s, s, p95Of); g.by(0, 0) {
		t.Error("what it was before is not known, so nothing grew")
	}
	if s := noSpread; !math.IsNaN(s.floor(s.P95)) {
		t.Error("of no requests nothing is known")
	}
}

// A fleet's quantiles are coarse where one replica's buckets are not cumulative,
// whichever it is.
func TestFleetOfBrokenBuckets(t *testing.T) {
	good := histOf([]float64{1, 2, inf}, []float64{1, 2, 3})
	bad := histOf([]float64{1, 2, inf}, []float64{2, 1, 3})
	bad.raised = true
	for _, ms := range [][]*ServerStats{{{hists: []histWindow{good}}, {hists: []histWindow{bad}}}, {{hists: []histWindow{bad}}, {hists: []histWindow{good}}}} {
		w, ok := mergeHists(serving.TTFT, ms)
		if !ok || !w.raised || !slices.Equal(w.bounds, good.bounds) {
			t.Errorf("%+v", w)
		}
		if q, ok := w.quantile(0.5); !ok || q.Quality != QualityCoarse {
			t.Errorf("p50 %+v", q)
		}
	}
}

package stat

import (
	"math"
	"testing"
)

func testLittleSummary(t *testing.T, v *vector) {
	type input struct {
		X float64 `json:"throughput_rps"`
		W float64 `json:"mean_e2e_s"`
		C float64 `json:"max_concurrency"`
	}
	type expected struct {
		L   float64 `json:"L"`
		Gap float64 `json:"rel_gap"`
	}
	in, want := read[input, expected](t, v)
	l := InFlightOf(in.X, in.W)
	v.check(t, "L", l, want.L)
	v.check(t, "gap", LittleGap(l, in.C), -want.Gap)
}

func testMSER(t *testing.T, v *vector) {
	type expected struct {
		Batches []number `json:"batch_means"`
		MSER    []number
		Drop    int `json:"d_batches"`
		Limit   int
		Values  int     `json:"truncate_obs"`
		Mean    float64 `json:"truncated_mean"`
		Reject  bool
	}
	in, want := read[struct{ Y []number }, expected](t, v)
	y := floats(in.Y)
	w := MSER5(y)
	if w.Drop != want.Drop || w.AtLimit != want.Reject {
		t.Errorf("drop %d, at the limit %v; want %d, %v", w.Drop, w.AtLimit, want.Drop, want.Reject)
	}
	if want.Reject {
		if got := len(w.Batches) / 2; got != want.Limit {
			t.Errorf("limit %d, want %d", got, want.Limit)
		}
		return
	}
	if len(w.Batches) != len(want.Batches) || len(w.Statistic) != len(want.MSER) || w.Values() != want.Values {
		t.Fatalf("%d batches, %d statistics, %d values; want %d, %d, %d", len(w.Batches), len(w.Statistic), w.Values(), len(want.Batches), len(want.MSER), want.Values)
	}
	for i, b := range want.Batches {
		v.check(t, "batch", w.Batches[i], float64(b))
	}
	for i, s := range want.MSER {
		v.check(t, "statistic", w.Statistic[i], float64(s))
	}
	v.check(t, "truncated mean", meanOf(y[w.Values():]), want.Mean)
}

func testBacklog(t *testing.T, v *vector) {
	type expected struct {
		Slope, Tau, P float64
		Intercept     *float64
		Lo            *float64 `json:"slope_lo"`
		Hi            *float64 `json:"slope_hi"`
		Ratio         *float64 `json:"growth_ratio"`
	}
	in, want := read[struct{ T, N []number }, expected](t, v)
	g := Backlog(floats(in.T), floats(in.N))
	v.check(t, "slope", g.Slope, want.Slope)
	v.check(t, "tau", g.Tau, want.Tau)
	v.check(t, "p", g.P, want.P)
	for _, c := range []struct {
		what string
		got  float64
		want *float64
	}{{"intercept", g.Intercept, want.Intercept}, {"low", g.Lo, want.Lo}, {"high", g.Hi, want.Hi}, {"ratio", g.Ratio, want.Ratio}} {
		if c.want != nil {
			v.check(t, c.what, c.got, *c.want)
		}
	}
	if grows := v.ID == "backlog.growth"; g.Grows(0.9) != grows || g.Grows(0.98) {
		t.Errorf("grows %v with 90 %% served, %v with 98 %%; want %v, false", g.Grows(0.9), g.Grows(0.98), grows)
	}
}

// A series without a defined trend has none: nothing divides by zero.
func TestSteadyDegenerate(t *testing.T) {
	for _, y := range [][]float64{nil, {1}, {2, 2, 2}, {0, 0}} {
		x := make([]float64, len(y))
		for i := range x {
			x[i] = float64(i)
		}
		if g := Backlog(x, y); g.Grows(0) {
			t.Errorf("%v: grows", y)
		}
		if tau, p := Kendall(x, y); !math.IsNaN(tau) || !math.IsNaN(p) {
			t.Errorf("%v: tau %v, p %v", y, tau, p)
		}
		if w := MSER5(y); w.Drop != 0 || w.AtLimit || w.Enough() {
			t.Errorf("%v: %+v", y, w)
		}
	}
	if tr := TheilSen([]float64{1, 1}, []float64{2, 3}); !math.IsNaN(tr.Slope) {
		t.Errorf("without two x: %+v", tr)
	}
}

// Without ties and with up to 33 values, p counts orders. Of three values one
// order in six is as extreme on each side.
func TestKendallExact(t *testing.T) {
	if tau, p := Kendall([]float64{1, 2, 3}, []float64{1, 2, 3}); math.Abs(tau-1) > 1e-12 || math.Abs(p-1.0/3) > 1e-12 {
		t.Errorf("tau %v, p %v; want 1, 1/3", tau, p)
	}
	if tau, p := Kendall([]float64{1, 2, 3, 4}, []float64{2, 4, 1, 3}); tau != 0 || p != 1 {
		t.Errorf("tau %v, p %v; want 0, 1", tau, p)
	}
	n := 40 // by the normal distribution
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float64(i), float64((i*7)%n)
	}
	if _, p := Kendall(x, y); p < 0.05 {
		t.Errorf("p %v of a shuffle", p)
	}
	if _, p := Kendall(x, x); p > 1e-10 {
		t.Errorf("p %v of equal orders", p)
	}
}

// The windows share what is in flight between them without loss.
func TestWindowMeans(t *testing.T) {
	start, took := []float64{0, 1, 2.5, -3, 9, 20}, []float64{4, 2, 100, 1, 0.5, 1}
	got := WindowMeans(start, took, 0, 10, 5)
	want := []float64{1.5, (2 + 1 + 1.5) / 2, 1, 1, 1.25}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("window %d: %v, want %v", i, got[i], want[i])
		}
	}
	for _, v := range WindowMeans(start, took, 5, 5, 3) {
		if v != 0 {
			t.Errorf("of an empty span: %v", v)
		}
	}
}

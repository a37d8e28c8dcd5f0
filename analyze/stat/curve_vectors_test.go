package stat

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
)

// testUSL holds the fit of a sweep against its vector.
func testUSL(t *testing.T, v *vector) {
	in, want := read[load, struct {
		Lambda float64  `json:"usl_lambda"`
		Alpha  float64  `json:"usl_alpha"`
		Beta   float64  `json:"usl_beta"`
		Peak   number   `json:"usl_peak"`
		Power  float64  `json:"usl_power_knee"`
		T0, T1 *float64 // of the fit with β = 0
	}](t, v)
	u, ok := FitUSL(in.N, in.X)
	if !ok {
		t.Fatal("no fit")
	}
	v.check(t, "λ", u.Lambda, want.Lambda)
	v.check(t, "α", u.Alpha, want.Alpha)
	v.check(t, "β", u.Beta, want.Beta)
	v.check(t, "power knee", u.Power(), want.Power)
	peak := float64(want.Peak)
	if peak == 0 { // the vector has none
		peak = u.Peak()
	}
	v.check(t, "peak", u.Peak(), peak)
	if want.Beta == 0 && want.T0 != nil {
		v.check(t, "t0", (1-u.Alpha)/u.Lambda, *want.T0)
		v.check(t, "t1", u.Alpha/u.Lambda, *want.T1)
	}
}

func testHinge(t *testing.T, v *vector) {
	in, want := read[load, struct {
		T        float64         `json:"hinge_t"`
		DeltaBIC json.RawMessage `json:"hinge_dbic"`
	}](t, v)
	h, ok := FitHinge(in.N, in.X)
	if !ok {
		t.Fatal("no fit")
	}
	v.check(t, "hinge", h.T, want.T)
	var dbic float64
	if json.Unmarshal(want.DeltaBIC, &dbic) != nil { // "large": an exact fit
		if h.DeltaBIC < 100 {
			t.Errorf("ΔBIC %v of an exact fit", h.DeltaBIC)
		}
		return
	}
	v.check(t, "ΔBIC", h.DeltaBIC, dbic)
}

// A plateau has no peak, however the fit bends; a curve that falls has one.
func TestRetrograde(t *testing.T) {
	n := []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
	plateau := []float64{90, 180, 360, 720, 1440, 1440, 1440, 1440, 1440}
	u, _ := FitUSL(n, plateau)
	if u.Fits() || u.Retrograde(plateau, 0.03) {
		t.Errorf("a plateau fits with residual %.3f and has a peak at %.0f", u.Residual, u.Peak())
	}
	var falling []float64
	for _, v := range n {
		falling = append(falling, 900*v/(1+0.03*(v-1)+0.0002*v*(v-1)))
	}
	u, _ = FitUSL(n, falling)
	if !u.Retrograde(falling, 0.03) || math.Abs(u.Peak()-math.Sqrt(0.97/0.0002)) > 0.01 {
		t.Errorf("peak at %v, retrograde %v", u.Peak(), u.Retrograde(falling, 0.03))
	}
	if u.Retrograde(falling[:7], 0.03) {
		t.Error("a peak without a level beyond it")
	}
}

// knee.bootstrap_exact enumerates every resample; the seeded one comes close.
func testKneeShares(t *testing.T, v *vector) {
	in, want := read[struct{ Repeats map[string][]float64 }, struct{ Prob map[string]float64 }](t, v)
	var n []float64
	for k := range in.Repeats {
		f, _ := strconv.ParseFloat(k, 64)
		n = append(n, f)
	}
	slices.Sort(n)
	var repeats [][]float64
	for _, l := range n {
		repeats = append(repeats, in.Repeats[strconv.Itoa(int(l))])
	}
	exact := map[float64]float64{}
	x := make([]float64, len(n))
	var walk func(i int, p float64)
	walk = func(i int, p float64) {
		if i == len(n) {
			exact[PowerKnee(n, x)] += p
			return
		}
		for _, a := range repeats[i] {
			for _, b := range repeats[i] {
				for _, c := range repeats[i] {
					x[i] = mean3([]float64{a, b, c})
					walk(i+1, p/27)
				}
			}
		}
	}
	walk(0, 1)
	shares := KneeShares(n, repeats, mean3, PowerKnee)
	for l, p := range want.Prob {
		f, _ := strconv.ParseFloat(l, 64)
		v.check(t, "exact share of "+l, exact[f], p)
		if math.Abs(shares[f]-p) > 0.04 {
			t.Errorf("resampled share of %s: %v, want about %v", l, shares[f], p)
		}
	}
	if again := KneeShares(n, repeats, mean3, PowerKnee); !maps.Equal(shares, again) {
		t.Error("the same data give other shares")
	}
}

func mean3(v []float64) float64 { return (v[0] + v[1] + v[2]) / 3 }

func testOpenLine(t *testing.T, v *vector) {
	in, want := read[struct{ Rate, Latency []float64 }, struct {
		R0    float64
		Mu    float64
		Power float64 `json:"power_knee"`
	}](t, v)
	l, ok := FitOpenLine(in.Rate, in.Latency)
	if !ok || !l.Fits() {
		t.Fatalf("%+v, %v", l, ok)
	}
	v.check(t, "R0", l.R0, want.R0)
	v.check(t, "capacity", l.Capacity, want.Mu)
	v.check(t, "power knee", l.Power(), want.Power)
}

func testOpenSaturation(t *testing.T, v *vector) {
	in, want := read[struct{ Offered, Achieved []float64 }, struct {
		Ratio    []float64
		First    float64 `json:"first_saturated"`
		Last     float64 `json:"last_ok"`
		Capacity float64
	}](t, v)
	first, last := OpenSaturation(in.Offered, in.Achieved)
	v.check(t, "first saturated", in.Offered[first], want.First)
	v.check(t, "last that kept up", in.Offered[last], want.Last)
	v.check(t, "capacity", slices.Max(in.Achieved), want.Capacity)
	if first, last := OpenSaturation(in.Offered[:4], in.Achieved[:4]); first != -1 || last != 3 {
		t.Errorf("all kept up: %d, %d", first, last)
	}
}

func testCrossing(t *testing.T, v *vector) {
	in, want := read[struct {
		Load, P99 []float64
		SLO       float64
	}, struct {
		Bracket   [2]float64
		Linear    float64
		Loglinear float64
		Reentry   []float64 `json:"reentry_levels"`
	}](t, v)
	within := make([]bool, len(in.P99))
	for i, y := range in.P99 {
		within[i] = y <= in.SLO
	}
	c := FirstCrossing(within)
	v.check(t, "pass", in.Load[c.Pass], want.Bracket[0])
	v.check(t, "fail", in.Load[c.Fail], want.Bracket[1])
	at := func(log bool) float64 {
		return Interpolate(in.Load[c.Pass], in.Load[c.Fail], in.P99[c.Pass], in.P99[c.Fail], in.SLO, log)
	}
	v.check(t, "linear", at(false), want.Linear)
	if want.Loglinear != 0 {
		v.check(t, "logarithmic", at(true), want.Loglinear)
	}
	if len(c.Reentry) != len(want.Reentry) {
		t.Fatalf("re-entry at %v, want %v", c.Reentry, want.Reentry)
	}
	for i, r := range c.Reentry {
		v.check(t, "re-entry", in.Load[r], want.Reentry[i])
	}
}

// Nothing is extrapolated: beyond the last level, and before the first, there is
// no estimate.
func TestCrossingOutside(t *testing.T) {
	if c := FirstCrossing([]bool{true, true}); c.Pass != 1 || c.Fail != -1 {
		t.Errorf("%+v", c)
	}
	if c := FirstCrossing([]bool{false, false}); c.Pass != -1 || c.Fail != 0 {
		t.Errorf("%+v", c)
	}
	for _, y := range [][2]float64{{1, 2}, {4, 5}, {math.NaN(), 4}, {0, 2}} {
		if x := Interpolate(1, 2, y[0], y[1], 3, true); !math.IsNaN(x) {
			t.Errorf("%v: %v", y, x)
		}
	}
}

func testTurnDown(t *testing.T, v *vector) {
	in, want := read[struct{ Load, Goodput []float64 }, struct {
		Load       float64 `json:"argmax_load"`
		Max        float64 `json:"max_goodput"`
		Attainment []float64
		Last       float64 `json:"last_load_attainment_ge_090"`
	}](t, v)
	best := TurnDown(in.Goodput)
	v.check(t, "turn-down", in.Load[best], want.Load)
	v.check(t, "goodput there", in.Goodput[best], want.Max)
	within := make([]bool, len(in.Load))
	for i := range within {
		share := in.Goodput[i] / in.Load[i]
		v.check(t, "attainment", share, want.Attainment[i])
		within[i] = share >= 0.9
	}
	v.check(t, "capacity at 90 %", in.Load[FirstCrossing(within).Pass], want.Last)
}

package stat

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// A vector is a case of testdata/vectors.json: values computed by other
// programs.
type vector struct {
	ID        string
	Input     json.RawMessage
	Expected  json.RawMessage
	Tolerance float64
	used      bool
}

// A number may be infinite, which JSON has no word for.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case `"Inf"`:
		*n = number(math.Inf(+1))
		return nil
	case `"-Inf"`:
		*n = number(math.Inf(-1))
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

func floats(n []number) []float64 {
	out := make([]float64, len(n))
	for i := range n {
		out[i] = float64(n[i])
	}
	return out
}

// vectorTests say how each topic is computed.
var vectorTests = map[string]func(t *testing.T, v *vector){
	"q7.": testQ7, "q_types.": testQTypes, "wq.": testWQ, "qci.ranks": testRanks, "qci.n20_median": testRankValues, "qci.min_n": testMinN,
	"slo.wilson": testWilson, "acf.lag": testACF,
	"pareto.2d": testFront, "pareto.3d": testFront, "pareto.dominated_R": testDominated, "pareto.eps": testEps,
	"knee.sweep.": testSweep, "knee.loo": testLOO, "knee.bootstrap_exact": testKneeShares, "knee.kneed.": testKneedle, "knee.nonuniform.": testKneedle,
	"knee.open_loop_mm1": testOpenLine, "knee.open_loop_saturation": testOpenSaturation, "slo.capacity": testCrossing, "slo.nonmonotone": testCrossing,
	"slo.goodput_peak": testTurnDown, "little.summary": testLittleSummary, "warmup.": testMSER, "backlog.": testBacklog,
}

func TestVectors(t *testing.T) { runVectors(t, "testdata/vectors.json", vectorTests) }

// runVectors runs the cases of a file; each must have a test, and each test a
// case.
func runVectors(t *testing.T, path string, tests map[string]func(t *testing.T, v *vector)) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []*vector }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			for prefix, test := range tests {
				if strings.HasPrefix(v.ID, prefix) {
					ran[prefix], v.used = true, true
					test(t, v)
				}
			}
			if !v.used {
				t.Error("nothing computes this vector")
			}
		})
	}
	if len(ran) != len(tests) {
		t.Errorf("vectors of %d topics, want %d", len(ran), len(tests))
	}
}

// read decodes a vector's input and expectation.
func read[I, E any](t *testing.T, v *vector) (in I, want E) {
	t.Helper()
	if err := json.Unmarshal(v.Input, &in); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(v.Expected, &want); err != nil {
		t.Fatal(err)
	}
	return in, want
}

func (v *vector) check(t *testing.T, what string, got, want float64) {
	t.Helper()
	tol := v.Tolerance
	if want != 0 {
		tol *= math.Abs(want)
	}
	if got == want || math.Abs(got-want) <= tol {
		return
	}
	t.Errorf("%s: %v, want %v", what, got, want)
}

type sample struct {
	X, W []number
	P    []float64
}

type quantiles struct{ Q []number }

func sorted(x []number) []float64 {
	out := floats(x)
	slices.Sort(out)
	return out
}

func testQ7(t *testing.T, v *vector) {
	in, want := read[sample, quantiles](t, v)
	for i, p := range in.P {
		v.check(t, "quantile", Quantile(sorted(in.X), p), float64(want.Q[i]))
	}
}

func testQTypes(t *testing.T, v *vector) {
	in, want := read[struct {
		X []number
		P float64
	}, struct {
		Linear   float64
		Inverted float64 `json:"inverted_cdf"`
	}](t, v)
	x := sorted(in.X)
	v.check(t, "type 7", Quantile(x, in.P), want.Linear)
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	v.check(t, "type 1", WeightedQuantile(x, ones, in.P), want.Inverted)
}

func testWQ(t *testing.T, v *vector) {
	in, want := read[sample, quantiles](t, v)
	for i, p := range in.P {
		v.check(t, "weighted quantile", WeightedQuantile(floats(in.X), floats(in.W), p), float64(want.Q[i]))
	}
}

func testRanks(t *testing.T, v *vector) {
	in, want := read[struct{ Conf float64 }, struct {
		Rows []struct {
			N, Lo, Hi   int64
			LoRank      int64 `json:"lo_rank"`
			HiRank      int64 `json:"hi_rank"`
			LoUnbounded bool  `json:"lo_unbounded"`
			HiUnbounded bool  `json:"hi_unbounded"`
			P, Coverage float64
		}
	}](t, v)
	for _, w := range want.Rows {
		r := QuantileRanks(w.N, w.P, in.Conf)
		if r.Lo != w.LoRank || r.Hi != w.HiRank || r.HasLo() == w.LoUnbounded || r.HasHi() == w.HiUnbounded {
			t.Errorf("n=%d p=%v: %+v, want %+v", w.N, w.P, r, w)
		}
		v.check(t, "coverage", r.Coverage, w.Coverage)
	}
}

func testRankValues(t *testing.T, v *vector) {
	in, want := read[struct {
		X []number
		P float64
	}, struct{ Lo, Hi, Coverage float64 }](t, v)
	x := sorted(in.X)
	r := QuantileRanks(int64(len(x)), in.P, 0.95)
	v.check(t, "lo", x[r.Lo-1], want.Lo)
	v.check(t, "hi", x[r.Hi-1], want.Hi)
	v.check(t, "coverage", r.Coverage, want.Coverage)
}

func testMinN(t *testing.T, v *vector) {
	_, want := read[struct{}, struct {
		Rows []struct {
			P        float64
			Equal    int64 `json:"n_min_equal_tailed"`
			OneSided int64 `json:"n_min_one_sided_upper"`
		}
	}](t, v)
	for _, w := range want.Rows {
		if a, b := MinN(w.P, 0.95), MinNOneSided(w.P, 0.95); a != w.Equal || b != w.OneSided {
			t.Errorf("p=%v: %d, %d, want %+v", w.P, a, b, w)
		}
	}
}

func testWilson(t *testing.T, v *vector) {
	in, want := read[struct{ K, N int64 }, struct{ Wilson [2]float64 }](t, v)
	lo, hi := Wilson(in.K, in.N, 0.95)
	v.check(t, "lo", lo, want.Wilson[0])
	v.check(t, "hi", hi, want.Wilson[1])
}

func testACF(t *testing.T, v *vector) {
	in, want := read[struct {
		Y    []float64
		Lags []int
	}, struct{ ACF []float64 }](t, v)
	for i, l := range in.Lags {
		v.check(t, "acf", acf(in.Y, l), want.ACF[i])
	}
}

type cloud struct {
	Points [][]float64
	Dirs   []string
	Eps    float64
}

// minimized negates what is to be maximized.
func (c cloud) minimized() [][]float64 {
	for _, p := range c.Points {
		for k := range p {
			if len(c.Dirs) > 0 && c.Dirs[k] == "max" {
				p[k] = -p[k]
			}
		}
	}
	return c.Points
}

func testFront(t *testing.T, v *vector) {
	in, want := read[cloud, struct{ Front []int }](t, v)
	points := in.minimized()
	if got := Front(points); !slices.Equal(got, want.Front) {
		t.Errorf("front %v, want %v", got, want.Front)
	}
	for i, c := range Dominance(points, make([]float64, len(in.Dirs))) {
		if (c == Frontier) != slices.Contains(want.Front, i) {
			t.Errorf("point %d is %s", i, c)
		}
	}
}

func testDominated(t *testing.T, v *vector) {
	in, want := read[cloud, struct{ Dominated []bool }](t, v)
	front := Front(in.Points)
	for i, d := range want.Dominated {
		if d == slices.Contains(front, i) {
			t.Errorf("point %d: dominated %v, want %v", i, !d, d)
		}
	}
}

func testEps(t *testing.T, v *vector) {
	in, want := read[cloud, struct {
		Front   []int `json:"strict_front"`
		Clearly []int `json:"clearly_dominated"`
	}](t, v)
	if got := Front(in.minimized()); !slices.Equal(got, want.Front) {
		t.Errorf("front %v, want %v", got, want.Front)
	}
	var clearly []int // on the frontier or not
	for i, p := range in.Points {
		if slices.ContainsFunc(in.Points, func(q []float64) bool { return clearlyDominates(q, p, []float64{in.Eps, in.Eps}) }) {
			clearly = append(clearly, i)
		}
	}
	if !slices.Equal(clearly, want.Clearly) {
		t.Errorf("clearly dominated %v, want %v", clearly, want.Clearly)
	}
}

type load struct{ N, X []float64 }

func testSweep(t *testing.T, v *vector) {
	in, want := read[load, struct {
		Kneedle float64 `json:"kneedle_linear"`
		Chord   float64 `json:"chord_linear"`
		LMethod float64
		Power   float64 `json:"power_argmax"`
		NStar   float64 `json:"n_star"`
	}](t, v)
	v.check(t, "power knee", PowerKnee(in.N, in.X), want.Power)
	k, _ := Kneedle(in.N, in.X, ConcaveIncreasing, 1)
	v.check(t, "Kneedle", k, want.Kneedle)
	c, _, _ := Chord(in.N, in.X, ConcaveIncreasing)
	v.check(t, "chord", c, want.Chord)
	l, _ := LMethod(in.N, in.X)
	v.check(t, "L-method", l, want.LMethod)
	v.check(t, "N*", saturation(in.N, in.X), want.NStar)
	testUSL(t, v)
	testHinge(t, v)
	s := saturationKnee(in.N, in.X)
	if in.X[len(in.X)-1] > 1.05*in.X[len(in.X)-2] {
		if s.Confidence != NotReached || !math.IsNaN(s.N) {
			t.Errorf("still rising: %+v, want it not reached", s)
		}
		return
	}
	if s.N != saturation(in.N, in.X) || s.Confidence == NotReached {
		t.Errorf("%+v", s)
	}
}

func testLOO(t *testing.T, v *vector) {
	in, want := read[load, struct{ LOO []float64 }](t, v)
	for i, w := range want.LOO {
		v.check(t, "power knee without a level", PowerKnee(without(in.N, i), without(in.X, i)), w)
	}
}

func testKneedle(t *testing.T, v *vector) {
	in, want := read[struct {
		X, Y             []float64
		Direction, Curve string
		S                json.RawMessage
	}, struct {
		X     json.RawMessage `json:"kneedle_x"`
		Chord *float64        `json:"chord_x"`
		Far   float64         `json:"chord_dist"`
	}](t, v)
	curve := map[string]Curve{
		"concave increasing": ConcaveIncreasing, "concave decreasing": ConcaveDecreasing,
		"convex increasing": ConvexIncreasing, "convex decreasing": ConvexDecreasing,
	}[in.Curve+" "+in.Direction]
	if want.Chord != nil {
		at, far, ok := Chord(in.X, in.Y, curve)
		if !ok {
			t.Error("no point is farthest from the chord")
		}
		v.check(t, "chord", at, *want.Chord)
		v.check(t, "distance", far, want.Far)
	}
	s, x := list(t, in.S), list(t, want.X)
	for i := range s {
		got, ok := Kneedle(in.X, in.Y, curve, *s[i])
		if ok != (x[i] != nil) {
			t.Errorf("s=%v: %v, %v", *s[i], got, ok)
		} else if ok {
			v.check(t, "knee", got, *x[i])
		}
	}
}

// list reads one number or null, or a list of them.
func list(t *testing.T, b json.RawMessage) []*float64 {
	t.Helper()
	var many []*float64
	if json.Unmarshal(b, &many) == nil && many != nil {
		return many
	}
	var one *float64
	if err := json.Unmarshal(b, &one); err != nil {
		t.Fatal(err)
	}
	return []*float64{one}
}

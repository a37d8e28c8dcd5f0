package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// compareTests are the vectors of two sides and of change points.
var compareTests = map[string]func(t *testing.T, v *vector){
	"cmp.mwu_hl": testShift, "cmp.mwu_ties": testTies, "cmp.mwu_minp": testMinP, "cmp.runs_welch_log": testWelch,
	"multi.": testAdjusted, "boot.block": testBlocks, "boot.ratio": testRatio,
	"mix.kitagawa": testKitagawa, "mix.simpson": testSimpson, "mix.quantile.": testReweight, "mix.prompt_pcts": testPromptMix,
	"cp.": testChangePoints,
}

func TestCompareVectors(t *testing.T) { runVectors(t, "testdata/compare.json", compareTests) }

type sides struct{ Before, After []float64 }

func testShift(t *testing.T, v *vector) {
	in, want := read[sides, struct {
		U, P, HL, Lo, Hi float64
		K                int
		Superiority      float64 `json:"prob_superiority"`
		Cliff            float64 `json:"cliffs_delta"`
	}](t, v)
	u, s := MannWhitney(in.Before, in.After), HodgesLehmann(in.Before, in.After, 0.95)
	v.check(t, "U", u.U, want.U)
	v.check(t, "p", u.P, want.P)
	v.check(t, "P(superior)", u.Superiority, want.Superiority)
	v.check(t, "Cliff's delta", 2*u.Superiority-1, want.Cliff)
	v.check(t, "shift", s.Value, want.HL)
	v.check(t, "low end", s.Lo, want.Lo)
	v.check(t, "high end", s.Hi, want.Hi)
	if s.K != want.K {
		t.Errorf("k = %d, want %d", s.K, want.K)
	}
}

func testTies(t *testing.T, v *vector) {
	in, want := read[sides, struct {
		U          float64
		Asymptotic float64 `json:"p_asymptotic"`
		Exact      float64 `json:"p_exact_permutation"`
	}](t, v)
	u := MannWhitney(in.Before, in.After)
	v.check(t, "U", u.U, want.U)
	v.check(t, "exact p", u.P, want.Exact)
	_, ties := midranks(in.Before, in.After)
	v.check(t, "approximate p", approximateP(u.U, float64(len(in.Before)), float64(len(in.After)), ties), want.Asymptotic)
}

func testMinP(t *testing.T, v *vector) {
	in, want := read[struct{ N []int }, struct{ P []float64 }](t, v)
	for i, n := range in.N {
		v.check(t, "least p", MinP(n, n), want.P[i])
	}
}

func testWelch(t *testing.T, v *vector) {
	in, want := read[sides, struct {
		Ratio, Lo, Hi, T, DF, P float64
		UP                      float64 `json:"mwu_p"`
	}](t, v)
	got, ok := WelchLog(in.Before, in.After, 0.95)
	if !ok {
		t.Fatal("no result")
	}
	v.check(t, "ratio", got.Ratio, want.Ratio)
	v.check(t, "low end", got.Lo, want.Lo)
	v.check(t, "high end", got.Hi, want.Hi)
	v.check(t, "t", got.T, want.T)
	v.check(t, "df", got.DF, want.DF)
	v.check(t, "p", got.P, want.P)
	v.check(t, "p of the U test", MannWhitney(in.Before, in.After).P, want.UP)
}

func testAdjusted(t *testing.T, v *vector) {
	in, want := read[struct{ P []float64 }, struct{ Holm, BH []float64 }](t, v)
	holm, bh := Holm(in.P), BenjaminiHochberg(in.P)
	for i := range in.P {
		v.check(t, "Holm", holm[i], want.Holm[i])
		v.check(t, "Benjamini-Hochberg", bh[i], want.BH[i])
	}
}

// testBlocks is a property: of an autoregressive series the blocks find about
// twice the standard error that independent draws do.
func testBlocks(t *testing.T, v *vector) {
	in, want := read[struct {
		Rho      float64
		N, Block int
	}, struct {
		Accept []float64 `json:"accept_mean_over_20_series"`
	}](t, v)
	rng := rand.New(rand.NewPCG(7, 7))
	sum := 0.0
	const series = 20
	for range series {
		x, y := make([]float64, in.N), 0.0
		for i := range x {
			y = in.Rho*y + rng.NormFloat64()
			x[i] = math.Exp(y / 10)
		}
		sum += spread(x, in.Block) / spread(x, 1)
	}
	if got := sum / series; got < want.Accept[0] || got > want.Accept[1] {
		t.Errorf("ratio of standard errors %.3f, want within %v", got, want.Accept)
	}
}

func spread(x []float64, block int) float64 {
	fixed := Series{Values: []float64{1}, Block: 1}
	b := BootstrapQuantiles(fixed, Series{x, block}, []float64{0.5}, 300, 0.95, 3)[0]
	return math.Log(b.Hi / b.Lo)
}

func testRatio(t *testing.T, v *vector) {
	in, want := read[sides, struct{ Ratio, Lo, Hi float64 }](t, v)
	got := BootstrapQuantiles(Series{in.Before, 1}, Series{in.After, 1}, []float64{0.95}, 10000, 0.95, 1)[0]
	v.check(t, "ratio", got.Ratio, want.Ratio)
	v.check(t, "low end", got.Lo, want.Lo)
	v.check(t, "high end", got.Hi, want.Hi)
}

type shares struct{ W0, W1, M0, M1 []float64 }

func testKitagawa(t *testing.T, v *vector) {
	in, want := read[shares, struct {
		Delta       float64
		MixTotal    float64   `json:"mix_total"`
		Within      []float64 `json:"within"`
		WithinTotal float64   `json:"within_total"`
		Centred     []float64 `json:"mix_centred"`
	}](t, v)
	s := Kitagawa(in.W0, in.W1, in.M0, in.M1)
	v.check(t, "total", s.Total, want.Delta)
	v.check(t, "mix", s.Mix, want.MixTotal)
	v.check(t, "within", s.Within, want.WithinTotal)
	for i := range in.W0 {
		v.check(t, "mix of a slice", s.ByMix[i], want.Centred[i])
		v.check(t, "within a slice", s.ByWithin[i], want.Within[i])
	}
}

func testSimpson(t *testing.T, v *vector) {
	in, want := read[shares, struct{ Mix, Within float64 }](t, v)
	s := Kitagawa(in.W0, in.W1, in.M0, in.M1)
	v.check(t, "mix", s.Mix, want.Mix)
	v.check(t, "within", s.Within, want.Within)
}

// promptMix is the workload of the reweighting vectors: prompts of three
// lengths and what they take.
func promptMix(counts [][2]int, slow float64) (prompts, y []float64) {
	for _, c := range counts {
		for range c[1] {
			i := len(y)
			prompts = append(prompts, float64(c[0]))
			y = append(y, 50+0.1*float64(c[0])+2*float64(i%7)+slow)
		}
	}
	return prompts, y
}

type mixInput struct {
	Before [][2]int `json:"before_cells_prompt_counts"`
	After  [][2]int `json:"after_cells_prompt_counts"`
	Slow   float64  `json:"slow_after"`
	P      float64
}

var pureMix = mixInput{Before: [][2]int{{500, 60}, {1000, 36}, {8000, 4}}, After: [][2]int{{500, 60}, {1000, 28}, {8000, 12}}}

func testReweight(t *testing.T, v *vector) {
	in, want := read[mixInput, struct {
		Before   float64 `json:"q_before"`
		After    float64 `json:"q_after"`
		Delta    float64
		AfterMix float64 `json:"cf_before_perf_after_mix"`
		OldMix   float64 `json:"cf_after_perf_before_mix"`
		Mix      float64 `json:"mix_shapley"`
		Within   float64 `json:"within_shapley"`
	}](t, v)
	_, before := promptMix(in.Before, 0)
	_, after := promptMix(in.After, in.Slow)
	var cells []MixCell
	for i, b, a := 0, 0, 0; i < len(in.Before); i++ {
		nb, na := in.Before[i][1], in.After[i][1]
		cells = append(cells, MixCell{Weighted{X: before[b : b+nb]}, Weighted{X: after[a : a+na]}})
		b, a = b+nb, a+na
	}
	s := ReweightQuantile(cells, in.P)
	v.check(t, "before", s.Before, want.Before)
	v.check(t, "after", s.After, want.After)
	v.check(t, "total", s.Total, want.Delta)
	v.check(t, "before's speed, after's mix", s.AfterMix, want.AfterMix)
	v.check(t, "after's speed, before's mix", s.BeforeMix, want.OldMix)
	v.check(t, "mix", s.Mix, want.Mix)
	v.check(t, "within", s.Within, want.Within)
	if s.Mix+s.Within != s.Total {
		t.Errorf("%v + %v is not %v", s.Mix, s.Within, s.Total)
	}
}

func testPromptMix(t *testing.T, v *vector) {
	_, want := read[struct{}, struct{ P50, P95, Mean []float64 }](t, v)
	for i, counts := range [][][2]int{pureMix.Before, pureMix.After} {
		x, _ := promptMix(counts, 0)
		mean, _ := Moments(x)
		slices.Sort(x)
		v.check(t, "p50", Quantile(x, 0.5), want.P50[i])
		v.check(t, "p95", Quantile(x, 0.95), want.P95[i])
		v.check(t, "mean", mean, want.Mean[i])
	}
}

func testChangePoints(t *testing.T, v *vector) {
	in, want := read[struct{ Y []float64 }, struct {
		Sigma   float64 `json:"sigma_mad_diff"`
		Penalty float64
		Points  []int `json:"changepoints_optpart"`
	}](t, v)
	sigma := NoiseOf(in.Y)
	v.check(t, "sigma", sigma, want.Sigma)
	v.check(t, "penalty", ChangePenalty(sigma, len(in.Y)), want.Penalty)
	if got := ChangePoints(in.Y, 2, want.Penalty); !slices.Equal(got, want.Points) {
		t.Errorf("change points %v, want %v", got, want.Points)
	}
}

func TestChangePointsOfNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	found := 0
	for range 100 {
		y := make([]float64, 100)
		for i := range y {
			y[i] = 100 + rng.NormFloat64()
		}
		found += len(ChangePoints(y, 5, ChangePenalty(NoiseOf(y), len(y))))
	}
	// The penalty allows a few; a hundred series with one each would mean that it
	// does nothing.
	if found > 25 {
		t.Errorf("%d change points in 100 series without any", found)
	}
}

func TestMannWhitneyOfItself(t *testing.T) {
	for n := range 8 {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i * i)
		}
		if u := MannWhitney(x, x); u.P != 1 {
			t.Errorf("n=%d: p = %v of a sample against itself", n, u.P)
		}
	}
	same := []float64{5, 5, 5, 5}
	if u := MannWhitney(same, same); u.P != 1 || u.Superiority != 0.5 {
		t.Errorf("equal values: %+v", u)
	}
}

func TestMannWhitneyApproachesExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	a, b := make([]float64, 25), make([]float64, 25)
	for i := range a {
		a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()+0.5
	}
	u := MannWhitney(a, b)
	if approx := approximateP(u.U, 25, 25, 0); !u.Exact || math.Abs(approx-u.P) > 0.005 {
		t.Errorf("exact %v, approximate %v", u.P, approx)
	}
}

func TestWelchLogWithoutVariation(t *testing.T) {
	if got, ok := WelchLog([]float64{2, 2}, []float64{2, 2}, 0.95); !ok || got.P != 1 || got.Lo != 1 || got.Hi != 1 {
		t.Errorf("no change: %+v", got)
	}
	if _, ok := WelchLog([]float64{2, 0}, []float64{2, 2}, 0.95); ok {
		t.Error("a value of 0 has no logarithm")
	}
	if _, ok := WelchLog([]float64{2}, []float64{2, 2}, 0.95); ok {
		t.Error("one run has no variation")
	}
}

// TestBootstrapQuantilesReadsCounts compares the walk over counts with sorting
// each draw.
func TestBootstrapQuantilesReadsCounts(t *testing.T) {
	x := []float64{5, 1, 4, 4, 9, 2, 7}
	r := newResampler(Series{x, 1})
	rng := rand.New(rand.NewPCG(9, 9))
	ps := []float64{0, 0.1, 0.25, 0.5, 0.9, 0.95, 1}
	for range 200 {
		clear(r.counts)
		var draw []float64
		for range x {
			i := rng.IntN(len(x))
			r.counts[r.rank[i]]++
			draw = append(draw, x[i])
		}
		slices.Sort(draw)
		got := make([]float64, len(ps))
		r.read(ps, got)
		for i, p := range ps {
			if want := Quantile(draw, p); got[i] != want {
				t.Fatalf("p%v of %v is %v, want %v", p, draw, got[i], want)
			}
		}
	}
}

func TestBootstrapOfItself(t *testing.T) {
	x := make([]float64, 500)
	rng := rand.New(rand.NewPCG(4, 4))
	for i := range x {
		x[i] = math.Exp(rng.NormFloat64())
	}
	for _, b := range BootstrapQuantiles(Series{x, 10}, Series{x, 10}, []float64{0.5, 0.95}, 1000, 0.95, 5) {
		if b.Ratio != 1 || b.Lo > 1 || b.Hi < 1 || b.P < 0.05 {
			t.Errorf("a sample against itself: %+v", b)
		}
	}
}

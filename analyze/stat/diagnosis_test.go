package stat

import (
	"math"
	"slices"
	"testing"
)

// diagnosisTests are the vectors of decompositions, correlations and scores.
var diagnosisTests = map[string]func(t *testing.T, v *vector){
	"diag.tail_decomp.": testTailBand, "diag.corr": testCorrelation,
	"diag.cooccur": testCoOccur, "diag.score": testScore,
}

func TestDiagnosisVectors(t *testing.T) { runVectors(t, "testdata/diagnosis.json", diagnosisTests) }

func testTailBand(t *testing.T, v *vector) {
	type parts struct{ Queue, Prefill, Other float64 }
	in, want := read[struct{ N, Period int }, struct {
		Band, Tail     parts
		BandN          int     `json:"band_n"`
		BandMean       float64 `json:"band_mean_ttft"`
		P95            float64 `json:"p95_type7"`
		Representative bool    `json:"band_representative"`
		TailN          int     `json:"tail_n"`
		TailMean       float64 `json:"tail_mean_ttft"`
		Naive          float64 `json:"naive_sum_of_component_p95"`
	}](t, v)
	queue, prefill, other, ttft := make([]float64, in.N), make([]float64, in.N), make([]float64, in.N), make([]float64, in.N)
	for i := range in.N {
		queue[i] = float64(10 + i%53)
		if i%in.Period == 0 {
			queue[i] = float64(800 + 6*(i%97))
		}
		prefill[i], other[i] = 60+0.25*float64((7919*i)%1000), 5
		ttft[i] = queue[i] + prefill[i] + other[i]
	}
	got, ok := TailBand(ttft, [][]float64{queue, prefill, other}, 0.95)
	if !ok {
		t.Fatal("no band")
	}
	v.check(t, "p95", got.P, want.P95)
	if got.BandN != want.BandN || got.Tail == want.Representative {
		t.Errorf("band of %d, representative %v; want %d, %v", got.BandN, !got.Tail, want.BandN, want.Representative)
	}
	mean, n, p := want.BandMean, want.BandN, want.Band
	if got.Tail {
		mean, n, p = want.TailMean, want.TailN, want.Tail
	}
	v.check(t, "mean", got.Mean, mean)
	v.check(t, "queue", got.Parts[0], p.Queue)
	v.check(t, "prefill", got.Parts[1], p.Prefill)
	v.check(t, "other", got.Parts[2], p.Other)
	if got.N != n {
		t.Errorf("%d requests, want %d", got.N, n)
	}
	v.check(t, "band's mean", got.P*(1+got.BandGap), max(want.BandMean, 2*want.P95-want.BandMean))
	naive := 0.0
	for _, x := range [][]float64{queue, prefill, other} {
		s := slices.Clone(x)
		slices.Sort(s)
		naive += Quantile(s, 0.95)
	}
	v.check(t, "sum of the parts' p95", naive, want.Naive)
}

func testCorrelation(t *testing.T, v *vector) {
	in, want := read[struct{ X, Y []float64 }, struct {
		Spearman, Pearson float64
		Kendall           float64 `json:"kendall_b"`
	}](t, v)
	tau, _ := Kendall(in.X, in.Y)
	v.check(t, "Spearman", Spearman(in.X, in.Y), want.Spearman)
	v.check(t, "Pearson", Pearson(in.X, in.Y), want.Pearson)
	v.check(t, "Kendall", tau, want.Kendall)
}

func testCoOccur(t *testing.T, v *vector) {
	in, want := read[struct {
		KV, Preempt []float64
		Thr         float64
	}, struct {
		Given  float64 `json:"p_given"`
		Base   float64 `json:"p_base"`
		Lift   float64
		Fisher float64 `json:"fisher_p"`
	}](t, v)
	a, b := make([]bool, len(in.KV)), make([]bool, len(in.KV))
	for i := range a {
		a[i], b[i] = in.KV[i] > in.Thr, in.Preempt[i] > 0
	}
	got := CoOccur(a, b)
	v.check(t, "given", got.Given, want.Given)
	v.check(t, "base", got.Base, want.Base)
	v.check(t, "lift", got.Lift, want.Lift)
	v.check(t, "p", got.P, want.Fisher)
}

func testScore(t *testing.T, v *vector) {
	type item struct {
		W, Lo, Hi float64
		V         *float64
	}
	in, want := read[struct{ Evidence, Counter []item }, struct {
		Strengths                        []*float64
		Support, Contra, Coverage, Score float64
	}](t, v)
	of := func(items []item) (out []Evidence) {
		for _, i := range items {
			e := Evidence{Weight: i.W, Value: math.NaN(), Lo: i.Lo, Hi: i.Hi}
			if i.V != nil {
				e.Value = *i.V
			}
			out = append(out, e)
		}
		return out
	}
	evidence := of(in.Evidence)
	for i, s := range want.Strengths {
		if got := evidence[i].Strength(); s == nil != math.IsNaN(got) {
			t.Errorf("strength %d is %v", i, got)
		} else if s != nil {
			v.check(t, "strength", got, *s)
		}
	}
	got := ScoreOf(evidence, of(in.Counter))
	v.check(t, "support", got.Support, want.Support)
	v.check(t, "contra", got.Contra, want.Contra)
	v.check(t, "coverage", got.Coverage, want.Coverage)
	v.check(t, "score", got.Score, want.Score)
}

package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// An interval from batch means holds the true mean, whether neighbours are alike or
// not. Of the last kind the usual one would miss it half the time.
func TestMeanVarianceCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	const trials, n = 400, 100
	for _, tc := range []struct{ keep, least float64 }{{0, 0.93}, {0.5, 0.88}, {0.8, 0.8}} {
		keep := tc.keep
		hit := 0
		for range trials {
			x, level := make([]float64, n), rng.NormFloat64()
			for i := range x {
				level = keep*level + math.Sqrt(1-keep*keep)*rng.NormFloat64()
				x[i] = level
			}
			v, df, ok := MeanVariance(x, 8)
			if !ok {
				t.Fatal("a hundred values are enough")
			}
			student := distuv.StudentsT{Sigma: 1, Nu: df}
			if math.Abs(Sum(x)/n) <= student.Quantile(0.975)*math.Sqrt(v) {
				hit++
			}
		}
		if share := float64(hit) / trials; share < tc.least {
			t.Errorf("neighbours correlated by %v: the interval holds the mean in %.1f %%", keep, share*100)
		}
	}
	if _, _, ok := MeanVariance([]float64{1, 2, 3}, 8); ok {
		t.Error("three values give an answer")
	}
}

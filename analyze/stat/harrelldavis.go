package stat

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// HarrellDavis returns the Harrell-Davis estimate of the quantile at p (0…1) of
// ascending values: all order statistics weighted by a beta distribution,
//
//	Σ x_i · (I_{i/n}(a,b) − I_{(i−1)/n}(a,b)), a = p(n+1), b = (1−p)(n+1)
//
// It varies less than type 7 between p50 and p90, and is dragged along by the
// maximum in the tail of a small sample: never judge an objective by it. It is
// NaN for no values and outside 0 < p < 1.
//
// Source: Harrell and Davis, A new distribution-free quantile estimator (1982).
func HarrellDavis(sorted []float64, p float64) float64 {
	n := float64(len(sorted))
	if n == 0 || !(p > 0 && p < 1) {
		return math.NaN()
	}
	a, b := p*(n+1), (1-p)*(n+1)
	var sum compensated
	before := 0.0
	for i, x := range sorted {
		upTo := 1.0
		if i < len(sorted)-1 {
			upTo = mathext.RegIncBeta(a, b, float64(i+1)/n)
		}
		if w := upTo - before; w > 0 {
			sum.add(w * x)
		}
		before = upTo
	}
	return sum.value()
}

package stat

import (
	"math"
	"sort"
)

// Quantile returns the type 7 quantile at p (0…1) of ascending values: linear
// interpolation between order statistics, the default of numpy and R. It is NaN
// for no values. Values may be infinite (a failed request as +Inf): an
// infinite neighbour of weight zero does not matter.
//
// Source: Hyndman and Fan, Sample Quantiles in Statistical Packages (1996),
// definition 7.
func Quantile(sorted []float64, p float64) float64 {
	n := len(sorted)
	if n == 0 || math.IsNaN(p) {
		return math.NaN()
	}
	j, g := rank7(n, p)
	if g == 0 {
		return sorted[j]
	}
	return Between(sorted[j], sorted[j+1], g)
}

// Between interpolates two neighbouring order statistics lo ≤ hi, with a weight g of
// 0…1 for hi.
func Between(lo, hi, g float64) float64 {
	// Equal neighbours are their own interpolation: Inf-Inf would be NaN.
	if g == 0 || lo == hi || math.IsInf(lo, -1) {
		return lo
	}
	return lo + g*(hi-lo)
}

// rank7 returns the 0-based lower order statistic of the type 7 quantile and
// the weight of the next one. The weight is 0 at the last.
func rank7(n int, p float64) (j int, g float64) {
	h := float64(n-1) * min(max(p, 0), 1)
	j = int(h)
	if j >= n-1 {
		return n - 1, 0
	}
	return j, h - float64(j)
}

// WeightedQuantile returns the weighted type 1 quantile: the smallest value
// whose cumulated weight reaches p of the total. Values are ascending, weights
// not negative. It is NaN where there is no weight.
//
// Type 1 has no interpolation, so reweighted distributions stay comparable with
// each other to the last digit.
func WeightedQuantile(sorted, weights []float64, p float64) float64 {
	cum := make([]float64, len(sorted))
	var total compensated
	for i := range sorted {
		total.add(weights[i])
		cum[i] = total.value()
	}
	if len(sorted) == 0 || !(total.value() > 0) {
		return math.NaN()
	}
	// A share of the total that is a sum of weights on paper may miss it by a
	// rounding error.
	const eps = 1e-12
	want := (min(max(p, 0), 1) - eps) * total.value()
	i := sort.Search(len(cum), func(i int) bool { return cum[i] > 0 && cum[i] >= want })
	return sorted[min(i, len(sorted)-1)]
}

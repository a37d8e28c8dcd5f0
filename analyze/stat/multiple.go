package stat

import (
	"cmp"
	"slices"
)

// Holm adjusts p values so that the chance of a single false alarm among all of
// them keeps its level. It is for the few figures a gate decides on.
func Holm(p []float64) []float64 {
	out, m := make([]float64, len(p)), float64(len(p))
	worst := 0.0
	for i, k := range ascending(p) {
		worst = max(worst, min(1, (m-float64(i))*p[k]))
		out[k] = worst
	}
	return out
}

// BenjaminiHochberg adjusts p values so that of those called, the share of false
// alarms keeps its level. It is for exploring many slices.
func BenjaminiHochberg(p []float64) []float64 { return BenjaminiHochbergOf(p, float64(len(p))) }

// BenjaminiHochbergOf is BenjaminiHochberg of p values that are worth only so many
// independent tests.
func BenjaminiHochbergOf(p []float64, tests float64) []float64 {
	out, best := make([]float64, len(p)), 1.0
	for i, k := range slices.Backward(ascending(p)) {
		// No p gets smaller: the last of many that are one is as good as the first.
		best = min(best, max(1, tests/float64(i+1))*p[k])
		out[k] = best
	}
	return out
}

// ascending returns the indices of p from its smallest value to its largest.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	return order
}

package render

import "math"

// maxPoints bounds the points of one series in a chart.
const maxPoints = 1000

// downsample shortens values on a regular axis to at most limit points, and
// returns how many of the old steps one new step is. Each stretch keeps its
// smallest and its largest value in the order they came in: a spike of one
// step is what a reader looks for, and an average would hide it.
func downsample(values []float64, limit int) ([]float64, float64) {
	if len(values) <= limit || limit < 2 {
		return values, 1
	}
	k := (2*len(values) + limit - 1) / limit // steps a stretch
	k += k % 2
	var out []float64
	for i := 0; i < len(values); i += k {
		a, b := extremes(values[i:min(i+k, len(values))])
		out = append(out, a, b)
	}
	return out, float64(k) / 2
}

// extremes returns the smallest and the largest value, the earlier one first;
// NaN where there is none.
func extremes(values []float64) (float64, float64) {
	lo, hi := -1, -1
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		if lo < 0 || v < values[lo] {
			lo = i
		}
		if hi < 0 || v > values[hi] {
			hi = i
		}
	}
	if lo < 0 {
		return math.NaN(), math.NaN()
	}
	if lo < hi {
		return values[lo], values[hi]
	}
	return values[hi], values[lo]
}

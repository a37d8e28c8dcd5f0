package stat

import (
	"math"
	"slices"
)

// A Curve is the shape Kneedle is to expect.
type Curve uint8

// The shapes.
const (
	ConcaveIncreasing Curve = iota // throughput over concurrency
	ConcaveDecreasing
	ConvexIncreasing // latency over concurrency
	ConvexDecreasing
)

// Kneedle returns the x of the first knee (the offline answer), or false where
// there is none. x ascends; s is the sensitivity, 1 by default. Axes stay linear:
// on a logarithmic axis a hyperbola has its knee at its first point.
//
// Source: Satopää, Albrecht, Irwin and Raghavan, Finding a "Kneedle" in a
// Haystack (2011). Unlike the Python package kneed 0.8, x is mirrored together
// with y, which matters where x is not evenly spaced (arvkevi/kneed#98).
func Kneedle(x, y []float64, c Curve, s float64) (float64, bool) {
	n := len(x)
	if n < 3 || len(y) != n {
		return 0, false
	}
	xs, ys, mirrored, ok := concave(x, y, c)
	if !ok {
		return 0, false
	}
	d := make([]float64, n)
	for i := range d {
		d[i] = ys[i] - xs[i]
	}
	step := s * (xs[n-1] - xs[0]) / float64(n-1) // s · mean |Δx|
	active, at, limit := false, 0, 0.0
	for i := 0; i < n-1; i++ {
		before := d[max(i-1, 0)]
		if d[i] >= before && d[i] >= d[i+1] {
			active, at, limit = true, i, d[i]-step
		}
		if d[i] <= before && d[i] <= d[i+1] {
			active = false
		}
		if active && d[i+1] < limit {
			if mirrored {
				at = n - 1 - at
			}
			return x[at], true
		}
	}
	return 0, false
}

// concave maps a curve onto the unit square as a concave increasing one;
// mirrored says that its points are in reverse order.
func concave(x, y []float64, c Curve) (xs, ys []float64, mirrored, ok bool) {
	xs, okX := unit(x)
	ys, okY := unit(y)
	if !okX || !okY {
		return nil, nil, false, false
	}
	if c == ConvexIncreasing || c == ConcaveDecreasing {
		mirrored = true
		slices.Reverse(xs)
		slices.Reverse(ys)
		flip(xs)
	}
	if c == ConvexIncreasing || c == ConvexDecreasing {
		flip(ys)
	}
	return xs, ys, mirrored, true
}

// unit scales values to 0…1.
func unit(v []float64) ([]float64, bool) {
	lo, hi := slices.Min(v), slices.Max(v)
	if !(hi > lo) || math.IsInf(hi-lo, 0) {
		return nil, false
	}
	out := make([]float64, len(v))
	for i := range v {
		out[i] = (v[i] - lo) / (hi - lo)
	}
	return out, true
}

func flip(v []float64) {
	for i := range v {
		v[i] = 1 - v[i]
	}
}

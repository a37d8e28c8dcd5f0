package stat

import "math"

// A Hinge is a line that changes its slope once: y = b0 + b1·x + b2·(x−t)+.
type Hinge struct {
	T        float64
	DeltaBIC float64 // how much it beats one straight line
}

// minHingeLevels is how many levels the evidence for a hinge needs: with fewer,
// four parameters explain anything.
const minHingeLevels = 7

// FitHinge finds where latency over load, or time per token over users, turns
// up: the break that leaves the smallest squared error. It is exact: between two
// levels the lines of both sides meet, or the break is a level. x ascends; false
// with fewer than four levels.
//
// Source: Muggeo, Estimating Regression Models with Unknown Break-Points (2003),
// by enumeration.
func FitHinge(x, y []float64) (Hinge, bool) {
	if len(x) < 4 {
		return Hinge{}, false
	}
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	line, ok := leastSquares([][]float64{ones, x}, y)
	if !ok {
		return Hinge{}, false
	}
	best, t := math.Inf(1), math.NaN()
	try := func(at, sse float64) {
		if sse < best {
			best, t = sse, at
		}
	}
	for i := 2; i <= len(x)-2; i++ {
		l, okL := leastSquares([][]float64{ones[:i], x[:i]}, y[:i])
		r, okR := leastSquares([][]float64{ones[i:], x[i:]}, y[i:])
		if !okL || !okR || l.c[1] == r.c[1] {
			continue
		}
		if at := (r.c[0] - l.c[0]) / (l.c[1] - r.c[1]); at >= x[i-1]*(1-1e-12) && at <= x[i]*(1+1e-12) {
			try(at, l.sse+r.sse)
		}
	}
	for i := 1; i < len(x)-1; i++ {
		up := make([]float64, len(x))
		for j := range x {
			up[j] = max(0, x[j]-x[i])
		}
		if f, ok := leastSquares([][]float64{ones, x, up}, y); ok {
			try(x[i], f.sse)
		}
	}
	if math.IsNaN(t) {
		return Hinge{}, false
	}
	// Of a straight line every break is as good: what rounding prefers is none.
	scale := 0.0
	for _, v := range y {
		scale += v * v
	}
	if line.sse <= 1e-20*scale {
		return Hinge{T: t}, true
	}
	return Hinge{T: t, DeltaBIC: deltaBIC(line.sse/scale, best/scale, len(x), 2)}, true
}

// Sure reports whether the break can be told from a straight line with n levels.
func (h Hinge) Sure(n int) bool { return n >= minHingeLevels && h.DeltaBIC > strongEvidence }

package stat

import "math"

// MinChord is the distance from the chord, on the unit square, from which a bend
// stands out: every curve has a farthest point (judgement).
const MinChord = 0.1

// Chord returns the x that is farthest from the straight line between the curve's
// ends, on the unit square, and its distance; ok is false where the curve is flat. It
// always answers: a distance below MinChord is no knee.
func Chord(x, y []float64, c Curve) (at, distance float64, ok bool) {
	if len(x) < 3 || len(y) != len(x) {
		return 0, 0, false
	}
	xs, ys, mirrored, ok := concave(x, y, c)
	if !ok {
		return 0, 0, false
	}
	best := 0
	for i := range xs {
		if ys[i]-xs[i] > ys[best]-xs[best] {
			best = i
		}
	}
	distance = (ys[best] - xs[best]) / math.Sqrt2
	if mirrored {
		best = len(x) - 1 - best
	}
	return x[best], distance, true
}

// LMethod returns the x at which two straight lines, one through the points up to it
// and one through those behind it, leave the smallest weighted root mean square error.
// It is false with fewer than four points.
//
// Source: Salvador and Chan, Determining the Number of Clusters/Segments in
// Hierarchical Clustering/Segmentation Algorithms (2004).
func LMethod(x, y []float64) (float64, bool) {
	n := len(x)
	if n < 4 || len(y) != n {
		return 0, false
	}
	best, at := math.Inf(1), 0
	for c := 2; c <= n-2; c++ {
		l, okL := rmsOfLine(x[:c], y[:c])
		r, okR := rmsOfLine(x[c:], y[c:])
		if !okL || !okR {
			continue
		}
		if e := (float64(c)*l + float64(n-c)*r) / float64(n); e < best {
			best, at = e, c-1
		}
	}
	return x[at], !math.IsInf(best, 1)
}

// rmsOfLine is the root mean square error of the straight line through points.
func rmsOfLine(x, y []float64) (float64, bool) {
	ones := make([]float64, len(x))
	for i := range ones {
		ones[i] = 1
	}
	f, ok := leastSquares([][]float64{ones, x}, y)
	return math.Sqrt(f.sse / float64(len(x))), ok
}

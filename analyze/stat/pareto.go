package stat

import (
	"math"
	"slices"
)

// A Class is a point's relation to the frontier.
type Class string

// The classes. A point of class "" lacks an objective and was not compared.
const (
	Frontier  Class = "frontier"
	Tied      Class = "tied"      // dominated, but by no point clearly
	Dominated Class = "dominated" // some point is clearly better
)

// dominates reports whether a is nowhere worse than b and somewhere better.
// Equal points do not dominate each other. All objectives are minimized; negate
// those to maximize.
func dominates(a, b []float64) bool {
	better := false
	for k := range a {
		if a[k] > b[k] {
			return false
		}
		better = better || a[k] < b[k]
	}
	return better
}

// clearlyDominates is dominates beyond noise: a is within the relative tolerance
// of b everywhere, and better by more than it somewhere.
func clearlyDominates(a, b, eps []float64) bool {
	better := false
	for k := range a {
		if a[k] > b[k]+eps[k]*math.Abs(b[k]) {
			return false
		}
		better = better || a[k]+eps[k]*math.Abs(a[k]) < b[k]
	}
	return better
}

// Front returns the indices of the points that no other dominates, ascending;
// copies of a point are all kept. All objectives are minimized; negate those to
// maximize. Points with a NaN are left out.
func Front(points [][]float64) []int {
	if len(points) > 0 && len(points[0]) == 2 {
		return front2(points)
	}
	var out []int
	for i, p := range points {
		if complete(p) && !slices.ContainsFunc(points, func(q []float64) bool { return complete(q) && dominates(q, p) }) {
			out = append(out, i)
		}
	}
	return out
}

// front2 is Front for two objectives by one sweep over the points in order of
// the first: whoever improves the second is on the front.
func front2(points [][]float64) []int {
	var order []int
	for i, p := range points {
		if complete(p) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return slices.Compare(points[a], points[b]) })
	var out []int
	last := -1
	for _, i := range order {
		if last < 0 || points[i][1] < points[last][1] || slices.Equal(points[i], points[last]) {
			out = append(out, i)
			last = i
		}
	}
	slices.Sort(out)
	return out
}

func complete(p []float64) bool {
	return !slices.ContainsFunc(p, math.IsNaN)
}

// Dominance classifies points. eps is the relative tolerance of each objective,
// such as twice the coefficient of variation from run to run. All objectives are
// minimized; negate those to maximize.
//
// A clear domination is not transitive, so it only classifies. A point of the
// frontier may even be clearly dominated; it stays on the frontier.
func Dominance(points [][]float64, eps []float64) []Class {
	out := make([]Class, len(points))
	for i, p := range points {
		if !complete(p) {
			continue
		}
		out[i] = Frontier
		for _, q := range points {
			if !complete(q) || !dominates(q, p) {
				continue
			}
			out[i] = Tied
			break
		}
		if out[i] == Tied && slices.ContainsFunc(points, func(q []float64) bool { return complete(q) && clearlyDominates(q, p, eps) }) {
			out[i] = Dominated
		}
	}
	return out
}

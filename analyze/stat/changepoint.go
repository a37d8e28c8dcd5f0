package stat

import (
	"math"
	"slices"
)

// ChangePoints returns where the level of a series changes: the first index of
// each segment but the first. It is optimal partitioning: of all ways to cut the
// series into segments of at least minSegment values, the one with the smallest
// sum of squared distances from the segments' means plus penalty a cut. It is
// O(n²), for some hundred windows; there is no random choice and no p value.
//
// Source: Jackson et al., An Algorithm for Optimal Partitioning of Data on an
// Interval (2005).
func ChangePoints(y []float64, minSegment int, penalty float64) []int {
	n := len(y)
	minSegment = max(minSegment, 1)
	if n < 2*minSegment {
		return nil
	}
	cost := newSegmentCost(y)
	best := make([]float64, n+1) // of the first i values, a penalty for the first segment included
	last := make([]int, n+1)     // where its last segment starts
	for i := 1; i <= n; i++ {
		best[i] = math.Inf(1)
		for j := 0; j+minSegment <= i; j++ {
			if j > 0 && j < minSegment {
				continue
			}
			if c := best[j] + cost.of(j, i) + penalty; c < best[i] {
				best[i], last[i] = c, j
			}
		}
	}
	var cuts []int
	for i := last[n]; i > 0; i = last[i] {
		cuts = append(cuts, i)
	}
	slices.Reverse(cuts)
	return cuts
}

// segmentCost answers sums of squared distances from the mean in O(1). Values
// are taken from their median, so that large levels do not eat the digits.
type segmentCost struct{ sum, squares []float64 }

func newSegmentCost(y []float64) *segmentCost {
	s := slices.Clone(y)
	slices.Sort(s)
	mid := Quantile(s, 0.5)
	c := &segmentCost{make([]float64, len(y)+1), make([]float64, len(y)+1)}
	for i, v := range y {
		v -= mid
		c.sum[i+1] = c.sum[i] + v
		c.squares[i+1] = c.squares[i] + v*v
	}
	return c
}

func (c *segmentCost) of(from, to int) float64 {
	s := c.sum[to] - c.sum[from]
	return max(0, c.squares[to]-c.squares[from]-s*s/float64(to-from))
}

// NoiseOf estimates the standard deviation of a series around its level from the
// differences of neighbours: a change of the level hardly moves their median
// absolute deviation. Of a flat series it is 1 % of the median.
func NoiseOf(y []float64) float64 {
	if len(y) < 2 {
		return math.NaN()
	}
	d := make([]float64, len(y)-1)
	for i := range d {
		d[i] = y[i+1] - y[i]
	}
	// 1.4826 makes the MAD of normal values their standard deviation; a difference
	// of two has √2 times that of one.
	sigma := 1.4826 * mad(d) / math.Sqrt2
	if sigma == 0 {
		s := slices.Clone(y)
		slices.Sort(s)
		sigma = 0.01 * math.Abs(Quantile(s, 0.5))
	}
	return sigma
}

// ChangePenalty is the penalty of a cut: 3·σ²·ln n.
func ChangePenalty(sigma float64, n int) float64 {
	return 3 * sigma * sigma * math.Log(float64(n))
}

// mad is the median absolute distance from the median.
func mad(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	mid := Quantile(s, 0.5)
	for i, v := range s {
		s[i] = math.Abs(v - mid)
	}
	slices.Sort(s)
	return Quantile(s, 0.5)
}

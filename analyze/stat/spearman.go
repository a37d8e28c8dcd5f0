package stat

import (
	"cmp"
	"math"
	"slices"
)

// Spearman returns the rank correlation of two series of equal length: Pearson's
// of their ranks, equal values sharing the mean of theirs. It is NaN where one
// series is constant or there are fewer than 2 values.
//
// Source: Spearman, The Proof and Measurement of Association between Two Things
// (1904).
func Spearman(x, y []float64) float64 { return Pearson(averageRanks(x), averageRanks(y)) }

// Pearson returns the linear correlation of two series of equal length, NaN
// where one is constant or there are fewer than 2 values.
func Pearson(x, y []float64) float64 {
	n := float64(len(x))
	if n < 2 {
		return math.NaN()
	}
	mx, my := Sum(x)/n, Sum(y)/n
	var xy, xx, yy compensated
	for i := range x {
		xy.add((x[i] - mx) * (y[i] - my))
		xx.add((x[i] - mx) * (x[i] - mx))
		yy.add((y[i] - my) * (y[i] - my))
	}
	if !(xx.value() > 0) || !(yy.value() > 0) {
		return math.NaN()
	}
	return xy.value() / math.Sqrt(xx.value()*yy.value())
}

// averageRanks are the ranks of values, 1 for the smallest; equal values share
// the mean of theirs.
func averageRanks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	out := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j+1) / 2
		}
		i = j
	}
	return out
}

// A CoOccurrence tells whether windows in which one thing holds are those in
// which another does. It is a correlation, and no cause.
type CoOccurrence struct {
	Given float64 // P(B | A)
	Base  float64 // P(B)
	Lift  float64 // Given / Base
	P     float64 // Fisher's exact test, two-sided; nominal, as windows are autocorrelated
	N     int
}

// CoOccur counts windows in which A and B hold. The shares are NaN where A, or
// B, never does.
func CoOccur(a, b []bool) CoOccurrence {
	var both, onlyA, onlyB, none int
	for i := range a {
		switch {
		case a[i] && b[i]:
			both++
		case a[i]:
			onlyA++
		case b[i]:
			onlyB++
		default:
			none++
		}
	}
	c := CoOccurrence{N: len(a), P: FisherExact(both, onlyA, onlyB, none)}
	c.Given = float64(both) / float64(both+onlyA)
	c.Base = float64(both+onlyB) / float64(len(a))
	c.Lift = c.Given / c.Base
	return c
}

// FisherExact returns the two-sided p value of the table [[a b] [c d]]: the
// probability, under fixed margins, of all tables that are no likelier.
//
// Source: Fisher, Statistical Methods for Research Workers (1934), §21.02.
func FisherExact(a, b, c, d int) float64 {
	row, col, n := a+b, a+c, a+b+c+d
	p := func(k int) float64 {
		return math.Exp(lnChoose(col, k) + lnChoose(n-col, row-k) - lnChoose(n, row))
	}
	seen, sum := p(a), 0.0
	for k := max(0, row-(n-col)); k <= min(row, col); k++ {
		// Tables of equal probability differ by rounding only.
		if q := p(k); q <= seen*(1+1e-7) {
			sum += q
		}
	}
	return min(1, sum)
}

func lnChoose(n, k int) float64 {
	if k < 0 || k > n {
		return math.Inf(-1)
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

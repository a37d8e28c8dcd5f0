package stat

import "math"

// exactPairs is the largest n whose p value Kendall counts exactly; beyond it
// the normal distribution is close enough.
const exactPairs = 33

// Kendall returns the rank correlation τ-b of two series of equal length, and
// the two-sided p value of no association: exact without ties up to 33 values,
// else by the normal distribution with the variance corrected for ties. Both
// are NaN where one series is constant or there are fewer than 2 values.
//
// Source: Kendall, Rank Correlation Methods (1970); the choice of method is that
// of scipy.stats.kendalltau.
func Kendall(x, y []float64) (tau, p float64) {
	n := len(x)
	score, concordant, untiedX, untiedY := 0, 0, 0, 0
	for i := range n {
		for j := range i {
			a, b := sign(x[i]-x[j]), sign(y[i]-y[j])
			score += a * b
			if a*b > 0 {
				concordant++
			}
			untiedX += a * a
			untiedY += b * b
		}
	}
	if untiedX == 0 || untiedY == 0 {
		return math.NaN(), math.NaN()
	}
	tau = float64(score) / math.Sqrt(float64(untiedX)) / math.Sqrt(float64(untiedY))
	pairs := n * (n - 1) / 2
	if untiedX == pairs && untiedY == pairs && n <= exactPairs {
		return tau, kendallExact(n, min(concordant, pairs-concordant))
	}
	return tau, kendallNormal(x, y, float64(score))
}

func sign(v float64) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// kendallExact is the share of the orders of n values that have at most c
// inversions, on both sides.
func kendallExact(n, c int) float64 {
	if 2*c == n*(n-1)/2 {
		return 1
	}
	ways := make([]float64, c+1) // orders of k values with exactly i inversions, as a share of all
	ways[0] = 1
	for k := 2; k <= n; k++ {
		next := make([]float64, c+1)
		for i := range next {
			for j := max(0, i-k+1); j <= i; j++ {
				next[i] += ways[j] / float64(k)
			}
		}
		ways = next
	}
	sum := 0.0
	for _, w := range ways {
		sum += w
	}
	return min(1, 2*sum)
}

func kendallNormal(x, y []float64, score float64) float64 {
	n := float64(len(x))
	x0, x1, x2 := tieTerms(x)
	y0, y1, y2 := tieTerms(y)
	m := n * (n - 1)
	variance := (m*(2*n+5)-x2-y2)/18 + 2*x0*y0/m
	if n > 2 {
		variance += x1 * y1 / (9 * m * (n - 2))
	}
	if variance <= 0 {
		return math.NaN()
	}
	return math.Erfc(math.Abs(score) / math.Sqrt(2*variance))
}

// tieTerms sums, over groups of k equal values, k(k−1)/2, k(k−1)(k−2) and
// k(k−1)(2k+5).
func tieTerms(v []float64) (pairs, triples, weighted float64) {
	for _, k := range ties(v) {
		pairs += k * (k - 1) / 2
		triples += k * (k - 1) * (k - 2)
		weighted += k * (k - 1) * (2*k + 5)
	}
	return pairs, triples, weighted
}

package stat

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A UTest is the outcome of the Mann-Whitney U test of two samples.
type UTest struct {
	U           float64 // pairs with after > before, a tie counts half
	P           float64 // two-sided
	Superiority float64 // U / (m·n): how likely a value of after is above one of before
	Exact       bool    // P is from all permutations; else from the normal approximation
}

// maxExact is the number of values up to which the U test goes through all
// permutations. Above it the approximation is good to three digits.
const maxExact = 50

// MannWhitney tests whether values of after tend to be larger or smaller than
// those of before. Ties are exact, too: the permutation distribution is that of
// the midranks as they are, and the p value the share of permutations at least
// as far from the middle on either side. With n runs a side no p is below
// 2/C(2n,n): 0.1 of three, 0.029 of four.
func MannWhitney(before, after []float64) UTest {
	m, n := len(before), len(after)
	if m == 0 || n == 0 {
		return UTest{U: math.NaN(), P: 1, Superiority: math.NaN()}
	}
	ranks, ties := midranks(before, after)
	sum := 0
	for _, r := range ranks[m:] {
		sum += r
	}
	t := UTest{U: float64(sum)/2 - float64(n*(n+1))/2, Exact: m+n <= maxExact}
	t.Superiority = t.U / float64(m*n)
	if t.Exact {
		t.P = permutationP(ranks, n, sum)
	} else {
		t.P = approximateP(t.U, float64(m), float64(n), ties)
	}
	return t
}

// midranks returns twice the rank of each value among all, before's first, and
// the sum of t³-t over groups of t equal values. Twice, so that ranks of ties are
// whole numbers.
func midranks(before, after []float64) (ranks []int, ties float64) {
	all := slices.Concat(before, after)
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a], all[b]) })
	ranks = make([]int, len(all))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && all[order[j]] == all[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = i + 1 + j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// permutationP is the share of all choices of n ranks whose sum is at least as
// far from the middle as the one seen.
func permutationP(ranks []int, n, sum int) float64 {
	counts := subsetSums(ranks, n)
	total := 0
	for _, r := range ranks {
		total += r
	}
	// The mean of the sum is total·n/N; compared without fractions.
	far := func(s int) int {
		d := s*len(ranks) - total*n
		return max(d, -d)
	}
	seen, all, hit := far(sum), 0.0, 0.0
	for s, c := range counts {
		all += c
		if far(s) >= seen {
			hit += c
		}
	}
	return min(1, hit/all)
}

// subsetSums counts the subsets of n ranks by their sum. Counts stay below
// C(50,25), which a float64 holds exactly.
func subsetSums(ranks []int, n int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(i+1, n); k >= 1; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	return ways[n]
}

// approximateP is the normal approximation with corrections for ties and
// continuity.
func approximateP(u, m, n, ties float64) float64 {
	all := m + n
	variance := m * n / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 1
	}
	z := (math.Abs(u-m*n/2) - 0.5) / math.Sqrt(variance)
	return min(1, 2*distuv.UnitNormal.Survival(z))
}

// MinP is the smallest two-sided p that the U test of m against n runs can give.
func MinP(m, n int) float64 {
	c := 1.0
	for i := 1; i <= m; i++ {
		c = c * float64(n+i) / float64(i)
	}
	return min(1, 2/c)
}

// A Shift is the Hodges-Lehmann estimate of how much larger after's values are.
type Shift struct {
	Value, Lo, Hi float64
	K             int // the interval ends at the K-th smallest and largest difference
}

// HodgesLehmann is the median of all differences after - before, with the
// interval that belongs to the U test: no distribution is assumed. With too few
// values for the confidence the interval is from the smallest to the largest
// difference.
func HodgesLehmann(before, after []float64, conf float64) Shift {
	m, n := len(before), len(after)
	d := make([]float64, 0, m*n)
	for _, a := range before {
		for _, b := range after {
			d = append(d, b-a)
		}
	}
	slices.Sort(d)
	k := max(1, uQuantile((1-conf)/2, m, n))
	return Shift{Value: Quantile(d, 0.5), Lo: d[k-1], Hi: d[len(d)-k], K: k}
}

// uQuantile is the smallest u with P(U ≤ u) ≥ p of two samples without ties: the
// normal approximation for many, all permutations for few.
func uQuantile(p float64, m, n int) int {
	if m+n > maxExact {
		sd := math.Sqrt(float64(m*n*(m+n+1)) / 12)
		return max(0, int(math.Ceil(float64(m*n)/2-0.5+sd*distuv.UnitNormal.Quantile(p))))
	}
	ranks := make([]int, m+n)
	for i := range ranks {
		ranks[i] = i + 1
	}
	counts := subsetSums(ranks, n)
	all := 0.0
	for _, c := range counts {
		all += c
	}
	sum, least := 0.0, n*(n+1)/2
	for s := least; s < len(counts); s++ {
		if sum += counts[s]; sum >= p*all {
			return s - least
		}
	}
	return m * n
}

package stat

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Ranks is the order-statistic interval of a quantile: from the Lo-th to the
// Hi-th smallest of N values, 1-based. Lo is 0 where the interval has no lower
// end and Hi is N+1 where it has no upper end: n is too small.
type Ranks struct {
	N, Lo, Hi int64
	Coverage  float64 // at least the confidence asked for
}

// HasLo reports whether the interval has a lower end.
func (r Ranks) HasLo() bool { return r.Lo >= 1 }

// HasHi reports whether the interval has an upper end.
func (r Ranks) HasHi() bool { return r.Hi <= r.N }

// QuantileRanks returns the equal-tailed order-statistic interval of the
// quantile at p (0…1) of n independent values, at confidence conf (0…1). It
// assumes no distribution. With F the distribution function of
// Binomial(n, p) and a = 1-conf
//
//	Lo = 1 + max{k: F(k) <= a/2}, Hi = 1 + min{k: F(k) >= 1-a/2}
//
// Source: David and Nagaraja, Order Statistics (2003), 7.1.
func QuantileRanks(n int64, p, conf float64) Ranks {
	r := Ranks{N: n, Lo: 0, Hi: n + 1, Coverage: 1}
	if n <= 0 || !(p > 0 && p < 1) || !(conf > 0 && conf < 1) {
		return r
	}
	if sd := math.Sqrt(float64(n) * p * (1 - p)); sd >= normalSD {
		return normalRanks(n, p, conf, sd)
	}
	a := 1 - conf
	b := distuv.Binomial{N: float64(n), P: p}
	cdf := func(k int64) float64 { return b.CDF(float64(k)) }
	from, to := bracket(n, p)
	guess := normalRanks(n, p, conf, math.Sqrt(float64(n)*p*(1-p)))
	r.Lo = firstFrom(guess.Lo, from, to, func(k int64) bool { return cdf(k) > a/2 })
	r.Hi = 1 + firstFrom(guess.Hi-1, from, to, func(k int64) bool { return cdf(k) >= 1-a/2 })
	r.Coverage = cdf(r.Hi-1) - cdf(r.Lo-1)
	return r
}

// firstFrom returns the first k in from ≤ k < to for which reached holds, else
// to. It looks around the guess first: a step of an incomplete beta function is
// dear, and the guess is hardly ever off by more than one.
func firstFrom(guess, from, to int64, reached func(k int64) bool) int64 {
	guess = min(max(guess, from), to)
	lo, hi := guess, guess
	for step := int64(1); hi < to && !reached(hi); step *= 2 {
		lo, hi = hi+1, min(hi+step, to)
	}
	for step := int64(1); lo == guess && lo > from && reached(lo-1); step *= 2 {
		hi, guess = lo-1, max(lo-1-step, from)
		lo = guess
	}
	return lo + int64(sort.Search(int(hi-lo), func(i int) bool { return reached(lo + int64(i)) }))
}

// bracket returns counts far outside what Binomial(n, p) reaches with any
// probability that matters: mean ± (10 sd + 40), cut to 0…n. Forty is for small
// means, where the tail is Poisson's.
func bracket(n int64, p float64) (from, to int64) {
	mean := float64(n) * p
	w := 10*math.Sqrt(mean*(1-p)) + 40
	return int64(max(mean-w, 0)), min(int64(mean+w), n)
}

// normalSD is the standard deviation of a binomial count from which its normal
// expansion is right to less than a thousandth of a rank. gonum's incomplete
// beta function is not: from n = 1e8 on its continued fraction ends before it
// has converged (CDF(n/2) of Binomial(1e9, ½) comes out as -0.56).
const normalSD = 1000

// normalRanks is QuantileRanks by the Cornish-Fisher expansion with its
// skewness and kurtosis terms and a continuity correction.
//
// Source: Johnson, Kemp and Kotz, Univariate Discrete Distributions (2005), 3.6.
func normalRanks(n int64, p, conf, sd float64) Ranks {
	mean := float64(n) * p
	at := func(prob float64) float64 {
		z := distuv.UnitNormal.Quantile(prob)
		skew, kurt := (1-2*p)/sd, (1-6*p*(1-p))/(sd*sd)
		z += skew*(z*z-1)/6 + kurt*(z*z*z-3*z)/24 - skew*skew*(2*z*z*z-5*z)/36
		return mean + z*sd - 0.5
	}
	cdf := func(k int64) float64 { return distuv.UnitNormal.CDF((float64(k) + 0.5 - mean) / sd) }
	a := 1 - conf
	r := Ranks{N: n, Lo: 1 + int64(math.Floor(at(a/2))), Hi: 1 + int64(math.Ceil(at(1-a/2)))}
	r.Coverage = cdf(r.Hi-1) - cdf(r.Lo-1)
	return r
}

// MinN returns the smallest n for which the equal-tailed interval of the
// quantile at p has both ends: p^n <= a/2 and (1-p)^n <= a/2. 72 values for p95,
// 368 for p99 at 95 %.
func MinN(p, conf float64) int64 {
	q := max(p, 1-p)
	return powersBelow(q, (1-conf)/2)
}

// MinNOneSided returns the smallest n for which a one-sided interval of the
// quantile at p has an upper end: p^n <= a.
func MinNOneSided(p, conf float64) int64 { return powersBelow(p, 1-conf) }

// slack keeps a limit like 1-0.95, which is not 0.05 in binary, from moving an
// answer by one.
const slack = 1e-9

// powersBelow returns the smallest n >= 1 with q^n <= a.
func powersBelow(q, a float64) int64 {
	if !(q < 1) || !(a > 0) {
		return math.MaxInt64
	}
	if q <= 0 {
		return 1
	}
	n := max(int64(math.Log(a)/math.Log(q))-1, 1)
	for math.Pow(q, float64(n)) > a*(1+slack) {
		n++
	}
	return n
}

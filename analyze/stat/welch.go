package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// A RatioTest compares two samples of positive values by the ratio of their
// geometric means.
type RatioTest struct {
	Ratio, Lo, Hi float64 // after / before with its interval
	T, DF, P      float64 // of Welch's t on the logarithms; P is two-sided
}

// WelchLog is Welch's t test on logarithms. It is for few runs a side, where a
// rank test has no power: it takes the logarithms of run-level figures to be
// normal, which run-to-run variation of latencies and rates nearly is. It wants
// two values a side, all above 0; ok is false otherwise.
func WelchLog(before, after []float64, conf float64) (t RatioTest, ok bool) {
	m0, v0, ok0 := logMoments(before)
	m1, v1, ok1 := logMoments(after)
	if !ok0 || !ok1 {
		return RatioTest{}, false
	}
	n0, n1 := float64(len(before)), float64(len(after))
	d, se2 := m1-m0, v0/n0+v1/n1
	t.Ratio = math.Exp(d)
	if se2 == 0 {
		// No variation at all: whatever differs is beyond it.
		t.Lo, t.Hi, t.DF = t.Ratio, t.Ratio, n0+n1-2
		if d == 0 {
			t.P = 1
		} else {
			t.T = math.Copysign(math.Inf(1), d)
		}
		return t, true
	}
	t.DF = se2 * se2 / (v0*v0/(n0*n0*(n0-1)) + v1*v1/(n1*n1*(n1-1)))
	t.T = d / math.Sqrt(se2)
	student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: t.DF}
	t.P = 2 * student.Survival(math.Abs(t.T))
	half := student.Quantile((1+conf)/2) * math.Sqrt(se2)
	t.Lo, t.Hi = math.Exp(d-half), math.Exp(d+half)
	return t, true
}

// logMoments are the mean and the sample variance of the logarithms.
func logMoments(x []float64) (mean, variance float64, ok bool) {
	if len(x) < 2 {
		return 0, 0, false
	}
	for _, v := range x {
		if !(v > 0) || math.IsInf(v, 1) {
			return 0, 0, false
		}
		mean += math.Log(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		d := math.Log(v) - mean
		variance += d * d
	}
	return mean, variance / float64(len(x)-1), true
}

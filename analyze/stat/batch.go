package stat

import "gonum.org/v1/gonum/stat/distuv"

// MeanVariance is the variance of the mean of a series whose neighbours may be
// alike, by batch means: batches of 1, 2, 4, … neighbours, as long as there are at
// least so many of them, and the largest answer. It is inflated by how little a few
// batches know of their own variance, so that a normal interval of 95 % with it
// is as wide as Student's. Where neighbours stay alike for a good part of the largest
// batch it is still too small. ok is false of fewer values than batches are wanted.
//
// Source: Law and Kelton, Simulation Modeling and Analysis, on batch means.
func MeanVariance(x []float64, batches int) (v float64, ok bool) {
	for size := 1; len(x)/size >= batches; size *= 2 {
		var means []float64
		for at := 0; at+size <= len(x); at += size {
			means = append(means, Sum(x[at:at+size])/float64(size))
		}
		_, sd := Moments(means)
		n := float64(len(means))
		t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(0.975) / distuv.UnitNormal.Quantile(0.975)
		v, ok = max(v, t*t*sd*sd/(n-1)), true
	}
	return v, ok
}

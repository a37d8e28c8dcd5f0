package stat

import "math"

// MeanVariance is the variance of the mean of a series whose neighbours may be
// alike, by batch means: batches of 1, 2, 4, … neighbours, as long as there are at
// least so many of them. Where the answer grows with the batches it has not yet
// seen all of what neighbours share, and is carried on by its last growth. The largest
// answer counts; df is its degrees of freedom, one less than its batches. Where
// neighbours stay alike for a good part of the largest batch it is still too
// small. ok is false of fewer values than batches are wanted.
//
// Sources: Law and Kelton, Simulation Modeling and Analysis, on batch means; Vats
// and Flegal, Lugsail lag windows for estimating time-average covariance matrices (2022).
func MeanVariance(x []float64, batches int) (v, df float64, ok bool) {
	last := math.Inf(1) // nothing to grow from
	for size := 1; len(x)/size >= batches; size *= 2 {
		var means []float64
		for at := 0; at+size <= len(x); at += size {
			means = append(means, Sum(x[at:at+size])/float64(size))
		}
		_, sd := Moments(means)
		n := float64(len(means))
		raw := sd * sd / (n - 1)
		if u := max(raw, 2*raw-last); u >= v {
			v, df, ok = u, n-1, true
		}
		last = raw
	}
	return v, df, ok
}

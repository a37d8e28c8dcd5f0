package stat

import "math"

// ACF returns the sample autocorrelation of a series at a lag:
// Σ (y_t-m)(y_{t+lag}-m) / Σ (y_t-m)². It is NaN for a constant series.
//
// Source: Box and Jenkins, Time Series Analysis, 2.1.5.
func ACF(y []float64, lag int) float64 {
	if lag < 0 || lag >= len(y) {
		return math.NaN()
	}
	m := Sum(y) / float64(len(y))
	var num, den compensated
	for t, v := range y {
		den.add((v - m) * (v - m))
		if t+lag < len(y) {
			num.add((v - m) * (y[t+lag] - m))
		}
	}
	if !(den.value() > 0) {
		return math.NaN()
	}
	return num.value() / den.value()
}

// IndicatorACF1 returns the lag-1 autocorrelation of the indicator {x > limit}
// of a series: whether values beyond the limit come together. It is NaN where
// all or none are.
//
// It is ACF(indicator, 1) worked out for zeros and ones, so that counting
// suffices.
func IndicatorACF1(x []float64, limit float64) float64 {
	n, above, pairs := len(x), 0, 0
	last := 0
	for _, v := range x {
		y := 0
		if v > limit {
			y = 1
		}
		above += y
		pairs += y & last
		last = y
	}
	if above == 0 || above == n {
		return math.NaN()
	}
	first := 0
	if x[0] > limit {
		first = 1
	}
	k, m := float64(above), float64(above)/float64(n)
	num := float64(pairs) - m*(2*k-float64(first)-float64(last)) + float64(n-1)*m*m
	return num / (k - k*m)
}

// EffectiveN returns the number of independent values that n values of lag-1
// autocorrelation r are worth: n(1-r)/(1+r). A negative r does not make it more
// than n.
//
// Source: Bayley and Hammersley, The "effective" number of independent
// observations in an autocorrelated time series (1946), for an AR(1) series.
func EffectiveN(n, r float64) float64 {
	if !(r > 0) {
		return n
	}
	return n * (1 - min(r, 1)) / (1 + min(r, 1))
}

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
func IndicatorACF1(x []float64, limit float64) float64 {
	d := Indicator{Limit: limit}
	for _, v := range x {
		d.Add(v)
	}
	return d.ACF1()
}

// An Indicator is the series {x > Limit} of values that come one by one.
type Indicator struct {
	Limit float64

	n, above, pairs int
	first, last     int
}

// Add adds the next value.
func (d *Indicator) Add(x float64) {
	y := 0
	if x > d.Limit {
		y = 1
	}
	if d.n == 0 {
		d.first = y
	}
	d.n++
	d.above += y
	d.pairs += y & d.last
	d.last = y
}

// ACF1 is what IndicatorACF1 says of the values so far: ACF(indicator, 1) worked
// out for zeros and ones, so that counting suffices.
func (d *Indicator) ACF1() float64 {
	if d.above == 0 || d.above == d.n {
		return math.NaN()
	}
	k, m := float64(d.above), float64(d.above)/float64(d.n)
	num := float64(d.pairs) - m*(2*k-float64(d.first)-float64(d.last)) + float64(d.n-1)*m*m
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

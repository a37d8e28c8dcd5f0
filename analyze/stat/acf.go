package stat

import "math"

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

// ACF1 is what IndicatorACF1 says of the values so far: the sample autocorrelation
// at a lag of 1, Σ (y_t-m)(y_{t+1}-m) / Σ (y_t-m)², worked out for zeros and ones, so
// that counting suffices.
//
// Source: Box and Jenkins, Time Series Analysis, 2.1.5.
func (d *Indicator) ACF1() float64 {
	if d.above == 0 || d.above == d.n {
		return math.NaN()
	}
	k, m := float64(d.above), float64(d.above)/float64(d.n)
	num := float64(d.pairs) - m*(2*k-float64(d.first)-float64(d.last)) + float64(d.n-1)*m*m
	return num / (k - k*m)
}

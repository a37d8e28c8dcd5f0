package stat

import "math"

// A compensated sum carries the rounding error of each addition along.
//
// Source: Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation
// endlicher Summen (1974).
type compensated struct{ sum, err float64 }

func (c *compensated) add(x float64) {
	t := c.sum + x
	if math.Abs(c.sum) >= math.Abs(x) {
		c.err += (c.sum - t) + x
	} else {
		c.err += (x - t) + c.sum
	}
	c.sum = t
}

func (c *compensated) value() float64 { return c.sum + c.err }

// Sum returns the compensated sum of the values.
func Sum(x []float64) float64 {
	var s compensated
	for _, v := range x {
		s.add(v)
	}
	return s.value()
}

// Moments returns the mean and the population standard deviation (ddof 0) of
// finite values, by two compensated passes. Both are NaN for no values. The same
// values in the same order give the same bits: sort first where the order is
// not fixed.
func Moments(x []float64) (mean, std float64) {
	if len(x) == 0 {
		return math.NaN(), math.NaN()
	}
	mean, std = moments(x, 1)
	if isFinite(mean) && isFinite(std) {
		return mean, std
	}
	// Values beyond 1e150 have squares that overflow: scale them down first.
	big := 0.0
	for _, v := range x {
		big = max(big, math.Abs(v))
	}
	if !isFinite(big) {
		return mean, math.NaN()
	}
	mean, std = moments(x, 1/big)
	return mean * big, std * big
}

// A Total is a compensated sum of values that come one by one.
type Total struct{ sum compensated }

// Add adds a value.
func (t *Total) Add(x float64) { t.sum.add(x) }

// Value returns the sum.
func (t *Total) Value() float64 { return t.sum.value() }

func isFinite(x float64) bool { return x-x == 0 }

func moments(x []float64, scale float64) (mean, std float64) {
	n := float64(len(x))
	var s, ss compensated
	for _, v := range x {
		s.add(v * scale)
	}
	mean = s.value() / n
	for _, v := range x {
		d := v*scale - mean
		ss.add(d * d)
	}
	return mean, math.Sqrt(max(ss.value(), 0) / n)
}

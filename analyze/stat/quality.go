package stat

import "math"

// A Quality says how far a quantile can be trusted.
type Quality string

// The qualities.
const (
	OK             Quality = "ok"
	Weak           Quality = "weak"           // few values in the tail, or a wide interval
	Unsupported    Quality = "unsupported"    // the interval has no end on one side
	Autocorrelated Quality = "autocorrelated" // values beyond it come together: fewer independent ones than it seems
)

// The limits of the labels are judgement, not theory.
const (
	fewInTail  = 10   // values beyond the quantile
	wide       = 0.25 // half width of the interval over the value
	correlated = 0.2  // lag-1 autocorrelation of {x > quantile}
)

// QuantileQuality labels the quantile at p of n values with its interval from lo
// to hi. bounded says that the interval has both ends; acf1 is the lag-1
// autocorrelation of {x > value} in order of arrival, 0 where it is not known.
//
// Where only a few values lie beyond the quantile the label is weak whatever
// acf1 is: an autocorrelation of so few tells nothing. For the same reason acf1
// has to exceed what independent values show by chance, 2/√n (Bartlett 1946).
func QuantileQuality(n int64, p, value, lo, hi float64, bounded bool, acf1 float64) Quality {
	m := float64(n)
	switch {
	case !bounded:
		return Unsupported
	case m*min(p, 1-p) < fewInTail-1e-9: // 1000·(1−0.99) is a little less than 10
		return Weak
	case acf1 > max(correlated, 2/math.Sqrt(m)):
		return Autocorrelated
	case (hi-lo)/2 > wide*math.Abs(value):
		return Weak
	}
	return OK
}

package stat

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Wilson returns the score interval of a share of k out of n at confidence conf
// (0…1). Of nothing it is everything: 0 to 1.
//
// Source: Wilson, Probable Inference, the Law of Succession, and Statistical
// Inference (1927).
func Wilson(k, n int64, conf float64) (lo, hi float64) {
	if n <= 0 {
		return 0, 1
	}
	z := distuv.UnitNormal.Quantile(1 - (1-conf)/2)
	m, p := float64(n), float64(k)/float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	lo, hi = max(mid-half, 0), min(mid+half, 1)
	// All and none are ends of the interval on paper; rounding must not take
	// that away from a gate that wants 100 %.
	if k <= 0 {
		lo = 0
	}
	if k >= n {
		hi = 1
	}
	return lo, hi
}

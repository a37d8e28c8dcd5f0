package stat

import (
	"math"
	"slices"
)

// A Trend is a straight line through a series, robust against outliers.
type Trend struct {
	Slope, Intercept float64
	Lo, Hi           float64 // 95 % interval of the slope
}

// TheilSen returns the median of the slopes of all pairs of points, with the
// line through the medians. The interval is Sen's, with ties. All are NaN where
// no two x differ.
//
// Source: Sen, Estimates of the Regression Coefficient Based on Kendall's Tau
// (1968); the rounding is that of scipy.stats.theilslopes.
func TheilSen(x, y []float64) Trend {
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) == 0 {
		nan := math.NaN()
		return Trend{nan, nan, nan, nan}
	}
	slices.Sort(slopes)
	t := Trend{Slope: Quantile(slopes, 0.5)}
	t.Intercept = median(y) - t.Slope*median(x)
	n, pairs := float64(len(y)), float64(len(slopes))
	_, _, wx := tieTerms(x)
	_, _, wy := tieTerms(y)
	sigma := math.Sqrt(max(0, (n*(n-1)*(2*n+5)-wx-wy)/18))
	half := 1.959963984540054 * sigma // the 97.5 % point of the normal distribution
	up := min(int(math.RoundToEven((pairs+half)/2)), len(slopes)-1)
	low := max(int(math.RoundToEven((pairs-half)/2))-1, 0)
	t.Lo, t.Hi = slopes[min(low, len(slopes)-1)], slopes[max(up, 0)]
	return t
}

func median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return Quantile(s, 0.5)
}

// ties returns the sizes of the groups of equal values.
func ties(v []float64) []float64 {
	s := slices.Sorted(slices.Values(v))
	var out []float64
	for i := 0; i < len(s); {
		j := i + 1
		for j < len(s) && s[j] == s[i] {
			j++
		}
		if j-i > 1 {
			out = append(out, float64(j-i))
		}
		i = j
	}
	return out
}

package verdict

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

func positive(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return !(v > 0) })
}

func logs(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Log(v)
	}
	return out
}

func meanLog(x []float64) float64 {
	m, _ := stat.Moments(logs(x))
	return m
}

// deviations are how far each logarithm is from their mean, divided by their
// number: what each run's noise does to the mean.
func deviations(x []float64) []float64 {
	out, mean := logs(x), meanLog(x)
	for i := range out {
		out[i] = (out[i] - mean) / float64(len(x))
	}
	return out
}

// standardError is of the difference of mean logarithms.
func standardError(b, a []float64) float64 {
	v := func(x []float64) float64 {
		_, s := stat.Moments(logs(x))
		n := float64(len(x))
		return s * s / (n - 1) // s is the population's
	}
	return math.Sqrt(v(b) + v(a))
}

func sortedCopy(x []float64) []float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return s
}

// quantile is the p of the figure's statistic.
func (f Figure) quantile() (float64, bool) { return serving.QuantileOf(f.Stat) }

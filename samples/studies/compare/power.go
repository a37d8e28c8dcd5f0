package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// powerText says before anything is simulated what three repeats can find.
func powerText() string {
	return fmt.Sprintf("Computed power of Welch's test on logarithms: %d repeats a side, runs that differ by %.0f %%, a ratio of %.2f: "+
		"%.1f %% alone at p < 0.05, %.1f %% as one of two independent tests, %.1f %% as one of five. Found four times in five: %+.1f %%.",
		repeats, noise*100, planted, 100*power(planted, 0.05), 100*power(planted, 0.05/2), 100*power(planted, 0.05/5), 100*(detectable(0.05)-1))
}

// power is the chance that the two-sided test of a side's repeats against the other's finds
// the ratio, in its direction, at level alpha: t with a shift, its variance integrated over.
func power(ratio, alpha float64) float64 {
	df := float64(2*repeats - 2)
	shift := math.Log(ratio) / (noise * math.Sqrt(2.0/repeats))
	critical := distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(1 - alpha/2)
	chi := distuv.ChiSquared{K: df}
	const steps = 4000
	sum := 0.0
	for i := range steps {
		s := math.Sqrt(chi.Quantile((float64(i)+0.5)/steps) / df)
		sum += distuv.UnitNormal.CDF(shift - critical*s)
	}
	return sum / steps
}

// detectable is the ratio that is found four times in five.
func detectable(alpha float64) float64 {
	lo, hi := 1.0, 2.0
	for range 30 {
		mid := (lo + hi) / 2
		if power(mid, alpha) < 0.8 {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

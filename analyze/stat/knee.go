package stat

import (
	"fmt"
	"math"
	"slices"
)

// A Confidence says how far a knee can be trusted.
type Confidence string

// The confidences.
const (
	High       Confidence = "high"
	Medium     Confidence = "medium"
	Low        Confidence = "low"
	NotReached Confidence = "not_reached" // the sweep ends before it, or has too few levels
)

// A Knee is a named knee of a sweep. N is NaN where it was not reached; Reason
// says what the confidence rests on.
type Knee struct {
	N          float64
	Confidence Confidence
	Reason     string
}

// Rules of what makes a knee and how it is graded (judgement).
const (
	minLevels    = 4
	stillRising  = 0.05 // gain of throughput over the level before
	mostlyStable = 0.8
	hardlyStable = 0.5
	agree        = 2.0 // factor between the methods
	disagree     = 4.0
)

// Saturation returns the saturation knee N* of a closed-loop sweep: users (or
// concurrency) n and throughput x, in any order, repeats of a level allowed.
//
//	N* = X_max · R(lowest n), R = n/x
//
// is where the asymptotes N/R and X_max of a closed system cross: the
// curve bends around it. With fewer than 4 levels, or the best throughput at
// the last level and more than 5 % above the one before, it is not reached.
//
// The confidence leaves one level out at a time: high where at least 80 % of the
// answers are within one level of the whole's and the power knee and Kneedle are
// within a factor 2 of it, low below 50 % or beyond a factor 4.
//
// Source: Denning and Buzen, The Operational Analysis of Queueing Network Models
// (1978); Kleinrock, Power and Deterministic Rules of Thumb (1979).
func Saturation(n, x []float64) Knee {
	n, x = levelsOf(n, x)
	if len(n) < minLevels {
		return Knee{math.NaN(), NotReached, fmt.Sprintf("%d load levels, and a knee takes at least %d", len(n), minLevels)}
	}
	last := len(n) - 1
	if gain := x[last]/slices.Max(x[:last]) - 1; gain > stillRising {
		return Knee{math.NaN(), NotReached, fmt.Sprintf("throughput still rises by %.0f %% at the last level, so the knee is at %.4g or above", 100*gain, n[last])}
	}
	full := saturation(n, x)
	stable := 0
	for i := range n {
		if math.Abs(position(n, saturation(without(n, i), without(x, i)))-position(n, full)) <= 1+1e-9 {
			stable++
		}
	}
	return grade(full, stable, n, x)
}

// grade says how far a knee is to be trusted, from how many answers without one
// level are close to it and from the other methods.
func grade(full float64, stable int, n, x []float64) Knee {
	power := PowerKnee(n, x)
	lo, hi := min(full, power), max(full, power)
	reason := fmt.Sprintf("%d of %d answers without one level are within one level of it; power knee %.4g", stable, len(n), power)
	if k, ok := Kneedle(n, x, ConcaveIncreasing, 1); ok {
		lo, hi = min(lo, k), max(hi, k)
		reason += fmt.Sprintf(", Kneedle %.4g", k)
	}
	share := float64(stable) / float64(len(n))
	c := Medium
	switch {
	case share < hardlyStable || hi > disagree*lo:
		c = Low
	case share >= mostlyStable && hi <= agree*lo:
		c = High
	}
	return Knee{full, c, reason}
}

func saturation(n, x []float64) float64 { return slices.Max(x) * n[0] / x[0] }

// PowerKnee returns the level of greatest power, throughput over residence time
// x/R = x²/n; the lowest of equals. n ascends.
//
// Source: Kleinrock, Power and Deterministic Rules of Thumb (1979).
func PowerKnee(n, x []float64) float64 {
	best := 0
	for i := range n {
		if x[i]*x[i]/n[i] > x[best]*x[best]/n[best] {
			best = i
		}
	}
	if len(n) == 0 {
		return math.NaN()
	}
	return n[best]
}

// levelsOf orders a sweep by load and takes the median of repeats. Points that
// are no positive numbers are left out.
func levelsOf(n, x []float64) (ns, xs []float64) {
	at := map[float64][]float64{}
	for i := range n {
		if n[i] > 0 && x[i] > 0 && isFinite(n[i]) && isFinite(x[i]) {
			at[n[i]] = append(at[n[i]], x[i])
		}
	}
	for l := range at {
		ns = append(ns, l)
	}
	slices.Sort(ns)
	for _, l := range ns {
		slices.Sort(at[l])
		xs = append(xs, Quantile(at[l], 0.5))
	}
	return ns, xs
}

func without(v []float64, i int) []float64 {
	return append(slices.Clone(v[:i]), v[i+1:]...)
}

// position returns where a load lies among the levels, counted in levels: 1.5 is
// halfway (in ratio, as levels are spaced) between the second and the third. It
// goes on beyond both ends.
func position(levels []float64, v float64) float64 {
	i, _ := slices.BinarySearch(levels, v)
	i = min(max(i, 1), len(levels)-1)
	lo, hi := levels[i-1], levels[i]
	return float64(i-1) + math.Log(v/lo)/math.Log(hi/lo)
}

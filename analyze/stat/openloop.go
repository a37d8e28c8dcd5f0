package stat

import "math"

// AchievedShare of the offered rate below which an open loop counts as
// saturated.
const AchievedShare = 0.95

// OpenSaturation returns the index of the first level, in order of offered rate,
// that achieved less than AchievedShare of what was offered, and that of the
// level before it; -1 where there is none.
func OpenSaturation(offered, achieved []float64) (first, last int) {
	for i := range offered {
		if achieved[i] < AchievedShare*offered[i] {
			return i, i - 1
		}
	}
	return -1, len(offered) - 1
}

// An OpenLine is a server seen as a single queue: 1/R falls with the rate on a
// straight line and is 0 at the capacity.
type OpenLine struct {
	R0       float64 // the time of a lone request, seconds
	Capacity float64 // the rate at which waiting has no end, μ
	R2       float64 // how much of the variation the line explains
}

// minOpenR2 is the share of variation below which the line says nothing.
const minOpenR2 = 0.9

// FitOpenLine fits 1/R = 1/R0 − λ/(R0·μ), R the time in the system at rate λ.
// False with fewer than three levels, or where the time does not rise.
//
// Source: Kleinrock, Queueing Systems I (1975): M/M/1.
func FitOpenLine(rate, latency []float64) (OpenLine, bool) {
	if len(rate) < 3 {
		return OpenLine{}, false
	}
	ones, inv := make([]float64, len(rate)), make([]float64, len(rate))
	mean := 0.0
	for i := range rate {
		ones[i], inv[i] = 1, 1/latency[i]
		mean += inv[i] / float64(len(rate))
	}
	f, ok := leastSquares([][]float64{ones, rate}, inv)
	if !ok || !(f.c[0] > 0) || !(f.c[1] < 0) {
		return OpenLine{}, false
	}
	total := 0.0
	for _, v := range inv {
		total += (v - mean) * (v - mean)
	}
	return OpenLine{R0: 1 / f.c[0], Capacity: -f.c[0] / f.c[1], R2: 1 - f.sse/total}, true
}

// Power is the rate of greatest throughput over time, half the capacity: there
// a request takes twice as long as alone.
func (l OpenLine) Power() float64 { return l.Capacity / 2 }

// Fits reports whether the levels lie on the line.
func (l OpenLine) Fits() bool { return l.R2 > minOpenR2 && !math.IsInf(l.Capacity, 0) }

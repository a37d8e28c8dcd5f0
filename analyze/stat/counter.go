package stat

import "math"

// IncreaseAcross returns by how much a counter rose from its first to its last value,
// and how often it began anew. A fall is a restart: the counter began again at
// zero, so the value after it is all increase (Prometheus' rule for counters,
// without its extrapolation to the ends of a window). NaN is a scrape without
// the counter and is bridged. With fewer than two values nothing can be said
// and the increase is NaN.
//
// restarted, which may be nil, reports that the process began anew between values[i]
// and the value before it. That matters after a long gap, when the new process may
// already have counted past the old one and nothing falls.
func IncreaseAcross(values []float64, restarted func(i int) bool) (inc float64, resets int) {
	last, seen, pending := math.NaN(), 0, false
	for i, v := range values {
		if restarted != nil && restarted(i) {
			pending = true // the value itself may be missing in this scrape
		}
		if math.IsNaN(v) {
			continue
		}
		if seen++; seen > 1 {
			if v < last || pending {
				inc += v
				resets++
			} else {
				inc += v - last
			}
		}
		last, pending = v, false
	}
	if seen < 2 {
		return math.NaN(), resets
	}
	return inc, resets
}

// SumIncrease returns by how much a histogram's sum of observations rose. A sum
// is no counter: a negative observation (vllm-project/vllm#49135) lowers it
// without a restart. So restarts are read off the histogram's count, which
// cannot fall otherwise, and off restarted, which may be nil. fell says that
// the sum went down while the count did not: its mean is not to be trusted.
func SumIncrease(sum, count []float64, restarted func(i int) bool) (inc float64, fell bool) {
	lastSum, lastCount, seen, pending := math.NaN(), math.NaN(), 0, false
	for i, v := range sum {
		if restarted != nil && restarted(i) {
			pending = true
		}
		if count[i] < lastCount {
			pending = true
		}
		if !math.IsNaN(count[i]) {
			lastCount = count[i]
		}
		if math.IsNaN(v) {
			continue
		}
		if seen++; seen > 1 {
			if pending {
				inc += v
			} else {
				inc += v - lastSum
				fell = fell || v < lastSum
			}
		}
		lastSum, pending = v, false
	}
	if seen < 2 {
		return math.NaN(), false
	}
	return inc, fell
}

package stat

import "math"

// A Crossing is where a latency that grows with the load passes a limit.
type Crossing struct {
	Pass, Fail int   // levels: the last one within the limit, the first one beyond; -1 for none
	Reentry    []int // levels beyond Fail that are within the limit again
}

// FirstCrossing returns the first passage from levels that keep a limit to one
// that does not; loads ascend. What keeps the limit again at a higher load is
// flagged, not counted: it is luck, or something else changed.
func FirstCrossing(within []bool) Crossing {
	c := Crossing{Pass: -1, Fail: -1}
	for i, ok := range within {
		switch {
		case c.Fail < 0 && ok:
			c.Pass = i
		case c.Fail < 0:
			c.Fail = i
		case ok:
			c.Reentry = append(c.Reentry, i)
		}
	}
	return c
}

// Interpolate returns the load between two levels at which a value is reached:
// linear in the load, and in the value or, for latencies, in its logarithm. NaN
// where the values are on one side of it or no numbers; nothing is extrapolated.
func Interpolate(x0, x1, y0, y1, limit float64, logarithmic bool) float64 {
	if logarithmic {
		y0, y1, limit = math.Log(y0), math.Log(y1), math.Log(limit)
	}
	f := (limit - y0) / (y1 - y0)
	if !(f >= 0 && f <= 1) {
		return math.NaN()
	}
	return x0 + (x1-x0)*f
}

// TurnDown returns the level of greatest goodput; beyond it more load serves
// fewer requests well. The lowest of equals; -1 where there is no level.
func TurnDown(goodput []float64) int {
	best := -1
	for i, v := range goodput {
		if !math.IsNaN(v) && (best < 0 || v > goodput[best]) {
			best = i
		}
	}
	return best
}

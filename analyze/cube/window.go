package cube

import (
	"math"
	"time"
)

// windows cuts a stretch of arrival times into equal lengths on round steps.
type windows struct {
	start, step int64 // ns; step 0: there are no times
	n           int
	relative    bool
}

// steps are lengths people read times in.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour,
}

// windowsOf returns at most MaxWindows windows that cover first to last, each
// starting at a multiple of the step: two tables of the same hour get the same
// windows.
func windowsOf(first, last int64, relative bool) windows {
	for _, s := range steps {
		if w := windowsAt(first, last, int64(s)); w.n > 0 {
			w.relative = relative
			return w
		}
	}
	step := int64(steps[len(steps)-1])
	for {
		if step > math.MaxInt64/2 {
			// All of int64 is 584 years in ns: three windows hold any of it.
			return windows{start: first, step: math.MaxInt64, n: 3, relative: relative}
		}
		step *= 2
		if w := windowsAt(first, last, step); w.n > 0 {
			w.relative = relative
			return w
		}
	}
}

// windowsAt returns the windows of a step; n is 0 where they would be too many.
func windowsAt(first, last, step int64) windows {
	q := floorDiv(first, step)
	if q < math.MinInt64/step {
		return windows{} // the start of the window is before time can be told
	}
	n := floorDiv(last, step) - q
	if n < 0 || n >= MaxWindows {
		return windows{}
	}
	return windows{start: q * step, step: step, n: int(n) + 1}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && a < 0 {
		q--
	}
	return q
}

// of returns the window of an arrival time.
func (w *windows) of(t int64) int32 {
	// Unsigned, for the distance of two int64 need not be one.
	return int32((uint64(t) - uint64(w.start)) / uint64(w.step))
}

// label names a window by its start: a time in UTC, or the time since the
// origin where that is arbitrary.
func (w *windows) label(i int) string {
	t := w.start + int64(i)*w.step
	if w.relative {
		return time.Duration(t).String()
	}
	return time.Unix(0, t).UTC().Format(time.RFC3339)
}

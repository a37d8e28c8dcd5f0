package column

import "slices"

// outermost is the share of values at either end that Middle leaves out.
const outermost = 0.25

// Middle returns the least and the greatest of some values without the outermost
// quarter at either end: clocks that were not set, as those of requests that failed, must
// not decide what a column is.
// It sorts them; ok is false where there are none.
func Middle(values []float64) (lo, hi float64, ok bool) {
	if len(values) == 0 {
		return 0, 0, false
	}
	slices.Sort(values)
	k := int(outermost * float64(len(values)))
	return values[k], values[len(values)-1-k], true
}

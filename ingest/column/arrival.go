package column

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// maxSpan bounds the time between two requests of one run, seconds: a century.
const maxSpan = 3e9

// FromFirst turns a client's clock, which has an arbitrary origin, into times
// that count from the first of them, ns. at returns the seconds of a row, or
// false where it has none; late is told of a row that lies a century behind the
// first, which then has none either.
func FromFirst(rows int, at func(row int) (seconds float64, ok bool), late func(row int, seconds float64)) ([]int64, serving.Bitmap) {
	first := math.Inf(1)
	for i := range rows {
		if v, ok := at(i); ok {
			first = min(first, v)
		}
	}
	times, valid := make([]int64, rows), serving.NewBitmap(rows)
	for i := range rows {
		v, ok := at(i)
		if ok && v-first > maxSpan {
			late(i, v-first)
		} else if ok {
			times[i] = int64(math.Round((v - first) * 1e9))
			valid.Set(i)
		}
	}
	return times, valid
}

package column

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// A Filler adds columns to a table the way a decoder of records collects them:
// a number a row, NaN where the record has none. A column without any value is
// not added.
type Filler struct{ *Table }

// valid returns the rows for which has is true, nil where they are all, and how
// many they are.
func (f Filler) valid(has func(row int) bool) (serving.Bitmap, int) {
	v := serving.NewBitmap(f.rows)
	for i := range f.rows {
		if has(i) {
			v.Set(i)
		}
	}
	n := v.Count()
	if n == f.rows {
		return nil, n
	}
	return v, n
}

// Durations adds a column of seconds. Negative ones are missing.
func (f Filler) Durations(c serving.Column, seconds []float64) {
	c.Kind, c.Unit = serving.KindDuration, unitOr(c.Unit, "s")
	if valid, n := f.valid(func(i int) bool { return seconds[i] >= 0 && !math.IsInf(seconds[i], 0) }); n > 0 {
		f.Floats(c, seconds, valid)
	}
}

// Counts adds a column of whole numbers. Any other number is missing.
func (f Filler) Counts(c serving.Column, numbers []float64) {
	c.Kind = serving.KindCount
	ints := make([]int64, f.rows)
	valid, n := f.valid(func(i int) bool {
		v := numbers[i]
		ok := v >= 0 && v < 1<<53 && v == math.Trunc(v)
		if ok {
			ints[i] = int64(v)
		}
		return ok
	})
	if n > 0 {
		f.Ints(c, ints, valid)
	}
}

// Codes adds a column of texts, -1 where a row has none.
func (f Filler) Codes(c serving.Column, codes []int32, dict *serving.Dict) {
	c.Kind = serving.KindText
	if valid, n := f.valid(func(i int) bool { return codes[i] >= 0 }); n > 0 {
		f.Text(c, codes, dict, valid)
	}
}

// maxInstant bounds an instant, seconds from its origin: int64 nanoseconds end
// in the year 2262.
const maxInstant = 9.2e9

// Instants adds a column of times, given in seconds of the file's clock and
// counted from origin.
func (f Filler) Instants(c serving.Column, seconds []float64, origin float64) {
	c.Kind, c.Unit = serving.KindTime, unitOr(c.Unit, "s")
	ints := make([]int64, f.rows)
	valid, n := f.valid(func(i int) bool {
		v := seconds[i] - origin
		ok := math.Abs(v) < maxInstant
		if ok {
			ints[i] = int64(math.Round(v * 1e9))
		}
		return ok
	})
	if n > 0 {
		f.Ints(c, ints, valid)
	}
}

func unitOr(unit, def string) string {
	if unit != "" {
		return unit
	}
	return def
}

package verdict

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// NotCompared is the method of a row that says why there is nothing to test.
const NotCompared Method = "not_compared"

// Absent is the row of a figure that the answer rests on and that cannot be
// compared. It shows what each side has, and is undecided for the given reason.
func Absent(f Figure, threshold float64, strata []Stratum, why string) *Row {
	r := &Row{Figure: f, Threshold: threshold, Method: NotCompared, Call: Undecided, Why: why}
	var b, a []Sample
	for _, s := range strata {
		b, a = append(b, s.Before), append(a, s.After)
	}
	r.Before, r.Runs[0] = standing(f, b)
	r.After, r.Runs[1] = standing(f, a)
	return r
}

// standing is what a side has of a figure over its levels, by the definition that a
// comparison has: shares by their counts, all else as the geometric mean, which is 0
// where any value is. runs is the number of runs that have it.
func standing(f Figure, levels []Sample) (v serving.Opt[float64], runs int) {
	if f.IsShare() {
		var n, of int64
		for _, s := range levels {
			n, of, runs = n+s.N, of+s.Of, runs+len(s.Each)
		}
		if of == 0 {
			return serving.None[float64](), 0
		}
		return serving.Some(float64(n) / float64(of)), runs
	}
	sum, n := 0.0, 0.0
	for _, s := range levels {
		x := s.present()
		if len(x) > 0 && !positive(x) {
			return serving.Some(0.0), len(x)
		}
		if len(x) > 0 {
			sum, n, runs = sum+meanLog(x), n+1, runs+len(x)
		}
	}
	if n == 0 {
		return serving.None[float64](), 0
	}
	return serving.Some(math.Exp(sum / n)), runs
}

// Stands says whether a sample has a figure at all, and whether it can be one side of
// a comparison: a ratio takes values above 0.
func (s Sample) Stands(f Figure) (has, usable bool) {
	if f.IsShare() {
		return s.Of > 0, s.Of > 0
	}
	x := s.present()
	return len(x) > 0, len(x) > 0 && positive(x)
}

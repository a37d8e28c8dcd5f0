package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A Family is how the p values of rows that are decided together are adjusted.
type Family func(p []float64) []float64

// The families: Holm for the few figures a gate rests on, Benjamini-Hochberg for
// exploring slices and levels.
var (
	Headline Family = stat.Holm
	Explored Family = stat.BenjaminiHochberg
)

// Decide adjusts the p values of rows that belong together and calls each row.
func Decide(rows []*Row, family Family) {
	var p []float64
	var at []*Row
	for _, r := range rows {
		if r.P.OK {
			p, at = append(p, r.P.V), append(at, r)
		}
	}
	for i, v := range family(p) {
		at[i].PAdjusted = serving.Some(v)
	}
	for _, r := range rows {
		r.call()
	}
}

// DecideEach explores each metric by itself: the question of whose TTFT changed is
// not to be drowned by asking after failures, too.
func DecideEach(rows []*Row) {
	byMetric := map[serving.MetricKey][]*Row{}
	for _, r := range rows {
		byMetric[r.Figure.Metric] = append(byMetric[r.Figure.Metric], r)
	}
	for _, list := range byMetric {
		tested := slices.DeleteFunc(slices.Clone(list), func(r *Row) bool { return !r.P.OK })
		n := tests(tested)
		Decide(list, func(p []float64) []float64 { return stat.BenjaminiHochbergOf(p, n) })
	}
}

// call needs all of p, effect and interval for a change, and the interval alone
// for equivalence.
func (r *Row) call() {
	r.Call = Undecided
	if r.Method == SameFiles {
		r.Call, r.Why = Equivalent, "the same files on both sides"
		return
	}
	if r.Method == ByBuckets {
		r.callBuckets()
		return
	}
	if !r.PAdjusted.OK {
		r.Why = "a ratio without an interval: no repeats, and no requests or too few of them"
		return
	}
	limit, half := r.limits()
	switch {
	case r.lo > -limit && r.hi < limit:
		r.Call = Equivalent
		r.Why = "the whole interval is within " + r.margin()
	case r.PAdjusted.V >= 1-Confidence && r.Method == BySigns:
		r.Why = r.whyNoSigns()
	case r.PAdjusted.V >= 1-Confidence:
		r.Why = fmt.Sprintf("the difference may be chance: adjusted p %.2g", r.PAdjusted.V)
	case math.Abs(r.log) <= limit:
		r.Why = "real, perhaps, but below " + r.margin()
	case r.lo < half && r.hi > -half:
		r.Why = "the interval comes too close to no change"
	case r.held():
		r.Held, r.Why = true, r.whyHeld()
	case r.Assumed.OK && math.Abs(r.log) <= r.assumed():
		r.Why = fmt.Sprintf("one run a side: the noise between runs is not known, and below %.3g %s it could be that", r.Assumed.V*100, r.unit())
	case r.Figure.Better() == serving.Indifferent:
		r.Why = "changed, and neither direction is better"
	case (r.log > 0) == (r.Figure.Better() == serving.LowerIsBetter):
		r.Call = Slower
	default:
		r.Call = Faster
	}
}

// limits are the threshold and half of it, on the scale of the effect.
func (r *Row) limits() (limit, half float64) {
	if r.Figure.IsShare() {
		return r.Threshold, r.Threshold / 2
	}
	return math.Log1p(r.Threshold), math.Log1p(r.Threshold / 2)
}

// assumed is the assumed noise between runs on the scale of the effect.
func (r *Row) assumed() float64 {
	if r.Figure.IsShare() {
		return r.Assumed.V
	}
	return math.Log1p(r.Assumed.V)
}

func (r *Row) unit() string {
	if r.Figure.IsShare() {
		return "percentage points"
	}
	return "%"
}

func (r *Row) margin() string {
	if r.Figure.IsShare() {
		return fmt.Sprintf("%.3g percentage points", r.Threshold*100)
	}
	return fmt.Sprintf("the threshold of %.3g %%", r.Threshold*100)
}

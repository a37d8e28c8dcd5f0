package verdict

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// A Bucket is a quantile of a histogram: somewhere in an interval, which is that of
// the buckets that the quantile's own interval reaches into.
type Bucket struct {
	Value  serving.Opt[float64] // interpolated; missing beyond the last finite bound
	Lo, Hi serving.Opt[float64] // Hi is missing where there is no upper end
}

// CompareBuckets compares quantiles that only histograms know: there is a change
// where the buckets do not overlap, and none is seen where they do. ok is false
// where a side has no bucket.
func CompareBuckets(f Figure, before, after Bucket) (*Row, bool) {
	if !before.Lo.OK || !after.Lo.OK {
		return nil, false
	}
	r := &Row{Figure: f, Threshold: f.Threshold(), Method: ByBuckets, Runs: [2]int{1, 1}, Levels: 1,
		Before: before.Value, After: after.Value, Call: Undecided}
	if before.Value.OK && after.Value.OK && before.Value.V > 0 {
		r.Ratio = serving.Some(after.Value.V / before.Value.V)
	}
	r.Assumed = serving.Some(f.AssumedNoise())
	r.lo, r.hi = bucketRatio(after.Lo, before.Hi, math.Inf(-1)), bucketRatio(after.Hi, before.Lo, math.Inf(1))
	if !math.IsInf(r.lo, 0) {
		r.Lo = serving.Some(math.Exp(r.lo))
	}
	if !math.IsInf(r.hi, 0) {
		r.Hi = serving.Some(math.Exp(r.hi))
	}
	// Beyond the last finite bound all that is known is an end of the interval.
	switch {
	case r.Ratio.OK:
		r.log = math.Log(r.Ratio.V)
	case r.Lo.OK:
		r.log = r.lo
	case r.Hi.OK:
		r.log = r.hi
	}
	return r, true
}

// bucketRatio is the logarithm of a ratio of bucket ends, or else where an end is
// open or 0.
func bucketRatio(a, b serving.Opt[float64], otherwise float64) float64 {
	if !a.OK || !b.OK || !(a.V > 0) || !(b.V > 0) {
		return otherwise
	}
	return math.Log(a.V / b.V)
}

// callBuckets calls what the buckets alone decide.
func (r *Row) callBuckets() {
	limit, _ := r.limits()
	worse := r.Figure.Better() == serving.LowerIsBetter
	switch {
	case r.lo > -limit && r.hi < limit:
		r.Call, r.Why = Equivalent, "both sides' buckets are within "+r.margin()
	case r.lo <= 0 && r.hi >= 0:
		r.Why = "within bucket resolution"
	case math.Abs(r.log) <= r.assumed():
		r.Why = fmt.Sprintf("one run a side: the noise between runs is not known, and below %.3g %% it could be that", r.Assumed.V*100)
	case r.lo >= limit:
		r.Call, r.Why = pick(worse), "the buckets do not overlap"
	case r.hi <= -limit:
		r.Call, r.Why = pick(!worse), "the buckets do not overlap"
	default:
		r.Why = "the buckets do not overlap, but come closer than " + r.margin()
	}
}

func pick(slower bool) Call {
	if slower {
		return Slower
	}
	return Faster
}

package verdict

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// A Bucket is a quantile of a histogram: somewhere in an interval.
type Bucket struct {
	Value  serving.Opt[float64] // interpolated; missing beyond the last finite bound
	Lo, Hi serving.Opt[float64]
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
	r.lo, r.hi = bucketRatio(after.Lo, before.Hi, math.Inf(-1)), bucketRatio(after.Hi, before.Lo, math.Inf(1))
	if !math.IsInf(r.lo, 0) {
		r.Lo = serving.Some(math.Exp(r.lo))
	}
	if !math.IsInf(r.hi, 0) {
		r.Hi = serving.Some(math.Exp(r.hi))
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
	case r.lo >= limit:
		r.Call, r.Why = pick(worse), "the buckets do not overlap"
	case r.hi <= -limit:
		r.Call, r.Why = pick(!worse), "the buckets do not overlap"
	default:
		r.Why = "within bucket resolution"
	}
}

func pick(slower bool) Call {
	if slower {
		return Slower
	}
	return Faster
}

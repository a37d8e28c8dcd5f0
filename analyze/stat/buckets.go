package stat

import (
	"math"
	"slices"
	"sort"
)

// Buckets is a classic histogram at one moment, or the difference of two: the
// number of observations at or below each bound. Bounds ascend and end with
// +Inf where the histogram is complete.
type Buckets struct {
	Bounds []float64
	Cum    []float64
}

// BucketDeltaAcross returns how many observations fell at or below each bound
// between the first and the last row of cumulative counts, and how often the process
// restarted in between. A nil row, or a NaN in one, is a scrape without it. The
// histogram restarts as a whole: where any bucket fell, every bucket began again
// at zero, even those that have already grown past their old count. Restarts may be
// known from elsewhere, see IncreaseAcross. With fewer than two rows the delta is nil.
func BucketDeltaAcross(bounds []float64, rows [][]float64, restarted func(i int) bool) (delta []float64, resets int) {
	sum := make([]float64, len(bounds))
	last := make([]float64, len(bounds))
	seen, pending := 0, false
	for i, row := range rows {
		if restarted != nil && restarted(i) {
			pending = true
		}
		if row == nil {
			continue
		}
		if seen++; seen == 1 {
			copy(last, row)
			pending = false
			continue
		}
		if pending || fell(last, row) {
			clear(last)
			resets++
		}
		pending = false
		for b := range last {
			c := row[b]
			if math.IsNaN(c) {
				continue // bridged: the next row counts from the last known value
			}
			if !math.IsNaN(last[b]) {
				sum[b] += c - last[b]
			}
			last[b] = c
		}
	}
	if seen < 2 {
		return nil, resets
	}
	return sum, resets
}

func fell(before, after []float64) bool {
	for b := range before {
		if after[b] < before[b] {
			return true
		}
	}
	return false
}

// A BucketQ is a quantile of a classic histogram. Value is what Prometheus'
// histogram_quantile returns; all that is known for certain is that the
// quantile is in (Lo, Hi]. With Overflow it is beyond the highest finite bound:
// Value and Lo are that bound, to be read as "≥ Lo", and Hi is +Inf. Raised says
// that a count was below that of a lower bound and was lifted to it.
type BucketQ struct {
	Value, Lo, Hi float64
	Overflow      bool
	Raised        bool
}

// BucketQuantile returns the quantile q (0…1) of cumulative counts: the first
// bucket that holds rank q·N, linear inside, from 0 in the first one. It
// returns NaNs where there are fewer than two buckets, no +Inf bucket or no
// observation. This is promql.BucketQuantile of Prometheus 3 (promql/quantile.go).
func BucketQuantile(q float64, bounds, cum []float64) BucketQ {
	nan := BucketQ{Value: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	if !(q >= 0 && q <= 1) {
		return nan
	}
	bounds, cum, raised := regular(bounds, cum)
	n := len(bounds)
	if n < 2 || !math.IsInf(bounds[n-1], +1) || !(cum[n-1] > 0) {
		return nan
	}
	rank := q * cum[n-1]
	b := sort.Search(n-1, func(i int) bool { return cum[i] >= rank })
	switch {
	case b == n-1:
		top := bounds[n-2]
		return BucketQ{Value: top, Lo: top, Hi: math.Inf(+1), Overflow: true, Raised: raised}
	case b == 0 && bounds[0] <= 0:
		// Prometheus knows no lower end here. A bound of 0 holds zeros only, as
		// long as the quantity has no negative values.
		lo := math.Inf(-1)
		if bounds[0] == 0 {
			lo = 0
		}
		return BucketQ{Value: bounds[0], Lo: lo, Hi: bounds[0], Raised: raised}
	}
	lo, below := 0.0, 0.0
	if b > 0 {
		lo, below = bounds[b-1], cum[b-1]
	}
	hi := bounds[b]
	return BucketQ{Value: lo + (hi-lo)*((rank-below)/(cum[b]-below)), Lo: lo, Hi: hi, Raised: raised}
}

// smallDelta is the relative difference below which two counts are the same
// (promql's smallDeltaTolerance): sums of rates differ in the last digits.
const smallDelta = 1e-12

// regular returns the histogram with ascending distinct bounds and counts that
// never fall, as Prometheus repairs it; raised tells of a real repair. Bounds
// without a count (NaN) are left out. The arguments are not changed.
func regular(bounds, cum []float64) (_, _ []float64, raised bool) {
	if isRegular(bounds, cum) {
		return bounds, cum, false
	}
	order := make([]int, 0, len(bounds))
	for i := range bounds {
		if i < len(cum) && !math.IsNaN(bounds[i]) && !math.IsNaN(cum[i]) {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return bounds[order[a]] < bounds[order[b]] })
	bs, cs := make([]float64, 0, len(order)), make([]float64, 0, len(order))
	for _, i := range order {
		if k := len(bs); k > 0 && bs[k-1] == bounds[i] {
			cs[k-1] += cum[i]
			continue
		}
		bs, cs = append(bs, bounds[i]), append(cs, cum[i])
	}
	for i := 1; i < len(cs); i++ {
		prev := cs[i-1]
		if math.Abs(cs[i]-prev) < smallDelta*(math.Abs(cs[i])+math.Abs(prev)) {
			cs[i] = prev
		} else if cs[i] < prev {
			cs[i], raised = prev, true
		}
	}
	return bs, cs, raised
}

func isRegular(bounds, cum []float64) bool {
	if len(cum) != len(bounds) {
		return false
	}
	for i := range bounds {
		if math.IsNaN(bounds[i]) || math.IsNaN(cum[i]) {
			return false
		}
		if i > 0 && (bounds[i] <= bounds[i-1] || cum[i] < cum[i-1]) {
			return false
		}
		if i > 0 && cum[i] != cum[i-1] && cum[i]-cum[i-1] < smallDelta*(cum[i]+cum[i-1]) {
			return false
		}
	}
	return true
}

// MergeBuckets adds the histograms of a fleet. Where their bounds differ only
// those that all have can be added; dropped counts the bounds that were lost.
// Histograms without any bound are left out. A quantile of the fleet comes from
// this sum, never from a mean of quantiles.
func MergeBuckets(hs ...Buckets) (sum Buckets, dropped int) {
	union := map[float64]int{}
	var list []Buckets
	for _, h := range hs {
		if len(h.Bounds) == 0 {
			continue
		}
		bs, cs, _ := regular(h.Bounds, h.Cum)
		list = append(list, Buckets{bs, cs})
		for _, b := range bs {
			union[b]++
		}
	}
	for b, n := range union {
		if n == len(list) {
			sum.Bounds = append(sum.Bounds, b)
		} else {
			dropped++
		}
	}
	slices.Sort(sum.Bounds)
	sum.Cum = make([]float64, len(sum.Bounds))
	for _, h := range list {
		for i, b := range sum.Bounds {
			at, _ := slices.BinarySearch(h.Bounds, b)
			sum.Cum[i] += h.Cum[at]
		}
	}
	return sum, dropped
}

package cube

import (
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// cell turns a sum of rollup cells into a cell.
func (f *rollFiller) cell(dims Grouping, x *rolled) Cell {
	r := x.sum
	c := Cell{Key: x.key, Window: x.window, Sent: r.Sent(), Outcomes: r.Outcomes, Good: r.Good,
		Input: r.Input, Output: r.Output, Cached: r.Cached, CachedOf: r.CachedOf, Summaries: map[serving.MetricKey]*Summary{}}
	if c.Key == nil {
		c.Key = []string{}
	}
	if n := len(f.plan.Limits); n > 0 {
		c.Within, c.Of, c.Slack = make([]int64, n), make([]int64, n), make([]int64, n)
		for l := range f.plan.Limits {
			c.Within[l], c.Slack[l], c.Of[l] = f.limit(l, dims, x)
		}
	}
	timed := slices.Contains(dims, DimTime)
	for _, k := range f.plan.Metrics {
		if timed && !f.plan.Windowed.has(k) {
			continue
		}
		if s := f.summary(k, r.Metrics[k], timed); s != nil {
			c.Summaries[k] = s
		}
	}
	return c
}

// limit counts the requests of a cell that are within a limit, those that may
// be, and those it is for.
func (f *rollFiller) limit(l int, dims Grouping, x *rolled) (within, slack, of int64) {
	if i := f.limits[l]; i >= 0 {
		return x.sum.Within[i], 0, x.sum.Of[i]
	}
	limit := f.plan.Limits[l]
	r := x.sum
	if len(limit.By) > 0 {
		if r = f.slice(limit.By, dims, x); r == nil {
			return 0, 0, 0
		}
	}
	of = r.Sent()
	if asksStreamed(limit.Metric) {
		of -= r.Whole
	}
	if limit.Metric == serving.ITL {
		return 0, of, of // the worst gap of a request is not in a histogram of gaps
	}
	u := limit.Max * serving.RollupUnits(limit.Metric)
	for _, b := range r.Metrics[limit.Metric] {
		switch {
		// A value was rounded to a whole number on its way into the bucket.
		case float64(b.Most)+0.5 <= u:
			within += b.N
		case float64(b.Least)-0.5 <= u:
			slack += b.N
		}
	}
	if limit.Metric == serving.TPOT {
		// A one-token output is within any limit between tokens. It has no value,
		// as a rule; where it has, it may have been counted above.
		n := int64(0)
		for _, b := range r.Metrics[limit.Metric] {
			n += b.N
		}
		without := max(0, r.Outcomes[serving.OK]-r.Whole-n)
		sure := min(r.Brief, without)
		within += sure
		slack += r.Brief - sure
	}
	within = min(within, of)
	return within, min(slack, of-within), of
}

func asksStreamed(k serving.MetricKey) bool {
	return k == serving.TTFT || k == serving.TPOT || k == serving.ITL
}

// slice returns the part of a cell that terms choose, where the rollup has it:
// the cell itself, or a cell of a grouping by those dimensions.
func (f *rollFiller) slice(by []serving.Term, dims Grouping, x *rolled) *serving.RollupCell {
	want := slices.Clone(dims)
	values := map[string]string{}
	for i, d := range dims {
		if d == DimTime || x.key[i] == Other {
			return nil
		}
		values[d] = x.key[i]
	}
	for _, t := range by {
		if v, ok := values[t.Dim]; ok && v != t.Value {
			return nil
		}
		if !slices.Contains(want, t.Dim) {
			want = append(want, t.Dim)
		}
		values[t.Dim] = t.Value
	}
	var of []*serving.RollupCell
	for _, c := range f.rolled(want) {
		match := true
		for i, d := range want {
			match = match && c.key[i] == values[d]
		}
		if match {
			of = append(of, c.of...)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return serving.SumRollupCells(of...)
}

// A rollRanks finds the values of ranks in a histogram.
type rollRanks struct {
	h    serving.RollupHistogram
	ends []int64 // ranks behind each bucket
	unit float64 // whole numbers in a base unit
	half float64 // how far a value may lie from its whole number
}

func (f *rollFiller) summary(k serving.MetricKey, h serving.RollupHistogram, timed bool) *Summary {
	if len(h) == 0 {
		return nil
	}
	x := &rollRanks{h: h, unit: serving.RollupUnits(k)}
	if x.unit != 1 {
		x.half = 0.5
	}
	s := &Summary{}
	var total, squares float64
	exact := x.half == 0
	least, most := h[0].Least, h[0].Most
	for _, b := range h {
		s.N += b.N
		total += float64(b.Total)
		squares += b.Squares
		x.ends = append(x.ends, s.N)
		least, most = min(least, b.Least), max(most, b.Most)
		exact = exact && b.Least == b.Most
	}
	n := float64(s.N)
	s.Min, s.Max = float64(least)/x.unit, float64(most)/x.unit
	s.Mean = total / n / x.unit
	s.Std = math.Sqrt(max(0, squares/n-total/n*(total/n))) / x.unit
	if !exact {
		s.Error = serving.RollupError
	}
	if timed && f.plan.Windowed != nil {
		for _, p := range f.plan.Windowed.Quantiles {
			s.Quantiles = append(s.Quantiles, Quantile{P: p, Value: x.quantile(p)})
		}
		return s
	}
	ranks := f.cache.get(s.N, f.plan)
	for i, p := range f.plan.Quantiles {
		q := Quantile{P: p, Value: x.quantile(p)}
		if r := ranks[i]; r.HasLo() {
			least, _ := x.bounds(r.Lo - 1)
			q.Lo = serving.Some(least)
		}
		if r := ranks[i]; r.HasHi() {
			_, most := x.bounds(r.Hi - 1)
			q.Hi = serving.Some(most)
		}
		s.Quantiles = append(s.Quantiles, q)
	}
	if f.plan.CDF && !timed {
		s.CDF = make([]float64, len(CDFGrid))
		for i, p := range CDFGrid {
			s.CDF[i] = x.quantile(p)
		}
	}
	return s
}

// find returns the bucket of a 0-based rank and the rank within it.
func (x *rollRanks) find(rank int64) (b serving.RollupCount, offset int64) {
	i, _ := slices.BinarySearch(x.ends, rank+1)
	b = x.h[i]
	return b, rank - (x.ends[i] - b.N)
}

// at estimates the value of a rank: the values of a bucket are taken to lie
// evenly between its least and its greatest.
func (x *rollRanks) at(rank int64) float64 {
	b, k := x.find(rank)
	if b.N == 1 || k == 0 {
		return float64(b.Least) / x.unit
	}
	return (float64(b.Least) + float64(b.Most-b.Least)*float64(k)/float64(b.N-1)) / x.unit
}

// bounds returns between what the value of a rank lies.
func (x *rollRanks) bounds(rank int64) (least, most float64) {
	b, k := x.find(rank)
	lo, hi := b.Least, b.Most
	if k == 0 {
		hi = b.Least
	}
	if k == b.N-1 {
		lo = b.Most
	}
	return max(0, float64(lo)-x.half) / x.unit, (float64(hi) + x.half) / x.unit
}

// quantile is the type 7 quantile of the estimated values.
func (x *rollRanks) quantile(p float64) float64 {
	n := x.ends[len(x.ends)-1]
	pos := p * float64(n-1)
	lo := int64(math.Floor(pos))
	lo = max(0, min(lo, n-1))
	v := x.at(lo)
	if frac := pos - float64(lo); frac > 0 && lo+1 < n {
		v += frac * (x.at(lo+1) - v)
	}
	return v
}

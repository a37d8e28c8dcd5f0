package cube

import (
	"context"
	"math"
	"sync"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// The value store: every value of a metric in memory, sorted once for all
// groupings. Handing sorted values out to cells keeps them sorted, so that a
// grouping costs one pass and no sort. Of very many values (the gaps of a
// benchmark) bands are sorted one after the other: see bands.go.

// summarize fills the cells' summaries, a metric at a time on each worker.
func (t *table) summarize(ctx context.Context, groups []Group, index []cellIndex, plan *Plan, workers int) error {
	for g := range groups {
		for c := range groups[g].Cells {
			groups[g].Cells[c].Summaries = map[serving.MetricKey]*Summary{}
		}
	}
	var shown []int
	for m := range t.lay.metrics {
		if t.lay.metrics[m].shown {
			shown = append(shown, m)
		}
	}
	// Maps are not for concurrent use, so workers leave their summaries here.
	done := make([][][]*Summary, len(t.lay.metrics))
	order := t.arrivalOrder()
	ranks := &rankCache{}
	err := each(ctx, workers, len(shown), func() func(int) {
		s := &summarizer{t: t, plan: plan, order: order, ranks: ranks}
		return func(i int) { done[shown[i]] = s.metric(ctx, shown[i], index) }
	})
	if err != nil {
		return err
	}
	for _, m := range shown {
		for g := range groups {
			for c, sum := range done[m][g] {
				if sum != nil {
					groups[g].Cells[c].Summaries[t.lay.metrics[m].key] = sum
				}
			}
		}
	}
	return nil
}

// arrivalOrder returns the rows in order of arrival, those without a time left
// out; nil where the table has no times.
func (t *table) arrivalOrder() []uint32 {
	if len(t.arrival) == 0 {
		return nil
	}
	keys := make([]uint64, 0, t.n)
	rows := make([]uint32, 0, t.n)
	for row, a := range t.arrival {
		if a != noTime {
			keys = append(keys, uint64(a)^1<<63)
			rows = append(rows, uint32(row))
		}
	}
	var r radix
	r.sort(keys, rows)
	return rows
}

// A summarizer computes the summaries of one metric after the other. It belongs
// to one goroutine.
type summarizer struct {
	t     *table
	plan  *Plan
	order []uint32
	ranks *rankCache

	radix  radix
	keys   []uint64
	rows   []uint32
	byTime entries
	sorted []float64 // values by cell, ascending in each
	walked []float64 // values by cell, in order of arrival
	starts []int
	next   []int
}

// entries are the values of a metric with their rows.
type entries struct {
	values []float64
	rows   []uint32
}

// metric returns the summaries of a metric by grouping and cell; nil where a
// cell has no value.
func (s *summarizer) metric(ctx context.Context, m int, index []cellIndex) [][]*Summary {
	if n := s.t.countValues(m); n > bandValues {
		return s.banded(ctx, m, n, index)
	}
	s.keys, s.rows = s.keys[:0], s.rows[:0]
	for row := range s.t.n {
		for _, x := range s.t.valuesOf(m, row) {
			s.keys = append(s.keys, orderedBits(x))
			s.rows = append(s.rows, uint32(row))
		}
	}
	s.radix.sort(s.keys, s.rows)
	s.byTime = entries{s.byTime.values[:0], s.byTime.rows[:0]}
	for _, row := range s.order {
		for _, x := range s.t.valuesOf(m, int(row)) {
			s.byTime.values = append(s.byTime.values, x)
			s.byTime.rows = append(s.byTime.rows, row)
		}
	}
	out := make([][]*Summary, len(index))
	for g := range index {
		if ctx.Err() != nil {
			return out
		}
		if index[g].timed && !s.plan.Windowed.has(s.t.lay.metrics[m].key) {
			out[g] = make([]*Summary, index[g].cells)
			continue
		}
		out[g] = s.grouping(&index[g])
	}
	return out
}

// valuesOf returns the values of a completed request.
func (t *table) valuesOf(m, row int) []float64 {
	if !t.ok(row) {
		return nil
	}
	if rows := t.lists[m].rows; len(rows) > 0 {
		return rows[row]
	}
	if v := t.values[m]; len(v) > 0 && v[row] == v[row] {
		return v[row : row+1]
	}
	return nil
}

// grouping hands the values out to the cells and describes each cell's.
func (s *summarizer) grouping(index *cellIndex) []*Summary {
	out := make([]*Summary, index.cells)
	if index.cells == 0 {
		return out
	}
	s.starts = cleared(s.starts, index.cells+1)
	for _, row := range s.rows {
		s.starts[index.cell(row)+1]++
	}
	for c := range index.cells {
		s.starts[c+1] += s.starts[c]
	}
	s.sorted = sized(s.sorted, len(s.keys))
	s.next = append(s.next[:0], s.starts...)
	for i, row := range s.rows {
		c := index.cell(row)
		s.sorted[s.next[c]] = fromOrderedBits(s.keys[i])
		s.next[c]++
	}
	ends := s.walk(index)
	for c := range out {
		from, to := s.starts[c], s.starts[c+1]
		if from < to {
			if index.timed && s.plan.Windowed != nil {
				out[c] = s.narrow(s.sorted[from:to])
				continue
			}
			out[c] = s.describe(s.sorted[from:to], !index.timed)
			s.autocorrelate(out[c], s.walked[from:ends[c]])
		}
	}
	return out
}

// walk hands the values out in order of arrival and returns where each cell's
// end; those without a time are not among them.
func (s *summarizer) walk(index *cellIndex) []int {
	s.walked = sized(s.walked, len(s.keys))
	s.next = append(s.next[:0], s.starts...)
	for i, row := range s.byTime.rows {
		c := index.cell(row)
		s.walked[s.next[c]] = s.byTime.values[i]
		s.next[c]++
	}
	return s.next
}

// cell returns the cell of a row.
func (x *cellIndex) cell(row uint32) uint32 {
	if x.of == nil {
		return 0
	}
	return x.of[row]
}

// describe summarizes ascending values. Sums run over them in that order, so
// they do not depend on the order of the scan.
func (s *summarizer) describe(sorted []float64, whole bool) *Summary {
	n := len(sorted)
	sum := &Summary{N: int64(n), Min: sorted[0], Max: sorted[n-1]}
	sum.Mean, sum.Std = stat.Moments(sorted)
	ranks := s.ranks.get(int64(n), s.plan)
	for i, p := range s.plan.Quantiles {
		q := Quantile{P: p, Value: stat.Quantile(sorted, p)}
		if r := ranks[i]; r.HasLo() {
			q.Lo = serving.Some(sorted[r.Lo-1])
		}
		if r := ranks[i]; r.HasHi() {
			q.Hi = serving.Some(sorted[r.Hi-1])
		}
		sum.Quantiles = append(sum.Quantiles, q)
	}
	if s.plan.CDF && whole {
		sum.CDF = make([]float64, len(CDFGrid))
		for i, p := range CDFGrid {
			sum.CDF[i] = stat.Quantile(sorted, p)
		}
	}
	return sum
}

// narrow summarizes ascending values of a time window.
func (s *summarizer) narrow(sorted []float64) *Summary {
	n := len(sorted)
	sum := &Summary{N: int64(n), Min: sorted[0], Max: sorted[n-1]}
	sum.Mean, sum.Std = stat.Moments(sorted)
	for _, p := range s.plan.Windowed.Quantiles {
		sum.Quantiles = append(sum.Quantiles, Quantile{P: p, Value: stat.Quantile(sorted, p)})
	}
	return sum
}

// rankCache keeps the intervals of each n: the same n comes again with every
// metric of a cell.
type rankCache struct {
	mu sync.Mutex
	of map[int64]*intervalRanks // by n
}

// intervalRanks are those of each quantile. Whoever asks first works them out,
// which takes long enough that others must not wait for it.
type intervalRanks struct {
	once  sync.Once
	ranks []stat.Ranks
}

func (rc *rankCache) get(n int64, plan *Plan) []stat.Ranks {
	rc.mu.Lock()
	if rc.of == nil {
		rc.of = map[int64]*intervalRanks{}
	}
	r := rc.of[n]
	if r == nil {
		r = &intervalRanks{}
		rc.of[n] = r
	}
	rc.mu.Unlock()
	r.once.Do(func() {
		r.ranks = make([]stat.Ranks, len(plan.Quantiles))
		for i, p := range plan.Quantiles {
			r.ranks[i] = stat.QuantileRanks(n, p, plan.Confidence)
		}
	})
	return r.ranks
}

// clusters says of which quantiles p the autocorrelation is looked at: of the
// median and from p90 up, those that labels are given for.
func clusters(p float64) bool { return p == 0.5 || p >= 0.9 }

// autocorrelate sets the lag-1 autocorrelation of {x > quantile}.
func (s *summarizer) autocorrelate(sum *Summary, walked []float64) {
	if len(walked) < 2 {
		return
	}
	for i := range sum.Quantiles {
		q := &sum.Quantiles[i]
		if !clusters(q.P) {
			continue
		}
		if r := stat.IndicatorACF1(walked, q.Value); !math.IsNaN(r) {
			q.ACF1 = serving.Some(r)
		}
	}
}

// cleared returns n zeros, in the same memory where it suffices.
func cleared(s []int, n int) []int {
	s = sized(s, n)
	clear(s)
	return s
}

func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

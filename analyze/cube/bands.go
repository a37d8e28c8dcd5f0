package cube

import (
	"context"
	"math"
	"math/bits"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Sorting millions of gaps with their rows would take several times the memory
// of the gaps themselves. So the range of values is cut into bands of which each
// holds a bounded number of them; a band is gathered, sorted and handed out to
// the cells, and the next takes its place. The cells see their values in
// ascending order, as they would of one sort, and keep what was asked for.

// bandValues is how many values are sorted at a time: 12 MiB with their rows,
// and as much to sort them.
var bandValues = 1 << 19

// maxBands bounds the bands, and so the passes over the values: beyond, bands
// grow.
const maxBands = 32

// A tally is a cell that is described while its values come in ascending order.
type tally struct {
	sum    *Summary
	wants  *pending // the values at ranks; nil where there are no values
	next   int      // of wants, the first that has not come
	seen   int64
	scale  float64 // of sums: less than 1 where squares would overflow
	total  stat.Total
	square stat.Total       // of deviations from the mean
	above  []stat.Indicator // of quantiles, where values may cluster
}

// A bandedGroup is a grouping whose cells are described in bands.
type bandedGroup struct {
	*cellIndex
	cells []tally
}

// countValues returns the number of values of a metric.
func (t *table) countValues(m int) int {
	n := 0
	for row := range t.n {
		n += len(t.valuesOf(m, row))
	}
	return n
}

// banded is metric for n values that are too many to be sorted at once.
func (s *summarizer) banded(ctx context.Context, m, n int, index []cellIndex) [][]*Summary {
	groups := s.bandedGroups(m, index)
	lo, hi := s.t.keyRange(m)
	band := bander{t: s.t, m: m, size: max(bandValues, n/maxBands), radix: &s.radix}
	band.ascend(ctx, lo, hi, n, func(keys []uint64, rows []uint32) {
		for g := range groups {
			groups[g].take(keys, rows)
		}
	})
	s.keys, s.rows = nil, nil
	for g := range groups {
		groups[g].settle(s.plan, s.ranks)
		s.walkBanded(m, &groups[g])
	}
	out := make([][]*Summary, len(index))
	for g := range index {
		out[g] = make([]*Summary, index[g].cells)
	}
	at := 0
	for g := range index {
		if s.wants(&index[g], m) && ctx.Err() == nil {
			groups[at].finish(out[g])
			at++
		}
	}
	return out
}

// wants says whether a grouping has summaries of a metric.
func (s *summarizer) wants(index *cellIndex, m int) bool {
	return !index.timed || s.plan.Windowed.has(s.t.lay.metrics[m].key)
}

// bandedGroups counts the values of each cell and lists the ranks it needs.
func (s *summarizer) bandedGroups(m int, index []cellIndex) []bandedGroup {
	var groups []bandedGroup
	for g := range index {
		if s.wants(&index[g], m) {
			groups = append(groups, bandedGroup{&index[g], make([]tally, index[g].cells)})
		}
	}
	for _, g := range groups {
		for c := range g.cells {
			g.cells[c].sum = &Summary{Min: math.Inf(1), Max: math.Inf(-1)}
		}
		for row := range s.t.n {
			values := s.t.valuesOf(m, row)
			if len(values) == 0 {
				continue
			}
			sum := g.cells[g.cell(uint32(row))].sum
			sum.N += int64(len(values))
			for _, x := range values {
				sum.Min, sum.Max = min(sum.Min, x), max(sum.Max, x)
			}
		}
		for c := range g.cells {
			g.cells[c].want(s, g.timed)
		}
	}
	return groups
}

func (y *tally) want(s *summarizer, timed bool) {
	n := y.sum.N
	if n == 0 {
		return
	}
	y.wants, y.scale = &pending{summary: y.sum}, 1
	if big := max(math.Abs(y.sum.Min), math.Abs(y.sum.Max)); big > 1e150 {
		y.scale = 1 / big
	}
	var ranks []int64
	add := func(p float64) {
		j, _ := rank7(n, p)
		ranks = append(ranks, j, min(j+1, n-1))
	}
	if timed && s.plan.Windowed != nil {
		for _, p := range s.plan.Windowed.Quantiles {
			add(p)
		}
		y.wants.want(ranks)
		return
	}
	for i, r := range s.ranks.get(n, s.plan) {
		add(s.plan.Quantiles[i])
		if r.HasLo() {
			ranks = append(ranks, r.Lo-1)
		}
		if r.HasHi() {
			ranks = append(ranks, r.Hi-1)
		}
	}
	if s.plan.CDF && !timed {
		for _, p := range CDFGrid {
			add(p)
		}
	}
	y.wants.want(ranks)
}

// take hands ascending values out to the cells.
func (g *bandedGroup) take(keys []uint64, rows []uint32) {
	for i, k := range keys {
		y := &g.cells[g.cell(rows[i])]
		x := fromOrderedBits(k)
		y.total.Add(x * y.scale)
		if w := y.wants.wants; y.next < len(w) && w[y.next].rank == y.seen {
			w[y.next].value = x
			y.next++
		}
		y.seen++
	}
}

// settle turns the values at ranks into quantiles.
func (g *bandedGroup) settle(plan *Plan, ranks *rankCache) {
	for c := range g.cells {
		y := &g.cells[c]
		if y.wants == nil {
			continue
		}
		y.sum.Mean = y.total.Value() / float64(y.sum.N)
		if g.timed && plan.Windowed != nil {
			for _, p := range plan.Windowed.Quantiles {
				y.sum.Quantiles = append(y.sum.Quantiles, Quantile{P: p, Value: y.wants.quantile(p)})
			}
			continue
		}
		for i, r := range ranks.get(y.sum.N, plan) {
			q := Quantile{P: plan.Quantiles[i]}
			q.Value = y.wants.quantile(q.P)
			if r.HasLo() {
				q.Lo = serving.Some(y.wants.at(r.Lo - 1))
			}
			if r.HasHi() {
				q.Hi = serving.Some(y.wants.at(r.Hi - 1))
			}
			y.sum.Quantiles = append(y.sum.Quantiles, q)
			if clusters(q.P) {
				y.above = append(y.above, stat.Indicator{Limit: q.Value})
			}
		}
		if plan.CDF && !g.timed {
			for _, p := range CDFGrid {
				y.sum.CDF = append(y.sum.CDF, y.wants.quantile(p))
			}
		}
	}
}

// walkBanded goes through the values once more, now that mean and quantiles are
// known: in the order of the table for the deviation, in that of arrival for
// what clusters.
func (s *summarizer) walkBanded(m int, g *bandedGroup) {
	for row := range s.t.n {
		if values := s.t.valuesOf(m, row); len(values) > 0 {
			y := &g.cells[g.cell(uint32(row))]
			for _, x := range values {
				d := x*y.scale - y.sum.Mean
				y.square.Add(d * d)
			}
		}
	}
	for _, row := range s.order {
		if values := s.t.valuesOf(m, int(row)); len(values) > 0 {
			y := &g.cells[g.cell(row)]
			for i := range y.above {
				d := &y.above[i]
				for _, x := range values {
					d.Add(x)
				}
			}
		}
	}
}

// finish leaves the summaries of the cells that have values.
func (g *bandedGroup) finish(out []*Summary) {
	for c := range g.cells {
		y := &g.cells[c]
		if y.wants == nil {
			continue
		}
		y.sum.Std = math.Sqrt(max(y.square.Value(), 0)/float64(y.sum.N)) / y.scale
		y.sum.Mean /= y.scale
		k := 0
		for i := range y.sum.Quantiles {
			if q := &y.sum.Quantiles[i]; len(y.above) > 0 && clusters(q.P) {
				if r := y.above[k].ACF1(); !math.IsNaN(r) {
					q.ACF1 = serving.Some(r)
				}
				k++
			}
		}
		out[c] = y.sum
	}
}

// keyRange returns the least and the greatest of a metric's values.
func (t *table) keyRange(m int) (lo, hi uint64) {
	lo = math.MaxUint64
	for row := range t.n {
		for _, x := range t.valuesOf(m, row) {
			k := orderedBits(x)
			lo, hi = min(lo, k), max(hi, k)
		}
	}
	return lo, hi
}

// A bander goes through the values of one metric in ascending order.
type bander struct {
	t     *table
	m     int
	size  int // of a band
	radix *radix
	keys  []uint64
	rows  []uint32
}

// bandSlots is how many slots a range is divided into to find its bands.
const bandSlots = 1 << 14

// ascend calls yield with the n values from lo to hi, as ascending keys.
func (b *bander) ascend(ctx context.Context, lo, hi uint64, n int, yield func(keys []uint64, rows []uint32)) {
	if n == 0 || ctx.Err() != nil {
		return
	}
	if n <= b.size || lo == hi {
		b.gather(lo, hi, yield)
		return
	}
	shift := max(bits.Len64(hi-lo)-bits.Len(bandSlots-1), 0)
	counts := make([]int, (hi-lo)>>shift+1)
	b.each(lo, hi, func(k uint64, _ uint32) { counts[(k-lo)>>shift]++ })
	var first, last, in int // slots of the band in the making, and its values
	band := func() {
		b.ascend(ctx, lo+uint64(first)<<shift, min(lo+uint64(last)<<shift+(1<<shift-1), hi), in, yield)
	}
	for slot, c := range counts {
		if c == 0 {
			continue
		}
		if in > 0 && in+c > b.size {
			band()
			in = 0
		}
		if in == 0 {
			first = slot
		}
		last, in = slot, in+c
	}
	band()
}

// gather collects a band and sorts it. Of more values than a band holds, all are
// the same: they come in pieces.
func (b *bander) gather(lo, hi uint64, yield func(keys []uint64, rows []uint32)) {
	flush := func() {
		if lo != hi {
			b.radix.sort(b.keys, b.rows)
		}
		yield(b.keys, b.rows)
		b.keys, b.rows = b.keys[:0], b.rows[:0]
	}
	if b.keys == nil {
		b.keys, b.rows = make([]uint64, 0, b.size), make([]uint32, 0, b.size)
	}
	b.each(lo, hi, func(k uint64, row uint32) {
		if len(b.keys) == b.size {
			flush()
		}
		b.keys, b.rows = append(b.keys, k), append(b.rows, row)
	})
	flush()
}

// each calls yield for the values from lo to hi, in the order of the table.
func (b *bander) each(lo, hi uint64, yield func(k uint64, row uint32)) {
	for row := range b.t.n {
		for _, x := range b.t.valuesOf(b.m, row) {
			if k := orderedBits(x); k-lo <= hi-lo {
				yield(k, uint32(row))
			}
		}
	}
}

package cube

import (
	"math/bits"

	"github.com/vreport/vreport/ingest/wide"
)

// A lane is the values of one metric of a chunk on their way to the histograms
// of dense families: a word a value that holds its bucket and the value in fixed
// point, so that no family has anything to foresee. Missing values have a bucket
// of their own and add nothing to sums, and so do those beyond the window, which
// are listed too.
type lane struct {
	x    []float64
	w    []uint64 // see wide.Words
	rest []uint32 // where there is a value beyond the window
}

// bucket returns the bucket of a word, counted from the window's first; width:
// none; width+1: zero.
func bucket(w uint64) uint64 { return w >> maxDenseBits }

// load sorts the values of a column by what is to be done with them.
func (l *lane) load(p *place, unit float64, x []float64) {
	l.x, l.w, l.rest = x, sized(l.w, len(x)), l.rest[:0]
	if outside, nan := wide.Words(l.w, x, p.Window, unit); outside == nan {
		return
	}
	for i, w := range l.w {
		if v := x[i]; bucket(w) == p.Width && v == v {
			l.rest = append(l.rest, uint32(i))
		}
	}
}

// fill adds the values of a column, as a lane has them, to the leaves of their
// slots. Leaf by leaf, sums stay in registers and counters in the nearest cache.
func (s *stock) fill(m int, b *slab, l *lane, o *leafOrder) {
	for i, slot := range o.leaves {
		if slot == noSlot {
			continue
		}
		rows := o.rows[o.starts[i]:o.starts[i+1]]
		if !b.accounts[slot].open {
			rows = s.keepRaw(m, b, uint16(slot), l, rows)
		}
		if s.f.extremes {
			b.accounts[slot].widen(l, rows)
		}
		for len(rows) > 0 {
			n := min(len(rows), wide.TallyRows)
			s.tally(m, b, uint16(slot), l.w, rows[:n])
			rows = rows[n:]
		}
	}
}

// tally counts some values of a leaf that has a histogram.
func (s *stock) tally(m int, b *slab, slot uint16, words []uint64, rows []uint32) {
	counts := b.counts[uint64(slot)*b.stride:][:b.Width+2]
	sum, s0, s1 := wide.Tally(counts, words, rows, func(k uint64) { s.spill(m, b, slot, k) })
	s.accs[m][s.owners[slot]].sums.merge(&sums{lo: sum, s0: s0, s1: s1})
}

// keepRaw keeps values of a leaf as they are, until they are so many that it
// gets a histogram, and returns the rest. Those beyond the window are kept by
// addRare.
func (s *stock) keepRaw(m int, b *slab, slot uint16, l *lane, rows []uint32) []uint32 {
	t, a := &b.accounts[slot], &s.accs[m][s.owners[slot]]
	least, most, raw := t.min, t.max, a.raw
	var sum, s0, s1, c uint64
	n, full := 0, false
	for ; n < len(rows); n++ {
		w := l.w[rows[n]]
		if bucket(w) == b.Width {
			continue
		}
		if full = len(raw) >= s.f.raw; full {
			break
		}
		if len(raw) == cap(raw) {
			raw = s.raws.grow(raw, s.f.raw)
		}
		x := l.x[rows[n]]
		raw = append(raw, x)
		least, most = min(least, x), max(most, x)
		v := w & (1<<maxDenseBits - 1)
		h, lo := bits.Mul64(v, v)
		sum += v
		s0, c = bits.Add64(s0, lo, 0)
		s1, _ = bits.Add64(s1, h, c)
	}
	t.min, t.max, a.raw = least, most, raw
	a.sums.merge(&sums{lo: sum, s0: s0, s1: s1})
	if full {
		s.open(m, b, slot)
	}
	return rows[n:]
}

// widen takes in the extremes of values. It is for cubes that have no second
// scan to find them.
func (t *account) widen(l *lane, rows []uint32) {
	for _, row := range rows {
		if x := l.x[row]; x == x {
			t.min, t.max = min(t.min, x), max(t.max, x)
		}
	}
}

// addRare adds a value that is beyond the window.
func (s *stock) addRare(m int, b *slab, unit float64, slot uint16, x float64) {
	t, a := &b.accounts[slot], &s.accs[m][s.owners[slot]]
	t.min, t.max = min(t.min, x), max(t.max, x)
	a.addSum(x, unit)
	if !t.open && len(a.raw) < s.f.raw {
		s.keep(a, x)
		return
	}
	if !t.open {
		s.open(m, b, slot)
	}
	s.put(m, b, slot, x)
}

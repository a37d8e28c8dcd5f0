package cube

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/vreport/vreport/ingest/wide"
)

// Families of few leaves, which is most of them, have their histograms side by
// side, one counter a bucket of a window of octaves (lane.go fills them). Nothing
// of it fits all values; those beyond the window take addRare, a value at a time.

// denseBytes is what the histograms of one metric may take for a family to be
// filled so.
const denseBytes = 8 << 20

// windowOctaves is how much of the scale has counters: from 10 ms to 10 minutes
// it is 16 octaves.
const windowOctaves = 16

// maxDenseBits bounds values in fixed point (1024 s): a word has room for a bucket
// beside them, and sums of wide.TallyRows of them, and of their squares, fit one word and two.
const maxDenseBits = wide.WordBits

// A place is the window of a metric's scale that has counters. All goroutines
// use the one that the first of them found, and so do families of one scale.
type place struct {
	page int // of the first bucket
	wide.Window
}

// places are those of one scale, by metric.
type places struct {
	mu sync.Mutex
	of []*place
}

// find returns the place of a metric, chosen by some of its values.
func (p *places) find(m int, l *scale, unit float64, x []float64) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[m] == nil {
		p.of[m] = l.place(unit, x)
	}
	return p.of[m]
}

// window is how many buckets a window has.
func (l *scale) window() int { return max(windowOctaves<<l.s, 2*pageSize) }

// place puts a window where most of the values are.
func (l *scale) place(unit float64, x []float64) *place {
	pages := make([]int, l.pages())
	for _, v := range x {
		if v == v && v > 0 {
			pages[l.index(v)>>pageBits]++
		}
	}
	n := l.window() >> pageBits
	least, best, most := 0, int(l.index(1)>>pageBits), 0
	for first := 1; first+n < len(pages); first++ {
		in := 0
		for _, k := range pages[first : first+n] {
			in += k
		}
		if in > most {
			least, most = first, in
		}
		if in == most && in > 0 {
			best = first
		}
	}
	if most > 0 {
		best -= (best - least) / 3 // there may be more on both sides, rather above
	}
	// The first bucket that is too large: the last of maxDenseBits has values that
	// rounding makes so.
	top := uint64(maxDenseBits-math.Ilogb(unit)-minExp)<<l.s - 1
	from := uint64(best-1) << pageBits
	return &place{best, wide.Window{Shift: l.shift, Base: from + l.base, Width: min(uint64(n)<<pageBits, max(top, from)-from)}}
}

// An account is what is known of the values of a leaf besides their sums and
// their histogram. While these are kept as they are it has their extremes only.
type account struct {
	open     bool // they have a histogram
	zeros    uint64
	min, max float64 // of those kept and those beyond the window; of all where the family wants extremes
}

// stagger is what a slot is longer than its counters. Values of all leaves are
// of one magnitude: were slots a page apart, they would share a few sets of the
// cache.
const stagger = 5 << 6

// A slab holds the histograms of one metric in all leaves of a family.
type slab struct {
	*place
	stride   uint64  // of a slot in counts
	counts   []uint8 // a slot: width buckets, nothing, zeros; what runs over goes to pages
	accounts []account
}

// noSlot is the slot of rows whose leaf has no values: they did not complete.
const noSlot = 0

// slotOf returns the slot of a leaf, giving it one where it has none.
func (s *stock) slotOf(leaf uint32) uint16 {
	if s.slots[leaf] == noSlot {
		s.slots[leaf] = uint32(len(s.owners))
		s.owners = append(s.owners, leaf)
	}
	return uint16(s.slots[leaf])
}

// settle gives each row the slot of its leaf.
func (s *stock) settle(dst []uint16, leaves []uint32, c *chunk) []uint16 {
	dst = sized(dst, len(leaves))
	for row := 0; row < len(leaves); row++ {
		if row += wide.Settle(dst[row:], leaves[row:], c.state[row:], outcomeBits, s.slots); row == len(leaves) {
			break
		}
		dst[row] = noSlot
		if c.ok(row) {
			dst[row] = s.slotOf(leaves[row])
		}
	}
	return dst
}

// slotsOf gives each row the slot of its leaf, where all leaves are known.
func (s *stock) slotsOf(dst []uint16, leaves []uint32) []uint16 {
	dst = sized(dst, len(leaves))
	for row, leaf := range leaves {
		dst[row] = uint16(s.slots[leaf])
	}
	return dst
}

// slab returns the slab of a metric, with room for all slots.
func (s *stock) slab(m int, unit float64, x []float64) *slab {
	b := s.slabs[m]
	if b == nil {
		p := s.f.places.find(m, &s.f.scale, unit, x)
		b = &slab{place: p, stride: p.Width + stagger}
		s.slabs[m] = b
	}
	if n := len(s.owners); n > len(b.accounts) {
		// Room for all at once: what is not used is never touched, and room that
		// is outgrown would be touched twice.
		n = max(n, int(s.f.values)+1)
		b.counts = append(make([]uint8, 0, uint64(n)*b.stride), b.counts...)[:uint64(n)*b.stride]
		b.accounts = append(make([]account, 0, n), b.accounts...)
		for len(b.accounts) < n {
			b.accounts = append(b.accounts, account{min: math.Inf(1), max: math.Inf(-1)})
		}
	}
	return b
}

func (s *stock) keep(a *acc, x float64) {
	if len(a.raw) == cap(a.raw) {
		a.raw = s.raws.grow(a.raw, s.f.raw)
	}
	a.raw = append(a.raw, x)
}

func (a *acc) addSum(x, unit float64) {
	if q, ok := fixed(x, unit); ok {
		a.sums.add(q)
	} else {
		a.sums.addWide(x)
	}
}

// open turns the values of a leaf that were kept into its histogram.
func (s *stock) open(m int, b *slab, slot uint16) {
	t, a := &b.accounts[slot], &s.accs[m][s.owners[slot]]
	t.open = true
	// Memory that is read before it is first written to has two faults a page, and
	// the second interrupts the other threads. Most of a window is never used.
	from, to := b.Width, uint64(0)
	for _, x := range a.raw {
		if k := math.Float64bits(x)>>b.Shift - b.Base; k < b.Width {
			from, to = min(from, k), max(to, k+1)
		}
	}
	if from < to {
		clear(b.counts[uint64(slot)*b.stride:][from:to])
	}
	for _, x := range a.raw {
		s.put(m, b, slot, x)
	}
	s.raws.put(a.raw)
	a.raw = nil
}

// put counts a value in its bucket.
func (s *stock) put(m int, b *slab, slot uint16, x float64) {
	if x == 0 {
		b.accounts[slot].zeros++
		return
	}
	k := math.Float64bits(x)>>b.Shift - b.Base
	if k >= b.Width {
		s.count(s.paged(m, slot), s.f.scale.index(x), 1)
		return
	}
	at := uint64(slot)*b.stride + k
	b.counts[at]++
	if b.counts[at] == 0 {
		s.spill(m, b, slot, k)
	}
}

// spill moves what a counter of 8 bits cannot hold to a larger one. Small ones
// are quick: four times as many of them are in the cache.
func (s *stock) spill(m int, b *slab, slot uint16, k uint64) {
	switch {
	case k < b.Width:
		s.count(s.paged(m, slot), uint16(b.page<<pageBits+int(k)), 1<<8)
	case k == b.Width+1:
		b.accounts[slot].zeros += 1 << 8
	}
}

// paged returns the acc of a slot, with pages.
func (s *stock) paged(m int, slot uint16) *acc {
	a := &s.accs[m][s.owners[slot]]
	if a.pages == nil {
		a.pages = make([]*page, s.f.scale.pages())
	}
	return a
}

// mergeSlab takes in the slab of a metric of another stock; leaves are its
// leaves' numbers in this one.
func (s *stock) mergeSlab(m int, o *stock, leaves []uint32) {
	from := o.slabs[m]
	if from == nil {
		return
	}
	for _, leaf := range o.owners[1:] {
		s.slotOf(leaves[leaf])
	}
	b := s.slab(m, 1, nil) // its place is known by now
	for i := 1; i < min(len(o.owners), len(from.accounts)); i++ {
		leaf := o.owners[i]
		s.mergeAccount(m, b, s.slotOf(leaves[leaf]), &o.accs[m][leaf], from, uint16(i))
	}
	o.slabs[m], o.accs[m] = nil, nil
}

// mergeAccount takes in an account of another slab, and the acc that goes with
// it.
func (s *stock) mergeAccount(m int, b *slab, to uint16, a *acc, from *slab, slot uint16) {
	t, u := &from.accounts[slot], &b.accounts[to]
	d := &s.accs[m][s.owners[to]]
	d.sums.merge(&a.sums)
	u.min, u.max = min(u.min, t.min), max(u.max, t.max)
	if !t.open && !u.open && len(a.raw)+len(d.raw) <= s.f.raw {
		d.raw = append(d.raw, a.raw...)
		return
	}
	if !u.open {
		s.open(m, b, to)
	}
	for _, x := range a.raw {
		s.put(m, b, to, x)
	}
	u.zeros += from.zeros(slot)
	counts := from.slot(slot)
	k, end := used(counts)
	s.mergeCounts(m, b, to, uint64(k), counts[k:end])
	for k, pg := range a.pages {
		if pg != nil {
			s.addPage(s.paged(m, to), k, pg)
		}
	}
}

// slot returns the counters of a slot's buckets.
func (b *slab) slot(slot uint16) []uint8 {
	return b.counts[uint64(slot)*b.stride:][:b.Width]
}

// zeros returns how many zeros a slot has.
func (b *slab) zeros(slot uint16) uint64 {
	return b.accounts[slot].zeros + uint64(b.counts[uint64(slot)*b.stride+b.Width+1])
}

// mergeCounts adds counters from the one of bucket first on.
func (s *stock) mergeCounts(m int, b *slab, slot uint16, first uint64, counts []uint8) {
	into := b.counts[uint64(slot)*b.stride+first:][:len(counts)]
	for k, n := range counts {
		if into[k] += n; into[k] < n {
			s.spill(m, b, slot, first+uint64(k))
		}
	}
}

// used returns which counters have counted, the first from a whole page on. Most
// have not: eight are looked at at a time.
func used(counts []uint8) (from, to int) {
	for to = len(counts); to >= 8 && binary.LittleEndian.Uint64(counts[to-8:]) == 0; to -= 8 {
	}
	for to > 0 && counts[to-1] == 0 {
		to--
	}
	for from+8 <= to && binary.LittleEndian.Uint64(counts[from:]) == 0 {
		from += 8
	}
	return from &^ (pageSize - 1), to
}

// link gives the leaves of a metric what its slab knows of them. Their counters
// stay where they are.
func (s *stock) link(m int) {
	b := s.slabs[m]
	if b == nil {
		return
	}
	for slot := 1; slot < min(len(s.owners), len(b.accounts)); slot++ {
		t, a := &b.accounts[slot], &s.accs[m][s.owners[slot]]
		a.min, a.max, a.n = t.min, t.max, int64(len(a.raw))
		if !t.open {
			continue
		}
		s.paged(m, uint16(slot))
		counts, zeros := b.slot(uint16(slot)), b.zeros(uint16(slot))
		from, to := used(counts)
		a.near, a.nearPage = counts[from:to], b.page+from>>pageBits
		if a.n = a.counted() + int64(zeros); zeros > 0 {
			s.count(a, bucketZero, uint32(zeros))
		}
		if !s.f.extremes {
			a.enclose(&s.f.scale)
		}
	}
	s.slabs[m] = nil
}

// enclose widens the extremes to the bounds of the first and the last bucket that
// have values. What they are is found by the second scan.
func (a *acc) enclose(l *scale) {
	first, last := len(a.pages)<<pageBits, -1
	span := func(from, to int) { first, last = min(first, from), max(last, to) }
	for i, pg := range a.pages {
		if pg == nil {
			continue
		}
		if from, to := ends(pg[:]); from <= to {
			span(i<<pageBits+from, i<<pageBits+to)
		}
	}
	if from, to := ends(a.near); from <= to {
		span(a.nearPage<<pageBits+from, a.nearPage<<pageBits+to)
	}
	if last < first {
		return
	}
	if lo, _ := l.bounds(uint16(first)); !math.IsInf(lo, 0) {
		a.min = min(a.min, lo)
	}
	if _, hi := l.bounds(uint16(last)); !math.IsInf(hi, 0) {
		a.max = max(a.max, hi)
	}
}

// ends returns the first and the last counter that has counted; from > to where
// none has.
func ends[T uint8 | uint32](counts []T) (from, to int) {
	for from < len(counts) && counts[from] == 0 {
		from++
	}
	for to = len(counts) - 1; to > from && counts[to] == 0; to-- {
	}
	return from, to
}

// counted returns how many values a histogram has.
func (a *acc) counted() int64 {
	n := int64(0)
	for _, k := range a.near {
		n += int64(k)
	}
	for _, pg := range a.pages {
		if pg != nil {
			for _, k := range pg {
				n += int64(k)
			}
		}
	}
	return n
}

// link ends the filling of a family: the leaves of a dense one become as any
// other's.
func (w *filler) link(i int) {
	s := w.stocks[i]
	for _, m := range s.f.metric {
		s.link(m)
	}
	if s.f.sums {
		s.sumTokens(w.lay)
	}
}

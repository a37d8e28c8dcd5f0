package cube

import (
	"math"
	"math/bits"
	"sync"

	"github.com/vreport/vreport/ingest/serving"
)

// Families of few leaves, which is most of them, have their histograms side by
// side, one counter a bucket of a window of octaves. The values of a chunk come
// leaf by leaf: then the sums of a leaf stay in registers and its counters in the
// nearest cache, and a value costs a third of what it costs in the order of rows.
// Nothing of it fits all values; those that do not (zeros apart, which are many
// among cached tokens) take addRare, a value at a time.

// denseBytes is what the histograms of one metric may take for a family to be
// filled so.
const denseBytes = 8 << 20

// windowOctaves is how much of the scale has counters: from 10 ms to 10 minutes
// it is 16 octaves.
const windowOctaves = 16

// maxDenseBits bounds values in fixed point, so that the squares of a chunk's
// values add up to less than 2^128.
const maxDenseBits = 54

// A place is the window of a metric's scale that has counters. All goroutines
// use the one that the first of them found.
type place struct {
	page  int    // of the first bucket
	base  uint64 // of the first bits of a value of it
	width uint64 // buckets
}

// places are those of one family, by metric.
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
	top := uint64(maxDenseBits-math.Ilogb(unit)-minExp) << l.s // the first bucket that is too large
	from := uint64(best-1) << pageBits
	return &place{page: best, base: from + l.base, width: min(uint64(n)<<pageBits, max(top, from)-from)}
}

// An account is what is known of the values of a leaf, besides their sums and
// their histogram. While these are kept as they are it counts none.
type account struct {
	n        uint64
	zeros    uint64 // of n
	min, max float64
}

// A slab holds the histograms of one metric in all leaves of a family.
type slab struct {
	*place
	counts   []uint8   // width a slot: what runs over goes to pages
	accounts []account // by slot
}

// A sheaf is a column of values slot by slot.
type sheaf struct {
	x      []float64
	starts []uint32 // of the values of each slot of the order, and the end
	room   []float64
	bounds []uint32
}

// bind orders the values of a column as their rows are.
func (h *sheaf) bind(v *valueColumn, o *leafOrder) {
	switch {
	case v.ends != nil:
		h.room, h.bounds = h.room[:0], append(h.bounds[:0], 0)
		for k := range o.leaves {
			for _, row := range o.rows[o.starts[k]:o.starts[k+1]] {
				from, to := span(v.ends, row)
				h.room = append(h.room, v.x[from:to]...)
			}
			h.bounds = append(h.bounds, uint32(len(h.room)))
		}
		h.x, h.starts = h.room, h.bounds
	case len(o.leaves) == 1:
		h.x, h.starts = v.x, o.starts
	default:
		h.room = sized(h.room, len(o.rows))
		for i, row := range o.rows {
			h.room[i] = v.x[row]
		}
		h.x, h.starts = h.room, o.starts
	}
}

// slot returns the slot of a leaf, giving it one where it has none. Leaves of
// requests that did not complete have no values and get none.
func (s *stock) slotOf(leaf uint32) uint32 {
	if s.slots[leaf] == 0 {
		s.owners = append(s.owners, leaf)
		s.slots[leaf] = uint32(len(s.owners))
	}
	return s.slots[leaf] - 1
}

// settle gives each row the slot of its leaf.
func (s *stock) settle(dst []uint32, leaves []uint32, c *chunk) []uint32 {
	dst = sized(dst, len(leaves))
	for row, leaf := range leaves {
		slot := s.slots[leaf]
		if slot == 0 && c.ok(row) {
			slot = s.slotOf(leaf) + 1
		}
		dst[row] = max(slot, 1) - 1 // no value will come where there is none
	}
	return dst
}

// slotsOf gives each row the slot of its leaf, where all leaves are known.
func (s *stock) slotsOf(dst []uint32, leaves []uint32) []uint32 {
	dst = sized(dst, len(leaves))
	for row, leaf := range leaves {
		dst[row] = max(s.slots[leaf], 1) - 1
	}
	return dst
}

// slab returns the slab of a metric, with room for all slots.
func (s *stock) slab(m int, unit float64, x []float64) *slab {
	b := s.slabs[m]
	if b == nil {
		b = &slab{place: s.f.places.find(m, &s.f.scale, unit, x)}
		s.slabs[m] = b
	}
	if n := max(len(s.owners), 1); n > len(b.accounts) {
		// Room for all at once: what is not used is never touched, and room that
		// is outgrown would be touched twice.
		n = max(n, int(s.f.values))
		b.counts = append(make([]uint8, 0, uint64(n)*b.width), b.counts...)[:uint64(n)*b.width]
		b.accounts = append(make([]account, 0, n), b.accounts...)
		for len(b.accounts) < n {
			b.accounts = append(b.accounts, account{min: math.Inf(1), max: math.Inf(-1)})
		}
	}
	return b
}

// fill adds a column of values to the leaves in their slots. Those of requests
// that did not complete have to be NaN.
func (s *stock) fill(m int, unit float64, v *sheaf, o *leafOrder) {
	b := s.slab(m, unit, v.x)
	for i, slot := range o.leaves {
		x := v.x[v.starts[i]:v.starts[i+1]]
		if b.accounts[slot].n == 0 {
			x = s.keepRaw(m, b, unit, slot, x)
		}
		for len(x) > 0 {
			n := min(len(x), sumRows)
			s.tally(m, b, unit, slot, x[:n])
			x = x[n:]
		}
	}
}

// sumRows is how many values within maxDenseBits add up to less than 2^64.
const sumRows = 1 << (64 - maxDenseBits)

// tally counts some values of a leaf that has a histogram.
func (s *stock) tally(m int, b *slab, unit float64, slot uint32, x []float64) {
	counts, base, shift := b.counts[uint64(slot)*b.width:][:b.width], b.base, s.f.scale.shift&63
	var n, zeros, sum, s0, s1, c uint64
	least, most := uint64(math.MaxUint64), uint64(0) // positive numbers are ordered as their bits
	for _, v := range x {
		f := math.Float64bits(v)
		k := f>>shift - base
		if k >= uint64(len(counts)) {
			if v == 0 {
				zeros++
			} else if v == v {
				s.addRare(m, b, unit, slot, v)
			}
			continue
		}
		counts[k]++
		if counts[k] == 0 {
			s.spill(m, b, slot, k)
		}
		q := uint64(int64(v*unit + 0.5))
		h, l := bits.Mul64(q, q)
		n++
		sum += q
		s0, c = bits.Add64(s0, l, 0)
		s1 += h + c
		least, most = min(least, f), max(most, f)
	}
	t := &b.accounts[slot]
	if zeros > 0 {
		t.n += zeros
		t.zeros += zeros
		t.min, t.max = min(t.min, 0), max(t.max, 0)
	}
	if n > 0 {
		t.n += n
		t.min, t.max = min(t.min, math.Float64frombits(least)), max(t.max, math.Float64frombits(most))
		s.accs[m][s.owners[slot]].sums.merge(&sums{lo: sum, s0: s0, s1: s1})
	}
}

// keepRaw keeps values of a leaf as they are, until they are so many that it
// gets a histogram, and returns the rest.
func (s *stock) keepRaw(m int, b *slab, unit float64, slot uint32, x []float64) []float64 {
	t := &b.accounts[slot]
	for i, v := range x {
		if v != v {
			continue
		}
		a := &s.accs[m][s.owners[slot]]
		if len(a.raw) >= s.f.raw {
			s.open(m, b, slot)
			return x[i:]
		}
		t.min, t.max = min(t.min, v), max(t.max, v)
		a.addSum(v, unit)
		s.keep(a, v)
	}
	return nil
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

// addRare adds a value that is beyond the window.
func (s *stock) addRare(m int, b *slab, unit float64, slot uint32, x float64) {
	t, a := &b.accounts[slot], &s.accs[m][s.owners[slot]]
	t.min, t.max = min(t.min, x), max(t.max, x)
	a.addSum(x, unit)
	t.n++
	s.put(m, b, slot, x)
}

// open turns the values of a leaf that were kept into its histogram.
func (s *stock) open(m int, b *slab, slot uint32) {
	t, a := &b.accounts[slot], &s.accs[m][s.owners[slot]]
	for _, x := range a.raw {
		s.put(m, b, slot, x)
	}
	t.n += uint64(len(a.raw))
	s.raws.put(a.raw)
	a.raw = nil
}

// put counts a value in its bucket.
func (s *stock) put(m int, b *slab, slot uint32, x float64) {
	if x == 0 {
		b.accounts[slot].zeros++
		return
	}
	k := math.Float64bits(x)>>s.f.scale.shift - b.base
	if k >= b.width {
		s.count(s.paged(m, slot), s.f.scale.index(x), 1)
		return
	}
	at := uint64(slot)*b.width + k
	b.counts[at]++
	if b.counts[at] == 0 {
		s.spill(m, b, slot, k)
	}
}

// spill moves what a counter of 8 bits cannot hold to a larger one. Small ones
// are quick: twice as many of them are in the cache.
func (s *stock) spill(m int, b *slab, slot uint32, k uint64) {
	s.count(s.paged(m, slot), uint16(b.page<<pageBits+int(k)), 1<<8)
}

// paged returns the acc of a slot, with pages.
func (s *stock) paged(m int, slot uint32) *acc {
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
	for _, leaf := range o.owners {
		s.slotOf(leaves[leaf])
	}
	b := s.slab(m, 1, nil) // its place is known by now
	for i, leaf := range o.owners[:min(len(o.owners), len(from.accounts))] {
		to, t := s.slotOf(leaves[leaf]), &from.accounts[i]
		a, d := &o.accs[m][leaf], &s.accs[m][leaves[leaf]]
		d.sums.merge(&a.sums)
		u := &b.accounts[to]
		u.min, u.max = min(u.min, t.min), max(u.max, t.max)
		if t.n == 0 && u.n == 0 && len(a.raw)+len(d.raw) <= s.f.raw {
			d.raw = append(d.raw, a.raw...)
			continue
		}
		if u.n == 0 {
			s.open(m, b, to)
		}
		for _, x := range a.raw {
			s.put(m, b, to, x)
		}
		u.n += t.n + uint64(len(a.raw))
		u.zeros += t.zeros
		k, end := s.f.scale.used(from.place, t)
		s.mergeCounts(m, b, to, k, from.counts[uint64(i)*from.width:][k:end])
		for k, pg := range a.pages {
			if pg != nil {
				s.addPage(s.paged(m, to), k, pg)
			}
		}
	}
	o.slabs[m], o.accs[m] = nil, nil
}

// mergeCounts adds counters from the one of bucket first on.
func (s *stock) mergeCounts(m int, b *slab, slot uint32, first uint64, counts []uint8) {
	into := b.counts[uint64(slot)*b.width+first:][:len(counts)]
	for k, n := range counts {
		if into[k] += n; into[k] < n {
			s.spill(m, b, slot, first+uint64(k))
		}
	}
}

// used returns which counters of an account, to whole pages, may have counted:
// from the one of its least value to that of its greatest. The others were never
// touched, and need not be for being zero.
func (l *scale) used(p *place, t *account) (from, to uint64) {
	at := func(x float64) uint64 {
		if k := math.Float64bits(max(x, 0)) >> l.shift; k > p.base {
			return min(k-p.base, p.width)
		}
		return 0
	}
	if t.n == 0 {
		return 0, 0
	}
	from, to = at(t.min)&^(pageSize-1), min(at(t.max)+1, p.width)
	return min(from, to), to
}

// link gives the leaves of a metric what its slab knows of them. Their counters
// stay where they are: memory that is not touched costs nothing.
func (s *stock) link(m int) {
	b := s.slabs[m]
	if b == nil {
		return
	}
	for slot, leaf := range s.owners[:min(len(s.owners), len(b.accounts))] {
		t, a := &b.accounts[slot], &s.accs[m][leaf]
		a.min, a.max, a.n = t.min, t.max, int64(len(a.raw))
		if t.n == 0 {
			continue
		}
		a.n = int64(t.n)
		s.paged(m, uint32(slot))
		if t.zeros > 0 {
			s.count(a, bucketZero, uint32(t.zeros))
		}
		from, to := s.f.scale.used(b.place, t)
		a.near, a.nearPage = b.counts[uint64(slot)*b.width:][from:to], b.page+int(from>>pageBits)
	}
	s.slabs[m] = nil
}

// A stateCounts counts rows by leaf and by what became of them.
type stateCounts []uint32

const states = 32 // outcome, goodBit, wholeBit

func (n stateCounts) add(leaves []uint32, state []uint8) {
	state = state[:len(leaves)]
	for row, leaf := range leaves {
		n[leaf*states+uint32(state[row]&(states-1))]++
	}
}

// move adds the counts to the leaves and starts anew.
func (n stateCounts) move(to []leafCounts) {
	for leaf := range to {
		k := &to[leaf]
		for st, rows := range n[leaf*states : (leaf+1)*states] {
			if rows == 0 {
				continue
			}
			k.sent += int64(rows)
			k.outcomes[st&outcomeBits] += int64(rows)
			if st&goodBit != 0 {
				k.good += int64(rows)
			}
		}
	}
	clear(n)
}

// addTokens adds up the tokens of completed requests by leaf. Arrival is mostly
// in order, so the rows of a time window come one after the other.
func (s *stock) addTokens(leaves []uint32, c *chunk) {
	prompt, output, cached := c.column(c.lay.prompt), c.column(c.lay.output), c.column(c.lay.cached)
	var k leafCounts
	last := uint32(0)
	for row, leaf := range leaves {
		if leaf != last {
			s.counts[last].merge(&k)
			k, last = leafCounts{}, leaf
		}
		if !c.ok(row) {
			continue
		}
		p, known := tokenAt(prompt, row)
		k.input += p
		if n, ok := tokenAt(cached, row); ok && known {
			k.cached += n
			k.cachedOf += p
		}
		n, _ := tokenAt(output, row)
		k.output += n
	}
	if len(leaves) > 0 {
		s.counts[last].merge(&k)
	}
}

// addUncached notes the tokens that cannot be told from the sums of the token
// metrics: prompts of which nobody says what was cached, and the reverse.
func (s *stock) addUncached(leaves []uint32, c *chunk) {
	lay := c.lay
	if lay.cached < 0 || !c.holes[lay.cached] && (lay.prompt < 0 || !c.holes[lay.prompt]) {
		return
	}
	prompt, cached := c.column(lay.prompt), c.column(lay.cached)
	for row, leaf := range leaves {
		p, known := tokenAt(prompt, row)
		n, ok := tokenAt(cached, row)
		switch {
		case known == ok || !c.ok(row):
		case known:
			s.counts[leaf].cachedOf -= p
		default:
			s.counts[leaf].cached -= n
		}
	}
}

// sumTokens takes the leaves' tokens from their token metrics, which count the
// same values.
func (s *stock) sumTokens(lay *layout) {
	for leaf := range s.counts {
		k := &s.counts[leaf]
		sum := func(m int) int64 {
			if m < 0 {
				return 0
			}
			return int64(s.accs[m][leaf].sums.lo)
		}
		k.input, k.output = sum(lay.prompt), sum(lay.output)
		if lay.cached >= 0 && lay.prompt >= 0 {
			k.cached += sum(lay.cached)
			k.cachedOf += k.input
		}
	}
}

// sumsTokens reports whether sumTokens is for this family: it has the metrics,
// as whole numbers.
func (f *family) sumsTokens(lay *layout) bool {
	for _, m := range []int{lay.prompt, lay.output, lay.cached} {
		if m >= 0 && (!f.shown[m] || lay.metrics[m].kind != serving.KindCount) {
			return false
		}
	}
	return f.dense
}

// column returns the values of a metric; nil where there are none.
func (t *table) column(metric int) []float64 {
	if metric < 0 || len(t.values[metric]) == 0 {
		return nil
	}
	return t.values[metric]
}

func tokenAt(column []float64, row int) (int64, bool) {
	if column == nil {
		return 0, false
	}
	v := column[row]
	if !(v > -1<<62 && v < 1<<62) { // missing, or no count at all
		return 0, false
	}
	return int64(v), true
}

// blank makes the values of requests that did not complete missing: they are
// counted, not summarized.
func (c *chunk) blank() {
	for row := range c.state {
		if c.ok(row) {
			continue
		}
		for m := range c.values {
			if len(c.values[m]) > 0 {
				c.values[m][row] = math.NaN()
			}
			if g := &c.gaps[m]; len(g.ends) > 0 {
				from, to := span(g.ends, uint32(row))
				for i := from; i < to; i++ {
					g.gaps[i] = math.NaN()
				}
			}
		}
	}
}

// link ends the filling: leaves of dense families become as any other's.
func (w *filler) link() {
	for _, s := range w.stocks {
		for _, m := range s.f.metric {
			s.link(m)
		}
		if s.f.sums {
			s.sumTokens(w.lay)
		}
	}
}

package cube

import (
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// An acc is what a leaf knows of a metric. Up to a limit it keeps the values as
// they are, then their histogram.
type acc struct {
	n        int64
	min, max float64
	sums     sums
	raw      []float64
	pages    []*page // of the histogram; nil while the values are raw
	lo, hi   uint16  // buckets of min and max

	// Of a dense family, once it is filled: counters of consecutive pages, to be
	// added to those of pages.
	near     []uint8
	nearPage int
}

// page returns the counts of a page of the histogram, nil where there are none.
// into is room for them.
func (a *acc) page(i int, into *page) *page {
	pg, near := a.pages[i], a.nearby(i)
	if near == nil {
		return pg
	}
	*into = page{}
	for k, n := range near {
		into[k] = uint32(n)
	}
	if pg != nil {
		for k, n := range pg {
			into[k] += n
		}
	}
	return into
}

// nearby returns the near counters of a page.
func (a *acc) nearby(i int) []uint8 {
	if k := (i - a.nearPage) << pageBits; k >= 0 && k < len(a.near) {
		return a.near[k:min(k+pageSize, len(a.near))]
	}
	return nil
}

// in returns how many values of the histogram are in a bucket.
func (a *acc) in(b uint16) int64 {
	n := int64(0)
	if pg := a.pages[b>>pageBits]; pg != nil {
		n = int64(pg[b&(pageSize-1)])
	}
	if near := a.nearby(int(b >> pageBits)); int(b&(pageSize-1)) < len(near) {
		n += int64(near[b&(pageSize-1)])
	}
	return n
}

// A stock is the leaves of one family that one goroutine fills.
type stock struct {
	f      *family
	table  keyTable
	counts []leafCounts
	states stateCounts
	within []int64 // by leaf and limit
	of     []int64
	accs   [][]acc // by metric of the layout, by leaf
	pool   pagePool
	raws   rawPool
	over   bool // a counter ran over

	// Of a dense family: the leaves that have values are numbered by slots.
	slots  []uint32 // by leaf: its slot, of 16 bits, or noSlot
	owners []uint32 // by slot: its leaf; that of noSlot is none
	slabs  []*slab  // by metric
}

func newStock(lay *layout, f *family) *stock {
	return &stock{f: f, table: newKeyTable(f.size), accs: make([][]acc, len(lay.metrics)),
		owners: make([]uint32, 1), slabs: make([]*slab, len(lay.metrics))}
}

// grow makes room for new leaves.
func (s *stock) grow(limits int) {
	n := len(s.table.keys)
	for len(s.counts) < n {
		s.counts, s.slots = append(s.counts, leafCounts{}), append(s.slots, 0)
		s.states = append(s.states, make(stateCounts, states)...)
		for range limits {
			s.within, s.of = append(s.within, 0), append(s.of, 0)
		}
	}
	for _, m := range s.f.metric {
		s.accs[m] = slices.Grow(s.accs[m], n-len(s.accs[m]))
		for len(s.accs[m]) < n {
			s.accs[m] = append(s.accs[m], acc{min: math.Inf(1), max: math.Inf(-1), lo: math.MaxUint16})
		}
	}
}

// add adds a value: its bucket, and its fixed-point form unless wide.
func (s *stock) add(a *acc, x float64, q int64, wide bool, bucket uint16) {
	a.n++
	if x < a.min {
		a.min = x
	}
	if x > a.max {
		a.max = x
	}
	if wide {
		a.sums.addWide(x)
	} else {
		a.sums.add(q)
	}
	if a.pages != nil {
		s.count(a, bucket, 1)
		return
	}
	if len(a.raw) < s.f.raw {
		if len(a.raw) == cap(a.raw) {
			a.raw = s.raws.grow(a.raw, s.f.raw)
		}
		a.raw = append(a.raw, x)
		return
	}
	s.toHistogram(a)
	s.count(a, bucket, 1)
}

func (s *stock) count(a *acc, bucket uint16, n uint32) {
	pg := a.pages[bucket>>pageBits]
	if pg == nil {
		pg = s.pool.get()
		a.pages[bucket>>pageBits] = pg
	}
	k := &pg[bucket&(pageSize-1)]
	*k += n
	s.over = s.over || *k < n
}

func (s *stock) toHistogram(a *acc) {
	a.pages = make([]*page, s.f.scale.pages())
	for _, x := range a.raw {
		s.count(a, s.f.scale.index(x), 1)
	}
	s.raws.put(a.raw)
	a.raw = nil
}

// merge takes in the leaves of another stock of the same family, and returns
// their numbers in this one.
func (s *stock) merge(o *stock, limits int) []uint32 {
	numbers, _ := s.table.numbers(nil, o.table.keys, false)
	s.grow(limits)
	for i, to := range numbers {
		s.counts[to].merge(&o.counts[i])
		for l := range limits {
			s.within[int(to)*limits+l] += o.within[i*limits+l]
			s.of[int(to)*limits+l] += o.of[i*limits+l]
		}
	}
	for _, m := range s.f.metric {
		if s.f.dense {
			s.mergeSlab(m, o, numbers)
			continue
		}
		for i, to := range numbers {
			s.mergeAcc(&s.accs[m][to], &o.accs[m][i])
		}
		o.accs[m] = nil
	}
	return numbers
}

func (s *stock) mergeAcc(a, b *acc) {
	a.n += b.n
	a.min, a.max = min(a.min, b.min), max(a.max, b.max)
	a.sums.merge(&b.sums)
	if a.pages == nil && b.pages == nil && len(a.raw)+len(b.raw) <= s.f.raw {
		a.raw = append(a.raw, b.raw...)
		return
	}
	if a.pages == nil {
		s.toHistogram(a)
	}
	for _, x := range b.raw {
		s.count(a, s.f.scale.index(x), 1)
	}
	for i, pg := range b.pages {
		if pg != nil {
			s.addPage(a, i, pg)
		}
	}
}

// addPage takes in a page of another histogram.
func (s *stock) addPage(a *acc, i int, pg *page) {
	if a.pages[i] == nil {
		a.pages[i] = pg
		return
	}
	for k, n := range pg {
		a.pages[i][k] += n
		s.over = s.over || a.pages[i][k] < n
	}
}

// A filler is the taker of the main scan.
type filler struct {
	lay      *layout
	plan     *Plan
	asked    [][]match // by limit: terms
	stocks   []*stock
	units    []float64 // by metric
	slowest  []*slowList
	first    int64
	last     int64
	sorter   leafSorter
	rows     []leafRows // by family, of a chunk
	lane     lane
	col      valueColumn
	isAsked  []bool
	uncached []uint32   // rows of a chunk: see listUncached
	tokens   tokenBits  // its scratch
	kept     *keptSlots // nil where slots are not kept
	number   int        // among the fillers
	unmoved  int        // rows since states were last moved, whose counters are of 32 bits
}

// leafRows says where the rows of a chunk belong.
type leafRows struct {
	ids   []uint32  // leaf of each row
	slots []uint16  // of a dense family: its slot
	order leafOrder // of a dense family by slots, else by leaves
	lists leafOrder // of the values of a column of lists
	flat  []uint16  // of these: the slot of each
}

// of returns the order of a column's values.
func (r *leafRows) of(v *valueColumn) *leafOrder {
	if v.ends == nil {
		return &r.order
	}
	o, l := &r.order, &r.lists
	l.leaves, l.starts, l.rows = append(l.leaves[:0], o.leaves...), l.starts[:0], l.rows[:0]
	for i := range o.leaves {
		l.starts = append(l.starts, uint32(len(l.rows)))
		for _, row := range o.rows[o.starts[i]:o.starts[i+1]] {
			from, to := span(v.ends, row)
			for at := from; at < to; at++ {
				l.rows = append(l.rows, at)
			}
		}
	}
	l.starts = append(l.starts, uint32(len(l.rows)))
	return l
}

// slotsOf returns the slot of each of a column's values.
func (r *leafRows) slotsOf(v *valueColumn) []uint16 {
	if v.ends == nil {
		return r.slots
	}
	r.flat = r.flat[:0]
	for row, end := range v.ends {
		for len(r.flat) < int(end) {
			r.flat = append(r.flat, r.slots[row])
		}
	}
	return r.flat
}

// find finds the leaves of a chunk's rows. Frozen, there are no new ones.
func (r *leafRows) find(o *leafSorter, s *stock, c *chunk, frozen bool) (err error) {
	if s.f.shares != nil {
		if o.small, err = s.f.smallKeys(o.small, c); err != nil {
			return err
		}
		r.ids, err = s.table.smallNumbers(r.ids, o.small, frozen)
		return err
	}
	if o.keys, err = s.f.keys(o.keys, c); err != nil {
		return err
	}
	r.ids, err = s.table.numbers(r.ids, o.keys, frozen)
	return err
}

// A valueColumn is the values of one metric of a chunk: with their buckets by
// scale and in fixed point.
type valueColumn struct {
	x      []float64
	ends   []uint32 // of lists: where each row's values end; else a value a row
	q      []int64
	wide   []bool      // nil where all fit
	bucket [3][]uint16 // fine, of time windows, and of the cross to explore; noBucket where there is no value to count
}

// noBucket marks a row that has no value, or did not complete.
const noBucket = math.MaxUint16

// unitOf is how many units of fixed point there are in one of a metric.
func unitOf(m *metric) float64 {
	if m.kind == serving.KindCount {
		return 1
	}
	return 1 << unitBits
}

func (w *filler) take(c *chunk) error {
	if w.unmoved += c.n; w.unmoved > 1<<30 {
		w.finish()
	}
	w.takeTimes(c)
	for _, l := range w.slowest {
		l.take(c)
	}
	w.listUncached(c)
	c.blank()
	for i, s := range w.stocks {
		r := &w.rows[i]
		if err := r.find(&w.sorter, s, c, false); err != nil {
			return err
		}
		s.grow(len(w.lay.limits))
		s.states.add(r.ids, c.state)
		if s.f.sums {
			s.addUncached(r.ids, c, w.uncached)
		} else {
			s.addTokens(r.ids, c)
		}
		if s.f.dense {
			r.slots = s.settle(r.slots, r.ids, c)
			sortLeaves(&w.sorter, &r.order, r.slots, len(s.owners))
		} else {
			sortLeaves(&w.sorter, &r.order, r.ids, len(s.table.keys))
		}
	}
	if w.kept != nil {
		w.kept.note(c, w.number, w.stocks, w.rows)
	}
	if err := w.countLimits(c); err != nil {
		return err
	}
	for m := range w.lay.metrics {
		if w.lay.metrics[m].shown {
			w.addMetric(c, m)
		}
	}
	return nil
}

func (w *filler) takeTimes(c *chunk) {
	for _, a := range c.arrival {
		if a == noTime {
			continue
		}
		if w.last == noTime || a < w.first {
			w.first = a
		}
		w.last = max(w.last, a)
	}
}

// finish has the stocks say all they know in their leaves' counts.
func (w *filler) finish() {
	w.unmoved = 0
	for _, s := range w.stocks {
		s.states.move(s.counts)
	}
}

func (w *filler) countLimits(c *chunk) error {
	n := len(w.lay.limits)
	for l := range n {
		var asked []bool
		if len(w.asked[l]) > 0 {
			w.isAsked = sized(w.isAsked, c.n)
			asked = w.isAsked
			for i := range asked {
				asked[i] = true
			}
			for _, t := range w.asked[l] {
				if err := t.and(asked, c); err != nil {
					return err
				}
			}
		}
		for i, s := range w.stocks {
			for row, leaf := range w.rows[i].ids {
				if (asked == nil || asked[row]) && w.lay.limits[l].asksOf(c.state[row]) {
					s.of[int(leaf)*n+l]++
					s.within[int(leaf)*n+l] += int64(b2i(c.within[l][row]))
				}
			}
		}
	}
	return nil
}

// A match is a term of a limit: which codes of a dimension are meant.
type match struct {
	dim   int
	codes []bool // by code+1
}

func (t *match) and(asked []bool, c *chunk) error {
	codes := c.codes[t.dim]
	for row := range asked {
		k := uint(0)
		if codes != nil {
			k = uint(codes[row] + 1)
		}
		if k >= uint(len(t.codes)) {
			return errChanged
		}
		asked[row] = asked[row] && t.codes[k]
	}
	return nil
}

// addMetric adds the values of a metric to the leaves of all families.
func (w *filler) addMetric(c *chunk, m int) {
	v := &w.col
	v.load(c, m)
	if len(v.x) == 0 {
		return
	}
	w.addDense(m, v)
	fixed := false
	var made [3]bool
	for i, s := range w.stocks {
		if !s.f.shown[m] || s.f.dense {
			continue
		}
		r := &w.rows[i]
		if !fixed {
			fixed = true
			v.fix(w.units[m])
		}
		k := s.f.layer()
		if !made[k] {
			made[k] = true
			v.index(k, &s.f.scale)
		}
		o := &r.order
		for k2, leaf := range o.leaves {
			a := &s.accs[m][leaf]
			rows := o.rows[o.starts[k2]:o.starts[k2+1]]
			switch {
			case v.ends != nil || v.wide != nil || a.pages == nil:
				s.addSlowly(a, v, rows, v.bucket[k])
			default:
				s.addRows(a, v, rows, v.bucket[k])
			}
		}
	}
}

// addDense adds the values of a metric to the leaves of dense families.
func (w *filler) addDense(m int, v *valueColumn) {
	var loaded *place // what the lane is for
	for i, s := range w.stocks {
		if !s.f.shown[m] || !s.f.dense {
			continue
		}
		b := s.slab(m, w.units[m], v.x)
		if loaded != b.place {
			loaded = b.place
			w.lane.load(loaded, w.units[m], v.x)
		}
		r := &w.rows[i]
		s.fill(m, b, &w.lane, r.of(v))
		if len(w.lane.rest) > 0 {
			slots := r.slotsOf(v)
			for _, at := range w.lane.rest {
				s.addRare(m, b, w.units[m], slots[at], v.x[at])
			}
		}
	}
}

// addRows adds the rows of one leaf to its histogram. Where leaves are thousands,
// the rows of each one after the other cost a third of what they cost in their
// own order: its sums stay in registers and its histogram in the nearest cache.
func (s *stock) addRows(a *acc, v *valueColumn, rows []uint32, bucket []uint16) {
	n := int64(0)
	pages := a.pages
	lo, hi := a.lo, a.hi
	sum := sums{lo: a.sums.lo, hi: a.sums.hi, s0: a.sums.s0, s1: a.sums.s1, s2: a.sums.s2}
	q := v.q
	for _, row := range rows {
		b := bucket[row]
		if b == noBucket {
			continue
		}
		pg := pages[b>>pageBits]
		if pg == nil {
			pg = s.pool.get()
			pages[b>>pageBits] = pg
		}
		pg[b&(pageSize-1)]++
		n++
		if b <= lo || b >= hi {
			a.min, a.max = min(a.min, v.x[row]), max(a.max, v.x[row])
			lo, hi = min(lo, b), max(hi, b)
		}
		sum.add(q[row])
	}
	a.n += n
	a.lo, a.hi = lo, hi
	sum.wide = a.sums.wide
	a.sums = sum
}

// addSlowly adds lists, values beyond the scale, and values of leaves that are
// not histograms yet.
func (s *stock) addSlowly(a *acc, v *valueColumn, rows []uint32, bucket []uint16) {
	for _, row := range rows {
		from, to := v.span(row)
		for i := from; i < to; i++ {
			if b := bucket[i]; b != noBucket {
				s.add(a, v.x[i], v.q[i], v.wide != nil && v.wide[i], b)
			}
		}
	}
}

// span returns where the values of a row are.
func (v *valueColumn) span(row uint32) (from, to uint32) {
	if v.ends == nil {
		return row, row + 1
	}
	return span(v.ends, row)
}

// span returns where the values of a row of lists are.
func span(ends []uint32, row uint32) (from, to uint32) {
	if row > 0 {
		from = ends[row-1]
	}
	return from, ends[row]
}

// load points to the values of a metric.
func (v *valueColumn) load(c *chunk, m int) {
	v.x, v.ends = c.values[m], nil
	if g := &c.gaps[m]; len(g.ends) > 0 {
		v.x, v.ends = g.gaps, g.ends
	}
}

// fix converts the values to fixed point.
func (v *valueColumn) fix(unit float64) {
	v.q, v.wide = sized(v.q, len(v.x)), nil
	for i, x := range v.x {
		y := x * unit
		if y >= 0 && y < maxFixed {
			v.q[i] = int64(y + 0.5)
		} else if x == x {
			q, ok := fixed(x, unit)
			v.q[i] = q
			if !ok {
				if v.wide == nil {
					v.wide = make([]bool, len(v.x))
				}
				v.wide[i] = true
			}
		}
	}
}

// index numbers the buckets of the values.
func (v *valueColumn) index(k int, l *scale) {
	bucket := sized(v.bucket[k], len(v.x))
	v.bucket[k] = bucket
	for i, x := range v.x {
		bucket[i] = noBucket
		if x == x {
			bucket[i] = l.index(x)
		}
	}
}

// rawPool lends slices for raw values, by size class, so that leaves on their
// way to a histogram do not leave a trail of outgrown ones.
type rawPool [rawClasses][][]float64

const rawClasses = 4

// grow returns values with room for one more, of limit at most.
func (p *rawPool) grow(old []float64, limit int) []float64 {
	k := 0
	for n := 16; n <= len(old) && k < rawClasses-1; n *= 4 {
		k++
	}
	size := min(16<<(2*k), limit)
	if size <= len(old) {
		size = limit
	}
	var s []float64
	if l := p[k]; len(l) > 0 && cap(l[len(l)-1]) >= size {
		s, p[k] = l[len(l)-1], l[:len(l)-1]
	} else {
		s = make([]float64, 0, size)
	}
	s = append(s[:0], old...)
	p.put(old)
	return s
}

func (p *rawPool) put(s []float64) {
	for k, n := 0, 16; k < rawClasses; k, n = k+1, n*4 {
		if cap(s) == n {
			p[k] = append(p[k], s)
		}
	}
}

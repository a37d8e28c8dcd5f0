package cube

import (
	"math"

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
}

// A stock is the leaves of one family that one goroutine fills.
type stock struct {
	f      *family
	table  keyTable
	counts []leafCounts
	within []int64 // by leaf and limit
	of     []int64
	accs   [][]acc // by metric of the layout, by leaf
	pool   pagePool
	raws   rawPool
}

func newStock(lay *layout, f *family) *stock {
	return &stock{f: f, table: newKeyTable(f.size), accs: make([][]acc, len(lay.metrics))}
}

// grow makes room for new leaves.
func (s *stock) grow(limits int) {
	n := len(s.table.keys)
	for len(s.counts) < n {
		s.counts = append(s.counts, leafCounts{})
		for range limits {
			s.within, s.of = append(s.within, 0), append(s.of, 0)
		}
	}
	for _, m := range s.f.metric {
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
		s.count(a, bucket)
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
	s.count(a, bucket)
}

func (s *stock) count(a *acc, bucket uint16) {
	pg := a.pages[bucket>>pageBits]
	if pg == nil {
		pg = s.pool.get()
		a.pages[bucket>>pageBits] = pg
	}
	pg[bucket&(pageSize-1)]++
}

func (s *stock) toHistogram(a *acc) {
	a.pages = make([]*page, s.f.scale.pages())
	for _, x := range a.raw {
		s.count(a, s.f.scale.index(x))
	}
	s.raws.put(a.raw)
	a.raw = nil
}

// merge takes in the leaves of another stock of the same family.
func (s *stock) merge(o *stock, limits int) {
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
		for i, to := range numbers {
			s.mergeAcc(&s.accs[m][to], &o.accs[m][i])
		}
		o.accs[m] = nil
	}
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
		s.count(a, s.f.scale.index(x))
	}
	for i, pg := range b.pages {
		switch {
		case pg == nil:
		case a.pages[i] == nil:
			a.pages[i] = pg
		default:
			for k, n := range pg {
				a.pages[i][k] += n
			}
		}
	}
}

// A filler is the taker of the main scan.
type filler struct {
	lay     *layout
	plan    *Plan
	asked   [][]match // by limit: terms
	stocks  []*stock
	units   []float64 // by metric
	slowest []*slowList
	first   int64
	last    int64
	sorter  leafSorter
	orders  []leafOrder // by family, of the rows of a chunk
	col     valueColumn
	isAsked []bool
}

// A leafOrder lists the rows of a chunk leaf by leaf. A leaf's rows one after the
// other cost a third of what they cost in their own order: its sums stay in
// registers and its histogram in the nearest cache.
type leafOrder struct {
	leaves []uint32 // those that have rows
	starts []uint32 // of each one's rows, and the end
	rows   []uint32
}

// A leafSorter makes leaf orders.
type leafSorter struct {
	keys  []uint64
	ids   []uint32
	count []uint32
}

func (o *leafSorter) sort(dst *leafOrder, s *stock, c *chunk, frozen bool) (err error) {
	if o.keys, err = s.f.keys(o.keys, c); err != nil {
		return err
	}
	if o.ids, err = s.table.numbers(o.ids, o.keys, frozen); err != nil {
		return err
	}
	o.count = sized(o.count, len(s.table.keys))
	clear(o.count)
	for _, id := range o.ids {
		o.count[id]++
	}
	dst.leaves, dst.starts = dst.leaves[:0], dst.starts[:0]
	at := uint32(0)
	for id, n := range o.count {
		if n > 0 {
			dst.leaves, dst.starts = append(dst.leaves, uint32(id)), append(dst.starts, at)
			o.count[id] = at
			at += n
		}
	}
	dst.starts = append(dst.starts, at)
	dst.rows = sized(dst.rows, c.n)
	for row, id := range o.ids {
		dst.rows[o.count[id]] = uint32(row)
		o.count[id]++
	}
	return nil
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
	for _, a := range c.arrival {
		if a == noTime {
			continue
		}
		if w.last == noTime || a < w.first {
			w.first = a
		}
		w.last = max(w.last, a)
	}
	for i, s := range w.stocks {
		if err := w.sorter.sort(&w.orders[i], s, c, false); err != nil {
			return err
		}
		s.grow(len(w.lay.limits))
		w.countRows(s, &w.orders[i], c)
	}
	if err := w.countLimits(c); err != nil {
		return err
	}
	for m := range w.lay.metrics {
		if w.lay.metrics[m].shown {
			w.addMetric(c, m)
		}
	}
	for _, l := range w.slowest {
		l.take(c)
	}
	return nil
}

func (w *filler) countRows(s *stock, o *leafOrder, c *chunk) {
	for i, leaf := range o.leaves {
		var k leafCounts
		for _, row := range o.rows[o.starts[i]:o.starts[i+1]] {
			k.sent++
			st := c.state[row]
			k.outcomes[st&outcomeBits]++
			if st&goodBit != 0 {
				k.good++
			}
			if st&outcomeBits != uint8(serving.OK) {
				continue
			}
			prompt, known := c.tokens(w.lay.prompt, int(row))
			k.input += prompt
			output, _ := c.tokens(w.lay.output, int(row))
			k.output += output
			if cached, ok := c.tokens(w.lay.cached, int(row)); ok && known {
				k.cached += cached
				k.cachedOf += prompt
			}
		}
		s.counts[leaf].merge(&k)
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
			o := &w.orders[i]
			for k, leaf := range o.leaves {
				var of, within int64
				for _, row := range o.rows[o.starts[k]:o.starts[k+1]] {
					if (asked == nil || asked[row]) && w.lay.limits[l].asksOf(c.state[row]) {
						of++
						within += int64(b2i(c.within[l][row]))
					}
				}
				s.of[int(leaf)*n+l] += of
				s.within[int(leaf)*n+l] += within
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
	v.fix(w.units[m])
	var made [3]bool
	for i, s := range w.stocks {
		if !s.f.shown[m] {
			continue
		}
		k := s.f.layer()
		if !made[k] {
			made[k] = true
			v.index(k, &s.f.scale, c)
		}
		o := &w.orders[i]
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

// addRows is the innermost loop of a scan: rows of one leaf into its histogram.
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
	if row > 0 {
		from = v.ends[row-1]
	}
	return from, v.ends[row]
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

// index numbers the buckets of the values that count: those of completed
// requests.
func (v *valueColumn) index(k int, l *scale, c *chunk) {
	bucket := sized(v.bucket[k], len(v.x))
	v.bucket[k] = bucket
	for i, x := range v.x {
		bucket[i] = noBucket
		if x == x {
			bucket[i] = l.index(x)
		}
	}
	for row, s := range c.state {
		if s&outcomeBits == uint8(serving.OK) {
			continue
		}
		from, to := v.span(uint32(row))
		for i := from; i < to; i++ {
			bucket[i] = noBucket
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

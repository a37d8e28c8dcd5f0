package cube

import (
	"context"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/serving"
)

// The second scan keeps the values in the buckets of wanted ranks, and nothing
// else.

// gatherBytes bounds the values that are kept at a time: where they are more,
// some metrics wait for a scan of their own.
var gatherBytes = 80 << 20

// A hold keeps the wanted values of one metric in one family.
type hold struct {
	stock  *stock
	wanted []bucketSet // by leaf
	starts []int       // of the values of each slot, and the end
	values []float64
	flags  *flags // of a dense family

	mu    sync.Mutex // whoever has values to put in
	rooms []room     // by slot
}

// A room is what is left of a slot's place in values.
type room struct{ next, end int }

// flags say of the buckets in a slab's window which are wanted: a look-up a
// value.
type flags struct {
	*place
	bits   []uint64 // by slot and bucket
	slot   []uint32 // by word of bits: the slot of its first wanted bucket
	beyond bool     // there are wanted buckets that are not in the window
}

// flag makes the flags of a metric's wanted buckets.
func (h *hold) flag(m int) {
	s := h.stock
	if !s.f.dense || s.f.places.of[m] == nil {
		return
	}
	f := &flags{place: s.f.places.of[m]}
	words := f.stride()
	f.bits, f.slot = make([]uint64, words*len(s.owners)), make([]uint32, words*len(s.owners))
	for slot, leaf := range s.owners {
		if slot == noSlot {
			continue
		}
		for i, pg := range h.wanted[leaf] {
			at := (i - f.page) * pageSize / 64
			if pg == nil {
				continue
			}
			if at < 0 || at >= int(f.width+63)/64 {
				f.beyond = true
				continue
			}
			n := copy(f.bits[slot*words+at:(slot+1)*words], pg.bits[:])
			copy(f.slot[slot*words+at:][:n], pg.slot[:])
			for k := int(f.width); k < (at+n)<<6; k++ { // the window may end within a page
				f.bits[slot*words+k>>6] &^= 1 << (k & 63)
				f.beyond = true
			}
		}
	}
	h.flags = f
}

// stride is how many words of bits a slot has, and a line of the cache more.
func (f *flags) stride() int { return int(f.width+63)/64 + 8 }

// gather finds the values at the wanted ranks.
func (f *finisher) gather(ctx context.Context, src serving.Requests) error {
	holds := make([][]*hold, len(f.lay.metrics))
	size := make([]int, len(f.lay.metrics))
	err := each(ctx, f.workers, len(holds), func() func(int) {
		return func(m int) {
			if len(f.pending[m]) > 0 {
				holds[m] = f.holds(m)
				for _, h := range holds[m] {
					if h != nil {
						size[m] += 8 * h.starts[len(h.starts)-1]
					}
				}
			}
		}
	})
	if err != nil {
		return err
	}
	// Histograms have told what they know: the room is for values now.
	for _, s := range f.stocks {
		for m := range s.accs {
			for i := range s.accs[m] {
				s.accs[m][i].pages, s.accs[m][i].near = nil, nil
			}
		}
		s.pool = pagePool{}
	}
	room := f.plan.room()
	var round []int
	total := 0
	for m := range holds {
		if holds[m] == nil {
			continue
		}
		if len(round) > 0 && total+size[m] > room {
			if err := f.round(ctx, src, round, holds); err != nil {
				return err
			}
			round, total = round[:0], 0
		}
		round, total = append(round, m), total+size[m]
	}
	if len(round) == 0 {
		return ctx.Err()
	}
	return f.round(ctx, src, round, holds)
}

// holds lists the wanted buckets of each leaf, by family.
func (f *finisher) holds(m int) []*hold {
	out := make([]*hold, len(f.stocks))
	for _, p := range f.pending[m] {
		i := slices.Index(f.stocks, p.stock)
		if out[i] == nil {
			n := len(p.stock.table.keys)
			out[i] = &hold{stock: p.stock, wanted: make([]bucketSet, n)}
		}
		out[i].want(m, p)
	}
	for _, h := range out {
		if h == nil {
			continue
		}
		for leaf := range h.stock.accs[m] {
			slices.Sort(h.stock.accs[m][leaf].raw) // pick looks into them
		}
		h.number(m)
		h.flag(m)
	}
	return out
}

// number gives each wanted bucket of each leaf a slot with room for its values.
func (h *hold) number(m int) {
	slots := uint32(0)
	for _, w := range h.wanted {
		slots = w.number(slots)
	}
	h.starts, h.rooms = make([]int, 1, slots+1), make([]room, slots)
	var counts page
	for leaf, w := range h.wanted {
		a := &h.stock.accs[m][leaf]
		for i, pg := range w {
			if pg == nil {
				continue
			}
			for k, n := range a.page(i, &counts) {
				if pg.bits[k>>6]>>(k&63)&1 != 0 {
					h.starts = append(h.starts, h.starts[len(h.starts)-1]+int(n))
				}
			}
		}
	}
}

func (h *hold) want(m int, p *pending) {
	for _, leaf := range p.leaves {
		a := &h.stock.accs[m][leaf]
		if a.pages == nil {
			continue // its values are there
		}
		for _, w := range p.wants {
			if w.known || a.in(w.bucket) == 0 {
				continue
			}
			if h.wanted[leaf] == nil {
				h.wanted[leaf] = make(bucketSet, len(a.pages))
			}
			h.wanted[leaf].add(w.bucket)
		}
	}
}

// round scans once more for some metrics, and settles them.
func (f *finisher) round(ctx context.Context, src serving.Requests, metrics []int, holds [][]*hold) error {
	runtime.GC() // histograms, or the values of the round before, leave room for these
	for _, m := range metrics {
		for _, h := range holds[m] {
			if h != nil {
				h.values = make([]float64, h.starts[len(h.starts)-1])
				for i := range h.rooms {
					h.rooms[i] = room{h.starts[i], h.starts[i+1]}
				}
			}
		}
	}
	if err := f.rescan(ctx, src, metrics, holds); err != nil {
		return err
	}
	var changed atomic.Bool
	err := each(ctx, f.workers, len(metrics), func() func(int) {
		var in []float64
		return func(i int) {
			m := metrics[i]
			for k, h := range holds[m] {
				if h == nil {
					continue
				}
				if !h.full() {
					changed.Store(true)
					return
				}
				for _, p := range f.pending[m] {
					if p.stock == f.stocks[k] {
						in = p.pick(m, h, in)
						p.settle(f)
					}
				}
				h.values = nil
			}
		}
	})
	if err == nil && changed.Load() {
		return errChanged
	}
	return err
}

// rescan has the values of some metrics taken: of parts of whose rows it is known
// where they belong, and of the others.
func (f *finisher) rescan(ctx context.Context, src serving.Requests, metrics []int, holds [][]*hold) error {
	parts := src.Parts()
	with, without := f.kept.settle(len(parts))
	if len(with) > 0 {
		lay := emptyLayout(src, f.plan)
		lay.window = Window{} // rows outside have no slot
		if err := f.take(ctx, lay, parts, with, f.kept, metrics, holds); err != nil {
			return err
		}
	}
	if len(without) == 0 {
		return nil
	}
	lay, err := gatherLayout(src, f.plan, f.lay)
	if err != nil {
		return err
	}
	return f.take(ctx, lay, parts, without, nil, metrics, holds)
}

// take scans some parts for the values of some metrics.
func (f *finisher) take(ctx context.Context, lay *layout, all []serving.Part, which []int, kept *keptSlots, metrics []int, holds [][]*hold) error {
	for _, m := range metrics {
		lay.metrics[lay.metric(f.lay.metrics[m].key)].shown = true
	}
	parts := make([]serving.Part, len(which))
	for i, k := range which {
		parts[i] = all[k]
	}
	_, err := f.stream(ctx, lay, parts, f.win, false, func() taker {
		g := &gatherer{lay: lay, stocks: f.stocks, used: make([]bool, len(f.stocks)), rows: make([]leafRows, len(f.stocks)), kept: kept, which: which}
		for i, m := range metrics {
			g.holds = append(g.holds, holds[m])
			g.metrics = append(g.metrics, lay.metric(f.lay.metrics[m].key))
			for k, h := range holds[metrics[i]] {
				g.used[k] = g.used[k] || h != nil
			}
		}
		return g
	})
	return err
}

// gatherLayout is the layout of a second scan that has to find out where rows
// belong: dimensions and outcome.
func gatherLayout(src serving.Requests, plan *Plan, first *layout) (*layout, error) {
	lay := emptyLayout(src, plan)
	lay.outcome = lay.wantKind(serving.ColOutcome, serving.KindText)
	lay.phase = lay.wantKind(serving.ColPhase, serving.KindText)
	lay.phases, lay.outcomes = first.phases, first.outcomes
	p := *plan
	p.Limits, p.Explore = nil, nil
	if err := lay.addDims(src, &p); err != nil { // those of groupings come first in both
		return nil, err
	}
	for i, d := range lay.dims { // numbers taken as names have the codes of the first scan
		d.dict = first.dims[i].dict
	}
	if _, timed := lay.dim[DimTime]; timed || plan.Window != (Window{}) {
		lay.arrival = lay.wantKind(serving.ColArrival, serving.KindTime)
	}
	return lay, nil
}

// A gatherer is the taker of the second scan.
type gatherer struct {
	lay     *layout
	stocks  []*stock
	used    []bool // by family
	metrics []int
	holds   [][]*hold
	kept    *keptSlots // of which rows belong where; nil: it has to be found out
	which   []int      // parts that are scanned
	sorter  leafSorter
	rows    []leafRows
	hits    hits
	col     valueColumn
}

func (g *gatherer) take(c *chunk) error {
	if err := g.place(c); err != nil {
		return err
	}
	for i, m := range g.metrics {
		v := &g.col
		v.load(c, m)
		var made [2]bool
		for k, h := range g.holds[i] {
			if h == nil {
				continue
			}
			r := &g.rows[k]
			if h.flags != nil {
				if !h.keepFlagged(v.x, r.slotsOf(v), &g.hits) {
					return errChanged
				}
				continue
			}
			timed := b2i(h.stock.f.timed)
			if !made[timed] {
				made[timed] = true
				v.index(timed, &h.stock.f.scale)
			}
			if !h.keep(v, &r.order, v.bucket[timed], &g.hits) {
				return errChanged
			}
		}
	}
	return nil
}

// place finds out where the rows of a chunk belong.
func (g *gatherer) place(c *chunk) error {
	if g.kept == nil {
		c.blank()
	}
	for i, s := range g.stocks {
		r := &g.rows[i]
		switch {
		case !g.used[i]:
		case g.kept != nil:
			r.slots = g.kept.slotsOf(r.slots, c, g.which[c.part], i)
		default:
			if err := r.find(&g.sorter, s, c, true); err != nil {
				return err
			}
			if s.f.dense {
				r.slots = s.slotsOf(r.slots, r.ids)
			} else {
				sortLeaves(&g.sorter, &r.order, r.ids, len(s.table.keys))
			}
		}
	}
	return nil
}

// hits are the values of a column that are wanted.
type hits struct {
	at []uint32 // the slot, or the place of its bucket in the flags
	x  []float64
}

// keepFlagged takes the values in wanted buckets, as keep does.
func (h *hold) keepFlagged(x []float64, slots []uint16, found *hits) bool {
	f := h.flags
	found.at, found.x = sized(found.at, len(x)), sized(found.x, len(x))
	hitAt, hitX, slots := found.at[:len(x)], found.x[:len(x)], slots[:len(x)]
	shift, base, width, stride := f.shift&63, f.base, f.width, uint32(f.stride())<<6
	n := 0
	for i, v := range x {
		// There is no bit beyond the window.
		at := uint32(slots[i])*stride + uint32(min(math.Float64bits(v)>>shift-base, width))
		if f.bits[at>>6]>>(at&63)&1 != 0 {
			hitAt[n], hitX[n] = at, v
			n++
		}
	}
	if f.beyond && !h.keepRare(x, slots) {
		return false
	}
	h.mu.Lock() // once a column: an atomic counter for each value waits for the cache each time
	defer h.mu.Unlock()
	for i, at := range hitAt[:n] {
		w := f.bits[at>>6] & (1<<(at&63) - 1)
		if !h.put(f.slot[at>>6]+uint32(bits.OnesCount64(w)), hitX[i]) {
			return false
		}
	}
	return true
}

// keepRare takes the wanted values beyond the window.
func (h *hold) keepRare(x []float64, slots []uint16) bool {
	f := h.flags
	for i, v := range x {
		if math.Float64bits(v)>>f.shift-f.base < f.width || v != v || v == 0 || slots[i] == noSlot {
			continue
		}
		slot, ok := h.wanted[h.stock.owners[slots[i]]].slot(h.stock.f.scale.index(v))
		if !ok {
			continue
		}
		h.mu.Lock()
		ok = h.put(slot, v)
		h.mu.Unlock()
		if !ok {
			return false
		}
	}
	return true
}

// keep takes the values in wanted buckets. It is false where there is no room
// for one: there are more than the first scan saw.
func (h *hold) keep(v *valueColumn, o *leafOrder, bucket []uint16, found *hits) bool {
	found.at, found.x = found.at[:0], found.x[:0]
	for k, leaf := range o.leaves {
		w := h.wanted[leaf]
		if w == nil {
			continue
		}
		for _, row := range o.rows[o.starts[k]:o.starts[k+1]] {
			from, to := v.span(row)
			for i := from; i < to; i++ {
				if b := bucket[i]; w.has(b) {
					slot, _ := w.slot(b)
					found.at, found.x = append(found.at, slot), append(found.x, v.x[i])
				}
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, slot := range found.at {
		if !h.put(slot, found.x[i]) {
			return false
		}
	}
	return true
}

// put keeps a value of a slot. It is false where the slot is full.
func (h *hold) put(slot uint32, x float64) bool {
	r := &h.rooms[slot]
	if r.next >= r.end {
		return false
	}
	h.values[r.next] = x
	r.next++
	return true
}

// full reports whether all values came that the first scan saw.
func (h *hold) full() bool {
	for _, r := range h.rooms {
		if r.next != r.end {
			return false
		}
	}
	return true
}

// pick takes the wanted values out of those that were kept. in is scratch.
func (p *pending) pick(m int, h *hold, in []float64) []float64 {
	from := -1
	for i := range p.wants {
		w := &p.wants[i]
		if w.known {
			continue
		}
		done := int64(0) // of in, those below are no greater than the rest
		if from < 0 || p.wants[from].bucket != w.bucket {
			from = i
			in = in[:0]
			for _, leaf := range p.leaves {
				if slot, ok := h.wanted[leaf].slot(w.bucket); ok {
					in = append(in, h.values[h.starts[slot]:h.starts[slot+1]]...)
				} else {
					in = append(in, bucketOf(&h.stock.f.scale, h.stock.accs[m][leaf].raw, w.bucket)...)
				}
			}
		} else {
			done = p.wants[i-1].offset + 1
		}
		w.value = nth(in[done:], int(w.offset-done))
	}
	return in
}

// bucketOf returns those of sorted values that are in a bucket.
func bucketOf(l *scale, sorted []float64, b uint16) []float64 {
	from := sort.Search(len(sorted), func(i int) bool { return l.index(sorted[i]) >= b })
	to := from + sort.Search(len(sorted)-from, func(i int) bool { return l.index(sorted[from+i]) > b })
	return sorted[from:to]
}

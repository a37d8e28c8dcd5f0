package cube

import (
	"math/bits"
	"sync"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// A hold keeps the wanted values of one metric in one family.
type hold struct {
	stock  *stock
	wanted []bucketSet // by leaf
	starts []int       // of the values of each slot, and the end
	values []float64
	size   int   // bytes that all values take
	ties   *ties // where there is no room for these; shift is what the keys lacked in the scan before
	shift  uint
	flags  *flags // of a dense family

	buckets []uint16 // scratch of want
	pool    setPool

	mu   sync.Mutex // whoever has values to put in
	next []uint32   // by slot: where the next of its values goes. Small, for goroutines take it from each other's cache
}

// flags say of the buckets in a slab's window which are wanted. Of most values a
// look at the rough bits is enough: these are a line of the cache a slot, so that
// those of all slots are in the nearest one.
type flags struct {
	*place
	rough  []uint64 // by slot and neighbouring buckets
	coarse uint     // log2 of how many neighbours have one rough bit
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
			if at < 0 || at >= int(f.Width+63)/64 {
				f.beyond = true
				continue
			}
			n := copy(f.bits[slot*words+at:(slot+1)*words], pg.bits[:])
			copy(f.slot[slot*words+at:][:n], pg.slot[:])
			for k := int(f.Width); k < (at+n)<<6; k++ { // the window may end within a page
				f.bits[slot*words+k>>6] &^= 1 << (k & 63)
				f.beyond = true
			}
		}
	}
	f.blur(s.f.scale.window(), len(s.owners))
	h.flags = f
}

// roughLine is how many rough bits a slot has: a line of the cache.
const roughLine = 1 << wide.LineBits

// blur sets the rough bits.
func (f *flags) blur(window, slots int) {
	f.coarse = uint(bits.Len(uint(window-1) / roughLine))
	f.rough = make([]uint64, slots*roughLine/64)
	clear(f.rough) // see open: to write first is cheaper
	words := f.stride()
	for i, w := range f.bits {
		for ; w != 0; w &= w - 1 {
			k := (i%words)<<6 + bits.TrailingZeros64(w)
			at := i/words*roughLine + k>>f.coarse
			f.rough[at>>6] |= 1 << (at & 63)
		}
	}
}

// allFlagged reports whether all values are wanted of dense families.
func allFlagged(holds [][]*hold) bool {
	for _, of := range holds {
		for _, h := range of {
			if h != nil && h.flags == nil {
				return false
			}
		}
	}
	return true
}

// stride is how many words of bits a slot has, and a line of the cache more.
func (f *flags) stride() int { return int(f.Width+63)/64 + 8 }

// number gives each wanted bucket of each leaf a slot with room for its values.
func (h *hold) number(m int) {
	slots := uint32(0)
	for _, w := range h.wanted {
		slots = w.number(slots)
	}
	h.starts, h.next = make([]int, 1, slots+1), make([]uint32, slots)
	for leaf, w := range h.wanted {
		a := &h.stock.accs[m][leaf]
		w.each(func(b uint16) {
			h.starts = append(h.starts, h.starts[len(h.starts)-1]+int(a.in(b)))
		})
	}
}

// want adds the buckets of the wants of a cell, as far as its leaves have values
// there.
func (h *hold) want(m int, p *pending) {
	h.buckets = h.buckets[:0]
	for _, w := range p.wants { // ascending
		if n := len(h.buckets); !w.known && (n == 0 || h.buckets[n-1] != w.bucket) {
			h.buckets = append(h.buckets, w.bucket)
		}
	}
	for _, leaf := range p.leaves {
		a := &h.stock.accs[m][leaf]
		if a.pages == nil {
			continue // its values are there
		}
		if h.wanted[leaf] == nil {
			h.wanted[leaf] = h.pool.set(len(a.pages))
		}
		for _, b := range h.buckets {
			if a.in(b) > 0 {
				h.wanted[leaf].add(b, &h.pool)
			}
		}
	}
}

// hits are the values of a column that are wanted.
type hits struct {
	at   []uint32 // the slot, or the place of its bucket in the flags
	row  []uint32 // of flagged ones: where they stand in the column
	rare []uint32 // where there are values beyond the window
	x    []float64
}

// A roughColumn is the values of a column as rough bits are looked up, for all
// families of a scale.
type roughColumn struct {
	place *place // they were looked up by; nil: another column's
	k     []uint16
}

// load looks up the values, unless that is done.
func (r *roughColumn) load(f *flags, x []float64) {
	if r.place == f.place {
		return
	}
	r.place, r.k = f.place, sized(r.k, len(x))
	wide.Coarse(r.k, x, f.Window, f.coarse)
}

// keepFlagged takes the values in wanted buckets, as keep does. A value without a
// bit in valid is none; nil means that all are there.
func (h *hold) keepFlagged(x []float64, rough *roughColumn, slots []uint16, valid serving.Bitmap, found *hits) bool {
	f := h.flags
	rough.load(f, x)
	rows := f.candidates(rough.k, slots, found)
	hitAt := found.at
	n := wide.Wanted(rows, hitAt[:len(rows)], slots, x, f.Window, uint32(f.stride())<<6, f.bits) // none beyond the window has a bit
	if f.beyond && !h.keepRare(x, slots, valid, found) {
		return false
	}
	h.mu.Lock() // once a column: an atomic counter for each value waits for the cache each time
	defer h.mu.Unlock()
	if h.ties != nil {
		return h.countFlagged(x, rows, hitAt[:n], valid)
	}
	for i, at := range hitAt[:n] {
		row := rows[i]
		if valid != nil && !valid.Get(int(row)) {
			continue
		}
		w := f.bits[at>>6] & (1<<(at&63) - 1)
		if !h.put(f.slot[at>>6]+uint32(bits.OnesCount64(w)), x[row]) {
			return false
		}
	}
	return true
}

// countFlagged is the end of keepFlagged where values are counted.
func (h *hold) countFlagged(x []float64, rows, hitAt []uint32, valid serving.Bitmap) bool {
	f := h.flags
	for i, at := range hitAt {
		row := rows[i]
		if valid != nil && !valid.Get(int(row)) {
			continue
		}
		w := f.bits[at>>6] & (1<<(at&63) - 1)
		if !h.count(f.slot[at>>6]+uint32(bits.OnesCount64(w)), x[row]) {
			return false
		}
	}
	return true
}

// candidates lists the values whose rough bit is set. One in five is.
func (f *flags) candidates(k, slots []uint16, found *hits) []uint32 {
	found.at, found.row = sized(found.at, len(k)), sized(found.row, len(k))
	return found.row[:wide.Marked(found.row[:len(k)], slots[:len(k)], k, f.rough)]
}

// keepRare takes the wanted values beyond the window.
func (h *hold) keepRare(x []float64, slots []uint16, valid serving.Bitmap, found *hits) bool {
	found.rare = sized(found.rare, len(x))
	for _, i := range found.rare[:wide.Outside(found.rare, x, h.flags.Window)] {
		v := x[i]
		if slots[i] == noSlot || !isFinite(v) || valid != nil && !valid.Get(int(i)) {
			continue
		}
		slot, ok := h.wanted[h.stock.owners[slots[i]]].slot(h.stock.f.scale.index(v))
		if !ok {
			continue
		}
		h.mu.Lock()
		ok = h.take(slot, v)
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
		if !h.take(slot, found.x[i]) {
			return false
		}
	}
	return true
}

// put keeps a value of a slot. It is false where there is no room for any: a slot
// that runs over into the next one is found out by full.
func (h *hold) put(slot uint32, x float64) bool {
	at := h.next[slot]
	if int(at) >= len(h.values) {
		return false
	}
	h.values[at] = x
	h.next[slot] = at + 1
	return true
}

// count is put where values are counted: next is how many came.
func (h *hold) count(slot uint32, x float64) bool {
	if int(h.next[slot]) >= h.starts[slot+1]-h.starts[slot] {
		return false
	}
	h.next[slot]++
	h.ties.add(slot, x)
	return true
}

// take is put or count.
func (h *hold) take(slot uint32, x float64) bool {
	if h.ties != nil {
		return h.count(slot, x)
	}
	return h.put(slot, x)
}

// full reports whether all values came that the first scan saw, and no others.
func (h *hold) full() bool {
	for slot, at := range h.next {
		from := 0
		if h.ties != nil {
			from = h.starts[slot]
		}
		if from+int(at) != h.starts[slot+1] {
			return false
		}
	}
	return true
}

// copies of the values of a cell's bucket are made to sort them: see stat.AtRanks.
const copies = 3

// measure says what all values of a hold take, the copies that pick makes of those
// of one bucket included.
func (h *hold) measure(pending []*pending) {
	most := 0
	for _, p := range pending {
		if p.stock != h.stock {
			continue
		}
		for i := range p.wants {
			w := &p.wants[i]
			if w.known || i > 0 && p.wants[i-1].bucket == w.bucket {
				continue
			}
			n := 0
			for _, leaf := range p.leaves {
				if slot, ok := h.wanted[leaf].slot(w.bucket); ok {
					n += h.starts[slot+1] - h.starts[slot]
				}
			}
			most = max(most, n)
		}
	}
	h.size = 8 * (h.starts[len(h.starts)-1] + copies*most)
}

// open makes room for the values, or the ranges, of a scan.
func (h *hold) open() {
	if h.ties != nil {
		clear(h.next)
		return
	}
	h.values = make([]float64, h.starts[len(h.starts)-1])
	for slot := range h.next {
		h.next[slot] = uint32(h.starts[slot])
	}
}

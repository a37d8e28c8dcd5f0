package cube

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

// A bucket is narrow, but any number of values can be in it: of times in whole
// milliseconds, or of a server that always takes as long, there are millions that
// are the same. Where a hold has no room for all its values, it counts those that
// differ. Where it has no room even for these, it counts them without their last
// bits, as many as it takes, and once the ranks are known to be in some of those
// ranges another scan looks into them alone. Each scan cuts the ranges to a
// fraction, so that the memory is bounded whatever the values are, and what is
// found in the end is exact.

// A tie is a range of values of a slot: all with the same leading bits.
type tie struct {
	key  uint64 // ordered bits without the last ones
	slot uint32
	n    uint32 // how many there are; 0: the place is free
}

// ties counts the values of slots, in a hash table of bounded size.
type ties struct {
	shift  uint // bits that keys lack
	most   int  // places of the table
	used   int
	table  []tie
	spare  []tie // for another table of that size, once it has grown to it
	within *ties // ranges that the scan before found the ranks in; nil: all values count
}

// tieBytes is what a place of the table takes: there are two while it is made anew.
const tieBytes = 2 * 16

// newTies returns a table for the values of some slots or ranges, within some
// memory. It has a few places for each: with less than two for a range of the scan
// before, a scan would not get anywhere.
func newTies(room, ranges int, within *ties) *ties {
	t := &ties{within: within, most: max(1<<(bits.Len(uint(room/tieBytes))), 2) / 2}
	for t.most < 8*ranges {
		t.most *= 2
	}
	t.table = make([]tie, min(t.most, 1<<10))
	return t
}

// add counts a value of a slot.
func (t *ties) add(slot uint32, x float64) {
	k := orderedBits(x)
	if w := t.within; w != nil && w.table[w.find(slot, k>>w.shift)].n == 0 {
		return
	}
	t.count(slot, k>>t.shift, 1)
	for t.used > len(t.table)/4*3 {
		t.grow()
	}
}

// find returns the place of a range, or a free one for it.
func (t *ties) find(slot uint32, key uint64) int {
	mask := len(t.table) - 1
	h := key*0x9e3779b97f4a7c15 + uint64(slot)*0xd6e8feb86659fd93
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15 // round numbers differ in their first bits alone
	at := int(h >> bits.LeadingZeros64(uint64(mask)))
	for t.table[at].n > 0 && (t.table[at].key != key || t.table[at].slot != slot) {
		at = (at + 1) & mask
	}
	return at
}

func (t *ties) count(slot uint32, key uint64, n uint32) {
	e := &t.table[t.find(slot, key)]
	if e.n == 0 {
		e.key, e.slot = key, slot
		t.used++
	}
	e.n += n
}

// grow makes room for more ranges: a larger table, or wider ranges.
func (t *ties) grow() {
	from, bit := t.table, uint(0)
	switch {
	case len(from) < t.most:
		t.table = make([]tie, 2*len(from))
	case t.spare == nil:
		t.spare = make([]tie, len(from))
		fallthrough
	default:
		t.table, t.spare = t.spare, from
		clear(t.table)
		bit = 1
	}
	t.shift, t.used = t.shift+bit, 0
	for i := range from {
		if e := &from[i]; e.n > 0 {
			t.count(e.slot, e.key>>bit, e.n)
		}
	}
}

// sort orders the ranges by slot and key, for of. The table is one no longer.
func (t *ties) sort() {
	t.spare, t.within = nil, nil
	t.table = slices.DeleteFunc(t.table, func(e tie) bool { return e.n == 0 })
	slices.SortFunc(t.table, func(a, b tie) int { return cmp.Or(cmp.Compare(a.slot, b.slot), cmp.Compare(a.key, b.key)) })
}

// of appends those of sorted ranges that are of a slot and in a wider range: that
// of key, of the scan before, which lacked so many bits.
func (t *ties) of(slot uint32, key uint64, shift uint, in []tie) []tie {
	from := sort.Search(len(t.table), func(i int) bool { return t.table[i].slot >= slot })
	for _, e := range t.table[from:] {
		if e.slot != slot {
			break
		}
		if e.key>>(shift-t.shift) == key {
			in = append(in, e)
		}
	}
	return in
}

// allBits is what the keys of a first scan's ranges lack: these are whole buckets.
const allBits = 64

// narrow looks into a counted hold for the wanted values, and adds to those found
// the ranges that they are in where it does not have them. in is scratch.
func (p *pending) narrow(m int, h *hold, found *ties, in []tie) []tie {
	for i, to := 0, 0; i < len(p.wants); i = to {
		to = i + 1
		if p.wants[i].known {
			continue
		}
		for to < len(p.wants) && p.wants[to].bucket == p.wants[i].bucket && p.wants[to].key == p.wants[i].key {
			to++
		}
		in = p.ranges(m, h, &p.wants[i], in[:0])
		locate(p.wants[i:to], in, h.ties.shift, found)
	}
	return in
}

// want adds a range to those that the next scan looks into.
func (t *ties) want(e tie) {
	if e.slot == noRange {
		return
	}
	t.count(e.slot, e.key, 1)
	for t.used > len(t.table)/4*3 {
		t.most = 2 * len(t.table)
		t.grow()
	}
}

// noRange is the slot of values that a leaf has as they are.
const noRange = 1<<32 - 1

// ranges appends the ranges that the cell's values around a want are in, ascending.
func (p *pending) ranges(m int, h *hold, w *want, in []tie) []tie {
	for _, leaf := range p.leaves {
		if slot, ok := h.wanted[leaf].slot(w.bucket); ok {
			in = h.ties.of(slot, w.key, h.shift, in)
			continue
		}
		for _, x := range bucketOf(&h.stock.f.scale, h.stock.accs[m][leaf].raw, w.bucket) {
			if k := orderedBits(x); k>>h.shift == w.key {
				in = append(in, tie{k >> h.ties.shift, noRange, 1})
			}
		}
	}
	slices.SortFunc(in, func(a, b tie) int { return cmp.Compare(a.key, b.key) })
	return in
}

// locate sets the ranges of ascending wants, or their values where a range is one
// value, and adds these ranges to those found.
func locate(wants []want, in []tie, shift uint, found *ties) {
	below := int64(0) // values before in
	for from, to := 0, 0; len(wants) > 0 && from < len(in); from = to {
		n := int64(0)
		for to = from; to < len(in) && in[to].key == in[from].key; to++ {
			n += int64(in[to].n)
		}
		hit := wants[0].offset < below+n
		for len(wants) > 0 && wants[0].offset < below+n {
			w := &wants[0]
			wants = wants[1:]
			w.key, w.offset = in[from].key, w.offset-below
			if shift == 0 {
				w.value, w.known = fromOrderedBits(w.key), true
			}
		}
		for _, e := range in[from:to] {
			if hit && shift > 0 {
				found.want(e)
			}
		}
		below += n
	}
}

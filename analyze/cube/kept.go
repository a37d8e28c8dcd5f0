package cube

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/wide"
)

// Where a row belongs takes a dozen columns to find out and a byte or two to
// note. So the first scan notes it, as long as there is room, and the second
// reads the columns of the metrics alone.

// keptBytes bounds the notes. Of a source of which they would cover a part only
// there are none: its memory is of more use elsewhere.
var keptBytes int64 = 24 << 20

// keptSlots are the notes of a scan, by part.
type keptSlots struct {
	left  atomic.Int64 // bytes
	parts []partSlots
	known [][][]uint16 // by goroutine and family: what its slots are called after the merge; nil: as they were
}

// partSlots are those of a part: pieces in no order until they are sorted.
type partSlots struct {
	mu     sync.Mutex
	pieces []slotPiece
	lost   bool // there was no room
}

// A slotPiece holds the slots of consecutive rows of a part, by family.
type slotPiece struct {
	row  int64
	n    int
	by   int // the goroutine, which numbers slots as they come to it
	fams []packed
}

// keepSlots returns room for notes of so many rows, nil where they cannot help:
// leaves of a family that is not dense have no slots.
func keepSlots(fams []family, plan *Plan, parts int, rows int64) *keptSlots {
	if plan.NoExact || slices.ContainsFunc(fams, func(f family) bool { return !f.dense && !f.coarse }) {
		return nil
	}
	room := keptBytes
	if plan.MaxMemory > 0 {
		room = min(room, plan.MaxMemory/8)
	}
	if rows > room { // a family takes a byte a row, time windows next to nothing
		return nil
	}
	k := &keptSlots{parts: make([]partSlots, parts)}
	k.left.Store(room)
	return k
}

// note keeps the slots of a chunk's rows, or gives its part up.
func (k *keptSlots) note(c *chunk, by int, stocks []*stock, rows []leafRows) {
	p := &k.parts[c.part]
	p.mu.Lock()
	lost := p.lost
	p.mu.Unlock()
	if lost {
		return
	}
	var pieces []slotPiece
	size := int64(0)
	for i, r := range c.runs {
		end := c.n
		if i+1 < len(c.runs) {
			end = c.runs[i+1].at
		}
		piece := slotPiece{row: r.row, n: end - r.at, by: by, fams: make([]packed, len(stocks))}
		for f, s := range stocks {
			if s.f.dense && !s.f.coarse { // of coarse ones no values are wanted
				piece.fams[f] = pack(rows[f].slots[r.at:end], len(s.owners))
				size += piece.fams[f].size()
			}
		}
		pieces = append(pieces, piece)
	}
	room := k.left.Add(-size) >= 0
	p.mu.Lock()
	defer p.mu.Unlock()
	if !room || p.lost {
		k.left.Add(size)
		p.lose(k)
		return
	}
	p.pieces = append(p.pieces, pieces...)
}

// lose gives up the notes of a part.
func (p *partSlots) lose(k *keptSlots) {
	p.lost = true
	for i := range p.pieces {
		for f := range p.pieces[i].fams {
			k.left.Add(p.pieces[i].fams[f].size())
		}
	}
	p.pieces = nil
}

// expect makes room for what rename is told, of all goroutines but the first.
func (k *keptSlots) expect(goroutines, families int) {
	k.known = make([][][]uint16, goroutines)
	for by := range k.known[1:] {
		k.known[1+by] = make([][]uint16, families)
	}
}

// rename notes what the slots of a goroutine are called in the stock that its
// own was merged into, by way of leaves' numbers there.
func (k *keptSlots) rename(by, family int, into, from *stock, leaves []uint32) {
	names := make([]uint16, len(from.owners))
	for slot, leaf := range from.owners {
		if slot != noSlot {
			names[slot] = into.slotOf(leaves[leaf])
		}
	}
	k.known[by][family] = names
}

// settle sorts the notes, and says which of some parts have theirs.
func (k *keptSlots) settle(parts int) (with, without []int) {
	for i := range parts {
		if k == nil || k.parts[i].lost {
			without = append(without, i)
			continue
		}
		with = append(with, i)
		slices.SortFunc(k.parts[i].pieces, func(a, b slotPiece) int { return cmp.Compare(a.row, b.row) })
	}
	return with, without
}

// slots sets where consecutive rows of a part belong in a family; those without a
// note are of no leaf.
func (k *keptSlots) slots(dst []uint16, part, family int, row int64) {
	pieces := k.parts[part].pieces
	i := sort.Search(len(pieces), func(i int) bool { return pieces[i].row+int64(pieces[i].n) > row })
	at := 0
	for ; i < len(pieces) && at < len(dst); i++ {
		s := &pieces[i]
		from, to := max(int(s.row-row), at), min(int(s.row-row)+s.n, len(dst))
		if from >= to {
			break
		}
		clear(dst[at:from])
		s.fams[family].unpack(dst[from:to], from-int(s.row-row))
		if s.by < len(k.known) && k.known[s.by] != nil {
			names := k.known[s.by][family]
			for i, slot := range dst[from:to] {
				dst[from+i] = names[slot]
			}
		}
		at = to
	}
	clear(dst[at:])
}

// packed are slots in as few bytes as is easily done: rows of a time window come
// mostly one after the other, and most families have fewer than 256 leaves.
type packed struct {
	ends  []uint32 // of runs
	runs  []uint16 // their slots
	bytes []uint8
	words []uint16
}

func (p *packed) size() int64 {
	return int64(4*len(p.ends) + 2*len(p.runs) + len(p.bytes) + 2*len(p.words))
}

// pack packs slots that are less than a limit.
func pack(slots []uint16, limit int) packed {
	runs, last := 0, slots[0]
	for _, s := range slots {
		if s != last {
			if runs++; runs >= len(slots)/8 {
				break
			}
		}
		last = s
	}
	switch {
	case runs < len(slots)/8:
		return packRuns(slots, runs+1)
	case limit <= 1<<8:
		p := packed{bytes: make([]uint8, len(slots))}
		wide.Narrow(p.bytes, slots)
		return p
	}
	return packed{words: slices.Clone(slots)}
}

func packRuns(slots []uint16, runs int) packed {
	p := packed{ends: make([]uint32, 0, runs), runs: make([]uint16, 0, runs)}
	for i, s := range slots {
		if k := len(p.runs); k > 0 && p.runs[k-1] == s {
			p.ends[k-1]++
			continue
		}
		p.ends, p.runs = append(p.ends, uint32(i)+1), append(p.runs, s)
	}
	return p
}

// unpack returns slots from one on.
func (p *packed) unpack(dst []uint16, from int) {
	switch {
	case p.bytes != nil:
		wide.Widen(dst, p.bytes[from:][:len(dst)])
	case p.words != nil:
		copy(dst, p.words[from:])
	default:
		at := 0
		for i, end := range p.ends {
			for at < len(dst) && from+at < int(end) {
				dst[at] = p.runs[i]
				at++
			}
		}
	}
}

package cube

// A leafOrder lists the rows of a chunk leaf by leaf.
type leafOrder struct {
	leaves []uint32 // those that have rows
	starts []uint32 // of each one's rows, and the end
	rows   []uint32
	room   []uint32 // for rows
}

// A leafSorter makes leaf orders.
type leafSorter struct {
	keys  []uint64
	small []uint32 // keys of a small space
	count []uint32
	every []uint32 // 0, 1, 2, …
}

// sortLeaves puts the rows of a chunk in the order of their leaves, by numbers of
// leaves or of slots.
func sortLeaves[T uint16 | uint32](o *leafSorter, dst *leafOrder, ids []T, leaves int) {
	if inRuns(dst, ids) {
		for len(o.every) < len(ids) {
			o.every = append(o.every, uint32(len(o.every)))
		}
		dst.rows = o.every[:len(ids)]
		return
	}
	dst.leaves, dst.starts = dst.leaves[:0], dst.starts[:0]
	o.count = sized(o.count, leaves)
	clear(o.count)
	for _, id := range ids {
		o.count[id]++
	}
	at := uint32(0)
	for id, n := range o.count {
		if n > 0 {
			dst.leaves, dst.starts = append(dst.leaves, uint32(id)), append(dst.starts, at)
			o.count[id] = at
			at += n
		}
	}
	dst.starts = append(dst.starts, at)
	dst.room = sized(dst.room, len(ids))
	dst.rows = dst.room
	for row, id := range ids {
		dst.rows[o.count[id]] = uint32(row)
		o.count[id]++
	}
}

// inRuns lists the runs of rows of one leaf, and reports whether these are few:
// then rows may stay in their order. A leaf may have several.
func inRuns[T uint16 | uint32](dst *leafOrder, ids []T) bool {
	dst.leaves, dst.starts = dst.leaves[:0], dst.starts[:0]
	for row, id := range ids {
		if row > 0 && id == ids[row-1] {
			continue
		}
		if len(dst.leaves) > len(ids)/64 {
			return false
		}
		dst.leaves, dst.starts = append(dst.leaves, uint32(id)), append(dst.starts, uint32(row))
	}
	dst.starts = append(dst.starts, uint32(len(ids)))
	return true
}

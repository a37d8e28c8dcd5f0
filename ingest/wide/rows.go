package wide

// The loops here say where rows belong.

// AddLevels adds to each of dst what add has for its code: add[code+1]. It returns
// the bits that any of these have, and whether all codes have one.
func AddLevels(dst []uint32, codes []int32, add []uint32) (seen uint32, ok bool) {
	n := 0
	if has && len(dst) >= 16 && len(add) > 0 {
		n = len(dst) &^ 15
		_ = codes[n-1]
		if seen, ok = addLevels16(&dst[0], &codes[0], n, &add[0], uint64(len(add))); !ok {
			return seen, false
		}
	}
	codes = codes[:len(dst)]
	for i := n; i < len(dst); i++ {
		k := uint(codes[i] + 1)
		if k >= uint(len(add)) {
			return seen, false
		}
		seen |= add[k]
		dst[i] += add[k]
	}
	return seen, true
}

// Find writes table[key]-1 for each key, which must be in the table, up to the first
// for which that is 0, or some before it, and returns how many are done.
func Find(dst, keys, table []uint32) (done int) {
	if has && len(keys) >= 16 && len(table) > 0 {
		n := len(keys) &^ 15
		_ = dst[n-1]
		if done = find16(&dst[0], &keys[0], n, &table[0], uint64(len(table)-1)); done < n {
			return done
		}
	}
	dst = dst[:len(keys)]
	for ; done < len(keys); done++ {
		v := table[keys[done]]
		if v == 0 {
			break
		}
		dst[done] = v - 1
	}
	return done
}

// Settle writes slots[leaf] for each leaf, 0 where any bit of look is set in the
// row's state, up to the first other row whose slot is 0, or some before it, and
// returns how many are done. Slots fit 16 bits.
func Settle(dst []uint16, leaves []uint32, state []uint8, look uint8, slots []uint32) (done int) {
	if has && len(leaves) >= 16 && len(slots) > 0 {
		n := len(leaves) &^ 15
		_, _ = dst[n-1], state[n-1]
		if done = settle16(&dst[0], &leaves[0], &state[0], n, uint64(look), &slots[0], uint64(len(slots)-1)); done < n {
			return done
		}
	}
	dst, state = dst[:len(leaves)], state[:len(leaves)]
	for ; done < len(leaves); done++ {
		slot := slots[leaves[done]]
		if state[done]&look != 0 {
			slot = 0
		} else if slot == 0 {
			break
		}
		dst[done] = uint16(slot)
	}
	return done
}

// Wanted keeps those rows whose bit is set: bit lines[row]*stride+bucket of set, where
// bucket is that of x[row] in the window, Width for values outside. Rows must
// ascend. It writes the bits' numbers to at, which must be as long as rows, and
// returns how many there are. There must be bits for all of them.
func Wanted(rows, at []uint32, lines []uint16, x []float64, w Window, stride uint32, set []uint64) int {
	n, found := 0, 0
	if has && len(rows) > 8 && len(lines) > 1 && len(set) > 0 {
		n = (len(rows) - 1) &^ 7 // wanted8 reads two lines at a time
		_, _, _ = lines[rows[n]], x[rows[n]], at[len(rows)-1]
		lastRow := min(len(x), len(lines)-1) - 1
		found = wanted8(&rows[0], &at[0], n, &lines[0], &x[0], uint64(lastRow), uint64(w.Shift&63), w.Base, w.Width, uint64(stride), &set[0], uint64(2*len(set)-1))
	}
	at = at[:len(rows)]
	for i := n; i < len(rows); i++ {
		row := rows[i]
		bit := uint32(lines[row])*stride + uint32(bucketOf(x[row], w))
		rows[found], at[found] = row, bit
		found += int(set[bit>>6] >> (bit & 63) & 1)
	}
	return found
}

// Buckets writes for each of x how many of the bounds, which ascend, are not above
// it; -1 where it is below zero.
func Buckets(dst []int32, x []int64, bounds []int64) {
	n := 0
	if has && len(x) >= 8 && len(bounds) > 0 {
		n = len(x) &^ 7
		_ = dst[n-1]
		buckets8(&dst[0], &x[0], n, &bounds[0], len(bounds))
	}
	dst = dst[:len(x)]
	for i := n; i < len(x); i++ {
		k := 0
		for k < len(bounds) && x[i] >= bounds[k] {
			k++
		}
		if x[i] < 0 {
			k = -1
		}
		dst[i] = int32(k)
	}
}

// Shares writes what share of a whole each part is: 0 for none of it, 1 for less than
// a limit, 2 for the limit and more, -1 where the part is below zero or more than the
// whole.
func Shares(dst []int32, part, whole []int64, limit float64) {
	n := 0
	if has && len(part) >= 8 {
		n = len(part) &^ 7
		_, _ = dst[n-1], whole[n-1]
		shares8(&dst[0], &part[0], &whole[0], n, limit)
	}
	dst, whole = dst[:len(part)], whole[:len(part)]
	for i := n; i < len(part); i++ {
		switch p := part[i]; {
		case p == 0:
			dst[i] = 0
		case p < 0 || p > whole[i]:
			dst[i] = -1
		default:
			dst[i] = 1 + int32(one(float64(p)/float64(whole[i]) >= limit))
		}
	}
}

// Narrow writes numbers that fit 8 bits.
func Narrow(dst []uint8, x []uint16) {
	n := 0
	if has && len(x) >= 32 {
		n = len(x) &^ 31
		_ = dst[n-1]
		narrow32(&dst[0], &x[0], n)
	}
	dst = dst[n:len(x)]
	for i, v := range x[n:] {
		dst[i] = uint8(v)
	}
}

// Widen reads them.
func Widen(dst []uint16, x []uint8) {
	n := 0
	if has && len(x) >= 32 {
		n = len(x) &^ 31
		_ = dst[n-1]
		widen32(&dst[0], &x[0], n)
	}
	dst = dst[n:len(x)]
	for i, v := range x[n:] {
		dst[i] = uint16(v)
	}
}

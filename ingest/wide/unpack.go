package wide

import "slices"

// The loops here are of encoded columns.

// Unpack reads bit-packed numbers of width bits, the least significant bit first,
// from bit on, and returns how many: as many sixteens as are there without a byte
// behind b being read. None is read of more than 25 bits.
func Unpack(dst []uint32, b []byte, bit, width uint) int {
	if !has || width == 0 || width > 25 || len(dst) < 16 || bit>>3 >= uint(len(b)) {
		return 0
	}
	b = b[bit>>3:]
	last := int(bit&7+15*width)>>3 + 4 // bytes that the first sixteen read
	if len(b) < last {
		return 0
	}
	n := min(len(dst)>>4, (len(b)-last)/int(2*width)+1) << 4
	unpack16(&dst[0], &b[0], n, uint64(bit&7), uint64(width))
	return n
}

// LookCodes writes table[i] for each index, and reports whether all are in the table.
func LookCodes(dst, table []int32, indexes []uint32) bool {
	n, most := 0, uint32(0)
	if has && len(indexes) >= 16 && len(table) > 0 {
		n = len(indexes) &^ 15
		_ = dst[n-1]
		most = lookCodes16(&dst[0], &indexes[0], n, &table[0], uint64(len(table)-1))
	}
	return rest(dst, table, indexes, n, most)
}

// Translate is LookCodes by codes; a negative one is in no table.
func Translate(dst, table, codes []int32) bool {
	n, most := 0, uint32(0)
	if has && len(codes) >= 16 && len(table) > 0 {
		n = len(codes) &^ 15
		_ = dst[n-1]
		most = translate16(&dst[0], &codes[0], n, &table[0], uint64(len(table)-1))
	}
	return rest(dst, table, codes, n, most)
}

// LookInts is LookCodes of other numbers.
func LookInts(dst, table []int64, indexes []uint32) bool {
	n, most := 0, uint32(0)
	if has && len(indexes) >= 8 && len(table) > 0 {
		n = len(indexes) &^ 7
		_ = dst[n-1]
		most = lookInts8(&dst[0], &indexes[0], n, &table[0], uint64(len(table)-1))
	}
	return rest(dst, table, indexes, n, most)
}

// LookFloats is LookCodes of other numbers.
func LookFloats(dst, table []float64, indexes []uint32) bool {
	n, most := 0, uint32(0)
	if has && len(indexes) >= 8 && len(table) > 0 {
		n = len(indexes) &^ 7
		_ = dst[n-1]
		most = lookFloats8(&dst[0], &indexes[0], n, &table[0], uint64(len(table)-1))
	}
	return rest(dst, table, indexes, n, most)
}

// rest looks up the indexes from n on; most is the largest of those before.
func rest[T any, I int32 | uint32](dst, table []T, indexes []I, n int, most uint32) bool {
	if uint(most) >= uint(len(table)) {
		return n == 0 && len(indexes) == 0
	}
	dst = dst[:len(indexes)]
	for i := n; i < len(indexes); i++ {
		x := indexes[i]
		if uint(x) >= uint(len(table)) {
			return false
		}
		dst[i] = table[x]
	}
	return true
}

// Spread moves values apart: dst has present of them before the rows of where, a bit
// a row from dst[at] on, end, and each comes to the next row, from the back, whose bit
// is set. What rows without one are left with means nothing. It returns how many
// are still before dst[at], and how many of the words of where it has not done, the
// first ones: all where the processor cannot.
func Spread[T int32 | int64 | float64](dst []T, present int, where []uint64, at int) (left, words int) {
	if !has || len(where) == 0 {
		return present, len(where)
	}
	dst = slices.Clip(dst)
	_, _ = dst[at:][:64*len(where)], dst[:present]
	switch d := any(dst).(type) {
	case []int32:
		left = spreadCodes(&d[0], at, &where[0], len(where), present)
	case []int64:
		left = spreadInts(&d[0], at, &where[0], len(where), present)
	case []float64:
		left = spreadFloats(&d[0], at, &where[0], len(where), present)
	}
	_ = dst[:left] // there are as many values as bits
	return left, 0
}

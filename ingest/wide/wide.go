// Package wide has the loops over columns that are done eight values at a time
// where the processor can (AVX-512), and one at a time elsewhere. Both give the same
// bits. A loop is here because a report spends a hundredth or more of its time in
// it: see docs/adr/0011-wide-loops.md.
//
// Slices that a loop reads or writes in step must be as long as the one it is of.
package wide

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// A Window is a run of buckets of one width each on a scale of float64 bits: bucket
// k has the values whose bits, shifted right, are Base+k, for 0 ≤ k < Width.
type Window struct {
	Shift       uint // less than 64
	Base, Width uint64
}

// WordBits is how many bits of a word are for the value.
const WordBits = 50

// Words writes a word for each of x: its bucket in the window, shifted left by
// WordBits, and in the bits below the value in fixed point, rounded, of which unit
// are 1. Zero has bucket Width+1; values outside the window, NaN among them, have
// Width and 0 in fixed point. A value in the window must be less than 2^WordBits
// units. It returns how many are outside, and how many are NaN.
func Words(dst []uint64, x []float64, w Window, unit float64) (outside, nan int) {
	const infinite = 0x7ff << 53 // of bits without their sign
	n := 0
	if has && len(x) >= 8 {
		n = len(x) &^ 7
		_ = dst[n-1]
		outside, nan = words8(&dst[0], &x[0], n, uint64(w.Shift&63), w.Base, w.Width, unit)
	}
	dst = dst[n:len(x)]
	shift, base, width := w.Shift&63, w.Base, w.Width
	for i, v := range x[n:] {
		f := math.Float64bits(v)
		k, q := min(f>>shift-base, width), uint64(int64(float64(v*unit)+0.5))
		if k == width {
			q = 0
		}
		f <<= 1
		if f == 0 {
			k = width + 1
		}
		dst[i] = k<<WordBits | q
		outside += one(k == width)
		nan += one(f > infinite)
	}
	return outside, nan
}

// Coarse writes the bucket of each of x in the window, shifted right by coarse;
// values outside count as those of its last bucket. The result must fit 16 bits.
func Coarse(dst []uint16, x []float64, w Window, coarse uint) {
	last := max(w.Width, 1) - 1
	n := 0
	if has && len(x) >= 8 {
		n = len(x) &^ 7
		_ = dst[n-1]
		coarse8(&dst[0], &x[0], n, uint64(w.Shift&63), w.Base, last, uint64(coarse&63))
	}
	dst = dst[n:len(x)]
	shift, base := w.Shift&63, w.Base
	for i, v := range x[n:] {
		dst[i] = uint16(min(math.Float64bits(v)>>shift-base, last) >> (coarse & 63))
	}
}

// LineBits is the size of a line of Marked: 1<<LineBits bits.
const LineBits = 9

// Marked lists the i for which bit at[i] of line lines[i] is set, ascending, in rows,
// which must be as long as at, and returns how many there are. A line is 1<<LineBits
// bits of marks; there must be all lines that are asked for.
func Marked(rows []uint32, lines, at []uint16, marks []uint64) int {
	n, found := 0, 0
	if has && len(at) >= 16 && len(marks) > 0 {
		n = len(at) &^ 15
		_, _ = rows[len(at)-1], lines[n-1]
		found = marked16(&rows[0], &lines[0], &at[0], n, &marks[0], uint64(2*len(marks)-1))
	}
	rows, lines = rows[:len(at)], lines[:len(at)]
	for i := n; i < len(at); i++ {
		bit := uint32(lines[i])<<LineBits + uint32(at[i])
		rows[found] = uint32(i)
		found += int(marks[bit>>6] >> (bit & 63) & 1)
	}
	return found
}

// Outside lists the i for which x[i] is neither in the window nor zero, ascending, in
// dst, which must be as long as x, and returns how many they are. NaN is outside.
func Outside(dst []uint32, x []float64, w Window) int {
	n, found := 0, 0
	if has && len(x) >= 8 {
		n = len(x) &^ 7
		_ = dst[len(x)-1]
		found = outside8(&dst[0], &x[0], n, uint64(w.Shift&63), w.Base, w.Width)
	}
	dst = dst[:len(x)]
	for i := n; i < len(x); i++ {
		dst[found] = uint32(i)
		found += one(bucketOf(x[i], w) == w.Width && x[i] != 0)
	}
	return found
}

// bucketOf returns the bucket of a value in a window, Width where it is outside.
func bucketOf(x float64, w Window) uint64 {
	return min(math.Float64bits(x)>>(w.Shift&63)-w.Base, w.Width)
}

// Floats writes whole numbers as floating point, rounded to the nearest.
func Floats(dst []float64, x []int64) {
	n := 0
	if has && len(x) >= 8 {
		n = len(x) &^ 7
		_ = dst[n-1]
		floats8(&dst[0], &x[0], n)
	}
	dst = dst[n:len(x)]
	for i, v := range x[n:] {
		dst[i] = float64(v)
	}
}

// Bits returns which bits any of x have, and which is the lowest of any: the least
// int64 is the only one whose lowest bit is the sign.
func Bits(x []int64) (all, lowest int64) {
	n := 0
	if has && len(x) >= 8 {
		n = len(x) &^ 7
		all, lowest = bits8(&x[0], n)
	}
	for _, v := range x[n:] {
		all |= v
		lowest |= v & -v
	}
	return all, lowest
}

// Copy copies src to dst and reports whether all of it are finite numbers.
func Copy(dst, src []float64) (finite bool) {
	const infinite = 0x7ff << 53 // of bits without their sign
	n, most := 0, uint64(0)
	if has && len(src) >= 8 {
		n = len(src) &^ 7
		_ = dst[n-1]
		most = copy8(&dst[0], &src[0], n)
	}
	dst = dst[n:len(src)]
	for i, x := range src[n:] {
		dst[i] = x
		most = max(most, math.Float64bits(x)<<1)
	}
	return most < infinite
}

// Most returns the largest of the bits of x that are in look, as a whole number.
func Most(x []float64, look uint64) (most uint64) {
	n := 0
	if has && len(x) >= 8 {
		n = len(x) &^ 7
		most = most8(&x[0], n, look)
	}
	for _, v := range x[n:] {
		most = max(most, math.Float64bits(v)&look)
	}
	return most
}

// Quotients reads numbers of eight bytes, little-endian, and divides them by div. b
// must have all of dst.
func Quotients(dst []float64, b []byte, div float64) {
	n := 0
	if has && len(dst) >= 8 {
		n = len(dst) &^ 7
		_ = b[8*n-1]
		quotients8(&dst[0], &b[0], n, div)
	}
	dst, b = dst[n:], b[8*n:]
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])) / div
	}
}

// TallyRows is how many words Tally takes at most: their values add up to less than
// 2^64.
const TallyRows = 1 << (64 - WordBits)

// Tally counts the words of some rows by their buckets, and calls over for each
// counter that comes to 0 again. It returns the sum of their values, and that of the
// squares of these in two words, the lower one first. There must be counters for all
// buckets.
func Tally(counts []uint8, words []uint64, rows []uint32, over func(bucket uint64)) (sum, s0, s1 uint64) {
	var c uint64
	var lo, hi uint64 // sums of the lower 52 bits of squares, and of the upper ones
	for hasTally && len(rows) >= 8 {
		var full [64]uint16
		done, n := tally8(&counts[0], &words[0], &rows[0], len(rows)&^7, uint64(len(counts)-1), uint64(len(words)-1), &full, &sum, &lo, &hi)
		for _, k := range full[:n] {
			over(uint64(k))
		}
		rows = rows[done:]
	}
	s0, c = bits.Add64(lo, hi<<52, 0)
	s1 = hi>>12 + c
	for _, row := range rows {
		w := words[row]
		k := w >> WordBits
		if counts[k]++; counts[k] == 0 {
			over(k)
		}
		v := w & (1<<WordBits - 1)
		h, l := bits.Mul64(v, v)
		sum += v
		s0, c = bits.Add64(s0, l, 0)
		s1, _ = bits.Add64(s1, h, c)
	}
	return sum, s0, s1
}

// Ratios divides numbers by whole ones.
func Ratios(dst, x []float64, by []int64) {
	n := 0
	if has && len(x) >= 8 {
		n = len(x) &^ 7
		_, _ = dst[n-1], by[n-1]
		ratios8(&dst[0], &x[0], &by[0], n)
	}
	dst, by = dst[n:len(x)], by[n:len(x)]
	for i, v := range x[n:] {
		dst[i] = v / float64(by[i])
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

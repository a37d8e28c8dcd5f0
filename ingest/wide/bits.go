package wide

// The loops here make bitmaps, a bit a row, the first in the lowest bit of the first
// word. All of them write whole words: bits beyond the last row are 0.

// bitsFrom writes the words of n rows, from one on that is the first of a word.
func bitsFrom(dst []uint64, from, n int, is func(i int) bool) {
	for ; from < n; from += 64 {
		word := uint64(0)
		for i := from; i < min(from+64, n); i++ {
			word |= uint64(one(is(i))) << (i & 63)
		}
		dst[from/64] = word
	}
}

// Zeros sets the bits of the values that are zero, of either sign.
func Zeros(dst []uint64, x []float64) {
	n := 0
	if has && len(x) >= 64 {
		n = len(x) &^ 63
		_ = dst[n/64-1]
		zeros8(&dst[0], &x[0], n)
	}
	bitsFrom(dst, n, len(x), func(i int) bool { return x[i] == 0 })
}

// Equal sets the bits of the codes that are a certain one.
func Equal(dst []uint64, codes []int32, code int32) {
	n := 0
	if has && len(codes) >= 64 {
		n = len(codes) &^ 63
		_ = dst[n/64-1]
		equal16(&dst[0], &codes[0], n, code)
	}
	bitsFrom(dst, n, len(codes), func(i int) bool { return codes[i] == code })
}

// AtMost sets the bits of the values that are most, or less. NaN is neither.
func AtMost(dst []uint64, x []float64, most float64) {
	n := 0
	if has && len(x) >= 64 {
		n = len(x) &^ 63
		_ = dst[n/64-1]
		atMost8(&dst[0], &x[0], n, most)
	}
	bitsFrom(dst, n, len(x), func(i int) bool { return x[i] <= most })
}

// Above sets the bits of the numbers that are more than the one beside them.
func Above(dst []uint64, x, y []int64) {
	n := 0
	if has && len(x) >= 64 {
		n = len(x) &^ 63
		_, _ = dst[n/64-1], y[n-1]
		above8(&dst[0], &x[0], &y[0], n)
	}
	bitsFrom(dst, n, len(x), func(i int) bool { return x[i] > y[i] })
}

// Below sets the bits of the numbers that are less than a limit.
func Below(dst []uint64, x []int64, limit int64) {
	n := 0
	if has && len(x) >= 64 {
		n = len(x) &^ 63
		_ = dst[n/64-1]
		below8(&dst[0], &x[0], n, limit)
	}
	bitsFrom(dst, n, len(x), func(i int) bool { return x[i] < limit })
}

// Without sets the bits of the bytes that have none of some bits.
func Without(dst []uint64, b []uint8, look uint8) {
	n := 0
	if has && len(b) >= 64 {
		n = len(b) &^ 63
		_ = dst[n/64-1]
		without64(&dst[0], &b[0], n, look)
	}
	bitsFrom(dst, n, len(b), func(i int) bool { return b[i]&look == 0 })
}

// Set sets some bits of those bytes whose bit is set.
func Set(b []uint8, where []uint64, bit uint8) {
	n := 0
	if has && len(b) >= 64 {
		n = len(b) &^ 63
		_ = where[n/64-1]
		set64(&b[0], &where[0], n, bit)
	}
	for i := n; i < len(b); i++ {
		b[i] |= bit & -uint8(where[i/64]>>(i&63)&1)
	}
}

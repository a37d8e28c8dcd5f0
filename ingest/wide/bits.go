package wide

// The loops here make bitmaps, a bit a row, the first in the lowest bit of the first
// word. All of them write whole words: bits beyond the last row are 0.

// Equal sets the bits of the codes that are a certain one.
func Equal(dst []uint64, codes []int32, code int32) {
	n := 0
	if has && len(codes) >= 64 {
		n = len(codes) &^ 63
		_ = dst[n/64-1]
		equal16(&dst[0], &codes[0], n, code)
	}
	for i := n; i < len(codes); i += 64 {
		word := uint64(0)
		for k, c := range codes[i:min(i+64, len(codes))] {
			word |= uint64(one(c == code)) << k
		}
		dst[i/64] = word
	}
}

// AtMost sets the bits of the values that are most, or less. NaN is neither.
func AtMost(dst []uint64, x []float64, most float64) {
	n := 0
	if has && len(x) >= 64 {
		n = len(x) &^ 63
		_ = dst[n/64-1]
		atMost8(&dst[0], &x[0], n, most)
	}
	for i := n; i < len(x); i += 64 {
		word := uint64(0)
		for k, v := range x[i:min(i+64, len(x))] {
			word |= uint64(one(v <= most)) << k
		}
		dst[i/64] = word
	}
}

// Above sets the bits of the numbers that are more than the one beside them.
func Above(dst []uint64, x, y []int64) {
	n := 0
	if has && len(x) >= 64 {
		n = len(x) &^ 63
		_, _ = dst[n/64-1], y[n-1]
		above8(&dst[0], &x[0], &y[0], n)
	}
	for i := n; i < len(x); i += 64 {
		word := uint64(0)
		for k, v := range x[i:min(i+64, len(x))] {
			word |= uint64(one(v > y[i+k])) << k
		}
		dst[i/64] = word
	}
}

// Below sets the bits of the numbers that are less than a limit.
func Below(dst []uint64, x []int64, limit int64) {
	n := 0
	if has && len(x) >= 64 {
		n = len(x) &^ 63
		_ = dst[n/64-1]
		below8(&dst[0], &x[0], n, limit)
	}
	for i := n; i < len(x); i += 64 {
		word := uint64(0)
		for k, v := range x[i:min(i+64, len(x))] {
			word |= uint64(one(v < limit)) << k
		}
		dst[i/64] = word
	}
}

// Without sets the bits of the bytes that have none of some bits.
func Without(dst []uint64, b []uint8, look uint8) {
	n := 0
	if has && len(b) >= 64 {
		n = len(b) &^ 63
		_ = dst[n/64-1]
		without64(&dst[0], &b[0], n, look)
	}
	for i := n; i < len(b); i += 64 {
		word := uint64(0)
		for k, v := range b[i:min(i+64, len(b))] {
			word |= uint64(one(v&look == 0)) << k
		}
		dst[i/64] = word
	}
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

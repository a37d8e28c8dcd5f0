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

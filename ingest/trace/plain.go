package trace

import (
	"encoding/binary"
)

// Plain values, a few at a time: one look at whether there is room for them.

// plain32 reads integers of four bytes, as many as there is room for.
func plain32(dst []int64, b []byte) {
	for ; len(dst) >= 4 && len(b) >= 16; dst, b = dst[4:], b[16:] {
		x, y := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		dst[0], dst[1], dst[2], dst[3] = int64(int32(x)), int64(x)>>32, int64(int32(y)), int64(y)>>32
	}
	for i := range dst {
		dst[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
	}
}

// plain64 reads integers of eight bytes.
func plain64(dst []int64, b []byte) {
	for ; len(dst) >= 4 && len(b) >= 32; dst, b = dst[4:], b[32:] {
		dst[0] = int64(binary.LittleEndian.Uint64(b))
		dst[1] = int64(binary.LittleEndian.Uint64(b[8:]))
		dst[2] = int64(binary.LittleEndian.Uint64(b[16:]))
		dst[3] = int64(binary.LittleEndian.Uint64(b[24:]))
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
	}
}

// plainBits reads booleans, least significant bit first, from a bit on.
func plainBits(dst []int64, b []byte, bit int) {
	for ; len(dst) > 0 && bit&7 != 0; dst, bit = dst[1:], bit+1 {
		dst[0] = int64(b[bit>>3] >> (bit & 7) & 1)
	}
	for b = b[bit>>3:]; len(dst) >= 8; dst, b = dst[8:], b[1:] {
		x, d := b[0], (*[8]int64)(dst)
		for i := range d {
			d[i] = int64(x & 1)
			x >>= 1
		}
	}
	for i := range dst {
		dst[i] = int64(b[0] >> i & 1)
	}
}

package trace

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/vreport/vreport/ingest/wide"
)

var errShort = errors.New("page holds fewer values than it declares")

// A hybrid reads Parquet's RLE and bit-packing hybrid as a stream: levels and
// dictionary indexes come in pieces of a batch, so that memory does not depend
// on the counts that a page claims.
type hybrid struct {
	b     []byte
	width uint
	run   int    // values left of a repeated run
	value uint32 // of it
	pack  int    // values left of a packed run
	bit   uint   // bits of b's packed run that are used
	bytes int    // length of the packed run in b
}

func (h *hybrid) reset(b []byte, width uint) {
	*h = hybrid{b: b, width: width}
}

// header starts the next run.
func (h *hybrid) header() error {
	v, n := binary.Uvarint(h.b)
	if n <= 0 || v>>1 > 1<<31 {
		return errShort
	}
	h.b = h.b[n:]
	if v&1 == 1 {
		groups := int(v >> 1)
		h.pack, h.bit = groups*8, 0
		h.bytes = groups * int(h.width)
		if h.bytes > len(h.b) {
			// Some writers cut the padding of the last group.
			h.bytes = len(h.b)
			if h.width > 0 {
				h.pack = min(h.pack, h.bytes*8/int(h.width))
			}
		}
		return nil
	}
	h.run = int(v >> 1)
	w := int(h.width+7) / 8
	if w > len(h.b) {
		return errShort
	}
	h.value = 0
	for i := range w {
		h.value |= uint32(h.b[i]) << (8 * i)
	}
	h.b = h.b[w:]
	return nil
}

// same takes n values where they are all the same one by a single run.
func (h *hybrid) same(n int, value uint32) bool {
	if h.run == 0 && h.pack == 0 && h.header() != nil {
		h.b, h.run, h.pack = nil, 0, 0
		return false // and read fails
	}
	if h.run < n || h.value != value {
		return false
	}
	h.run -= n
	return true
}

// read fills dst.
func (h *hybrid) read(dst []uint32) error {
	for len(dst) > 0 {
		switch {
		case h.run > 0:
			n := min(h.run, len(dst))
			for i := range dst[:n] {
				dst[i] = h.value
			}
			h.run -= n
			dst = dst[n:]
		case h.pack > 0:
			n := min(h.pack, len(dst))
			unpack(dst[:n], h.b[:h.bytes], h.bit, h.width)
			h.bit += uint(n) * h.width
			h.pack -= n
			dst = dst[n:]
			if h.pack == 0 {
				h.b = h.b[h.bytes:]
			}
		default:
			if err := h.header(); err != nil {
				return err
			}
		}
	}
	return nil
}

// skip passes over n values.
func (h *hybrid) skip(n int) error {
	for n > 0 {
		k := 0
		switch {
		case h.run > 0:
			k = min(h.run, n)
			h.run -= k
		case h.pack > 0:
			k = min(h.pack, n)
			h.bit += uint(k) * h.width
			if h.pack -= k; h.pack == 0 {
				h.b = h.b[h.bytes:]
			}
		default:
			if err := h.header(); err != nil {
				return err
			}
		}
		n -= k
	}
	return nil
}

// readBits is read for values of one bit, into those of a bitmap from a bit on,
// all of which are set. It returns how many are ones.
func (h *hybrid) readBits(dst []uint64, at, n int) (ones int, err error) {
	for n > 0 {
		if h.run == 0 && h.pack == 0 {
			if err := h.header(); err != nil {
				return ones, err
			}
			continue
		}
		var word uint64
		k := min(n, 64-at&63) // to the end of a word of the bitmap
		if h.run > 0 {
			k = min(k, h.run)
			if h.value&1 != 0 {
				word = ^uint64(0)
			}
			h.run -= k
		} else {
			k = min(k, h.pack, 56) // eight bytes from any bit on hold 57
			word = load64(h.b[:h.bytes], h.bit>>3) >> (h.bit & 7)
			h.bit += uint(k)
			h.pack -= k
			if h.pack == 0 {
				h.b = h.b[h.bytes:]
			}
		}
		mask := uint64(1)<<(k&63) - 1
		if k == 64 {
			mask = ^uint64(0)
		}
		dst[at>>6] &^= (^word & mask) << (at & 63)
		ones += bits.OnesCount64(word & mask)
		at += k
		n -= k
	}
	return ones, nil
}

// unpack reads bit-packed values, least significant bit first, from bit on.
func unpack(dst []uint32, b []byte, bit, width uint) {
	mask := uint64(1)<<width - 1
	i := wide.Unpack(dst, b, bit, width)
	bit += uint(i) * width
	// Eight bytes from any bit on hold 57 bits that are wanted: eight values of up
	// to 7 bits, which levels and indexes into small dictionaries have.
	for ; width <= 7 && i+8 <= len(dst) && bit>>3+8 <= uint(len(b)); i += 8 {
		x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
		y := x >> (4 * width & 63)
		w := width & 63
		d := (*[8]uint32)(dst[i:])
		d[0], d[4] = uint32(x&mask), uint32(y&mask)
		x, y = x>>w, y>>w
		d[1], d[5] = uint32(x&mask), uint32(y&mask)
		x, y = x>>w, y>>w
		d[2], d[6] = uint32(x&mask), uint32(y&mask)
		x, y = x>>w, y>>w
		d[3], d[7] = uint32(x&mask), uint32(y&mask)
		bit += 8 * width
	}
	for ; i < len(dst); i++ {
		at := bit >> 3
		if at+8 > uint(len(b)) {
			break
		}
		dst[i] = uint32(binary.LittleEndian.Uint64(b[at:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(dst); i++ { // the last bytes, without reading past them
		dst[i] = uint32(load64(b, bit>>3) >> (bit & 7) & mask)
		bit += width
	}
}

// unpackBig reads the deprecated BIT_PACKED levels, most significant bit first.
func unpackBig(dst []uint32, b []byte, width uint) error {
	if (uint(len(dst))*width+7)/8 > uint(len(b)) {
		return errShort
	}
	bit := uint(0)
	for i := range dst {
		var x uint32
		for range width {
			x = x<<1 | uint32(b[bit>>3]>>(7-bit&7)&1)
			bit++
		}
		dst[i] = x
	}
	return nil
}

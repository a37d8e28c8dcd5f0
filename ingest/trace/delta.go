package trace

import (
	"encoding/binary"
	"errors"
)

var errDelta = errors.New("damaged DELTA encoding")

// A delta reads DELTA_BINARY_PACKED as a stream, a miniblock at a time.
type delta struct {
	b       []byte
	left    int // values that are not handed out
	minis   int
	perMini int
	last    int64
	started bool

	min    int64
	widths []byte // of the miniblocks of the block that are not unpacked
	buf    []int64
	pos    int
}

// open reads the header; a count above most is refused.
func (d *delta) open(b []byte, most int) error {
	var h [3]uint64
	for i := range h {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return errDelta
		}
		h[i], b = v, b[n:]
	}
	first, n := binary.Varint(b)
	block, minis := h[0], h[1]
	if n <= 0 || block == 0 || block > 1<<16 || minis == 0 || block%minis != 0 || block/minis%8 != 0 {
		return errDelta
	}
	if h[2] > uint64(most) {
		return errDelta
	}
	buf := d.buf
	*d = delta{b: b[n:], left: int(h[2]), minis: int(minis), perMini: int(block / minis), last: first, buf: buf[:0]}
	return nil
}

// read fills dst.
func (d *delta) read(dst []int64) error {
	if len(dst) > d.left {
		return errShort
	}
	d.left -= len(dst)
	if len(dst) > 0 && !d.started {
		d.started = true
		dst[0] = d.last
		dst = dst[1:]
	}
	for len(dst) > 0 {
		if d.pos == len(d.buf) {
			if err := d.miniblock(); err != nil {
				return err
			}
		}
		n := min(len(dst), len(d.buf)-d.pos)
		for i, x := range d.buf[d.pos : d.pos+n] {
			d.last += x + d.min
			dst[i] = d.last
		}
		d.pos += n
		dst = dst[n:]
	}
	return nil
}

func (d *delta) miniblock() error {
	if len(d.widths) == 0 {
		m, n := binary.Varint(d.b)
		if n <= 0 || len(d.b)-n < d.minis {
			return errShort
		}
		d.min = m
		d.widths, d.b = d.b[n:n+d.minis], d.b[n+d.minis:]
	}
	w := uint(d.widths[0])
	d.widths = d.widths[1:]
	size := d.perMini * int(w) / 8
	if w > 64 || size > len(d.b) {
		return errShort
	}
	if cap(d.buf) < d.perMini {
		d.buf = make([]int64, d.perMini)
	}
	d.buf, d.pos = d.buf[:d.perMini], 0
	unpack64(d.buf, d.b[:size], w)
	d.b = d.b[size:]
	return nil
}

// rest returns what follows the encoded values, all of which must be read.
func (d *delta) rest() []byte { return d.b }

// unpack64 reads bit-packed values of up to 64 bits, least significant first.
func unpack64(dst []int64, b []byte, width uint) {
	mask := ^uint64(0)
	if width < 64 {
		mask = 1<<width - 1
	}
	bit := uint(0)
	for i := range dst {
		at, shift := bit>>3, bit&7
		v := load64(b, at) >> shift
		if shift+width > 64 {
			v |= uint64(b[at+8]) << (64 - shift)
		}
		dst[i] = int64(v & mask)
		bit += width
	}
}

// load64 loads eight bytes, or what there is of them.
func load64(b []byte, at uint) uint64 {
	if at+8 <= uint(len(b)) {
		return binary.LittleEndian.Uint64(b[at:])
	}
	var x uint64
	for k := uint(0); at+k < uint(len(b)); k++ {
		x |= uint64(b[at+k]) << (8 * k)
	}
	return x
}

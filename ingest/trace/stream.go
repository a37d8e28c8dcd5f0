package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/wide"
)

// A stream reads the values of one page (or of a dictionary) in their physical
// type, a piece at a time. Nulls are not among them.
type stream struct {
	leaf *leaf
	enc  format.Encoding
	data []byte
	off  int // bytes; bits of plain booleans; values of BYTE_STREAM_SPLIT
	n    int // values of BYTE_STREAM_SPLIT

	rle      hybrid
	delta    delta
	lens     []int64 // DELTA_LENGTH_BYTE_ARRAY; suffixes of DELTA_BYTE_ARRAY
	prefixes []int64
	prev     []byte
	u32      []uint32
	passed   []int64 // nobody wants them
}

// width returns the bytes of a value of fixed size, or 0.
func (l *leaf) width() int {
	switch l.physical {
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	case format.Int96:
		return 12
	case format.FixedLenByteArray:
		return l.length
	}
	return 0
}

// open starts on a page of at most values values.
func (s *stream) open(l *leaf, enc format.Encoding, data []byte, values int) error {
	s.leaf, s.enc, s.data, s.off = l, enc, data, 0
	bad := func() error {
		return fmt.Errorf("encoding %s of %s is not supported", enc, l.physical)
	}
	switch enc {
	case format.Plain:
	case format.RLE:
		if l.physical != format.Boolean {
			return bad()
		}
		if len(data) < 4 || int64(binary.LittleEndian.Uint32(data)) > int64(len(data)-4) {
			return errShort
		}
		s.rle.reset(data[4:4+binary.LittleEndian.Uint32(data)], 1)
	case format.DeltaBinaryPacked:
		if l.physical != format.Int32 && l.physical != format.Int64 {
			return bad()
		}
		return s.delta.open(data, values)
	case format.DeltaLengthByteArray:
		if l.physical != format.ByteArray {
			return bad()
		}
		return s.deltaLengths(&s.lens, values)
	case format.DeltaByteArray:
		if l.physical != format.ByteArray && l.physical != format.FixedLenByteArray {
			return bad()
		}
		s.prev = s.prev[:0]
		if err := s.deltaLengths(&s.prefixes, values); err != nil {
			return err
		}
		return s.deltaLengths(&s.lens, values)
	case format.ByteStreamSplit:
		w := l.width()
		if w == 0 || l.physical == format.Int96 {
			return bad()
		}
		s.n = len(data) / w
	default:
		return bad()
	}
	return nil
}

// deltaLengths decodes a run of lengths and leaves s.data behind it.
func (s *stream) deltaLengths(into *[]int64, values int) error {
	if err := s.delta.open(s.data, min(values, maxDeltaValues)); err != nil {
		return err
	}
	n := s.delta.left
	if cap(*into) < n {
		*into = make([]int64, n)
	}
	*into = (*into)[:n]
	if err := s.delta.read(*into); err != nil {
		return err
	}
	s.data = s.delta.rest()
	return nil
}

// ints reads whole numbers, booleans, and INT96 as nanoseconds.
func (s *stream) ints(dst []int64) error {
	switch s.leaf.physical {
	case format.Boolean:
		return s.bools(dst)
	case format.Int96:
		return s.int96(dst)
	}
	switch s.enc {
	case format.Plain:
		b, err := s.take(len(dst) * s.leaf.width())
		if err != nil {
			return err
		}
		if s.leaf.physical == format.Int64 {
			plain64(dst, b)
			return nil
		}
		plain32(dst, b)
	case format.DeltaBinaryPacked:
		if err := s.delta.read(dst); err != nil {
			return err
		}
		if s.leaf.physical == format.Int32 {
			for i, x := range dst {
				dst[i] = int64(int32(x)) // deltas wrap at 32 bits
			}
		}
	case format.ByteStreamSplit:
		for i := range dst {
			x, err := s.split()
			if err != nil {
				return err
			}
			if s.leaf.physical == format.Int32 {
				x = uint64(int64(int32(x)))
			}
			dst[i] = int64(x)
		}
	default:
		return fmt.Errorf("encoding %s of numbers is not supported", s.enc)
	}
	if s.leaf.unsigned && s.leaf.physical == format.Int32 {
		for i, x := range dst {
			dst[i] = int64(uint32(x))
		}
	}
	return nil
}

func (s *stream) bools(dst []int64) error {
	if s.enc == format.RLE {
		s.u32 = growSlice(s.u32, len(dst))
		if err := s.rle.read(s.u32); err != nil {
			return err
		}
		for i, x := range s.u32 {
			dst[i] = int64(x)
		}
		return nil
	}
	if s.off+len(dst) > len(s.data)*8 {
		return errShort
	}
	plainBits(dst, s.data, s.off)
	s.off += len(dst)
	return nil
}

// julianEpoch is the Julian day of 1 January 1970.
const julianEpoch = 2440588

func (s *stream) int96(dst []int64) error {
	b, err := s.take(len(dst) * 12)
	if err != nil {
		return err
	}
	for i := range dst {
		ns := int64(binary.LittleEndian.Uint64(b[12*i:]))
		day := int64(binary.LittleEndian.Uint32(b[12*i+8:])) - julianEpoch
		dst[i] = badInt
		if day > -106000 && day < 106000 { // what 64 bits of nanoseconds hold
			dst[i] = day*86400e9 + ns
		}
	}
	return nil
}

// floats reads numbers with fractions: FLOAT, DOUBLE, FLOAT16, decimals in
// bytes (not yet scaled) and INTERVAL in milliseconds.
func (s *stream) floats(dst []float64, div float64) error {
	if s.leaf.physical == format.Double && s.enc == format.Plain {
		return s.doubles(dst, div)
	}
	if err := s.numbers(dst); err != nil {
		return err
	}
	if div != 1 {
		for i := range dst {
			dst[i] /= div
		}
	}
	return nil
}

// doubles is floats of the usual encoding, at a look each.
func (s *stream) doubles(dst []float64, div float64) error {
	b, err := s.take(8 * len(dst))
	if err != nil {
		return err
	}
	wide.Quotients(dst, b, div)
	return nil
}

// numbers reads numbers as they are in the file.
func (s *stream) numbers(dst []float64) error {
	switch {
	case s.leaf.physical == format.ByteArray || s.leaf.physical == format.FixedLenByteArray:
		for i := range dst {
			b, err := s.bytes()
			if err != nil {
				return err
			}
			dst[i] = s.leaf.number(b)
		}
		return nil
	case s.enc == format.ByteStreamSplit:
		for i := range dst {
			x, err := s.split()
			if err != nil {
				return err
			}
			if s.leaf.physical == format.Float {
				dst[i] = float64(math.Float32frombits(uint32(x)))
			} else {
				dst[i] = math.Float64frombits(x)
			}
		}
		return nil
	case s.enc != format.Plain:
		return fmt.Errorf("encoding %s of numbers is not supported", s.enc)
	}
	b, err := s.take(len(dst) * s.leaf.width())
	if err != nil {
		return err
	}
	for i := range dst {
		dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
	}
	return nil
}

// split gathers the bytes of the next value of BYTE_STREAM_SPLIT.
func (s *stream) split() (uint64, error) {
	if s.off >= s.n {
		return 0, errShort
	}
	var x uint64
	for k := range s.leaf.width() {
		x |= uint64(s.data[k*s.n+s.off]) << (8 * k)
	}
	s.off++
	return x, nil
}

// bytes reads the next text or fixed run of bytes. It is valid until the next
// call.
func (s *stream) bytes() ([]byte, error) {
	switch s.enc {
	case format.Plain:
		if s.leaf.physical == format.FixedLenByteArray {
			return s.take(s.leaf.length)
		}
		h, err := s.take(4)
		if err != nil {
			return nil, err
		}
		return s.take(int(binary.LittleEndian.Uint32(h)))
	case format.DeltaLengthByteArray:
		n, err := s.length()
		if err != nil {
			return nil, err
		}
		return s.take(n)
	case format.DeltaByteArray:
		return s.deltaBytes()
	case format.ByteStreamSplit:
		if s.off >= s.n {
			return nil, errShort
		}
		s.prev = s.prev[:0]
		for k := range s.leaf.length {
			s.prev = append(s.prev, s.data[k*s.n+s.off])
		}
		s.off++
		return s.prev, nil
	}
	return nil, fmt.Errorf("encoding %s of text is not supported", s.enc)
}

func (s *stream) length() (int, error) {
	if len(s.lens) == 0 {
		return 0, errShort
	}
	n := s.lens[0]
	s.lens = s.lens[1:]
	if n < 0 || n > math.MaxInt32 {
		return 0, errDelta
	}
	return int(n), nil
}

func (s *stream) deltaBytes() ([]byte, error) {
	n, err := s.length()
	if err != nil {
		return nil, err
	}
	if len(s.prefixes) == 0 {
		return nil, errShort
	}
	p := s.prefixes[0]
	s.prefixes = s.prefixes[1:]
	if p < 0 || p > int64(len(s.prev)) {
		return nil, errDelta
	}
	suffix, err := s.take(n)
	if err != nil {
		return nil, err
	}
	s.prev = append(s.prev[:p], suffix...)
	if s.leaf.physical == format.FixedLenByteArray && len(s.prev) != s.leaf.length {
		return nil, errors.New("a value of another length than its type's")
	}
	return s.prev, nil
}

// skip passes over n values.
func (s *stream) skip(n int) error {
	switch {
	case s.leaf.physical == format.Boolean && s.enc == format.RLE:
		return s.rle.skip(n)
	case s.leaf.physical == format.Boolean:
		if s.off += n; s.off > len(s.data)*8 {
			return errShort
		}
		return nil
	case s.enc == format.ByteStreamSplit:
		if s.off += n; s.off > s.n {
			return errShort
		}
		return nil
	case s.enc == format.DeltaBinaryPacked:
		s.passed = growSlice(s.passed, n)
		return s.delta.read(s.passed)
	case s.enc == format.Plain && s.leaf.width() > 0:
		_, err := s.take(n * s.leaf.width())
		return err
	}
	for range n {
		if _, err := s.bytes(); err != nil {
			return err
		}
	}
	return nil
}

// take cuts n bytes of plain data off.
func (s *stream) take(n int) ([]byte, error) {
	if n < 0 || n > len(s.data)-s.off {
		return nil, errShort
	}
	s.off += n
	return s.data[s.off-n : s.off : s.off], nil
}

// number reads a value that is stored as bytes.
func (l *leaf) number(b []byte) float64 {
	switch {
	case l.float16 && len(b) == 2:
		return half(binary.LittleEndian.Uint16(b))
	case l.interval && len(b) == 12:
		months, days, ms := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
		if months != 0 {
			return math.NaN() // a month has no length
		}
		return float64(days)*86400e3 + float64(ms)
	case l.decimal:
		return bigEndian(b)
	}
	return math.NaN()
}

// bigEndian reads a two's complement integer of any length.
func bigEndian(b []byte) float64 {
	if len(b) == 0 {
		return 0
	}
	neg := b[0]&0x80 != 0
	var v float64
	for _, x := range b {
		if neg {
			x = ^x
		}
		v = v*256 + float64(x)
	}
	if neg {
		return -v - 1
	}
	return v
}

// half converts an IEEE 754 half.
func half(h uint16) float64 {
	exp, frac := int(h>>10&31), float64(h&1023)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 31:
		v = math.Inf(1)
		if frac != 0 {
			return math.NaN()
		}
	default:
		v = math.Ldexp(1024+frac, exp-25)
	}
	if h&0x8000 != 0 {
		return -v
	}
	return v
}

func growSlice[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}

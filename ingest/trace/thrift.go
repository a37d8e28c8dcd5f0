package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds of the metadata of a file that is not hostile.
const (
	maxFooter  = 64 << 20
	maxStructs = 1 << 20 // structs in lists: column chunks, schema elements, …
	maxDepth   = 24
)

var (
	errThrift = errors.New("damaged metadata")
	errGoesOn = fmt.Errorf("%w: it goes on", errThrift) // there may be more of it than was looked at
)

// A thriftWalk steps over a struct in Thrift's compact protocol without
// decoding it. The decoder of the footer trusts the sizes of lists and recurses
// into whatever it meets; this finds out first that neither is out of bounds.
type thriftWalk struct {
	b       []byte
	at      int
	structs int
	pairs   bool  // lone is wanted
	lone    []int // ends of structs of nothing but a binary field 1, before the stop
}

// structLen returns the length of the struct at the start of b.
func structLen(b []byte) (int, error) {
	w := &thriftWalk{b: b}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	return w.at, nil
}

// completePairs gives an empty value to each key that stands without one. The
// format allows such pairs (of key and value: metadata of the user's own), the
// decoder does not. Other structs that look like one do not mind.
func completePairs(b []byte) []byte {
	w := &thriftWalk{b: b, pairs: true}
	if w.structure(0) != nil {
		return b
	}
	out := make([]byte, 0, len(b)+2*len(w.lone))
	from := 0
	for _, at := range w.lone {
		out = append(append(out, b[from:at]...), firstBinary, 0)
		from = at
	}
	return append(out, b[from:]...)
}

// firstBinary is the header of a binary field whose number is one more than the
// last: 1 where a struct starts.
const firstBinary = 1<<4 | tBinary

const (
	tTrue = 1 + iota
	tFalse
	tByte
	tI16
	tI32
	tI64
	tDouble
	tBinary
	tList
	tSet
	tMap
	tStruct
	tUUID
)

// structure steps over a struct. Values in it lie as deep as it does, those that
// hold others one deeper.
func (w *thriftWalk) structure(depth int) error {
	lone := false
	last := int16(0)
	for n := 0; ; n++ {
		id, t, err := w.field(last)
		if err != nil {
			return err
		}
		if t == 0 {
			if lone && w.pairs {
				w.lone = append(w.lone, w.at-1)
			}
			return nil
		}
		lone = n == 0 && id == 1 && t == tBinary
		if err := w.fieldValue(t, depth); err != nil {
			return err
		}
		last = id
	}
}

// field reads what stands before a field: its number, which may be told as its
// distance from the last one's, and its type, which is 0 where the struct ends.
func (w *thriftWalk) field(last int16) (id int16, t byte, err error) {
	h, err := w.byte()
	if err != nil || h == 0 {
		return 0, 0, err
	}
	if t = h & 15; t == 0 {
		return 0, 0, errThrift
	}
	if delta := h >> 4; delta > 0 {
		return last + int16(delta), t, nil
	}
	n, err := w.number(16)
	return int16(n), t, err
}

func (w *thriftWalk) fieldValue(t byte, depth int) error {
	if t == tTrue || t == tFalse {
		return nil // a field's boolean is its type
	}
	return w.value(t, depth)
}

func (w *thriftWalk) value(t byte, depth int) error {
	switch t {
	case tTrue, tFalse, tByte:
		return w.skip(1)
	case tI16, tI32, tI64:
		_, err := w.number(16 << (t - tI16))
		return err
	case tDouble:
		return w.skip(8)
	case tUUID:
		return w.skip(16)
	case tBinary:
		n, err := w.varint()
		if err != nil {
			return err
		}
		if n > maxFooter {
			return errThrift
		}
		return w.skip(int(n))
	}
	return w.nested(t, depth+1)
}

// nested steps over a value that holds others.
func (w *thriftWalk) nested(t byte, depth int) error {
	if depth > maxDepth {
		return errThrift
	}
	switch t {
	case tList, tSet:
		return w.list(depth)
	case tMap:
		return w.mapping(depth)
	case tStruct:
		return w.structure(depth)
	}
	return errThrift
}

func (w *thriftWalk) list(depth int) error {
	h, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(h >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.b)-w.at) {
		return errThrift // an element takes a byte at least
	}
	if h&15 == tStruct {
		if w.structs += int(n); w.structs > maxStructs {
			return errThrift
		}
	}
	for range n {
		if err := w.value(h&15, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) mapping(depth int) error {
	n, err := w.varint()
	if err != nil || n == 0 {
		return err
	}
	if n > uint64(len(w.b)-w.at) {
		return errThrift
	}
	kv, err := w.byte()
	if err != nil {
		return err
	}
	for range n {
		if err := w.value(kv>>4, depth); err != nil {
			return err
		}
		if err := w.value(kv&15, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if w.at >= len(w.b) {
		return 0, errGoesOn
	}
	w.at++
	return w.b[w.at-1], nil
}

func (w *thriftWalk) skip(n int) error {
	if n > len(w.b)-w.at {
		return errGoesOn
	}
	w.at += n
	return nil
}

func (w *thriftWalk) varint() (uint64, error) {
	v, n := binary.Uvarint(w.b[w.at:])
	switch {
	case n == 0:
		return 0, errGoesOn
	case n < 0:
		return 0, errThrift
	}
	w.at += n
	return v, nil
}

// number reads an integer of so many bits at most.
func (w *thriftWalk) number(bits int) (int64, error) {
	v, err := w.varint()
	if err == nil && v>>bits != 0 {
		err = errThrift
	}
	return int64(v>>1) ^ -int64(v&1), err
}

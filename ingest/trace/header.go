package trace

import (
	"fmt"
	"math/bits"

	"github.com/parquet-go/parquet-go/format"
)

// A page has a header, and a large trace tens of thousands of them, which are
// read more than once. They are decoded here, and nothing but what is used: the
// statistics in them, fields that nobody knows and fields of another type than
// they should have are stepped over. The footer, which is read once, is left to
// the Parquet library.

// readPageHeader decodes the page header that a walk starts with. An error other
// than errThrift tells what a whole header lacks.
func readPageHeader(w *thriftWalk, h *format.PageHeader) error {
	*h = format.PageHeader{}
	f := fields{w: w}
	for f.next() {
		switch f.is {
		case 1<<4 | tI32:
			take(&f, &h.Type)
		case 2<<4 | tI32:
			take(&f, &h.UncompressedPageSize)
		case 3<<4 | tI32:
			take(&f, &h.CompressedPageSize)
		case 4<<4 | tI32:
			take(&f, &h.CRC)
		case 5<<4 | tStruct:
			f.err = readDataPage(w, &h.DataPageHeader.V)
			h.DataPageHeader.Valid = true
		case 7<<4 | tStruct:
			f.err = readDictionaryPage(w, &h.DictionaryPageHeader.V)
			h.DictionaryPageHeader.Valid = true
		case 8<<4 | tStruct:
			f.err = readDataPageV2(w, &h.DataPageHeaderV2.V)
			h.DataPageHeaderV2.Valid = true
		default:
			f.skip()
		}
	}
	return f.need(1, 3)
}

func readDataPage(w *thriftWalk, h *format.DataPageHeader) error {
	f := fields{w: w, depth: 1}
	for f.next() {
		switch f.is {
		case 1<<4 | tI32:
			take(&f, &h.NumValues)
		case 2<<4 | tI32:
			take(&f, &h.Encoding)
		case 3<<4 | tI32:
			take(&f, &h.DefinitionLevelEncoding)
		case 4<<4 | tI32:
			take(&f, &h.RepetitionLevelEncoding)
		default:
			f.skip()
		}
	}
	return f.need(1, 4)
}

func readDictionaryPage(w *thriftWalk, h *format.DictionaryPageHeader) error {
	f := fields{w: w, depth: 1}
	for f.next() {
		switch f.is {
		case 1<<4 | tI32:
			take(&f, &h.NumValues)
		case 2<<4 | tI32:
			take(&f, &h.Encoding)
		case 3<<4 | tTrue, 3<<4 | tFalse:
			h.IsSorted = f.is&15 == tTrue
		default:
			f.skip()
		}
	}
	return f.need(1, 2)
}

func readDataPageV2(w *thriftWalk, h *format.DataPageHeaderV2) error {
	f := fields{w: w, depth: 1}
	for f.next() {
		switch f.is {
		case 1<<4 | tI32:
			take(&f, &h.NumValues)
		case 2<<4 | tI32:
			take(&f, &h.NumNulls)
		case 3<<4 | tI32:
			take(&f, &h.NumRows)
		case 4<<4 | tI32:
			take(&f, &h.Encoding)
		case 5<<4 | tI32:
			take(&f, &h.DefinitionLevelsByteLength)
		case 6<<4 | tI32:
			take(&f, &h.RepetitionLevelsByteLength)
		case 7<<4 | tTrue, 7<<4 | tFalse:
			h.IsCompressed.Set(f.is&15 == tTrue)
		default:
			f.skip()
		}
	}
	return f.need(1, 6)
}

// fields goes over the fields of a struct, for somebody who takes some of them
// and skips the others.
type fields struct {
	w     *thriftWalk
	depth int
	id    int16
	is    int    // id<<4 | type
	taken uint64 // a bit for each id
	err   error
}

// next moves to the next field. It is false after the last and after an error.
func (f *fields) next() bool {
	if f.err != nil {
		return false
	}
	var t byte
	f.id, t, f.err = f.w.field(f.id)
	f.is = int(f.id)<<4 | int(t)
	return t != 0 && f.err == nil
}

func (f *fields) skip() { f.err = f.w.fieldValue(byte(f.is&15), f.depth) }

// take decodes a field that is a number of 32 bits.
func take[T ~int32](f *fields, to *T) {
	n, err := f.w.number(32)
	*to, f.err = T(n), err
	f.taken |= 1 << f.id
}

// need returns the error of a struct that could not be read, or did not have
// each of some fields.
func (f *fields) need(first, last int) error {
	if f.err != nil {
		return f.err
	}
	if k := first + bits.TrailingZeros64(^(f.taken >> first)); k <= last {
		return fmt.Errorf("missing required field %d", k)
	}
	return nil
}

package trace

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// libraryHeader reads a page header as the Parquet library does, after a look at
// its bounds, which the library has none of. It leaves out what is not used.
func libraryHeader(b []byte) (h format.PageHeader, n int, err error) {
	if n, err = structLen(b); err != nil {
		return h, 0, err
	}
	err = thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b[:n])).Decode(&h)
	h.IndexPageHeader = thrift.Null[format.IndexPageHeader]{}
	h.DataPageHeader.V.Statistics = format.Statistics{}
	h.DataPageHeaderV2.V.Statistics = format.Statistics{}
	return h, n, err
}

func ownHeader(b []byte) (h format.PageHeader, n int, err error) {
	w := thriftWalk{b: b}
	h = format.PageHeader{CRC: 1, DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 1})} // of the last page
	err = readPageHeader(&w, &h)
	return h, w.at, err
}

func encodeHeader(t testing.TB, h *format.PageHeader) []byte {
	t.Helper()
	b, err := thrift.Marshal(new(thrift.CompactProtocol), h)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// headers are page headers of each kind, with statistics of several lengths.
func headers(t testing.TB) (out [][]byte) {
	for _, text := range []string{"", "chat", strings.Repeat("long", 1000)} {
		s := format.Statistics{NullCount: 3, DistinctCount: math.MaxInt64, MinValue: []byte(text), MaxValue: []byte(text), Min: []byte(text)}
		for _, h := range []format.PageHeader{
			{Type: format.DataPage, UncompressedPageSize: 70_000, CompressedPageSize: 300, CRC: -5,
				DataPageHeader: thrift.New(format.DataPageHeader{NumValues: 20_000, Encoding: format.RLEDictionary, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.BitPacked, Statistics: s})},
			{Type: format.DataPageV2, UncompressedPageSize: math.MaxInt32, CompressedPageSize: math.MinInt32,
				DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{NumValues: 9, NumNulls: 2, NumRows: 8, Encoding: format.DeltaBinaryPacked, DefinitionLevelsByteLength: 3, RepetitionLevelsByteLength: 4, IsCompressed: thrift.New(len(text) > 0), Statistics: s})},
			{Type: format.DataPageV2, DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{Encoding: format.Plain, Statistics: s})},
			{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: 1, Encoding: format.Plain, IsSorted: len(text) > 0})},
			{Type: format.IndexPage, CompressedPageSize: 5, IndexPageHeader: thrift.New(format.IndexPageHeader{})},
		} {
			out = append(out, encodeHeader(t, &h))
		}
	}
	return out
}

// What the library writes is read as the library reads it, and needs each of its
// bytes.
func TestReadPageHeader(t *testing.T) {
	for i, b := range headers(t) {
		want, n, err := libraryHeader(b)
		if err != nil || n != len(b) {
			t.Fatalf("header %d: the library reads %d of %d bytes: %v", i, n, len(b), err)
		}
		got, n, err := ownHeader(append(bytes.Clone(b), "the page"...))
		if d := cmp.Diff(want, got); d != "" || err != nil || n != len(b) {
			t.Errorf("header %d: %d of %d bytes, %v %s", i, n, len(b), err, d)
		}
		for k := range b {
			if _, _, err := ownHeader(b[:k]); !errors.Is(err, errThrift) {
				t.Errorf("header %d, %d of %d bytes: %v", i, k, len(b), err)
			}
		}
	}
}

// int32s encodes the fields 1 to n of a struct, all of them 0.
func int32s(n int) string { return strings.Repeat("\x15\x00", n) }

func TestReadPageHeaderFields(t *testing.T) {
	const stop = "\x00"
	page := "\x2c" + int32s(4) + stop // two fields on from 3
	for _, c := range []struct{ name, header, err string }{
		{"least", int32s(3) + stop, ""},
		{"its page", int32s(3) + page + stop, ""},
		{"numbers in the long form", "\x05\x04\x02\x05\x02\x02\x05\x06\x02" + stop, ""},
		{"one twice", int32s(3) + "\x05\x06\x0a" + stop, ""},
		{"its page twice", int32s(3) + "\x5c" + int32s(6) + "\x11" + stop + "\x0c\x10" + int32s(6) + stop + stop, ""},
		{"unknown", int32s(3) + "\xf1\x12\x13\x01\x14\x01\x15\x01\x16\x01\x17abcdefgh\x18\x03abc\x19\x35\x01\x02\x03\x1a\x21\x01\x02\x1b\x01\x58\x01\x01x\x1b\x00\x1c\x15\x00\x00\x1d" + strings.Repeat("u", 16) + stop, ""},
		{"a negative number of a field", int32s(3) + "\x05\x01\x02" + stop, ""},
		{"another type", int32s(2) + "\x16\x02" + stop, "missing required field 3"},
		{"a boolean for a number", int32s(2) + "\x11" + stop, "missing required field 3"},
		{"nothing", stop, "missing required field 1"},
		{"without a type", "\x25\x00" + "\x15\x00" + stop, "missing required field 1"},
		{"a page without encoding", int32s(3) + "\x2c" + "\x15\x00" + "\x25\x00\x15\x00" + stop + stop, "missing required field 2"},
		{"a v2 page with five", int32s(3) + "\x5c" + int32s(5) + stop + stop, "missing required field 6"},
		{"an empty dictionary", int32s(3) + "\x4c" + stop + stop, "missing required field 1"},
		{"33 bits", "\x15\x80\x80\x80\x80\x10" + int32s(2) + stop, "damaged metadata"},
		{"33 bits of a field that nobody knows", int32s(3) + "\xf5\x80\x80\x80\x80\x10" + stop, "damaged metadata"},
		{"17 bits", int32s(3) + "\xf4\x80\x80\x04" + stop, "damaged metadata"},
		{"17 bits of a field's number", int32s(3) + "\x05\x80\x80\x04\x00" + stop, "damaged metadata"},
		{"65 bits", int32s(3) + "\xf6\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02" + stop, "damaged metadata"},
		{"no type", int32s(3) + "\x10" + stop, "damaged metadata"},
		{"type 14", int32s(3) + "\x1e" + stop, "damaged metadata"},
		{"a long text", int32s(3) + "\x18\xff\xff\xff\xff\x07" + stop, "damaged metadata"},
		{"a long list", int32s(3) + "\x19\xf5\xff\xff\xff\x07" + stop, "damaged metadata"},
		{"a large map", int32s(3) + "\x1b\xff\xff\xff\x07\x55" + stop, "damaged metadata"},
		{"deep structs", int32s(3) + strings.Repeat("\x1c", 1<<20), "damaged metadata"},
		{"deep lists", int32s(3) + strings.Repeat("\x19", maxPageHeader), "damaged metadata"},
		{"deep maps", int32s(3) + "\x1b" + strings.Repeat("\x01\xbb", 1<<20), "damaged metadata"},
		{"no end", int32s(3), "damaged metadata: it goes on"},
	} {
		got, n, err := ownHeader([]byte(c.header))
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: %v, want %s", c.name, err, c.err)
			}
			if _, _, err := libraryHeader([]byte(c.header)); err == nil {
				t.Errorf("%s: the library reads it", c.name)
			}
			continue
		}
		want, _, lerr := libraryHeader([]byte(c.header))
		if d := cmp.Diff(want, got); d != "" || err != nil || lerr != nil || n != len(c.header) {
			t.Errorf("%s: %d of %d bytes, %v (the library: %v) %s", c.name, n, len(c.header), err, lerr, d)
		}
	}
}

// Nothing is allocated for a header, whatever it claims.
func TestReadPageHeaderAllocates(t *testing.T) {
	h, w := new(format.PageHeader), new(thriftWalk)
	for i, b := range append(headers(t), []byte(int32s(3)+"\x19\xec"+strings.Repeat("\x18\x00\x00", 14)+"\x00")) {
		read := func() {
			*w = thriftWalk{b: b}
			if err := readPageHeader(w, h); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(10, read); n > 0 {
			t.Errorf("header %d: %v allocations", i, n)
		}
	}
}

// FuzzPageHeader has headers read as the Parquet library reads them, or refused
// where it refuses them.
func FuzzPageHeader(f *testing.F) {
	for _, b := range headers(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want, n, lerr := libraryHeader(b)
		got, k, err := ownHeader(b)
		if (err == nil) != (lerr == nil) {
			t.Fatalf("%v, the library says %v", err, lerr)
		}
		if err != nil {
			return
		}
		if d := cmp.Diff(want, got); d != "" || k != n {
			t.Fatalf("%d bytes, want %d: %s", k, n, d)
		}
	})
}

func BenchmarkReadPageHeader(b *testing.B) {
	list := headers(b)[:5]
	h, w := new(format.PageHeader), new(thriftWalk)
	b.ReportAllocs()
	for b.Loop() {
		for _, x := range list {
			*w = thriftWalk{b: x}
			if err := readPageHeader(w, h); err != nil {
				b.Fatal(err)
			}
		}
	}
}

package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding"
	"github.com/parquet-go/parquet-go/format"
)

// A style is how a writer encodes: the encodings of each kind of value.
type style struct {
	name                              string
	ints, floats, texts, bools, fixed encoding.Encoding
	unit                              parquet.TimeUnit
}

var styles = []style{
	{"plain", &parquet.Plain, &parquet.Plain, &parquet.Plain, &parquet.Plain, &parquet.Plain, parquet.Millisecond},
	{"dictionary", &parquet.RLEDictionary, &parquet.RLEDictionary, &parquet.RLEDictionary, &parquet.Plain, &parquet.RLEDictionary, parquet.Microsecond},
	{"delta", &parquet.DeltaBinaryPacked, &parquet.ByteStreamSplit, &parquet.DeltaByteArray, &parquet.RLE, &parquet.DeltaByteArray, parquet.Nanosecond},
	{"split", &parquet.ByteStreamSplit, &parquet.ByteStreamSplit, &parquet.DeltaLengthByteArray, &parquet.RLE, &parquet.ByteStreamSplit, parquet.Nanosecond},
}

var codecs = []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip, &parquet.Brotli, &parquet.Zstd, &parquet.Lz4Raw}

// A leafOf is one column of the file of every encoding: its node, and the value
// of row i; nil for a null, a slice for a list.
type leafOf struct {
	path []string
	node parquet.Node
	of   func(i int) any
}

const encodedStart = 1_772_323_200_000 // ms

func (s style) leaves() []leafOf {
	enc := func(n parquet.Node, e encoding.Encoding) parquet.Node {
		if n.Type().Kind() == parquet.FixedLenByteArray && e == &parquet.DeltaLengthByteArray {
			e = &parquet.Plain
		}
		return parquet.Encoded(n, e)
	}
	perMS := s.unit.Duration().Nanoseconds()
	return []leafOf{
		{[]string{"arrival_time"}, enc(parquet.Timestamp(s.unit), s.ints), func(i int) any { return (encodedStart + int64(i)*40) * (1e6 / perMS) }},
		{[]string{"cached_tokens"}, parquet.Optional(enc(parquet.Uint(32), s.ints)), func(i int) any {
			if i%5 == 0 {
				return nil
			}
			return int32(i % 7)
		}},
		{[]string{"day"}, enc(parquet.Date(), s.ints), func(i int) any { return int32(20_513 + i/100) }},
		{[]string{"e2e_s"}, enc(parquet.Decimal(3, 18, parquet.Int64Type), s.ints), func(i int) any { return int64(2000 + i) }},
		{[]string{"itl_ms"}, parquet.Optional(parquet.List(enc(parquet.Leaf(parquet.DoubleType), s.floats))), func(i int) any {
			list := make([]any, i%4)
			for k := range list {
				list[k] = float64(i) + float64(k)/4
			}
			return list
		}},
		{[]string{"model"}, enc(parquet.Enum(), s.texts), func(i int) any { return fmt.Sprint("model-", i%3) }},
		{[]string{"other_time"}, parquet.Leaf(parquet.Int96Type), func(i int) any {
			return deprecated.Int96{uint32(i) * 1000, 0, 2_440_588 + 20_513}
		}},
		{[]string{"prefill_ms"}, enc(parquet.Decimal(2, 20, parquet.FixedLenByteArrayType(9)), s.fixed), func(i int) any {
			return binary.BigEndian.AppendUint64([]byte{0}, uint64(1234+i))
		}},
		{[]string{"queue_ms"}, enc(parquet.Decimal(1, 9, parquet.Int32Type), s.ints), func(i int) any { return int32(5 + i%50) }},
		{[]string{"session_id"}, enc(parquet.UUID(), s.fixed), func(i int) any {
			return binary.BigEndian.AppendUint64(make([]byte, 8), uint64(i/2))
		}},
		{[]string{"streaming"}, enc(parquet.Leaf(parquet.BooleanType), s.bools), func(i int) any { return i%3 > 0 }},
		{[]string{"ttft_ms"}, parquet.Optional(enc(parquet.Leaf(parquet.DoubleType), s.floats)), func(i int) any {
			if i%11 == 0 {
				return nil
			}
			return 100 + float64(i)/8
		}},
		{[]string{"tpot_ms"}, enc(parquet.Leaf(parquet.FloatType), s.floats), func(i int) any { return float32(i%40) / 4 }},
		{[]string{"usage", "input_tokens"}, parquet.Optional(enc(parquet.Int(64), s.ints)), func(i int) any {
			if i%13 == 0 {
				return nil
			}
			return int64(1000 + i)
		}},
		{[]string{"usage", "output_tokens"}, enc(parquet.Int(32), s.ints), func(i int) any { return int32(i%300 + 2) }},
		{[]string{"workload"}, parquet.Optional(enc(parquet.String(), s.texts)), func(i int) any {
			if i%17 == 0 {
				return nil
			}
			return []string{"chat", "chat-long", "", "rag"}[i%4]
		}},
	}
}

// encoded writes n rows in a style.
func encoded(t testing.TB, s style, n int, opt ...parquet.WriterOption) []byte {
	t.Helper()
	return encodedLeaves(t, s.leaves(), n, opt...)
}

// encodedLeaves writes n rows of some columns.
func encodedLeaves(t testing.TB, leaves []leafOf, n int, opt ...parquet.WriterOption) []byte {
	t.Helper()
	root := parquet.Group{}
	for _, l := range leaves {
		if len(l.path) == 2 {
			g, _ := root[l.path[0]].(parquet.Group)
			if g == nil {
				g = parquet.Group{}
			}
			g[l.path[1]] = l.node
			root[l.path[0]] = g
			continue
		}
		root[l.path[0]] = l.node
	}
	if usage, ok := root["usage"].(parquet.Group); ok { // an object that may be missing
		root["usage"] = parquet.Optional(usage)
	}
	schema := parquet.NewSchema("request", root)
	var b bytes.Buffer
	w := parquet.NewWriter(&b, append([]parquet.WriterOption{schema}, opt...)...)
	for i := range n {
		var row parquet.Row
		for _, l := range leaves {
			path := l.path
			if l.path[0] == "itl_ms" {
				path = []string{"itl_ms", "list", "element"}
			}
			at, ok := schema.Lookup(path...)
			if !ok {
				t.Fatal("no column ", path)
			}
			row = append(row, valuesOf(l.of(i), at)...)
		}
		slices.SortStableFunc(row, func(a, b parquet.Value) int { return a.Column() - b.Column() })
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// valuesOf gives a value its levels.
func valuesOf(x any, at parquet.LeafColumn) []parquet.Value {
	top := at.MaxDefinitionLevel
	list, ok := x.([]any)
	switch {
	case x == nil:
		return []parquet.Value{parquet.NullValue().Level(0, top-1, at.ColumnIndex)}
	case !ok:
		return []parquet.Value{valueOf(x).Level(0, top, at.ColumnIndex)}
	case len(list) == 0:
		return []parquet.Value{parquet.NullValue().Level(0, top-1, at.ColumnIndex)}
	}
	var out []parquet.Value
	for k, e := range list {
		out = append(out, valueOf(e).Level(min(k, 1), top, at.ColumnIndex))
	}
	return out
}

func valueOf(x any) parquet.Value {
	switch x := x.(type) {
	case int32:
		return parquet.Int32Value(x)
	case int64:
		return parquet.Int64Value(x)
	case deprecated.Int96:
		return parquet.Int96Value(x)
	case float32:
		return parquet.FloatValue(x)
	case float64:
		return parquet.DoubleValue(x)
	case bool:
		return parquet.BooleanValue(x)
	case []byte:
		return parquet.FixedLenByteArrayValue(x)
	}
	return parquet.ByteArrayValue([]byte(x.(string)))
}

// TestEncodings reads every encoding under every codec in both page versions,
// and compares each value with the one that was written.
func TestEncodings(t *testing.T) {
	const n = 500
	seen := map[string]bool{}
	for _, s := range styles {
		for _, codec := range codecs {
			for version := 1; version <= 2; version++ {
				name := fmt.Sprintf("%s %s v%d", s.name, codec, version)
				b := encoded(t, s, n, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(300))
				checkEncoded(t, name, open(t, Options{}, fileIn("t.parquet", b)), n)
				_, meta := footer(t, b)
				for _, c := range meta.RowGroups[0].Columns {
					seen[c.MetaData.Codec.String()] = true
					for _, e := range c.MetaData.Encoding {
						seen[e.String()] = true
					}
				}
			}
		}
	}
	for _, want := range []fmt.Stringer{format.Plain, format.RLE, format.RLEDictionary, format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray, format.ByteStreamSplit,
		format.Uncompressed, format.Snappy, format.Gzip, format.Brotli, format.Zstd, format.Lz4Raw} {
		if !seen[want.String()] {
			t.Errorf("%s was not among the files", want)
		}
	}
}

func checkEncoded(t *testing.T, name string, tb *Table, n int) {
	t.Helper()
	got := collect(t, tb, "arrival_time", "cached_tokens", "day", "e2e", "itl", "model", "other_time", "prefill", "queue", "session_id", "streaming", "ttft", "tpot", "prompt_tokens", "output_tokens", "workload")
	if got.rows != n || got.problems.Len() > 0 {
		t.Fatalf("%s: %d rows, %v", name, got.rows, got.problems.List())
	}
	for i := range n {
		num := func(col string, want float64, has bool) {
			t.Helper()
			if got.has[col][i] != has || has && math.Abs(got.floats[col][i]-want) > 1e-12*max(1, want) {
				t.Fatalf("%s row %d: %s %g (%t), want %g (%t)", name, i, col, got.floats[col][i], got.has[col][i], want, has)
			}
		}
		whole := func(col string, want int64, has bool) {
			t.Helper()
			if got.has[col][i] != has || has && got.ints[col][i] != want {
				t.Fatalf("%s row %d: %s %d (%t), want %d (%t)", name, i, col, got.ints[col][i], got.has[col][i], want, has)
			}
		}
		text := func(col, want string) {
			t.Helper()
			if x := got.text(col, i); x != want {
				t.Fatalf("%s row %d: %s %q, want %q", name, i, col, x, want)
			}
		}
		stream := i%3 > 0
		whole("arrival_time", (encodedStart+int64(i)*40)*1e6, true)
		whole("cached_tokens", int64(i%7), i%5 != 0)
		whole("day", int64(20_513+i/100)*86400e9, true)
		whole("other_time", 20_513*86400e9+int64(i)*1000, true)
		whole("prompt_tokens", int64(1000+i), i%13 != 0)
		whole("output_tokens", int64(i%300+2), true)
		num("e2e", float64(2000+i)/1000, true)
		num("prefill", float64(1234+i)/100/1000, true)
		num("queue", float64(5+i%50)/10/1000, true)
		num("ttft", (100+float64(i)/8)/1000, i%11 != 0 && stream)
		num("tpot", float64(i%40)/4/1000, stream)
		text("model", fmt.Sprint("model-", i%3))
		text("streaming", map[bool]string{true: "yes", false: "no"}[stream])
		text("session_id", fmt.Sprintf("00000000-0000-0000-0000-%012x", i/2))
		want := []string{"chat", "chat-long", "", "rag"}[i%4]
		if i%17 == 0 {
			want = "null"
		}
		text("workload", want)
		if len(got.gaps[i]) != i%4 {
			t.Fatalf("%s row %d: %d gaps, want %d", name, i, len(got.gaps[i]), i%4)
		}
		for k, g := range got.gaps[i] {
			if math.Abs(g-(float64(i)+float64(k)/4)/1000) > 1e-12 {
				t.Fatalf("%s row %d: gap %g", name, i, g)
			}
		}
	}
}

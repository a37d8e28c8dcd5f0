package trace

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

func open(t testing.TB, opt Options, files ...File) *Table {
	t.Helper()
	tb, err := Open(context.Background(), files, opt)
	if err != nil {
		t.Fatal(err)
	}
	return tb
}

// TestRoundTrip writes the same requests with every codec, page version and
// page size and reads them back.
func TestRoundTrip(t *testing.T) {
	rows := rowsOf(5000)
	codecs := map[string]compress.Codec{"none": &parquet.Uncompressed, "snappy": &parquet.Snappy, "gzip": &parquet.Gzip,
		"brotli": &parquet.Brotli, "zstd": &parquet.Zstd, "lz4raw": &parquet.Lz4Raw}
	for name, codec := range codecs {
		for _, version := range []int{1, 2} {
			for _, page := range []int{700, 1 << 20} {
				t.Run(fmt.Sprintf("%s/v%d/%d", name, version, page), func(t *testing.T) {
					b := write(t, rows, parquet.Compression(codec), parquet.DataPageVersion(version), parquet.PageBufferSize(page), parquet.MaxRowsPerRowGroup(1900))
					tb := open(t, Options{}, fileIn("t.parquet", b))
					same(t, tb, rows)
				})
			}
		}
	}
}

// same compares a table with the requests that were written.
func same(t *testing.T, tb *Table, rows []row) {
	t.Helper()
	got := collect(t, tb, "request_id", "arrival_time", "workload", "replica", "streaming", "prompt_tokens", "cached_tokens", "output_tokens", "queue", "ttft", "tpot", "e2e", "outcome", "preemptions", "status")
	if got.rows != len(rows) {
		t.Fatalf("%d rows, want %d", got.rows, len(rows))
	}
	float := func(i int, name string, want *float64) {
		if got.has[name][i] != (want != nil) || want != nil && got.float(name, i) != *want/1000 {
			t.Fatalf("row %d: %s %v %g, want %v", i, name, got.has[name][i], got.float(name, i), want)
		}
	}
	for i, r := range rows {
		text := []string{got.text("request_id", i), got.text("workload", i), got.text("replica", i), got.text("streaming", i), got.text("outcome", i), got.text("status", i)}
		if d := cmp.Diff([]string{r.RequestID, r.Workload, r.Replica, "yes", r.Status, r.Status}, text); d != "" {
			t.Fatalf("row %d: %s", i, d)
		}
		if got.ints["arrival_time"][i] != r.StartTime*1000 || got.ints["prompt_tokens"][i] != int64(r.PromptTokens) || got.ints["output_tokens"][i] != int64(r.OutputTokens) || got.ints["preemptions"][i] != int64(r.Preemptions) {
			t.Fatalf("row %d: integers differ", i)
		}
		if got.has["cached_tokens"][i] != (r.CachedTokens != nil) || r.CachedTokens != nil && got.ints["cached_tokens"][i] != int64(*r.CachedTokens) {
			t.Fatalf("row %d: cached tokens %d", i, got.ints["cached_tokens"][i])
		}
		float(i, "queue", r.Queue)
		float(i, "ttft", r.TTFT)
		float(i, "tpot", r.TPOT)
		float(i, "e2e", r.E2E)
	}
	if got.problems.Len() != 0 {
		t.Errorf("problems: %v", got.problems.List())
	}
}

// TestTypes reads each type that a writer may choose for the same values.
func TestTypes(t *testing.T) {
	type typed struct {
		Arrival  int64     `parquet:"arrival_time,timestamp(nanosecond)"`
		Prompt   uint16    `parquet:"prompt_tokens"`
		Output   float64   `parquet:"output_tokens"` // pandas' nullable integers
		TTFT     float32   `parquet:"ttft_s"`
		E2E      int64     `parquet:"e2e,decimal(3:18)"`
		Queue    uint64    `parquet:"queue_time_us,delta"`
		ID       int64     `parquet:"request_id"`
		UUID     [16]byte  `parquet:"session_id,uuid"`
		Stream   *bool     `parquet:"stream,optional"`
		Gaps     []float64 `parquet:"itl_ms,list"`
		Finish   []string  `parquet:"gen_ai.response.finish_reasons,list"`
		Nested   nestedRow `parquet:"details"`
		Split    float64   `parquet:"extra_split,split"`
		Pod      string    `parquet:"pod,delta"`
		Workload string    `parquet:"workload"`
	}
	yes, no := true, false
	rows := []typed{
		{Arrival: 1772323200e9 + 1, Prompt: 65535, Output: 3, TTFT: 0.25, E2E: 1250, Queue: 1500, ID: 1, UUID: [16]byte{1}, Stream: &yes, Gaps: []float64{1, 2}, Finish: []string{"stop", "length"}, Nested: nestedRow{7, "x"}, Split: 1.5, Pod: "pod-a", Workload: "chat"},
		{Arrival: 1772323200e9 + 2, Prompt: 1, Output: 2.5, TTFT: 0.5, E2E: 500, Queue: 1, ID: 2, Stream: &no, Finish: nil, Nested: nestedRow{-7, ""}, Split: -2, Pod: "pod-b", Workload: ""},
		{Arrival: 1772323200e9 + 3, Prompt: 2, Output: 1, TTFT: float32(math.NaN()), E2E: -1, Queue: 2, ID: 3, Gaps: []float64{}, Finish: []string{"abort"}, Pod: "pod-b"},
	}
	tb := open(t, Options{Map: []column.Mapping{{Canonical: "e2e", Column: "e2e", Unit: column.Second}}}, fileIn("t.parquet", write(t, rows)))
	got := collect(t, tb, "arrival_time", "prompt_tokens", "output_tokens", "ttft", "e2e", "queue", "request_id", "session_id", "streaming", "itl", "outcome", "finish_reason", "details.n", "details.s", "extra_split", "pod", "replica", "tpot")
	if d := cmp.Diff([]int64{1772323200e9 + 1, 1772323200e9 + 2, 1772323200e9 + 3}, got.ints["arrival_time"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{65535, 1, 2}, got.ints["prompt_tokens"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]bool{true, false, true}, got.has["output_tokens"]); d != "" {
		t.Error("half a token is none:", d)
	}
	if d := cmp.Diff([]bool{true, false, false}, got.has["ttft"]); d != "" {
		t.Error("not streamed, NaN:", d)
	}
	if !got.has["e2e"][0] || got.float("e2e", 0) != 1.25 || got.has["e2e"][2] {
		t.Error("e2e", got.floats["e2e"], got.has["e2e"])
	}
	if d := cmp.Diff([]float64{0.0015, 1e-6, 2e-6}, got.floats["queue"]); d != "" {
		t.Error(d)
	}
	var texts []string
	for i := range 3 {
		for _, n := range []string{"request_id", "session_id", "streaming", "outcome", "finish_reason", "details.n", "details.s", "pod", "replica"} {
			texts = append(texts, got.text(n, i))
		}
	}
	want := []string{
		"1", "01000000-0000-0000-0000-000000000000", "yes", "ok", "stop", "7", "x", "pod-a", "pod-a",
		"2", "00000000-0000-0000-0000-000000000000", "no", "ok", "null", "-7", "", "pod-b", "pod-b",
		"3", "00000000-0000-0000-0000-000000000000", "null", "cancelled", "abort", "0", "", "pod-b", "pod-b",
	}
	if d := cmp.Diff(want, texts); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{1.5, -2, 0}, got.floats["extra_split"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][]float64{{0.001, 0.002}, {}, {}}, got.gaps); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"row 2: output_tokens: not a whole number", "row 3: ttft_s: NaN", "row 3: e2e: -0.001 is negative"} {
		if !strings.Contains(fmt.Sprint(got.problems.List()), want) {
			t.Errorf("no problem %q in %v", want, got.problems.List())
		}
	}
}

type nestedRow struct {
	N int32  `parquet:"n"`
	S string `parquet:"s"`
}

// TestLongLists cuts batches at lists so that memory stays bounded, and keeps
// rows whole over pages.
func TestLongLists(t *testing.T) {
	type listed struct {
		Out int64     `parquet:"output_tokens"`
		ITL []float64 `parquet:"itl_ms"`
	}
	var rows []listed
	for i := range 3000 {
		r := listed{Out: int64(i % 1500)}
		for k := range i % 1500 {
			r.ITL = append(r.ITL, float64(k+i))
		}
		rows = append(rows, r)
	}
	tb := open(t, Options{}, fileIn("t.parquet", write(t, rows, parquet.PageBufferSize(9000), parquet.DataPageVersion(1))))
	batches := 0
	for _, p := range tb.Parts() {
		at := 0
		err := p.Scan(context.Background(), []string{"output_tokens", "itl"}, nil, func(b *serving.Batch) error {
			batches++
			for i := range b.N {
				v := &b.Cols[1]
				g := v.Floats[v.Offsets[i]:v.Offsets[i+1]]
				if int64(len(g)) != b.Cols[0].Ints[i] || len(g) > 0 && g[len(g)-1] != (rows[at].ITL[len(g)-1])/1000 {
					t.Fatalf("row %d: %d gaps", at, len(g))
				}
				at++
			}
			return nil
		})
		if err != nil || at != len(rows) {
			t.Fatalf("%d rows: %v", at, err)
		}
	}
	if batches < 2 {
		t.Errorf("%d batches of 2 M gaps", batches)
	}
}

// footer takes a file apart into its body and its metadata.
func footer(t *testing.T, b []byte) (body []byte, meta *format.FileMetaData) {
	t.Helper()
	n := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
	meta = new(format.FileMetaData)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), b[len(b)-8-n:len(b)-8], meta); err != nil {
		t.Fatal(err)
	}
	return b[:len(b)-8-n], meta
}

func join(t *testing.T, body []byte, meta *format.FileMetaData) []byte {
	t.Helper()
	out := rejoin(body, meta)
	if out == nil {
		t.Fatal("the metadata cannot be written")
	}
	return out
}

// rejoin puts a file together, nil where the metadata cannot be written.
func rejoin(body []byte, meta *format.FileMetaData) []byte {
	f, err := thrift.Marshal(new(thrift.CompactProtocol), meta)
	if err != nil {
		return nil
	}
	out := append(append([]byte{}, body...), f...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(f)))
	return append(out, "PAR1"...)
}

// TestRefused opens files that must not be read, and looks for what each error
// has to say.
func TestRefused(t *testing.T) {
	good := write(t, rowsOf(300), parquet.Compression(&parquet.Zstd))
	change := func(f func(m *format.FileMetaData)) []byte {
		body, meta := footer(t, good)
		f(meta)
		return join(t, body, meta)
	}
	codec := func(c format.CompressionCodec) []byte {
		return change(func(m *format.FileMetaData) { m.RowGroups[0].Columns[11].MetaData.Codec = c })
	}
	cut := good[:len(good)-40]
	long := append([]byte{}, good...)
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<31)
	crypt := append([]byte{}, good...)
	copy(crypt[len(crypt)-4:], "PARE")
	type other struct {
		A int64  `parquet:"metric_name"`
		B string `parquet:"b"`
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "a file of 0 bytes"},
		{"cut", cut, "copy it again"},
		{"text", []byte("PAR1 is what this starts with, nothing more"), "no PAR1"},
		{"footer length", long, "metadata of 2147483648 bytes"},
		{"encrypted", crypt, "encrypted"},
		{"signed", func() []byte {
			n := int(binary.LittleEndian.Uint32(good[len(good)-8:]))
			b := append([]byte{}, good[:len(good)-8]...)
			b = append(b, make([]byte, 28)...)
			b = binary.LittleEndian.AppendUint32(b, uint32(n+28))
			return append(b, "PAR1"...)
		}(), "encrypted Parquet (signed footer)"},
		{"LZ4", codec(format.Lz4), "ttft_ms: codec LZ4"},
		{"LZO", codec(format.LZO), "ttft_ms: codec LZO"},
		{"rows", change(func(m *format.FileMetaData) { m.NumRows++ }), "the row groups hold 300 rows, the footer says 301"},
		{"values", change(func(m *format.FileMetaData) { m.RowGroups[0].Columns[6].MetaData.NumValues-- }), "prompt_tokens: 299 values in row group 1, which has 300 rows"},
		{"columns", change(func(m *format.FileMetaData) { m.RowGroups[0].Columns = m.RowGroups[0].Columns[:3] }), "row group 1 has 3 columns"},
		{"offset", change(func(m *format.FileMetaData) {
			for i := range m.RowGroups[0].Columns {
				m.RowGroups[0].Columns[i].MetaData.DataPageOffset = 1 << 40
			}
		}), "outside of the file"},
		{"encrypted column", change(func(m *format.FileMetaData) {
			m.RowGroups[0].Columns[11].CryptoMetadata.Value = &format.EncryptionWithColumnKey{PathInSchema: []string{"ttft_ms"}}
		}), "ttft_ms: an encrypted column, want a file without encryption; decrypt it first"},
		{"another file", change(func(m *format.FileMetaData) { m.RowGroups[0].Columns[11].FilePath = "x.parquet" }), "ttft_ms: a column in another file (x.parquet)"},
		{"checksum", func() []byte {
			b := write(t, rowsOf(300), parquet.Compression(&parquet.Uncompressed))
			_, meta := footer(t, b)
			m := meta.RowGroups[0].Columns[11].MetaData
			b[m.DataPageOffset+m.TotalCompressedSize-1] ^= 1
			return b
		}(), "ttft_ms: checksum"},
		{"no trace", write(t, []other{{1, "x"}}), "no request trace: its columns are metric_name, b, want a latency column"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(context.Background(), []File{fileIn("dir/bad.parquet", tt.b)}, Options{})
			var fe *serving.FormatError
			if !errors.As(err, &fe) || !strings.HasPrefix(err.Error(), "dir/bad.parquet: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want a FormatError with %q", err, tt.want)
			}
		})
	}
	if _, err := Open(context.Background(), []File{fileIn("t.parquet", good)}, Options{MaxPage: 100}); err == nil || !strings.Contains(err.Error(), "smaller pages") {
		t.Errorf("pages beyond the cap: %v", err)
	}
	if _, err := Open(context.Background(), []File{fileIn("t.parquet", good)}, Options{MaxMemory: 1000}); err == nil || !strings.Contains(err.Error(), "MiB of pages") {
		t.Errorf("memory beyond the cap: %v", err)
	}
}

// TestKeyWithoutValue reads metadata of the writer's own that have a key and no
// value, which the format allows.
func TestKeyWithoutValue(t *testing.T) {
	b := write(t, rowsOf(20), parquet.KeyValueMetadata("lonely", ""), parquet.KeyValueMetadata("other", "value"))
	pair := append([]byte{0x18, 6}, "lonely\x18\x00\x00"...)
	at := bytes.LastIndex(b, pair)
	if at < 0 {
		t.Fatal("the pair is not in the file")
	}
	end := at + len(pair)
	lone := append(append(bytes.Clone(b[:end-3]), 0), b[end:len(b)-8]...)
	lone = binary.LittleEndian.AppendUint32(lone, binary.LittleEndian.Uint32(b[len(b)-8:])-2)
	lone = append(lone, "PAR1"...)
	if got := collect(t, open(t, Options{}, fileIn("t.parquet", lone)), "ttft"); got.rows != 20 {
		t.Errorf("%d rows", got.rows)
	}
}

// TestDamage breaks one page in the middle of a file: the row groups around it
// are read whole, its own up to the damage, and every scan sees the same rows.
func TestDamage(t *testing.T) {
	rows := rowsOf(9000)
	b := write(t, rows, parquet.MaxRowsPerRowGroup(3000), parquet.PageBufferSize(8000), parquet.Compression(&parquet.Zstd))
	_, meta := footer(t, b)
	m := meta.RowGroups[1].Columns[11].MetaData // ttft_ms
	b[m.DataPageOffset+m.TotalCompressedSize/2] ^= 0xff
	tb := open(t, Options{}, fileIn("t.parquet", b))
	got := collect(t, tb, "ttft", "workload")
	if got.rows <= 6000 || got.rows >= 9000 {
		t.Fatalf("%d rows", got.rows)
	}
	ps := got.problems.List()
	if len(ps) != 1 || ps[0].At.Field != "ttft_ms" || ps[0].Count != 9000-got.rows || ps[0].At.Row <= 3000 || ps[0].At.Row > 6000 || !strings.Contains(ps[0].Message, "row group 2 is damaged") {
		t.Errorf("problems: %v", ps)
	}
	if again := collect(t, tb, "workload"); again.rows != got.rows || again.problems.Len() != 0 {
		t.Errorf("%d rows in a second scan, want %d; %v", again.rows, got.rows, again.problems.List())
	}
	last := rows[8999].Workload
	if got.text("workload", got.rows-1) != last {
		t.Error("the last row group moved")
	}

	// Nothing left: an error, not an empty report.
	one := write(t, rows[:500], parquet.Compression(&parquet.Zstd))
	_, meta = footer(t, one)
	m = meta.RowGroups[0].Columns[11].MetaData
	one[m.DataPageOffset+m.TotalCompressedSize/2] ^= 0xff
	_, err := Open(context.Background(), []File{fileIn("one.parquet", one)}, Options{})
	var fe *serving.FormatError
	if !errors.As(err, &fe) || fe.At.Field != "ttft_ms" {
		t.Errorf("error %v, want one of ttft_ms", err)
	}
}

// TestFiles reads several files as one table: a column that is missing is null,
// directories give columns, a changed type is an error.
func TestFiles(t *testing.T) {
	type v1 struct {
		Arrival int64   `parquet:"arrival_time,timestamp(microsecond)"`
		TTFT    float64 `parquet:"ttft_ms"`
		Out     int64   `parquet:"output_tokens"`
	}
	type v2 struct {
		Arrival int64   `parquet:"arrival_time,timestamp(millisecond)"`
		TTFT    int32   `parquet:"ttft_ms"`
		Out     float64 `parquet:"output_tokens"`
		Model   string  `parquet:"model"`
	}
	const day = 1772323200
	a := fileIn("d/hour=2%3A00/model=m1/a.parquet", write(t, []v1{{day * 1e6, 1.5, 2}}))
	b := fileIn("d/hour=__HIVE_DEFAULT_PARTITION__/b.parquet", write(t, []v2{{day*1e3 + 1, 2, 3, "m2"}}))
	a.Partition, b.Partition = Hive(a.Path), Hive(b.Path)
	tb := open(t, Options{Name: "prod"}, b, a) // in path order whatever the order given
	got := collect(t, tb, "arrival_time", "ttft", "output_tokens", "model", "hour")
	if d := cmp.Diff([]int64{day * 1e9, day*1e9 + 1e6}, got.ints["arrival_time"]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{0.0015, 0.002}, got.floats["ttft"]); d != "" {
		t.Error(d)
	}
	if s := []string{got.text("model", 0), got.text("model", 1), got.text("hour", 0), got.text("hour", 1)}; !cmp.Equal(s, []string{"m1", "m2", "2:00", "null"}) {
		t.Error(s)
	}
	if tb.Name() != "prod" || len(tb.Parts()) != 2 || !tb.Rescannable() {
		t.Error("table")
	}
	type v3 struct {
		Arrival int64  `parquet:"arrival_time,timestamp(millisecond)"`
		TTFT    string `parquet:"ttft_ms"`
	}
	c := fileIn("d/c.parquet", write(t, []v3{{1, "fast"}}))
	_, err := Open(context.Background(), []File{a, c}, Options{})
	if err == nil || !strings.Contains(err.Error(), "ttft_ms") || !strings.Contains(err.Error(), ".parquet") {
		t.Errorf("a changed type: %v", err)
	}
}

// TestInput tells what became of the columns.
func TestInput(t *testing.T) {
	f := fileIn("t.parquet", write(t, rowsOf(10)))
	open(t, Options{}, f)
	want := map[string]serving.Field{
		"ttft_ms":              {Name: "ttft_ms", As: "ttft", Unit: "ms", How: "suffix"},
		"start_time":           {Name: "start_time", As: "arrival_time", Unit: "us", How: "logical-type"},
		"cached_prompt_tokens": {Name: "cached_prompt_tokens", As: "cached_tokens"},
	}
	for _, fd := range f.In.Fields {
		if w, ok := want[fd.Name]; ok && w != fd {
			t.Errorf("field %+v, want %+v", fd, w)
		}
		delete(want, fd.Name)
	}
	if len(want) > 0 || f.In.Records != 10 || f.In.Format != "trace-parquet" {
		t.Errorf("missing %v; input %+v", want, f.In)
	}
	empty := fileIn("t.parquet", write(t, rowsOf(0)))
	tb := open(t, Options{}, empty)
	if len(tb.Parts()) != 0 || !strings.Contains(empty.In.Note, "no rows") {
		t.Errorf("an empty trace: %d parts, note %q", len(tb.Parts()), empty.In.Note)
	}
}

// TestUnits refuses durations without a unit and units that contradict each
// other.
func TestUnits(t *testing.T) {
	type bare struct {
		Latency float64 `parquet:"latency"`
		Out     int64   `parquet:"output_tokens"`
	}
	b := write(t, []bare{{1, 2}})
	_, err := Open(context.Background(), []File{fileIn("t.parquet", b)}, Options{})
	if err == nil || !strings.Contains(err.Error(), "column latency has no unit") || !strings.Contains(err.Error(), "--map e2e=latency:ms") {
		t.Errorf("no unit: %v", err)
	}
	m, err := column.ParseMapping("e2e=latency:ms")
	if err != nil {
		t.Fatal(err)
	}
	if got := collect(t, open(t, Options{Map: []column.Mapping{m}}, fileIn("t.parquet", b)), "e2e"); got.float("e2e", 0) != 0.001 {
		t.Error(got.floats)
	}
	type wrong struct {
		Start int64   `parquet:"start_time,timestamp(millisecond)"`
		End   int64   `parquet:"end_time,timestamp(millisecond)"`
		E2E   float64 `parquet:"e2e_ms"`
	}
	rows := []wrong{{1772323200000, 1772323202000, 2}, {1772323200000, 1772323203000, 3}}
	_, err = Open(context.Background(), []File{fileIn("t.parquet", write(t, rows))}, Options{})
	if err == nil || !strings.Contains(err.Error(), "e2e_ms") || !strings.Contains(err.Error(), "end_time") {
		t.Errorf("contradicting units: %v", err)
	}
}

// TestSiblings takes a unit from the column beside a value, and a time from
// text.
func TestSiblings(t *testing.T) {
	type measure struct {
		Value float64 `parquet:"value"`
		Unit  string  `parquet:"unit"`
	}
	type record struct {
		At   string  `parquet:"timestamp"`
		TTFT measure `parquet:"time_to_first_token"`
		E2E  measure `parquet:"request_latency"`
	}
	b := write(t, []record{{"2023-11-16 18:17:03.9799600", measure{1500, "us"}, measure{3, "ms"}}, {"soon", measure{1500, "us"}, measure{3, "ms"}}})
	got := collect(t, open(t, Options{}, fileIn("t.parquet", b)), "ttft", "e2e", "arrival_time")
	if got.float("ttft", 0) != 0.0015 || got.float("e2e", 0) != 0.003 {
		t.Error(got.floats)
	}
	if at := got.ints["arrival_time"][0]; at != 1700158623979960000 || got.has["arrival_time"][1] {
		t.Error(at, got.has)
	}
	if ps := got.problems.List(); len(ps) != 1 || ps[0].At.Row != 2 || ps[0].At.Field != "timestamp" {
		t.Error(ps)
	}
}

// TestLists names columns of lists in the notations of three writers.
func TestLists(t *testing.T) {
	list := func() (e format.SchemaElement) {
		e = format.SchemaElement{Name: "itl", NumChildren: thrift.New[int32](1)}
		e.RepetitionType.Set(format.Optional)
		e.ConvertedType.Set(deprecated.List)
		return e
	}
	group := func(name string, rep format.FieldRepetitionType, n int32) (e format.SchemaElement) {
		e = format.SchemaElement{Name: name, NumChildren: thrift.New(n)}
		e.RepetitionType.Set(rep)
		return e
	}
	value := func(name string, rep format.FieldRepetitionType) (e format.SchemaElement) {
		e = format.SchemaElement{Name: name}
		e.Type.Set(format.Double)
		e.RepetitionType.Set(rep)
		return e
	}
	root := group("schema", format.Required, 1)
	for name, tt := range map[string]struct {
		elems []format.SchemaElement
		def   int
		kind  column.Kind
		leaf  string
	}{
		"three levels": {[]format.SchemaElement{root, list(), group("list", format.Repeated, 1), value("element", format.Optional)}, 3, column.List, "itl"},
		"bag":          {[]format.SchemaElement{root, list(), group("bag", format.Repeated, 1), value("array_element", format.Optional)}, 3, column.List, "itl"},
		"two levels":   {[]format.SchemaElement{root, list(), value("array", format.Repeated)}, 2, column.List, "itl"},
		"bare":         {[]format.SchemaElement{root, value("itl", format.Repeated)}, 1, column.List, "itl"},
		"structs":      {[]format.SchemaElement{root, list(), group("list", format.Repeated, 1), group("element", format.Optional, 2), value("a", format.Optional), value("b", format.Optional)}, 4, column.Opaque, "itl.a"},
	} {
		leaves, err := leavesOf(&format.FileMetaData{Schema: tt.elems}, "t")
		if err != nil || leaves[0].maxDef != tt.def || leaves[0].kind != tt.kind || leaves[0].name != tt.leaf {
			t.Errorf("%s: %+v, %v", name, leaves, err)
		}
	}
}

// TestConcurrent scans all parts at once; the race detector watches.
func TestConcurrent(t *testing.T) {
	rows := rowsOf(8000)
	tb := open(t, Options{}, fileIn("t.parquet", write(t, rows, parquet.MaxRowsPerRowGroup(1000))))
	errs := make(chan error)
	parts := tb.Parts()
	for _, p := range parts {
		go func() {
			n := 0
			var ps serving.Problems
			err := p.Scan(context.Background(), []string{"ttft", "workload", "outcome", "request_id"}, &ps, func(b *serving.Batch) error { n += b.N; return nil })
			if err == nil && n != 1000 {
				err = fmt.Errorf("%d rows", n)
			}
			errs <- err
		}()
	}
	for range parts {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if tb.Dict("request_id").Len() != len(rows) {
		t.Error("ids", tb.Dict("request_id").Len())
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := parts[0].Scan(ctx, []string{"ttft"}, nil, func(*serving.Batch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled scan: %v", err)
	}
	if err := parts[0].Scan(context.Background(), []string{"nothing"}, nil, nil); err == nil || !strings.Contains(err.Error(), "nothing") {
		t.Errorf("unknown column: %v", err)
	}
}

// checkVector holds a vector against what its kind promises.
func checkVector(t *testing.T, tb serving.Requests, name string, v *serving.Vector, n int) {
	for i := range n {
		if !v.Has(i) {
			continue
		}
		switch v.Kind {
		case serving.KindDuration:
			if !(v.Floats[i] >= 0) || math.IsInf(v.Floats[i], 0) {
				t.Fatalf("%s: %g s", name, v.Floats[i])
			}
		case serving.KindCount:
			if v.Ints[i] < 0 {
				t.Fatalf("%s: %d", name, v.Ints[i])
			}
		case serving.KindText:
			if c := v.Codes[i]; c < 0 || int(c) >= tb.Dict(name).Len() {
				t.Fatalf("%s: code %d", name, c)
			}
		}
	}
}

// Of a damaged column single texts are those before the damage.
func TestTextAtDamage(t *testing.T) {
	cutInto(t, 1000)
	rows := rowsOf(5000)
	for _, share := range []float64{0, 0.5} {
		b := damagedAt(t, rows, 0, share) // request_id
		for _, p := range open(t, Options{}, fileIn("a.parquet", b)).parts {
			got, err := p.TextAt(context.Background(), serving.ColRequestID, []int64{0, 1, 400})
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range []int64{0, 1, 400} {
				at := p.from + row
				if want := rows[at].RequestID; got[i] != want && (got[i] != "" || share > 0 && at < 1500) {
					t.Errorf("damage at %g: row %d is %q, want %q", share, at, got[i], want)
				}
			}
		}
	}
}

// Single texts are those of a scan, wherever pages end.
func TestTextAt(t *testing.T) {
	rows := rowsOf(5000)
	for _, opt := range [][]parquet.WriterOption{
		{parquet.PageBufferSize(1000), parquet.MaxRowsPerRowGroup(2000)},
		{parquet.DataPageVersion(1), parquet.PageBufferSize(3000), parquet.Compression(&parquet.Zstd)},
		{},
	} {
		table, err := Open(context.Background(), []File{fileIn("a.parquet", write(t, rows, opt...))}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		base := 0
		for _, p := range table.Parts() {
			for _, at := range [][]int64{{0}, {0, 1, 2}, {5, 700, 701, 900, p.Rows() - 1}, {999}, {p.Rows()}} {
				ids, err := p.(interface {
					TextAt(context.Context, string, []int64) ([]string, error)
				}).TextAt(context.Background(), serving.ColRequestID, at)
				if err != nil {
					t.Fatal(err)
				}
				for i, row := range at {
					want := ""
					if row < p.Rows() {
						want = rows[base+int(row)].RequestID
					}
					if ids[i] != want {
						t.Errorf("row %d: %q, want %q", row, ids[i], want)
					}
				}
			}
			base += int(p.Rows())
		}
		if n := table.Dict(serving.ColRequestID).Len(); n != 0 {
			t.Errorf("%d ids interned", n)
		}
	}
}

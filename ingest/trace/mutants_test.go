package trace

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/serving"
)

// seeds are small files of every encoding under every codec, in both page
// versions, with one row group and several.
func seeds(t testing.TB) [][]byte {
	var out [][]byte
	for i, s := range styles {
		for k, codec := range codecs {
			out = append(out, encoded(t, s, 90, parquet.Compression(codec), parquet.DataPageVersion(1+(i+k)%2),
				parquet.PageBufferSize(400), parquet.MaxRowsPerRowGroup([]int64{40, 1000}[k%2])))
		}
	}
	return append(out, write(t, rowsOf(60), parquet.Compression(&parquet.Zstd)), []byte("PAR1PAR1"))
}

// What a damaged file may cost.
const (
	mutantTime   = 10 * time.Second
	mutantMemory = 1 << 30
)

// TestMutants opens and scans damaged files: VREPORT_MUTANTS of them, each made
// from a seed by a few changed bytes, lengths or numbers of the metadata. None
// may panic, take longer than ten seconds or allocate a GiB.
func TestMutants(t *testing.T) {
	n := 400
	if s := os.Getenv("VREPORT_MUTANTS"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		n = 60
	}
	cutInto(t, 20)
	files := seeds(t)
	r := rand.New(rand.NewPCG(7, 7))
	var read, refused, rows int64
	var slowest time.Duration
	var most uint64
	for k := range n {
		kind := mutations[k%len(mutations)]
		seed := r.IntN(len(files))
		b := kind.change(r, bytes.Clone(files[seed]))
		c := tryOpen(t, fmt.Sprintf("mutant %d of seed %d (%s)", k, seed, kind.name), b, Options{})
		if c.err != nil {
			refused++
		} else {
			read++
			rows += c.rows
		}
		slowest, most = max(slowest, c.took), max(most, c.allocated)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d mutants: %d refused, %d read with %d rows; the slowest took %v, the hungriest allocated %d MiB", n, refused, read, rows, slowest.Round(time.Millisecond), most>>20)
	if refused == 0 || read == 0 {
		t.Error("mutants of one kind only: they test little")
	}
}

// A mutation damages a file. It may return b, changed.
type mutation struct {
	name   string
	change func(r *rand.Rand, b []byte) []byte
}

var mutations = []mutation{
	{"bytes", func(r *rand.Rand, b []byte) []byte { return flip(r, b, 0, len(b)) }},
	{"metadata", func(r *rand.Rand, b []byte) []byte { return flip(r, b, footerAt(b), len(b)-8) }},
	{"footer length", func(r *rand.Rand, b []byte) []byte { return flip(r, b, len(b)-8, len(b)-4) }},
	{"page header", func(r *rand.Rand, b []byte) []byte {
		meta := metadata(b)
		if meta == nil {
			return flip(r, b, 0, len(b))
		}
		at := int(anyChunk(r, meta).MetaData.DataPageOffset)
		return flip(r, b, at, min(at+24, len(b)))
	}},
	{"cut", func(r *rand.Rand, b []byte) []byte {
		switch at := r.IntN(len(b)); r.IntN(3) {
		case 0:
			return b[:at]
		case 1: // the middle is missing
			return append(b[:at:at], b[max(at, len(b)-r.IntN(len(b))):]...)
		default: // a piece twice
			return append(b[:at:at], b[r.IntN(at+1):]...)
		}
	}},
	{"numbers", changeNumber},
	{"zeros", func(r *rand.Rand, b []byte) []byte {
		at := r.IntN(len(b))
		clear(b[at:min(at+1+r.IntN(64), len(b))])
		return b
	}},
}

// flip changes one to four bytes between two places.
func flip(r *rand.Rand, b []byte, from, to int) []byte {
	if from < 0 || from >= to {
		from, to = 0, len(b)
	}
	for range 1 + r.IntN(4) {
		b[from+r.IntN(to-from)] ^= byte(1 + r.IntN(255))
	}
	return b
}

func footerAt(b []byte) int { return len(b) - 8 - int(binary.LittleEndian.Uint32(b[len(b)-8:])) }

func metadata(b []byte) *format.FileMetaData {
	meta, err := readFooter(bytes.NewReader(b), int64(len(b)), "seed")
	if err != nil || len(meta.RowGroups) == 0 {
		return nil
	}
	return meta
}

func anyChunk(r *rand.Rand, meta *format.FileMetaData) *format.ColumnChunk {
	g := &meta.RowGroups[r.IntN(len(meta.RowGroups))]
	return &g.Columns[r.IntN(len(g.Columns))]
}

// changeNumber writes metadata anew that are well-formed and say something
// else: such lies get further than broken bytes.
func changeNumber(r *rand.Rand, b []byte) []byte {
	meta := metadata(b)
	if meta == nil {
		return b
	}
	body := b[:footerAt(b)]
	for range 1 + r.IntN(2) {
		c := &anyChunk(r, meta).MetaData
		any := func(old int64) int64 {
			return []int64{0, -1, 1, old - 1, old + 1, old * 2, 1 << 20, 1 << 31, 1 << 40, 1<<63 - 1, -1 << 63, int64(r.IntN(len(b)))}[r.IntN(12)]
		}
		g := &meta.RowGroups[r.IntN(len(meta.RowGroups))]
		e := &meta.Schema[1+r.IntN(len(meta.Schema)-1)]
		switch r.IntN(12) {
		case 0:
			c.NumValues = any(c.NumValues)
		case 1:
			c.TotalCompressedSize = any(c.TotalCompressedSize)
		case 2:
			c.DataPageOffset = any(c.DataPageOffset)
		case 3:
			c.DictionaryPageOffset = any(c.DictionaryPageOffset)
		case 4:
			c.Codec = format.CompressionCodec(r.IntN(9))
		case 5:
			c.Type = format.Type(r.IntN(9))
		case 6: // rows that nobody wrote, agreed on everywhere
			n := any(g.NumRows)
			meta.NumRows += n - g.NumRows
			g.NumRows = n
			for i := range g.Columns {
				g.Columns[i].MetaData.NumValues = n
			}
		case 7:
			meta.NumRows = any(meta.NumRows)
		case 8:
			e.Type.V = format.Type(r.IntN(8))
		case 9:
			e.RepetitionType.V = format.FieldRepetitionType(r.IntN(4))
		case 10:
			e.NumChildren.Set(int32(any(1)))
		case 11:
			e.TypeLength.Set(int32(any(12)))
		}
	}
	return rejoin(body, meta)
}

// FuzzOpen changes bytes of small files.
func FuzzOpen(f *testing.F) {
	cutInto(f, 20)
	for _, b := range seeds(f) {
		f.Add(b, uint32(0), byte(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint32, x byte) {
		if len(b) > 1<<20 {
			return
		}
		if len(b) > 0 {
			b = bytes.Clone(b)
			b[int(at)%len(b)] ^= x
		}
		tryOpen(t, "the file", b, Options{MaxPage: 1 << 20, MaxMemory: 16 << 20})
	})
}

// A cost is what opening and scanning a file took.
type cost struct {
	err       error // the file as a whole was refused
	rows      int64
	took      time.Duration
	allocated uint64
}

// tryOpen opens and scans a file that may hold anything. It has to end, in
// bounded time and memory, with rows or an error.
func tryOpen(t *testing.T, what string, b []byte, opt Options) (c cost) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	defer func() {
		c.took = time.Since(start)
		runtime.ReadMemStats(&after)
		c.allocated = after.TotalAlloc - before.TotalAlloc
		if c.took > mutantTime || c.allocated > mutantMemory {
			t.Errorf("%s: %v and %d MiB", what, c.took, c.allocated>>20)
		}
		if p := recover(); p != nil {
			t.Errorf("%s: %v", what, p)
			panic(p)
		}
	}()
	named := func(err error) {
		if err != nil && !strings.Contains(err.Error(), "f.parquet") {
			t.Errorf("%s: an error that does not name the file: %v", what, err)
		}
	}
	_, err := SchemaOf(fileIn("f.parquet", b))
	named(err)
	ctx, cancel := context.WithTimeout(context.Background(), mutantTime)
	defer cancel()
	tb, err := Open(ctx, []File{fileIn("f.parquet", b)}, opt)
	if named(err); err != nil {
		c.err = err
		return c
	}
	var want []string
	for _, col := range tb.Columns() {
		want = append(want, col.Name)
	}
	for _, p := range tb.Parts() {
		var ps serving.Problems
		err := p.Scan(ctx, want, &ps, func(b *serving.Batch) error {
			c.rows += int64(b.N)
			for i := range b.Cols {
				checkVector(t, tb, want[i], &b.Cols[i], b.N)
			}
			return nil
		})
		if err == context.DeadlineExceeded {
			t.Errorf("%s: reading it does not end", what)
		}
		if c.rows == 0 {
			c.err = err
		}
		named(err)
	}
	pieces, flat := piecesOf(tb, 33)
	for _, p := range pieces {
		named(p.Scan(ctx, flat, new(serving.Problems), func(b *serving.Batch) error {
			for i := range b.Cols {
				checkVector(t, tb, flat[i], &b.Cols[i], b.N)
			}
			return nil
		}))
	}
	if used := tb.budget.used.Load(); used < 0 || used > tb.budget.limit {
		t.Errorf("%s: page buffers of %d bytes, limit %d", what, used, tb.budget.limit)
	}
	return c
}

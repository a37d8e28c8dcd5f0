package trace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/vreport/vreport/ingest/serving"
)

// splice makes one row group of those of several files of a schema and a codec:
// chunks go from one encoding to another, and have several dictionaries.
func splice(t *testing.T, files [][]byte) []byte {
	t.Helper()
	body := []byte("PAR1")
	metas := make([]*format.FileMetaData, len(files))
	for i, b := range files {
		_, metas[i] = footer(t, b)
	}
	_, out := footer(t, files[0])
	out.RowGroups, out.NumRows = out.RowGroups[:1], 0
	for c := range out.RowGroups[0].Columns {
		m := &out.RowGroups[0].Columns[c].MetaData
		first := int64(len(body))
		m.NumValues, m.DictionaryPageOffset = 0, 0
		m.EncodingStats, m.Statistics = nil, format.Statistics{}
		for i, b := range files {
			for _, g := range metas[i].RowGroups {
				from := g.Columns[c].MetaData
				start := from.DataPageOffset
				if d := from.DictionaryPageOffset; d > 0 && d < start {
					start = d
				}
				body = append(body, b[start:start+from.TotalCompressedSize]...)
				m.NumValues += from.NumValues
			}
		}
		m.DataPageOffset, m.TotalCompressedSize = first, int64(len(body))-first
		out.RowGroups[0].Columns[c].OffsetIndexOffset, out.RowGroups[0].Columns[c].ColumnIndexOffset = 0, 0
	}
	for _, meta := range metas {
		out.NumRows += meta.NumRows
	}
	out.RowGroups[0].NumRows = out.NumRows
	return join(t, body, out)
}

// randomSplice are files to splice, in any encodings.
func randomSplice(t *testing.T, r *rand.Rand, most int) (files [][]byte, what string) {
	codec := r.IntN(len(codecs))
	unit := styles[r.IntN(len(styles))].unit
	for range 1 + r.IntN(4) {
		s := styles[r.IntN(len(styles))]
		s.unit = unit
		flat := slices.DeleteFunc(s.leaves(), func(l leafOf) bool { return l.path[0] == "itl_ms" })
		n, page, v := 1+r.IntN(most), 50+r.IntN(500), 1+r.IntN(2)
		what += fmt.Sprintf("%s %d rows, pages of %d, v%d; ", s.name, n, page, v)
		files = append(files, encodedLeaves(t, flat, n, parquet.Compression(codecs[codec]), parquet.DataPageVersion(v), parquet.PageBufferSize(page), parquet.MaxRowsPerRowGroup(1+r.Int64N(3000))))
	}
	return files, what
}

// textsOf are the rows of some parts as text.
func textsOf(t testing.TB, tb *Table, parts []*part, want []string) (out []string) {
	t.Helper()
	for _, p := range parts {
		err := p.Scan(context.Background(), want, nil, func(b *serving.Batch) error {
			for i := range b.N {
				out = append(out, rowText(tb, want, b, i))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A piece may start where chunks go from one encoding to another, and behind any of
// several dictionaries.
func TestSpliced(t *testing.T) {
	cut := 0
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 1))
		files, what := randomSplice(t, r, 2000)
		var want, columns []string
		for _, f := range files {
			tb := open(t, Options{}, fileIn("t.parquet", f))
			_, columns = piecesOf(tb, 1000)
			want = append(want, textsOf(t, tb, tb.parts, columns)...)
		}
		b := splice(t, files)
		rows := int64(len(want))
		for _, most := range []int64{1 << 40, rows*2/3 - 1, rows * 2 / 3, rows*2/3 + 1, 200 + r.Int64N(800), 1 + r.Int64N(200)} {
			cutInto(t, max(most, 1))
			tb := open(t, Options{}, fileIn("t.parquet", b))
			if len(tb.parts) > 1 {
				cut++
			}
			if d := cmp.Diff(want, textsOf(t, tb, tb.parts, columns)); d != "" {
				t.Fatalf("seed %d, %sin parts of %d: %s", seed, what, most, d)
			}
			pieces, _ := piecesOf(tb, max(most, rows/90))
			if d := cmp.Diff(want, textsOf(t, tb, pieces, columns)); d != "" {
				t.Fatalf("seed %d, %sin pieces of %d: %s", seed, what, most, d)
			}
		}
	}
	if cut < 3 {
		t.Errorf("%d files were cut", cut)
	}
}

// A chunk with a dictionary every few rows is read as a whole: where these are is
// too much to keep.
func TestManyDictionaries(t *testing.T) {
	one := write(t, rowsOf(2), parquet.PageBufferSize(1<<20))
	files := make([][]byte, mostSteps+10)
	for i := range files {
		files[i] = one
	}
	cutInto(t, 1000)
	tb := open(t, Options{}, fileIn("t.parquet", splice(t, files)))
	if len(tb.parts) != 1 || tb.parts[0].walks != nil {
		t.Errorf("%d parts, %d walks are kept", len(tb.parts), len(tb.parts[0].walks))
	}
	if got := collect(t, tb, "model", "output_tokens"); got.rows != 2*len(files) || got.problems.Len() > 0 || got.text("model", got.rows-1) != "llama" {
		t.Errorf("%d rows, %v", got.rows, got.problems.List())
	}
}

// scanAll scans parts with some goroutines, in some order, and returns their rows and
// what is told of them.
func scanAll(tb *Table, want []string, threads int, order []int) (rows, told []string) {
	type result struct {
		rows     []string
		problems serving.Problems
		err      error
	}
	out := make([]result, len(tb.parts))
	next := make(chan int, len(order))
	for _, i := range order {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range threads {
		all.Go(func() {
			for i := range next {
				o := &out[i]
				o.err = tb.parts[i].Scan(context.Background(), want, &o.problems, func(b *serving.Batch) error {
					for k := range b.N {
						o.rows = append(o.rows, rowText(tb, want, b, k))
					}
					return nil
				})
			}
		})
	}
	all.Wait()
	var problems serving.Problems
	for i := range out {
		if out[i].err != nil {
			return nil, []string{out[i].err.Error()}
		}
		rows = append(rows, out[i].rows...)
		problems.Merge(&out[i].problems)
	}
	for _, p := range problems.List() {
		told = append(told, p.String())
	}
	return rows, told
}

// Of a damaged file the same rows are read, and the same is told, whoever reads
// which piece first.
func TestDamageIsTheSame(t *testing.T) {
	damaged := 0
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 2))
		files, what := randomSplice(t, r, 1200)
		b := splice(t, files)
		_, meta := footer(t, b)
		for range 1 + r.IntN(3) {
			m := &meta.RowGroups[0].Columns[r.IntN(len(meta.RowGroups[0].Columns))].MetaData
			at := m.DataPageOffset + r.Int64N(m.TotalCompressedSize)
			b[at] ^= byte(1 + r.IntN(255))
			what += fmt.Sprintf("%v damaged at %d; ", m.PathInSchema, at-m.DataPageOffset)
		}
		cutInto(t, 100+r.Int64N(400))
		var first, firstTold []string
		for k, threads := range []int{1, 2, 3, 8} {
			tb, err := Open(context.Background(), []File{fileIn("t.parquet", b)}, Options{})
			if err != nil {
				if k > 0 && (first != nil || err.Error() != firstTold[0]) {
					t.Fatalf("seed %d, %s%v, want %v", seed, what, err, firstTold)
				}
				firstTold = []string{err.Error()}
				continue
			}
			var want []string
			for _, c := range tb.Columns() {
				want = append(want, c.Name)
			}
			rows, told := scanAll(tb, want, threads, r.Perm(len(tb.parts)))
			if again, _ := scanAll(tb, want, threads, r.Perm(len(tb.parts))); !slices.Equal(rows, again) {
				t.Fatalf("seed %d, %ssecond scan: %s", seed, what, cmp.Diff(rows, again))
			}
			if k == 0 {
				first, firstTold = rows, told
				damaged += min(len(told), 1)
			}
			if d := cmp.Diff(first, rows) + cmp.Diff(firstTold, told); d != "" {
				t.Fatalf("seed %d, %s%d threads: %s", seed, what, threads, d)
			}
		}
	}
	if damaged < 5 {
		t.Errorf("%d files are damaged", damaged)
	}
}

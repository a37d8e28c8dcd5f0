package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// cutInto has row groups cut into pieces of so many rows while a test runs.
func cutInto(t testing.TB, rows int64) {
	was := pieceRows
	pieceRows = rows
	t.Cleanup(func() { pieceRows = was })
}

// Pieces of a row group hold its rows, wherever pages end.
func TestPieces(t *testing.T) {
	cutInto(t, 3000)
	rows := rowsOf(20_000)
	for _, version := range []int{1, 2} {
		for _, page := range []int{700, 1500, 2600} {
			b := write(t, rows, parquet.Compression(&parquet.Zstd), parquet.DataPageVersion(version), parquet.PageBufferSize(page))
			tb := open(t, Options{}, fileIn("t.parquet", b))
			if n := len(tb.Parts()); n < 7 || n > 14 {
				t.Errorf("v%d, pages of %d bytes: %d parts of 20000 rows", version, page, n)
			}
			for _, p := range tb.Parts() {
				if p.Rows() > pieceRows {
					t.Errorf("v%d, pages of %d bytes: a piece of %d rows", version, page, p.Rows())
				}
			}
			same(t, tb, rows)
		}
	}
}

// piecesOf cuts the row groups of a table into pieces of so many rows, whatever
// that costs, and returns the columns that can be read of them.
func piecesOf(tb *Table, rows int64) (parts []*part, columns []string) {
	for _, p := range tb.parts {
		if p.from > 0 {
			continue
		}
		for from := int64(0); from < p.meta.NumRows && from < 100*rows; from += rows {
			q := &part{rowGroup: p.rowGroup, from: from, to: min(from+rows, p.meta.NumRows)}
			q.limit.Store(q.Rows())
			parts = append(parts, q)
		}
	}
	for _, c := range tb.Columns() {
		src, ok := tb.plan.Source(c.Name)
		if !ok {
			continue
		}
		if l := tb.files[0].byName[tb.plan.Raws[tb.plan.Sources[src].Raw].Name]; l != nil && l.maxRep == 0 {
			columns = append(columns, c.Name)
		}
	}
	return parts, columns
}

// A piece may start within a page of any encoding.
func TestPiecesOfEncodings(t *testing.T) {
	for i, s := range styles {
		for _, page := range []int{400, 5000} {
			b := encoded(t, s, 3000, parquet.DataPageVersion(1+i%2), parquet.PageBufferSize(page))
			tb := open(t, Options{}, fileIn("t.parquet", b))
			pieces, want := piecesOf(tb, 700)
			if d := cmp.Diff(textsOf(t, tb, tb.parts, want), textsOf(t, tb, pieces, want)); d != "" || len(want) < 10 {
				t.Errorf("style %s, %d columns: %s", s.name, len(want), d)
			}
		}
	}
}

// rowText is a row of a batch as text.
func rowText(tb *Table, want []string, b *serving.Batch, i int) string {
	var out strings.Builder
	for k, name := range want {
		v := &b.Cols[k]
		switch {
		case !v.Has(i):
			fmt.Fprintf(&out, "%s: null ", name)
		case v.Kind == serving.KindTime || v.Kind == serving.KindCount:
			fmt.Fprintf(&out, "%s: %d ", name, v.Ints[i])
		case v.Kind == serving.KindText:
			fmt.Fprintf(&out, "%s: %s ", name, tb.Dict(name).Name(v.Codes[i]))
		case v.Kind == serving.KindGaps:
			fmt.Fprintf(&out, "%s: %v ", name, v.Floats[v.Offsets[i]:v.Offsets[i+1]])
		default:
			fmt.Fprintf(&out, "%s: %g ", name, v.Floats[i])
		}
	}
	return out.String()
}

// Row groups stay whole where cutting would not help: small ones, those with
// lists, and those of columns in one page each.
func TestWhole(t *testing.T) {
	cutInto(t, 1000)
	type listed struct {
		Out int64     `parquet:"output_tokens"`
		ITL []float64 `parquet:"itl_ms"`
	}
	for name, b := range map[string][]byte{
		"small":    write(t, rowsOf(1500), parquet.PageBufferSize(900)),
		"lists":    write(t, make([]listed, 5000), parquet.PageBufferSize(900)),
		"one page": write(t, rowsOf(5000), parquet.PageBufferSize(1<<20)),
	} {
		if n := len(open(t, Options{}, fileIn("t.parquet", b)).Parts()); n != 1 {
			t.Errorf("%s: %d parts", name, n)
		}
	}
}

// damagedAt returns a file of one row group of which a byte of a column's chunk is
// broken, at a share of it.
func damagedAt(t *testing.T, rows []row, column int, share float64) []byte {
	b := write(t, rows, parquet.PageBufferSize(2000), parquet.Compression(&parquet.Zstd))
	_, meta := footer(t, b)
	m := meta.RowGroups[0].Columns[column].MetaData
	b[m.DataPageOffset+int64(share*float64(m.TotalCompressedSize))] ^= 0xff
	return b
}

// A damaged page costs the rest of its piece, and is told the same whoever scans
// which piece first.
func TestDamagedPiece(t *testing.T) {
	cutInto(t, 3000)
	rows := rowsOf(20_000)
	b := damagedAt(t, rows, 11, 0.51) // ttft_ms
	var first []string
	for range 4 {
		tb := open(t, Options{}, fileIn("t.parquet", b))
		parts := tb.Parts()
		problems := make([]serving.Problems, len(parts))
		var all sync.WaitGroup
		for i, p := range parts {
			all.Go(func() {
				if err := p.Scan(context.Background(), []string{"ttft"}, &problems[i], func(*serving.Batch) error { return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		var told serving.Problems
		for i := range problems {
			told.Merge(&problems[i])
		}
		got := collect(t, tb, "ttft", "workload")
		lost := told.Len()
		if got.problems.Len() != 0 || got.rows+lost != len(rows) || lost == 0 || lost > 6000 {
			t.Errorf("%d rows, %d told, %v", got.rows, lost, got.problems.List())
		}
		var texts []string
		for _, p := range told.List() {
			texts = append(texts, p.String())
		}
		if len(texts) != 1 || !strings.Contains(texts[0], "ttft_ms: row group 1 is damaged: ") || !strings.Contains(texts[0], "some of its 20000 rows are not read") {
			t.Errorf("told: %q", texts)
		}
		if first == nil {
			first = texts
		}
		if d := cmp.Diff(first, texts); d != "" {
			t.Error(d)
		}
	}
}

// A header that cannot be read ends what can be read of its column. It is told
// once, and a file that has nothing before it is refused.
func TestDamagedHeader(t *testing.T) {
	cutInto(t, 3000)
	rows := rowsOf(20_000)
	b := damagedAt(t, rows, 11, 0)
	_, err := Open(context.Background(), []File{fileIn("t.parquet", b)}, Options{})
	var fe *serving.FormatError
	if !errors.As(err, &fe) || fe.At.Field != "ttft_ms" || fe.At.Row != 1 {
		t.Errorf("error %v, want one of ttft_ms, row 1", err)
	}

	b = write(t, rows, parquet.PageBufferSize(2000), parquet.Compression(&parquet.Zstd))
	good := open(t, Options{}, fileIn("t.parquet", b))
	w, err := good.parts[0].walk(context.Background(), good.files[0].byName["ttft_ms"])
	if err != nil {
		t.Fatal(err)
	}
	at := w.steps[len(w.steps)/2]
	copy(b[at.at:], "\xff\xff\xff\xff")
	got := collect(t, open(t, Options{}, fileIn("t.parquet", b)), "ttft")
	ps := got.problems.List()
	if int64(got.rows) != at.row || len(ps) != 1 || ps[0].Count != len(rows)-got.rows || ps[0].At.Row != at.row+1 {
		t.Errorf("%d rows, want %d; %v", got.rows, at.row, ps)
	}
}

// What a part tells of its columns is read once a row group.
func TestSurveyedPieces(t *testing.T) {
	cutInto(t, 3000)
	rows := rowsOf(20_000)
	tb := open(t, Options{}, fileIn("t.parquet", write(t, rows, parquet.PageBufferSize(2000))))
	for i, p := range tb.Parts() {
		s := p.(serving.Surveyed)
		from, to, ok := s.Span(serving.ColArrival)
		if !ok || from != rows[0].StartTime*1000 || to != rows[len(rows)-1].StartTime*1000 {
			t.Errorf("part %d: times %d to %d (%v)", i, from, to, ok)
		}
		codes, missing, ok := s.Texts(context.Background(), serving.ColWorkload)
		if !ok || missing || len(codes) != 3 || cap(codes) != 3 {
			t.Errorf("part %d: workloads %v of %d, missing %v (%v)", i, codes, cap(codes), missing, ok)
		}
	}
}

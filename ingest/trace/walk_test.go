package trace

import (
	"context"
	"io"
	"math/rand"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// A readCount counts what is read of a file.
type readCount struct {
	io.ReaderAt
	reads, bytes int
}

func (c *readCount) ReadAt(b []byte, at int64) (int, error) {
	c.reads++
	c.bytes += len(b)
	return c.ReaderAt.ReadAt(b, at)
}

// A walk reads small pages many at a time, and of others their headers alone.
// Where pages are wanted no header is read on its own.
func TestHeaderReads(t *testing.T) {
	rows := rowsOf(100_000)
	r := rand.New(rand.NewSource(1))
	for i := range rows {
		ttft := r.Float64() // nothing to compress
		rows[i].TTFT = &ttft
	}
	for _, c := range []struct{ page, walk, all int }{{500, 60, 15}, {1000, 60, 14}, {20_000, 66, 14}, {200_000, 7, 8}} {
		f := fileIn("t.parquet", write(t, rows, parquet.PageBufferSize(c.page)))
		tb := open(t, Options{}, f)
		l := tb.files[0].byName["ttft_ms"]
		m := tb.parts[0].chunk(l)

		walk := &readCount{ReaderAt: f.R}
		tb.files[0].R = walk
		if _, err := tb.parts[0].walk(context.Background(), l); err != nil {
			t.Fatal(err)
		}
		all := &readCount{ReaderAt: f.R}
		n := pagesIn(t, tb, all, f.Size, m)
		t.Logf("%d pages of %d bytes: %d reads of %d bytes in a walk, %d of %d in all", n, c.page, walk.reads, walk.bytes, all.reads, all.bytes)
		if walk.reads > c.walk || all.reads > c.all {
			t.Errorf("pages of %d bytes: %d and %d reads, want %d and %d at most", c.page, walk.reads, all.reads, c.walk, c.all)
		}
		if c.page > 2*smallPage && walk.bytes > 4*smallPage+n*headerLook || walk.bytes > 11*all.bytes/10 {
			t.Errorf("pages of %d bytes: a walk over %d of them reads %d bytes", c.page, n, walk.bytes)
		}
	}
}

// pagesIn reads a chunk and counts its data pages.
func pagesIn(t *testing.T, tb *Table, r io.ReaderAt, size int64, m *format.ColumnMetaData) (n int) {
	t.Helper()
	p := pages{budget: &tb.budget, maxPage: tb.opt.MaxPage}
	defer p.release()
	if err := p.open(r, m, size); err != nil {
		t.Fatal(err)
	}
	for {
		h, _, err := p.next()
		switch {
		case err == io.EOF:
			return n
		case err != nil:
			t.Fatal(err)
		case h.Type != format.DictionaryPage:
			n++
		}
	}
}

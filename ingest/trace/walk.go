package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/parquet-go/parquet-go/format"
)

// A walk stays small, however many pages there are: those of less than stepRows
// rows, or of less than one in fewSteps, are not told apart. Only dictionaries may
// make more steps of it.
const (
	stepRows  = 1 << 10
	fewSteps  = 1 << 12
	mostSteps = 2 * fewSteps
)

var errSteps = errors.New("its dictionary changes too often")

// A walk is what the headers of a chunk without lists tell: where which rows
// begin. It is what a piece of a row group starts from; the file's own index of
// pages may say otherwise, and pages are read by their headers in the end.
type walk struct {
	steps []step
	every int64 // rows that a step has at least
	rows  int64 // that pages say they hold
	err   error // why there is no more of them
}

// A step is a data page, or some small ones that follow each other.
type step struct {
	row  int64 // the first
	at   int64 // of the page's header
	dict int64 // of the dictionary that is in force, 0 for none
	size int64 // of all of it, decompressed
}

// walk goes over the headers of the rest of a chunk. An error is the context's:
// what is wrong with the file ends the walk.
func (p *pages) walk(ctx context.Context) (w walk, err error) {
	defer func() {
		if recover() != nil {
			w.err, err = errPastPage, nil
		}
	}()
	p.pass = p.left // all of them: headers are all that is read
	w.every = max(stepRows, p.left/fewSteps)
	dict := int64(0)
	for p.left > 0 {
		if err := ctx.Err(); err != nil {
			return w, err
		}
		if len(w.steps) > mostSteps {
			w.err = errSteps
			break
		}
		at := p.at
		h, err := p.header()
		if err != nil {
			w.err = err
			break
		}
		p.at += int64(h.CompressedPageSize)
		switch h.Type {
		case format.DictionaryPage:
			dict = at
		case format.DataPage, format.DataPageV2:
			n, err := p.values(h)
			if err != nil {
				w.err = err
				return w, nil
			}
			w.add(step{w.rows, at, dict, int64(h.UncompressedPageSize)})
			w.rows += n
			p.left -= n
		}
	}
	return w, nil
}

// add takes the next page.
func (w *walk) add(s step) {
	if k := len(w.steps) - 1; k >= 0 && s.row < w.steps[k].row+w.every && s.dict == w.steps[k].dict {
		w.steps[k].size += s.size
		return
	}
	w.steps = append(w.steps, s)
}

// find returns the step that a row lies in.
func (w *walk) find(row int64) (*step, error) {
	if row >= w.rows {
		if w.err != nil {
			return nil, early(w.err)
		}
		return nil, early(io.EOF)
	}
	return &w.steps[sort.Search(len(w.steps), func(i int) bool { return w.steps[i].row > row })-1], nil
}

// seek sets a cursor that is open on a chunk on a row of it.
func (c *cursor) seek(ctx context.Context, w *walk, row int64) error {
	s, err := w.find(row)
	if err != nil {
		return err
	}
	if s.dict > 0 {
		c.pages.at = s.dict
		h, pg, err := c.pages.next()
		if err != nil {
			return err
		}
		if h.Type != format.DictionaryPage {
			return errors.New("it changes while it is read")
		}
		if err := c.loadDictionary(pg); err != nil {
			return fmt.Errorf("dictionary: %w", err)
		}
	}
	c.pages.at = s.at
	c.pages.left -= s.row
	return c.skip(ctx, row-s.row)
}

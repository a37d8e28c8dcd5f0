package trace

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A part is a row group or a piece of one.
type part struct {
	*rowGroup
	from, to int64 // its rows

	// limit is how many rows can be read: fewer than there are once a page was
	// found damaged, so that every later scan sees the same rows.
	limit  atomic.Int64
	damage sync.Mutex
	why    error // what damaged it
	told   bool  // a scan's problems have it
}

// Source is the file that it lies in.
func (p *part) Source() string { return p.file.Path }

// Rows is the number of rows that are there, damaged ones included.
func (p *part) Rows() int64 { return p.to - p.from }

// isPiece reports whether there is more of the row group.
func (p *part) isPiece() bool { return p.Rows() < p.meta.NumRows }

// Scan implements serving.Part.
func (p *part) Scan(ctx context.Context, want []string, problems *serving.Problems, yield func(*serving.Batch) error) error {
	s, err := p.table.take(want)
	if err != nil {
		return err
	}
	defer p.table.give(s)
	return p.scan(ctx, s, problems, yield)
}

// A scanner is what one goroutine scans with: a program and a cursor a source.
// It outlives a scan, with its buffers.
type scanner struct {
	key     string
	program *column.Program
	sources []int
	into    []*serving.Vector
	cursors []*cursor
	order   []int // lists first: they may cut a batch short
	n       int   // rows of the current batch
}

// take returns a scanner for some columns, a used one if there is one.
func (t *Table) take(want []string) (*scanner, error) {
	key := strings.Join(want, "\x00")
	t.mu.Lock()
	if l := t.free[key]; len(l) > 0 {
		s := l[len(l)-1]
		t.free[key] = l[:len(l)-1]
		t.mu.Unlock()
		return s, nil
	}
	t.mu.Unlock()
	g, err := t.plan.Program(t.dicts, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	s := &scanner{key: key, program: g}
	s.sources, s.into = g.Sources()
	s.cursors = make([]*cursor, len(s.sources))
	for pass := range 2 {
		for i, src := range s.sources {
			if lists := t.plan.Sources[src].Kind == serving.KindGaps; lists == (pass == 0) {
				s.order = append(s.order, i)
			}
		}
	}
	return s, nil
}

// give puts a scanner back. Buffers of other scans are let go: two passes ask
// for two sets of columns, and only the current one is worth its memory.
func (t *Table) give(s *scanner) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, l := range t.free {
		if k == s.key {
			continue
		}
		for _, old := range l {
			for _, c := range old.cursors {
				if c != nil {
					c.pages.release()
				}
			}
		}
		delete(t.free, k)
	}
	t.free[s.key] = append(t.free[s.key], s)
}

// A columnError is damage in one column.
type columnError struct {
	name string
	err  error
}

func (e *columnError) Error() string { return e.name + ": " + e.err.Error() }
func (e *columnError) Unwrap() error { return e.err }

func (p *part) scan(ctx context.Context, s *scanner, problems *serving.Problems, yield func(*serving.Batch) error) error {
	if err := p.open(ctx, s); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return p.damaged(err, 0, problems)
	}
	for row := int64(0); row < p.limit.Load(); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := p.fill(s, int(min(p.limit.Load()-row, serving.BatchRows)))
		if n > 0 {
			s.n = n
			p.tellLong(s, row, n, problems)
			b := s.program.Run(column.Place{Path: p.file.Path, Base: p.base + p.from, Row: row}, n, problems)
			if yerr := yield(b); yerr != nil {
				if yerr == errStop {
					return nil
				}
				return yerr
			}
			row += int64(n)
		}
		if err != nil {
			return p.damaged(err, row, problems)
		}
	}
	p.tellFull(s, problems)
	return p.damaged(nil, p.limit.Load(), problems)
}

// open sets the cursors on the part's first row.
func (p *part) open(ctx context.Context, s *scanner) (err error) {
	name := ""
	defer recovered(&name, &err)
	t := p.table
	for i, src := range s.sources {
		so := t.plan.Sources[src]
		name = t.plan.Raws[so.Raw].Name
		l := p.file.byName[name]
		if l == nil {
			if s.cursors[i] != nil {
				s.cursors[i].pages.release()
			}
			s.cursors[i] = nil
			continue
		}
		if err := p.file.checkColumn(l); err != nil {
			return err
		}
		c := s.cursors[i]
		if c == nil {
			c = t.cursor(converter{})
			s.cursors[i] = c
		}
		if c.leaf != l {
			in := c.intern
			if in == nil && so.Kind == serving.KindText {
				in = newInterner(t.dicts.Source(src), &t.full[src])
				if t.opt.Fixed != nil {
					in.most = maxFixedText
				}
			}
			c.converter = newConverter(l, so, in)
		}
		if err := p.start(ctx, c); err != nil {
			return &columnError{name, err}
		}
	}
	return nil
}

// start sets a cursor on the part's first row.
func (p *part) start(ctx context.Context, c *cursor) error {
	if err := c.open(p.file.R, p.chunk(c.leaf), p.file.Size); err != nil || p.from == 0 {
		return err
	}
	w, err := p.walk(ctx, c.leaf)
	if err != nil {
		return err
	}
	return c.seek(ctx, w, p.from)
}

// errPastPage stands for whatever a decoder stumbled over: what it says of its
// own slices helps nobody.
var errPastPage = errors.New("damaged: its values run past what their page holds")

// fill decodes the next rows of all columns. On damage it returns the rows that
// all columns have before it.
func (p *part) fill(s *scanner, n int) (rows int, err error) {
	name := ""
	rows = n
	defer func() {
		if r := recover(); r != nil {
			rows, err = 0, &columnError{name, errPastPage}
		}
	}()
	for _, i := range s.order {
		so := p.table.plan.Sources[s.sources[i]]
		name = p.table.plan.Raws[so.Raw].Name
		c := s.cursors[i]
		if c == nil {
			p.constant(s, i, n)
			continue
		}
		got, ferr := c.fill(s.into[i], rows)
		if ferr == nil && got < rows && so.Kind != serving.KindGaps {
			ferr = errors.New("it ends before the row group does")
		}
		s.program.Look(i, got)
		rows = min(rows, got)
		if ferr != nil {
			err = &columnError{name, ferr}
			if rows == 0 {
				return 0, err
			}
		}
	}
	for _, v := range s.into {
		trim(v, rows)
	}
	return rows, err
}

// trim cuts a vector to n rows: a list or a damaged page may have ended the
// batch after other columns were filled.
func trim(v *serving.Vector, n int) {
	switch {
	case v.Kind == serving.KindGaps:
		v.Offsets = v.Offsets[:n+1]
		v.Floats = v.Floats[:v.Offsets[n]]
	case v.Kind == serving.KindTime || v.Kind == serving.KindCount:
		v.Ints = v.Ints[:n]
	case v.Kind == serving.KindText:
		v.Codes = v.Codes[:n]
	default:
		v.Floats = v.Floats[:n]
	}
	if v.Valid != nil {
		v.Valid = v.Valid[:(n+63)/64]
		if r := uint(n) & 63; r != 0 {
			v.Valid[len(v.Valid)-1] &= 1<<r - 1
		}
	}
}

// constant fills a column that the file does not have: its partition's value,
// or nothing.
func (p *part) constant(s *scanner, i, n int) {
	src := s.sources[i]
	so := p.table.plan.Sources[src]
	v := s.into[i]
	switch so.Kind {
	case serving.KindTime, serving.KindCount:
		v.Ints = growSlice(v.Ints, n)
		clear(v.Ints)
	case serving.KindText:
		v.Codes = growSlice(v.Codes, n)
		if val, ok := p.file.partition(p.table.plan.Raws[so.Raw].Name); ok {
			code := p.table.dicts.Source(src).Code(val)
			for k := range v.Codes {
				v.Codes[k] = code
			}
			v.Valid = nil
			return
		}
		clear(v.Codes)
	case serving.KindGaps:
		v.Floats = v.Floats[:0]
		v.Offsets = growSlice(v.Offsets, n+1)
		clear(v.Offsets)
	default:
		v.Floats = growSlice(v.Floats, n)
		clear(v.Floats)
	}
	v.Valid = serving.NewBitmap(n)
}

// recovered turns a panic into an error about a column.
func recovered(name *string, err *error) {
	if r := recover(); r != nil {
		*err = &columnError{*name, errPastPage}
	}
}

// damaged remembers and reports that a part can be read up to a row only. Nothing
// is lost but the rest of this part, unless there is nothing else: then the scan
// fails.
func (p *part) damaged(err error, row int64, problems *serving.Problems) error {
	var io ioError
	var whole *serving.FormatError
	if errors.As(err, &io) {
		return fmt.Errorf("%s: %w", p.file.Path, err)
	}
	if errors.As(err, &whole) {
		return err // the column cannot be read anywhere
	}
	p.note(err, row)
	if p.limit.Load() == 0 {
		if err := p.table.nothingLeft(); err != nil {
			return err
		}
	}
	p.damage.Lock()
	defer p.damage.Unlock()
	if p.why != nil && problems != nil && !p.told {
		p.told = true
		p.tell(problems)
	}
	return nil
}

// note remembers what damaged the part from a row on, if anything did.
func (p *part) note(err error, row int64) {
	p.damage.Lock()
	defer p.damage.Unlock()
	if err != nil && (p.why == nil || row < p.limit.Load()) {
		p.why = err
		p.limit.Store(row)
	}
}

// tell reports the rows that cannot be read. What keeps several pieces of a row
// group from being read is reported once.
func (p *part) tell(problems *serving.Problems) {
	at, text := p.found()
	lost := p.Rows() - p.limit.Load()
	out := serving.Problem{At: at, Count: int(lost)}
	if !p.isPiece() {
		out.Message = fmt.Sprintf("row group %d is damaged: %s; %d of its %d rows are not read", p.index+1, text, lost, p.meta.NumRows)
		problems.Add(out)
		return
	}
	out.Message = fmt.Sprintf("row group %d is damaged: %s; some of its %d rows are not read, from here on", p.index+1, text, p.meta.NumRows)
	problems.AddKind(fmt.Sprintf("damaged %d %s: %s", p.base, at.Field, text), out)
}

// found says where a part is damaged, and how.
func (p *part) found() (at serving.Pos, text string) {
	at = serving.Pos{Path: p.file.Path, Row: p.base + p.from + p.limit.Load() + 1}
	var col *columnError
	if errors.As(p.why, &col) {
		at.Field = col.name
		return at, col.err.Error()
	}
	return at, p.why.Error()
}

// nothingLeft returns the error of a table of which no row can be read, nil of
// any other. It is that of the first part, whoever is the last to find out.
func (t *Table) nothingLeft() error {
	for _, p := range t.parts {
		if p.limit.Load() > 0 {
			return nil
		}
	}
	p := t.parts[0]
	p.damage.Lock()
	defer p.damage.Unlock()
	at, text := p.found()
	return &serving.FormatError{At: at, Format: formatName, Found: text, Remedy: rewrite}
}

// tellLong reports the lists of a batch of n rows that are too long.
func (p *part) tellLong(s *scanner, row int64, n int, problems *serving.Problems) {
	if problems == nil {
		return
	}
	for i, c := range s.cursors {
		if c == nil {
			continue
		}
		for _, k := range c.long {
			if k >= n {
				break
			}
			name := p.table.plan.Raws[p.table.plan.Sources[s.sources[i]].Raw].Name
			problems.AddKind("long "+name, serving.Problem{At: serving.Pos{Path: p.file.Path, Row: p.base + p.from + row + int64(k) + 1, Field: name},
				Message: fmt.Sprintf("a list of more than %d numbers, want fewer: the row counts as without", maxGaps)})
		}
	}
}

// tellFull reports text columns with more values than are kept, once.
func (p *part) tellFull(s *scanner, problems *serving.Problems) {
	if problems == nil {
		return
	}
	for _, src := range s.sources {
		if p.table.full[src].Load() {
			name := p.table.plan.Raws[p.table.plan.Sources[src].Raw].Name
			problems.AddKind("full "+name, serving.Problem{At: serving.Pos{Path: p.file.Path, Field: name},
				Message: fmt.Sprintf("more than %d distinct values: rows with further ones have none", maxDistinct)})
		}
	}
}

// TextAt returns the texts of single rows, ascending and 0-based within the
// part, "" where a row has none or the column is damaged. A few request ids of
// millions are looked up page by page, where a scan would intern them all. It is
// errors.ErrUnsupported for columns that are not simply read.
func (p *part) TextAt(ctx context.Context, name string, rows []int64) (out []string, err error) {
	t := p.table
	s, err := t.take([]string{name})
	if err != nil {
		return nil, err
	}
	sources := s.sources
	t.give(s)
	if len(sources) != 1 || t.plan.Sources[sources[0]].Kind != serving.KindText {
		return nil, errors.ErrUnsupported
	}
	so := t.plan.Sources[sources[0]]
	raw := t.plan.Raws[so.Raw].Name
	l := p.file.byName[raw]
	if l == nil || l.maxRep > 0 || p.file.checkColumn(l) != nil {
		return nil, errors.ErrUnsupported
	}
	dict := serving.NewDict()
	c := t.cursor(newConverter(l, so, newInterner(dict, new(atomic.Bool))))
	defer c.pages.release()
	out = make([]string, len(rows))
	err = p.pick(ctx, c, dict, rows, out)
	if io := (ioError{}); err != nil && (ctx.Err() != nil || errors.As(err, &io)) {
		return nil, &columnError{raw, err}
	}
	return out, nil
}

// pick looks up the texts of some rows, up to where the column is damaged.
func (p *part) pick(ctx context.Context, c *cursor, dict *serving.Dict, rows []int64, out []string) (err error) {
	defer recovered(new(string), &err)
	if err := p.start(ctx, c); err != nil {
		return err
	}
	var v serving.Vector
	at := int64(0)
	for i, row := range rows {
		if row >= p.limit.Load() {
			break
		}
		if err := c.skip(ctx, row-at); err != nil {
			return err
		}
		if _, err := c.fill(&v, 1); err != nil {
			return err
		}
		at = row + 1
		if v.Has(0) {
			out[i] = dict.Name(v.Codes[0])
		}
	}
	return nil
}

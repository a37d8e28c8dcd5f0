package cube

import (
	"context"
	"errors"
	"sync"

	"github.com/vreport/vreport/ingest/serving"
)

// heldRows is how many rows are held in memory as they are. What is larger is
// scanned twice instead.
var heldRows int64 = 32 << 10

// isSmall reports whether a source is known to be small.
func isSmall(src serving.Requests) bool {
	n := int64(0)
	for _, p := range src.Parts() {
		if p.Rows() < 0 {
			return false
		}
		n += p.Rows()
	}
	return n <= heldRows
}

// chunkRows is how many rows are worked on at a time: their columns stay in the
// cache.
var chunkRows = 32 << 10

// A taker is what a goroutine does with the rows of a stream.
type taker interface{ take(c *chunk) error }

// A partRecord is what a stream notes of a part.
type partRecord struct {
	source   string
	problems serving.Problems
	size     int64 // rows, damaged ones included
	excluded [numReasons]int64
	bad      []badValues // by metric
	lastEnd  int64
}

// A stream is one scan in flight.
type stream struct {
	*scanner
	lay   *layout
	win   *windows
	parts []serving.Part
	recs  []partRecord
	told  bool // rows and problems count

	free chan *chunk
	work chan *chunk // handed to goroutines that have no part of their own left
}

// stream scans all parts and gives their counted rows to takers, one a
// goroutine. A goroutine that finds no part left helps the others: a file may be
// one part. Rows come in no particular order.
func (s *scanner) stream(ctx context.Context, lay *layout, parts []serving.Part, win *windows, told bool, newTaker func() taker) ([]partRecord, error) {
	st := &stream{scanner: s, lay: lay, win: win, parts: parts, recs: make([]partRecord, len(parts)), told: told}
	st.free, st.work = make(chan *chunk, 2*s.workers+1), make(chan *chunk)
	var scanning sync.WaitGroup
	scanning.Add(s.workers)
	go func() {
		scanning.Wait()
		close(st.work)
	}()
	err := s.overParts(ctx, len(parts), func(fail func(int, error)) func(<-chan int) {
		t := newTaker()
		return func(next <-chan int) {
			for i := range next {
				fail(i, guard(parts[i], func() error { return st.scanPart(ctx, i, t) }))
			}
			scanning.Done()
			for c := range st.work {
				fail(c.part, guard(parts[c.part], func() error { return t.take(c) }))
				st.put(c)
			}
		}
	})
	return st.recs, err
}

// A batchTaker is what a goroutine does with batches of rows as the source has
// them, which it may not change.
type batchTaker interface {
	takeBatch(part int, b *serving.Batch) error
}

// batches scans some columns of all parts and gives the batches to takers, one a
// goroutine.
func (s *scanner) batches(ctx context.Context, want []string, parts []serving.Part, newTaker func() batchTaker) error {
	return s.overParts(ctx, len(parts), func(fail func(int, error)) func(<-chan int) {
		t := newTaker()
		return func(next <-chan int) {
			for i := range next {
				fail(i, guard(parts[i], func() error {
					return parts[i].Scan(ctx, want, nil, func(b *serving.Batch) error {
						if err := s.live(ctx, i, 0); err != nil {
							return err
						}
						return t.takeBatch(i, b)
					})
				}))
			}
		}
	})
}

// guard turns a panic over a part into an error about its file.
func guard(p serving.Part, scan func() error) (err error) {
	defer serving.Rescue(p.Source(), &err)
	return scan()
}

// overParts runs workers, one a goroutine, each of which takes the next part
// until there is none and says how it ended. The error is that of the first part
// that has one, or the context's.
func (s *scanner) overParts(ctx context.Context, parts int, newWorker func(fail func(int, error)) func(next <-chan int)) error {
	s.failed = parts
	errs := make([]error, parts)
	next := make(chan int, parts)
	for i := range parts {
		next <- i
	}
	close(next)
	fail := func(i int, err error) { s.fail(errs, i, err) }
	workers := make([]func(<-chan int), s.workers)
	for i := range workers {
		workers[i] = newWorker(fail)
	}
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() { w(next) })
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.failed < parts {
		return errs[s.failed]
	}
	return nil
}

// fail notes the first error of a part.
func (s *scanner) fail(errs []error, i int, err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errs[i] == nil || errors.Is(errs[i], errAbandoned) {
		errs[i] = err
	}
	s.failed = min(s.failed, i)
}

func (st *stream) scanPart(ctx context.Context, i int, t taker) error {
	p, rec := st.parts[i], &st.recs[i]
	rec.source, rec.lastEnd, rec.bad = p.Source(), noTime, make([]badValues, len(st.lay.metrics))
	if err := st.live(ctx, i, 0); err != nil {
		return err
	}
	var problems *serving.Problems
	if st.told {
		problems = &rec.problems
	}
	var piece, view serving.Batch
	var c *chunk
	flush := func() error {
		c.setWindows(st.win)
		rec.note(c)
		full := c
		c = nil
		return st.hand(full, t)
	}
	err := p.Scan(ctx, st.lay.wanted, problems, func(b *serving.Batch) error {
		rows := int64(0)
		if st.told {
			rows = int64(b.N)
		}
		if err := st.live(ctx, i, rows); err != nil {
			return err
		}
		if st.told {
			st.lay.show(i, b, &view)
		}
		for from, to := 0, 0; from < b.N; from = to {
			to = pieceEnd(b, from)
			if c != nil && c.isFull(to-from) {
				if err := flush(); err != nil {
					return err
				}
			}
			if c == nil {
				c = st.get()
				c.part = i
			}
			cut(&piece, b, from, to)
			c.add(&piece)
		}
		return nil
	})
	if c != nil {
		if ferr := flush(); err == nil {
			err = ferr
		}
	}
	rec.size = max(rec.size, p.Rows())
	return err
}

// isFull reports whether a chunk has no room for a piece of so many rows.
func (c *chunk) isFull(rows int) bool {
	for m := range c.gaps {
		if len(c.gaps[m].gaps) > 0 && len(c.gaps[m].gaps) >= chunkGaps/2 {
			return true
		}
	}
	return c.n+rows > chunkRows
}

// hand gives a chunk to whoever is idle, or has it taken here.
func (st *stream) hand(c *chunk, t taker) error {
	if c.n == 0 {
		st.put(c)
		return nil
	}
	select {
	case st.work <- c:
		return nil
	default:
	}
	err := t.take(c)
	st.put(c)
	return err
}

func (st *stream) get() *chunk {
	select {
	case c := <-st.free:
		return c
	default:
		return emptyChunk(st.lay)
	}
}

func (st *stream) put(c *chunk) {
	c.reset()
	select {
	case st.free <- c:
	default:
	}
}

// chunkGaps is how many gaps of a list column are worked on at a time.
const chunkGaps = 256 << 10

// pieceEnd returns where the piece of a batch that starts at a row ends.
func pieceEnd(b *serving.Batch, from int) int {
	n := chunkRows
	for i := range b.Cols {
		v := &b.Cols[i]
		for v.Kind == serving.KindGaps && n > 64 && v.Offsets[min(from+n, b.N)]-v.Offsets[from] > chunkGaps {
			n = n / 2 &^ 63
		}
	}
	return min(from+n, b.N)
}

// cut sets dst to rows from…to of a batch. from is a multiple of 64.
func cut(dst, b *serving.Batch, from, to int) {
	dst.Row, dst.N = b.Row+int64(from), to-from
	dst.Cols = append(dst.Cols[:0], b.Cols...)
	if from == 0 && to == b.N {
		return
	}
	for i := range dst.Cols {
		v := &dst.Cols[i]
		if v.Valid != nil {
			v.Valid = v.Valid[from/64:]
		}
		switch v.Kind {
		case serving.KindTime, serving.KindCount:
			v.Ints = v.Ints[from:to]
		case serving.KindText:
			v.Codes = v.Codes[from:to]
		case serving.KindGaps:
			v.Offsets = v.Offsets[from : to+1]
		default:
			v.Floats = v.Floats[from:to]
		}
	}
}

// note takes what a chunk knows of its part.
func (r *partRecord) note(c *chunk) {
	r.size = max(r.size, c.size)
	for i, n := range c.excluded {
		r.excluded[i] += n
	}
	for m, b := range c.bad {
		if r.bad[m].count == 0 {
			r.bad[m].row = b.row
		}
		r.bad[m].count += b.count
	}
	r.lastEnd = max(r.lastEnd, c.lastEnd)
}

func emptyChunk(lay *layout) *chunk {
	c := &chunk{table: newTable(lay)}
	c.grow(chunkRows)
	c.bad, c.holes = make([]badValues, len(lay.metrics)), make([]bool, len(lay.metrics))
	c.numbers = make([]map[string]int32, len(lay.dims))
	for i := range c.numbers {
		c.numbers[i] = map[string]int32{}
	}
	return c
}

// reset empties a chunk and keeps its memory.
func (c *chunk) reset() {
	c.scanned, c.size, c.n, c.lastEnd = 0, 0, 0, noTime
	c.excluded = [numReasons]int64{}
	clear(c.bad)
	clear(c.holes)
	c.state, c.arrival, c.ids, c.runs = c.state[:0], c.arrival[:0], c.ids[:0], c.runs[:0]
	for m := range c.values {
		c.values[m] = c.values[m][:0]
		c.gaps[m].gaps, c.gaps[m].ends = c.gaps[m].gaps[:0], c.gaps[m].ends[:0]
	}
	for d := range c.codes {
		c.codes[d] = c.codes[d][:0]
	}
	for l := range c.within {
		c.within[l] = c.within[l][:0]
	}
	for d := range c.numbers {
		if len(c.numbers[d]) > maxNumberNames {
			clear(c.numbers[d])
		}
	}
}

// maxNumberNames bounds a goroutine's own cache of numbers taken as names.
const maxNumberNames = 1 << 16

// setWindows gives each row its time window.
func (c *chunk) setWindows(win *windows) {
	d, ok := c.lay.dim[DimTime]
	if !ok || win == nil || c.lay.arrival < 0 {
		return
	}
	codes := sized(c.codes[d], c.n)
	code, start := none, int64(0) // the window of the row before: mostly that of the next, too
	for i, a := range c.arrival {
		switch {
		case a == noTime || win.n == 0:
			codes[i] = none
			continue
		case code == none || uint64(a)-uint64(start) >= uint64(win.step):
			code = win.of(a)
			start = win.start + int64(code)*win.step
		}
		codes[i] = code
	}
	c.codes[d] = codes
}

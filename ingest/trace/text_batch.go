package trace

import (
	"context"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A batch gathers records into the columns that a scan wants, and hands them on
// whenever it is full.
//
// A record is put in between begin and commit; drop takes it back where it
// turns out to be damaged, with what was complained about in it.
type batch struct {
	ctx      context.Context
	table    *Text
	program  *column.Program
	problems *serving.Problems
	yield    func(*serving.Batch) error

	cells []*cell // wanted ones
	byRaw []*cell // by raw column, nil where nobody wants it
	gaps  []*cell // those of cells that hold lists
	lines []int
	room  int   // rows that there is room for
	n     int   // rows of this batch
	row   int64 // rows of the batches before
	line  int   // of the record that is being put in

	pending  []pending // problems of that record
	spool    *spool    // where what is read is kept, if not nil
	keep     []*cell   // for it, in its order
	notes    []note    // for it: what was wrong with this batch
	pick     []int64   // rows whose text is wanted, if not nil: see Text.TextAt
	picked   *interner
	full     bool  // there was no room for the spool
	oneWay   *cell // see Text.oneWay
	oneWayTo *cell
}

type pending struct {
	kind string
	p    serving.Problem
	raw  int // column that it is about, -1 for the record
}

func newBatch(ctx context.Context, t *Text, g *column.Program, problems *serving.Problems, yield func(*serving.Batch) error) *batch {
	b := &batch{ctx: ctx, table: t, program: g, problems: problems, yield: yield, byRaw: make([]*cell, len(t.plan.Raws))}
	sources, into := g.Sources()
	for k, i := range sources {
		b.add(i, into[k])
		b.byRaw[t.plan.Sources[i].Raw].wanted = true
	}
	b.watchOneWay()
	return b
}

// watchOneWay readies the comparison of Text.oneWay.
func (b *batch) watchOneWay() {
	t := b.table
	if t.oneWay >= 0 && b.byRaw[t.oneWay] != nil {
		if b.byRaw[t.end] == nil { // not wanted, but needed to judge the other
			i, _ := t.plan.Source(serving.ColEnd)
			b.add(i, nil)
		}
		b.oneWay, b.oneWayTo = b.byRaw[t.oneWay], b.byRaw[t.end]
	}
}

func (b *batch) add(source int, into *serving.Vector) {
	t := b.table
	s := t.plan.Sources[source]
	c := newCell(t.plan.Raws[s.Raw], s, into, t.dicts.Source(source), &t.full[source], t.comma[s.Raw])
	c.raw, c.source = s.Raw, source
	b.cells = append(b.cells, c)
	b.byRaw[s.Raw] = c
	if s.Kind == serving.KindGaps {
		b.gaps = append(b.gaps, c)
	}
}

// keepAll makes the batch keep sources for a spool, beside those it wants.
func (b *batch) keepAll(sources []int) {
	b.spool = &spool{sources: map[int]int{}}
	for _, i := range sources {
		if b.byRaw[b.table.plan.Sources[i].Raw] == nil {
			b.add(i, nil)
		}
	}
	b.watchOneWay()
	for _, c := range b.cells {
		b.spool.sources[c.source] = len(b.keep)
		b.keep = append(b.keep, c)
	}
}

// begin starts a record that stands on a line; a line of 0 is none.
func (b *batch) begin(line int) {
	if b.n == b.room {
		b.grow()
	}
	if b.n == 0 {
		for _, c := range b.cells {
			c.start()
		}
	}
	b.line = line
	b.lines[b.n] = line
	if b.pick != nil {
		b.onlyPicked()
	}
}

// onlyPicked makes the record's text known if it is wanted.
func (b *batch) onlyPicked() {
	row := b.row + int64(b.n)
	for len(b.pick) > 1 && b.pick[0] < row {
		b.pick = b.pick[1:]
	}
	for _, c := range b.cells {
		if c.in = nil; b.pick[0] == row {
			c.in = b.picked
		}
	}
}

// firstRoom is the room of the first batch: most files are small.
const firstRoom = 1 << 10

func (b *batch) grow() {
	b.room = max(min(4*b.room, serving.BatchRows), firstRoom)
	for _, c := range b.cells {
		c.grow(b.room)
	}
	b.lines = resize(b.lines, b.room)
}

// set gives a column of the record its text.
func (b *batch) set(c *cell, text []byte) {
	if !c.set(b.n, text) && (b.problems != nil || b.spool != nil) {
		b.pending = append(b.pending, pending{"text " + c.name, serving.Problem{At: b.at(c.name), Message: c.complaint(text), Count: 1}, c.raw})
	}
}

// at is the position of a field of the record.
func (b *batch) at(field string) serving.Pos {
	p := serving.Pos{Path: b.table.file.Path, Line: b.line, Field: field}
	if b.line == 0 {
		p.Row = b.row + int64(b.n) + 1
	}
	return p
}

// problem keeps a problem of the record until it is committed; record says
// whether it is about the record as a whole, which is dropped then.
func (b *batch) problem(kind string, p serving.Problem) {
	if b.problems != nil || b.spool != nil {
		b.pending = append(b.pending, pending{kind, p, -1})
	}
}

// commit ends a record.
func (b *batch) commit() error {
	for _, c := range b.cells {
		if c.last != b.n {
			c.miss(b.n)
		}
	}
	if b.oneWay != nil && b.oneWay.v.Ints[b.n] == b.oneWayTo.v.Ints[b.n] && b.oneWay.valid.Get(b.n) {
		b.oneWay.miss(b.n)
	}
	b.tell()
	b.n++
	if b.n == serving.BatchRows || b.long() {
		return b.flush()
	}
	return nil
}

// long reports whether the lists of the batch ask for it to be cut short.
func (b *batch) long() bool {
	for _, c := range b.gaps {
		if len(c.v.Floats) >= maxGaps {
			return true
		}
	}
	return false
}

// tell passes on what was wrong with a record, and with the file around it.
func (b *batch) tell() {
	for _, p := range b.pending {
		if b.problems != nil && (p.raw < 0 || b.byRaw[p.raw].wanted) {
			b.problems.AddKind(p.kind, p.p)
		}
		if b.spool != nil {
			b.note(p)
		}
	}
	b.pending = b.pending[:0]
}

// note keeps a problem for the scans of the spool, once a kind.
func (b *batch) note(p pending) {
	for i := range b.notes {
		if b.notes[i].kind == p.kind {
			b.notes[i].count += max(p.p.Count, 1)
			return
		}
	}
	b.notes = append(b.notes, note{p, max(p.p.Count, 1)})
}

// drop takes a record back, with its problems.
func (b *batch) drop() {
	for _, c := range b.cells {
		c.forget(b.n)
	}
	b.pending = b.pending[:0]
}

// lost takes a record back and says why.
func (b *batch) lost(kind string, line int, why string) {
	b.pending = b.pending[:0]
	if why != endsOpen { // of which there is none
		why += ": this record is left out"
	}
	b.problem(kind, serving.Problem{At: serving.Pos{Path: b.table.file.Path, Line: line}, Message: why, Count: 1})
	b.tell()
}

// flush hands on the records so far.
func (b *batch) flush() error {
	b.tell()
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if b.n == 0 && (b.spool == nil || len(b.notes) == 0) {
		return nil
	}
	for _, c := range b.cells {
		if b.n > 0 {
			c.finish(b.n)
		}
	}
	if b.spool != nil {
		if b.spool.add(b, b.keep) != nil { // the scan itself does not need it
			b.spool.close()
			b.spool, b.full = nil, true
		}
		b.notes = nil
	}
	if b.n == 0 {
		return nil
	}
	at := column.Place{Path: b.table.file.Path, Row: b.row}
	if b.lines[0] > 0 {
		at.Lines = b.lines[:b.n]
	}
	out := b.program.Run(at, b.n, b.problems)
	if err := b.yield(out); err != nil {
		return err
	}
	b.row += int64(b.n)
	b.n = 0
	for _, c := range b.cells {
		c.grow(b.room)
	}
	return nil
}

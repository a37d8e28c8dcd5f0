package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// A TextFile is a trace as text: CSV or JSON.
type TextFile struct {
	Path string
	// Open returns a fresh stream of the file from its start, decompressed.
	// Each scan opens the file anew, several at a time maybe.
	Open func() (io.ReadCloser, error)
	In   *serving.Input // filled in, if not nil
}

// A Text is one request trace in one text file: a serving.Requests of one part,
// that is read anew by each scan. Memory is a batch and a record, whatever the
// size of the file.
type Text struct {
	name   string
	format string // of the contract
	file   TextFile
	rows   source
	plan   *column.Plan
	dicts  *column.Dicts
	full   []atomic.Bool // by source: its text table is full
	comma  []bool        // by raw column: it has decimal commas
	oneWay int           // raw column of a first-token time that equals the end where nothing was streamed; -1
	end    int           // raw column of that end
	opt    Options
	ids    []bool // by raw column: texts that are hardly ever the same
	small  bool   // read whole to learn its columns: not worth a spool
	spooled

	size atomic.Int64 // rows, -1 before the first whole scan
	mu   sync.Mutex   // guards file.In.Records
}

// A source reads the records of one kind of text.
type source interface {
	// learn reads the start of a stream and returns its columns.
	learn(ctx context.Context, r io.Reader) (learned, error)
	// scan reads a stream to its end and puts each record into b.
	scan(ctx context.Context, r io.Reader, b *batch) error
}

// learned is what the start of a file showed.
type learned struct {
	columns []*guess
	rows    int64
	whole   bool // that was the whole file
	notes   []string
}

// openText decides what the columns of a text file are.
func openText(ctx context.Context, f TextFile, format string, rows source, opt Options) (*Text, error) {
	t := &Text{name: opt.Name, format: format, file: f, rows: rows, opt: opt, oneWay: -1, end: -1}
	if t.name == "" {
		t.name = f.Path
	}
	t.size.Store(-1)
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	l, err := rows.learn(ctx, &live{ctx, r})
	r.Close()
	if err != nil {
		return nil, err
	}
	t.plan, t.comma, err = resolveText(l.columns, opt.Map)
	if err != nil {
		return nil, t.planError(err)
	}
	t.plan.Textual = true
	if err := t.notTrace(); err != nil {
		return nil, err
	}
	if t.plan.Dialect == "LiteLLM" || t.plan.Dialect == "Langfuse" {
		t.findSentinel()
	}
	if opt.Side != "" {
		t.plan.Side = opt.Side
	}
	t.small = l.whole && l.rows <= smallRows
	for _, g := range l.columns {
		t.ids = append(t.ids, g.tally.others)
	}
	t.dicts = t.plan.NewDicts()
	t.full = make([]atomic.Bool, len(t.plan.Sources))
	if err := t.crossCheck(ctx); err != nil {
		return nil, err
	}
	t.fillInput(l)
	return t, nil
}

// resolveText turns guesses into a plan. A column without any value at the start
// of the file may have some later: it is what its name says, unless another
// column is that already.
func resolveText(columns []*guess, maps []column.Mapping) (*column.Plan, []bool, error) {
	raws := make([]column.Raw, len(columns))
	comma := make([]bool, len(columns))
	byName := map[string]*guess{}
	for i, g := range columns {
		raws[i], comma[i] = g.raw(), g.comma
		byName[g.name] = g
	}
	for i := range raws {
		if head, ok := strings.CutSuffix(raws[i].Name, ".value"); ok {
			if u := byName[head+".unit"]; u != nil {
				raws[i].Sibling = u.firstText
			}
		}
	}
	plan, err := column.Resolve(raws, maps)
	if err != nil {
		return nil, nil, err
	}
	taken := map[string]bool{}
	for _, f := range plan.Fields {
		taken[f.As] = true
	}
	again := false
	for i, g := range columns {
		if g.n > 0 {
			continue
		}
		if name, k := column.Means(g.name); k != column.Opaque && (name == "" || !taken[name]) {
			raws[i].Kind = k
			again = true
		}
	}
	if plan.Dialect == "LiteLLM" {
		// StandardLoggingPayload.response_time is the time to the first token
		// of a streamed request and the whole time of another.
		for i := range raws {
			if strings.HasSuffix(raws[i].Name, "response_time") {
				raws[i].Kind, again = column.Opaque, true
			}
		}
	}
	if again {
		plan, err = column.Resolve(raws, maps)
	}
	return plan, comma, err
}

func (t *Text) planError(err error) error {
	at := serving.Pos{Path: t.file.Path}
	var unit *column.UnitError
	var col *column.ColumnError
	switch {
	case errors.As(err, &unit):
		return &serving.FormatError{At: at, Format: t.format, Found: unit.Found(), Want: "one that says what its numbers are", Remedy: unit.Remedy()}
	case errors.As(err, &col):
		at.Field = col.Column
		return &serving.FormatError{At: at, Format: t.format, Found: col.Message}
	}
	return fmt.Errorf("%s: %w", at.Path, err)
}

func (t *Text) notTrace() error {
	if t.plan.IsTrace() {
		return nil
	}
	want, found := t.plan.Wanted()
	return &serving.FormatError{At: serving.Pos{Path: t.file.Path}, Format: t.format,
		Found: "no request trace: its columns are " + found, Want: want,
		Remedy: "if it is one, name the columns, e.g. --map ttft=COLUMN:ms"}
}

// findSentinel looks for the columns of gateways that write the end as the time
// of the first token where nothing was streamed.
func (t *Text) findSentinel() {
	first, ok1 := t.plan.Source(serving.ColFirstToken)
	end, ok2 := t.plan.Source(serving.ColEnd)
	if ok1 && ok2 {
		t.oneWay, t.end = t.plan.Sources[first].Raw, t.plan.Sources[end].Raw
	}
}

// crossCheck compares the columns of the first rows with each other.
func (t *Text) crossCheck(ctx context.Context) error {
	want := t.plan.SampleColumns()
	if len(want) == 0 {
		return nil
	}
	var factor *column.FactorError
	g, err := t.plan.Program(t.dicts, want)
	if err != nil {
		return err
	}
	err = t.read(ctx, g, nil, false, func(b *serving.Batch) error {
		errors.As(g.CrossCheck(b.N), &factor)
		if s := g.GapsBetween(b.N); s != "" {
			t.plan.SetGaps(s)
		}
		return errStop
	})
	switch {
	case factor != nil:
		return &serving.FormatError{At: serving.Pos{Path: t.file.Path, Field: factor.Columns[0]}, Format: t.format, Found: factor.Text}
	case err == errStop:
		return nil
	}
	return err
}

// fillInput tells in the file's Input what was found.
func (t *Text) fillInput(l learned) {
	in := t.file.In
	if in == nil {
		return
	}
	in.Format, in.Fields = t.format, t.plan.Fields
	if l.whole {
		in.Records = l.rows
	}
	var notes []string
	if t.plan.Dialect != "" {
		notes = append(notes, "columns as "+t.plan.Dialect+" writes them")
	}
	if l.whole && l.rows == 0 {
		notes = append(notes, "no rows")
	}
	for i, f := range t.plan.Fields {
		if f.As != "" && t.plan.Raws[i].Kind == column.Instant && t.plan.Raws[i].Local {
			notes = append(notes, "times without a zone are taken as UTC")
			break
		}
	}
	if t.oneWay >= 0 {
		notes = append(notes, fmt.Sprintf("where %s equals %s, nothing was streamed: no TTFT", t.plan.Raws[t.oneWay].Name, t.plan.Raws[t.end].Name))
	}
	in.Note = strings.Join(slices.Concat(notes, unread(t.file.Path), l.notes, doubts(l.columns), t.plan.Notes), "; ")
	for _, p := range misread(l.columns, t.plan) {
		p.At.Path = t.file.Path
		in.Problems.Add(p)
	}
}

// Name returns the dataset's name.
func (t *Text) Name() string { return t.name }

// Side says where the times were measured.
func (t *Text) Side() serving.Side { return t.plan.Side }

// Columns lists canonical columns, read or derived, then the raw ones.
func (t *Text) Columns() []serving.Column { return t.plan.Columns }

// Parts returns the file as its one part.
func (t *Text) Parts() []serving.Part { return []serving.Part{t} }

// Rescannable is true: the file is read anew by each scan.
func (t *Text) Rescannable() bool { return true }

// Dict returns the intern table of a text column.
func (t *Text) Dict(name string) *serving.Dict { return t.dicts.Of(name) }

// Derived tells how many rows each derivation made, over the scans that
// collected problems.
func (t *Text) Derived() []column.Touch { return t.plan.Touched() }

// Doubts are columns that others contradict.
func (t *Text) Doubts() []serving.Doubt { return t.plan.Disagreements() }

// Plan returns what the columns are and how they are derived.
func (t *Text) Plan() *column.Plan { return t.plan }

// Dialect returns the producer whose columns these are, "" where not known.
func (t *Text) Dialect() string { return t.plan.Dialect }

// Source implements serving.Part.
func (t *Text) Source() string { return t.file.Path }

// Rows implements serving.Part: -1 until a scan has read the whole file.
func (t *Text) Rows() int64 { return t.size.Load() }

// Scan implements serving.Part.
func (t *Text) Scan(ctx context.Context, want []string, problems *serving.Problems, yield func(*serving.Batch) error) error {
	g, err := t.plan.Program(t.dicts, want)
	if err != nil {
		return fmt.Errorf("%s: %w", t.name, err)
	}
	sources, _ := g.Sources()
	if s := t.spooled.of(sources); s != nil {
		return t.replay(ctx, s, g, problems, yield)
	}
	return t.read(ctx, g, problems, !t.small && t.claim(), yield)
}

// read scans the text itself. keep says that it is to be kept as a spool.
func (t *Text) read(ctx context.Context, g *column.Program, problems *serving.Problems, keep bool, yield func(*serving.Batch) error) (err error) {
	var b *batch
	if keep {
		defer func() {
			var made *spool
			if err == nil {
				made = b.spool
			} else if b != nil && b.spool != nil {
				b.spool.close()
			}
			t.settle(made, b != nil && b.full)
		}()
	}
	r, err := t.file.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	b = newBatch(ctx, t, g, problems, yield)
	if keep {
		b.keepAll(t.worthKeeping())
	}
	if err := t.rows.scan(ctx, &live{ctx, r}, b); err != nil {
		return err
	}
	if err := b.flush(); err != nil {
		return err
	}
	t.done(b, problems)
	return nil
}

// done keeps what a whole scan has found out.
func (t *Text) done(b *batch, problems *serving.Problems) {
	t.size.Store(b.row)
	if t.file.In != nil {
		t.mu.Lock()
		t.file.In.Records = b.row
		t.mu.Unlock()
	}
	t.tellFull(problems)
}

// tellFull reports text columns with more values than are kept.
func (t *Text) tellFull(problems *serving.Problems) {
	if problems == nil {
		return
	}
	for i := range t.full {
		if t.full[i].Load() {
			name := t.plan.Raws[t.plan.Sources[i].Raw].Name
			problems.AddKind("full "+name, serving.Problem{At: serving.Pos{Path: t.file.Path, Field: name},
				Message: fmt.Sprintf("more than %d distinct values: rows with further ones have none", maxDistinct)})
		}
	}
}

// brokenStream reports that the rest of a file cannot be read. What was read is
// kept, unless that is nothing.
func (b *batch) brokenStream(err error) error {
	if b.ctx.Err() != nil {
		return b.ctx.Err()
	}
	at := serving.Pos{Path: b.table.file.Path, Line: b.line}
	endless := errors.Is(err, errEndless)
	if b.row == 0 && b.n == 0 && endless {
		return &serving.FormatError{At: at, Format: b.table.format, Found: err.Error(), Want: "a record a line", Remedy: "no tool writes a line of that length: cut it out"}
	}
	if endless {
		b.problem("broken", serving.Problem{At: at, Message: err.Error() + ", want a record a line: what follows is not read"})
		return nil
	}
	if b.row == 0 && b.n == 0 {
		return &serving.FormatError{At: at, Format: b.table.format, Found: "reading fails: " + err.Error(), Want: "a whole file", Remedy: "copy or unpack the file again"}
	}
	b.problem("broken", serving.Problem{At: at, Message: "reading fails: " + err.Error() + ": what follows is not read; copy or unpack the file again"})
	return nil
}

var (
	_ serving.Requests = (*Text)(nil)
	_ serving.Part     = (*Text)(nil)
)

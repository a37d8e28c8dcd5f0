package trace

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// Options say how to take a trace.
type Options struct {
	Name      string           // of the dataset; "" for the first file's path
	Map       []column.Mapping // the user's word on columns
	Side      serving.Side     // where times were measured; "" leaves it to the producer
	MaxPage   int64            // the largest page that is decompressed; 0 for 128 MiB
	MaxMemory int64            // of page buffers of all scans together; 0 for 1 GiB
	// Fixed names the columns to read of a table that is no request trace, and as
	// what: see column.Fixed. Nil for a trace.
	Fixed func(name string) (serving.ColumnKind, bool)
}

// A Table is one request trace in one or more Parquet files: a
// serving.Requests whose parts are the row groups, or pieces of them, in path
// order.
type Table struct {
	name   string
	plan   *column.Plan
	dicts  *column.Dicts
	full   []atomic.Bool // by source: its text table is full
	files  []*opened
	parts  []*part
	budget budget
	opt    Options
	looked int // columns that were looked at for labels

	mu   sync.Mutex
	free map[string][]*scanner
}

// Open reads the metadata of a trace's files and decides what their columns
// are. It fills in each file's Input. Files that are no request trace are a
// *serving.FormatError; a duration without a unit, or units that contradict
// each other, are an error that says what to map.
func Open(ctx context.Context, files []File, opt Options) (*Table, error) {
	if len(files) == 0 {
		return nil, errors.New("no Parquet file")
	}
	if opt.MaxPage <= 0 {
		opt.MaxPage = defaultMaxPage
	}
	if opt.MaxMemory <= 0 {
		opt.MaxMemory = defaultMaxMemory
	}
	t := &Table{name: opt.Name, opt: opt, free: map[string][]*scanner{}}
	t.budget.limit = opt.MaxMemory
	if t.name == "" {
		t.name = files[0].Path
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o, err := openFile(f)
		if err != nil {
			return nil, err
		}
		t.files = append(t.files, o)
	}
	slices.SortStableFunc(t.files, func(a, b *opened) int { return strings.Compare(a.Path, b.Path) })
	if err := t.resolve(); err != nil {
		return nil, err
	}
	if err := t.addParts(ctx); err != nil {
		return nil, err
	}
	if opt.Fixed == nil {
		if err := t.crossCheck(ctx); err != nil {
			return nil, err
		}
	}
	for _, f := range t.files {
		t.fillInput(f)
	}
	return t, nil
}

func notTrace(p *column.Plan, path string) error {
	if p.IsTrace() {
		return nil
	}
	want, found := p.Wanted()
	return &serving.FormatError{At: serving.Pos{Path: path}, Format: formatName,
		Found: "Parquet, but no request trace: its columns are " + found, Want: want,
		Remedy: "if it is one, name the columns, e.g. --map ttft=COLUMN:ms"}
}

// resolve makes the plan and checks the columns that it uses.
func (t *Table) resolve() error {
	rs, err := t.raws()
	if err != nil {
		return err
	}
	if t.opt.Fixed != nil {
		t.plan, err = column.Fixed(rs, t.opt.Fixed)
	} else {
		t.siblings(rs)
		t.plan, err = column.Resolve(rs, t.opt.Map)
	}
	if err != nil {
		return t.planError(err)
	}
	if err := notTrace(t.plan, t.files[0].Path); err != nil && t.opt.Fixed == nil {
		return err
	}
	for _, s := range t.plan.Sources {
		for _, f := range t.files {
			if l := f.byName[rs[s.Raw].Name]; l != nil && isCanonical(t.plan, s.Name) {
				if err := f.checkColumn(l); err != nil {
					return err
				}
			}
		}
	}
	if t.opt.Side != "" {
		t.plan.Side = t.opt.Side
	}
	t.dicts = t.plan.NewDicts()
	t.full = make([]atomic.Bool, len(t.plan.Sources))
	return nil
}

// isCanonical reports whether a source has a meaning; the others are checked
// when somebody asks for them.
func isCanonical(p *column.Plan, name string) bool {
	for _, f := range p.Fields {
		if f.As == name {
			return true
		}
	}
	return false
}

// planError adds the file to an error about its columns.
func (t *Table) planError(err error) error {
	at := serving.Pos{Path: t.files[0].Path}
	var unit *column.UnitError
	var col *column.ColumnError
	switch {
	case errors.As(err, &unit):
		return &serving.FormatError{At: at, Format: formatName, Found: unit.Found(), Want: "one that says what its numbers are", Remedy: unit.Remedy()}
	case errors.As(err, &col):
		at.Field = col.Column
		return &serving.FormatError{At: at, Format: formatName, Found: col.Message}
	}
	return fmt.Errorf("%s: %w", at.Path, err)
}

// sampleRows is how many rows of the first row group are looked at to tell
// dates from offsets.
const sampleRows = 1024

// sample returns the range of some values of a column in the file's own unit, as
// column.Middle has it.
func (t *Table) sample(f *opened, l *leaf) (lo, hi float64, ok bool) {
	if l.maxRep > 0 || l.opaque || l.textual() || f.checkColumn(l) != nil {
		return 0, 0, false
	}
	defer func() {
		if recover() != nil {
			lo, hi, ok = 0, 0, false // the scan will meet it again and report it
		}
	}()
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if g.NumRows == 0 {
			continue
		}
		c := t.cursor(converter{leaf: l, to: toFloats, mul: 1, div: math.Pow10(l.scale)})
		if l.days {
			c.div = 1.0 / 86400e9 // as nanoseconds, which is what the plan takes dates for
		}
		defer c.pages.release()
		if c.open(f.R, &g.Columns[l.index].MetaData, f.Size) != nil {
			return 0, 0, false
		}
		var v serving.Vector
		n, _ := c.fill(&v, int(min(g.NumRows, sampleRows)))
		var some []float64
		for k := range n {
			if x := v.Floats[k]; v.Has(k) && !math.IsNaN(x) {
				some = append(some, x)
			}
		}
		if lo, hi, ok = column.Middle(some); ok {
			return lo, hi, true
		}
		if i >= 8 {
			break
		}
	}
	return 0, 0, false
}

// checkedGroups is how many row groups are tried for rows to compare.
const checkedGroups = 4

// crossCheck compares the columns of the first rows with each other: wrong
// units must not become a report.
func (t *Table) crossCheck(ctx context.Context) error {
	want := t.plan.SampleColumns()
	if len(want) == 0 {
		return nil
	}
	groups := 0
	for _, p := range t.parts {
		if p.from == 0 {
			groups++
		}
		if groups > checkedGroups {
			break
		}
		s, err := t.take(want)
		if err != nil {
			return err
		}
		n, cerr := 0, error(nil)
		err = p.scan(ctx, s, nil, func(*serving.Batch) error {
			n = s.n
			cerr = s.program.CrossCheck(n)
			if g := s.program.GapsBetween(n); g != "" {
				t.plan.SetGaps(g)
			}
			return errStop
		})
		t.give(s)
		var factor *column.FactorError
		if errors.As(cerr, &factor) {
			return &serving.FormatError{At: serving.Pos{Path: p.file.Path, Field: factor.Columns[0]}, Format: formatName, Found: factor.Text}
		}
		var io ioError
		var whole *serving.FormatError // no row group can be read
		if errors.As(err, &io) || errors.As(err, &whole) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if n > 0 {
			return nil
		}
	}
	return nil
}

// siblings reads the units that stand beside values: `ttft.value` has one in
// `ttft.unit` (AIPerf's form).
func (t *Table) siblings(rs []column.Raw) {
	for i := range rs {
		head, ok := strings.CutSuffix(rs[i].Name, ".value")
		if !ok {
			continue
		}
		for _, f := range t.files {
			if l := f.byName[head+".unit"]; l != nil && l.kind == column.Text && rs[i].Sibling == "" {
				rs[i].Sibling = t.sampleText(f, l)
			}
		}
	}
}

// sampleText returns the first text of a column.
func (t *Table) sampleText(f *opened, l *leaf) (s string) {
	defer func() {
		if recover() != nil {
			s = ""
		}
	}()
	dict := serving.NewDict()
	for i := range f.meta.RowGroups {
		g := &f.meta.RowGroups[i]
		if g.NumRows == 0 || f.checkColumn(l) != nil {
			continue
		}
		c := t.cursor(converter{leaf: l, to: toCodes, mul: 1, div: 1, intern: newInterner(dict, new(atomic.Bool))})
		defer c.pages.release()
		if c.open(f.R, &g.Columns[l.index].MetaData, f.Size) != nil {
			return ""
		}
		var v serving.Vector
		n, _ := c.fill(&v, int(min(g.NumRows, sampleRows)))
		for k := range n {
			if v.Has(k) {
				return dict.Name(v.Codes[k])
			}
		}
		return ""
	}
	return ""
}

// errStop ends a scan early.
var errStop = errors.New("enough")

// fillInput tells in a file's Input what was found.
func (t *Table) fillInput(f *opened) {
	in := f.In
	if in == nil {
		return
	}
	in.Format, in.Records = formatName, f.meta.NumRows
	in.Fields = nil
	local := false
	for i, fd := range t.plan.Fields {
		l := f.byName[t.plan.Raws[i].Name]
		if _, part := f.partition(fd.Name); l == nil && !part {
			continue
		}
		if fd.As != "" && l != nil && l.local {
			local = true
		}
		in.Fields = append(in.Fields, fd)
	}
	var notes []string
	if t.plan.Dialect != "" {
		notes = append(notes, "columns as "+t.plan.Dialect+" writes them")
	}
	if f.meta.NumRows == 0 {
		notes = append(notes, "no rows")
	}
	if local {
		notes = append(notes, "times without a zone are taken as UTC")
	}
	notes = append(append(notes, f.overruled()...), f.notes...)
	notes = append(notes, t.plan.Notes...)
	in.Note = strings.Join(notes, "; ")
	for _, r := range t.plan.Refused() {
		name, what := t.plan.Raws[r.Raw].Name, r.Problem(t.plan, "")
		if what != "" && f.byName[name] != nil {
			in.Problems.Add(serving.Problem{At: serving.Pos{Path: f.Path, Field: name}, Message: what})
		}
	}
}

// Name returns the dataset's name.
func (t *Table) Name() string { return t.name }

// Side says where the times were measured.
func (t *Table) Side() serving.Side { return t.plan.Side }

// Columns lists canonical columns, read or derived, then the raw ones.
func (t *Table) Columns() []serving.Column { return t.plan.Columns }

// Parts returns the row groups that have rows, or their pieces, in path and file
// order.
func (t *Table) Parts() []serving.Part {
	out := make([]serving.Part, len(t.parts))
	for i, p := range t.parts {
		out[i] = p
	}
	return out
}

// Rescannable is true: files are read anew by each scan.
func (t *Table) Rescannable() bool { return true }

// Dict returns the intern table of a text column.
func (t *Table) Dict(name string) *serving.Dict { return t.dicts.Of(name) }

// Derived tells how many rows each derivation made, over the scans that
// collected problems.
func (t *Table) Derived() []column.Touch { return t.plan.Touched() }

// Doubts are columns that others contradict.
func (t *Table) Doubts() []serving.Doubt { return t.plan.Disagreements() }

// Plan returns what the columns are and how they are derived.
func (t *Table) Plan() *column.Plan { return t.plan }

// Dialect returns the producer whose columns these are, "" where not known.
func (t *Table) Dialect() string { return t.plan.Dialect }

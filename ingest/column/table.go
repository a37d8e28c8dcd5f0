package column

import (
	"context"
	"fmt"

	"github.com/vreport/vreport/ingest/serving"
)

// A Table is a table of requests in memory, by columns: what a benchmark's
// arrays become. It is a serving.Requests of one part, whose batches are slices
// of the full columns; nothing is copied in a scan.
//
// A table is built by one goroutine with the Add methods and not changed
// afterwards; then any number may scan it.
type Table struct {
	name   string
	source string
	side   serving.Side
	rows   int
	cols   []serving.Column
	data   []serving.Vector
	dicts  map[string]*serving.Dict
}

// NewTable returns an empty table of so many rows. name is what people call the
// dataset, source the file it was read from.
func NewTable(name, source string, side serving.Side, rows int) *Table {
	return &Table{name: name, source: source, side: side, rows: rows, dicts: map[string]*serving.Dict{}}
}

// Ints adds a column of kind KindTime or KindCount. A nil valid means that all
// rows have a value. It panics where a length is not the table's, as every
// other method of this kind: that is a mistake in a decoder, not in its input.
func (t *Table) Ints(c serving.Column, values []int64, valid serving.Bitmap) {
	t.add(c, serving.Vector{Ints: values, Valid: valid}, len(values))
}

// Floats adds a column of kind KindDuration, KindRatio or KindNumber.
func (t *Table) Floats(c serving.Column, values []float64, valid serving.Bitmap) {
	t.add(c, serving.Vector{Floats: values, Valid: valid}, len(values))
}

// Text adds a column of kind KindText with its intern table.
func (t *Table) Text(c serving.Column, codes []int32, dict *serving.Dict, valid serving.Bitmap) {
	t.add(c, serving.Vector{Codes: codes, Valid: valid}, len(codes))
	t.dicts[c.Name] = dict
}

// Gaps adds a column of kind KindGaps: the gaps of row i are
// gaps[offsets[i]:offsets[i+1]].
func (t *Table) Gaps(c serving.Column, gaps []float64, offsets []int32, valid serving.Bitmap) {
	t.add(c, serving.Vector{Floats: gaps, Offsets: offsets, Valid: valid}, len(offsets)-1)
}

func (t *Table) add(c serving.Column, v serving.Vector, n int) {
	if n != t.rows || v.Valid != nil && len(v.Valid)*64 < t.rows {
		panic(fmt.Sprintf("column: %s has %d values for %d rows", c.Name, n, t.rows))
	}
	if t.index(c.Name) >= 0 {
		panic("column: " + c.Name + " is added twice")
	}
	v.Kind = c.Kind
	t.cols = append(t.cols, c)
	t.data = append(t.data, v)
}

func (t *Table) index(name string) int {
	for i := range t.cols {
		if t.cols[i].Name == name {
			return i
		}
	}
	return -1
}

// Name implements serving.Requests.
func (t *Table) Name() string { return t.name }

// Side implements serving.Requests.
func (t *Table) Side() serving.Side { return t.side }

// Columns implements serving.Requests.
func (t *Table) Columns() []serving.Column { return t.cols }

// Parts implements serving.Requests: one part, none where there is no row.
func (t *Table) Parts() []serving.Part {
	if t.rows == 0 {
		return nil
	}
	return []serving.Part{t}
}

// Rescannable implements serving.Requests.
func (t *Table) Rescannable() bool { return true }

// Dict implements serving.Requests.
func (t *Table) Dict(column string) *serving.Dict { return t.dicts[column] }

// Source implements serving.Part.
func (t *Table) Source() string { return t.source }

// Rows implements serving.Part.
func (t *Table) Rows() int64 { return int64(t.rows) }

// Scan implements serving.Part. Problems were found when the table was filled,
// so a scan finds none.
func (t *Table) Scan(ctx context.Context, want []string, _ *serving.Problems, yield func(*serving.Batch) error) error {
	full := make([]*serving.Vector, len(want))
	for i, name := range want {
		j := t.index(name)
		if j < 0 {
			return fmt.Errorf("%s: no column %q in the table", t.source, name)
		}
		full[i] = &t.data[j]
	}
	b := serving.Batch{Cols: make([]serving.Vector, len(want)), Lasting: true}
	var scratch [][]int32
	for range want {
		scratch = append(scratch, nil)
	}
	for from := 0; from < t.rows; from += serving.BatchRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+serving.BatchRows, t.rows)
		b.Row, b.N = int64(from), to-from
		for i, v := range full {
			b.Cols[i] = slice(v, from, to, &scratch[i])
		}
		if err := yield(&b); err != nil {
			return err
		}
	}
	return nil
}

// slice returns rows from…to of a full column. Both are multiples of 64 but for
// the end, so that a bitmap is cut at whole words. The offsets of a gap column
// start at 0 in each batch.
func slice(v *serving.Vector, from, to int, scratch *[]int32) serving.Vector {
	out := serving.Vector{Kind: v.Kind}
	if v.Valid != nil {
		out.Valid = v.Valid[from/64 : (to+63)/64]
	}
	switch v.Kind {
	case serving.KindTime, serving.KindCount:
		out.Ints = v.Ints[from:to]
	case serving.KindText:
		out.Codes = v.Codes[from:to]
	case serving.KindGaps:
		first, last := v.Offsets[from], v.Offsets[to]
		out.Floats, out.Offsets = v.Floats[first:last], v.Offsets[from:to+1]
		if first != 0 {
			*scratch = (*scratch)[:0]
			for _, o := range out.Offsets {
				*scratch = append(*scratch, o-first)
			}
			out.Offsets = *scratch
		}
	default:
		out.Floats = v.Floats[from:to]
	}
	return out
}

var _ serving.Requests = (*Table)(nil)

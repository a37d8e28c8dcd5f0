package rollup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/csvtext"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffCSV reports whether the first line of a text names the columns of a
// rollup.
func SniffCSV(head []byte) (bool, string) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if !bytes.Contains(line, []byte(colKind)) {
		return false, "no column " + colKind
	}
	h, err := csvtext.Header(head)
	if err != nil {
		return false, "the first line is no CSV"
	}
	return Sniff(h)
}

// DecodeCSV reads a rollup from CSV. Empty fields, \N and NULL are no value.
func DecodeCSV(ctx context.Context, path string, r io.Reader, in *serving.Input) (*serving.Rollup, error) {
	table := csvtext.NewReader(path, r, csvtext.Form{})
	header, at, err := table.Read()
	if err != nil {
		return nil, &serving.FormatError{At: at, Format: Format, Found: fmt.Sprintf("no readable CSV: %v", err), Want: "a rollup", Remedy: "take the whole result of the query"}
	}
	header = append([]string(nil), header...)
	if ok, why := Sniff(header); !ok {
		return nil, &serving.FormatError{At: serving.Pos{Path: path, Line: 1}, Format: Format, Found: why, Want: "a rollup"}
	}
	fillFields(in, header)
	b := NewBuilder(path, &in.Problems)
	f := newFields(header)
	_, err = table.Each(ctx, &in.Problems, func(rec []string, at serving.Pos) error {
		in.Records++
		if len(rec) != len(header) {
			b.problem(at, "", "%d fields, want %d", len(rec), len(header))
			return nil
		}
		if !f.parse(rec, b, at) {
			return nil
		}
		return b.Add(&f.row, at)
	})
	if err != nil {
		return nil, err
	}
	return b.Rollup()
}

// fillFields tells what became of the columns.
func fillFields(in *serving.Input, header []string) {
	in.Fields = nil
	for _, h := range header {
		f := serving.Field{Name: h}
		if _, ok := KindOf(h); ok {
			f.As, f.How = h, "rollup"
		}
		in.Fields = append(in.Fields, f)
	}
}

// fields says where each column of a rollup stands in a record.
type fields struct {
	at   map[string]int
	dims []int // by dimension; -1 where the column is missing
	row  Row
}

func newFields(header []string) *fields {
	f := &fields{at: map[string]int{}}
	for i, h := range header {
		if _, dup := f.at[h]; dup {
			continue
		}
		f.at[h] = i
		if d, ok := dimOf(h); ok {
			for len(f.dims) <= d {
				f.dims = append(f.dims, -1)
			}
			f.dims[d] = i
		}
	}
	f.row.Dims = make([]string, len(f.dims))
	return f
}

func (f *fields) text(rec []string, name string) string {
	i, ok := f.at[name]
	if !ok {
		return ""
	}
	return textOf(rec[i])
}

// textOf returns a field's text. DuckDB, Trino and Spark write nothing for null,
// ClickHouse writes \N.
func textOf(s string) string {
	if s == `\N` || s == "NULL" {
		return ""
	}
	return s
}

// parse fills f.row. It is false, and a problem, where a number is none.
func (f *fields) parse(rec []string, b *Builder, at serving.Pos) bool {
	r := &f.row
	r.Kind, r.Window, r.Metric, r.Spec = f.text(rec, colKind), f.text(rec, colWindow), strings.Clone(f.text(rec, colMetric)), f.text(rec, colSpec)
	for d, i := range f.dims {
		if i < 0 {
			r.Dims[d] = ""
		} else {
			r.Dims[d] = strings.Clone(textOf(rec[i]))
		}
	}
	for _, c := range []struct {
		name string
		to   *int64
	}{{colBucket, &r.Bucket}, {colN, &r.N}, {colTotal, &r.Total}, {colLeast, &r.Least}, {colMost, &r.Most}} {
		*c.to = 0
		if t := f.text(rec, c.name); t != "" {
			v, ok := wholeOf(t)
			if !ok {
				b.problem(at, c.name, "%q is no whole number", t)
				return false
			}
			*c.to = v
		}
	}
	r.Squares = 0
	if t := f.text(rec, colSquares); t != "" {
		v, err := strconv.ParseFloat(t, 64)
		if err != nil {
			b.problem(at, colSquares, "%q is no number", t)
			return false
		}
		r.Squares = v
	}
	return true
}

// wholeOf reads a whole number, also as 12.0 or 1.2E3.
func wholeOf(t string) (int64, bool) {
	if v, err := strconv.ParseInt(t, 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(t, 64)
	if err != nil || v != math.Trunc(v) || math.Abs(v) > 1<<53 {
		return 0, false
	}
	return int64(v), true
}

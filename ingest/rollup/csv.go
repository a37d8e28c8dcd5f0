package rollup

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// SniffCSV reports whether the first line of a text names the columns of a
// rollup.
func SniffCSV(head []byte) (bool, string) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if !bytes.Contains(line, []byte(colKind)) {
		return false, "no column " + colKind
	}
	h, err := csv.NewReader(bytes.NewReader(append(bytes.TrimPrefix(line, []byte(bom)), '\n'))).Read()
	if err != nil {
		return false, "the first line is no CSV"
	}
	return Sniff(h)
}

const bom = "\xef\xbb\xbf"

// DecodeCSV reads a rollup from CSV. Empty fields, \N and NULL are no value.
func DecodeCSV(ctx context.Context, path string, r io.Reader, in *serving.Input) (*serving.Rollup, error) {
	br := bufio.NewReaderSize(r, 256<<10)
	if head, _ := br.Peek(3); string(head) == bom {
		br.Discard(3)
	}
	cr := csv.NewReader(&lineLimit{r: br, left: maxLine})
	cr.ReuseRecord, cr.FieldsPerRecord = true, -1
	header, err := cr.Read()
	if err != nil {
		return nil, csvError(path, err)
	}
	header = append([]string(nil), header...)
	if ok, why := Sniff(header); !ok {
		return nil, &serving.FormatError{At: serving.Pos{Path: path, Line: 1}, Format: Format, Found: why, Want: "a rollup"}
	}
	fillFields(in, header)
	b := NewBuilder(path, &in.Problems)
	f := newFields(header)
	for n := 0; ; n++ {
		if n&4095 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		rec, err := cr.Read()
		if err == io.EOF {
			break
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			b.problem(serving.Pos{Path: path, Line: bad.Line}, "", "no CSV record: %v", bad.Err)
			continue
		}
		if err != nil {
			return nil, csvError(path, err)
		}
		in.Records++
		line, _ := cr.FieldPos(0)
		at := serving.Pos{Path: path, Line: line}
		if len(rec) != len(header) {
			b.problem(at, "", "%d fields, want %d", len(rec), len(header))
			continue
		}
		if !f.parse(rec, b, at) {
			continue
		}
		if err := b.Add(&f.row, at); err != nil {
			return nil, err
		}
	}
	return b.Rollup()
}

func csvError(path string, err error) error {
	var fe *serving.FormatError
	if errors.As(err, &fe) {
		fe.At.Path = path
		return fe
	}
	return &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: fmt.Sprintf("no readable CSV: %v", err), Want: "a rollup", Remedy: "take the whole result of the query"}
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

// maxLine bounds a line: the spec of a rollup is one field.
const maxLine = 8 << 20

// A lineLimit reads lines of bounded length: a quote that never closes must not
// take the whole file into memory.
type lineLimit struct {
	r    io.Reader
	left int
}

// Read implements io.Reader.
func (l *lineLimit) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
		l.left = maxLine - (n - i)
		return n, err
	}
	if l.left -= n; l.left < 0 {
		return 0, &serving.FormatError{Format: Format, Found: fmt.Sprintf("a line of more than %d bytes", maxLine), Want: "a rollup"}
	}
	return n, err
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

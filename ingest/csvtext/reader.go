package csvtext

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/vreport/vreport/ingest/serving"
)

// A Form is how a table is written; its zero value is RFC 4180.
type Form struct {
	Comma   rune // between cells; 0 for a comma
	Comment rune // begins lines that are no records; 0 for none
	Lazy    bool // a quote may stand where none belongs
	Trim    bool // white space in front of a cell is none of it
	Above   int  // lines of the file that stand above the text
}

// A Reader cuts a text into records. They may differ in length.
type Reader struct {
	path   string
	form   Form
	lines  *lines
	csv    *csv.Reader
	before int // lines of the file that csv does not know of
}

// NewReader reads the table at path from r; a byte order mark is none of it.
func NewReader(path string, r io.Reader, f Form) *Reader {
	if f.Comma == 0 {
		f.Comma = ','
	}
	t := &Reader{path: path, form: f, lines: newLines(r, f.Comma)}
	t.begin()
	return t
}

// begin makes the next line the first that csv knows of.
func (t *Reader) begin() {
	c := csv.NewReader(t.lines)
	c.FieldsPerRecord, c.ReuseRecord = -1, true
	c.Comma, c.Comment, c.LazyQuotes, c.TrimLeadingSpace = t.form.Comma, t.form.Comment, t.form.Lazy, t.form.Trim
	t.csv, t.before = c, t.form.Above+t.lines.ended
}

// A recordError says that a record is none. Reading goes on behind it.
type recordError struct {
	kind    string
	message string
}

// Error implements error.
func (e *recordError) Error() string { return e.message }

// Read returns the next record and where it begins; the slice is valid until the
// next call. At the end the error is io.EOF.
func (t *Reader) Read() ([]string, serving.Pos, error) {
	t.lines.begin()
	cells, err := t.csv.Read()
	at := serving.Pos{Path: t.path, Line: t.lines.start + t.form.Above}
	if len(cells) > 0 {
		line, _ := t.csv.FieldPos(0)
		at.Line = line + t.before
	}
	var bad *csv.ParseError
	switch {
	case t.lines.refused:
		message := fmt.Sprintf("a record of more than %d MiB, want one whose quotes are closed: ", maxRecord>>20)
		if t.lines.commas > maxCommas {
			message = fmt.Sprintf("a record of more than %d separators, want one in the form of the others: ", maxCommas)
		}
		if !t.lines.skip() {
			return nil, at, &recordError{"endless", message + "it and what follows are left out"}
		}
		t.begin()
		return nil, at, &recordError{"long", message + "it is left out"}
	case errors.As(err, &bad):
		at.Line = bad.Line + t.before
		return nil, at, &recordError{"csv", bad.Err.Error() + ": the record is left out"}
	case err == io.EOF:
		return nil, at, err
	case err != nil:
		return nil, at, fmt.Errorf("%s: %w", t.path, err)
	}
	return cells, at, nil
}

// ErrStop is what a row function returns to be called no more.
var ErrStop = errors.New("stop")

// Each calls row with every record, whose cells are valid until it returns. One that
// is damaged or too long is a problem. whole says that none was too long and that
// row did not stop: nothing of the table is missing but what is damaged.
func (t *Reader) Each(ctx context.Context, problems *serving.Problems, row func(cells []string, at serving.Pos) error) (whole bool, err error) {
	whole = true
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		cells, at, err := t.Read()
		var bad *recordError
		switch {
		case err == io.EOF:
			return whole, nil
		case errors.As(err, &bad):
			whole = whole && bad.kind == "csv"
			problems.AddKind(bad.kind, serving.Problem{At: at, Message: bad.message})
			continue
		case err == nil:
			err = row(cells, at)
		}
		if err == ErrStop {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// Header returns the cells of the first line of a text.
func Header(head []byte) ([]string, error) {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	cells, _, err := NewReader("", bytes.NewReader(line), Form{}).Read()
	return cells, err
}

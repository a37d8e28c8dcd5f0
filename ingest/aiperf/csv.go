package aiperf

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"github.com/vreport/vreport/ingest/serving"
)

// maxRecord bounds a record of a CSV; the tools write hundreds of bytes. It is as
// large as it is lest a stray quote, behind which records have no end for us, cut a
// table that the CSV reader makes sense of.
const maxRecord = 16 << 20

// errLongRecord says that a record is longer: a quote that never closes.
var errLongRecord = fmt.Errorf("a record of more than %d bytes: what follows is left out", maxRecord)

// eachRow calls row with the records of a CSV until it returns false. A damaged
// record is a problem and costs itself; one without an end costs what follows,
// which whole tells.
func eachRow(ctx context.Context, path string, c *csv.Reader, in *serving.Input, row func(cells []string, line int) bool) (whole bool, err error) {
	c.FieldsPerRecord, c.LazyQuotes = -1, true
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		cells, err := c.Read()
		var bad *csv.ParseError
		switch {
		case err == io.EOF:
			return true, nil
		case errors.As(err, &bad):
			in.Problems.AddKind("csv", serving.Problem{At: serving.Pos{Path: path, Line: bad.Line}, Message: bad.Err.Error() + "; the line is left out"})
		case errors.Is(err, errLongRecord):
			line := 0
			if len(cells) > 0 {
				line, _ = c.FieldPos(0)
			}
			in.Problems.Add(serving.Problem{At: serving.Pos{Path: path, Line: line}, Message: err.Error()})
			return false, nil
		case err != nil:
			return false, fmt.Errorf("%s: %w", path, err)
		default:
			if line, _ := c.FieldPos(0); !row(cells, line) {
				return false, nil
			}
		}
	}
}

// A recordLimit reads a CSV up to a record that is too long to be one: it must not
// take the whole file into memory.
type recordLimit struct {
	r      io.Reader
	n      int // bytes of the record so far
	quoted bool
}

// Read implements io.Reader.
func (l *recordLimit) Read(b []byte) (int, error) {
	n, err := l.r.Read(b)
	for _, c := range b[:n] {
		switch l.n++; {
		case c == '"':
			l.quoted = !l.quoted
		case c == '\n' && !l.quoted:
			l.n = 0
		}
	}
	if l.n > maxRecord {
		return 0, errLongRecord
	}
	return n, err
}

package trace

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A cell turns the text of one column into the values of a vector, row by row.
type cell struct {
	name  string // the file's
	kind  serving.ColumnKind
	texts bool // a list of texts: the first counts
	dates bool // instants are written as dates
	spans bool // durations say their unit themselves
	comma bool // numbers have a decimal comma
	dec   int  // of instants as numbers: see parseNanos
	div   float64
	in    *interner

	v     *serving.Vector
	own   serving.Vector // where nobody asked for it
	valid serving.Bitmap
	nulls bool
	last  int // the row that was set last

	raw    int  // column of the file
	source int  // of the plan
	wanted bool // by who scans, not for the spool alone
}

func newCell(r column.Raw, s column.Source, v *serving.Vector, dict *serving.Dict, full *atomic.Bool, comma bool) *cell {
	c := &cell{name: r.Name, kind: s.Kind, v: v, div: 1, comma: comma, last: -1}
	switch s.Kind {
	case serving.KindText:
		c.in = newInterner(dict, full)
		c.texts = r.Kind == column.TextList
	case serving.KindTime:
		c.dates = r.Kind == column.Instant || r.Kind == column.Text
		c.dec = decimals(s.Unit)
	case serving.KindDuration, serving.KindGaps:
		c.spans = r.Kind == column.Span
		c.div = s.Unit.PerSecond()
	}
	if c.v == nil {
		c.own.Kind = s.Kind
		c.v = &c.own
	}
	return c
}

// grow makes room for n rows and keeps those that are there.
func (c *cell) grow(n int) {
	switch c.kind {
	case serving.KindTime, serving.KindCount:
		c.v.Ints = resize(c.v.Ints, n)
	case serving.KindText:
		c.v.Codes = resize(c.v.Codes, n)
	case serving.KindGaps:
		c.v.Offsets = resize(c.v.Offsets, n+1)
	default:
		c.v.Floats = resize(c.v.Floats, n)
	}
	for len(c.valid) < (n+63)/64 {
		c.valid = append(c.valid, ^uint64(0))
	}
}

func resize[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	out := make([]T, n)
	copy(out, s)
	return out
}

// start begins a batch.
func (c *cell) start() {
	for i := range c.valid {
		c.valid[i] = ^uint64(0)
	}
	c.nulls, c.last = false, -1
	if c.kind == serving.KindGaps {
		c.v.Floats = c.v.Floats[:0]
		c.v.Offsets[0] = 0
	}
}

// finish cuts the vector to the n rows of a batch.
func (c *cell) finish(n int) {
	c.v.Valid = nil
	if c.nulls {
		c.v.Valid = c.valid
	}
	trim(c.v, n)
}

// miss makes row i a row without a value.
func (c *cell) miss(i int) {
	c.last = i
	c.nulls = true
	c.valid.Clear(i)
	switch c.kind {
	case serving.KindTime, serving.KindCount:
		c.v.Ints[i] = 0
	case serving.KindText:
		c.v.Codes[i] = 0
	case serving.KindGaps:
		c.v.Floats = c.v.Floats[:c.v.Offsets[i]]
		c.v.Offsets[i+1] = c.v.Offsets[i]
	default:
		c.v.Floats[i] = 0
	}
}

// forget takes row i back: its record turned out to be damaged.
func (c *cell) forget(i int) {
	if c.last == i {
		c.last = i - 1
	}
	c.valid.Set(i)
	if c.kind == serving.KindGaps {
		c.v.Floats = c.v.Floats[:c.v.Offsets[i]]
	}
}

// set reads row i. It returns false where the text is no value of this kind:
// then the row has none. A name that a record has twice counts once, the last.
func (c *cell) set(i int, b []byte) bool {
	if c.last == i {
		c.forget(i)
	}
	c.last = i
	b = strip(b)
	switch c.kind {
	case serving.KindText:
		return c.setText(i, b)
	case serving.KindCount:
		if n, ok := parseInt(b); ok {
			c.v.Ints[i] = n
			return true
		}
		if x, ok := c.number(b); ok && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			c.v.Ints[i] = int64(x)
			return true
		}
	case serving.KindTime:
		if c.setTime(i, b) {
			return true
		}
	case serving.KindGaps:
		if c.setGaps(i, b) {
			return true
		}
	default:
		if x, ok := c.number(b); ok {
			if c.div != 1 {
				x /= c.div
			}
			c.v.Floats[i] = x
			return true
		}
	}
	c.miss(i)
	return isNoNumber(b)
}

func (c *cell) setText(i int, b []byte) bool {
	if c.texts && len(b) > 0 && b[0] == '[' {
		var first []byte
		whole := eachElement(b, func(e []byte, _ bool) bool {
			first = e
			return false
		})
		if whole { // no element
			c.miss(i)
			return true
		}
		b = first
	}
	if isNull(b) {
		c.miss(i)
		return true
	}
	code := c.in.bytes(b)
	if code == noCode {
		c.miss(i)
		return true // told once a scan
	}
	c.v.Codes[i] = code
	return true
}

func (c *cell) setTime(i int, b []byte) bool {
	var ns int64
	var ok bool
	if c.dates {
		ns, _, ok = parseInstant(b)
	} else {
		ns, ok = parseNanos(b, c.dec)
		if !ok && c.comma {
			var x float64
			if x, ok = c.number(b); ok {
				x = math.Round(x * pow10[c.dec])
				ns, ok = int64(x), math.Abs(x) < 1<<63
			}
		}
	}
	c.v.Ints[i] = ns
	return ok
}

// number reads a number, or a duration that says its unit.
func (c *cell) number(b []byte) (float64, bool) {
	if c.spans {
		x, ok := parseSpan(b)
		return x * c.div, ok
	}
	if x, ok := parseFloat(b); ok {
		return x, true
	}
	if c.comma {
		return parseComma(b)
	}
	return 0, false
}

// parseComma reads a number with a decimal comma.
func parseComma(b []byte) (float64, bool) {
	var p [32]byte
	if len(b) > len(p) {
		return 0, false
	}
	n := copy(p[:], b)
	for i, x := range p[:n] {
		if x == '.' {
			return 0, false
		}
		if x == ',' {
			p[i] = '.'
		}
	}
	return parseFloat(p[:n])
}

func (c *cell) setGaps(i int, b []byte) bool {
	from := int(c.v.Offsets[i])
	c.v.Floats = c.v.Floats[:from]
	ok := eachElement(b, func(e []byte, _ bool) bool {
		x, ok := parseFloat(e)
		if !ok || len(c.v.Floats)-from >= maxGaps {
			return false
		}
		c.v.Floats = append(c.v.Floats, x/c.div)
		return true
	})
	c.v.Offsets[i+1] = int32(len(c.v.Floats))
	return ok
}

// want says what a cell's text should have been.
func (c *cell) want() string {
	switch c.kind {
	case serving.KindCount:
		return "count"
	case serving.KindTime:
		return "time"
	case serving.KindGaps:
		return "list of numbers"
	case serving.KindDuration:
		return "duration"
	}
	return "number"
}

// complaint says what is wrong with a text.
func (c *cell) complaint(b []byte) string {
	return fmt.Sprintf("%q is no %s", jsonscan.Cut(string(b[:min(len(b), 200)]), 48), c.want())
}

package jsonscan

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vreport/vreport/ingest/serving"
)

// Layout is how an input holds its records.
type Layout string

// The layouts.
const (
	Single  Layout = "object" // one value, as far as was read
	Array   Layout = "array"  // the elements of one array
	Lines   Layout = "jsonl"  // several values after each other
	Nothing Layout = ""       // no value
)

// Records reads the records of an input, whatever their layout: one value, the
// elements of a top-level array, or values after each other with or without
// newlines between them. It calls record before each one, which must read or
// skip that value and nothing else; i counts from 0.
//
// Damage does not lose what is whole. In values after each other, a damaged
// record becomes a problem and reading goes on at the next line that starts
// with a brace; in an array, and where the input ends too early, what follows
// the damage is lost and the problem says so. Only where no record at all is
// whole is damage an error, a *serving.FormatError. Errors of record that are
// not this reader's end reading at once.
//
// It returns the number of whole records.
func (r *Reader) Records(format string, problems *serving.Problems, record func(i int) error) (whole int, layout Layout, err error) {
	i := 0
	one := func() error {
		err := record(i)
		i++
		if err == nil {
			whole++
		}
		return err
	}
	var firstDamage error
	for {
		err := r.top(&layout, one)
		if err == io.EOF {
			break
		}
		if err == nil {
			continue
		}
		if !r.damage(err) {
			return whole, layout, err
		}
		described := r.Describe(err, format)
		if firstDamage == nil {
			firstDamage = described
		}
		var fe *serving.FormatError
		if errors.As(described, &fe) {
			problems.Add(serving.Problem{At: fe.At, Message: lost(fe, layout)})
		}
		if layout == Array || !r.resume() {
			break
		}
	}
	switch {
	case whole == 0 && firstDamage != nil:
		return 0, layout, firstDamage
	case i == 0:
		return 0, layout, &serving.FormatError{At: serving.Pos{Path: r.path}, Format: format, Found: "no JSON value in the file"}
	}
	return whole, layout, nil
}

func lost(fe *serving.FormatError, layout Layout) string {
	what := "this record is left out"
	if layout == Array {
		what = "this record and those after it are left out"
	}
	return fe.Found + ": " + what
}

// top reads the next top-level value: its elements where it is the first and an
// array.
func (r *Reader) top(layout *Layout, one func() error) error {
	k := r.dec.PeekKind()
	switch {
	case k == '[' && *layout == Nothing:
		*layout = Array
		_, err := r.Array(func(int) error { return one() })
		return err
	case k == 0:
		_, err := r.dec.ReadToken() // EOF, or the error in front of us
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return err
	case *layout == Nothing:
		*layout = Single
	case *layout == Single:
		*layout = Lines
	}
	return one()
}

// damage reports whether an error says that the input is damaged, in contrast
// to one that the caller made.
func (r *Reader) damage(err error) bool {
	var syn *jsontext.SyntacticError
	return errors.As(err, &syn) || (r.f.err != nil && r.f.err != io.EOF && errors.Is(err, r.f.err)) || errors.Is(err, io.ErrUnexpectedEOF)
}

// resume goes on behind a damaged record, at the next line that starts with a
// brace. It returns false where there is none.
func (r *Reader) resume() bool {
	if r.f.err != nil && r.f.err != io.EOF {
		return false
	}
	f := r.f
	f.unread(r.decoder().UnreadBuffer())
	found := false
	for {
		ready := f.buf[f.pos:f.ready]
		if j := bytes.Index(ready, []byte("\n{")); j >= 0 {
			f.pos += j + 1
			found = true
			break
		}
		f.pos = f.ready
		if bytes.HasSuffix(ready, newline) {
			f.pos-- // a brace may follow
		}
		if !f.more() {
			f.pos = f.ready
			break
		}
	}
	r.bulk.index = r.bulk.index[:0]
	r.base = f.offset()
	r.dec = newDecoder(&r.feed)
	return found
}

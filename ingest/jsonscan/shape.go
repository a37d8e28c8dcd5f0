package jsonscan

import (
	"errors"
	"io"
)

// A Shape is what an input looks like from outside: how it holds its records
// and which names the first one has.
type Shape struct {
	Layout Layout
	Kind   Kind            // of the first record: { for an object
	Keys   map[string]bool // the names of the first record, in any order
	Whole  bool            // the first record was read to its end; else Keys may lack some
	Damage error           // why the first record could not be read to its end, nil otherwise
}

// maxKeys bounds the names a probe remembers; an object with more is a table of
// something, not a record.
const maxKeys = 4096

var errEnough = errors.New("enough")

// Probe reads the first record's names, in one pass and without loading its
// values, and stops as soon as enough says so. enough is asked before the value
// of each new name is passed over, so a hundred megabytes behind a name that
// decides are not read. A nil enough reads the whole first record, and one token
// behind it to tell a single record from several.
//
// Damage is no error here: the names before it count, and a value without an end
// is damage too, or every format would read up to it again. An error is one of
// the input itself.
func Probe(path string, rd io.Reader, enough func(keys map[string]bool) bool) (Shape, error) {
	r := NewReader(path, rd)
	s := Shape{Keys: map[string]bool{}}
	err := s.probe(r, enough)
	if err == nil || errors.Is(err, errEnough) || err == io.EOF {
		return s, nil
	}
	var long tooLong
	if r.f.err != nil && r.f.err != io.EOF && errors.Is(err, r.f.err) && !errors.As(err, &long) {
		return s, r.f.err
	}
	s.Damage = r.Describe(err, "")
	return s, nil
}

func (s *Shape) probe(r *Reader, enough func(map[string]bool) bool) error {
	if r.Peek() == '[' {
		s.Layout = Array
		if _, err := r.dec.ReadToken(); err != nil {
			return err
		}
	}
	s.Kind = r.Peek()
	if s.Kind == 0 || s.Kind == ']' {
		_, err := r.dec.ReadToken()
		return err
	}
	if s.Layout == Nothing {
		s.Layout = Single
	}
	if err := s.record(r, enough); err != nil {
		return err
	}
	s.Whole = true
	if s.Layout == Single && r.Peek() != 0 {
		s.Layout = Lines
	}
	return nil
}

func (s *Shape) record(r *Reader, enough func(map[string]bool) bool) error {
	_, err := r.Object(func(name string) error {
		if !s.Keys[name] && len(s.Keys) < maxKeys {
			s.Keys[name] = true
			if enough != nil && enough(s.Keys) {
				return errEnough
			}
		}
		return r.Skip()
	})
	return err
}

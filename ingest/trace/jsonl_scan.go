package trace

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

// A jsonScan walks over JSON that lies in memory as far as it was read. It is
// more tolerant than the standard: any bare word is a value (NaN, Infinity,
// None), a comma may be one too many.
type jsonScan struct {
	b       []byte
	i       int
	oneLine bool // a newline inside a record is damage
	scratch []byte
	key     []byte
}

// damageError says why a record is none.
type damageError string

func (e damageError) Error() string { return string(e) }

// errShort says that the bytes end inside a value.
var errShortJSON = errors.New("the record ends in the middle of a value")

// maxNesting bounds the recursion into objects.
const maxNesting = 64

// space goes to the next byte that is no space.
func (s *jsonScan) space() error {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r':
			s.i++
		case '\n':
			if s.oneLine {
				return damageError("the line ends in the middle of the record")
			}
			s.i++
		default:
			return nil
		}
	}
	return errShortJSON
}

// text reads a string whose quote is at i and returns what is between the
// quotes, as it is written; escaped says that it holds escapes.
func (s *jsonScan) text() (raw []byte, escaped bool, err error) {
	from := s.i + 1
	for k := from; ; {
		n := bytes.IndexByte(s.b[k:], '"')
		if n < 0 {
			if s.oneLine || bytes.IndexByte(s.b[from:], '\n') >= 0 {
				return nil, false, damageError("a string is not closed")
			}
			return nil, false, errShortJSON
		}
		k += n
		back := 0
		for k-1-back >= from && s.b[k-1-back] == '\\' {
			back++
		}
		if back%2 == 1 {
			k++
			continue
		}
		raw = s.b[from:k]
		s.i = k + 1
		if len(raw) > 0 && bytes.IndexByte(raw, '\n') >= 0 {
			return nil, false, damageError("a string is not closed")
		}
		return raw, len(raw) > 0 && bytes.IndexByte(raw, '\\') >= 0, nil
	}
}

// unquote resolves escapes. The result is valid until the next call.
func (s *jsonScan) unquote(raw []byte) []byte {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	out, err := jsontext.AppendUnquote(s.scratch[:0], quoted)
	if err != nil && len(out) == 0 {
		return raw
	}
	s.scratch = out
	return out
}

// word reads a bare value: a number, true, null, NaN.
func (s *jsonScan) word() ([]byte, error) {
	from := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', '}', ']', ' ', '\t', '\r', '\n', ':', '"', '{', '[':
			if s.i == from {
				return nil, damageError("no value where one should be")
			}
			return s.b[from:s.i], nil
		}
		s.i++
	}
	return nil, errShortJSON // a number may go on
}

// skip passes over the value at i.
func (s *jsonScan) skip() error {
	if s.i == len(s.b) {
		return errShortJSON
	}
	switch s.b[s.i] {
	case '"':
		_, _, err := s.text()
		return err
	case '{', '[':
		return s.skipNested()
	}
	_, err := s.word()
	return err
}

func (s *jsonScan) skipNested() error {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if _, _, err := s.text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				s.i++
				return nil
			}
		case '\n':
			if s.oneLine {
				return damageError("the line ends in the middle of the record")
			}
		}
		s.i++
	}
	return errShortJSON
}

// object reads the object at i and calls member for each name, which must read
// or skip the value at i. The name is valid until then.
func (s *jsonScan) object(member func(key []byte) error) error {
	s.i++
	for {
		if err := s.space(); err != nil {
			return err
		}
		switch s.b[s.i] {
		case '}':
			s.i++
			return nil
		case ',':
			s.i++
			continue
		case '"':
		default:
			return damageError("a name was expected")
		}
		key, escaped, err := s.text()
		if err != nil {
			return err
		}
		if escaped {
			s.key = append(s.key[:0], s.unquote(key)...)
			key = s.key
		}
		if err := s.space(); err != nil {
			return err
		}
		if s.b[s.i] != ':' {
			return damageError("a colon was expected")
		}
		s.i++
		if err := s.space(); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
		if err := s.space(); err != nil {
			return err
		}
		if c := s.b[s.i]; c != ',' && c != '}' {
			return damageError("a comma was expected")
		}
	}
}

package csvtext

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// The bounds of a record. Tools write hundreds of bytes; a row with the token gaps
// of a whole run, as pandas prints them, takes megabytes. The separators have a bound
// of their own, since an empty cell takes fifty bytes of memory; those within quotes
// count, too, for where a stray quote stands they cannot be told apart.
const (
	maxRecord = 16 << 20
	maxCommas = 1 << 20
	maxSkip   = 64 << 20 // where the end of a longer record is looked for
)

var errLong = errors.New("a record that is too long")

// lines hands out a text line by line, so that what was read ends where a record
// does, and refuses to go on in one that is too long.
type lines struct {
	r     *bufio.Reader
	comma []byte
	ended int // lines handed out

	start         int // line of this record, or of comments above it; 0 before it begins
	bytes, commas int // of this record
	quoted        bool
	refused       bool // it is too long
	over          bool // the end of a record was not found
}

func newLines(r io.Reader, comma rune) *lines {
	l := &lines{r: bufio.NewReaderSize(r, 64<<10), comma: []byte(string(comma))}
	if b, _ := l.r.Peek(3); string(b) == "\xef\xbb\xbf" {
		l.r.Discard(3)
	}
	return l
}

// begin says that what follows is a new record.
func (l *lines) begin() {
	l.start, l.bytes, l.commas, l.quoted, l.refused = 0, 0, 0, false, false
}

// Read implements io.Reader: a line, or a part of one, at a time.
func (l *lines) Read(b []byte) (int, error) {
	if l.over {
		return 0, io.EOF
	}
	if l.bytes > maxRecord || l.commas > maxCommas {
		l.refused = true
		return 0, errLong
	}
	piece, err := l.next(len(b))
	return copy(b, piece), err
}

// next returns a piece of a line, at most so many bytes. It is valid until the next
// call.
func (l *lines) next(most int) ([]byte, error) {
	if _, err := l.r.Peek(1); err != nil {
		return nil, err
	}
	b, _ := l.r.Peek(min(most, l.r.Buffered()))
	if l.start == 0 && b[0] != '\n' && b[0] != '\r' {
		l.start = l.ended + 1
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i+1]
		l.ended++
	}
	if bytes.Count(b, []byte{'"'})&1 == 1 {
		l.quoted = !l.quoted
	}
	l.bytes += len(b)
	l.commas += bytes.Count(b, l.comma)
	l.r.Discard(len(b))
	return b, nil
}

// skip goes to the end of this record: the first of a line's ends that is in no
// quotes. It is false where there is none, or not within reach.
func (l *lines) skip() bool {
	for n := 0; n < maxSkip; {
		b, err := l.next(64 << 10)
		if err != nil {
			break // a later read meets it again
		}
		if n += len(b); b[len(b)-1] == '\n' && !l.quoted {
			return true
		}
	}
	l.over = true
	return false
}

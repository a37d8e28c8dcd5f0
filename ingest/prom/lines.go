package prom

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is how long a line may be. A vLLM info series takes 2 KB; a line of a
// megabyte is no line of a scrape and must not be loaded.
const maxLine = 1 << 20

// A lineReader hands out the lines of a text, each valid until the next call.
type lineReader struct {
	r    *bufio.Reader
	long []byte // of a line that does not fit the buffer
	line int    // number of the current line, from 1
}

// A textLine is one line without its end.
type textLine struct {
	text    []byte
	tooLong bool // text is only its beginning
	cut     bool // the file ends without a line end
}

// next returns io.EOF after the last line.
func (l *lineReader) next() (textLine, error) {
	b, err := l.r.ReadSlice('\n')
	if len(b) == 0 && err != nil {
		return textLine{}, err
	}
	l.line++
	if err == nil {
		return textLine{text: trimEnd(b)}, nil
	}
	if err == io.EOF {
		return textLine{text: trimEnd(b), cut: true}, nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return textLine{}, err
	}
	return l.nextLong(b)
}

func (l *lineReader) nextLong(b []byte) (textLine, error) {
	l.long = append(l.long[:0], b...)
	out := textLine{}
	for {
		b, err := l.r.ReadSlice('\n')
		if room := maxLine - len(l.long); len(b) > room {
			b, out.tooLong = b[:max(room, 0)], true
		}
		l.long = append(l.long, b...)
		switch {
		case err == nil || err == io.EOF:
			out.cut = err == io.EOF
			out.text = trimEnd(l.long)
			return out, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return textLine{}, err
		}
	}
}

// trimEnd cuts the line end, a carriage return too, and blanks around the line.
func trimEnd(b []byte) []byte {
	if n := len(b); n > 0 && b[n-1] == '\n' {
		b = b[:n-1]
	}
	for n := len(b); n > 0 && (b[n-1] == '\r' || isBlank(b[n-1])); n-- {
		b = b[:n-1]
	}
	if len(b) > 0 && (b[0] == 0xEF || isBlank(b[0])) {
		b = bytes.TrimLeft(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), " \t")
	}
	return b
}

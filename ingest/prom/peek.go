package prom

import (
	"bufio"
	"bytes"
	"io"
	"strings"

	columns "github.com/vreport/vreport/ingest/column"
)

// A peeker is a text whose first line can be looked at before it is read. Of a
// long line only the beginning is.
type peeker struct {
	*bufio.Reader
	lines int // skipped
}

func newPeeker(r io.Reader) *peeker {
	p := &peeker{Reader: bufio.NewReaderSize(r, 64<<10)}
	if b, _ := p.Peek(3); string(b) == "\xef\xbb\xbf" {
		p.Discard(3)
	}
	return p
}

func (p *peeker) firstLine() (string, error) {
	b, err := p.Peek(64 << 10)
	if len(b) == 0 {
		if err == nil || err == bufio.ErrBufferFull {
			err = io.ErrUnexpectedEOF
		}
		return "", err
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return string(trimEnd(b)), nil
}

func (p *peeker) skipLine() {
	p.ReadSlice('\n')
	p.lines++
}

// prelude returns the lines that stand above a line of column names with a time
// among them: titles and comments, as dashboards and spreadsheets export them. There
// are none where the first line is such a line, and none where no line is.
func (p *peeker) prelude() []string {
	b, _ := p.Peek(64 << 10)
	var lines []string
	for len(lines) <= columns.MaxPrelude {
		line, after, ok := strings.Cut(string(b), "\n")
		line = strings.TrimRight(line, "\r")
		if !ok {
			return nil
		}
		comma := separator(line)
		names := strings.Split(line, string(comma))
		for i := range names {
			names[i] = strings.Trim(names[i], " \"")
		}
		if len(names) > 1 && timeColumn(names) >= 0 {
			for _, l := range lines {
				if !columns.IsPrelude(l, strings.Split(l, string(comma)), len(names)) {
					return nil
				}
			}
			return lines
		}
		lines = append(lines, line)
		b = []byte(after)
	}
	return nil
}

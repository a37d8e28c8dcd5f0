package trace

import (
	"bufio"
	"bytes"
	"context"
	"io"
)

// headBytes is how much of a file tells what its table looks like, unless its
// first rows are longer than that.
const headBytes = 256 << 10

// hasRows reports whether the start of a file has two lines: names and a row, or
// two records.
func hasRows(head []byte) bool { return bytes.Count(head, []byte{'\n'}) >= 2 }

// startOf returns the start of a file as far as two lines reach, but no more than
// a record may have, and whether that is the whole file.
func startOf(open func() (io.ReadCloser, error)) (head []byte, whole bool, err error) {
	r, err := open()
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	var b bytes.Buffer
	for !hasRows(b.Bytes()) && b.Len() < maxRecord {
		n, err := io.CopyN(&b, r, headBytes)
		if err == io.EOF {
			return b.Bytes(), true, nil
		}
		if err != nil && !hasRows(b.Bytes()) {
			return b.Bytes(), false, err
		}
		if n == 0 || err != nil { // whoever reads on tells what breaks off
			break
		}
	}
	return withoutWideRow(b.Bytes(), r)
}

// withoutWideRow takes a first row that is longer than a record may be out of the
// start of a file, and reads on behind it: the names stand above it, and what the
// columns hold is told by the rows that can be read.
func withoutWideRow(head []byte, r io.Reader) ([]byte, bool, error) {
	names := bytes.IndexByte(head, '\n') + 1
	if hasRows(head) || names == 0 || len(head)-names > maxRecord {
		return head, false, nil
	}
	rest := bufio.NewReader(io.LimitReader(r, maxLine))
	for {
		switch _, err := rest.ReadSlice('\n'); err {
		case nil:
			more, err := io.ReadAll(io.LimitReader(rest, headBytes))
			return append(head[:names:names], more...), false, err
		case bufio.ErrBufferFull:
		default:
			return head, false, nil // nothing follows, or nothing that is reached
		}
	}
}

// A live stream ends with its context, however long its lines are.
type live struct {
	ctx context.Context
	io.Reader
}

func (l *live) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	return l.Reader.Read(p)
}

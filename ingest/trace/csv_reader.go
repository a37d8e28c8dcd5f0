package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
)

// A csvReader cuts a stream into records and fields: RFC 4180 with any
// delimiter, and what programs make of it: LF, CRLF, spaces in front of a quote,
// blank lines, a byte order mark, no newline at the end. It copies nothing: a
// field is a piece of the buffer until the next record.
type csvReader struct {
	r     *cutReader
	delim byte
	buf   []byte
	pos   int // of the next record
	end   int
	eof   bool
	bom   bool // looked for
	err   error
	read  int64 // bytes taken from r

	line    int // of the next record, 1-based
	at      int // line of this record
	fields  []csvField
	count   int    // fields of this record, those beyond the bound included
	damage  string // why this record is none; "" where it is
	start   int    // of this record
	spans   int    // newlines inside its quotes
	scratch []byte
}

// A csvField is buf[start:end] of the reader.
type csvField struct {
	start, end int32
	escaped    bool // it has doubled quotes
}

// textBuffer is the size that the buffer of a reader starts with.
var textBuffer = 256 << 10

const (
	maxRecord  = 16 << 20 // a longer record is damage: a quote that never closes
	maxColumns = 1 << 12
)

func newCSVReader(r io.Reader, delim byte) *csvReader {
	return &csvReader{r: &cutReader{r: r}, delim: delim, line: 1, buf: make([]byte, textBuffer)}
}

// errMore says that the record goes on behind what is in the buffer.
var errMore = errors.New("more")

// next reads a record. It returns false at the end and where reading fails: see
// err. A record that is damaged has a reason in damage and whatever fields were
// found.
func (c *csvReader) next() bool {
	for c.err == nil {
		err := c.parse()
		switch {
		case err == nil:
			if c.r.err != nil && c.eof && c.pos == c.end && c.buf[c.end-1] != '\n' {
				c.err = c.r.err // the stream was cut in this record, which may look whole
				return false
			}
			return true
		case err == io.EOF:
			c.err = c.r.err
			return false
		case c.end-c.pos >= maxRecord:
			c.tooLong()
			return true
		}
		if !c.fill() {
			return false
		}
	}
	return false
}

// fill reads on, behind what is in the buffer.
func (c *csvReader) fill() bool {
	kept := c.end - c.pos
	c.buf, c.pos, c.end, c.eof, c.err = refill(c.r, c.buf, c.pos, c.end)
	c.read += int64(c.end - kept)
	return c.err == nil
}

// refill moves buf[pos:end] to the front and reads behind it until the buffer is
// full; one that was full all along is doubled. So what has to be looked at once
// more, because it went on behind the buffer, is looked at a few times only,
// whatever pieces the reader gives.
func refill(r io.Reader, buf []byte, pos, end int) (_ []byte, _, _ int, eof bool, err error) {
	if pos > 0 {
		end = copy(buf, buf[pos:end])
	}
	if end == len(buf) {
		buf = append(buf, make([]byte, len(buf))...)
	}
	for idle := 0; end < len(buf); {
		n, err := r.Read(buf[end:])
		end += n
		switch {
		case err == io.EOF:
			return buf, 0, end, true, nil
		case err != nil:
			return buf, 0, end, false, err
		case n > 0:
			idle = 0
		default:
			if idle++; idle > 100 {
				return buf, 0, end, false, io.ErrNoProgress
			}
		}
	}
	return buf, 0, end, false, nil
}

// tooLong gives up on a record that does not end, and goes on at the line
// behind the one it started on, if that has an end.
func (c *csvReader) tooLong() {
	c.at, c.count, c.fields = c.line, 0, c.fields[:0]
	c.damage = "a record of more than 16 MiB"
	for from := c.read; bytes.IndexByte(c.buf[c.pos:c.end], '\n') < 0; {
		c.pos = c.end
		if c.eof || !c.fill() {
			return
		}
		if c.read-from > maxLine {
			c.err = errEndless
			c.pos = c.end
			return
		}
	}
	c.skipLine()
}

// maxLine bounds a line that is skipped: a compressed file of a few KiB may hold
// one of gigabytes, and each scan would go through it again.
const maxLine = 64 << 20

var errEndless = errors.New("a line of more than 64 MiB")

// skipLine goes to the line behind the record's first.
func (c *csvReader) skipLine() {
	n := bytes.IndexByte(c.buf[c.pos:c.end], '\n')
	if n < 0 {
		c.pos = c.end // the rest of a long line is damage, too
		return
	}
	c.pos += n + 1
	c.line++
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// fieldEnd returns the position of the next delimiter or newline in b, or len(b):
// eight bytes at a time. A byte of x that is 0 gives a high bit; those above the
// lowest may be wrong, and are not looked at.
func fieldEnd(b []byte, i int, delim byte) int {
	d := uint64(delim) * ones
	const nl = '\n' * ones
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		x, y := w^d, w^nl
		if m := ((x-ones)&^x | (y-ones)&^y) & highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
	}
	for ; i < len(b); i++ {
		if b[i] == delim || b[i] == '\n' {
			return i
		}
	}
	return i
}

// parse cuts the record at pos.
func (c *csvReader) parse() error {
	b := c.buf[:c.end]
	if !c.bom {
		if len(b) < 3 && !c.eof {
			return errMore
		}
		c.bom = true
		if bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
			c.pos += 3
		}
	}
	for c.pos < len(b) && (b[c.pos] == '\n' || b[c.pos] == '\r' && c.pos+1 < len(b) && b[c.pos+1] == '\n') {
		if b[c.pos] == '\n' {
			c.line++
		}
		c.pos++
	}
	if c.pos == len(b) || c.pos+1 == len(b) && b[c.pos] == '\r' {
		if c.eof {
			return io.EOF
		}
		return errMore
	}
	c.at, c.start, c.fields, c.count, c.damage, c.spans = c.line, c.pos, c.fields[:0], 0, "", 0
	for i := c.pos; ; {
		j := i
		for j < len(b) && b[j] == ' ' {
			j++
		}
		var k int
		if j < len(b) && b[j] == '"' {
			var err error
			if k, err = c.quoted(b, j+1); err != nil {
				return err
			}
			if c.damage != "" {
				if !c.eof && bytes.IndexByte(b[c.pos:], '\n') < 0 {
					return errMore // the rest of the line is no record of its own
				}
				c.skipLine()
				return nil
			}
		} else {
			k = fieldEnd(b, j, c.delim)
			if k == len(b) && !c.eof {
				return errMore
			}
			e := k
			if (k == len(b) || b[k] == '\n') && e > i && b[e-1] == '\r' {
				e--
			}
			c.add(i, e, false)
		}
		if k < len(b) && b[k] == c.delim {
			i = k + 1
			continue
		}
		c.pos = min(k+1, len(b))
		c.line += c.spans
		if k < len(b) {
			c.line++
		}
		return nil
	}
}

func (c *csvReader) add(start, end int, escaped bool) {
	c.count++
	if len(c.fields) < maxColumns {
		c.fields = append(c.fields, csvField{int32(start), int32(end), escaped})
	}
}

// quoted reads a field whose quote has been opened, and returns where its
// delimiter or newline is.
func (c *csvReader) quoted(b []byte, from int) (int, error) {
	escaped := false
	k := from
	for {
		q := bytes.IndexByte(b[k:], '"')
		if q < 0 {
			if !c.eof {
				return 0, errMore
			}
			c.damage = "a quote that is never closed"
			return 0, nil
		}
		k += q
		if k+1 == len(b) && !c.eof {
			return 0, errMore
		}
		if k+1 < len(b) && b[k+1] == '"' {
			escaped = true
			k += 2
			continue
		}
		break
	}
	c.spans += bytes.Count(b[from:k], []byte{'\n'})
	c.add(from, k, escaped)
	for k++; k < len(b) && (b[k] == ' ' || b[k] == '\r'); k++ {
	}
	switch {
	case k == len(b) && !c.eof:
		return 0, errMore
	case k < len(b) && b[k] != c.delim && b[k] != '\n':
		c.damage = "text behind a closing quote"
	}
	return k, nil
}

// back takes a record of several lines apart: its first line is damaged, the
// others are read again.
func (c *csvReader) back() {
	c.pos, c.line = c.start, c.at
	c.skipLine()
}

// text returns a field without its quotes. It is valid until the next field
// that has doubled quotes, or the next record.
func (c *csvReader) text(f csvField) []byte {
	b := c.buf[f.start:f.end]
	if !f.escaped {
		return b
	}
	c.scratch = c.scratch[:0]
	for {
		q := bytes.IndexByte(b, '"')
		if q < 0 {
			c.scratch = append(c.scratch, b...)
			return c.scratch
		}
		c.scratch = append(c.scratch, b[:q+1]...)
		b = b[q+2:]
	}
}

package jsonscan

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/bits"
)

// window is how much of the input the filter holds: large enough that the
// vectorized searches over it dominate, small enough to stay in cache.
const window = 256 << 10

// maxString bounds one string literal. The decoder below must hold a string
// whole, even one that is skipped, so an input that never closes a quote would
// otherwise fill memory; so would a few KiB of a compressed one.
const maxString = 16 << 20

// The literals that Python and JavaScript print for values JSON has no word
// for, and what they become: a string of the same length, so that every offset
// stays true. DEL marks it; no program writes that character into its results.
const mark = '\x7f'

var literals = [...]struct{ from, to []byte }{
	{[]byte("-Infinity"), []byte("\"\x7f-Infin\"")},
	{[]byte("Infinity"), []byte("\"\x7fInfin\"")},
	{[]byte("NaN"), []byte("\"\x7f\"")},
}

// A tooLong is the end of an input that cannot be read on: a value that no tool
// writes.
type tooLong string

func (e tooLong) Error() string { return string(e) }

const (
	errStringTooLong tooLong = "a string of more than 16 MiB"
	errNoStructure   tooLong = "16 MiB without any value's end"
)

// A filter makes a stream of JSON out of what programs write: it drops a UTF-8
// byte order mark, and outside strings it rewrites NaN, Infinity and -Infinity.
// It knows how many bytes and newlines it has handed out.
type filter struct {
	r     io.Reader
	buf   []byte // window; buf[pos:ready] is filtered, buf[ready:end] is held back
	pos   int
	ready int
	end   int
	err   error // sticky, handed out after the last byte

	started  bool
	inString bool
	escaped  bool  // the byte before ready, inside a string, is a backslash that escapes
	strLen   int64 // bytes of the current string so far
	bareLen  int64 // bytes since the last fill that held a quote, comma or bracket

	bom     int64 // bytes dropped at the start
	moved   int64 // filtered bytes that have left the window
	lines   int64 // newlines in the bytes that have left the window and in buf[:counted]
	counted int
}

func newFilter(r io.Reader) *filter { return &filter{r: r, buf: make([]byte, window)} }

// Read implements io.Reader.
func (f *filter) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for f.pos == f.ready {
		if f.err != nil && f.end == f.ready {
			return 0, f.err
		}
		f.fill()
	}
	n := copy(p, f.buf[f.pos:f.ready])
	f.pos += n
	return n, nil
}

// offset is the number of filtered bytes handed out.
func (f *filter) offset() int64 { return f.moved + int64(f.pos) }

// newlines is the number of newlines in the bytes handed out. They are counted
// when they are asked for or leave the window, many at once.
func (f *filter) newlines() int64 {
	if f.pos > f.counted {
		f.lines += int64(bytes.Count(f.buf[f.counted:f.pos], newline))
		f.counted = f.pos
	}
	return f.lines
}

var newline = []byte{'\n'}

// more makes more of the input ready behind what is, and reports whether there
// was more.
func (f *filter) more() bool {
	for n := f.ready - f.pos; ; {
		if f.err != nil && f.end == f.ready {
			return false
		}
		if f.fill(); f.ready-f.pos > n {
			return true
		}
	}
}

// unread takes back bytes that were handed out last.
func (f *filter) unread(b []byte) {
	if lack := len(b) - f.pos; lack > 0 {
		if f.end+lack > len(f.buf) {
			f.buf = append(f.buf, make([]byte, f.end+lack-len(f.buf))...)
		}
		copy(f.buf[lack:], f.buf[:f.end])
		f.pos, f.ready, f.end = f.pos+lack, f.ready+lack, f.end+lack
		f.moved -= int64(lack)
		f.counted += lack
	}
	f.pos -= len(b)
	copy(f.buf[f.pos:], b)
	if f.counted > f.pos {
		f.lines -= int64(bytes.Count(f.buf[f.pos:f.counted], newline))
		f.counted = f.pos
	}
}

// fill moves what was held back, and what is ready and still unread, to the
// front, reads more behind it and filters.
func (f *filter) fill() {
	f.newlines()
	f.moved += int64(f.pos)
	unread := f.ready - f.pos
	f.end = copy(f.buf, f.buf[f.pos:f.end])
	f.pos, f.ready, f.counted = 0, unread, 0
	if f.err == nil {
		f.read()
	}
	if !f.started && f.err == nil && f.end < 3 {
		return // a byte order mark may be incomplete
	}
	if !f.started {
		f.started = true
		if bytes.HasPrefix(f.buf[:f.end], []byte("\xef\xbb\xbf")) {
			f.bom = 3
			f.end = copy(f.buf, f.buf[3:f.end])
		}
	}
	f.ready += f.filter(f.buf[unread:f.end], f.err != nil)
	f.bound(unread)
}

// bound ends the stream where a string, a number or white space goes on for so
// long that holding it would fill memory. What is new starts at from.
func (f *filter) bound(from int) {
	f.bareLen += int64(f.ready - from)
	for _, c := range []byte(",\"]}[{") {
		if bytes.IndexByte(f.buf[from:f.ready], c) >= 0 {
			f.bareLen = 0
			break
		}
	}
	switch {
	case f.strLen > maxString:
		f.ready, f.end, f.err = from, from, errStringTooLong
	case f.bareLen > maxString && !f.inString:
		f.ready, f.end, f.err = from, from, errNoStructure
	}
}

// read reads once behind what is held, and gives up on a reader that returns
// nothing a hundred times, as bufio does.
func (f *filter) read() {
	for range 100 {
		n, err := f.r.Read(f.buf[f.end:])
		f.end += n
		if err != nil {
			f.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	f.err = io.ErrNoProgress
}

// filter rewrites b in place and returns how many bytes of it are done: fewer
// than all where the end may be the start of a literal and more is to come.
func (f *filter) filter(b []byte, last bool) int {
	for i := 0; i < len(b); {
		if f.inString {
			n := f.skipString(b[i:])
			f.strLen += int64(n)
			i += n
			continue
		}
		seg := b[i:]
		q := bytes.IndexByte(seg, '"')
		if q >= 0 {
			seg = seg[:q]
		}
		rewrite(seg)
		if q < 0 {
			if last {
				return len(b)
			}
			return len(b) - heldBack(seg)
		}
		i += q + 1
		f.inString, f.escaped, f.strLen = true, false, 0
	}
	return len(b)
}

// skipString returns how many bytes of b belong to the string that b continues,
// its closing quote included. A raw newline ends it too: JSON has none inside a
// string, so the quote that should have closed it is missing, and what follows
// must not be taken for text.
func (f *filter) skipString(b []byte) int {
	i := 0
	if f.escaped && b[0] != '\n' {
		i = 1
	}
	f.escaped = false
	for {
		i = plainText(b, i)
		switch {
		case i == len(b):
			return i
		case b[i] != '\\':
			f.inString = false
			return i + 1
		case i+1 == len(b):
			f.escaped = true
			return i + 1
		case b[i+1] == '\n':
			i++
		default:
			i += 2
		}
	}
}

// plainText returns the index of the first quote, backslash or newline in b[i:],
// len(b) where there is none. It looks at eight bytes at a time: of the bytes
// that equal c, w XOR c has zeros, and a zero's top bit is set after 1 was
// subtracted from each byte. Borrows can only set bits above the first one.
func plainText(b []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		q, s, n := w^'"'*ones, w^'\\'*ones, w^'\n'*ones
		if hit := ((q-ones)&^q | (s-ones)&^s | (n-ones)&^n) & tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] != '\n' {
		i++
	}
	return i
}

// rewrite replaces the literals in bytes that are outside strings. Both start
// letters occur nowhere else in JSON, so a search for them costs a memory scan.
func rewrite(b []byte) {
	replaceAll(b, literals[2].from, literals[2].to)
	for i := 0; ; {
		j := bytes.Index(b[i:], literals[1].from)
		if j < 0 {
			return
		}
		at := i + j
		lit := literals[1]
		if at > 0 && b[at-1] == '-' {
			at--
			lit = literals[0]
		}
		i = at + copy(b[at:], lit.to)
	}
}

func replaceAll(b, from, to []byte) {
	for i := 0; ; {
		j := bytes.Index(b[i:], from)
		if j < 0 {
			return
		}
		i += j + copy(b[i+j:], to)
	}
}

// heldBack returns the length of the longest end of b that a literal may start
// with.
func heldBack(b []byte) int {
	for n := min(len(b), len("-Infinity")-1); n > 0; n-- {
		tail := b[len(b)-n:]
		for _, l := range literals {
			if n < len(l.from) && bytes.HasPrefix(l.from, tail) {
				return n
			}
		}
	}
	return 0
}

package jsonscan

import (
	"github.com/go-json-experiment/json/jsontext"
)

// A token of its own for each of six million numbers costs several times what
// parsing them does. Numbers therefore reads past the decoder, straight from the
// filter's window. Whatever is not a plain number in an array goes back to the
// decoder, which alone knows all of JSON and words the errors: it is started
// again behind a prefix of a few bytes that brings it to the same place.

// Bounds on that prefix; values deeper or with longer names are read by the
// decoder alone.
const (
	maxPrefix = 1 << 10
	maxDepth  = 8
)

// bulk is where reading stands past the decoder.
type bulk struct {
	on     bool             // the filter's position counts, the decoder's is old
	at     jsontext.Pointer // of the value the decoder read last
	counts []int64          // elements of the decoder's innermost value, then of the arrays opened since
	index  []int64          // by depth: elements of that array that the decoder has not seen
	block  [512]float64
}

// past is the number of elements at a depth that the decoder has not seen.
func (s *bulk) past(depth int) int64 {
	if depth < len(s.index) {
		return s.index[depth]
	}
	return 0
}

// forget drops what was noted of values below a depth: they are closed.
func (s *bulk) forget(depth int) {
	if len(s.index) > depth+1 {
		s.index = s.index[:depth+1]
	}
}

// A feed is what the decoder reads: a prefix, then the filter's output.
type feed struct {
	prefix []byte
	f      *filter
	large  bool // the decoder's buffer has grown beyond what is worth keeping
}

func (d *feed) Read(b []byte) (int, error) {
	d.large = d.large || len(b) > 16<<10
	if len(d.prefix) == 0 {
		return d.f.Read(b)
	}
	n := copy(b, d.prefix)
	d.prefix = d.prefix[n:]
	return n, nil
}

// Numbers reads an array as Array does, but for plain numbers at its start,
// which it hands to run in blocks: run must not keep vs. Plain is a finite
// number without a sign. The first element that is anything else, and those
// after it, go to element one by one, with their index. Where the next value is
// no array it is skipped and ok is false.
func (r *Reader) Numbers(run func(vs []float64) error, element func(i int) error) (ok bool, err error) {
	if r.Peek() != '[' {
		return false, r.Skip()
	}
	if !r.leave() {
		return r.Array(element)
	}
	c, ahead := r.next()
	if c != '[' {
		return r.Array(element)
	}
	r.f.pos += ahead + 1
	s := &r.bulk
	s.counts[len(s.counts)-1]++
	s.counts = append(s.counts, 0)
	for {
		n, end := r.numbers(s.block[:])
		if n > 0 {
			if err := run(s.block[:n]); err != nil {
				return true, err
			}
		}
		switch {
		case end == closed:
			s.counts = s.counts[:len(s.counts)-1]
			return true, nil
		case end == other:
			return true, r.rest(element)
		}
	}
}

// rest reads what is left of an array one by one.
func (r *Reader) rest(element func(i int) error) error {
	first := int(r.bulk.counts[len(r.bulk.counts)-1])
	r.decoder() // has the array open from here on
	for i := first; r.Peek() != ']'; i++ {
		if err := element(i); err != nil {
			return err
		}
	}
	return r.end()
}

// Why a run of numbers ends.
type runEnd int

const (
	full   runEnd = iota // there may be more
	closed               // the array's closing bracket was read
	other                // something else than a plain number follows
)

// numbers reads plain numbers of the innermost array into dst. A comma is read
// with the number that follows it, so that in front of anything else nothing is
// lost for the decoder.
func (r *Reader) numbers(dst []float64) (n int, end runEnd) {
	count := &r.bulk.counts[len(r.bulk.counts)-1]
	first := *count == 0
	for end = full; end == full && n < len(dst); {
		b := r.f.buf[r.f.pos:r.f.ready]
		i := 0 // read so far
		short := false
		for n < len(dst) {
			j := skipSpace(b, i)
			if j < len(b) && b[j] == ']' {
				i, end = j+1, closed
				break
			}
			if !first {
				if j < len(b) && b[j] != ',' {
					end = other
					break
				}
				j = skipSpace(b, j+1)
			}
			if j >= len(b) {
				short = true
				break
			}
			v, k, cut := scanNumber(b[j:])
			if k == 0 {
				short, end = cut, other
				break
			}
			dst[n] = v
			n++
			first = false
			i = j + k
		}
		r.f.pos += i
		if short {
			end = other
			if r.f.ready-r.f.pos < maxPrefix && r.f.more() {
				end = full
			}
		}
	}
	*count += int64(n)
	return n, end
}

// skipSpace returns where the white space at b[i:] ends.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// leave goes on past the decoder, where that pays and the value that follows is
// an element of an array or a member of an object.
func (r *Reader) leave() bool {
	s := &r.bulk
	if s.on {
		return true
	}
	depth := r.dec.StackDepth()
	if depth == 0 || depth > maxDepth {
		return false
	}
	kind, n := r.dec.StackIndex(depth)
	if s.at = r.dec.StackPointer(); len(s.at) > maxPrefix {
		return false
	}
	if kind == '{' {
		n = 0 // a name was read and its value was not
	}
	s.on = true
	s.counts = append(s.counts[:0], n+s.past(depth))
	r.f.unread(r.dec.UnreadBuffer())
	return true
}

// next finds the first byte of what follows past the decoder, and how far ahead
// it is; 0 where only the decoder can tell.
func (r *Reader) next() (c byte, ahead int) {
	s := &r.bulk
	between := byte(0)
	switch opened := len(s.counts) > 1; {
	case opened && s.counts[len(s.counts)-1] > 0:
		between = ','
	case opened:
	default:
		kind, _ := r.dec.StackIndex(r.dec.StackDepth())
		switch {
		case kind == '{' && s.counts[0] > 0:
			return 0, 0 // a name, or the end
		case kind == '{':
			between = ':'
		case s.counts[0] > 0:
			between = ','
		}
	}
	for {
		b := r.f.buf[r.f.pos:r.f.ready]
		i := skipSpace(b, 0)
		if i < len(b) && between != 0 {
			if b[i] == ']' && between == ',' {
				return ']', i
			}
			if b[i] != between {
				return 0, 0
			}
			i = skipSpace(b, i+1)
			if i < len(b) && b[i] == ']' {
				return 0, 0
			}
		}
		if i < len(b) {
			if kindOf(b[i]) == 0 {
				return 0, 0
			}
			return b[i], i
		}
		if len(b) > maxPrefix || !r.f.more() {
			return 0, 0
		}
	}
}

// kindOf is the kind of a value, or of an array's end, by its first byte.
func kindOf(c byte) Kind {
	switch c {
	case 'n', 't', 'f', '"', '{', '[', ']':
		return Kind(c)
	}
	if c == '-' || '0' <= c && c <= '9' {
		return '0'
	}
	return 0
}

// decoder returns the decoder, brought to where reading stands.
func (r *Reader) decoder() *jsontext.Decoder {
	if r.bulk.on {
		r.bulk.on = false
		r.restart()
	}
	return r.dec
}

// restart starts the decoder again behind a prefix that opens what is open. An
// array of which elements were read has one there, since a comma follows; the
// others are in index.
func (r *Reader) restart() {
	s := &r.bulk
	var names []string
	for t := range s.at.Tokens() {
		names = append(names, t)
	}
	var p []byte
	index := []int64{0}
	depth := r.dec.StackDepth()
	for d := 1; d < depth+len(s.counts); d++ {
		kind, count := Kind('['), int64(0)
		if d <= depth {
			kind, count = r.dec.StackIndex(d)
			count += s.past(d)
		}
		if d >= depth {
			count = s.counts[d-depth]
		}
		last := d == depth+len(s.counts)-1
		p = append(p, byte(kind))
		past := max(count-1, 0)
		if kind == '{' {
			past = 0
			p, _ = jsontext.AppendQuote(p, names[d-1])
			if !last || count > 0 {
				p = append(p, ':')
			}
		}
		if last && count > 0 {
			p = append(p, '"', '"')
		}
		index = append(index, past)
	}
	s.index = index
	r.base = r.f.offset() - int64(len(p))
	r.feed.prefix = p
	if r.feed.large {
		r.feed.large = false
		r.dec = newDecoder(&r.feed)
	} else {
		r.dec.Reset(&r.feed, r.dec.Options())
	}
	for r.dec.InputOffset() < int64(len(p)) {
		if _, err := r.dec.ReadToken(); err != nil {
			return // the decoder gives the same error again
		}
	}
}

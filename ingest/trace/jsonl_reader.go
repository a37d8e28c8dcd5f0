package trace

import (
	"bytes"
	"errors"
	"io"
)

// A jsonReader cuts a stream into objects: one a line, or the elements of an
// array, or objects after each other however they are laid out.
type jsonReader struct {
	r    *cutReader
	buf  []byte
	pos  int
	end  int
	eof  bool
	err  error
	read int64 // bytes taken from r
	line int   // of pos, 1-based

	lines   bool // one object a line: a newline ends even a damaged one
	array   bool
	closed  bool // the array ended, or that it did not is told
	started bool
	at      int    // line of this record
	damage  string // why this record is none
	resumes int
	scan    jsonScan
}

// maxResumes bounds how often reading goes on behind damage where records are
// not lines: each time may look at a whole buffer.
const maxResumes = 1000

func newJSONReader(r io.Reader) *jsonReader {
	return &jsonReader{r: &cutReader{r: r}, line: 1, buf: make([]byte, textBuffer)}
}

// next calls record with the scan at the next object's brace. record must read
// the object; it is called again with the same object where that goes on behind
// the buffer, and then begins anew. next returns false at the end; damage is not
// "" where the object was none.
func (j *jsonReader) next(record func(s *jsonScan) error) (more bool, err error) {
	for j.err == nil {
		j.damage = ""
		switch err := j.one(record); {
		case err == nil:
			return true, nil
		case err == io.EOF:
			j.err = j.r.err
			return false, nil
		case errors.Is(err, errShortJSON):
			if j.eof && j.r.err != nil {
				j.err = j.r.err
				return false, nil
			}
			if j.eof {
				return true, j.lost(endsEarly)
			}
			if j.end-j.pos >= maxRecord {
				return true, j.lost("a record of more than 16 MiB")
			}
			if !j.fill() {
				return false, nil
			}
		default:
			var d damageError
			if !errors.As(err, &d) {
				return false, err
			}
			return true, j.lost(string(d))
		}
	}
	return false, nil
}

// What a file that was cut ends with.
const (
	endsEarly = "the file ends in the middle of the record"
	endsOpen  = "the file ends before the array of records does: there may have been more"
)

// fill reads on behind what is in the buffer.
func (j *jsonReader) fill() bool {
	kept := j.end - j.pos
	j.buf, j.pos, j.end, j.eof, j.err = refill(j.r, j.buf, j.pos, j.end)
	j.read += int64(j.end - kept)
	return j.err == nil
}

// space goes to the next byte between records that means something.
func (j *jsonReader) space() {
	for j.pos < j.end {
		switch c := j.buf[j.pos]; {
		case c == '\n':
			j.line++
		case c == ' ' || c == '\t' || c == '\r' || c == ',':
		case j.array && c == ']':
			j.closed = true
		default:
			return
		}
		j.pos++
	}
}

// one reads the next object, errShortJSON where the buffer ends first.
func (j *jsonReader) one(record func(s *jsonScan) error) error {
	if !j.started {
		if !j.start() {
			return errShortJSON
		}
		if j.pos == j.end {
			return io.EOF
		}
	}
	j.space()
	j.at = j.line
	if j.pos == j.end {
		switch {
		case !j.eof:
			return errShortJSON
		case j.array && !j.closed && j.r.err == nil:
			j.closed = true
			return damageError(endsOpen)
		}
		return io.EOF
	}
	s := &j.scan
	s.oneLine = j.lines
	s.b, s.i = j.buf[:j.end], j.pos
	if j.lines {
		n := bytes.IndexByte(j.buf[j.pos:j.end], '\n')
		if n < 0 && !j.eof {
			return errShortJSON
		}
		if n >= 0 {
			s.b = j.buf[:j.pos+n+1]
		}
	}
	if s.b[s.i] != '{' {
		return damageError("no JSON object")
	}
	if err := record(s); err != nil {
		if j.lines && j.eof && s.b[len(s.b)-1] != '\n' {
			err = errShortJSON // whatever it looks like: the file was cut here
		}
		return err
	}
	if !j.lines {
		j.line += bytes.Count(s.b[j.pos:s.i], []byte{'\n'})
	}
	j.pos = s.i
	return nil
}

// start looks at the first bytes: a byte order mark, an array, and whether the
// first object ends with its line.
func (j *jsonReader) start() bool {
	if !j.eof && j.end < 3 {
		return false
	}
	at := j.pos
	if bytes.HasPrefix(j.buf[j.pos:j.end], []byte("\xef\xbb\xbf")) {
		at += 3
	}
	for at < j.end && (j.buf[at] == ' ' || j.buf[at] == '\t' || j.buf[at] == '\n' || j.buf[at] == '\r') {
		at++
	}
	if at == j.end {
		if j.eof {
			j.pos = j.end
		}
		return j.eof
	}
	if j.buf[at] == '[' {
		j.array = true
		at++
	} else {
		n := bytes.IndexByte(j.buf[at:j.end], '\n')
		if n < 0 && !j.eof && j.end-j.pos < maxRecord || n >= 0 && at+n+1 == j.end && !j.eof {
			return false
		}
		if n < 0 {
			n = j.end - at
		}
		s := jsonScan{b: j.buf[:at+n], i: at, oneLine: true}
		// The first line may be damaged, and the next one begin anew.
		j.lines = s.skip() == nil && len(bytes.TrimLeft(s.b[s.i:], " \t\r,")) == 0 ||
			at+n+1 < j.end && j.buf[at+n+1] == '{'
	}
	j.line += bytes.Count(j.buf[j.pos:at], []byte{'\n'})
	j.pos = at
	j.started = true
	return true
}

// lost marks the record as damaged and goes to where the next one may start: the
// next line, or the next one that begins with a brace where records have several
// lines. In an array that is not laid out so, what follows is lost, too.
func (j *jsonReader) lost(why string) error {
	j.damage = why
	sep := []byte("\n")
	if !j.lines {
		sep = []byte("\n{")
		if j.resumes++; j.resumes > maxResumes {
			sep = nil
		}
	}
	first := j.read
	for from := j.pos; sep != nil; {
		if n := bytes.Index(j.buf[from:j.end], sep); n >= 0 {
			n += from + 1
			j.line += bytes.Count(j.buf[j.pos:n], []byte{'\n'})
			j.pos = n
			return nil
		}
		// Nothing of this is needed any more but a newline at its end.
		keep := j.end
		if keep > j.pos && j.buf[keep-1] == '\n' {
			keep--
		}
		j.line += bytes.Count(j.buf[j.pos:keep], []byte{'\n'})
		j.pos, from = keep, keep
		if j.eof || !j.fill() {
			break
		}
		if j.read-first > maxLine {
			j.err = errEndless
			break
		}
		from = j.pos
	}
	j.pos, j.end, j.eof = 0, 0, true
	j.closed = true // an array that does not end is told by this
	if !j.lines && why != endsEarly && why != endsOpen {
		j.damage += "; those after it are left out, too"
	}
	return nil
}

package jsonscan

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/vreport/vreport/ingest/serving"
)

// Kind is the kind of a JSON value by its first byte: one of n t f " 0 { } [ ]
// with 0 for every number, or the zero value where there is none.
type Kind = jsontext.Kind

// A Reader reads one input as a stream of JSON values. It accepts what programs
// write beyond the standard: a byte order mark, NaN and Infinity, invalid UTF-8,
// repeated names, several values after each other.
//
// Its errors are *jsontext.SyntacticError or those of the input; Describe turns
// either into a serving.FormatError with file, line and field.
type Reader struct {
	path  string
	f     *filter
	dec   *jsontext.Decoder
	base  int64 // offset of the decoder's first byte in the filtered input
	feed  feed  // what the decoder reads
	bulk  bulk  // what is read past the decoder
	names map[string]string
}

// NewReader returns a reader of r; path is how positions call it.
func NewReader(path string, r io.Reader) *Reader {
	f := newFilter(r)
	rd := &Reader{path: path, f: f, feed: feed{f: f}, names: map[string]string{}}
	rd.dec = newDecoder(&rd.feed)
	return rd
}

func newDecoder(r io.Reader) *jsontext.Decoder {
	return jsontext.NewDecoder(r, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// Peek returns the kind of the next token without reading it; 0 at the end and
// where the next read gives an error.
func (r *Reader) Peek() Kind {
	if r.bulk.on {
		if c, _ := r.next(); c != 0 {
			return kindOf(c)
		}
	}
	return r.decoder().PeekKind()
}

// Skip passes over the next value without loading it.
func (r *Reader) Skip() error { return r.decoder().SkipValue() }

// Object reads an object and calls member for each name. member must read or
// skip the value, and nothing else. Where the next value is no object it is
// skipped and ok is false.
func (r *Reader) Object(member func(name string) error) (ok bool, err error) {
	if r.Peek() != '{' {
		return false, r.Skip()
	}
	if _, err := r.decoder().ReadToken(); err != nil {
		return false, err
	}
	for r.Peek() != '}' {
		name, err := r.name()
		if err != nil {
			return true, err
		}
		if err := member(name); err != nil {
			return true, err
		}
	}
	return true, r.end()
}

// end reads the bracket or brace that closes a value.
func (r *Reader) end() error {
	_, err := r.decoder().ReadToken()
	r.bulk.forget(r.dec.StackDepth())
	return err
}

// Array reads an array and calls element before each element, which it must
// read or skip. Where the next value is no array it is skipped and ok is false.
func (r *Reader) Array(element func(i int) error) (ok bool, err error) {
	if r.Peek() != '[' {
		return false, r.Skip()
	}
	if _, err := r.decoder().ReadToken(); err != nil {
		return false, err
	}
	for i := 0; r.Peek() != ']'; i++ {
		if err := element(i); err != nil {
			return true, err
		}
	}
	return true, r.end()
}

// maxNames bounds the names that are kept for reuse.
const maxNames = 4096

// name reads an object's name. Records repeat the same few names a million
// times, so each is allocated once.
func (r *Reader) name() (string, error) {
	if r.Peek() != '"' {
		// A token gives the error at once, where a value would be read whole.
		_, err := r.dec.ReadToken()
		return "", cmp.Or(err, io.ErrUnexpectedEOF)
	}
	v, err := r.dec.ReadValue()
	if err != nil {
		return "", err
	}
	if s, ok := r.names[string(v)]; ok {
		return s, nil
	}
	b, _ := jsontext.AppendUnquote(nil, v) // its error is invalid UTF-8, which is replaced
	s := string(b)
	if len(r.names) < maxNames && len(v) < 256 {
		r.names[string(v)] = s
	}
	return s, nil
}

// Float reads the next value as a number. Numbers in strings ("12.5", "inf",
// "nan") and the literals NaN and Infinity count; every other value is skipped
// and ok is false. A number too large for a float64 is an infinity.
func (r *Reader) Float() (v float64, ok bool, err error) {
	switch r.decoder().PeekKind() {
	case '0':
		t, err := r.dec.ReadToken()
		if err != nil {
			return 0, false, err
		}
		v, _ := t.Float() // out of range gives the nearest: ±MaxFloat64 or an infinity
		return v, true, nil
	case '"':
		t, err := r.dec.ReadToken()
		if err != nil {
			return 0, false, err
		}
		v, ok := parseFloat(t.String())
		return v, ok, nil
	}
	return 0, false, r.Skip()
}

// parseFloat reads a number out of a string: a rewritten literal, or text as
// Python's str and float() know it.
func parseFloat(s string) (float64, bool) {
	if l := literal(s); l != "" {
		s = l
	}
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 64 || strings.ContainsAny(s, "_xX") {
		return 0, false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false
	}
	return v, true
}

// literal returns the literal a string was rewritten from, "" where it was a
// string all along.
func literal(s string) string {
	if s == "" || s[0] != mark {
		return ""
	}
	for _, l := range literals {
		if s == string(l.to[1:len(l.to)-1]) {
			return string(l.from)
		}
	}
	return ""
}

// Text reads the next value as a string of at most max bytes: a longer one is
// cut, at a whole character, and ends in "…". Every other value is skipped and
// ok is false.
func (r *Reader) Text(max int) (s string, ok bool, err error) {
	if r.decoder().PeekKind() != '"' {
		return "", false, r.Skip()
	}
	t, err := r.dec.ReadToken()
	if err != nil {
		return "", false, err
	}
	s = t.String()
	if l := literal(s); l != "" {
		return l, false, nil
	}
	return Cut(s, max), true, nil
}

// Cut shortens s to at most max bytes, at a whole character, "…" included.
func Cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	const dots = "…"
	n := max - len(dots)
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return strings.Clone(s[:n] + dots)
}

// A Scalar is a value that is neither object nor array.
type Scalar struct {
	Kind Kind   // n t f " or 0; a NaN or Infinity literal is a number
	Text string // as in the file, strings unquoted
}

// Float returns the scalar as a number; numbers in strings count.
func (s Scalar) Float() (float64, bool) {
	if s.Kind != '0' && s.Kind != '"' {
		return 0, false
	}
	return parseFloat(s.Text)
}

// IsNull reports whether the scalar is null.
func (s Scalar) IsNull() bool { return s.Kind == 'n' }

// Scalar reads the next value as it is; a string longer than max bytes is cut.
// An object or array is skipped and ok is false.
func (r *Reader) Scalar(max int) (s Scalar, ok bool, err error) {
	k := r.decoder().PeekKind()
	switch k {
	case '"', '0', 'n', 't', 'f':
	default:
		return Scalar{}, false, r.Skip()
	}
	t, err := r.dec.ReadToken()
	if err != nil {
		return Scalar{}, false, err
	}
	text := t.String()
	if l := literal(text); k == '"' && l != "" {
		return Scalar{'0', l}, true, nil
	}
	return Scalar{k, Cut(text, max)}, true, nil
}

// Offset is the offset in the input, after decompression, of the end of what
// was read last.
func (r *Reader) Offset() int64 {
	if r.bulk.on {
		return r.f.bom + r.f.offset()
	}
	return r.f.bom + r.base + r.dec.InputOffset()
}

// Line is the 1-based line on which what was read last ends.
func (r *Reader) Line() int { return r.lineAt(0) }

// NextLine is the 1-based line on which the next value starts.
func (r *Reader) NextLine() int {
	r.decoder().PeekKind() // fills the buffer up to the next token
	const space = " \t\r\n"
	rest := r.dec.UnreadBuffer()
	next := bytes.TrimLeft(rest, space)
	if len(next) > 0 && (next[0] == ',' || next[0] == ':') { // a second one is no separator
		next = bytes.TrimLeft(next[1:], space)
	}
	return r.lineAt(len(rest) - len(next))
}

// lineAt returns the line of a byte of the unread buffer. The filter knows how
// many newlines it has handed out; those still unread are ahead.
func (r *Reader) lineAt(ahead int) int {
	rest := r.decoder().UnreadBuffer()
	ahead = min(ahead, len(rest))
	return 1 + int(r.f.newlines()) - bytes.Count(rest[ahead:], newline)
}

// Pos is the position of what was read last.
func (r *Reader) Pos() serving.Pos {
	return serving.Pos{Path: r.path, Line: r.Line(), Field: r.field(r.decoder().StackPointer())}
}

// maxField bounds a path in a message: nesting may be ten thousand deep.
const maxField = 160

// field writes a JSON pointer as people write paths: requests[11].ttft_ms.
func (r *Reader) field(p jsontext.Pointer) string {
	if len(p) > 4*maxField {
		p = p[:4*maxField]
	}
	var b strings.Builder
	depth := 0
	for t := range p.Tokens() {
		depth++
		if i, err := strconv.ParseInt(t, 10, 64); err == nil && i >= 0 {
			if past := r.bulk.past(depth); past > 0 {
				t = strconv.FormatInt(i+past, 10)
			}
			b.WriteString("[" + t + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(t)
	}
	return Cut(b.String(), maxField)
}

// Describe turns an error of this reader into a FormatError with file, line and
// field. Errors that are none of the reader's pass through.
func (r *Reader) Describe(err error, format string) error {
	var syn *jsontext.SyntacticError
	var fe *serving.FormatError
	var long tooLong
	switch {
	case err == nil || errors.As(err, &fe):
		return err
	case errors.As(r.f.err, &long):
		return &serving.FormatError{At: r.at(nil), Format: format, Found: long.Error(), Want: "a shorter one",
			Remedy: "no tool writes a value of that length: cut it out"}
	case r.f.err != nil && r.f.err != io.EOF && !errors.As(err, &syn):
		return &serving.FormatError{At: r.at(nil), Format: format, Found: "reading fails: " + r.f.err.Error(),
			Want: "a whole file", Remedy: "copy or unpack the file again"}
	case errors.As(err, &syn):
		return &serving.FormatError{At: r.at(syn), Format: format, Found: found(syn), Want: "JSON",
			Remedy: remedy(syn)}
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return &serving.FormatError{At: r.at(nil), Format: format, Found: "the file ends here", Want: "a JSON value",
			Remedy: "the writer may still have been running, or the disk was full"}
	}
	return err
}

// at is the position of a syntax error, or of the end of what was read.
func (r *Reader) at(syn *jsontext.SyntacticError) serving.Pos {
	if syn == nil {
		return r.Pos()
	}
	ahead := int(max(syn.ByteOffset-r.decoder().InputOffset(), 0))
	return serving.Pos{Path: r.path, Line: r.lineAt(ahead), Field: r.field(syn.JSONPointer)}
}

// found says in a few words what is wrong.
func found(syn *jsontext.SyntacticError) string {
	if errors.Is(syn.Err, io.ErrUnexpectedEOF) {
		return "the file ends in the middle of a value"
	}
	if syn.Err != nil {
		return wholeCharacter(strings.TrimPrefix(syn.Err.Error(), "jsontext: "))
	}
	return "not JSON"
}

// escapeOf is what of an escape sequence is there whatever follows it.
var escapeOf = regexp.MustCompile(`^\\(u[0-9a-fA-F]{0,4}|[[:ascii:]])?`)

// wholeCharacter names no character beyond ASCII: the decoder shows its first
// byte or all of it, depending on where a read of the input ended. So it does
// with what follows a backslash.
func wholeCharacter(message string) string {
	const escape = "invalid escape sequence "
	if before, rest, ok := strings.Cut(message, escape); ok {
		shown := rest
		if quoted, err := strconv.QuotedPrefix(rest); err == nil { // in either kind of quotes
			shown, _ = strconv.Unquote(quoted)
		}
		shown = escapeOf.FindString(shown)
		return before + escape + shown + " in a string"
	}
	const at = "invalid character '"
	before, rest, ok := strings.Cut(message, at)
	if !ok {
		return message
	}
	c, _, tail, err := strconv.UnquoteChar(rest, '\'')
	if err != nil || c < 0x80 {
		return message
	}
	return before + "a character that is not ASCII" + strings.TrimPrefix(tail, "'")
}

func remedy(syn *jsontext.SyntacticError) string {
	if errors.Is(syn.Err, io.ErrUnexpectedEOF) {
		return "the writer may still have been running, or was stopped; write the file again"
	}
	return ""
}

// Problemf returns a problem at what was read last.
func (r *Reader) Problemf(format string, a ...any) serving.Problem {
	return serving.Problem{At: r.Pos(), Message: fmt.Sprintf(format, a...)}
}

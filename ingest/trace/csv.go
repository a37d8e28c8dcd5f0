package trace

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// FormatCSV is the contract's name for a request trace as CSV.
const FormatCSV = "trace-csv"

// sampleBytes bounds how much of a file is read to learn its columns.
const (
	sampleLines = 4096
	sampleBytes = 16 << 20
	sampleSpan  = 64 << 20 // damaged lines included

	maxPreludeLine = 1024 // bytes of a title above a table
)

// SniffCSV reports whether the start of a file is that of a CSV table of
// requests, and why not. whole says that head is the whole file; open gives a
// stream of it, which is read where the first rows are longer than head.
func SniffCSV(head []byte, whole bool, open func() (io.ReadCloser, error), opt Options) (ok bool, why string) {
	// A stray NUL is one damaged cell; many, or one among the names, are another
	// kind of file.
	names, _, _ := bytes.Cut(head, []byte("\n"))
	if bytes.IndexByte(names, 0) >= 0 || 100*bytes.Count(head, []byte{0}) > len(head) {
		return false, "binary data or UTF-16, no text"
	}
	if !whole && !hasRows(head) {
		var err error
		if head, whole, err = startOf(open); err != nil {
			return false, err.Error()
		}
	}
	if !whole {
		head = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	c, why := findCSV(head)
	if c == nil {
		return false, why
	}
	l, err := c.learn(context.Background(), bytes.NewReader(head))
	if err != nil {
		return false, err.Error()
	}
	return judge(l, opt)
}

// OpenCSV opens a request trace in a CSV file. Errors are as those of Open.
func OpenCSV(ctx context.Context, f TextFile, opt Options) (*Text, error) {
	head, _, err := startOf(f.Open)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	c, why := findCSV(head)
	if c == nil {
		return nil, &serving.FormatError{At: serving.Pos{Path: f.Path}, Format: FormatCSV, Found: why, Want: "a line of column names and one line a request"}
	}
	return openText(ctx, f, FormatCSV, c, opt)
}

// A csvTable is the shape of a CSV file.
type csvTable struct {
	delim  byte
	skip   int      // lines before the header
	above  bool     // some of them are no comments
	names  []string // of the columns; those that no row can have are ""
	index  bool     // rows have one field more than the header: a row name in front
	header []byte   // the line of names, to know it when it comes again
	notes  []string
}

// delimiters that fields are separated by.
var delimiters = []byte{',', '\t', ';', '|'}

// findCSV finds delimiter and header: the delimiter under which most lines have
// as many fields as the first. Where the first line is no header, one behind a
// title is looked for; why is about the first line even so.
func findCSV(head []byte) (*csvTable, string) {
	best, why := findBelow(head, 0)
	for n := 1; best == nil && n <= column.MaxPrelude && n <= bytes.Count(head, []byte{'\n'}); n++ {
		best, _ = findBelow(head, n)
	}
	return best, why
}

// findBelow is findCSV for a header behind so many lines of something else.
func findBelow(head []byte, above int) (*csvTable, string) {
	var best *csvTable
	most := 0
	why := "no line of column names"
	for _, d := range delimiters {
		c := &csvTable{delim: d}
		w := c.readHeader(head, above)
		if w == "" {
			w = c.fits(head)
		}
		if w != "" {
			if len(c.names) > 1 {
				why = w
			}
			continue
		}
		if len(c.names) > most {
			best, most = c, len(c.names)
		}
	}
	if best == nil {
		return nil, why
	}
	return best, ""
}

// readHeader reads the line of names behind comments and a hint for spreadsheets,
// and behind lines of something else.
func (c *csvTable) readHeader(head []byte, above int) (why string) {
	rest := bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	var prelude []string
	for range above {
		line, after, _ := bytes.Cut(rest, []byte{'\n'})
		if len(line) > maxPreludeLine {
			return "no line of column names"
		}
		prelude = append(prelude, string(line))
		c.skip++
		rest = after
	}
	for {
		line, after, ok := bytes.Cut(rest, []byte{'\n'})
		line = bytes.TrimRight(line, "\r")
		t := strip(line)
		if len(t) > 0 && t[0] != '#' && !bytes.HasPrefix(t, []byte("sep=")) {
			break
		}
		if !ok {
			return "no line of column names"
		}
		c.skip++
		rest = after
	}
	if t := strip(rest); bytes.HasPrefix(t, []byte("//")) || bytes.HasPrefix(t, []byte("--")) {
		return "the first line is a comment"
	}
	r := newCSVReader(bytes.NewReader(rest), c.delim)
	if !r.next() || r.damage != "" || r.spans > 0 || r.count < 2 || r.count > maxColumns {
		return "the first line is no line of column names"
	}
	c.header = slices.Clone(bytes.TrimRight(r.buf[r.start:r.pos], "\r\n"))
	seen := map[string]bool{}
	empty := 0
	for i, f := range r.fields {
		name := string(strip(r.text(f)))
		if _, num := parseFloat([]byte(name)); num {
			return "the first line holds numbers, no column names"
		}
		if len(name) > 128 || strings.ContainsAny(name, "{}\n") {
			return "the first line is no line of column names"
		}
		if name == "" {
			empty++
			if i > 0 && i < len(r.fields)-1 {
				return "the first line has columns without a name"
			}
		} else if seen[name] {
			c.notes = append(c.notes, fmt.Sprintf("two columns are called %s: the first is used", jsonscan.Cut(name, 40)))
			name = ""
		}
		seen[name] = true
		c.names = append(c.names, name)
	}
	if len(c.names)-empty < 2 {
		return "the first line is no line of column names"
	}
	return c.passOver(prelude)
}

// passOver says why lines cannot stand above the table, "" where they can.
func (c *csvTable) passOver(prelude []string) (why string) {
	for _, line := range prelude {
		if !column.IsPrelude(line, strings.Split(line, string(c.delim)), len(c.names)) {
			return "the first line is no line of column names"
		}
	}
	c.above = len(prelude) > 0
	if note := column.PreludeNote(prelude); note != "" {
		c.notes = append(c.notes, note)
	}
	return ""
}

// fits counts the fields of the lines behind the header.
func (c *csvTable) fits(head []byte) (why string) {
	r := c.open(bytes.NewReader(head))
	rows, same, more := 0, 0, 0
	for rows < 200 && r.next() {
		rows++
		switch {
		case r.damage != "":
		case c.isRow(r):
			same++
		case r.count == len(c.names)+1:
			more++
		}
	}
	if more > rows/2 { // R's write.table leaves the name of the row names out
		c.index = true
		same = more
	}
	if c.above && (rows == 0 || 10*same < 9*rows) {
		return "below lines of something else, rows have not as many fields as there are names"
	}
	if rows > 0 && 2*same < rows {
		return fmt.Sprintf("only %d of the first %d lines have as many fields as the first line", same, rows)
	}
	return ""
}

// open returns a reader that stands behind the header.
func (c *csvTable) open(r io.Reader) *csvReader {
	out := newCSVReader(r, c.delim)
	for range c.skip { // comments are no records: their quotes mean nothing
		for {
			if n := bytes.IndexByte(out.buf[out.pos:out.end], '\n'); n >= 0 {
				out.pos += n + 1
				out.line++
				break
			}
			out.pos = out.end
			if out.eof || !out.fill() {
				return out
			}
		}
		out.bom = true
	}
	out.next()
	return out
}

// width is the number of fields that a row has.
func (c *csvTable) width() int {
	if c.index {
		return len(c.names) + 1
	}
	return len(c.names)
}

// learn implements source.
func (c *csvTable) learn(ctx context.Context, in io.Reader) (learned, error) {
	l := learned{notes: c.notes}
	var at []*guess // by field, nil for one without a name
	if c.index {
		at = append(at, nil)
	}
	for _, n := range c.names {
		var g *guess
		if n != "" {
			g = newGuess(n, c.delim != ',')
			l.columns = append(l.columns, g)
		}
		at = append(at, g)
	}
	r := c.open(in)
	for r.next() {
		if r.read > sampleSpan || ctx.Err() != nil {
			return l, ctx.Err()
		}
		if r.damage != "" || !c.isRow(r) {
			continue
		}
		for i, g := range at {
			if g != nil {
				g.add(r.text(r.fields[i]))
			}
		}
		l.rows++
		if l.rows >= sampleLines || r.read > sampleBytes {
			return l, ctx.Err()
		}
	}
	l.whole = r.err == nil
	if r.err != nil && l.rows == 0 {
		return l, r.err
	}
	return l, ctx.Err()
}

// isRow reports whether a record has the fields of a row and is not the header
// once more. Delimiters at the end of a line are no fields.
func (c *csvTable) isRow(r *csvReader) bool {
	for r.count > c.width() && r.count <= len(r.fields) && r.fields[r.count-1].start == r.fields[r.count-1].end {
		r.count--
	}
	return r.count == c.width() && !c.isHeader(r)
}

func (c *csvTable) isHeader(r *csvReader) bool {
	h := c.header
	b := r.buf[r.start:r.pos]
	return len(b) >= len(h) && len(b) <= len(h)+2 && b[0] == h[0] && bytes.Equal(b[:len(h)], h)
}

// scan implements source.
func (c *csvTable) scan(ctx context.Context, in io.Reader, b *batch) error {
	type wanted struct {
		field int
		cell  *cell
	}
	var want []wanted
	k := 0
	for i, n := range c.names {
		if n == "" {
			continue
		}
		if cell := b.byRaw[k]; cell != nil {
			if c.index {
				i++
			}
			want = append(want, wanted{i, cell})
		}
		k++
	}
	r := c.open(in)
	for r.next() {
		if r.damage != "" || !c.isRow(r) {
			c.lost(r, b)
			continue
		}
		b.begin(r.at)
		for _, w := range want {
			b.set(w.cell, r.text(r.fields[w.field]))
		}
		if err := b.commit(); err != nil {
			return err
		}
	}
	b.line = r.line
	if r.err != nil {
		return b.brokenStream(r.err)
	}
	return nil
}

// lost reports a record that is no row.
func (c *csvTable) lost(r *csvReader, b *batch) {
	at := r.at
	switch {
	case r.damage != "":
		b.lost("csv "+r.damage, at, r.damage)
		return
	case c.isHeader(r):
		b.problem("header", serving.Problem{At: serving.Pos{Path: b.table.file.Path, Line: at}, Message: "the line of column names once more: skipped", Count: 1})
		b.tell()
		return
	}
	n := r.count
	if r.spans > 0 { // a quote was opened that should not have been
		r.back()
		b.lost("csv quote", at, "a quote that is not closed on this line")
		return
	}
	kind, noun := "few fields", "fields"
	if n > c.width() {
		kind = "many fields"
	}
	if n == 1 {
		noun = "field"
	}
	b.lost(kind, at, fmt.Sprintf("%d %s, want %d", n, noun, c.width()))
}

package own

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// islandTag opens the script element of a page that holds the report as JSON. The
// JSON itself has no "<": the writer escapes it.
const islandTag = `id="vreport-data">`

// generatorTag names the writer of a page, in its head.
const generatorTag = `<meta name="generator" content="vreport`

// SniffPage reports whether the start of a file is that of one of our pages.
func SniffPage(head []byte) bool {
	h := bytes.ToLower(bytes.TrimLeft(head[:min(len(head), 64)], "\xef\xbb\xbf \t\r\n"))
	return bytes.HasPrefix(h, []byte("<!doctype html")) && bytes.Contains(head, []byte(generatorTag))
}

var errNoIsland = errors.New("the page holds no report data")

// island returns the JSON of a page.
func island(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	for matched := 0; matched < len(islandTag); {
		c, err := b.ReadByte()
		switch {
		case err == io.EOF:
			return nil, errNoIsland
		case err != nil:
			return nil, err
		case c == islandTag[matched]:
			matched++
		case c == islandTag[0]:
			matched = 1
		default:
			matched = 0
		}
	}
	return &element{b}, nil
}

// An element reads up to the tag that ends it.
type element struct{ b *bufio.Reader }

func (e *element) Read(p []byte) (int, error) {
	peek, err := e.b.Peek(1)
	if err != nil {
		return 0, err
	}
	if peek[0] == '<' {
		return 0, io.EOF
	}
	peek, _ = e.b.Peek(max(1, min(e.b.Buffered(), len(p))))
	if i := bytes.IndexByte(peek, '<'); i >= 0 {
		peek = peek[:i]
	}
	n := copy(p, peek)
	_, err = e.b.Discard(n)
	return n, err
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unicode"

	"golang.org/x/term"
)

// say prints one line for people, prefixed so that it can be told from other
// programs' lines in a CI log.
func say(w io.Writer, format string, a ...any) {
	fmt.Fprintln(w, "vreport: "+printable(fmt.Sprintf(format, a...)))
}

// printable replaces what a terminal would obey. File names, labels and field
// values are other people's data, and all of them end up in messages.
func printable(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }

// isTerminal says whether a person looks at what is written to w.
func isTerminal(w io.Writer) bool {
	if p, ok := w.(*pipeWriter); ok {
		w = p.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A pipeWriter writes to w until its reader has gone away, and from then on to
// nowhere: `vreport inspect … | head` is not an error.
type pipeWriter struct {
	w    io.Writer
	gone bool
}

// Write implements io.Writer.
func (p *pipeWriter) Write(b []byte) (int, error) {
	if p.gone {
		return len(b), nil
	}
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		p.gone = true
		return len(b), nil
	}
	return n, err
}

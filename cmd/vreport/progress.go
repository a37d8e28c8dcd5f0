package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vreport/vreport/ingest"
)

// A meter shows on standard error how far reading and scanning have come. On a terminal it
// rewrites one line; elsewhere, when asked with --progress, it prints a line
// every few seconds, for CI logs.
type meter struct {
	w     io.Writer
	on    bool
	term  bool
	last  time.Time
	shown bool // there is a line to wipe
}

// Intervals between two updates. The first one waits as well: a run that is
// done in no time shows nothing.
const (
	termInterval = 150 * time.Millisecond
	logInterval  = 5 * time.Second
)

func newMeter(w io.Writer, want *bool) *meter {
	m := &meter{w: w, term: isTerminal(w), last: time.Now()}
	m.on = m.term
	if want != nil {
		m.on = *want
	}
	return m
}

// update tells of a file that was read.
func (m *meter) update(p ingest.Progress) {
	m.show(func() string { return progressLine(p) })
}

// scanned tells how far the scan of a table is. A large one is scanned more than
// once.
func (m *meter) scanned(table string, rows int64) {
	m.show(func() string { return fmt.Sprintf("scanned %s of %s", count(int(rows), "row"), table) })
}

func (m *meter) show(text func() string) {
	interval := logInterval
	if m.term {
		interval = termInterval
	}
	if !m.on || time.Since(m.last) < interval {
		return
	}
	m.last = time.Now()
	line := text()
	if m.term {
		fmt.Fprintf(m.w, "\r\x1b[K%s", printable(line))
		m.shown = true
		return
	}
	say(m.w, "%s", line)
}

// end wipes the line.
func (m *meter) end() {
	if m.shown {
		fmt.Fprint(m.w, "\r\x1b[K")
		m.shown = false
	}
}

func progressLine(p ingest.Progress) string {
	return fmt.Sprintf("read %d of %s, %s", p.Done, count(p.Total, "file"), p.Path)
}

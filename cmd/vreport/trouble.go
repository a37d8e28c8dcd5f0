package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Bounds of what is printed of problems; the report lists more.
const (
	maxLinesPerFile = 20
	maxTroubleFiles = 20
)

// trouble is what is wrong with the data: per file, in the order of the inputs.
type trouble struct {
	files   []fileTrouble
	records int
}

type fileTrouble struct {
	lines   []string
	records int
}

// collectTrouble gathers the problems of the inputs: those of reading and, once a
// report was made, those that the scan of the requests met.
func collectTrouble(data ...*serving.Dataset) *trouble {
	t := &trouble{}
	for _, ds := range data {
		for _, in := range ds.Inputs {
			t.add(in.Problems.List())
		}
	}
	return t
}

func (t *trouble) add(list []serving.Problem) {
	if len(list) == 0 {
		return
	}
	var f fileTrouble
	for _, p := range list {
		f.lines = append(f.lines, p.String())
		f.records += max(p.Count, 1)
	}
	t.files = append(t.files, f)
	t.records += f.records
}

// print writes a line a problem, bounded for each file and over all.
func (t *trouble) print(w io.Writer) {
	for _, f := range t.files[:min(len(t.files), maxTroubleFiles)] {
		for _, l := range f.lines[:min(len(f.lines), maxLinesPerFile)] {
			say(w, "%s", l)
		}
		if n := len(f.lines) - maxLinesPerFile; n > 0 {
			say(w, "… and %s of the same file; the report lists them", count(n, "more problem"))
		}
	}
	if n := len(t.files) - maxTroubleFiles; n > 0 {
		say(w, "… and problems in %s; the report lists them", count(n, "more file"))
	}
}

// err is what --strict makes of problems.
func (t *trouble) err() error {
	return fmt.Errorf("%s with problems in %s, and --strict was given; nothing was written", count(t.records, "record"), count(len(t.files), "file"))
}

// contents says in a few words what was read.
func contents(ds *serving.Dataset) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, count(n, what))
		}
	}
	add(len(ds.Runs), "run")
	add(len(ds.Traces), "trace")
	add(len(ds.Rollups), "rollup")
	add(len(ds.Servers), "server")
	if len(ds.Servers) == 0 {
		add(len(ds.Logs), "log")
	}
	s := strings.Join(parts, ", ") + " in " + count(len(ds.Inputs), "file")
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sizeText(n int64) string {
	switch {
	case n < 1e3:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

package aiperf

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// The tables that both tools print at the end of a run, which AIPerf keeps in
// profile_export_console.txt too. They are the CSV's figures, two decimals of
// them, in a frame:
//
//	NVIDIA AIPerf | LLM Metrics
//	┃                   Metric ┃    avg ┃    min ┃    max ┃ …
//	│ Time to First Token (ms) │  18.26 │  11.22 │ 106.32 │ …
//
// A long title goes on in the next row, which has no figures.

// Titles of the tables.
const (
	aiperfTitle = "NVIDIA AIPerf | "
	genaiTitle  = "NVIDIA GenAI-Perf | "
)

// SniffConsole says which tool printed tables that stand in a text, and if none,
// why.
func SniffConsole(head []byte) (tool Tool, why string) {
	for _, t := range []struct {
		tool  Tool
		title string
	}{{AIPerf, aiperfTitle}, {GenAIPerf, genaiTitle}} {
		if i := bytes.Index(head, []byte(t.title)); i >= 0 && bytes.Contains(head[i:], []byte("┃")) {
			return t.tool, ""
		}
	}
	return "", `no table called "NVIDIA AIPerf | …"`
}

// maxConsoleLine bounds a line of a terminal; what is longer is no table.
const maxConsoleLine = 64 << 10

// DecodeConsole reads the tables of one run. Other text around them is skipped.
// A text with the tables of several runs gives a run each.
func DecodeConsole(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &consoleDecoder{path: path, in: in}
	lines := bufio.NewReaderSize(r, maxConsoleLine)
	for n := 1; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line, more, err := lines.ReadLine()
		for long := more; long && err == nil; { // the rest of an endless line
			_, long, err = lines.ReadLine()
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		if !more {
			d.line(string(line), n)
		}
	}
	d.endRun()
	if len(d.runs) == 0 {
		return nil, noRun(d.err, path)
	}
	in.Records = int64(len(d.runs))
	return d.runs, nil
}

// noRun says why a text gave no run.
func noRun(err error, path string) error {
	if err != nil {
		return err
	}
	return &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatSummary, Found: "the title of a table without its rows",
		Want: "the whole printed table", Remedy: "give profile_export_aiperf.json of the same run"}
}

type consoleDecoder struct {
	path string
	in   *serving.Input
	runs []*serving.Run
	err  error // of the first run that could not be made

	csv   *csvDecoder // of the current run; nil before its first table
	from  int         // line of its first figures
	names map[string]bool
	row   []string // waiting for a title that goes on
	at    int
}

// line takes one line: of a table's head, of its body, or of anything else.
func (d *consoleDecoder) line(s string, n int) {
	s = strings.TrimSpace(strings.TrimPrefix(s, "\xef\xbb\xbf"))
	switch {
	case strings.HasPrefix(s, "┃"):
		d.endRow()
		d.header(cells(s, "┃"))
	case strings.HasPrefix(s, "│"):
		d.body(cells(s, "│"), n)
	default:
		d.endRow()
	}
}

// cells splits a row at its frame.
func cells(s, frame string) []string {
	out := strings.Split(strings.Trim(s, frame), frame)
	for i := range out {
		out[i] = strings.TrimSpace(out[i])
	}
	return out
}

// header begins a table. GenAI-Perf calls the first column Statistic. Tables of
// something else (telemetry, errors) have other columns.
func (d *consoleDecoder) header(row []string) {
	if len(row) < 2 || row[0] != "Metric" && row[0] != "Statistic" || row[1] != "avg" {
		if d.csv != nil {
			d.csv.header = nil
		}
		return
	}
	if d.csv == nil {
		d.begin()
	}
	row[0] = "Metric"
	d.csv.row(row, 0)
}

func (d *consoleDecoder) begin() {
	d.csv = &csvDecoder{path: d.path, in: d.in, s: newSummary(d.path, d.in)}
	d.names = map[string]bool{}
}

func (d *consoleDecoder) body(row []string, n int) {
	if d.csv == nil || len(d.csv.header) == 0 || len(row) != len(d.csv.header) {
		return
	}
	goesOn := d.row != nil
	for _, c := range row[1:] {
		goesOn = goesOn && c == ""
	}
	if goesOn {
		d.row[0] += " " + row[0]
		return
	}
	d.endRow()
	d.row, d.at = row, n
}

// endRow takes the row that is complete. A metric that was there already begins
// another run.
func (d *consoleDecoder) endRow() {
	row := d.row
	if d.row = nil; row == nil {
		return
	}
	if d.names[row[0]] {
		header := d.csv.header
		d.endRun()
		d.begin()
		d.csv.header = header
	}
	if len(d.names) == 0 {
		d.from = d.at
	}
	d.names[row[0]] = true
	d.csv.row(row, d.at)
}

// endRun makes a run of the tables so far.
func (d *consoleDecoder) endRun() {
	d.endRow()
	if d.csv == nil {
		return
	}
	run, err := d.csv.s.run()
	d.csv = nil
	if err != nil {
		d.err = errors.Join(d.err, err)
		return
	}
	run.Source.Line = d.from
	run.Notes = append(run.Notes, "a printed table has two decimals and says nothing of how the run was made: its load level is unknown")
	d.runs = append(d.runs, run)
}

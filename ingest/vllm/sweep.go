package vllm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/csvtext"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// FormatSweep is the format name of the files of a `vllm bench sweep`
// directory: run=N.json, summary.json, warmup.json, failures and summary.csv.
const FormatSweep = "vllm-sweep"

// SniffSweep says whether a record with these names is one that a sweep wrote:
// a serve result with a run number, or a failure.
func SniffSweep(keys map[string]bool) (ok bool, why string) {
	if isFailure(keys) {
		return true, ""
	}
	if !keys[keyRunNumber] {
		return false, fmt.Sprintf("no %q", keyRunNumber)
	}
	return SniffServe(keys)
}

// DecidedSweep says whether these first names of a record already make it a
// sweep's: the run number stands behind all others.
func DecidedSweep(keys map[string]bool) bool {
	return isFailure(keys) || keys[keyRunNumber] && DecidedServe(keys)
}

// EndsLikeSweep reports whether the last bytes of a JSON file hold a run number.
// A sweep writes it, and the overrides, behind everything that the bench wrote.
func EndsLikeSweep(tail []byte) bool { return bytes.Contains(tail, []byte(`"`+keyRunNumber+`"`)) }

// isFailure reports whether a record is what --continue-on-error writes.
func isFailure(keys map[string]bool) bool {
	return keys["error_type"] && keys["error"] && keys["serve_overrides"]
}

// DecodeSweep reads a JSON file of a sweep directory, a run each serve result.
// Warm-up runs are left out, and a failure is a problem of the input.
func DecodeSweep(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	// A failure is small, so the first bytes tell the two apart.
	head := make([]byte, 1<<16)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	shape, perr := jsonscan.Probe(path, bytes.NewReader(head[:n]), isFailure)
	rest := io.MultiReader(bytes.NewReader(head[:n]), r)
	if perr == nil && isFailure(shape.Keys) {
		return nil, decodeFailure(path, rest, in)
	}
	runs, err := DecodeServe(ctx, path, rest, in)
	for _, run := range runs {
		run.Format = FormatSweep
	}
	return runs, err
}

// decodeFailure reads what a sweep writes in place of a result: a run that
// failed, or a server that did not start.
func decodeFailure(path string, r io.Reader, in *serving.Input) error {
	rd := jsonscan.NewReader(path, r)
	_, _, err := rd.Records(FormatSweep, &in.Problems, func(int) error {
		f := failureRecord{at: serving.Pos{Path: path, Line: rd.NextLine()}, r: rd, in: in}
		if _, err := rd.Object(f.member); err != nil {
			return err
		}
		in.Problems.Add(serving.Problem{At: f.at, Message: f.message()})
		in.Records++
		return nil
	})
	if err != nil {
		return rd.Describe(err, FormatSweep)
	}
	in.Note = "a failure of a sweep: it gave no result"
	return nil
}

type failureRecord struct {
	at        serving.Pos
	r         *jsonscan.Reader
	in        *serving.Input
	run       string
	kind      string
	text      string
	overrides []string
}

func (f *failureRecord) member(key string) error {
	var err error
	switch key {
	case keyRunNumber:
		var s jsonscan.Scalar
		s, _, err = f.r.Scalar(maxText)
		f.run = s.Text
	case "error_type":
		f.kind, _, err = f.r.Text(maxText)
	case "error":
		f.text, _, err = f.r.Text(maxErrorText)
	case "serve_overrides", "bench_overrides":
		_, err = f.r.Object(func(name string) error {
			s, ok, err := f.r.Scalar(maxText)
			if ok && len(f.overrides) < maxFields {
				f.overrides = append(f.overrides, name+"="+s.Text)
			}
			return err
		})
	default:
		return f.r.Skip()
	}
	if len(f.in.Fields) < maxFields {
		f.in.Fields = append(f.in.Fields, serving.Field{Name: key, As: "failure", How: "dialect"})
	}
	return err
}

func (f *failureRecord) message() string {
	what := "the server of this combination did not start"
	switch {
	case f.run == "-1":
		what = "the warm-up of this combination failed"
	case f.run != "":
		what = "run " + f.run + " of this combination failed"
	}
	if len(f.overrides) > 0 {
		what += " (" + jsonscan.Cut(strings.Join(f.overrides, ", "), 300) + ")"
	}
	return fmt.Sprintf("%s: %s: %s", what, f.kind, cutReason(reasonLine(f.text)))
}

// SniffSweepCSV says whether a text starts like the summary.csv of a sweep: a
// pandas table of serve results, whose first column is an index without a name.
func SniffSweepCSV(head []byte) (ok bool, why string) {
	names, err := csvtext.Header(head)
	if err != nil || len(names) < 5 {
		return false, "no CSV header in the first line"
	}
	if strings.TrimSpace(names[0]) != "" {
		return false, "the first column has a name, where pandas writes an index without one"
	}
	keys := map[string]bool{}
	for _, n := range names {
		keys[n] = true
	}
	if !keys[keyRunNumber] {
		return false, fmt.Sprintf("no column %q", keyRunNumber)
	}
	return SniffServe(keys)
}

// DecodeSweepCSV reads the summary.csv of a sweep, a run each row. An empty cell
// is a value that this run does not have.
func DecodeSweepCSV(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &serveDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, strings.NewReader("")), in: in, seen: map[string]bool{}}
	table := csvtext.NewReader(path, r, csvtext.Form{Lazy: true})
	names, at, err := table.Read()
	if err != nil {
		return nil, &serving.FormatError{At: at, Format: FormatSweep, Found: "no CSV header: " + err.Error(), Want: "the summary.csv of a sweep"}
	}
	names = slices.Clone(names)
	_, err = table.Each(ctx, &in.Problems, func(cells []string, at serving.Pos) error {
		if len(cells) > len(names) {
			in.Problems.AddKind("row", serving.Problem{At: at, Message: fmt.Sprintf("%d cells, want %d as the header has names: the row is left out", len(cells), len(names))})
			return nil
		}
		d.row(names, cells, at)
		return nil
	})
	if err != nil {
		return nil, err
	}
	in.Records = int64(len(d.runs))
	if d.warmups > 0 {
		in.Note = fmt.Sprintf("%d warm-up records (%s below 0) are left out", d.warmups, keyRunNumber)
	}
	if len(d.runs) == 0 && d.warmups == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatSweep, Found: "no serve result in the table: " + d.why}
	}
	return d.runs, nil
}

// row turns a row into a run, as if its cells were the members of a record.
func (d *serveDecoder) row(names, cells []string, at serving.Pos) {
	rec := d.newRecord()
	for i, cell := range cells {
		name := names[i]
		if name == "" || cell == "" {
			continue
		}
		rec.describe(name, fieldOf(name))
		rec.keys[name] = true
		switch {
		case name == keyPerPosition:
			rec.perPos = listOf(cell)
			continue
		case arrayNames[name] != noArray:
			continue // pandas prints lists; the run's own file has them
		}
		kind := jsonscan.Kind('"')
		if _, err := strconv.ParseFloat(cell, 64); err == nil {
			kind = '0'
			cell = strings.TrimSuffix(cell, ".0") // pandas writes counts so where a row lacks one
		}
		if _, again := rec.scalars[name]; !again {
			rec.order = append(rec.order, name)
		}
		rec.scalars[name] = jsonscan.Scalar{Kind: kind, Text: jsonscan.Cut(cell, maxText)}
	}
	if ok, why := SniffServe(rec.keys); !ok {
		d.why = why
		d.in.Problems.AddKind("no serve record", serving.Problem{At: at, Message: "the row is no serve result: " + why + "; left out"})
		return
	}
	if n, ok := rec.number(keyRunNumber); ok && n < 0 {
		d.warmups++
		return
	}
	run := rec.run(at)
	run.Format = FormatSweep
	d.runs = append(d.runs, run)
}

// listOf reads a list of numbers as Python prints it: [0.9, 0.5].
func listOf(cell string) []float64 {
	var out []float64
	for _, s := range strings.Split(strings.Trim(cell, "[] "), ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil || len(out) >= 1024 {
			return out
		}
		out = append(out, v)
	}
	return out
}

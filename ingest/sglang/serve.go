package sglang

import (
	"context"
	"fmt"
	"io"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffServing says whether a record with these names is one of bench_serving,
// and why not.
func SniffServing(keys map[string]bool) (ok bool, why string) {
	own := keys["total_output_tokens_retokenized"] || keys["mean_e2e_latency_ms"] || keys["median_e2e_latency_ms"]
	switch {
	case !own:
		return false, `neither "total_output_tokens_retokenized" nor "mean_e2e_latency_ms"`
	case !keys["output_throughput"]:
		return false, `no "output_throughput"`
	case !keys["completed"]:
		return false, `no "completed"`
	}
	return true, ""
}

// DecidedServing says whether these first names of a record already make it one
// of bench_serving, whatever follows.
func DecidedServing(keys map[string]bool) bool {
	ok, _ := SniffServing(keys)
	return ok
}

// DecodeServing reads a result file of SGLang's bench_serving: one record a run,
// appended one after the other, or an array of them.
//
// It fills in Records, Fields and Problems of the input. Damaged records are
// problems; an error means that no run could be read.
func DecodeServing(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &decoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, fields: flat.Fields{In: in}, format: FormatServing}
	return d.runsOf(d.servingRecord, "a record with total_output_tokens_retokenized or mean_e2e_latency_ms, and output_throughput")
}

// A decoder reads the records of a file into runs.
type decoder struct {
	ctx    context.Context
	path   string
	r      *jsonscan.Reader
	in     *serving.Input
	fields flat.Fields
	format string
	runs   []*serving.Run
	why    string // why the last record was none
}

// runsOf reads all records.
func (d *decoder) runsOf(record func(at serving.Pos) error, want string) ([]*serving.Run, error) {
	_, layout, err := d.r.Records(d.format, &d.in.Problems, func(i int) error {
		if err := d.ctx.Err(); err != nil {
			return err
		}
		return record(serving.Pos{Path: d.path, Line: d.r.NextLine(), Field: fmt.Sprintf("[%d]", i)})
	})
	d.in.Records = int64(len(d.runs))
	if err != nil {
		return nil, d.r.Describe(err, d.format)
	}
	if len(d.runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: d.path}, Format: d.format, Found: "no result: " + d.why, Want: want}
	}
	for _, run := range d.runs {
		place(&run.Source, layout)
	}
	return d.runs, nil
}

// place drops what a position does not need in its layout: the only record of a
// file needs no more than the file, and only the elements of an array have an
// index.
func place(at *serving.Pos, layout jsonscan.Layout) {
	switch layout {
	case jsonscan.Single:
		*at = serving.Pos{Path: at.Path}
	case jsonscan.Lines:
		at.Field = ""
	}
}

// reject notes a value that is no record of the format.
func (d *decoder) reject(at serving.Pos, why string) {
	d.why = why
	d.in.Problems.AddKind("no record", serving.Problem{At: at, Message: "no record of " + d.format + ": " + why + "; left out"})
}

// servingRecord reads one record of bench_serving and turns it into a run.
func (d *decoder) servingRecord(at serving.Pos) error {
	a := newArrays(d)
	rec, ok, err := flat.Reader{R: d.r, Skip: skipServing, Take: a.take}.Read()
	if err != nil {
		return err
	}
	if !ok {
		d.reject(at, "the value is no JSON object")
		return nil
	}
	if ok, why := SniffServing(rec.Keys); !ok {
		d.reject(at, why)
		return nil
	}
	for _, name := range rec.Names {
		if top := topName(name); top == name || servingTotals[name].metric != "" {
			d.fields.Add(servingField(name))
		} else {
			d.fields.Add(servingField(top))
		}
	}
	d.runs = append(d.runs, servingRun(d, rec, a, at))
	return nil
}

// skipServing leaves out texts, and of the server's dump what is no scalar of
// interest: it holds paths, ports and keys.
func skipServing(name string) bool {
	if skipped[name] {
		return true
	}
	key, ok := serverKey(name)
	return ok && key != "" && !wantedOfServer[key] && !engineSettings[key]
}

var wantedOfServer = map[string]bool{
	"model_path": true, "served_model_name": true, "tokenizer_path": true, "version": true, "max_total_num_tokens": true,
	"prefill": true, "decode": true,
}

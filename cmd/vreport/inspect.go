package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/render"
)

// inspectCmd is `vreport inspect`. Of the config file it takes what concerns
// reading; where a report goes is none of its business.
type inspectCmd struct {
	Paths []string `arg:"" name:"path" help:"A file, a directory (walked), a glob, - for standard input, or label=PATH."`

	JSON      *string  `name:"json" placeholder:"FILE" help:"Write JSON here instead of text to standard output. A dash is standard output."`
	Map       []string `name:"map" sep:"none" placeholder:"NAME=COLUMN:UNIT" help:"What a column of a trace is: ttft=first_token:ms. Repeatable."`
	Side      *string  `name:"side" placeholder:"client|server" help:"Where the times of a trace were measured."`
	UseMTime  *bool    `name:"use-mtime" help:"Take the time of a scrape that says none from its file's time."`
	Strict    *bool    `name:"strict" help:"Problems in the data are errors (exit status 2)."`
	Checksums *bool    `name:"checksums" help:"Hash whole files above 64 MiB too."`
	Config    *string  `name:"config" placeholder:"FILE" help:"Settings file (vreport.yaml of the working directory, if there is one)."`
	Progress  *bool    `name:"progress" negatable:"" help:"Show progress on standard error even where that is no terminal, or not at all."`
}

// inspectSettings are the settings of the config file that inspect obeys.
var inspectSettings = []string{"map", "side", "use-mtime", "checksums", "strict", "progress"}

func (c *inspectCmd) run(e *env, typed layer) (int, error) {
	fromFile, err := configLayer(typed)
	if err != nil {
		return 0, err
	}
	o, err := resolve(typed.over(fromFile.only(inspectSettings...)))
	if err != nil {
		return 0, err
	}
	out := &output{flag: "--json", path: o.json}
	if o.json == "" {
		out.flag, out.path = "inspect", "-"
	}
	if err := checkOutputs([]*output{out}); err != nil {
		return 0, err
	}
	ds, err := load(e, c.Paths, o)
	if err != nil {
		return 0, err
	}
	defer ds.Close()
	if err := errors.Join(keepApart([]*output{out}, ds), scanAll(e, ds)); err != nil {
		return 0, err
	}
	if t := collectTrouble(ds); o.strict && t.records > 0 {
		t.print(e.stderr)
		return 0, t.err()
	}
	out.render = func(w io.Writer) error {
		if o.json == "" {
			return errors.Join(render.InspectText(w, ds.Inputs), render.InspectLacks(w, analyze.Lacks(ds)))
		}
		return render.InspectJSON(w, ds.Inputs)
	}
	// What was tried on files that nothing recognized is worth seeing even
	// where that is all there is; only a file must not appear then.
	unusable := ingest.Usable(ds)
	if unusable != nil && out.path != "-" {
		return 0, unusable
	}
	return statusDone, errors.Join(writeOutputs(e.ctx, e.stdout, []*output{out}), unusable)
}

// scanAll reads every table of requests once and puts the problems it meets to
// the files they are in: a trace is opened by its footer, and a damaged record
// shows when its page is read.
func scanAll(e *env, ds *serving.Dataset) error {
	inputs := map[string]*serving.Input{}
	for _, in := range ds.Inputs {
		inputs[in.Path] = in
	}
	for _, t := range ds.Traces {
		var want []string
		arrival := -1
		for i, c := range t.Columns() {
			want = append(want, c.Name)
			if c.Name == serving.ColArrival && !c.Relative {
				arrival = i
			}
		}
		for _, part := range t.Parts() {
			var bad serving.Problems
			in := inputs[part.Source()]
			err := part.Scan(e.ctx, want, &bad, func(b *serving.Batch) error {
				if arrival >= 0 && in != nil {
					spanOf(in, b, arrival)
				}
				return nil
			})
			if e.ctx.Err() != nil {
				return e.ctx.Err()
			}
			if err != nil {
				bad.Add(serving.Problem{At: serving.Pos{Path: part.Source()}, Message: strings.TrimPrefix(err.Error(), part.Source()+": ")})
			}
			if in != nil {
				in.Problems.Merge(&bad)
			}
		}
	}
	return spanRuns(e, ds, inputs)
}

// spanRuns tells the inputs when the requests of their runs arrived. What is
// wrong with those was told when they were read.
func spanRuns(e *env, ds *serving.Dataset, inputs map[string]*serving.Input) error {
	for _, r := range ds.Runs {
		if r.Requests == nil || !slices.ContainsFunc(r.Requests.Columns(), func(c serving.Column) bool { return c.Name == serving.ColArrival && !c.Relative }) {
			continue
		}
		for _, part := range r.Requests.Parts() {
			in := inputs[part.Source()]
			if in == nil {
				continue
			}
			var told serving.Problems
			_ = part.Scan(e.ctx, []string{serving.ColArrival}, &told, func(b *serving.Batch) error {
				spanOf(in, b, 0)
				return nil
			})
			if e.ctx.Err() != nil {
				return e.ctx.Err()
			}
		}
	}
	return nil
}

// spanOf widens an input's times by the arrivals of a batch.
func spanOf(in *serving.Input, b *serving.Batch, arrival int) {
	v := &b.Cols[arrival]
	for i := range b.N {
		if v.Has(i) {
			in.Span(v.Ints[i], v.Ints[i])
		}
	}
}

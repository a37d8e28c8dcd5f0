package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/rollup"
	"github.com/vreport/vreport/ingest/serving"
)

// rollupCmd is `vreport rollup`: it aggregates requests once, so that reports are
// made of the result. Of the config file it takes what concerns reading,
// grouping and judging.
type rollupCmd struct {
	Paths []string `arg:"" name:"path" help:"A trace, a detailed benchmark result or a rollup; a directory (walked), a glob, - for standard input, or label=PATH. All of them are parts of one whole."`

	Output *string `short:"o" name:"output" placeholder:"FILE" help:"Write the rollup here: Parquet, or CSV where the name ends so or is a dash. Required."`
	rollupFlags
	Workload  []string `name:"workload" sep:"none" placeholder:"NAME=COLUMN=VALUE" help:"Name the workload of rows whose text column has a value, or matches =~REGEX. First match wins. Repeatable."`
	Strict    *bool    `name:"strict" help:"Problems in the data are errors (exit status 2)."`
	Checksums *bool    `name:"checksums" hidden:"" help:"Hash whole files above 64 MiB too."`
	Progress  *bool    `name:"progress" negatable:"" help:"Show progress on standard error even where that is no terminal, or not at all."`
}

// rollupFlags say how requests are grouped and judged: of a rollup that cannot be
// changed afterwards.
type rollupFlags struct {
	SLO     []string `name:"slo" sep:"none" placeholder:"EXPR" help:"An objective to count exactly: 'ttft:p99<500ms', or of one slice 'workload=chat:ttft:p95<250ms'. Repeatable."`
	Goodput []string `name:"goodput" sep:"none" placeholder:"CONDITIONS" help:"What a good request keeps, in ms: ttft:500,tpot:50,e2el:5000."`
	Window  *string  `name:"window" placeholder:"FROM/TO" help:"Only requests that arrived in this time."`
	GroupBy []string `name:"group-by" sep:"none" placeholder:"NAMES" help:"Columns whose combinations are the slices (workload,prompt_tokens,cache)."`
	Buckets []string `name:"buckets" sep:"none" placeholder:"NAME=BOUNDS" help:"Bounds of a count column: prompt_tokens=512,2048,8192. Repeatable."`
	Map     []string `name:"map" sep:"none" placeholder:"NAME=COLUMN:UNIT" help:"What a column is: ttft=first_token:ms. Repeatable."`
	Side    *string  `name:"side" placeholder:"client|server" help:"Where the times were measured."`
	Config  *string  `name:"config" placeholder:"FILE" help:"Settings file (vreport.yaml of the working directory, if there is one)."`
}

// rollupSettings are the settings of the config file that a rollup depends on.
// The names of outputs are not among them: report.html is no rollup.
var rollupSettings = []string{"slo", "goodput", "window", "group-by", "buckets", "map", "side", "workload", "strict", "checksums", "progress"}

func (c *rollupCmd) run(e *env, typed layer) (int, error) {
	fromFile, err := configLayer(typed)
	if err != nil {
		return 0, err
	}
	o, err := resolve(typed.over(fromFile.only(rollupSettings...)))
	if err != nil {
		return 0, err
	}
	if o.html == "" {
		return 0, errors.New("-o: no file name, want one such as rollup.parquet, or a dash for CSV on standard output")
	}
	out := &output{flag: "-o", path: o.html}
	if err := checkOutputs([]*output{out}); err != nil {
		return 0, err
	}
	ds, err := load(e, c.Paths, o)
	if err != nil {
		return 0, err
	}
	defer ds.Close()
	if err := errors.Join(keepApart([]*output{out}, ds), ingest.Usable(ds), groupable(o, ds)); err != nil {
		return 0, err
	}
	r, err := rollUp(e, ds, o)
	if err != nil {
		return 0, err
	}
	trouble := collectTrouble(ds)
	trouble.print(e.stderr)
	if o.strict && trouble.records > 0 {
		return 0, trouble.err()
	}
	out.render = func(w io.Writer) error {
		if out.path == "-" || strings.HasSuffix(strings.ToLower(out.path), ".csv") {
			return rollup.WriteCSV(w, r)
		}
		return rollup.WriteParquet(w, r)
	}
	if err := writeOutputs(e.ctx, e.stdout, []*output{out}); err != nil {
		return 0, err
	}
	if out.path != "-" {
		say(e.stderr, "wrote %s (%s): %s in %s", out.path, sizeText(out.size), count(int(r.Rows), "request"), count(len(r.Cells), "cell"))
	}
	return statusDone, nil
}

func rollUp(e *env, ds *serving.Dataset, o *options) (*serving.Rollup, error) {
	m := newMeter(e.stderr, o.progress)
	defer m.end()
	opt := o.analyze
	opt.Progress = m.scanned
	return analyze.RollUp(e.ctx, ds, opt, fmt.Sprintf("vreport %s", buildInfo().Version))
}

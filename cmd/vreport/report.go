package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/render"
	"github.com/vreport/vreport/templates"
)

// reportCmd is `vreport report`. Fields are pointers so that set can be told
// from unset; TestSettingsAreFlags holds them and the config file together.
type reportCmd struct {
	Paths []string `arg:"" name:"path" help:"A file, a directory (walked), a glob, - for standard input, or label=PATH."`

	ReportFlags
}

// ReportFlags are the flags of every command that writes a report.
type ReportFlags struct {
	Output   *string `short:"o" name:"output" placeholder:"FILE" help:"Write the HTML report here (report.html, unless another output is asked for). A dash is standard output, for one of the outputs."`
	JSON     *string `name:"json" placeholder:"FILE" help:"Write the figures as JSON."`
	Markdown *string `name:"markdown" placeholder:"FILE" help:"Write a summary in Markdown, for a pull request."`

	Title   *string  `name:"title" placeholder:"TEXT" help:"Title of the report."`
	SLO     []string `name:"slo" sep:"none" placeholder:"EXPR" help:"An objective: 'ttft:p99<500ms', or of one slice 'workload=chat:ttft:p95<250ms'. Repeatable."`
	Goodput []string `name:"goodput" sep:"none" placeholder:"CONDITIONS" help:"What a good request keeps, in ms: ttft:500,tpot:50,e2el:5000."`
	Gate    []string `name:"gate" sep:"none" placeholder:"slo,regression" help:"Decide by exit status: slo, whether every run meets every objective; regression, whether no headline figure of a comparison got worse; capacity>=N, whether a sweep still meets the objectives at load N. 0 yes, 1 no, 3 undecided."`

	Window   *string  `name:"window" placeholder:"FROM/TO" help:"Only requests that arrived, and scrapes taken, in this time."`
	Incident *string  `name:"incident" placeholder:"FROM/TO" help:"The incident: compare this time with what precedes it. Either end may be a length: 2026-11-03T10:00:00Z/15m. Without it change points are looked for."`
	GroupBy  []string `name:"group-by" sep:"none" placeholder:"NAMES" help:"Columns whose combinations are the slices (workload,prompt_tokens,cache)."`
	Buckets  []string `name:"buckets" sep:"none" placeholder:"NAME=BOUNDS" help:"Bounds of a count column: prompt_tokens=512,2048,8192. Repeatable."`
	Target   *string  `name:"target" placeholder:"RATE" help:"A rate to serve, such as 30/s: the instances it takes and the headroom they leave, at the load that still meets the objectives."`
	SweepBy  *string  `name:"sweep-by" placeholder:"KEY" help:"What a sweep varies: a setting of the runs, or max_concurrency or request_rate."`

	Model    *string `name:"model" sep:"none" placeholder:"NAME|config.json" help:"The model, for the hardware ceilings: a name of the catalogue or its config.json, with weights=fp8, kv=fp8, params=70.6B or active=3.8B behind commas."`
	Hardware *string `name:"hardware" sep:"none" placeholder:"NAME:COUNT" help:"The GPUs: h100-sxm:4, or your own as card:2,memory=48GB,bandwidth=864GB/s."`
	Price    *string `name:"price" placeholder:"AMOUNT/gpu-hour" help:"What a GPU costs, for the cost of a million tokens: 2.5/gpu-hour, EUR 2.5/gpu-hour."`

	Map         []string `name:"map" sep:"none" placeholder:"NAME=COLUMN:UNIT" help:"What a column of a trace is: ttft=first_token:ms. Repeatable."`
	Side        *string  `name:"side" placeholder:"client|server" help:"Where the times of a trace were measured."`
	Workload    []string `name:"workload" sep:"none" placeholder:"NAME=COLUMN=VALUE" help:"Name the workload of rows whose text column has a value, or matches =~REGEX; the column run stands for a file's label or path. First match wins. Repeatable."`
	PromQL      []string `name:"promql" sep:"none" placeholder:"NAME=EXPR" help:"Draw a PromQL expression over the scrapes in the timeline: queue=max(vllm:num_requests_waiting). Repeatable."`
	Diagnose    []string `name:"diagnosis" sep:"none" placeholder:"CAUSE.FACT=LIMIT" help:"Change a limit of the diagnosis, e.g. over_capacity.queue_share=0.5..0.9, in the table of docs/diagnosis.md. Repeatable."`
	Annotate    []string `name:"annotation" sep:"none" placeholder:"'TIME TEXT'" help:"Mark a moment in the timeline, a deploy for instance. Repeatable."`
	Annotations []string `name:"annotations" sep:"none" placeholder:"FILE" help:"Moments to mark, from a CSV file with a header: time,text and, if it likes, kind (deploy, restart, note) and end. Repeatable."`
	ClockOffset []string `name:"clock-offset" sep:"none" placeholder:"SOURCE=OFFSET" help:"What to add to the times of a source whose clock is off: client=-2.5s, log=+9h, or a label or path. SOURCE=TIME dates what counts from its start. Repeatable."`
	UseMTime    *bool    `name:"use-mtime" help:"Take the time of a scrape that says none from its file's time."`

	Exact     *bool   `name:"exact" negatable:"" help:"Exact quantiles whatever the size (the default). --no-exact reads a large trace once and states the error."`
	MaxMemory *string `name:"max-memory" placeholder:"SIZE" help:"Keep the program's memory below this, e.g. 1GiB: large traces are then read with fewer threads and more passes."`
	Strict    *bool   `name:"strict" help:"Problems in the data are errors (exit status 2)."`
	Checksums *bool   `name:"checksums" help:"Hash whole files above 64 MiB too."`
	EChartsJS *string `name:"echarts-js" placeholder:"FILE" help:"Take the chart library from this echarts.min.js."`
	Config    *string `name:"config" placeholder:"FILE" help:"Settings file (vreport.yaml of the working directory, if there is one)."`
	Progress  *bool   `name:"progress" negatable:"" help:"Show progress on standard error even where that is no terminal, or not at all."`
}

func (c *reportCmd) run(e *env, typed layer) (int, error) {
	fromFile, err := configLayer(typed)
	if err != nil {
		return 0, err
	}
	o, err := resolve(typed.over(fromFile))
	if err != nil {
		return 0, err
	}
	r := &reporting{env: e, opt: o, command: commandLine("report", o.flags, sorted(c.Paths))}
	r.load = func() ([]*serving.Dataset, error) {
		ds, err := load(e, c.Paths, o)
		if err != nil {
			return nil, err
		}
		return []*serving.Dataset{ds}, groupable(o, ds)
	}
	r.analyze = func(opt analyze.Options, data []*serving.Dataset) (*analyze.Report, error) {
		return analyze.Run(e.ctx, data[0], opt)
	}
	outs := r.outputs()
	if err := checkOutputs(outs); err != nil {
		return 0, err
	}
	return r.run(outs)
}

// reporting is one report under way, of one dataset or of two sides.
type reporting struct {
	*env
	opt     *options
	command string // that makes it again
	load    func() ([]*serving.Dataset, error)
	analyze func(analyze.Options, []*serving.Dataset) (*analyze.Report, error)
	rep     *analyze.Report
	print   render.Options
	printer *render.Printer // once there is a report
}

// outputs lists what was asked for; a report where nothing was.
func (r *reporting) outputs() []*output {
	o := r.opt
	if o.html == "" && o.json == "" && o.markdown == "" {
		o.html = "report.html"
	}
	var outs []*output
	add := func(flag, path string, print func(*render.Printer, io.Writer) error) {
		if path != "" {
			outs = append(outs, &output{flag: flag, path: path, render: func(w io.Writer) error { return print(r.printer, w) }})
		}
	}
	add("-o", o.html, (*render.Printer).HTML)
	add("--json", o.json, (*render.Printer).JSON)
	add("--markdown", o.markdown, (*render.Printer).Markdown)
	return outs
}

func (r *reporting) run(outs []*output) (int, error) {
	defer r.opt.limitMemory()()
	if err := r.setPrint(); err != nil {
		return 0, err
	}
	if r.opt.html != "" {
		r.print.Ahead()
	}
	data, err := r.load()
	for _, ds := range data {
		defer ds.Close()
	}
	if err != nil {
		return 0, err
	}
	for _, ds := range data {
		if err := errors.Join(keepApart(outs, ds), ingest.Usable(ds)); err != nil {
			return 0, err
		}
	}
	if err := r.opt.decidable(data); err != nil {
		return 0, err
	}
	if r.rep, err = r.make(data); err != nil {
		return 0, err
	}
	r.printer = render.NewPrinter(r.rep, r.print)
	trouble := collectTrouble(data...)
	trouble.print(r.stderr)
	if r.opt.strict && trouble.records > 0 {
		return 0, trouble.err()
	}
	if err := writeOutputs(r.ctx, r.stdout, outs); err != nil {
		return 0, err
	}
	r.sayDone(data, outs)
	return r.gate(), nil
}

// make analyses the data and shows progress while it scans.
func (r *reporting) make(data []*serving.Dataset) (*analyze.Report, error) {
	m := newMeter(r.stderr, r.opt.progress)
	defer m.end()
	opt := r.opt.analyze
	opt.Progress = m.scanned
	return r.analyze(opt, data)
}

// setPrint fills in how the report is printed.
func (r *reporting) setPrint() error {
	r.print = render.Options{Version: buildInfo().Version, Command: r.command}
	if r.opt.html == "" {
		return nil // only the page draws charts
	}
	if r.opt.echarts != "" {
		js, err := readECharts(r.opt.echarts)
		r.print.StockECharts = js
		return err
	}
	lib, ok := templates.ChartLibrary()
	if !ok {
		say(r.stderr, "this build has no chart library: the page shows tables instead of charts; use a binary made by make build, or --echarts-js echarts.min.js")
		return nil
	}
	r.print.ChartLibrary = lib
	return nil
}

// maxECharts bounds the chart library; the full one has 1.1 MB.
const maxECharts = 16 << 20

func readECharts(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--echarts-js: %w", err)
	}
	defer f.Close()
	js, err := io.ReadAll(io.LimitReader(f, maxECharts+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--echarts-js: %w", err)
	case len(js) > maxECharts || !bytes.Contains(js, []byte("echarts")):
		return nil, fmt.Errorf("--echarts-js: %s is no ECharts, want the file echarts.min.js of its npm package, folder dist", path)
	}
	return js, nil
}

// load reads the inputs and shows progress while it does.
func load(e *env, paths []string, o *options) (*serving.Dataset, error) {
	m := newMeter(e.stderr, o.progress)
	defer m.end()
	in := o.ingest
	in.Stdin = e.stdin
	in.Progress = m.update
	return ingest.Load(e.ctx, paths, in)
}

// keepApart keeps what is read and what is written apart. An earlier report in
// a directory that is walked is no input of the next one, or the second report
// of the same data would differ from the first. A file that was read is never
// written over.
func keepApart(outs []*output, ds *serving.Dataset) error {
	for _, o := range outs {
		st, err := os.Stat(o.path)
		if o.path == "-" || err != nil || !st.Mode().IsRegular() {
			continue
		}
		same := func(in *serving.Input) bool {
			at, err := os.Stat(in.Path)
			return err == nil && os.SameFile(st, at)
		}
		ds.Inputs = slices.DeleteFunc(ds.Inputs, func(in *serving.Input) bool { return same(in) && unused(ds, in) })
		if slices.ContainsFunc(ds.Inputs, same) {
			return fmt.Errorf("%s: %s is one of the inputs, want another file name", o.flag, o.path)
		}
	}
	return nil
}

// unused reports whether nothing of an input is in the dataset: a file that is
// nothing we know, or an earlier report beside what it was made from.
func unused(ds *serving.Dataset, in *serving.Input) bool {
	earlier := in.Format == "vreport-report" && !slices.ContainsFunc(ds.Runs, func(r *serving.Run) bool { return r.Source.Path == in.Path })
	return in.Format == "unknown" || earlier
}

// groupable says whether a --group-by that was given names columns: those of
// the vocabulary, which a shared config file may name whether or not the data
// of the day have them, or any other column that some input has.
func groupable(o *options, ds *serving.Dataset) error {
	if err := cuttable(o, ds); err != nil {
		return err
	}
	all := tables(ds)
	if o.groupedAt == "" || len(all) == 0 {
		return nil
	}
	var found []string
	for _, t := range all {
		for _, c := range t.Columns() {
			found = append(found, c.Name)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	known := append(slices.Clone(dimensions), found...)
	for _, d := range o.analyze.GroupBy {
		if !slices.Contains(known, d) {
			return fmt.Errorf("%s: no input has a column %q, did you mean %q? (the inputs have %s)", o.groupedAt, d, nearest(d, known), strings.Join(found, ", "))
		}
	}
	return nil
}

// dimensions are the columns of the vocabulary that requests are grouped by.
var dimensions = []string{
	serving.ColWorkload, string(serving.PromptTokens), string(serving.OutputTokens), cube.DimCache,
	serving.ColModel, serving.ColReplica, serving.ColEngine, serving.ColTenant, serving.ColSession,
	serving.ColStreaming, serving.ColOutcome, serving.ColFinish, cube.DimTime,
}

// tables lists every table of requests of a dataset.
func tables(ds *serving.Dataset) []serving.Requests {
	var out []serving.Requests
	for _, r := range ds.Runs {
		if r.Requests != nil {
			out = append(out, r.Requests)
		}
	}
	out = append(out, ds.Traces...)
	for _, r := range ds.Rollups {
		out = append(out, r)
	}
	return out
}

// sayDone prints what was written, in one line.
func (r *reporting) sayDone(data []*serving.Dataset, outs []*output) {
	var files []string
	for _, o := range outs {
		if o.path != "-" {
			files = append(files, fmt.Sprintf("%s (%s)", o.path, sizeText(o.size)))
		}
	}
	if len(files) > 0 {
		var from []string
		for _, ds := range data {
			from = append(from, contents(ds))
		}
		say(r.stderr, "wrote %s from %s", strings.Join(files, ", "), strings.Join(from, " against "))
	}
}

// maxReasons bounds what is printed of a gate.
const maxReasons = 20

// gate prints the gate's answer and returns its exit status.
func (r *reporting) gate() int {
	g := r.rep.Gate
	if g.Result == analyze.GateNone || g.Result == "" {
		return statusDone
	}
	say(r.stderr, "gate: %s", g.Result)
	for _, reason := range g.Reasons[:min(len(g.Reasons), maxReasons)] {
		say(r.stderr, "gate: %s", reason)
	}
	if n := len(g.Reasons) - maxReasons; n > 0 {
		say(r.stderr, "gate: … and %s; the report lists them", count(n, "more reason"))
	}
	return gateStatus(g.Result)
}

func gateStatus(g analyze.GateResult) int {
	switch g {
	case analyze.GateFail:
		return statusFailed
	case analyze.GateUndecided:
		return statusUndecided
	}
	return statusDone
}

package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/rollup"
	"github.com/vreport/vreport/ingest/serving"
)

// sqlCmd is `vreport sql`: it prints the query that makes a rollup inside a
// database engine, next to the data.
type sqlCmd struct {
	Path string `arg:"" optional:"" name:"path" help:"A file of the table, to see what columns there are and what they hold. One such file is enough; without, --columns or --map say it."`

	Dialect *string  `name:"dialect" placeholder:"duckdb|clickhouse|trino|spark" help:"The engine that runs the query. Required."`
	From    *string  `name:"from" placeholder:"TABLE" help:"The table, as the engine knows it, or files that it reads: 's3://bucket/day=*/*.parquet'. Default: the path, or requests."`
	Columns []string `name:"columns" sep:"none" placeholder:"NAME:TYPE,…" help:"The columns of the table where no file of it is at hand: arrival_time:timestamp,ttft_ms:double. Types: timestamp, double, int, text, bool, list. Repeatable."`
	Step    *string  `name:"step" placeholder:"DURATION" help:"The length of time windows: 15s, 1m, 1h. Default: what a report of the file would take, else 1m."`
	Output  *string  `short:"o" name:"output" placeholder:"FILE" help:"Write the query here instead of to standard output."`
	rollupFlags
	Workload []string `name:"workload" sep:"none" placeholder:"NAME=COLUMN=VALUE" help:"Name the workload of rows whose text column has a value, or matches =~REGEX. First match wins. Repeatable."`
}

// sqlSettings are the settings of the config file that a query depends on.
var sqlSettings = []string{"slo", "goodput", "window", "group-by", "buckets", "map", "side", "workload"}

func (c *sqlCmd) run(e *env, typed layer) (int, error) {
	fromFile, err := configLayer(typed)
	if err != nil {
		return 0, err
	}
	o, err := resolve(typed.over(fromFile.only(sqlSettings...)))
	if err != nil {
		return 0, err
	}
	if c.Dialect == nil {
		return 0, errors.New("--dialect: which engine, want duckdb, clickhouse, trino or spark")
	}
	engine, err := column.EngineOf(*c.Dialect)
	if err != nil {
		return 0, fmt.Errorf("--dialect: %w", err)
	}
	out := &output{flag: "-o", path: o.html}
	if out.path == "" {
		out.path = "-"
	}
	if err := checkOutputs([]*output{out}); err != nil {
		return 0, err
	}
	text, err := c.query(e, o, engine)
	if err != nil {
		return 0, err
	}
	out.render = func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
	return statusDone, writeOutputs(e.ctx, e.stdout, []*output{out})
}

// query prints the query of the table that the flags describe.
func (c *sqlCmd) query(e *env, o *options, engine *column.Engine) (string, error) {
	q := &rollup.Query{Engine: engine, From: "requests"}
	step := int64(time.Minute)
	side := o.ingest.Side
	switch {
	case c.Path != "":
		seen, err := c.look(e, o)
		if err != nil {
			return "", err
		}
		q.Plan = seen.plan
		if engine.Table(c.Path) != c.Path { // the engine reads such files itself
			q.From = c.Path
		}
		if seen.step > 0 {
			step = seen.step
		}
	default:
		raws, err := rawColumns(c.Columns, o.ingest.Map)
		if err != nil {
			return "", err
		}
		if q.Plan, err = column.Resolve(raws, o.ingest.Map); err != nil {
			return "", err
		}
		if !q.Plan.IsTrace() {
			want, found := q.Plan.Wanted()
			return "", fmt.Errorf("the columns %s are no requests, want %s; say what there is with --columns", found, want)
		}
	}
	if side == "" {
		side = q.Plan.Side
	}
	if c.From != nil {
		q.From = *c.From
	}
	if strings.TrimSpace(q.From) == "" || strings.ContainsAny(q.From, ";\x00\n") {
		return "", fmt.Errorf("--from: %q is no table", q.From)
	}
	q.From = engine.Table(q.From)
	if c.Step != nil {
		s, err := serving.ParseSeconds(*c.Step)
		if err != nil || s < 1e-3 || s > 400*86400 {
			return "", fmt.Errorf("--step: %q is no length of time windows, want e.g. 15s, 1m, 1h", *c.Step)
		}
		step = int64(math.Round(s*1e6)) * 1000
	}
	left := []column.WorkloadRule(nil)
	q.Rules, left = column.Applicable(o.ingest.Workloads, q.Plan.Columns)
	if len(q.Rules) == 0 && len(left) > 0 {
		return "", noRule(left[0])
	}
	for _, r := range left {
		q.Notes = append(q.Notes, printable("the rule for workload "+r.Name+" does not apply: the table has no text column "+r.Column))
	}
	columns := column.Labelled(q.Plan.Columns, q.Rules)
	if err := c.groupable(o, columns); err != nil {
		return "", err
	}
	q.Spec, q.Timed = analyze.RollupSpec(columns, o.analyze, step)
	q.Spec.Side, q.Spec.Writer = side, "vreport sql --dialect "+engine.Name
	if w := o.analyze.Window; w != (cube.Window{}) {
		q.Window = [2]int64{w.From, w.To}
	}
	for _, f := range q.Plan.Fields {
		if f.As != "" {
			note := f.Name + " is " + f.As
			if f.Unit != "" {
				note += ", in " + f.Unit
			}
			q.Notes = append(q.Notes, printable(note))
		}
	}
	return q.SQL()
}

// noRule says why a rule for workloads cannot be written as SQL.
func noRule(r column.WorkloadRule) error {
	if r.Column == column.RunColumn {
		return fmt.Errorf("--workload: the rule for %s asks for the name of a run, which a query does not know; want a text column of the table", r.Name)
	}
	return fmt.Errorf("--workload: the rule for %s asks for %s, which is no text column of the table; say what there is with a PATH or --columns", r.Name, r.Column)
}

// groupable refuses a --group-by that names no column.
func (c *sqlCmd) groupable(o *options, columns []serving.Column) error {
	ds := &serving.Dataset{}
	var names []string
	for _, col := range columns {
		names = append(names, col.Name)
	}
	ds.Rollups = []*serving.Rollup{{Spec: serving.RollupSpec{Columns: names}}}
	return groupable(o, ds)
}

// A look is what a file of the table shows.
type look struct {
	plan *column.Plan
	step int64 // ns; 0 where its requests have no times
}

// look reads a file of the table as a report would.
func (c *sqlCmd) look(e *env, o *options) (*look, error) {
	plain := *o
	plain.ingest.Workloads = nil // a labelled table has no plan
	ds, err := load(e, []string{c.Path}, &plain)
	if err != nil {
		return nil, err
	}
	defer ds.Close()
	if err := ingest.Usable(ds); err != nil {
		return nil, err
	}
	if len(ds.Traces) != 1 {
		return nil, fmt.Errorf("%s: %s, want one table of requests: an engine cannot query it", c.Path, contents(ds))
	}
	t, ok := ds.Traces[0].(interface{ Plan() *column.Plan })
	if !ok {
		return nil, fmt.Errorf("%s: is no table that an engine could query, want Parquet, CSV or JSON lines", c.Path)
	}
	out := &look{plan: t.Plan()}
	first, last, ok, err := arrivals(e, ds.Traces[0], o.analyze.Window)
	if ok {
		out.step = cube.StepOf(first, last)
	}
	return out, err
}

// arrivals returns the first and the last arrival time of a table within a window.
func arrivals(e *env, t serving.Requests, w cube.Window) (first, last int64, ok bool, err error) {
	has := false
	for _, c := range t.Columns() {
		has = has || c.Name == serving.ColArrival
	}
	if !has {
		return 0, 0, false, nil
	}
	for _, p := range t.Parts() {
		err := p.Scan(e.ctx, []string{serving.ColArrival}, nil, func(b *serving.Batch) error {
			v := &b.Cols[0]
			for i := range b.N {
				if !v.Has(i) {
					continue
				}
				x := v.Ints[i]
				if w != (cube.Window{}) && (x < w.From || x >= w.To) {
					continue
				}
				if !ok {
					first, last, ok = x, x, true
				} else {
					first, last = min(first, x), max(last, x)
				}
			}
			return nil
		})
		if err != nil {
			return 0, 0, false, err
		}
	}
	return first, last, ok, nil
}

// canonicalColumns are what a table is taken to have of which nothing is said:
// docs/rollup.md lists them.
const canonicalColumns = "arrival_time:timestamp,workload:text,outcome:text,prompt_tokens:int,cached_tokens:int,output_tokens:int,ttft_s:double,e2e_s:double"

// columnTypes are the types that --columns takes.
var columnTypes = map[string]column.Raw{
	"timestamp": {Kind: column.Instant, Unit: column.Nanosecond}, "timestamptz": {Kind: column.Instant, Unit: column.Nanosecond}, "datetime": {Kind: column.Instant, Unit: column.Nanosecond},
	"double": {Kind: column.Float}, "float": {Kind: column.Float}, "real": {Kind: column.Float}, "decimal": {Kind: column.Float},
	"int": {Kind: column.Int}, "integer": {Kind: column.Int}, "bigint": {Kind: column.Int}, "long": {Kind: column.Int},
	"text": {Kind: column.Text}, "varchar": {Kind: column.Text}, "string": {Kind: column.Text},
	"bool": {Kind: column.Bool}, "boolean": {Kind: column.Bool}, "list": {Kind: column.List},
}

// rawColumns reads --columns. Columns that --map names need not stand there: their
// type follows from what they are mapped to.
func rawColumns(given []string, maps []column.Mapping) ([]column.Raw, error) {
	text := strings.Join(given, ",")
	if text == "" && len(maps) == 0 {
		text = canonicalColumns
	}
	var out []column.Raw
	seen := map[string]bool{}
	for f := range strings.SplitSeq(text, ",") {
		f = strings.TrimSpace(f)
		if f == "" {
			continue
		}
		name, typ := f, ""
		if i := strings.LastIndexByte(f, ':'); i > 0 {
			name, typ = strings.TrimSpace(f[:i]), strings.ToLower(strings.TrimSpace(f[i+1:]))
		}
		r, ok := columnTypes[typ]
		if !ok {
			return nil, fmt.Errorf("--columns: %q says no type, want name:type, e.g. ttft_ms:double (types: timestamp, double, int, text, bool, list)", f)
		}
		if seen[name] {
			return nil, fmt.Errorf("--columns: %s stands there twice", name)
		}
		r.Name, seen[name] = name, true
		out = append(out, r)
	}
	for _, m := range maps {
		if !seen[m.Column] {
			out = append(out, column.RawFor(m))
			seen[m.Column] = true
		}
	}
	return out, nil
}

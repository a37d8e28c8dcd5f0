package analyze

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// quantiles are those every distribution shows; an objective adds its own.
var quantiles = []float64{0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999}

// confidence of all order-statistic and Wilson intervals.
const confidence = 0.95

// windowMetrics are those whose quantiles are drawn over time.
var windowMetrics = []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E, serving.Queue}

// A table is a source of requests with its filled cube.
type table struct {
	src  serving.Requests
	run  *serving.Run    // nil for a trace
	roll *serving.Rollup // set where the requests were aggregated elsewhere: src is the same
	plan cube.Plan
	cube *cube.Cube

	all    int // index of the grouping "everything"
	cross  int // of the cross of --group-by; -1 where no dimension of it exists
	alone  map[string]int
	mix    []int // of the cells that a comparison splits a change by, finest first; -1 where they cannot be made
	time   int   // of time windows; -1 where arrival times are missing
	bad    serving.Problems
	groups []string   // the dimensions of the cross that exist
	rows   *rowReader // what a diagnosis looks at; nil where there will be none
}

// fill scans every table of requests once, with one plan for all sections.
func (in *Input) fill(ctx context.Context) error {
	in.addTables()
	for _, t := range in.tables {
		t.makePlan(in.Opt)
		t.plan.Window = in.windowOf(func() int { return in.sides.sideOfTable(t) })
		if in.sides != nil {
			t.addMixCells()
		}
		t.watchRows(in)
		if t.roll != nil {
			if err := t.fillRollup(in.Opt); err != nil {
				return err
			}
			continue
		}
		var progress func(rows int64)
		if p := in.Opt.Progress; p != nil {
			progress = func(rows int64) { p(t.src.Name(), rows) }
		}
		c, err := cube.Fill(ctx, t.src, t.plan, &t.bad, progress)
		if errors.Is(err, cube.ErrTold) {
			t.plan.Distrust, t.bad = true, serving.Problems{}
			t.watchRows(in)
			c, err = cube.Fill(ctx, t.src, t.plan, &t.bad, progress)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.src.Name(), err)
		}
		t.cube = c
		in.tellInputs(t)
	}
	return nil
}

// watchRows has the scan pick out the requests that a diagnosis looks at.
func (t *table) watchRows(in *Input) {
	if in.sides != nil || t.roll != nil || t.run != nil && !slices.Contains(in.joinable(), t.run) {
		return
	}
	if t.rows = newRowReader(t.src, t.plan.Window); t.rows != nil {
		t.plan.Watch = &cube.Watch{Columns: t.rows.cols, See: t.rows.see}
	}
}

// addTables lists the tables of requests: of runs, of traces, of rollups.
func (in *Input) addTables() {
	for _, r := range in.Data.Runs {
		if r.Requests != nil {
			in.tables = append(in.tables, &table{src: r.Requests, run: r})
		}
	}
	for _, t := range in.Data.Traces {
		in.tables = append(in.tables, &table{src: t})
	}
	for _, r := range in.Data.Rollups {
		in.tables = append(in.tables, &table{src: r, roll: r})
	}
}

// tellInputs puts the problems of a table's rows to the file they are in.
func (in *Input) tellInputs(t *table) {
	for _, p := range t.bad.List() {
		for _, i := range in.Data.Inputs {
			if i.Path == p.At.Path {
				i.Problems.Add(p)
				break
			}
		}
	}
}

// tableOf returns the table of a run's requests, or nil.
func (in *Input) tableOf(r *serving.Run) *table {
	for _, t := range in.tables {
		if t.run == r {
			return t
		}
	}
	return nil
}

// makePlan lists what every section will ask of the table.
func (t *table) makePlan(opt Options) {
	t.plan = cube.Plan{
		Quantiles:  slices.Clone(quantiles),
		Confidence: confidence,
		CDF:        true,
		Buckets:    opt.Buckets,
		WarmShare:  opt.WarmShare,
		Conditions: t.conditions(opt),
		Window:     opt.Window,
		Examples:   5,
		Workers:    opt.Workers,
		NoExact:    opt.NoExact,
		MaxMemory:  opt.MaxMemory,
	}
	for _, m := range serving.Metrics {
		t.plan.Metrics = append(t.plan.Metrics, m.Key)
	}
	for _, s := range t.slos(opt) {
		t.plan.Limits = append(t.plan.Limits, cube.Limit{By: s.By, Metric: s.Metric, Max: s.Limit})
		if !s.Mean && !slices.Contains(t.plan.Quantiles, s.P) {
			t.plan.Quantiles = append(t.plan.Quantiles, s.P)
		}
	}
	for _, f := range opt.Headline {
		if p, ok := serving.QuantileOf(f.Stat); ok && !slices.Contains(t.plan.Quantiles, p) {
			t.plan.Quantiles = append(t.plan.Quantiles, p)
		}
	}
	slices.Sort(t.plan.Quantiles)
	t.plan.Windowed = &cube.Windowed{Metrics: windowMetrics, Quantiles: []float64{0.5, 0.95, 0.99}}
	t.makeGroupings(opt)
	t.planExplore(opt)
}

// slos returns the objectives in the order of the plan's limits. An objective
// for a slice whose dimensions the table lacks is not its business.
func (t *table) slos(opt Options) []serving.SLO {
	var out []serving.SLO
	for _, s := range t.objectives(opt) {
		if !slices.ContainsFunc(s.By, func(b serving.Term) bool { return !t.has(b.Dim) }) {
			out = append(out, s)
		}
	}
	return out
}

// total is the cell of everything; an empty one where the table has no rows.
func (t *table) total() *cube.Cell {
	if cells := t.cube.Groups[t.all].Cells; len(cells) > 0 {
		return &cells[0]
	}
	n := len(t.plan.Limits)
	return &cube.Cell{Window: -1, Within: make([]int64, n), Of: make([]int64, n)}
}

// has reports whether the table can be grouped by a dimension.
func (t *table) has(dim string) bool {
	switch dim {
	case cube.DimCache:
		return t.has(string(serving.CachedTokens)) && t.has(string(serving.PromptTokens))
	case cube.DimTime:
		return t.has(serving.ColArrival)
	}
	return slices.ContainsFunc(t.src.Columns(), func(c serving.Column) bool { return c.Name == dim })
}

// aloneDims are the dimensions shown each by itself, beside those of the cross.
var aloneDims = []string{
	serving.ColWorkload, string(serving.PromptTokens), cube.DimCache, serving.ColModel, serving.ColReplica,
	string(serving.OutputTokens), serving.ColStreaming, serving.ColOutcome, serving.ColEngine, serving.ColFinish,
}

func (t *table) makeGroupings(opt Options) {
	add := func(dims ...string) int {
		t.plan.Groupings = append(t.plan.Groupings, dims)
		return len(t.plan.Groupings) - 1
	}
	t.all, t.cross, t.time, t.alone = add(), -1, -1, map[string]int{}
	for _, d := range t.groupBy(opt) {
		if t.groupable(d) {
			t.groups = append(t.groups, d)
		}
	}
	if len(t.groups) > 1 {
		t.cross = add(t.groups...)
	}
	for _, d := range t.aloneDims(opt) {
		t.alone[d] = add(d)
	}
	if t.groupable(cube.DimTime) {
		t.time = add(cube.DimTime)
	}
}

// aloneDims returns the table's dimensions to show alone, in the order of the
// report: those asked for first.
func (t *table) aloneDims(opt Options) []string {
	var out []string
	for _, d := range slices.Concat(t.groupBy(opt), aloneDims, t.labels()) {
		if t.groupable(d) && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// maxLabels is how many columns of labels are shown unasked.
const maxLabels = 8

// labels are the columns that name things of the user's own: the partitions of
// its directories first, which somebody chose to tell requests apart by.
func (t *table) labels() []string {
	if t.roll != nil {
		return t.roll.Spec.Dims
	}
	var parts, texts []string
	for _, c := range t.src.Columns() {
		switch {
		case !c.Label:
		case c.How == serving.HowPartition:
			parts = append(parts, c.Name)
		default:
			texts = append(texts, c.Name)
		}
	}
	return slices.Concat(parts, texts)[:min(len(parts)+len(texts), maxLabels)]
}

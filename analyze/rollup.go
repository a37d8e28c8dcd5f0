package analyze

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// What a table's requests are judged by is said by the options; of a rollup some
// of it was said when it was made, and cannot be changed any more.

// fillRollup fills the cube of a table whose requests were aggregated elsewhere.
func (t *table) fillRollup(opt Options) error {
	spec := &t.roll.Spec
	if asked := GoodputText(opt.Goodput); asked != "" && asked != spec.Goodput {
		was := "none"
		if spec.Goodput != "" {
			was = spec.Goodput
		}
		return fmt.Errorf("%s: is a rollup with the goodput conditions %s, and the report asks for %s, which needs the requests: make the rollup again with --goodput %s, or report without", t.src.Name(), was, asked, asked)
	}
	c, err := cube.FromRollup(t.roll, t.plan)
	if err != nil {
		return fmt.Errorf("%s: %w", t.src.Name(), err)
	}
	t.cube = c
	return nil
}

// GoodputText writes conditions as a rollup's spec has them: vLLM's spelling,
// in milliseconds, in the order of metrics.
func GoodputText(conds []serving.Condition) string {
	var parts []string
	for _, m := range serving.Metrics {
		for _, c := range conds {
			if c.Metric == m.Key {
				parts = append(parts, string(m.Key)+":"+strconv.FormatFloat(c.Limit*1000, 'f', -1, 64))
			}
		}
	}
	return strings.Join(parts, ",")
}

// origin says what the table's distributions are computed from.
func (t *table) origin() Origin {
	if t.roll != nil {
		return FromRollup
	}
	return FromRequests
}

// conditions of the table's goodput.
func (t *table) conditions(opt Options) []serving.Condition {
	if t.roll == nil || t.roll.Spec.Goodput == "" {
		return opt.Goodput
	}
	conds, err := serving.ParseGoodput(t.roll.Spec.Goodput)
	if err != nil {
		return nil
	}
	return conds
}

// objectives of the table: those asked for, then those that a rollup was made
// with.
func (t *table) objectives(opt Options) []serving.SLO {
	out := slices.Clone(opt.SLOs)
	if t.roll == nil {
		return out
	}
	for _, expr := range t.roll.Spec.SLOs {
		s, err := serving.ParseSLO(expr)
		same := func(o serving.SLO) bool {
			return o.Metric == s.Metric && o.P == s.P && o.Mean == s.Mean && o.Limit == s.Limit && slices.Equal(o.By, s.By)
		}
		if err == nil && !slices.ContainsFunc(out, same) {
			out = append(out, s)
		}
	}
	return out
}

// groupBy is the cross of the table's slices.
func (t *table) groupBy(opt Options) []string {
	if t.roll != nil {
		return t.roll.Spec.GroupBy
	}
	return opt.GroupBy
}

// groupable reports whether the table can be split by a dimension.
func (t *table) groupable(dim string) bool {
	if t.roll != nil {
		return cube.HasRollup(t.roll, dim)
	}
	return t.has(dim)
}

// maxRollupGroups bounds the values of a dimension in a rollup: more than a report
// shows, because rollups are added before the rare ones are folded.
const maxRollupGroups = 4096

// RollUp aggregates all requests of a dataset into one rollup: of its traces, of
// its runs that have their requests, and of rollups that are there already. They
// are taken for parts of one whole. Options say how requests are grouped and
// judged; writer says who made it.
func RollUp(ctx context.Context, ds *serving.Dataset, opt Options, writer string) (*serving.Rollup, error) {
	in := &Input{Data: ds, Opt: opt}
	var whole *serving.Rollup
	add := func(r *serving.Rollup) error {
		if whole == nil {
			whole = r
			return nil
		}
		if err := whole.Add(ctx, r); err != nil {
			return fmt.Errorf("%s cannot be added to %s: %w; name only what is one whole, and the same options for all of it", r.Label, whole.Label, err)
		}
		return nil
	}
	in.addTables()
	for _, t := range in.tables {
		if t.roll != nil {
			if err := add(t.roll); err != nil {
				return nil, err
			}
			continue
		}
		r, err := in.rollUp(ctx, t)
		if err != nil {
			return nil, err
		}
		if err := add(r); err != nil {
			return nil, err
		}
	}
	if whole == nil {
		return nil, errors.New("no requests to roll up: want a trace, or benchmark results saved with their requests (--save-detailed)")
	}
	whole.Spec.Writer = writer
	return whole, nil
}

// rollUp aggregates one table.
func (in *Input) rollUp(ctx context.Context, t *table) (*serving.Rollup, error) {
	opt := in.Opt
	t.makePlan(opt)
	t.plan.MaxGroups, t.plan.Explore, t.plan.Conditions = maxRollupGroups, nil, opt.Goodput
	for _, s := range opt.SLOs {
		if why := t.cannotJudge(s); why != "" {
			return nil, fmt.Errorf("%s: objective %s: %s", t.src.Name(), s.Expr, why)
		}
	}
	var progress func(rows int64)
	if p := opt.Progress; p != nil {
		progress = func(rows int64) { p(t.src.Name(), rows) }
	}
	r, err := cube.RollUp(ctx, t.src, t.plan, &t.bad, progress)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.src.Name(), err)
	}
	in.tellInputs(t)
	s := &r.Spec
	s.Side, s.Gaps, s.GroupBy, s.Goodput = t.side(), t.gaps(), append([]string{}, t.groups...), GoodputText(opt.Goodput)
	for _, o := range opt.SLOs {
		s.SLOs = append(s.SLOs, o.Expr)
	}
	s.Columns = RollupColumns(t.src.Columns(), s.Dims)
	return r, nil
}

// cannotJudge says why a table cannot count an objective, "" where it can.
func (t *table) cannotJudge(s serving.SLO) string {
	for _, b := range s.By {
		if !t.has(b.Dim) {
			return "there is no column " + b.Dim
		}
	}
	return ""
}

// RollupColumns are the names of columns that a rollup knows of its requests: what
// a report asks for, and the dimensions.
func RollupColumns(columns []serving.Column, dims []string) []string {
	var out []string
	for _, c := range columns {
		_, isMetric := serving.MetricOf(serving.MetricKey(c.Name))
		switch {
		case isMetric, c.Name == serving.ColArrival, c.Name == serving.ColEnd, c.Name == serving.ColOutcome, c.Name == serving.ColStreaming, slices.Contains(dims, c.Name):
			out = append(out, c.Name)
		}
	}
	return out
}

// RollupSpec says what a rollup of a table with such columns holds: what a query
// inside a database engine has to bring back. step is the length of time windows,
// ns; timed are the metrics that are counted in them.
func RollupSpec(columns []serving.Column, opt Options, step int64) (spec serving.RollupSpec, timed []serving.MetricKey) {
	t := &table{src: &columnsOnly{columns: columns}}
	t.makePlan(opt)
	s := serving.RollupSpec{Layout: serving.RollupLayout, GroupBy: append([]string{}, t.groups...), Groupings: [][]string{}, Buckets: map[string][]int64{},
		WarmShare: opt.WarmShare, Goodput: GoodputText(opt.Goodput), Window: cube.WindowText(opt.Window)}
	for _, g := range t.plan.Groupings {
		s.Groupings = append(s.Groupings, append([]string{}, g...))
		for _, d := range g {
			if d == cube.DimTime {
				s.StepUS = step / 1000
				continue
			}
			if !slices.Contains(s.Dims, d) {
				s.Dims = append(s.Dims, d)
			}
			if b, ok := opt.Buckets[d]; ok {
				s.Buckets[d] = b
			}
		}
	}
	for _, o := range opt.SLOs {
		s.SLOs = append(s.SLOs, o.Expr)
	}
	s.Columns = RollupColumns(columns, s.Dims)
	for _, c := range columns {
		if c.Name == serving.ColArrival {
			s.Relative = c.Relative
		}
		if c.Name == string(serving.ITL) {
			s.Gaps = c.Gaps
		}
	}
	return s, windowMetrics
}

// columnsOnly is a table of which the columns are known, and nothing else.
type columnsOnly struct {
	serving.Rollup
	columns []serving.Column
}

// Columns implements serving.Requests.
func (c *columnsOnly) Columns() []serving.Column { return c.columns }

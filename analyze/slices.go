package analyze

import (
	"context"
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

func runSlices(_ context.Context, in *Input, _ *Report) (any, []string, error) {
	var out Slices
	var runs []*DatasetStats
	for _, t := range in.tables {
		d := t.datasetStats(in.Opt, in.halfOf(t))
		switch {
		case t.run == nil:
			out.Datasets = append(out.Datasets, d)
		case d.sliced():
			runs = append(runs, d)
		}
	}
	var notes []string
	if len(runs) > maxRunSlices {
		notes = append(notes, fmt.Sprintf("The prompts of %d runs differ in length; slices of that many runs are left out. Report up to %d runs to see theirs.", len(runs), maxRunSlices))
		runs = nil
	}
	out.Datasets = append(out.Datasets, runs...)
	if len(out.Datasets) == 0 {
		return nil, nil, nil
	}
	if err := fitExplorers(out.Datasets); err != nil {
		return nil, nil, err
	}
	return &out, append(notes,
		"Shares are of the requests sent. A slice's latencies cover its completed requests.",
		fmt.Sprintf("Cache state is by cached / prompt tokens: cold at 0, warm from %.0f %%, partial between, unknown where the trace does not say.", in.Opt.WarmShare*100),
		"Tables are never pooled: each trace and each run keeps its own slices.",
	), nil
}

// maxRunSlices is how many benchmark runs are sliced. A sweep's levels are
// compared with each other, in the sweep; slices of each would bury that.
const maxRunSlices = 3

// sliced reports whether a table falls into more than one slice: a benchmark
// whose prompts are all of one length has nothing to show here.
func (d *DatasetStats) sliced() bool {
	if len(d.Cross) > 1 {
		return true
	}
	return slices.ContainsFunc(d.Alone, func(a Dimension) bool { return a.Name != serving.ColOutcome && len(a.Slices) > 1 })
}

func (t *table) datasetStats(opt Options, half Half) *DatasetStats {
	d := &DatasetStats{Dataset: t.src.Name(), Half: half, Run: t.run, Side: t.side(), Columns: t.src.Columns(), Rows: t.cube.Rows,
		GroupBy: t.groups, Span: t.span(), Problems: t.bad.List(), Examples: t.examples(), Explore: t.explorer(opt)}
	if t.run != nil {
		d.Dataset = t.run.Label
	}
	for _, e := range t.cube.Excluded {
		d.Excluded = append(d.Excluded, Excluded(e))
	}
	d.All = t.slice(t.total(), nil, opt)
	if t.cross >= 0 {
		d.Cross = t.slicesOf(t.cross, opt)
	} else if len(t.groups) == 1 {
		d.Cross = t.slicesOf(t.alone[t.groups[0]], opt)
	}
	for _, name := range t.aloneDims(opt) {
		g := t.alone[name]
		dim := Dimension{Name: name, Slices: t.slicesOf(g, opt), Folded: t.cube.Groups[g].Folded[name]}
		// Where the cross is this dimension it stands there already.
		if len(dim.Slices) > 0 && !(len(t.groups) == 1 && t.groups[0] == name) {
			d.Alone = append(d.Alone, dim)
		}
	}
	return d
}

func (t *table) slicesOf(group int, opt Options) []*Slice {
	g := &t.cube.Groups[group]
	var out []*Slice
	for i := range g.Cells {
		out = append(out, t.slice(&g.Cells[i], g.Dims, opt))
	}
	return out
}

// slice turns a cell into a slice.
func (t *table) slice(c *cube.Cell, dims cube.Grouping, opt Options) *Slice {
	s := &Slice{Counts: t.countsOf(c), Dists: t.distsOf(c), Input: c.Input, Output: c.Output}
	for i, d := range dims {
		s.By = append(s.By, serving.Term{Dim: d, Value: c.Key[i]})
	}
	if sent := t.total().Sent; sent > 0 {
		s.Share = float64(c.Sent) / float64(sent)
	}
	s.Goodput = t.goodputOf(c, opt, t.span())
	s.SLO = t.sloResults(c, opt, s.Dists)
	if c.CachedOf > 0 {
		s.CachedShare = serving.Some(float64(c.Cached) / float64(c.CachedOf))
	}
	return s
}

// examples are the slow requests worth a look, with where to find them.
func (t *table) examples() []Example {
	var out []Example
	for _, e := range t.cube.Examples {
		x := Example{Rank: e.Rank, ID: e.ID, At: e.At, Source: e.Source, Row: e.Row, Values: e.Values}
		for _, d := range []string{serving.ColWorkload, serving.ColModel, serving.ColReplica, serving.ColOutcome} {
			if v, ok := e.Dims[d]; ok {
				x.By = append(x.By, serving.Term{Dim: d, Value: v})
			}
		}
		out = append(out, x)
	}
	return out
}

// Package analyze turns a dataset into typed findings. It opens no file, reads
// no clock, prints nothing and knows no HTML: package render lays out what it
// returns.
//
// Run works in three steps. Every table of requests is scanned into a cube
// (package cube), with everything that any section will ask of it in one plan.
// Then the sections run, each after those whose results it reads and beside the
// others. At last the gates are decided on what the sections found.
package analyze

import (
	"context"
	"fmt"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// Run analyses a dataset. The result depends on the data and the options only:
// not on the clock, the number of processors or the order of files.
func Run(ctx context.Context, ds *serving.Dataset, opt Options) (*Report, error) {
	return (&Input{Data: ds, Opt: opt}).run(ctx)
}

// run fills the cubes, runs the sections and decides the gates.
func (in *Input) run(ctx context.Context) (*Report, error) {
	opt, ds := in.Opt, in.Data
	if err := in.fill(ctx); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	sections := in.sections()
	rep := &Report{Title: opt.Title, Results: make([]Result, len(sections))}
	if err := runSections(ctx, in, rep, sections); err != nil {
		return nil, err
	}
	if rep.Title == "" {
		rep.Title = titleOf(ds)
		if in.sides != nil {
			rep.Title = fmt.Sprintf("%s against %s: %s", in.sides.Names[after], in.sides.Names[before], rep.Title)
		}
	}
	gate, err := decideGates(in, rep)
	if err != nil {
		return nil, err
	}
	rep.Gate = gate
	return rep, nil
}

// sections lists what the report will hold: a section about two sides has no
// place where there is one, and one that looks for a change within the data none
// where the other side is the baseline.
func (in *Input) sections() []*Section {
	return slices.DeleteFunc(slices.Clone(Sections), func(s *Section) bool { return s.Sides && in.sides == nil || s.Alone && in.sides != nil })
}

// titleOf names a report after what was measured.
func titleOf(ds *serving.Dataset) string {
	models := map[string]bool{}
	for _, r := range ds.Runs {
		if r.Model.OK {
			models[r.Model.V] = true
		}
	}
	for _, s := range ds.Servers {
		if s.Model.OK {
			models[s.Model.V] = true
		}
	}
	if len(models) == 1 {
		for m := range models {
			return m
		}
	}
	switch {
	case len(ds.Runs) > 0:
		return plural(len(ds.Runs), "benchmark run", "benchmark runs")
	case len(ds.Traces) == 1:
		return ds.Traces[0].Name()
	case len(ds.Traces) > 1:
		return plural(len(ds.Traces), "request trace", "request traces")
	case len(ds.Rollups) == 1:
		return ds.Rollups[0].Name()
	case len(ds.Rollups) > 1:
		return plural(len(ds.Rollups), "rollup of requests", "rollups of requests")
	}
	if len(ds.Servers) == 0 && len(ds.Logs) > 0 {
		return plural(len(ds.Logs), "log", "logs")
	}
	return plural(len(ds.Servers), "server", "servers")
}

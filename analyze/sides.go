package analyze

import (
	"context"
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// Sides are the two halves of a comparison. Each was read by itself: what is on
// one side never joins, or counts as a repetition of, what is on the other.
type Sides struct {
	Names [2]string // before and after, or the labels they were given
	Data  [2]*serving.Dataset
	// Windows limit each side by time: one trace, cut in two. Zero: no limit.
	Windows [2]cube.Window

	fleets [2][]*serving.Server // summed while analysing
}

// Before and after, as indices.
const (
	before = iota
	after
)

// Compare analyses two sides. The report holds everything a report of either
// side would, with each source named after its side, and what differs between
// them.
func Compare(ctx context.Context, s Sides, opt Options) (*Report, error) {
	in := &Input{Data: s.merge(), Opt: opt, sides: &s}
	return in.run(ctx)
}

// merge puts both sides into one dataset, under names that tell them apart.
func (s *Sides) merge() *serving.Dataset {
	out := &serving.Dataset{}
	for i, ds := range s.Data {
		name := s.Names[i]
		for _, r := range ds.Runs {
			r.ID, r.Label = name+"/"+r.ID, name+" · "+r.Label
		}
		for _, sv := range ds.Servers {
			sv.ID, sv.Label = name+"/"+sv.ID, name+" · "+sv.Label
		}
		var traces []serving.Requests
		for _, t := range ds.Traces {
			traces = append(traces, repeatsOf(t, name)...)
		}
		ds.Traces = traces
		out.Inputs = append(out.Inputs, ds.Inputs...)
		out.Runs = append(out.Runs, ds.Runs...)
		out.Traces = append(out.Traces, ds.Traces...)
		for _, r := range ds.Rollups {
			r.Label = name + " · " + r.Label
		}
		out.Rollups = append(out.Rollups, ds.Rollups...)
		out.Servers = append(out.Servers, ds.Servers...)
		out.Logs = append(out.Logs, ds.Logs...)
		out.Raw.Series = append(out.Raw.Series, ds.Raw.Series...)
		out.Raw.Relative = out.Raw.Relative || ds.Raw.Relative
	}
	return out
}

// maxRepeats is how many files of a table still count as repeats: a fleet's
// thousand part files are no thousand runs.
const maxRepeats = 64

// repeatsOf splits a table into its files, as the repeats of a side: three runs'
// traces in a directory read as one table. Parts of one long trace become blocks
// of time, between which the server differs as much as it does between runs.
func repeatsOf(t serving.Requests, side string) []serving.Requests {
	var files []string
	parts := map[string][]serving.Part{}
	for _, p := range t.Parts() {
		if len(parts[p.Source()]) == 0 {
			files = append(files, p.Source())
		}
		parts[p.Source()] = append(parts[p.Source()], p)
	}
	if len(files) < 2 || len(files) > maxRepeats {
		return []serving.Requests{&sidedTrace{t, side + " · " + t.Name(), t.Parts()}}
	}
	var out []serving.Requests
	for _, f := range files {
		out = append(out, &sidedTrace{t, side + " · " + f, parts[f]})
	}
	return out
}

// A sidedTrace is a trace, or a file of one, under the name of its side.
type sidedTrace struct {
	serving.Requests
	name  string
	parts []serving.Part
}

func (t *sidedTrace) Name() string          { return t.name }
func (t *sidedTrace) Parts() []serving.Part { return t.parts }

// sideOf returns the side of a run, a trace's requests or a server.
func (s *Sides) sideOf(x any) int {
	for i, ds := range s.Data {
		switch x := x.(type) {
		case *serving.Run:
			if slices.Contains(ds.Runs, x) {
				return i
			}
		case *serving.Server:
			if slices.Contains(ds.Servers, x) || slices.Contains(s.fleets[i], x) {
				return i
			}
		case *serving.EventLog:
			if slices.Contains(ds.Logs, x) {
				return i
			}
		case serving.Requests:
			roll, _ := x.(*serving.Rollup)
			if slices.Contains(ds.Traces, x) || slices.Contains(ds.Rollups, roll) {
				return i
			}
		}
	}
	panic(fmt.Sprintf("analyze: %T is of neither side", x)) // a programming error
}

// sideOfTable returns the side of a table of requests.
func (s *Sides) sideOfTable(t *table) int {
	if t.run != nil {
		return s.sideOf(t.run)
	}
	return s.sideOf(t.src)
}

// windowOf is the time a table or server is limited to: the user's, and within it
// that of its side.
func (in *Input) windowOf(side func() int) cube.Window {
	w := in.Opt.Window
	if in.sides == nil {
		return w
	}
	return narrower(w, in.sides.Windows[side()])
}

// narrower is the overlap of two windows, of which either may be no limit.
func narrower(a, b cube.Window) cube.Window {
	switch {
	case a == (cube.Window{}):
		return b
	case b == (cube.Window{}):
		return a
	}
	w := cube.Window{From: max(a.From, b.From), To: min(a.To, b.To)}
	if w.To <= w.From {
		w.To = w.From + 1 // an empty window is no "no limit"
	}
	return w
}

// sideOfServer is a server's side, -1 where there are none.
func (in *Input) sideOfServer(s *serving.Server) int {
	if in.sides == nil {
		return -1
	}
	return in.sides.sideOf(s)
}

// nameFleet names a fleet of a comparison after its side, and makes it one of
// that side's servers.
func (in *Input) nameFleet(f *ServerStats, side int) {
	if side < 0 {
		return
	}
	f.Server.ID, f.Server.Label = in.sides.Names[side]+"/"+f.Server.ID, in.sides.Names[side]+" · "+f.Server.Label
	in.sides.fleets[side] = append(in.sides.fleets[side], f.Server)
}

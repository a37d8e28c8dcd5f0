package analyze

import (
	"github.com/vreport/vreport/analyze/sweep"
)

// A Half says which side of a comparison a result is of.
type Half int

// The halves. A report of one side has none.
const (
	NoHalf Half = iota
	FirstHalf
	SecondHalf
)

// halfOf is the side of a run, a trace's requests, a server or a table.
func (in *Input) halfOf(x any) Half {
	if in.sides == nil {
		return NoHalf
	}
	if t, ok := x.(*table); ok {
		return FirstHalf + Half(in.sides.sideOfTable(t))
	}
	return FirstHalf + Half(in.sides.sideOf(x))
}

// A halfSweep is a group of runs that differ in load only, all of one side.
type halfSweep struct {
	sweep.Group
	half Half
}

// findSweeps groups runs into sweeps. The sides of a comparison are searched one
// by one: their runs of one level are no repeats of each other.
func findSweeps(in *Input) []halfSweep {
	var out []halfSweep
	add := func(half Half, groups []sweep.Group) {
		for _, g := range groups {
			out = append(out, halfSweep{g, half})
		}
	}
	if in.sides == nil {
		add(NoHalf, sweep.Find(in.Data.Runs, in.Opt.SweepBy))
		return out
	}
	for i, ds := range in.sides.Data {
		add(FirstHalf+Half(i), sweep.Find(ds.Runs, in.Opt.SweepBy))
	}
	return out
}

// name is what a half is called, "" in a report of one side.
func (in *Input) name(h Half) string {
	if h == NoHalf {
		return ""
	}
	return in.sides.Names[h-FirstHalf]
}

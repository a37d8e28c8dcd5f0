package analyze

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// gatedSlices are the slices that a gate decides on, too: those named with a
// threshold of their own.
func (in *Input) gatedSlices(c *Comparison) []*CompareRow {
	var out []*CompareRow
	for _, r := range c.Slices {
		if slices.ContainsFunc(in.Opt.SliceThresholds, func(t SliceThreshold) bool { return t.matches(r) }) {
			out = append(out, r)
		}
	}
	return out
}

// absentSlices leaves the gate undecided for each slice that was named with a
// threshold and is in no row: a name that was mistyped, or traffic that went away,
// must not pass for a slice that got no worse.
func (g *Gate) absentSlices(in *Input, c *Comparison) {
	if c.SameFiles {
		return
	}
	for _, t := range in.Opt.SliceThresholds {
		if !slices.ContainsFunc(c.Slices, t.matches) {
			g.add(GateUndecided, fmt.Sprintf("%s of %s: undecided, %s", figureTitle(t.Figure), termsText(t.By), in.whyNoSlice(c, t)))
		}
	}
}

// whyNoSlice says why a slice has no row of a figure.
func (in *Input) whyNoSlice(c *Comparison, t SliceThreshold) string {
	among := func(list []SliceRef) bool {
		return slices.ContainsFunc(list, func(s SliceRef) bool { return keyOf(s.By) == keyOf(t.By) })
	}
	names := in.sides.Names
	switch {
	case !slices.ContainsFunc(sliceFigures, t.fits):
		return "slices are compared by p50 and p95 of TTFT and TPOT and by the failed share"
	case among(c.New):
		return names[before] + " does not have the slice"
	case among(c.Gone):
		return names[after] + " does not have the slice"
	case among(c.TooSmall):
		return "too few requests in a run"
	case slices.ContainsFunc(c.Slices, func(r *CompareRow) bool { return r.isOf(t.By) }):
		return "the sides do not both have this figure of the slice"
	}
	if why := in.noSlice(serving.SLO{By: t.By}); why != "" {
		return why
	}
	return "the slice is not compared"
}

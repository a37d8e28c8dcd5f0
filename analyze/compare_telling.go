package analyze

import (
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// telling leaves out the slices that say nothing: one that holds every request of both
// sides is the whole again, and one by a dimension that a side does not state is
// neither new nor gone. One that is all of one side only is a slice as any other: where
// all were chat and half of them now are, chat is compared with chat.
func (c *comparing) telling(all []*sliced) []*sliced {
	return slices.DeleteFunc(all, func(s *sliced) bool {
		return s.sent == s.total || !c.states(before, s.by) || !c.states(after, s.by)
	})
}

// states reports whether requests of a side can be told apart by all dimensions of a
// slice.
func (c *comparing) states(side int, by []serving.Term) bool {
	return !slices.ContainsFunc(by, func(t serving.Term) bool {
		return !slices.ContainsFunc(c.out.Pairs, func(p *Pair) bool {
			return slices.ContainsFunc(p.units[side], func(u *unit) bool { return u.states(t.Dim) })
		})
	})
}

// states reports whether any request of a unit says what it is by a dimension.
func (u *unit) states(dim string) bool {
	if u.table != nil {
		g, ok := u.table.alone[dim]
		return ok && slices.ContainsFunc(u.table.cube.Groups[g].Cells, func(c cube.Cell) bool { return c.Key[0] != cube.Unknown })
	}
	return u.run != nil && slices.ContainsFunc(u.run.Run.Slices, func(x serving.ReportedSlice) bool {
		return slices.ContainsFunc(x.By, func(t serving.Term) bool { return t.Dim == dim })
	})
}

package analyze

import (
	"fmt"

	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// Bounds of what is drawn a slice: a slice must have so many completed requests
// at so many levels, and a dimension so few values.
const (
	sliceLevels   = 3
	sliceRequests = 20
	maxSliceCurve = 8
)

// slices makes a curve of each value of each dimension the requests are grouped
// by. Slices are never mixed into one frontier: each has its own.
func (s *Sweep) slices(in *Input, g sweep.Group) {
	for _, dim := range in.Opt.GroupBy {
		var curves []*Sweep
		values, ok := in.sliceValues(g, dim)
		if !ok || len(values) < 2 || len(values) > maxSliceCurve {
			continue
		}
		for _, v := range values {
			if c := s.slice(in, g, dim, v); c != nil {
				curves = append(curves, c)
			}
		}
		if len(curves) > 1 {
			s.Slices = append(s.Slices, curves...)
		}
	}
}

// sliceValues are the values of a dimension in the runs of a sweep, all of which
// must have their requests.
func (in *Input) sliceValues(g sweep.Group, dim string) ([]string, bool) {
	var out []string
	seen := map[string]bool{}
	for _, r := range g.Runs {
		t := in.tableOf(r)
		if t == nil {
			return nil, false
		}
		i, ok := t.alone[dim]
		if !ok {
			return nil, false
		}
		for _, c := range t.cube.Groups[i].Cells {
			if !seen[c.Key[0]] {
				seen[c.Key[0]] = true
				out = append(out, c.Key[0])
			}
		}
	}
	return out, true
}

// slice is the curve of one value; nil where too few levels have enough of its
// requests.
func (s *Sweep) slice(in *Input, g sweep.Group, dim, value string) *Sweep {
	out := &Sweep{By: []serving.Term{{Dim: dim, Value: value}}, Mode: s.Mode, XName: s.XName, PerGPU: s.PerGPU,
		Label: fmt.Sprintf("%s %s", dim, value)}
	for li, l := range g.Levels {
		var rs []reading
		for ri, r := range l.Runs {
			t := in.tableOf(r)
			for _, x := range t.slicesOf(t.alone[dim], in.Opt) {
				if len(x.By) == 1 && x.By[0].Value == value && x.Counts.Completed.Or(0) >= sliceRequests {
					rs = append(rs, sliceReading(s.Points[li].Runs[ri], x, s.gpus(r, in.Opt)))
				}
			}
		}
		if len(rs) > 0 {
			out.Points = append(out.Points, newPoint(l, rs))
		}
	}
	if len(out.Points) < sliceLevels {
		return nil
	}
	out.frontiers(in.Opt.SLOs)
	out.capacity()
	out.attained()
	out.turnDown()
	return out
}

package analyze

import (
	"context"
	"math"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// One run a side is two measurements of the same thing, its halves: what they differ
// by, no comparison may call. A slice has halves of its own, as an incident of one
// route does not show in all requests.

// unitHalves are the halves of a unit's requests, by order of arrival.
type unitHalves struct {
	whole  [2]*Slice
	slices [2]map[sliceKey]*Slice
}

// halves cuts the only units of levels in two. Tables of more rows than are read one by
// one have enough time windows to tell how their level moves.
func (c *comparing) halves(ctx context.Context) error {
	for _, p := range c.out.Pairs {
		if len(p.units[before]) != 1 || len(p.units[after]) != 1 {
			continue
		}
		for _, us := range p.units {
			var err error
			if us[0].halves, err = us[0].cut(ctx, c.in.Opt); err != nil {
				return err
			}
		}
	}
	return nil
}

// cut scans both halves of a unit's requests; nil where they have no order.
func (u *unit) cut(ctx context.Context, opt Options) (*unitHalves, error) {
	if u.series == nil || u.table.roll != nil || u.series.middle <= u.table.cube.First.Or(math.MaxInt64) {
		return nil, nil
	}
	out := &unitHalves{}
	first, last := u.table.cube.First.V, u.table.cube.Last.V
	for i, w := range []cube.Window{{From: first, To: u.series.middle}, {From: u.series.middle, To: last + 1}} {
		half, bad := *u.table, serving.Problems{}
		half.plan.Window, half.plan.Watch, half.plan.Explore, half.plan.Examples, half.plan.CDF = w, nil, nil, 0, false
		filled, err := cube.Fill(ctx, half.src, half.plan, &bad, nil)
		if err != nil {
			return nil, err
		}
		half.cube = filled
		out.whole[i], out.slices[i] = half.slice(half.total(), nil, opt), map[sliceKey]*Slice{}
		for _, s := range half.comparedSlices(opt) {
			out.slices[i][keyOf(s.By)] = s
		}
	}
	return out, nil
}

// of is a figure in both halves of a slice, of all requests where it is nil; nil where
// either half has too few requests for it.
func (h *unitHalves) of(by []serving.Term, f verdict.Figure) *verdict.Halves {
	if h == nil {
		return nil
	}
	var v [2]float64
	for i := range v {
		s := h.whole[i]
		if by != nil {
			s = h.slices[i][keyOf(by)]
		}
		if s == nil {
			return nil
		}
		if v[i] = s.figure(f); f.Metric == verdict.FailedShare {
			v[i] = s.failedShare()
		}
		if math.IsNaN(v[i]) {
			return nil
		}
	}
	return &verdict.Halves{First: v[0], Second: v[1]}
}

// failedShare is NaN where failures are not known, or too few requests were sent.
func (s *Slice) failedShare() float64 {
	if n := s.Counts.Sent.Or(0); s.Counts.Failed.OK && n >= minSlice {
		return float64(s.Counts.Failed.V) / float64(n)
	}
	return math.NaN()
}

// apart is how far the halves of all requests are apart, or of a slice that a smaller
// one is part of, a logarithm; 0 where it is not known.
func (h *unitHalves) apart(by []serving.Term, f verdict.Figure) float64 {
	if h == nil {
		return 0
	}
	most := 0.0
	look := func(by []serving.Term) {
		if v := h.of(by, f); v != nil && v.First > 0 && v.Second > 0 {
			most = max(most, math.Abs(math.Log(v.Second/v.First)))
		}
	}
	look(nil)
	for _, s := range h.slices[0] {
		if len(s.By) < len(by) && holds(by, s.By) {
			look(s.By)
		}
	}
	return most
}

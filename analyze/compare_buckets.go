package analyze

import (
	"slices"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// buckets compares what only the engines' histograms know: figures that the
// requests of the sides do not have. A quantile of a histogram is somewhere in a
// bucket, so there is a change only where the buckets of the sides do not overlap.
func (c *comparing) buckets() {
	b, a := c.oneServer(before), c.oneServer(after)
	if b == nil || a == nil {
		return
	}
	var decided, others []*CompareRow
	known := slices.Concat(c.out.Headline, c.out.Others)
	for i, f := range slices.Concat(c.headline(), otherFigures) {
		if rowOf(known, f) != nil || rowOf(decided, f) != nil {
			continue
		}
		r, ok := bucketRow(f, b, a)
		if !ok {
			continue
		}
		r.Threshold = c.in.Opt.threshold(f)
		if c.out.SameFiles {
			r.Method = verdict.SameFiles
		}
		row := &CompareRow{Share: 1, Row: r}
		if i < len(c.headline()) {
			decided = append(decided, row)
		} else {
			others = append(others, row)
		}
	}
	decideRows(decided, verdict.Headline)
	decideRows(others, verdict.Explored)
	c.out.Headline, c.out.Others = append(c.out.Headline, decided...), append(c.out.Others, others...)
}

// oneServer is what stands for a side's servers: its only fleet, whose buckets are
// summed, or its only server; nil where there is no one such.
func (c *comparing) oneServer(side int) *ServerStats {
	sv := Value[Servers](c.rep)
	if sv == nil {
		return nil
	}
	var all, fleets []*ServerStats
	for _, s := range sv.Servers {
		switch {
		case c.in.sides.sideOf(s.Server) != side:
		case s.Members > 0:
			fleets = append(fleets, s)
		case len(s.Dists) > 0:
			all = append(all, s)
		}
	}
	switch {
	case len(fleets) == 1 && fleets[0].Members == len(all):
		return fleets[0]
	case len(fleets) == 0 && len(all) == 1:
		return all[0]
	}
	return nil
}

func bucketRow(f verdict.Figure, b, a *ServerStats) (*verdict.Row, bool) {
	p, ok := serving.QuantileOf(f.Stat)
	db, da := b.Dists.Of(f.Metric), a.Dists.Of(f.Metric)
	if !ok || db == nil || da == nil || db.Origin != FromHistogram || da.Origin != FromHistogram {
		return nil, false
	}
	qb, ok0 := db.Q(p)
	qa, ok1 := da.Q(p)
	if !ok0 || !ok1 {
		return nil, false
	}
	return verdict.CompareBuckets(f, verdict.Bucket{Value: qb.Value, Lo: qb.Lo, Hi: qb.Hi}, verdict.Bucket{Value: qa.Value, Lo: qa.Lo, Hi: qa.Hi})
}

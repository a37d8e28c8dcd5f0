package analyze

import (
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// buckets compares what only the engines' histograms know: figures that the
// requests of the sides do not have. A quantile of a histogram is somewhere in a
// bucket, and with few observations in one of several, so there is a change only where
// those of the sides do not overlap.
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
	verdict.DecideHeadline(plainRows(decided))
	verdict.Decide(plainRows(others), verdict.Explored)
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
	if !ok {
		return nil, false
	}
	qb, ok0 := b.bucketOf(f.Metric, p)
	qa, ok1 := a.bucketOf(f.Metric, p)
	if !ok0 || !ok1 {
		return nil, false
	}
	return verdict.CompareBuckets(f, qb, qa)
}

// bucketOf is where a histogram's quantile lies. Few observations leave open in which
// bucket it is: the interval reaches from the bucket of the lower to that of the upper
// rank of the quantile's interval.
func (s *ServerStats) bucketOf(m serving.MetricKey, p float64) (verdict.Bucket, bool) {
	i := slices.IndexFunc(s.hists, func(w histWindow) bool { return w.metric == m })
	if i < 0 {
		return verdict.Bucket{}, false
	}
	w := &s.hists[i]
	q, ok := w.quantile(p)
	n := countOf(w.cum[len(w.cum)-1]).Or(0)
	if !ok || n < 1 {
		return verdict.Bucket{}, false
	}
	out := verdict.Bucket{Value: q.Value, Lo: serving.Some(0.0)}
	ranks := stat.QuantileRanks(n, p, verdict.Confidence)
	at := func(rank int64) stat.BucketQ { return stat.BucketQuantile(float64(rank)/float64(n), w.bounds, w.cum) }
	if ranks.HasLo() {
		out.Lo = finite(max(0, at(ranks.Lo).Lo))
	}
	if ranks.HasHi() {
		out.Hi = finite(at(ranks.Hi).Hi)
	}
	return out, out.Lo.OK
}

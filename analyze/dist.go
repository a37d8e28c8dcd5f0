package analyze

import (
	"cmp"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// distsOf turns a cell's summaries into distributions, in metric order.
func (t *table) distsOf(c *cube.Cell) Dists {
	var out Dists
	for _, m := range serving.Metrics {
		s := c.Summaries[m.Key]
		if s == nil || s.N == 0 {
			continue
		}
		d := &Dist{Metric: m.Key, Count: serving.Some(s.N), Mean: serving.Some(s.Mean), Std: serving.Some(s.Std),
			Min: serving.Some(s.Min), Max: serving.Some(s.Max), CDF: s.CDF,
			Origin: t.origin(), Side: t.side(), RelError: s.Error}
		if m.Key == serving.ITL {
			d.Gaps = t.gaps()
		}
		for _, q := range s.Quantiles {
			d.Quantiles = append(d.Quantiles, Quantile{P: q.P, Value: serving.Some(q.Value), Lo: q.Lo, Hi: q.Hi, Quality: quality(s.N, q)})
		}
		out = append(out, d)
	}
	return out
}

// side is where the table's times were measured: a benchmark's are the
// client's.
func (t *table) side() serving.Side {
	if t.run != nil {
		return serving.Client
	}
	return t.src.Side()
}

// gaps says whether the recorded gaps are between tokens or chunks.
func (t *table) gaps() string {
	for _, c := range t.src.Columns() {
		if c.Name == string(serving.ITL) {
			return c.Gaps
		}
	}
	return ""
}

// quality labels a quantile by what n can carry (package stat).
func quality(n int64, q cube.Quantile) Quality {
	lo, hi := q.Lo.Or(q.Value), q.Hi.Or(q.Value)
	return Quality(stat.QuantileQuality(n, q.P, q.Value, lo, hi, q.Lo.OK && q.Hi.OK, q.ACF1.Or(0)))
}

// qualityOfN labels a quantile whose interval is not known by n alone.
func qualityOfN(n int64, p float64) Quality {
	switch {
	case n < stat.MinN(p, confidence):
		return QualityUnsupported
	case float64(n)*(1-p) < 10:
		return QualityWeak
	}
	return QualityUnknown
}

// reportedDists turns a file's own aggregates into distributions. n is the
// number of completed requests; it is the count of the request metrics only,
// since a file does not say how many gaps it pooled.
func reportedDists(list []serving.Reported, side serving.Side, n serving.Opt[int64]) Dists {
	var out Dists
	for _, m := range serving.Metrics {
		d := &Dist{Metric: m.Key, Origin: FromFile, Side: side}
		if m.Key == serving.TTFT || m.Key == serving.E2E {
			d.Count = n
		}
		for _, a := range list {
			if a.Metric != m.Key {
				continue
			}
			if a.Side != "" {
				d.Side = a.Side
			}
			if a.N.OK {
				d.Count = a.N
			}
			d.Gaps = a.Gaps
			d.setReported(a, n)
		}
		if len(d.Quantiles) == 0 && !d.Mean.OK && !d.Min.OK && !d.Max.OK {
			continue
		}
		slices.SortFunc(d.Quantiles, func(a, b Quantile) int { return cmp.Compare(a.P, b.P) })
		out = append(out, d)
	}
	return out
}

// withReported adds the file's own distributions of metrics that its requests
// do not have: an array of latencies alone gives no TTFT.
func (ds Dists) withReported(r *serving.Run, n serving.Opt[int64]) Dists {
	if n.Or(0) == 0 {
		return ds
	}
	for _, d := range reportedDists(r.Reported, serving.Client, n) {
		if ds.Of(d.Metric) == nil {
			ds = append(ds, d)
		}
	}
	order := func(d *Dist) int {
		return slices.IndexFunc(serving.Metrics, func(m serving.Metric) bool { return m.Key == d.Metric })
	}
	slices.SortFunc(ds, func(a, b *Dist) int { return cmp.Compare(order(a), order(b)) })
	return ds
}

// setReported takes one figure. n bounds what a percentile of a request metric
// can be worth, though the file does not say how many values it is of; of gaps
// there are many more than requests.
func (d *Dist) setReported(a serving.Reported, n serving.Opt[int64]) {
	v := serving.Some(a.Value())
	switch a.Stat {
	case "mean":
		d.Mean = v
	case "std":
		d.Std = v
	case "min":
		d.Min = v
	case "max":
		d.Max = v
	default:
		p, ok := serving.QuantileOf(a.Stat)
		if _, dup := d.Q(p); ok && !dup {
			q := Quantile{P: p, Value: v, Lo: a.Lo, Hi: a.Hi}
			if a.N.OK {
				n = a.N
			}
			if n.OK && (a.N.OK || d.Metric != serving.ITL) {
				q.Quality = qualityOfN(n.V, p)
			}
			d.Quantiles = append(d.Quantiles, q)
		}
	}
}

package analyze

import (
	"context"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A unit is one measurement of a side: a benchmark run, or a trace.
type unit struct {
	side   int
	label  string
	run    *RunStats     // nil of a trace
	data   *DatasetStats // nil of a run
	table  *table        // nil of aggregates
	series *requestSeries
	halves *unitHalves // nil where they are not known
}

// trace reports whether the unit is what users sent, no benchmark: a table, or
// the figures of one.
func (u *unit) trace() bool { return u.run == nil || u.run.Run.Trace }

func (u *unit) dists() Dists {
	if u.run != nil {
		return u.run.Dists
	}
	return u.data.All.Dists
}

func (u *unit) counts() Counts {
	if u.run != nil {
		return u.run.Counts
	}
	return u.data.All.Counts
}

func (u *unit) goodput() *Goodput {
	if u.run != nil {
		return u.run.Goodput
	}
	return u.data.All.Goodput
}

// collect finds the units of both sides.
func (c *comparing) collect(ctx context.Context) error {
	if runs := Value[Runs](c.rep); runs != nil {
		for _, r := range runs.Runs {
			c.add(&unit{side: c.in.sides.sideOf(r.Run), label: r.Run.Label, run: r, table: c.in.tableOf(r.Run)})
		}
	}
	if sl := Value[Slices](c.rep); sl != nil {
		for _, d := range sl.Datasets {
			if d.Run != nil {
				continue
			}
			i := slices.IndexFunc(c.in.tables, func(t *table) bool { return t.run == nil && t.src.Name() == d.Dataset })
			c.add(&unit{side: c.in.sides.sideOfTable(c.in.tables[i]), label: d.Dataset, data: d, table: c.in.tables[i]})
		}
	}
	for _, side := range c.units {
		for _, u := range side {
			if u.table == nil || u.table.cube.Rows > maxSeries {
				continue
			}
			s, err := readSeries(ctx, u.table)
			if err != nil {
				return err
			}
			u.series = s
		}
	}
	return nil
}

func (c *comparing) add(u *unit) { c.units[u.side] = append(c.units[u.side], u) }

// value is a unit's figure: NaN where it has none.
func (u *unit) value(f verdict.Figure) float64 {
	switch f.Metric {
	case verdict.FailedShare:
		if n := u.counts(); n.Failed.OK && n.Sent.Or(0) > 0 {
			return float64(n.Failed.V) / float64(n.Sent.V)
		}
		return math.NaN()
	case verdict.GoodShare:
		if g := u.goodput(); g != nil && g.Origin == FromRequests {
			return g.Share.Or(math.NaN())
		}
		return math.NaN()
	case serving.RateRequests, serving.RateOutput:
		return u.rate(f.Metric).Or(math.NaN())
	}
	return u.dists().stat(f.Metric, f.Stat).Or(math.NaN())
}

// rate is a benchmark's throughput. A trace has none that would say anything of
// the server: its rate is what users sent.
func (u *unit) rate(k serving.MetricKey) serving.Opt[float64] {
	switch {
	case u.trace():
		return serving.None[float64]()
	case k == serving.RateRequests:
		return u.run.Throughput.Requests
	}
	return u.run.Throughput.Output
}

// sample gathers a figure of a side's units at one level. Only of a single one
// the inside is looked at.
func sample(units []*unit, f verdict.Figure) verdict.Sample {
	var s verdict.Sample
	for _, u := range units {
		s.Values = append(s.Values, u.value(f))
		switch n := u.counts(); f.Metric {
		case verdict.FailedShare:
			if n.Failed.OK {
				s.N, s.Of = s.N+n.Failed.V, s.Of+n.Sent.V
				s.Each = append(s.Each, verdict.Count{N: n.Failed.V, Of: n.Sent.V})
			}
		case verdict.GoodShare:
			if g := u.goodput(); g != nil && g.Origin == FromRequests {
				s.N, s.Of = s.N+g.Good.V, s.Of+g.Of.V
				s.Each = append(s.Each, verdict.Count{N: g.Good.V, Of: g.Of.V})
			}
		}
	}
	if len(units) == 1 {
		units[0].inside(f, &s)
	}
	return s
}

// inside adds what a single run tells of its own noise.
func (u *unit) inside(f verdict.Figure, s *verdict.Sample) {
	if f.Metric == verdict.FailedShare {
		s.Halves = u.halves.of(nil, f)
	}
	p, ok := serving.QuantileOf(f.Stat)
	if !ok {
		return
	}
	if u.series != nil {
		s.Series = u.series.of(f.Metric)
	}
	if d := u.dists().Of(f.Metric); d != nil {
		q, _ := d.Q(p)
		s.Lo, s.Hi = q.Lo, q.Hi
	}
	s.Drift = u.table.drift(f.Metric, p)
}

// blockOf is the length of the blocks that a run is resampled in.
func blockOf(arrivals []int64, e2e []float64) int {
	n := len(e2e)
	starts := 0.0
	if n > 1 && len(arrivals) == n {
		s := slices.Clone(e2e)
		slices.Sort(s)
		if span := float64(arrivals[n-1]-arrivals[0]) / 1e9; span > 0 {
			starts = float64(n) / span * stat.Quantile(s, 0.95)
		}
	}
	// Blocks as long as a good part of the run leave nothing to resample.
	return min(stat.BlockLength(n, starts), max(1, n/8))
}

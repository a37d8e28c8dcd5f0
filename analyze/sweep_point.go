package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// A reading is one repeat of a level: a run, or one slice of its requests.
type reading struct {
	run     *RunStats
	rate    serving.Opt[float64] // completed requests/s
	output  serving.Opt[float64] // tokens/s, of a GPU where the sweep is per GPU
	users   serving.Opt[float64]
	perUser serving.Opt[float64]
	goodput *Goodput
	slo     []SLOResult
	dists   Dists
}

// readingOf is a whole run. Its tokens/s are of one of so many GPUs; 0: of the
// server.
func readingOf(r *RunStats, gpus int) reading {
	out := reading{run: r, rate: r.Throughput.Requests, output: r.Throughput.Output, users: r.users(), perUser: r.Throughput.OutputPerUser,
		goodput: r.Goodput, slo: r.SLO, dists: r.Dists}
	if gpus > 0 && out.output.OK {
		out.output.V /= float64(gpus)
	}
	return out
}

// sliceReading is a slice of a run's requests over the run's duration. Its users
// follow from Little's law, and what one of them gets is the slice's tokens over
// the time its requests took.
func sliceReading(r *RunStats, s *Slice, gpus int) reading {
	out := reading{run: r, goodput: s.Goodput, slo: s.SLO, dists: s.Dists}
	if d := r.Duration.Or(0); d > 0 {
		out.rate = serving.Some(float64(s.Counts.Completed.V) / d)
		out.output = serving.Some(float64(s.Output) / d / float64(max(1, gpus)))
		if e := s.Dists.Of(serving.E2E); e != nil && e.Mean.OK && e.Mean.V > 0 {
			out.users = serving.Some(stat.InFlightOf(out.rate.V, e.Mean.V))
			if out.users.V > 0 {
				out.perUser = serving.Some(float64(s.Output) / d / out.users.V)
			}
		}
	}
	return out
}

// newPoint is a level of its repeats: each figure the median over them.
func newPoint(l sweep.Level, rs []reading) SweepPoint {
	p := SweepPoint{X: l.X, XUnlimited: l.Unlimited, Reached: true, readings: rs}
	for _, r := range rs {
		p.Runs = append(p.Runs, r.run)
		if c := r.run.Run.Load.MaxConcurrency; c.OK && c.V > r.run.Counts.Sent.Or(math.MaxInt64) {
			p.Reached = false
		}
	}
	p.Rate = p.median(func(r reading) serving.Opt[float64] { return r.rate })
	p.OutputPerS = p.median(func(r reading) serving.Opt[float64] { return r.output })
	p.Users = p.median(func(r reading) serving.Opt[float64] { return r.users })
	p.PerUser = p.median(func(r reading) serving.Opt[float64] { return r.perUser })
	p.TTFT99 = p.Stat(serving.TTFT, "p99")
	p.TPOT50 = p.Stat(serving.TPOT, "p50")
	p.E2E50 = p.Stat(serving.E2E, "p50")
	p.Goodput = p.median(func(r reading) serving.Opt[float64] {
		if r.goodput == nil {
			return serving.None[float64]()
		}
		return r.goodput.PerSecond
	})
	p.Attainment = p.attainment()
	p.MeetsSLO, p.Within = p.meets(), p.within()
	return p
}

// Stat is the median over the repeats of a metric's statistic: mean, p50, p99. It
// changes nothing: the forms of a report are made side by side.
func (p *SweepPoint) Stat(k serving.MetricKey, stat string) serving.Opt[float64] {
	with := *p
	if p.readings == nil { // made by hand
		for _, r := range p.Runs {
			with.readings = append(with.readings, readingOf(r, 0))
		}
	}
	return with.median(func(r reading) serving.Opt[float64] { return r.dists.stat(k, stat) })
}

// median takes a figure over the repeats that have it.
func (p *SweepPoint) median(f func(reading) serving.Opt[float64]) serving.Opt[float64] {
	vs := p.each(f)
	if len(vs) == 0 {
		return serving.None[float64]()
	}
	slices.Sort(vs)
	return serving.Some(stat.Quantile(vs, 0.5))
}

func (p *SweepPoint) each(f func(reading) serving.Opt[float64]) []float64 {
	var vs []float64
	for _, r := range p.readings {
		if v := f(r); v.OK && !math.IsNaN(v.V) && !math.IsInf(v.V, 0) {
			vs = append(vs, v.V)
		}
	}
	return vs
}

// attainment is the goodput of the repeat in the middle.
func (p *SweepPoint) attainment() *Goodput {
	var gs []*Goodput
	for _, r := range p.readings {
		if r.goodput != nil && r.goodput.Share.OK {
			gs = append(gs, r.goodput)
		}
	}
	if len(gs) == 0 {
		return nil
	}
	slices.SortStableFunc(gs, func(a, b *Goodput) int { return cmp.Compare(a.Share.V, b.Share.V) })
	return gs[(len(gs)-1)/2]
}

// meets reports whether every repeat passes every objective by its interval;
// missing where there is none, or one is undecided and none fails.
func (p *SweepPoint) meets() serving.Opt[bool] {
	all, any := true, false
	for _, r := range p.readings {
		for _, s := range r.slo {
			any = true
			if s.Result == GateFail {
				return serving.Some(false)
			}
			all = all && s.Result == GatePass
		}
	}
	if !any || !all {
		return serving.None[bool]()
	}
	return serving.Some(true)
}

// within reports whether the figures themselves keep every objective, whatever
// their intervals: the middle one of the repeats counts. Missing where no
// objective could be applied.
func (p *SweepPoint) within() serving.Opt[bool] {
	known := false
	for _, expr := range p.objectives() {
		var yes, no int
		for _, r := range p.readings {
			for _, s := range r.slo {
				if s.Expr != expr {
					continue
				}
				switch ok := s.holds(); {
				case ok.OK && ok.V:
					yes++
				case ok.OK:
					no++
				}
			}
		}
		if no > 0 && no >= yes {
			return serving.Some(false)
		}
		known = known || yes > 0
	}
	if !known {
		return serving.None[bool]()
	}
	return serving.Some(true)
}

// objectives lists the expressions that were judged at a point.
func (p *SweepPoint) objectives() []string {
	var out []string
	for _, r := range p.readings {
		for _, s := range r.slo {
			if !slices.Contains(out, s.Expr) {
				out = append(out, s.Expr)
			}
		}
	}
	return out
}

// holds says what the figure itself says of an objective: its attained share
// where that is known, else its value against the limit.
func (r SLOResult) holds() serving.Opt[bool] {
	slo, err := serving.ParseSLO(r.Expr)
	switch {
	case err != nil:
		return serving.None[bool]()
	case r.Result == GateFail:
		return serving.Some(false)
	case r.Result == GatePass:
		return serving.Some(true)
	case r.Attainment.OK && !slo.Mean:
		return serving.Some(r.Attainment.V >= slo.P)
	case r.Value.OK:
		return serving.Some(r.Value.V <= slo.Limit)
	}
	return serving.None[bool]()
}

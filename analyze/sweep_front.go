package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// tieTolerance is the relative difference per axis within which a point counts
// as tied with the frontier where nothing is known of the noise.
const tieTolerance = 0.02

// UserAxis is the key of the default frontier: tokens/s a user sees.
const UserAxis = "user"

// A frontAxis is what stands against throughput.
type frontAxis struct {
	metric serving.MetricKey // "" for tokens/s a user
	p      float64
}

func (a frontAxis) key() string {
	if a.metric == "" {
		return UserAxis
	}
	return string(a.metric) + "_" + serving.QuantileName(a.p)
}

// sign turns the axis so that less is better.
func (a frontAxis) sign() float64 {
	if a.metric == "" {
		return -1
	}
	return 1
}

func (a frontAxis) of(r reading) serving.Opt[float64] {
	if a.metric == "" {
		return r.perUser
	}
	return r.dists.stat(a.metric, serving.QuantileName(a.p))
}

// frontAxes are the second axes of frontiers: tokens/s a user as vLLM's
// plot_pareto has it, the median and p99 of each time of a request, and the
// percentiles the objectives name.
func frontAxes(slos []serving.SLO) []frontAxis {
	out := []frontAxis{{}}
	for _, m := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E} {
		ps := []float64{0.5, 0.99}
		for _, s := range slos {
			if s.Metric == m && !s.Mean && !slices.Contains(ps, s.P) {
				ps = append(ps, s.P)
			}
		}
		slices.Sort(ps)
		for _, p := range ps {
			out = append(out, frontAxis{m, p})
		}
	}
	return out
}

// frontiers classifies the points on every pair of axes that two or more points
// have.
func (s *Sweep) frontiers(slos []serving.SLO) {
	for _, a := range frontAxes(slos) {
		f := s.frontier(a)
		known := 0
		for _, v := range f.Values {
			if v.Y.OK && v.X.OK {
				known++
			}
		}
		if known > 1 || a.metric == "" && known > 0 {
			s.Frontiers = append(s.Frontiers, f)
		}
	}
	if len(s.Frontiers) == 0 || s.Frontiers[0].Key != UserAxis {
		return
	}
	f := s.Frontiers[0]
	for i := range s.Points {
		p := &s.Points[i]
		p.Dominance = f.Classes[i]
		if f.Shares != nil && p.Dominance != "" {
			p.Share = serving.Some(f.Shares[i])
		}
		if p.Dominance == string(stat.Frontier) {
			for _, r := range p.Runs {
				s.Front = append(s.Front, r.Run.ID)
			}
		}
	}
}

func (s *Sweep) frontier(a frontAxis) Frontier {
	f := Frontier{Key: a.key(), Metric: a.metric, P: a.p, Classes: make([]string, len(s.Points)), Values: make([]AxisValue, len(s.Points))}
	var at []int
	var pts [][]float64
	var noise [2][]float64
	for i := range s.Points {
		p := &s.Points[i]
		v := AxisValue{p.OutputPerS, p.median(a.of)}
		f.Values[i] = v
		if !v.Y.OK || !v.X.OK || !positive(v.Y.V) || !positive(v.X.V) {
			continue
		}
		at = append(at, i)
		pts = append(pts, []float64{a.sign() * v.X.V, -v.Y.V})
		for k, n := range []float64{p.noise(a), p.noise(frontAxis{})} {
			if !math.IsNaN(n) {
				noise[k] = append(noise[k], n)
			}
		}
	}
	eps := []float64{tolerance(noise[0]), tolerance(noise[1])}
	for k, c := range stat.Dominance(pts, eps) {
		f.Classes[at[k]] = string(c)
	}
	if len(at) > 1 {
		f.Shares, f.Basis = s.membership(a, at)
	}
	return f
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// tolerance is what two points may differ by and still be tied: the usual noise
// of the points, at 95 %.
func tolerance(noise []float64) float64 {
	if len(noise) == 0 {
		return tieTolerance
	}
	slices.Sort(noise)
	return 2 * stat.Quantile(noise, 0.5)
}

// noise is the relative standard error of a point on an axis: the variation of
// its repeats, else that of its requests; NaN where nothing is known.
//
// Of one run's requests a latency's is a quarter of its order-statistic interval
// on a logarithmic scale. That of tokens/s, which a user's share with the whole,
// is the variation of the time per token over the root of the number of
// requests. Requests of one run share a server: this is noise within the run
// alone, and too small where they come in bursts.
func (p *SweepPoint) noise(a frontAxis) float64 {
	if vs := p.each(a.of); len(vs) > 1 {
		return stat.CV(vs)
	}
	if len(p.readings) == 0 {
		return math.NaN()
	}
	ds := p.readings[0].dists
	if a.metric != "" {
		d := ds.Of(a.metric)
		if d == nil {
			return math.NaN()
		}
		q, ok := d.Q(a.p)
		if !ok || !q.Value.OK || !(q.Value.V > 0) {
			return math.NaN()
		}
		// An end that n cannot give is taken to lie as far as the other one.
		up, down := q.Hi.V/q.Value.V, q.Value.V/q.Lo.V
		switch {
		case q.Lo.OK && q.Hi.OK && q.Lo.V > 0:
			return math.Log(up*down) / (2 * z95)
		case q.Lo.OK && q.Lo.V > 0:
			return math.Log(down) / z95
		case q.Hi.OK:
			return math.Log(up) / z95
		}
		return math.NaN()
	}
	for _, k := range []serving.MetricKey{serving.Normalized, serving.TPOT} {
		if d := ds.Of(k); d != nil && d.Mean.OK && d.Std.OK && d.Mean.V > 0 && d.Count.Or(0) > 1 {
			return d.Std.V / d.Mean.V / math.Sqrt(float64(d.Count.V))
		}
	}
	return math.NaN()
}

// z95 is how many standard errors half a 95 % interval is.
const z95 = 1.959964

// membership is how often each point is on the frontier when the sweep is drawn
// anew: runs within a level where it has repeats, else around each point by the
// noise of its requests. Nil where neither is known.
func (s *Sweep) membership(a frontAxis, at []int) ([]float64, string) {
	type source struct {
		x, y     []float64 // repeats
		ex, ey   float64   // relative standard errors of a single run
		vx, vy   float64
		together bool
	}
	from := make([]source, len(at))
	repeats, requests := 0, 0
	for k, i := range at {
		p := &s.Points[i]
		src := source{vx: p.median(a.of).V, vy: p.OutputPerS.V, together: a.metric == ""}
		for _, r := range p.readings {
			if x := a.of(r); x.OK && r.output.OK {
				src.x, src.y = append(src.x, x.V), append(src.y, r.output.V)
			}
		}
		if len(src.x) > 1 {
			repeats++
		} else {
			src.ex, src.ey = p.noise(a), p.noise(frontAxis{})
			if math.IsNaN(src.ex) || math.IsNaN(src.ey) {
				src.ex, src.ey = 0, 0
			} else {
				requests++
			}
		}
		from[k] = src
	}
	if repeats+requests < len(at) {
		return nil, ""
	}
	var xs, ys []float64
	shares := stat.FrontShares(len(at), func(rng *rand.Rand, points [][]float64) {
		for k, src := range from {
			if len(src.x) > 1 {
				xs, ys = xs[:0], ys[:0]
				for range src.x {
					j := rng.IntN(len(src.x))
					xs, ys = append(xs, src.x[j]), append(ys, src.y[j])
				}
				slices.Sort(xs)
				slices.Sort(ys)
				points[k][0], points[k][1] = a.sign()*stat.Quantile(xs, 0.5), -stat.Quantile(ys, 0.5)
				continue
			}
			zy := rng.NormFloat64()
			zx := zy
			if !src.together {
				zx = rng.NormFloat64()
			}
			points[k][0], points[k][1] = a.sign()*src.vx*math.Exp(zx*src.ex), -src.vy*math.Exp(zy*src.ey)
		}
	})
	out := make([]float64, len(s.Points))
	for k, i := range at {
		out[i] = shares[k]
	}
	basis := fmt.Sprintf("%d resamples of the runs of each level", stat.Resamples)
	if requests > 0 {
		basis = fmt.Sprintf("%d draws around each point by the noise of its requests; without repeats the noise from run to run is not in it", stat.Resamples)
	}
	if requests > 0 && repeats > 0 {
		basis = fmt.Sprintf("%d resamples: runs where a level has repeats, else the noise of its requests", stat.Resamples)
	}
	return out, basis
}

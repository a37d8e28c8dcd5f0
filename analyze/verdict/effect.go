package verdict

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Confidence of all intervals here.
const Confidence = 0.95

// Resampling is fixed, so that the same data give the same verdict.
const (
	resamples = 2000
	seed      = 0x76726570
)

// An effect is log(after / before) with what is known of its error.
type effect struct {
	log    float64
	se     float64 // NaN where not known
	df     float64 // of se; +Inf where it is no estimate from few runs
	method Method
	p      float64   // where the method has one of its own; NaN: from log, se and df
	lo, hi float64   // log interval, where the method has one of its own; NaN otherwise
	noise  []float64 // of Welch's test: what each run deviates by from its side's mean, as it enters the effect
	self   self      // how much the only runs differ from themselves
}

// estimate is the effect within one stratum. family is how many figures share
// the error rate: ranks are used only where they could ever win against it.
func (s Stratum) estimate(f Figure, family int) (effect, bool) {
	b, a := s.Before.present(), s.After.present()
	e := effect{se: math.NaN(), df: math.Inf(1), p: math.NaN(), lo: math.NaN(), hi: math.NaN(), self: self{floor: math.NaN()}, method: ByRatio}
	if len(b) == 0 || len(a) == 0 || !positive(b) || !positive(a) {
		return e, false
	}
	if len(b) >= 2 && len(a) >= 2 {
		e, ok := repeated(b, a, family)
		if v := s.Before.Replayed + s.After.Replayed; ok && v > 0 {
			e.widen(v)
		}
		return e, ok
	}
	e.log = meanLog(a) - meanLog(b)
	if len(b) == 1 && len(a) == 1 {
		e.within(s, f)
	}
	return e, true
}

// repeated compares runs.
func repeated(b, a []float64, family int) (effect, bool) {
	w, ok := stat.WelchLog(b, a, Confidence)
	if !ok {
		return effect{}, false
	}
	e := effect{log: math.Log(w.Ratio), df: w.DF, p: w.P, method: ByWelch, self: self{floor: math.NaN()}, lo: math.Log(w.Lo), hi: math.Log(w.Hi)}
	e.noise = slices.Concat(deviations(b), deviations(a))
	if t := math.Abs(w.T); t > 0 && !math.IsInf(t, 1) {
		e.se = math.Abs(e.log) / t
	} else {
		e.se = standardError(b, a)
	}
	// Of four runs a side no permutation is rarer than 0.029, which no figure of a
	// family of several can pay for.
	if len(b) >= 4 && len(a) >= 4 && stat.MinP(len(b), len(a))*float64(max(family, 1)) < 1-Confidence {
		shift := stat.HodgesLehmann(logs(b), logs(a), Confidence)
		e.method, e.p = ByRanks, stat.MannWhitney(b, a).P
		e.log, e.lo, e.hi = shift.Value, shift.Lo, shift.Hi
	}
	return e, true
}

// widen adds a variance that the spread between runs does not hold. Ranks know
// nothing of it, so that the test is Welch's.
func (e *effect) widen(variance float64) {
	own := e.se * e.se
	e.method, e.lo, e.hi, e.p = ByWelch, math.NaN(), math.NaN(), math.NaN()
	e.se = math.Sqrt(own + variance)
	if own > 0 {
		e.df *= (own + variance) * (own + variance) / (own * own)
	} else {
		e.df = math.Inf(1)
	}
}

// within finds what one run a side can tell: the noise of its own requests.
func (e *effect) within(s Stratum, f Figure) {
	e.inside(s, f)
	if p, ok := f.quantile(); ok && e.method != ByRatio {
		e.self = s.steadiness(f, p)
	}
}

// inside finds the interval of one run a side.
func (e *effect) inside(s Stratum, f Figure) {
	if b, a := s.Before.Series, s.After.Series; b != nil && a != nil {
		if p, ok := f.quantile(); ok && enough(b, p) && enough(a, p) {
			i := stat.BootstrapQuantiles(*b, *a, []float64{p}, resamples, Confidence, seed)[0]
			if !math.IsNaN(i.Ratio) {
				e.method, e.log, e.lo, e.hi, e.p = ByBootstrap, math.Log(i.Ratio), math.Log(i.Lo), math.Log(i.Hi), i.P
				e.se = (e.hi - e.lo) / (2 * z)
				e.drifts(s)
				return
			}
		}
	}
	vb, okb := logVariance(s.Before)
	va, oka := logVariance(s.After)
	if okb && oka {
		e.method, e.se = ByInterval, math.Sqrt(vb+va)
		e.drifts(s)
	}
}

// drifts adds what the levels of both sides move by: blocks and intervals hold what
// neighbours share, not what a quarter of an hour does.
func (e *effect) drifts(s Stratum) {
	b, a := s.Before.Drift, s.After.Drift
	if b.Variance+a.Variance == 0 {
		return
	}
	v := e.se*e.se + b.Variance + a.Variance
	uncertain := 0.0
	for _, d := range []Drift{b, a} {
		if d.Variance > 0 {
			uncertain += d.Variance * d.Variance / d.DF
		}
	}
	e.se, e.df = math.Sqrt(v), v*v/uncertain // Satterthwaite
	e.lo, e.hi, e.p = math.NaN(), math.NaN(), math.NaN()
}

var z = distuv.UnitNormal.Quantile((1 + Confidence) / 2)

// logVariance is what an interval says of the variance of the logarithm.
func logVariance(s Sample) (float64, bool) {
	if !s.Lo.OK || !s.Hi.OK || !(s.Lo.V > 0) || s.Hi.V < s.Lo.V {
		return 0, false
	}
	se := math.Log(s.Hi.V/s.Lo.V) / (2 * z)
	return se * se, true
}

// enough reports whether a quantile has both ends of an interval: below, its
// resamples know nothing of the tail.
func enough(s *stat.Series, p float64) bool { return int64(len(s.Values)) >= stat.MinN(p, Confidence) }

// combine averages the effects of strata. Each level counts the same: a sweep
// compares levels, not requests.
func combine(es []effect) effect {
	if len(es) == 1 {
		return es[0]
	}
	out := effect{p: math.NaN(), lo: math.NaN(), hi: math.NaN(), self: self{floor: math.NaN()}, method: es[0].method}
	k := float64(len(es))
	variance, satterthwaite := 0.0, 0.0
	for _, e := range es {
		out.log += e.log / k
		v := e.se * e.se / (k * k) // NaN where a level has none
		variance += v
		satterthwaite += v * v / e.df
		if !(e.self.floor <= out.self.floor) && !math.IsNaN(e.self.floor) {
			out.self = e.self
		}
		out.method = weaker(out.method, e.method)
		for _, d := range e.noise {
			out.noise = append(out.noise, d/k)
		}
	}
	if out.method == ByRanks {
		out.method = ByWelch // levels are averaged by their means
	}
	if out.method != ByWelch {
		out.noise = nil // some levels have none
	}
	out.se, out.df = math.Sqrt(variance), math.Inf(1)
	if satterthwaite > 0 {
		out.df = variance * variance / satterthwaite
	}
	if out.method != ByWelch && len(es) >= minSigns {
		return bySigns(es, out)
	}
	return out
}

// minSigns is the number of levels from which their signs alone can reach a p
// value below 0.05: 2/2⁶ = 0.031.
const minSigns = 6

// bySigns tests one run a side at many levels by how many levels went which way.
// The interval is that of the mean over levels, whose spread holds the noise
// between runs.
func bySigns(es []effect, mean effect) effect {
	var d []float64
	up, down := 0, 0
	for _, e := range es {
		d = append(d, e.log)
		switch {
		case e.log > 0:
			up++
		case e.log < 0:
			down++
		}
	}
	_, std := stat.Moments(d)
	n := float64(len(d))
	mean.method, mean.df = BySigns, n-1
	mean.se = std * math.Sqrt(n/(n-1)) / math.Sqrt(n)
	mean.p = signP(up, down)
	return mean
}

// signP is the two-sided p of the sign test; levels without a change drop out.
func signP(up, down int) float64 {
	n := up + down
	if n == 0 {
		return 1
	}
	b := distuv.Binomial{N: float64(n), P: 0.5}
	return min(1, 2*b.CDF(float64(min(up, down))))
}

// weaker is the method that says less.
func weaker(a, b Method) Method {
	rank := map[Method]int{ByRanks: 0, ByWelch: 1, ByBootstrap: 2, ByInterval: 3, ByRatio: 4}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// interval returns the interval of the log effect, and p, where they are known.
func (e effect) interval() (lo, hi, p float64, ok bool) {
	lo, hi, p = e.lo, e.hi, e.p
	if math.IsNaN(lo) {
		if math.IsNaN(e.se) {
			return 0, 0, 0, false
		}
		half := studentQuantile((1+Confidence)/2, e.df) * e.se
		lo, hi = e.log-half, e.log+half
	}
	if math.IsNaN(p) {
		p = studentP(e.log, e.se, e.df)
	}
	return lo, hi, p, true
}

// detectable is the effect that this many runs with this noise would find in
// four of five comparisons.
func (e effect) detectable() float64 {
	if math.IsNaN(e.se) {
		return math.NaN()
	}
	const power = 0.8
	return (studentQuantile((1+Confidence)/2, e.df) + studentQuantile(power, e.df)) * e.se
}

func studentQuantile(p, df float64) float64 {
	if math.IsInf(df, 1) || df > 1e6 {
		return distuv.UnitNormal.Quantile(p)
	}
	return distuv.StudentsT{Sigma: 1, Nu: max(df, 1)}.Quantile(p)
}

func studentP(x, se, df float64) float64 {
	if se == 0 {
		if x == 0 {
			return 1
		}
		return 0
	}
	t := math.Abs(x / se)
	if math.IsInf(df, 1) || df > 1e6 {
		return 2 * distuv.UnitNormal.Survival(t)
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: max(df, 1)}.Survival(t)
}

package verdict

import (
	"math"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A Call is what may be said of a figure.
type Call string

// The calls. Faster is better, whatever the figure: more requests a second are
// faster.
const (
	Faster     Call = "faster"
	Slower     Call = "slower"
	Equivalent Call = "equivalent"
	Undecided  Call = "undecided"
)

// A Row is one figure compared.
type Row struct {
	Figure        Figure
	Before, After serving.Opt[float64] // of the runs together: the geometric mean, and over the levels
	Ratio         serving.Opt[float64] // after / before; of a share the difference
	Lo, Hi        serving.Opt[float64] // its interval
	P, PAdjusted  serving.Opt[float64]
	Method        Method
	Runs          [2]int // fewest runs a level, before and after
	Levels        int
	Threshold     float64               // a change that matters
	Floor         serving.Opt[float64]  // the change that the same thing shows against itself
	Unsteady      serving.Opt[Unsteady] // the side whose halves are that far apart, where it is of halves
	Held          bool                  // the row would be called but for the floor
	Detectable    serving.Opt[float64]  // the change that would be found four times in five
	Assumed       serving.Opt[float64]  // the noise between runs that had to be assumed
	Call          Call
	Why           string // why it is no more than that

	log, lo, hi float64   // the effect and its interval, logarithms (differences of a share)
	se, df      float64   // of the effect
	noise       []float64 // see effect
	steps       []step    // the effect at each level
	families    float64   // of BySigns: what shares its error rate; 0: not known
}

// Compare estimates one figure over the strata that both sides have. family is
// the number of figures that share an error rate, threshold the change that
// matters. ok is false where no stratum
// has the figure on both sides. The call waits for Decide, which knows all rows.
func Compare(f Figure, threshold float64, strata []Stratum, family int) (*Row, bool) {
	if f.IsShare() {
		return compareShares(f, threshold, strata)
	}
	r := &Row{Figure: f, Threshold: threshold, Runs: [2]int{math.MaxInt, math.MaxInt}}
	var es []effect
	var before, after float64
	for _, s := range strata {
		e, ok := s.estimate(f, family)
		if !ok {
			continue
		}
		es = append(es, e)
		r.steps = append(r.steps, step{s.Level, e.log})
		b, a := s.Before.present(), s.After.present()
		before, after = before+meanLog(b), after+meanLog(a)
		r.Runs = [2]int{min(r.Runs[0], len(b)), min(r.Runs[1], len(a))}
	}
	if r.Levels = len(es); r.Levels == 0 {
		return nil, false
	}
	n := float64(r.Levels)
	r.Before, r.After = serving.Some(math.Exp(before/n)), serving.Some(math.Exp(after/n))
	r.take(combine(es))
	return r, true
}

// Effect is the change: the logarithm of the ratio, of a share the difference.
func (r *Row) Effect() float64 { return r.log }

// take fills in an effect.
func (r *Row) take(e effect) {
	r.Method, r.log, r.se, r.df, r.noise = e.method, e.log, e.se, e.df, e.noise
	r.Ratio = serving.Some(math.Exp(e.log))
	if lo, hi, p, ok := e.interval(); ok {
		r.lo, r.hi = lo, hi
		r.Lo, r.Hi, r.P = serving.Some(math.Exp(lo)), serving.Some(math.Exp(hi)), serving.Some(p)
	}
	if d := e.detectable(); !math.IsNaN(d) {
		r.Detectable = serving.Some(math.Expm1(d))
	}
	switch {
	case !math.IsNaN(e.self.floor):
		r.takeSelf(e.self, true)
	case (e.method == ByWelch || e.method == ByRanks) && !math.IsNaN(e.se):
		r.Floor = serving.Some(math.Expm1(studentQuantile((1+Confidence)/2, e.df) * e.se))
	}
	if r.Method.WithinRun() || r.Method == BySigns { // the levels of a side share a server and its luck
		r.Assumed = serving.Some(r.Figure.AssumedNoise())
	}
}

// compareShares compares shares by their pooled counts: Newcombe's
// interval of a difference, widened where runs differ by more than chance.
func compareShares(f Figure, threshold float64, strata []Stratum) (*Row, bool) {
	r := &Row{Figure: f, Threshold: threshold, Method: ByCounts, Levels: len(strata)}
	var b, a Sample
	for i, s := range strata {
		b.N, b.Of, a.N, a.Of = b.N+s.Before.N, b.Of+s.Before.Of, a.N+s.After.N, a.Of+s.After.Of
		nb, na := len(s.Before.present()), len(s.After.present())
		if i == 0 {
			r.Runs = [2]int{nb, na}
		}
		r.Runs = [2]int{min(r.Runs[0], nb), min(r.Runs[1], na)}
	}
	if b.Of == 0 || a.Of == 0 {
		return nil, false
	}
	scale, df := dispersion(strata)
	wide := scale * studentQuantile((1+Confidence)/2, df) / z
	p0, p1 := float64(b.N)/float64(b.Of), float64(a.N)/float64(a.Of)
	l0, u0 := stat.Wilson(b.N, b.Of, Confidence)
	l1, u1 := stat.Wilson(a.N, a.Of, Confidence)
	d := p1 - p0
	r.Before, r.After, r.Ratio, r.log = serving.Some(p0), serving.Some(p1), serving.Some(d), d
	r.lo, r.hi = max(-1, d-wide*math.Hypot(p1-l1, u0-p0)), min(1, d+wide*math.Hypot(u1-p1, p0-l0))
	r.Lo, r.Hi = serving.Some(r.lo), serving.Some(r.hi)
	r.P = serving.Some(pooledP(b, a, scale, df))
	if min(r.Runs[0], r.Runs[1]) < 2 {
		r.Assumed = serving.Some(f.AssumedNoise())
	}
	if len(strata) == 1 {
		r.takeSelf(shareSteadiness(strata[0]), false)
	}
	return r, true
}

// dispersion is how many times further the runs' shares are apart than counts of
// independent requests would be, and the degrees of freedom that it is known
// with: failures come in bursts. It is never below 1, and 1 where no level has
// repeats.
func dispersion(strata []Stratum) (scale, df float64) {
	chi2, n := 0.0, 0
	for _, s := range strata {
		for _, side := range []Sample{s.Before, s.After} {
			if len(side.Each) < 2 || side.Of == 0 {
				continue
			}
			p := float64(side.N) / float64(side.Of)
			n += len(side.Each) - 1
			for _, c := range side.Each {
				if v := float64(c.Of) * p * (1 - p); v > 0 {
					d := float64(c.N) - float64(c.Of)*p
					chi2 += d * d / v
				}
			}
		}
	}
	if n == 0 || chi2 <= float64(n) {
		return 1, math.Inf(1)
	}
	return math.Sqrt(chi2 / float64(n)), float64(n)
}

// pooledP is the two-sided p of two shares being one.
func pooledP(b, a Sample, scale, df float64) float64 {
	n0, n1 := float64(b.Of), float64(a.Of)
	pooled := float64(b.N+a.N) / (n0 + n1)
	se := math.Sqrt(pooled * (1 - pooled) * (1/n0 + 1/n1))
	return studentP(float64(a.N)/n1-float64(b.N)/n0, scale*se, df)
}

package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// judged are the levels that an objective can be applied to, and that were
// really reached: a concurrency above the requests sent is no load of its own.
func (s *Sweep) judged() []*SweepPoint {
	var out []*SweepPoint
	for i := range s.Points {
		if p := &s.Points[i]; p.Within.OK && p.Reached {
			out = append(out, p)
		}
	}
	return out
}

// capacity finds the highest load that meets every objective.
func (s *Sweep) capacity() {
	levels := s.judged()
	if len(levels) == 0 {
		return
	}
	within := make([]bool, len(levels))
	for i, p := range levels {
		within[i] = p.Within.V
	}
	at := stat.FirstCrossing(within)
	c := &Capacity{}
	for _, i := range at.Reentry {
		c.Reentry = append(c.Reentry, levels[i].X)
	}
	if at.Pass >= 0 {
		c.At, c.Pass = levels[at.Pass], serving.Some(levels[at.Pass].X)
	}
	var pass, fail *SweepPoint
	if at.Pass >= 0 {
		pass = levels[at.Pass]
	}
	if at.Fail >= 0 {
		fail = levels[at.Fail]
		c.FailUnknown = fail.XUnlimited
		if !fail.XUnlimited {
			c.Fail = serving.Some(fail.X)
		}
		c.Objectives = fail.missed()
	}
	c.sure(levels)
	c.Decided = (pass == nil || pass.MeetsSLO.OK && pass.MeetsSLO.V) && fail != nil && fail.MeetsSLO.OK && !fail.MeetsSLO.V
	if pass != nil && fail != nil && !fail.XUnlimited {
		c.Estimate = estimate(pass, fail)
	}
	c.Text = s.capacityText(c, levels)
	s.Capacity = c
}

// sure finds the levels that the intervals decide: the lowest that fails, and
// the highest that passes below it.
func (c *Capacity) sure(levels []*SweepPoint) {
	for _, p := range levels {
		if p.XUnlimited || !p.MeetsSLO.OK {
			continue
		}
		if !p.MeetsSLO.V {
			c.SureFail = serving.Some(p.X)
			return
		}
		c.SurePass = serving.Some(p.X)
	}
}

// missed lists the objectives that a point's own figures do not keep.
func (p *SweepPoint) missed() []string {
	var out []string
	for _, r := range p.readings {
		for _, x := range r.slo {
			if ok := x.holds(); ok.OK && !ok.V && !slices.Contains(out, x.Expr) {
				out = append(out, x.Expr)
			}
		}
	}
	return out
}

// estimate interpolates between two levels where the first of the objectives is
// passed: the percentile on a logarithmic scale, or the attained share where
// failures count and no percentile shows them.
func estimate(pass, fail *SweepPoint) serving.Opt[float64] {
	best := math.Inf(1)
	for _, expr := range fail.missed() {
		slo, err := serving.ParseSLO(expr)
		if err != nil {
			continue
		}
		y0, y1 := pass.objective(expr, false), fail.objective(expr, false)
		x := stat.Interpolate(pass.X, fail.X, y0, y1, slo.Limit, true)
		if math.IsNaN(x) && !slo.Mean {
			a0, a1 := pass.objective(expr, true), fail.objective(expr, true)
			x = stat.Interpolate(pass.X, fail.X, a0, a1, slo.P, false)
		}
		if !math.IsNaN(x) {
			best = min(best, x)
		}
	}
	if math.IsInf(best, 1) {
		return serving.None[float64]()
	}
	return serving.Some(best)
}

// objective is an objective's value at a point, or its attained share; NaN where
// unknown.
func (p *SweepPoint) objective(expr string, share bool) float64 {
	v := p.median(func(r reading) serving.Opt[float64] {
		for _, x := range r.slo {
			if x.Expr == expr {
				if share {
					return x.Attainment
				}
				return x.Value
			}
		}
		return serving.None[float64]()
	})
	if !v.OK {
		return math.NaN()
	}
	return v.V
}

// loadText writes a level of the sweep.
func (s *Sweep) loadText(p *SweepPoint) string {
	if p.XUnlimited {
		return "no limit on the rate"
	}
	return s.axisText(p.X)
}

func (s *Sweep) axisText(x float64) string {
	switch s.XName {
	case sweep.Rate:
		return number(x) + " requests/s"
	case sweep.Concurrency:
		return "concurrency " + number(x)
	}
	return s.XName + " " + number(x)
}

func (s *Sweep) capacityText(c *Capacity, levels []*SweepPoint) string {
	first, last := levels[0], levels[len(levels)-1]
	var b strings.Builder
	switch {
	case !c.Pass.OK:
		fmt.Fprintf(&b, "Below %s, the lowest level: it misses %s.", s.loadText(first), strings.Join(c.Objectives, " and "))
	case len(c.Objectives) == 0:
		fmt.Fprintf(&b, "At least %s: every level keeps the objectives, up to the highest that was really loaded. How far it goes beyond is not measured.", s.loadText(last))
	default:
		fail := number(c.Fail.V)
		if c.FailUnknown {
			fail = "no limit on the rate"
		}
		fmt.Fprintf(&b, "Between %s, which keeps every objective, and %s, which misses %s.", s.loadText(c.At), fail, strings.Join(c.Objectives, " and "))
		if c.Estimate.OK {
			fmt.Fprintf(&b, " Interpolated, it is near %s.", kneeNumber(c.Estimate.V))
		}
	}
	if !c.Decided && len(c.Objectives) > 0 {
		b.WriteString(" Undecided: " + s.undecided(c) + ".")
	}
	if len(c.Reentry) > 0 {
		var xs []string
		for _, x := range c.Reentry {
			xs = append(xs, number(x))
		}
		fmt.Fprintf(&b, " Higher levels keep them again (%s): the curve is not monotone there, so the first miss counts.", strings.Join(xs, ", "))
	}
	if c.At != nil && c.At.Rate.OK {
		fmt.Fprintf(&b, " At the passing level %s requests/s were completed.", number(c.At.Rate.V))
	}
	return b.String()
}

// short writes a capacity as its bracket.
func (c *Capacity) short(s *Sweep) string {
	var out string
	switch {
	case !c.Pass.OK:
		out = "below the lowest level"
	case len(c.Objectives) == 0:
		out = "at least " + s.axisText(c.Pass.V)
	case c.Fail.OK:
		out = "between " + s.axisText(c.Pass.V) + " and " + number(c.Fail.V)
	default:
		out = "from " + s.axisText(c.Pass.V)
	}
	if !c.Decided && len(c.Objectives) > 0 {
		out += " (undecided)"
	}
	return out
}

// undecided says which intervals straddle an objective.
func (s *Sweep) undecided(c *Capacity) string {
	switch {
	case c.SurePass.OK && c.SureFail.OK:
		return fmt.Sprintf("by the 95 %% intervals it surely passes up to %s and surely fails from %s", number(c.SurePass.V), number(c.SureFail.V))
	case c.SureFail.OK:
		return fmt.Sprintf("by the 95 %% intervals it surely fails from %s, and no level surely passes %s", number(c.SureFail.V), s.fewText())
	case c.SurePass.OK:
		return fmt.Sprintf("by the 95 %% intervals it surely passes up to %s, and no level surely fails %s", number(c.SurePass.V), s.fewText())
	}
	return "no level has an interval that lies on one side of the objective; it takes more requests, or the requests themselves (--save-detailed)"
}

// attainedShares are those a capacity by attainment is told for.
var attainedShares = []float64{0.9, 0.95, 0.99}

// attained finds the highest loads at which so many of the sent requests are
// good.
func (s *Sweep) attained() {
	var levels []*SweepPoint
	for i := range s.Points {
		if p := &s.Points[i]; p.Attainment != nil && p.Attainment.Origin == FromRequests && p.Reached && !p.XUnlimited {
			levels = append(levels, p)
		}
	}
	if len(levels) == 0 {
		return
	}
	for _, share := range attainedShares {
		within := make([]bool, len(levels))
		for i, p := range levels {
			within[i] = p.Attainment.Share.V >= share
		}
		at := stat.FirstCrossing(within)
		a := Attained{Share: share, Decided: at.Fail >= 0}
		if at.Pass >= 0 {
			p := levels[at.Pass]
			a.Pass, a.Decided = serving.Some(p.X), a.Decided && p.Attainment.Lo.Or(0) >= share
		}
		if at.Fail >= 0 {
			p := levels[at.Fail]
			a.Fail, a.Decided = serving.Some(p.X), a.Decided && p.Attainment.Hi.Or(1) < share
		}
		s.Attained = append(s.Attained, a)
	}
}

// turnDown finds the load of the greatest goodput.
func (s *Sweep) turnDown() {
	var levels []*SweepPoint
	var good []float64
	for i := range s.Points {
		if p := &s.Points[i]; p.Goodput.OK && p.Reached && !p.XUnlimited {
			levels, good = append(levels, p), append(good, p.Goodput.V)
		}
	}
	i := stat.TurnDown(good)
	if i < 0 || good[i] <= 0 || len(levels) < 2 {
		return
	}
	t := &TurnDown{X: levels[i].X, PerSecond: good[i], Reached: i+1 < len(levels)}
	if !t.Reached {
		t.Text = fmt.Sprintf("Not reached: goodput still rises, to %s good requests/s at %s, the highest level.", number(t.PerSecond), s.loadText(levels[i]))
	} else {
		t.Text = fmt.Sprintf("Goodput is highest at %s with %s good requests/s, and %s at the next level.", s.loadText(levels[i]), number(t.PerSecond), number(good[i+1]))
		a, b := levels[i].Rate, levels[i+1].Rate
		if a.OK && b.OK && b.V > a.V {
			t.Text += fmt.Sprintf(" Throughput still rises there (%s → %s requests/s): this is the practical capacity under these conditions.", number(a.V), number(b.V))
		}
	}
	if g := levels[i].Attainment; g != nil && g.Origin == FromFile {
		t.Text += " The conditions are the files' own, not stored in them."
	}
	s.TurnDown = t
}

// noCapacity says why no objective gives a capacity.
func (s *Sweep) noCapacity(opt Options) string {
	if len(opt.SLOs) == 0 {
		return "pass --slo"
	}
	var why []string
	for i := range s.Points {
		for _, r := range s.Points[i].readings {
			for _, x := range r.slo {
				if text := x.Expr + ": " + x.Reason; !x.holds().OK && !slices.Contains(why, text) {
					why = append(why, text)
				}
			}
		}
	}
	switch {
	case len(why) > 0:
		return "none could be held against a level (" + strings.Join(why[:min(3, len(why))], "; ") + ")"
	case len(s.objectivesOf()) == 0:
		return "those given are about other requests than these"
	}
	return "no level that one could be held against was really reached"
}

// objectivesOf lists what was judged at any level.
func (s *Sweep) objectivesOf() (out []string) {
	for i := range s.Points {
		out = append(out, s.Points[i].objectives()...)
	}
	return out
}

// fewText says for want of what no level is sure.
func (s *Sweep) fewText() string {
	for i := range s.Points {
		for _, r := range s.Points[i].readings {
			for _, x := range r.slo {
				if x.Result == GateUndecided && x.Without == "" {
					return "with this many requests"
				}
			}
		}
	}
	return "without the requests themselves (--save-detailed)"
}

// target says what a wanted rate takes, by the requests/s completed at the
// passing side of the capacity. Each instance is the server that was measured.
func (s *Sweep) target(opt Options) {
	rate := opt.Target
	if rate <= 0 {
		return
	}
	t := &Target{Rate: rate}
	s.Target = t
	switch {
	case s.Capacity == nil:
		t.Text = "Not known: a rate has a capacity under an objective only; " + s.noCapacity(opt) + "."
		return
	case s.Capacity.At == nil || s.Capacity.At.Rate.Or(0) <= 0:
		t.Text = "Not known: no level keeps the objectives."
		return
	}
	c := s.Capacity.At.Rate.V
	n := math.Ceil(rate/c - 1e-9)
	t.Capacity, t.Instances = serving.Some(c), serving.Some(int64(n))
	t.Headroom = serving.Some(1 - rate/(n*c))
	t.Text = fmt.Sprintf("%s requests/s take %s of what was measured: one completed %s requests/s at %s, the passing side of the capacity, so together they leave %s of it unused.",
		number(rate), plural(int(n), "instance", "instances"), number(c), s.loadText(s.Capacity.At), percent(math.Round(t.Headroom.V*1000)/1000))
	if s.Mode == serving.ClosedLoop {
		t.Text += " In a closed loop the rate is an outcome: arrivals that do not wait for answers need more room."
	}
	if len(s.Capacity.Objectives) == 0 {
		t.Text += " The capacity may be higher: no level failed."
	}
}

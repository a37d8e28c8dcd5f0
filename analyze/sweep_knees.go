package analyze

import (
	"fmt"
	"math"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// knees names the knees of a sweep.
func (s *Sweep) knees() {
	switch {
	case s.offered():
		s.openKnees()
	case s.XName == sweep.Concurrency || s.XName == sweep.Rate:
		s.closedKnees()
	}
}

// offered reports whether the load axis is a rate at which requests are sent
// whatever the server does.
func (s *Sweep) offered() bool { return s.Mode == serving.OpenLoop && s.XName == sweep.Rate }

// kneeInput lists users and throughput by level. Levels whose concurrency
// exceeds the requests sent are one level: all requests at once.
func (s *Sweep) kneeInput() (n []float64, x [][]float64) {
	rest := -1
	for i := range s.Points {
		p := &s.Points[i]
		if !p.Users.OK || !p.OutputPerS.OK {
			continue
		}
		vs := p.each(func(r reading) serving.Opt[float64] { return r.output })
		if !p.Reached && rest >= 0 {
			x[rest] = append(x[rest], vs...)
			continue
		}
		n, x = append(n, p.Users.V), append(x, vs)
		if !p.Reached {
			rest = len(n) - 1
		}
	}
	return n, x
}

func (s *Sweep) closedKnees() {
	n, x := s.kneeInput()
	if len(n) == 0 {
		s.Knees = []Knee{{Method: "saturation", Unit: "users", Confidence: string(stat.NotReached),
			Text: "Not known: the files do not say how many requests were in flight."}}
		return
	}
	k := stat.FindKnees(n, x)
	s.addKnee("saturation", k.Saturation, fmt.Sprintf("N* = highest tokens/s × time per token at the lowest load = %s users in flight: there, growth as steep as at the lowest load would reach the highest throughput. The curve bends around it; from there on each further user costs the others speed.", kneeNumber(k.Saturation.N)))
	power := fmt.Sprintf("Of the levels, %s users in flight give the most throughput for its latency (X²/N): beyond it latency grows faster than throughput.", kneeNumber(k.Power.N))
	if k.Saturation.Confidence == stat.NotReached {
		power += " Throughput itself still rises: this is not where the server saturates."
	}
	if k.Fitted && k.Fit.Fits() && k.Power.Confidence != stat.NotReached {
		power += fmt.Sprintf(" Between the levels, by the fitted scalability law, it is at %s.", kneeNumber(k.Fit.Power()))
	}
	s.addKnee("power", k.Power, power)
	s.addKnee("usl", k.USL, fmt.Sprintf("By the fitted scalability law throughput is highest at %s users in flight and falls beyond.", kneeNumber(k.USL.N)))
	s.addKnee("kneedle", k.Kneedle, fmt.Sprintf("At %s users in flight the curve is farthest from the straight line between its ends (Kneedle, linear axes): a cross-check that depends on how far the sweep goes.%s", kneeNumber(k.Kneedle.N), bendsText(k.Bends)))
}

// bendsText says where other definitions put the bend.
func bendsText(bends []stat.Bend) string {
	if len(bends) == 0 {
		return ""
	}
	var parts []string
	for _, b := range bends {
		parts = append(parts, fmt.Sprintf("%s %s", b.Method, kneeNumber(b.N)))
	}
	return " Other definitions of the bend: " + strings.Join(parts, ", ") + "."
}

func kneeNumber(v float64) string { return fmt.Sprintf("%.3g", v) }

// addKnee turns a knee into one with words and its place on the load axis.
func (s *Sweep) addKnee(method string, k stat.Knee, text string) {
	out := Knee{Method: method, Unit: "users", Confidence: string(k.Confidence), Text: text, Basis: sentence(k.Reason)}
	if k.Confidence == stat.NotReached || math.IsNaN(k.N) {
		out.Confidence = string(stat.NotReached)
		out.Text, out.Basis = "Not reached: "+k.Reason+".", ""
	} else {
		out.X = serving.Some(k.N)
		out.Level = s.levelOf(k.N)
		if k.Shares != nil && method != "saturation" {
			out.Shares = map[string]float64{}
			for v, share := range k.Shares {
				out.Shares[kneeNumber(v)] += share
			}
		}
	}
	s.Knees = append(s.Knees, out)
}

// levelOf is where a number of users lies on the load axis: between the two
// levels that have fewer and more in flight.
func (s *Sweep) levelOf(users float64) serving.Opt[float64] {
	var below, above *SweepPoint
	for i := range s.Points {
		p := &s.Points[i]
		if !p.Users.OK || !p.Reached || p.XUnlimited {
			continue
		}
		if p.Users.V <= users && (below == nil || p.Users.V > below.Users.V) {
			below = p
		}
		if p.Users.V >= users && (above == nil || p.Users.V < above.Users.V) {
			above = p
		}
	}
	switch {
	case below == nil || above == nil:
		return serving.None[float64]()
	case below == above || above.Users.V == below.Users.V:
		return serving.Some(below.X)
	}
	f := math.Log(users/below.Users.V) / math.Log(above.Users.V/below.Users.V)
	return serving.Some(below.X * math.Pow(above.X/below.X, f))
}

// openLevels are the levels of an open loop with an offered rate.
func (s *Sweep) openLevels() []*SweepPoint {
	var out []*SweepPoint
	for i := range s.Points {
		if p := &s.Points[i]; !p.XUnlimited && p.Rate.OK && p.X > 0 {
			out = append(out, p)
		}
	}
	return out
}

// openKnees are the knees over the offered rate: where it is no longer achieved,
// and where a request takes twice as long as a lone one.
func (s *Sweep) openKnees() {
	levels := s.openLevels()
	var rate, got, lat, latAt []float64
	for _, p := range levels {
		rate, got = append(rate, p.X), append(got, p.Rate.V)
	}
	first, last := openSaturation(levels)
	for i, p := range levels {
		// In an overload latency depends on how long the run lasted.
		if l := p.timeInSystem(); l.OK && l.V > 0 && (first < 0 || i < first) {
			lat, latAt = append(lat, l.V), append(latAt, p.X)
		}
	}
	sat := Knee{Method: "saturation", Unit: "requests/s", Confidence: string(stat.NotReached)}
	switch {
	case len(levels) == 0:
		sat.Text = "Not reached: no level has an achieved rate."
	case first < 0:
		sat.Text = fmt.Sprintf("Not reached: each of the %d offered rates was achieved.", len(levels))
	default:
		sat.X, sat.Level, sat.Confidence = serving.Some(rate[first]), serving.Some(rate[first]), string(stat.Medium)
		sat.Text = fmt.Sprintf("At %s requests/s offered only %s were achieved: the first level below %s of what a server that keeps up shows over such a run.", number(rate[first]), number(got[first]), percent(stat.AchievedShare))
		if last >= 0 {
			sat.Text += fmt.Sprintf(" The level before it, %s, still kept up.", number(rate[last]))
			if got[first] < 0.8*rate[first] && rate[first] <= 2*rate[last] {
				sat.Confidence = string(stat.High)
			}
		} else {
			sat.Confidence = string(stat.Low)
			sat.Text += " It is the lowest level: the knee lies below."
		}
	}
	s.Knees = append(s.Knees, sat, openPower(latAt, lat), openKneedle(latAt, lat))
}

// openPower is the power knee of an open loop: half the capacity of a single
// queue that explains the latencies.
func openPower(rate, lat []float64) Knee {
	k := Knee{Method: "power", Unit: "requests/s", Confidence: string(stat.NotReached)}
	l, ok := stat.FitOpenLine(rate, lat)
	switch {
	case !ok:
		k.Text = "Not known: it takes three rates below saturation whose latency rises."
	case !l.Fits():
		k.Text = fmt.Sprintf("Not known: the latencies are not those of a single queue (R² %.2f, want more than 0.9), as where the server batches.", l.R2)
	case l.Power() > rate[len(rate)-1] || l.Power() < rate[0]:
		k.Text = fmt.Sprintf("Not reached: by the latencies the capacity is near %s requests/s, and half of it lies outside the rates that were tried.", kneeNumber(l.Capacity))
	default:
		k.X, k.Level, k.Confidence = serving.Some(l.Power()), serving.Some(l.Power()), string(stat.Medium)
		k.Text = fmt.Sprintf("Half of %s requests/s, the capacity of a single queue with these latencies: there a request takes twice as long as a lone one (%s).", kneeNumber(l.Capacity), seconds(l.R0))
		k.Basis = fmt.Sprintf("R² %.3f of a line of 1/latency over %d rates.", l.R2, len(rate))
	}
	return k
}

func openKneedle(rate, lat []float64) Knee {
	k := Knee{Method: "kneedle", Unit: "requests/s", Confidence: string(stat.NotReached), Text: "Not reached: the latency has no bend that stands out from its chord."}
	if v, ok := stat.Kneedle(rate, lat, stat.ConvexIncreasing, 1); ok {
		k.X, k.Level, k.Confidence = serving.Some(v), serving.Some(v), string(stat.Low)
		k.Text = fmt.Sprintf("At %s requests/s offered latency is farthest below the straight line between its ends (Kneedle, linear axes): a cross-check that depends on how far the sweep goes.", number(v))
	}
	return k
}

// timeInSystem is the mean time of a request at a level: E2E, or TTFT and the
// gaps of a mean request.
func (p *SweepPoint) timeInSystem() serving.Opt[float64] {
	if v := p.Stat(serving.E2E, "mean"); v.OK {
		return v
	}
	if p.Users.OK && p.Rate.Or(0) > 0 {
		return serving.Some(p.Users.V / p.Rate.V) // Little's law
	}
	return serving.None[float64]()
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// saturatedBelow is the share of an offered rate below which it is not achieved.
const saturatedBelow = stat.AchievedShare

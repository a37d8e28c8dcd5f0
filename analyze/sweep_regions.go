package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/sweep"
	"github.com/vreport/vreport/ingest/serving"
)

// Rules of the regions (judgement, tuned on simulated sweeps whose limit is
// known).
const (
	flatThroughput = 0.25 // growth of throughput over growth of load, both as logarithms
	flatTPOT       = 0.10 // growth of TPOT that is none
	queueGrowth    = 1.3  // growth of TTFT that is a queue
	queueJump      = 3.0  // growth of TTFT where the limit lies between two levels
	mostlyQueue    = 0.5  // share of the added time that is TTFT
	twiceAlone     = 2.0  // time over that of the lowest rate: Kleinrock's rule
)

// regions finds the three regions of the curve.
func (s *Sweep) regions(in *Input) {
	switch {
	case s.offered():
		s.openRegions()
	case s.XName == sweep.Concurrency:
		s.closedRegions()
	}
	if r := s.Region(Queueing); r != nil {
		r.stop(s, in.evidence(s))
	}
}

// reached are the levels that were really loaded, in order.
func (s *Sweep) reached() []*SweepPoint {
	var out []*SweepPoint
	for i := range s.Points {
		if p := &s.Points[i]; p.Reached && !p.XUnlimited && p.X > 0 && p.OutputPerS.Or(0) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func (s *Sweep) closedRegions() {
	ps := s.reached()
	if len(ps) < 3 {
		return
	}
	first, last := ps[0].X, ps[len(ps)-1].X
	bend, why := s.bend(ps)
	queue, how := queueStart(ps)
	if queue < bend {
		bend, why = queue, "throughput grows with the load up to where it stops"
	}
	add := func(name string, from, to float64, text string) {
		if to > from {
			s.Regions = append(s.Regions, Region{Name: name, From: from, To: to, Text: text})
		}
	}
	add(Room, first, min(bend, last), "Room in the batch: "+why+".")
	add(Saturating, max(bend, first), min(queue, last), "Saturation: each further user still adds throughput, and makes every other one slower.")
	add(Queueing, queue, last, "Only the queue grows: "+how+".")
}

// bend is where room ends, on the load axis: N*. Where throughput still rises at
// the end its highest value is a lower bound, and so is N*.
func (s *Sweep) bend(ps []*SweepPoint) (float64, string) {
	if k := s.Knee("saturation"); k != nil && k.Level.OK {
		return k.Level.V, "throughput grows nearly with the load, up to N*, where the asymptotes cross"
	}
	first := ps[0]
	if !first.Users.OK {
		return math.Inf(1), "throughput grows with the load"
	}
	top := first.OutputPerS.V
	for _, p := range ps {
		top = max(top, p.OutputPerS.V)
	}
	if l := s.levelOf(top * first.Users.V / first.OutputPerS.V); l.OK {
		return l.V, "throughput grows nearly with the load, up to N* at least (by the highest throughput seen)"
	}
	return math.Inf(1), "throughput grows with the load"
}

// queueStart is the load from which only the queue grows; infinite where the
// sweep does not go so far.
//
// From a level on, throughput and TPOT are flat and TTFT grows. Where the limit
// lies between the last two levels nothing is flat yet, but most of the added
// time is TTFT; what runs at once then follows from Little's law, and the queue
// starts where the load exceeds it.
func queueStart(ps []*SweepPoint) (float64, string) {
	start := len(ps) - 1
	for start > 0 && queues(ps[start-1], ps[start]) {
		start--
	}
	if start < len(ps)-1 {
		a, b := ps[start], ps[len(ps)-1]
		from, how := a.X, fmt.Sprintf("from %s to %s throughput goes %s → %s tokens/s", number(a.X), number(b.X), number(a.OutputPerS.V), number(b.OutputPerS.V))
		if x, y := a.tpot(), b.tpot(); x.OK && y.OK {
			how += fmt.Sprintf(", TPOT %s → %s", seconds(x.V), seconds(y.V))
		}
		if x, y := a.ttft(), b.ttft(); x.OK && y.OK {
			how += fmt.Sprintf(", TTFT %s → %s (means)", seconds(x.V), seconds(y.V))
		}
		// The level before it may be the one that a limit between the two cut off.
		if start > 0 {
			if x, text := cutOff(ps[start-1], a); text != "" {
				return x, text
			}
		}
		return from, how
	}
	if len(ps) > 1 {
		if x, how := cutOff(ps[len(ps)-2], ps[len(ps)-1]); how != "" {
			return x, how
		}
	}
	return math.Inf(1), ""
}

// queues reports whether from a level to the next only the queue grew.
func queues(a, b *SweepPoint) bool {
	load := math.Log(b.X / a.X)
	if !(load > 0) || math.Log(b.OutputPerS.V/a.OutputPerS.V) > flatThroughput*load {
		return false
	}
	known := false
	if x, y := a.tpot(), b.tpot(); x.OK && y.OK && x.V > 0 {
		if y.V > x.V*(1+flatTPOT) {
			return false
		}
		known = true
	}
	if x, y := a.ttft(), b.ttft(); x.OK && y.OK && x.V > 0 {
		return y.V >= x.V*min(queueGrowth, b.X/a.X)
	}
	return known
}

// cutOff says where, between two levels, the load exceeds what runs at once.
func cutOff(a, b *SweepPoint) (float64, string) {
	ta, tb, la, lb := a.ttft(), b.ttft(), a.timeInSystem(), b.timeInSystem()
	if !ta.OK || !tb.OK || !la.OK || !lb.OK || !(ta.V > 0) || tb.V < queueJump*ta.V || lb.V <= la.V || (tb.V-ta.V)/(lb.V-la.V) < mostlyQueue {
		return 0, ""
	}
	run := b.running(ta.V)
	if !run.OK || run.V >= 0.95*b.X || run.V < 0.8*a.X {
		return 0, ""
	}
	x := min(max(run.V, a.X), b.X)
	return x, fmt.Sprintf("between %s and %s, most of the added time is TTFT (%s → %s); by Little's law about %s requests run at once at the higher level, the others wait",
		number(a.X), number(b.X), seconds(ta.V), seconds(tb.V), kneeNumber(run.V))
}

// running is how many requests run at once, by Little's law over the time they
// do not wait: the whole less the TTFT that exceeds a first token's own.
func (p *SweepPoint) running(own float64) serving.Opt[float64] {
	t, l := p.ttft(), p.timeInSystem()
	if !p.Rate.OK || !t.OK || !l.OK {
		return serving.None[float64]()
	}
	return serving.Some(stat.InFlightOf(p.Rate.V, l.V-max(0, t.V-own)))
}

// tpot and ttft are a level's means: a queue shows in them at once, in a median
// only when half of the requests wait.
func (p *SweepPoint) tpot() serving.Opt[float64] { return p.meanOr(serving.TPOT) }
func (p *SweepPoint) ttft() serving.Opt[float64] { return p.meanOr(serving.TTFT) }

func (p *SweepPoint) meanOr(k serving.MetricKey) serving.Opt[float64] {
	if v := p.Stat(k, "mean"); v.OK {
		return v
	}
	return p.Stat(k, "p50")
}

// openRegions are those of a rate sweep: room up to where a request takes twice
// as long as at the lowest rate, and a queue from where the offered rate is no
// longer achieved.
func (s *Sweep) openRegions() {
	ps := s.openLevels()
	if len(ps) < 2 {
		return
	}
	first, last := ps[0].X, ps[len(ps)-1].X
	var got []float64
	for _, p := range ps {
		got = append(got, p.Rate.V)
	}
	queue, how := math.Inf(1), ""
	if i, ok := openSaturation(ps); i >= 0 {
		top := slices.Max(got)
		queue, how = ps[i].X, fmt.Sprintf("at %s requests/s offered %s are achieved", number(ps[i].X), number(got[i]))
		if ok >= 0 {
			queue = min(max(top, ps[ok].X), ps[i].X)
			how += fmt.Sprintf("; the most that any level completed is %s requests/s, and arrivals beyond it wait", number(top))
		}
	}
	bend, why := s.doubled(ps)
	if queue < bend {
		bend, why = queue, fmt.Sprintf("a request takes less than %g times its time at the lowest rate", twiceAlone)
	}
	add := func(name string, from, to float64, text string) {
		if to > from {
			s.Regions = append(s.Regions, Region{Name: name, From: from, To: to, Text: text})
		}
	}
	add(Room, first, min(bend, last), "Room: "+why+".")
	add(Saturating, max(bend, first), min(queue, last), "Saturation: the rate is achieved, and each request takes longer for it.")
	add(Queueing, queue, last, "Only the queue grows: "+how+". Latencies depend on how long the run lasted.")
}

// doubled is the rate at which a request takes twice as long as at the lowest.
func (s *Sweep) doubled(ps []*SweepPoint) (float64, string) {
	base := ps[0].timeInSystem()
	why := fmt.Sprintf("a request takes less than %g times its time at the lowest rate", twiceAlone)
	if !base.OK || base.V <= 0 {
		return math.Inf(1), "the rate is achieved"
	}
	limit := twiceAlone * base.V
	for i := 1; i < len(ps); i++ {
		a, b := ps[i-1].timeInSystem(), ps[i].timeInSystem()
		if !a.OK || !b.OK {
			continue
		}
		if b.V > limit {
			if x := stat.Interpolate(ps[i-1].X, ps[i].X, a.V, b.V, limit, true); !math.IsNaN(x) {
				return x, why
			}
			return ps[i].X, why
		}
	}
	return math.Inf(1), why
}

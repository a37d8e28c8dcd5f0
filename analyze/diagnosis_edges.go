package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// An edge is where a bad stretch begins or ends, as far as windows tell: within
// the two segments beside it, whose levels are known.
type edge struct {
	from, to      float64 // begin of the segment before it, end of the one after it
	before, after float64 // their levels
}

// A step is where requests pass from one state into the other.
type step struct {
	at            float64 // arrival of the first request of the second state
	width         float64 // seconds it may be off, to either side
	first, second float64 // share of requests above the middle, in each
}

// refined takes begin and end of a found stretch from the requests one by one,
// where they tell them closer than windows do. A window may hold some of both
// states, and a segment of windows a healthy one: all of both segments beside an
// edge is searched.
func (o onset) refined(s *source) onset {
	if s.rows == nil {
		return o
	}
	get, ok := rowValue[o.signal]
	if !ok {
		return o
	}
	least := min(leastSeconds, s.rows.span()/10) // that a phase takes to be compared: see enough
	if p, ok := s.rows.stepAt(o.rise, get, o.after); ok {
		_, usual := s.rows.windows()
		o.from, o.width = p.at, p.width
		// Requests that were in flight then felt some of it: they are of neither.
		o.guard = max(0, p.at-max(p.width, min(usual, p.at/2)), min(least, p.at-p.width))
	} else {
		o.width = max(o.width, o.from-o.guard) // the window before it may hold some of it
	}
	p, ok := s.rows.stepAt(o.fall, get, o.after)
	if !ok || p.at <= o.from || o.open && !s.over(o, p) {
		return o
	}
	o.to, o.endWidth, o.open = max(p.at, min(o.from+least, s.rows.span())), p.width, false
	return o
}

// over reports whether a stretch that is bad to the last window ended before it:
// good requests follow for longer than the batch takes to empty when nothing more
// arrives, which is no recovery.
func (s *source) over(o onset, p step) bool {
	drained := s.rows.span() - fillTimes*s.phase(o.from, p.at).E2E.Mean
	return p.second < p.first/2 && p.at < drained
}

// rowValue reads a signal off a request, NaN where it has none. A share's values
// are 0 and 1.
var rowValue = map[string]func(*diagRow) float64{
	"ttft": completed((*diagRow).first), "ttft_tail": completed((*diagRow).first),
	"tpot": completed(func(r *diagRow) float64 { return r.tpot }), "tpot_tail": completed(func(r *diagRow) float64 { return r.tpot }),
	"queue":  completed(func(r *diagRow) float64 { return r.queue }),
	"failed": func(r *diagRow) float64 { return one(r.outcome != serving.OK) },
}

func completed(get func(*diagRow) float64) func(*diagRow) float64 {
	return func(r *diagRow) float64 {
		if r.outcome != serving.OK {
			return nan
		}
		return get(r)
	}
}

// leastForEdge is how many requests an edge is looked for in.
const leastForEdge = 16

// stepAt looks for an edge in the requests beside it: by how many of them are
// above the middle between two levels. Of a window with few bad requests the
// mean's middle is low, and that to the whole stretch's level tells more.
func (c *rowChannel) stepAt(e edge, get func(*diagRow) float64, worst float64) (out step, ok bool) {
	var at, value []float64
	for _, r := range c.among(e.from, e.to) {
		if v := get(&r); !math.IsNaN(v) {
			at, value = append(at, r.at), append(value, v)
		}
	}
	if len(at) < leastForEdge {
		return step{}, false
	}
	usual := (at[len(at)-1] - at[0]) / float64(len(at)) // between two: arrivals may be rounded
	best := 0.0
	for _, bad := range []float64{max(e.before, e.after), worst} {
		p, found := stat.StepOf(aboveAll(value, middle(min(e.before, e.after), bad)), e.after > e.before)
		if found && p.Gain > best {
			best, ok = p.Gain, true
			out = step{at[p.At], max(at[p.At]-at[p.Lo-1], at[p.Hi]-at[p.At], usual), p.Before, p.After}
		}
	}
	return out, ok
}

// middle is between two levels: of what is never 0 by ratios.
func middle(low, high float64) float64 {
	if low > 0 {
		return math.Sqrt(low * high)
	}
	return (low + high) / 2
}

func aboveAll(x []float64, limit float64) []bool {
	out := make([]bool, len(x))
	for i, v := range x {
		out[i] = v > limit
	}
	return out
}

// widened takes the other symptoms into a stretch that they overlap, where they
// begin before it or last beyond it: an incident is over when nothing is worse. The
// part that each adds has to bear it out by itself.
func (s *source) widened(o onset, all []onset, of map[string]float64) onset {
	for _, f := range all {
		if of[f.signal] == 0 || f.signal == o.signal {
			continue
		}
		if f = f.refined(s); f.from >= o.to || f.to <= o.from {
			continue
		}
		if f.from+f.width < o.from-o.width && s.adds(f, o, f.from, o.from) {
			o.from, o.guard, o.width = f.from, min(o.guard, f.guard), f.width
		}
		if !o.open && f.to-f.endWidth > o.to+o.endWidth && s.adds(f, o, o.to, f.to) {
			o.to, o.endWidth, o.open = f.to, f.endWidth, f.open
		}
	}
	return o
}

// asBad is the part of a symptom's rise within a stretch that it has to show beside it
// (judgement): a load that wavers beforehand is no incident.
const asBad = 0.7

// adds reports whether a part of a symptom's stretch is worse than what precedes
// all of it, and not by a small part of what it is within the stretch it is added to.
func (s *source) adds(f, o onset, from, to float64) bool {
	level, ok := symptomLevel[f.signal]
	if !ok || to-from < leastSeconds || !(s.phase(from, to).Requests >= leastForPhase) {
		return false
	}
	r := signalRules[slices.IndexFunc(signalRules, func(r signalRule) bool { return r.name == f.signal })]
	base, part, within := level(s.phase(0, f.guard)), level(s.phase(from, to)), level(s.phase(max(f.from, o.from), min(f.to, o.to)))
	if !(rise(r, base, part) >= asBad*rise(r, base, within)) {
		return false
	}
	f.from, f.to = from, to
	return s.bearsOut(f)
}

// symptomLevel is how bad a symptom is in a phase.
var symptomLevel = map[string]func(*phase) float64{
	"ttft": func(p *phase) float64 { return p.TTFT.Mean }, "ttft_tail": func(p *phase) float64 { return p.TTFT.floor(p.TTFT.P95) },
	"tpot": func(p *phase) float64 { return p.TPOT.Mean }, "tpot_tail": func(p *phase) float64 { return p.TPOT.floor(p.TPOT.P95) },
	"failed": func(p *phase) float64 { return p.Failed / p.Requests },
}

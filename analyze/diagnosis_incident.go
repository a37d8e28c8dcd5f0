package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A signalRule says how a signal's segments are told good from bad. Segments are
// looked for in the signal as it is, or in logarithms where it spans orders of
// magnitude.
type signalRule struct {
	name  string
	log   bool    // logarithms: what counts is a ratio
	plus  float64 // added before the logarithm
	ratio float64 // a bad segment is at least so many times the baseline …
	more  float64 // … and so much above it
	noise float64 // least noise, in the scale of the search
}

// signalRules are the signals in which an incident can show, symptoms first.
var signalRules = []signalRule{
	{"ttft", true, 1e-4, 1.3, 0.015, 0.1}, {"ttft_tail", true, 1e-4, 1.5, 0.03, 0.12},
	{"tpot", true, 1e-5, 1.25, 0.003, 0.04}, {"tpot_tail", true, 1e-5, 1.35, 0.004, 0.06},
	{"failed", false, 0, 1, 0.05, 0.01},
	{"queue", true, 1e-2, 2, 0.1, 0.2}, {"waiting", true, 1, 2, 2, 0.2}, {"preemptions", true, 1, 2, 2, 0.2}, {"running", true, 1, 1.5, 4, 0.1},
	{"arrivals", true, 0.05, 1.25, 0.05, 0.15}, {"prompt_tokens", true, 1, 1.25, 50, 0.1}, {"output_tokens", true, 1, 1.25, 20, 0.1},
	{"kv_usage", false, 0, 1.15, 0.1, 0.03}, {"cache_missed", false, 0, 1.1, 0.1, 0.03},
}

// An onset is where a signal leaves its baseline.
type onset struct {
	signal   string
	from, to float64 // of the stretch in which it is bad
	guard    float64 // a window before it: where the baseline safely ends
	before   float64 // level of the baseline
	after    float64 // level of the bad stretch
	weight   float64 // how much it stands out: comparable between signals
	open     bool    // bad to the end of the data
	width    float64 // of the window in which it begins: how uncertain the moment is
	endWidth float64 // of that in which it ends
	rise     edge    // where the first bad segment begins
	fall     edge    // where the last one ends
	since    float64 // where the baseline begins
	given    bool    // marked by the user, not found
}

// scaled puts a value on the scale in which changes are looked for.
func (r signalRule) scaled(v float64) float64 {
	if r.log {
		return math.Log(max(v, 0) + r.plus)
	}
	return v
}

// leastWindows is how many windows a signal needs before a change in it is
// looked for.
const leastWindows = 8

// A search says what a step has to clear beside its rule. The zero value asks
// for nothing: two stretches have to bear the change out.
type search struct {
	sigmas float64 // standard deviations of a window
	quiet  float64 // until here, seconds, nothing was wrong: how far levels waver then is no onset
}

// clearly is the search for an order of onsets, of which nothing else bears each
// out.
func clearly(quiet float64) search { return search{3, quiet} }

// wavers is how high a signal goes while nothing is wrong, -Inf where that is not
// known.
func (h search) wavers(raw, at []float64) float64 {
	n, _ := slices.BinarySearch(at, h.quiet)
	if n < 3 {
		return math.Inf(-1)
	}
	x := slices.Clone(raw[:n])
	slices.Sort(x)
	return stat.Quantile(x, 0.95)
}

// onsetOf finds the stretch in which a signal is worse than in the beginning.
func onsetOf(s *signal, h search) (onset, bool) {
	k := slices.IndexFunc(signalRules, func(r signalRule) bool { return r.name == s.name })
	if k < 0 {
		return onset{}, false
	}
	r := signalRules[k]
	var y, raw, at, ends []float64
	for i, v := range s.values {
		if math.IsNaN(v) || s.n != nil && s.n[i] == 0 {
			continue
		}
		raw, at, ends = append(raw, v), append(at, s.at(i)), append(ends, s.end(i))
		y = append(y, r.scaled(v))
	}
	if len(y) < leastWindows {
		return onset{}, false
	}
	sigma := max(stat.NoiseOf(y), r.noise)
	least := 2
	if len(y) >= 40 {
		least = 3
	}
	cuts := slices.Concat([]int{0}, stat.ChangePoints(y, least, stat.ChangePenalty(sigma, len(y))), []int{len(y)})
	level := func(i int) float64 {
		x := slices.Clone(raw[cuts[i]:cuts[i+1]])
		slices.Sort(x)
		return stat.Quantile(x, 0.5)
	}
	base, top := level(0), level(0)
	for i := 1; i+1 < len(cuts); i++ {
		top = max(top, level(i))
	}
	o := onset{signal: s.name, before: base, from: nan}
	bad, sum, wavers := 0, 0.0, h.wavers(raw, at)
	for i := 1; i+1 < len(cuts); i++ {
		l := level(i)
		if l < base*r.ratio || l-base < r.more || rise(r, base, l) < worthwhile*rise(r, base, top) {
			continue
		}
		if r.scaled(l)-r.scaled(base) < h.sigmas*sigma || l <= wavers || at[cuts[i]] < h.quiet {
			continue
		}
		if math.IsNaN(o.from) {
			o.from, o.guard = at[cuts[i]], at[max(0, cuts[i]-1)]
			o.width = ends[cuts[i]] - at[cuts[i]]
			o.rise = edge{at[cuts[i-1]], ends[cuts[i+1]-1], level(i - 1), l}
		}
		last := cuts[i+1] - 1
		o.to, o.endWidth = ends[last], ends[last]-at[last]
		o.fall = edge{at[cuts[i]], ends[last], l, base}
		if o.open = i+2 == len(cuts); !o.open {
			o.fall.to, o.fall.after = ends[cuts[i+2]-1], level(i+1)
		}
		n := cuts[i+1] - cuts[i]
		bad += n
		sum += l * float64(n)
	}
	if bad == 0 {
		return onset{}, false
	}
	o.after = sum / float64(bad)
	o.weight = rise(r, base, o.after) * float64(bad) / float64(len(y))
	return o, true
}

// worthwhile is the part of the worst segment's rise that a segment needs to be
// of the incident: a tail that wavers long before is none of it.
const worthwhile = 0.3

// rise is how far a level is above another, comparable between signals.
func rise(r signalRule, base, l float64) float64 {
	if !r.log {
		return 10 * (l - base)
	}
	return math.Log((l + r.plus + 1e-9) / (base + r.plus + 1e-9))
}

// onsetsOf lists where signals change for the worse, the first one first.
func onsetsOf(signals []*signal, h search) []onset {
	var out []onset
	for _, s := range signals {
		if o, ok := onsetOf(s, h); ok {
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, func(a, b onset) int { return cmp.Compare(a.from, b.from) })
	return out
}

// onset puts a found onset into the terms of a diagnosis.
func (u *diagSubject) onset(o onset, s *source) Onset {
	return Onset{Signal: o.signal, Source: s.label, At: u.origin + int64(o.from*1e9), Before: o.before, After: o.after, Width: o.width, Unit: unitOfSignal(o.signal)}
}

// unitOfSignal is the unit of a signal's levels.
func unitOfSignal(name string) serving.Unit {
	switch name {
	case "failed", "kv_usage", "cache_missed":
		return serving.Share
	case "arrivals":
		return serving.PerSecond
	case "waiting", "running":
		return serving.RequestsUnit
	case "prompt_tokens", "output_tokens":
		return serving.Tokens
	case "preemptions":
		return serving.NoUnit
	}
	return serving.Seconds
}

// symptomSignals are users' own, the tail behind the rest: it wavers more.
var symptomSignals = map[string]float64{"ttft": 1, "ttft_tail": 0.7, "tpot": 1, "tpot_tail": 0.7, "failed": 1}

// proxySignals are what a log has instead of latencies.
var proxySignals = map[string]float64{"waiting": 1, "preemptions": 1, "running": 0.5}

// leadOf is the onset that stands out most among signals with weights and that
// the two stretches bear out: windows of bursty traffic waver by chance.
func (s *source) leadOf(all []onset, of map[string]float64) (onset, bool) {
	all = slices.DeleteFunc(slices.Clone(all), func(o onset) bool { return of[o.signal] == 0 })
	slices.SortStableFunc(all, func(a, b onset) int { return cmp.Compare(of[b.signal]*b.weight, of[a.signal]*a.weight) })
	for _, o := range all {
		if s.bearsOut(o) {
			return o, true
		}
	}
	return onset{}, false
}

func (s *source) bearsOut(o onset) bool {
	b, i := s.phase(0, o.guard), s.phase(o.from, o.to)
	if s.fills(o, b, i) {
		return false
	}
	switch o.signal {
	case "ttft", "ttft_tail":
		return i.TTFT.Mean/b.TTFT.Mean >= lateRatio || i.TTFT.floor(i.TTFT.P95)/b.TTFT.P95 >= tailRatio && i.TTFT.Mean > b.TTFT.Mean
	case "tpot", "tpot_tail":
		return i.TPOT.Mean/b.TPOT.Mean >= slowRatio
	}
	return true
}

// fillTimes is how many mean E2E a server takes to fill after it was empty
// (judgement): by then as many requests leave as come.
const fillTimes = 2

// fills reports that an onset is a server that fills up: the baseline lies within
// the first answers, what follows is most of the data, and it gets no worse. Only
// a backlog goes on growing after that.
func (s *source) fills(o onset, b, i *phase) bool {
	if !(b.seconds() < fillTimes*max(b.E2E.Mean, i.E2E.Mean)) || o.to-o.from < (o.guard+o.to-o.from)/2 {
		return false
	}
	mid := (o.from + o.to) / 2
	early, late := s.phase(o.from, mid), s.phase(mid, o.to)
	return !(late.TTFT.Mean >= slowRatio*early.TTFT.Mean) && !(late.TPOT.Mean >= slowRatio*early.TPOT.Mean)
}

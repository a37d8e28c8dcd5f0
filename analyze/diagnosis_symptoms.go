package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// Limits of a symptom where no objective is given (judgement).
const (
	lateRatio      = 1.4  // TTFT against the baseline …
	lateRise       = 0.03 // … and seconds more
	slowRatio      = 1.2  // TPOT
	slowRise       = 0.002
	tailRatio      = 1.5 // p95 …
	steadyRatio    = 1.2 // … while the median is within
	unfinished     = 0.03
	waitingInstead = 3.0 // requests more in the queue, where no latency is known
	speedInstead   = 1.3 // tokens/s of a sequence, where no TPOT is known
	// Least requests before a percentile may carry a finding, and least time.
	leastForP50     = 10
	leastForP95     = 60
	leastForP99     = 200
	leastForPhase   = 8
	leastSeconds    = 5.0
	objectivePrefix = "objective "
)

func isObjective(s string) bool { return strings.HasPrefix(s, objectivePrefix) }

// symptoms says which of the four are there, and puts that among the facts.
func (u *diagSubject) symptoms(opt Options) []Symptom {
	var out []Symptom
	server, client := u.withLatency(false), u.withLatency(true)
	late, tail := u.first(server, opt), u.tail(server)
	stream := u.streaming(server, client, opt)
	clientLate := u.first(client, opt)
	done := u.unfinished()
	set := func(k rules.Key, s Symptom, also ...Symptom) {
		f := rules.Fact{Unit: serving.NoUnit, Source: u.label, Window: "baseline against incident"}
		known := s.Known
		if s.Present {
			f.Value = 1
		}
		for _, o := range also {
			known = known || o.Known
			if o.Present {
				f.Value = 1
			}
		}
		if known {
			u.facts[k] = f
		}
	}
	if server == nil {
		late, tail = clientLate, u.tail(client)
	}
	set(rules.LateFirst, late, tail)
	set(rules.SlowStream, stream)
	if client != nil {
		set(rules.ClientLate, clientLate, u.tail(client))
		if clientLate.Present && !late.Present {
			late.Present = true
			late.Evidence = append(late.Evidence, clientLate.Evidence...)
		}
	}
	set(rules.Symptom, late, tail, stream, done)
	for _, s := range []Symptom{late, stream, tail, done} {
		if s.Present && u.found {
			s.Evidence = append(s.Evidence, u.slicesHit(s.ID)...)
		}
		out = append(out, s)
	}
	return out
}

// withLatency is the first source that has TTFT, of one side.
func (u *diagSubject) withLatency(client bool) *source {
	for _, s := range u.sources {
		if p := u.phases[s]; (s.kind == "client") == client && p.bad.TTFT.N+p.bad.TPOT.N > 0 {
			return s
		}
	}
	return nil
}

// leastPhaseSeconds is how long a phase must be however short the recording is: what
// changes within one burst of requests is the queue that they fill themselves.
const leastPhaseSeconds = 0.25

// enough says whether two phases may be compared: by requests, and by time. Of a
// recording that is itself short, a tenth of it is a phase.
func (u *diagSubject) enough(b, i *phase, get func(*phase) spread, n float64) bool {
	least := max(min(leastSeconds, u.span/10), leastPhaseSeconds)
	return b != nil && get(b).N >= n && get(i).N >= n && i.seconds() >= least && b.seconds() >= least
}

// compared is a source's two phases, and whether a symptom of theirs is known and
// may be looked for: what is too short to compare is not known, and is no "no".
func (u *diagSubject) compared(s *source, get func(*phase) spread, n float64) (p phases, known, both bool) {
	p = u.phases[s]
	both = p.known && u.enough(p.base, p.bad, get, n)
	return p, u.searched[s] && (both || !p.known), both
}

func ttftSpread(p *phase) spread { return p.TTFT }
func tpotSpread(p *phase) spread { return p.TPOT }

// leastFor is how many requests an objective's statistic needs.
func leastFor(o serving.SLO) float64 {
	switch {
	case o.Mean || o.P <= 0.5:
		return leastForP50
	case o.P <= 0.95:
		return leastForP95
	}
	return leastForP99
}

// objectives decide a symptom where there are any for the metric.
func (u *diagSubject) objectives(s *source, id string, opt Options, keys ...serving.MetricKey) (Symptom, bool) {
	out := Symptom{ID: id, Known: true}
	found := false
	for _, o := range opt.SLOs {
		if len(o.By) > 0 || !slices.Contains(keys, o.Metric) || s == nil {
			continue
		}
		p := u.phases[s].bad
		d := map[serving.MetricKey]spread{serving.TTFT: p.TTFT, serving.TPOT: p.TPOT, serving.E2E: p.E2E}[o.Metric]
		v := map[float64]float64{0.5: d.P50, 0.95: d.P95, 0.99: d.P99}[o.P]
		if o.Mean {
			v = d.Mean
		}
		least, missed := "", v > o.Limit
		if !o.Mean && math.IsNaN(v) && d.AtLeast >= o.Limit { // below, nobody knows
			v, least, missed = d.AtLeast, "at least ", true
		}
		if v == 0 || math.IsNaN(v) || d.N < leastFor(o) || p.seconds() < min(leastSeconds, u.span/10) {
			continue
		}
		found = true
		out.Evidence = append(out.Evidence, fmt.Sprintf("%s%s: %s%s over %s requests (%s, %s)", objectivePrefix, o.Expr, least, seconds(signif(v)), number(d.N), s.label, u.span2text(p.From, p.To)))
		out.Present = out.Present || missed
	}
	return out, found
}

func (u *diagSubject) first(s *source, opt Options) Symptom {
	out := Symptom{ID: "ttft"}
	if o, ok := u.objectives(s, out.ID, opt, serving.TTFT); ok {
		return o
	}
	if s == nil {
		return u.queueInstead(out)
	}
	p, known, both := u.compared(s, ttftSpread, leastForPhase)
	out.Known = known
	if !both {
		return out
	}
	b, i := p.base.TTFT, p.bad.TTFT
	all := []growth{{name: "TTFT mean", before: b.Mean, after: i.Mean}}
	if min(b.N, i.N) >= leastForP50 {
		all = append(all, growthOf("TTFT p50", b, i, p50Of))
	}
	for _, x := range all {
		if x.by(lateRatio, lateRise) {
			out.Present = true
			out.Evidence = append(out.Evidence, u.risen(x, s, p))
		}
	}
	return out
}

// A growth is a figure before the trouble and in it, which may be known by what it is
// at least.
type growth struct {
	name          string
	before, after float64
	atLeast       bool
}

// growthOf is that of a percentile.
func growthOf(name string, b, i spread, percentile func(spread) float64) growth {
	v := percentile(i)
	floor := i.floor(v)
	return growth{name, percentile(b), floor, math.IsNaN(v) && !math.IsNaN(floor)}
}

func p50Of(s spread) float64 { return s.P50 }
func p95Of(s spread) float64 { return s.P95 }

// by reports whether the figure rose that much at least: as a ratio and in seconds.
func (x growth) by(ratio, seconds float64) bool {
	return x.after/x.before >= ratio && x.after-x.before >= seconds
}

func (u *diagSubject) risen(x growth, s *source, p phases) string {
	least := ""
	if x.atLeast {
		least = "at least "
	}
	return fmt.Sprintf("%s %s → %s%s, × %s%s (%s, n %s and %s; since %s)", x.name, seconds(signif(x.before)), least, seconds(signif(x.after)), least, number(signif(x.after/x.before)), s.label,
		number(p.base.TTFT.N), number(p.bad.TTFT.N), u.span2text(p.bad.From, p.bad.To))
}

// queueInstead reads a growing queue as a late first token where no latency is
// recorded. A queue that stays short is no "no": prompts can be late without one.
func (u *diagSubject) queueInstead(out Symptom) Symptom {
	mean := u.facts[rules.WaitingMean]
	if rise, ok := u.facts[rules.WaitingRise]; ok && rise.Value >= waitingInstead {
		out.Known, out.Present = true, true
		out.Evidence = append(out.Evidence, fmt.Sprintf("no latency is recorded; %s more requests wait than before, %s on average (%s, %s)", number(signif(rise.Value)), number(signif(mean.Value)), rise.Source, rise.Window))
	}
	return out
}

func (u *diagSubject) streaming(server, client *source, opt Options) Symptom {
	s := server
	if s == nil {
		s = client
	}
	out := Symptom{ID: "streaming"}
	if o, ok := u.objectives(s, out.ID, opt, serving.TPOT); ok {
		return o
	}
	if s == nil || u.phases[s].bad.TPOT.N == 0 {
		if f, ok := u.facts[rules.SpeedDrop]; ok {
			out.Known = true
			if f.Value >= speedInstead {
				out.Present = true
				out.Evidence = []string{fmt.Sprintf("no TPOT is recorded; a running sequence gets tokens %s times as slowly as before (%s, %s)", number(signif(f.Value)), f.Source, f.Window)}
			}
		}
		return out
	}
	p, known, both := u.compared(s, tpotSpread, leastForPhase)
	out.Known = known
	if both {
		b, i := p.base.TPOT, p.bad.TPOT
		for _, x := range []growth{growthOf("TPOT", b, i, p50Of), {name: "TPOT", before: b.Mean, after: i.Mean}} {
			if x.by(slowRatio, slowRise) && i.Mean/b.Mean >= slowRatio {
				out.Present = true
				out.Evidence = append(out.Evidence, u.risen(x, s, p))
				break
			}
		}
	}
	if f, ok := u.facts[rules.StallRatio]; ok && f.Value >= 4 && client != nil {
		out.Evidence = append(out.Evidence, fmt.Sprintf("single gaps stall: the longest gap of a request has a p95 of %s times TPOT p95 (%s)", number(signif(f.Value)), f.Source))
	}
	return out
}

func (u *diagSubject) tail(s *source) Symptom {
	out := Symptom{ID: "tail"}
	if s == nil {
		return out
	}
	p, known, both := u.compared(s, ttftSpread, leastForP95)
	out.Known = known
	if !both {
		return out
	}
	b, i := p.base.TTFT, p.bad.TTFT
	if x := growthOf("TTFT p95", b, i, p95Of); x.by(tailRatio, lateRise) && i.P50/b.P50 < steadyRatio {
		out.Present = true
		out.Evidence = []string{u.risen(x, s, p), u.risen(growth{name: "while p50 stays,", before: b.P50, after: i.P50}, s, p)}
	}
	return out
}

func (u *diagSubject) unfinished() Symptom {
	out := Symptom{ID: "unfinished"}
	for _, s := range u.sources {
		p := u.phases[s]
		if math.IsNaN(p.bad.Failed) || !(p.bad.Requests > 0) {
			continue
		}
		before := 0.0
		if p.base != nil && p.base.Requests > 0 {
			before = p.base.Failed / p.base.Requests
		}
		out.Known = true
		if share := p.bad.Failed / p.bad.Requests; share >= unfinished && share >= 2*before && p.bad.Requests >= 20 {
			out.Present = true
			out.Evidence = append(out.Evidence, fmt.Sprintf("%s of %s requests did not finish, %s before (%s, %s)", percent(signif(share)), number(p.bad.Requests), percent(signif(before)), s.label, u.span2text(p.bad.From, p.bad.To)))
		}
		return out
	}
	if l := u.logFailed; l != nil {
		out.Known = true
		if l.during >= unfinished && l.during >= 2*l.before {
			out.Present = true
			out.Evidence = append(out.Evidence, fmt.Sprintf("%s of %s answers in the access log had a status from 500 on, %s before (%s, %s)", percent(signif(l.during)), number(l.n), percent(signif(l.before)), l.source, l.window))
		}
	}
	return out
}

// slicesHit names the workloads and replicas for which it got worse, and those
// for which it did not.
func (u *diagSubject) slicesHit(id string) []string {
	for _, s := range u.sources {
		p := u.phases[s]
		if s.rows == nil || p.base == nil || (id != "ttft" && id != "streaming" && id != "tail") {
			continue
		}
		var hit, spared []string
		for k, w := range p.bad.Workloads {
			if k >= len(p.base.Workloads) || p.base.Workloads[k].Requests < 20 || w.Requests < 20 {
				continue
			}
			was, is := p.base.Workloads[k].TTFT, w.TTFT
			if id == "streaming" {
				was, is = p.base.Workloads[k].TPOT, w.TPOT
			}
			text := fmt.Sprintf("%s × %s", w.Name, number(signif(is/was)))
			if is/was >= slowRatio {
				hit = append(hit, text)
			} else {
				spared = append(spared, text)
			}
		}
		if len(hit) == 0 {
			return nil
		}
		out := "by workload, mean: " + strings.Join(hit, ", ")
		if len(spared) > 0 {
			out += "; hardly " + strings.Join(spared, ", ")
		}
		return []string{out}
	}
	return nil
}

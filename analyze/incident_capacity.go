package analyze

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/analyze/rules"
)

// A limit is what a stretch shows of whether the servers could do no more.
type limit int

const (
	limitUnknown limit = iota // nothing says how many waited
	limitReached              // requests waited for the engine
	limitNot                  // nobody waited for it, and the first token was as fast as ever
	limitOther                // the first token was late, and nobody waited for the engine
)

// limitIn says whether the servers were at their limit in a stretch, with the mean
// queue where it is known.
func (v *incidentView) limitIn(x sustained) (l limit, waiting float64) {
	waiting = nan
	late := false
	for _, s := range v.u.sources {
		if s.relative != v.u.relative {
			continue
		}
		if math.IsNaN(waiting) {
			waiting = s.waitingIn(x.from, x.to)
		}
		if b := v.u.phases[s].base; b != nil && x.from < v.u.span && lateFirst(b, s.phase(x.from, min(x.to, v.u.span))) {
			late = true
		}
	}
	switch {
	case v.cause() == "hot_replica": // whose queue says nothing of the others
		return limitNot, waiting
	case waiting >= 1:
		return limitReached, waiting
	case math.IsNaN(waiting):
		return limitUnknown, waiting
	case late:
		return limitOther, waiting
	}
	return limitNot, waiting
}

// waitingIn is how many waited on average, NaN where that is not known.
func (s *source) waitingIn(from, to float64) float64 {
	if s.rows == nil {
		return s.phase(from, to).Waiting.Mean
	}
	return s.rows.waitingIn(from, to)
}

// lateFirst reports whether the first token is later than in the baseline.
func lateFirst(b, p *phase) bool {
	return p.TTFT.Mean >= lateRatio*b.TTFT.Mean && p.TTFT.Mean-b.TTFT.Mean >= lateRise
}

// A capacity is what the data say of how much the servers can do.
type capacity struct {
	sustained
	limit   limit
	waiting float64 // on average then; NaN where it is not known
	before  float64 // completed a second in the baseline, NaN without one
	during  float64 // and in the incident
}

// capacity is nil where no rate was kept up for long enough.
func (v *incidentView) capacity() *capacity {
	if !v.measured {
		v.measured, v.most = true, v.measureCapacity()
	}
	return v.most
}

func (v *incidentView) measureCapacity() *capacity {
	x := v.sustained()
	if x == nil {
		return nil
	}
	_, b, i := v.main()
	c := &capacity{sustained: *x, before: nan, during: i.Ended / i.seconds()}
	if b != nil {
		c.before = b.Ended / b.seconds()
	}
	c.limit, c.waiting = v.limitIn(*x)
	return c
}

// reached reports whether a capacity may be admitted by: the servers were at their
// limit and completed no less than before the incident.
func (c *capacity) reached() bool {
	return c != nil && c.limit == limitReached && !(c.rate() < c.before)
}

// collapsed reports whether the incident completed clearly less than what came
// before it: that is what was left under the fault, and no capacity.
func (c *capacity) collapsed() bool { return c.during < clearlyLess*c.before }

const clearlyLess = 0.95

// where names the stretch that a rate was kept up in, and what it rests on.
func (v *incidentView) where(c *capacity) string {
	return fmt.Sprintf("%s (%s, n %s)", v.u.span2text(c.from, c.to), v.part(c), number(c.n))
}

// part says where a stretch lies beside the incident.
func (v *incidentView) part(c *capacity) string {
	switch {
	case c.to <= v.from:
		return "before the incident"
	case c.from >= v.to:
		return "after it"
	case c.from >= v.from && (c.to <= v.to || v.inc.Open):
		return "in the incident"
	}
	return "partly in the incident"
}

// unknownLimit says why a rate is not known to be the limit.
func (v *incidentView) unknownLimit(c *capacity) string {
	switch c.limit {
	case limitReached:
		return "requests waited then"
	case limitUnknown:
		return "whether requests waited then is not known, which needs a queue column, scrapes of /metrics over that time, or the engine's log"
	case limitOther:
		return "the first token was late then for another reason than the engine's queue, which does not tell the engine's limit"
	}
	if v.cause() == "hot_replica" {
		return "replicas had room"
	}
	return "nobody waited for long then, so the limit itself was not reached"
}

// sustainable is the capacity that the data bear out.
func (v *incidentView) sustainable() {
	s, b, _ := v.main()
	if s == nil {
		return
	}
	c := v.capacity()
	if c == nil {
		v.inc.Analysis = append(v.inc.Analysis, Measure{Text: "Sustainable capacity: not told by these data.",
			Because: fmt.Sprintf("no stretch of %s or %s times the mean E2E has %s completed requests (%s); a load sweep would tell", seconds(sustainedSeconds), number(sustainedStays), number(sustainedLeast), s.label)})
		return
	}
	m := Measure{Text: fmt.Sprintf("Sustainable capacity: at least %s requests/s", number(signif(c.rate()))), Because: s.label}
	if c.reached() {
		m.Text = fmt.Sprintf("Sustainable capacity: about %s requests/s", number(signif(c.rate())))
	}
	if c.tokens > 0 {
		m.Text += fmt.Sprintf(", %s output tokens/s", number(signif(c.tokens/(c.to-c.from))))
	}
	m.Text += fmt.Sprintf(": completed from %s. %s.", v.where(c), upperFirst(v.unknownLimit(c)))
	m.Text += v.otherWork(c) + v.recomputed(c)
	if c.collapsed() {
		m.Text += fmt.Sprintf(" In the incident %s requests/s were completed, fewer than the %s before it: that is no measure of capacity.", number(signif(c.during)), number(signif(c.before)))
	}
	if b != nil && b.Requests > 0 && c.reached() {
		before := b.Requests / b.seconds()
		m.Because += fmt.Sprintf("; before the incident %s requests/s arrived, %s of that capacity", number(signif(before)), percent(signif(before/c.rate())))
	}
	v.inc.Analysis = append(v.inc.Analysis, m)
}

// unlikeMix is the change of the mean prompt or answer from which a rate of
// requests says little of others.
const unlikeMix = 1.15

// otherWork warns where the rate is of other requests than the incident's.
func (v *incidentView) otherWork(c *capacity) string {
	if f, ok := v.u.facts[rules.MixShift]; ok && f.Value >= unlikeMix && c.to <= v.from {
		return fmt.Sprintf(" The incident's requests are of another kind, prompts or answers × %s: of those it may be less.", number(signif(f.Value)))
	}
	return ""
}

// recomputed says what preemptions cost.
func (v *incidentView) recomputed(c *capacity) string {
	if cause := v.cause(); c.to > v.from && (cause == "kv_concurrency" || cause == "kv_giants") {
		return " Preempted work was computed twice: without preemptions it is more."
	}
	return ""
}

// admission is a limit on what is let in, with a figure only where the data show
// the servers' own: below it they would serve less than they can.
func (v *incidentView) admission() (Measure, bool) {
	c := v.capacity()
	if !c.reached() {
		return Measure{Text: "Limit what is admitted, for each client, and refuse the rest early. At how many requests/s, these data do not tell.", Price: "What comes above the limit is refused.",
			Because: v.noFigure(c)}, true
	}
	rate := number(signif(c.rate()))
	return Measure{Text: fmt.Sprintf("Admit no more than %s requests/s, with a limit for each client; refuse the rest early.", rate),
		Price:   fmt.Sprintf("What comes above it is refused. Kept for good it caps the service at %s requests/s.", rate),
		Because: fmt.Sprintf("%s requests/s were completed from %s, while %s waited on average", rate, v.where(c), number(signif(c.waiting)))}, true
}

// noFigure says what is missing for a limit on admission.
func (v *incidentView) noFigure(c *capacity) string {
	const tells = "the lowest rate at which a queue grows (a load sweep) would tell"
	switch {
	case c == nil:
		return "no rate was kept up for long enough; " + tells
	case c.limit == limitReached:
		return fmt.Sprintf("%s requests/s were completed while requests waited, fewer than the %s before the incident; %s", number(signif(c.rate())), number(signif(c.before)), tells)
	}
	s := fmt.Sprintf("the most that was kept up is %s requests/s, from %s, and %s; %s", number(signif(c.rate())), v.where(c), v.unknownLimit(c), tells)
	if c.collapsed() {
		s = fmt.Sprintf("the incident's own %s requests/s are fewer than the %s before it, and no limit; ", number(signif(c.during)), number(signif(c.before))) + s
	}
	return s
}

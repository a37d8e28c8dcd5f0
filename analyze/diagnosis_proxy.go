package analyze

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// unanswered are the signals of a source that knows no latency: what stands for it,
// and failures, which are users' own.
var unanswered = func() map[string]float64 {
	out := maps.Clone(proxySignals)
	out["failed"] = symptomSignals["failed"]
	return out
}()

// latencyless reports whether nothing of a source tells how long users waited: a
// log's lines do not, nor do scrapes of which only gauges and counters were kept.
func (s *source) latencyless() bool {
	if s.rows != nil {
		return false
	}
	c := s.servers
	for _, m := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL} {
		if !c.log && c.hist(m, 0, c.span).N > 0 {
			return false
		}
	}
	return true
}

// leadSignals are those in which a source's incident can begin.
func (s *source) leadSignals() map[string]float64 {
	if s.latencyless() {
		return unanswered
	}
	return symptomSignals
}

// mayLead reports whether the subject's incident may be where a source's own is: one
// that knows no latency has the word only where no other knows any, and a log only
// where it is alone.
func (u *diagSubject) mayLead(s *source) bool {
	if s.relative != u.relative {
		return false
	}
	if !s.latencyless() || len(u.sources) == 1 {
		return true
	}
	if s.servers.log {
		return false
	}
	for _, o := range u.sources {
		if !o.latencyless() {
			return false
		}
	}
	return true
}

// proxies says of data without a latency what those signals did that stand for it.
func (d *Diagnosis) proxies(facts rules.Facts) string {
	if d.Known && !d.Given {
		return fmt.Sprintf(" Of what is recorded, %s got worse.", signalWords(d.Lead))
	}
	grew := slices.ContainsFunc(d.Onsets, func(o Onset) bool { return o.Signal == "waiting" })
	searched := d.subject != nil && slices.Contains(slices.Collect(maps.Values(d.subject.searched)), true)
	if _, ok := facts[rules.WaitingMean]; ok && searched && !grew {
		return " Of what is recorded, the queue did not grow."
	}
	return ""
}

package analyze

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// beforeOnset is how many seconds before the first window of an incident a failure
// still belongs to it: its cause comes first.
const beforeOnset = 60.0

// fromEvents adds what logs tell of failures in the incident. That nothing failed
// is known where an engine's log covers it.
func (u *diagSubject) fromEvents() {
	logs, s := u.logClocks(), u.of("log")
	if len(logs) == 0 && s == nil {
		return
	}
	from, to := 0.0, u.span
	if u.found {
		from, to = max(0, u.lead.from-beforeOnset), min(u.lead.to, u.span)
	}
	count := func(key rules.Key, weight func(serving.Event) float64) (first float64) {
		first = nan
		f := rules.Fact{Unit: serving.NoUnit, Window: u.span2text(from, to)}
		if s != nil {
			f.Source = s.label
		}
		for _, c := range logs {
			for _, e := range c.log.Events {
				t, w := float64(c.at(e.At)-u.origin)/1e9, weight(e)
				if w == 0 || t < from || t > to {
					continue
				}
				if !(first <= t) {
					first = t
					f.Where = fmt.Sprintf("first: %s, at %s", e.What, u.moment(t))
					f.Source = e.Source.String()
				}
				f.Value += w
			}
		}
		if old, ok := u.facts[key]; !ok || old.Value < f.Value {
			u.facts[key] = f
		}
		return first
	}
	crash := count(rules.Crashes, func(e serving.Event) float64 { return one(e.Kind == serving.EventOOM || e.Kind == serving.EventDied) })
	if u.found && crash >= u.lead.from {
		f := u.facts[rules.Crashes]
		f.Value, f.Unit, f.Where = crash-u.lead.from, serving.Seconds, ""
		u.facts[rules.CrashDelay] = f
	}
	count(rules.Restarts, func(e serving.Event) float64 { return one(e.Kind == serving.EventRestart) })
	count(rules.LogTimeouts, func(e serving.Event) float64 { return float64(e.Count) * one(e.Kind == serving.EventTimeout) })
	u.answered(logs, from, to)
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// leastAnswers is how many answers an access log must hold in each stretch before
// the share of failed ones is a figure.
const leastAnswers = 20

// answered takes the share of failed requests from access logs, where nothing
// better says it.
func (u *diagSubject) answered(logs []logClock, from, to float64) {
	var before, during, failedBefore, failed float64
	source := ""
	for _, c := range logs {
		for _, a := range c.log.Answers {
			switch t := float64(c.at(a.At)-u.origin) / 1e9; {
			case t >= from && t <= to:
				during, failed, source = during+float64(a.Count), failed+float64(a.Errors), c.log.Path
			case u.found && t >= 0 && t < from:
				before, failedBefore = before+float64(a.Count), failedBefore+float64(a.Errors)
			}
		}
	}
	if during < leastAnswers {
		return
	}
	u.logFailed = &failedShares{before: failedBefore / max(1, before), during: failed / during, n: during, source: source, window: u.span2text(from, to)}
	if _, ok := u.facts[rules.FailedShare]; !ok {
		u.facts[rules.FailedShare] = rules.Fact{Value: failed / during, Unit: serving.Share, Source: source, Window: u.logFailed.window}
	}
}

// failedShares are shares of answers with a status from 500 on.
type failedShares struct {
	before, during, n float64
	source, window    string
}

// moment writes an instant of the subject's axis.
func (u *diagSubject) moment(t float64) string {
	if u.relative {
		return seconds(signif(t)) + " after the start"
	}
	return u.instant(t).Format("15:04:05Z")
}

// logClocks are the logs that cover some of the subject's time, on its axis: those
// of its own series, and others with dates.
func (u *diagSubject) logClocks() []logClock {
	var out []logClock
	for _, l := range u.logs {
		var own *serving.Server
		for _, s := range u.sources {
			if s.servers == nil || s.relative != u.relative {
				continue
			}
			for _, v := range s.servers.views {
				if slices.Contains(v.Sources, l.Path) {
					own = v.Server
				}
			}
		}
		c := clockOf(l, own, u.year)
		if !c.ok || own == nil && c.real == u.relative {
			continue
		}
		if at, end := float64(c.at(l.From)-u.origin)/1e9, float64(c.at(l.To)-u.origin)/1e9; at <= u.span && end >= 0 {
			out = append(out, c)
		}
	}
	return out
}

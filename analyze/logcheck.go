package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// Limits of a difference between an engine's log and its /metrics (judgement):
// both are samples of the same server, at other moments.
const (
	logLines       = 20   // and scrapes, in the time that both cover
	logTokens      = 0.2  // generated tokens/s, relative
	logGauge       = 0.5  // requests running and waiting, relative …
	logGaugeAtMost = 3.0  // … and more apart than so many requests
	logPool        = 0.15 // KV usage, absolute
)

// logAgainstScrapes holds what an engine logged against what its /metrics said
// in the same time. They are one server's, so a difference means that one of
// the two is of another server, another time zone or another definition.
func logAgainstScrapes(in *Input) []Finding {
	if in.sides != nil {
		return nil // two sides are two servers
	}
	year := yearOf(in.Data, nil)
	var logs, scraped []serverView
	for _, s := range in.Data.Servers {
		log := isLog(s)
		s, _ := dated(s, year)
		v := viewOf(s, in.windowOf(func() int { return -1 }))
		switch {
		case s.Relative || v.n() < logLines:
		case log:
			logs = append(logs, v)
		case s.GaugeOf(serving.Running) != nil:
			scraped = append(scraped, v)
		}
	}
	var out []Finding
	for _, l := range logs {
		if s, ok := sameServer(l, logs, scraped); ok {
			out = append(out, l.disagreements(s)...)
		}
	}
	return out
}

// sameServer is the scraped server that a log is of: the only one there, or the
// one of the same replica.
func sameServer(l serverView, logs, scraped []serverView) (serverView, bool) {
	near := slices.DeleteFunc(slices.Clone(scraped), func(s serverView) bool {
		return l.Model.OK && s.Model.OK && l.Model.V != s.Model.V || s.Times[s.from] >= l.Times[l.to-1] || s.Times[s.to-1] <= l.Times[l.from]
	})
	if len(near) == 1 && len(logs) == 1 {
		return near[0], true
	}
	near = slices.DeleteFunc(near, func(s serverView) bool { return !l.Replica.OK || l.Replica != s.Replica })
	if len(near) == 1 {
		return near[0], true
	}
	return serverView{}, false
}

// disagreements compares the longest stretch without a gap in both: an engine
// logs nothing while it is idle.
func (l serverView) disagreements(s serverView) []Finding {
	l = l.unbroken(s.Times[s.from], s.Times[s.to-1])
	if l.n() < logLines {
		return nil
	}
	s = s.unbroken(l.Times[l.from], l.Times[l.to-1])
	if s.n() < logLines {
		return nil
	}
	l = l.unbroken(s.Times[s.from], s.Times[s.to-1])
	if l.n() < logLines {
		return nil
	}
	var out []Finding
	add := func(what string, unit serving.Unit, log, metrics, tolerated float64) {
		if !(math.Abs(log-metrics) > tolerated) {
			return
		}
		text := func(v float64) string {
			if unit == serving.Share {
				return percent(signif(v))
			}
			return number(signif(v))
		}
		out = append(out, Finding{ID: "log_disagrees", Subject: s.ID, Value: serving.Some(log), Threshold: serving.Some(metrics),
			Message: fmt.Sprintf("%s: the log says %s %s on average, /metrics of the same time says %s (%d lines, %d scrapes)", s.Label, text(log), what, text(metrics), l.n(), s.n())})
	}
	if rise := s.rise(serving.GenerationTotal, nil); !math.IsNaN(rise) {
		rate := rise / (float64(s.Times[s.to-1]-s.Times[s.from]) / 1e9)
		// The first line is of the time before the stretch.
		log := meanKnown(l.gaugeValues(serving.GenerationRate)[1:])
		add("generated tokens/s", serving.PerSecond, log, rate, max(logTokens*max(log, rate), 5))
	}
	for _, g := range []struct {
		name serving.SeriesName
		what string
	}{{serving.Running, "running requests"}, {serving.Waiting, "waiting requests"}} {
		a, b := meanKnown(l.gaugeValues(g.name)), meanKnown(s.gaugeValues(g.name))
		add(g.what, serving.RequestsUnit, a, b, max(logGauge*max(a, b), logGaugeAtMost))
	}
	add("KV cache usage", serving.Share, meanKnown(l.gaugeValues(serving.KVUsage)), meanKnown(s.gaugeValues(serving.KVUsage)), logPool)
	return out
}

// unbroken is the longest part of a view inside a stretch that has no gap.
func (v serverView) unbroken(from, to int64) serverView {
	best := serverView{v.Server, v.from, v.from}
	usual := usualInterval(v.Times[v.from:v.to])
	start := -1
	for i := v.from; i < v.to; i++ {
		if v.Times[i] < from || v.Times[i] > to {
			start = -1
			continue
		}
		if start < 0 || float64(v.Times[i]-v.Times[i-1]) > gapFactor*float64(usual) {
			start = i
		}
		if i+1-start > best.n() {
			best.from, best.to = start, i+1
		}
	}
	return best
}

package analyze

import (
	"fmt"
	"math"
	"path"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// fleets adds one row for each set of replicas that serve one model with one
// engine. Same-bound buckets are summed over the replicas before a quantile is
// taken: an average of p95s is not a p95. The replicas stay beside it, since
// the sum hides a hot one.
func fleets(in *Input, all []*ServerStats) []*ServerStats {
	type key struct {
		side          int
		engine, model string
	}
	members := map[key][]*ServerStats{}
	var order []key
	for _, s := range all {
		if !s.Server.Replica.OK || len(s.hists) == 0 {
			continue // nothing says that it is one of several, or there is nothing to sum
		}
		k := key{in.sideOfServer(s.Server), s.Server.Engine, s.Server.Model.Or("")}
		if len(members[k]) == 0 {
			order = append(order, k)
		}
		members[k] = append(members[k], s)
	}
	var out []*ServerStats
	for _, k := range order {
		n := 0
		for _, ms := range together(members[k]) {
			if len(ms) < 2 || k.engine == "" || !distinctReplicas(ms) {
				continue
			}
			f := fleetOf(k.engine, k.model, ms)
			in.nameFleet(f, k.side)
			if n++; n > 1 {
				f.Server.ID += fmt.Sprintf("-%d", n)
				f.Server.Label += fmt.Sprintf(" (%d)", n)
			}
			out = append(out, f)
		}
	}
	return out
}

// together splits replicas by time: servers that never ran at the same time are
// no fleet. Those without a time are one where their files lie together.
func together(ms []*ServerStats) [][]*ServerStats {
	var out [][]*ServerStats
next:
	for _, m := range ms {
		for i, g := range out {
			o := g[0]
			timeless := !m.From.OK && !o.From.OK && sourceDir(m) == sourceDir(o)
			if timeless || m.From.OK && o.From.OK && m.From.V <= o.To.V && o.From.V <= m.To.V {
				out[i] = append(g, m)
				continue next
			}
		}
		out = append(out, []*ServerStats{m})
	}
	return out
}

func distinctReplicas(ms []*ServerStats) bool {
	seen := map[string]bool{}
	for _, m := range ms {
		seen[m.Server.Replica.V] = true
	}
	return len(seen) == len(ms)
}

func sourceDir(m *ServerStats) string {
	if len(m.Server.Sources) == 0 {
		return ""
	}
	return path.Dir(m.Server.Sources[0])
}

func fleetOf(engine, model string, ms []*ServerStats) *ServerStats {
	s := &serving.Server{ID: "fleet-" + engine, Label: fmt.Sprintf("all %d %s replicas", len(ms), engine), Engine: engine,
		Model: ms[0].Server.Model, Relative: ms[0].Server.Relative, TimeRule: ms[0].Server.TimeRule}
	if model != "" {
		s.ID += "-" + model
		s.Label += " of " + model
	}
	out := &ServerStats{Server: s, Members: len(ms)}
	for _, m := range ms {
		out.Scrapes += m.Scrapes
		out.SinceStart = out.SinceStart || m.SinceStart
		if m.From.OK && (!out.From.OK || m.From.V < out.From.V) {
			out.From = m.From
		}
		if m.To.OK && (!out.To.OK || m.To.V > out.To.V) {
			out.To = m.To
		}
	}
	for _, metric := range serving.Metrics {
		if w, ok := mergeHists(metric.Key, ms); ok {
			out.hists = append(out.hists, w)
			out.Dists = append(out.Dists, w.dist(out.span(ms)))
		}
	}
	out.Increases = sumIncreases(ms)
	out.Gauges = fleetGauges(ms)
	span := out.span(ms)
	for i := range out.Increases {
		inc := &out.Increases[i]
		inc.PromQL = ""
		if x := span.over("increase", inc.selector); x != "" {
			inc.PromQL = "sum(" + x + ")"
		}
	}
	for i := range out.Gauges {
		g := &out.Gauges[i]
		g.PromQL = ""
		if x := span.over("avg_over_time", g.selector); x != "" {
			g.PromQL = "avg(" + x + ")"
		}
	}
	return out
}

// span is the time of a fleet as PromQL sees it: an instant where each replica
// was scraped once, and no time at all where only some were.
func (f *ServerStats) span(ms []*ServerStats) querySpan {
	once := 0
	for _, m := range ms {
		if m.SinceStart {
			once++
		}
	}
	switch {
	case once == len(ms):
		return querySpan{instant: true}
	case once > 0 || f.Server.Relative || !f.From.OK || !f.To.OK:
		return querySpan{}
	}
	return querySpan{window: rangeOf(f.To.V - f.From.V)}
}

// mergeHists adds the replicas' buckets of one metric. A replica without the
// metric takes part in nothing.
func mergeHists(k serving.MetricKey, ms []*ServerStats) (histWindow, bool) {
	var out histWindow
	found := false
	for _, m := range ms {
		for _, h := range m.hists {
			if h.metric != k {
				continue
			}
			if !found {
				out, found = h, true
				continue
			}
			sum, _ := stat.MergeBuckets(stat.Buckets{Bounds: out.bounds, Cum: out.cum}, stat.Buckets{Bounds: h.bounds, Cum: h.cum})
			out.bounds, out.cum = sum.Bounds, sum.Cum
			out.sum, out.count = addOpt(out.sum, h.sum), addOpt(out.count, h.count)
			out.resets += h.resets
			out.promQL = sharedSelector(out.promQL, h.promQL)
			out.fell, out.raised = out.fell || h.fell, out.raised || h.raised
		}
	}
	return out, found && len(out.bounds) > 0
}

func addOpt(a, b serving.Opt[float64]) serving.Opt[float64] {
	if !a.OK || !b.OK {
		return serving.None[float64]()
	}
	return serving.Some(a.V + b.V)
}

// sumIncreases adds the replicas' counters.
func sumIncreases(ms []*ServerStats) []Increase {
	var out []Increase
	for _, m := range ms {
		for _, inc := range m.Increases {
			i := indexIncrease(out, inc)
			if i < 0 {
				out = append(out, inc)
				continue
			}
			out[i].Value += inc.Value
			out[i].selector = sharedSelector(out[i].selector, inc.selector)
			out[i].Resets += inc.Resets
		}
	}
	return out
}

func indexIncrease(list []Increase, x Increase) int {
	for i, o := range list {
		if o.Name == x.Name && sameTerms(o.By, x.By) {
			return i
		}
	}
	return -1
}

func sameTerms(a, b []serving.Term) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// fleetGauges summarizes gauges over the replicas: the mean of the replicas'
// means with the extremes of any replica. Shares are never summed.
func fleetGauges(ms []*ServerStats) []GaugeStats {
	var out []GaugeStats
	var weight []float64
	for _, m := range ms {
		for _, g := range m.Gauges {
			i := indexGauge(out, g)
			if i < 0 {
				out = append(out, g)
				weight = append(weight, 1)
				continue
			}
			o := &out[i]
			o.Min, o.Max = min(o.Min, g.Min), max(o.Max, g.Max)
			o.Mean = (o.Mean*weight[i] + g.Mean) / (weight[i] + 1)
			o.N += g.N
			o.selector = sharedSelector(o.selector, g.selector)
			o.Last = math.NaN() // no single last value
			weight[i]++
		}
	}
	return out
}

func indexGauge(list []GaugeStats, x GaugeStats) int {
	for i, o := range list {
		if o.Name == x.Name && sameTerms(o.By, x.By) {
			return i
		}
	}
	return -1
}

package analyze

import (
	"cmp"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// An IncidentFigure is one figure before, during and after the incident. Sides
// and sources never mix.
type IncidentFigure struct {
	Metric, Stat          string // ttft, mean
	Unit                  serving.Unit
	Source                string
	Before, During, After serving.Opt[float64]
	N                     [3]float64 // requests a value rests on; 0 where it is of none
	PromQL                string     // of the value during the incident
}

// figureRow tells how one figure is read off a phase.
type figureRow struct {
	metric, stat string
	unit         serving.Unit
	value        func(*phase) float64
	n            func(*phase) float64 // nil: of no requests
	need         float64              // requests below which there is no value
}

// spreadRows are a distribution's figures.
func spreadRows(metric serving.MetricKey, unit serving.Unit, get func(*phase) spread) []figureRow {
	n := func(p *phase) float64 { return get(p).N }
	return []figureRow{
		{string(metric), "mean", unit, func(p *phase) float64 { return get(p).Mean }, n, 1},
		{string(metric), "p50", unit, func(p *phase) float64 { return get(p).P50 }, n, leastForP50},
		{string(metric), "p95", unit, func(p *phase) float64 { return get(p).P95 }, n, leastForP95},
	}
}

// figureRows are the figures of an incident in the order they are shown: what
// users felt, what they asked for, what the server did.
var figureRows = slices.Concat(
	spreadRows(serving.TTFT, serving.Seconds, func(p *phase) spread { return p.TTFT }),
	spreadRows(serving.TPOT, serving.Seconds, func(p *phase) spread { return p.TPOT }),
	spreadRows(serving.E2E, serving.Seconds, func(p *phase) spread { return p.E2E }),
	spreadRows(serving.Queue, serving.Seconds, func(p *phase) spread { return p.Queue }),
	spreadRows(serving.Prefill, serving.Seconds, func(p *phase) spread { return p.Prefill }),
	[]figureRow{
		{"failed", "share of arrived", serving.Share, func(p *phase) float64 { return p.Failed / p.Requests }, func(p *phase) float64 { return p.Requests }, leastForPhase},
		{"requests_per_s", "arrived", serving.PerSecond, func(p *phase) float64 { return p.Requests / p.seconds() }, func(p *phase) float64 { return p.Requests }, 1},
		{"requests_per_s", "completed", serving.PerSecond, func(p *phase) float64 { return p.Ended / p.seconds() }, func(p *phase) float64 { return p.Ended }, 0},
		{"requests_per_s", "repeated", serving.PerSecond, func(p *phase) float64 { return p.Retries / p.seconds() }, func(p *phase) float64 { return p.Retries }, 0},
		{"output_tokens_per_s", "", serving.PerSecond, func(p *phase) float64 { return p.OutputTokens / p.seconds() }, nil, 0},
	},
	spreadRows(serving.PromptTokens, serving.Tokens, func(p *phase) spread { return p.Prompt }),
	spreadRows(serving.OutputTokens, serving.Tokens, func(p *phase) spread { return p.Output }),
	[]figureRow{
		{"cached_share", "of prompt tokens", serving.Share, func(p *phase) float64 { return p.CachedShare }, nil, 0},
		{"waiting", "mean", serving.RequestsUnit, func(p *phase) float64 { return p.Waiting.Mean }, nil, 0},
		{"waiting", "max", serving.RequestsUnit, func(p *phase) float64 { return p.Waiting.Max }, nil, 0},
		{"running", "mean", serving.RequestsUnit, func(p *phase) float64 { return p.Running.Mean }, nil, 0},
		{"running", "max", serving.RequestsUnit, func(p *phase) float64 { return p.Running.Max }, nil, 0},
		{"kv_usage", "mean", serving.Share, func(p *phase) float64 { return p.KV.Mean }, nil, 0},
		{"kv_usage", "max", serving.Share, func(p *phase) float64 { return p.KV.Max }, nil, 0},
		{"preemptions", "increase", serving.NoUnit, func(p *phase) float64 { return p.Preemptions }, nil, 0},
		{"gpu_util", "mean", serving.Share, func(p *phase) float64 { return p.GPU.Mean }, nil, 0},
		{"cpu_throttled_periods", "share", serving.Share, func(p *phase) float64 { return p.Throttled }, nil, 0},
	},
)

func (r figureRow) of(p *phase) (serving.Opt[float64], float64) {
	if p == nil {
		return serving.None[float64](), 0
	}
	v, n := r.value(p), 0.0
	if r.n != nil {
		n = zeroIfUnknown(r.n(p))
		if n < r.need {
			return serving.None[float64](), n
		}
	}
	return finite(v), n
}

// figures puts before, during and after beside each other, for each source.
func (v *incidentView) figures() {
	for _, s := range v.u.sources {
		b, i, a := v.stretches(s)
		if i == nil {
			continue
		}
		f := &factsOf{u: v.u, s: s, ph: phases{base: b, bad: i}}
		for _, r := range figureRows {
			if s.servers != nil && (r.stat == "p50" || r.stat == "p95") {
				continue // a bucket is no percentile: means, which are exact
			}
			out := IncidentFigure{Metric: r.metric, Stat: r.stat, Unit: r.unit, Source: s.label}
			if s.rows != nil && r.metric == "output_tokens_per_s" {
				out.Stat = "of requests that arrived"
			}
			out.Before, out.N[0] = r.of(b)
			out.During, out.N[1] = r.of(i)
			out.After, out.N[2] = r.of(a)
			if !out.Before.OK && !out.During.OK {
				continue
			}
			out.PromQL = f.queryOf(r)
			v.inc.Figures = append(v.inc.Figures, out)
		}
	}
}

// queryOf is the query that a figure of the incident equals, "" where there is
// none.
func (f *factsOf) queryOf(r figureRow) string {
	switch {
	case f.s.servers == nil || f.s.relative:
		return ""
	case r.stat == "mean" && r.unit == serving.Seconds:
		return f.promQL(serving.MetricKey(r.metric))
	case r.metric == "waiting" && r.stat == "mean":
		return f.gaugeQL("avg_over_time", serving.Waiting)
	case r.metric == "waiting":
		return f.gaugeQL("max_over_time", serving.Waiting)
	case r.metric == "running" && r.stat == "mean":
		return f.gaugeQL("avg_over_time", serving.Running)
	case r.metric == "kv_usage" && r.stat == "max":
		return f.gaugeQL("max_over_time", serving.KVUsage)
	case r.metric == "kv_usage":
		return f.gaugeQL("avg_over_time", serving.KVUsage)
	case r.metric == "preemptions":
		return f.counterQL(serving.Preemptions)
	}
	return ""
}

// An IncidentCounter is a counter's increase over each stretch, restarts added
// up: what it held before the first scrape is no part of it.
type IncidentCounter struct {
	Name                  serving.SeriesName
	By                    []serving.Term
	Unit                  serving.Unit
	Server                string
	Before, During, After serving.Opt[float64]
	PerMinute             [3]serving.Opt[float64]
	Resets                int // within the incident
	PromQL                string
}

// maxCounters bounds the counters of an incident's table.
const maxCounters = 60

func (v *incidentView) counters() {
	for _, s := range v.u.sources {
		if s.servers == nil || s.servers.log || s.relative != v.u.relative {
			continue
		}
		for _, view := range s.servers.views {
			for i := range view.Counters {
				if c, ok := v.counter(s.servers, view, &view.Counters[i]); ok && len(v.inc.Counters) < maxCounters {
					v.inc.Counters = append(v.inc.Counters, c)
				}
			}
		}
	}
}

func (v *incidentView) counter(c *serverChannel, view serverView, k *serving.Counter) (IncidentCounter, bool) {
	out := IncidentCounter{Name: k.Name, By: k.By, Unit: k.Unit, Server: view.Label}
	over := func(from, to float64, slot int) serving.Opt[float64] {
		cut := c.cut(view, from, to)
		if to <= from || cut.n() < 2 {
			return serving.None[float64]()
		}
		x, resets := stat.IncreaseAcross(k.Values[cut.from:cut.to], cut.restarted)
		if slot == 1 {
			out.Resets = resets
			if k.PromQL != "" && !view.Relative {
				out.PromQL = "increase(" + k.PromQL + "[" + rangeOf(cut.Times[cut.to-1]-cut.Times[cut.from]) + "])"
			}
		}
		got := finite(x)
		if got.OK {
			out.PerMinute[slot] = serving.Some(x * 60e9 / float64(cut.Times[cut.to-1]-cut.Times[cut.from]))
		}
		return got
	}
	out.Before, out.During = over(v.since, v.guard, 0), over(v.from, v.to, 1)
	if !v.inc.After.Empty() {
		out.After = over(v.to, v.until, 2)
	}
	return out, out.During.V != 0 || out.Before.V != 0
}

// An IncidentReplica is one replica beside the others.
type IncidentReplica struct {
	Name, Source   string
	Before, During ReplicaState
}

// A ReplicaState is what one replica did in a stretch.
type ReplicaState struct {
	RequestsPerSecond, TTFT, TPOT, Waiting, Running, KV, Preemptions serving.Opt[float64] // means; KV the highest
	Restarts                                                         int
}

// maxReplicas bounds the replicas that are put side by side.
const maxReplicas = 32

// replicas puts replicas side by side, from the first source that tells them
// apart: scrapes know more of each than requests do.
func (v *incidentView) replicas() {
	for _, kind := range []string{"scrapes", "trace", "log", "client"} {
		s := v.u.of(kind)
		if s == nil || s.relative != v.u.relative {
			continue
		}
		var out []IncidentReplica
		if s.servers != nil {
			out = v.serverReplicas(s)
		} else {
			out = v.rowReplicas(s)
		}
		if len(out) > 1 {
			slices.SortFunc(out, func(a, b IncidentReplica) int { return cmp.Compare(a.Name, b.Name) })
			v.inc.Replicas = out
			return
		}
	}
}

func (v *incidentView) serverReplicas(s *source) []IncidentReplica {
	var out []IncidentReplica
	for _, view := range s.servers.views {
		if len(out) == maxReplicas {
			break
		}
		one := *s.servers
		one.views, one.devices = []serverView{view}, nil
		r := IncidentReplica{Name: view.Replica.Or(view.Label), Source: s.label}
		if v.guard > v.since {
			r.Before = stateOf(one.phase(v.since, v.guard))
		}
		r.During = stateOf(one.phase(v.from, v.to))
		out = append(out, r)
	}
	return out
}

func (v *incidentView) rowReplicas(s *source) []IncidentReplica {
	if len(s.rows.replicas) < 2 || len(s.rows.replicas) > maxReplicas {
		return nil
	}
	var out []IncidentReplica
	for k, name := range s.rows.replicas {
		rs := *s.rows.rowSource
		rs.replicas = nil
		rs.rows = slices.DeleteFunc(slices.Clone(s.rows.rows), func(r diagRow) bool { return r.replica != int32(k) })
		if len(rs.rows) == 0 {
			continue
		}
		one := newRowChannel(&rs)
		r := IncidentReplica{Name: name, Source: s.label}
		if v.guard > v.since {
			r.Before = stateOf(one.phase(v.since, v.guard))
		}
		r.During = stateOf(one.phase(v.from, v.to))
		out = append(out, r)
	}
	return out
}

func stateOf(p *phase) ReplicaState {
	return ReplicaState{RequestsPerSecond: finite(p.Requests / p.seconds()), TTFT: finite(p.TTFT.Mean), TPOT: finite(p.TPOT.Mean), Waiting: finite(p.Waiting.Mean), Running: finite(p.Running.Mean),
		KV: finite(p.KV.Max), Preemptions: finite(p.Preemptions), Restarts: p.Restarts}
}

// Ratio is the incident over the baseline, missing where the baseline is 0.
func (f IncidentFigure) Ratio() serving.Opt[float64] {
	if !f.Before.OK || !f.During.OK || f.Before.V == 0 {
		return serving.None[float64]()
	}
	return finite(f.During.V / f.Before.V)
}

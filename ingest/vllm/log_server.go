package vllm

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vreport/vreport/ingest/logtext"
	"github.com/vreport/vreport/ingest/serving"
)

// servers turns what was read into servers, in the order of their first lines.
func (d *logDecoder) servers() ([]*serving.Server, error) {
	groups := joinGroups(d.order)
	var out []*serving.Server
	perSource := map[string]int{}
	for _, g := range groups {
		perSource[g.key.source]++
		d.in.Records += int64(len(g.list))
	}
	for _, g := range groups {
		out = append(out, d.server(g, len(perSource) > 1, perSource[g.key.source] > 1))
	}
	if len(out) == 0 {
		return nil, d.noLines()
	}
	return out, nil
}

// noLines explains a log without a periodic line: what its start says is all
// there is. One without that is damaged.
func (d *logDecoder) noLines() error {
	var parts []string
	for _, s := range d.sources {
		for _, f := range s.facts.settings() {
			parts = append(parts, f.Key+" "+f.Value)
		}
	}
	if len(parts) == 0 {
		return &serving.FormatError{At: serving.Pos{Path: d.path}, Format: FormatLog, Found: "no periodic line", Want: "lines with \"Avg prompt throughput: … Running: …\"",
			Remedy: "start vLLM without --disable-log-stats"}
	}
	slices.Sort(parts)
	d.in.Note = "the log of a start, without a periodic line: " + strings.Join(parts, ", ")
	return nil
}

// joinGroups puts the groups of one engine after each other where their
// processes did not run at the same time: a server that was started again has
// another process id. Others are servers side by side.
func joinGroups(order []*group) []*group {
	type process struct{ source, id string }
	type span struct{ first, last int }
	spans := map[process]span{}
	of := func(g *group) process { return process{g.key.source, g.key.process} }
	for _, g := range order {
		x, ok := spans[of(g)]
		if !ok {
			x = span{g.first, g.last}
		}
		spans[of(g)] = span{min(x.first, g.first), max(x.last, g.last)}
	}
	type engine struct{ source, engine string }
	latest := map[engine]int{} // position in out of the process of an engine that ended last
	until := map[engine]span{}
	var out []*group
	for _, g := range order {
		k, x := engine{g.key.source, g.key.engine}, spans[of(g)]
		i, ok := latest[k]
		if ok && until[k].last < x.first {
			g.list[0].restart = true
			out[i].list = append(out[i].list, g.list...)
			out[i].last = g.last
		} else {
			i = len(out)
			out = append(out, g)
		}
		if !ok || x.last > until[k].last {
			latest[k], until[k] = i, x
		}
	}
	return out
}

// server turns an engine's samples into a server.
func (d *logDecoder) server(g *group, severalSources, severalHere bool) *serving.Server {
	stamps := make([]logtext.Stamp, len(g.list))
	for i, s := range g.list {
		stamps[i] = s.at
	}
	ns, relative, rule := d.cal.Instants(stamps)
	series := d.series(g, ns)
	if series.lead && relative {
		series.shift(-series.times[0])
	}
	s := &serving.Server{
		Engine: "vllm", Version: g.source.facts.get("version"), Model: g.source.facts.model(),
		Replica: replica(g, severalSources, severalHere), Sources: []string{d.path},
		Times: series.times, Relative: relative, YearTime: logtext.YearTime(relative, stamps), TimeRule: rule, Restarts: series.restarts, Info: g.info(),
	}
	if series.merged > 0 {
		s.TimeRule += fmt.Sprintf("; %d lines of one and the same moment are one", series.merged)
	}
	series.fill(s, prefixCachingOff(g.source.facts))
	if series.lead {
		s.TimeRule += "; the first instant is the start of the first line's interval"
	}
	s.Label = labelOf(s, d.path)
	return s
}

func replica(g *group, severalSources, severalHere bool) serving.Opt[string] {
	var parts []string
	if severalSources && g.key.source != "" {
		parts = append(parts, g.key.source)
	}
	if e := g.key.engine; severalHere && e != "" {
		n := strings.TrimLeft(e, "0")
		switch {
		case strings.Contains(e, " "):
			parts = append(parts, e)
		default:
			parts = append(parts, "engine "+cmp.Or(n, "0"))
		}
	} else if strings.Contains(e, " ") {
		parts = append(parts, e)
	}
	if severalHere && g.key.process != "" && g.key.engine == "" {
		parts = append(parts, "process "+g.key.process)
	}
	if len(parts) == 0 {
		return serving.None[string]()
	}
	return serving.Some(strings.Join(parts, ", "))
}

func labelOf(s *serving.Server, path string) string {
	var parts []string
	for _, p := range []string{s.Model.V, s.Replica.V} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if !s.Model.OK {
		parts = append([]string{baseLabel(path)}, parts...)
	}
	return strings.Join(parts, " · ")
}

func (g *group) info() []serving.Setting {
	out := g.source.facts.settings()
	for i, n := range g.source.trouble {
		if n > 0 {
			out = append(out, serving.Setting{Key: troubles[i].key, Value: fmt.Sprint(n)})
		}
	}
	return out
}

// prefixCachingOff reports whether the log says so: the hit rate is printed as
// 0.0% all the same.
func prefixCachingOff(f *logFacts) bool { return f.get("enable_prefix_caching").V == "False" }

// logSeries are an engine's samples in time order, one an instant.
type logSeries struct {
	times    []int64
	restarts []int64
	samples  []sample
	lead     bool // a first instant was put before the samples
	merged   int  // samples that share an instant with another
}

// series orders an engine's samples. Counters need to know when the counting
// began: where the first line counts something, the start of its interval is an
// instant of its own, without which that count would have nothing to rise from.
func (d *logDecoder) series(g *group, ns []int64) *logSeries {
	at := make([]int, len(ns))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(ns[a], ns[b]) })
	out := &logSeries{}
	for _, i := range at {
		s := g.list[i]
		if n := len(out.times); n > 0 && out.times[n-1] == ns[i] {
			out.merged++
			out.samples[n-1] = merge(out.samples[n-1], s)
			continue
		}
		out.times = append(out.times, ns[i])
		out.samples = append(out.samples, s)
	}
	for i, s := range out.samples {
		if s.restart && i > 0 {
			out.restarts = append(out.restarts, out.times[i])
		}
	}
	for _, v := range out.samples[0].values {
		if v.col.count == ofInterval && v.v > 0 {
			out.lead = true
		}
	}
	if out.lead {
		out.times = slices.Insert(out.times, 0, out.times[0]-out.interval())
		out.samples = slices.Insert(out.samples, 0, sample{})
	}
	return out
}

// interval is the usual distance of two lines; of one line vLLM's default.
func (x *logSeries) interval() int64 {
	var d []int64
	for i := 1; i < len(x.times); i++ {
		d = append(d, x.times[i]-x.times[i-1])
	}
	if len(d) == 0 {
		return int64(10 * time.Second)
	}
	slices.Sort(d)
	return d[len(d)/2]
}

func (x *logSeries) shift(by int64) {
	for _, ts := range [][]int64{x.times, x.restarts} {
		for i := range ts {
			ts[i] += by
		}
	}
}

// merge puts two lines of one instant together: the later levels count, and the
// counts of both.
func merge(a, b sample) sample {
	out := b
	out.restart = a.restart || b.restart
	out.values = slices.Clone(b.values)
	for _, v := range a.values {
		i := slices.IndexFunc(out.values, func(w value) bool { return w.col.name == v.col.name })
		switch {
		case i < 0:
			out.values = append(out.values, v)
		case v.col.count == ofInterval:
			out.values[i].v += v.v
		}
	}
	return out
}

// fill makes gauges and counters of the samples, in the order of the columns.
func (x *logSeries) fill(s *serving.Server, noPrefixCache bool) {
	found := map[serving.SeriesName]*logColumn{}
	for _, p := range x.samples {
		for _, v := range p.values {
			if found[v.col.name] == nil || v.col.count != level {
				found[v.col.name] = v.col
			}
		}
	}
	done := map[serving.SeriesName]bool{}
	for _, cols := range [][]logColumn{periodicColumns, specColumns} {
		for i := range cols {
			c := found[cols[i].name]
			if c == nil || done[c.name] {
				continue
			}
			done[c.name] = true
			if c.count != level {
				s.Counters = append(s.Counters, serving.Counter{Name: c.name, Unit: c.unit, From: c.key, Values: x.counter(c.name)})
				continue
			}
			g := serving.Gauge{Name: c.name, Unit: c.unit, From: c.key, Values: x.gauge(c.name)}
			if c.name == serving.PrefixHitRatio && noPrefixCache && !slices.ContainsFunc(g.Values, func(v float64) bool { return v > 0 }) {
				continue // 0.0% of a cache that is switched off
			}
			s.Gauges = append(s.Gauges, g)
		}
	}
}

func (x *logSeries) gauge(name serving.SeriesName) []float64 {
	out := nans(len(x.samples))
	for i, s := range x.samples {
		for _, v := range s.values {
			if v.col.name == name {
				out[i] = v.v
			}
		}
	}
	return out
}

// counter adds up what lines count. A line without the count counts none: vLLM
// leaves out preemptions where there were none. A restart starts at 0 again. A
// total since the start is not known before it is first printed, unless that
// was for the first of all.
func (x *logSeries) counter(name serving.SeriesName) []float64 {
	out := make([]float64, len(x.samples))
	sum, known := 0.0, false
	for i, s := range x.samples {
		if s.restart {
			sum = 0
		}
		for _, v := range s.values {
			switch {
			case v.col.name != name:
			case v.col.count == sinceStart:
				if sum = math.Max(sum, v.v); !known && sum > 1 {
					copy(out[:i], nans(i))
				}
				known = true
			default:
				sum, known = sum+v.v, true
			}
		}
		out[i] = sum
	}
	return out
}

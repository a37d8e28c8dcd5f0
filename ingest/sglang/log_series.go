package sglang

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

const runningReq = "#running-req"

// Series that the program has no name of its own for.
const (
	acceptLen  serving.SeriesName = "spec_acceptance_length"
	acceptRate serving.SeriesName = "spec_acceptance_rate"
)

// A logGauge is what a field of batch lines means as a level.
type logGauge struct {
	name serving.SeriesName
	unit serving.Unit
}

var logGauges = map[string]logGauge{
	runningReq:                   {serving.Running, serving.RequestsUnit},
	"#queue-req":                 {serving.Waiting, serving.RequestsUnit},
	"token usage":                {serving.KVUsage, serving.Share},
	"full token usage":           {serving.KVUsage, serving.Share},
	"swa token usage":            {serving.KVUsage, serving.Share},
	"cache hit rate":             {serving.PrefixHitRatio, serving.Share},
	"gen throughput (token/s)":   {serving.GenerationRate, serving.PerSecond},
	"input throughput (token/s)": {serving.PromptRate, serving.PerSecond},
	"accept len":                 {acceptLen, serving.Tokens},
	"accept rate":                {acceptRate, serving.Share},
	"mamba usage":                {"mamba_usage", serving.Share},
	"pre-allocated usage":        {"preallocated_kv_usage", serving.Share},
	"#pending-token":             {"pending_prompt_tokens", serving.Tokens},
	"#transfer-req":              {"transferring", serving.RequestsUnit},
	"#prealloc-req":              {"preallocating", serving.RequestsUnit},
	"#retracted-req":             {"retracted", serving.RequestsUnit},
	"#inflight-req":              {"sending_kv", serving.RequestsUnit},
	"#bootstrap-req":             {"bootstrapping", serving.RequestsUnit},
	"#unbootstrapped-req":        {"bootstrapping", serving.RequestsUnit},
	"#transferring-req":          {"transferring", serving.RequestsUnit},
}

// Counters of a log, added up from its lines.
const (
	cComputed = iota // prompt tokens that were computed: #new-token
	cCached          // prompt tokens from the prefix cache: #cached-token
	cPreempt
	numCounters
)

// An engine is the series of one data-parallel rank.
type engine struct {
	decoder  *logDecoder
	rank     string
	times    []int64
	gauges   map[serving.SeriesName]*level
	order    []serving.SeriesName
	counters [numCounters][]float64
	totals   [numCounters]float64
	restarts []int64
	pending  bool // the next row is the first of a new process
	retracts bool
}

// A level is one gauge in the making.
type level struct {
	unit   serving.Unit
	from   string
	values []float64 // as far as there were values
}

func (c *level) set(row int, v float64) {
	for len(c.values) <= row {
		c.values = append(c.values, math.NaN())
	}
	c.values[row] = v
}

// at returns the row of an instant: a new one, or that of the line before where
// the clock has not moved. Counting starts at the instant before the first line,
// where the log has one, so that the first line's tokens are an increase too.
func (e *engine) at(t, before int64) int {
	n := len(e.times)
	if n == 0 && before < t && e.decoder.clock != noClock {
		e.push(before)
	}
	if n = len(e.times); n > 0 && t <= e.times[n-1] && !e.pending {
		return n - 1
	}
	if n > 0 && t <= e.times[n-1] {
		t = e.times[n-1] + 1
	}
	if e.pending {
		e.pending = false
		e.restarts = append(e.restarts, t)
	}
	e.push(t)
	return len(e.times) - 1
}

func (e *engine) push(t int64) {
	e.times = append(e.times, t)
	for i := range e.counters {
		e.counters[i] = append(e.counters[i], e.totals[i])
	}
}

// close writes the counters of a row after its line was read.
func (e *engine) close(row int) {
	for i := range e.counters {
		e.counters[i][row] = e.totals[i]
	}
}

func (e *engine) restart() {
	if len(e.times) > 0 {
		e.pending, e.totals = true, [numCounters]float64{}
	}
}

// maxGauges bounds the series of an engine.
const maxGauges = 64

func (e *engine) gauge(g logGauge, from string) *level {
	if c := e.gauges[g.name]; c != nil {
		return c
	}
	if len(e.gauges) >= maxGauges {
		return nil
	}
	if e.gauges == nil {
		e.gauges = map[serving.SeriesName]*level{}
	}
	c := &level{unit: g.unit, from: from}
	e.gauges[g.name], e.order = c, append(e.order, g.name)
	return c
}

// field takes one field of a line.
func (d *logDecoder) field(e *engine, row int, decode bool, f batchField) {
	as, unit := "", ""
	switch f.name {
	case "#new-token":
		d.count(e, cComputed, f)
		as, unit = string(serving.PromptTotal), "tokens"
	case "#cached-token":
		d.count(e, cCached, f)
		as, unit = string(serving.PrefixHits), "tokens"
	default:
		as, unit = d.gauge(e, row, decode, f)
	}
	d.fields.Add(serving.Field{Name: f.name, As: as, Unit: unit, How: "dialect"})
}

// maxBatchTokens is more than any batch holds.
const maxBatchTokens = 1 << 40

func (d *logDecoder) count(e *engine, counter int, f batchField) {
	if f.value < 0 || f.value > maxBatchTokens {
		d.in.Problems.AddKind("range "+f.name, serving.Problem{At: serving.Pos{Path: d.path, Line: d.no, Field: f.name}, Message: fmt.Sprintf("%g tokens in a batch: left out", f.value)})
		return
	}
	e.totals[counter] += f.value
}

// gauge takes a field that is a level. Running requests are those of decode
// lines: a prefill line counts them before its new ones join.
func (d *logDecoder) gauge(e *engine, row int, decode bool, f batchField) (as, unit string) {
	g, ok := logGauges[f.name]
	if !ok {
		return "", ""
	}
	v := f.value
	if f.percent {
		v, unit = v/100, "%"
	}
	if g.name == serving.Running && !decode {
		g.name = runningAtPrefill
	}
	if v < 0 || g.unit == serving.Share && v > 1.5 {
		d.in.Problems.AddKind("range "+f.name, serving.Problem{At: serving.Pos{Path: d.path, Line: d.no, Field: f.name}, Message: fmt.Sprintf("%g is out of range; taken as missing", f.value)})
		return string(g.name), unit
	}
	c := e.gauge(g, f.name)
	if c == nil {
		return "", ""
	}
	if f.name == "swa token usage" && row < len(c.values) && c.values[row] > v {
		v = c.values[row] // the fuller of the two pools decides
	}
	c.set(row, v)
	return strings.TrimSuffix(string(g.name), prefillSuffix), unit
}

// runningAtPrefill holds the running requests of prefill lines, which count
// only where an engine has no decode lines: a prefill worker.
const (
	prefillSuffix                       = "_at_prefill"
	runningAtPrefill serving.SeriesName = serving.Running + prefillSuffix
)

// servers turns the engines into servers, by rank.
func (d *logDecoder) servers() []*serving.Server {
	slices.SortFunc(d.order, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	var out []*serving.Server
	for _, rank := range d.order {
		if e := d.engines[rank]; len(e.times) > 0 {
			out = append(out, d.server(e))
		}
	}
	if d.skipped > 0 {
		addNote(d.in, fmt.Sprintf("%d batch lines of later pipeline stages repeat the first stage's and are left out", d.skipped))
	}
	if d.clock == localClock {
		addNote(d.in, "the log's clock has no time zone and is read as UTC")
	}
	return out
}

func addNote(in *serving.Input, s string) {
	if in.Note != "" {
		in.Note += "; "
	}
	in.Note += s
}

func (d *logDecoder) server(e *engine) *serving.Server {
	s := &serving.Server{
		Label: baseLabel(d.path), Engine: "sglang", Version: d.facts.version, Model: d.facts.model, Sources: []string{d.path},
		Times: e.times, Restarts: e.restarts, Info: d.facts.info,
		Relative: d.clock == noClock, TimeRule: [...]string{"order of lines", "log timestamps, read as UTC", "log timestamps"}[d.clock],
	}
	if e.rank != "" {
		s.Label += " DP" + e.rank
		s.Replica = serving.Some("DP" + e.rank)
	}
	d.gaugesOf(s, e)
	d.countersOf(s, e)
	return s
}

func (d *logDecoder) gaugesOf(s *serving.Server, e *engine) {
	for _, name := range e.order {
		c := e.gauges[name]
		if name == runningAtPrefill {
			if e.gauges[serving.Running] != nil {
				continue
			}
			name = serving.Running
		}
		for len(c.values) < len(e.times) {
			c.values = append(c.values, math.NaN())
		}
		s.Gauges = append(s.Gauges, serving.Gauge{Name: name, Unit: c.unit, From: c.from, Values: c.values})
	}
}

// countersOf adds the counters. Prompt tokens are those computed and those from
// the prefix cache; a request that was retracted counts again, as it is
// prefilled again. That none was retracted is known of a log that has more than
// batch lines, from the engine's start on.
func (d *logDecoder) countersOf(s *serving.Server, e *engine) {
	add := func(name serving.SeriesName, unit serving.Unit, from string, values []float64) {
		s.Counters = append(s.Counters, serving.Counter{Name: name, Unit: unit, From: from, Values: values})
	}
	if e.totals[cComputed]+e.totals[cCached] > 0 || slices.Max(e.counters[cComputed])+slices.Max(e.counters[cCached]) > 0 {
		prompt := make([]float64, len(e.times))
		for i := range prompt {
			prompt[i] = e.counters[cComputed][i] + e.counters[cCached][i]
		}
		add(serving.PromptTotal, serving.Tokens, "#new-token + #cached-token", prompt)
		add(serving.PrefixQueries, serving.Tokens, "#new-token + #cached-token", prompt)
		add(serving.PrefixHits, serving.Tokens, "#cached-token", e.counters[cCached])
	}
	if e.retracts || d.started {
		add(serving.Preemptions, serving.NoUnit, "#retracted_reqs", e.counters[cPreempt])
	}
}

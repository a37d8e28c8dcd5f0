package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/ingest/serving"
)

// plantedRun is a run of which only aggregates are known: n requests of a
// length at a concurrency, streamed at a given gap, with a first token after
// ttft.
func plantedRun(model string, conc int64, gap, ttft float64, in, out int64, settings ...serving.Setting) *serving.Run {
	const n = 1000
	id := fmt.Sprintf("c%d", conc)
	e2e := ttft + gap*float64(out-1)
	duration := n * e2e / float64(conc)
	r := &serving.Run{ID: id, Label: id, Source: serving.Pos{Path: "r/" + id + ".json"}, Format: "vllm-serve", Model: serving.Some(model), Engine: serving.Some("vllm"),
		Load: serving.LoadOf(serving.Some(conc), serving.None[float64](), true), Settings: settings,
		Sent: serving.Some[int64](n), Completed: serving.Some[int64](n), Failed: serving.Some[int64](0), Duration: serving.Some(duration),
		Input: serving.Some(n * in), Output: serving.Some(n * out)}
	for _, m := range []struct {
		k serving.MetricKey
		v float64
	}{{serving.TPOT, gap}, {serving.TTFT, ttft}, {serving.E2E, e2e}} {
		for _, s := range []string{"mean", "p50", "p99"} {
			r.Reported = append(r.Reported, serving.Reported{Field: s, Metric: m.k, Stat: s, File: m.v, PerBase: 1})
		}
	}
	return r
}

// plantedSweep has a step of t0 + t1 × batch.
func plantedSweep(model string, t0, t1 float64, in, out int64, concs []int64, settings ...serving.Setting) *serving.Dataset {
	ds := &serving.Dataset{}
	for _, c := range concs {
		ds.Runs = append(ds.Runs, plantedRun(model, c, t0+t1*float64(c), .001, in, out, settings...))
	}
	return ds
}

func hardware(t *testing.T, s string) *ceiling.Hardware {
	t.Helper()
	h, err := ceiling.ParseHardware(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &h
}

var levels = []int64{1, 2, 4, 8, 16, 32, 64}

func onlyCeiling(t *testing.T, rep *Report) *Ceiling {
	t.Helper()
	v := Value[Ceilings](rep)
	if v == nil || len(v.Ceilings) != 1 {
		t.Fatalf("ceilings: %+v, want one", v)
	}
	return v.Ceilings[0]
}

// The line that was planted is found, with the bandwidth that it implies.
func TestStepLine(t *testing.T) {
	ds := plantedSweep("meta-llama/Llama-3.3-70B-Instruct", .014, .00027, 8000, 384, levels)
	opt := DefaultOptions()
	opt.Hardware = hardware(t, "h100-sxm:4")
	c := onlyCeiling(t, analyzed(t, ds, opt))
	l := c.Line
	if l == nil || l.Refused != "" || math.Abs(l.T0-.014) > 2e-5 || math.Abs(l.T1-.00027) > 2e-6 || math.Abs(l.HalfBatch()-51.85) > .5 || math.Abs(l.EffectiveOf.V-.752) > .002 {
		t.Errorf("line %+v", l)
	}
	if b := c.Bandwidth; math.Abs(b.OneRequest-94.96) > .01 || math.Abs(b.HalfBatch.V-52.57) > .1 || len(b.Curve) < 10 {
		t.Errorf("bandwidth %+v", b)
	}
	if k := c.Capacity; k.Computed == nil || k.Computed.Requests.V < 50 || k.Computed.Requests.V > 54 {
		t.Errorf("capacity %+v", k)
	}
	one, many := c.BoundPerUser(1), c.BoundPerUser(64)
	if !one.OK || !many.OK || many.V >= one.V || c.BoundPerUser(1000).OK || c.BoundPerUser(0).OK {
		t.Errorf("the bound is %v at 1, %v at 64, and must end at the ridge", one, many)
	}
}

// What is not known is asked for, with its flag; the number of GPUs is never
// taken for one.
func TestCeilingsAskForWhatIsMissing(t *testing.T) {
	ds := plantedSweep("meta-llama/Llama-3.1-8B-Instruct", .01, .0002, 1000, 500, levels)
	c := onlyCeiling(t, analyzed(t, ds, DefaultOptions()))
	all := strings.Join(c.Missing, "\n")
	if c.GPUs.OK || c.Bandwidth != nil || !strings.Contains(all, "--hardware") || !strings.Contains(all, "number of GPUs") || c.Binding.What != BindsUnknown {
		t.Errorf("GPUs %v, missing %q, binding %v", c.GPUs, all, c.Binding)
	}
	if c.Capacity == nil || c.Capacity.PerToken.V != 131072 {
		t.Errorf("capacity %+v: the model alone gives the KV cache of a token", c.Capacity)
	}
	ds = plantedSweep("somebody/own-model", .01, .0002, 1000, 500, levels)
	if v := Value[Ceilings](analyzed(t, ds, DefaultOptions())); v != nil {
		t.Errorf("nothing is known, yet %+v", v.Ceilings[0])
	}
}

// A measurement above the bound: the inputs are wrong, or speculation is on.
func TestExceedingTheBound(t *testing.T) {
	fast := func(settings ...serving.Setting) string {
		ds := plantedSweep("meta-llama/Llama-3.1-8B-Instruct", .003, .00001, 1000, 500, levels, settings...)
		opt := DefaultOptions()
		opt.Hardware = hardware(t, "h100-sxm:1")
		return strings.Join(onlyCeiling(t, analyzed(t, ds, opt)).Findings, "\n")
	}
	if got := fast(); !strings.Contains(got, "the inputs are wrong") {
		t.Errorf("without a reason: %q", got)
	}
	if got := fast(serving.Setting{Key: "num_speculative_tokens", Value: "3"}); !strings.Contains(got, "Speculative decoding is on") {
		t.Errorf("with speculation: %q", got)
	}
	ds := plantedSweep("google/gemma-4-26B-A4B-it", 1.0/139, .0001, 1000, 200, levels)
	opt := DefaultOptions()
	opt.Hardware = hardware(t, "rtx-pro-6000:1")
	spec, _ := ceiling.ParseSpec("google/gemma-4-26B-A4B-it,weights=fp8")
	opt.Model, _ = spec.Model(nil)
	c := onlyCeiling(t, analyzed(t, ds, opt))
	if got := strings.Join(c.Findings, "\n"); !strings.Contains(got, "not all experts were read") || !strings.Contains(got, "1.9") {
		t.Errorf("a mixture of experts: %q", got)
	}
}

// server is an engine as its scrapes show it.
func server(model string, running, waiting, kv float64, preempted float64, info ...serving.Setting) *serving.Server {
	two := func(v float64) []float64 { return []float64{0, v} }
	return &serving.Server{ID: "s", Label: "s", Engine: "vllm", Model: serving.Some(model), Times: []int64{0, 15e9}, Info: info,
		Gauges:   []serving.Gauge{{Name: serving.Running, Values: two(running)}, {Name: serving.Waiting, Values: two(waiting)}, {Name: serving.KVUsage, Values: two(kv)}},
		Counters: []serving.Counter{{Name: serving.Preemptions, Values: two(preempted)}}}
}

// Each ceiling is found where it was planted, and the engine's pool beats the
// computed one.
func TestBinding(t *testing.T) {
	const model = "meta-llama/Llama-3.1-8B-Instruct"
	limit := serving.Setting{Key: "max_num_seqs", Value: "256"}
	for _, tc := range []struct {
		name   string
		t0, t1 float64
		srv    *serving.Server
		want   Binds
	}{
		{"preemptions", .010, .0004, server(model, 60, 5, 1, 12, limit), BindsCapacity},
		{"pool full and a queue", .010, .0004, server(model, 60, 5, .99, 0, limit), BindsCapacity},
		{"batch limit", .010, .0004, server(model, 64, 40, .3, 0, serving.Setting{Key: "max_num_seqs", Value: "64"}), BindsBatch},
		{"bandwidth", .0068, .00003, server(model, 64, 0, .3, 0, limit), BindsBandwidth},
		{"room", .012, .0008, server(model, 64, 0, .3, 0, limit), BindsNeither},
		{"full pool without a queue is no fault", .012, .0008, server(model, 64, 0, .99, 0, limit), BindsNeither},
		{"no engine", .012, .0008, nil, BindsUnknown},
	} {
		ds := plantedSweep(model, tc.t0, tc.t1, 100, 500, levels)
		if tc.srv != nil {
			ds.Servers = []*serving.Server{tc.srv}
		}
		opt := DefaultOptions()
		opt.Hardware = hardware(t, "h100-sxm:1")
		c := onlyCeiling(t, analyzed(t, ds, opt))
		if c.Binding.What != tc.want {
			t.Errorf("%s: %s binds, want %s: %+v", tc.name, c.Binding.What, tc.want, c.Binding)
		}
	}
	ds := plantedSweep(model, .01, .0004, 100, 500, levels)
	ds.Servers = []*serving.Server{server(model, 60, 0, .2, 0, serving.Setting{Key: "kv_cache_tokens", Value: "416096"})}
	opt := DefaultOptions()
	opt.Hardware = hardware(t, "h100-sxm:1")
	k := onlyCeiling(t, analyzed(t, ds, opt)).Capacity
	if k.Reported == nil || k.Computed == nil || k.Best().Tokens.V != 416096 {
		t.Errorf("pools %+v and %+v, want the reported one to win", k.Reported, k.Computed)
	}
}

// Each rule speaks on its observation, and only then.
func TestAdvice(t *testing.T) {
	const model = "meta-llama/Llama-3.1-8B-Instruct"
	knobs := func(ds *serving.Dataset, hw string, exprs ...string) []string {
		opt := DefaultOptions()
		opt.Hardware = hardware(t, hw)
		opt.SLOs = slos(t, exprs...)
		var out []string
		if v := Value[AdviceList](analyzed(t, ds, opt)); v != nil {
			for _, a := range v.Advice {
				out = append(out, a.Direction+" "+a.Knob)
				if a.Observation == "" || a.Price == "" || a.Phase != "experiment" || a.Command == "" {
					t.Errorf("incomplete: %+v", a)
				}
			}
		}
		return out
	}
	limit := serving.Setting{Key: "max_num_seqs", Value: "256"}
	full := func() *serving.Dataset {
		ds := plantedSweep(model, .01, .0004, 100, 500, levels)
		ds.Servers = []*serving.Server{server(model, 60, 5, 1, 12, limit)}
		return ds
	}
	if got := knobs(full(), "h100-sxm:1"); !slices.Equal(got, []string{"raise gpu_memory_utilization", "lower kv_cache_dtype", "raise tensor_parallel_size"}) {
		t.Errorf("a full pool: %q", got)
	}
	if got := knobs(full(), "l40s:1"); slices.ContainsFunc(got, func(k string) bool { return strings.Contains(k, "tensor_parallel") }) {
		t.Errorf("tensor parallelism is advised over PCIe: %q", got)
	}
	batch := plantedSweep(model, .01, .0004, 100, 500, levels)
	batch.Servers = []*serving.Server{server(model, 64, 40, .3, 0, serving.Setting{Key: "max_num_seqs", Value: "64"})}
	if got := knobs(batch, "h100-sxm:1"); !slices.Equal(got, []string{"raise max_num_seqs"}) {
		t.Errorf("a batch limit: %q", got)
	}
	// The same with TPOT beyond its objective: the batch must not grow.
	if got := knobs(batch, "h100-sxm:1", "tpot:p99<20ms"); !slices.Contains(got, "lower max_num_seqs") || slices.Contains(got, "raise max_num_seqs") {
		t.Errorf("a batch limit and slow tokens: %q", got)
	}
	quiet := plantedSweep(model, .012, .0008, 100, 500, levels)
	quiet.Servers = []*serving.Server{server(model, 64, 0, .3, 0, limit)}
	if got := knobs(quiet, "h100-sxm:1", "tpot:mean<5s"); slices.ContainsFunc(got, func(k string) bool { return !strings.HasPrefix(k, "test ") }) {
		t.Errorf("nothing is wrong, yet %q", got)
	}
	wide := plantedSweep(model, .012, .0008, 100, 500, levels, serving.Setting{Key: "tensor_parallel_size", Value: "8"})
	if got := knobs(wide, "h100-sxm:8"); !slices.Contains(got, "lower tensor_parallel_size") {
		t.Errorf("an 8B model on 8 GPUs: %q", got)
	}
	for _, r := range adviceRules {
		if r.id == "" || r.doc == "" {
			t.Errorf("rule %+v lacks a name or a doc", r)
		}
	}
}

// A model's name that a file made up cannot get out of the command.
func TestCommandIsQuoted(t *testing.T) {
	c := &adviceCase{engine: "vllm", runs: []*RunStats{{Run: plantedRun("x'; rm -rf / #\n", 4, .01, .1, 10, 10)}}}
	c.levels = [][]*RunStats{c.runs}
	got := c.command(Advice{Knob: "max_num_seqs", From: "64", To: "128", Direction: "raise"})
	if strings.Count(got, "\n") != 1 || !strings.Contains(got, `'\''`) || strings.Contains(got, "serve x'") {
		t.Errorf("command %q", got)
	}
}

func TestCost(t *testing.T) {
	ds := plantedSweep("m", .01, .0002, 100, 500, levels)
	opt := DefaultOptions()
	p, err := ParsePrice("2.5/gpu-hour")
	if err != nil {
		t.Fatal(err)
	}
	opt.Price = &p
	rep := analyzed(t, ds, opt)
	if v := Value[Cost](rep); v != nil {
		t.Errorf("the number of GPUs is not known, yet %+v", v)
	}
	opt.Hardware = hardware(t, "h100-sxm:4")
	v := Value[Cost](analyzed(t, ds, opt))
	if v == nil || len(v.Rows) != len(levels) {
		t.Fatalf("cost %+v", v)
	}
	for _, r := range v.Rows {
		want := 10.0 / 3600 / r.Run.Throughput.Output.V * 1e6
		if r.GPUs != 4 || math.Abs(r.PerMillionOut.V-want) > 1e-9 {
			t.Errorf("%s costs %v, want %g", r.Run.Run.ID, r.PerMillionOut, want)
		}
	}
	for in, want := range map[string]Price{"2.5/gpu-hour": {2.5, "USD"}, "$3/gpu-hour": {3, "USD"}, "EUR 2/gpu-h": {2, "EUR"}, "1.8€/gpu-hour": {1.8, "EUR"}} {
		if got, err := ParsePrice(in); err != nil || got != want {
			t.Errorf("%q is %+v (%v), want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "2.5", "2.5/hour", "x/gpu-hour", "-1/gpu-hour", "0/gpu-hour", "EUR 2 USD/gpu-hour", "2 bananas/gpu-hour"} {
		if got, err := ParsePrice(in); err == nil {
			t.Errorf("%q is taken for %+v", in, got)
		}
	}
}

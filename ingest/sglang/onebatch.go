package sglang

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A batchTool is one of the three programs that append to the same result.jsonl.
type batchTool uint8

const (
	noTool        batchTool = iota
	batchServer             // bench_one_batch_server: one batch over HTTP
	batchProcess            // bench_one_batch: one static batch in the process, no scheduler
	offlineEngine           // bench_offline_throughput: many prompts through the engine
)

func toolOf(keys map[string]bool) (batchTool, string) {
	switch {
	case keys["successful_requests"] && keys["total_latency"] && keys["total_throughput"]:
		return offlineEngine, ""
	case !keys["batch_size"] || !keys["input_len"] || !keys["output_len"]:
		return noTool, `no "batch_size", "input_len" and "output_len"`
	case keys["latency"] && keys["overall_throughput"]:
		return batchServer, ""
	case keys["total_latency"] && keys["overall_throughput"]:
		return batchProcess, ""
	}
	return noTool, `neither "latency" nor "total_latency" with "overall_throughput"`
}

// SniffOneBatch says whether a record with these names is one of SGLang's
// one-batch or offline benchmarks, and why not.
func SniffOneBatch(keys map[string]bool) (ok bool, why string) {
	tool, why := toolOf(keys)
	return tool != noTool, why
}

// DecidedOneBatch says whether these first names already make a record one of
// the one-batch benchmarks.
func DecidedOneBatch(keys map[string]bool) bool {
	tool, _ := toolOf(keys)
	return tool != noTool
}

// DecodeOneBatch reads result.jsonl of bench_one_batch_server, bench_one_batch
// and bench_offline_throughput, a run each record. The file is appended to for
// days: equal configurations are repeats.
func DecodeOneBatch(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &decoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, fields: flat.Fields{In: in}, format: FormatOneBatch}
	return d.runsOf(d.batchRecord, "a record with batch_size, input_len, output_len, latency and overall_throughput")
}

func (d *decoder) batchRecord(at serving.Pos) error {
	rec, ok, err := flat.Reader{R: d.r}.Read()
	if err != nil {
		return err
	}
	if !ok {
		d.reject(at, "the value is no JSON object")
		return nil
	}
	tool, why := toolOf(rec.Keys)
	if tool == noTool {
		d.reject(at, why)
		return nil
	}
	w := batchWires[tool]
	if tool == batchServer && !rec.Has("last_ttft") {
		w = oldestWire
	}
	for _, name := range rec.Names {
		d.fields.Add(w.field(name))
	}
	run := &serving.Run{Source: at, Format: FormatOneBatch, Label: rec.Text("run_name").Or(baseLabel(d.path)), Engine: serving.Some("sglang"), Settings: w.settings(rec)}
	batchCounts(run, rec, tool)
	w.reported(run, rec)
	run.Notes = append(run.Notes, w.notes...)
	if n := rec.Count("num_early_stopped"); n.V > 0 {
		note(run, "%d of %d answers stopped early", n.V, run.Sent.V)
	}
	d.runs = append(d.runs, run)
	return nil
}

// A batchWire is what the names of one tool mean.
type batchWire struct {
	totals map[string]total
	header map[string]string
	notes  []string
}

var batchHeader = map[string]string{
	"run_name": "label", "batch_size": "max_concurrency", "input_len": "setting", "output_len": "setting", "total_output_tokens": "output_tokens",
}

// Of the whole batch that is sent at once, the time to the last first token is
// the longest TTFT, and the whole time the longest E2E. Its input and output
// rates are those of the two phases, not of the run: tokens in until the last
// first token, tokens out after it.
var batchWires = map[batchTool]batchWire{
	batchServer: {
		totals: map[string]total{
			"latency":                        {serving.E2E, "max", "s", 1},
			"last_ttft":                      {serving.TTFT, "max", "s", 1},
			"input_throughput":               {prefillRate, "", "tok/s", 1},
			"output_throughput":              {decodeRate, "", "tok/s", 1},
			"overall_throughput":             {serving.RateTotal, "", "tok/s", 1},
			"last_gen_throughput":            {lastDecodeRate, "", "tok/s", 1},
			"acc_length":                     {serving.SpecAcceptanceLen, "", "tokens", 1},
			"cache_hit_rate":                 {prefixHitRatio, "", "share", 1},
			"num_early_stopped":              {stoppedEarly, "", "requests", 1},
			"steady_state_output_throughput": {steadyRate, "", "tok/s", 1},
			"steady_state_window_s":          {steadyWindow, "", "s", 1},
		},
		header: batchHeader,
		notes:  []string{"one batch sent at once: of latencies only the longest is known; the file's input and output throughput are those of prefill and decode alone"},
	},
	batchProcess: {
		totals: map[string]total{
			"prefill_latency":          {batchPrefill, "", "s", 1},
			"prefill_throughput":       {prefillRate, "", "tok/s", 1},
			"median_decode_latency":    {decodeStep, "p50", "s", 1},
			"avg_decode_latency":       {decodeStep, "mean", "s", 1},
			"median_decode_throughput": {decodeRate, "p50", "tok/s", 1},
			"avg_decode_throughput":    {decodeRate, "mean", "tok/s", 1},
			"overall_throughput":       {serving.RateTotal, "", "tok/s", 1},
		},
		header: map[string]string{
			"run_name": "label", "batch_size": "max_concurrency", "input_len": "setting", "output_len": "setting", "total_latency": "duration",
		},
		notes: []string{"one static batch in the process of the model, without scheduler, queue or HTTP: no serving latency"},
	},
	offlineEngine: {
		totals: map[string]total{
			"request_throughput":  {serving.RateRequests, "", "req/s", 1},
			"input_throughput":    {inputRate, "", "tok/s", 1},
			"output_throughput":   {serving.RateOutput, "", "tok/s", 1},
			"total_throughput":    {serving.RateTotal, "", "tok/s", 1},
			"total_input_tokens":  {serving.TotalInputTokens, "", "tokens", 1},
			"total_output_tokens": {serving.TotalOutputTokens, "", "tokens", 1},
			"last_gen_throughput": {lastDecodeRate, "", "tok/s", 1},
		},
		header: map[string]string{"backend": "backend", "successful_requests": "completed", "total_latency": "duration"},
		notes:  []string{"an offline run of the engine: all prompts at once, no HTTP and no latency of single requests"},
	},
}

// oldestWire is bench_one_batch_server before it knew the time to first token:
// its output throughput is that of the whole run.
var oldestWire = batchWire{
	totals: map[string]total{
		"latency":             {serving.E2E, "max", "s", 1},
		"output_throughput":   {serving.RateOutput, "", "tok/s", 1},
		"overall_throughput":  {serving.RateTotal, "", "tok/s", 1},
		"last_gen_throughput": {lastDecodeRate, "", "tok/s", 1},
		"acc_length":          {serving.SpecAcceptanceLen, "", "tokens", 1},
	},
	header: batchHeader,
	notes:  []string{"one batch sent at once: of latencies only the longest is known"},
}

func (w batchWire) field(name string) serving.Field {
	f := serving.Field{Name: name, As: w.header[name], How: "dialect"}
	if t, ok := w.totals[name]; ok {
		f.As, f.Unit = string(t.metric), t.unit
	}
	return f
}

func (w batchWire) settings(rec *flat.Record) []serving.Setting {
	var out []serving.Setting
	for _, name := range rec.Names {
		if v := rec.Text(name); v.OK && (w.header[name] == "setting" || w.header[name] == "" && w.totals[name].metric == "" && isBatchSetting(name)) {
			out = append(out, serving.Setting{Key: name, Value: v.V})
		}
	}
	return out
}

// isBatchSetting recognizes what wrappers and forks add to say how a batch was
// run.
func isBatchSetting(name string) bool {
	for _, s := range []string{"_size", "_backend", "_dtype", "model", "model_path", "quantization", "device"} {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// reported lists the aggregates. -1 is written where an acceptance length is not
// known, and a batch of answers of one token has no decode.
func (w batchWire) reported(r *serving.Run, rec *flat.Record) {
	for _, name := range rec.Names {
		t, ok := w.totals[name]
		v, is := rec.Number(name)
		if !ok || !is || v < 0 || v == 0 && (t.unit == "s" || t.metric == serving.SpecAcceptanceLen) {
			continue
		}
		r.Reported = append(r.Reported, serving.Reported{Field: name, Metric: t.metric, Stat: t.stat, File: v, PerBase: t.per})
	}
}

// batchCounts fills in counts, duration and load: a batch is that many requests
// in flight at once.
func batchCounts(r *serving.Run, rec *flat.Record, tool batchTool) {
	seconds := "latency"
	if tool != batchServer {
		seconds = "total_latency"
	}
	if v, ok := rec.Number(seconds); ok && v > 0 {
		r.Duration = serving.Some(v)
	}
	if tool == offlineEngine {
		r.Backend = rec.Text("backend")
		r.Completed = rec.Count("successful_requests")
		r.Input, r.Output = rec.Count("total_input_tokens"), rec.Count("total_output_tokens")
		r.Load = serving.LoadOf(serving.None[int64](), serving.None[float64](), true)
		return
	}
	n := rec.Count("batch_size")
	if n.V < 1 {
		return
	}
	r.Load = serving.LoadOf(n, serving.None[float64](), true)
	r.Sent, r.Completed, r.Failed = n, n, serving.Some[int64](0)
	r.Input = product(n, rec.Count("input_len"))
	if r.Output = rec.Count("total_output_tokens"); !r.Output.OK {
		r.Output = product(n, rec.Count("output_len"))
	}
	r.Workload = serving.Some(fmt.Sprintf("one batch %s/%s", rec.Scalar("input_len").Text, rec.Scalar("output_len").Text))
}

func product(a, b serving.Opt[int64]) serving.Opt[int64] {
	if !a.OK || !b.OK || b.V > 1<<40 || a.V > 1<<20 {
		return serving.None[int64]()
	}
	return serving.Some(a.V * b.V)
}

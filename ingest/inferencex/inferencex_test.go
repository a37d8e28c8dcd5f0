package inferencex

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func decodeAll(t testing.TB, path, text string) ([]*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{Bytes: int64(len(text))}
	runs, err := Decode(t.Context(), path, strings.NewReader(text), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, r := range runs {
		check(t, r)
	}
	return runs, in
}

func check(t testing.TB, r *serving.Run) {
	t.Helper()
	for _, a := range r.Reported {
		if !(a.PerBase > 0) || math.IsNaN(a.Value()) || math.IsInf(a.File, 0) || a.Metric == "" {
			t.Fatalf("reported %+v", a)
		}
	}
	if r.GPUs.OK && r.GPUs.V < 1 || r.Duration.OK && !(r.Duration.V > 0) || r.Completed.OK && r.Completed.V < 0 || r.Output.OK && r.Output.V < 0 {
		t.Fatalf("%+v", r)
	}
}

func want(t *testing.T, r *serving.Run, m serving.MetricKey, stat string, v float64) {
	t.Helper()
	if got, ok := r.ReportedValue(m, stat); !ok || math.Abs(got-v) > 1e-9*math.Abs(v) {
		t.Errorf("%s %q is %v %v, want %v", m, stat, got, ok, v)
	}
}

// flatRecord is what process_result.py writes for one node.
const flatRecord = `{"hw": "h200", "conc": 64, "image": "vllm/vllm-openai:v0.10.2", "model": "org/m", "infmax_model_prefix": "m", "framework": "vllm", "precision": "fp8", "spec_decoding": "none",
"disagg": false, "isl": 1024, "osl": 1024, "is_multinode": false, "tp": 4, "pp": 2, "dcp_size": 1, "pcp_size": 1, "ep": 4, "dp_attention": "false",
"tput_per_gpu": 100.0, "output_tput_per_gpu": 40.0, "input_tput_per_gpu": 60.0,
"mean_ttft": 0.15, "median_ttft": 0.14, "std_ttft": 0.02, "p99_ttft": 0.3, "mean_tpot": 0.02, "mean_intvty": 50.0, "median_tpot": 0.0195, "median_intvty": 51.28, "p99_tpot": 0.04, "p99_intvty": 25.0, "std_tpot": 0.001, "std_intvty": 1000.0,
"mean_itl": 0.021, "p99_itl": 0.09, "mean_e2el": 20.0, "p99_e2el": 30.0, "p99_client_queue_time": 0.5}`

func TestFlat(t *testing.T) {
	runs, in := decodeAll(t, "agg_x.json", flatRecord)
	r := runs[0]
	want(t, r, serving.TTFT, "mean", 0.15)
	want(t, r, serving.TTFT, "p50", 0.14)
	want(t, r, serving.TPOT, "p99", 0.04)
	want(t, r, serving.ITL, "p99", 0.09)
	want(t, r, serving.E2E, "mean", 20)
	// Rates a GPU, and those of the system.
	want(t, r, totalPerGPU, "", 100)
	want(t, r, serving.RateTotal, "", 800)
	want(t, r, serving.RateOutput, "", 320)
	want(t, r, inputRate, "", 480)
	// The rate of the slowest users is the first percentile of the rates.
	want(t, r, interactivity, "p1", 25)
	want(t, r, interactivity, "p50", 51.28)
	want(t, r, interactivity, "harmonic mean", 50)
	for _, stat := range []string{"p99", "mean", "std"} {
		if v, ok := r.ReportedValue(interactivity, stat); ok {
			t.Errorf("interactivity has a %s of %v", stat, v)
		}
	}
	if r.GPUs != serving.Some(8) || r.Engine.V != "vllm" || r.Version.V != "0.10.2" || r.Load.Mode != serving.ClosedLoop || r.Load.MaxConcurrency.V != 64 {
		t.Errorf("GPUs %v engine %v version %v load %v", r.GPUs, r.Engine, r.Version, r.Load)
	}
	if r.Completed.OK || r.Sent.OK || r.Duration.OK || r.Output.OK {
		t.Errorf("counts that the file does not have: %+v", r)
	}
	for _, s := range r.Settings {
		if s.Key == "conc" || strings.Contains(s.Key, "ttft") || strings.Contains(s.Key, "queue") || strings.Contains(s.Key, "tput") {
			t.Errorf("setting %v", s)
		}
	}
	if v, ok := r.Setting("precision"); !ok || v != "fp8" {
		t.Errorf("settings %v", r.Settings)
	}
	for _, f := range in.Fields {
		if f.Name == "mean_ttft" && (f.As != "ttft" || f.Unit != "s") {
			t.Errorf("field %+v", f)
		}
	}
}

// Prefill and decode on several nodes: output is a decode GPU's, input a
// prefill GPU's.
func TestMultiNode(t *testing.T) {
	text := `[{"hw": "gb200", "conc": 4, "model": "m", "framework": "dynamo-trt", "image": "nvcr.io/x/tensorrtllm-runtime:0.5.1", "is_multinode": true, "disagg": true, "prefill_tp": 4, "decode_tp": 8,
		"num_prefill_gpu": 4, "num_decode_gpu": 16, "tput_per_gpu": 10.0, "output_tput_per_gpu": 6.0, "input_tput_per_gpu": 26.0, "mean_ttft": 0.2},
		{"hw": "gb200", "conc": 8, "model": "m", "framework": "dynamo-sglang", "is_multinode": true, "num_prefill_gpu": 8, "num_decode_gpu": 0, "tput_per_gpu": 10.0, "output_tput_per_gpu": 6.0},
		"damage", {"hw": "tpu"}]`
	runs, in := decodeAll(t, "x.json", text)
	if len(runs) != 2 || in.Problems.Len() != 2 || runs[1].Source.Field != "[1]" {
		t.Fatalf("%d runs, %v", len(runs), in.Problems.List())
	}
	r := runs[0]
	want(t, r, serving.RateTotal, "", 200)
	want(t, r, serving.RateOutput, "", 96)
	want(t, r, inputRate, "", 104)
	if r.GPUs != serving.Some(20) || r.Engine.V != "tensorrt-llm" || r.Version.OK {
		t.Errorf("GPUs %v engine %v version %v", r.GPUs, r.Engine, r.Version)
	}
	if r := runs[1]; r.GPUs != serving.Some(8) || r.Engine.V != "sglang" {
		t.Errorf("GPUs %v engine %v", r.GPUs, r.Engine)
	}
	want(t, runs[1], serving.RateOutput, "", 48)
}

const agentic = `{"hw": "cluster:x", "conc": 8, "model": "m", "framework": "vllm", "image": "vllm/vllm-openai-rocm:v0.24.0", "scenario_type": "agentic-coding", "is_multinode": false, "tp": 4,
"num_requests_total": 12, "num_requests_successful": 8, "request_accounting": {"records_total": 12, "records_profiled": 8, "records_dropped_total": 4, "records_warmup_dropped": 3, "records_error_dropped": 2},
"request_metrics": {"qps": {"window_seconds": 1, "mean": 0.8}, "latency": {"ttft": {"mean": 1.5, "p95": 3.0, "std": 0.5}, "e2el": {"p50": 20.0}, "itl": {"mean": 0.05}, "tpot": {"mean": 0.05, "p95": 0.1}, "intvty": {"mean": 20.0, "p95": 10.0, "std": 4.0}},
"tokens": {"input": {"mean": 100.125}, "output_actual": {"mean": 50.3, "p50": 40}, "output_expected": {"mean": 60.0}},
"throughput": {"input": {"tokens_per_second": 80.1}, "output": {"tokens_per_second": 40.24}, "total": {"tokens_per_second": 120.34}, "duration_seconds": 10.0, "per_gpu": {"total_tput_tps": 30.085}}, "cache": {"theoretical_cache_hit_rate": 0.9}},
"server_metrics": {"present": true, "cache": {"gpu_cache_hit_rate": 0.1}, "kv_cache": {"gpu_usage_pct": 0.99459}, "sources": [{"id": "http://host:1/metrics"}]}}`

func TestAgentic(t *testing.T) {
	runs, _ := decodeAll(t, "x.json", agentic)
	r := runs[0]
	want(t, r, serving.TTFT, "p95", 3)
	want(t, r, serving.E2E, "p50", 20)
	want(t, r, serving.TPOT, "p95", 0.1)
	want(t, r, interactivity, "p5", 10)
	want(t, r, interactivity, "std", 4)
	want(t, r, serving.RateTotal, "", 120.34)
	want(t, r, "server_kv_usage", "", 0.99459)
	want(t, r, serving.OutputTokens, "p50", 40)
	if _, ok := r.ReportedValue(serving.ITL, "mean"); ok {
		t.Error("a mean a request is taken for single gaps")
	}
	// Of 4 dropped 3 were warm-up: 1 failed.
	if r.Completed.V != 8 || r.Failed != serving.Some[int64](1) || r.Sent.V != 9 || r.Duration.V != 10 || r.GPUs != serving.Some(4) {
		t.Errorf("completed %v failed %v sent %v duration %v GPUs %v", r.Completed, r.Failed, r.Sent, r.Duration, r.GPUs)
	}
	// 8 × 100.125 is a whole number of tokens, 8 × 50.3 is none: not all have it.
	if r.Input != serving.Some[int64](801) || r.Output.OK {
		t.Errorf("tokens %v %v", r.Input, r.Output)
	}
	for _, s := range r.Settings {
		if strings.HasPrefix(s.Key, "request_") || strings.HasPrefix(s.Key, "server_") || strings.HasPrefix(s.Key, "num_req") {
			t.Errorf("setting %v", s)
		}
	}
	// A wrong parallel size shows by the rates.
	runs, _ = decodeAll(t, "x.json", strings.Replace(agentic, `"tp": 4`, `"tp": 8`, 1))
	if runs[0].GPUs != serving.Some(4) || !strings.Contains(strings.Join(runs[0].Notes, " "), "8 GPUs") {
		t.Errorf("GPUs %v, notes %q", runs[0].GPUs, runs[0].Notes)
	}
}

func TestRepeats(t *testing.T) {
	runs, _ := decodeAll(t, "x.json", flatRecord)
	serve := &serving.Run{Format: "vllm-serve", Load: runs[0].Load}
	for _, a := range runs[0].Reported {
		if a.Metric == serving.TTFT || a.Metric == serving.TPOT {
			serve.Reported = append(serve.Reported, serving.Reported{Metric: a.Metric, Stat: a.Stat, File: a.File * 1000, PerBase: 1000})
		}
	}
	if !Repeats(runs[0], serve) {
		t.Error("the benchmark it was made from is not known")
	}
	serve.Reported[0].File *= 1.0001
	if Repeats(runs[0], serve) {
		t.Error("another benchmark is taken for the same")
	}
}

func TestBadInput(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "null", `{"hw": 1}`, `{"hw": "x", "tput_per`} {
		_, err := Decode(t.Context(), "x.json", strings.NewReader(text), &serving.Input{})
		var fe *serving.FormatError
		if !errors.As(err, &fe) {
			t.Errorf("%q: %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Decode(ctx, "x.json", strings.NewReader(flatRecord), &serving.Input{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func Fuzz(f *testing.F) {
	f.Add([]byte(flatRecord))
	f.Add([]byte(agentic))
	f.Add([]byte(`[{"hw": 1, "tput_per_gpu": "1e400", "p100_ttft": 5, "tp": 1e9, "conc": -3, "framework": "-", "image": ":v0.1"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, _ := Decode(context.Background(), "x", bytes.NewReader(b), &serving.Input{})
		for _, r := range runs {
			check(t, r)
		}
	})
}

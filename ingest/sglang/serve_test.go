package sglang

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// record is one of bench_serving, without its last brace.
const record = `{"tag": null, "backend": "sglang", "dataset_name": "random", "request_rate": Infinity, "max_concurrency": 2, "sharegpt_output_len": null, "random_input_len": 10, "random_output_len": 5, "random_range_ratio": 0.0,
"server_info": {"model_path": "org/m", "tokenizer_path": "org/m", "api_key": "secret", "host": "10.0.0.1", "port": 30000, "nccl_port": null, "random_seed": 7, "tp_size": 4, "pp_size": 2, "dp_size": 3, "ep_size": 4, "enable_dp_attention": false,
 "mem_fraction_static": 0.9, "schedule_policy": "fcfs", "chunked_prefill_size": 8192, "max_total_num_tokens": 1000, "internal_states": [{"tp_size": 99, "last_gen_throughput": 5.0}], "version": "0.5.6"},
"duration": 2.0, "completed": 4, "total_input_tokens": 40, "total_input_text_tokens": 40, "total_input_vision_tokens": 0, "total_output_tokens": 20, "total_output_tokens_retokenized": 19,
"request_throughput": 2.0, "input_throughput": 20.0, "output_throughput": 10.0, "total_throughput": 30.0,
"mean_e2e_latency_ms": 800.0, "median_e2e_latency_ms": 790.0, "std_e2e_latency_ms": 10.0, "p99_e2e_latency_ms": 900.0, "mean_ttft_ms": 100.0, "median_ttft_ms": 90.0, "p99_ttft_ms": 200.0,
"mean_tpot_ms": 20.0, "p99_tpot_ms": 30.0, "mean_itl_ms": 21.0, "p95_itl_ms": 40.0, "max_itl_ms": 50.0, "concurrency": 1.6, "accept_length": null`

func one(t testing.TB, text string) (*serving.Run, *serving.Input) {
	t.Helper()
	runs, in := servingRuns(t, "r/c2.jsonl", []byte(text))
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	return runs[0], in
}

func want(t *testing.T, r *serving.Run, m serving.MetricKey, stat string, v float64) {
	t.Helper()
	if got, ok := r.ReportedValue(m, stat); !ok || math.Abs(got-v) > 1e-12*math.Abs(v) {
		t.Errorf("%s %q is %v %v, want %v", m, stat, got, ok, v)
	}
}

func wantNone(t *testing.T, r *serving.Run, ms ...serving.MetricKey) {
	t.Helper()
	for _, a := range r.Reported {
		for _, m := range ms {
			if a.Metric == m {
				t.Errorf("%s is reported: %+v", m, a)
			}
		}
	}
}

func TestServing(t *testing.T) {
	r, in := one(t, record+"}\n")
	want(t, r, serving.E2E, "p99", 0.9)
	want(t, r, serving.E2E, "p50", 0.79)
	want(t, r, serving.TTFT, "mean", 0.1)
	want(t, r, serving.TPOT, "p99", 0.03)
	want(t, r, serving.ITL, "p95", 0.04)
	want(t, r, serving.ITL, "max", 0.05)
	want(t, r, serving.RateTotal, "", 30)
	want(t, r, serving.RateOutput, "", 10)
	want(t, r, inputRate, "", 20)
	want(t, r, meanInFlight, "mean", 1.6)
	want(t, r, poolTokens, "", 1000)
	wantNone(t, r, serving.SpecAcceptanceLen)
	if r.Engine.V != "sglang" || r.Model.V != "org/m" || r.Version.V != "0.5.6" || r.GPUs != serving.Some(24) {
		t.Errorf("engine %v model %v version %v GPUs %v", r.Engine, r.Model, r.Version, r.GPUs)
	}
	if r.Load.Mode != serving.ClosedLoop || !r.Load.Unlimited || r.Load.MaxConcurrency.V != 2 {
		t.Errorf("load %+v", r.Load)
	}
	if r.Completed.V != 4 || r.Sent.OK || r.Failed.OK || r.Duration.V != 2 || r.Input.V != 40 || r.Output.V != 20 {
		t.Errorf("%+v", r)
	}
	for _, s := range r.Settings {
		switch s.Key {
		case "random_input_len", "random_output_len", "random_range_ratio", "tp_size", "pp_size", "dp_size", "ep_size", "enable_dp_attention", "mem_fraction_static", "schedule_policy", "chunked_prefill_size":
		default:
			t.Errorf("setting %v", s)
		}
	}
	for _, f := range in.Fields {
		if strings.Contains(f.Name, "api_key") {
			t.Errorf("field %v", f)
		}
	}
}

func edit(t *testing.T, pairs ...string) string {
	t.Helper()
	s := record
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			t.Fatalf("no %q in the record", pairs[i])
		}
		s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
	}
	return s + "}"
}

func TestServingGPUs(t *testing.T) {
	if r, _ := one(t, edit(t, `"enable_dp_attention": false`, `"enable_dp_attention": true`)); r.GPUs != serving.Some(8) {
		t.Errorf("GPUs %v: replicas of the attention share them", r.GPUs)
	}
	// A backend is the client's protocol, and its server unknown.
	start, end := strings.Index(record, `"server_info"`), strings.Index(record, `"duration"`)
	r, _ := one(t, record[:start]+`"server_info": null, `+record[end:]+"}")
	if r.GPUs.OK || r.Engine.OK || r.Model.OK {
		t.Errorf("GPUs %v engine %v model %v", r.GPUs, r.Engine, r.Model)
	}
	// Of split prefill and decode the router lists what it likes.
	worker := func(version string) string {
		return `{"model_path": "org/m", "tp_size": 2, "schedule_policy": "fcfs", "version": "` + version + `", "disaggregation_mode": "x"}`
	}
	r, _ = one(t, record[:start]+`"server_info": {"internal_states": [{}], "prefill": [`+worker("1")+`], "decode": [`+worker("2")+`]}, `+record[end:]+"}")
	if r.GPUs.OK || r.Engine.V != "sglang" || r.Model.V != "org/m" || r.Version.OK || len(r.Notes) != 2 {
		t.Errorf("GPUs %v engine %v model %v version %v notes %q", r.GPUs, r.Engine, r.Model, r.Version, r.Notes)
	}
	if v, ok := r.Setting("decode.tp_size"); !ok || v != "2" {
		t.Errorf("settings %v", r.Settings)
	}
}

func TestServingLoad(t *testing.T) {
	for _, tc := range []struct {
		rate, conc string
		mode       serving.LoadMode
		finite     float64
	}{
		{"Infinity", "2", serving.ClosedLoop, 0},
		{"Infinity", "null", serving.ClosedLoop, 0},
		{"4.5", "null", serving.OpenLoop, 4.5},
		{"4.5", "8", serving.CappedOpen, 4.5},
		{`"inf"`, "null", serving.ClosedLoop, 0},
		{`"trace"`, "null", serving.OpenLoop, 0},
		{"1e9", "3", serving.ClosedLoop, 0},
	} {
		r, _ := one(t, edit(t, `"request_rate": Infinity`, `"request_rate": `+tc.rate, `"max_concurrency": 2`, `"max_concurrency": `+tc.conc))
		if r.Load.Mode != tc.mode || r.Load.RequestRate.V != tc.finite || r.Load.MaxConcurrency.OK == (tc.conc == "null") {
			t.Errorf("rate %s, limit %s: %+v", tc.rate, tc.conc, r.Load)
		}
	}
}

// Zeros and NaN where nothing was measured are no measurements.
func TestServingEmpty(t *testing.T) {
	r, _ := one(t, edit(t, `"completed": 4`, `"completed": 0`, `"mean_e2e_latency_ms": 800.0`, `"mean_e2e_latency_ms": NaN`))
	wantNone(t, r, serving.TTFT, serving.TPOT, serving.ITL, serving.E2E)
	r, _ = one(t, edit(t, `"mean_itl_ms": 21.0, "p95_itl_ms": 40.0, "max_itl_ms": 50.0`, `"mean_itl_ms": 0.0, "p95_itl_ms": 0.0`, `"total_input_tokens": 40`, `"total_input_tokens": 0`))
	wantNone(t, r, serving.ITL, serving.TotalInputTokens)
	if r.Input.OK {
		t.Errorf("input %v: a run of several turns writes 0", r.Input)
	}
	want(t, r, serving.TTFT, "mean", 0.1)
}

func TestServingNotStreamed(t *testing.T) {
	r, _ := one(t, edit(t, `"mean_ttft_ms": 100.0`, `"mean_ttft_ms": 800.0`))
	wantNone(t, r, serving.TTFT, serving.TPOT, serving.ITL)
	want(t, r, serving.E2E, "mean", 0.8)
	if len(r.Notes) == 0 {
		t.Error("no note")
	}
}

func TestServingDetails(t *testing.T) {
	r, in := one(t, record+`, "input_lens": [10, 10, 10, 10, 10, 10], "output_lens": [5, 5, 5, 1, 0, 0], "ttfts": [0.1, 0.2, 0.3, 0.4, 0.0, 0.5], "cached_tokens": [0, 8, null, 8.5, 0, 0],
		"itls": [[0.1, 0.1, 0.1, 0.1], [0.2, 0.2], [0.1, "x", 0.1, 0.1], [], [], [0.1]], "generated_texts": ["secret", "", "", "", "", ""],
		"errors": ["", "", "", "", "Traceback (most recent call last):\n  x\nasyncio.TimeoutError: timed out", "connection refused"]}`)
	if in.Problems.Len() != 2 {
		t.Errorf("problems %v", in.Problems.List())
	}
	if r.Sent.V != 6 || r.Completed.V != 4 || r.Failed.V != 2 || len(r.Requests.Parts()) != 1 {
		t.Errorf("sent %v completed %v failed %v", r.Sent, r.Completed, r.Failed)
	}
	near := func(name string, i int, want ...float64) {
		t.Helper()
		got := columnOf(t, r, name)[i]
		if len(got) != len(want) {
			t.Errorf("%s of request %d is %v, want %v", name, i, got, want)
			return
		}
		for k := range want {
			if math.Abs(got[k]-want[k]) > 1e-12 {
				t.Errorf("%s of request %d is %v, want %v", name, i, got, want)
			}
		}
	}
	near("e2e", 0, 0.5)
	near("tpot", 0, 0.1)
	near("e2e", 1, 0.6)
	near("tpot", 1, 0.1)
	near("e2e", 2) // a gap is not known
	near("e2e", 3, 0.4)
	near("tpot", 3)
	near("e2e", 5) // failed on the way
	near("ttft", 5, 0.5)
	near("cached_tokens", 1, 8)
	near("cached_tokens", 2)
	near("outcome", 4, float64(serving.Timeout))
	near("outcome", 5, float64(serving.Failed))
	if c := hasColumn(r, "itl"); c == nil || c.Gaps != "chunk" {
		t.Errorf("itl %+v, want chunk gaps: two requests have fewer than tokens", c)
	}
	r, _ = one(t, record+`, "output_lens": [3, 2], "ttfts": [0.5, 0.6], "itls": [[0.1, 0.1], [0.1]], "errors": ["", ""]}`)
	if c := hasColumn(r, "itl"); c == nil || c.Gaps != "token" {
		t.Errorf("itl %+v", c)
	}
	r, _ = one(t, record+`, "output_lens": [3, 2], "ttfts": [0.5, 0.6], "itls": [[], []], "errors": ["", ""]}`)
	if hasColumn(r, "ttft") != nil || hasColumn(r, "tpot") != nil || hasColumn(r, "e2e") == nil {
		t.Errorf("columns of answers that were not streamed: %v", r.Requests.Columns())
	}
}

// One damaged record does not lose the others.
func TestServingRecords(t *testing.T) {
	good := strings.ReplaceAll(record, "\n", " ") + "}\n"
	runs, in := servingRuns(t, "x.jsonl", []byte(good+"{\"a\": 1}\n"+good[:400]+"\n"+good+good[:300]))
	if len(runs) != 2 || in.Problems.Len() != 3 || runs[1].Source.Line != 4 {
		t.Errorf("%d runs, %v", len(runs), in.Problems.List())
	}
	for _, text := range []string{"", "[]", "{", "{\"a\": 1}", "null"} {
		_, err := DecodeServing(t.Context(), "x", strings.NewReader(text), &serving.Input{})
		var fe *serving.FormatError
		if !errors.As(err, &fe) {
			t.Errorf("%q: %v", text, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DecodeServing(ctx, "x", strings.NewReader(good), &serving.Input{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestOneBatch(t *testing.T) {
	runs, in := batchRuns(t, "result.jsonl", []byte(`{"run_name": "default", "batch_size": 4, "input_len": 100, "output_len": 10, "latency": 2.0, "output_throughput": 20.0, "overall_throughput": 220.0}
{"run_name": "x", "batch_size": 4, "input_len": 100, "output_len": 10, "latency": 2.0, "input_throughput": 800.0, "output_throughput": 26.67, "overall_throughput": 220.0, "last_ttft": 0.5, "last_gen_throughput": 30.0, "acc_length": -1.0, "cache_hit_rate": 0.25, "total_output_tokens": 39, "num_early_stopped": 1}
{"run_name": "y", "batch_size": 2, "input_len": 100, "output_len": 10, "prefill_latency": 0.1, "prefill_throughput": 2000.0, "median_decode_latency": 0.01, "median_decode_throughput": 200.0, "total_latency": 0.2, "overall_throughput": 1100.0}
{"backend": "engine", "successful_requests": 10, "total_latency": 5.0, "total_input_tokens": 1000, "total_output_tokens": 100, "request_throughput": 2.0, "input_throughput": 200.0, "output_throughput": 20.0, "total_throughput": 220.0}
{"batch_size": 1}
`))
	if len(runs) != 4 || in.Problems.Len() != 1 {
		t.Fatalf("%d runs, %v", len(runs), in.Problems.List())
	}
	old, server, process, offline := runs[0], runs[1], runs[2], runs[3]
	want(t, old, serving.RateOutput, "", 20)
	want(t, old, serving.E2E, "max", 2)
	wantNone(t, old, serving.TTFT, decodeRate)
	if old.Sent.V != 4 || old.Output.V != 40 || old.Input.V != 400 || old.Load.Mode != serving.ClosedLoop || old.Load.MaxConcurrency.V != 4 || old.GPUs.OK {
		t.Errorf("%+v", old)
	}
	// Here the output throughput is that of decode alone.
	want(t, server, decodeRate, "", 26.67)
	want(t, server, prefillRate, "", 800)
	want(t, server, serving.TTFT, "max", 0.5)
	want(t, server, prefixHitRatio, "", 0.25)
	wantNone(t, server, serving.RateOutput, serving.SpecAcceptanceLen)
	if server.Output.V != 39 || server.Label != "x" {
		t.Errorf("%+v", server)
	}
	want(t, process, batchPrefill, "", 0.1)
	want(t, process, decodeStep, "p50", 0.01)
	wantNone(t, process, serving.TTFT, serving.E2E, serving.TPOT)
	want(t, offline, serving.RateOutput, "", 20)
	if offline.Completed.V != 10 || offline.Duration.V != 5 {
		t.Errorf("%+v", offline)
	}
}

func FuzzServing(f *testing.F) {
	f.Add([]byte(record + "}"))
	f.Add([]byte(record + `, "output_lens": [3, -2, 1e300], "ttfts": [0.5, "x"], "itls": [[0.1, NaN], 5, null, [[]]], "errors": ["", 5, {}, "t"], "start_times": [1, 1e300], "latencies": [1]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, _ := DecodeServing(context.Background(), "x", bytes.NewReader(b), &serving.Input{Bytes: int64(len(b))})
		for _, r := range runs {
			checkRun(t, r)
		}
	})
}

func FuzzOneBatch(f *testing.F) {
	f.Add([]byte(`{"batch_size": 4, "input_len": 1e18, "output_len": 10, "latency": 2.0, "output_throughput": 20.0, "overall_throughput": 220.0}`))
	f.Add([]byte(fmt.Sprintf(`{"batch_size": %d, "input_len": 5, "output_len": -1, "total_latency": NaN, "overall_throughput": -1}`, int64(math.MaxInt64))))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, _ := DecodeOneBatch(context.Background(), "x", bytes.NewReader(b), &serving.Input{})
		for _, r := range runs {
			checkRun(t, r)
		}
	})
}

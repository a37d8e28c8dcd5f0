package trtllm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

type decodeFunc func(context.Context, string, io.Reader, *serving.Input) ([]*serving.Run, error)

func decodeWith(t testing.TB, dec decodeFunc, path, text string) ([]*serving.Run, *serving.Input, error) {
	t.Helper()
	in := &serving.Input{Bytes: int64(len(text))}
	runs, err := dec(t.Context(), path, strings.NewReader(text), in)
	for _, r := range runs {
		check(t, r)
	}
	return runs, in, err
}

func textRuns(t testing.TB, path, text string) ([]*serving.Run, *serving.Input) {
	t.Helper()
	runs, in, err := decodeWith(t, DecodeText, path, text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return runs, in
}

// check checks what holds of every run.
func check(t testing.TB, r *serving.Run) {
	t.Helper()
	for _, n := range []serving.Opt[int64]{r.Sent, r.Completed, r.Failed, r.Input, r.Output} {
		if n.OK && n.V < 0 {
			t.Fatalf("a negative count in %+v", r)
		}
	}
	for _, a := range r.Reported {
		if a.PerBase == 0 || math.IsNaN(a.Value()) || math.IsInf(a.Value(), 0) || a.File < 0 {
			t.Fatalf("reported %+v", a)
		}
	}
	if r.GPUs.OK && r.GPUs.V < 1 || r.Duration.OK && !(r.Duration.V > 0) {
		t.Fatalf("GPUs %v duration %v", r.GPUs, r.Duration)
	}
	if r.Requests == nil {
		return
	}
	for _, c := range r.Requests.Columns() {
		for _, v := range values(t, r, c.Name) {
			if v < 0 || math.IsInf(v, 0) {
				t.Fatalf("%s is %v", c.Name, v)
			}
		}
	}
}

// values reads a column; NaN where a row has none.
func values(t testing.TB, r *serving.Run, name string) []float64 {
	t.Helper()
	var out []float64
	for _, p := range r.Requests.Parts() {
		err := p.Scan(t.Context(), []string{name}, nil, func(b *serving.Batch) error {
			for i := range b.N {
				v := b.Cols[0]
				switch {
				case !v.Has(i):
					out = append(out, math.NaN())
				case v.Ints != nil:
					out = append(out, float64(v.Ints[i]))
				case v.Codes != nil:
					out = append(out, float64(v.Codes[i]))
				default:
					out = append(out, v.Floats[i])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func want(t *testing.T, r *serving.Run, m serving.MetricKey, stat string, v float64) {
	t.Helper()
	if got, ok := r.ReportedValue(m, stat); !ok || math.Abs(got-v) > 1e-12*math.Abs(v) {
		t.Errorf("%s %s is %v %v, want %v", m, stat, got, ok, v)
	}
}

func wantNone(t *testing.T, r *serving.Run, m serving.MetricKey) {
	t.Helper()
	for _, a := range r.Reported {
		if a.Metric == m {
			t.Errorf("%s is reported: %+v", m, a)
		}
	}
}

const rule = "===========================================================\n"

// streamed is a report as versions from 0.17 on print it.
const streamed = "[01/02/2026-03:04:05] [TRT-LLM] [I] Initializing Throughput Benchmark. [rate=-1 req/s]\nnoise: 5\n[01/02/2026-03:05:05] [TRT-LLM] [I] \n\n" + rule +
	"= PYTORCH BACKEND\n" + rule + "Model:\t\t\torg/model-8b\nModel Path:\t\tNone\nTensorRT LLM Version:\t1.2.0\nDtype:\t\t\tbfloat16\nKV Cache Dtype:\t\tFP8\nQuantization:\t\tNone\n\n" + rule +
	"= REQUEST DETAILS \n" + rule + "Number of requests:             100\nNumber of concurrent requests:  40.0000\nAverage Input Length (tokens):  128.0000\nAverage Output Length (tokens): 64.5000\n" + rule +
	"= WORLD + RUNTIME INFORMATION \n" + rule + "TP Size:                4\nPP Size:                2\nEP Size:                4\nMax Runtime Batch Size: 64\nMax Runtime Tokens:     8192\nScheduling Policy:      GUARANTEED_NO_EVICT\nKV Memory Percentage:   90.00%\nIssue Rate (req/sec):   5.0000E+13\n\n" + rule +
	"= PERFORMANCE OVERVIEW \n" + rule +
	"Request Throughput (req/sec):                     10.0000\nTotal Output Throughput (tokens/sec):             645.0000\nTotal Token Throughput (tokens/sec):              1925.0000\nTotal Latency (ms):                               10000.0000\n" +
	"Average request latency (ms):                     4000.0000\nPer User Output Throughput [w/ ctx] (tps/user):   16.0000\nPer GPU Output Throughput (tps/gpu):              80.6250\n" +
	"Average time-to-first-token [TTFT] (ms):          500.0000\nAverage time-per-output-token [TPOT] (ms):        55.0000\nPer User Output Speed (tps/user):                 18.0000\n" +
	"\n-- Per-Request Time-per-Output-Token [TPOT] Breakdown (ms)\n\n[TPOT] MINIMUM: 50.0000\n[TPOT] MAXIMUM: 70.0000\n[TPOT] AVERAGE: 55.0000\n[TPOT] P50    : 54.0000\n[TPOT] P99    : 69.0000\n" +
	"\n-- Per-Request Time-to-First-Token [TTFT] Breakdown (ms) \n\n[TTFT] P50    : 450.0000\n[TTFT] P99    : 900.0000\n" +
	"\n-- Per-Request Generation Throughput [GTPS] Breakdown (tps/user)\n\n[GTPS] P50    : 18.5000\n" +
	"\n-- Request Latency Breakdown (ms) -----------------------\n\n[Latency] P50    : 3900.0000\n[Latency] MAXIMUM: 9000.0000\n[Latency] AVERAGE: 4000.0000\n" +
	"\n" + rule + "= DATASET DETAILS\n" + rule + "Dataset Path:         /data/chat.jsonl\nNumber of Sequences:  100\n\nMIN:   1.0000 2.0000 3.0000\n" + rule

func TestText(t *testing.T) {
	runs, in := textRuns(t, "r/c40.txt", streamed)
	if len(runs) != 1 || in.Records != 1 || in.Problems.Len() != 0 {
		t.Fatalf("%d runs, %v", len(runs), in.Problems.List())
	}
	r := runs[0]
	want(t, r, serving.TTFT, "mean", 0.5)
	want(t, r, serving.TTFT, "p99", 0.9)
	want(t, r, serving.TPOT, "p99", 0.069)
	want(t, r, serving.TPOT, "min", 0.05)
	want(t, r, serving.E2E, "mean", 4)
	want(t, r, serving.E2E, "max", 9)
	want(t, r, serving.RateOutput, "", 645)
	want(t, r, serving.RateTotal, "", 1925)
	want(t, r, perUser, "mean", 16)
	want(t, r, genPerUser, "mean", 18)
	want(t, r, genPerUser, "p50", 18.5)
	wantNone(t, r, serving.ITL)
	if r.GPUs != serving.Some(8) || r.Duration != serving.Some(10.0) || r.Completed != serving.Some[int64](100) || r.Input != serving.Some[int64](12800) || r.Output != serving.Some[int64](6450) {
		t.Errorf("GPUs %v duration %v completed %v tokens %v %v", r.GPUs, r.Duration, r.Completed, r.Input, r.Output)
	}
	if r.Model.V != "org/model-8b" || r.Version.V != "1.2.0" || r.Workload.V != "chat" {
		t.Errorf("model %v version %v workload %v", r.Model, r.Version, r.Workload)
	}
	if v, _ := r.Setting("kv_cache_free_gpu_mem_fraction"); v != "0.9" {
		t.Errorf("KV share %q", v)
	}
	// 5e13 × 1e-18 × 100 requests: all were sent within 5 ms.
	if r.Load.Mode != serving.ClosedLoop || !r.Load.Unlimited {
		t.Errorf("load %+v", r.Load)
	}
}

// The one throughput of old versions is that of output tokens, and their
// inter-token latency one mean a request.
func TestOldText(t *testing.T) {
	text := rule + "= ENGINE DETAILS\n" + rule + "Model:\t\tm\nTensorRT-LLM Version:\t0.16.0\n" + rule + "= WORLD + RUNTIME INFORMATION \n" + rule + "TP Size:\t\t2\nPP Size:\t\t1\nIssue Rate (req/sec):\t3.0E+17\n" +
		rule + "= PERFORMANCE OVERVIEW \n" + rule + "Number of requests:\t\t10\nAverage Input Length (tokens):\t20.0000\nAverage Output Length (tokens):\t8.0000\nToken Throughput (tokens/sec):\t16.0000\nRequest Throughput (req/sec):\t2.0000\nTotal Latency (ms):\t\t5000.0000\n" +
		rule + "= STREAMING STATISTICS \n" + rule + "Average request latency (ms):\t\t1000.0000\nAverage time-to-first-token (ms):\t100.0000\nAverage inter-token latency (ms):\t25.0000\n" + rule
	runs, _ := textRuns(t, "x.txt", text+text)
	if len(runs) != 2 || runs[0].Source.Line != 2 || runs[1].Source.Line <= 20 {
		t.Fatalf("%d runs", len(runs))
	}
	r := runs[1]
	want(t, r, serving.RateOutput, "", 16)
	want(t, r, serving.TPOT, "mean", 0.025)
	wantNone(t, r, serving.ITL)
	wantNone(t, r, serving.RateTotal)
	if r.Load.Mode != serving.UnknownLoad || len(r.Notes) < 2 {
		t.Errorf("load %+v, notes %q: its requests started over 60%% of the run", r.Load, r.Notes)
	}
}

func TestTextWithoutReport(t *testing.T) {
	_, _, err := decodeWith(t, DecodeText, "x.txt", "[07/11/2025-08:06:57] [TRT-LLM] [I] Preparing to run throughput benchmark...\nKilled\n")
	var fe *serving.FormatError
	if !errors.As(err, &fe) || fe.Remedy == "" {
		t.Errorf("error %v", err)
	}
	if !SniffText([]byte("[07/11/2025-08:06:57] [TRT-LLM] [I] Preparing to run throughput benchmark...\n")) {
		t.Error("the log of a failed benchmark is not recognized")
	}
}

func TestSniffText(t *testing.T) {
	for text, ok := range map[string]bool{
		streamed: true, "": false, "PERFORMANCE OVERVIEW of the quarter\n": false, "= Performance overview\n": false,
		"print('= PERFORMANCE OVERVIEW')": false, "# WORLD + RUNTIME INFORMATION": false,
	} {
		if SniffText([]byte(text)) != ok {
			t.Errorf("%.40q: want %v", text, ok)
		}
	}
}

// report is a --report_json file.
const report = `{"engine": {"model": "org/m", "model_path": "/secret/path", "version": "1.2.0", "backend": "Pytorch", "dtype": "bfloat16", "quantization": null},
"world_info": {"tp_size": 4, "pp_size": 2, "ep_size": 4, "world_size": 8, "max_batch_size": 64, "kv_cache_percentage": 0.9, "issue_rate": 5e13},
"request_info": {"num_requests": 100, "avg_num_concurrent_requests": 40.0, "avg_input_length": 128.0, "avg_output_length": 64.5},
"performance": {"total_latency_ms": 10000.00001, "avg_request_latency_ms": 4000.0, "request_throughput_req_s": 10.0, "system_output_throughput_tok_s": 645.0, "system_total_throughput_tok_s": 1925.0,
 "output_throughput_per_user_tok_s": 16.0, "output_throughput_per_gpu_tok_s": 80.625, "request_latency_percentiles_ms": {"p50": 3900.0, "p99": 8800.0, "minimum": 1.0, "maximum": 9000.0, "average": 4000.0}},
"streaming_metrics": {"token_output_speed_tok_s": 18.0, "avg_ttft_ms": 500.0, "avg_tpot_ms": 55.0, "tpot_percentiles": {"p50": 54.0}, "ttft_percentiles": {"p99": 900.0}, "gen_tps_percentiles": {"p50": 18.5}},
"decoding_stats": {"mode": "MTP", "draft_acceptance_rate_percentiles": {"average": 0.7}, "acceptance_length_percentiles": {"average": 2.4}},
"dataset": {"isl_stats": {"p50": 999.0}, "osl_stats": {"minimum": 1.0}, "dataset_path": "/data/chat.jsonl"}}`

func TestReport(t *testing.T) {
	runs, in, err := decodeWith(t, DecodeReport, "r/report.json", report)
	if err != nil || len(runs) != 1 || in.Problems.Len() != 0 {
		t.Fatalf("%d runs, %v, %v", len(runs), err, in.Problems.List())
	}
	r := runs[0]
	want(t, r, serving.E2E, "p99", 8.8)
	want(t, r, serving.E2E, "min", 0.001)
	want(t, r, serving.TTFT, "mean", 0.5)
	want(t, r, serving.TPOT, "p50", 0.054)
	want(t, r, serving.SpecAcceptanceRate, "mean", 0.7)
	want(t, r, serving.SpecAcceptanceLen, "mean", 2.4)
	want(t, r, genPerUser, "p50", 18.5)
	if r.GPUs != serving.Some(8) || r.Output != serving.Some[int64](6450) || r.Load.Mode != serving.ClosedLoop {
		t.Errorf("GPUs %v output %v load %v", r.GPUs, r.Output, r.Load)
	}
	if !strings.Contains(strings.Join(r.Notes, " "), "one token") {
		t.Errorf("no word of one-token answers, which are zeros in TPOT: %q", r.Notes)
	}
	printed, _ := textRuns(t, "r/report.txt", streamed)
	if !SameRun(r, printed[0]) || !SameRun(printed[0], r) {
		t.Error("the printed report of the same benchmark is not known as the same run")
	}
	other := *printed[0]
	other.Duration.V += 1e-6
	if SameRun(r, &other) {
		t.Error("a run that took a microsecond more is taken for the same")
	}
}

// Without streaming there is no TTFT, whatever zeros stand there.
func TestReportNotStreamed(t *testing.T) {
	text := `{"engine": {"model": "m"}, "world_info": {"tp_size": 2}, "request_info": {"num_requests": 4}, "performance": {"total_latency_ms": 1000, "avg_request_latency_ms": 500},
		"streaming_metrics": {"avg_ttft_ms": 0.0, "ttft_percentiles": {"p50": 0.0}}}`
	runs, _, err := decodeWith(t, DecodeReport, "x.json", text)
	if err != nil {
		t.Fatal(err)
	}
	wantNone(t, runs[0], serving.TTFT)
	if runs[0].GPUs != serving.Some(2) || runs[0].Input.OK || runs[0].Load.Mode != serving.UnknownLoad {
		t.Errorf("%+v", runs[0])
	}
}

func TestRequests(t *testing.T) {
	const s = 1_760_000_000_000_000_001 // does not fit a float64
	rec := func(id, start, first, end, out, errs int64) string {
		return fmt.Sprintf(`{"id": %d, "num_input_tokens": 7, "error_tokens": %d, "start_timestamp": %d, "first_token_timestamp": %d, "end_timestamp": %d, "decode_iteration": 3, "output": "secret", "output_tokens": %d}`,
			id, errs, start, first, end, out)
	}
	text := "[" + strings.Join([]string{
		rec(1, s, s+100_000_000, s+500_000_000, 5, 0),
		rec(2, s+1, s+200_000_000, s+2_000_000_000, 1, 0),
		rec(3, s+2, -1, s+900_000_000, 4, 0),
		rec(4, s+3, -1, -1, 0, 0),
		rec(5, s+4, s+10, s+300_000_000, 3, 2),
		`"no request"`,
	}, ",") + "]"
	runs, in, err := decodeWith(t, DecodeRequests, "req.json", text)
	if err != nil || len(runs) != 1 || in.Problems.Len() != 1 {
		t.Fatalf("%d runs, %v, %v", len(runs), err, in.Problems.List())
	}
	r := runs[0]
	if r.Sent.V != 5 || r.Completed.V != 3 || r.Failed.V != 2 || r.Duration != serving.Some(2.0) || r.Load.Mode != serving.ClosedLoop {
		t.Errorf("sent %v completed %v failed %v duration %v load %v", r.Sent, r.Completed, r.Failed, r.Duration, r.Load)
	}
	nan := math.NaN()
	for name, w := range map[string][]float64{
		"ttft": {0.1, 0.199999999, nan, nan, nan}, "e2e": {0.5, 1.999999999, 0.899999998, nan, nan}, "tpot": {0.1, nan, nan, nan, nan},
		"arrival_time": {0, 1, 2, 3, 4}, "output_tokens": {5, 1, 4, 0, 3}, "outcome": {0, 0, 0, 4, 1},
	} {
		got := values(t, r, name)
		for i := range w {
			if math.Abs(got[i]-w[i]) > 1e-12 || math.IsNaN(got[i]) != math.IsNaN(w[i]) {
				t.Errorf("%s is %v, want %v", name, got, w)
				break
			}
		}
	}
	for _, f := range in.Fields {
		if f.Name == "output" && f.As != "" {
			t.Error("the answers' text is used")
		}
	}
}

func TestBadInput(t *testing.T) {
	for _, dec := range []decodeFunc{DecodeReport, DecodeRequests, DecodeText} {
		for _, text := range []string{"", "{", "[]", "null", `{"a": 1}`, "[1, 2", "\x00\xff"} {
			runs, _, err := decodeWith(t, dec, "x", text)
			var fe *serving.FormatError
			if len(runs) != 0 || !errors.As(err, &fe) {
				t.Errorf("%q: %d runs, %v", text, len(runs), err)
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		dec  decodeFunc
		text string
	}{{DecodeText, streamed}, {DecodeReport, report}, {DecodeRequests, `[{"start_timestamp": 1}]`}} {
		if _, err := c.dec(ctx, "x", strings.NewReader(c.text), &serving.Input{}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte(streamed))
	f.Add([]byte("= PERFORMANCE OVERVIEW\nTotal Latency (ms): 1e400\nTP Size: -4\n[TTFT] P50 : 1\n= STATISTICS\nNumber of requests: 9e30"))
	f.Fuzz(func(t *testing.T, b []byte) {
		SniffText(b)
		in := &serving.Input{}
		runs, _ := DecodeText(context.Background(), "x", bytes.NewReader(b), in)
		for _, r := range runs {
			check(t, r)
		}
	})
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(report))
	f.Add([]byte(`{"engine": 1, "request_info": {"num_requests": -1, "avg_input_length": NaN}, "performance": {"total_latency_ms": "inf"}, "world_info": {"world_size": 1e9}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, _ := DecodeReport(context.Background(), "x", bytes.NewReader(b), &serving.Input{})
		for _, r := range runs {
			check(t, r)
		}
	})
}

func FuzzRequests(f *testing.F) {
	f.Add([]byte(`[{"start_timestamp": 1, "end_timestamp": 9223372036854775807, "num_input_tokens": 1, "first_token_timestamp": 5, "output_tokens": 3}]`))
	f.Add([]byte(`{"start_timestamp": 5, "end_timestamp": 1}` + "\n" + `{"start_timestamp": 1e18, "end_timestamp": -1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		runs, _ := DecodeRequests(context.Background(), "x", bytes.NewReader(b), &serving.Input{})
		for _, r := range runs {
			check(t, r)
		}
	})
}

package vllm

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

type decoder func(context.Context, string, io.Reader, *serving.Input) ([]*serving.Run, error)

func decodeText(t testing.TB, dec decoder, path, text string) ([]*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	runs, err := dec(t.Context(), path, strings.NewReader(text), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return runs, in
}

func keysOf(t testing.TB, text string) map[string]bool {
	t.Helper()
	s, err := jsonscan.Probe("x.json", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Keys
}

const throughputJSON = `{
    "elapsed_time": 20.0,
    "num_requests": 1000,
    "total_num_tokens": 256000,
    "requests_per_second": 50.0,
    "tokens_per_second": 12800.0
}`

const latencyJSON = `{"avg_latency": 1.5, "std_latency": 0.5, "latencies": [1.0, 2.0, 1.5], "percentiles": {"10": 1.1, "50": 1.5, "99": 1.99}}`

func TestDecodeThroughput(t *testing.T) {
	if ok, why := SniffThroughput(keysOf(t, throughputJSON)); !ok {
		t.Error(why)
	}
	runs, in := decodeText(t, DecodeThroughput, "tp.json", throughputJSON)
	if len(runs) != 1 || in.Records != 1 || in.Problems.Len() != 0 {
		t.Fatalf("%d runs, problems %v", len(runs), in.Problems.List())
	}
	r := runs[0]
	if r.Format != FormatThroughput || r.Completed.V != 1000 || r.Duration.V != 20 || r.Load.Mode != serving.ClosedLoop || !r.Load.Unlimited || r.Source.String() != "tp.json" {
		t.Errorf("run %+v", r)
	}
	if r.GPUs.OK || r.Engine.OK || r.Output.OK || r.Input.OK || r.Model.OK {
		t.Errorf("the file does not say how many GPUs, of which engine, and how the tokens divide: %+v", r)
	}
	for m, want := range map[serving.MetricKey]float64{serving.RateRequests: 50, serving.RateTotal: 12800, totalTokens: 256000} {
		if got, ok := r.ReportedValue(m, ""); !ok || got != want {
			t.Errorf("%s is %v, want %v", m, got, want)
		}
	}
	if _, ok := r.ReportedValue(serving.RateOutput, ""); ok {
		t.Error("tokens/s of prompt and output are taken for output tokens/s")
	}
}

func TestDecodeLatency(t *testing.T) {
	if ok, why := SniffLatency(keysOf(t, latencyJSON)); !ok {
		t.Error(why)
	}
	runs, in := decodeText(t, DecodeLatency, "lat.json", latencyJSON)
	r := runs[0]
	for stat, want := range map[string]float64{"mean": 1.5, "std": 0.5, "p10": 1.1, "p50": 1.5, "p99": 1.99, "min": 1, "max": 2} {
		if got, ok := r.ReportedValue(batchLatency, stat); !ok || got != want {
			t.Errorf("%s is %v (%v), want %v s", stat, got, ok, want)
		}
	}
	if _, ok := r.ReportedValue(serving.E2E, "mean"); ok || r.Requests != nil {
		t.Error("the time of a batch is taken for a request's E2E")
	}
	if n, _ := r.Setting("num_iters"); n != "3" {
		t.Errorf("%q iterations, want 3", n)
	}
	for _, f := range in.Fields {
		if f.Name == "latencies" && (f.As != string(batchLatency) || f.Unit != "s") {
			t.Errorf("latencies are told to be %+v", f)
		}
	}
}

func TestOfflineSniffing(t *testing.T) {
	for _, text := range []string{
		`{"requests_per_second": 1, "tokens_per_second": {"average": 4}, "total_time": 2}`,
		`{"avg_latency": 1, "p99": 2}`, `{"model_id": "m", "request_throughput": 1, "mean_ttft_ms": 2, "latencies": [1]}`,
	} {
		keys := keysOf(t, text)
		a, _ := SniffThroughput(keys)
		b, _ := SniffLatency(keys)
		if a || b {
			t.Errorf("%s is taken for an offline bench's result", text)
		}
	}
	in := &serving.Input{}
	if _, err := DecodeLatency(t.Context(), "x.json", strings.NewReader(throughputJSON), in); err == nil {
		t.Error("a throughput result is read as a latency result")
	}
	if _, err := DecodeThroughput(t.Context(), "x.json", strings.NewReader(throughputJSON[:60]), in); err == nil || !strings.Contains(err.Error(), "x.json:") {
		t.Errorf("a cut file gives %v, want an error with its position", err)
	}
}

// A twin of each bench, as convert_to_pytorch_benchmark_format writes them.
func twinText(metrics, extra, args string) string {
	var b strings.Builder
	b.WriteString("[")
	for i, m := range strings.Split(metrics, ";") {
		name, values, _ := strings.Cut(m, "=")
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"benchmark": {"name": "vLLM benchmark", "extra_info": {"args": %s}}, "model": {"name": "org/m"}, "metric": {"name": %q, "benchmark_values": [%s], "extra_info": %s}}`,
			args, name, values, extra)
	}
	return b.String() + "]"
}

func TestDecodeTwin(t *testing.T) {
	const args = `{"model": "org/m", "tokenizer": null, "backend": "vllm", "tensor_parallel_size": 2, "pipeline_parallel_size": 1, "data_parallel_size": 1, "batch_size": 8, "input_len": 32, "output_len": 128, "header": "Authorization: secret", "quantization": null, "rate": "inf"}`
	serveExtra := `{"date": "20260101-000000", "backend": "openai", "model_id": "org/m", "num_prompts": 2, "request_rate": "inf", "max_concurrency": 4, "duration": 10.0, "completed": 2, "failed": 0, "total_input_tokens": 8, "total_output_tokens": 6, "request_throughput": 0.2, "output_throughput": 0.6, "total_token_throughput": 1.4}`
	for name, tc := range map[string]struct {
		text, format string
		check        func(*serving.Run) string
	}{
		"serve": {twinText("mean_ttft_ms=1.25;p99_ttft_ms=2.5;mean_itl_ms=NaN", serveExtra, `{"backend": "openai", "num_prompts": 2}`), FormatServe, func(r *serving.Run) string {
			v, _ := r.ReportedValue(serving.TTFT, "p99")
			_, nan := r.ReportedValue(serving.ITL, "mean")
			return strings.TrimSpace(fmt.Sprintln(v, nan, r.Load.MaxConcurrency.V, r.Duration.V, r.Completed.V, r.GPUs.OK))
		}},
		"throughput": {twinText("requests_per_second=50.0;tokens_per_second=12800.0", `{"elapsed_time": 20.0, "num_requests": 1000, "total_num_tokens": 256000}`, args), FormatThroughput, func(r *serving.Run) string {
			v, _ := r.ReportedValue(serving.RateTotal, "")
			return strings.TrimSpace(fmt.Sprintln(v, r.Duration.V, r.Completed.V, r.GPUs.V, r.Engine.V, r.Model.V))
		}},
		"latency": {twinText("latency=1.0, 2.0, 1.5", `{"avg_latency": 1.5, "std_latency": 0.5, "percentiles": {"50": 1.5}}`, args), FormatLatency, func(r *serving.Run) string {
			v, _ := r.ReportedValue(batchLatency, "p50")
			mx, _ := r.ReportedValue(batchLatency, "max")
			b, _ := r.Setting("batch_size")
			return strings.TrimSpace(fmt.Sprintln(v, mx, b, r.GPUs.V))
		}},
	} {
		format, why := SniffTwin(keysOf(t, tc.text), []byte(tc.text))
		if format != tc.format {
			t.Errorf("%s: sniffed as %q: %s", name, format, why)
		}
		runs, in := decodeText(t, DecodeTwin, "x.pytorch.json", tc.text)
		if len(runs) != 1 || runs[0].Format != tc.format || in.Problems.Len() != 0 {
			t.Errorf("%s: %d runs, problems %v", name, len(runs), in.Problems.List())
			continue
		}
		want := map[string]string{"serve": "0.0025 false 4 10 2 false", "throughput": "12800 20 1000 2 vllm org/m", "latency": "1.5 2 8 2"}[name]
		if got := tc.check(runs[0]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if strings.Contains(fmt.Sprint(runs[0].Settings), "secret") {
			t.Errorf("%s: a header stands in the settings", name)
		}
	}
	other := strings.ReplaceAll(twinText("latency=1.0", "{}", args), "vLLM benchmark", "TorchInductor")
	if f, _ := SniffTwin(keysOf(t, other), []byte(other)); f != "" {
		t.Errorf("another tool's records are taken for a twin of %s", f)
	}
}

// The twin gives the very aggregates of its result, or they would not be found
// to be the same run.
func TestTwinIsEqual(t *testing.T) {
	extra := `"date": "20260101-000000", "backend": "openai", "model_id": "org/m", "num_prompts": 2, "request_rate": 1.5, "max_concurrency": null, "duration": 9.876543210987654, "completed": 2, "total_input_tokens": 8, "total_output_tokens": 6, "request_throughput": 0.20250000000000001, "output_throughput": 0.6075, "total_token_throughput": 1.4175`
	main, _ := decodeText(t, DecodeServe, "x.json", `{`+extra+`, "mean_ttft_ms": 1.2345678901234567, "median_ttft_ms": 1e-07, "p99_ttft_ms": 123456789.12345679}`)
	twin, _ := decodeText(t, DecodeTwin, "x.pytorch.json", twinText("mean_ttft_ms=1.2345678901234567;median_ttft_ms=1e-07;p99_ttft_ms=123456789.12345679", `{`+extra+`}`, `{}`))
	if d := cmp.Diff(main[0].Reported, twin[0].Reported); d != "" {
		t.Error(d)
	}
	if main[0].Duration != twin[0].Duration || main[0].Load != twin[0].Load {
		t.Errorf("load %+v and %+v", main[0].Load, twin[0].Load)
	}
}

func TestTwinPath(t *testing.T) {
	for path, want := range map[string]string{"a/x.pytorch.json": "a/x.json", "x.pytorch.json.gz": "x.json.gz", "x.json": "", ".pytorch.json": "", "pytorch.json": ""} {
		if got, ok := TwinPath(path); got != want || ok != (want != "") {
			t.Errorf("TwinPath(%q) = %q, %v; want %q", path, got, ok, want)
		}
	}
}

func TestAdopt(t *testing.T) {
	r := &serving.Run{Format: FormatThroughput, Settings: []serving.Setting{{Key: "a", Value: "1"}}}
	Adopt(r, &serving.Run{Model: serving.Some("m"), GPUs: serving.Some(4), Settings: []serving.Setting{{Key: "a", Value: "2"}, {Key: "b", Value: "3"}}})
	want := []serving.Setting{{Key: "a", Value: "1"}, {Key: "b", Value: "3"}}
	if d := cmp.Diff(want, r.Settings); d != "" || r.Model.V != "m" || r.GPUs.V != 4 {
		t.Errorf("%+v\n%s", r, d)
	}
}

const sweepRun = `{"date": "20260101-000000", "backend": "openai", "model_id": "m", "num_prompts": 8, "request_rate": "inf", "max_concurrency": 2, "duration": 2.0, "completed": 8, "failed": 0, "request_throughput": 4.0, "output_throughput": 64.0, "mean_ttft_ms": 10.0, "p99_e2el_ms": 400.5, "run_number": %d, "max_num_seqs": 4}`

func TestDecodeSweep(t *testing.T) {
	run := fmt.Sprintf(sweepRun, 1)
	summary := "[" + fmt.Sprintf(sweepRun, 0) + "," + run + "]"
	for name, tc := range map[string]struct {
		text string
		runs int
		note string
	}{"run=1.json": {run, 1, ""}, "summary.json": {summary, 2, ""}, "warmup.json": {fmt.Sprintf(sweepRun, -1), 0, "warm-up"}} {
		if ok, why := SniffSweep(keysOf(t, tc.text)); !ok {
			t.Errorf("%s: %s", name, why)
		}
		runs, in := decodeText(t, DecodeSweep, name, tc.text)
		if len(runs) != tc.runs || !strings.Contains(in.Note, tc.note) || in.Problems.Len() != 0 {
			t.Errorf("%s: %d runs, note %q, problems %v", name, len(runs), in.Note, in.Problems.List())
		}
		for _, r := range runs {
			if v, _ := r.Setting("max_num_seqs"); r.Format != FormatSweep || v != "4" {
				t.Errorf("%s: format %s, max_num_seqs %q", name, r.Format, v)
			}
		}
	}
	if ok, _ := SniffSweep(keysOf(t, strings.Replace(run, "run_number", "xun_number", 1))); ok {
		t.Error("a serve result without a run number is taken for a sweep's")
	}
	if DecidedSweep(map[string]bool{"model_id": true, "request_throughput": true, "mean_ttft_ms": true}) {
		t.Error("decided before the run number was seen")
	}
}

func TestSweepFailure(t *testing.T) {
	for text, want := range map[string]string{
		`{"run_number": 2, "error_type": "CalledProcessError", "error": "Traceback (most recent call last)\n x\nRuntimeError: boom", "serve_overrides": {"max_num_seqs": 4}, "bench_overrides": {"max_concurrency": 2}}`: "f.json:1: run 2 of this combination failed (max_num_seqs=4, max_concurrency=2): CalledProcessError: RuntimeError: boom",
		`{"run_number": -1, "error_type": "E", "error": "x", "serve_overrides": {}, "bench_overrides": {}}`:                                                                                                              "f.json:1: the warm-up of this combination failed: E: x",
		`{"error_type": "TimeoutError", "error": "Server failed to become ready", "serve_overrides": {"max_num_seqs": 4096}}`:                                                                                            "f.json:1: the server of this combination did not start (max_num_seqs=4096): TimeoutError: Server failed to become ready",
	} {
		if ok, why := SniffSweep(keysOf(t, text)); !ok {
			t.Error(why)
		}
		runs, in := decodeText(t, DecodeSweep, "f.json", text)
		if l := in.Problems.List(); len(runs) != 0 || len(l) != 1 || l[0].String() != want {
			t.Errorf("%d runs, problems %v, want %q", len(runs), l, want)
		}
	}
}

// The table of all runs gives what the runs' own files give, so that they are
// found to be the same.
func TestSweepCSV(t *testing.T) {
	const text = `,date,backend,model_id,num_prompts,request_rate,max_concurrency,duration,completed,failed,request_throughput,output_throughput,mean_ttft_ms,p99_e2el_ms,run_number,max_num_seqs
0,20260101-000000,openai,m,8,inf,2.0,2.0,8,0,4.0,64.0,10.0,400.5,0,4
1,20260101-000000,openai,m,8,inf,,2.0,8,0,4.0,64.0,10.0,400.5,1,
2,20260101-000000,openai,m,8,inf,,2.0,8,0,4.0,64.0,10.0,400.5,-1,
3,x
`
	if ok, why := SniffSweepCSV([]byte(text)); !ok {
		t.Error(why)
	}
	runs, in := decodeText(t, DecodeSweepCSV, "summary.csv", text)
	json, _ := decodeText(t, DecodeSweep, "run=0.json", fmt.Sprintf(sweepRun, 0))
	if len(runs) != 2 || in.Records != 2 || in.Problems.Len() != 1 || !strings.Contains(in.Note, "1 warm-up") {
		t.Fatalf("%d runs, note %q, problems %v", len(runs), in.Note, in.Problems.List())
	}
	if d := cmp.Diff(json[0].Reported, runs[0].Reported); d != "" || json[0].Load != runs[0].Load || json[0].Duration != runs[0].Duration {
		t.Errorf("load %+v, want %+v\n%s", runs[0].Load, json[0].Load, d)
	}
	if _, ok := runs[1].Setting("max_num_seqs"); ok || runs[1].Load.MaxConcurrency.OK {
		t.Errorf("an empty cell is a value: %+v", runs[1])
	}
	if runs[1].Source.Line != 3 {
		t.Errorf("the second run stands at %v", runs[1].Source)
	}
	for _, other := range []string{"a,b,c\n1,2,3\n", ",date,backend,model_id,run_number\n", "Metric,avg,min,max,p99\n", ""} {
		if ok, _ := SniffSweepCSV([]byte(other)); ok {
			t.Errorf("%q is taken for a sweep's table", other)
		}
	}
	// A quote that never closes costs its row and what follows.
	runs, in = decodeText(t, DecodeSweepCSV, "summary.csv", text+"4,\""+strings.Repeat("a\n", 16<<20))
	if l := in.Problems.List(); len(runs) != 2 || len(l) != 2 || !strings.HasPrefix(l[1].String(), "summary.csv:6: a record of more than 16 MiB") {
		t.Errorf("%d runs, problems %v", len(runs), l)
	}
}

const tuned = `hash:a1b2c3
max_num_seqs: 128, max_num_batched_tokens: 2048, request_rate: 10, e2el: 450.50, throughput: 9.80, goodput: 9.75
max_num_seqs: 128, max_num_batched_tokens: 4096 does not meet latency requirement 500
max_num_seqs: 256, max_num_batched_tokens: 2048, request_rate: inf, e2el: 499.00, throughput: 12.50, goodput: 12.50
max_num_seqs: 256, max_num_batched_tokens: 4096, request_rate: 3, e2el: , throughput: , goodput: 
best_max_num_seqs: 256, best_num_batched_tokens: 2048, best_throughput: 12.50, profile saved in: /x/profile
`

func TestDecodeAutotune(t *testing.T) {
	if ok, why := SniffAutotune([]byte(tuned)); !ok {
		t.Error(why)
	}
	runs, in := decodeText(t, DecodeAutotune, "r/result.txt", tuned)
	if len(runs) != 2 || in.Records != 3 || in.Problems.Len() != 1 {
		t.Fatalf("%d runs of %d records, problems %v", len(runs), in.Records, in.Problems.List())
	}
	r := runs[0]
	p99, _ := r.ReportedValue(serving.E2E, "p99")
	rate, _ := r.ReportedValue(serving.RateRequests, "")
	good, _ := r.ReportedValue(serving.GoodRequests, "")
	if math.Abs(p99-0.4505) > 1e-12 || rate != 9.8 || good != 9.75 || r.Load.RequestRate.V != 10 || r.Load.Mode != serving.OpenLoop {
		t.Errorf("P99 E2E %v s, %v and %v requests/s, load %+v", p99, rate, good, r.Load)
	}
	want := []serving.Setting{{Key: "max_num_seqs", Value: "128"}, {Key: "max_num_batched_tokens", Value: "2048"}, {Key: "vllm_commit", Value: "a1b2c3"}, {Key: "max_latency_allowed_ms", Value: "500"}}
	if d := cmp.Diff(want, r.Settings); d != "" {
		t.Error(d)
	}
	if !runs[1].Load.Unlimited || runs[1].Source.Line != 4 {
		t.Errorf("the second run is at %v with load %+v", runs[1].Source, runs[1].Load)
	}
	for _, s := range []string{"128 × 4096", "500 ms", "the tuner's choice is max_num_seqs 256"} {
		if !strings.Contains(in.Note, s) {
			t.Errorf("note %q lacks %q", in.Note, s)
		}
	}
	_, in = decodeText(t, DecodeAutotune, "result.txt", "hash:x\nbest_max_num_seqs: 0, best_num_batched_tokens: 0, best_throughput: 0, profile saved in: p\n")
	if !strings.Contains(in.Note, "found no combination") {
		t.Errorf("note %q", in.Note)
	}
	for _, s := range []string{"", "hash:x\n", "max_num_seqs: 128\n", "some log\nmax_num_seqs: 1, max_num_batched_tokens: 2, throughput: 3\n"} {
		if ok, _ := SniffAutotune([]byte(s)); ok {
			t.Errorf("%q is taken for a tuner's result", s)
		}
	}
}

func TestSameTuned(t *testing.T) {
	runs, _ := decodeText(t, DecodeAutotune, "r/result.txt", tuned)
	printed := func(path string, rate float64) *serving.Run {
		return &serving.Run{Source: serving.Pos{Path: path}, Format: FormatConsole, Reported: []serving.Reported{{Metric: serving.RateRequests, File: rate, PerBase: 1}}}
	}
	for _, tc := range []struct {
		run  *serving.Run
		want bool
	}{
		{printed("r/bm_log_128_2048_requestrate_10.txt", 9.8), true},
		{printed("r/bm_log_128_2048_requestrate_11.txt", 9.9), false},
		{printed("r/bm_log_256_2048_requestrate_inf.txt", 9.8), false},
		{printed("s/bm_log_128_2048_requestrate_10.txt", 9.8), false},
		{printed("r/other.txt", 9.8), false},
	} {
		if got := SameTuned(runs[0], tc.run); got != tc.want {
			t.Errorf("%s at %v requests/s: %v, want %v", tc.run.Source, tc.run.Reported[0].File, got, tc.want)
		}
	}
}

func FuzzDecodeTwin(f *testing.F) {
	f.Add(twinText("mean_ttft_ms=1.25;p99_ttft_ms=2.5", `{"model_id": "m", "request_throughput": 1, "input_lens": [1, 2]}`, `{"tensor_parallel_size": 2}`))
	f.Add(twinText("latency=1.0, 2.0", `{"avg_latency": 1, "percentiles": {"50": 1}}`, `{}`))
	f.Add(`[{"benchmark": 1, "metric": {"extra_info": [], "name": "latency"}, "model": null}]`)
	f.Fuzz(func(t *testing.T, s string) { fuzzRuns(t, DecodeTwin, s) })
}

func FuzzDecodeOffline(f *testing.F) {
	f.Add(throughputJSON)
	f.Add(latencyJSON)
	f.Add(`[{"avg_latency": "inf", "latencies": [null, NaN], "percentiles": {"x": 1, "100": 2}}]`)
	f.Fuzz(func(t *testing.T, s string) {
		fuzzRuns(t, DecodeThroughput, s)
		fuzzRuns(t, DecodeLatency, s)
	})
}

func FuzzDecodeSweep(f *testing.F) {
	f.Add(fmt.Sprintf(sweepRun, 0))
	f.Add(`{"run_number": 2, "error_type": "E", "error": "x", "serve_overrides": {"a": [1]}}`)
	f.Add(",run_number,model_id,request_throughput,mean_ttft_ms\n0,1,m,\"2\n\",3\n")
	f.Fuzz(func(t *testing.T, s string) {
		SniffSweepCSV([]byte(s))
		fuzzRuns(t, DecodeSweep, s)
		fuzzRuns(t, DecodeSweepCSV, s)
	})
}

func FuzzDecodeAutotune(f *testing.F) {
	f.Add(tuned)
	f.Add("max_num_seqs: 99999999999999999999, max_num_batched_tokens: 1, request_rate: 0, through put: 1e999")
	f.Fuzz(func(t *testing.T, s string) {
		SniffAutotune([]byte(s))
		fuzzRuns(t, DecodeAutotune, s)
	})
}

// fuzzRuns checks what must hold of the runs of any input.
func fuzzRuns(t *testing.T, dec decoder, text string) {
	in := &serving.Input{}
	runs, err := dec(t.Context(), "f.json", strings.NewReader(text), in)
	if err != nil && len(runs) > 0 {
		t.Errorf("runs beside the error %v", err)
	}
	for _, r := range runs {
		for _, a := range r.Reported {
			if math.IsNaN(a.Value()) || math.IsInf(a.Value(), 0) {
				t.Errorf("%s is %v", a.Field, a.Value())
			}
		}
		if r.Format == "" || r.Source.Path != "f.json" || r.GPUs.OK && r.GPUs.V < 1 {
			t.Errorf("run %+v", r)
		}
	}
}

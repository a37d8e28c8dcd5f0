package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/vllm"
)

// readVLLM recognizes and decodes files by vLLM's formats alone, in the order
// that Formats must have, and joins them.
func readVLLM(t *testing.T, content map[string]string, names ...string) ([]*serving.Input, []loaded) {
	t.Helper()
	serve := &Format{Name: vllm.FormatServe, sniff: sniffServe, decode: decodeServe}
	console := &Format{Name: vllm.FormatConsole, sniff: sniffConsole, decode: decodeConsole}
	formats := []*Format{formatVLLMSweep, formatVLLMTwin, serve, formatVLLMThroughput, formatVLLMLatency, formatVLLMAutotune, formatVLLMLog, console}
	dir := t.TempDir()
	ds := &serving.Dataset{}
	var files []found
	all := make([]loaded, len(names))
	for i, name := range names {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content[name]), 0o666); err != nil {
			t.Fatal(err)
		}
		f := found{path: path, rel: name}
		open, err := openFile(t.Context(), f, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &probe{file: open, in: &serving.Input{Path: path, Format: unknown}}
		for _, format := range formats {
			if ok, _ := format.sniff(p); ok {
				p.in.Format = format.Name
				if err := format.decode(t.Context(), p, &all[i]); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				break
			}
		}
		open.raw.Close()
		files, ds.Inputs = append(files, f), append(ds.Inputs, p.in)
	}
	joinVLLM(ds, files, all)
	return ds.Inputs, all
}

const (
	throughputFile = `{"elapsed_time": 20.0, "num_requests": 1000, "total_num_tokens": 256000, "requests_per_second": 50.0, "tokens_per_second": 12800.0}`
	throughputTwin = `[{"benchmark": {"name": "vLLM benchmark", "extra_info": {"args": {"backend": "vllm", "tensor_parallel_size": 2, "input_len": 128}}}, "model": {"name": "org/m"},
		"metric": {"name": "tokens_per_second", "benchmark_values": [12800.0], "extra_info": {"elapsed_time": 20.0, "num_requests": 1000, "total_num_tokens": 256000}}}]`
	latencyFile = `{"avg_latency": 1.5, "latencies": [1.0, 2.0], "percentiles": {"50": 1.5}}`
	serveRecord = `{"date": "20260101-000000", "backend": "openai", "model_id": "m", "num_prompts": 8, "request_rate": "inf", "duration": 2.0, "completed": 8, "request_throughput": 4.0, "mean_ttft_ms": 10.0}`
	engineLog   = "INFO 06-07 10:00:00 [loggers.py:271] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
	table       = "============ Serving Benchmark Result ============\nSuccessful requests:                     100\nBenchmark duration (s):                  10.20\nRequest throughput (req/s):              9.80\nP99 E2EL (ms):                           450.50\n==================================================\n"
	tunerResult = "hash:a1\nmax_num_seqs: 128, max_num_batched_tokens: 2048, request_rate: 10, e2el: 450.50, throughput: 9.80, goodput: 9.80\nmax_num_seqs: 256, max_num_batched_tokens: 2048, request_rate: 9, e2el: 450.50, throughput: 8.80, goodput: 8.80\n"
)

func TestVLLMFormats(t *testing.T) {
	content := map[string]string{
		"tp.json": throughputFile, "lat.json": latencyFile, "serve.json": serveRecord,
		"run=0.json":         strings.TrimSuffix(serveRecord, "}") + `, "run_number": 0}`,
		"run=2.json":         strings.TrimSuffix(serveRecord, "}") + `, "input_lens": [` + strings.Repeat("1, ", 200_000) + `1], "run_number": 2, "max_num_seqs": 4}`,
		"warmup.json":        strings.TrimSuffix(serveRecord, "}") + `, "run_number": -1}`,
		"run=1.failure.json": `{"run_number": 1, "error_type": "E", "error": "x", "serve_overrides": {}, "bench_overrides": {}}`,
		"summary.csv":        ",backend,model_id,duration,completed,request_throughput,mean_ttft_ms,run_number\n0,openai,m,2.0,8,4.0,10.0,0\n",
		"server.log":         engineLog, "both.log": engineLog + table, "result.txt": tunerResult, "table.txt": table, "serve.pytorch.json": strings.ReplaceAll(throughputTwin, "tokens_per_second", "mean_ttft_ms"),
		"other.txt": "Avg prompt throughput: 1 tokens/s\n", "sim.log": "[1.0s] Avg prompt throughput: 9069.0 tokens/s, Avg generation throughput: 232.0 tokens/s\n",
	}
	for name, want := range map[string]struct {
		format        string
		runs, servers int
	}{
		"tp.json": {"vllm-throughput", 1, 0}, "lat.json": {"vllm-latency", 1, 0}, "serve.json": {"vllm-serve", 1, 0},
		"run=0.json": {"vllm-sweep", 1, 0}, "run=2.json": {"vllm-sweep", 1, 0}, "warmup.json": {"vllm-sweep", 0, 0}, "run=1.failure.json": {"vllm-sweep", 0, 0}, "summary.csv": {"vllm-sweep", 1, 0},
		"server.log": {"vllm-log", 0, 1}, "both.log": {"vllm-log", 1, 1}, "result.txt": {"vllm-autotune", 2, 0}, "table.txt": {"vllm-console", 1, 0},
		"serve.pytorch.json": {"vllm-serve", 1, 0}, "other.txt": {"unknown", 0, 0}, "sim.log": {"unknown", 0, 0},
	} {
		in, all := readVLLM(t, content, name)
		if in[0].Format != want.format || len(all[0].runs) != want.runs || len(all[0].servers) != want.servers {
			t.Errorf("%s: format %s, %d runs, %d servers, want %+v", name, in[0].Format, len(all[0].runs), len(all[0].servers), want)
		}
		for _, r := range all[0].runs {
			if r.Format != want.format && name != "both.log" {
				t.Errorf("%s: its run is of format %s", name, r.Format)
			}
		}
	}
}

// A twin beside its result is counted once, and by itself it is a run.
func TestVLLMTwins(t *testing.T) {
	content := map[string]string{"tp.json": throughputFile, "tp.pytorch.json": throughputTwin, "lat.pytorch.json": throughputTwin}
	in, all := readVLLM(t, content, "tp.json", "tp.pytorch.json")
	if len(all[0].runs) != 1 || len(all[1].runs) != 0 || !strings.Contains(in[1].Note, "tp.json") {
		t.Fatalf("%d and %d runs, note %q", len(all[0].runs), len(all[1].runs), in[1].Note)
	}
	r := all[0].runs[0]
	if n, _ := r.Setting("input_len"); r.Model.V != "org/m" || r.GPUs.V != 2 || r.Engine.V != "vllm" || n != "128" {
		t.Errorf("the result did not get its twin's arguments: %+v", r)
	}
	in, all = readVLLM(t, content, "tp.pytorch.json", "lat.pytorch.json")
	if len(all[0].runs) != 1 || len(all[1].runs) != 1 || in[0].Format != "vllm-throughput" {
		t.Errorf("%d and %d runs of format %s without their results", len(all[0].runs), len(all[1].runs), in[0].Format)
	}
}

func TestVLLMTuned(t *testing.T) {
	content := map[string]string{"result.txt": tunerResult, "bm_log_128_2048_requestrate_10.txt": table, "bm_log_128_2048_requestrate_11.txt": strings.Replace(table, "9.80", "9.90", 1)}
	in, all := readVLLM(t, content, "bm_log_128_2048_requestrate_10.txt", "bm_log_128_2048_requestrate_11.txt", "result.txt")
	if len(all[2].runs) != 1 || !strings.Contains(in[2].Note, "counted once") {
		t.Errorf("%d runs of result.txt, note %q", len(all[2].runs), in[2].Note)
	}
	if v, _ := all[1].runs[0].Setting("max_num_batched_tokens"); v != "2048" {
		t.Errorf("the printed run has max_num_batched_tokens %q", v)
	}
}

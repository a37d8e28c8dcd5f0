package vllm

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// table is a result table as a current version prints it.
const table = `============ Serving Benchmark Result ============
Successful requests:                     1000      
Failed requests:                         0         
Maximum request concurrency:             64        
Benchmark duration (s):                  86.40     
Total input tokens:                      1024000   
Total generated tokens:                  128000    
Request throughput (req/s):              11.57     
Output token throughput (tok/s):         1481.48   
Peak output token throughput (tok/s):    1650.00   
Peak concurrent requests:                64.00     
Total token throughput (tok/s):          13333.33  
---------------Time to First Token----------------
Mean TTFT (ms):                          214.63    
Median TTFT (ms):                        186.20    
P99 TTFT (ms):                           841.87    
-----Time per Output Token (excl. 1st token)------
Mean TPOT (ms):                          41.85     
Median TPOT (ms):                        40.12     
P99 TPOT (ms):                           58.90     
---------------Inter-token Latency----------------
Mean ITL (ms):                           41.85     
Median ITL (ms):                         38.75     
P99 ITL (ms):                            97.43     
==================================================
`

// tableJSON is the JSON of the same run.
const tableJSON = `{"date": "20260701-120000", "endpoint_type": "openai", "backend": "openai", "label": null, "model_id": "m", "tokenizer_id": "m", "num_prompts": 1000,
"request_rate": "inf", "burstiness": 1.0, "max_concurrency": 64, "duration": 86.40, "completed": 1000, "failed": 0, "total_input_tokens": 1024000, "total_output_tokens": 128000,
"request_throughput": 11.57, "request_goodput": null, "output_throughput": 1481.48, "total_token_throughput": 13333.33, "max_output_tokens_per_s": 1650.0, "max_concurrent_requests": 64,
"mean_ttft_ms": 214.63, "median_ttft_ms": 186.20, "p99_ttft_ms": 841.87, "mean_tpot_ms": 41.85, "median_tpot_ms": 40.12, "p99_tpot_ms": 58.90, "mean_itl_ms": 41.85, "median_itl_ms": 38.75, "p99_itl_ms": 97.43}`

func console(t *testing.T, text string) ([]*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	runs, err := DecodeConsole(t.Context(), "log.txt", strings.NewReader(text), in)
	if err != nil {
		t.Fatalf("DecodeConsole: %v", err)
	}
	return runs, in
}

// figures writes down what a run reports, without the file's own names.
func figures(r *serving.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "sent %v completed %v failed %v duration %v tokens %v %v load %s %v %v\n", r.Sent, r.Completed, r.Failed, r.Duration, r.Input, r.Output,
		r.Load.Mode, r.Load.MaxConcurrency, r.Load.RequestRate)
	seen := map[string]string{}
	var order []string
	for _, a := range r.Reported {
		k := string(a.Metric) + " " + a.Stat
		if _, ok := seen[k]; !ok {
			order = append(order, k)
		}
		seen[k] = fmt.Sprintf("%.9g", a.Value())
	}
	for _, k := range []string{"total_input_tokens ", "total_output_tokens "} {
		fmt.Fprintf(&b, "%s= %s\n", k, seen[k])
	}
	for _, k := range order {
		if !strings.HasPrefix(k, "total_input") && !strings.HasPrefix(k, "total_output_tokens") {
			fmt.Fprintf(&b, "%s = %s\n", k, seen[k])
		}
	}
	return b.String()
}

// TestConsoleIsJSON is the promise that a pasted table gives the figures of its
// JSON.
func TestConsoleIsJSON(t *testing.T) {
	runs, _ := console(t, table)
	in := &serving.Input{}
	js, err := DecodeServe(t.Context(), "r.json", strings.NewReader(tableJSON), in)
	if err != nil || len(js) != 1 || len(runs) != 1 {
		t.Fatalf("%d runs, %d runs, %v", len(runs), len(js), err)
	}
	a, b := sortLines(figures(runs[0])), sortLines(figures(js[0]))
	if a != b {
		t.Errorf("the table gives\n%s\nits JSON\n%s", a, b)
	}
	if runs[0].Load.Mode != serving.ClosedLoop || runs[0].Source.Line != 1 {
		t.Errorf("load %v at %v", runs[0].Load, runs[0].Source)
	}
	if v, ok := runs[0].ReportedValue(serving.TTFT, "p99"); !ok || v != 0.84187 {
		t.Errorf("TTFT p99 %v s, want 0.84187", v)
	}
}

func sortLines(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := range lines {
		for j := i + 1; j < len(lines); j++ {
			if lines[j] < lines[i] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return strings.Join(lines, "\n")
}

// prefixed puts something before each line.
func prefixed(p, text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(p + l)
	}
	return b.String()
}

// TestConsoleVariants pastes the same table in the ways people do.
func TestConsoleVariants(t *testing.T) {
	want := figures(must(console(t, table)))
	markdown := "### Serving Benchmark Result\n\n| metric | value |\n|---|---|\n"
	for l := range strings.Lines(table) {
		if k, v, ok := strings.Cut(strings.TrimSpace(l), ":"); ok {
			markdown += "| **" + k + "** | " + strings.TrimSpace(v) + " |\n"
		}
	}
	tests := map[string]string{
		"fence":       "Results:\n```text\n" + table + "```\nthanks\n",
		"crlf":        strings.ReplaceAll(table, "\n", "\r\n"),
		"log prefix":  prefixed("2026-07-01T12:00:01.123Z bench-1  | (APIServer pid=7) INFO 07-01 12:00:01 [serve.py:12] ", table),
		"quote":       prefixed("> ", table),
		"box":         prefixed("│ ", table),
		"colours":     strings.ReplaceAll(table, "Mean", "\x1b[1;32mMean\x1b[0m"),
		"one line":    "Output: " + strings.Join(strings.Fields(table), " ") + " what now?",
		"cut rule":    table[:strings.LastIndex(table, "\n==")],
		"old caps":    strings.ReplaceAll(table, "Total token throughput", "Total Token throughput"),
		"thousands":   strings.ReplaceAll(table, "1024000", "1,024,000"),
		"markdown":    markdown,
		"no trailing": strings.ReplaceAll(table, " \n", "\n"),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if !SniffConsole([]byte(text)) {
				t.Error("not recognized")
			}
			if got := figures(must(console(t, text))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func must(runs []*serving.Run, _ *serving.Input) *serving.Run {
	if len(runs) != 1 {
		panic(fmt.Sprintf("%d runs, want 1", len(runs)))
	}
	return runs[0]
}

// TestConsoleLog reads a log of two runs with their commands, newer lines and
// an interrupted third.
func TestConsoleLog(t *testing.T) {
	text := `$ vllm bench serve --backend openai-chat --model meta-llama/Llama-3.1-8B \
    --dataset-name random --random-input-len 512 --header "Authorization=Bearer secret" \
    --request-rate 10 --num-prompts 200
Starting initial single prompt test run...
Traffic request rate: 10.0
Burstiness factor: 0.5 (Gamma distribution)
Maximum request concurrency: None
============ Serving Benchmark Result ============
Successful requests:                     190
Benchmark duration (s):                  20.00
Request throughput (req/s):              9.50
Request goodput (req/s):                 8.25
Output token throughput (tok/s):         950.00
Mean TTFT (ms):                          50.00
P50 TTFT (ms):                           45.00
P99.9 TTFT (ms):                         150.00
Mean ITL (ms):                           0.00
P99 ITL (ms):                            0.00
---------------Speculative Decoding---------------
Acceptance rate (%):                     73.47
Acceptance length:                       3.20
Drafts:                                  6393
Draft tokens:                            19179
Accepted tokens:                         14091
Per-position acceptance (%):
  Position 0:                            88.00
  Position 1:                            60.50
==================================================
Namespace(backend='vllm', host='10.0.0.1', model='Qwen/Qwen3-8B', tokenizer=None, max_concurrency=4, request_rate=inf, num_prompts=8)
============ Serving Benchmark Result ============
Successful requests:                     0
Failed requests:                         8
Benchmark duration (s):                  0.01
Request throughput (req/s):              0.00
Mean TTFT (ms):                          0.00
Median TTFT (ms):                        0.00
==================================================
============ Serving Benchmark Result ============
^C
============ Serving Benchmark Result ============
Backend:                                 sglang
Traffic request rate:                    inf
Max request concurrency:                 not set
Successful requests:                     5
Request throughput (req/s):              1.00
Total generated tokens (retokenized):    5
Mean E2E Latency (ms):                   5.0
==================================================
`
	runs, in := console(t, text)
	if len(runs) != 2 || in.Records != 2 || in.Problems.Len() != 2 {
		t.Fatalf("%d runs, problems %v, want 2 runs and 2 problems", len(runs), in.Problems.List())
	}
	a, b := runs[0], runs[1]
	if a.Model.V != "meta-llama/Llama-3.1-8B" || a.Backend.V != "openai-chat" || a.Workload.V != "random" || a.Load.Mode != serving.OpenLoop ||
		a.Load.RequestRate.V != 10 || a.Load.Burstiness.V != 0.5 || a.Sent.V != 200 || a.Failed.V != 10 || a.Engine.OK || a.GPUs.OK {
		t.Errorf("first run %+v", a)
	}
	if s := fmt.Sprint(a.Settings); strings.Contains(s, "secret") || !strings.Contains(s, "{random_input_len 512}") {
		t.Errorf("settings %s", s)
	}
	for _, w := range []struct {
		m    serving.MetricKey
		stat string
		want float64
	}{{serving.GoodRequests, "", 8.25}, {serving.TTFT, "p99.9", .15}, {serving.TTFT, "p50", .045}, {serving.SpecAcceptanceRate, "", .7347}, {serving.SpecAcceptanceLen, "", 3.2},
		{serving.SpecAcceptanceRate, "position 1", .605}, {specDrafts, "", 6393}} {
		if v, ok := a.ReportedValue(w.m, w.stat); !ok || v != w.want {
			t.Errorf("%s %s = %v %v, want %v", w.m, w.stat, v, ok, w.want)
		}
	}
	if _, ok := a.ReportedValue(serving.ITL, "mean"); ok {
		t.Error("an ITL of zeros is reported")
	}
	if _, ok := b.ReportedValue(serving.TTFT, "mean"); ok || b.Sent.V != 8 || b.Failed.V != 8 || b.Model.V != "Qwen/Qwen3-8B" || b.Load.Mode != serving.ClosedLoop || b.Load.MaxConcurrency.V != 4 || !b.Load.Unlimited {
		t.Errorf("second run %+v", b)
	}
	if b.Source.Line != 30 {
		t.Errorf("second run at line %d, want 30", b.Source.Line)
	}
}

func TestSniffConsole(t *testing.T) {
	for text, want := range map[string]bool{
		table: true, "": false, "Serving Benchmark Result": false,
		"============ Serving Benchmark Result ============\nSuccessful requests:                     xxx\n": false,
		"# Serving Benchmark Result\nTotal generated tokens (retokenized): 5\nSuccessful requests: 5\n":      false,
	} {
		if got := SniffConsole([]byte(text)); got != want {
			t.Errorf("SniffConsole(%.60q) = %v, want %v", text, got, want)
		}
	}
	in := &serving.Input{}
	if _, err := DecodeConsole(t.Context(), "x.txt", strings.NewReader("nothing here"), in); err == nil || !strings.Contains(err.Error(), "x.txt: no result table") {
		t.Errorf("error %v", err)
	}
}

// FuzzConsole checks that nothing panics and that figures stay in range.
func FuzzConsole(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte(prefixed("> ", table)))
	f.Add([]byte("Namespace(a='b\\'', request_rate=1e9)\n" + table + table[:300]))
	f.Add([]byte("Serving Benchmark Result Serving Benchmark Result P99 TTFT: 1e400 drafts: -5"))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := &serving.Input{}
		runs, err := DecodeConsole(t.Context(), "f", bytes.NewReader(text), in)
		if SniffConsole(text) && err != nil && in.Problems.Len() == 0 {
			t.Fatalf("recognized, then %v without a problem", err)
		}
		for _, r := range runs {
			sane(t, r)
		}
	})
}

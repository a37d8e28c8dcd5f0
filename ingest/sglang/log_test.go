package sglang

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

func logServers(t testing.TB, text string) ([]*serving.Server, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	servers, _, err := DecodeLog(t.Context(), "run/server.log", strings.NewReader(text), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		checkServer(t, s)
	}
	return servers, in
}

func same(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) < 1e-12 })
}

var nan = math.NaN()

const startLine = `[2026-06-07 12:03:29] server_args=ServerArgs(model_path='org/m', tokenizer_path='/x', host='0.0.0.0', port=30000, api_key='secret', tp_size=2, quantization=None, mem_fraction_static=0.9, cuda_graph_bs=[1, 2], chunked_prefill_size=8192)` + "\n"

const logText = "SGLang Version 0.5.11+05fb6a52\n" + startLine + `[2026-06-07 12:04:28] max_total_num_tokens=674, chunked_prefill_size=8192
Capturing batches:   0%|          | 0/36` + "\r" + `[2026-06-07 12:04:34] ready
[2026-06-07 12:04:35] Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.01, #running-req: 0, #queue-req: 3, #pending-token: 7, cuda graph: True, input throughput (token/s): 0.10
[2026-06-07 12:04:36] Prefill batch, #new-seq: 1, #new-token: 10, #cached-token: 30, token usage: 0.02, #running-req: 1, #queue-req: 0, cuda graph: True
[2026-06-07 12:04:36] Decode batch, #running-req: 2, #token: 76, token usage: 0.11, accept len: 2.50, accept rate: 0.70, cuda graph: True, gen throughput (token/s): 57.70, #queue-req: 1
[2026-06-07 12:04:40] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.7 -> 0.8
` + "\x1b[32m[2026-06-07 12:04:41] Decode batch, #running-req: 1, #token: 50, token usage: 0.99, gen throughput (token/s): 60.00, #queue-req: 4, \x1b[0m\n"

func TestLog(t *testing.T) {
	servers, in := logServers(t, logText)
	if len(servers) != 1 || in.Records != 4 || in.Problems.Len() != 0 {
		t.Fatalf("%d servers, %d lines, %v", len(servers), in.Records, in.Problems.List())
	}
	s := servers[0]
	at := func(sec int) int64 { return time.Date(2026, 6, 7, 12, 4, sec, 0, time.UTC).UnixNano() }
	if want := []int64{at(34), at(35), at(36), at(40), at(41)}; !slices.Equal(s.Times, want) || s.Relative {
		t.Errorf("times %v, want %v", s.Times, want)
	}
	for name, want := range map[serving.SeriesName][]float64{
		serving.Running:         {nan, nan, 2, nan, 1},
		serving.Waiting:         {nan, 3, 1, nan, 4},
		serving.KVUsage:         {nan, 0.01, 0.11, nan, 0.99},
		serving.GenerationRate:  {nan, nan, 57.7, nan, 60},
		serving.PromptRate:      {nan, 0.1, nan, nan, nan},
		acceptLen:               {nan, nan, 2.5, nan, nan},
		acceptRate:              {nan, nan, 0.7, nan, nan},
		"pending_prompt_tokens": {nan, 7, nan, nan, nan},
	} {
		if got := gaugeOf(s, name); !same(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, c := range s.Counters {
		want := map[serving.SeriesName][]float64{
			serving.PromptTotal: {0, 6, 46, 46, 46}, serving.PrefixQueries: {0, 6, 46, 46, 46}, serving.PrefixHits: {0, 0, 30, 30, 30}, serving.Preemptions: {0, 0, 0, 3, 3},
		}[c.Name]
		if !same(c.Values, want) {
			t.Errorf("%s is %v, want %v", c.Name, c.Values, want)
		}
	}
	if s.Model.V != "org/m" || s.Version.V != "0.5.11+05fb6a52" || s.Engine != "sglang" || s.Replica.OK {
		t.Errorf("model %v version %v", s.Model, s.Version)
	}
	for _, i := range s.Info {
		switch i.Key {
		case "tp_size", "mem_fraction_static", "chunked_prefill_size", "max_total_num_tokens":
		default:
			t.Errorf("info %v", i)
		}
	}
}

// Old lines, ranks, and a runtime's own time before the engine's.
func TestLogForms(t *testing.T) {
	servers, in := logServers(t, `2026-01-02T03:04:05.5Z pod [2026-01-02 12:04:05 DP0 TP0] Prefill batch(mixed #running-req: 3). #new-seq: 2, #new-token: 5, #cached-token: 1, cache hit rate: 12.50%, token usage: 0.10, #running-req: 3, #queue-req: 0
2026-01-02T03:04:06.5Z pod [2026-01-02 12:04:06 DP1 TP2] Decode batch. #running-req: 4, #token: 9, full token usage: 0.20, swa token usage: 0.30, mamba usage: 0.1, gen throughput (token/s): 1.5, #queue-req: 2
2026-01-02T03:04:07.5Z pod [2026-01-02 12:04:07 DP0 TP0 PP1] Decode batch, #running-req: 9, #token: 9, token usage: 0.9, #queue-req: 9
2026-01-02T03:04:01.5Z pod [2026-01-02 12:04:01 DP0 TP0] Decode batch, #running-req: 5, #token: 9, token usage: 0.4, #queue-req: 0
`)
	if len(servers) != 2 || in.Records != 3 || in.Problems.Len() != 1 {
		t.Fatalf("%d servers, %d lines, %v", len(servers), in.Records, in.Problems.List())
	}
	a, b := servers[0], servers[1]
	if a.Replica.V != "DP0" || b.Replica.V != "DP1" || a.TimeRule != "log timestamps" || a.Times[0] != time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC).UnixNano() {
		t.Errorf("%+v", a)
	}
	if got := gaugeOf(a, serving.PrefixHitRatio); got[0] != 0.125 {
		t.Errorf("hit ratio %v, want a share", got)
	}
	if got := gaugeOf(b, serving.KVUsage); got[len(got)-1] != 0.3 {
		t.Errorf("KV usage %v, want that of the fuller pool", got)
	}
	if lastOf(b, serving.Preemptions) == 0 {
		t.Error("no retraction is known of a log without the engine's start")
	}
	// Lines alone: an order, no time.
	servers, _ = logServers(t, "TP0] Decode batch, #running-req: 1, #token: 1, token usage: 0.1, #queue-req: 0\nTP0] Decode batch, #running-req: 2, #token: 1, token usage: 0.1, #queue-req: 0\n")
	if s := servers[0]; !s.Relative || len(s.Times) != 2 || !same(gaugeOf(s, serving.Running), []float64{1, 2}) {
		t.Errorf("%+v", s)
	}
	// A prefill worker has no decode lines.
	servers, _ = logServers(t, "[2026-06-07 12:04:35] Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.01, #running-req: 2, #queue-req: 3, #inflight-req: 4\n")
	if s := servers[0]; !same(gaugeOf(s, serving.Running), []float64{2}) || !same(gaugeOf(s, "sending_kv"), []float64{4}) {
		t.Errorf("%+v", s.Gauges)
	}
}

// A new process counts from 0 again.
func TestLogRestart(t *testing.T) {
	line := "[2026-06-07 12:0%:35] Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.01, #running-req: 0, #queue-req: 3\n"
	again := strings.Replace(startLine, "12:03:29", "12:05:30", 1)
	servers, _ := logServers(t, startLine+strings.ReplaceAll(line, "%", "4")+again+strings.ReplaceAll(line, "%", "6"))
	s := servers[0]
	if len(s.Restarts) != 1 || s.Restarts[0] != s.Times[len(s.Times)-1] || lastOf(s, serving.PromptTotal) != 6 {
		t.Errorf("restarts %v of %v, %v", s.Restarts, s.Times, lastOf(s, serving.PromptTotal))
	}
}

func TestSniffLog(t *testing.T) {
	for text, want := range map[string]bool{
		logText:   true,
		startLine: true,
		"":        false,
		`pat = re.compile(r"Decode batch, #running-req: (\d+), #token: 5, token usage: 1, #queue-req: 0")`: false,
		"| Decode batch, #running-req: 1, #token: 1, token usage: 0.1, #queue-req: 0 |":                    false,
		"decode batch: one token per request":                                                              false,
		"Decode batch, #running-req: many":                                                                 false,
		"INFO Avg prompt throughput: 1.0 tokens/s":                                                         false,
	} {
		if got := SniffLog([]byte(text)); got != want {
			t.Errorf("%.60q: recognized %v", text, got)
		}
	}
}

func TestLogErrors(t *testing.T) {
	_, _, err := DecodeLog(t.Context(), "x", strings.NewReader(startLine), &serving.Input{})
	var fe *serving.FormatError
	if !errors.As(err, &fe) || fe.Remedy == "" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := DecodeLog(ctx, "x", strings.NewReader(logText), &serving.Input{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// A line of many megabytes is passed over.
	servers, _ := logServers(t, strings.Repeat("x", 5<<20)+"\n"+logText)
	if len(servers) != 1 {
		t.Error("the log behind a long line is lost")
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(logText))
	f.Add([]byte("[2026-06-07 12:04:35 DP0] Prefill batch. #new-seq: 1, #new-token: 1e300, #cached-token: -5, token usage: 7%\n[2026-06-07 12:04:35 DP1] #retracted_reqs: 3\n[1970-01-01 00:00:00 DP0] Decode batch, #running-req: -1, #queue-req: inf\nserver_args=ServerArgs(\nDecode batch, #running-req: 1, #token: 2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		SniffLog(b)
		servers, _, _ := DecodeLog(context.Background(), "x", bytes.NewReader(b), &serving.Input{})
		for _, s := range servers {
			checkServer(t, s)
		}
	})
}

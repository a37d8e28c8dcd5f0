package vllm

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// v1 is a periodic line of V1 with its prefix.
func v1(at, engine string, running, waiting int, rest string) string {
	return fmt.Sprintf("(APIServer pid=1) INFO %s [loggers.py:271] %sAvg prompt throughput: 100.5 tokens/s, Avg generation throughput: 50.0 tokens/s, Running: %d reqs, Waiting: %d reqs, %sGPU KV cache usage: 12.5%%, Prefix cache hit rate: 40.0%%\n",
		at, engine, running, waiting, rest)
}

func decodeLogText(t testing.TB, path, text string) ([]*serving.Server, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	ss, _, err := DecodeLog(t.Context(), path, strings.NewReader(text), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, s := range ss {
		checkServer(t, s)
	}
	return ss, in
}

// checkServer checks what every server must keep: series as long as the times,
// times that ascend.
func checkServer(t testing.TB, s *serving.Server) {
	t.Helper()
	for i := 1; i < len(s.Times); i++ {
		if s.Times[i] <= s.Times[i-1] {
			t.Errorf("%s: instant %d is not after the one before", s.Label, i)
		}
	}
	for _, g := range s.Gauges {
		if len(g.Values) != len(s.Times) {
			t.Errorf("%s: gauge %s has %d values for %d times", s.Label, g.Name, len(g.Values), len(s.Times))
		}
		for _, v := range g.Values {
			if v < 0 || g.Unit == serving.Share && v > 1.001 {
				t.Errorf("%s: gauge %s has the value %v", s.Label, g.Name, v)
			}
		}
	}
	for _, c := range s.Counters {
		if len(c.Values) != len(s.Times) {
			t.Errorf("%s: counter %s has %d values for %d times", s.Label, c.Name, len(c.Values), len(s.Times))
		}
	}
}

func lastOf(s *serving.Server, n serving.SeriesName) float64 {
	if g := s.GaugeOf(n); g != nil {
		return g.Values[len(g.Values)-1]
	}
	for _, c := range s.Counters {
		if c.Name == n {
			return c.Values[len(c.Values)-1]
		}
	}
	return math.NaN()
}

func infoOf(s *serving.Server, key string) string {
	for _, k := range s.Info {
		if k.Key == key {
			return k.Value
		}
	}
	return ""
}

// The one line that every reader of engine logs must get right.
func TestLogLine(t *testing.T) {
	const text = "INFO 03-02 10:00:00 [loggers.py:271] Engine 000: Avg prompt throughput: 3021.4 tokens/s, Avg generation throughput: 512.7 tokens/s, Running: 64 reqs, Waiting: 12 reqs, Preemptions: 3, GPU KV cache usage: 97.2%, Prefix cache hit rate: 41.3%\n"
	if ok, why := SniffLog([]byte(text)); !ok {
		t.Fatal(why)
	}
	ss, in := decodeLogText(t, "server.log", text)
	if len(ss) != 1 || in.Records != 1 {
		t.Fatalf("%d servers of %d lines, want one of one", len(ss), in.Records)
	}
	for name, want := range map[serving.SeriesName]float64{
		serving.PromptRate: 3021.4, serving.GenerationRate: 512.7, serving.Running: 64, serving.Waiting: 12,
		serving.Preemptions: 3, serving.KVUsage: 0.972, serving.PrefixHitRatio: 0.413,
	} {
		if got := lastOf(ss[0], name); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	// The three preemptions are of the line's interval, so they must be a rise.
	c := ss[0].Counters[0]
	if d := cmp.Diff([]float64{0, 3}, c.Values); d != "" || ss[0].Times[1]-ss[0].Times[0] != 10e9 {
		t.Errorf("preemptions %v at %v, want 0 and 3 ten seconds apart", c.Values, ss[0].Times)
	}
	if !ss[0].Relative || !strings.Contains(ss[0].TimeRule, "no year") {
		t.Errorf("relative %v, rule %q: a log without a year has no instants", ss[0].Relative, ss[0].TimeRule)
	}
}

func TestLogV0(t *testing.T) {
	ss, _ := decodeLogText(t, "v0.log", `INFO 10-16 19:05:40 llm_engine.py:237] Initializing an LLM engine (v0.6.3) with config: model='org/m', speculative_config=None, dtype=torch.float16, max_seq_len=4096, tensor_parallel_size=2, enable_prefix_caching=True
INFO 10-16 19:05:41 gpu_executor.py:122] # GPU blocks: 27882, # CPU blocks: 2048
INFO 10-16 19:05:47 metrics.py:345] Avg prompt throughput: 558.7 tokens/s, Avg generation throughput: 127.4 tokens/s, Running: 2 reqs, Swapped: 1 reqs, Pending: 7 reqs, GPU KV cache usage: 90.8%, CPU KV cache usage: 3.0%.
INFO 10-16 19:05:47 metrics.py:361] Prefix cache hit rate: GPU: 94.35%, CPU: 0.00%
INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598, Number of speculative tokens: 3, Number of accepted tokens: 8547, Number of draft tokens tokens: 13311, Number of emitted tokens tokens: 10616.
WARNING 10-16 19:05:50 scheduler.py:1298] Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption=1
INFO 10-16 19:05:57 metrics.py:345] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 127.4 tokens/s, Running: 2 reqs, Swapped: 0 reqs, Pending: 0 reqs, GPU KV cache usage: 9.8%, CPU KV cache usage: 0.0%.
WARNING 10-16 19:06:00 scheduler.py:1298] Sequence group 5 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. total_num_cumulative_preemption=51
`)
	s := ss[0]
	if s.Version.V != "0.6.3" || s.Model.V != "org/m" || infoOf(s, "num_gpu_blocks") != "27882" || infoOf(s, "tensor_parallel_size") != "2" {
		t.Errorf("version %v, model %v, facts %v", s.Version, s.Model, s.Info)
	}
	for name, want := range map[serving.SeriesName][]float64{
		serving.Waiting: {7, 0}, serving.Swapped: {1, 0}, serving.KVUsage: {0.908, 0.098}, cpuKVUsage: {0.03, 0},
		serving.PrefixHitRatio: {0.9435, math.NaN()}, acceptanceRatio: {0.642, math.NaN()},
	} {
		g := s.GaugeOf(name)
		if g == nil || !near(g.Values, want) {
			t.Errorf("%s is %+v, want %v", name, g, want)
		}
	}
	for _, c := range s.Counters {
		want := map[serving.SeriesName][]float64{serving.Preemptions: {1, 51}, serving.SpecAccepted: {8547, 8547}, serving.SpecDraft: {13311, 13311}}[c.Name]
		if !near(c.Values, want) {
			t.Errorf("%s is %v, want %v", c.Name, c.Values, want)
		}
	}
}

func near(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if math.IsNaN(a[i]) != math.IsNaN(b[i]) || math.Abs(a[i]-b[i]) > 1e-12 {
			return false
		}
	}
	return true
}

func TestLogSpeculation(t *testing.T) {
	ss, _ := decodeLogText(t, "s.log", v1("06-07 10:00:00", "Engine 000: ", 1, 0, "")+
		"(APIServer pid=1) INFO 06-07 10:00:00 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.18, Accepted throughput: 0.64 tokens/s, Drafted throughput: 8.09 tokens/s, Accepted: 33 tokens, Drafted: 420 tokens, Per-position acceptance rate: 0.643, 0.286, 0.179, Avg Draft acceptance rate: 7.9%\n"+
		v1("06-07 10:00:10", "Engine 000: ", 1, 0, "")+
		"(APIServer pid=1) INFO 06-07 10:00:10 [metrics.py:101] SpecDecoding metrics: Draft acceptance rate: nan%, Mean acceptance length: nan, Accepted: 0 tokens, Drafted: 0 tokens\n"+
		v1("06-07 10:00:20", "Engine 000: ", 1, 0, "")+
		"INFO 06-07 10:00:20 [metrics.py:96] SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, Accepted: 262 tokens, Drafted: 295 tokens\n")
	s := ss[0]
	if g := s.GaugeOf(acceptanceRatio); g == nil || !near(g.Values, []float64{math.NaN(), 0.079, math.NaN(), 0.888}) {
		t.Errorf("acceptance rate %+v", g)
	}
	if g := s.GaugeOf(acceptanceLength); g == nil || !near(g.Values, []float64{math.NaN(), 2.18, math.NaN(), 5.44}) {
		t.Errorf("acceptance length %+v", g)
	}
	if got := lastOf(s, serving.SpecDraft); got != 715 {
		t.Errorf("%v drafted tokens, want 715", got)
	}
}

// Columns of other versions are read by name wherever they stand, and columns
// nobody knows are told of.
func TestLogColumns(t *testing.T) {
	ss, in := decodeLogText(t, "c.log", "2025-11-17 14:50:30,270 INFO vllm.v1.metrics.loggers - Engine 000: Avg prompt throughput: nan tokens/s, Avg generation throughput: 34.0 tokens/s, Running: 1 reqs, Waiting: 5 reqs, Deferred: 2 reqs, GPU KV cache usage: 120.0%, Prefix cache hit rate: 0.0%, Corrupted: 1 reqs, External prefix cache hit rate: 81.9%, MM cache hit rate: 50.0%, MFU: 1.7 TF/s/GPU 50.0 GB/s/GPU\n")
	s := ss[0]
	for name, want := range map[serving.SeriesName]float64{serving.Waiting: 5, deferred: 2, externalHitRatio: 0.819, mmHitRatio: 0.5, corrupted: 1} {
		if got := lastOf(s, name); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if s.GaugeOf(serving.PromptRate) != nil {
		t.Error("nan tokens/s is a value")
	}
	if s.GaugeOf(serving.KVUsage) != nil || in.Problems.Len() != 1 {
		t.Errorf("a usage of 120%% is taken; problems %v", in.Problems.List())
	}
	known := ""
	for _, f := range in.Fields {
		if f.Name == "MFU" {
			known = "told, as " + f.As
		}
	}
	if known != "told, as " {
		t.Errorf("the unknown column MFU is %q", known)
	}
	if s.Relative || s.Times[1] != time.Date(2025, 11, 17, 14, 50, 30, 270e6, time.UTC).UnixNano() {
		t.Errorf("times %v (relative %v)", s.Times, s.Relative)
	}
}

func TestLogEngines(t *testing.T) {
	var b strings.Builder
	for i := range 3 {
		at := fmt.Sprintf("06-07 10:00:%d0", i)
		b.WriteString(v1(at, "Engine 000: ", 10+i, 0, "") + v1(at, "Engine 001: ", 20+i, 5, "Preemptions: 2, "))
	}
	ss, in := decodeLogText(t, "dp.log", b.String())
	if len(ss) != 2 || in.Records != 6 {
		t.Fatalf("%d servers of %d lines, want 2 of 6", len(ss), in.Records)
	}
	if ss[0].Replica.V != "engine 0" || ss[1].Replica.V != "engine 1" || lastOf(ss[0], serving.Running) != 12 || lastOf(ss[1], serving.Running) != 22 {
		t.Errorf("servers %q (%v running) and %q (%v running)", ss[0].Replica.V, lastOf(ss[0], serving.Running), ss[1].Replica.V, lastOf(ss[1], serving.Running))
	}
	if got := lastOf(ss[1], serving.Preemptions); got != 6 {
		t.Errorf("%v preemptions, want 6", got)
	}
	ss, _ = decodeLogText(t, "dp.log", v1("06-07 10:00:00", "8 Engines Aggregated: ", 10, 0, ""))
	if len(ss) != 1 || ss[0].Replica.V != "8 engines aggregated" {
		t.Errorf("aggregated engines are %+v", ss)
	}
}

// What a container runtime, kubectl or journald puts before a line is taken off,
// and tells servers apart where it names them.
func TestLogWrapped(t *testing.T) {
	line := strings.TrimSpace(v1("06-07 10:00:00", "Engine 000: ", 3, 1, ""))
	quoted := strings.ReplaceAll(line, `"`, `\"`)
	utc := time.Date(2026, 6, 7, 8, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		text    string
		servers int
		exact   bool
	}{
		"docker logs -t": {"2026-06-07T08:00:00.000000000Z " + line, 1, true},
		"CRI":            {"2026-06-07T10:00:00.000000000+02:00 stdout F " + line, 1, true},
		"docker on disk": {`{"log":"` + quoted + `\n","stream":"stdout","time":"2026-06-07T08:00:00Z"}`, 1, true},
		"JSON logger":    {`{"timestamp":"2026-06-07T08:00:00Z","level":"INFO","message":"` + quoted + `"}`, 1, true},
		"compose":        {"vllm-1  | " + line + "\nvllm-2  | " + line, 2, false},
		"kubectl":        {"[pod/llm-7d9f-abcde/vllm] " + line + "\n[pod/llm-7d9f-fghij/vllm] " + line, 2, false},
		"stern":          {"llm-7d9f4c-abcde vllm " + line + "\nllm-7d9f4c-fghij vllm " + line, 2, false},
		"journald":       {"Jun 07 10:00:00 node1 vllm[42]: " + line, 1, false},
		"ray":            {strings.ReplaceAll("(ServeReplica:a pid=7, ip=10.0.0.1) "+line+"\n(ServeReplica:a pid=7, ip=10.0.0.2) "+line, "(APIServer pid=1) ", ""), 2, false},
		"colours":        {"\x1b[36m(APIServer pid=1)\x1b[0m \x1b[32mINFO\x1b[0m" + strings.TrimPrefix(line, "(APIServer pid=1) INFO"), 1, false},
		"CRLF":           {line + "\r", 1, false},
	} {
		text := tc.text + "\n"
		if ok, why := SniffLog([]byte(text)); !ok {
			t.Errorf("%s: not recognized: %s", name, why)
			continue
		}
		ss, _ := decodeLogText(t, "w.log", text)
		if len(ss) != tc.servers {
			t.Errorf("%s: %d servers, want %d", name, len(ss), tc.servers)
			continue
		}
		s := ss[0]
		if lastOf(s, serving.Running) != 3 || lastOf(s, serving.PrefixHitRatio) != 0.4 {
			t.Errorf("%s: %v running, %v prefix hits", name, lastOf(s, serving.Running), lastOf(s, serving.PrefixHitRatio))
		}
		if tc.exact && (s.Relative || s.Times[0] != utc.UnixNano()) {
			t.Errorf("%s: time %v (relative %v, %s), want %v", name, time.Unix(0, s.Times[0]).UTC(), s.Relative, s.TimeRule, utc)
		}
	}
}

func TestLogTimes(t *testing.T) {
	day := func(y int, m time.Month, d, h, min, s int) int64 {
		return time.Date(y, m, d, h, min, s, 0, time.UTC).UnixNano()
	}
	for name, tc := range map[string]struct {
		path, text string
		want       []int64
		relative   bool
		rule       string
	}{
		"year in the file's name": {"run_20260608T0436_server.log", v1("06-07 23:59:50", "", 1, 0, "") + v1("06-08 00:00:00", "", 1, 0, ""),
			[]int64{day(2026, 6, 7, 23, 59, 50), day(2026, 6, 8, 0, 0, 0)}, false, "2026 by the file's name"},
		"year in the log": {"server.log", "[2024-02-29 11:00:00] some library warns\n" + v1("02-29 12:00:00", "", 1, 0, ""),
			[]int64{day(2024, 2, 29, 12, 0, 0)}, false, "2024 by a date in the log"},
		"another day's date": {"server_20250101.log", v1("06-07 12:00:00", "", 1, 0, ""), []int64{0}, true, "no year"},
		"new year": {"x-2026-01-01.log", v1("12-31 23:59:55", "", 1, 0, "") + v1("01-01 00:00:05", "", 1, 0, ""),
			[]int64{day(2025, 12, 31, 23, 59, 55), day(2026, 1, 1, 0, 0, 5)}, false, "2025 by"},
		"new year without a year": {"x.log", v1("12-31 23:59:55", "", 1, 0, "") + v1("01-01 00:00:05", "", 1, 0, ""), []int64{0, 10e9}, true, "no year"},
		"no times": {"x.log", strings.Repeat("Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs\n", 2),
			[]int64{0, 1e9}, true, "no times"},
		"one moment twice": {"x.log", v1("06-07 12:00:00", "", 1, 0, "") + v1("06-07 12:00:00", "", 2, 0, "") + v1("06-07 12:00:10", "", 3, 0, ""),
			[]int64{0, 10e9}, true, "1 lines of one and the same moment"},
		"no such day": {"x.log", v1("13-07 12:00:00", "", 1, 0, ""), []int64{0}, true, "no times"},
	} {
		ss, _ := decodeLogText(t, tc.path, tc.text)
		if d := cmp.Diff(tc.want, ss[0].Times); d != "" || ss[0].Relative != tc.relative || !strings.Contains(ss[0].TimeRule, tc.rule) {
			t.Errorf("%s: relative %v, rule %q\n%s", name, ss[0].Relative, ss[0].TimeRule, d)
		}
	}
}

const startLines = `(APIServer pid=%[1]d) INFO 06-07 09:00:00 [utils.py:299]   █▄█▀ █     █     █     █  version 0.20.1
(APIServer pid=%[1]d) INFO 06-07 09:00:00 [utils.py:233] non-default args: {'model_tag': '/models/target', 'api_key': ['sk-secret'], 'model': '/models/target', 'served_model_name': ['chat', 'fast'], 'max_num_seqs': %[2]d, 'gpu_memory_utilization': 0.9}
(EngineCore pid=99) INFO 06-07 09:00:05 [core.py:107] Initializing a V1 LLM engine (v0.20.1) with config: model='/models/target', max_seq_len=8192, tensor_parallel_size=4, enable_prefix_caching=True
(EngineCore pid=99) INFO 06-07 09:00:06 [kv_cache_utils.py:1323] GPU KV cache size: 1,854,204 tokens
(EngineCore pid=99) INFO 06-07 09:00:06 [kv_cache_utils.py:1328] Maximum concurrency for 8,192 tokens per request: 226.34x
`

func TestLogStart(t *testing.T) {
	ss, _ := decodeLogText(t, "x.log", fmt.Sprintf(startLines, 1, 64)+v1("06-07 10:00:00", "Engine 000: ", 1, 0, "Preemptions: 5, ")+v1("06-07 10:00:10", "Engine 000: ", 1, 0, "")+
		fmt.Sprintf(startLines, 1, 128)+v1("06-07 11:00:00", "Engine 000: ", 1, 0, "Preemptions: 2, "))
	if len(ss) != 1 {
		t.Fatalf("%d servers, want one that started twice", len(ss))
	}
	s := ss[0]
	if s.Model.V != "chat" || s.Version.V != "0.20.1" {
		t.Errorf("model %v, version %v", s.Model, s.Version)
	}
	for key, want := range map[string]string{"max_num_seqs": "64, then 128", "gpu_memory_utilization": "0.9", "kv_cache_tokens": "1854204", "max_model_len": "8192",
		"max_concurrency_at_max_model_len": "226.34", "tensor_parallel_size": "4", "model": "/models/target", "api_key": ""} {
		if got := infoOf(s, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if strings.Contains(fmt.Sprint(s.Info), "secret") {
		t.Error("a key stands in the facts")
	}
	if len(s.Restarts) != 1 || s.Restarts[0] != s.Times[3] {
		t.Errorf("restarts %v at times %v", s.Restarts, s.Times)
	}
	if d := cmp.Diff([]float64{0, 5, 5, 2}, s.Counters[0].Values); d != "" {
		t.Errorf("preemptions start anew with the process:\n%s", d)
	}
}

// A process id that changes is a restart where the lines do not mix, and another
// server where they do.
func TestLogProcesses(t *testing.T) {
	of := func(pid int, at string) string {
		return strings.Replace(v1(at, "Engine 000: ", pid, 0, ""), "pid=1)", fmt.Sprintf("pid=%d)", pid), 1)
	}
	ss, _ := decodeLogText(t, "x.log", of(7, "06-07 10:00:00")+of(7, "06-07 10:00:10")+of(8, "06-07 10:01:00"))
	if len(ss) != 1 || len(ss[0].Restarts) != 1 || len(ss[0].Times) != 3 {
		t.Errorf("a restart gives %d servers", len(ss))
	}
	ss, _ = decodeLogText(t, "x.log", of(7, "06-07 10:00:00")+of(8, "06-07 10:00:05")+of(7, "06-07 10:00:10")+of(8, "06-07 10:00:15"))
	if len(ss) != 2 || len(ss[0].Restarts)+len(ss[1].Restarts) != 0 {
		t.Errorf("two servers side by side give %d", len(ss))
	}
}

func TestLogTroubles(t *testing.T) {
	ss, in := decodeLogText(t, "x.log", v1("06-07 10:00:00", "", 1, 0, "")+
		`(APIServer pid=1) INFO:     127.0.0.1:60620 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error
(APIServer pid=1) INFO:     127.0.0.1:60621 - "POST /v1/completions HTTP/1.1" 503 Service Unavailable
(APIServer pid=1) INFO:     127.0.0.1:60622 - "POST /v1/completions HTTP/1.1" 200 OK
(EngineCore pid=2) ERROR 06-07 10:00:01 [core.py:1] Traceback (most recent call last):
(EngineCore pid=2) ERROR 06-07 10:00:01 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
(APIServer pid=1) ERROR 06-07 10:00:02 [async_llm.py:1] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue.
INFO 06-07 10:00:03 [logger.py:40] Received request cmpl-1: prompt: 'Traceback (most recent call last) CUDA out of memory Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs'
`)
	for key, want := range map[string]string{"log_http_5xx": "2", "log_out_of_memory": "1", "log_engine_died": "1", "log_tracebacks": "1", "log_timeouts": ""} {
		if got := infoOf(ss[0], key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if in.Problems.Len() != 5 || in.Problems.List()[0].At.Line != 2 || in.Records != 1 {
		t.Errorf("%d records, problems %v", in.Records, in.Problems.List())
	}
}

// The hit rate of a cache that is switched off is printed as 0.0%: no figure.
func TestLogPrefixCacheOff(t *testing.T) {
	line := strings.Replace(v1("06-07 10:00:00", "", 1, 0, ""), "hit rate: 40.0%", "hit rate: 0.0%", 1)
	for args, want := range map[string]bool{"{'enable_prefix_caching': False}": false, "{'enable_prefix_caching': True}": true, "{}": true} {
		ss, _ := decodeLogText(t, "x.log", "INFO 06-07 09:00:00 [utils.py:233] non-default args: "+args+"\n"+line)
		if got := ss[0].GaugeOf(serving.PrefixHitRatio) != nil; got != want {
			t.Errorf("%s: a hit rate is there: %v, want %v", args, got, want)
		}
	}
}

func TestSniffLogNearMisses(t *testing.T) {
	for _, text := range []string{
		"[1.0s] Avg prompt throughput: 9069.0 tokens/s, Avg generation throughput: 232.0 tokens/s\n[1.0s] Running: 3 reqs\n",
		"[2026-06-07 12:04:38] Decode batch, #running-req: 1, #token: 76, token usage: 0.11, gen throughput (token/s): 0.62, #queue-req: 0\n",
		"args: Namespace(model='gpt2', max_num_seqs=4)\n",
		"Received request 1: prompt: 'Avg prompt throughput: 1 tokens/s, Running: 1 reqs'\n",
		"", "\n", "{}", "Running: 1 reqs\n",
	} {
		if ok, _ := SniffLog([]byte(text)); ok {
			t.Errorf("%q is taken for an engine log", text)
		}
	}
}

// A log that ends before the first figures is told for what it is.
func TestLogOfAStart(t *testing.T) {
	text := fmt.Sprintf(startLines, 1, 64)
	if ok, why := SniffLog([]byte(text)); !ok {
		t.Error(why)
	}
	in := &serving.Input{}
	ss, _, err := DecodeLog(t.Context(), "x.log", strings.NewReader(text), in)
	if err != nil || len(ss) != 0 || in.Records != 0 || !strings.Contains(in.Note, "max_num_seqs 64") {
		t.Errorf("%d servers, note %q, error %v", len(ss), in.Note, err)
	}
	if _, _, err := DecodeLog(t.Context(), "x.log", strings.NewReader("nothing\n"), in); err == nil || !strings.Contains(err.Error(), "no periodic line") {
		t.Errorf("error %v", err)
	}
}

func TestScanLog(t *testing.T) {
	text := strings.Repeat("INFO: "+strings.Repeat("x", 100_000)+"\n", 4) + v1("06-07 10:00:00", "", 1, 0, "")
	if !ScanLog(strings.NewReader(text), 1<<20) || ScanLog(strings.NewReader(text), 1<<18) {
		t.Error("the periodic line behind 400 kB is not found, or is beyond the bound")
	}
}

func FuzzDecodeLog(f *testing.F) {
	for _, s := range []string{
		v1("06-07 10:00:00", "Engine 000: ", 1, 2, "Preemptions: 3, ") + v1("06-07 10:00:10", "Engine 001: ", 1, 2, ""),
		fmt.Sprintf(startLines, 1, 64) + v1("06-07 10:00:00", "2 Engines Aggregated: ", 1, 2, ""),
		`{"log":"Avg prompt throughput: 1.0 tokens/s, Running: 1 reqs\n","time":"2026-06-07T08:00:00Z"}`,
		"x-1 | 0000-00-00T99:99:99Z Avg prompt throughput: 1e999 tokens/s, Running: -1 reqs, Waiting: , : ,\nSpecDecoding metrics: Accepted: 1",
		"(A pid=1, ip=::1) INFO 02-30 10:00:00 Avg prompt throughput: 1 tokens/s, Running: 1 reqs\ntotal_num_cumulative_preemption=99999999999999999999",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		SniffLog([]byte(s))
		in := &serving.Input{}
		ss, _, err := DecodeLog(t.Context(), "f_20260607.log", strings.NewReader(s), in)
		if err != nil {
			return
		}
		n := 0
		for _, x := range ss {
			checkServer(t, x)
			n += len(x.Times)
		}
		if int64(n) > in.Records+int64(len(ss)) {
			t.Errorf("%d instants of %d lines", n, in.Records)
		}
	})
}

package prom

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A file is a scrape to be read.
type file struct{ path, text string }

func assemble(t *testing.T, opt AssembleOptions, files ...file) ([]*serving.Server, []serving.Problem) {
	t.Helper()
	var all []*Scrape
	for _, f := range files {
		s, _ := parse(t, f.path, f.text)
		all = append(all, s...)
	}
	sv, ps := Assemble(all, opt)
	// Neither the order of the arguments nor a second time may change anything.
	slices.Reverse(all)
	rv, rps := Assemble(all, opt)
	if a, b := dump(sv, ps), dump(rv, rps); a != b {
		t.Errorf("another order of files gives another result:\n%s\n%s", a, b)
	}
	for _, s := range sv {
		checkServer(t, s)
	}
	return sv, ps
}

func dump(sv []*serving.Server, ps []serving.Problem) string {
	var b strings.Builder
	for _, s := range sv {
		fmt.Fprintf(&b, "%+v\n", *s)
	}
	fmt.Fprintf(&b, "%v\n", ps)
	return b.String()
}

func one(t *testing.T, opt AssembleOptions, files ...file) *serving.Server {
	t.Helper()
	sv, ps := assemble(t, opt, files...)
	if len(sv) != 1 || len(ps) > 0 {
		t.Fatalf("%d servers, problems %v", len(sv), ps)
	}
	return sv[0]
}

// process is a scrape of a process with a start time and a token count.
func process(start, tokens int) string {
	return fmt.Sprintf("process_start_time_seconds %d\nvllm:num_requests_running{model_name=\"m\"} 1\nvllm:generation_tokens_total{model_name=\"m\"} %d\nvllm:prompt_tokens_total{model_name=\"m\"} %d\n", start, tokens, 2*tokens)
}

func counterOf(s *serving.Server, n serving.SeriesName, by ...serving.Term) []float64 {
	for _, c := range s.Counters {
		if c.Name == n && slices.Equal(c.By, by) {
			return c.Values
		}
	}
	return nil
}

func gaugeOf(s *serving.Server, n serving.SeriesName, by ...serving.Term) *serving.Gauge {
	for i, g := range s.Gauges {
		if g.Name == n && slices.Equal(g.By, by) {
			return &s.Gauges[i]
		}
	}
	return nil
}

func TestTimeOfAScrape(t *testing.T) {
	a, b, c := process(1e9, 1), process(1e9, 2), process(1e9, 3)
	mtimes := func(path string) (int64, bool) {
		return map[string]int64{"x.prom": 7e9, "y.prom": 5e9, "z.prom": 9e9}[path], true
	}
	stamped := func(s string, ms int) string { return strings.ReplaceAll(s, "\n", fmt.Sprintf(" %d\n", ms)) }
	for _, tc := range []struct {
		name     string
		opt      AssembleOptions
		files    []file
		times    string
		relative bool
		rule     string
		tokens   string
	}{
		{"header", AssembleOptions{}, []file{{"x.prom", "# Timestamp: 2025-11-29T12:00:20Z\n# Pod: p\n" + b}, {"y.prom", "# Timestamp: 2025-11-29T12:00:10Z\n# Pod: p\n" + a}},
			"[1764417610000000000 1764417620000000000]", false, "header", "[1 2]"},
		{"header without zone", AssembleOptions{}, []file{{"x.prom", "# Timestamp: 2025-11-29 12:00:20\n" + b}, {"y.prom", "# Timestamp: 2025-11-29 12:00:10\n" + a}},
			"[1764417610000000000 1764417620000000000]", false, "header, taken as UTC", "[1 2]"},
		{"HTTP date", AssembleOptions{}, []file{{"x.prom", "HTTP/1.1 200 OK\nDate: Sat, 29 Nov 2025 12:00:20 GMT\n\n" + b}, {"y.prom", "HTTP/1.1 200 OK\nDate: Sat, 29 Nov 2025 12:00:10 GMT\n\n" + a}},
			"[1764417610000000000 1764417620000000000]", false, "header", "[1 2]"},
		{"header wins over the name", AssembleOptions{}, []file{{"p_1764417699.log", "# Timestamp: 1764417610\n" + a}, {"p_1764417600.log", "# Timestamp: 1764417620\n" + b}},
			"[1764417610000000000 1764417620000000000]", false, "header", "[1 2]"},
		{"time between appended scrapes", AssembleOptions{}, []file{{"x.prom", "1764417610\n" + a + "1764417620\n" + b}},
			"[1764417610000000000 1764417620000000000]", false, "header", "[1 2]"},
		{"samples", AssembleOptions{}, []file{{"x.prom", stamped(b, 1764417620000)}, {"y.prom", stamped(a, 1764417610000)}},
			"[1764417610000000000 1764417620000000000]", false, "timestamps", "[1 2]"},
		{"file name", AssembleOptions{}, []file{{"p_1764417620_metrics.log", b}, {"p_1764417610_metrics.log", a}},
			"[1764417610000000000 1764417620000000000]", false, "file name", "[1 2]"},
		{"date in the name", AssembleOptions{}, []file{{"p_20251129_120020.prom", b}, {"p_20251129_120010.prom", a}},
			"[1764417610000000000 1764417620000000000]", false, "file name, taken as UTC", "[1 2]"},
		{"number in the name", AssembleOptions{}, []file{{"m_12.prom", c}, {"m_9.prom", a}, {"m_10.prom", b}},
			"[0 1000000000 3000000000]", true, ruleSequence, "[1 2 3]"},
		{"counters", AssembleOptions{}, []file{{"x.prom", c}, {"y.prom", a}, {"z.prom", b}},
			"[0 1000000000 2000000000]", true, ruleCounters, "[1 2 3]"},
		{"mtime on demand", AssembleOptions{UseMTime: true, MTime: mtimes}, []file{{"x.prom", b}, {"y.prom", a}, {"z.prom", c}},
			"[5000000000 7000000000 9000000000]", false, "mtime", "[1 2 3]"},
		{"appended", AssembleOptions{}, []file{{"x.prom", a + b + c}},
			"[0 1000000000 2000000000]", true, ruleFile, "[1 2 3]"},
		{"single", AssembleOptions{}, []file{{"x.prom", a}}, "[0]", true, ruleNone, "[1]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := one(t, tc.opt, tc.files...)
			if fmt.Sprint(s.Times) != tc.times || s.Relative != tc.relative || s.TimeRule != tc.rule {
				t.Errorf("times %v, relative %v, rule %q", s.Times, s.Relative, s.TimeRule)
			}
			if got := fmt.Sprint(counterOf(s, serving.GenerationTotal)); got != tc.tokens {
				t.Errorf("order %s, want %s", got, tc.tokens)
			}
		})
	}
}

func TestTimesThatAreMissingOrTwice(t *testing.T) {
	a, b, c := process(1e9, 1), process(1e9, 2), process(1e9, 3)
	sv, ps := assemble(t, AssembleOptions{}, file{"x.prom", "# Time: 1764417610\n# Pod: p\n" + a}, file{"y.prom", "# Time: 1764417620\n# Pod: p\n" + b}, file{"z.prom", "# Pod: p\n" + c})
	if len(sv) != 1 || len(sv[0].Times) != 2 || len(ps) != 1 || ps[0].At.Path != "z.prom" {
		t.Errorf("one without a time: %+v, %v", sv, ps)
	}
	sv, ps = assemble(t, AssembleOptions{}, file{"x.prom", "# Time: 1764417610\n# Pod: p\n" + a}, file{"y.prom", "# Pod: p\n" + b}, file{"z.prom", "# Pod: p\n" + c})
	if len(sv) != 1 || len(sv[0].Times) != 3 || !sv[0].Relative || len(ps) != 1 {
		t.Errorf("most without a time: %+v, %v", sv, ps)
	}
	sv, ps = assemble(t, AssembleOptions{}, file{"x.prom", "# Time: 1764417610\n# Pod: p\n" + a}, file{"y.prom", "# Time: 1764417610\n# Pod: p\n" + b})
	if len(sv) != 1 || len(sv[0].Times) != 1 || len(ps) != 1 || !strings.Contains(ps[0].Message, "same time as x.prom") {
		t.Errorf("the same time twice: %+v, %v", sv, ps)
	}
	same := "vllm:num_requests_running 1\nvllm:generation_tokens_total 5\nprocess_start_time_seconds 1e9\n"
	sv, ps = assemble(t, AssembleOptions{}, file{"run/after.prom", same}, file{"run/before.prom", same})
	if len(sv) != 1 || sv[0].TimeRule != ruleNames || sv[0].Sources[0] != "run/before.prom" || len(ps) != 1 {
		t.Errorf("nothing moved: %+v, %v", sv, ps)
	}
}

func TestRestarts(t *testing.T) {
	s := one(t, AssembleOptions{}, file{"m_1.prom", process(1e9, 10)}, file{"m_2.prom", process(1e9, 20)}, file{"m_3.prom", process(2e9, 5)}, file{"m_4.prom", process(2e9, 9)})
	if fmt.Sprint(s.Restarts) != "[2000000000]" {
		t.Errorf("start time: %v", s.Restarts)
	}
	// The new process has counted further than the old one.
	s = one(t, AssembleOptions{}, file{"m_1.prom", process(1e9, 10)}, file{"m_2.prom", process(1e9, 20)}, file{"m_3.prom", process(2e9, 500)}, file{"m_4.prom", process(2e9, 900)})
	if fmt.Sprint(s.Restarts) != "[2000000000]" {
		t.Errorf("start time alone: %v", s.Restarts)
	}
	no := func(tokens int) string { return grep(process(0, tokens), "vllm", "#") }
	s = one(t, AssembleOptions{}, file{"m_1.prom", no(10)}, file{"m_2.prom", no(20)}, file{"m_3.prom", no(5)})
	if fmt.Sprint(s.Restarts) != "[2000000000]" {
		t.Errorf("counters: %v", s.Restarts)
	}
	// A sum falls with a negative observation; that is no restart.
	hist := func(sum, count int) string {
		return no(count) + fmt.Sprintf("vllm:e2e_request_latency_seconds_sum{model_name=\"m\"} %d\nvllm:e2e_request_latency_seconds_count{model_name=\"m\"} %d\n", sum, count)
	}
	s = one(t, AssembleOptions{}, file{"m_1.prom", hist(100, 10)}, file{"m_2.prom", hist(50, 20)})
	if len(s.Restarts) != 0 {
		t.Errorf("negative observation: %v", s.Restarts)
	}
}

func TestGaps(t *testing.T) {
	var files []file
	for i, at := range []int{0, 15, 30, 45, 105, 120, 135} {
		files = append(files, file{fmt.Sprintf("p_%d.log", 1764417600+at), process(1e9, i)})
	}
	s := one(t, AssembleOptions{}, files...)
	if want := []serving.Gap{{From: 1764417645e9, To: 1764417705e9}}; !slices.Equal(s.Gaps, want) {
		t.Errorf("times: %v", s.Gaps)
	}
	s = one(t, AssembleOptions{}, file{"m_0.prom", process(1e9, 1)}, file{"m_5.prom", process(1e9, 2)}, file{"m_10.prom", process(1e9, 3)})
	if len(s.Gaps) != 0 {
		t.Errorf("numbers in steps of five: %v", s.Gaps)
	}
	s = one(t, AssembleOptions{}, file{"m_0.prom", process(1e9, 1)}, file{"m_1.prom", process(1e9, 2)}, file{"m_4.prom", process(1e9, 3)})
	if want := []serving.Gap{{From: 1e9, To: 4e9}}; !slices.Equal(s.Gaps, want) {
		t.Errorf("numbers: %v", s.Gaps)
	}
}

func TestWhichScrapesBelongTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []file
		want  string // replica: scrapes
	}{
		{"pods in the names", []file{{"d/pod-a_1764417600_metrics.log", process(1e9, 1)}, {"d/pod-b_1764417600_metrics.log", process(1e9, 1)},
			{"d/pod-a_1764417615_metrics.log", process(1e9, 2)}, {"d/pod-b_1764417615_metrics.log", process(1e9, 2)}}, "pod-a: 2, pod-b: 2"},
		{"pods in the headers", []file{{"1.log", "# Pod: b\n" + process(1e9, 1)}, {"2.log", "# Pod: a\n" + process(1e9, 1)}, {"3.log", "# Pod: a\n" + process(1e9, 2)}}, "a: 2, b: 1"},
		{"numbered in two directories", []file{{"a/m_1.prom", process(1e9, 1)}, {"a/m_2.prom", process(1e9, 2)}, {"b/m_1.prom", process(1e9, 1)}, {"b/m_2.prom", process(1e9, 2)}}, "a/m_1.prom: 2, b/m_1.prom: 2"},
		{"a number that tells pods", []file{{"pod-0.prom", process(1e9, 1)}, {"pod-1.prom", process(1.1e9, 2)}}, "pod-0: 1, pod-1: 1"},
		{"pair of one process", []file{{"x.prom", process(1e9, 1)}, {"y.prom", process(1e9, 2)}}, ": 2"},
		{"two processes", []file{{"x.prom", process(1e9, 1)}, {"y.prom", process(1.1e9, 2)}}, "x: 1, y: 1"},
		{"pair around a restart", []file{{"run_before.prom", process(1e9, 9)}, {"run_after.prom", process(1.1e9, 2)}}, ": 2"},
		{"pair in directories", []file{{"before/m.prom", process(1e9, 9)}, {"after/m.prom", process(1.1e9, 2)}}, ": 2"},
		{"one process with its counters at odds", []file{{"x.prom", process(1e9, 1) + "vllm:num_preemptions_total 9\n"}, {"y.prom", process(1e9, 2) + "vllm:num_preemptions_total 3\n"}}, "x: 1, y: 1"},
		{"another model", []file{{"x.prom", process(1e9, 1)}, {"y.prom", strings.ReplaceAll(process(1e9, 1), `"m"`, `"n"`)}}, "x: 1, y: 1"},
		{"processes that take turns", []file{{"p_1764417600.log", process(1e9, 1)}, {"p_1764417615.log", process(1.1e9, 1)}, {"p_1764417630.log", process(1e9, 2)}, {"p_1764417645.log", process(1.1e9, 2)}},
			"p (process of 1000000000): 2, p (process of 1100000000): 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sv, ps := assemble(t, AssembleOptions{}, c.files...)
			var got []string
			for _, s := range sv {
				got = append(got, fmt.Sprintf("%s: %d", s.Replica.V, len(s.Times)))
			}
			if strings.Join(got, ", ") != c.want || len(ps) > 0 {
				t.Errorf("got %s, problems %v", strings.Join(got, ", "), ps)
			}
		})
	}
}

func TestEnginesOfOneScrape(t *testing.T) {
	sv, ps := assemble(t, AssembleOptions{}, file{"a.prom", `process_start_time_seconds 1e9
process_cpu_seconds_total 55
http_requests_total{handler="/v1/completions",status="2xx"} 7
vllm:num_requests_running{engine="0",model_name="m"} 1
vllm:num_requests_running{engine="1",model_name="m"} 2
vllm:generation_tokens_total{engine="0",model_name="m"} 10
vllm:generation_tokens_total{engine="1",model_name="m"} 20
vllm:cache_config_info{engine="0",block_size="16"} 1
vllm:cache_config_info{engine="1",block_size="32"} 1
`})
	if len(sv) != 3 || len(ps) > 0 {
		t.Fatalf("%d servers, %v", len(sv), ps)
	}
	if sv[0].Replica.V != "front end" || counterOf(sv[0], serving.HTTPRequests, serving.Term{Dim: "status", Value: "2xx"})[0] != 7 || counterOf(sv[0], serving.ProcessCPU)[0] != 55 {
		t.Errorf("front end: %+v", sv[0])
	}
	for i, s := range sv[1:] {
		if s.Replica.V != fmt.Sprintf("engine %d", i) || s.Model.V != "m" || s.GaugeOf(serving.Running).Values[0] != float64(i+1) || len(s.Counters) != 1 {
			t.Errorf("engine %d: %+v", i, s)
		}
		if len(s.Info) != 1 || s.Info[0] != (serving.Setting{Key: "block_size", Value: []string{"16", "32"}[i]}) {
			t.Errorf("engine %d: info %v", i, s.Info)
		}
		if got, want := s.GaugeOf(serving.Running).PromQL, fmt.Sprintf(`vllm:num_requests_running{model_name="m",engine="%d"}`, i); got != want {
			t.Errorf("PromQL %s, want %s", got, want)
		}
	}

	sv, _ = assemble(t, AssembleOptions{}, file{"fleet.prom", "vllm:num_requests_running{pod=\"p1\",model_name=\"m\"} 1\nvllm:num_requests_running{pod=\"p2\",model_name=\"m\"} 2\n" +
		"process_start_time_seconds{pod=\"p1\"} 1e9\nprocess_start_time_seconds{pod=\"p2\"} 2e9\nhttp_requests_total{pod=\"p2\",status=\"5xx\"} 3\n"})
	if len(sv) != 2 || sv[0].Replica.V != "p1" || sv[1].Replica.V != "p2" || len(sv[0].Counters) != 0 || len(sv[1].Counters) != 1 {
		t.Errorf("pods: %+v", sv)
	}
}

func TestVocabulary(t *testing.T) {
	s := one(t, AssembleOptions{}, file{"a.prom", `
vllm:gpu_cache_usage_perc{model_name="m"} 0.77
vllm:kv_cache_usage_perc{model_name="m"} 0.66
vllm:gpu_prefix_cache_hit_rate{model_name="m"} -1
vllm:num_requests_running{model_name="m",pid="1"} 4
vllm:num_requests_running{model_name="m",pid="2"} 6
vllm:num_requests_waiting{model_name="m"} 5
vllm:num_requests_waiting_by_reason{model_name="m",reason="capacity"} 3
vllm:num_requests_waiting_by_reason{model_name="m",reason="deferred"} 2
vllm:request_success_total{model_name="m",finished_reason="stop"} 10
vllm:request_success_total{model_name="m",finished_reason="abort"} 1
vllm:request_success_created{model_name="m",finished_reason="stop"} 1.7e9
vllm:prefix_cache_queries_total{model_name="m"} 100
vllm:gpu_prefix_cache_queries_total{model_name="m"} 99
vllm:iteration_tokens_total_bucket{model_name="m",le="+Inf"} 8
vllm:iteration_tokens_total_count{model_name="m"} 8
vllm:time_per_output_token_seconds_bucket{model_name="m",le="1"} 9
vllm:time_per_output_token_seconds_bucket{model_name="m",le="+Inf"} 9
vllm:time_per_output_token_seconds_count{model_name="m"} 9
vllm:inter_token_latency_seconds_bucket{model_name="m",le="1"} 7
vllm:inter_token_latency_seconds_count{model_name="m"} 8
vllm:inter_token_latency_seconds_sum{model_name="m"} 2
vllm:request_time_per_output_token_seconds_sum{model_name="m"} 3
vllm:request_time_per_output_token_seconds_count{model_name="m"} 4
http_requests_total{handler="/a",method="POST",status="2xx"} 5
http_requests_total{handler="/b",method="POST",status="2xx"} 6
`})
	term := func(d, v string) serving.Term { return serving.Term{Dim: d, Value: v} }
	if g := s.GaugeOf(serving.KVUsage); g.Values[0] != 0.66 || g.From != "vllm:kv_cache_usage_perc" {
		t.Errorf("the newer name counts: %+v", g)
	}
	if g := s.GaugeOf(serving.PrefixHitRatio); g != nil {
		t.Errorf("-1 is no data: %+v", g)
	}
	if g := s.GaugeOf(serving.Running); g.Values[0] != 6 {
		t.Errorf("processes report the same level: %+v", g)
	}
	if s.GaugeOf(serving.Waiting).Values[0] != 5 || gaugeOf(s, serving.Waiting, term("reason", "capacity")).Values[0] != 3 {
		t.Errorf("waiting: %+v", s.Gauges)
	}
	if g := gaugeOf(s, serving.Waiting, term("reason", "deferred")); g.PromQL != `vllm:num_requests_waiting_by_reason{model_name="m",reason="deferred"}` {
		t.Errorf("%s", g.PromQL)
	}
	if counterOf(s, serving.FinishedTotal)[0] != 11 || counterOf(s, serving.FinishedTotal, term("reason", "abort"))[0] != 1 {
		t.Errorf("finished: %+v", s.Counters)
	}
	if counterOf(s, serving.PrefixQueries)[0] != 100 || counterOf(s, serving.Iterations)[0] != 8 {
		t.Errorf("counters: %+v", s.Counters)
	}
	if counterOf(s, serving.HTTPRequests, term("status", "2xx"))[0] != 11 {
		t.Errorf("handlers add up: %+v", s.Counters)
	}
	if h := s.HistogramOf(serving.ITL); h.From != "vllm:inter_token_latency_seconds" || fmt.Sprint(h.Bounds, h.Counts, h.Sum) != "[1 +Inf] [[7 8]] [2]" ||
		h.PromQL != `vllm:inter_token_latency_seconds_bucket{model_name="m"}` {
		t.Errorf("ITL, with +Inf from its count: %+v", h)
	}
	if h := s.HistogramOf(serving.TPOT); len(h.Bounds) != 0 || h.Counts[0] != nil || h.Sum[0] != 3 || h.Count[0] != 4 {
		t.Errorf("TPOT without buckets: %+v", h)
	}
}

func TestSGLang(t *testing.T) {
	s := one(t, AssembleOptions{}, file{"a.prom", `
sglang:num_queue_reqs{model_name="m",tp_rank="0"} 4
sglang:num_queue_reqs{model_name="m",tp_rank="1"} 9
sglang:token_usage{model_name="m",tp_rank="0"} 0.5
sglang:generation_tokens_total{model_name="m",tp_rank="0"} 100
sglang:generation_tokens_total{model_name="m",tp_rank="1"} 100
sglang:time_per_output_token_seconds_sum{model_name="m"} 1
sglang:time_per_output_token_seconds_count{model_name="m"} 1
`})
	if s.Engine != "sglang" || s.GaugeOf(serving.Waiting).Values[0] != 4 || s.GaugeOf(serving.KVUsage).Values[0] != 0.5 || counterOf(s, serving.GenerationTotal)[0] != 100 || len(s.Histograms) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestSharesOutOfRange(t *testing.T) {
	sv, ps := assemble(t, AssembleOptions{}, file{"a.prom", "sglang:num_running_reqs 1\nsglang:cache_hit_rate 38.5\n"})
	if len(sv) != 1 || sv[0].GaugeOf(serving.PrefixHitRatio) != nil || len(ps) != 1 || ps[0].String() != "a.prom:1: sglang:cache_hit_rate: 38.5 is no share, want 0…1; the value is left out" {
		t.Errorf("%+v, %v", sv, ps)
	}
}

func TestDamageMakesNoRestart(t *testing.T) {
	ok := func(n int) string {
		return fmt.Sprintf("vllm:generation_tokens_total{model_name=\"m\",pid=\"1\"} %d\nvllm:generation_tokens_total{model_name=\"m\",pid=\"2\"} %d\nvllm:num_requests_running 1\n", n, n)
	}
	damaged := strings.Replace(ok(20), `pid="2"} 20`, `pid="2"} 2O`, 1)
	s := one(t, AssembleOptions{}, file{"m_1.prom", ok(15)}, file{"m_2.prom", damaged}, file{"m_3.prom", ok(30)})
	if v := counterOf(s, serving.GenerationTotal); v[0] != 30 || !math.IsNaN(v[1]) || v[2] != 60 || len(s.Restarts) != 0 {
		t.Errorf("%v, restarts %v", v, s.Restarts)
	}
}

func TestBucketsOfDamagedScrapesAndOtherVersions(t *testing.T) {
	hist := func(start int, buckets ...string) string {
		s := fmt.Sprintf("process_start_time_seconds %d\nvllm:num_requests_running 1\n", start)
		for _, b := range buckets {
			le, n, _ := strings.Cut(b, ":")
			s += fmt.Sprintf("vllm:time_to_first_token_seconds_bucket{le=\"%s\"} %s\n", le, n)
		}
		return s
	}
	// A line is lost; "1" and "1.0" are the same bound.
	s := one(t, AssembleOptions{}, file{"m_1.prom", hist(1e9, "1:1", "2:2", "+Inf:3")}, file{"m_2.prom", hist(1e9, "1.0:4", "2.0:x", "+Inf:6")}, file{"m_3.prom", hist(1e9, "1:7", "2:8", "+Inf:9")})
	if h := s.HistogramOf(serving.TTFT); fmt.Sprint(h.Bounds, h.Counts) != "[1 2 +Inf] [[1 2 3] [4 NaN 6] [7 8 9]]" {
		t.Errorf("%v %v", h.Bounds, h.Counts)
	}
	sv, ps := assemble(t, AssembleOptions{}, file{"m_1.prom", hist(1e9, "1:1", "2:2", "+Inf:3")}, file{"m_2.prom", hist(1e9, "1:1", "2:2", "+Inf:3")}, file{"m_3.prom", hist(2e9, "1:7", "4:8", "+Inf:9")})
	if h := sv[0].HistogramOf(serving.TTFT); fmt.Sprint(h.Bounds, h.Counts) != "[1 +Inf] [[1 3] [1 3] [7 9]]" || len(ps) != 1 {
		t.Errorf("%v %v, %v", h.Bounds, h.Counts, ps)
	}
}

func TestLabelledCountersBeginAtZero(t *testing.T) {
	ok := "vllm:num_requests_running 1\nhttp_requests_total{status=\"2xx\"} 5\n"
	s := one(t, AssembleOptions{}, file{"m_1.prom", ok}, file{"m_2.prom", ok + "http_requests_total{status=\"5xx\"} 3\n"})
	if v := counterOf(s, serving.HTTPRequests, serving.Term{Dim: "status", Value: "5xx"}); fmt.Sprint(v) != "[0 3]" {
		t.Errorf("%v", v)
	}
	s = one(t, AssembleOptions{}, file{"m_1.prom", ok + "http_requests_total{sta\n"}, file{"m_2.prom", ok + "http_requests_total{status=\"5xx\"} 3\n"})
	if v := counterOf(s, serving.HTTPRequests, serving.Term{Dim: "status", Value: "5xx"}); fmt.Sprint(v) != "[NaN 3]" {
		t.Errorf("a damaged scrape says nothing: %v", v)
	}
}

func TestAssembleIsBounded(t *testing.T) {
	var b strings.Builder
	for i := range 3_000 {
		fmt.Fprintf(&b, "vllm:num_requests_running{model_name=\"m%d\"} 1\nhttp_requests_total{pod=\"p%d\",status=\"%d\"} 1\n", i, i, i)
	}
	s, _ := parse(t, "a.prom", b.String())
	sv, ps := Assemble(s, AssembleOptions{})
	if len(sv) > 2*maxEngines || len(ps) != 1 || !strings.Contains(ps[0].Message, "more than 512 engines") {
		t.Errorf("%d servers, %v", len(sv), ps)
	}
	// A label that is new in every scrape.
	b.Reset()
	for i := range 100 {
		fmt.Fprintf(&b, "vllm:num_requests_running 1\nvllm:request_success_total{finished_reason=\"r%d\"} 1\n", i)
	}
	s, _ = parse(t, "a.prom", b.String())
	var all serving.Problems
	st := streams(s)[0]
	st.order(AssembleOptions{}, &all)
	r := newRoom()
	r.left = 20 * 2 * 100
	sv = st.servers(r, &all)
	if len(sv) != 1 || len(sv[0].Times) != 100 || len(sv[0].Counters) > 20 || r.left < 0 || !r.lost["vllm:request_success_total"] {
		t.Errorf("%d servers, room %+v", len(sv), r)
	}
}

// A scrape that stands in a file once more, after others, is a copy; one that
// follows its like is a server at rest.
func TestAssembleDropsCopies(t *testing.T) {
	scrape := func(start, tokens int) string {
		return fmt.Sprintf("process_start_time_seconds %d\nvllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} %d\n", start, tokens)
	}
	text := scrape(1000, 5) + scrape(1000, 5) + scrape(1000, 9) + scrape(2000, 3) + scrape(1000, 9) + scrape(2000, 7)
	scrapes, _ := parse(t, "m.prom", text)
	servers, problems := Assemble(scrapes, AssembleOptions{})
	if len(servers) != 1 || len(servers[0].Times) != 5 || len(servers[0].Restarts) != 1 {
		t.Errorf("%d servers, want one of 5 scrapes that restarted once", len(servers))
	}
	if len(problems) != 1 || problems[0].At.Line != 9 {
		t.Errorf("problems %v, want one at line 9", problems)
	}
}

// A file of a series that holds its scrape twice, as a script with a retry writes
// it, is one of the series and no server of its own.
func TestAssembleTakesRepeatedScrapesOnce(t *testing.T) {
	scrape := func(tokens int) string {
		return fmt.Sprintf("vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} %d\n", tokens)
	}
	for _, names := range [][3]string{{"d/m_0000.prom", "d/m_0005.prom", "d/m_0010.prom"}, {"d/m_1760000000.prom", "d/m_1760000005.prom", "d/m_1760000010.prom"}} {
		servers, problems := assemble(t, AssembleOptions{}, file{names[0], scrape(5)}, file{names[1], scrape(7) + scrape(7)}, file{names[2], scrape(9)})
		if len(servers) != 1 || len(servers[0].Times) != 3 || len(problems) > 0 {
			t.Errorf("%v: %d servers, problems %v, want one server of 3 scrapes", names, len(servers), problems)
		}
	}
	servers, _ := assemble(t, AssembleOptions{}, file{"d/m_0000.prom", scrape(7) + scrape(7)})
	if len(servers) != 1 || len(servers[0].Times) != 2 {
		t.Errorf("alone: %d servers, want one of 2 scrapes at rest", len(servers))
	}
}

// A label with a value of its own in each series makes parts that tell nothing:
// they are bounded, the whole is not.
func TestPartsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range maxParts + 100 {
		fmt.Fprintf(&b, "vllm:request_success_total{model_name=\"m\",finished_reason=\"r%d\"} 1\n", i)
		fmt.Fprintf(&b, "vllm:time_to_first_token_seconds_bucket{model_name=\"m\",le=\"%d\"} 1\n", i)
	}
	servers, problems := assemble(t, AssembleOptions{}, file{"a.prom", b.String()})
	if len(servers) != 1 {
		t.Fatalf("%d servers, want 1", len(servers))
	}
	parts, whole := 0, 0.0
	for _, c := range servers[0].Counters {
		if c.Name == serving.FinishedTotal && len(c.By) == 0 {
			whole = c.Values[0]
		} else if c.Name == serving.FinishedTotal {
			parts++
		}
	}
	if parts != maxParts || whole != maxParts+100 {
		t.Errorf("%d parts of %v, want %d of %d", parts, whole, maxParts, maxParts+100)
	}
	if n := len(servers[0].Histograms[0].Bounds); n > maxBounds+1 {
		t.Errorf("%d buckets, want at most %d", n, maxBounds+1)
	}
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "request_success_total") || !strings.Contains(problems[0].Message, "time_to_first_token_seconds") {
		t.Errorf("problems %v, want one that names both families", problems)
	}
}

// A million replicas are one too many for most uses, and no reason to hang: what
// a series belongs to is found without asking every engine.
func TestManyReplicas(t *testing.T) {
	var b strings.Builder
	for i := range 3 * maxEngines {
		fmt.Fprintf(&b, "vllm:num_requests_waiting{model_name=\"m\",pod=\"p%d\"} %d\n", i, i)
	}
	servers, _ := assemble(t, AssembleOptions{}, file{"a.prom", b.String()})
	if len(servers) != maxEngines {
		t.Fatalf("%d servers, want %d", len(servers), maxEngines)
	}
	for _, s := range servers {
		if want := "p" + strconv.Itoa(int(s.Gauges[0].Values[0])); s.Replica.V != want {
			t.Fatalf("replica %s has the value of %s", s.Replica.V, want)
		}
	}
}

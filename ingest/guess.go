package ingest

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Few files say which version wrote them, and most betray it by a field that
// came, went or changed its name. A mark is such a field; of several the first
// that a file has decides. What is said is when the field was there, as far as
// its files or its writer's source were seen: "or later" is no upper bound.
type mark struct {
	field string // its beginning, up to a *
	says  string
}

var vllmClient = []mark{
	{"probe_completed", "vllm bench serve of August 2026 or later"},
	{"mean_client_queue_time_ms", "vllm bench serve of August 2026 or later"},
	{"spec_decode_*", "vllm bench serve of mid 2026 or later"},
	{"rtfx", "vllm bench serve of 2026 or later"},
	{"start_times", "vllm bench serve of 2026 or later"},
	{"request_goodput:", "benchmark_serving.py of 0.6.4 to mid 2025, or a fork of it"},
	{"endpoint_type", "vllm bench serve of late 2025 or later"},
	{"max_output_tokens_per_s", "vllm bench serve of late 2025 or later"},
	{"request_inthroughput", "benchmark_serving.py of early 2024"},
	{"input_throughput", "benchmark_serving.py of 2024"},
	{"best_of", "benchmark_serving.py of vLLM 0.8 or earlier"},
}

var scrapeMarks = []mark{
	{"vllm:num_requests_waiting_by_reason", "vLLM 0.21 or later"},
	{"vllm:prompt_tokens_by_source*", "vLLM 0.20 or later"},
	{"vllm:estimated_flops_per_gpu*", "vLLM about 0.14 or later"},
	{"vllm:request_prefill_kv_computed_tokens", "vLLM about 0.13 or later"},
	{"vllm:inter_token_latency_seconds", "vLLM 0.11 or later"},
	{"vllm:request_time_per_output_token_seconds", "vLLM about 0.10.2 or later"},
	{"vllm:kv_cache_usage_perc", "vLLM 0.9 or later"},
	{"vllm:gpu_prefix_cache_queries*", "vLLM 0.8 to 0.12"},
	{"vllm:num_requests_swapped", "vLLM with the V0 engine"},
	{"vllm:cpu_cache_usage_perc", "vLLM with the V0 engine"},
	{"vllm:avg_prompt_throughput_toks_per_s", "vLLM 0.6 or earlier"},
}

// marks by format. A prometheus scrape is of a server: its families are asked
// in vLLM's own spelling.
var marks = map[string][]mark{
	"vllm-serve":      vllmClient,
	"vllm-sweep":      vllmClient,
	"prometheus-text": scrapeMarks, "openmetrics": scrapeMarks, "prometheus-api": scrapeMarks,
	"prometheus-dump": scrapeMarks, "prometheus-tsdb": scrapeMarks,
	"guidellm": {
		{"requests.info.timings.*", "GuideLLM 0.4 or later"},
		{"requests.start_time", "GuideLLM 0.3 or earlier"},
	},
	"aiperf-records": {
		{"metrics.http_req_*", "AIPerf of 2026"},
		{"metadata.request_start_ns", "AIPerf of November 2025 or later"},
		{"metadata.timestamp_ns", "AIPerf of October 2025 or earlier"},
	},
}

// guessVersion says what a file's fields betray of the version that wrote it; ""
// where nothing does.
func guessVersion(in *serving.Input) string {
	list := marks[in.Format]
	if len(list) == 0 {
		return ""
	}
	for _, m := range list {
		for _, f := range in.Fields {
			name := strings.TrimPrefix(f.Name, "ray_")
			if rest, ok := strings.CutPrefix(name, "vllm_"); ok {
				name = "vllm:" + rest
			}
			if prefix, ok := strings.CutSuffix(m.field, "*"); name == m.field || ok && strings.HasPrefix(name, prefix) {
				return m.says + " (by " + f.Name + ")"
			}
		}
	}
	return ""
}

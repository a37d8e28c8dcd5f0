package ingest

import (
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func TestGuessVersion(t *testing.T) {
	for _, c := range []struct {
		format string
		fields []string
		want   string
	}{
		{"vllm-serve", []string{"date", "best_of", "request_goodput:"}, "benchmark_serving.py of 0.6.4 to mid 2025, or a fork of it (by request_goodput:)"},
		{"vllm-serve", []string{"endpoint_type", "rtfx"}, "vllm bench serve of 2026 or later (by rtfx)"},
		{"vllm-sweep", []string{"spec_decode_acceptance_rate"}, "vllm bench serve of mid 2026 or later (by spec_decode_acceptance_rate)"},
		{"prometheus-text", []string{"vllm:num_requests_swapped", "vllm:gpu_cache_usage_perc"}, "vLLM with the V0 engine (by vllm:num_requests_swapped)"},
		{"openmetrics", []string{"ray_vllm:kv_cache_usage_perc"}, "vLLM 0.9 or later (by ray_vllm:kv_cache_usage_perc)"},
		{"prometheus-api", []string{"vllm_inter_token_latency_seconds"}, "vLLM 0.11 or later (by vllm_inter_token_latency_seconds)"},
		{"prometheus-text", []string{"sglang:num_queue_reqs"}, ""},
		{"trace-csv", []string{"rtfx"}, ""},
	} {
		in := &serving.Input{Format: c.format}
		for _, n := range c.fields {
			in.Fields = append(in.Fields, serving.Field{Name: n})
		}
		if got := guessVersion(in); got != c.want {
			t.Errorf("%s with %v: %q, want %q", c.format, c.fields, got, c.want)
		}
	}
}

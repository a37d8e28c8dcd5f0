package aiperf

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// The format names of what this package reads.
const (
	FormatRecords       = "aiperf-records"
	FormatSummary       = "aiperf-summary"
	FormatServerMetrics = "aiperf-server-metrics"
	FormatTelemetry     = "gpu-telemetry"
	FormatGenAI         = "genai-perf"
)

// Reported figures that the program has no key of its own for.
const (
	secondToken   serving.MetricKey = "time_to_second_token"       // from the first to the second response: a gap, in spite of its name
	firstOutput   serving.MetricKey = "time_to_first_output_token" // to the first token that is no reasoning
	effectiveE2E  serving.MetricKey = "effective_latency"          // from the time a request was due, so that a late harness counts
	perUser       serving.MetricKey = "output_tokens_per_s_per_user"
	e2ePerUser    serving.MetricKey = "e2e_output_tokens_per_s_per_user" // over the whole latency, prefill included
	inputRate     serving.MetricKey = "input_tokens_per_s"
	answerTokens  serving.MetricKey = "output_tokens_without_reasoning"
	reasonTokens  serving.MetricKey = "reasoning_tokens"
	totalAnswer   serving.MetricKey = "total_output_tokens_without_reasoning"
	totalReason   serving.MetricKey = "total_reasoning_tokens"
	firstRequest  serving.MetricKey = "first_request_time" // seconds since the epoch
	lastResponse  serving.MetricKey = "last_response_time"
	cacheHitIdeal serving.MetricKey = "theoretical_prefix_hit_ratio" // of the prompts alone, whatever the server did
	cacheRead     serving.MetricKey = "prompt_cache_read_ratio"      // what the server's usage field says
)

// A dimension is what a metric is counted in, whatever its unit string says.
type dimension uint8

const (
	duration dimension = iota
	instant
	count
	rate
	share
)

// A meaning is what a tag of a summary stands for.
type meaning struct {
	metric serving.MetricKey
	dim    dimension
	total  bool // one number and no distribution: its "avg" is that number
}

// meanings are the tags that something is made of, in AIPerf's newest spelling;
// see aliases for the others.
//
// inter_token_latency is TPOT: (latency − TTFT) / (output tokens − 1), one value
// a request. The gaps as they were observed are inter_chunk_latency.
var meanings = map[string]meaning{
	"time_to_first_token":    {serving.TTFT, duration, false},
	"inter_token_latency":    {serving.TPOT, duration, false},
	"inter_chunk_latency":    {serving.ITL, duration, false},
	"request_latency":        {serving.E2E, duration, false},
	"input_sequence_length":  {serving.PromptTokens, count, false},
	"output_sequence_length": {serving.OutputTokens, count, false}, // reasoning included

	"usage_prompt_cache_read_tokens": {serving.CachedTokens, count, false},

	"time_to_second_token":             {secondToken, duration, false},
	"time_to_first_output_token":       {firstOutput, duration, false},
	"effective_latency":                {effectiveE2E, duration, false},
	"output_token_throughput_per_user": {perUser, rate, false},
	"e2e_output_token_throughput":      {e2ePerUser, rate, false},
	"output_token_count":               {answerTokens, count, false},
	"reasoning_token_count":            {reasonTokens, count, false},
	"effective_concurrency":            {serving.MeanConcurrent, count, false},

	"request_throughput":                  {serving.RateRequests, rate, true},
	"output_token_throughput":             {serving.RateOutput, rate, true},
	"total_token_throughput":              {serving.RateTotal, rate, true},
	"input_token_throughput":              {inputRate, rate, true},
	"goodput":                             {serving.GoodRequests, rate, true},
	"total_isl":                           {serving.TotalInputTokens, count, true},
	"total_osl":                           {serving.TotalOutputTokens, count, true},
	"total_output_tokens":                 {totalAnswer, count, true},
	"total_reasoning_tokens":              {totalReason, count, true},
	"min_request_timestamp":               {firstRequest, instant, true},
	"max_response_timestamp":              {lastResponse, instant, true},
	"theoretical_prefix_cache_hit":        {cacheHitIdeal, share, true},
	"overall_usage_prompt_cache_read_pct": {cacheRead, share, true},

	tagRequests: {"", count, true},
	tagErrors:   {"", count, true},
	tagDuration: {"", duration, true},
}

// Tags that have a place of their own in a run.
const (
	tagRequests = "request_count"
	tagErrors   = "error_request_count"
	tagDuration = "benchmark_duration"
)

// aliases are other spellings of tags: older versions, and the headers that
// stand in a CSV, lower-cased.
var aliases = map[string]string{
	"ttft": "time_to_first_token", "ttst": "time_to_second_token",
	"total_input_sequence_length": "total_isl", "total_output_sequence_length": "total_osl",
	"minimum_request_timestamp": "min_request_timestamp", "maximum_response_timestamp": "max_response_timestamp",
	"effective_latency_co_aware": "effective_latency",
}

// tagOf returns the tag for a name as any version or CSV writes it.
func tagOf(name string) string {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(name) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(c)
			continue
		}
		gap = true
	}
	s := b.String()
	if a, ok := aliases[s]; ok {
		return a
	}
	return s
}

// statOf returns the program's name of a statistic as the files write it.
func statOf(name string) (string, bool) {
	switch name {
	case "avg", "mean":
		return "mean", true
	case "min", "max", "std":
		return name, true
	case "median":
		return "p50", true
	}
	p, ok := serving.QuantileOf(name)
	if !ok || p <= 0 || p >= 1 {
		return "", false
	}
	return serving.QuantileName(p), true
}

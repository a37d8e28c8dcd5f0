package sglang

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Format names of the contract.
const (
	FormatServing  = "sglang-serving"
	FormatOneBatch = "sglang-onebatch"
	FormatLog      = "sglang-log"
)

// Reported figures that the program has no key of its own for.
const (
	inputRate       serving.MetricKey = "input_tokens_per_s"
	retokenized     serving.MetricKey = "retokenized_output_tokens" // the answers' text, tokenized again by the client
	retokenizedRate serving.MetricKey = "retokenized_output_tokens_per_s"
	textTokens      serving.MetricKey = "input_text_tokens"
	visionTokens    serving.MetricKey = "input_vision_tokens"
	meanInFlight    serving.MetricKey = "mean_in_flight" // sum of E2E / duration
	prefillRate     serving.MetricKey = "prefill_tokens_per_s"
	decodeRate      serving.MetricKey = "decode_tokens_per_s"
	lastDecodeRate  serving.MetricKey = "last_decode_tokens_per_s"
	steadyRate      serving.MetricKey = "steady_output_tokens_per_s"
	steadyWindow    serving.MetricKey = "steady_window"
	prefixHitRatio  serving.MetricKey = "prefix_hit_ratio"
	cachedTokens    serving.MetricKey = "total_cached_tokens"
	batchPrefill    serving.MetricKey = "batch_prefill" // of the whole batch, in the process: no queue, no HTTP
	decodeStep      serving.MetricKey = "decode_step"   // one forward pass of the whole batch
	stoppedEarly    serving.MetricKey = "stopped_early"
	poolTokens      serving.MetricKey = "server_kv_pool_tokens"
)

// A total is a single aggregate on the wire.
type total struct {
	metric serving.MetricKey
	stat   string
	unit   string  // the file's
	per    float64 // how many of the file's units make a base unit
}

// servingTotals are the aggregates of bench_serving that are no statistic of a
// distribution.
var servingTotals = map[string]total{
	"request_throughput":                 {serving.RateRequests, "", "req/s", 1},
	"input_throughput":                   {inputRate, "", "tok/s", 1},
	"output_throughput":                  {serving.RateOutput, "", "tok/s", 1},
	"output_throughput_retokenized":      {retokenizedRate, "", "tok/s", 1},
	"total_throughput":                   {serving.RateTotal, "", "tok/s", 1},
	"total_input_tokens":                 {serving.TotalInputTokens, "", "tokens", 1},
	"total_input_text_tokens":            {textTokens, "", "tokens", 1},
	"total_input_vision_tokens":          {visionTokens, "", "tokens", 1},
	"total_output_tokens":                {serving.TotalOutputTokens, "", "tokens", 1},
	"total_output_tokens_retokenized":    {retokenized, "", "tokens", 1},
	"max_output_tokens_per_s":            {serving.PeakOutput, "", "chunks/s", 1},
	"max_concurrent_requests":            {serving.PeakConcurrent, "", "requests", 1},
	"concurrency":                        {meanInFlight, "mean", "requests", 1},
	"accept_length":                      {serving.SpecAcceptanceLen, "", "tokens", 1},
	"cache_report.total_cached_tokens":   {cachedTokens, "", "tokens", 1},
	"cache_report.cache_hit_rate_pct":    {prefixHitRatio, "", "%", 100},
	"server_info.max_total_num_tokens":   {poolTokens, "", "tokens", 1},
	"steady_state_output_throughput":     {steadyRate, "", "tok/s", 1},
	"server_info.max_total_token_number": {poolTokens, "", "tokens", 1},
}

// statMetrics are the distributions of which bench_serving writes statistics.
var statMetrics = map[string]serving.MetricKey{
	"ttft": serving.TTFT, "tpot": serving.TPOT, "itl": serving.ITL, "e2e_latency": serving.E2E,
}

// parseStat takes a name such as p99_e2e_latency_ms apart.
func parseStat(key string) (m serving.MetricKey, stat string, ok bool) {
	head, isMS := strings.CutSuffix(key, "_ms")
	word, metric, cut := strings.Cut(head, "_")
	if !isMS || !cut {
		return "", "", false
	}
	if m, ok = statMetrics[metric]; !ok {
		return "", "", false
	}
	stat, ok = serving.StatName(word)
	return m, stat, ok
}

// arrays of --output-details, a value a request in the order of dispatch, times
// in seconds.
const (
	keyInputLens  = "input_lens"
	keyOutputLens = "output_lens"
	keyTTFTs      = "ttfts"
	keyITLs       = "itls"
	keyErrors     = "errors"
	keyCached     = "cached_tokens"
	keyStarts     = "start_times"
	keyLatencies  = "latencies"
)

var arrayFields = map[string]serving.Field{
	keyInputLens:  {As: string(serving.PromptTokens), Unit: "tokens"},
	keyOutputLens: {As: string(serving.OutputTokens), Unit: "tokens"},
	keyTTFTs:      {As: string(serving.TTFT), Unit: "s"},
	keyITLs:       {As: string(serving.ITL), Unit: "s"},
	keyErrors:     {As: serving.ColOutcome},
	keyCached:     {As: string(serving.CachedTokens), Unit: "tokens"},
	keyStarts:     {As: serving.ColArrival, Unit: "s"},
	keyLatencies:  {As: string(serving.E2E), Unit: "s"},
}

// skipped are values that are never loaded: what users wrote and were answered.
var skipped = map[string]bool{"generated_texts": true, "prompts": true, "cached_tokens_details": true, "output_ids": true, "input_ids": true}

var servingHeader = map[string]serving.Field{
	"tag": {As: "label"}, "backend": {As: "backend"}, "dataset_name": {As: "workload"}, "request_rate": {As: "request_rate", Unit: "req/s"},
	"max_concurrency": {As: "max_concurrency", Unit: "requests"}, "duration": {As: "duration", Unit: "s"}, "completed": {As: "completed", Unit: "requests"},
	"server_info": {As: "setting"}, "sharegpt_output_len": {As: "setting"}, "random_input_len": {As: "setting"}, "random_output_len": {As: "setting"},
	"random_range_ratio": {As: "setting"}, "cache_report": {As: string(prefixHitRatio)},
}

// servingField tells what a name of a serving record is taken for.
func servingField(key string) serving.Field {
	f, ok := arrayFields[key]
	if !ok {
		f, ok = servingHeader[key]
	}
	if t, is := servingTotals[key]; is {
		f.As, f.Unit = string(t.metric), t.unit
	} else if m, _, is := parseStat(key); is && !ok {
		f.As, f.Unit = string(m), "ms"
	}
	f.Name, f.How = key, "dialect"
	return f
}

// engineSettings are the server's arguments that say how it serves. Of the
// several hundred in server_info the others are defaults of subsystems, paths,
// ports, seeds and keys.
var engineSettings = map[string]bool{
	"tp_size": true, "pp_size": true, "dp_size": true, "ep_size": true, "enable_dp_attention": true, "nnodes": true, "dtype": true, "quantization": true, "kv_cache_dtype": true,
	"context_length": true, "mem_fraction_static": true, "max_running_requests": true, "max_total_tokens": true, "chunked_prefill_size": true,
	"max_prefill_tokens": true, "schedule_policy": true, "schedule_conservativeness": true, "page_size": true, "attention_backend": true, "stream_interval": true,
	"speculative_algorithm": true, "speculative_num_steps": true, "speculative_eagle_topk": true, "speculative_num_draft_tokens": true,
	"disable_radix_cache": true, "disable_cuda_graph": true, "disable_overlap_schedule": true, "enable_mixed_chunk": true, "enable_torch_compile": true,
	"enable_hierarchical_cache": true, "num_continuous_decode_steps": true, "cuda_graph_max_bs": true, "disaggregation_mode": true, "disaggregation_transfer_backend": true,
}

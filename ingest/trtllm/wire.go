package trtllm

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Format is the format name of the contract.
const Format = "trtllm-bench"

// Reported figures that the program has no key of its own for.
const (
	perUser      serving.MetricKey = "output_tokens_per_s_per_user" // a request's tokens / its latency, the mean of requests
	genPerUser   serving.MetricKey = "decode_tokens_per_s_per_user" // after the first token
	perGPU       serving.MetricKey = "output_tokens_per_s_per_gpu"
	meanInFlight serving.MetricKey = "mean_in_flight"
	draftTokens  serving.MetricKey = "draft_tokens_per_request"
	acceptTokens serving.MetricKey = "accepted_tokens_per_request"
)

// A figure is an aggregate on the wire.
type figure struct {
	metric serving.MetricKey
	stat   string
	unit   string
	per    float64 // how many of the file's units make a base unit
}

// reportFigures are the aggregates of --report_json by path.
var reportFigures = map[string]figure{
	"performance.request_throughput_req_s":         {serving.RateRequests, "", "req/s", 1},
	"performance.system_output_throughput_tok_s":   {serving.RateOutput, "", "tok/s", 1},
	"performance.system_total_throughput_tok_s":    {serving.RateTotal, "", "tok/s", 1},
	"performance.output_throughput_per_user_tok_s": {perUser, "mean", "tok/s/user", 1},
	"performance.output_throughput_per_gpu_tok_s":  {perGPU, "", "tok/s/gpu", 1},
	"performance.avg_request_latency_ms":           {serving.E2E, "mean", "ms", 1000},
	"streaming_metrics.avg_ttft_ms":                {serving.TTFT, "mean", "ms", 1000},
	"streaming_metrics.avg_tpot_ms":                {serving.TPOT, "mean", "ms", 1000},
	"streaming_metrics.token_output_speed_tok_s":   {genPerUser, "mean", "tok/s/user", 1},
	"request_info.avg_num_concurrent_requests":     {meanInFlight, "mean", "requests", 1},
	"request_info.avg_input_length":                {serving.PromptTokens, "mean", "tokens", 1},
	"request_info.avg_output_length":               {serving.OutputTokens, "mean", "tokens", 1},
}

// reportBlocks are the blocks of percentiles by path. Those of dataset describe
// what was asked for, and the dataset may be longer than the run.
var reportBlocks = map[string]figure{
	"performance.request_latency_percentiles_ms":           {serving.E2E, "", "ms", 1000},
	"streaming_metrics.ttft_percentiles":                   {serving.TTFT, "", "ms", 1000},
	"streaming_metrics.tpot_percentiles":                   {serving.TPOT, "", "ms", 1000},
	"streaming_metrics.itl_percentiles":                    {serving.TPOT, "", "ms", 1000},
	"streaming_metrics.gen_tps_percentiles":                {genPerUser, "", "tok/s/user", 1},
	"decoding_stats.num_draft_tokens_percentiles":          {draftTokens, "", "tokens", 1},
	"decoding_stats.num_accepted_draft_tokens_percentiles": {acceptTokens, "", "tokens", 1},
	"decoding_stats.draft_acceptance_rate_percentiles":     {serving.SpecAcceptanceRate, "", "share", 1},
	"decoding_stats.acceptance_length_percentiles":         {serving.SpecAcceptanceLen, "", "tokens", 1},
}

// printedFigures are the printed aggregates by label in lower case. The single
// "Token Throughput" of versions up to 0.16 counts output tokens.
var printedFigures = map[string]figure{
	"request throughput (req/sec)":                   {serving.RateRequests, "", "req/s", 1},
	"token throughput (tokens/sec)":                  {serving.RateOutput, "", "tok/s", 1},
	"total output throughput (tokens/sec)":           {serving.RateOutput, "", "tok/s", 1},
	"total token throughput (tokens/sec)":            {serving.RateTotal, "", "tok/s", 1},
	"average request latency (ms)":                   {serving.E2E, "mean", "ms", 1000},
	"per user output throughput [w/ ctx] (tps/user)": {perUser, "mean", "tok/s/user", 1},
	"per user output throughput (tps/user)":          {perUser, "mean", "tok/s/user", 1},
	"per gpu output throughput (tps/gpu)":            {perGPU, "", "tok/s/gpu", 1},
	"average time-to-first-token [ttft] (ms)":        {serving.TTFT, "mean", "ms", 1000},
	"average time-to-first-token (ms)":               {serving.TTFT, "mean", "ms", 1000},
	"average time-per-output-token [tpot] (ms)":      {serving.TPOT, "mean", "ms", 1000},
	"average time-per-output-token (ms)":             {serving.TPOT, "mean", "ms", 1000},
	"average inter-token latency (ms)":               {serving.TPOT, "mean", "ms", 1000},
	"per user output speed (tps/user)":               {genPerUser, "mean", "tok/s/user", 1},
	"number of concurrent requests":                  {meanInFlight, "mean", "requests", 1},
	"average input length (tokens)":                  {serving.PromptTokens, "mean", "tokens", 1},
	"average output length (tokens)":                 {serving.OutputTokens, "mean", "tokens", 1},
}

// printedBlocks are the tags of the printed percentiles: [TTFT] P50 : 12.3.
var printedBlocks = map[string]figure{
	"latency": {serving.E2E, "", "ms", 1000},
	"ttft":    {serving.TTFT, "", "ms", 1000},
	"tpot":    {serving.TPOT, "", "ms", 1000},
	"itl":     {serving.TPOT, "", "ms", 1000},
	"gtps":    {genPerUser, "", "tok/s/user", 1},
	"dt":      {draftTokens, "", "tokens", 1},
	"adt":     {acceptTokens, "", "tokens", 1},
	"dar":     {serving.SpecAcceptanceRate, "", "share", 1},
	"al":      {serving.SpecAcceptanceLen, "", "tokens", 1},
}

// statName returns the program's name of a member of a percentile block.
func statName(word string) (string, bool) {
	switch strings.ToLower(word) {
	case "p50", "p90", "p95", "p99":
		return strings.ToLower(word), true
	case "minimum":
		return "min", true
	case "maximum":
		return "max", true
	case "average":
		return "mean", true
	}
	return "", false
}

// The settings of a run and their one name, by path of the report and by printed
// label.
var settingNames = map[string]string{
	"engine.backend": "backend", "engine.dtype": "dtype", "engine.kv_cache_dtype": "kv_cache_dtype", "engine.quantization": "quantization",
	"engine.max_sequence_length": "max_seq_len", "engine.max_input_length": "max_input_len",
	"world_info.tp_size": "tp_size", "world_info.pp_size": "pp_size", "world_info.ep_size": "ep_size", "world_info.max_batch_size": "max_batch_size",
	"world_info.max_num_tokens": "max_num_tokens", "world_info.scheduling_policy": "scheduling_policy", "world_info.kv_cache_percentage": "kv_cache_free_gpu_mem_fraction",
	"decoding_stats.mode": "decoding_mode", "machine.name": "gpu",

	"dtype": "dtype", "kv cache dtype": "kv_cache_dtype", "quantization": "quantization", "max sequence length": "max_seq_len", "max input length": "max_input_len",
	"tp size": "tp_size", "pp size": "pp_size", "ep size": "ep_size", "max runtime batch size": "max_batch_size", "max runtime tokens": "max_num_tokens",
	"scheduling policy": "scheduling_policy", "kv memory percentage": "kv_cache_free_gpu_mem_fraction",
}

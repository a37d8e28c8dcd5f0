package inferencex

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Format is the format name of the contract.
const Format = "inferencex"

// Reported figures that the program has no key of its own for.
const (
	interactivity  serving.MetricKey = "output_tokens_per_s_per_user" // 1/TPOT
	totalPerGPU    serving.MetricKey = "total_tokens_per_s_per_gpu"
	outputPerGPU   serving.MetricKey = "output_tokens_per_s_per_gpu" // of decode GPUs, where prefill is split off
	inputPerGPU    serving.MetricKey = "input_tokens_per_s_per_gpu"  // of prefill GPUs, where decode is split off
	inputRate      serving.MetricKey = "input_tokens_per_s"
	requestGap     serving.MetricKey = "request_itl"     // a mean gap a request, not single gaps
	completedPerS  serving.MetricKey = "completed_per_s" // in windows of one second
	expectedOutput serving.MetricKey = "expected_output_tokens"
	fullRatePerUse serving.MetricKey = "full_response_tokens_per_s_per_user"
)

// statMetrics are the distributions with statistics, by their names.
var statMetrics = map[string]serving.MetricKey{
	"ttft": serving.TTFT, "tpot": serving.TPOT, "itl": serving.ITL, "e2el": serving.E2E, "intvty": interactivity,
}

// parseStat takes a flat name such as p99_ttft apart. median_e2el is p50.
func parseStat(key string) (metric, stat string, ok bool) {
	word, metric, cut := strings.Cut(key, "_")
	if !cut || statMetrics[metric] == "" {
		return "", "", false
	}
	stat, ok = serving.StatName(word)
	return metric, stat, ok
}

// inverted returns what a statistic of interactivity is of the rates: made from
// the same statistic of TPOT, its percentile counts from the other end and its
// mean is the harmonic one. flat says that it is of the flat form, whose
// standard deviation is none.
func inverted(stat string, flat bool) (string, bool) {
	switch stat {
	case "mean":
		return "harmonic mean", true
	case "std":
		return stat, !flat
	case "min":
		return "max", true
	case "max":
		return "min", true
	}
	p, ok := serving.QuantileOf(stat)
	return serving.QuantileName(1 - p), ok
}

// nested are the distributions of the agentic form, by the path above their
// statistics.
var nested = map[string]struct {
	metric serving.MetricKey
	unit   string
}{
	"request_metrics.latency.ttft":                                              {serving.TTFT, "s"},
	"request_metrics.latency.e2el":                                              {serving.E2E, "s"},
	"request_metrics.latency.tpot":                                              {serving.TPOT, "s"},
	"request_metrics.latency.itl":                                               {requestGap, "s"},
	"request_metrics.latency.intvty":                                            {interactivity, "tok/s/user"},
	"request_metrics.tokens.input":                                              {serving.PromptTokens, "tokens"},
	"request_metrics.tokens.output_actual":                                      {serving.OutputTokens, "tokens"},
	"request_metrics.tokens.output_expected":                                    {expectedOutput, "tokens"},
	"request_metrics.qps":                                                       {completedPerS, "req/s"},
	"request_metrics.throughput.full_response_output_token_throughput_per_user": {fullRatePerUse, "tok/s/user"},
	"request_metrics.latency.full_response_output_token_throughput_per_user":    {fullRatePerUse, "tok/s/user"},
}

// A total is a single aggregate on the wire.
type total struct {
	metric serving.MetricKey
	unit   string
}

var totals = map[string]total{
	"tput_per_gpu":        {totalPerGPU, "tok/s/gpu"},
	"output_tput_per_gpu": {outputPerGPU, "tok/s/gpu"},
	"input_tput_per_gpu":  {inputPerGPU, "tok/s/gpu"},

	"request_metrics.throughput.input.tokens_per_second":  {inputRate, "tok/s"},
	"request_metrics.throughput.output.tokens_per_second": {serving.RateOutput, "tok/s"},
	"request_metrics.throughput.total.tokens_per_second":  {serving.RateTotal, "tok/s"},
	"request_metrics.throughput.per_gpu.total_tput_tps":   {totalPerGPU, "tok/s/gpu"},
	"request_metrics.throughput.per_gpu.output_tput_tps":  {outputPerGPU, "tok/s/gpu"},
	"request_metrics.throughput.per_gpu.input_tput_tps":   {inputPerGPU, "tok/s/gpu"},

	"request_metrics.cache.theoretical_cache_hit_rate": {"theoretical_prefix_hit_ratio", "share"},
	"server_metrics.cache.gpu_cache_hit_rate":          {"server_prefix_hit_ratio", "share"},
	"server_metrics.cache.cpu_cache_hit_rate":          {"server_cpu_prefix_hit_ratio", "share"},
	"server_metrics.cache.external_cache_hit_rate":     {"server_external_prefix_hit_ratio", "share"},
	"server_metrics.cache.overall_cache_hit_rate":      {"server_overall_prefix_hit_ratio", "share"},
	// Called a percentage, and a fraction.
	"server_metrics.kv_cache.gpu_usage_pct":    {"server_kv_usage", "share"},
	"server_metrics.kv_cache.cpu_usage_pct":    {"server_cpu_kv_usage", "share"},
	"server_metrics.kv_cache.gpu_total_tokens": {"server_kv_pool_tokens", "tokens"},
	"kv_cache_pool_tokens":                     {"server_kv_pool_tokens", "tokens"}, // differs a little from start to start
	"server_metrics.tokens.prompt_total":       {"server_prompt_tokens", "tokens"},
	"server_metrics.tokens.generation_total":   {"server_generation_tokens", "tokens"},

	"avg_power_w":             {"power", "W"},
	"joules_per_token":        {"joules_per_token", "J"},
	"joules_per_output_token": {"joules_per_output_token", "J"},
	"joules_per_input_token":  {"joules_per_input_token", "J"},
}

// header are the names with a place of their own in a run.
var header = map[string]serving.Field{
	"conc": {As: "max_concurrency", Unit: "requests"}, "model": {As: "model"}, "framework": {As: "engine"}, "image": {As: "version"},
	"num_requests_total": {As: "sent", Unit: "requests"}, "num_requests_successful": {As: "completed", Unit: "requests"},
	"request_metrics.throughput.duration_seconds": {As: "duration", Unit: "s"},
	"tp": {As: "gpus"}, "pp": {As: "gpus"}, "pcp_size": {As: "gpus"}, "num_gpus": {As: "gpus"}, "num_prefill_gpu": {As: "gpus"}, "num_decode_gpu": {As: "gpus"},
	"request_accounting.records_profiled":       {As: "completed", Unit: "requests"},
	"request_accounting.records_dropped_total":  {As: "failed", Unit: "requests"},
	"request_accounting.records_warmup_dropped": {As: "failed", Unit: "requests"},
	"dataset.loader": {As: "workload"}, "scenario_type": {As: "workload"},
}

// split takes a nested name apart: the path of its distribution and the
// statistic.
func split(name string) (path, stat string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || nested[name[:i]].metric == "" {
		return "", "", false
	}
	stat, ok = serving.StatName(name[i+1:])
	return name[:i], stat, ok
}

// fieldOf tells what a name is taken for.
func fieldOf(name string) serving.Field {
	f := header[name]
	f.Name, f.How = name, "dialect"
	if t, ok := totals[name]; ok {
		f.As, f.Unit = string(t.metric), t.unit
	} else if path, _, ok := split(name); ok {
		f.As, f.Unit = string(nested[path].metric), nested[path].unit
	} else if m, stat, ok := parseStat(name); ok {
		f.As, f.Unit = string(statMetrics[m]), "s"
		if m == "intvty" {
			f.Unit = "tok/s/user"
			if stat == "std" {
				f.As, f.Unit = "", ""
			}
		}
	} else if f.As == "" && isSetting(name) {
		f.As = "setting"
	}
	return f
}

// isSetting reports whether a name says how a run was made. Names below the
// results are none.
func isSetting(name string) bool {
	for _, p := range []string{"request_metrics", "server_metrics", "request_accounting", "num_requests_", "power_", "avg_", "joules_", "total_energy", "mean_", "median_", "std_", "max_", "min_", "telemetry", "stability"} {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	if _, ok := totals[name]; ok {
		return false
	}
	if f := header[name]; f.As != "" && f.As != "gpus" && name != "image" && name != "scenario_type" {
		return false
	}
	if word, _, _ := strings.Cut(name, "_"); len(word) > 1 && word[0] == 'p' {
		if _, ok := serving.StatName(word); ok { // of a distribution that is not known
			return false
		}
	}
	if _, _, ok := parseStat(name); ok || strings.HasSuffix(name, "_w") || strings.HasSuffix(name, "_joules") {
		return false
	}
	return true
}

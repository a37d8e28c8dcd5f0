package vllm

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Format names of the offline benches.
const (
	FormatThroughput = "vllm-throughput"
	FormatLatency    = "vllm-latency"
)

// Figures of the offline benches that the program has no key of its own for.
const (
	// batchLatency is the time from handing a batch of prompts to the engine
	// until the last of them is done. It is no request's E2E as soon as the
	// batch has more than one, and the file does not say how many it has.
	batchLatency serving.MetricKey = "batch_latency"
	totalTokens  serving.MetricKey = "total_tokens" // prompt and output
)

// offlineTotals are the aggregates of vllm/benchmarks/throughput.py and
// latency.py; times are seconds.
var offlineTotals = map[string]total{
	"requests_per_second": {serving.RateRequests, "req/s", 1},
	"tokens_per_second":   {serving.RateTotal, "tok/s", 1}, // prompt and output
	"total_num_tokens":    {totalTokens, "tokens", 1},
	"avg_latency":         {batchLatency, "s", 1},
	"std_latency":         {batchLatency, "s", 1},
}

var offlineStats = map[string]string{"avg_latency": "mean", "std_latency": "std"}

// offlineField tells what a name is taken for.
func offlineField(key string) serving.Field {
	f := serving.Field{Name: key, How: "dialect"}
	t, isTotal := offlineTotals[key]
	switch {
	case isTotal:
		f.As, f.Unit = string(t.metric), t.unit
	case key == "elapsed_time":
		f.As, f.Unit = "duration", "s"
	case key == "num_requests":
		f.As, f.Unit = "completed", "requests"
	case key == "latencies" || key == "percentiles" || strings.HasPrefix(key, "percentiles."):
		f.As, f.Unit = string(batchLatency), "s"
	case key == "model" || key == keyModel:
		f.As = "model"
	case key == "tokenizer":
		f.As = "tokenizer"
	default:
		f.As = "setting"
	}
	return f
}

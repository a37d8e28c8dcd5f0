package vllm

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// FormatServe is the format name of a serve result.
const FormatServe = "vllm-serve"

// Names on the wire, in the order vLLM writes them. All aggregates are in
// milliseconds, all request arrays in seconds.
const (
	keyDate         = "date"          // local time at the end of the run, no zone
	keyEndpointType = "endpoint_type" // repeats backend
	keyBackend      = "backend"       // the client protocol, whatever the server is
	keyLabel        = "label"
	keyModel        = "model_id"
	keyTokenizer    = "tokenizer_id"
	keyPrompts      = "num_prompts" // asked for; what was sent may be fewer
	keyRate         = "request_rate"
	keyBurstiness   = "burstiness"
	keyConcurrency  = "max_concurrency"
	keyRampUp       = "ramp_up_strategy"

	keyDuration  = "duration"
	keyCompleted = "completed"
	keyFailed    = "failed"
	keyRunNumber = "run_number" // of a sweep; -1 is its warm-up

	keyPerPosition = "spec_decode_per_position_acceptance_rates"
)

// Reported figures that the program has no key of its own for.
const (
	inputRate       serving.MetricKey = "input_tokens_per_s"
	sequenceRate    serving.MetricKey = "input_sequences_per_s"
	clientQueue     serving.MetricKey = "client_queue"          // waiting for the harness's own limit, before TTFT starts
	e2eWithQueue    serving.MetricKey = "e2e_with_client_queue" // E2E plus that
	specDrafts      serving.MetricKey = "spec_drafts"
	specDraftTokens serving.MetricKey = "spec_draft_tokens"
	specAccepted    serving.MetricKey = "spec_accepted_tokens"
)

// A total is a single aggregate on the wire.
type total struct {
	metric serving.MetricKey
	unit   string  // the file's
	per    float64 // how many of the file's units make a base unit
}

// totals are the aggregates that are no statistic of a distribution. The
// misspelt and the colon are what was written for months.
var totals = map[string]total{
	"request_throughput":              {serving.RateRequests, "req/s", 1},
	"request_inthroughput":            {serving.RateRequests, "req/s", 1},
	"request_goodput":                 {serving.GoodRequests, "req/s", 1},
	"request_goodput:":                {serving.GoodRequests, "req/s", 1},
	"output_throughput":               {serving.RateOutput, "tok/s", 1},
	"total_token_throughput":          {serving.RateTotal, "tok/s", 1},
	"input_throughput":                {inputRate, "tok/s", 1},
	"input_sequence_throughput":       {sequenceRate, "1/s", 1},
	"max_output_tokens_per_s":         {serving.PeakOutput, "chunks/s", 1},
	"max_concurrent_requests":         {serving.PeakConcurrent, "requests", 1},
	"total_input_tokens":              {serving.TotalInputTokens, "tokens", 1},
	"total_input":                     {serving.TotalInputTokens, "tokens", 1},
	"total_output_tokens":             {serving.TotalOutputTokens, "tokens", 1},
	"total_output":                    {serving.TotalOutputTokens, "tokens", 1},
	"spec_decode_acceptance_rate":     {serving.SpecAcceptanceRate, "%", 100},
	"spec_decode_acceptance_length":   {serving.SpecAcceptanceLen, "tokens", 1},
	"spec_decode_num_drafts":          {specDrafts, "", 1},
	"spec_decode_draft_tokens":        {specDraftTokens, "tokens", 1},
	"spec_decode_num_draft_tokens":    {specDraftTokens, "tokens", 1},
	"spec_decode_accepted_tokens":     {specAccepted, "tokens", 1},
	"spec_decode_num_accepted_tokens": {specAccepted, "tokens", 1},
}

// statMetrics are the distributions of which the wire has statistics.
var statMetrics = map[string]serving.MetricKey{
	"ttft": serving.TTFT, "tpot": serving.TPOT, "itl": serving.ITL, "e2el": serving.E2E,
	"client_queue_time": clientQueue, "e2el_including_client_queue": e2eWithQueue,
}

// parseStat takes a name such as p99.9_ttft_ms apart.
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

// percentileName returns the program's name of a percentile 0…100.
func percentileName(p float64) (string, bool) {
	switch {
	case !(p >= 0 && p <= 100):
		return "", false
	case p == 0:
		return "min", true
	case p == 100:
		return "max", true
	}
	return serving.QuantileName(p / 100), true
}

// percentileList is the name under which dumps of the metrics object hold all
// percentiles of a metric: percentiles_ttft_ms.
func percentileList(key string) (serving.MetricKey, bool) {
	s, a := strings.CutPrefix(key, "percentiles_")
	s, b := strings.CutSuffix(s, "_ms")
	m, ok := statMetrics[s]
	return m, a && b && ok
}

// An array is one request array on the wire, a value a request in the order of
// dispatch.
type array uint8

const (
	noArray array = iota
	inputLens
	outputLens
	ttfts
	itls
	startTimes
	latencies
	errorTexts
	unusedArray // known, and left out for a reason
	skippedText // known, and never loaded
)

var arrayNames = map[string]array{
	"input_lens": inputLens, "output_lens": outputLens, "ttfts": ttfts, "itls": itls,
	"start_times": startTimes, "latencies": latencies, "errors": errorTexts,
	"queue_times": unusedArray, "server_queue_times": unusedArray, "server_ttfts": unusedArray,
	"generated_texts": skippedText, "prompts": skippedText, "prompt_texts": skippedText,
}

// isResult reports whether a name that is not known is that of a result by the
// way it is written. Such names are no settings: settings say how a run was
// made, and runs with different settings are never put on one curve.
func isResult(key string) bool {
	for _, p := range []string{"spec_decode_", "diffusion_", "probe_", "mean_", "median_", "std_"} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	for _, s := range []string{"_ms", "_throughput", "_throughput:", "_per_s", "_goodput", "_tput", "_seconds_total"} {
		if strings.HasSuffix(key, s) {
			return true
		}
	}
	switch key {
	case "rtfx", "total_input_sequences", "rps_change_events", "elapsed_time", "metrics":
		return true
	}
	return false
}

// fieldOf tells what a top-level name is taken for.
func fieldOf(key string) serving.Field {
	f := serving.Field{Name: key, How: "dialect"}
	switch arrayNames[key] {
	case inputLens:
		f.As, f.Unit = string(serving.PromptTokens), "tokens"
	case outputLens:
		f.As, f.Unit = string(serving.OutputTokens), "tokens"
	case ttfts:
		f.As, f.Unit = string(serving.TTFT), "s"
	case itls:
		f.As, f.Unit = string(serving.ITL), "s"
	case startTimes:
		f.As, f.Unit = serving.ColArrival, "s"
	case latencies:
		f.As, f.Unit = string(serving.E2E), "s"
	case errorTexts:
		f.As = serving.ColOutcome
	case unusedArray:
		f.Unit = "s"
	}
	if f.As != "" || arrayNames[key] != noArray {
		return f
	}
	if t, ok := totals[key]; ok {
		f.As, f.Unit = string(t.metric), t.unit
	} else if m, _, ok := parseStat(key); ok {
		f.As, f.Unit = string(m), "ms"
	} else if m, ok := percentileList(key); ok {
		f.As, f.Unit = string(m), "ms"
	} else if as, ok := headerFields[key]; ok {
		f.As, f.Unit = as.as, as.unit
	} else if !isResult(key) {
		f.As = "setting"
	}
	return f
}

var headerFields = map[string]struct{ as, unit string }{
	keyDate: {"started", ""}, keyEndpointType: {"backend", ""}, keyBackend: {"backend", ""}, keyLabel: {"label", ""},
	keyModel: {"model", ""}, keyTokenizer: {"tokenizer", ""}, keyRate: {"request_rate", "req/s"}, keyBurstiness: {"burstiness", ""},
	keyConcurrency: {"max_concurrency", "requests"}, keyDuration: {"duration", "s"}, keyCompleted: {"completed", "requests"},
	keyFailed: {"failed", "requests"}, keyPerPosition: {string(serving.SpecAcceptanceRate), "share"},
}

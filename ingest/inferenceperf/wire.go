package inferenceperf

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Format is the format's name.
const Format = "inference-perf"

// Names on the wire. Every time is in seconds, every rate a second, every
// percentage 0…100.
const (
	keyLoad      = "load_summary"
	keySuccesses = "successes"
	keyFailures  = "failures"
	keyBenchTime = "benchmark_time_seconds"
)

// Reported figures that the program has no key of its own for.
const (
	scheduleDelay serving.MetricKey = "schedule_delay"       // sent later than planned: the generator's own lag
	failedLatency serving.MetricKey = "failed_e2e"           // of failed requests
	requestedRate serving.MetricKey = "requested_rate"       // requests/s
	achievedRate  serving.MetricKey = "achieved_rate"        // requests/s sent
	inputRate     serving.MetricKey = "input_tokens_per_s"   //
	goodShare     serving.MetricKey = "goodput_share"        // of completed requests, under conditions the file does not hold
	tokenGoodput  serving.MetricKey = "goodput_tokens_per_s" // input and output tokens of good requests
	cachedTotal   serving.MetricKey = "cached_prompt_tokens" // sum over requests
	chunkTPOT     serving.MetricKey = "tpot_per_chunk"       // decode time by the chunks of the stream, which are no tokens
	chunkGap      serving.MetricKey = "gap_per_timestamp"    // gaps where the tokens of a chunk share one time
	mismatches    serving.MetricKey = "token_count_mismatches"
)

// latencies are the distributions below successes.latency.
var latencies = []struct {
	name   string
	metric serving.MetricKey
}{
	{"request_latency", serving.E2E},
	{"normalized_time_per_output_token", serving.Normalized}, // E2E / output tokens
	{"time_per_output_token", serving.TPOT},                  // (last − first token) / (output tokens − 1)
	{"time_to_first_token", serving.TTFT},
	{"inter_token_latency", serving.ITL},
}

// throughputs are the rates below successes.throughput, over the time from the
// first start to the last end of all requests.
var throughputs = []struct {
	name   string
	metric serving.MetricKey
}{
	{"requests_per_sec", serving.RateRequests},
	{"output_tokens_per_sec", serving.RateOutput},
	{"total_tokens_per_sec", serving.RateTotal},
	{"input_tokens_per_sec", inputRate},
}

// statName returns the program's name of a statistic: median is p50, p99.9 as it
// is; "" for what is no statistic.
func statName(s string) string {
	switch s {
	case "mean", "min", "max":
		return s
	}
	if p, ok := serving.QuantileOf(s); ok && p > 0 && p < 1 {
		return serving.QuantileName(p)
	}
	return ""
}

// Sniff says whether a JSON record with these names is one of inference-perf's,
// and why not. All names of the record must be there, or those up to where
// Decided is true.
func Sniff(keys map[string]bool) (ok bool, why string) {
	if keys[keyLoad] && keys[keySuccesses] && keys[keyFailures] {
		return true, ""
	}
	if keys["start_time"] && keys["end_time"] && keys["error"] && (keys["info"] || keys["computed_metrics"]) {
		return true, ""
	}
	return false, `neither "load_summary", "successes" and "failures" nor requests with "start_time", "end_time", "info" and "error"`
}

// Decided says whether these first names already decide.
func Decided(keys map[string]bool) bool {
	ok, _ := Sniff(keys)
	return ok
}

// SniffYAML says whether the start of a text is a report as YAML.
func SniffYAML(head []byte) (ok bool, why string) {
	found := map[string]bool{}
	for line := range strings.Lines(string(head)) {
		if name, _, ok := strings.Cut(line, ":"); ok && !strings.ContainsAny(name, " \t#{[\"") {
			found[name] = true
		}
	}
	if found[keyLoad] && found[keySuccesses] && found[keyFailures] {
		return true, ""
	}
	return false, `no YAML with load_summary, successes and failures`
}

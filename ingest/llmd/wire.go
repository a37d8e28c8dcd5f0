package llmd

import (
	"regexp"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Format is the format's name.
const Format = "llmd-report"

// Reported figures that the program has no key of its own for.
const (
	inputRate serving.MetricKey = "input_tokens_per_s"
	chunkGap  serving.MetricKey = "gap_per_timestamp" // gaps where the tokens of a chunk share one time
)

// latencies are the distributions that both versions name alike.
var latencies = []struct {
	name   string
	metric serving.MetricKey
}{
	{"request_latency", serving.E2E},
	{"time_to_first_token", serving.TTFT},
	{"time_per_output_token", serving.TPOT},
	{"inter_token_latency", serving.ITL},
	{"normalized_time_per_output_token", serving.Normalized},
}

// rates name the throughputs: bare numbers in 0.1, distributions with units in
// 0.2, of which the mean is the rate.
var rates = []struct {
	v1, v2 string
	metric serving.MetricKey
	units  string
}{
	{"requests_per_sec", "request_rate", serving.RateRequests, "queries/s"},
	{"output_tokens_per_sec", "output_token_rate", serving.RateOutput, "tokens/s"},
	{"total_tokens_per_sec", "total_token_rate", serving.RateTotal, "tokens/s"},
	{"input_tokens_per_sec", "input_token_rate", inputRate, "tokens/s"},
}

// perSecond is how many of a unit make a second.
var perSecond = map[string]float64{
	"s": 1, "s/token": 1, "ms": 1e3, "ms/token": 1e3, "us": 1e6, "us/token": 1e6,
}

// statName returns the program's name of a statistic: p0p1 is p0.1, p99p9 is
// p99.9. stddev keeps its name: the generators that feed these reports disagree
// on whether it is the population's or the sample's.
func statName(s string) string {
	switch s {
	case "mean", "min", "max", "stddev":
		return s
	}
	if digits, ok := strings.CutPrefix(s, "p"); ok {
		if p, ok := serving.QuantileOf("p" + strings.Replace(digits, "p", ".", 1)); ok && p > 0 && p < 1 {
			return serving.QuantileName(p)
		}
	}
	return ""
}

// SniffKeys says whether a JSON record with these names may be a report, and why
// not. The version is in a value, which Decode looks at.
func SniffKeys(keys map[string]bool) (ok bool, why string) {
	if keys["version"] && (keys["scenario"] && keys["metrics"] || keys["results"] && (keys["run"] || keys["scenario"])) {
		return true, ""
	}
	return false, `no "version" with "scenario" and "metrics", or with "run" and "results"`
}

var (
	topName     = regexp.MustCompile(`(?m)^(scenario|metrics|run|results):[ \t]*(?:#.*)?\r?$`)
	topVersion  = regexp.MustCompile(`(?m)^version:[ \t]*['"]?0\.[12](?:\.\d+)?['"]?[ \t]*(?:#.*)?\r?$`)
	jsonVersion = regexp.MustCompile(`"version"\s*:\s*"0\.[12](?:\.\d+)?"`)
)

// SniffYAML says whether the start of a text is a report as YAML: version 0.1 or
// 0.2 and two of a report's sections at the left margin. One section is enough
// where the text is only the start of the file.
func SniffYAML(head []byte, whole bool) (ok bool, why string) {
	if !topVersion.Match(head) {
		return false, "no YAML with version 0.1 or 0.2"
	}
	found := map[string]bool{}
	for _, m := range topName.FindAllSubmatch(head, -1) {
		found[string(m[1])] = true
	}
	if len(found) >= 2 || len(found) == 1 && !whole {
		return true, ""
	}
	return false, "no scenario, metrics, run or results beside the version"
}

// SniffJSON says whether the start of a JSON text holds a report's version.
func SniffJSON(head []byte) bool { return jsonVersion.Match(head) }

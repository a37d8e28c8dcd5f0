package guidellm

import (
	"context"
	"errors"
	"io"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// Format is the format's name.
const Format = "guidellm"

const (
	keyBenchmarks = "benchmarks"
	keyMetrics    = "metrics"
	keyRequests   = "requests"
	keyTTFT       = "time_to_first_token_ms"
	keyITL        = "inter_token_latency_ms"
	keyTPOT       = "time_per_output_token_ms"
	keyOutput     = "output_token_count"
	keyPrompt     = "prompt_token_count"
	keyConcurrent = "request_concurrency"
)

// Reported figures that the program has no key of its own for.
const (
	// tpotWeighted is a mean gap a request, each request counting as often as it
	// has gaps: its mean is that of all gaps, its quantiles are neither of gaps
	// nor of requests.
	tpotWeighted serving.MetricKey = "tpot_token_weighted"
	// tpotWithTTFT is (last token − start) / output tokens, from 0.4 on.
	tpotWithTTFT serving.MetricKey = "time_per_output_token_with_ttft"
	// tpotAllTokens is (last − first token) / output tokens, up to 0.3: one token
	// too many in the divisor.
	tpotAllTokens serving.MetricKey = "decode_per_output_token"
	ttftContent   serving.MetricKey = "time_to_first_output_token" // reasoning is not output
	ttftZeros     serving.MetricKey = "ttft_with_zeros"            // requests without a first token count as 0
	concurrency   serving.MetricKey = "concurrent_requests"        // mean over time
	momentRate    serving.MetricKey = "requests_per_s_over_time"
	momentOutput  serving.MetricKey = "output_tokens_per_s_over_time"
	momentTotal   serving.MetricKey = "total_tokens_per_s_over_time"
)

// percentiles are the names of a distribution's percentiles: p001 is 0.1 %.
var percentiles = map[string]string{
	"p001": "p0.1", "p01": "p1", "p05": "p5", "p10": "p10", "p25": "p25", "p50": "p50",
	"p75": "p75", "p90": "p90", "p95": "p95", "p99": "p99", "p999": "p99.9",
}

// stats are a distribution's other statistics. std_dev is the population's.
var stats = map[string]string{"mean": "mean", "median": "p50", "std_dev": "std", "min": "min", "max": "max"}

// rates are distributions over moments of time, of which only the mean says
// something.
var rates = map[string]struct{ whole, own serving.MetricKey }{
	"requests_per_second":      {serving.RateRequests, momentRate},
	"output_tokens_per_second": {serving.RateOutput, momentOutput},
	"tokens_per_second":        {serving.RateTotal, momentTotal},
}

// SniffKeys says whether a JSON record with these names may be a report; whether
// it is, Sniff finds out.
func SniffKeys(keys map[string]bool) (ok bool, why string) {
	if keys[keyBenchmarks] {
		return true, ""
	}
	return false, `no "benchmarks"`
}

var errFound = errors.New("found")

// Sniff reads a JSON text up to the figures of its first benchmark and says
// whether they are GuideLLM's. Other tools write a benchmarks.json too.
func Sniff(path string, rd io.Reader) (ok bool, why string) {
	why = `no "benchmarks" with "metrics" of "` + keyTTFT + `"`
	r := jsonscan.NewReader(path, rd)
	_, err := r.Object(func(name string) error {
		if name != keyBenchmarks {
			return r.Skip()
		}
		_, err := r.Array(func(i int) error {
			if i > 0 {
				return errFound
			}
			_, err := r.Object(func(name string) error {
				if name != keyMetrics {
					return r.Skip()
				}
				_, err := r.Object(func(name string) error {
					if name == keyTTFT {
						ok = true
						return errFound
					}
					return r.Skip()
				})
				return err
			})
			return err
		})
		return err
	})
	if ok {
		return true, ""
	}
	if err != nil && !errors.Is(err, errFound) {
		why += "; the JSON is damaged: " + r.Describe(err, "").Error()
	}
	return false, why
}

// Decode reads a report. A run comes of each benchmark, in file order.
//
// It fills in Records, Fields, Note and Problems of the input. A damaged end
// loses the benchmarks from there on; an error means that no run could be read.
func Decode(ctx context.Context, path string, rd io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &decoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, rd), in: in, top: scalars{}, seen: map[string]bool{}}
	_, err := d.r.Object(d.member)
	if err != nil && (len(d.benchmarks) == 0 || ctx.Err() != nil) {
		return nil, d.r.Describe(err, Format)
	}
	var runs []*serving.Run
	for _, b := range d.benchmarks {
		runs = append(runs, b.run())
	}
	in.Records = int64(len(runs))
	if len(runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: "no benchmark", Want: "benchmarks with metrics"}
	}
	if err != nil {
		var fe *serving.FormatError
		if errors.As(d.r.Describe(err, Format), &fe) {
			in.Problems.Add(serving.Problem{At: fe.At, Message: fe.Found + ": the benchmarks from here on are left out"})
		}
	}
	if v := d.top["metadata.guidellm_version"].Text; v != "" {
		in.Note = "written by GuideLLM " + v
	}
	return runs, nil
}

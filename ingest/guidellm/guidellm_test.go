package guidellm

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func decode(t *testing.T, text string) ([]*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	runs, err := Decode(t.Context(), "benchmarks.json", strings.NewReader(text), in)
	if err != nil {
		t.Fatal(err)
	}
	return runs, in
}

func near(t *testing.T, r *serving.Run, m serving.MetricKey, stat string, want float64) {
	t.Helper()
	if got, ok := r.ReportedValue(m, stat); !ok || math.Abs(got-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s %s = %v, %v, want %v", m, stat, got, ok, want)
	}
}

func absent(t *testing.T, r *serving.Run, m serving.MetricKey, stat string) {
	t.Helper()
	if v, ok := r.ReportedValue(m, stat); ok {
		t.Errorf("%s %s = %v, want none", m, stat, v)
	}
}

func dist1(count int, mean, lo, hi, p99 float64) string {
	return fmt.Sprintf(`{"successful": {"mean": %g, "median": %g, "std_dev": 0.1, "min": %g, "max": %g, "count": %d, "total_sum": %g, "percentiles": {"p001": %g, "p99": %g}}, "errored": {"mean": 0, "max": 0, "count": 0}}`,
		mean, lo, lo, hi, count, mean*float64(count), lo, p99)
}

// metrics are those of two requests of different lengths.
func metrics(totals string) string {
	return `"metrics": {` + totals + `"requests_per_second": ` + dist1(2, 0.21, 0, 262144, 9) + `, "output_tokens_per_second": ` + dist1(2, 3.2, 0, 9, 9) +
		`, "request_latency": ` + dist1(2, 3, 2, 4, 4) + `, "prompt_token_count": ` + dist1(2, 100, 100, 100, 100) + `, "output_token_count": ` + dist1(2, 16, 11, 21, 21) +
		`, "time_to_first_token_ms": ` + dist1(2, 750, 500, 1000, 1000) + `, "time_per_output_token_ms": ` + dist1(2, 190, 180, 200, 200) +
		`, "inter_token_latency_ms": ` + dist1(30, 150, 150, 150.5, 150) + `}`
}

// old is the layout of up to 0.3: a request of 11 tokens in 2 s, one of 21 in 4 s,
// one that was still running, one that failed.
var old = `{"benchmarks": [{"args": {"profile": {"type_": "sweep"}, "strategy_index": 3, "strategy": {"type_": "constant", "rate": 0.5, "max_concurrency": null}, "max_duration": 10.0},
 "run_stats": {"requests_made": {"successful": 2, "errored": 1, "incomplete": 1, "total": 4}}, "worker": {"backend_type": "openai_http", "backend_target": "http://x", "backend_model": "m"},
 "request_loader": {"data": "prompt_tokens=100", "processor": "tok"}, ` + metrics("") + `, "start_time": 1800000000.0, "end_time": 1800000010.0, "duration": 10.0,
 "request_totals": {"successful": 2, "errored": 1, "incomplete": 1, "total": 4},
 "requests": {"successful": [
  {"request_id": "b", "prompt": "x", "prompt_tokens": 100, "output_tokens": 21, "start_time": 1800000004.0, "end_time": 1800000008.0, "first_token_time": 1800000005.0, "last_token_time": 1800000008.0, "request_latency": 4.0, "time_to_first_token_ms": 1000.0, "time_per_output_token_ms": 142.857, "inter_token_latency_ms": 150.0, "output_tokens_per_second": 5.25},
  {"request_id": "a", "prompt_tokens": 100, "output_tokens": 11, "start_time": 1800000000.0, "end_time": 1800000002.0, "first_token_time": 1800000000.5, "last_token_time": 1800000002.0, "request_latency": 2.0, "time_to_first_token_ms": 500.0, "time_per_output_token_ms": 136.36, "inter_token_latency_ms": 150.0}],
  "errored": [{"request_id": "d", "prompt_tokens": 100, "output_tokens": 128, "start_time": 1800000001.0, "end_time": 1800000001.5, "first_token_time": null, "error": "ReadTimeout: timed out\nmore", "time_to_first_token_ms": null, "inter_token_latency_ms": null}],
  "incomplete": [{"request_id": "c", "prompt_tokens": 100, "output_tokens": 128, "start_time": 1800000009.0, "end_time": 1800000010.0, "first_token_time": null, "error": "TimeoutError: timed out", "time_to_first_token_ms": null}],
  "total": null}}]}`

func columnOf(t *testing.T, r *serving.Run, name string) []float64 {
	t.Helper()
	var out []float64
	for _, p := range r.Requests.Parts() {
		err := p.Scan(t.Context(), []string{name}, nil, func(b *serving.Batch) error {
			v := &b.Cols[0]
			for i := range b.N {
				switch {
				case !v.Has(i):
					out = append(out, math.NaN())
				case v.Ints != nil:
					out = append(out, float64(v.Ints[i]))
				case v.Codes != nil:
					out = append(out, float64(v.Codes[i]))
				default:
					out = append(out, v.Floats[i])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestOldLayout(t *testing.T) {
	runs, in := decode(t, old)
	r := runs[0]
	if in.Problems.Len() != 0 || len(r.Notes) != 0 || in.Records != 1 {
		t.Errorf("problems %v, notes %v", in.Problems.List(), r.Notes)
	}
	if r.Sent.V != 4 || r.Completed.V != 2 || r.Failed.V != 1 || r.Duration.V != 10 || r.Input.V != 200 || r.Output.V != 32 {
		t.Errorf("counts %v %v %v, %v s, tokens %v %v", r.Sent, r.Completed, r.Failed, r.Duration, r.Input, r.Output)
	}
	if l := r.Load; l.Mode != serving.OpenLoop || l.RequestRate.V != 0.5 || l.Burstiness.OK {
		t.Errorf("load %+v", l)
	}
	if r.Model.V != "m" || r.Tokenizer.V != "tok" || r.Backend.V != "openai_http" || r.Engine.OK || r.GPUs.OK || r.Started.V != "2027-01-15T08:00:00Z" {
		t.Errorf("model %v tokenizer %v backend %v engine %v started %v", r.Model, r.Tokenizer, r.Backend, r.Engine, r.Started)
	}
	nan := math.NaN()
	for name, want := range map[string][]float64{ // in the order of sending: a, d, b, c
		"outcome":       {0, float64(serving.Timeout), 0, float64(serving.Incomplete)},
		"ttft":          {0.5, nan, 1, nan},
		"tpot":          {0.15, nan, 0.15, nan}, // not time_per_output_token_ms
		"e2e":           {2, 0.5, 4, 1},
		"output_tokens": {11, nan, 21, nan}, // not what was asked for
		"arrival_time":  {1.8e18, 1.8e18 + 1e9, 1.8e18 + 4e9, 1.8e18 + 9e9},
	} {
		got := columnOf(t, r, name)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-9*math.Abs(want[i]) || math.IsNaN(got[i]) != math.IsNaN(want[i]) {
				t.Errorf("%s = %v, want %v", name, got, want)
				break
			}
		}
	}
	near(t, r, serving.E2E, "mean", 3)
	near(t, r, serving.ITL, "mean", 0.15)
	near(t, r, tpotWeighted, "p99", 0.15)
	near(t, r, tpotAllTokens, "mean", 0.19)
	near(t, r, momentRate, "", 0.21)
	absent(t, r, serving.TPOT, "mean") // weighted, and the lengths differ
	absent(t, r, serving.RateRequests, "")
	absent(t, r, serving.TTFT, "p99") // a step, beside requests
	near(t, r, serving.TTFT, "p99 (step)", 1)
}

// A tampered percentile is told by GuideLLM's own rule, a step and no
// interpolation.
func TestTampered(t *testing.T) {
	runs, _ := decode(t, strings.Replace(old, `"time_to_first_token_ms": `+dist1(2, 750, 500, 1000, 1000), `"time_to_first_token_ms": `+dist1(2, 750, 500, 1000, 990), 1))
	var about []string
	for _, n := range runs[0].Notes {
		if strings.Contains(n, "percentiles.p99") {
			about = append(about, n)
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], "990") || !strings.Contains(about[0], "1000") {
		t.Errorf("notes %v", runs[0].Notes)
	}
}

// Without all requests the file's own figures count.
func TestSample(t *testing.T) {
	i, j := strings.Index(old, `"requests": {`), strings.Index(old, `"errored": [{`)
	for name, requests := range map[string]string{
		"none":   `"requests": {"successful": [], "errored": [], "incomplete": [], "total": null}}]}`,
		"sample": strings.Replace(old[i:j], `{"request_id": "a"`, `"x", {"request_id": "a"`, 1) + `"errored": [], "incomplete": []}}]}`,
	} {
		runs, _ := decode(t, old[:i]+requests)
		r := runs[0]
		if r.Requests != nil || r.Sent.V != 4 {
			t.Errorf("%s: requests %v, sent %v", name, r.Requests, r.Sent)
		}
		near(t, r, serving.TTFT, "p99", 1)
		near(t, r, serving.ITL, "mean", 0.15)
		absent(t, r, serving.ITL, "p99")
		absent(t, r, serving.TPOT, "p99")
		absent(t, r, serving.RateRequests, "")
		if sampled := strings.Contains(strings.Join(r.Notes, " "), "a sample"); sampled != (name == "sample") {
			t.Errorf("%s: notes %v", name, r.Notes)
		}
	}
}

// With answers of one length the weights do nothing: the figure is TPOT.
func TestEqualLengths(t *testing.T) {
	text := strings.Replace(old, dist1(2, 16, 11, 21, 21), dist1(2, 16, 16, 16, 16), 1)
	i := strings.Index(text, `"requests": {`)
	runs, _ := decode(t, text[:i]+`"x": 1}]}`)
	near(t, runs[0], serving.TPOT, "p99", 0.15)
	absent(t, runs[0], tpotWeighted, "p99")
}

// newer is the layout from 0.4 on, with a warm-up of 10 s.
func newer(strategy, requests string) string {
	return `{"metadata": {"version": 1, "guidellm_version": "0.5.0"}, "args": {"model": "m", "data": ["prompt_tokens=1"], "max_seconds": 30},
 "benchmarks": [{"config": {"run_index": 2, "strategy": ` + strategy + `, "constraints": {"max_seconds": {"current_index": 2}}, "backend": {"type_": "vllm_python"}},
 "scheduler_metrics": {"requests_made": {"successful": 3, "errored": 0, "incomplete": 0, "total": 3}}, ` +
		metrics(`"request_totals": {"successful": 2, "errored": 0, "incomplete": 0, "total": 2}, `) + `,
 "requests": ` + requests + `, "start_time": 1800000010.0, "end_time": 1800000020.0, "duration": 10.0, "warmup_duration": 10.0, "cooldown_duration": 0.0}]}`
}

func req4(id string, start, first, end float64, tokens int) string {
	return fmt.Sprintf(`{"request_id": %q, "request_args": "{}", "info": {"status": "completed", "conversation_id": "c1", "timings": {"queued": 1, "request_start": %f, "first_token_iteration": %f, "last_token_iteration": %f, "request_end": %f}},
  "input_metrics": {"text_tokens": 100}, "output_metrics": {"text_tokens": %d}, "time_per_output_token_ms": 1}`, id, 1800000000+start, 1800000000+first, 1800000000+end, 1800000000+end, tokens)
}

func TestNewLayout(t *testing.T) {
	requests := `{"successful": [` + req4("w", 1, 1.5, 3, 11) + `,` + req4("a", 9, 9.5, 11, 11) + `,` + req4("b", 14, 15, 18, 21) + `], "incomplete": [], "errored": []}`
	runs, in := decode(t, newer(`{"type_": "poisson", "rate": 2.0, "max_concurrency": 512}`, requests))
	r := runs[0]
	if r.Requests == nil || in.Problems.Len() != 0 {
		t.Fatalf("notes %v, problems %v", r.Notes, in.Problems.List())
	}
	if r.Sent.V != 2 || r.Completed.V != 2 || r.Engine.V != "vllm" || r.Model.V != "m" || !strings.Contains(in.Note, "0.5.0") {
		t.Errorf("counts %v %v engine %v model %v note %q", r.Sent, r.Completed, r.Engine, r.Model, in.Note)
	}
	if l := r.Load; l.Mode != serving.CappedOpen || l.RequestRate.V != 2 || l.MaxConcurrency.V != 512 || l.Burstiness.V != 1 {
		t.Errorf("load %+v", l)
	}
	for name, want := range map[string][]float64{"phase": {1, 0, 0}, "tpot": {0.15, 0.15, 0.15}, "ttft": {0.5, 0.5, 1}, "e2e": {2, 2, 4}, "prompt_tokens": {100, 100, 100}, "session_id": {0, 0, 0}} {
		got := columnOf(t, r, name)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Errorf("%s = %v, want %v", name, got, want)
				break
			}
		}
	}
	near(t, r, tpotWithTTFT, "mean", 0.19)
	absent(t, r, tpotAllTokens, "mean")
	// Without requests the rates of the window are the run's.
	runs, _ = decode(t, newer(`{"type_": "concurrent", "streams": 8}`, `{}`))
	near(t, runs[0], serving.RateRequests, "", 0.21)
}

func TestStrategies(t *testing.T) {
	for s, want := range map[string]string{
		`{"type_": "synchronous"}`:                                    "closed 1 0 false",
		`{"type_": "concurrent", "streams": 8, "max_concurrency": 9}`: "closed 8 0 false",
		`{"type_": "concurrent", "max_concurrency": 9}`:               "closed 9 0 false",
		`{"type_": "throughput", "max_concurrency": null}`:            "closed 0 0 true",
		`{"type_": "throughput", "max_concurrency": 64}`:              "closed 64 0 true",
		`{"type_": "constant", "rate": 3}`:                            "open 0 3 false",
		`{"type_": "constant", "rate": -1}`:                           "unknown 0 0 false",
		`{"type_": "trace"}`:                                          "unknown 0 0 false",
	} {
		runs, _ := decode(t, newer(s, `{}`))
		l := runs[0].Load
		if got := fmt.Sprintf("%s %d %g %v", l.Mode, l.MaxConcurrency.V, l.RequestRate.V, l.Unlimited); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
}

func TestNoTTFT(t *testing.T) {
	zeros := strings.Replace(newer(`{"type_": "synchronous"}`, `{}`), dist1(2, 750, 500, 1000, 1000), dist1(2, 0, 0, 0, 0), 1)
	runs, _ := decode(t, zeros)
	absent(t, runs[0], serving.TTFT, "mean")
	some := strings.Replace(newer(`{"type_": "synchronous"}`, `{}`), dist1(2, 750, 500, 1000, 1000), dist1(2, 500, 0, 1000, 1000), 1)
	runs, _ = decode(t, some)
	absent(t, runs[0], serving.TTFT, "mean")
	near(t, runs[0], ttftZeros, "mean", 0.5)
}

func TestDamage(t *testing.T) {
	two := strings.TrimSuffix(old, "]}") + "," + old[len(`{"benchmarks": [`):]
	runs, in := decode(t, two)
	if len(runs) != 2 || in.Problems.Len() != 0 {
		t.Fatalf("%d runs, %v", len(runs), in.Problems.List())
	}
	runs, in = decode(t, two[:len(two)-200])
	if len(runs) != 1 || in.Problems.Len() != 1 || !strings.Contains(in.Problems.List()[0].Message, "left out") {
		t.Errorf("a cut file: %d runs, %v", len(runs), in.Problems.List())
	}
	runs, in = decode(t, strings.Replace(old, `"request_latency": 4.0`, `"request_latency": "slow"`, 1))
	if e := columnOf(t, runs[0], "e2e"); e[2] != 4 || in.Problems.Len() != 1 { // by start and end
		t.Errorf("E2E %v, %v", e, in.Problems.List())
	}
	for _, text := range []string{"", "{}", `{"benchmarks": []}`, `{"benchmarks": [{"metrics": 1}]}`, `{"benchmarks": [{`, "[1]", old[:300]} {
		if runs, err := Decode(t.Context(), "f", strings.NewReader(text), &serving.Input{}); err == nil {
			t.Errorf("%.40q gives %d runs", text, len(runs))
		}
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		old: true, newer(`{}`, `{}`): true, old[:strings.Index(old, `"inter_token_latency_ms"`)]: true,
		`{"benchmarks": {"time_x": {}}, "version": 2}`:                                                false, // airspeed velocity
		`{"benchmarks": [{"name": "x", "stats": {"mean": 1}}]}`:                                       false, // pytest-benchmark
		`{"benchmarks": [{"metrics": {"latency": {}}}, {"metrics": {"time_to_first_token_ms": {}}}]}`: false,
		`[1]`: false, ``: false,
	} {
		if got, why := Sniff("f", strings.NewReader(text)); got != want {
			t.Errorf("%.60q: %v (%s)", text, got, why)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{old, newer(`{"type_":"constant","rate":1e308}`, `{"successful":[`+req4("a", 9, 9.5, 11, 11)+`]}`), `{"benchmarks":[{"metrics":{"request_latency":{"successful":{"mean":"NaN","count":1}}},"requests":{"errored":[{"start_time":1e300,"output_tokens":-1}]}}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		Sniff("f", strings.NewReader(s))
		runs, err := Decode(context.Background(), "f", strings.NewReader(s), &serving.Input{})
		if err != nil {
			return
		}
		for _, r := range runs {
			for _, a := range r.Reported {
				if v := a.Value(); math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("%s %s = %v", a.Metric, a.Stat, v)
				}
			}
			if r.Requests == nil {
				continue
			}
			for _, c := range r.Requests.Columns() {
				columnOf(t, r, c.Name)
			}
		}
	})
}

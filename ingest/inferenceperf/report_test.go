package inferenceperf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func decode(t *testing.T, path, text string) ([]*serving.Run, []*serving.Server, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	runs, servers, err := Decode(t.Context(), path, strings.NewReader(text), in)
	if err != nil {
		t.Fatal(err)
	}
	return runs, servers, in
}

func near(t *testing.T, r *serving.Run, m serving.MetricKey, stat string, want float64) {
	t.Helper()
	if got, ok := r.ReportedValue(m, stat); !ok || math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("%s %s = %v, %v, want %v", m, stat, got, ok, want)
	}
}

// stage writes a report: E2E 2 s, TTFT 0.5 s and 31 output tokens give 50 ms a
// token.
func stage(n int, load, tpot, itl string) string {
	return fmt.Sprintf(`{"load_summary": {"count": %d, "schedule_delay": {"mean": 0.001, "p90": 0.002}%s},
 "successes": {"count": %d, "latency": {"request_latency": {"mean": 2.0, "median": 1.9, "p99.9": 4.5, "max": 5},
  "normalized_time_per_output_token": {"mean": 0.0645}, "time_per_output_token": %s, "time_to_first_token": {"mean": 0.5, "median": 0.4}, "inter_token_latency": %s},
  "throughput": {"input_tokens_per_sec": 200.0, "output_tokens_per_sec": 62.0, "total_tokens_per_sec": 262.0, "requests_per_sec": 2.0},
  "prompt_len": {"mean": 100.0}, "output_len": {"mean": 31.0}},
 "failures": {"count": 0, "request_latency": null, "prompt_len": null}}`, n, load, n, tpot, itl)
}

const goodTPOT, goodITL = `{"mean": 0.05, "p99": 0.06}`, `{"mean": 0.05, "median": 0.049}`

func TestStage(t *testing.T) {
	runs, _, in := decode(t, "stage_0_lifecycle_metrics.json", stage(20, `, "requested_rate": 2.5, "achieved_rate": 2.4`, goodTPOT, goodITL))
	r := runs[0]
	if in.Problems.Len() != 0 || len(r.Notes) != 0 || in.Records != 1 {
		t.Errorf("problems %v, notes %v", in.Problems.List(), r.Notes)
	}
	near(t, r, serving.E2E, "p50", 1.9)
	near(t, r, serving.E2E, "p99.9", 4.5)
	near(t, r, serving.TPOT, "p99", 0.06)
	near(t, r, serving.ITL, "p50", 0.049)
	near(t, r, serving.Normalized, "mean", 0.0645)
	near(t, r, serving.RateTotal, "", 262)
	if r.Sent.V != 20 || r.Completed.V != 20 || r.Failed.V != 0 || !r.Failed.OK || r.Duration.V != 10 || r.Input.V != 2000 || r.Output.V != 620 {
		t.Errorf("counts %v %v %v, %v s, tokens %v %v", r.Sent, r.Completed, r.Failed, r.Duration, r.Input, r.Output)
	}
	if l := r.Load; l.Mode != serving.OpenLoop || l.RequestRate.V != 2.5 || r.GPUs.OK {
		t.Errorf("load %+v, gpus %v", l, r.GPUs)
	}
	runs, _, _ = decode(t, "x.json", stage(20, `, "requested_rate": 2.5, "concurrency": 8`, goodTPOT, goodITL))
	if l := runs[0].Load; l.Mode != serving.ClosedLoop || l.MaxConcurrency.V != 8 || l.RequestRate.OK {
		t.Errorf("load of a stage of fixed concurrency %+v", l)
	}
}

// What a stream's events or chunks do to TPOT and ITL.
func TestChunks(t *testing.T) {
	for name, tc := range map[string]struct {
		tpot, itl       string
		hasTPOT, hasITL bool // hasITL: its percentiles
		itlMean         bool
		notes           int
	}{
		"tokens":            {goodTPOT, goodITL, true, true, true, 0},
		"events as tokens":  {`{"mean": 0.024}`, `{"mean": 0.024, "median": 0.00003}`, false, false, false, 2},
		"tokens in a chunk": {goodTPOT, `{"mean": 0.05, "median": 0.00003}`, true, false, true, 1},
		"not streamed":      {`null`, `null`, false, false, false, 0},
	} {
		runs, _, _ := decode(t, "x.json", stage(20, `, "requested_rate": 1`, tc.tpot, tc.itl))
		r := runs[0]
		_, a := r.ReportedValue(serving.TPOT, "mean")
		_, b := r.ReportedValue(serving.ITL, "p50")
		_, c := r.ReportedValue(serving.ITL, "mean")
		if a != tc.hasTPOT || b != tc.hasITL || c != tc.itlMean || len(r.Notes) != tc.notes {
			t.Errorf("%s: TPOT %v, ITL p50 %v, mean %v, notes %v", name, a, b, c, r.Notes)
		}
	}
}

func TestGeneratorBehind(t *testing.T) {
	runs, _, _ := decode(t, "x.json", strings.Replace(stage(20, `, "requested_rate": 1`, goodTPOT, goodITL), `"p90": 0.002`, `"p90": 14.0`, 1))
	if n := runs[0].Notes; len(n) != 1 || !strings.Contains(n[0], "behind its schedule") {
		t.Errorf("notes %v", n)
	}
}

func TestNewerReport(t *testing.T) {
	text := `
benchmark_time_seconds: 12.5
load_summary: {count: 4}
successes:
  count: 3
  latency: {request_latency: {mean: 2.0}}
  throughput: {requests_per_sec: 0.24, output_tokens_per_sec: 0.0, input_tokens_per_sec: 0.0}
  prompt_tokens: {total: 300.0, cached: 64.0, mean: 100.0, p50: 99}
  output_tokens: {total: 60.0, mean: 20.0}
  goodput_metrics: {goodput_percentage: 66.0, request_goodput: 0.16, ttft_attainment_percentage: 70}
failures: {count: 1, request_latency: {mean: 9.0}, by_label: {Timeout: {count: 1}}}
`
	runs, _, in := decode(t, "summary_lifecycle_metrics.yaml", text)
	r := runs[0]
	if r.Duration.V != 12.5 || r.Input.V != 300 || r.Output.V != 60 || r.Failed.V != 1 || r.Load.Mode != serving.UnknownLoad || in.Problems.Len() != 0 {
		t.Errorf("%v s, tokens %v %v, failed %v, load %v, problems %v", r.Duration, r.Input, r.Output, r.Failed, r.Load, in.Problems.List())
	}
	near(t, r, cachedTotal, "", 64)
	near(t, r, serving.PromptTokens, "p50", 99)
	near(t, r, serving.GoodRequests, "", 0.16)
	near(t, r, goodShare, "", 0.66)
	near(t, r, failedLatency, "mean", 9)
}

func TestPrometheus(t *testing.T) {
	text := `{"load_summary": {}, "successes": {"count": 1000, "rate": 10.0, "prompt_len": {"mean": 5, "rate": 2000.0}, "output_len": {"mean": 5, "rate": 500.0},
 "queue_len": {"mean": 5}, "request_latency": {"mean": 2.0, "median": 1.9, "p90": 3.0, "p99": 4.0}, "time_to_first_token": {"mean": 0.0, "median": 0.0, "p90": 0.0, "p99": 0.0},
 "time_per_output_token": {"mean": 0.02, "median": 0.01, "p90": 0.01, "p99": 0.05}, "kv_cache_usage_percentage": {"mean": 0.4, "p99": 0.9},
 "num_preemptions_total": {"mean": 0}, "prefix_cache_hit_percent": {"mean": 25.0}}, "failures": {}}`
	runs, servers, in := decode(t, "stage_0_prometheus_metrics.json", text)
	if len(runs) != 0 || len(servers) != 1 || in.Problems.Len() != 0 {
		t.Fatalf("%d runs, %d servers, problems %v", len(runs), len(servers), in.Problems.List())
	}
	s := servers[0]
	if s.Times[1]-s.Times[0] != 100e9 || !s.Relative {
		t.Errorf("times %v", s.Times)
	}
	// Distributions stand as stated; zeros are a query that found nothing. The
	// engine observes time_per_output_token once a token: a gap, not TPOT.
	var got []string
	for _, r := range s.Reported {
		got = append(got, fmt.Sprintf("%s %s %g", r.Metric, r.Stat, r.Value()))
	}
	want := []string{"e2e mean 2", "e2e p50 1.9", "e2e p90 3", "e2e p99 4", "itl mean 0.02", "itl p50 0.01", "itl p90 0.01", "itl p99 0.05"}
	if !slices.Equal(got, want) {
		t.Errorf("distributions %q, want %q", got, want)
	}
	facts := map[string]string{}
	for _, f := range s.Info {
		facts[f.Key] = f.Value
	}
	if facts["kv_usage (mean)"] != "0.4" || facts["prefix_hit_ratio (mean)"] != "0.25" || facts["waiting (mean)"] != "5" || len(s.Gauges) != 0 {
		t.Errorf("facts %v, gauges %v: a mean is a fact, no course", facts, s.Gauges)
	}
	_, servers, in = decode(t, "x.json", `{"load_summary": {}, "successes": {"count": 0, "rate": 0.0, "queue_len": {"mean": 0}}, "failures": {}}`)
	if len(servers) != 0 || in.Problems.Len() != 1 {
		t.Errorf("an empty query gives %d servers, problems %v", len(servers), in.Problems.List())
	}
}

func TestDamage(t *testing.T) {
	for _, text := range []string{"", "[]", "[1, 2]", `[{"start_time": 1}]`, "{", `{"a": 1}`, "a: [", "load_summary: {}\n"} {
		in := &serving.Input{}
		if runs, servers, err := Decode(t.Context(), "f", strings.NewReader(text), in); err == nil {
			t.Errorf("%q gives %d runs and %d servers", text, len(runs), len(servers))
		}
	}
	runs, _, in := decode(t, "f.json", strings.Replace(stage(20, `, "requested_rate": "fast"`, goodTPOT, goodITL), `"count": 20`, `"count": 20.5`, 1))
	if r := runs[0]; !r.Sent.OK || r.Sent.V != 20 || r.Load.Mode != serving.UnknownLoad || in.Problems.Len() != 2 {
		t.Errorf("sent %v load %v problems %v", r.Sent, r.Load, in.Problems.List())
	}
}

func TestSniff(t *testing.T) {
	for _, tc := range []struct {
		keys string
		want bool
	}{
		{"load_summary successes failures", true}, {"start_time end_time info error", true}, {"start_time end_time computed_metrics error request", true},
		{"start_time end_time", false}, {"load_summary successes", false}, {"start_time end_time error", false},
	} {
		keys := map[string]bool{}
		for _, k := range strings.Fields(tc.keys) {
			keys[k] = true
		}
		if ok, _ := Sniff(keys); ok != tc.want {
			t.Errorf("%s: %v", tc.keys, ok)
		}
	}
	if ok, _ := SniffYAML([]byte("# x\nfailures:\n  count: 0\nload_summary: {}\nsuccesses:\n")); !ok {
		t.Error("YAML is not recognized")
	}
	if ok, _ := SniffYAML([]byte("a:\n  failures: 1\n  load_summary: 2\n  successes: 3\n")); ok {
		t.Error("nested names are taken for a report")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{stage(3, `, "requested_rate": 1`, goodTPOT, goodITL), oldRequests, newRequests, "successes: {count: 1, rate: 1, queue_len: {mean: 1}}\n",
		`{"successes":{"count":1e15,"rate":1e-9,"queue_len":{},"request_latency":{"median":1e308,"p90":1e309}}}`, `[{"start_time":-1e300,"end_time":1e300,"info":{"output_token_times":[1,0,NaN]},"error":"x"}]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		runs, servers, err := Decode(context.Background(), "f", strings.NewReader(s), &serving.Input{})
		if err != nil {
			return
		}
		for _, r := range runs {
			for _, a := range r.Reported {
				if math.IsNaN(a.Value()) || math.IsInf(a.Value(), 0) {
					t.Fatalf("%s %s = %v", a.Metric, a.Stat, a.Value())
				}
			}
			if r.Requests != nil {
				scan(t, r)
			}
		}
		for _, s := range servers {
			for _, r := range s.Reported {
				if math.IsNaN(r.Value()) || math.IsInf(r.Value(), 0) {
					t.Fatalf("%s %s = %v", r.Metric, r.Stat, r.Value())
				}
			}
		}
	})
}

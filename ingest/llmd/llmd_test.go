package llmd

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func decode(t *testing.T, text string) (*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	runs, err := Decode(t.Context(), "r.yaml", strings.NewReader(text), in)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0], in
}

func near(t *testing.T, r *serving.Run, m serving.MetricKey, stat string, want float64) {
	t.Helper()
	if got, ok := r.ReportedValue(m, stat); !ok || math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("%s %s = %v, %v, want %v", m, stat, got, ok, want)
	}
}

const report01 = `
version: '0.1'
scenario:
  model: {name: org/model}
  host:
    type: [prefill, decode]
    accelerator:
      - {model: H100, count: 1}
      - {model: H100, count: 4}
  platform:
    engine:
      - {name: vllm, version: 0.9.1, args: {"--max-num-seqs": 64}}
      - {name: vllm, version: 0.9.1, args: {"--max-num-seqs": 256, "--enforce-eager": null}}
  load: {name: vllm-benchmark, args: {max-concurrency: 16, request-rate: .inf, seed: 3}}
metrics:
  time: {duration: 100.0, start: 1749570583.5}
  requests: {total: 200, failures: 3, incomplete: 1, input_length: {units: count, mean: 128}, output_length: {units: count, mean: 100.5}}
  latency:
    request_latency: {units: ms, mean: 2500, stddev: 10, p50: 2400, p99p9: 4000}
    time_to_first_token: {units: ms, mean: 120, p0p1: 20, p50: 100}
    time_per_output_token: {units: ms/token, mean: 25}
    inter_token_latency: {units: ms/token, mean: 25, p50: 24, max: 90}
  throughput: {output_tokens_per_sec: 196.98, total_tokens_per_sec: 447.86, requests_per_sec: 1.96}
  service: {queue_size: {units: count, mean: 3}}
`

func TestVersion01(t *testing.T) {
	r, in := decode(t, report01)
	if in.Problems.Len() != 0 || len(r.Notes) != 0 {
		t.Errorf("problems %v, notes %v", in.Problems.List(), r.Notes)
	}
	near(t, r, serving.E2E, "mean", 2.5)
	near(t, r, serving.E2E, "p99.9", 4)
	near(t, r, serving.TTFT, "p0.1", 0.02)
	near(t, r, serving.TPOT, "mean", 0.025)
	near(t, r, serving.ITL, "p50", 0.024)
	near(t, r, serving.RateOutput, "", 196.98)
	if _, ok := r.ReportedValue(serving.E2E, "std"); ok {
		t.Error("stddev is taken for the population's")
	}
	if r.Sent.V != 200 || r.Completed.V != 196 || r.Failed.V != 3 || r.Input.V != 128*196 || r.Output.V != 19698 || r.Duration.V != 100 {
		t.Errorf("counts %v %v %v, tokens %v %v, %v", r.Sent, r.Completed, r.Failed, r.Input, r.Output, r.Duration)
	}
	if r.GPUs.V != 5 || r.Engine.V != "vllm" || r.Version.V != "0.9.1" || r.Model.V != "org/model" {
		t.Errorf("gpus %v engine %v version %v model %v", r.GPUs, r.Engine, r.Version, r.Model)
	}
	if l := r.Load; l.Mode != serving.ClosedLoop || l.MaxConcurrency.V != 16 || !l.Unlimited || l.RequestRate.OK {
		t.Errorf("load %+v", l)
	}
	for key, want := range map[string]string{"prefill.max_num_seqs": "64", "decode.max_num_seqs": "256", "decode.enforce_eager": "true", "load.seed": "3", "load_generator": "vllm-benchmark"} {
		if got, _ := r.Setting(key); got != want {
			t.Errorf("setting %s = %q, want %q", key, got, want)
		}
	}
	if _, ok := r.Setting("load.max_concurrency"); ok {
		t.Error("the load level is a setting too")
	}
}

// The units are checked: seconds labelled ms are in circulation.
func TestImpossibleUnits(t *testing.T) {
	for name, tc := range map[string]struct {
		from, to string
		mean     float64
		doubted  bool
	}{
		"seconds called ms":     {"mean: 25}", "mean: 0.025}", 2500, true},
		"milliseconds called s": {"request_latency: {units: ms,", "request_latency: {units: s,", 2.5, true},
		"right":                 {"", "", 2.5, false},
	} {
		text := strings.Replace(report01, tc.from, tc.to, 1)
		if name == "seconds called ms" {
			text = strings.Replace(text, "mean: 2500", "mean: 2.5", 1)
			tc.mean = 2.5
		}
		r, in := decode(t, text)
		near(t, r, serving.E2E, "mean", tc.mean)
		if strings.HasPrefix(name, "milli") {
			near(t, r, serving.TTFT, "mean", 0.12) // its label was right
		}
		if doubted := in.Problems.Len() > 0 && len(r.Notes) > 0; doubted != tc.doubted {
			t.Errorf("%s: problems %v, notes %v", name, in.Problems.List(), r.Notes)
		}
	}
	r, in := decode(t, strings.Replace(report01, "time_to_first_token: {units: ms", "time_to_first_token: {units: fortnights", 1))
	if _, ok := r.ReportedValue(serving.TTFT, "mean"); ok || in.Problems.Len() != 1 {
		t.Errorf("an unknown unit is taken: %v", in.Problems.List())
	}
	if p := in.Problems.List()[0].String(); !strings.Contains(p, "r.yaml:20: metrics.latency.time_to_first_token: units \"fortnights\", want") {
		t.Errorf("problem %q", p)
	}
}

const report02 = `
version: '0.2'
run:
  uid: u
  eid: e1
  time: {start: 2025-11-05T18:00:42Z, duration: PT1M40.5S}
scenario:
  stack:
    - standardized: {kind: inference_engine, tool: vllm, tool_version: "0.11", replicas: 2, model: {name: m}, accelerator: {model: H100, count: 4, parallelism: {tp: 4}}}
      native: {args: {--max-model-len: 4096}}
    - standardized: {kind: generic, tool: router}
  load: {standardized: {tool: inference-perf, stage: 2, rate_qps: 10, concurrency: .inf, source: sampled, input_seq_len: {value: 128}}}
results:
  request_performance:
    aggregate:
      requests: {total: 1000, failures: 0}
      latency:
        time_to_first_token: {units: s, mean: 0.1, p50: 0.09, p99: 0.4}
        request_latency: {units: s, mean: 2, p50: 1.9, p99: 3}
        inter_token_latency: {units: s/token, mean: 0.02, p50: 0.00003}
      throughput: {request_rate: {units: queries/s, mean: 9.95}, output_token_rate: {units: tokens/min, mean: 5}}
  observability: {}
`

func TestVersion02(t *testing.T) {
	r, in := decode(t, report02)
	near(t, r, serving.TTFT, "p99", 0.4)
	near(t, r, serving.ITL, "mean", 0.02)
	near(t, r, chunkGap, "p50", 0.00003)
	if _, ok := r.ReportedValue(serving.ITL, "p50"); ok {
		t.Error("gaps inside a chunk are taken for ITL")
	}
	if _, ok := r.ReportedValue(serving.RateOutput, ""); ok || in.Problems.Len() != 1 {
		t.Errorf("tokens/min are taken: %v", in.Problems.List())
	}
	if r.GPUs.V != 8 || r.Duration.V != 100.5 || r.Model.V != "m" || r.Engine.V != "vllm" {
		t.Errorf("gpus %v duration %v model %v engine %v", r.GPUs, r.Duration, r.Model, r.Engine)
	}
	if l := r.Load; l.Mode != serving.OpenLoop || l.RequestRate.V != 10 || l.MaxConcurrency.OK || l.Unlimited {
		t.Errorf("load %+v", l)
	}
	// Without the number of replicas the number of GPUs is unknown, never 4.
	r, _ = decode(t, strings.Replace(report02, "replicas: 2, ", "", 1))
	if r.GPUs.OK {
		t.Errorf("gpus %v", r.GPUs)
	}
	// A part of a report, as inference-perf writes it, has no scenario.
	i, j := strings.Index(report02, "scenario:"), strings.Index(report02, "results:")
	r, _ = decode(t, report02[:i]+report02[j:])
	if r.GPUs.OK || r.Load.Mode != serving.UnknownLoad || r.Completed.V != 1000 {
		t.Errorf("gpus %v load %v completed %v", r.GPUs, r.Load, r.Completed)
	}
}

func TestJSONReport(t *testing.T) {
	r, _ := decode(t, `{"version": "0.2.1", "run": {"uid": "u"}, "results": {"request_performance": {"aggregate": {"requests": {"total": 5, "failures": 1},
		"latency": {"request_latency": {"units": "ms", "mean": 1500}}}}}}`)
	near(t, r, serving.E2E, "mean", 1.5)
	if r.Completed.V != 4 {
		t.Errorf("completed %v", r.Completed)
	}
}

func TestRepeats(t *testing.T) {
	r, _ := decode(t, report02)
	native := &serving.Run{Completed: serving.Some(int64(1000))}
	for _, a := range r.Reported {
		native.Reported = append(native.Reported, serving.Reported{Metric: a.Metric, Stat: a.Stat, File: a.Value() * 1000, PerBase: 1000})
	}
	if !Repeats(r, native) {
		t.Error("the same figures in another unit are not recognized")
	}
	native.Reported[0].File *= 1.001
	if Repeats(r, native) {
		t.Error("another figure is taken for the same")
	}
}

func TestDamage(t *testing.T) {
	for _, text := range []string{"", "version: '0.2'\n", "version: '0.3'\nrun: 1\nresults: {}\n", "{", "[1,2]", "version: [", "results: {a: {b\n"} {
		in := &serving.Input{}
		if runs, err := Decode(t.Context(), "r", strings.NewReader(text), in); err == nil {
			t.Errorf("%q gives %d runs", text, len(runs))
		}
	}
}

func TestISODuration(t *testing.T) {
	for s, want := range map[string]float64{"PT49.97S": 49.97, "P1DT2H3M4S": 93784, "PT0S": 0, "12.5": 12.5} {
		if got, ok := isoDuration(s); !ok || math.Abs(got-want) > 1e-9 {
			t.Errorf("%s = %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "P", "PT", "5m", "P1Y", "-PT5S"} {
		if got, ok := isoDuration(s); ok {
			t.Errorf("%q = %v", s, got)
		}
	}
}

func TestSniff(t *testing.T) {
	for text, want := range map[string]bool{
		report01: true, report02: true,
		"version: 0.1.0\nname: chart\n":                         false,
		"version: '3'\nservices:\n":                             false,
		"version: '0.2'\nfoo: 1\n":                              false,
		"  version: '0.2'\n  run:\n  results:\n":                false,
		"# x\nversion: \"0.2\" # comment\nrun: # x\nresults:\n": true,
	} {
		if got, why := SniffYAML([]byte(text), true); got != want {
			t.Errorf("%.40q: %v (%s)", text, got, why)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{report01, report02, `{"version":"0.2","results":{"request_performance":{"aggregate":{"requests":{"total":1e300,"failures":-1}}}}}`, "version: '0.1'\nmetrics: {latency: {request_latency: {units: ms, mean: .nan}}}\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		runs, err := Decode(context.Background(), "f", strings.NewReader(s), &serving.Input{})
		if err != nil {
			return
		}
		for _, r := range runs {
			for _, a := range r.Reported {
				if v := a.Value(); math.IsNaN(v) || v < 0 {
					t.Fatalf("%s %s = %v", a.Metric, a.Stat, v)
				}
			}
			if r.GPUs.OK && r.GPUs.V < 1 || r.Duration.OK && !(r.Duration.V > 0) {
				t.Fatalf("gpus %v duration %v", r.GPUs, r.Duration)
			}
		}
	})
}

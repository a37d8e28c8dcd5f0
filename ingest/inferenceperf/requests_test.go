package inferenceperf

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// The requests stand in the order they came back. Times count from the start of
// the machine.
const oldRequests = `[
 {"start_time": 1001.0, "end_time": 1003.0, "request": "{\"prompt\": \"x\"}", "response": "…", "info": {"input_tokens": 100, "output_tokens": 5, "output_token_times": [1001.5, 1001.9, 1002.3, 1002.7, 1003.0]}, "error": null},
 {"start_time": 1000.0, "end_time": 1002.0, "info": {"input_tokens": 50, "output_tokens": 1, "output_token_times": [1001.0]}, "error": null},
 {"start_time": 1002.0, "end_time": 1032.0, "info": {"input_tokens": 70, "output_tokens": 0, "output_token_times": []}, "error": {"error_type": "TimeoutError", "error_msg": "deadline\nmore"}},
 {"start_time": 1003.0, "end_time": 1003.1, "info": {"input_tokens": 70}, "error": {"error_type": "HTTP Error 500", "error_msg": "boom"}}
]`

const newRequests = `[{"start_time": 1800000000.0, "end_time": 1800000002.0, "session_id": "s1", "info": {"request_metrics": {"text": {"input_tokens": 80}, "image": null},
  "response_metrics": {"output_tokens": 11, "output_token_times": [1800000000.5, 1800000000.5, 1800000001.5], "chunk_times": [1], "server_usage": {"completion_tokens": 12, "prompt_tokens_details": {"cached_tokens": 64}}}},
  "computed_metrics": {"request_latency": 2.0, "time_to_first_token": 0.5, "time_per_output_token": 0.1, "inter_token_latencies": [0.0, 1.0], "input_tokens": 80, "output_tokens": 11, "ttft_slo_sec": null}, "error": null}]`

// columnOf reads a column of a run's requests; NaN where a row has no value.
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
				case v.Offsets != nil:
					out = append(out, float64(v.Offsets[i+1]-v.Offsets[i]))
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

func scan(t *testing.T, r *serving.Run) {
	for _, c := range r.Requests.Columns() {
		if n := len(columnOf(t, r, c.Name)); int64(n) != r.Sent.V {
			t.Fatalf("%s has %d rows of %d", c.Name, n, r.Sent.V)
		}
	}
}

func TestRequests(t *testing.T) {
	runs, _, in := decode(t, "per_request_lifecycle_metrics.json", oldRequests)
	r := runs[0]
	if in.Records != 4 || in.Problems.Len() != 0 || r.Sent.V != 4 || r.Completed.V != 2 || r.Failed.V != 2 || r.Duration.V != 32 {
		t.Errorf("%d records, %v, %v %v %v, %v s", in.Records, in.Problems.List(), r.Sent, r.Completed, r.Failed, r.Duration)
	}
	nan := math.NaN()
	for name, want := range map[string][]float64{
		"arrival_time":  {0, 1e9, 2e9, 3e9},
		"outcome":       {0, 0, float64(serving.Timeout), float64(serving.Failed)},
		"ttft":          {nan, 0.5, nan, nan}, // one time stamp is no stream: inference-perf's own rule
		"tpot":          {nan, 1.5 / 4, nan, nan},
		"itl":           {0, 4, 0, 0},
		"prompt_tokens": {50, 100, 70, 70},
		"output_tokens": {1, 5, 0, nan},
	} {
		got := columnOf(t, r, name)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-9 || math.IsNaN(got[i]) != math.IsNaN(want[i]) {
				t.Errorf("%s = %v, want %v", name, got, want)
				break
			}
		}
	}
	if c := r.Requests.Columns()[0]; c.Name != serving.ColArrival || !c.Relative {
		t.Errorf("a monotonic clock is %+v", c)
	}
	runs, _, _ = decode(t, "x.json", newRequests)
	r = runs[0]
	for name, want := range map[string]float64{"cached_tokens": 64, "output_tokens": 11, "tpot": 0.1, "ttft": 0.5, "arrival_time": 1.8e18, "session_id": 0, "itl": 2} {
		if got := columnOf(t, r, name); len(got) != 1 || got[0] != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for _, c := range r.Requests.Columns() {
		if c.Name == "itl" && c.Gaps != "chunk" || c.Name == serving.ColArrival && c.Relative {
			t.Errorf("column %+v", c)
		}
	}
}

func TestBadRequests(t *testing.T) {
	runs, _, in := decode(t, "f.json", `[{"start_time": 1, "end_time": 3, "info": null, "error": null},
 {"start_time": 5, "end_time": 2, "info": {"input_tokens": "many"}, "error": null}, {"end_time": 2}, 7, {"start_time": 2, "end_time": 4, "error": null}, {"start_`)
	if r := runs[0]; r.Sent.V != 3 || in.Problems.Len() < 4 {
		t.Errorf("%v requests, problems %v", r.Sent, in.Problems.List())
	}
	if e2e := columnOf(t, runs[0], "e2e"); e2e[0] != 2 || e2e[1] != 2 || !math.IsNaN(e2e[2]) {
		t.Errorf("E2E %v", e2e)
	}
}

// perRequest writes requests of two stages: five of 1 s, then three of 2 s, the
// last stage first.
func perRequest() string {
	var out []string
	for i := 7; i >= 0; i-- {
		d := 1
		if i >= 5 {
			d = 2
		}
		out = append(out, fmt.Sprintf(`{"start_time": %d, "end_time": %d, "info": {"output_tokens": %d}, "error": null}`, 100+10*i, 100+10*i+d, i))
	}
	return "[" + strings.Join(out, ",") + "]"
}

func part(t *testing.T, path, text string) *Part {
	runs, servers, _ := decode(t, path, text)
	return &Part{Path: path, Runs: runs, Servers: servers}
}

func lifecycle(n int, rate, e2e string) string {
	return strings.Replace(stage(n, rate, goodTPOT, goodITL), `"request_latency": {"mean": 2.0`, `"request_latency": {"mean": `+e2e, 1)
}

const promReport = `{"load_summary": {}, "successes": {"count": 10, "rate": 1.0, "queue_len": {"mean": 1}}, "failures": {}}`

func TestReconcile(t *testing.T) {
	rate := `, "requested_rate": 1`
	s0 := part(t, "d/stage_0_lifecycle_metrics.json", lifecycle(5, rate, "1.0"))
	s1 := part(t, "d/stage_1_lifecycle_metrics.json", lifecycle(3, rate, "2.0"))
	sum := part(t, "d/summary_lifecycle_metrics.json", lifecycle(8, "", "1.375"))
	req := part(t, "d/per_request_lifecycle_metrics.json", perRequest())
	ad := part(t, "d/adapter_a_lifecycle_metrics.json", lifecycle(4, "", "1.0"))
	other := part(t, "e/summary_lifecycle_metrics.json", lifecycle(8, "", "1.375"))
	p0 := part(t, "d/stage_0_prometheus_metrics.json", promReport)
	ps := part(t, "d/summary_prometheus_metrics.json", promReport)
	Reconcile([]*Part{sum, s1, req, ad, s0, other, p0, ps})
	for _, p := range []*Part{sum, req, ad} {
		if len(p.Runs) != 0 || p.Note == "" {
			t.Errorf("%s counts beside the stages: %q", p.Path, p.Note)
		}
	}
	if len(other.Runs) != 1 || len(p0.Servers) != 1 || len(ps.Servers) != 0 {
		t.Errorf("%d runs elsewhere, %d and %d servers", len(other.Runs), len(p0.Servers), len(ps.Servers))
	}
	for i, p := range []*Part{s0, s1} {
		r := p.Runs[0]
		if r.Requests == nil {
			t.Fatalf("stage %d has no requests: %q", i, req.Note)
		}
		got := columnOf(t, r, "output_tokens")
		if want := [][]float64{{0, 1, 2, 3, 4}, {5, 6, 7}}[i]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("stage %d has requests %v, want %v", i, got, want)
		}
	}
}

// Requests that the stages' own figures do not confirm are not divided.
func TestReconcileDoubt(t *testing.T) {
	rate := `, "requested_rate": 1`
	s0 := part(t, "stage_0_lifecycle_metrics.json", lifecycle(5, rate, "1.3"))
	s1 := part(t, "stage_1_lifecycle_metrics.json", lifecycle(3, rate, "2.0"))
	req := part(t, "per_request_lifecycle_metrics.json", perRequest())
	Reconcile([]*Part{req, s0, s1})
	if s0.Runs[0].Requests != nil || len(req.Runs) != 0 || !strings.Contains(req.Note, "cannot be told") {
		t.Errorf("requests %v, note %q", s0.Runs[0].Requests, req.Note)
	}
}

// Beside the requests alone the summary is their cross-check.
func TestReconcileSummary(t *testing.T) {
	sum := part(t, "run1-summary_lifecycle_metrics.json", lifecycle(8, "", "1.375"))
	req := part(t, "run1-per_request_lifecycle_metrics.json", perRequest())
	Reconcile([]*Part{sum, req})
	if len(sum.Runs) != 0 || len(req.Runs) != 1 {
		t.Fatalf("%d and %d runs", len(sum.Runs), len(req.Runs))
	}
	near(t, req.Runs[0], serving.E2E, "mean", 1.375)
}

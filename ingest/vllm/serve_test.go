package vllm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

func decode(t testing.TB, text string) ([]*serving.Run, *serving.Input, error) {
	t.Helper()
	in := &serving.Input{Bytes: int64(len(text))}
	runs, err := DecodeServe(t.Context(), "r/c64.json", strings.NewReader(text), in)
	return runs, in, err
}

func one(t testing.TB, text string) (*serving.Run, *serving.Input) {
	t.Helper()
	runs, in, err := decode(t, text)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v, want one", len(runs), err)
	}
	sane(t, runs[0])
	return runs[0], in
}

// sane checks what holds of every run, whatever it was read from.
func sane(t testing.TB, r *serving.Run) {
	t.Helper()
	for _, n := range []serving.Opt[int64]{r.Sent, r.Completed, r.Failed, r.Input, r.Output, r.Load.MaxConcurrency} {
		if n.OK && n.V < 0 {
			t.Fatalf("a negative count in %+v", r)
		}
	}
	for _, a := range r.Reported {
		if a.PerBase == 0 || math.IsNaN(a.Value()) || math.IsInf(a.File, 0) {
			t.Fatalf("reported %+v", a)
		}
	}
	if r.Load.RequestRate.OK && !(r.Load.RequestRate.V > 0 && r.Load.RequestRate.V < unlimitedFrom) {
		t.Fatalf("request rate %v", r.Load.RequestRate)
	}
	if r.Requests == nil {
		return
	}
	for _, c := range r.Requests.Columns() {
		rows := columnOf(t, r, c.Name)
		for _, v := range rows {
			for _, x := range v {
				if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
					t.Fatalf("column %s has %v", c.Name, x)
				}
			}
		}
	}
}

// columnOf reads a column: the values of each row, none where it is missing.
func columnOf(t testing.TB, r *serving.Run, name string) [][]float64 {
	t.Helper()
	var out [][]float64
	for _, p := range r.Requests.Parts() {
		err := p.Scan(context.Background(), []string{name}, nil, func(b *serving.Batch) error {
			v := b.Cols[0]
			for i := range b.N {
				var row []float64
				switch {
				case !v.Has(i):
				case v.Kind == serving.KindGaps:
					row = slices.Clone(v.Floats[v.Offsets[i]:v.Offsets[i+1]])
				case v.Ints != nil:
					row = []float64{float64(v.Ints[i])}
				case v.Codes != nil:
					row = []float64{float64(v.Codes[i])}
				default:
					row = []float64{v.Floats[i]}
				}
				out = append(out, row)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func hasColumn(r *serving.Run, name string) *serving.Column {
	for _, c := range r.Requests.Columns() {
		if c.Name == name {
			return &c
		}
	}
	return nil
}

// serveRecord writes a record from its parts: a base with overrides; nil deletes.
func serveRecord(over map[string]any) string {
	m := map[string]any{
		"date": "20260701-120000", "backend": "vllm", "model_id": "m", "tokenizer_id": "t", "num_prompts": 4, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 2,
		"duration": 2.0, "completed": 4, "total_input_tokens": 40, "total_output_tokens": 20, "request_throughput": 2.0, "output_throughput": 10.0, "total_token_throughput": 30.0,
		"mean_ttft_ms": 100.0, "median_ttft_ms": 90.0, "std_ttft_ms": 5.0, "p99_ttft_ms": 200.0,
	}
	for k, v := range over {
		if v == nil {
			delete(m, k)
		} else {
			m[k] = v
		}
	}
	var raws []string
	for k, v := range m {
		if r, ok := v.(raw); ok {
			raws = append(raws, fmt.Sprintf("%q: %s", k, string(r)))
			delete(m, k)
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	slices.Sort(raws)
	if len(raws) > 0 {
		return string(b[:len(b)-1]) + ", " + strings.Join(raws, ", ") + "}"
	}
	return string(b)
}

// raw is text that goes into a record as it is.
type raw string

func TestLoad(t *testing.T) {
	tests := []struct {
		name string
		over map[string]any
		mode serving.LoadMode
		conc int64
		rate float64
		inf  bool
	}{
		{"closed", nil, serving.ClosedLoop, 2, 0, true},
		{"literal", map[string]any{"request_rate": raw("Infinity")}, serving.ClosedLoop, 2, 0, true},
		{"1e9", map[string]any{"request_rate": 1e9}, serving.ClosedLoop, 2, 0, true},
		{"all at once", map[string]any{"max_concurrency": raw("null")}, serving.ClosedLoop, 0, 0, true},
		{"open", map[string]any{"request_rate": 2.5, "max_concurrency": raw("null")}, serving.OpenLoop, 0, 2.5, false},
		{"capped", map[string]any{"request_rate": 2.5}, serving.CappedOpen, 2, 2.5, false},
		{"strings", map[string]any{"request_rate": "2.5", "max_concurrency": "8"}, serving.CappedOpen, 8, 2.5, false},
		{"absent", map[string]any{"request_rate": nil, "max_concurrency": nil}, serving.UnknownLoad, 0, 0, false},
		{"zero cap", map[string]any{"request_rate": raw("NaN"), "max_concurrency": 0}, serving.UnknownLoad, 0, 0, false},
		{"negative", map[string]any{"request_rate": raw("-Infinity"), "max_concurrency": -1}, serving.UnknownLoad, 0, 0, false},
		{"ramp up", map[string]any{"ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 9, "max_concurrency": raw("null")}, serving.OpenLoop, 0, 0, false},
	}
	for _, tt := range tests {
		r, _ := one(t, serveRecord(tt.over))
		l := r.Load
		if l.Mode != tt.mode || l.MaxConcurrency.V != tt.conc || l.RequestRate.V != tt.rate || l.Unlimited != tt.inf || l.RequestRate.OK != (tt.rate > 0) {
			t.Errorf("%s: %+v", tt.name, l)
		}
	}
}

func TestCounts(t *testing.T) {
	tests := []struct {
		name                    string
		over                    map[string]any
		sent, completed, failed int64 // -1: missing
		notes                   int
	}{
		{"failed stated", map[string]any{"failed": 3}, 7, 4, 3, 0},
		{"failed absent, all done", nil, 4, 4, 0, 0},
		{"failed absent, some missing", map[string]any{"num_prompts": 10}, 10, 4, 6, 1},
		{"fewer prompts than completed", map[string]any{"num_prompts": 2}, -1, 4, -1, 0},
		{"wrapper without prompts", map[string]any{"num_prompts": nil}, -1, 4, -1, 0},
		{"bad count", map[string]any{"completed": -4, "failed": 1.5}, -1, -1, -1, 0},
	}
	opt := func(o serving.Opt[int64]) int64 {
		if !o.OK {
			return -1
		}
		return o.V
	}
	for _, tt := range tests {
		r, _ := one(t, serveRecord(tt.over))
		if opt(r.Sent) != tt.sent || opt(r.Completed) != tt.completed || opt(r.Failed) != tt.failed || len(r.Notes) != tt.notes {
			t.Errorf("%s: sent %v completed %v failed %v notes %q", tt.name, r.Sent, r.Completed, r.Failed, r.Notes)
		}
	}
}

func TestReported(t *testing.T) {
	r, _ := one(t, serveRecord(map[string]any{
		"request_goodput:": 1.5, "p99.9_ttft_ms": 300.0, "p100_ttft_ms": 310.0, "max_output_tokens_per_s": 55.0, "max_concurrent_requests": 3, "rtfx": 0.0,
		"mean_tpot_ms": 0.0, "p99_tpot_ms": 0.0, "mean_itl_ms": raw("NaN"), "mean_e2el_ms": 1000.0, "std_e2el_ms": 0.0,
		"spec_decode_acceptance_rate": 55.0, "spec_decode_per_position_acceptance_rates": []float64{.7, .4}, "spec_decode_num_drafts": 9,
		"percentiles_e2el_ms": [][]float64{{50, 990}, {99, 1500}}, "percentiles_itl_ms": map[string]float64{"p50": 7}, "mean_client_queue_time_ms": 12.0,
	}))
	want := map[string]float64{
		"goodput_requests_per_s ": 1.5, "ttft mean": .1, "ttft p50": .09, "ttft std": .005, "ttft p99": .2, "ttft p99.9": .3, "ttft max": .31, "peak_output_tokens_per_s ": 55,
		"peak_concurrent_requests ": 3, "e2e mean": 1, "e2e std": 0, "e2e p50": .99, "e2e p99": 1.5, "itl p50": .007, "spec_acceptance_rate ": .55, "spec_acceptance_rate position 1": .4,
		"spec_acceptance_rate position 0": .7, "spec_drafts ": 9, "client_queue mean": .012, "requests_per_s ": 2, "output_tokens_per_s ": 10, "total_tokens_per_s ": 30,
		"total_input_tokens ": 40, "total_output_tokens ": 20,
	}
	got := map[string]float64{}
	for _, a := range r.Reported {
		got[string(a.Metric)+" "+a.Stat] = a.Value()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("reported\n%v\nwant\n%v", got, want)
	}
}

// TestOldKeys reads the names of 2024, one of them misspelt.
func TestOldKeys(t *testing.T) {
	r, _ := one(t, `{"date":"20240401-1","backend":"vllm","model_id":"m","best_of":1,"use_beam_search":false,"num_prompts":2,"request_rate":"inf","duration":1,"completed":2,`+
		`"total_input_tokens":10,"total_output_tokens":6,"request_inthroughput":2,"input_throughput":10,"output_throughput":6,"mean_ttft_ms":5,"median_ttft_ms":4,"p99_ttft_ms":9}`)
	for m, want := range map[serving.MetricKey]float64{serving.RateRequests: 2, serving.RateOutput: 6, inputRate: 10} {
		if v, ok := r.ReportedValue(m, ""); !ok || v != want {
			t.Errorf("%s = %v, want %v", m, v, want)
		}
	}
	if want := []serving.Setting{{Key: "best_of", Value: "1"}, {Key: "use_beam_search", Value: "false"}, {Key: "num_prompts", Value: "2"}}; !reflect.DeepEqual(r.Settings, want) {
		t.Errorf("settings %v, want %v", r.Settings, want)
	}
}

func TestPooling(t *testing.T) {
	r, in := one(t, `{"backend":"openai-embeddings","model_id":"e5","num_prompts":3,"request_rate":"inf","max_concurrency":null,"duration":1.5,"completed":3,"total_input_tokens":30,`+
		`"request_throughput":2,"total_token_throughput":20,"input_sequence_throughput":2,"mean_e2el_ms":40,"median_e2el_ms":39,"std_e2el_ms":1,"p99_e2el_ms":50}`)
	if r.Output.OK || r.Requests != nil || in.Problems.Len() != 0 || r.Input.V != 30 {
		t.Errorf("run %+v, problems %v", r, in.Problems.List())
	}
	if v, ok := r.ReportedValue(serving.E2E, "p99"); !ok || v != .05 {
		t.Errorf("E2E p99 = %v", v)
	}
}

func TestAllFailed(t *testing.T) {
	r, _ := one(t, serveRecord(map[string]any{"completed": 0, "failed": 8, "mean_ttft_ms": 0.0, "median_ttft_ms": 0.0, "std_ttft_ms": 0.0, "p99_ttft_ms": 0.0, "request_throughput": 0.0}))
	for _, a := range r.Reported {
		if a.Metric == serving.TTFT {
			t.Errorf("a run without a completed request reports %+v", a)
		}
	}
	if v, ok := r.ReportedValue(serving.RateRequests, ""); !ok || v != 0 || r.Sent.V != 8 {
		t.Errorf("throughput %v %v, sent %v: want a measured 0 of 8", v, ok, r.Sent)
	}
}

func TestFacts(t *testing.T) {
	tests := []struct {
		over                      map[string]any
		engine, version, workload string
		gpus                      int
	}{
		{nil, "", "", "", 0},
		{map[string]any{"backend": "sglang"}, "", "", "", 0},
		{map[string]any{"tensor_parallel_size": "4"}, "", "", "", 4},
		{map[string]any{"tp": "4", "pipeline-parallel-size": "2", "dp_size": 2}, "", "", "", 16},
		{map[string]any{"gpu": "4xNVIDIA_L40S"}, "", "", "", 4},
		{map[string]any{"gpu_type": "RTX 3090 24GB"}, "", "", "", 0},
		{map[string]any{"hardware": "H100 x 8", "tp": "4"}, "", "", "", 8},
		{map[string]any{"num_gpus": "2", "tp": "1"}, "", "", "", 2},
		{map[string]any{"gpu": "MI300X"}, "", "", "", 0},
		{map[string]any{"tp": "auto"}, "", "", "", 0},
		{map[string]any{"framework": "vLLM 0.9.1"}, "vllm", "0.9.1", "", 0},
		{map[string]any{"engine": "sglang==0.5.2", "dataset_name": "sharegpt"}, "sglang", "0.5.2", "sharegpt", 0},
		{map[string]any{"vllm_version": "0.25.1"}, "vllm", "0.25.1", "", 0},
		{map[string]any{"server_config": map[string]any{"vllm_params": map[string]any{"max_num_seqs": "64"}}}, "vllm", "", "", 0},
	}
	for _, tt := range tests {
		r, _ := one(t, serveRecord(tt.over))
		if r.Engine.V != tt.engine || r.Version.V != tt.version || r.Workload.V != tt.workload || r.GPUs.V != tt.gpus || r.GPUs.OK != (tt.gpus > 0) {
			t.Errorf("%v: engine %v version %v workload %v gpus %v", tt.over, r.Engine, r.Version, r.Workload, r.GPUs)
		}
	}
}

func TestSettings(t *testing.T) {
	r, in := one(t, `{"model_id":"m","backend":"openai","endpoint_type":"openai","zeta":"9","label":null,"duration":1,"completed":1,"burstiness":Infinity,"request_throughput":1,"mean_ttft_ms":1,
		"server_config":{"max_model_len":"131072","metrics":{"running_requests":0},"flags":["x"],"eager":true},"rps_change_events":[{"rps":1}],"run_number":2,"zeta":"10","probe_p99_e2el_ms":4,"rtfx":0.0}`)
	want := []serving.Setting{{Key: "zeta", Value: "10"}, {Key: "burstiness", Value: "Infinity"}, {Key: "server_config.max_model_len", Value: "131072"}, {Key: "server_config.eager", Value: "true"}, {Key: "run_number", Value: "2"}}
	if !reflect.DeepEqual(r.Settings, want) {
		t.Errorf("settings %v, want %v", r.Settings, want)
	}
	if r.Label != "c64" || r.Source.String() != "r/c64.json" {
		t.Errorf("label %q source %v", r.Label, r.Source)
	}
	as := map[string]string{}
	for _, f := range in.Fields {
		as[f.Name] = f.As + "|" + f.Unit
	}
	for name, want := range map[string]string{"mean_ttft_ms": "ttft|ms", "duration": "duration|s", "zeta": "setting|", "rtfx": "|", "model_id": "model|"} {
		if as[name] != want {
			t.Errorf("field %s is %q, want %q", name, as[name], want)
		}
	}
}

// detailed is a record with arrays: a long answer, a one-token answer, one that
// timed out in the middle, one that was refused, one that was cancelled.
func detailed(over map[string]any) string {
	m := map[string]any{
		"completed": 2, "num_prompts": 5, "input_lens": []int{10, 20, 30, 40, 50}, "output_lens": []int{3, 1, 0, 0, 0},
		"ttfts": []float64{.5, .25, .75, 0, 0}, "itls": [][]float64{{.125, .25}, {}, {.1}, {}, {}}, "start_times": []float64{58683, 58683.5, 58684.25, 0, 58684},
		"generated_texts": []string{"a [\"x\"] \\", "NaN", "", "", ""},
		"errors": []string{"", "", "Traceback (most recent call last):\n  File \"x.py\", line 1\n    raise CancelledError\nasyncio.exceptions.CancelledError\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"x.py\"\nTimeoutError\n",
			"Bad Request", "Traceback (most recent call last):\n  x(timeout=3)\nasyncio.exceptions.CancelledError: gone"},
	}
	for k, v := range over {
		m[k] = v
	}
	return serveRecord(m)
}

func TestArrays(t *testing.T) {
	r, in := one(t, detailed(nil))
	if in.Problems.Len() != 0 || len(r.Notes) != 0 {
		t.Errorf("problems %v, notes %q, want none", in.Problems.List(), r.Notes)
	}
	if r.Sent.V != 5 || r.Completed.V != 2 || r.Failed.V != 3 || r.Requests.Side() != serving.Client {
		t.Errorf("sent %v completed %v failed %v", r.Sent, r.Completed, r.Failed)
	}
	want := map[string][][]float64{
		"outcome":       {{0}, {0}, {float64(serving.Timeout)}, {float64(serving.Failed)}, {float64(serving.Cancelled)}},
		"prompt_tokens": {{10}, {20}, {30}, {40}, {50}}, "output_tokens": {{3}, {1}, {0}, {0}, {0}},
		"ttft": {{.5}, {.25}, {.75}, nil, nil}, "e2e": {{.875}, {.25}, nil, nil, nil}, "tpot": {{.1875}, nil, nil, nil, nil},
		"itl": {{.125, .25}, nil, {.1}, nil, nil}, "arrival_time": {{0}, {5e8}, {125e7}, nil, {1e9}},
	}
	for name, rows := range want {
		got := columnOf(t, r, name)
		for i := range got {
			if len(got[i]) == 0 {
				got[i] = nil
			}
		}
		if !reflect.DeepEqual(got, rows) {
			t.Errorf("%s = %v, want %v", name, got, rows)
		}
	}
	if c := hasColumn(r, "itl"); c.Gaps != "token" || c.Unit != "s" {
		t.Errorf("itl %+v", c)
	}
	codes := columnOf(t, r, "error")
	dict := r.Requests.Dict("error")
	if codes[0] != nil || dict.Name(int32(codes[2][0])) != "TimeoutError" || dict.Name(int32(codes[3][0])) != "Bad Request" {
		t.Errorf("errors %v", codes)
	}
}

func TestArraysVariants(t *testing.T) {
	t.Run("no errors, no gaps", func(t *testing.T) {
		r, _ := one(t, serveRecord(map[string]any{"output_lens": []int{5, 0}, "ttfts": []float64{.5, 0}, "completed": 1, "num_prompts": 2}))
		if got := columnOf(t, r, "outcome"); got[0][0] != 0 || got[1][0] != float64(serving.Failed) || hasColumn(r, "e2e") != nil || hasColumn(r, "tpot") != nil || hasColumn(r, "itl") != nil {
			t.Errorf("outcomes %v, columns %v", got, r.Requests.Columns())
		}
	})
	t.Run("latencies win", func(t *testing.T) {
		r, _ := one(t, detailed(map[string]any{"latencies": []float64{1, .3, 9, 0, 0}, "queue_times": []float64{1, 1, 1, 1, 1}, "server_queue_times": raw("[null,1,2,3,4]")}))
		if e := columnOf(t, r, "e2e"); e[0][0] != 1 || e[2] != nil {
			t.Errorf("e2e %v", e)
		}
		if p := columnOf(t, r, "tpot"); p[0][0] != .25 || p[1] != nil {
			t.Errorf("tpot %v", p)
		}
		if hasColumn(r, "queue") != nil || len(r.Notes) != 2 {
			t.Errorf("columns %v notes %q: the client's waiting is no server queue", r.Requests.Columns(), r.Notes)
		}
	})
	t.Run("latencies alone", func(t *testing.T) {
		r, _ := one(t, serveRecord(map[string]any{"latencies": []float64{1, 2, 3, 4}}))
		if e := columnOf(t, r, "e2e"); len(e) != 4 || e[3][0] != 4 {
			t.Errorf("e2e %v", e)
		}
		r, _ = one(t, serveRecord(map[string]any{"latencies": []float64{1, 2, 3, 4, 5}}))
		if r.Requests != nil || len(r.Notes) != 1 {
			t.Errorf("which of five requests completed is unknown: %v %q", r.Requests, r.Notes)
		}
	})
	t.Run("differing lengths", func(t *testing.T) {
		r, in := one(t, detailed(map[string]any{"itls": [][]float64{{.125, .25}}, "errors": []string{""}}))
		if in.Problems.Len() != 2 {
			t.Errorf("problems %v, want two", in.Problems.List())
		}
		if got := columnOf(t, r, "outcome"); got[1][0] != 0 || got[3][0] != float64(serving.Failed) {
			t.Errorf("outcomes %v", got)
		}
		if e := columnOf(t, r, "e2e"); e[0] == nil || e[1] != nil {
			t.Errorf("e2e %v: the second request's gaps are unknown", e)
		}
		if g := columnOf(t, r, "itl"); len(g) != 5 || len(g[0]) != 2 {
			t.Errorf("itl %v", g)
		}
	})
	t.Run("bad elements", func(t *testing.T) {
		r, in := one(t, detailed(map[string]any{"ttfts": raw(`[-1, null, "x", NaN, Infinity]`), "itls": raw(`[[0.1,"y"],[],7,[],null]`), "input_lens": raw(`[10.5,1,1,1,1]`)}))
		if in.Problems.Len() != 6 {
			t.Errorf("problems %v", in.Problems.List())
		}
		if p := in.Problems.List()[0]; !strings.HasPrefix(p.String(), "r/c64.json:1: ") {
			t.Errorf("problem %v", p)
		}
		if hasColumn(r, "ttft") != nil || columnOf(t, r, "prompt_tokens")[0] != nil {
			t.Errorf("columns %v", r.Requests.Columns())
		}
	})
	t.Run("chunks", func(t *testing.T) {
		r, _ := one(t, detailed(map[string]any{"itls": [][]float64{{.125}, {}, {}, {}, {}}}))
		if c := hasColumn(r, "itl"); c.Gaps != "chunk" || len(r.Notes) != 1 || !strings.HasPrefix(r.Notes[0], "1 of 2 completed") {
			t.Errorf("itl %+v notes %q", c, r.Notes)
		}
	})
	t.Run("one piece", func(t *testing.T) {
		r, _ := one(t, detailed(map[string]any{"itls": [][]float64{{}, {}, {}, {}, {}}}))
		if hasColumn(r, "tpot") != nil || hasColumn(r, "itl") != nil || columnOf(t, r, "e2e")[0][0] != .5 || len(r.Notes) != 2 || r.OnePiece != 1 {
			t.Errorf("columns %v notes %q", r.Requests.Columns(), r.Notes)
		}
	})
	t.Run("some in one piece", func(t *testing.T) {
		r, _ := one(t, detailed(map[string]any{"itls": [][]float64{{.125, .125}, {}, {}, {}, {}}, "output_lens": []int{3, 2, 0, 0, 0}, "errors": []string{"", "", "x", "x", "x"}}))
		if r.OnePiece <= 0 || r.OnePiece >= 1 || !strings.Contains(strings.Join(r.Notes, "\n"), "their TTFT, which is in the figures, is their E2E") {
			t.Errorf("share %v notes %q", r.OnePiece, r.Notes)
		}
	})
	t.Run("completed disagrees", func(t *testing.T) {
		r, _ := one(t, detailed(map[string]any{"completed": 5}))
		if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "5 completed requests, its arrays have 2") {
			t.Errorf("notes %q", r.Notes)
		}
	})
	t.Run("empty arrays", func(t *testing.T) {
		r, in := one(t, serveRecord(map[string]any{"itls": raw("[]"), "ttfts": raw("[]"), "errors": raw("[]")}))
		if r.Requests != nil || in.Problems.Len() != 0 {
			t.Errorf("requests %v problems %v", r.Requests, in.Problems.List())
		}
	})
}

func TestLayouts(t *testing.T) {
	rec := serveRecord(nil)
	sglang := `{"backend":"sglang","request_throughput":1,"mean_ttft_ms":1,"mean_e2e_latency_ms":4}`
	warm := serveRecord(map[string]any{"run_number": -1})
	tests := []struct {
		name, in string
		runs     int
		problems int
		err      string
	}{
		{"lines", rec + "\n" + rec + "\n", 2, 0, ""},
		{"array", "[" + rec + "," + rec + "]", 2, 0, ""},
		{"bom", "\xef\xbb\xbf" + rec, 1, 0, ""},
		{"cut last", rec + "\n" + rec[:100], 1, 1, ""},
		{"cut in the middle", rec + "\n" + rec[:strings.LastIndex(rec, ":")] + "\n" + rec + "\n" + rec, 3, 1, ""},
		{"cut array", "[" + rec + "," + rec[:100], 1, 1, ""},
		{"cut", rec[:100], 0, 1, "r/c64.json:1: "},
		{"other record between", rec + "\n" + sglang + "\n12\n" + rec, 2, 2, ""},
		{"other", sglang, 0, 1, `no serve result: "mean_e2e_latency_ms" is SGLang's`},
		{"warm-up", "[" + warm + "," + rec + "]", 1, 0, ""},
		{"deep", strings.Repeat("[", 200_000), 0, 1, "depth"},
		{"nul", strings.Repeat("\x00", 1000), 0, 1, "invalid character"},
		{"empty", "", 0, 0, "no JSON value"},
	}
	for _, tt := range tests {
		runs, in, err := decode(t, tt.in)
		if len(runs) != tt.runs || in.Problems.Len() != tt.problems || (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d runs, problems %v, error %v", tt.name, len(runs), in.Problems.List(), err)
		}
		if in.Records != int64(tt.runs) {
			t.Errorf("%s: %d records", tt.name, in.Records)
		}
		var fe *serving.FormatError
		if err != nil && (!errors.As(err, &fe) || fe.Format != FormatServe) {
			t.Errorf("%s: %T", tt.name, err)
		}
	}
	runs, _, _ := decode(t, rec+"\n\n"+rec)
	if runs[0].Source.String() != "r/c64.json:1" || runs[1].Source.String() != "r/c64.json:3" {
		t.Errorf("sources %v, %v", runs[0].Source, runs[1].Source)
	}
	runs, _, _ = decode(t, "[\n"+sglang+",\n"+rec+"]")
	if len(runs) != 1 || runs[0].Source.String() != "r/c64.json:3: [1]" {
		t.Errorf("source %v", runs[0].Source)
	}
}

func TestSniffServe(t *testing.T) {
	tests := []struct {
		keys string
		want bool
	}{
		{"backend model_id request_throughput mean_ttft_ms", true},
		{"backend request_throughput p99.9_itl_ms", true},
		{"model_id request_inthroughput median_tpot_ms", true},
		{"model_id request_throughput ttfts", true},
		{"request_throughput percentiles_ttft_ms", true},
		{"backend model_id request_throughput mean_e2el_ms", true},
		{"backend request_throughput mean_ttft_ms server_info", false},
		{"backend request_throughput mean_ttft_ms total_output_tokens_retokenized", false},
		{"backend model_id request_throughput", false},
		{"request_throughput mean_ttft_ms", false},
		{"model_id mean_ttft_ms", false},
		{"hw tput_per_gpu request_throughput mean_ttft_ms model_id", false},
		{"", false},
	}
	for _, tt := range tests {
		keys := map[string]bool{}
		for _, k := range strings.Fields(tt.keys) {
			keys[k] = true
		}
		if got, why := SniffServe(keys); got != tt.want || got == (why != "") {
			t.Errorf("SniffServe(%s) = %v, %q", tt.keys, got, why)
		}
		if DecidedServe(keys) != (tt.want && keys["model_id"]) {
			t.Errorf("DecidedServe(%s)", tt.keys)
		}
	}
}

// TestProbeStops checks that sniffing a detailed file ends before its gaps.
func TestProbeStops(t *testing.T) {
	in := `{"model_id":"m","request_throughput":1,"ttfts":[` + strings.Repeat("1,", 1000) + `oops`
	s, err := jsonscan.Probe("f", strings.NewReader(in), DecidedServe)
	if ok, _ := SniffServe(s.Keys); err != nil || s.Damage != nil || !ok {
		t.Errorf("probe %+v, %v", s, err)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := DecodeServe(ctx, "f", strings.NewReader(serveRecord(nil)), &serving.Input{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}

func TestClassify(t *testing.T) {
	for text, want := range map[string]serving.Outcome{
		"Gateway Time-out": serving.Timeout, "Request Timeout": serving.Timeout, "Internal Server Error": serving.Failed, "asyncio.CancelledError": serving.Cancelled,
		"Traceback (most recent call last):\nasyncio.exceptions.TimeoutError\n\nThe above exception was the direct cause of the following exception:\n\nTraceback (most recent call last):\nConnectionError: gone": serving.Timeout,
		"Traceback (most recent call last):\n    wait(timeout=5)\nValueError: bad": serving.Failed,
	} {
		if got, _ := classify(text); got != want {
			t.Errorf("classify(%q) = %v, want %v", text, got, want)
		}
	}
}

// FuzzServe checks that nothing panics, that runs are sane, and that cutting the
// input into pieces or adding a second run changes nothing.
func FuzzServe(f *testing.F) {
	rec := serveRecord(nil)
	for _, s := range []string{rec, detailed(nil), "[" + rec + "]", rec + "\n" + rec, rec[:200], "\xef\xbb\xbf" + strings.ReplaceAll(rec, "100", "NaN"),
		detailed(map[string]any{"itls": raw("[[1],null,3,[[]]]"), "latencies": raw("[1e308,1e308,-0.0]"), "start_times": raw("[1e300,0,5]")}),
		serveRecord(map[string]any{"percentiles_ttft_ms": raw(`{"p50":1,"x":2}`), "server_config": raw(`{"a":{"b":{"c":{"d":{"e":1}}}}}`)})} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in := &serving.Input{Bytes: int64(len(text))}
		runs, err := DecodeServe(t.Context(), "f", bytes.NewReader(text), in)
		if err == nil && len(runs) == 0 && in.Note == "" {
			t.Fatal("neither a run nor an error")
		}
		for _, r := range runs {
			sane(t, r)
		}
	})
}

// bigRecord writes a detailed record of so many requests in vLLM's key order.
func bigRecord(requests, tokens, text int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"date":"20260701-120000","backend":"vllm","model_id":"m","tokenizer_id":"m","num_prompts":%d,"request_rate":"inf","burstiness":1.0,"max_concurrency":64,"duration":100.5,"completed":%d,"failed":0,"request_throughput":9.5,"output_throughput":1e4`, requests, requests)
	list := func(name string, f func(i int)) {
		fmt.Fprintf(&b, ",%q:[", name)
		for i := range requests {
			if i > 0 {
				b.WriteByte(',')
			}
			f(i)
		}
		b.WriteByte(']')
	}
	list("input_lens", func(int) { fmt.Fprint(&b, 100+rng.IntN(2000)) })
	list("output_lens", func(int) { fmt.Fprint(&b, tokens) })
	list("ttfts", func(int) { fmt.Fprint(&b, rng.Float64()) })
	list("itls", func(int) {
		b.WriteByte('[')
		for i := range tokens - 1 {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, rng.Float64()/20)
		}
		b.WriteByte(']')
	})
	list("generated_texts", func(int) { fmt.Fprintf(&b, "%q", strings.Repeat("word \"x\"\n", text/9)) })
	list("errors", func(int) { b.WriteString(`""`) })
	b.WriteString(`,"mean_ttft_ms":500.5,"p99_ttft_ms":990.5}`)
	return b.Bytes()
}

// TestMemory reads a record of a million gaps and checks that it costs little
// more than the gaps themselves.
func TestMemory(t *testing.T) {
	text := bigRecord(2000, 500, 2000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	in := &serving.Input{Bytes: int64(len(text))}
	runs, err := DecodeServe(t.Context(), "f", bytes.NewReader(text), in)
	runtime.ReadMemStats(&after)
	if err != nil || len(runs) != 1 {
		t.Fatal(err)
	}
	gaps := 8 * 2000 * 499
	if got := int(after.TotalAlloc - before.TotalAlloc); got > gaps*3/2+2<<20 {
		t.Errorf("%d bytes allocated for %d bytes of gaps", got, gaps)
	}
	runtime.KeepAlive(runs)
}

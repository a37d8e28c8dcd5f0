package aiperf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// The same run in the layouts of a year: flat with versions, flat with nulls,
// below records by tag, below records by title; and as CSV of both tools.
const (
	sumNew   = `{"schema_version":"1.2","aiperf_version":"0.8.0","request_latency":{"unit":"ms","avg":2000.0,"p50":1900.0,"p99":3000.0,"min":900.0,"max":3100.0,"std":200.0,"count":10,"sum":20000.0},"time_to_first_token":{"unit":"ms","avg":250.0,"p99":500.0},"inter_token_latency":{"unit":"ms","avg":20.0},"inter_chunk_latency":{"unit":"ms","avg":21.0},"output_sequence_length":{"unit":"tokens","avg":100.0},"request_count":{"unit":"requests","avg":10.0},"error_request_count":{"unit":"requests","avg":2.0},"request_throughput":{"unit":"requests/sec","avg":0.5},"output_token_throughput":{"unit":"tokens/sec","avg":50.0},"benchmark_duration":{"unit":"sec","avg":20.0},"total_isl":{"unit":"tokens","avg":5000.0},"total_osl":{"unit":"tokens","avg":1000.0},"total_output_tokens":{"unit":"tokens","avg":400.0},"min_request_timestamp":{"unit":"ns","avg":1.760000002000000e18},"goodput":null,"warmup_metrics":{"request_count":{"unit":"requests","avg":99.0}},"telemetry_data":{"endpoints":{"h:9400":{"gpus":{"gpu_0":{"gpu_uuid":"A","metrics":{}}}},"h:9402":{"gpus":{"gpu_0":{"gpu_uuid":"A"},"gpu_1":{"gpu_uuid":"B"}}}}},"input_config":{"endpoint":{"model_names":["m/x"],"type":"chat","streaming":true},"loadgen":{"concurrency":8,"request_count":12,"warmup_request_count":1},"cli_command":"aiperf profile"},"was_cancelled":true,"error_summary":[{"error_details":{"code":499},"count":2}],"start_time":"2026-07-09T09:15:47"}`
	sumNulls = `{"request_throughput":{"unit":"requests/sec","avg":0.5},"request_latency":{"unit":"ms","avg":2000.0},"time_to_first_token":{"unit":"ms","avg":250.0},"request_count":{"unit":"requests","avg":10.0},"benchmark_duration":{"unit":"sec","avg":20.0},"error_request_count":null,"input_config":{"loadgen":{"request_rate":4.5,"concurrency":8}},"was_cancelled":false,"error_summary":[]}`
	sumTags  = `{"records":{"ttft":{"tag":"ttft","unit":"ms","header":"Time to First Token","avg":250.0,"min":null,"p99":500.0},"request_latency":{"tag":"request_latency","unit":"ns","avg":2.0e9},"request_count":{"tag":"request_count","unit":"requests","avg":10.0,"count":1}},"input_config":{"loadgen":{"request_rate":4.5}},"was_cancelled":false,"error_summary":[]}`
	sumTitle = `{"records":{"Time to First Token":{"name":"Time to First Token","unit":"ms","avg":250.0,"streaming_only":true},"Request Latency":{"name":"Request Latency","unit":"ms","avg":2000.0},"Request Count":{"name":"Request Count","unit":"requests","avg":10.0}},"input_config":{}}`
	csvNew   = "Metric,avg,min,max,sum,p1,p50,p99,std\nInter Token Latency (ms),20.00,19.00,21.00,200.00,19.00,20.00,21.00,1.00\nHTTP Waiting (TTFB) (ms),1,1,1,1,1,1,1,1\nRequest Latency (ms),2000.00,900.00,3100.00,20000.00,,1900.00,3000.00,200.00\nTime to First Token (ms),250.00,,,,,,500.00,\n\nMetric,Value\nBenchmark Duration (sec),20.00\nRequest Count,10.00\nError Request Count,2.00\nTotal Output Sequence Length (tokens),1000.00\nMinimum Request Timestamp (ns),1760000002000000000.00\n"
	csvGen   = "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\nTime To First Token (ms),\"1,250.50\",1.00,2.00,1.90,1.90,1.90,1.70,1.50,1.20\nRequest Latency (ms),\"2,000.00\",1,2,2,2,2,2,2,2\nInter Token Latency (ms),20.00,1,2,2,2,2,2,2,2\nOutput Sequence Length,100.00,1,2,2,2,2,2,2,2\n\nMetric,Value\nOutput Token Throughput (per sec),50.00\nRequest Throughput (per sec),0.50\nRequest Count (count),10.00\n"
	csvOld   = "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\nTime To First Token (ns),2000000,2,2,2,2,2,2,2,2\nInter Token Latency (ns),2,2,3,3,3,3,2,2,2\nRequest Latency (ns),8,7,9,9,9,9,8,8,8\nNum Output Token,4,3,5,5,5,5,4,4,4\n\nMetric,Value\nRequest Throughput (per sec),200.00\n"
	genNew   = `{"request_throughput":{"unit":"requests/sec","avg":0.5},"request_latency":{"unit":"ms","avg":2000.0,"p50":2.004},"time_to_first_token":{"unit":"ms","avg":250.0},"inter_token_latency":{"unit":"ms","avg":20.0},"request_count":{"unit":"count","avg":10.0},"input_config":{"model":["m/x"],"concurrency":4,"endpoint_type":"chat","artifact_dir":"a"}}`
)

func decodeSummary(t *testing.T, text string) (*serving.Run, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	decode := DecodeSummary
	if text[0] != '{' {
		decode = DecodeSummaryCSV
	}
	runs, err := decode(t.Context(), "s", strings.NewReader(text), in)
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v: %.60s", len(runs), err, text)
	}
	return runs[0], in
}

func TestSummaries(t *testing.T) {
	for _, tc := range []struct {
		name, text           string
		ttft, e2e            float64 // seconds
		completed, failed    int64   // −1: not stated
		mode                 serving.LoadMode
		duration             float64
		tpot, itl, out, outN float64 // 0: not stated
	}{
		{"new", sumNew, 0.25, 2, 10, 2, serving.ClosedLoop, 20, 0.02, 0.021, 100, 1000},
		{"nulls", sumNulls, 0.25, 2, 10, 0, serving.CappedOpen, 20, 0, 0, 0, 0},
		{"tags", sumTags, 0.25, 2, 10, 0, serving.OpenLoop, 0, 0, 0, 0, 0},
		{"titles", sumTitle, 0.25, 2, 10, -1, serving.UnknownLoad, 0, 0, 0, 0, 0},
		{"csv", csvNew, 0.25, 2, 10, 2, serving.UnknownLoad, 20, 0.02, 0, 0, 1000},
		{"genai csv", csvGen, 1.2505, 2, 10, -1, serving.UnknownLoad, 0, 0.02, 0, 100, 0},
		{"genai csv in ns", csvOld, 0.002, 8e-9, -1, -1, serving.UnknownLoad, 0, 0, 0, 4, 0},
		{"genai", genNew, 0.25, 2, 10, -1, serving.ClosedLoop, 0, 0.02, 0, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, in := decodeSummary(t, tc.text)
			if in.Problems.Len() > 0 {
				t.Errorf("problems: %v", in.Problems.List())
			}
			for m, want := range map[serving.MetricKey]float64{serving.TTFT: tc.ttft, serving.E2E: tc.e2e, serving.TPOT: tc.tpot, serving.ITL: tc.itl, serving.OutputTokens: tc.out} {
				got, ok := r.ReportedValue(m, "mean")
				if ok != (want != 0) || ok && (got-want > 1e-12 || want-got > 1e-12) {
					t.Errorf("%s mean %v %v, want %v", m, got, ok, want)
				}
			}
			counts := func(what string, got serving.Opt[int64], want int64) {
				if got.OK != (want >= 0) || got.OK && got.V != want {
					t.Errorf("%s %v, want %d", what, got, want)
				}
			}
			counts("completed", r.Completed, tc.completed)
			counts("failed", r.Failed, tc.failed)
			if r.Load.Mode != tc.mode || r.Duration.V != tc.duration || float64(r.Output.V) != tc.outN {
				t.Errorf("load %v, duration %v, output %v", r.Load, r.Duration, r.Output)
			}
		})
	}
}

func TestSummaryFacts(t *testing.T) {
	r, _ := decodeSummary(t, sumNew)
	if r.Model.V != "m/x" || r.Backend.V != "chat" || r.Load.MaxConcurrency.V != 8 || r.Started.V != "2026-07-09T09:15:47" {
		t.Errorf("model %v backend %v load %v started %v", r.Model, r.Backend, r.Load, r.Started)
	}
	if r.GPUs.V != 2 {
		t.Errorf("%d GPUs, want 2: one is reported by two exporters", r.GPUs.V)
	}
	if got := fmt.Sprint(r.Settings); got != "[{endpoint.streaming true} {aiperf_version 0.8.0}]" {
		t.Errorf("settings %s: what changes from run to run is in the way of a sweep", got)
	}
	if r.Engine.OK {
		t.Error("an engine that nobody stated")
	}
	if v, _ := r.ReportedValue(serving.TotalOutputTokens, ""); v != 1000 {
		t.Errorf("total output %v, want 1000: reasoning tokens count", v)
	}
}

func TestSummaryOthers(t *testing.T) {
	in := &serving.Input{}
	if tool, why := SniffSummary(map[string]bool{"timeslices": true}, []byte(`{"timeslices":[{"start_ns":1,"end_ns":2,"is_complete":true,"time_to_first_token":{"unit":"ms","avg":5}}]}`)); tool != AIPerf {
		t.Errorf("slices that are numbered by their place: %q, %s", tool, why)
	}
	for _, text := range []string{"", "{", "{}", "[]", `{"request_latency":{"unit":"parsecs","avg":5}}`, `{"service_kind":"openai","experiments":[]}`} {
		if runs, err := DecodeSummary(t.Context(), "s", strings.NewReader(text), &serving.Input{}); err == nil {
			t.Errorf("%q gives %d runs and no error", text, len(runs))
		}
	}
	in = &serving.Input{}
	if runs, err := DecodeSummary(t.Context(), "s", strings.NewReader(sumNew[:900]), in); err != nil || len(runs) != 1 || in.Problems.Len() != 1 {
		t.Errorf("a truncated summary gives %d runs, %v, %v", len(runs), err, in.Problems.List())
	}
}

func TestSniffSummary(t *testing.T) {
	keys := func(names ...string) map[string]bool {
		m := map[string]bool{}
		for _, n := range names {
			m[n] = true
		}
		return m
	}
	head := []byte(`"unit" "avg"`)
	for _, tc := range []struct {
		keys map[string]bool
		head []byte
		want Tool
	}{
		{keys("request_latency", "time_to_first_token", "aiperf_version"), head, AIPerf},
		{keys("request_latency", "ttft", "input_config", "was_cancelled"), head, AIPerf},
		{keys("request_latency", "time_to_first_token", "input_config"), head, GenAIPerf},
		{keys("records", "input_config"), head, AIPerf},
		{keys("records", "input_config"), []byte("{}"), ""},
		{keys("request_throughput", "model_id", "ttfts"), head, ""},
		{keys("request_throughput", "mean_ttft_ms", "model_id"), []byte("{}"), ""},
		{keys("experiments", "service_kind"), nil, GenAIPerf},
	} {
		if got, why := SniffSummary(tc.keys, tc.head); got != tc.want || got == "" && why == "" {
			t.Errorf("%v: %q (%s), want %q", tc.keys, got, why, tc.want)
		}
	}
	for text, want := range map[string]Tool{sliceRowsNew: AIPerf, sliceRowsOld: AIPerf, csvNew: AIPerf, csvGen: GenAIPerf, csvOld: GenAIPerf, "Metric,avg,min,max\nApples,1,2,3\n": "", "a,b\n1,2\n": "", "": ""} {
		if got, why := SniffSummaryCSV([]byte(text)); got != want || got == "" && why == "" {
			t.Errorf("%.30q: %q (%s), want %q", text, got, why, want)
		}
	}
}

func TestSameRun(t *testing.T) {
	json, _ := decodeSummary(t, sumNew)
	csv, _ := decodeSummary(t, csvNew)
	records, _ := decodeRecords(t, recWarm+"\n"+recA)
	gen, _ := decodeSummary(t, genNew)
	other, _ := decodeSummary(t, strings.Replace(sumNew, "1.760000002000000e18", "1.760000009000000e18", 1))
	late := *records
	if !SameRun(json, records) || !SameRun(records, json) {
		t.Error("a summary and its records are two runs: 123 ns apart, the precision of a float64")
	}
	if !SameRun(json, csv) || !SameRun(csv, json) {
		t.Error("a summary and its CSV are two runs")
	}
	if SameRun(json, other) || SameRun(other, &late) || SameRun(json, gen) {
		t.Error("two runs are one")
	}
	// GenAI-Perf has no times: its CSV is the JSON's figures rounded.
	var b strings.Builder
	b.WriteString("Metric,avg,min,max,p99,p95,p90,p75,p50,p25\n")
	row := func(name, unit string) string {
		return fmt.Sprintf(`"%s":{"unit":"%s","avg":10.123,"min":1.001,"max":20.555,"p99":19.994,"p95":18.2,"p90":17,"p75":15,"p50":10,"p25":5}`, name, unit)
	}
	for _, n := range []string{"Time To First Token (ms)", "Request Latency (ms)"} {
		b.WriteString(n + ",10.12,1.00,20.56,19.99,18.20,17.00,15.00,10.00,5.00\n")
	}
	fine := "{" + row("time_to_first_token", "ms") + "," + row("request_latency", "ms") + `,"input_config":{}}`
	x, _ := decodeSummary(t, fine)
	y, _ := decodeSummary(t, b.String())
	z, _ := decodeSummary(t, strings.Replace(b.String(), "18.20", "18.30", 1))
	if !SameRun(x, y) || SameRun(x, z) {
		t.Error("rounding does not decide")
	}

	Merge(json, records)
	if json.Requests == nil || json.Completed.V != 1 || json.Duration.V != records.Duration.V || len(json.Reported) == 0 || json.Load.MaxConcurrency.V != 8 {
		t.Errorf("merged to %+v", json)
	}
	if !strings.Contains(fmt.Sprint(json.Notes), "the summary counts 10 completed requests and the records hold 1") {
		t.Errorf("notes %q do not tell that the records are not all", json.Notes)
	}
}

func FuzzSummary(f *testing.F) {
	for _, s := range []string{sumNew, sumNulls, sumTags, sumTitle, genNew, slicesNew, slicesOld, slicesOdd} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		runs, err := DecodeSummary(t.Context(), "s", strings.NewReader(s), &serving.Input{})
		checkFuzzed(t, runs, err)
	})
}

func FuzzSummaryCSV(f *testing.F) {
	for _, s := range []string{csvNew, csvGen, csvOld, "Metric\n,0", sliceRowsNew, sliceRowsOld} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		SniffSummaryCSV([]byte(s))
		runs, err := DecodeSummaryCSV(t.Context(), "s", strings.NewReader(s), &serving.Input{})
		checkFuzzed(t, runs, err)
	})
}

func checkFuzzed(t *testing.T, runs []*serving.Run, err error) {
	for _, r := range runs {
		if err != nil {
			t.Error("runs beside an error")
		}
		for _, a := range r.Reported {
			if v := a.Value(); v-v != 0 {
				t.Errorf("%s is %v", a.Field, v)
			}
		}
		SameRun(r, r)
		if c := r.Course; c != nil {
			checkCourse(t, c)
			PlaceSlices(r)
			if !MayHold(r, c) {
				t.Error("a run's own course is not its own")
			}
		}
	}
}

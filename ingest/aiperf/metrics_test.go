package aiperf

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

const (
	metricsJSON = `{"schema_version":"1.0","aiperf_version":"0.10.0","benchmark_id":"x","summary":{"endpoints_configured":["http://h:8000/metrics"],"endpoint_info":{"http://h:8000/metrics":{"first_update_ns":1760000000000000000,"last_update_ns":1760000100000000000}}},"metrics":{
"vllm:num_requests_running":{"type":"gauge","series":[{"endpoint_url":"http://h:8000/metrics","labels":{"model_name":"m","engine":"0"},"stats":{"avg":3.5,"max":8}}]},
"vllm:prompt_tokens":{"series":[{"endpoint_url":"http://h:8000/metrics","labels":{"model_name":"m","engine":"0"},"stats":{"total":5000,"rate":100}}],"type":"counter"},
"vllm:time_to_first_token_seconds":{"type":"histogram","series":[{"endpoint_url":"http://h:8000/metrics","labels":{"model_name":"m","engine":"0"},"stats":{"count":10,"sum":4.5},"buckets":{"0.5":8,"1":10,"+Inf":10}}]}}}`
	metricsSliced = `{"aiperf_version":"0.10.0","summary":{},"metrics":{
"vllm:num_requests_running":{"type":"gauge","series":[{"endpoint_url":"http://h:8000/metrics","labels":null,"stats":{"avg":3.5},"timeslices":[{"start_ns":1760000002000000000,"end_ns":1760000004000000000,"avg":6},{"start_ns":1760000000000000000,"end_ns":1760000002000000000,"avg":1.5,"min":0}]}]},
"vllm:num_preemptions":{"type":"counter","series":[{"endpoint_url":"http://h:8000/metrics","stats":{"total":5,"rate":1},"timeslices":[{"start_ns":1760000000000000000,"end_ns":1760000002000000000,"total":2},{"start_ns":1760000002000000000,"end_ns":1760000004000000000,"total":3}]}]},
"vllm:e2e_request_latency_seconds":{"type":"histogram","series":[{"endpoint_url":"http://h:8000/metrics","stats":{"count":3,"sum":6},"buckets":{"1":1,"+Inf":3},"timeslices":[{"start_ns":1760000000000000000,"end_ns":1760000002000000000,"count":1,"sum":0.5,"buckets":{"1":1,"+Inf":1}},{"start_ns":1760000002000000000,"end_ns":1760000004000000000,"count":2,"sum":5.5,"buckets":{"1":0,"+Inf":2}}]}]}}}`
	metricsCSVText = "# AIPerf Server Metrics Export (CSV)\n# aiperf_version: 0.8.0\n#\nEndpoint,Type,Metric,Unit,avg,min,max,p50,p99,engine,model_name,Description\nh:8000,gauge,vllm:kv_cache_usage_perc,ratio,0.0706,0,0.1378,0.0766,0.1365,0,m,\"KV-cache usage, 1 means 100 percent.\"\nh:8000,gauge,process_open_fds,,49,48,52,49,52,,,fds\n\nEndpoint,Type,Metric,Unit,total,rate,rate_avg,engine,model_name,Description\nh:8000,counter,vllm:generation_tokens,tokens,2000,40,40,0,m,d\n\nEndpoint,Type,Metric,Unit,count,count_rate,sum,avg,p99_estimate,engine,model_name,Description,buckets\nh:8000,histogram,vllm:request_queue_time_seconds,seconds,5,0.1,2.5,0.5,1,0,m,d,0.3=4;+Inf=5\n\nEndpoint,Metric,Key,Value,Description\nh:8000,vllm:cache_config_info,block_size,16,d\nh:8000,vllm:cache_config_info,num_gpu_blocks,100,d\n"
	metricsLines   = `{"endpoint_url":"http://h:8000/metrics","timestamp_ns":1760000000000000000,"endpoint_latency_ns":5,"metrics":{"vllm:num_requests_running":[{"labels":{"model_name":"m \"q\""},"value":3.0}],"vllm:time_to_first_token_seconds":[{"labels":{"model_name":"m"},"histogram":{"0.5":8.0,"+Inf":10.0},"sum":4.5,"count":10.0}],"vllm:request_prompt_tokens":[{"histogram":[1,2],"sum":5,"count":2}]}}` + "\n" + `{"metrics":{"vllm:num_requests_running":[{"value":4.0}]},"timestamp_ns":1760000000333000000,"endpoint_url":"http://h:8000/metrics"}` + "\n"
)

func text(t *testing.T, m *Metrics, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := m.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An aggregate is two scrapes: what counted, from zero to the increase, and the
// time between them from a total and its rate.
func TestMetricsJSON(t *testing.T) {
	in := &serving.Input{}
	m, err := DecodeMetricsJSON(t.Context(), "m.json", strings.NewReader(metricsJSON), in)
	got := text(t, m, err)
	want := `# Timestamp: 1760000050000000000
# Pod: h:8000
vllm:prompt_tokens_total{model_name="m",engine="0"} 0
vllm:time_to_first_token_seconds_count{model_name="m",engine="0"} 0
vllm:time_to_first_token_seconds_sum{model_name="m",engine="0"} 0
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="0.5"} 0
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="1"} 0
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="+Inf"} 0
# Timestamp: 1760000100000000000
# Pod: h:8000
vllm:prompt_tokens_total{model_name="m",engine="0"} 5000
vllm:time_to_first_token_seconds_count{model_name="m",engine="0"} 10
vllm:time_to_first_token_seconds_sum{model_name="m",engine="0"} 4.5
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="0.5"} 8
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="1"} 10
vllm:time_to_first_token_seconds_bucket{model_name="m",engine="0",le="+Inf"} 10
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !m.Aggregated || m.Relative || in.Records != 3 {
		t.Errorf("aggregated %v relative %v records %d", m.Aggregated, m.Relative, in.Records)
	}
	if d := cmp.Diff([]serving.Setting{{Key: "avg of vllm:num_requests_running", Value: "3.5"}, {Key: "max of vllm:num_requests_running", Value: "8"}}, m.Levels["h:8000"]); d != "" {
		t.Error(d)
	}
}

// Time slices are a course: gauges their means, the others running sums.
func TestMetricsTimeslices(t *testing.T) {
	m, err := DecodeMetricsJSON(t.Context(), "m.json", strings.NewReader(metricsSliced), &serving.Input{})
	want := `# Timestamp: 1760000000000000000
# Pod: h:8000
vllm:num_preemptions_total 0
vllm:e2e_request_latency_seconds_count 0
vllm:e2e_request_latency_seconds_sum 0
vllm:e2e_request_latency_seconds_bucket{le="1"} 0
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 0
# Timestamp: 1760000002000000000
# Pod: h:8000
vllm:num_requests_running 1.5
vllm:num_preemptions_total 2
vllm:e2e_request_latency_seconds_count 1
vllm:e2e_request_latency_seconds_sum 0.5
vllm:e2e_request_latency_seconds_bucket{le="1"} 1
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 1
# Timestamp: 1760000004000000000
# Pod: h:8000
vllm:num_requests_running 6
vllm:num_preemptions_total 5
vllm:e2e_request_latency_seconds_count 3
vllm:e2e_request_latency_seconds_sum 6
vllm:e2e_request_latency_seconds_bucket{le="1"} 1
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 3
`
	if d := cmp.Diff(want, text(t, m, err)); d != "" {
		t.Error(d)
	}
	if m.Aggregated || m.Relative {
		t.Error("a course with times is aggregated or relative")
	}
}

func TestMetricsCSV(t *testing.T) {
	m, err := DecodeMetricsCSV(t.Context(), "m.csv", strings.NewReader(metricsCSVText), &serving.Input{})
	want := `# Timestamp: 1000000000000000000
# Pod: h:8000
vllm:generation_tokens_total{engine="0",model_name="m"} 0
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 0
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 0
vllm:request_queue_time_seconds_bucket{engine="0",model_name="m",le="0.3"} 0
vllm:request_queue_time_seconds_bucket{engine="0",model_name="m",le="+Inf"} 0
vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1
# Timestamp: 1000000050000000000
# Pod: h:8000
vllm:generation_tokens_total{engine="0",model_name="m"} 2000
vllm:request_queue_time_seconds_count{engine="0",model_name="m"} 5
vllm:request_queue_time_seconds_sum{engine="0",model_name="m"} 2.5
vllm:request_queue_time_seconds_bucket{engine="0",model_name="m",le="0.3"} 4
vllm:request_queue_time_seconds_bucket{engine="0",model_name="m",le="+Inf"} 5
vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1
`
	if d := cmp.Diff(want, text(t, m, err)); d != "" {
		t.Error(d)
	}
	if !m.Relative || len(m.Levels["h:8000"]) != 5 {
		t.Errorf("relative %v, levels %v: want the five of the engine's gauge", m.Relative, m.Levels)
	}
}

func TestMetricsLines(t *testing.T) {
	in := &serving.Input{}
	var b bytes.Buffer
	if err := WriteScrapes(t.Context(), "m.jsonl", strings.NewReader(metricsLines+"{broken\n"), in, &b); err != nil {
		t.Fatal(err)
	}
	want := `# Timestamp: 1760000000000000000
# Pod: h:8000
vllm:num_requests_running{model_name="m \"q\""} 3
vllm:num_requests_running_total{model_name="m \"q\""} 3
vllm:time_to_first_token_seconds_bucket{model_name="m",le="0.5"} 8
vllm:time_to_first_token_seconds_bucket{model_name="m",le="+Inf"} 10
vllm:time_to_first_token_seconds_sum{model_name="m"} 4.5
vllm:time_to_first_token_seconds_count{model_name="m"} 10
vllm:request_prompt_tokens_sum 5
vllm:request_prompt_tokens_count 2
# Timestamp: 1760000000333000000
# Pod: h:8000
vllm:num_requests_running 4
vllm:num_requests_running_total 4
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	if in.Records != 2 || in.Problems.Len() != 2 {
		t.Errorf("%d records, %v: want 2, and a problem for the broken line and one for the bare buckets", in.Records, in.Problems.List())
	}
}

func TestMetricsNothing(t *testing.T) {
	for _, s := range []string{"", "{", "{}", `{"metrics":{}}`, `{"metrics":{"a b":{"type":"gauge","series":[{}]}}}`} {
		if _, err := DecodeMetricsJSON(t.Context(), "x", strings.NewReader(s), &serving.Input{}); err == nil {
			t.Errorf("%q gives no error", s)
		}
	}
	for _, s := range []string{"", "a,b\n", "# AIPerf Server Metrics Export (CSV)\n"} {
		if _, err := DecodeMetricsCSV(t.Context(), "x", strings.NewReader(s), &serving.Input{}); err == nil {
			t.Errorf("%q gives no error", s)
		}
	}
}

func fuzzMetrics(t *testing.T, m *Metrics, err error) {
	if err == nil {
		text(t, m, nil)
	}
}

func FuzzMetricsJSON(f *testing.F) {
	f.Add(metricsJSON)
	f.Add(metricsSliced)
	f.Fuzz(func(t *testing.T, s string) {
		m, err := DecodeMetricsJSON(t.Context(), "x", strings.NewReader(s), &serving.Input{})
		fuzzMetrics(t, m, err)
	})
}

func FuzzMetricsCSV(f *testing.F) {
	f.Add(metricsCSVText)
	f.Fuzz(func(t *testing.T, s string) {
		SniffMetricsCSV([]byte(s))
		m, err := DecodeMetricsCSV(t.Context(), "x", strings.NewReader(s), &serving.Input{})
		fuzzMetrics(t, m, err)
	})
}

func FuzzMetricsLines(f *testing.F) {
	f.Add(metricsLines)
	f.Fuzz(func(t *testing.T, s string) {
		_ = WriteScrapes(t.Context(), "x", strings.NewReader(s), &serving.Input{}, &bytes.Buffer{})
	})
}

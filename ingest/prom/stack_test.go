package prom

import (
	"math"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// What exporters write, and what it is.
func TestStack(t *testing.T) {
	for _, c := range []struct {
		name, text string
		engine     string
		gauges     map[serving.SeriesName]float64
		counters   map[serving.SeriesName]float64
		means      map[serving.MetricKey]float64
		not        []serving.SeriesName
	}{
		{
			name: "dcgm", text: `DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="a",Hostname="h"} 50
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="b",Hostname="h"} 100
DCGM_FI_DEV_FB_USED{gpu="0",UUID="a",Hostname="h"} 1024
DCGM_FI_DEV_FB_USED{gpu="1",UUID="b",Hostname="h"} 1
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="a",Hostname="h"} 300.5
DCGM_FI_PROF_SM_ACTIVE{gpu="0",UUID="a",Hostname="h"} 9223372036854775794
`,
			gauges: map[serving.SeriesName]float64{serving.GPUUtil: 0.75, serving.GPUMemoryUsed: 1025 << 20, serving.GPUPower: 300.5},
			not:    []serving.SeriesName{gpuSM},
		},
		{
			name: "triton", engine: "triton", text: `nv_inference_request_success{model="ensemble",version="1"} 20
nv_inference_request_success{model="tensorrt_llm",version="1"} 20
nv_inference_request_failure{model="tensorrt_llm",reason="REJECTED",version="1"} 2
nv_inference_request_duration_us{model="ensemble",version="1"} 50000000
nv_inference_request_duration_us{model="tensorrt_llm",version="1"} 40000000
nv_inference_queue_duration_us{model="tensorrt_llm",version="1"} 10000000
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.4
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="scheduled",version="1"} 7
nv_trt_llm_request_metrics{model="tensorrt_llm",request_type="max",version="1"} 128
nv_inference_pending_request_count{model="tensorrt_llm",version="1"} 3
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="used",model="tensorrt_llm",version="1"} 25
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="tensorrt_llm",version="1"} 100
`,
			gauges:   map[serving.SeriesName]float64{serving.GPUUtil: 0.4, serving.Running: 7, serving.Waiting: 3, serving.KVUsage: 0.25},
			counters: map[serving.SeriesName]float64{serving.FinishedTotal: 22},
			means:    map[serving.MetricKey]float64{serving.E2E: 2, serving.Queue: 0.5},
		},
		{
			name: "tgi", engine: "tgi", text: `tgi_queue_size 4
tgi_batch_current_size 8
tgi_request_success 10
tgi_request_failure{err="overloaded"} 1
tgi_request_duration_bucket{le="1.5"} 4
tgi_request_duration_bucket{le="+Inf"} 10
tgi_request_duration_sum 20
tgi_request_duration_count 10
tgi_request_mean_time_per_token_duration_sum 9
`,
			gauges:   map[serving.SeriesName]float64{serving.Waiting: 4, serving.Running: 8},
			counters: map[serving.SeriesName]float64{serving.FinishedTotal: 11},
			means:    map[serving.MetricKey]float64{serving.E2E: 2},
		},
		{
			name: "dynamo", engine: "dynamo", text: `dynamo_frontend_queued_requests{model="m"} 6
dynamo_component_kvstats_gpu_cache_usage_percent{model="m"} 0.5
dynamo_frontend_time_to_first_token_seconds_bucket{model="m",le="1"} 4
dynamo_frontend_time_to_first_token_seconds_bucket{model="m",le="+Inf"} 4
dynamo_frontend_time_to_first_token_seconds_sum{model="m"} 2
dynamo_frontend_time_to_first_token_seconds_count{model="m"} 4
`,
			gauges: map[serving.SeriesName]float64{frontQueued: 6, serving.KVUsage: 0.5},
			means:  map[serving.MetricKey]float64{serving.TTFT: 0.5},
			not:    []serving.SeriesName{serving.Waiting},
		},
		{
			name: "llm-d, under both names", engine: "llm-d", text: `llm_d_epp_request_total{model_name="m",priority="0"} 5
llm_d_epp_request_total{model_name="m",priority="1"} 5
inference_objective_request_total{model_name="m",priority="0"} 5
inference_objective_request_total{model_name="m",priority="1"} 5
llm_d_epp_request_running{model_name="m",priority="0"} 1
llm_d_epp_request_running{model_name="m",priority="1"} 2
inference_objective_running_requests{model_name="m",priority="0"} 1
llm_d_epp_request_ttft_seconds_sum{model_name="m"} 5
llm_d_epp_request_ttft_seconds_count{model_name="m"} 10
inference_objective_request_ttft_seconds_sum{model_name="m"} 5
inference_objective_request_ttft_seconds_count{model_name="m"} 10
`,
			gauges:   map[serving.SeriesName]float64{inFlight: 3},
			counters: map[serving.SeriesName]float64{received: 10},
			means:    map[serving.MetricKey]float64{serving.TTFT: 0.5},
			not:      []serving.SeriesName{serving.Running},
		},
		{
			name: "cadvisor", text: `container_cpu_cfs_periods_total{container="vllm",pod="p",id="/k/1"} 100
container_cpu_cfs_throttled_periods_total{container="vllm",pod="p",id="/k/1"} 25
container_cpu_cfs_periods_total{container="",pod="p",id="/k"} 100
container_cpu_cfs_throttled_periods_total{container="",pod="p",id="/k"} 25
container_cpu_cfs_periods_total{container="POD",pod="p",id="/k/2"} 3
`,
			counters: map[serving.SeriesName]float64{serving.CPUPeriods: 100, serving.CPUThrottled: 25},
		},
	} {
		scrapes, in := decoded(t, Parse, "x", c.text)
		servers, ps := Assemble(scrapes, AssembleOptions{})
		if len(servers) != 1 || len(ps) > 0 || in.Problems.Len() > 0 || servers[0].Engine != c.engine {
			t.Errorf("%s: %d servers, problems %v %v", c.name, len(servers), ps, in.Problems.List())
			continue
		}
		s := servers[0]
		for n, want := range c.gauges {
			if g := s.GaugeOf(n); g == nil || math.Abs(g.Values[0]-want) > 1e-9*want {
				t.Errorf("%s: %s is %v, want %v", c.name, n, g, want)
			}
		}
		for n, want := range c.counters {
			if x := counterNamed(s, n); x == nil || x.Values[0] != want {
				t.Errorf("%s: %s is %v, want %v", c.name, n, x, want)
			}
		}
		for m, want := range c.means {
			if h := s.HistogramOf(m); h == nil || math.Abs(h.Sum[0]/h.Count[0]-want) > 1e-9 {
				t.Errorf("%s: %s is %v, want a mean of %v", c.name, m, h, want)
			}
		}
		for _, n := range c.not {
			if s.GaugeOf(n) != nil {
				t.Errorf("%s: %s is there: %v", c.name, n, s.GaugeOf(n))
			}
		}
	}
}

// A figure of two families shows both in its query.
func TestQueryOfSeveralFamilies(t *testing.T) {
	scrapes, _ := decoded(t, Parse, "x", "tgi_request_success 10\ntgi_request_failure{err=\"overloaded\"} 1\n")
	s := onlyServer(t, scrapes)
	if got, want := counterNamed(s, serving.FinishedTotal).PromQL, `{__name__=~"tgi_request_failure|tgi_request_success"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

package prom

import "github.com/vreport/vreport/ingest/serving"

// What stands around and beside vLLM and SGLang: other engines, the front ends
// and routers before them, and the machine below. Figures that mean something
// else than an engine's of a similar name keep a name of their own: a router's
// queue ends at the engine, Dynamo's at the first token.
const (
	frontQueued   serving.SeriesName = "queued_until_first_token" // Dynamo: from arrival to the first token, prefill inside
	inFlight      serving.SeriesName = "requests_in_flight"       // from arrival to the end, wherever they are
	poolKVUsage   serving.SeriesName = "pool_mean_kv_usage"       // the mean over the endpoints of a pool
	poolQueue     serving.SeriesName = "pool_mean_waiting"
	received      serving.SeriesName = "requests_received" // whatever became of them
	poolEndpoints serving.SeriesName = "pool_ready_endpoints"
	gpuMemoryFree serving.SeriesName = "gpu_memory_free"
	gpuSM         serving.SeriesName = "gpu_sm_active" // share of time, averaged over the multiprocessors
	gpuTensor     serving.SeriesName = "gpu_tensor_active"
	gpuEngine     serving.SeriesName = "gpu_graphics_engine_active"
	gpuCopy       serving.SeriesName = "gpu_memory_copy_util"
)

const (
	mebi   = 1 << 20
	micro  = 1e-6
	milli  = 1e-3
	maxMiB = 1 << 30 // of a device: DCGM's "no data" is far beyond
	maxW   = 1e5
)

// tritonStages are the models of TensorRT-LLM's usual ensemble around the engine:
// each counts every request once more.
var tritonStages = []string{"ensemble", "preprocessing", "postprocessing", "tensorrt_llm_bls"}

var gpuLabels = []string{"gpu", "gpu_uuid", "UUID", "gpu_id"}

func dcgm(name string, as serving.SeriesName, unit serving.Unit, scale, max float64, how over) row {
	return row{name: "DCGM_FI_" + name, kind: gauge, as: sname(as), unit: unit, scale: scale, max: max, by: gpuLabels, dim: "gpu", over: how, host: true}
}

func triton(r row) row { r.engine = "triton"; return r }

// epp makes the rows of a family that llm-d's router exposes under its present
// and its former names at once.
func epp(r row, name string, former ...string) []row {
	r.engine = "llm-d"
	var out []row
	for i, n := range append([]string{"llm_d_epp_" + name}, former...) {
		r.name, r.prefer = n, i
		out = append(out, r)
	}
	return out
}

var stackRows = joinRows(
	// Text Generation Inference: seconds without saying so, and counters without
	// _total. It has no TTFT.
	[]row{
		{engine: "tgi", name: "tgi_batch_current_size", kind: gauge, as: sname(serving.Running), unit: serving.RequestsUnit},
		{engine: "tgi", name: "tgi_queue_size", kind: gauge, as: sname(serving.Waiting), unit: serving.RequestsUnit},
		{engine: "tgi", name: "tgi_request_success", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit, dim: "reason", fixed: "success", whole: true},
		{engine: "tgi", name: "tgi_request_failure", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit, by: []string{"err"}, dim: "reason", whole: true},
		{engine: "tgi", name: "tgi_request_duration", kind: histogram, as: mkey(serving.E2E), unit: serving.Seconds},
		{engine: "tgi", name: "tgi_request_queue_duration", kind: histogram, as: mkey(serving.Queue), unit: serving.Seconds},
		{engine: "tgi", name: "tgi_request_input_length", kind: histogram, as: mkey(serving.PromptTokens), unit: serving.Tokens},
		{engine: "tgi", name: "tgi_request_generated_tokens", kind: histogram, as: mkey(serving.OutputTokens), unit: serving.Tokens},
		{engine: "tgi", name: "tgi_request_inference_duration", kind: unused, why: "prefill and decode in one: neither of them"},
		{engine: "tgi", name: "tgi_request_mean_time_per_token_duration", kind: unused, why: "the first token is inside: neither ITL nor TPOT"},
	},

	// Triton with TensorRT-LLM behind it, then TensorRT-LLM's own server.
	[]row{
		triton(row{name: "nv_trt_llm_request_metrics", kind: gauge, where: [2]string{"request_type", "scheduled"}, as: sname(serving.Running), unit: serving.RequestsUnit}),
		triton(row{name: "nv_trt_llm_request_metrics", kind: gauge, where: [2]string{"request_type", "waiting"}, as: sname(serving.Waiting), unit: serving.RequestsUnit}),
		triton(row{name: "nv_inference_pending_request_count", kind: gauge, as: sname(serving.Waiting), unit: serving.RequestsUnit, prefer: 1}),
		triton(row{name: "nv_trt_llm_kv_cache_block_metrics", kind: gauge, where: [2]string{"kv_cache_block_type", "fraction"}, as: sname(serving.KVUsage), unit: serving.Share}),
		triton(row{name: "nv_trt_llm_kv_cache_block_metrics", kind: gauge, where: [2]string{"kv_cache_block_type", "used"}, as: sname(kvBlocksUsed), unit: serving.NoUnit}),
		triton(row{name: "nv_trt_llm_kv_cache_block_metrics", kind: gauge, where: [2]string{"kv_cache_block_type", "max"}, as: sname(kvBlocksMax), unit: serving.NoUnit}),
		triton(row{name: "nv_trt_llm_general_metrics", kind: counter, where: [2]string{"general_type", "iteration_counter"}, as: sname(serving.Iterations), unit: serving.NoUnit}),
		triton(row{name: "nv_inference_request_success", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit, dim: "reason", fixed: "success", whole: true}),
		triton(row{name: "nv_inference_request_failure", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit, by: []string{"reason"}, dim: "reason", fixed: "failure", whole: true}),
		triton(row{name: "nv_inference_request_duration_us", kind: counter, as: sname(tritonE2E), unit: serving.Seconds, scale: micro}),
		triton(row{name: "nv_inference_queue_duration_us", kind: counter, as: sname(tritonQueue), unit: serving.Seconds, scale: micro}),
		triton(row{name: "nv_inference_first_response_histogram_ms", kind: histogram, as: mkey(serving.TTFT), unit: serving.Seconds, scale: milli}),
		triton(row{name: "nv_llm_input_token_len", kind: histogram, as: mkey(serving.PromptTokens), unit: serving.Tokens}),
		triton(row{name: "nv_llm_output_token_len", kind: histogram, as: mkey(serving.OutputTokens), unit: serving.Tokens}),
		// Triton's share is 0…1 where DCGM's is a percentage.
		{name: "nv_gpu_utilization", kind: gauge, as: sname(serving.GPUUtil), unit: serving.Share, max: 1, by: gpuLabels, dim: "gpu", over: overMean, host: true},
		{name: "nv_gpu_memory_used_bytes", kind: gauge, as: sname(serving.GPUMemoryUsed), unit: serving.Bytes, max: maxMiB * mebi, by: gpuLabels, dim: "gpu", over: overSum, host: true},
		{name: "nv_gpu_power_usage", kind: gauge, as: sname(serving.GPUPower), unit: serving.NoUnit, max: maxW, by: gpuLabels, dim: "gpu", over: overSum, host: true},

		{engine: "trtllm", name: "trtllm:kv_cache_utilization", kind: gauge, as: sname(serving.KVUsage), unit: serving.Share},
		{engine: "trtllm", name: "trtllm:kv_cache_hit_rate", kind: gauge, as: sname(serving.PrefixHitRatio), unit: serving.Share},
		{engine: "trtllm", name: "trtllm:request_success_total", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit, by: []string{"finished_reason"}, dim: "reason", whole: true},
		{engine: "trtllm", name: "trtllm:time_to_first_token_seconds", kind: histogram, as: mkey(serving.TTFT), unit: serving.Seconds},
		{engine: "trtllm", name: "trtllm:time_per_output_token_seconds", kind: histogram, as: mkey(serving.TPOT), unit: serving.Seconds},
		{engine: "trtllm", name: "trtllm:e2e_request_latency_seconds", kind: histogram, as: mkey(serving.E2E), unit: serving.Seconds},
		{engine: "trtllm", name: "trtllm:request_queue_time_seconds", kind: histogram, as: mkey(serving.Queue), unit: serving.Seconds},
	},

	// Dynamo: its front end, and its workers' share of blocks, which is 0…1 in
	// spite of its name.
	[]row{
		{engine: "dynamo", name: "dynamo_frontend_queued_requests", kind: gauge, as: sname(frontQueued), unit: serving.RequestsUnit, sum: true},
		{engine: "dynamo", name: "dynamo_frontend_inflight_requests", kind: gauge, as: sname(inFlight), unit: serving.RequestsUnit, sum: true},
		{engine: "dynamo", name: "dynamo_component_kvstats_gpu_cache_usage_percent", kind: gauge, as: sname(serving.KVUsage), unit: serving.Share},
		{engine: "dynamo", name: "dynamo_component_kvstats_gpu_prefix_cache_hit_rate", kind: gauge, as: sname(serving.PrefixHitRatio), unit: serving.Share},
		{engine: "dynamo", name: "dynamo_frontend_requests_total", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit, by: []string{"status"}, dim: "reason", whole: true},
		{engine: "dynamo", name: "dynamo_frontend_output_tokens_total", kind: counter, as: sname(serving.GenerationTotal), unit: serving.Tokens},
		{engine: "dynamo", name: "dynamo_frontend_time_to_first_token_seconds", kind: histogram, as: mkey(serving.TTFT), unit: serving.Seconds},
		{engine: "dynamo", name: "dynamo_frontend_inter_token_latency_seconds", kind: histogram, as: mkey(serving.ITL), unit: serving.Seconds},
		{engine: "dynamo", name: "dynamo_frontend_request_duration_seconds", kind: histogram, as: mkey(serving.E2E), unit: serving.Seconds},
		{engine: "dynamo", name: "dynamo_frontend_input_sequence_tokens", kind: histogram, as: mkey(serving.PromptTokens), unit: serving.Tokens},
		{engine: "dynamo", name: "dynamo_frontend_output_sequence_tokens", kind: histogram, as: mkey(serving.OutputTokens), unit: serving.Tokens},
	},

	// llm-d's router (EPP), once the Gateway API inference extension. The time in
	// its queue ends where the engine's begins, and so does its TTFT not begin
	// there: they are figures of the router and stand under engine "llm-d".
	epp(row{kind: gauge, as: sname(inFlight), unit: serving.RequestsUnit, sum: true}, "request_running", "inference_objective_running_requests", "inference_model_running_requests"),
	epp(row{kind: gauge, as: sname(serving.Waiting), unit: serving.RequestsUnit, sum: true}, "flow_control_queue_size", "llm_d_inference_scheduler_flow_control_queue_size", "inference_extension_flow_control_queue_size"),
	epp(row{kind: gauge, as: sname(poolKVUsage), unit: serving.Share}, "average_kv_cache_utilization", "inference_pool_average_kv_cache_utilization"),
	epp(row{kind: gauge, as: sname(poolQueue), unit: serving.RequestsUnit}, "average_queue_size", "inference_pool_average_queue_size"),
	epp(row{kind: gauge, as: sname(poolEndpoints), unit: serving.NoUnit}, "ready_endpoints", "inference_pool_ready_pods", "inference_pool_ready_endpoints"),
	epp(row{kind: counter, as: sname(received), unit: serving.RequestsUnit}, "request_total", "inference_objective_request_total", "inference_model_request_total"),
	epp(row{kind: histogram, as: mkey(serving.TTFT), unit: serving.Seconds}, "request_ttft_seconds", "inference_objective_request_ttft_seconds"),
	epp(row{kind: histogram, as: mkey(serving.TPOT), unit: serving.Seconds}, "request_streaming_tpot_seconds"),
	epp(row{kind: histogram, as: mkey(serving.ITL), unit: serving.Seconds}, "request_streaming_itl_seconds"),
	epp(row{kind: histogram, as: mkey(serving.Normalized), unit: serving.Seconds}, "request_ntpot_seconds", "inference_objective_normalized_time_per_output_token_seconds", "inference_model_normalized_time_per_output_token_seconds"),
	epp(row{kind: histogram, as: mkey(serving.E2E), unit: serving.Seconds}, "request_duration_seconds", "inference_objective_request_duration_seconds", "inference_model_request_duration_seconds"),
	epp(row{kind: histogram, as: mkey(serving.Queue), unit: serving.Seconds}, "flow_control_request_queue_duration_seconds", "llm_d_inference_scheduler_flow_control_request_queue_duration_seconds", "inference_extension_flow_control_request_queue_duration_seconds"),
	epp(row{kind: histogram, as: mkey(serving.PromptTokens), unit: serving.Tokens}, "request_input_tokens", "inference_objective_input_tokens", "inference_model_input_tokens"),
	epp(row{kind: histogram, as: mkey(serving.OutputTokens), unit: serving.Tokens}, "request_output_tokens", "inference_objective_output_tokens", "inference_model_output_tokens"),

	// The machine. DCGM's utilization is a percentage, its memory MiB, its
	// profiling figures shares.
	[]row{
		dcgm("DEV_GPU_UTIL", serving.GPUUtil, serving.Share, 0.01, 100, overMean),
		dcgm("DEV_FB_USED", serving.GPUMemoryUsed, serving.Bytes, mebi, maxMiB, overSum),
		dcgm("DEV_FB_FREE", gpuMemoryFree, serving.Bytes, mebi, maxMiB, overSum),
		dcgm("DEV_POWER_USAGE", serving.GPUPower, serving.NoUnit, 1, maxW, overSum),
		dcgm("DEV_MEM_COPY_UTIL", gpuCopy, serving.Share, 0.01, 100, overMean),
		dcgm("PROF_GR_ENGINE_ACTIVE", gpuEngine, serving.Share, 1, 1, overMean),
		dcgm("PROF_SM_ACTIVE", gpuSM, serving.Share, 1, 1, overMean),
		dcgm("PROF_DRAM_ACTIVE", serving.GPUMemActive, serving.Share, 1, 1, overMean),
		dcgm("PROF_PIPE_TENSOR_ACTIVE", gpuTensor, serving.Share, 1, 1, overMean),
		{name: "container_cpu_cfs_periods_total", kind: counter, as: sname(serving.CPUPeriods), unit: serving.NoUnit, by: containerLabels, dim: "container", host: true, whole: true},
		{name: "container_cpu_cfs_throttled_periods_total", kind: counter, as: sname(serving.CPUThrottled), unit: serving.NoUnit, by: containerLabels, dim: "container", host: true, whole: true},
		{name: "container_pressure_cpu_waiting_seconds_total", kind: counter, as: sname(serving.CPUWaiting), unit: serving.Seconds, by: containerLabels, dim: "container", host: true, whole: true},
		{name: "node_pressure_cpu_waiting_seconds_total", kind: counter, as: sname(serving.CPUWaiting), unit: serving.Seconds, host: true, prefer: 1},
	},
)

var containerLabels = []string{"container", "name"}

func joinRows(groups ...[]row) []row {
	var out []row
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

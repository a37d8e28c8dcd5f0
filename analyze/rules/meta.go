package rules

import (
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// An About says what a fact is, and what would have to be there to know it.
type About struct {
	Key   Key
	Says  string // a noun phrase
	Needs string // the file, column or flag that tells it
}

const (
	needsClient = "what the client saw: vllm bench serve --save-result --save-detailed, on the same traffic"
	needsStages = "queue, prefill and decode times: a trace with those columns, or the histograms vllm:request_queue_time_seconds, _prefill_ and _decode_"
	needsGauges = "scrapes of /metrics over the incident, or the engine's log"
	needsCounts = "request counts over time: a trace with arrival times, or scrapes with vllm:request_success_total"
	needsLength = "prompt and answer lengths: a trace with token counts, or the histograms vllm:request_prompt_tokens and _generation_tokens"
	needsKind   = "a workload column in the trace (--workload 'batch=tenant:jobs' makes one)"
	needsLogs   = "the engine's log over the incident, or the kernel's and Kubernetes' (kubectl logs --previous --timestamps)"
	needsBase   = "data from before the trouble began, to compare with"
)

// Abouts lists every fact a rule asks for.
var Abouts = []About{
	{Symptom, "a symptom (1) or none (0)", needsBase + ", or an objective (--slo)"},
	{LateFirst, "the first token is late (1) or not (0)", "TTFT over time: a trace, scrapes, or a detailed benchmark"},
	{SlowStream, "streaming is slow (1) or not (0)", "TPOT over time: a trace, scrapes, or a detailed benchmark"},
	{ClientLate, "the client's first token is late (1) or not (0)", needsClient},
	{QueueShare, "queue's share of the rise before the first token", needsStages},
	{PrefillShare, "prefill's share of the rise before the first token", needsStages},
	{FrontShare, "front end's share of the rise before the first token", needsStages},
	{QueueFall, "fall of the mean queue time", needsStages},
	{WaitingMean, "requests waiting, mean", needsGauges},
	{WaitingRise, "rise of the mean number of waiting requests", needsGauges},
	{WaitingLeft, "of the queue's peak, what is still there at the end", needsGauges},
	{BaseWaiting, "largest queue before", needsGauges},
	{ArrivalRatio, "users' requests/s against the baseline's", needsCounts},
	{ArrivalPeakRatio, "busiest moment's requests/s against the baseline's mean", needsCounts},
	{AdmittedOverArrived, "requests admitted to the batch for each one that arrived", "queue times in the trace, or scrapes with vllm:request_success_total and vllm:num_requests_running"},
	{GoodputRatio, "goodput, requests/s that meet every condition, against the baseline's", "conditions (--goodput ttft:500,tpot:50) and a trace or a detailed benchmark"},
	{ArrivedOverCompleted, "arrived requests for each one completed", needsCounts},
	{OutputRateRatio, "output tokens/s against the baseline's", "vllm:generation_tokens_total, an engine log, or output tokens in the trace"},
	{RetryShare, "share of attempts that repeat an earlier one", "an attempt column in the trace or the gateway's log"},
	{AbortShare, "share of requests given up by the client", "outcomes in the trace, or vllm:request_success_total{finished_reason=\"abort\"}"},
	{Replicas, "replicas in service", "a replica column in the trace, or scrapes of each replica"},
	{HotFactor, "queue at the fullest replica against an even share", "a replica column in the trace, or scrapes of each replica"},
	{NewWorkShare, "share of the tokens by a workload that was not there before", needsKind},
	{OldWorkRate, "requests/s of the workloads that were there before", needsKind},
	{OldWorkTTFT, "TTFT of the workloads that were there before, against the baseline", needsKind},
	{OldWorkTPOT, "TPOT of the workloads that were there before, against the baseline", needsKind},
	{PromptMedianRatio, "prompt p50 against the baseline's", needsLength},
	{PromptTailRatio, "prompt p95 against the baseline's", needsLength},
	{PromptFarRatio, "prompt p99 against the baseline's", needsLength},
	{PromptMeanRatio, "mean prompt against the baseline's", needsLength},
	{OutputRatio, "mean answer against the baseline's", needsLength},
	{MixShift, "change of the mean prompt or answer", needsLength},
	{CachedDrop, "fall of the share of prompt tokens that the prefix cache held", "cached tokens in the trace, or vllm:prefix_cache_hits_total and _queries_total"},
	{RunningRatio, "mean running sequences against the baseline's", needsGauges},
	{RunningPeakRatio, "peak of running sequences against the baseline's", needsGauges},
	{TPOTRatio, "TPOT against the baseline's", "TPOT over time: a trace, scrapes, or a detailed benchmark"},
	{BatchLimitRatio, "largest max_num_seqs against the smallest", "the engine's log with its start-up lines"},
	{KVPeak, "KV cache usage, peak", "vllm:kv_cache_usage_perc, or the engine's log"},
	{KVPerRunning, "KV usage of one running sequence against the baseline's", "vllm:kv_cache_usage_perc and vllm:num_requests_running, or the engine's log"},
	{Preemptions, "preemptions in the window", "vllm:num_preemptions_total, the engine's log, or a preemptions column"},
	{GPUUse, "GPU utilization", "the GPU exporter's scrapes (DCGM_FI_DEV_GPU_UTIL)"},
	{CPURatio, "CPU of the API server's process against the baseline's", "process_cpu_seconds_total of the API server"},
	{ClientOverServer, "client TTFT p50 over server TTFT p50", needsClient},
	{ServerTTFTRatio, "server TTFT against its baseline", "TTFT of the server beside the client's"},
	{TokensPerChunk, "tokens in one chunk of the stream", needsClient},
	{DurationShare, "the incident's part of the recorded time", needsBase},
	{Saturated, "the load generator was the limit (1) or not (0)", "a benchmark result of the load generator"},
	{GivenShare, "share of the load asked for that the client gave", "a benchmark result of the load generator"},
	{TTFTDrift, "TTFT of the run's second half against the first", "a detailed benchmark result (--save-detailed)"},
	{Lift, "chance of a preemption in a window with KV above 95 %, against any window", needsGauges},
	{Throttled, "share of CPU periods in which the limit was hit", "container_cpu_cfs_throttled_periods_total and _periods_total"},
	{StallRatio, "p95 of the longest gap of a request over TPOT p95", "gaps between tokens: vllm bench serve --save-result --save-detailed"},
	{PreemptedLength, "median tokens of preempted requests over the others'", "a preemptions column and token counts in the trace"},
	{RunningTPOT, "Spearman correlation of the changes of running sequences and TPOT", needsGauges},
	{FailedShare, "share of requests that failed", "outcomes in the trace, vllm:request_success_total, or an access log"},
	{Crashes, "moments at which memory ran out or an engine died", needsLogs},
	{CrashDelay, "time from the onset to the first of them", needsLogs},
	{LogTimeouts, "log lines that tell of timeouts", needsLogs},
	{Restarts, "restarts in the window", needsGauges},
	{ScrapeGaps, "stretches without a scrape", needsGauges},
	{FrozenShare, "share of scrapes in which gauges stood still while tokens were generated", needsGauges},
	{ClientGap, "client TTFT minus server TTFT", needsClient},
}

// shares are the facts that are parts of a whole.
var shares = []Key{QueueShare, PrefillShare, FrontShare, QueueFall, WaitingLeft, RetryShare, AbortShare, FailedShare, NewWorkShare, CachedDrop, KVPeak, KVRise, HotShare, GPUUse, DurationShare, Throttled, FrozenShare}

// durations are the facts in seconds.
var durations = []Key{QueueMean, QueueRise, PrefillRise, FrontRise, ClientGap}

// counts are the facts in requests.
var counts = []Key{WaitingMean, WaitingPeak, WaitingRise, BaseWaiting}

// UnitOf is the unit of a fact, known or not.
func UnitOf(k Key) serving.Unit {
	switch {
	case slices.Contains(shares, k):
		return serving.Share
	case slices.Contains(durations, k):
		return serving.Seconds
	case slices.Contains(counts, k):
		return serving.RequestsUnit
	}
	return serving.NoUnit
}

// AboutOf returns what is said of a fact.
func AboutOf(k Key) About {
	for _, a := range Abouts {
		if a.Key == k {
			return a
		}
	}
	return About{Key: k, Says: string(k)}
}

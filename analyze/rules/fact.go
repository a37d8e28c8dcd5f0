// Package rules holds what a diagnosis knows: a table of hypotheses with what
// must be true of each, what speaks for it, against it and rules it out, and how
// the evidence is weighed. It works on facts, numbers with a name, and knows
// nothing of the files they came from.
package rules

import "github.com/vreport/vreport/ingest/serving"

// A Key names a fact.
type Key string

// A Fact is an observation with its provenance.
type Fact struct {
	Value  float64
	Unit   serving.Unit
	Window string // the stretch of time it is of
	Source string // which files it was read from
	PromQL string // the query it equals; "" of what is no server series
	Where  string // a replica, workload or setting it points at
}

// Facts are what is known. A key that is not in it is not known, which is never
// the same as 0.
type Facts map[Key]Fact

// The facts. Ratios are incident over baseline.
const (
	TTFTRatio       Key = "ttft_ratio"
	TTFTMedianRatio Key = "ttft_p50_ratio"
	TTFTTailRatio   Key = "ttft_p95_ratio"
	TPOTRatio       Key = "tpot_ratio"
	TPOTMedianRatio Key = "tpot_p50_ratio"
	SpeedDrop       Key = "speed_drop" // tokens/s of a running sequence, baseline over incident

	QueueShare   Key = "queue_share" // of the rise of queue, prefill and front end together
	PrefillShare Key = "prefill_share"
	FrontShare   Key = "frontend_share"
	QueueRise    Key = "queue_rise"
	PrefillRise  Key = "prefill_rise"
	FrontRise    Key = "frontend_rise"
	QueueMean    Key = "queue_mean"

	WaitingMean Key = "waiting_mean"
	WaitingPeak Key = "waiting_peak"
	WaitingRise Key = "waiting_rise"
	WaitingLeft Key = "waiting_left" // at the end of the incident, of its peak

	ArrivalRatio         Key = "arrival_ratio"      // users' requests a second
	ArrivalPeakRatio     Key = "arrival_peak_ratio" // busiest ten seconds over the baseline's mean
	CompletedRatio       Key = "completed_ratio"
	ArrivedOverCompleted Key = "arrived_over_completed"
	AdmittedOverArrived  Key = "admitted_over_arrived"
	GoodputRatio         Key = "goodput_ratio"
	OutputRateRatio      Key = "output_rate_ratio"
	RetryShare           Key = "retry_share"
	AbortShare           Key = "abort_share"
	FailedShare          Key = "failed_share"

	Replicas Key = "replicas"
	HotShare Key = "hot_share" // of all that wait, at the replica with the most

	NewWorkShare Key = "new_work_share" // of the tokens, by a workload that was not there
	OldWorkRate  Key = "old_work_rate_ratio"
	OldWorkTTFT  Key = "old_work_ttft_ratio"
	OldWorkTPOT  Key = "old_work_tpot_ratio"

	PromptMedianRatio Key = "prompt_p50_ratio"
	PromptTailRatio   Key = "prompt_p95_ratio"
	PromptFarRatio    Key = "prompt_p99_ratio"
	PromptMeanRatio   Key = "prompt_mean_ratio"
	OutputRatio       Key = "output_ratio"
	CachedDrop        Key = "cached_drop"

	RunningRatio     Key = "running_ratio"
	RunningPeakRatio Key = "running_peak_ratio"
	BatchLimitRatio  Key = "batch_limit_ratio" // largest over smallest max_num_seqs

	KVPeak            Key = "kv_peak"
	KVRise            Key = "kv_rise"
	KVPerRunning      Key = "kv_per_running_ratio"
	Preemptions       Key = "preemptions"
	PreemptionsPer100 Key = "preemptions_per_100"

	GPUUse           Key = "gpu_use"
	CPUCores         Key = "cpu_cores"
	CPURatio         Key = "cpu_ratio"
	Throttled        Key = "throttled_share"
	ClientGap        Key = "client_gap"
	ClientOverServer Key = "client_over_server"
	ServerTTFTRatio  Key = "server_ttft_ratio"
	TokensPerChunk   Key = "tokens_per_chunk"
	ChunkRatio       Key = "chunk_ratio"
	Saturated        Key = "generator_saturated"
	GivenShare       Key = "given_share"  // of the rate or the slots asked for, by a load generator that was the limit
	TTFTDrift        Key = "ttft_drift"   // median of a run's second half over the first
	Symptom          Key = "symptom"      // 1 where a symptom is present, 0 where none is
	LateFirst        Key = "symptom_ttft" // likewise of the first token, its tail included
	SlowStream       Key = "symptom_streaming"
	ClientLate       Key = "symptom_ttft_client" // as the client saw it
	HotFactor        Key = "hot_factor"          // hot_share against an even share
	QueueFall        Key = "queue_fall"          // of the mean queue time, as a share of the baseline's
	BaseWaiting      Key = "baseline_waiting_peak"
	MixShift         Key = "mix_shift"      // largest change of the mean prompt or answer, up or down, as a ratio above 1
	DurationShare    Key = "duration_share" // of the incident in all that was recorded
	StallRatio       Key = "stall_ratio"
	PreemptedLength  Key = "preempted_length"
	RunningTPOT      Key = "running_tpot"
	Restarts         Key = "restarts"
	Crashes          Key = "crashes"      // moments at which memory ran out or an engine died, as logs tell
	CrashDelay       Key = "crash_delay"  // seconds from the onset to the first of them, where it came later
	LogTimeouts      Key = "log_timeouts" // lines of logs
	ScrapeGaps       Key = "scrape_gaps"
	FrozenShare      Key = "frozen_share"
	Lift             Key = "kv_preemption_lift"
)

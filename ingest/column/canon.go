package column

import (
	"github.com/vreport/vreport/ingest/serving"
)

// A canon is one canonical column: what it is called in files.
type canon struct {
	name    string
	kind    serving.ColumnKind
	also    []string // other canonical spellings that --map takes
	aliases []string // in files, the most telling first
	input   bool     // feeds a derivation and is not offered itself
}

// timed reports whether the column's values have a unit of time.
func (c *canon) timed() bool {
	return c.kind == serving.KindTime || c.kind == serving.KindDuration || c.kind == serving.KindGaps
}

// Names of canonical columns beyond those that package serving has constants
// for. The first group is offered to whoever asks, the second only feeds
// derivations.
const (
	colLastToken     = "last_token_time"
	colQueued        = "queued_ts"
	colScheduled     = "scheduled_ts"
	colPrefillServer = "prefill_replica"
	colTurn          = "turn"
	colCacheCreation = "cache_creation_tokens"
	colReasoning     = "reasoning_tokens"
	colMaxTokens     = "max_tokens"
	colInference     = "inference_time"
	colLoRA          = "lora"
	colStatus        = "status"
	colHTTP          = "http_status"
	colSpecAccepted  = "spec_accepted_tokens"
	colSpecDraft     = "spec_draft_tokens"

	colSuccess   = "success"
	colCancelled = "was_cancelled"
	colHitRatio  = "kv_hit_rate"
	colWarmup    = "warmup"
)

const (
	ttft         = string(serving.TTFT)
	tpot         = string(serving.TPOT)
	itl          = string(serving.ITL)
	e2e          = string(serving.E2E)
	queue        = string(serving.Queue)
	prefill      = string(serving.Prefill)
	decode       = string(serving.Decode)
	frontend     = string(serving.Frontend)
	normalized   = string(serving.Normalized)
	promptTokens = string(serving.PromptTokens)
	outputTokens = string(serving.OutputTokens)
	cachedTokens = string(serving.CachedTokens)
)

// canons lists the canonical columns in the order tables show them. The aliases
// are what the producers named in the comments write.
var canons = []canon{
	{name: serving.ColArrival, kind: serving.KindTime, also: []string{"arrival"}, aliases: []string{
		"arrival_time", "arrival", "arrived_at", "arrival_timestamp", "arrival_ts", // vLLM, Vidur, LLMServingSim
		"request_received", "request_received_ts", "request_start", "request_start_time", // Dynamo, SGLang, AIPerf, GuideLLM
		"start_time", "started_at", "start_ts", "timestamp", "created_at", "received_at", "queued"}},
	{name: serving.ColFirstToken, kind: serving.KindTime, also: []string{"first_token"}, aliases: []string{
		"first_token_time", "first_token_ts", "completion_start_time", "first_token_iteration", "first_token_at", "first_token_timestamp"}},
	{name: colLastToken, kind: serving.KindTime, also: []string{"last_token"}, aliases: []string{
		"last_token_time", "last_token_ts", "last_token_iteration", "last_token_at", "decode_finished_ts"}},
	{name: serving.ColEnd, kind: serving.KindTime, also: []string{"end"}, aliases: []string{
		"end_time", "request_end", "request_end_time", "ended_at", "end_ts", "finish_time", "finished_at", "finished_time", "completed_at", "response_sent_to_client_ts", "event_time"}},
	{name: colQueued, kind: serving.KindTime, aliases: []string{"queued_ts", "queued_timestamp", "queued_at", "request_sent_to_scheduler_ts"}},
	{name: colScheduled, kind: serving.KindTime, aliases: []string{"scheduled_ts", "scheduled_at", "scheduled_timestamp", "first_scheduled_time"}},

	{name: serving.ColRequestID, kind: serving.KindText, also: []string{"id"}, aliases: []string{
		"request_id", "gen_ai.request.id", "x_request_id", "req_id", "rid", "response_id", "inference_id", "chat_id", "id"}},
	{name: serving.ColModel, kind: serving.KindText, aliases: []string{
		"model", "gen_ai.response.model", "gen_ai.request.model", "model_name", "provided_model_name", "model_id", "model_group"}},
	{name: serving.ColReplica, kind: serving.KindText, aliases: []string{
		"replica", "replica_id", "pod", "pod_name", "instance", "instance_id", "engine_id", "worker", "worker_id", "decode_worker_id", "server.address", "service.instance.id", "api_base", "endpoint_url", "host", "hostname", "node"}},
	{name: colPrefillServer, kind: serving.KindText, aliases: []string{"prefill_replica", "prefill_worker_id"}},
	{name: serving.ColEngine, kind: serving.KindText, aliases: []string{
		"engine", "gen_ai.provider.name", "gen_ai.system", "backend", "server", "custom_llm_provider"}},
	{name: serving.ColWorkload, kind: serving.KindText, aliases: []string{
		"workload", "workload_type", "task", "task_type", "dataset", "trace_name", "call_type", "log_type", "gen_ai.operation.name", "request_type", "type"}},
	{name: serving.ColSession, kind: serving.KindText, also: []string{"session"}, aliases: []string{
		"session_id", "gen_ai.conversation.id", "conversation_id", "x_correlation_id", "provided_session_id", "parent_chat_id", "session"}},
	{name: colTurn, kind: serving.KindCount, aliases: []string{"turn", "turn_index"}},
	{name: serving.ColTenant, kind: serving.KindText, aliases: []string{
		"tenant", "tenant_id", "team_id", "organization_id", "org_id", "request_org_id", "end_user", "user_id", "user", "api_key"}},
	{name: serving.ColStreaming, kind: serving.KindText, aliases: []string{
		"streaming", "gen_ai.request.stream", "is_streaming", "is_stream", "streamed", "stream"}},
	{name: serving.ColPhase, kind: serving.KindText, aliases: []string{"phase", "benchmark_phase"}},
	{name: colWarmup, kind: serving.KindText, input: true, aliases: []string{"warmup", "is_warmup"}},
	{name: colLoRA, kind: serving.KindText, aliases: []string{"lora", "lora_adapter", "lora_name", "adapter"}},

	{name: promptTokens, kind: serving.KindCount, also: []string{"input_tokens"}, aliases: []string{
		"prompt_tokens", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "num_prompt_tokens", "input_tokens", "num_input_tokens", "n_prompt_tokens",
		"input_length", "input_sequence_length", "isl", "context_tokens", "request_tokens", "num_prefill_tokens", "request_num_prefill_tokens", "prompt_len", "prompt_length", "input_len", "input_toks", "input"}},
	{name: cachedTokens, kind: serving.KindCount, also: []string{"cached_prompt_tokens"}, aliases: []string{
		"cached_tokens", "cached_prompt_tokens", "gen_ai.usage.cache_read.input_tokens", "num_cached_tokens", "input_cached_tokens", "prompt_tokens_details.cached_tokens", "cache_read_input_tokens", "prefix_cache_hit_tokens", "cache_hit_tokens"}},
	{name: colHitRatio, kind: serving.KindRatio, input: true, also: []string{"prefix_hit_ratio"}, aliases: []string{
		"kv_hit_rate", "prefix_hit_ratio", "prefix_cache_hit_rate", "cache_hit_ratio", "cache_hit_rate"}},
	{name: colCacheCreation, kind: serving.KindCount, aliases: []string{"cache_creation_tokens", "gen_ai.usage.cache_creation.input_tokens", "cache_creation_input_tokens"}},
	{name: outputTokens, kind: serving.KindCount, also: []string{"completion_tokens"}, aliases: []string{
		"output_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "num_generation_tokens", "generation_tokens", "generated_tokens", "completion_tokens", "num_output_tokens", "n_output_tokens",
		"output_length", "output_sequence_length", "osl", "response_tokens", "num_decode_tokens", "request_num_decode_tokens", "output_len", "output_token_count", "output_toks", "output"}},
	{name: colReasoning, kind: serving.KindCount, aliases: []string{"reasoning_tokens", "gen_ai.usage.reasoning.output_tokens", "reasoning_token_count"}},
	{name: colMaxTokens, kind: serving.KindCount, aliases: []string{"max_tokens", "gen_ai.request.max_tokens", "max_tokens_param"}},

	{name: ttft, kind: serving.KindDuration, aliases: []string{
		"ttft", "gen_ai.latency.time_to_first_token", "gen_ai.response.time_to_first_chunk", "gen_ai.server.time_to_first_token", "time_to_first_token", "first_token_latency", "time_to_first_output_token",
		"prefill_e2e_time"}}, // Vidur: arrival to the end of prefill, waiting included
	{name: tpot, kind: serving.KindDuration, aliases: []string{
		// inter_token_latency before time_per_output_token: where a file has both
		// (GuideLLM), the latter includes the first token.
		"tpot", "mean_time_per_output_token", "inter_token_latency", "time_per_output_token", "avg_itl", "mean_itl"}},
	{name: itl, kind: serving.KindGaps, aliases: []string{
		"itl", "itls", "inter_token_latencies", "inter_chunk_latency", "inter_chunk_latencies", "inter_token_latency_list"}},
	{name: e2e, kind: serving.KindDuration, also: []string{"e2el"}, aliases: []string{
		"e2e", "e2el", "gen_ai.latency.e2e", "e2e_latency", "request_latency", "request_e2e_time", "end_to_end_latency", "total_latency", "total_time", "elapsed_time", "latency", "duration", "request_duration", "response_time"}},
	{name: queue, kind: serving.KindDuration, also: []string{"queue_time"}, aliases: []string{
		"queue", "queue_time", "gen_ai.latency.time_in_queue", "time_in_queue", "queued_time", "queuing_delay", "queueing_delay", "queue_latency", "queue_wait", "queue_wait_time", "prefill_wait_time", "request_scheduling_delay", "wait_time"}},
	{name: prefill, kind: serving.KindDuration, also: []string{"prefill_time"}, aliases: []string{
		"prefill", "prefill_time", "gen_ai.latency.time_in_model_prefill", "time_in_model_prefill", "prefill_latency", "prefill_launch_latency"}},
	{name: decode, kind: serving.KindDuration, also: []string{"decode_time"}, aliases: []string{
		"decode", "decode_time", "gen_ai.latency.time_in_model_decode", "time_in_model_decode", "decode_latency"}},
	{name: colInference, kind: serving.KindDuration, aliases: []string{"inference_time", "gen_ai.latency.time_in_model_inference", "time_in_model_inference"}},
	{name: frontend, kind: serving.KindDuration},
	{name: normalized, kind: serving.KindDuration},

	{name: serving.ColPreempt, kind: serving.KindCount, aliases: []string{
		"preemptions", "num_preemptions", "preemption_count", "request_num_restarts", "retraction_count", "num_retractions"}},
	{name: colSpecAccepted, kind: serving.KindCount, aliases: []string{"spec_accepted_tokens"}},
	{name: colSpecDraft, kind: serving.KindCount, aliases: []string{"spec_draft_tokens"}},

	{name: serving.ColOutcome, kind: serving.KindText, aliases: []string{"outcome"}},
	{name: colStatus, kind: serving.KindText, aliases: []string{"status", "request_status", "state", "result", "otel.status_code", "level"}},
	{name: colSuccess, kind: serving.KindText, input: true, aliases: []string{"success", "succeeded", "is_success", "ok"}},
	{name: colCancelled, kind: serving.KindText, input: true, aliases: []string{"was_cancelled", "was_canceled", "cancelled", "canceled", "is_cancelled", "aborted"}},
	{name: serving.ColFinish, kind: serving.KindText, aliases: []string{"finish_reason", "finish_reason.type", "gen_ai.response.finish_reasons", "finish_reasons", "stop_reason", "finished_reason"}},
	{name: serving.ColError, kind: serving.KindText, aliases: []string{"error", "error.type", "error_type", "error_code", "error.code", "error_message", "error_msg", "status_message"}},
	{name: colHTTP, kind: serving.KindText, aliases: []string{"http_status", "http_status_code", "http.response.status_code", "status_code", "response_code", "response_status", "code"}},
}

// accepts reports whether a raw column of kind k can be the canonical column.
func (c *canon) accepts(k Kind) bool {
	switch c.kind {
	case serving.KindTime:
		return k == Instant || k == Int || k == Float || k == Text
	case serving.KindDuration:
		return k == Span || k == Int || k == Float
	case serving.KindCount, serving.KindRatio:
		return k == Int || k == Float
	case serving.KindGaps:
		return k == List
	case serving.KindText:
		switch c.name {
		case serving.ColFinish:
			return k == Text || k == TextList
		case colHTTP:
			return k == Int || k == Float || k == Text
		case serving.ColModel, serving.ColWorkload, serving.ColPhase:
			return k == Text || k == Int
		}
		return k == Text || k == Int || k == Bool
	}
	return false
}

// flag reports whether the column says something of each request that tools write as
// a number, too: 0 and 1, or a status of HTTP.
func (c *canon) flag() bool {
	switch c.name {
	case serving.ColOutcome, colStatus, colSuccess, colCancelled, serving.ColError, serving.ColStreaming, colWarmup:
		return true
	}
	return false
}

// acceptsFloats reports whether a raw column of floating point can be a flag: a table
// with missing values often has its whole numbers so. Where values are anything else,
// the column is likely to have its name by chance.
func (c *canon) acceptsFloats(r *Raw) bool {
	if r.Kind != Float || !c.flag() {
		return false
	}
	if r.Range == nil { // a query is written before there are values
		return fold(r.Name) == fold(c.name)
	}
	lo, hi, ok := r.Range()
	http := lo >= 100 && hi < 600
	switch c.name {
	case colStatus, serving.ColOutcome:
		return ok && http
	case serving.ColError:
		return ok && lo >= 0 && hi < 600
	}
	return ok && lo >= 0 && hi <= 1
}

// canonByName returns the canonical column that a user's name means.
func canonByName(name string) *canon {
	f := fold(name)
	for i := range canons {
		c := &canons[i]
		if fold(c.name) == f {
			return c
		}
		for _, a := range c.also {
			if fold(a) == f {
				return c
			}
		}
	}
	return nil
}

// canonNames lists the canonical names, for messages.
func canonNames() []string {
	var out []string
	for _, c := range canons {
		if len(c.aliases) > 0 {
			out = append(out, c.name)
		}
	}
	return out
}

// A hit is a canonical column that a raw name may stand for.
type hit struct {
	canon  int
	rank   int // lower is better
	suffix Unit
}

// aliasIndex maps folded aliases to hits; an alias belongs to one canonical
// column.
var aliasIndex = func() map[string]hit {
	m := map[string]hit{}
	for i, c := range canons {
		for j, a := range append([]string{c.name}, c.aliases...) {
			if len(c.aliases) == 0 {
				break // made by derivations only
			}
			if _, ok := m[fold(a)]; !ok {
				m[fold(a)] = hit{canon: i, rank: j * 8}
			}
		}
	}
	return m
}()

// match finds what a raw name stands for: the name, with or without a unit at
// its end, then the same without its leading path elements. Each step makes the
// match a little worse, so that a column that is called ttft beats details.ttft.
func match(name string) (hit, bool) {
	path := splitPath(name)
	if n := len(path); n > 1 && fold(path[n-1]) == "value" {
		path = path[:n-1] // of {value, unit}: see Raw.Sibling
	}
	for i := range path {
		sub := joinPath(path[i:])
		// The unit first: itl_s is itl in seconds, not the plural.
		if rest, u, ok := cutUnit(sub); ok {
			if h, ok := aliasIndex[rest]; ok && canons[h.canon].timed() {
				h.rank += min(i, 3)*2 + 1
				h.suffix = u
				return h, true
			}
		}
		if h, ok := aliasIndex[fold(sub)]; ok {
			h.rank += min(i, 3) * 2
			return h, true
		}
	}
	return hit{}, false
}

func splitPath(name string) []string {
	var out []string
	start := 0
	for i := 0; i < len(name); i++ {
		if name[i] == '.' && i > start {
			out = append(out, name[start:i])
			start = i + 1
		}
	}
	return append(out, name[start:])
}

func joinPath(p []string) string {
	s := p[0]
	for _, e := range p[1:] {
		s += "." + e
	}
	return s
}

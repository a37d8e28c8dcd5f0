package column

import (
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A dialect is a producer whose columns carry no units, known by columns that
// no other producer has together.
type dialect struct {
	name  string
	marks []string // folded names
	need  int      // how many of them must be there
	unit  Unit     // of its durations and relative instants
	side  serving.Side
	// offsets: its instants count from the start of the trace. 0.8 s in
	// nanoseconds would else be a date of 1996 in seconds.
	offsets bool
	// fits narrows it where names alone do not tell producers apart.
	fits func(byName map[string]Raw) bool
}

// dialects in the order they are tried; the first that fits wins.
var dialects = []dialect{
	{name: "LLMServingSim", marks: folded("instance id", "queuing_delay", "ITL", "arrival", "TTFT"), need: 4, unit: Nanosecond, offsets: true,
		fits: func(m map[string]Raw) bool { _, ok := m["queuingdelay"]; return ok && m["arrival"].Kind == Int }},
	{name: "Dynamo", marks: folded("prefill_wait_time_ms", "kv_hit_rate", "queue_depth", "total_time_ms", "kv_transfer_estimated_latency_ms", "request_received_ms"), need: 3, unit: Millisecond, side: serving.ServerSide},
	{name: "SGLang", marks: folded("prefill_launch_latency", "prefill_launch_delay", "request_sent_to_scheduler_ts", "response_sent_to_client_ts", "decode_throughput", "request_received_ts", "prefill_finished_ts"), need: 3, unit: Second, side: serving.ServerSide},
	{name: "vLLM engine", marks: folded("queued_ts", "scheduled_ts", "first_token_ts", "last_token_ts", "num_generation_tokens", "queued_time", "mean_time_per_output_token", "max_tokens_param", "first_token_latency"), need: 3, unit: Second, side: serving.ServerSide},
	{name: "GuideLLM", marks: folded("time_to_first_token_ms", "time_per_output_token_ms", "inter_token_latency_ms", "request_latency", "output_tokens_per_second", "first_token_iteration", "last_token_iteration"), need: 3, unit: Second, side: serving.Client},
	{name: "vLLM benchmark", marks: folded("ttft", "latency", "itl", "prompt_len", "generated_text", "success"), need: 5, unit: Second, side: serving.Client},
	{name: "Langfuse", marks: folded("completion_start_time", "provided_model_name", "trace_id", "usage_details", "cost_details"), need: 3, unit: Second},
	{name: "LiteLLM", marks: folded("call_type", "startTime", "endTime", "completionStartTime", "spend", "api_base", "model_group", "custom_llm_provider", "request_tags", "response_cost"), need: 5, unit: Second, side: serving.Client},
	{name: "Vidur", marks: folded("request_e2e_time", "request_scheduling_delay", "prefill_e2e_time", "request_num_prefill_tokens", "request_num_decode_tokens", "arrived_at", "num_prefill_tokens", "num_decode_tokens"), need: 3, unit: Second, offsets: true},
	{name: "BurstGPT", marks: folded("Session ID", "Elapsed time", "Request tokens", "Response tokens", "Log Type", "Timestamp"), need: 4, unit: Second, offsets: true},
	{name: "Qwen-Bailian", marks: folded("chat_id", "parent_chat_id", "input_length", "output_length", "hash_ids"), need: 4, unit: Second, offsets: true},
	{name: "Mooncake", marks: folded("input_length", "output_length", "hash_ids", "timestamp"), need: 4, unit: Millisecond, offsets: true,
		fits: func(m map[string]Raw) bool { return m["timestamp"].Kind == Int }},
}

func folded(names ...string) []string {
	for i, n := range names {
		names[i] = fold(n)
	}
	return names
}

// detect returns the dialect of a set of columns, or nil.
func detect(raws []Raw) *dialect {
	byName := map[string]Raw{}
	for _, r := range raws {
		byName[fold(r.Name)] = r
	}
	for _, r := range raws { // request.ttft_ms of a nested record is ttft_ms
		path := splitPath(r.Name)
		leaf := fold(path[len(path)-1])
		if _, ok := byName[leaf]; !ok {
			byName[leaf] = r
		}
	}
	for i := range dialects {
		d := &dialects[i]
		n := 0
		for _, m := range d.marks {
			if _, ok := byName[m]; ok {
				n++
			}
		}
		if n >= d.need && (d.fits == nil || d.fits(byName)) {
			return d
		}
	}
	return nil
}

// otel reports whether a name is of the OpenTelemetry GenAI conventions, whose
// durations are seconds by definition.
func otel(name string) bool {
	n := strings.ToLower(name)
	return strings.HasPrefix(n, "gen_ai.") || strings.Contains(n, ".gen_ai.") ||
		strings.HasPrefix(n, "gen_ai_latency") || strings.HasPrefix(n, "gen_ai_server") || strings.HasPrefix(n, "gen_ai_response_time")
}

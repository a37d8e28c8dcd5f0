package prom

import (
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vreport/vreport/ingest/serving"
)

// kind is the role of a series.
type kind uint8

const (
	gauge kind = iota
	counter
	histogram
	info      // the labels are the data
	startTime // of the process, seconds since the epoch
	unused    // known, and left out for the reason in row.why
)

// A row says what one series family of an exporter is. To teach the program a
// new series, add a row.
type row struct {
	engine string // vllm, sglang, tgi, …; "" for what belongs to the process
	name   string // the family as exposed; of counters with _total
	kind   kind
	as     string // a serving.SeriesName or serving.MetricKey
	unit   serving.Unit

	by     []string // labels (alternatives) whose values split it …
	dim    string   // … and what that dimension is called
	whole  bool     // the sum over the split is a figure too, and has no series of its own
	prefer int      // of several families for one figure the lowest counts; higher ones are older names
	why    string   // of unused families

	where [2]string // a label and the value it must have: several rows share a name then
	next  *row      // the next row of the name
	own   bool      // not of the vocabulary: shown under its own name
	spare bool      // and shown only where there are few of its kind
	fixed string    // the value of dim, where the name says it and no label does
	scale float64   // what one of the exporter's units is in the program's; 0: they are the same
	max   float64   // what no value exceeds, in the exporter's units: beyond it and below zero stands "no data"; 0: no limit
	sum   bool      // of gauges: the series add up; otherwise they say the same of one thing, and the largest counts
	over  over      // of gauges: how the parts of a split make the whole
	host  bool      // of a device or a machine: it belongs to no engine and is of use without one
}

// over says how the parts of a split gauge make the whole, such as the GPUs of a
// machine.
type over uint8

const (
	overNothing over = iota // the whole is a series of its own, or there is none
	overSum
	overMean
)

// value converts a value of the exporter's into the program's unit. NaN stands
// for what is no measurement.
func (r *row) value(v float64) float64 {
	if r.max > 0 && !(v >= 0 && v <= r.max) {
		return math.NaN()
	}
	if r.scale != 0 {
		return v * r.scale
	}
	return v
}

// matching returns the row of a name that fits the labels; nil for none.
func (r *row) matching(ls labels.Labels) *row {
	for ; r != nil; r = r.next {
		if r.where[0] == "" || ls.Get(r.where[0]) == r.where[1] {
			return r
		}
	}
	return nil
}

// figures are what the rows of a name stand for, as inspect lists them.
func (r *row) figures() string {
	var out []string
	for ; r != nil; r = r.next {
		if !slices.Contains(out, r.as) {
			out = append(out, r.as)
		}
	}
	return strings.Join(out, ", ")
}

func sname(n serving.SeriesName) string { return string(n) }
func mkey(k serving.MetricKey) string   { return string(k) }

// rows are the known families. Names are detected by presence, never by the
// engine's version: vLLM renames a series, hides the old name a minor version
// later and removes it another one later (vllm/v1/metrics/loggers.py).
// nan stands for no bound.
var nan = math.NaN()

var rows = slices.Concat(engineRows, stackRows)

var engineRows = []row{
	{engine: "vllm", name: "vllm:num_requests_running", kind: gauge, as: sname(serving.Running), unit: serving.RequestsUnit},
	{engine: "vllm", name: "vllm:num_requests_waiting", kind: gauge, as: sname(serving.Waiting), unit: serving.RequestsUnit},
	{engine: "vllm", name: "vllm:num_requests_waiting_by_reason", kind: gauge, as: sname(serving.Waiting), unit: serving.RequestsUnit, by: []string{"reason"}, dim: "reason"},
	{engine: "vllm", name: "vllm:num_requests_swapped", kind: gauge, as: sname(serving.Swapped), unit: serving.RequestsUnit},
	{engine: "vllm", name: "vllm:kv_cache_usage_perc", kind: gauge, as: sname(serving.KVUsage), unit: serving.Share},
	{engine: "vllm", name: "vllm:gpu_cache_usage_perc", kind: gauge, as: sname(serving.KVUsage), unit: serving.Share, prefer: 1},
	{engine: "vllm", name: "vllm:gpu_prefix_cache_hit_rate", kind: gauge, as: sname(serving.PrefixHitRatio), unit: serving.Share},

	{engine: "vllm", name: "vllm:num_preemptions_total", kind: counter, as: sname(serving.Preemptions), unit: serving.NoUnit},
	{engine: "vllm", name: "vllm:prompt_tokens_total", kind: counter, as: sname(serving.PromptTotal), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:prompt_tokens_by_source_total", kind: counter, as: sname(serving.PromptTotal), unit: serving.Tokens, by: []string{"source"}, dim: "source"},
	{engine: "vllm", name: "vllm:prompt_tokens_cached_total", kind: counter, as: sname(serving.CachedPromptTotal), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:generation_tokens_total", kind: counter, as: sname(serving.GenerationTotal), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:request_success_total", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit, by: []string{"finished_reason"}, dim: "reason", whole: true},
	{engine: "vllm", name: "vllm:prefix_cache_queries_total", kind: counter, as: sname(serving.PrefixQueries), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:prefix_cache_hits_total", kind: counter, as: sname(serving.PrefixHits), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:gpu_prefix_cache_queries_total", kind: counter, as: sname(serving.PrefixQueries), unit: serving.Tokens, prefer: 1},
	{engine: "vllm", name: "vllm:gpu_prefix_cache_hits_total", kind: counter, as: sname(serving.PrefixHits), unit: serving.Tokens, prefer: 1},
	{engine: "vllm", name: "vllm:external_prefix_cache_queries_total", kind: counter, as: sname(serving.ExternalPrefixQueries), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:external_prefix_cache_hits_total", kind: counter, as: sname(serving.ExternalPrefixHits), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:spec_decode_num_drafts_total", kind: counter, as: sname(serving.SpecDrafts), unit: serving.NoUnit},
	{engine: "vllm", name: "vllm:spec_decode_num_draft_tokens_total", kind: counter, as: sname(serving.SpecDraft), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:spec_decode_num_accepted_tokens_total", kind: counter, as: sname(serving.SpecAccepted), unit: serving.Tokens},
	// A histogram in spite of its name: tokens an engine step, so its count is the steps.
	{engine: "vllm", name: "vllm:iteration_tokens_total_count", kind: counter, as: sname(serving.Iterations), unit: serving.NoUnit},

	{engine: "vllm", name: "vllm:time_to_first_token_seconds", kind: histogram, as: mkey(serving.TTFT), unit: serving.Seconds},
	{engine: "vllm", name: "vllm:inter_token_latency_seconds", kind: histogram, as: mkey(serving.ITL), unit: serving.Seconds},
	{engine: "vllm", name: "vllm:time_per_output_token_seconds", kind: histogram, as: mkey(serving.ITL), unit: serving.Seconds, prefer: 1},
	{engine: "vllm", name: "vllm:request_time_per_output_token_seconds", kind: histogram, as: mkey(serving.TPOT), unit: serving.Seconds},
	{engine: "vllm", name: "vllm:e2e_request_latency_seconds", kind: histogram, as: mkey(serving.E2E), unit: serving.Seconds},
	{engine: "vllm", name: "vllm:request_queue_time_seconds", kind: histogram, as: mkey(serving.Queue), unit: serving.Seconds},
	{engine: "vllm", name: "vllm:time_in_queue_requests", kind: histogram, as: mkey(serving.Queue), unit: serving.Seconds, prefer: 1},
	{engine: "vllm", name: "vllm:request_prefill_time_seconds", kind: histogram, as: mkey(serving.Prefill), unit: serving.Seconds},
	{engine: "vllm", name: "vllm:request_decode_time_seconds", kind: histogram, as: mkey(serving.Decode), unit: serving.Seconds},
	{engine: "vllm", name: "vllm:request_prompt_tokens", kind: histogram, as: mkey(serving.PromptTokens), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:request_generation_tokens", kind: histogram, as: mkey(serving.OutputTokens), unit: serving.Tokens},
	{engine: "vllm", name: "vllm:request_inference_time_seconds", kind: unused, why: "prefill and decode are read instead"},
	{engine: "vllm", name: "vllm:cache_config_info", kind: info},

	{engine: "sglang", name: "sglang:num_running_reqs", kind: gauge, as: sname(serving.Running), unit: serving.RequestsUnit},
	{engine: "sglang", name: "sglang:num_queue_reqs", kind: gauge, as: sname(serving.Waiting), unit: serving.RequestsUnit},
	{engine: "sglang", name: "sglang:token_usage", kind: gauge, as: sname(serving.KVUsage), unit: serving.Share},
	{engine: "sglang", name: "sglang:cache_hit_rate", kind: gauge, as: sname(serving.PrefixHitRatio), unit: serving.Share},
	{engine: "sglang", name: "sglang:prompt_tokens_total", kind: counter, as: sname(serving.PromptTotal), unit: serving.Tokens},
	{engine: "sglang", name: "sglang:generation_tokens_total", kind: counter, as: sname(serving.GenerationTotal), unit: serving.Tokens},
	{engine: "sglang", name: "sglang:cached_tokens_total", kind: counter, as: sname(serving.CachedPromptTotal), unit: serving.Tokens},
	{engine: "sglang", name: "sglang:num_requests_total", kind: counter, as: sname(serving.FinishedTotal), unit: serving.RequestsUnit},
	{engine: "sglang", name: "sglang:num_preemptions_total", kind: counter, as: sname(serving.Preemptions), unit: serving.NoUnit},
	{engine: "sglang", name: "sglang:time_to_first_token_seconds", kind: histogram, as: mkey(serving.TTFT), unit: serving.Seconds},
	{engine: "sglang", name: "sglang:inter_token_latency_seconds", kind: histogram, as: mkey(serving.ITL), unit: serving.Seconds},
	{engine: "sglang", name: "sglang:e2e_request_latency_seconds", kind: histogram, as: mkey(serving.E2E), unit: serving.Seconds},
	{engine: "sglang", name: "sglang:queue_time_seconds", kind: histogram, as: mkey(serving.Queue), unit: serving.Seconds},
	{engine: "sglang", name: "sglang:time_per_output_token_seconds", kind: unused, why: "a running mean since the first token: neither ITL nor TPOT"},
	{engine: "sglang", name: "sglang:cache_config_info", kind: info},

	// The FastAPI instrumentator is the only source of requests that failed
	// before they reached the engine.
	{name: "http_requests_total", kind: counter, as: sname(serving.HTTPRequests), unit: serving.RequestsUnit, by: []string{"status", "code", "status_code"}, dim: "status"},
	{name: "process_cpu_seconds_total", kind: counter, as: sname(serving.ProcessCPU), unit: serving.Seconds},
	{name: "process_start_time_seconds", kind: startTime},
}

// part is which series of a family a sample belongs to.
type part uint8

const (
	partValue part = iota
	partBucket
	partSum
	partCount
)

type meaning struct {
	row  *row
	part part
}

// byName finds the meaning of a sample by its canonical name.
var byName = indexRows(rows)

func indexRows(rows []row) map[string]meaning {
	m := make(map[string]meaning, 3*len(rows))
	for i := range rows {
		r := &rows[i]
		switch r.kind {
		case histogram:
			m[r.name+"_bucket"] = meaning{r, partBucket}
			m[r.name+"_sum"] = meaning{r, partSum}
			m[r.name+"_count"] = meaning{r, partCount}
		case unused:
			// Found by its family name when fields are listed.
		default:
			if first, ok := m[r.name]; ok {
				last := first.row
				for last.next != nil {
					last = last.next
				}
				last.next = r
				continue
			}
			m[r.name] = meaning{r, partValue}
		}
	}
	return m
}

// unusedWhy holds the reasons of families that are known and left out.
var unusedWhy = func() map[string]string {
	m := map[string]string{}
	for _, r := range rows {
		if r.kind == unused {
			m[r.name] = r.why
		}
	}
	return m
}()

// meaningOf looks a sample name up. Ray Serve writes ray_vllm:X, and exporters
// that may not use a colon write vllm_X; both are vllm:X. Ray also drops the
// _total of counters.
func meaningOf(name string) (meaning, bool) {
	if m, ok := byName[name]; ok {
		return m, true
	}
	n := canonical(name)
	if m, ok := byName[n]; ok && n != name {
		return m, true
	}
	if strings.HasPrefix(name, "ray_") {
		if m, ok := byName[n+"_total"]; ok && m.row.kind == counter {
			return m, true
		}
	}
	return meaning{}, false
}

// canonical returns an engine series' name in the engine's own spelling.
func canonical(name string) string {
	n := strings.TrimPrefix(name, "ray_")
	for _, e := range [...]string{"vllm", "sglang", "trtllm"} {
		if rest, ok := strings.CutPrefix(n, e+"_"); ok {
			return e + ":" + rest
		}
		if strings.HasPrefix(n, e+":") {
			return n
		}
	}
	return name
}

// Labels that tell one engine from another.
var (
	modelLabels   = []string{"model_name", "model"}
	rankLabels    = []string{"engine", "dp_rank"}
	replicaLabels = []string{"pod", "pod_name", "kubernetes_pod_name", "k8s_pod_name", "instance", "replica", "ReplicaId", "WorkerId"}
)

// duplicateRanks are labels of SGLang whose ranks all report the same thing:
// only rank 0 counts.
var duplicateRanks = []string{"tp_rank", "pp_rank", "moe_ep_rank"}

// exporters names what is behind a family prefix, for notes and for telling a
// dump without TYPE lines from other lists of words and numbers.
var exporters = []struct{ prefix, name string }{
	{"vllm:", "vLLM"}, {"vllm_", "vLLM"}, {"ray_vllm", "vLLM under Ray"}, {"sglang:", "SGLang"}, {"sglang_", "SGLang"},
	{"lmcache", "LMCache"}, {"DCGM_FI_", "DCGM exporter"}, {"nv_", "Triton"}, {"trtllm", "TensorRT-LLM"}, {"tgi_", "TGI"},
	{"dynamo_", "Dynamo"}, {"llm_d_", "llm-d router"}, {"inference_", "llm-d router"},
	{"node_", "node exporter"}, {"container_", "cAdvisor"}, {"cadvisor_", "cAdvisor"},
	{"process_", "process"}, {"python_", "Python"}, {"http_", "HTTP server"}, {"go_", "Go"}, {"promhttp_", "Go"},
}

func exporterOf(name string) string {
	for _, e := range exporters {
		if strings.HasPrefix(name, e.prefix) {
			return e.name
		}
	}
	return ""
}

// unitName is the unit as inspect prints it.
func unitName(u serving.Unit) string {
	switch u {
	case serving.Seconds:
		return "s"
	case serving.Tokens:
		return "tokens"
	case serving.RequestsUnit:
		return "requests"
	case serving.Share:
		return "share"
	case serving.PerSecond:
		return "per s"
	case serving.Bytes:
		return "bytes"
	}
	return ""
}

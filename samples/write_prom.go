package samples

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// A dialect is which metrics an exposition has.
type dialect int

const (
	v1Full    dialect = iota // all that vLLM 0.25 shows of a text model, with _created and process series
	v1Trimmed                // what a usual keep-list leaves of it: no _created, only the families of a serving dashboard
	v0                       // the names and bounds of vLLM 0.6
)

// An exposer writes the Prometheus text of one process.
type exposer struct {
	b       bytes.Buffer
	d       dialect
	labels  string // of every vllm: series, without braces
	created float64
}

// writeScrape writes a scrape with the header that a collecting script put
// before it.
func writeScrape(s *server, sc scrape, d dialect, zero int64) []byte {
	e := &exposer{d: d, created: float64(zero) + sec(sc.m.started) + 62.0625}
	model := s.cfg.engine.model.name
	e.labels = `engine="0",model_name="` + model + `"`
	if d == v0 {
		e.labels = `model_name="` + model + `"`
	}
	at := time.Unix(zero, sc.at).UTC()
	fmt.Fprintf(&e.b, "# Timestamp: %s\n# Pod: %s\n# PodIP: 10.42.0.%d\n# Source: http://10.42.0.%[3]d:8000/metrics\n",
		at.Format("2006-01-02T15:04:05Z"), s.cfg.pod, 11+strings.IndexByte("0123456789", s.cfg.pod[len(s.cfg.pod)-1]))
	e.process(sc, zero)
	e.gauges(sc)
	e.counters(sc)
	e.histograms(sc.m)
	e.config(s)
	e.httpRequests(sc.m)
	return e.b.Bytes()
}

func (e *exposer) head(name, kind, help string) {
	fmt.Fprintf(&e.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// series writes a sample; label goes between or beside the common ones so that
// names are in order, as the client library has them.
func (e *exposer) series(name, label string, v float64) {
	e.b.WriteString(name)
	all := e.labels
	if label != "" {
		key, _, _ := strings.Cut(label, "=")
		parts := strings.Split(e.labels, ",")
		i := 0
		for i < len(parts) && parts[i][:strings.IndexByte(parts[i], '=')] < key {
			i++
		}
		parts = append(parts[:i:i], append([]string{label}, parts[i:]...)...)
		all = strings.Join(parts, ",")
	}
	e.b.WriteString("{" + all + "} " + goFloat(v) + "\n")
}

// goFloat formats a value as prometheus_client does: Python's repr, with an
// exponent from 10⁶ on.
func goFloat(v float64) string {
	if math.IsInf(v, 1) {
		return "+Inf"
	}
	s := string(appendPython(nil, v))
	dot := strings.IndexByte(s, '.')
	if v <= 0 || dot <= 6 || strings.ContainsRune(s, 'e') {
		return s
	}
	digits := strings.TrimRight(s[:1]+"."+s[1:dot]+s[dot+1:], "0")
	return strings.TrimSuffix(digits, ".") + fmt.Sprintf("e+%02d", dot-1)
}

// process writes what the client library says of the process itself.
func (e *exposer) process(sc scrape, zero int64) {
	if e.d != v1Trimmed {
		e.head("python_info", "gauge", "Python platform information")
		e.b.WriteString("python_info{implementation=\"CPython\",major=\"3\",minor=\"12\",patchlevel=\"11\",version=\"3.12.11\"} 1.0\n")
		e.head("process_resident_memory_bytes", "gauge", "Resident memory size in bytes.")
		e.b.WriteString("process_resident_memory_bytes 1.4829568e+09\n")
	}
	e.head("process_start_time_seconds", "gauge", "Start time of the process since unix epoch in seconds.")
	fmt.Fprintf(&e.b, "process_start_time_seconds %s\n", goFloat(float64(zero)+sec(sc.m.started)+0.25))
	e.head("process_cpu_seconds_total", "counter", "Total user and system CPU time spent in seconds.")
	// Beside tokenizing and streaming a server spends its start-up and a few
	// percent of a core on its loops.
	cpu := 41.5 + 0.04*sec(sc.at-sc.m.started) + sec(sc.m.cpu)
	fmt.Fprintf(&e.b, "process_cpu_seconds_total %s\n", goFloat(math.Round(cpu*100)/100))
}

func (e *exposer) gauges(sc scrape) {
	gauge := func(name, help string, v float64) { e.head(name, "gauge", help); e.series(name, "", v) }
	gauge("vllm:num_requests_running", "Number of requests in model execution batches.", float64(sc.running))
	gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.", float64(sc.waiting))
	if e.d == v0 {
		gauge("vllm:num_requests_swapped", "Number of requests swapped to CPU.", 0)
		gauge("vllm:gpu_cache_usage_perc", "GPU KV-cache usage. 1 means 100 percent usage.", sc.kvUsage)
		gauge("vllm:cpu_cache_usage_perc", "CPU KV-cache usage. 1 means 100 percent usage.", 0)
		return
	}
	name := "vllm:num_requests_waiting_by_reason"
	e.head(name, "gauge", "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of all reasons equals vllm:num_requests_waiting.")
	e.series(name, `reason="capacity"`, float64(sc.waiting))
	e.series(name, `reason="deferred"`, 0)
	if e.d == v1Full {
		name = "vllm:engine_sleep_state"
		e.head(name, "gauge", "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.")
		e.series(name, `sleep_state="awake"`, 1)
		e.series(name, `sleep_state="weights_offloaded"`, 0)
		e.series(name, `sleep_state="discard_all"`, 0)
	}
	gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", sc.kvUsage)
}

// counter writes a counter and, where the dialect has it, its creation time.
func (e *exposer) counter(name, help string, labels []string, values ...float64) {
	e.head(name+"_total", "counter", help)
	for i, v := range values {
		label := ""
		if labels != nil {
			label = labels[i]
		}
		e.series(name+"_total", label, v)
	}
	e.creation(name, help, labels)
}

func (e *exposer) creation(name, help string, labels []string) {
	if e.d == v1Trimmed {
		return
	}
	e.head(name+"_created", "gauge", help)
	if labels == nil {
		labels = []string{""}
	}
	for _, l := range labels {
		e.series(name+"_created", l, e.created)
	}
}

func (e *exposer) counters(sc scrape) {
	m := sc.m
	f := func(n int64) float64 { return float64(n) }
	if e.d != v0 {
		e.counter("vllm:prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens.", nil, f(m.prefixQueries))
		e.counter("vllm:prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens.", nil, f(m.prefixHits))
	}
	if e.d == v1Full {
		e.counter("vllm:external_prefix_cache_queries", "External prefix cache queries from KV connector cross-instance cache sharing, in terms of number of queried tokens.", nil, 0)
		e.counter("vllm:external_prefix_cache_hits", "External prefix cache hits from KV connector cross-instance cache sharing, in terms of number of cached tokens.", nil, 0)
		e.counter("vllm:mm_cache_queries", "Multi-modal cache queries, in terms of number of queried items.", nil, 0)
		e.counter("vllm:mm_cache_hits", "Multi-modal cache hits, in terms of number of cached items.", nil, 0)
	}
	e.counter("vllm:num_preemptions", "Cumulative number of preemption from the engine.", nil, f(m.preemptions))
	e.counter("vllm:prompt_tokens", "Number of prefill tokens processed.", nil, f(m.prompt))
	if e.d == v1Full {
		e.counter("vllm:prompt_tokens_by_source", "Number of prompt tokens by source.",
			[]string{`source="local_compute"`, `source="local_cache_hit"`, `source="external_kv_transfer"`}, f(m.prompt-m.promptCached), f(m.promptCached), 0)
		e.counter("vllm:prompt_tokens_cached", "Number of cached prompt tokens (local + external).", nil, f(m.promptCached))
	}
	e.counter("vllm:generation_tokens", "Number of generation tokens processed.", nil, f(m.generation))
	reasons, counts := finishReasons, m.finished[:]
	if e.d == v0 {
		reasons, counts = reasons[:3], counts[:3]
	}
	var labels []string
	var values []float64
	for i, r := range reasons {
		labels = append(labels, `finished_reason="`+r+`"`)
		values = append(values, f(counts[i]))
	}
	e.counter("vllm:request_success", "Count of successfully processed requests.", labels, values...)
}

// v0Bounds are the upper bounds that releases before 0.8 ended at.
const (
	v0TTFTTop = 10
	v0ITLTop  = 2.5
	v0REQTop  = 60
)

// histogram writes the buckets up to a top bound (0: all of them).
func (e *exposer) histogram(name, help string, h histogram, top float64) {
	e.head(name, "histogram", help)
	var sum int64
	for i, le := range h.bounds {
		sum += h.counts[i]
		if top == 0 || le <= top {
			e.series(name+"_bucket", `le="`+goFloat(le)+`"`, float64(sum))
		}
	}
	e.series(name+"_bucket", `le="+Inf"`, float64(h.n))
	e.series(name+"_count", "", float64(h.n))
	e.series(name+"_sum", "", h.sum)
	e.creation(name, help, nil)
}

func (e *exposer) histograms(m *metrics) {
	if e.d == v0 {
		e.v0Histograms(m)
		return
	}
	h := func(name, help string, of histogram) { e.histogram("vllm:"+name, help, of, 0) }
	h("request_prompt_tokens", "Number of prefill tokens processed.", m.promptTokens)
	h("request_generation_tokens", "Number of generation tokens processed.", m.genTokens)
	h("iteration_tokens_total", "Histogram of number of tokens per engine_step.", m.iteration)
	if e.d == v1Full {
		h("request_max_num_generation_tokens", "Histogram of maximum number of requested generation tokens.", m.maxTokens)
		h("request_params_n", "Histogram of the n request parameter.", m.params)
		h("request_params_max_tokens", "Histogram of the max_tokens request parameter.", m.maxTokens)
	}
	h("time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft)
	h("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", m.itl)
	h("request_time_per_output_token_seconds", "Histogram of time_per_output_token_seconds per request.", m.tpot)
	h("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", m.e2e)
	h("request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", m.queue)
	h("request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", m.inference)
	h("request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", m.prefill)
	h("request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", m.decode)
	if e.d == v1Full {
		h("request_prefill_kv_computed_tokens", "Histogram of new KV tokens computed during prefill (excluding cached tokens).", m.computed)
	}
}

func (e *exposer) v0Histograms(m *metrics) {
	e.histogram("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", m.ttft, v0TTFTTop)
	e.histogram("vllm:time_per_output_token_seconds", "Histogram of time per output token in seconds.", m.itl, v0ITLTop)
	e.histogram("vllm:e2e_request_latency_seconds", "Histogram of end to end request latency in seconds.", m.e2e, v0REQTop)
	e.histogram("vllm:request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", m.queue, v0REQTop)
	e.histogram("vllm:request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", m.inference, v0REQTop)
	e.histogram("vllm:request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", m.prefill, v0REQTop)
	e.histogram("vllm:request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", m.decode, v0REQTop)
	e.histogram("vllm:request_prompt_tokens", "Number of prefill tokens processed.", m.promptTokens, 0)
	e.histogram("vllm:request_generation_tokens", "Number of generation tokens processed.", m.genTokens, 0)
	e.histogram("vllm:request_params_n", "Histogram of the n request parameter.", m.params, 0)
}

// config writes the facts of the KV cache.
func (e *exposer) config(s *server) {
	c := &s.cfg.engine
	e.head("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig")
	util := strconv.FormatFloat(c.memUtil, 'f', -1, 64)
	if e.d == v0 {
		fmt.Fprintf(&e.b, "vllm:cache_config_info{block_size=\"%d\",cache_dtype=\"auto\",cpu_offload_gb=\"0\",enable_prefix_caching=\"True\",gpu_memory_utilization=\"%s\",num_cpu_blocks=\"2048\",num_gpu_blocks=\"%d\",num_gpu_blocks_override=\"None\",sliding_window=\"None\",swap_space_bytes=\"4294967296\"} 1.0\n",
			blockTokens, util, c.kvBlocks())
		return
	}
	tokens := c.kvBlocks() * blockTokens
	fmt.Fprintf(&e.b, "vllm:cache_config_info{block_size=\"%d\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\",gpu_memory_utilization=\"%s\",kv_cache_max_concurrency=\"%s\",kv_cache_size_tokens=\"%d\",num_cpu_blocks=\"None\",num_gpu_blocks=\"%d\",num_gpu_blocks_override=\"None\",prefix_caching_hash_algo=\"sha256\",sliding_window=\"None\"} 1.0\n",
		blockTokens, util, appendPython(nil, float64(tokens)/float64(c.maxModelLen)), tokens, c.kvBlocks())
}

func (e *exposer) httpRequests(m *metrics) {
	e.head("http_requests_total", "counter", "Total number of requests by method, status and handler.")
	for i, class := range []string{"2xx", "4xx", "5xx"} {
		if i == 0 || m.http[i] > 0 {
			fmt.Fprintf(&e.b, "http_requests_total{handler=\"/v1/chat/completions\",method=\"POST\",status=\"%s\"} %s\n", class, goFloat(float64(m.http[i])))
		}
	}
}

// writeGPU writes what the DCGM exporter shows of the GPUs of a replica between
// two scrapes: utilization is the share of the time that a kernel ran.
func writeGPU(s *server, before, sc scrape, zero int64) []byte {
	var b bytes.Buffer
	c := &s.cfg.engine
	at := time.Unix(zero, sc.at).UTC()
	fmt.Fprintf(&b, "# Timestamp: %s\n# Pod: dcgm-exporter\n", at.Format("2006-01-02T15:04:05Z"))
	busy := 0.0
	if sc.at > before.at && sc.m.started == before.m.started {
		busy = min(1, sec(sc.m.busy-before.m.busy)/sec(sc.at-before.at))
	}
	used := c.memUtil * c.gpu.memBytes / (1 << 20)
	row := func(name, help string, v float64) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
		for g := range c.tp {
			fmt.Fprintf(&b, "%s{gpu=\"%d\",UUID=\"GPU-%08x\",device=\"nvidia%d\",modelName=\"%s\",Hostname=\"node-a\",pod=\"%s\"} %s\n",
				name, g, uint32(mix(uint64(g)+uint64(len(s.cfg.pod)))), g, c.gpu.name, s.cfg.pod, strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	row("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", math.Round(100*busy))
	row("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", math.Round(used))
	row("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", math.Round(110+560*busy))
	return b.Bytes()
}

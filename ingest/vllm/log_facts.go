package vllm

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/logtext"
	"github.com/vreport/vreport/ingest/serving"
)

// A factLine is one of those an engine prints when it starts.
type factLine struct {
	mark string // what it is found by, before the expression is tried
	re   *regexp.Regexp
	keys []string // of the groups
}

var factLines = []factLine{
	{"version ", regexp.MustCompile(`(?:█|vLLM API server)\s+version v?(\d\S*)`), []string{"version"}},
	{"model ", regexp.MustCompile(`█\s+model\s+(\S+)`), []string{"model"}},
	{"LLM engine (v", regexp.MustCompile(`Initializing an? (?:V[01] )?LLM engine \(v([^)]+)\)`), []string{"version"}},
	{"KV cache size: ", regexp.MustCompile(`(?:GPU )?KV cache size: ([\d,]+) tokens`), []string{"kv_cache_tokens"}},
	{"Maximum concurrency for ", regexp.MustCompile(`Maximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x`), []string{"max_model_len", "max_concurrency_at_max_model_len"}},
	{"Available KV cache memory: ", regexp.MustCompile(`Available KV cache memory: ([\d.]+) GiB`), []string{"kv_cache_memory_gib"}},
	{"# GPU blocks: ", regexp.MustCompile(`# GPU blocks: (\d+), # CPU blocks: (\d+)`), []string{"num_gpu_blocks", "num_cpu_blocks"}},
	{"num_gpu_blocks is: ", regexp.MustCompile(`num_gpu_blocks is: (\d+)`), []string{"num_gpu_blocks"}},
	{"max_num_batched_tokens=", regexp.MustCompile(`Chunked prefill is enabled with max_num_batched_tokens=(\d+)`), []string{keyMaxTokens}},
	{"Using max model len ", regexp.MustCompile(`Using max model len (\d+)`), []string{"max_model_len"}},
	{"Model loading took ", regexp.MustCompile(`Model loading took ([\d.]+) Gi?B`), []string{"model_memory_gib"}},
	{"--gpu-memory-utilization=", regexp.MustCompile(`The current --gpu-memory-utilization=([\d.]+)`), []string{"gpu_memory_utilization"}},
}

// engineOptions are the options whose values a start-up line shows. Of the
// others some are secrets (api_key, hf_token) and none is wanted.
var engineOptions = map[string]bool{
	"model": true, "served_model_name": true, "max_model_len": true, "max_seq_len": true, "gpu_memory_utilization": true, "max_num_seqs": true,
	"max_num_batched_tokens": true, "tensor_parallel_size": true, "pipeline_parallel_size": true, "data_parallel_size": true,
	"enable_expert_parallel": true, "enable_prefix_caching": true, "enable_chunked_prefill": true, "chunked_prefill_enabled": true, "quantization": true,
	"kv_cache_dtype": true, "dtype": true, "block_size": true, "swap_space": true, "enforce_eager": true, "load_format": true, "scheduling_policy": true,
	"preemption_mode": true, "num_speculative_tokens": true, "num_spec_tokens": true, "decode_context_parallel_size": true, "kv_connector": true,
	"async_scheduling": true, "enable_lora": true, "num_scheduler_steps": true,
}

var (
	// 'max_num_seqs': 16 · max_num_seqs=16 · kv_connector='LMCacheMPConnector'
	engineOption = regexp.MustCompile(`['"]?\b([a-z_]+)['"]?\s?[:=]\s?(\['[^'\]]*'|'[^']*'|"[^"]*"|[A-Za-z0-9_.+-]+)(?:[,})\]\s]|$)`)
	argsMark     = []byte("non-default args: ")
	optionMarks  = [][]byte{argsMark, []byte("LLM engine ("), []byte("args: Namespace(")}
)

// facts are what the engines of one source printed when they started.
type logFacts struct {
	order  []string
	values map[string]factValue
	boot   int  // how often a start was seen
	ran    bool // a periodic line has come since the last start
	bootAt int  // line of the last start
	pid    string
}

type factValue struct {
	text string
	boot int
}

func newLogFacts() *logFacts { return &logFacts{values: map[string]factValue{}} }

// set remembers a value. Within one start the first counts (workers repeat it);
// a later start that differs is told.
func (f *logFacts) set(key, value string) {
	value = strings.ReplaceAll(strings.Trim(value, `'"[ `), ",", "")
	if value == "" || value == "None" {
		return
	}
	old, ok := f.values[key]
	switch {
	case !ok:
		if len(f.order) >= maxFields {
			return
		}
		f.order = append(f.order, key)
		f.values[key] = factValue{value, f.boot}
	case old.boot < f.boot:
		if last := old.text[strings.LastIndex(old.text, ", then ")+1:]; strings.TrimPrefix(last, " then ") != value && len(old.text) < maxText {
			old.text += ", then " + value
		}
		f.values[key] = factValue{old.text, f.boot}
	}
}

// start notes that a process starts. Each start prints several lines; those
// before the next periodic line are one.
func (f *logFacts) start(line int, pid string) {
	if f.bootAt > 0 && !f.ran {
		return // the first of them is the front end's, whose process prints the periodic lines
	}
	if f.ran {
		f.boot++
		f.ran = false
	}
	f.bootAt, f.pid = line, pid
}

// see takes what a line says of the start. It reports whether the line is one
// that only a starting server prints.
func (f *logFacts) see(text []byte, line int, pid string) (started bool) {
	for _, m := range optionMarks {
		i := bytes.Index(text, m)
		if i < 0 || i > maxBefore {
			continue
		}
		if bytes.Equal(m, argsMark) { // the others are printed by other programs too
			f.start(line, pid)
			started = true
		}
		f.options(string(text[i:min(len(text), i+maxOptions)]))
	}
	for i := range factLines {
		l := &factLines[i]
		at := bytes.Index(text, []byte(l.mark))
		if at < 0 || at > maxBefore {
			continue
		}
		if m := l.re.FindSubmatch(text[:min(len(text), 1024)]); m != nil {
			if l.keys[0] == "version" {
				f.start(line, pid)
				started = true
			}
			for k, key := range l.keys {
				f.set(key, string(m[k+1]))
			}
		}
	}
	return started
}

// maxOptions bounds the part of a start-up line that options are read from.
const maxOptions = 16 << 10

func (f *logFacts) options(text string) {
	for _, m := range engineOption.FindAllStringSubmatch(text, 2000) {
		if engineOptions[m[1]] {
			f.set(m[1], m[2])
		}
	}
}

// get returns a fact, of several starts the last.
func (f *logFacts) get(key string) serving.Opt[string] {
	v, ok := f.values[key]
	if !ok {
		return serving.None[string]()
	}
	if i := strings.LastIndex(v.text, ", then "); i >= 0 {
		v.text = v.text[i+len(", then "):]
	}
	return serving.Some(v.text)
}

// model is the name requests call the model by: Prometheus' model_name.
func (f *logFacts) model() serving.Opt[string] {
	if s := f.get("served_model_name"); s.OK {
		return s
	}
	return f.get("model")
}

func (f *logFacts) settings() []serving.Setting {
	var out []serving.Setting
	for _, k := range f.order {
		out = append(out, serving.Setting{Key: k, Value: f.values[k].text})
	}
	return out
}

// A trouble is a kind of line that tells of a failure.
type trouble struct {
	key  string // in Server.Info
	what string
	says interface{ Match([]byte) bool }
}

var troubles = []trouble{
	{"log_http_5xx", "the server answered with an error", regexp.MustCompile(`HTTP/[\d.]+" 5\d\d\b`)},
	{"log_out_of_memory", "the GPU ran out of memory", logtext.MustPhrases(`OutOfMemoryError|(?i:(?:CUDA|HIP|GPU|XPU)\b.{0,40}out of memory)|[Nn]o available memory for the cache blocks`)},
	{"log_engine_died", "the engine died", logtext.MustPhrases(`EngineDeadError|EngineCore (?:encountered a fatal error|failed to start)|Engine (?:core|loop) (?:has )?died`)},
	{"log_timeouts", "something timed out", logtext.MustPhrases(`TimeoutError|(?i:\btimed out\b)`)},
	{"log_tracebacks", "an exception was raised", regexp.MustCompile(`Traceback \(most recent call last\)`)},
}

// troubleMarks are looked for before the expressions are tried.
var troubleMarks = [][]byte{[]byte(`" 5`), []byte("emory"), []byte("MEMORY"), []byte("ngine"), []byte("imeoutError"), []byte("imed out"), []byte("Traceback")}

// troublesIn returns which kinds of trouble a line tells of.
func troublesIn(text []byte) []int {
	text = text[:min(len(text), 2048)]
	found := false
	for _, m := range troubleMarks {
		found = found || bytes.Contains(text, m)
	}
	if !found {
		return nil
	}
	var out []int
	for i := range troubles {
		if troubles[i].says.Match(text) {
			out = append(out, i)
		}
	}
	return out
}

func (t *trouble) problem(at serving.Pos, text []byte) serving.Problem {
	return serving.Problem{At: at, Message: fmt.Sprintf("the log tells of trouble: %s: %s", t.what, jsonscan.Cut(strings.TrimSpace(string(text)), 160))}
}

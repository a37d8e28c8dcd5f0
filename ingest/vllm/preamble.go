package vllm

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// maxPreamble is how far before a table its command and its log lines are
// looked for.
const maxPreamble = 64 << 10

// A preamble is what stood before a table: the command, the arguments that the
// harness prints, and the load it announces. Later lines win.
type preamble struct {
	order  []string
	values map[string]string
}

var (
	// Namespace(backend='vllm', max_concurrency=64, …)
	namespace = regexp.MustCompile(`Namespace\(([^\n]*)`)
	argument  = regexp.MustCompile(`([a-z_0-9]+)=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,\s)]+)`)
	// vllm bench serve --max-concurrency 64 \
	command = regexp.MustCompile(`(?:vllm bench serve|benchmark_serving(?:\.py)?|vllm-bench)\b((?:[^\n\\]|\\\r?\n|\\.)*)`)
	flag    = regexp.MustCompile(`--([a-z][a-z0-9-]*)(?:[= \t]+|\s*\\\r?\n\s*)('[^']*'|"[^"]*"|[^\s\\-][^\s\\]*|-\d[^\s\\]*)`)
	// Traffic request rate: 10.0
	announced = regexp.MustCompile(`(?m)(Traffic request rate|RPS Change|Burstiness factor|Maximum request concurrency|Traffic ramp-up strategy):[ \t]*([^\s(]+)`)
)

// kept are the arguments that say how a run was made. Of all others (URLs,
// headers, file names) some are secrets and none is wanted.
var kept = map[string]bool{
	"backend": true, "endpoint_type": true, "model": true, "tokenizer": true, "dataset_name": true, "num_prompts": true, "request_rate": true,
	"burstiness": true, "max_concurrency": true, "random_input_len": true, "random_output_len": true, "random_range_ratio": true, "random_prefix_len": true,
	"sonnet_input_len": true, "sonnet_output_len": true, "sharegpt_output_len": true, "input_len": true, "output_len": true, "ignore_eos": true, "seed": true,
	"goodput": true, "ramp_up_strategy": true, "ramp_up_start_rps": true, "ramp_up_end_rps": true, "tensor_parallel_size": true, "temperature": true, "label": true,
}

var announcedAs = map[string]string{
	"Traffic request rate": "request_rate", "Burstiness factor": "burstiness",
	"Maximum request concurrency": "max_concurrency", "Traffic ramp-up strategy": "ramp_up_strategy",
}

func parsePreamble(text string) preamble {
	p := preamble{values: map[string]string{}}
	for _, m := range last(command.FindAllStringSubmatch(text, -1)) {
		for _, f := range flag.FindAllStringSubmatch(m[1], -1) {
			p.set(strings.ReplaceAll(f[1], "-", "_"), f[2])
		}
	}
	for _, m := range last(namespace.FindAllStringSubmatch(text, -1)) {
		for _, a := range argument.FindAllStringSubmatch(m[1], -1) {
			p.set(a[1], a[2])
		}
	}
	for _, m := range announced.FindAllStringSubmatch(text, -1) {
		p.set(announcedAs[m[1]], strings.TrimSuffix(m[2], "."))
	}
	return p
}

// last returns the last match alone: the command nearest to the table.
func last(ms [][]string) [][]string { return ms[max(len(ms)-1, 0):] }

func (p *preamble) set(key, value string) {
	value = strings.Trim(value, `'"`)
	if !kept[key] || len(value) > maxText {
		return
	}
	if value == "None" || value == "" {
		delete(p.values, key)
		return
	}
	if _, ok := p.values[key]; !ok {
		p.order = append(p.order, key)
	}
	p.values[key] = value
}

func (p *preamble) text(keys ...string) serving.Opt[string] {
	for _, k := range keys {
		if v, ok := p.values[k]; ok {
			return serving.Some(v)
		}
	}
	return serving.None[string]()
}

// number returns a finite number.
func (p *preamble) number(key string) serving.Opt[float64] {
	v, err := strconv.ParseFloat(p.values[key], 64)
	if err != nil || v-v != 0 {
		return serving.None[float64]()
	}
	return serving.Some(v)
}

// settings lists what has no place of its own in a run.
func (p *preamble) settings() []serving.Setting {
	var out []serving.Setting
	for i, k := range p.order {
		switch k {
		case "backend", "endpoint_type", "model", "tokenizer", "request_rate", "burstiness", "max_concurrency":
			continue
		}
		if v, ok := p.values[k]; ok && !seenBefore(p.order[:i], k) {
			out = append(out, serving.Setting{Key: k, Value: v})
		}
	}
	return out
}

func seenBefore(keys []string, k string) bool {
	for _, o := range keys {
		if o == k {
			return true
		}
	}
	return false
}

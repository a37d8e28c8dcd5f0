package vllm

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// A twin is the file that vLLM's benches write beside their result where
// SAVE_TO_PYTORCH_BENCHMARK_FORMAT is set: one record a metric, each with the
// metric's values, all other results and the arguments of the command. It holds
// what the result holds and the arguments on top, which the offline benches
// write nowhere else.
const twinSuffix = ".pytorch.json"

var (
	twinBench  = regexp.MustCompile(`"name"\s*:\s*"[^"]*(?i:vllm)[^"]*"`)
	twinMetric = regexp.MustCompile(`"metric"\s*:\s*\{(?:\s*"benchmark_values"\s*:\s*\[[^\[\]]*\]\s*,)?\s*"name"\s*:\s*"([^"]+)"`)
)

// SniffTwin says which format's twin a file is by its first record's names and
// its first bytes, "" and why where it is none.
func SniffTwin(keys map[string]bool, head []byte) (format, why string) {
	if ok, why := hasAll(keys, "benchmark", "metric", "model"); !ok {
		return "", why
	}
	m := twinMetric.FindSubmatch(head)
	switch {
	case !twinBench.Match(head):
		return "", "the benchmark's name is not vLLM's"
	case m == nil:
		return "", "no metric with a name in the first record"
	}
	if f := twinOf(string(m[1])); f != "" {
		return f, ""
	}
	return "", fmt.Sprintf("the metric %q is none of vLLM's benches", jsonscan.Cut(string(m[1]), 60))
}

// twinOf returns the format whose bench reports a metric.
func twinOf(metric string) string {
	_, isTotal := totals[metric]
	_, _, isStat := parseStat(metric)
	switch {
	case metric == "latency":
		return FormatLatency
	case metric == "requests_per_second" || metric == "tokens_per_second":
		return FormatThroughput
	case isTotal || isStat:
		return FormatServe
	}
	return ""
}

// TwinPath returns the path of the result that a twin lies beside: x.json for
// x.pytorch.json.
func TwinPath(path string) (of string, ok bool) {
	for _, zip := range []string{"", ".gz", ".zst"} {
		if s, ok := strings.CutSuffix(path, twinSuffix+zip); ok && s != "" {
			return s + ".json" + zip, true
		}
	}
	return "", false
}

// DecodeTwin reads a twin: the run whose metrics the records are. Each run's
// Format says which bench it is of.
//
// It fills in Records (runs), Fields, Note and Problems of the input.
func DecodeTwin(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &serveDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, seen: map[string]bool{}}
	t := &twinDecoder{d: d}
	_, _, err := d.r.Records(FormatServe, &in.Problems, t.record)
	t.finish()
	in.Records = int64(len(d.runs))
	if err != nil {
		return nil, d.r.Describe(err, FormatServe)
	}
	if len(d.runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatServe, Found: "no metric of a vLLM bench in the records",
			Want: "records with benchmark, metric and model"}
	}
	in.Note = "written for the PyTorch benchmark database: repeats the result file beside it, one record a metric"
	return d.runs, nil
}

// A twinDecoder collects the records of one run. A metric that comes again
// starts the next run.
type twinDecoder struct {
	d    *serveDecoder
	run  *twinRecord
	seen map[string]bool // metrics of run
}

// A twinRecord is one record, or a run's first one with the metrics of the
// others added.
type twinRecord struct {
	at     serving.Pos
	format string
	metric string
	values []float64
	model  serving.Opt[string]
	rec    *record // the other results
	args   []serving.Setting
}

func (t *twinDecoder) record(i int) error {
	if err := t.d.ctx.Err(); err != nil {
		return err
	}
	w := &twinRecord{at: serving.Pos{Path: t.d.path, Line: t.d.r.NextLine(), Field: fmt.Sprintf("[%d]", i)}, rec: t.d.newRecord()}
	if _, err := t.d.r.Object(w.member); err != nil {
		return err
	}
	w.format = twinOf(w.metric)
	if w.format == "" || len(w.values) == 0 {
		t.d.in.Problems.AddKind("no metric", serving.Problem{At: w.at, Message: fmt.Sprintf("the record is no metric of a vLLM bench (name %q, %d values): left out", jsonscan.Cut(w.metric, 60), len(w.values))})
		return nil
	}
	if t.run == nil || t.seen[w.metric] || t.run.format != w.format {
		t.finish()
		t.run, t.seen = w, map[string]bool{}
	}
	t.seen[w.metric] = true
	t.run.add(w.metric, w.values)
	return nil
}

// member reads a member of a record.
func (w *twinRecord) member(key string) error {
	r := w.rec.decoder.r
	switch key {
	case "benchmark":
		return object(r, map[string]func() error{"extra_info": func() error {
			return object(r, map[string]func() error{"args": w.arguments})
		}})
	case "model":
		return object(r, map[string]func() error{"name": func() error {
			s, ok, err := r.Text(maxText)
			if ok && s != "" {
				w.model = serving.Some(s)
			}
			return err
		}})
	case "metric":
		return object(r, map[string]func() error{
			"name": func() (err error) {
				w.metric, _, err = r.Text(maxText)
				return err
			},
			"benchmark_values": func() (err error) {
				w.values, err = w.rec.decoder.floats(nil, "benchmark_values", maxKeys)
				return err
			},
			"extra_info": func() error {
				_, err := r.Object(w.result)
				return err
			},
		})
	}
	return r.Skip()
}

// result reads one of the other results. Names mean different things in a serve
// result and in one of an offline bench.
func (w *twinRecord) result(key string) error {
	if twinOf(w.metric) == FormatServe {
		return w.rec.member(key)
	}
	return w.rec.offlineMember(key)
}

// object reads the named members of an object and passes over the others.
func object(r *jsonscan.Reader, members map[string]func() error) error {
	_, err := r.Object(func(key string) error {
		if f := members[key]; f != nil {
			return f()
		}
		return r.Skip()
	})
	return err
}

// engineArguments are arguments of the offline benches, which make the engine
// themselves, beside those of a client (see kept). Others may be secrets.
var engineArguments = map[string]bool{
	"batch_size": true, "num_iters": true, "num_iters_warmup": true, "n": true, "use_beam_search": true, "num_iter": true,
	"tensor_parallel_size": true, "pipeline_parallel_size": true, "data_parallel_size": true, "enable_expert_parallel": true,
	"dtype": true, "quantization": true, "kv_cache_dtype": true, "block_size": true, "max_model_len": true, "max_num_seqs": true,
	"max_num_batched_tokens": true, "gpu_memory_utilization": true, "enable_prefix_caching": true, "enable_chunked_prefill": true,
	"enforce_eager": true, "load_format": true, "async_engine": true, "prefix_len": true, "hf_max_batch_size": true,
}

func (w *twinRecord) arguments() error {
	r := w.rec.decoder.r
	_, err := r.Object(func(key string) error {
		if !kept[key] && !engineArguments[key] {
			return r.Skip()
		}
		s, ok, err := r.Scalar(maxText)
		if ok && !s.IsNull() && s.Text != "" && len(w.args) < maxKeys {
			w.args = append(w.args, serving.Setting{Key: key, Value: s.Text})
		}
		return err
	})
	return err
}

// add puts a record's metric among the other results.
func (w *twinRecord) add(metric string, values []float64) {
	if metric == "latency" {
		w.rec.keys["latencies"] = true
		w.rec.arrays.numbers[latencies] = values
		return
	}
	w.rec.keys[metric] = true
	w.rec.order = append(w.rec.order, metric)
	w.rec.scalars[metric] = jsonscan.Scalar{Kind: '0', Text: fmt.Sprint(values[0])}
	f := fieldOf(metric)
	if w.format == FormatThroughput {
		f = offlineField(metric)
	}
	w.rec.describe(metric, f)
}

// finish turns the run's records into a run.
func (t *twinDecoder) finish() {
	if t.run == nil {
		return
	}
	w := t.run
	t.run = nil
	var r *serving.Run
	switch w.format {
	case FormatServe:
		r = w.rec.run(w.at)
	case FormatThroughput:
		r = w.rec.throughputRun(w.at)
	case FormatLatency:
		r = w.rec.latencyRun(w.at)
	}
	r.Format = w.format
	r.Source.Field = ""
	w.facts(r)
	t.d.runs = append(t.d.runs, r)
}

// facts fills in what only the arguments say.
func (w *twinRecord) facts(r *serving.Run) {
	for _, a := range w.args {
		switch {
		case a.Key == "model" || a.Key == "request_rate" || a.Key == "burstiness" || a.Key == "max_concurrency" || a.Key == "endpoint_type":
		case a.Key == "backend" && w.format == FormatServe:
		case a.Key == "backend":
			// The offline benches' backend is the engine itself.
			if engines[strings.TrimSuffix(a.Value, "-chat")] == "vllm" {
				r.Engine = or(r.Engine, "vllm")
			}
		case a.Key == "tokenizer":
			r.Tokenizer = or(r.Tokenizer, a.Value)
		default:
			if _, dup := r.Setting(a.Key); !dup {
				r.Settings = append(r.Settings, a)
			}
		}
	}
	if !r.Model.OK {
		r.Model = w.model
	}
	facts(r)
}

// Adopt fills in what a run's file does not say and its twin does: the model,
// the engine, the number of GPUs, and of the offline benches the arguments.
func Adopt(r, twin *serving.Run) {
	if !r.Model.OK {
		r.Model = twin.Model
	}
	if !r.Tokenizer.OK {
		r.Tokenizer = twin.Tokenizer
	}
	if !r.Engine.OK {
		r.Engine = twin.Engine
	}
	if !r.GPUs.OK {
		r.GPUs = twin.GPUs
	}
	if r.Format == FormatServe {
		return // its own settings are complete, and more would set it apart from runs without a twin
	}
	for _, s := range twin.Settings {
		if _, dup := r.Setting(s.Key); !dup {
			r.Settings = append(r.Settings, s)
		}
	}
}

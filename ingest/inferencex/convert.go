package inferencex

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/serving"
)

// runOf turns a record into a run.
func runOf(rec *flat.Record, path string, at serving.Pos) *serving.Run {
	base := filepath.Base(path)
	r := &serving.Run{Source: at, Format: Format, Label: strings.TrimSuffix(base, filepath.Ext(base)), Model: rec.Text("model"), Workload: rec.Text("dataset.loader", "scenario_type")}
	engine(r, rec)
	if c := rec.Count("conc"); c.V >= 1 {
		// The harness caps requests in flight and sends at an unlimited rate.
		r.Load = serving.LoadOf(c, serving.None[float64](), true)
	} else {
		r.Load.Mode = serving.UnknownLoad
	}
	for _, name := range rec.Names {
		if v := rec.Text(name); v.OK && isSetting(name) {
			r.Settings = append(r.Settings, serving.Setting{Key: name, Value: v.V})
		}
	}
	g := gpuCount(rec)
	r.GPUs = g.all
	counts(r, rec)
	reported(r, rec, g)
	return r
}

// engines are the frameworks, by the last part of their names: dynamo-trt is
// TensorRT-LLM behind Dynamo.
var engines = map[string]string{"vllm": "vllm", "sglang": "sglang", "trt": "tensorrt-llm", "trtllm": "tensorrt-llm", "atom": "atom"}

// releaseTag is an image's tag that is an engine's version: v0.24.0,
// v0.5.8-cu130, 1.2.0rc6.
var releaseTag = regexp.MustCompile(`:v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:rc|post|dev|a|b)\d+)*)(?:[-_+][0-9A-Za-z._+-]*)?$`)

func engine(r *serving.Run, rec *flat.Record) {
	f := rec.Text("framework")
	if !f.OK {
		return
	}
	name := strings.ToLower(f.V)
	if known := engines[name[strings.LastIndexAny(name, "-_")+1:]]; known != "" {
		name = known
	}
	r.Engine = serving.Some(name)
	image := strings.ToLower(rec.Text("image").V)
	if m := releaseTag.FindStringSubmatch(image); m != nil && imageOf(name, image) {
		r.Version = serving.Some(m[1])
	}
}

// imageOf reports whether an image is the engine's own, so that its tag is the
// engine's version.
func imageOf(engine, image string) bool {
	words := map[string][]string{"vllm": {"vllm"}, "sglang": {"sglang"}, "tensorrt-llm": {"tensorrt-llm", "trtllm"}}[engine]
	repo := image[:strings.LastIndexByte(image, ':')]
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(repo, w) }) && !strings.Contains(repo, "dynamo")
}

// gpuCounts are the divisors of the rates a GPU.
type gpuCounts struct {
	all             serving.Opt[int]
	prefill, decode serving.Opt[int] // where prefill and decode are split
}

// gpuCount is what process_result.py divides by: tensor × pipeline × prefill
// context parallel size on one node (expert, decode-context and data parallel
// use the same GPUs), prefill and decode GPUs on several.
func gpuCount(rec *flat.Record) gpuCounts {
	g := gpuCounts{all: rec.Positive("num_gpus"), prefill: rec.Positive("num_prefill_gpu"), decode: rec.Positive("num_decode_gpu")}
	if g.all.OK {
		return g
	}
	if rec.Count("num_prefill_gpu").OK && rec.Count("num_decode_gpu").OK && g.prefill.V+g.decode.V > 0 {
		g.all = serving.Some(g.prefill.V + g.decode.V) // one of them may be 0
		return g
	}
	if tp := rec.Positive("tp"); tp.OK && rec.Text("is_multinode").V != "true" {
		g.all = serving.Some(tp.V * rec.Positive("pp").Or(1) * rec.Positive("pcp_size").Or(1))
	}
	return g
}

// counts reads what the agentic form knows: what was profiled, and of what was
// dropped the part that was no warm-up. The flat form knows no counts.
func counts(r *serving.Run, rec *flat.Record) {
	r.Completed = rec.Count("num_requests_successful", "request_accounting.records_profiled")
	dropped, warmup := rec.Count("request_accounting.records_dropped_total"), rec.Count("request_accounting.records_warmup_dropped")
	if r.Completed.OK && dropped.OK && warmup.OK && dropped.V >= warmup.V {
		r.Failed = serving.Some(dropped.V - warmup.V)
		r.Sent = serving.Some(r.Completed.V + r.Failed.V)
		if warmup.V > 0 {
			r.Notes = append(r.Notes, fmt.Sprintf("%d warm-up requests are left out by the harness", warmup.V))
		}
	}
	if v, ok := rec.Number("request_metrics.throughput.duration_seconds"); ok && v > 0 {
		r.Duration = serving.Some(v)
	}
	r.Input = sum(rec, "request_metrics.tokens.input.mean", r.Completed)
	r.Output = sum(rec, "request_metrics.tokens.output_actual.mean", r.Completed)
}

// sum gives a mean's sum back where the mean, with its five decimals, is one of
// so many whole numbers; else not all requests have the value.
func sum(rec *flat.Record, name string, n serving.Opt[int64]) serving.Opt[int64] {
	mean, ok := rec.Number(name)
	if !ok || n.Or(0) <= 0 || mean < 0 || mean*float64(n.V) >= 1<<53 {
		return serving.None[int64]()
	}
	total := mean * float64(n.V)
	off := math.Abs(total - math.Round(total))
	if slack := 1e-5 * float64(n.V); slack > 0.25 || off > slack+1e-9*total {
		return serving.None[int64]()
	}
	return serving.Some(int64(math.Round(total)))
}

// reported lists the file's own aggregates in file order.
func reported(r *serving.Run, rec *flat.Record, g gpuCounts) {
	for _, name := range rec.Names {
		v, ok := rec.Number(name)
		if !ok {
			continue
		}
		if t, ok := totals[name]; ok {
			add(r, name, t.metric, "", v)
			perGPU(r, name, t.metric, v, g)
			continue
		}
		if path, stat, ok := split(name); ok {
			m := nested[path].metric
			latency := nested[path].unit == "s" && v <= 0
			if m == interactivity {
				stat, ok = inverted(stat, false)
			}
			if ok && !latency && v >= 0 {
				add(r, name, m, stat, v)
			}
			continue
		}
		if metric, stat, ok := parseStat(name); ok && v > 0 {
			if metric == "intvty" {
				if stat, ok = inverted(stat, true); !ok {
					continue
				}
			}
			add(r, name, statMetrics[metric], stat, v)
		}
	}
	checkGPUs(r)
}

func add(r *serving.Run, field string, m serving.MetricKey, stat string, v float64) {
	r.Reported = append(r.Reported, serving.Reported{Field: field, Metric: m, Stat: stat, File: v, PerBase: 1})
}

// perGPU gives the rate of the whole system where the flat form has only that of
// a GPU: what was divided is multiplied again.
func perGPU(r *serving.Run, name string, m serving.MetricKey, v float64, g gpuCounts) {
	whole, n := serving.MetricKey(""), g.all
	switch {
	case strings.Contains(name, "."):
		return // the agentic form has the system's rates too
	case m == totalPerGPU:
		whole = serving.RateTotal
	case m == outputPerGPU:
		whole = serving.RateOutput
		if g.decode.OK && g.prefill.OK {
			n = g.decode
		}
	case m == inputPerGPU:
		whole = inputRate
		if g.prefill.OK && g.decode.OK {
			n = g.prefill
		}
	}
	if whole != "" && n.OK {
		r.Reported = append(r.Reported, serving.Reported{Field: name, Metric: whole, File: v, PerBase: 1 / float64(n.V)})
	}
}

// checkGPUs compares the count with what the file divided by, where it has both
// rates.
func checkGPUs(r *serving.Run) {
	perGPU, ok := r.ReportedValue(totalPerGPU, "")
	whole, has := r.ReportedValue(serving.RateTotal, "")
	if !ok || !has || !(perGPU > 0) || !(whole > 0) {
		return
	}
	by := whole / perGPU
	n := math.Round(by)
	switch {
	case n < 1 || n > 1<<16 || math.Abs(by-n) > 1e-3*n:
	case !r.GPUs.OK:
		r.GPUs = serving.Some(int(n))
	case float64(r.GPUs.V) != n:
		r.Notes = append(r.Notes, fmt.Sprintf("its parallel sizes make %d GPUs, its rates were divided by %.0f, which is taken", r.GPUs.V, n))
		r.GPUs = serving.Some(int(n))
	}
}

// Repeats reports whether an aggregate says again what another run says: the
// result of the benchmark it was made from. They share at least five latency
// figures, and all that they share are equal to the aggregate's five decimals.
func Repeats(agg, other *serving.Run) bool {
	if agg.Format != Format || other.Format == Format || agg.Load.MaxConcurrency != other.Load.MaxConcurrency {
		return false
	}
	shared := 0
	for _, a := range agg.Reported {
		switch a.Metric {
		case serving.TTFT, serving.TPOT, serving.E2E, serving.ITL:
		default:
			continue
		}
		v, ok := other.ReportedValue(a.Metric, a.Stat)
		if !ok {
			continue
		}
		shared++
		slack := 1e-9 * math.Abs(v)
		if strings.Contains(a.Field, ".") {
			slack += 5.1e-6
		}
		if math.Abs(a.Value()-v) > slack {
			return false
		}
	}
	return shared >= 5
}

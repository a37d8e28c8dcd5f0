package prom

import (
	"math"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vreport/vreport/ingest/serving"
)

// A figure is what the name of a column in a poller's file stands for.
type figure struct {
	as    serving.SeriesName
	kind  kind
	unit  serving.Unit
	over  over
	exact bool // a byte count: without a unit in its name or cells it is not understood
}

var (
	runningFigure = figure{as: serving.Running, unit: serving.RequestsUnit}
	waitingFigure = figure{as: serving.Waiting, unit: serving.RequestsUnit}
	kvFigure      = figure{as: serving.KVUsage, unit: serving.Share}
	promptFigure  = figure{as: serving.PromptRate, unit: serving.PerSecond}
	genFigure     = figure{as: serving.GenerationRate, unit: serving.PerSecond}
	hitFigure     = figure{as: serving.PrefixHitRatio, unit: serving.Share}
	preemptFigure = figure{as: serving.Preemptions, kind: counter, unit: serving.NoUnit}
	gpuFigure     = figure{as: serving.GPUUtil, unit: serving.Share, over: overMean}
	gpuMemFigure  = figure{as: serving.GPUMemoryUsed, unit: serving.Bytes, over: overSum, exact: true}
	powerFigure   = figure{as: serving.GPUPower, unit: serving.NoUnit, over: overSum}
)

// columnFigures are the names that pollers give columns, in lower case with
// underscores and without a unit at the end.
var columnFigures = map[string]*figure{
	"running": &runningFigure, "num_running": &runningFigure, "requests_running": &runningFigure, "running_requests": &runningFigure, "running_reqs": &runningFigure,
	"waiting": &waitingFigure, "num_waiting": &waitingFigure, "requests_waiting": &waitingFigure, "waiting_requests": &waitingFigure, "waiting_reqs": &waitingFigure,
	"queued": &waitingFigure, "queue_depth": &waitingFigure, "queue_len": &waitingFigure, "queue_length": &waitingFigure, "queue_size": &waitingFigure,
	"swapped": {as: serving.Swapped, unit: serving.RequestsUnit},
	"kv":      &kvFigure, "kv_cache": &kvFigure, "kv_usage": &kvFigure, "kv_cache_usage": &kvFigure, "kv_util": &kvFigure, "kv_cache_util": &kvFigure,
	"kv_cache_utilization": &kvFigure, "gpu_kv_cache": &kvFigure, "gpu_kv_cache_usage": &kvFigure, "gpu_cache_usage": &kvFigure, "cache_usage": &kvFigure,
	"prompt_throughput": &promptFigure, "avg_prompt_throughput": &promptFigure, "prefill_throughput": &promptFigure, "prompt_tokens_per_s": &promptFigure, "prompt_tps": &promptFigure,
	"gen_throughput": &genFigure, "generation_throughput": &genFigure, "avg_generation_throughput": &genFigure, "decode_throughput": &genFigure,
	"generation_tokens_per_s": &genFigure, "output_tokens_per_s": &genFigure, "gen_tps": &genFigure, "generation_tps": &genFigure,
	"prefix_cache_hit_rate": &hitFigure, "prefix_hit_rate": &hitFigure, "gpu_prefix_cache_hit_rate": &hitFigure, "prefix_cache_hit_ratio": &hitFigure,
	"preemptions": &preemptFigure, "num_preemptions": &preemptFigure, "preemptions_total": &preemptFigure,
	"gpu_util": &gpuFigure, "gpu_utilization": &gpuFigure, "utilization_gpu": &gpuFigure, "gpu_usage": &gpuFigure,
	"gpu_mem_used": &gpuMemFigure, "gpu_memory_used": &gpuMemFigure, "memory_used": &gpuMemFigure, "gpu_mem": &gpuMemFigure, "gpu_memory": &gpuMemFigure, "fb_used": &gpuMemFigure,
	"gpu_power": &powerFigure, "power_draw": &powerFigure, "gpu_power_draw": &powerFigure, "gpu_power_usage": &powerFigure, "power": &powerFigure,
}

// nameUnits are units at the end of a column's name.
var nameUnits = []struct {
	end string
	of  scaleUnit
}{
	{"_toks_per_s", scaleUnit{serving.PerSecond, 1, false}}, {"_tokens_per_second", scaleUnit{serving.PerSecond, 1, false}}, {"_tokens_per_s", scaleUnit{serving.PerSecond, 1, false}},
	{"_tok_s", scaleUnit{serving.PerSecond, 1, false}}, {"_tok_per_s", scaleUnit{serving.PerSecond, 1, false}}, {"_per_s", scaleUnit{serving.PerSecond, 1, false}},
	{"_percent", scaleUnit{serving.Share, 0.01, true}}, {"_percentage", scaleUnit{serving.Share, 0.01, true}}, {"_pct", scaleUnit{serving.Share, 0.01, true}},
	{"_perc", scaleUnit{serving.Share, 1, false}}, {"_ratio", scaleUnit{serving.Share, 1, false}}, {"_frac", scaleUnit{serving.Share, 1, false}}, {"_fraction", scaleUnit{serving.Share, 1, false}},
	{"_ms", scaleUnit{serving.Seconds, 1e-3, false}}, {"_us", scaleUnit{serving.Seconds, 1e-6, false}}, {"_seconds", scaleUnit{serving.Seconds, 1, false}}, {"_s", scaleUnit{serving.Seconds, 1, false}},
	{"_mib", scaleUnit{serving.Bytes, 1 << 20, false}}, {"_gib", scaleUnit{serving.Bytes, 1 << 30, false}}, {"_gb", scaleUnit{serving.Bytes, 1e9, false}}, {"_bytes", scaleUnit{serving.Bytes, 1, false}},
	{"_watts", scaleUnit{serving.NoUnit, 1, false}}, {"_w", scaleUnit{serving.NoUnit, 1, false}},
}

// plainName writes a column's name in lower case with single underscores.
func plainName(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "%", " percent "), "/s", " per s ")
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(s) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(c)
			continue
		}
		gap = true
	}
	return b.String()
}

// splitUnit cuts a unit off a plain name.
func splitUnit(plain string) (name string, u scaleUnit, ok bool) {
	for _, n := range nameUnits {
		if base, found := strings.CutSuffix(plain, n.end); found && base != "" {
			return base, n.of, true
		}
	}
	return plain, scaleUnit{}, false
}

// figureOf finds the figure of a column by the names pollers use.
func figureOf(column string) (f *figure, u scaleUnit, hasUnit bool) {
	plain := plainName(column)
	base, u, hasUnit := splitUnit(plain)
	if f := columnFigures[plain]; f != nil {
		if !hasUnit || u.unit != f.unit {
			return f, scaleUnit{}, false
		}
		return f, u, true
	}
	if f := columnFigures[base]; f != nil && u.unit == f.unit {
		return f, u, true
	}
	return nil, u, hasUnit
}

// exporterSeries finds the series of an exporter that a column is named after:
// as it stands, with labels, without the engine's prefix or the _total of a
// counter.
func exporterSeries(column string) (name string, ls labels.Labels, ok bool) {
	column = strings.TrimSpace(column)
	ls = labels.EmptyLabels()
	if strings.HasSuffix(column, "}") {
		parsed, err := parseLabels([]byte(column))
		if err != nil {
			return "", ls, false
		}
		column, ls = parsed.Get(nameLabel), parsed
	}
	for _, prefix := range [...]string{"", "vllm:", "sglang:"} {
		for _, suffix := range [...]string{"", "_total"} {
			n := prefix + column + suffix
			if m, found := meaningOf(n); found && (prefix == "" || m.part == partValue && m.row.engine != "") {
				return n, ls, true
			}
		}
	}
	return column, ls, false
}

// rises reports whether values are those of a counter: they fall rarely, as at a
// restart.
func rises(values []float64) bool {
	up, down, last := 0, 0, math.NaN()
	for _, v := range values {
		switch {
		case v > last:
			up++
		case v < last:
			down++
		}
		last = v
	}
	return down == 0 || up >= 8*down
}

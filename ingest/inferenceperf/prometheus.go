package inferenceperf

import (
	"fmt"
	"math"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// isPrometheus tells a report of Prometheus' figures from one of requests: its
// successes hold no latencies of requests but summaries of histograms.
func isPrometheus(d *tree.Node) bool {
	s := d.Get(keySuccesses)
	return !s.Has("latency") && !s.Has("throughput") && (s.Has("rate") || s.Has("queue_len") || s.Has("kv_cache_usage_percentage"))
}

// serverTimes are the histograms that the report summarizes, in seconds. The
// engines observe time_per_output_token once a token, which is a gap.
var serverTimes = []struct {
	name   string
	metric serving.MetricKey
}{
	{"time_to_first_token", serving.TTFT},
	{"request_latency", serving.E2E},
	{"inter_token_latency", serving.ITL},
	{"time_per_output_token", serving.ITL},
	{"request_queue_time", serving.Queue},
	{"request_prefill_time", serving.Prefill},
	{"request_decode_time", serving.Decode},
	{"request_prompt_tokens", serving.PromptTokens},
	{"request_generation_tokens", serving.OutputTokens},
}

// server turns a report into a server seen at the start and at the end of its
// window: counters rise by what the report counted, means of gauges are facts
// without a course, distributions stand as stated.
func server(path string, d *tree.Node, in *serving.Input) *serving.Server {
	p := newReport(path, d, in)
	s := d.Get(keySuccesses)
	count, okC := p.number(s.Get("count"))
	rate, okR := p.number(s.Get("rate"))
	if !okC || !okR || !(count > 0) || !(rate > 0) || count/rate > 1e9 {
		in.Problems.Add(serving.Problem{At: s.At(path), Message: "no requests in Prometheus for this time (count and rate are missing or 0): the report says nothing"})
		return nil
	}
	window := int64(count / rate * 1e9)
	out := &serving.Server{ID: baseLabel(path), Label: baseLabel(path), Sources: []string{path}, Times: []int64{0, window}, Relative: true,
		TimeRule: "the window of the report, count / rate; it has no time of day"}
	v := &view{report: p, s: s, out: out, count: count, window: float64(window) / 1e9}
	v.counters()
	v.gauges()
	v.distributions()
	in.Note = fmt.Sprintf("what Prometheus knew of the server over %.0f s: totals, means and quantiles, no series", v.window)
	return out
}

// A view fills one server.
type view struct {
	*report
	s      *tree.Node
	out    *serving.Server
	count  float64
	window float64 // seconds
}

func (v *view) counters() {
	add := func(name serving.SeriesName, unit serving.Unit, from string, total float64) {
		v.field(keySuccesses+"."+from, string(name), "", "dialect")
		v.out.Counters = append(v.out.Counters, serving.Counter{Name: name, Unit: unit, From: from, Values: []float64{0, total}})
	}
	add(serving.FinishedTotal, serving.RequestsUnit, "count", v.count)
	for _, k := range []struct {
		name serving.SeriesName
		from string
	}{{serving.PromptTotal, "prompt_len"}, {serving.GenerationTotal, "output_len"}} {
		if r, ok := v.number(v.s.Get(k.from, "rate")); ok && r > 0 {
			add(k.name, serving.Tokens, k.from+".rate", math.Round(r*v.window))
		}
	}
	if n, ok := v.number(v.s.Get("num_preemptions_total", "mean")); ok && n > 0 {
		add(serving.Preemptions, serving.NoUnit, "num_preemptions_total", n)
	}
}

// gauges reads means over the window. A mean queue of 0 is a measurement only
// beside other figures that are none; KV usage and hit ratio of exactly 0 under
// load are what the report writes where the engine has no such series.
func (v *view) gauges() {
	for _, k := range []struct {
		name     serving.SeriesName
		from     string
		per      float64
		zeroIsNo bool
	}{
		{serving.Waiting, "queue_len", 1, false},
		{serving.Running, "num_requests_running", 1, true},
		{serving.Swapped, "num_requests_swapped", 1, true},
		{serving.PrefixHitRatio, "prefix_cache_hit_percent", 100, true},
	} {
		m, ok := v.number(v.s.Get(k.from, "mean"))
		if !ok || m < 0 || m == 0 && k.zeroIsNo {
			continue
		}
		v.gauge(k.name, k.from, m/k.per)
	}
	// vLLM's series is a share although the report calls it a percentage.
	kv, ok := v.number(v.s.Get("kv_cache_usage_percentage", "mean"))
	if most, has := v.number(v.s.Get("kv_cache_usage_percentage", "p99")); ok && kv > 0 {
		per := 1.0
		if kv > 1 || has && most > 1 {
			per = 100
		}
		v.gauge(serving.KVUsage, "kv_cache_usage_percentage", kv/per)
	}
}

func (v *view) gauge(name serving.SeriesName, from string, mean float64) {
	v.field(keySuccesses+"."+from, string(name), "", "dialect")
	v.out.Info = append(v.out.Info, serving.Setting{Key: string(name) + " (mean)", Value: strconv.FormatFloat(mean, 'g', 6, 64)})
}

// distributions reads the quantiles and means that the report states. They are
// kept as stated: a histogram made up around them would give percentiles that
// nobody measured.
func (v *view) distributions() {
	have := map[serving.MetricKey]bool{}
	for _, k := range serverTimes {
		if have[k.metric] {
			continue
		}
		n := v.s.Get(k.name)
		for _, q := range []struct{ from, stat string }{{"mean", "mean"}, {"median", "p50"}, {"p90", "p90"}, {"p99", "p99"}} {
			// A summary of zeros is a query that found nothing.
			if x, ok := v.number(n.Get(q.from)); ok && x > 0 {
				have[k.metric] = true
				v.out.Reported = append(v.out.Reported, serving.Reported{Field: k.name + "." + q.from, Metric: k.metric, Stat: q.stat, File: x, PerBase: 1})
			}
		}
		if have[k.metric] {
			v.field(keySuccesses+"."+k.name, string(k.metric), "s", "dialect")
		}
	}
}

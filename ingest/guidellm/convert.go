package guidellm

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// run turns a benchmark into a run.
func (b *benchmark) run() *serving.Run {
	s, top := b.scalars, b.top
	r := &serving.Run{
		Source: b.at, Format: Format, Label: b.label(),
		Backend:   or(s.text("worker.backend_type", "config.backend.type_", "config.backend.type"), top.text("args.backend", "args.backend.type_", "config.spec.backend.type_", "config.spec.backend.kind")),
		Model:     or(s.text("worker.backend_model", "config.backend.model", "config.backend.default_model"), top.text("args.model", "config.spec.backend.model", "config.spec.model")),
		Tokenizer: or(s.text("request_loader.processor", "config.requests.processor"), top.text("args.processor", "config.spec.tokenizer", "config.spec.tokenizer.model")),
		Workload:  or(s.text("request_loader.data", "config.requests.data"), top.text("args.data", "config.spec.data")),
	}
	if strings.HasPrefix(r.Backend.V, "vllm_python") {
		r.Engine = serving.Some("vllm") // the engine runs inside the benchmark
	}
	if v, ok := s.number("start_time", "scheduler_metrics.measure_start_time", "run_stats.start_time"); ok && v > 1e9 && v < 1e10 {
		r.Started = serving.Some(time.Unix(0, int64(v*1e9)).UTC().Format(time.RFC3339))
	}
	b.settings(r)
	b.load(r)
	b.counts(r)
	b.requestsOf(r)
	b.reported(r)
	return r
}

func or(a, b serving.Opt[string]) serving.Opt[string] {
	if a.OK {
		return a
	}
	return b
}

func (b *benchmark) label() string {
	base := filepath.Base(b.path)
	if stem, _, _ := strings.Cut(base, "."); stem != "" {
		return stem
	}
	return base
}

// old reports the layout of up to 0.3.
func (b *benchmark) old() bool {
	for name := range b.scalars {
		if strings.HasPrefix(name, "run_stats.") || strings.HasPrefix(name, "args.strategy.") {
			return true
		}
	}
	return false
}

// settings are what holds for all benchmarks of a report; what tells its levels
// apart is the load.
func (b *benchmark) settings(r *serving.Run) {
	for _, k := range []struct{ as, own, top string }{
		{"guidellm_version", "", "metadata.guidellm_version"},
		{"profile", "args.profile.type_", "args.profile"},
		{"profile", "config.profile.type_", "config.spec.profile.type_"},
		{"target", "worker.backend_target", "args.target"},
		{"target", "config.backend.target", "config.spec.backend.target"},
		{"max_requests", "args.max_number", "args.max_requests"},
		{"max_seconds", "args.max_duration", "args.max_seconds"},
		{"warmup_requests", "args.warmup_number", ""},
		{"warmup_seconds", "args.warmup_duration", ""},
		{"warmup", "config.warmup.percent", "args.warmup"},
		{"cooldown_requests", "args.cooldown_number", ""},
		{"cooldown_seconds", "args.cooldown_duration", ""},
		{"cooldown", "config.cooldown.percent", "args.cooldown"},
		{"sample_requests", "config.sample_requests", ""},
	} {
		v := or(b.scalars.text(k.own), b.top.text(k.top))
		if _, has := r.Setting(k.as); v.OK && !has {
			r.Settings = append(r.Settings, serving.Setting{Key: k.as, Value: v.V})
		}
	}
}

// load reads the strategy: synchronous is one user, concurrent so many,
// throughput all at once; constant and poisson have a rate. A cap that 0.4 and
// later set on every strategy is one.
func (b *benchmark) load(r *serving.Run) {
	get := func(name string) (float64, bool) {
		return b.scalars.number("args.strategy."+name, "config.strategy."+name)
	}
	limit := serving.None[int64]()
	for _, name := range []string{"streams", "max_concurrency"} {
		if n, ok := get(name); ok && n >= 1 && n < 1<<31 && !limit.OK {
			limit = serving.Some(int64(n))
		}
	}
	kind := b.scalars.text("args.strategy.type_", "config.strategy.type_", "args.strategy.kind", "config.strategy.kind").Or("")
	rate, hasRate := get("rate")
	none := serving.None[float64]()
	switch kind {
	case "synchronous":
		r.Load = serving.LoadOf(serving.Some(int64(1)), none, false)
	case "concurrent":
		r.Load = serving.LoadOf(limit, none, false)
	case "throughput":
		r.Load = serving.LoadOf(limit, none, true)
	case "constant", "poisson", "async":
		if hasRate && rate > 0 {
			r.Load = serving.LoadOf(limit, serving.Some(rate), false)
		}
		if kind == "poisson" {
			r.Load.Burstiness = serving.Some(1.0)
		}
	default:
		r.Notes = append(r.Notes, fmt.Sprintf("the strategy %q has no single load level", kind))
	}
	if r.Load.Mode == "" {
		r.Load.Mode = serving.UnknownLoad
	}
	b.field("strategy", "load", "", "dialect")
	if v, ok := get("rampup_duration"); ok && v > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("the load was ramped up over the first %g s", v))
	}
}

// counts reads what was sent and what came of it, within the measured window.
// Incomplete requests are those still running when the time was up: no failures.
func (b *benchmark) counts(r *serving.Run) {
	s := b.scalars
	get := func(name string) serving.Opt[int64] {
		return s.count("request_totals."+name, "scheduler_metrics.requests_made."+name, "run_stats.requests_made."+name)
	}
	r.Completed, r.Failed, r.Sent = get("successful"), get("errored"), get("total")
	if incomplete := get("incomplete"); !r.Sent.OK && r.Completed.OK && r.Failed.OK {
		r.Sent = serving.Some(r.Completed.V + r.Failed.V + incomplete.Or(0))
	}
	b.field("request_totals", "requests", "requests", "dialect")
	if v, ok := s.number("duration"); ok && v > 0 {
		r.Duration = serving.Some(v)
		b.field("duration", "duration", "s", "dialect")
	} else if from, to, ok := b.span(); ok {
		r.Duration = serving.Some(to - from)
	}
	sum := func(name string) serving.Opt[int64] {
		d := b.dists[name]
		if d == nil || !(d.sum >= 0) || d.sum >= 1<<53 || r.Completed.Or(0) == 0 {
			return serving.None[int64]()
		}
		return serving.Some(int64(math.Round(d.sum))) // mean × count, so not always quite whole
	}
	r.Input, r.Output = sum(keyPrompt), sum(keyOutput)
}

func (b *benchmark) span() (from, to float64, ok bool) {
	from, a := b.scalars.number("start_time")
	to, c := b.scalars.number("end_time")
	return from, to, a && c && to > from
}

// window returns the measured time where it is not all of the benchmark.
func (b *benchmark) window() *window {
	up, _ := b.scalars.number("warmup_duration")
	down, _ := b.scalars.number("cooldown_duration")
	from, to, ok := b.span()
	if !ok || b.old() || !(up > 0) && !(down > 0) {
		return nil
	}
	return &window{from, to}
}

// requestsOf attaches the requests where the file has them all: a sample of them
// would be counted as the whole.
func (b *benchmark) requestsOf(r *serving.Run) {
	if b.rows.len() == 0 {
		return
	}
	w := b.window()
	n := b.rows.counts(w)
	incomplete := b.scalars.count("request_totals.incomplete", "scheduler_metrics.requests_made.incomplete", "run_stats.requests_made.incomplete")
	for _, k := range []struct {
		want serving.Opt[int64]
		o    serving.Outcome
		what string
	}{{r.Completed, serving.OK, "successful"}, {r.Failed, serving.Failed, "errored"}, {incomplete, serving.Incomplete, "incomplete"}} {
		if k.want.OK && k.want.V != n[k.o] {
			r.Notes = append(r.Notes, fmt.Sprintf("the file holds %d of %d %s requests: a sample, which is left out; the figures are the file's own", n[k.o], k.want.V, k.what))
			return
		}
	}
	r.Requests = b.rows.table(r.Label, b.path, w)
	if !r.Completed.OK {
		r.Completed, r.Failed = serving.Some(n[serving.OK]), serving.Some(n[serving.Failed])
		r.Sent = serving.Some(n[serving.OK] + n[serving.Failed] + n[serving.Incomplete])
	}
	if b.rows.odd > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("in %d completed requests %s is not (last − first token) / (output tokens − 1)", b.rows.odd, keyITL))
	}
}

// reported lists the file's own aggregates over successful requests. Zeros
// stand for a distribution of nothing.
func (b *benchmark) reported(r *serving.Run) {
	if r.Completed.OK && r.Completed.V == 0 {
		return
	}
	whole := r.Requests != nil
	for _, name := range b.order {
		d := b.dists[name]
		if d.count == 0 {
			continue
		}
		if k, ok := rates[name]; ok {
			b.rate(r, d, k.whole, k.own)
			continue
		}
		switch name {
		case "request_latency":
			b.distribution(r, d, serving.E2E, "s", 1, whole)
			b.confirm(r, d, b.rows.e2e, 1)
		case keyTTFT:
			b.ttft(r, d, whole)
		case keyITL:
			b.itl(r, d, whole)
		case keyTPOT:
			m := tpotWithTTFT
			if b.old() {
				m = tpotAllTokens
			}
			b.distribution(r, d, m, "ms", 1e3, false)
		case "time_to_first_output_token_ms":
			b.distribution(r, d, ttftContent, "ms", 1e3, false)
		case keyPrompt:
			b.distribution(r, d, serving.PromptTokens, "tokens", 1, whole)
		case keyOutput:
			b.distribution(r, d, serving.OutputTokens, "tokens", 1, whole)
		case keyConcurrent:
			b.concurrency(r, d)
		}
	}
}

// rate takes the mean of a rate over time. Up to 0.3 it runs from the first to
// the last event and not over the duration, and beside requests it is the same
// figure by another definition: its own name then.
func (b *benchmark) rate(r *serving.Run, d *dist, whole, own serving.MetricKey) {
	v, ok := d.stats["mean"]
	if !ok || v <= 0 {
		return
	}
	m := whole
	if b.old() || r.Requests != nil {
		m = own
	}
	b.add(r, d, "mean", m, "", "1/s", 1)
}

func (b *benchmark) add(r *serving.Run, d *dist, stat string, m serving.MetricKey, as, unit string, per float64) {
	b.field(d.names[stat], string(m), unit, "dialect")
	r.Reported = append(r.Reported, serving.Reported{Field: d.names[stat], Metric: m, Stat: as, File: d.stats[stat], PerBase: per})
}

// noise is the spread, as a share of the mean, that is only rounding: equal
// lengths have a std_dev of 3e-14 in the file.
const noise = 1e-12

// distribution lists a distribution. GuideLLM's percentiles are steps, the smallest
// value that so large a share does not exceed; beside requests they are kept
// under a name of their own, so that nobody takes interpolation for an error.
func (b *benchmark) distribution(r *serving.Run, d *dist, m serving.MetricKey, unit string, per float64, whole bool) {
	for _, stat := range d.order {
		as := stat
		if as == "std" && d.stats["std"] < noise*d.stats["mean"] {
			continue
		}
		if _, isQ := serving.QuantileOf(stat); isQ && whole {
			as += " (step)"
		}
		b.add(r, d, stat, m, as, unit, per)
	}
}

// ttft lists TTFT. Requests that were not streamed have none and count as 0 in
// the file's figures.
func (b *benchmark) ttft(r *serving.Run, d *dist, whole bool) {
	if d.stats["max"] == 0 {
		return
	}
	if lo, ok := d.stats["min"]; ok && lo == 0 {
		r.Notes = append(r.Notes, "some completed requests have no first token and count as 0 in "+keyTTFT+": the file's own figures are left out of TTFT")
		b.distribution(r, d, ttftZeros, "ms", 1e3, false)
		return
	}
	b.distribution(r, d, serving.TTFT, "ms", 1e3, whole)
	b.confirm(r, d, b.rows.ttft, 1e3)
}

// itl lists the inter-token latency, a mean gap a request weighted by the gaps.
// Its mean is the mean of all gaps. Where all answers are of one length the
// weights do nothing and it is TPOT; else its percentiles are nobody's.
func (b *benchmark) itl(r *serving.Run, d *dist, whole bool) {
	if d.stats["max"] == 0 {
		return
	}
	out := b.dists[keyOutput]
	if out != nil && out.stats["min"] == out.stats["max"] && out.stats["max"] > 1 {
		b.distribution(r, d, serving.TPOT, "ms", 1e3, whole)
		b.confirm(r, d, b.rows.tpot, 1e3)
	} else {
		b.distribution(r, d, tpotWeighted, "ms", 1e3, false)
		if !whole {
			r.Notes = append(r.Notes, keyITL+" weighs each request by its tokens: its percentiles are neither TPOT's nor ITL's and are left out; the mean is that of all gaps")
		}
	}
	if _, ok := d.stats["mean"]; ok {
		b.add(r, d, "mean", serving.ITL, "mean", "ms", 1e3)
	}
}

func (b *benchmark) concurrency(r *serving.Run, d *dist) {
	if _, ok := d.stats["mean"]; ok {
		b.add(r, d, "mean", concurrency, "mean", "requests", 1)
	}
	if d.most > 0 && d.most < 1<<31 {
		r.Reported = append(r.Reported, serving.Reported{Field: keyConcurrent + ".total.max", Metric: serving.PeakConcurrent, File: d.most, PerBase: 1})
	}
}

// confirm recomputes the file's percentiles by its own rule, and says where they
// are not given by its requests.
func (b *benchmark) confirm(r *serving.Run, d *dist, col []float64, per float64) {
	if r.Requests == nil {
		return
	}
	v := b.rows.values(col, b.window())
	if len(v) == 0 || d.count != float64(len(v)) {
		return
	}
	for _, stat := range d.order {
		p, ok := serving.QuantileOf(stat)
		if !ok {
			continue
		}
		ours, near := step(v, p), step(v, p-1e-9) // sums of shares fall short of p by rounding
		file := d.stats[stat] / per
		if differs(file, ours) && differs(file, near) && differs(file, step(v, p+1e-9)) {
			r.Notes = append(r.Notes, d.names[stat]+": the file says "+short(d.stats[stat])+", its own requests give "+short(ours*per)+" by GuideLLM's rule")
		}
	}
}

func differs(a, b float64) bool { return math.Abs(a-b) > 1e-6*max(math.Abs(a), math.Abs(b)) }

func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// step is the smallest value that a share p of the sorted values does not exceed.
func step(sorted []float64, p float64) float64 {
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

package inferenceperf

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// A report is the lifecycle report of one stage or of all.
type report struct {
	path   string
	doc    *tree.Node
	in     *serving.Input
	r      *serving.Run
	fields map[string]bool
}

func newReport(path string, doc *tree.Node, in *serving.Input) *report {
	return &report{path: path, doc: doc, in: in, fields: map[string]bool{},
		r: &serving.Run{Source: serving.Pos{Path: path, Field: doc.Path}, Format: Format, Label: baseLabel(path)}}
}

func baseLabel(path string) string {
	base := filepath.Base(path)
	if stem, _, _ := strings.Cut(base, "."); stem != "" {
		return stem
	}
	return base
}

// run turns the report into a run.
func (p *report) run() *serving.Run {
	p.counts()
	p.load()
	p.rates()
	p.distributions()
	p.totals()
	p.goodput()
	return p.r
}

// field notes what a name became.
func (p *report) field(name, as, unit, how string) {
	addField(p.in, p.fields, name, as, unit, how)
}

func addField(in *serving.Input, seen map[string]bool, name, as, unit, how string) {
	if !seen[name] && len(in.Fields) < 1000 {
		seen[name] = true
		in.Fields = append(in.Fields, serving.Field{Name: name, As: as, Unit: unit, How: how})
	}
}

// number reads a number that must not be negative, infinite or NaN.
func (p *report) number(n *tree.Node) (float64, bool) {
	v, ok := n.Float()
	switch {
	case n == nil || n.Kind == tree.Null:
		return 0, false
	case !ok:
		p.in.Problems.AddKind("no number", serving.Problem{At: n.At(p.path), Message: fmt.Sprintf("%q, want a number; taken as missing", n.Text())})
		return 0, false
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, false
	}
	return v, true
}

func (p *report) count(names ...string) serving.Opt[int64] {
	n := p.doc.Get(names...)
	v, ok := p.number(n)
	if !ok {
		return serving.None[int64]()
	}
	if v < 0 || v >= 1<<53 || v != math.Trunc(v) {
		p.in.Problems.AddKind("count", serving.Problem{At: n.At(p.path), Message: fmt.Sprintf("%g, want a whole number; taken as missing", v)})
		return serving.None[int64]()
	}
	p.field(strings.Join(names, "."), names[len(names)-1], "requests", "dialect")
	return serving.Some(int64(v))
}

// counts reads what was sent and what came of it.
func (p *report) counts() {
	r := p.r
	r.Sent = p.count(keyLoad, "count")
	r.Completed = p.count(keySuccesses, "count")
	r.Failed = p.count(keyFailures, "count")
	if !r.Sent.OK && r.Completed.OK && r.Failed.OK {
		r.Sent = serving.Some(r.Completed.V + r.Failed.V)
	}
}

// load reads the level of a stage. A stage of fixed concurrency is a closed loop
// and its requested_rate means nothing; a summary has no level of its own.
func (p *report) load() {
	l := p.doc.Get(keyLoad)
	rate, hasRate := p.number(l.Get("requested_rate"))
	conc, hasConc := p.number(l.Get("concurrency"))
	switch {
	case hasConc && conc >= 1 && conc < 1<<31:
		p.field(keyLoad+".concurrency", "max_concurrency", "requests", "dialect")
		p.r.Load = serving.LoadOf(serving.Some(int64(conc)), serving.None[float64](), false)
	case hasRate && rate > 0:
		p.field(keyLoad+".requested_rate", "request_rate", "req/s", "dialect")
		p.r.Load = serving.LoadOf(serving.None[int64](), serving.Some(rate), false)
	default:
		p.r.Load.Mode = serving.UnknownLoad
	}
	if v, ok := p.number(l.Get("achieved_rate")); ok && v > 0 {
		p.report(keyLoad+".achieved_rate", achievedRate, "", v, 1)
	}
	p.dist(l.Get("schedule_delay"), scheduleDelay)
	if late, ok := l.Get("schedule_delay", "p90").Float(); ok && late > lateSeconds {
		p.note("the load generator fell behind its schedule: a tenth of the requests were sent more than %.3g s late, so that the arrivals were not those asked for", late)
	}
}

// lateSeconds is the lag behind the schedule above which the arrivals are not
// those that were asked for.
const lateSeconds = 0.1

func (p *report) note(format string, a ...any) {
	p.r.Notes = append(p.r.Notes, fmt.Sprintf(format, a...))
}

func (p *report) report(field string, m serving.MetricKey, stat string, v, per float64) {
	p.field(field, string(m), unitOf(m), "dialect")
	p.r.Reported = append(p.r.Reported, serving.Reported{Field: field, Metric: m, Stat: stat, File: v, PerBase: per})
}

// unitOf names the unit of a figure: every time of inference-perf is in seconds.
func unitOf(m serving.MetricKey) string {
	switch {
	case m == requestedRate || m == achievedRate || m == serving.RateRequests:
		return "req/s"
	case strings.HasSuffix(string(m), "tokens_per_s"):
		return "tok/s"
	case m == goodShare:
		return "%"
	case m == mismatches:
		return "requests"
	case m == cachedTotal || m == serving.PromptTokens || m == serving.OutputTokens:
		return "tokens"
	case strings.HasSuffix(string(m), "_per_s"):
		return "per second"
	}
	return "s"
}

// rates reads the throughput and the duration it is over.
func (p *report) rates() {
	t := p.doc.Get(keySuccesses, "throughput")
	for _, k := range throughputs {
		if v, ok := p.number(t.Get(k.name)); ok && v > 0 {
			p.report(keySuccesses+".throughput."+k.name, k.metric, "", v, 1)
		}
	}
	if v, ok := p.number(p.doc.Get(keyBenchTime)); ok && v > 0 {
		p.field(keyBenchTime, "duration", "s", "dialect")
		p.r.Duration = serving.Some(v)
		return
	}
	// Older reports do not state it, but their rates are counts over it.
	if v, ok := p.r.ReportedValue(serving.RateRequests, ""); ok && v > 0 && p.r.Completed.Or(0) > 0 {
		p.r.Duration = serving.Some(float64(p.r.Completed.V) / v)
	}
}

// dist lists the statistics of one distribution.
func (p *report) dist(n *tree.Node, m serving.MetricKey) {
	if n == nil || n.Kind != tree.Object {
		return
	}
	for i, name := range n.Names {
		stat := statName(name)
		v, ok := 0.0, stat != ""
		if ok {
			v, ok = p.number(n.Items[i])
		}
		if ok {
			p.report(n.Path+"."+name, m, stat, v, 1)
		}
	}
}

// distributions reads the latencies and lengths of completed requests.
func (p *report) distributions() {
	s := p.doc.Get(keySuccesses)
	if p.r.Completed.Or(1) > 0 {
		l := s.Get("latency")
		byChunk := p.countsChunks(l, s)
		for _, k := range latencies {
			switch n := l.Get(k.name); {
			case k.metric == serving.TPOT && byChunk:
				p.dist(n, chunkTPOT)
			case k.metric == serving.ITL:
				p.gaps(n, byChunk)
			default:
				p.dist(n, k.metric)
			}
		}
		p.lengths(s)
	}
	p.dist(p.doc.Get(keyFailures, "request_latency"), failedLatency)
}

// lengths reads prompt and output lengths, under their older and newer names.
func (p *report) lengths(s *tree.Node) {
	prompt, output := s.Get("prompt_len"), s.Get("output_len")
	if prompt == nil {
		prompt = s.Get("prompt_tokens")
	}
	if output == nil {
		output = s.Get("output_tokens")
	}
	p.dist(prompt, serving.PromptTokens)
	p.dist(output, serving.OutputTokens)
}

// chunkedTPOT is how far TPOT may lie from what the other means give before it
// cannot be a time a token. Averaging ratios instead of dividing averages moves
// it by some percent; counting the events of a stream as tokens by a factor.
const chunkedTPOT = 0.3

// countsChunks finds reports whose TPOT divides the decode time by the number of
// time stamps of the stream instead of by output tokens − 1: up to 2025 each
// event of the stream counted, and an event is not a token.
func (p *report) countsChunks(l, s *tree.Node) bool {
	mean := func(n *tree.Node) float64 {
		if v, ok := n.Get("mean").Float(); ok && v > 0 {
			return v
		}
		return math.NaN()
	}
	out := s.Get("output_len")
	if out == nil {
		out = s.Get("output_tokens")
	}
	e2e, ttft, tpot, n := mean(l.Get("request_latency")), mean(l.Get("time_to_first_token")), mean(l.Get("time_per_output_token")), mean(out)
	want := (e2e - ttft) / (n - 1)
	if !(want > 0) || !(tpot > 0) || n < 2 || math.Abs(tpot/want-1) <= chunkedTPOT {
		return false
	}
	p.note("time_per_output_token (mean %.4g ms) is not the time per output token: E2E, TTFT and output lengths give %.4g ms, so it was divided by another count than output tokens; it is left out of TPOT", tpot*1000, want*1000)
	return true
}

// sharedTime is a gap below which two tokens came in one chunk, seconds.
const sharedTime = 1e-4

// gaps reads the inter-token latencies. The tokens of a chunk share its time, so
// that a file's gaps may be mostly zeros; their quantiles are no gaps between
// tokens then, though their mean still is the mean time a token.
func (p *report) gaps(n *tree.Node, byChunk bool) {
	mid, ok := n.Get("median").Float()
	if byChunk || ok && mid < sharedTime {
		p.dist(n, chunkGap)
		if mean, has := p.number(n.Get("mean")); has && !byChunk {
			p.report(n.Path+".mean", serving.ITL, "mean", mean, 1)
		}
		if ok && mid < sharedTime {
			p.note("inter_token_latency has a median of %.3g ms: tokens of one chunk share its arrival time, so its percentiles are no gaps between tokens and are left out of ITL", mid*1000)
		}
		return
	}
	p.dist(n, serving.ITL)
}

// totals fills in the token totals: stated, else as the rates give them.
func (p *report) totals() {
	s := p.doc.Get(keySuccesses)
	total := func(rate serving.MetricKey, stated *tree.Node) serving.Opt[int64] {
		if v, ok := p.r.ReportedValue(rate, ""); ok && p.r.Duration.OK {
			return serving.Some(int64(math.Round(min(v*p.r.Duration.V, 1<<53))))
		}
		if v, ok := p.number(stated); ok && v >= 0 && v < 1<<53 {
			return serving.Some(int64(math.Round(v)))
		}
		return serving.None[int64]()
	}
	p.r.Input = total(inputRate, s.Get("prompt_tokens", "total"))
	p.r.Output = total(serving.RateOutput, s.Get("output_tokens", "total"))
	if v, ok := p.number(s.Get("prompt_tokens", "cached")); ok && v > 0 { // 0 is also what a server that does not tell gives
		p.report(keySuccesses+".prompt_tokens.cached", cachedTotal, "", v, 1)
	}
	if v, ok := p.number(s.Get(string(mismatches))); ok && v > 0 {
		p.report(keySuccesses+"."+string(mismatches), mismatches, "", v, 1)
		p.note("in %g requests the client counted other output tokens than the server", v)
	}
}

// goodput reads the file's own goodput. Its conditions are not in the file.
func (p *report) goodput() {
	g := p.doc.Get(keySuccesses, "goodput_metrics")
	for _, k := range []struct {
		name   string
		metric serving.MetricKey
		per    float64
	}{{"request_goodput", serving.GoodRequests, 1}, {"goodput_percentage", goodShare, 100}, {"token_goodput", tokenGoodput, 1}} {
		if v, ok := p.number(g.Get(k.name)); ok {
			p.report(g.Path+"."+k.name, k.metric, "", v, k.per)
		}
	}
}

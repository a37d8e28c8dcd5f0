package llmd

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// A report is one document being read.
type report struct {
	path   string
	doc    *tree.Node
	in     *serving.Input
	fields map[string]bool
	r      *serving.Run
}

func (b *report) start() {
	label := filepath.Base(b.path)
	if stem, _, _ := strings.Cut(label, "."); stem != "" {
		label = stem
	}
	b.r = &serving.Run{Source: serving.Pos{Path: b.path, Field: b.doc.Path}, Format: Format, Label: label}
	b.r.Load.Mode = serving.UnknownLoad
}

// v01 reads a report of version 0.1.
func (b *report) v01() *serving.Run {
	b.start()
	b.stack01()
	m := b.doc.Get("metrics")
	if v, ok := b.number(m.Get("time", "duration")); ok && v > 0 {
		b.duration("metrics.time.duration", v)
	}
	b.r.Started = m.Get("time", "start").Opt()
	b.requests(m.Get("requests"))
	b.latency(m.Get("latency"))
	t := m.Get("throughput")
	for _, k := range rates {
		if v, ok := b.number(t.Get(k.v1)); ok && v > 0 {
			b.report("metrics.throughput."+k.v1, k.metric, "", k.units, v, 1)
		}
	}
	b.unread(m, "service", "resources")
	b.check()
	return b.r
}

// v02 reads a report of version 0.2.
func (b *report) v02() *serving.Run {
	b.start()
	b.stack02()
	b.load02(b.doc.Get("scenario", "load", "standardized"))
	t := b.doc.Get("run", "time")
	b.r.Started = t.Get("start").Opt()
	if d := t.Get("duration"); d.Text() != "" {
		if v, ok := isoDuration(d.Text()); ok && v > 0 {
			b.duration("run.time.duration", v)
		} else {
			b.problem(d, "duration", "%q, want a duration such as PT49.9S; taken as missing", d.Text())
		}
	}
	if eid := b.doc.Get("run", "eid").Text(); eid != "" {
		b.setting("experiment", eid)
	}
	a := b.doc.Get("results", "request_performance", "aggregate")
	b.requests(a.Get("requests"))
	b.latency(a.Get("latency"))
	th := a.Get("throughput")
	for _, k := range rates {
		n := th.Get(k.v2)
		v, ok := b.number(n.Get("mean"))
		if !ok || v <= 0 {
			continue
		}
		if u := n.Get("units").Text(); u != k.units {
			b.problem(n, "units", "units %q, want %s; left out", u, k.units)
			continue
		}
		b.report(n.Path+".mean", k.metric, "", k.units, v, 1)
	}
	b.unread(b.doc.Get("results"), "observability", "component_health")
	b.unread(b.doc.Get("results", "request_performance"), "time_series")
	b.check()
	return b.r
}

func (b *report) duration(field string, seconds float64) {
	b.r.Duration = serving.Some(seconds)
	b.field(field, "duration", "s", "dialect")
}

// unread names the parts of a report that are not used.
func (b *report) unread(n *tree.Node, names ...string) {
	for _, name := range names {
		if n.Has(name) {
			b.field(n.Get(name).Path, "", "", "")
		}
	}
}

func (b *report) field(name, as, unit, how string) {
	if !b.fields[name] && len(b.in.Fields) < 1000 {
		b.fields[name] = true
		b.in.Fields = append(b.in.Fields, serving.Field{Name: name, As: as, Unit: unit, How: how})
	}
}

func (b *report) problem(n *tree.Node, kind, format string, a ...any) {
	b.in.Problems.AddKind(kind+" "+n.At("").Field, serving.Problem{At: n.At(b.path), Message: fmt.Sprintf(format, a...)})
}

func (b *report) note(format string, a ...any) {
	b.r.Notes = append(b.r.Notes, fmt.Sprintf(format, a...))
}

func (b *report) setting(key, value string) {
	b.r.Settings = append(b.r.Settings, serving.Setting{Key: key, Value: value})
}

func (b *report) report(field string, m serving.MetricKey, stat, unit string, v, per float64) {
	b.field(field, string(m), unit, "units")
	b.r.Reported = append(b.r.Reported, serving.Reported{Field: field, Metric: m, Stat: stat, File: v, PerBase: per})
}

// number reads a finite number that is not negative.
func (b *report) number(n *tree.Node) (float64, bool) {
	if n == nil || n.Kind == tree.Null {
		return 0, false
	}
	v, ok := n.Float()
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		b.problem(n, "number", "%q, want a number that is not negative; taken as missing", n.Text())
		return 0, false
	}
	return v, true
}

func (b *report) count(n *tree.Node) serving.Opt[int64] {
	v, ok := b.number(n)
	if !ok {
		return serving.None[int64]()
	}
	if v != math.Trunc(v) || v >= 1<<53 {
		b.problem(n, "count", "%g, want a whole number; taken as missing", v)
		return serving.None[int64]()
	}
	b.field(n.Path, "requests", "requests", "dialect")
	return serving.Some(int64(v))
}

// requests reads what was sent, what came of it, and the lengths.
func (b *report) requests(n *tree.Node) {
	total, failed, open := b.count(n.Get("total")), b.count(n.Get("failures")), b.count(n.Get("incomplete"))
	b.r.Sent, b.r.Failed = total, failed
	if total.OK && failed.OK {
		b.r.Completed = serving.Some(max(total.V-failed.V-open.Or(0), 0))
	}
	for _, k := range []struct {
		name   string
		metric serving.MetricKey
		sum    *serving.Opt[int64]
	}{{"input_length", serving.PromptTokens, &b.r.Input}, {"output_length", serving.OutputTokens, &b.r.Output}} {
		d := n.Get(k.name)
		if u := d.Get("units").Text(); d != nil && u != "" && u != "count" {
			b.problem(d, "units", "units %q, want count; left out", u)
			continue
		}
		b.dist(d, k.metric, "tokens", 1)
		if mean, ok := d.Get("mean").Float(); ok && mean > 0 && b.r.Completed.Or(0) > 0 {
			// A total is what the mean gives only if it comes out whole.
			sum := mean * float64(b.r.Completed.V)
			if math.Abs(sum-math.Round(sum)) < 1e-6*max(1, sum) && sum < 1<<53 {
				*k.sum = serving.Some(int64(math.Round(sum)))
			}
		}
	}
}

func (b *report) dist(n *tree.Node, m serving.MetricKey, unit string, per float64) {
	if n == nil || n.Kind != tree.Object {
		return
	}
	for i, name := range n.Names {
		if stat := statName(name); stat != "" {
			if v, ok := b.number(n.Items[i]); ok {
				b.report(n.Path+"."+name, m, stat, unit, v, per)
			}
		}
	}
}

// sharedTime is a gap below which two tokens came in one chunk, seconds.
const sharedTime = 1e-4

// latency reads the latencies. Their units are what the file says unless that is
// impossible.
func (b *report) latency(n *tree.Node) {
	if b.r.Completed.OK && b.r.Completed.V == 0 {
		return
	}
	doubted, meant := b.units(n)
	for _, k := range latencies {
		d := n.Get(k.name)
		if d == nil || d.Kind != tree.Object {
			continue
		}
		u := d.Get("units").Text()
		per, ok := perSecond[u]
		if !ok {
			b.problem(d, "units", "units %q, want s, ms, s/token or ms/token; left out", u)
			continue
		}
		how := "units"
		if per == doubted {
			per, how = meant, "plausibility"
		}
		m := k.metric
		if mid, ok := d.Get("p50").Float(); ok && m == serving.ITL && mid/per < sharedTime {
			m = chunkGap
			if mean, ok := b.number(d.Get("mean")); ok {
				b.report(d.Path+".mean", serving.ITL, "mean", u, mean, per)
			}
			b.note("inter_token_latency has a median of %.3g ms: tokens of one chunk share its arrival time, so its percentiles are no gaps between tokens and are left out of ITL", mid/per*1000)
		}
		before := len(b.in.Fields)
		b.dist(d, m, unitName(per), per)
		for i := before; i < len(b.in.Fields); i++ {
			b.in.Fields[i].How = how
		}
	}
}

func unitName(per float64) string {
	switch per {
	case 1:
		return "s"
	case 1e3:
		return "ms"
	case 1e6:
		return "us"
	}
	return ""
}

// fastest is a time per output token that no model server reaches for one
// request: 5,000 tokens/s.
const fastest = 0.2e-3

// units checks the units against what is possible. Reports labelled "ms" whose
// numbers are seconds are in circulation, the format's own example among them.
// It returns how many of the doubted unit make a second as labelled and as meant;
// 0 where there is no doubt.
func (b *report) units(n *tree.Node) (doubted, meant float64) {
	mean := func(name string) (v, per float64, ok bool) {
		d := n.Get(name)
		v, ok = d.Get("mean").Float()
		per, has := perSecond[d.Get("units").Text()]
		return v, per, ok && has && v > 0 && !math.IsInf(v, 0)
	}
	e2e, perE2E, hasE2E := mean("request_latency")
	tpot, perTPOT, hasTPOT := mean("time_per_output_token")
	if !hasTPOT {
		tpot, perTPOT, hasTPOT = mean("inter_token_latency")
	}
	long := math.Inf(1) // the longest a mean request can take
	if b.r.Duration.OK {
		long = b.r.Duration.V
	}
	switch {
	case hasTPOT && perTPOT == 1e3 && tpot/perTPOT < fastest && (!hasE2E || perE2E == 1e3 && e2e <= long):
		b.doubt(n, "ms", "s", fmt.Sprintf("%.3g ms a token", tpot))
		return 1e3, 1
	case hasE2E && perE2E == 1 && e2e > long && e2e/1e3 <= long:
		b.doubt(n, "s", "ms", fmt.Sprintf("a mean request of %.4g s in a run of %.4g s", e2e, long))
		return 1, 1e3
	}
	return 0, 0
}

func (b *report) doubt(n *tree.Node, says, taken, because string) {
	b.problem(n, "units", "the units say %s, which would be %s: taken as %s; correct the units in the file", says, because, taken)
	b.note("the latencies are labelled %s, which would be %s, and are taken as %s", says, because, taken)
}

// check looks whether rate, duration and number of requests fit each other.
func (b *report) check() {
	rate, ok := b.r.ReportedValue(serving.RateRequests, "")
	if !ok || !b.r.Duration.OK || b.r.Completed.Or(0) == 0 {
		return
	}
	if want := float64(b.r.Completed.V) / b.r.Duration.V; math.Abs(rate/want-1) > 0.2 {
		b.note("the file's %.4g requests/s are not its %d completed requests over its %.4g s, which are %.4g/s", rate, b.r.Completed.V, b.r.Duration.V, want)
	}
}

var iso = regexp.MustCompile(`^P(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// isoDuration reads an ISO 8601 duration of days and less into seconds; a bare
// number is seconds.
func isoDuration(s string) (float64, bool) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	}
	m := iso.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || len(m[0]) < 3 {
		return 0, false
	}
	sum := 0.0
	for i, per := range []float64{86400, 3600, 60, 1} {
		if m[i+1] != "" {
			v, _ := strconv.ParseFloat(m[i+1], 64)
			sum += v * per
		}
	}
	return sum, !math.IsInf(sum, 0)
}

// Repeats reports whether a report states the same run as another tool's own
// file: llm-d's reports are made of inference-perf's, GuideLLM's and vLLM's. They
// agree in the number of requests and in every mean and percentile of TTFT and
// E2E that both have, at least four of them, to nine digits.
func Repeats(report, native *serving.Run) bool {
	if report.Completed != native.Completed || !report.Completed.OK {
		return false
	}
	equal := 0
	for _, a := range report.Reported {
		if a.Metric != serving.TTFT && a.Metric != serving.E2E || a.Stat == "" || a.Stat == "stddev" {
			continue
		}
		v, ok := native.ReportedValue(a.Metric, a.Stat)
		if !ok {
			continue
		}
		if math.Abs(v-a.Value()) > 1e-9*math.Abs(v) {
			return false
		}
		equal++
	}
	return equal >= 4
}

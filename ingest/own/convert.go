package own

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/tree"
)

// formatName is how the formats of the contract are written.
var formatName = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}$`)

// run reads one benchmark run.
func (d *decoder) run(n *tree.Node) {
	r := &serving.Run{Source: n.At(d.path), Label: n.Get("label").Text(), Engine: n.Get("engine").Opt(), Backend: n.Get("backend").Opt(), Version: n.Get("version").Opt(),
		Model: n.Get("model").Opt(), Tokenizer: n.Get("tokenizer").Opt(), Workload: n.Get("workload").Opt(), Started: n.Get("started").Opt()}
	if v := count(n.Get("gpus")); v.OK && v.V > 0 && v.V < 1<<20 {
		r.GPUs = serving.Some(int(v.V))
	}
	l := n.Get("load")
	unlimited := l.Get("unlimited").Text() == "true"
	r.Load = serving.LoadOf(count(l.Get("max_concurrency")), number(l.Get("request_rate")), unlimited)
	r.Load.Burstiness = number(l.Get("burstiness"))
	d.settings(r, n.Get("settings"))
	if f := n.Get("format").Text(); formatName.MatchString(f) {
		r.Format = f
	}
	d.totals(r, n)
	r.Duration = number(n.Get("duration_s"))
	rates(r, n.Get("throughput"))
	if p := n.Get("peak"); p != nil {
		total(r, serving.PeakOutput, p.Get("output_tokens_per_s"))
		total(r, serving.PeakConcurrent, p.Get("concurrent_requests"))
	}
	total(r, serving.GoodRequests, n.Get("goodput").Get("requests_per_s"))
	d.runs, d.ids = append(d.runs, r), append(d.ids, n.Get("id").Text())
}

func (d *decoder) settings(r *serving.Run, n *tree.Node) {
	if n == nil || n.Kind != tree.Object {
		return
	}
	for i, k := range n.Names {
		if v := n.Items[i].Text(); v != "" {
			r.Settings = append(r.Settings, serving.Setting{Key: k, Value: v})
		}
	}
	slices.SortStableFunc(r.Settings, func(a, b serving.Setting) int { return strings.Compare(a.Key, b.Key) })
}

// totals reads what a run and a slice have in common.
func (d *decoder) totals(r *serving.Run, n *tree.Node) {
	r.Sent, r.Completed, r.Failed = count(n.Get("sent")), count(n.Get("completed")), count(n.Get("failed"))
	r.Input, r.Output = count(n.Get("tokens").Get("input")), count(n.Get("tokens").Get("output"))
	r.Reported = append(r.Reported, d.metrics(n.Get("metrics"))...)
}

func rates(r *serving.Run, t *tree.Node) {
	total(r, serving.RateRequests, t.Get("requests_per_s"))
	total(r, serving.RateOutput, t.Get("output_tokens_per_s"))
	total(r, serving.RateTotal, t.Get("total_tokens_per_s"))
}

func total(r *serving.Run, k serving.MetricKey, n *tree.Node) {
	if v := number(n); v.OK {
		r.Reported = append(r.Reported, serving.Reported{Field: string(k), Metric: k, File: v.V, PerBase: 1})
	}
}

// metrics reads distributions: their figures with intervals, in base units.
func (d *decoder) metrics(n *tree.Node) []serving.Reported {
	var out []serving.Reported
	for _, m := range serving.Metrics {
		dist := n.Get(string(m.Key))
		if dist == nil || dist.Kind != tree.Object {
			continue
		}
		per := 1.0
		if dist.Get("unit").Text() == "ms" {
			per = 1000
		}
		n := count(dist.Get("count"))
		for i, name := range dist.Names {
			_, quantile := serving.QuantileOf(name)
			if !quantile && !slices.Contains([]string{"mean", "std", "min", "max"}, name) {
				continue
			}
			v := number(dist.Items[i])
			if !v.OK {
				if dist.Items[i].Kind != tree.Null {
					d.problem(dist.Items[i], "found no finite number from 0 on, want "+name+" of "+string(m.Key))
				}
				continue
			}
			a := serving.Reported{Field: string(m.Key) + "." + name, Metric: m.Key, Stat: name, File: v.V, PerBase: per, N: n,
				Side: side(dist.Get("side").Text()), Gaps: dist.Get("gaps").Text()}
			if ends := dist.Get("interval", name).List(); len(ends) == 2 {
				a.Lo, a.Hi = scaled(ends[0], per), scaled(ends[1], per)
				if a.Lo.OK && a.Hi.OK && a.Lo.V > a.Hi.V {
					d.problem(dist.Get("interval", name), "the interval ends before it starts; it is left out")
					a.Lo, a.Hi = serving.None[float64](), serving.None[float64]()
				}
			}
			out = append(out, a)
		}
	}
	return out
}

func side(s string) serving.Side {
	switch serving.Side(s) {
	case serving.Client, serving.ServerSide:
		return serving.Side(s)
	}
	return serving.UnknownSide
}

func scaled(n *tree.Node, per float64) serving.Opt[float64] {
	v := number(n)
	v.V /= per
	return v
}

// number reads a finite number that is not negative: a report has no other, so a
// file that has one was changed.
func number(n *tree.Node) serving.Opt[float64] {
	v, ok := n.Float()
	if !ok || n.Kind != tree.Number || !(v >= 0) || math.IsInf(v, 0) {
		return serving.None[float64]()
	}
	return serving.Some(v)
}

// count reads a whole number that is not negative.
func count(n *tree.Node) serving.Opt[int64] {
	v := number(n)
	if !v.OK || v.V < 0 || v.V != math.Trunc(v.V) || v.V > 1<<53 {
		return serving.None[int64]()
	}
	return serving.Some(int64(v.V))
}

// A dataset is a table of requests, of which the report has figures only.
type dataset struct {
	name string
	side serving.Side
	of   string // the id of the run whose requests these are; "" of a trace
	run  *serving.Run
}

func (d *decoder) dataset(n *tree.Node) {
	name := n.Get("dataset").Text()
	s := &dataset{name: name, side: side(n.Get("side").Text()), of: n.Get("run").Text()}
	if s.of == "" {
		s.run = &serving.Run{Source: n.At(d.path), Label: name, Trace: true, Load: serving.Load{Mode: serving.UnknownLoad}, Duration: number(n.Get("span_s"))}
	}
	d.sets = append(d.sets, s)
}

// slice reads one slice. Slices stand ahead of the datasets in a report, so one
// that is not known yet is made.
func (d *decoder) slice(n *tree.Node) {
	name := n.Get("dataset").Text()
	x := serving.ReportedSlice{Sent: count(n.Get("sent")), Completed: count(n.Get("completed")), Failed: count(n.Get("failed")),
		Input: count(n.Get("tokens").Get("input")), Output: count(n.Get("tokens").Get("output")), Reported: d.metrics(n.Get("metrics"))}
	if by := n.Get("by"); by != nil && by.Kind == tree.Object {
		for i, k := range by.Names {
			x.By = append(x.By, serving.Term{Dim: k, Value: by.Items[i].Text()})
		}
	}
	if d.pending == nil {
		d.pending = map[string][]serving.ReportedSlice{}
	}
	d.pending[name] = append(d.pending[name], x)
}

// settle gives each dataset and run its slices.
func (d *decoder) settle() {
	for _, s := range d.sets {
		r := s.run
		if r == nil {
			if i := slices.Index(d.ids, s.of); i >= 0 {
				r = d.runs[i]
			}
		}
		if r == nil {
			continue
		}
		for _, x := range d.pending[s.name] {
			if len(x.By) > 0 {
				r.Slices = append(r.Slices, x)
				continue
			}
			if s.run != nil && r.Sent == serving.None[int64]() {
				r.Sent, r.Completed, r.Failed, r.Input, r.Output = x.Sent, x.Completed, x.Failed, x.Input, x.Output
				r.Reported = append(r.Reported, x.Reported...)
			}
		}
	}
}

package analyze

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// A condition is a part of an alert: a query and the limit it passes.
type condition struct {
	query string
	below bool
	limit float64
	says  string // "requests waiting: 0 before, 31 in the incident"
}

func (c condition) promQL() string {
	op := ">"
	if c.below {
		op = "<"
	}
	return fmt.Sprintf("(%s) %s %s", c.query, op, promNumber(c.limit))
}

// promNumber writes a limit with two significant digits.
func promNumber(v float64) string {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return "0"
	}
	p := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-1)
	return strconv.FormatFloat(math.Round(v/p)*p, 'f', max(0, int(-math.Floor(math.Log10(math.Abs(v)))+1)), 64)
}

// limitBetween is a limit between what was usual and what was seen in the incident.
func limitBetween(before, during float64) float64 {
	if before <= 0 {
		return during / 2
	}
	return math.Sqrt(before * during)
}

// An alerting writes alert rules in the names that the scrapes have: they
// differ by engine and version.
type alerting struct {
	v      *incidentView
	s      *source
	b, i   *phase
	window string  // a range
	width  float64 // seconds
}

func (v *incidentView) alerting() *alerting {
	s := v.u.of("scrapes")
	if s == nil {
		return nil
	}
	b, i, _ := v.stretches(s)
	if b == nil || i == nil {
		return nil
	}
	width := math.Ceil(max(60, 4*s.servers.step)/60) * 60
	return &alerting{v, s, b, i, fmt.Sprintf("%dm", int(width/60)), width}
}

func (a *alerting) view() serverView { return a.s.servers.views[0] }

// family is a histogram's name, "" where there is none.
func (a *alerting) family(m serving.MetricKey) string {
	if h := a.view().HistogramOf(m); h != nil {
		return strings.TrimSuffix(h.From, "_bucket")
	}
	return ""
}

func (a *alerting) gauge(n serving.SeriesName) string {
	if g := a.view().GaugeOf(n); g != nil {
		return g.From
	}
	return ""
}

func (a *alerting) counter(n serving.SeriesName) string {
	for _, c := range a.view().Counters {
		if c.Name == n {
			return c.From
		}
	}
	return ""
}

// mean is a histogram's mean over the alert's window.
func (a *alerting) mean(m serving.MetricKey) string {
	f := a.family(m)
	if f == "" {
		return ""
	}
	return fmt.Sprintf("sum(rate(%s_sum[%s])) / sum(rate(%s_count[%s]))", f, a.window, f, a.window)
}

// stepUp is a condition on what was clearly higher in the incident.
func stepUp(query, what string, u serving.Unit, before, during float64) (condition, bool) {
	if query == "" || !(during > 1.1*before) || math.IsNaN(before) {
		return condition{}, false
	}
	text := func(v float64) string { return factText(rules.Fact{Value: v, Unit: u}) }
	return condition{query, false, limitBetween(before, during), fmt.Sprintf("%s %s before, %s in the incident", what, text(before), text(during))}, true
}

func (a *alerting) waiting() (condition, bool) {
	g := a.gauge(serving.Waiting)
	if g == "" {
		return condition{}, false
	}
	return stepUp("sum("+g+")", "waiting requests", serving.NoUnit, max(a.b.Waiting.Mean, 1), a.i.Waiting.Mean)
}

func (a *alerting) hot() (condition, bool) {
	g := a.gauge(serving.Waiting)
	f, ok := a.v.u.facts[rules.HotShare]
	if g == "" || !ok {
		return condition{}, false
	}
	n := float64(len(a.s.servers.views))
	return stepUp(fmt.Sprintf("max(%s) / sum(%s)", g, g), "the fullest replica's part of the queue", serving.Share, 1/n, f.Value)
}

func (a *alerting) ttft() (condition, bool) {
	return stepUp(a.mean(serving.TTFT), "TTFT mean", serving.Seconds, a.b.TTFT.Mean, a.i.TTFT.Mean)
}

func (a *alerting) streaming() (condition, bool) {
	m := serving.TPOT
	if a.family(m) == "" {
		m = serving.ITL
	}
	return stepUp(a.mean(m), "TPOT mean", serving.Seconds, a.b.TPOT.Mean, a.i.TPOT.Mean)
}

func (a *alerting) running() (condition, bool) {
	g := a.gauge(serving.Running)
	if g == "" {
		return condition{}, false
	}
	return stepUp("sum("+g+")", "running sequences", serving.NoUnit, a.b.Running.Mean, a.i.Running.Mean)
}

func (a *alerting) prefill() (condition, bool) {
	return stepUp(a.mean(serving.Prefill), "prefill mean", serving.Seconds, a.b.Prefill.Mean, a.i.Prefill.Mean)
}

func (a *alerting) outputs() (condition, bool) {
	return stepUp(a.mean(serving.OutputTokens), "mean answer, tokens", serving.NoUnit, a.b.Output.Mean, a.i.Output.Mean)
}

func (a *alerting) kvFull() (condition, bool) {
	g := a.gauge(serving.KVUsage)
	if g == "" || !(a.i.KV.Max >= 0.95) {
		return condition{}, false
	}
	return condition{"max(" + g + ")", false, 0.95, fmt.Sprintf("KV usage up to %s in the incident", percent(signif(a.i.KV.Max)))}, true
}

func (a *alerting) preempting() (condition, bool) {
	c := a.counter(serving.Preemptions)
	if c == "" || !(a.i.Preemptions > 0) {
		return condition{}, false
	}
	per := func(p *phase) float64 { return p.Preemptions * a.width / p.seconds() }
	limit := 0.0
	if x := limitBetween(per(a.b), per(a.i)); per(a.b) > 0 {
		limit = x
	}
	return condition{fmt.Sprintf("sum(increase(%s[%s]))", c, a.window), false, limit, fmt.Sprintf("%s preemptions before, %s in the incident", number(a.b.Preemptions), number(a.i.Preemptions))}, true
}

func (a *alerting) lostPrefix() (condition, bool) {
	q, h := a.counter(serving.PrefixQueries), a.counter(serving.PrefixHits)
	if q == "" || h == "" || !(a.i.CachedShare < a.b.CachedShare) {
		return condition{}, false
	}
	return condition{fmt.Sprintf("sum(rate(%s[%s])) / sum(rate(%s[%s]))", h, a.window, q, a.window), true, (a.i.CachedShare + a.b.CachedShare) / 2,
		fmt.Sprintf("prefix cache %s before, %s in the incident", percent(signif(a.b.CachedShare)), percent(signif(a.i.CachedShare)))}, true
}

func (a *alerting) outside() (condition, bool) {
	e, q, p, d := a.mean(serving.E2E), a.mean(serving.Queue), a.mean(serving.Prefill), a.mean(serving.Decode)
	if e == "" || q == "" || p == "" || d == "" {
		return condition{}, false
	}
	return stepUp(fmt.Sprintf("%s - %s - %s - %s", e, q, p, d), "E2E outside the engine's stages", serving.Seconds, a.b.Frontend.Mean, a.i.Frontend.Mean)
}

// alertOf lists the conditions whose combination points at a cause.
var alertOf = map[string][]func(*alerting) (condition, bool){
	"over_capacity":       {(*alerting).waiting, (*alerting).ttft},
	"overload_from_start": {(*alerting).waiting, (*alerting).ttft},
	"burst":               {(*alerting).waiting, (*alerting).ttft},
	"retries":             {(*alerting).waiting, (*alerting).ttft},
	"pool_shared":         {(*alerting).waiting, (*alerting).ttft},
	"hot_replica":         {(*alerting).hot, (*alerting).waiting},
	"long_prompts":        {(*alerting).prefill, (*alerting).ttft},
	"prefix_reuse_lost":   {(*alerting).lostPrefix, (*alerting).prefill},
	"max_num_seqs":        {(*alerting).streaming, (*alerting).running},
	"batch_in_pool":       {(*alerting).streaming, (*alerting).running},
	"longer_outputs":      {(*alerting).streaming, (*alerting).outputs},
	"kv_concurrency":      {(*alerting).preempting, (*alerting).kvFull},
	"kv_giants":           {(*alerting).preempting, (*alerting).kvFull},
	"tokenizer_cpu":       {(*alerting).outside, (*alerting).ttft},
}

// alert is a rule of the combination that was found, with a least number of
// requests in its window: a mean of three requests alarms nobody.
func (v *incidentView) alert() (Measure, bool) {
	a := v.alerting()
	list := alertOf[v.cause()]
	if len(list) == 0 {
		for _, y := range v.d.Present() {
			switch y.ID {
			case "ttft", "tail":
				list = append(list, (*alerting).ttft, (*alerting).waiting)
			case "streaming":
				list = append(list, (*alerting).streaming)
			}
		}
	}
	if a == nil || len(list) == 0 {
		return Measure{}, false
	}
	var parts, says []string
	for _, f := range list {
		if c, ok := f(a); ok && len(parts) < 2 {
			parts, says = append(parts, c.promQL()), append(says, c.says)
		}
	}
	if len(parts) == 0 {
		return Measure{}, false
	}
	if f := a.family(serving.TTFT); f != "" && a.b.Requests > 0 {
		least := max(leastForP50, math.Floor(a.b.Requests/a.b.seconds()*a.width/2))
		parts = append(parts, fmt.Sprintf("sum(increase(%s_count[%s])) >= %s", f, a.window, promNumber(least)))
	}
	hold := "2m"
	if a.i.seconds() < 240 {
		hold = "1m"
	}
	return Measure{Text: "Alert on the combination, not on one figure. The limits lie between what was usual and what was seen here; check them against a longer time.",
		Because: strings.Join(says, "; "), PromQL: strings.Join(parts, " and "), For: hold, Cause: v.cause()}, true
}

// prevent lists what keeps it from coming back, or shows it sooner.
func (v *incidentView) prevent(in *Input) {
	add := func(m Measure) { v.inc.Prevention = append(v.inc.Prevention, m) }
	if m, ok := v.alert(); ok {
		add(m)
	} else {
		add(Measure{Text: "An alert on the combination that was found.", Because: "needs scrapes (Prometheus) with a time before the incident: the names of series differ by engine and version"})
	}
	if h := v.best(); h != nil {
		for _, r := range h.Remedies {
			add(Measure{Text: "Try on a bench: " + r.Text, Price: r.Price, Because: "a remedy for " + h.Cause + "; kept only if it holds on the replayed requests below", Cause: h.Cause})
		}
	}
	if c := v.capacity(); c.reached() {
		add(Measure{Text: fmt.Sprintf("Write down the headroom: plan for no more than 70 %% of %s requests/s, and admit no more than that capacity.", number(signif(c.rate()))), Price: "Idle capacity.", Because: "completed while requests waited, from " + v.where(c)})
	}
	if slo := v.objective(in); slo != "" {
		add(Measure{Text: "A regression benchmark around every change of engine, model or settings, with the incident's workload.", Price: "Bench time.", Because: "the baseline's figures as objective",
			Command: "vreport report RESULTS --slo '" + slo + "' --gate slo"})
	}
	record := Measure{Text: "Record every change of settings, image and prompt template with its time, and give it to the report (--annotation or annotation: in vreport.yaml).", Because: "no change is recorded in the time before the incident"}
	if len(v.deploys()) > 0 {
		record.Text, record.Because = "Keep recording changes with their time, and keep manifests that can be rolled back.", "a change before the incident was recorded, which made it possible to look at"
	}
	add(record)
	add(Measure{Text: "A dashboard a workload type with the figures of the table above, server and client apart.", Because: "an average over all workloads hides the one that hurts"})
}

// objective is one that the baseline kept: the user's, or one that allows it
// half as much again.
func (v *incidentView) objective(in *Input) string {
	if len(in.Opt.SLOs) > 0 {
		return in.Opt.SLOs[0].Expr
	}
	s, b, _ := v.main()
	if s == nil || b == nil {
		return ""
	}
	name, p95 := "ttft", b.TTFT
	for _, y := range v.d.Present() {
		if y.ID == "streaming" && len(v.d.Present()) == 1 {
			name, p95 = "tpot", b.TPOT
		}
	}
	if p95.N < leastForP95 || !(p95.P95 > 0) {
		return ""
	}
	return fmt.Sprintf("%s:p95<%.0fms", name, signif(math.Ceil(1500*p95.P95)))
}

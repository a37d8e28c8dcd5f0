package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// measures fill the three parts of a review: what to do now, what it came from,
// and what keeps it from coming back. Each entry names the finding it rests on.
func (v *incidentView) measures(in *Input) {
	v.mitigate()
	v.analysis()
	v.prevent(in)
}

// best is the best supported hypothesis, nil where none is.
func (v *incidentView) best() *Explanation { return v.d.Top() }

func (v *incidentView) cause() string {
	if h := v.best(); h != nil {
		return h.Cause
	}
	return ""
}

// hypothesis names a hypothesis as a reason.
func because(h *Explanation) string {
	s := fmt.Sprintf("%s is supported, score %.2f", h.Cause, h.Score)
	if len(h.For) > 0 {
		s += ": " + h.For[0]
	}
	return s
}

// mitigations are what a supported cause calls for, in the order to try. All of
// them go back to what is known to work, or keep work out; none tries a setting.
var mitigations = map[string][]func(v *incidentView) (Measure, bool){
	"over_capacity":       {(*incidentView).admission, (*incidentView).batchAway},
	"overload_from_start": {(*incidentView).admission, (*incidentView).batchAway},
	"burst":               {(*incidentView).admission},
	"hot_replica":         {(*incidentView).routeAway},
	"retries":             {(*incidentView).fewerRetries, (*incidentView).admission},
	"pool_shared":         {(*incidentView).batchAway},
	"batch_in_pool":       {(*incidentView).batchAway},
	"long_prompts":        {(*incidentView).contextLimit},
	"prefix_reuse_lost":   {(*incidentView).restorePrefix, (*incidentView).admission},
	"max_num_seqs":        {(*incidentView).restoreBatchLimit},
	"longer_outputs":      {(*incidentView).outputLimit},
	"kv_concurrency":      {(*incidentView).admission, (*incidentView).batchAway},
	"kv_giants":           {(*incidentView).contextLimit, (*incidentView).admission},
	"tokenizer_cpu":       {(*incidentView).spareFrontEnd, (*incidentView).admission},
	"proxy_buffering":     {(*incidentView).restoreProxy},
	"load_generator":      {(*incidentView).measureAgain},
}

func (v *incidentView) mitigate() {
	list := mitigations[v.cause()]
	why := ""
	if h := v.best(); h != nil {
		why = because(h)
	} else {
		why = "no cause is supported"
		for _, y := range v.d.Present() {
			if y.ID == "ttft" && v.queued() {
				list = []func(*incidentView) (Measure, bool){(*incidentView).admission}
				why = "the first token is late while requests wait; no cause is supported"
			}
		}
	}
	for _, f := range list {
		if m, ok := f(v); ok {
			m.Cause = v.cause()
			m.Because = strings.Join(nonBlank(m.Because, why), "; ")
			v.inc.Mitigation = append(v.inc.Mitigation, m)
		}
	}
	for _, e := range v.deploys() {
		v.inc.Mitigation = append(v.inc.Mitigation, Measure{Text: "Roll back to the last verified state before “" + e.Text + "”.", Price: "What the change brought is lost until it is understood.", Because: v.beforeOnset(e)})
	}
	if len(v.inc.Mitigation) == 0 {
		v.inc.Mitigation = append(v.inc.Mitigation, Measure{Text: "Change nothing on live traffic that the data do not point to. Bring back what is known to work, if something was changed outside these files.", Price: "None.", Because: why})
	}
}

func nonBlank(list ...string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// main is the source that says most of the servers, and its phases.
func (v *incidentView) main() (*source, *phase, *phase) {
	for _, kind := range kindOrder {
		s := v.u.of(kind)
		if s == nil || s.relative != v.u.relative {
			continue
		}
		if b, i, _ := v.stretches(s); i != nil && i.Requests > 0 {
			return s, b, i
		}
	}
	return nil, nil, nil
}

// queued reports whether requests waited for most of the incident.
func (v *incidentView) queued() bool {
	f, ok := v.u.facts[rules.WaitingMean]
	return ok && f.Value >= 1
}

// batchAway names the work that came with the incident, or work whose name says
// that it can wait.
func (v *incidentView) batchAway() (Measure, bool) {
	name, share := "", 0.0
	if f, ok := v.u.facts[rules.NewWorkShare]; ok && f.Where != "" {
		name, share = strings.TrimPrefix(f.Where, "workload "), f.Value
	} else {
		for _, w := range v.inc.Workload {
			if len(w.By) == 1 && canWait(w.By[0].Value) && w.During.Share.Or(0) > 0.02 {
				name, share = w.By[0].Value, w.During.Share.V
				break
			}
		}
	}
	if name == "" {
		return Measure{}, false
	}
	return Measure{Text: "Pause the workload " + name + ", or move it to another pool.", Price: "It finishes later, or takes other GPUs. Kept for good its part of the throughput is missing here.",
		Because: fmt.Sprintf("%s is %s of the incident's work", name, percent(signif(share)))}, true
}

// canWait tells work that nobody sits and waits for by its name.
func canWait(name string) bool {
	n := strings.ToLower(name)
	return slices.ContainsFunc([]string{"batch", "offline", "bulk", "eval", "backfill", "nightly"}, func(s string) bool { return strings.Contains(n, s) })
}

func (v *incidentView) routeAway() (Measure, bool) {
	f, ok := v.u.facts[rules.HotFactor]
	if !ok || f.Where == "" {
		return Measure{}, false
	}
	m := Measure{Text: "Route traffic back from " + f.Where + " to replicas that have room.", Price: "Fewer prefix cache hits where routing followed them. Kept for good: the affinity's gain is gone.",
		Because: fmt.Sprintf("its queue is %s times an even share", number(signif(f.Value)))}
	var room []string
	for _, r := range v.inc.Replicas {
		if w := r.During.Waiting; w.OK && w.V < 1 {
			room = append(room, r.Name)
		}
	}
	if len(room) > 0 {
		m.Because += "; " + strings.Join(room, ", ") + " had nobody waiting"
	}
	return m, true
}

func (v *incidentView) fewerRetries() (Measure, bool) {
	f := v.u.facts[rules.RetryShare]
	return Measure{Text: "Limit retries at the gateway: a retry budget, backoff with jitter; drop queued requests that their client has given up.", Price: "Some requests fail sooner instead of being tried again. None in throughput: what is dropped nobody waits for.",
		Because: fmt.Sprintf("%s of the attempts repeat an earlier one", percent(signif(f.Value)))}, true
}

// window's rows of the source that has them.
func (v *incidentView) rows() (base, bad []diagRow) {
	for _, s := range v.u.sources {
		if s.rows != nil && s.relative == v.u.relative {
			return s.rows.among(v.since, v.guard), s.rows.among(v.from, v.to)
		}
	}
	return nil, nil
}

// limitOf is the 99th percentile of the baseline, rounded up to what people
// write, with the share of the incident's requests above it.
func limitOf(base, bad []diagRow, get func(*diagRow) float64) (limit, above float64, ok bool) {
	b := slices.DeleteFunc(valuesOf(base, get), math.IsNaN)
	i := slices.DeleteFunc(valuesOf(bad, get), math.IsNaN)
	if len(b) < leastForP95 || len(i) == 0 {
		return nan, nan, false
	}
	limit = spreadOf(b).P99
	unit := math.Pow(2, math.Floor(math.Log2(max(limit, 1)))-3)
	limit = math.Ceil(limit/unit) * unit
	n := 0.0
	for _, x := range i {
		if x > limit {
			n++
		}
	}
	return limit, n / float64(len(i)), true
}

func (v *incidentView) contextLimit() (Measure, bool) {
	base, bad := v.rows()
	limit, above, ok := limitOf(base, bad, func(r *diagRow) float64 { return r.prompt })
	if !ok {
		return Measure{Text: "Route the longest prompts to a pool of their own, or limit the context within the approved range.", Price: "Those requests wait or are refused.", Because: "which length to limit needs request-level data"}, true
	}
	return Measure{Text: fmt.Sprintf("Limit prompts to %s tokens if that is within the approved range, or route longer ones to a pool of their own.", number(limit)),
		Price:   fmt.Sprintf("%s of the incident's requests are refused or take another way.", percent(signif(above))),
		Because: fmt.Sprintf("99 %% of the prompts before it were within %s tokens", number(limit))}, true
}

func (v *incidentView) outputLimit() (Measure, bool) {
	base, bad := v.rows()
	limit, above, ok := limitOf(base, bad, func(r *diagRow) float64 { return r.output })
	if !ok {
		return Measure{Text: "Lower max_tokens within the approved range.", Price: "Longer answers are cut.", Because: "which length to limit needs request-level data"}, true
	}
	return Measure{Text: fmt.Sprintf("Lower max_tokens to %s if that is within the approved range.", number(limit)), Price: fmt.Sprintf("%s of the incident's answers are cut.", percent(signif(above))),
		Because: fmt.Sprintf("99 %% of the answers before it were within %s tokens", number(limit))}, true
}

func (v *incidentView) restorePrefix() (Measure, bool) {
	f := v.u.facts[rules.CachedDrop]
	return Measure{Text: "Bring the last prompt template back: system prompt, tool list and their order as they were.", Price: "What the new template brought.",
		Because: fmt.Sprintf("the share of prompt tokens in the prefix cache fell by %s", percent(signif(f.Value)))}, true
}

func (v *incidentView) restoreBatchLimit() (Measure, bool) {
	m := Measure{Text: "Bring max_num_seqs back to its last verified value.", Price: "Requests beyond the limit wait: TTFT."}
	if f, ok := v.u.facts[rules.BatchLimitRatio]; ok {
		m.Because = f.Where
	}
	return m, true
}

func (v *incidentView) spareFrontEnd() (Measure, bool) {
	m := Measure{Text: "Give the API server its CPU back: move what shares its cores away, or send traffic to replicas whose front end has room.", Price: "CPU cores, or replicas."}
	if f, ok := v.u.facts[rules.FrontShare]; ok {
		m.Because = fmt.Sprintf("%s of the rise before the first token is outside the engine", percent(signif(f.Value)))
	}
	return m, true
}

func (v *incidentView) restoreProxy() (Measure, bool) {
	m := Measure{Text: "Bring the proxy's last verified settings back, or go past it: it has to pass each chunk on as it comes.", Price: "What the proxy's change brought."}
	if f, ok := v.u.facts[rules.ClientOverServer]; ok {
		m.Because = fmt.Sprintf("the client's TTFT is %s times the server's", number(signif(f.Value)))
	}
	return m, true
}

func (v *incidentView) measureAgain() (Measure, bool) {
	return Measure{Text: "Nothing on the servers: what was late is the load generator. Measure again with more clients.", Price: "Another run."}, true
}

// deploys are annotated moments from the begin of the baseline to the first
// onset, the last one first.
func (v *incidentView) deploys() []Event {
	var out []Event
	first := v.inc.Window.From + int64(v.inc.Width*1e9)
	for _, e := range v.inc.Events {
		if e.Kind == "deploy" && e.At <= first {
			out = append(out, e)
		}
	}
	slices.Reverse(out)
	return out
}

// beforeOnset says how long before the first change a moment was: before the
// window's begin, unless another change is known to have come before that.
func (v *incidentView) beforeOnset(e Event) string {
	first, width, what := v.inc.Window.From, v.inc.Width, "the window's begin"
	if len(v.inc.Onsets) > 0 {
		if o := v.inc.Onsets[0]; v.inc.Given || o.At+int64(o.Width*1e9) < first-int64(width*1e9) {
			first, width, what = o.At, o.Width, "the first change ("+signalWords(o.Signal)+")"
		}
	}
	if width > 0 {
		what += " ± " + seconds(signif(width))
	}
	d := float64(first-e.At) / 1e9
	if d < 0 {
		return fmt.Sprintf("%s after %s: a coincidence in time, no proof", seconds(math.Round(-d)), what)
	}
	return fmt.Sprintf("%s before %s: a coincidence in time, no proof", seconds(math.Round(d)), what)
}

// analysis says what it came from, and what of the evidence is lost.
func (v *incidentView) analysis() {
	add := func(m Measure) { v.inc.Analysis = append(v.inc.Analysis, m) }
	if len(v.inc.Onsets) > 0 {
		var order []string
		for _, o := range v.inc.Onsets[:min(len(v.inc.Onsets), 6)] {
			order = append(order, fmt.Sprintf("%s at %s ± %s", signalWords(o.Signal), v.moment(o.At), seconds(signif(o.Width))))
		}
		add(Measure{Text: "What changed first: " + strings.Join(order, ", then ") + ".", Because: "change points of each signal; closer together than their windows, their order is not known"})
	}
	named := 0
	for i := range v.d.Hypotheses {
		h := &v.d.Hypotheses[i]
		switch {
		case h.Status == rules.Supported:
			m := Measure{Text: fmt.Sprintf("%s (case %s, %s): supported, score %.2f.", h.Title, h.Case, h.Cause, h.Score), Because: strings.Join(h.For, "; "), Cause: h.Cause}
			if len(h.Against) > 0 {
				m.Text += " Against it: " + strings.Join(h.Against, "; ") + "."
			}
			add(m)
		case h.Status == rules.CannotTell && named < 3 && len(v.d.Present()) > 0 && len(h.Missing) > 0:
			named++
			add(Measure{Text: fmt.Sprintf("%s (%s): cannot be told.", h.Title, h.Cause), Because: "missing: " + strings.Join(h.Missing[:min(2, len(h.Missing))], "; "), Cause: h.Cause})
		}
	}
	if v.d.Separate != "" && len(v.d.Present()) > 0 {
		add(Measure{Text: "To separate the first two: " + v.d.Separate + ".", Because: "both can explain what was seen"})
	}
	for _, e := range v.deploys() {
		add(Measure{Text: "A change came before it: “" + e.Text + "” at " + v.moment(e.At) + ".", Because: v.beforeOnset(e)})
	}
	v.restarts()
	v.sustainable()
}

// signalWords names a signal in a sentence.
func signalWords(s string) string {
	if w, ok := map[string]string{"ttft": "TTFT", "ttft_tail": "the tail of TTFT", "tpot": "TPOT", "tpot_tail": "the tail of TPOT", "kv_usage": "KV usage", "failed": "the failed share",
		"arrivals": "arriving requests/s", "cache_missed": "the prompt share not in the prefix cache"}[s]; ok {
		return w
	}
	return strings.ReplaceAll(s, "_", " ")
}

// moment writes a time as the rest of the incident does.
func (v *incidentView) moment(ns int64) string {
	t := float64(ns-v.u.origin) / 1e9
	return strings.SplitN(v.u.span2text(t, t), " to ", 2)[0]
}

// restarts say what is known from before each restart, or that it is lost.
func (v *incidentView) restarts() {
	for _, s := range v.u.sources {
		if s.servers == nil || s.relative != v.u.relative {
			continue
		}
		for _, view := range s.servers.views {
			for _, at := range view.Restarts {
				t := float64(at-v.u.origin) / 1e9
				if t < v.since || t > v.until {
					continue
				}
				k, _ := slices.BinarySearch(view.Times, at)
				m := Measure{Text: fmt.Sprintf("%s restarted by %s. Evidence from before is lost: nothing was recorded of the process that ended.", view.Label, v.moment(at)), Because: s.label}
				if k > 0 {
					m.Text = fmt.Sprintf("%s restarted between %s and %s; what happened in between is lost.", view.Label, v.moment(view.Times[k-1]), v.moment(at))
					m.Because = "the last record before it has " + strings.Join(levelsAt(view.Server, k-1), ", ")
				}
				v.inc.Analysis = append(v.inc.Analysis, m)
			}
		}
	}
}

func levelsAt(s *serving.Server, k int) []string {
	var out []string
	for _, n := range []serving.SeriesName{serving.Running, serving.Waiting, serving.KVUsage} {
		g := s.GaugeOf(n)
		if g == nil || math.IsNaN(g.Values[k]) {
			continue
		}
		if g.Unit == serving.Share {
			out = append(out, percent(signif(g.Values[k]))+" "+string(n))
		} else {
			out = append(out, number(g.Values[k])+" "+string(n))
		}
	}
	if len(out) == 0 {
		return []string{"no levels"}
	}
	return out
}

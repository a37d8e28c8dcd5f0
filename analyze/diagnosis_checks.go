package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A CheckResult is one of a case's own checks, done or not.
type CheckResult struct {
	Case, ID  string
	Question  string
	Answer    string // yes, no, needs
	Value     serving.Opt[float64]
	Threshold serving.Opt[float64]
	AtMost    bool // the threshold is an upper limit
	Unit      serving.Unit
	Window    string
	Source    string
	PromQL    string
	Where     string
	Needs     string
}

// caseChecks are the checks of the five cases.
var caseChecks = []struct {
	group, id, question string
	fact                rules.Key
	at                  float64
	below               bool // yes at or below the threshold
}{
	{"A", "load_up", "Do users send more than before?", rules.ArrivalRatio, 1.15, false},
	{"A", "in_above_out", "Does more arrive than is completed?", rules.ArrivedOverCompleted, 1.05, false},
	{"A", "admitted", "Are fewer admitted to the batch than arrive?", rules.AdmittedOverArrived, 0.95, true},
	{"A", "build_up", "Does the queue build up to the end (and not drain as a spike does)?", rules.WaitingLeft, 0.5, false},
	{"A", "burst", "Is there a moment with a multiple of the usual rate?", rules.ArrivalPeakRatio, 2, false},
	{"A", "queue_share", "Is the queue most of the rise before the first token?", rules.QueueShare, 0.5, false},
	{"A", "hot_replica", "Does one replica hold more than its share of the queue?", rules.HotFactor, 1.5, false},
	{"A", "pool_shared", "Did a kind of work come that was not there before?", rules.NewWorkShare, 0.2, false},
	{"A", "retries", "Do retries amplify what arrives?", rules.RetryShare, 0.1, false},
	{"B", "prompt_median", "Has the median prompt grown?", rules.PromptMedianRatio, 1.15, false},
	{"B", "prompt_p95", "Has the 95th percentile of prompts grown?", rules.PromptTailRatio, 1.4, false},
	{"B", "prompt_p99", "Has the 99th percentile of prompts grown?", rules.PromptFarRatio, 1.5, false},
	{"B", "prefix_reuse", "Does the prefix cache hold less of the prompts?", rules.CachedDrop, 0.15, false},
	{"B", "prefill_share", "Is prefill most of the rise before the first token?", rules.PrefillShare, 0.4, false},
	{"C", "running_tpot", "Do running sequences and TPOT move together (Spearman of changes; a correlation)?", rules.RunningTPOT, 0.5, false},
	{"C", "running_up", "Do more sequences share a step?", rules.RunningRatio, 1.3, false},
	{"C", "tokens_follow", "Do output tokens/s follow?", rules.OutputRateRatio, 1.2, false},
	{"C", "outputs_longer", "Are answers longer?", rules.OutputRatio, 1.25, false},
	{"C", "batch_limit", "Was max_num_seqs changed between processes?", rules.BatchLimitRatio, 1.01, false},
	{"C", "goodput_follows", "Did goodput rise with it (conditions of --goodput)?", rules.GoodputRatio, 1.05, false},
	{"C", "stalls", "Do single gaps stall while TPOT is even?", rules.StallRatio, 4, false},
	{"D", "preemptions", "Were requests preempted in the window (an increase, restarts added up)?", rules.Preemptions, 1, false},
	{"D", "kv_full", "Was the KV pool full?", rules.KVPeak, 0.95, false},
	{"D", "together", "Do preemptions fall into the windows with a full pool (lift; a correlation)?", rules.Lift, 1.2, false},
	{"D", "giants", "Does a running sequence hold more of the pool than before?", rules.KVPerRunning, 1.3, false},
	{"D", "preempted_longer", "Were preempted requests longer than the others?", rules.PreemptedLength, 1.3, false},
	{"D", "restarts", "Did a process restart in the window?", rules.Restarts, 1, false},
	{"D", "crashes", "Did memory run out, or an engine die, in the window?", rules.Crashes, 1, false},
	{"E", "gpu_idle", "Were the GPUs idle for much of the time?", rules.GPUUse, 0.4, true},
	{"E", "frontend", "Is the front end most of the rise before the first token?", rules.FrontShare, 0.5, false},
	{"E", "cpu_throttled", "Was the API server throttled?", rules.Throttled, 0.05, false},
	{"E", "client_gap", "Does the client wait longer for the first token than the server says?", rules.ClientOverServer, 1.5, false},
	{"E", "chunks", "Does one chunk carry many tokens?", rules.TokensPerChunk, 2, false},
	{"E", "generator", "Was the load generator the limit?", rules.Saturated, 1, false},
	{"E", "log_timeouts", "Do logs tell of timeouts in the window?", rules.LogTimeouts, 1, false},
	{"E", "failed", "Did requests fail?", rules.FailedShare, 0.03, false},
	{"E", "gaps", "Are scrapes missing in the window?", rules.ScrapeGaps, 1, false},
	{"E", "frozen", "Did gauges stand still while counters moved?", rules.FrozenShare, 0.2, false},
}

func (u *diagSubject) checks() []CheckResult {
	var out []CheckResult
	for _, c := range caseChecks {
		r := CheckResult{Case: c.group, ID: c.id, Question: c.question, Threshold: serving.Some(c.at), AtMost: c.below}
		f, ok := u.facts[c.fact]
		if !ok {
			r.Answer, r.Needs, r.Unit = "needs", u.needs(c.fact), rules.UnitOf(c.fact)
			out = append(out, r)
			continue
		}
		r.Answer, r.Value, r.Unit = "no", serving.Some(f.Value), f.Unit
		if f.Value >= c.at && !c.below || f.Value <= c.at && c.below {
			r.Answer = "yes"
		}
		r.Window, r.Source, r.PromQL, r.Where = f.Window, f.Source, f.PromQL, f.Where
		out = append(out, r)
	}
	return out
}

// fromRows adds facts that only single requests give.
func (f *factsOf) fromRows() {
	i := f.ph.bad
	rows := f.s.rows.among(i.From, i.To)
	worst := spreadOf(known(rows, func(r *diagRow) float64 { return r.worst }))
	if worst.N >= leastForP95 && i.TPOT.P95 > 0 {
		f.put(rules.StallRatio, worst.P95/i.TPOT.P95, "")
		if fact, ok := f.out[rules.StallRatio]; ok && fact.Source == f.s.label {
			fact.Where = f.worstGaps(rows)
			f.out[rules.StallRatio] = fact
		}
	}
	var hit, spared []float64
	for k := range rows {
		if n := rows[k].prompt + rows[k].output; !math.IsNaN(rows[k].preempt) && !math.IsNaN(n) {
			if rows[k].preempt > 0 {
				hit = append(hit, n)
			} else {
				spared = append(spared, n)
			}
		}
	}
	if len(hit) >= 5 && len(spared) >= 5 {
		f.put(rules.PreemptedLength, spreadOf(hit).P50/spreadOf(spared).P50, "")
	}
	if f.s.rows.has[serving.ColReplica] {
		f.put(rules.Replicas, float64(max(1, len(f.s.rows.replicas))), "")
	}
	if tpot := f.named("tpot"); tpot != nil {
		f.together(tpot, f.s.rows.running)
	}
}

// worstGaps names the requests with the longest gaps, and when they came: a stall
// of the server hits all that stream at that moment.
func (f *factsOf) worstGaps(rows []diagRow) string {
	const most = 3
	var held []*diagRow
	for i := range rows {
		r := &rows[i]
		k := len(held)
		for k > 0 && r.worst > held[k-1].worst {
			k--
		}
		if k < most && !math.IsNaN(r.worst) {
			held = slices.Insert(held, k, r)
			held = held[:min(most, len(held))]
		}
	}
	var list []string
	for _, r := range held {
		list = append(list, fmt.Sprintf("row %d, sent at %s: %s", r.row, f.u.moment(r.at), seconds(signif(r.worst))))
	}
	return "longest gaps: " + strings.Join(list, "; ")
}

func (f *factsOf) named(name string) *signal {
	for _, s := range f.s.signals() {
		if s.name == name {
			return s
		}
	}
	return nil
}

// together correlates the changes of running sequences and TPOT.
func (f *factsOf) together(tpot, running *signal) {
	var x, y []float64
	for i, v := range tpot.values {
		x, y = append(x, v), append(y, meanKnown(running.between(tpot.at(i), tpot.end(i))))
	}
	if rho, n := spearmanOfDiffs(x, y); n >= 10 {
		f.put(rules.RunningTPOT, rho, "")
	}
}

// fromServers adds facts that only scrapes and logs give.
func (f *factsOf) fromServers() {
	c, i := f.s.servers, f.ph.bad
	f.put(rules.Replicas, float64(len(c.views)), "")
	f.put(rules.Restarts, float64(i.Restarts), "")
	gaps, still, moved := 0.0, 0.0, 0.0
	for _, v := range c.views {
		for _, g := range c.within(v, i.From, i.To).gaps() {
			if g.To > v.Times[v.from] {
				gaps++
			}
		}
		in := c.within(v, i.From, i.To)
		run := in.gaugeValues(serving.Running)
		for k := 1; k < len(run); k++ {
			step := serverView{v.Server, in.from + k - 1, in.from + k + 1}
			if step.rise(serving.GenerationTotal, nil) > 0 {
				moved++
				same := true
				for _, n := range []serving.SeriesName{serving.Running, serving.KVUsage} {
					if x := step.gaugeValues(n); len(x) == 2 && x[0] != x[1] {
						same = false
					}
				}
				// A full batch may well stand still; a pool never does.
				if same && len(step.gaugeValues(serving.KVUsage)) == 2 && step.gaugeValues(serving.KVUsage)[0] > 0 {
					still++
				}
			}
		}
	}
	f.put(rules.ScrapeGaps, gaps, "")
	if moved >= 5 {
		f.put(rules.FrozenShare, still/moved, "")
	}
	kv, preempt := c.total(serving.KVUsage, true), f.named("preemptions")
	var a, b []bool
	for k := range preempt.values {
		if x := meanKnown(kv.between(preempt.at(k), preempt.end(k)+c.step)); !math.IsNaN(x) && !math.IsNaN(preempt.values[k]) {
			a, b = append(a, x > 0.95), append(b, preempt.values[k] > 0)
		}
	}
	if o := stat.CoOccur(a, b); len(a) >= 10 {
		f.put(rules.Lift, o.Lift, "")
	}
	if tpot := f.named("tpot"); tpot != nil {
		f.together(tpot, c.total(serving.Running, false))
	}
}

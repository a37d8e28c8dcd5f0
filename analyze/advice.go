package analyze

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Advice is the value of section "advice": experiments that the observations of
// this report suggest. None is a verdict: neither direction of a knob is
// guaranteed on a given workload.
type AdviceList struct{ Advice []Advice }

// An Advice is one knob to try, with what was seen and what it costs.
type Advice struct {
	ID          string // of the rule
	Subject     string // the sweep or run it is about
	Knob        string // as the engine calls it
	Direction   string // raise, lower, enable, add, test
	From, To    string // "" where not known
	Observation string // what was seen, its value and place
	Price       string // what it costs elsewhere
	Caveat      string
	Command     string // that runs the experiment; "" where there is none
	Phase       string // experiment

	at *RunStats // the level it was seen at; nil: the highest
}

// phaseExperiment marks advice that is a test on a bench, never a change of a
// live server.
const phaseExperiment = "experiment"

// An adviceRule is one entry of M17: an observation and the knob that it
// suggests.
type adviceRule struct {
	id  string
	doc string
	// suggest returns what it suggests for a case; none where the observation is
	// not there.
	suggest func(c *adviceCase) []Advice
}

func runAdvice(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	var out AdviceList
	for _, c := range adviceCases(in, rep) {
		var mine []Advice
		for _, r := range adviceRules {
			for _, a := range r.suggest(c) {
				a.ID, a.Subject, a.Phase = r.id, c.label, phaseExperiment
				a.Knob = c.engineKnob(a.Knob)
				if slices.ContainsFunc(mine, func(o Advice) bool { return o.Knob == a.Knob }) {
					continue // the first reason to turn a knob is enough; the opposite turn would contradict it
				}
				if a.Command == "" {
					a.Command = c.command(a)
				}
				if c.engine == "" && a.Caveat == "" {
					a.Caveat = "The files do not name the engine: the knob and the command are vLLM's."
				}
				mine = append(mine, a)
			}
		}
		out.Advice = append(out.Advice, mine...)
	}
	if len(out.Advice) == 0 {
		return nil, nil, nil
	}
	return &out, []string{
		"Experiments, not verdicts: neither direction of a knob is guaranteed on a given workload. Change one at a time, on the same requests, three runs or more, and compare with vreport compare.",
		"Knob values are those of vLLM v0.25.1. Nothing here is for live traffic during an incident.",
	}, nil
}

// adviceLacks says what an experiment would need here: a missed objective alone, or of
// requests that no benchmark sent, is no reason to turn a knob.
func adviceLacks(in *Input, rep *Report) string {
	const beside = "a full KV pool, a batch limit, a ceiling that binds"
	runs := Value[Runs](rep)
	if runs == nil {
		if Value[Servers](rep) == nil {
			return "a benchmark run, or scrapes of the engine: experiments are for a bench, and what requests alone lead to stands under Diagnosis"
		}
		return "an observation of the servers that suggests a knob: " + beside
	}
	for _, r := range runs.Runs {
		if slices.ContainsFunc(r.SLO, func(s SLOResult) bool { return s.Result == GateFail }) {
			return "beside the missed objective an observation that says which knob: " + beside
		}
	}
	if len(in.Opt.SLOs) > 0 {
		return "an observation that suggests a knob: an objective that is surely missed, " + beside
	}
	return ""
}

// An adviceCase is one sweep or run with all that rules look at.
type adviceCase struct {
	label   string
	in      *Input
	ceiling *Ceiling // nil without
	sweep   *Sweep   // nil without
	runs    []*RunStats
	levels  [][]*RunStats // repeats of each level, ascending load
	servers []*ServerStats
	facts   deployment
	engine  string // vllm, sglang, …; "" unknown
	batched string // max_num_batched_tokens
}

// adviceCases are the sweeps, and the runs that are in none.
func adviceCases(in *Input, rep *Report) []*adviceCase {
	f := &ceilingFinder{in: in, servers: Value[Servers](rep), runs: Value[Runs](rep)}
	f.countGPUs()
	var out []*adviceCase
	ceilings := Value[Ceilings](rep)
	for _, s := range f.subjects(Value[Sweeps](rep)) {
		c := &adviceCase{in: in, sweep: s.sweep, runs: s.runs, servers: s.servers, facts: s.facts, label: s.label}
		if ceilings != nil {
			for _, x := range ceilings.Ceilings {
				if x.Sweep == s.sweep && (s.sweep != nil || sameRuns(x, s.runs)) {
					c.ceiling = x
				}
			}
		}
		if s.sweep != nil {
			for i := range s.sweep.Points {
				c.levels = append(c.levels, s.sweep.Points[i].Runs)
			}
		} else {
			for _, r := range s.runs {
				c.levels = append(c.levels, []*RunStats{r})
			}
		}
		if c.label == "" {
			c.label = s.facts.model
			if len(s.runs) == 1 {
				c.label = s.runs[0].Run.Label
			}
		}
		c.setEngine()
		out = append(out, c)
	}
	return out
}

// sameRuns reports whether a ceiling is of these runs.
func sameRuns(c *Ceiling, runs []*RunStats) bool {
	return len(c.Levels) == len(runs) && (len(runs) == 0 || c.Levels[0].Run == runs[0])
}

func (c *adviceCase) setEngine() {
	var settings settingsReader
	if len(c.runs) > 0 {
		c.engine = strings.ToLower(c.runs[0].Run.Engine.Or(""))
		settings = c.runs[0].Run.Settings
	}
	for _, s := range c.servers {
		if c.engine == "" {
			c.engine = strings.ToLower(s.Server.Engine)
		}
		settings = append(slices.Clone(settings), s.Server.Info...)
	}
	c.batched = settings.get("max_num_batched_tokens", "max-num-batched-tokens", "chunked_prefill_size")
}

// engineKnobs are other engines' names of vLLM's knobs.
var engineKnobs = map[string]map[string]string{
	"sglang": {"max_num_batched_tokens": "chunked_prefill_size", "max_num_seqs": "max_running_requests", "gpu_memory_utilization": "mem_fraction_static",
		"tensor_parallel_size": "tp_size", "data_parallel_size": "dp_size", "enable_expert_parallel": "ep_size"},
	"trtllm":       {"max_num_batched_tokens": "max_num_tokens", "max_num_seqs": "max_batch_size", "gpu_memory_utilization": "kv_cache_free_gpu_mem_fraction", "tensor_parallel_size": "tp_size"},
	"tensorrt-llm": {"max_num_batched_tokens": "max_num_tokens", "max_num_seqs": "max_batch_size", "gpu_memory_utilization": "kv_cache_free_gpu_mem_fraction", "tensor_parallel_size": "tp_size"},
}

func (c *adviceCase) engineKnob(k string) string {
	if n, ok := engineKnobs[c.engine][k]; ok {
		return n
	}
	return k
}

// missed is the first level at which an objective for a metric fails, and the
// level before it; -1 where none does.
func (c *adviceCase) missed(keys ...serving.MetricKey) (level int, run *RunStats, slo SLOResult, metric serving.MetricKey) {
	for i, runs := range c.levels {
		for _, r := range runs {
			for _, s := range r.SLO {
				o, ok := c.objective(s.Expr)
				// A file's own aggregate has no interval to decide on; that it is
				// beyond the limit is observation enough for an experiment.
				beyond := s.Value.OK && s.Value.V >= o.Limit && !s.Attainment.OK
				if ok && slices.Contains(keys, o.Metric) && (s.Result == GateFail || s.Result == GateUndecided && beyond) {
					return i, r, s, o.Metric
				}
			}
		}
	}
	return -1, nil, SLOResult{}, ""
}

// objective is the objective of all requests with an expression.
func (c *adviceCase) objective(expr string) (serving.SLO, bool) {
	for _, s := range c.in.Opt.SLOs {
		if s.Expr == expr && len(s.By) == 0 {
			return s, true
		}
	}
	return serving.SLO{}, false
}

// place names where an observation was made.
func place(r *RunStats) string { return r.Run.Label }

// gauge is the highest level of an engine's gauge over its scrapes.
func (c *adviceCase) gauge(n serving.SeriesName) (float64, bool) {
	best, found := 0.0, false
	for _, s := range c.servers {
		for _, g := range s.Gauges {
			if g.Name == n && len(g.By) == 0 && (!found || g.Max > best) {
				best, found = g.Max, true
			}
		}
	}
	return best, found
}

// missText is the observation of a failed objective.
func missText(r *RunStats, s SLOResult, m serving.MetricKey) string {
	v := ""
	if s.Value.OK {
		v = fmt.Sprintf(": %s%s is %s", metricTitle(m), statOf(s.Expr), seconds(s.Value.V))
	}
	if s.Attainment.OK {
		v += fmt.Sprintf(", %s of the requests sent are within", percent(float64(int(s.Attainment.V*1000+.5))/1000))
	}
	return fmt.Sprintf("the objective %s is missed at %s%s", s.Expr, place(r), v)
}

// statOf is the statistic that an objective's expression names, behind a blank.
func statOf(expr string) string {
	from, to := strings.LastIndexByte(expr, ':'), strings.LastIndexByte(expr, '<')
	if from < 0 || to < from {
		return ""
	}
	return " " + strings.TrimSpace(expr[from+1:to])
}

func metricTitle(k serving.MetricKey) string {
	if m, ok := serving.MetricOf(k); ok {
		return m.Title
	}
	return string(k)
}

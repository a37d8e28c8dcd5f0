package analyze

import (
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A rowChannel is a table of requests as a source of phases and signals.
type rowChannel struct {
	*rowSource
	waiting, running *signal
	byReplica        []*signal // waiting of each
	seen             []*phase  // that were asked for: an incident's twice
	runningOf        []*signal
}

func newRowChannel(s *rowSource) *rowChannel {
	c := &rowChannel{rowSource: s}
	c.waiting, c.running = s.levels(-1)
	if len(s.replicas) > 1 && len(s.replicas) <= 64 {
		for r := range s.replicas {
			w, run := s.levels(int32(r))
			c.byReplica, c.runningOf = append(c.byReplica, w), append(c.runningOf, run)
		}
	}
	return c
}

// among are the rows that arrived in a stretch.
func (c *rowChannel) among(from, to float64) []diagRow {
	lo, _ := slices.BinarySearchFunc(c.rows, from, func(r diagRow, t float64) int { return compareTime(r.at, t) })
	hi, _ := slices.BinarySearchFunc(c.rows, to, func(r diagRow, t float64) int { return compareTime(r.at, t) })
	return c.rows[lo:hi]
}

func compareTime(a, b float64) int {
	if a < b {
		return -1
	}
	return 1
}

// known are the values of completed requests that have one.
func known(rows []diagRow, get func(*diagRow) float64) []float64 {
	out := make([]float64, 0, len(rows))
	for i := range rows {
		if v := get(&rows[i]); rows[i].outcome == serving.OK && !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// phase returns a stretch's figures. It is not the caller's alone.
func (c *rowChannel) phase(from, to float64) *phase {
	for _, p := range c.seen {
		if p.From == from && p.To == to {
			return p
		}
	}
	p := unknownPhase(from, to)
	c.seen = append(c.seen, p)
	rows := c.among(from, to)
	p.Requests, p.Completed, p.Failed = 0, 0, 0
	if c.attempts {
		p.Retries = 0
	}
	tokens, cached, prompts, chunked, gaps := 0.0, 0.0, 0.0, 0.0, 0.0
	for i := range rows {
		r := &rows[i]
		p.Requests += c.every
		if r.retry {
			p.Retries += c.every
		}
		if r.outcome == serving.OK {
			p.Completed += c.every
		} else {
			p.Failed += c.every
		}
		if !math.IsNaN(r.output) {
			tokens += r.output * c.every
		}
		if !math.IsNaN(r.cached) && !math.IsNaN(r.prompt) {
			cached += r.cached
			prompts += r.prompt
		}
		if r.outcome == serving.OK && r.output > 1 && r.gaps > 0 {
			chunked += r.output - 1
			gaps += r.gaps
		}
		if !math.IsNaN(r.preempt) {
			if math.IsNaN(p.Preemptions) {
				p.Preemptions = 0
			}
			p.Preemptions += r.preempt * c.every
		}
	}
	p.Ended = 0
	for i := range c.rows {
		if r := &c.rows[i]; r.outcome == serving.OK && r.at+r.e2e >= from && r.at+r.e2e < to {
			p.Ended += c.every
		}
	}
	c.count(p, rows)
	p.Aborted = 0
	for i := range rows {
		if o := rows[i].outcome; o == serving.Timeout || o == serving.Cancelled {
			p.Aborted += c.every
		}
	}
	if prompts > 0 {
		p.CachedShare = cached / prompts
	}
	if gaps > 0 {
		p.TokensPerChunk = chunked / gaps
	}
	if c.has[string(serving.OutputTokens)] {
		p.OutputTokens = tokens
	}
	p.TTFT = spreadOf(known(rows, (*diagRow).first))
	p.TPOT = spreadOf(known(rows, func(r *diagRow) float64 { return r.tpot }))
	p.E2E = spreadOf(known(rows, func(r *diagRow) float64 { return r.e2e }))
	p.Queue = spreadOf(known(rows, func(r *diagRow) float64 { return r.queue }))
	p.Prefill = spreadOf(known(rows, func(r *diagRow) float64 { return r.prefill }))
	p.Decode = spreadOf(known(rows, func(r *diagRow) float64 { return r.decode }))
	p.Frontend = spreadOf(known(rows, (*diagRow).front))
	p.Prompt = spreadOf(known(rows, func(r *diagRow) float64 { return r.prompt }))
	p.Output = spreadOf(known(rows, func(r *diagRow) float64 { return r.output }))
	p.Waiting, p.Running = levelOf(c.waiting.between(from, to)), levelOf(c.running.between(from, to))
	p.WaitingEnd = lastPart(c.waiting.between(from, to))
	p.ArrivalPeak = c.arrivalPeak(rows, from, to)
	c.addReplicas(p, rows)
	c.addWorkloads(p, rows)
	return p
}

// arrivalPeak is the largest rate in ten seconds, over windows that begin at
// each request.
func (c *rowChannel) arrivalPeak(rows []diagRow, from, to float64) float64 {
	const width = 10
	if to-from < width {
		return nan
	}
	best, j := 0, 0
	for i := range rows {
		for rows[i].at-rows[j].at >= width {
			j++
		}
		best = max(best, i-j+1)
	}
	return float64(best) * c.every / width
}

func (c *rowChannel) addReplicas(p *phase, rows []diagRow) {
	for k := range c.byReplica {
		l := replicaLoad{Name: c.replicas[k], Waiting: meanKnown(c.byReplica[k].between(p.From, p.To)), Running: meanKnown(c.runningOf[k].between(p.From, p.To))}
		for i := range rows {
			if rows[i].replica == int32(k) {
				l.Requests += c.every
			}
		}
		l.Present = l.Requests >= 0.03*p.Requests
		p.Replicas = append(p.Replicas, l)
	}
	slices.SortFunc(p.Replicas, func(a, b replicaLoad) int { return strings.Compare(a.Name, b.Name) })
}

func (c *rowChannel) addWorkloads(p *phase, rows []diagRow) {
	if len(c.workloads) > 64 {
		return // those are no kinds of work
	}
	for k, name := range c.workloads {
		l := workloadLoad{Name: name}
		for i := range rows {
			if rows[i].workload == int32(k) {
				if t := rows[i].prompt + rows[i].output; !math.IsNaN(t) {
					l.Tokens += t * c.every
				}
				if !rows[i].retry {
					l.Requests += c.every
				}
			}
		}
		mine := func(get func(*diagRow) float64) func(*diagRow) float64 {
			return func(r *diagRow) float64 {
				if r.workload != int32(k) {
					return nan
				}
				return get(r)
			}
		}
		l.TTFT = spreadOf(known(rows, mine((*diagRow).first))).Mean
		l.TPOT = spreadOf(known(rows, mine(func(r *diagRow) float64 { return r.tpot }))).Mean
		p.Workloads = append(p.Workloads, l)
	}
	slices.SortFunc(p.Workloads, func(a, b workloadLoad) int { return strings.Compare(a.Name, b.Name) })
}

// signals are what change points are looked for in.
func (c *rowChannel) signals() []*signal {
	n := min(60, max(12, len(c.rows)/8))
	step := max(c.span()/float64(n), 1e-3)
	bins := make([][]diagRow, n)
	for from, to := 0, 0; from < len(c.rows); from = to { // rows are in order of time
		bin := min(n-1, int(c.rows[from].at/step))
		for to < len(c.rows) && min(n-1, int(c.rows[to].at/step)) == bin {
			to++
		}
		bins[bin] = c.rows[from:to]
	}
	make1 := func(name string, f func(rows []diagRow) (float64, float64)) *signal {
		s := &signal{name: name, unit: "s", step: step}
		for _, b := range bins {
			v, k := f(b)
			s.values, s.n = append(s.values, v), append(s.n, k)
		}
		return s
	}
	q := func(get func(*diagRow) float64, p float64) func([]diagRow) (float64, float64) {
		return func(rows []diagRow) (float64, float64) {
			x := known(rows, get)
			if len(x) < 3 {
				return nan, 0
			}
			stat.Sort(x)
			return stat.Quantile(x, p), float64(len(x))
		}
	}
	tpot := func(r *diagRow) float64 { return r.tpot }
	return []*signal{
		make1("ttft", q((*diagRow).first, 0.5)), make1("ttft_tail", q((*diagRow).first, 0.9)),
		make1("tpot", q(tpot, 0.5)), make1("tpot_tail", q(tpot, 0.9)),
		make1("queue", q(func(r *diagRow) float64 { return r.queue }, 0.5)),
		make1("failed", func(rows []diagRow) (float64, float64) {
			k := 0.0
			for i := range rows {
				if rows[i].outcome != serving.OK {
					k++
				}
			}
			return k / float64(len(rows)), float64(len(rows))
		}),
	}
}

// coarse are windows of equally many requests: where requests come in bursts,
// equally long windows alternate between two states.
func (c *rowChannel) coarse() []*signal {
	const windows = 14
	size := len(c.rows) / windows
	if size < 10 {
		return nil
	}
	out := []*signal{{name: "ttft", unit: "s"}, {name: "tpot", unit: "s"}, {name: "ttft_tail", unit: "s"}}
	for k := range windows {
		rows := c.rows[k*size : min(len(c.rows), (k+1)*size)]
		for i, get := range []func(*diagRow) float64{(*diagRow).first, func(r *diagRow) float64 { return r.tpot }, (*diagRow).first} {
			s := spreadOf(known(rows, get))
			v := s.Mean
			if out[i].name == "ttft_tail" {
				v = s.P95
			}
			out[i].starts, out[i].values, out[i].n = append(out[i].starts, rows[0].at), append(out[i].values, v), append(out[i].n, s.N)
		}
	}
	for _, s := range out {
		s.step = c.span() - s.starts[windows-1]
	}
	return out
}

// count adds who came into the batch and who was served well.
func (c *rowChannel) count(p *phase, rows []diagRow) {
	if c.has[string(serving.Queue)] {
		p.Admitted = 0
		for i := range c.rows {
			r := &c.rows[i]
			at := r.at + r.queue
			if front := r.front(); front > 0 {
				at += front
			}
			if at >= p.From && at < p.To {
				p.Admitted += c.every
			}
		}
	}
	if len(c.goodput) == 0 {
		return
	}
	p.Good = 0
	for i := range rows {
		if c.good(&rows[i]) {
			p.Good += c.every
		}
	}
}

// good reports that a request met every condition of --goodput, by vLLM's rule: a
// completed answer of one token has no TPOT to miss, any other missing value does.
func (s *rowSource) good(r *diagRow) bool {
	if r.outcome != serving.OK {
		return false
	}
	for _, c := range s.goodput {
		v := map[serving.MetricKey]float64{serving.TTFT: r.ttft, serving.TPOT: r.tpot, serving.E2E: r.e2e}[c.Metric]
		if c.Metric == serving.TPOT && r.output == 1 {
			continue
		}
		if !(v <= c.Limit) {
			return false
		}
	}
	return true
}

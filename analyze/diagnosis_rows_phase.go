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
	inSystem
	byReplica []inSystem // of each, where there are several
	seen      []*phase   // that were asked for: an incident's twice
	own       []*signal  // once they were asked for
}

func newRowChannel(s *rowSource) *rowChannel {
	c := &rowChannel{rowSource: s}
	c.inSystem, c.byReplica = s.countLevels()
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
	return appendKnown(make([]float64, 0, len(rows)), rows, get)
}

func appendKnown(out []float64, rows []diagRow, get func(*diagRow) float64) []float64 {
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
	if len(c.byReplica) == 0 {
		return
	}
	for k, l := range c.byReplica {
		p.Replicas = append(p.Replicas, replicaLoad{Name: c.replicas[k], Waiting: meanKnown(l.waiting.between(p.From, p.To)), Running: meanKnown(l.running.between(p.From, p.To))})
	}
	for i := range rows {
		if k := rows[i].replica; k >= 0 {
			p.Replicas[k].Requests += c.every
		}
	}
	for k := range p.Replicas {
		p.Replicas[k].Present = p.Replicas[k].Requests >= 0.03*p.Requests
	}
	slices.SortFunc(p.Replicas, func(a, b replicaLoad) int { return strings.Compare(a.Name, b.Name) })
}

func (c *rowChannel) addWorkloads(p *phase, rows []diagRow) {
	if len(c.workloads) == 0 || len(c.workloads) > 64 {
		return // none are told apart, or those are no kinds of work
	}
	type means struct{ ttft, tpot mean }
	p.Workloads = make([]workloadLoad, len(c.workloads))
	of := make([]means, len(c.workloads))
	for i := range rows {
		r := &rows[i]
		if r.workload < 0 {
			continue
		}
		l, m := &p.Workloads[r.workload], &of[r.workload]
		if t := r.prompt + r.output; !math.IsNaN(t) {
			l.Tokens += t * c.every
		}
		if !r.retry {
			l.Requests += c.every
		}
		if r.outcome == serving.OK {
			m.ttft.add(r.first())
			m.tpot.add(r.tpot)
		}
	}
	for k, name := range c.workloads {
		l := &p.Workloads[k]
		l.Name, l.TTFT, l.TPOT = name, of[k].ttft.value(), of[k].tpot.value()
	}
	slices.SortFunc(p.Workloads, func(a, b workloadLoad) int { return strings.Compare(a.Name, b.Name) })
}

// A mean is of the values that are known, NaN of none.
type mean struct {
	sum stat.Total
	n   float64
}

func (m *mean) add(v float64) {
	if !math.IsNaN(v) {
		m.sum.Add(v)
		m.n++
	}
}

func (m *mean) value() float64 { return m.sum.Value() / m.n }

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
		v := 0.0
		switch c.Metric {
		case serving.TTFT:
			v = r.ttft
		case serving.TPOT:
			if v = r.tpot; r.output == 1 {
				continue
			}
		case serving.E2E:
			v = r.e2e
		}
		if !(v <= c.Limit) {
			return false
		}
	}
	return true
}

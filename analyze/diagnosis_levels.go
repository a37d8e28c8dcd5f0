package analyze

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// leveledReplicas bounds the replicas that are looked at each alone.
const leveledReplicas = 64

// inSystem are requests that wait and that run over time.
type inSystem struct{ waiting, running *signal }

// countLevels counts requests that wait and that run, of all and of each replica where
// there are several. A request waits from its arrival at the server until it is
// scheduled; one that never was, until it was given up.
func (s *rowSource) countLevels() (all inSystem, byReplica []inSystem) {
	known := s.has[string(serving.Queue)]
	all = s.newLevels(known)
	if len(s.replicas) > 1 && len(s.replicas) <= leveledReplicas {
		for range s.replicas {
			byReplica = append(byReplica, s.newLevels(known))
		}
	}
	for i := range s.rows {
		q := &s.rows[i]
		if math.IsNaN(q.e2e) {
			continue
		}
		all.count(q, known, s.every)
		if len(byReplica) > 0 && q.replica >= 0 {
			byReplica[q.replica].count(q, known, s.every)
		}
	}
	return all, byReplica
}

// newLevels are of nobody. How many wait is not known where queue times are not.
func (s *rowSource) newLevels(known bool) inSystem {
	step := s.finerStep()
	n := int(s.span()/step) + 1
	l := inSystem{&signal{name: "waiting", step: step, values: make([]float64, n)}, &signal{name: "running", step: step, values: make([]float64, n)}}
	if !known {
		for i := range l.waiting.values {
			l.waiting.values[i] = nan
		}
	}
	return l
}

// count adds a request that stands for several.
func (l inSystem) count(q *diagRow, known bool, every float64) {
	if !known {
		l.running.fill(q.at, q.at+q.e2e, every)
		return
	}
	from, to := q.waits()
	l.waiting.fill(from, to, every)
	if !math.IsNaN(q.queue) {
		l.running.fill(to, q.at+q.e2e, every)
	}
}

// waits is when a request waited: until it was scheduled, or given up.
func (q *diagRow) waits() (from, to float64) {
	if math.IsNaN(q.queue) {
		if q.outcome != serving.OK {
			return q.at, q.at + q.e2e
		}
		return q.at, q.at
	}
	from = q.at
	if front := q.front(); front > 0 {
		from += front
	}
	return from, from + q.queue
}

// waitingIn is how many waited on average in a stretch, which may lie after the
// last arrival; NaN where queue times are not known.
func (s *rowSource) waitingIn(from, to float64) float64 {
	if !s.has[string(serving.Queue)] {
		return nan
	}
	sum := 0.0
	for i := range s.rows {
		if a, b := s.rows[i].waits(); b > from && a < to {
			sum += (min(b, to) - max(a, from)) * s.every
		}
	}
	return sum / (to - from)
}

// fill adds a stretch: the part of each window that it fills, so that short stays
// count.
func (s *signal) fill(from, to, weight float64) {
	for i := max(0, int(from/s.step)); i < len(s.values) && float64(i)*s.step < to; i++ {
		s.values[i] += weight * (min(to, float64(i+1)*s.step) - max(from, float64(i)*s.step)) / s.step
	}
}

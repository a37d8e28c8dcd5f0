package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A diagRow is one request. NaN is not known.
type diagRow struct {
	at, ttft, tpot, e2e, queue, prefill, decode  float64 // seconds
	prompt, output, cached, preempt, gaps, worst float64
	outcome                                      serving.Outcome
	workload, replica, model                     int32 // into the readers' names; -1
	retry                                        bool
	row                                          int64 // within its part
	src, part                                    int32
}

// rowSource is a table of requests, read one by one and in order of arrival.
type rowSource struct {
	name                string
	side                serving.Side
	relative            bool
	rows                []diagRow
	every               float64 // one row stands for so many
	workloads, replicas []string
	models              []string
	attempts            bool  // the table says which attempt a row is
	origin              int64 // ns: where the rows' time begins
	has                 map[string]bool
	srcs                []serving.Requests // the tables that rows are of
	goodput             []serving.Condition
}

func (s *rowSource) setOrigin(times []int64) {
	if len(times) == 0 {
		return
	}
	s.origin = slices.Min(times)
	for i := range s.rows {
		s.rows[i].at = float64(times[i]-s.origin) / 1e9
	}
	if !slices.IsSorted(times) {
		slices.SortStableFunc(s.rows, func(a, b diagRow) int { return cmp.Compare(a.at, b.at) })
	}
}

// front is what a request's engine stages do not account for until its first
// token (of one that was not streamed until its end).
func (r *diagRow) front() float64 {
	if !math.IsNaN(r.ttft) {
		return r.ttft - r.queue - r.prefill
	}
	return r.e2e - r.queue - r.prefill - r.decode
}

// first is the time to the first token, of a request that was not streamed the
// sum of what lies before it.
func (r *diagRow) first() float64 {
	if !math.IsNaN(r.ttft) {
		return r.ttft
	}
	return r.e2e - r.decode
}

// rest is what neither the stages nor the front end account for.
func (r *diagRow) rest() float64 { return r.e2e - r.queue - r.prefill - r.front() - r.decode }

func (s *rowSource) span() float64 {
	if len(s.rows) == 0 {
		return 0
	}
	return s.rows[len(s.rows)-1].at
}

// finerStep is the step of levels that are counted from requests.
func (s *rowSource) finerStep() float64 { return max(1, math.Ceil(s.span()/1200)) }

// levels counts requests that wait and that run over time, of one replica (-1:
// of all). A request waits from its arrival at the server until it is scheduled;
// one that never was, until it was given up.
func (s *rowSource) levels(replica int32) (waiting, running *signal) {
	step := s.finerStep()
	n := int(s.span()/step) + 1
	w, r := make([]float64, n+1), make([]float64, n+1)
	known := s.has[string(serving.Queue)]
	add := func(d []float64, from, to float64) {
		// The time that it fills of each window, so that short stays count.
		for i := max(0, int(from/step)); i < n && float64(i)*step < to; i++ {
			d[i] += s.every * (min(to, float64(i+1)*step) - max(from, float64(i)*step)) / step
		}
	}
	for i := range s.rows {
		q := &s.rows[i]
		if replica >= 0 && q.replica != replica || math.IsNaN(q.e2e) {
			continue
		}
		front := max(0, q.front())
		if math.IsNaN(front) {
			front = 0
		}
		switch {
		case !known:
			add(r, q.at, q.at+q.e2e)
		case math.IsNaN(q.queue):
			if q.outcome != serving.OK {
				add(w, q.at, q.at+q.e2e)
			}
		default:
			add(w, q.at+front, q.at+front+q.queue)
			add(r, q.at+front+q.queue, q.at+q.e2e)
		}
	}
	waiting = &signal{name: "waiting", step: step, values: w[:n]}
	if !known {
		for i := range waiting.values {
			waiting.values[i] = nan
		}
	}
	return waiting, &signal{name: "running", step: step, values: r[:n]}
}

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

package aiperf

import (
	"context"
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// AIPerf writes each run several times: its requests, their summary as JSON and
// the same summary as CSV with two decimals. Whoever reads a directory reads them
// all; SameRun tells which are the same run and Merge makes one of two.

// SameRun reports whether two runs, read from files of one directory, are the
// same. Records and a summary are when their first requests started in the same
// microsecond, which chance does not do; two summaries also when every figure of
// one is the other's, rounded.
func SameRun(a, b *serving.Run) bool {
	s, t := starts(a), starts(b)
	for _, x := range s {
		for _, y := range t {
			// A summary has its times as float64, which 2^60 ns do not fit.
			if math.Abs(x-y) < 1e-6 {
				return true
			}
		}
	}
	if len(s) > 0 && len(t) > 0 {
		return false
	}
	return a.Requests == nil && b.Requests == nil && (rounds(a, b) || rounds(b, a))
}

// starts returns when the first request of a run started, in seconds: the first
// of all and the first that completed, since a summary counts completed ones.
func starts(r *serving.Run) []float64 {
	if v, ok := r.ReportedValue(firstRequest, ""); ok {
		return []float64{v}
	}
	if r.Requests == nil {
		return nil
	}
	all, ok := int64(math.MaxInt64), int64(math.MaxInt64)
	want := []string{serving.ColArrival, serving.ColOutcome}
	phases := r.Requests.Dict(serving.ColPhase)
	if phases != nil {
		want = append(want, serving.ColPhase)
	}
	for _, p := range r.Requests.Parts() {
		// A table without arrival times gives an error and no time.
		_ = p.Scan(context.Background(), want, nil, func(b *serving.Batch) error {
			for i := range b.N {
				if !b.Cols[0].Has(i) || phases != nil && b.Cols[2].Has(i) && isWarmup(phases.Name(b.Cols[2].Codes[i])) {
					continue
				}
				all = min(all, b.Cols[0].Ints[i])
				if serving.Outcome(b.Cols[1].Codes[i]) == serving.OK {
					ok = min(ok, b.Cols[0].Ints[i])
				}
			}
			return nil
		})
	}
	var out []float64
	for _, t := range []int64{ok, all} {
		if t < math.MaxInt64 {
			out = append(out, float64(t)/1e9)
		}
	}
	return out
}

// rounds reports whether every figure of coarse is that of fine rounded to two
// decimals, and there are enough of them to mean something.
func rounds(coarse, fine *serving.Run) bool {
	type key struct {
		m    serving.MetricKey
		stat string
	}
	exact := map[key]float64{}
	for _, a := range fine.Reported {
		exact[key{a.Metric, a.Stat}] = a.File
	}
	n := 0
	for _, a := range coarse.Reported {
		v, ok := exact[key{a.Metric, a.Stat}]
		if !ok {
			continue
		}
		if math.Abs(v-a.File) > 0.00501+1e-12*math.Abs(v) {
			return false
		}
		n++
	}
	return n >= 8 && 2*n >= len(coarse.Reported)
}

// Merge makes one run of a summary and the records of the same run: how it was
// made and what it reports are the summary's, its requests and counts those of
// the records, so that the summary's figures are checked against them.
func Merge(summary, records *serving.Run) {
	said := summary.Completed
	summary.Requests = records.Requests
	summary.Sent, summary.Completed, summary.Failed = records.Sent, records.Completed, records.Failed
	summary.Input, summary.Output = records.Input, records.Output
	if said.OK && records.Completed.OK && said.V != records.Completed.V {
		summary.Notes = append(summary.Notes, fmt.Sprintf("the summary counts %d completed requests and the records hold %d: the figures are those of the records", said.V, records.Completed.V))
		summary.Duration = records.Duration
	}
	if !summary.Duration.OK {
		summary.Duration = records.Duration
	}
	summary.Notes = append(summary.Notes, records.Notes...)
}

// SameCourse reports whether two courses are of the same slices: JSON, and CSV
// with two decimals.
func SameCourse(a, b *serving.Course) bool {
	if len(a.Slices) != len(b.Slices) {
		return false
	}
	shared := 0
	for _, s := range a.Series {
		for i, x := range b.Of(s.Metric, s.Stat) {
			y := s.Values[i]
			switch {
			case math.IsNaN(x) || math.IsNaN(y):
				continue
			case math.Abs(x-y)*s.PerBase > 0.00501+1e-12*math.Abs(x)*s.PerBase:
				return false
			}
			shared++
		}
	}
	return shared > 0
}

// MayHold reports whether nothing speaks against a course being that of a run:
// the run's first request started in its first slice, as far as both say when.
// Failed requests, which not every file counts, may have come before.
func MayHold(r *serving.Run, c *serving.Course) bool {
	first, last, ok := c.Span()
	known := starts(r)
	if !ok || len(known) == 0 {
		return true
	}
	for _, t := range known {
		if t >= float64(first)/1e9-1e-3 && t <= float64(last)/1e9 {
			return true
		}
	}
	return false
}

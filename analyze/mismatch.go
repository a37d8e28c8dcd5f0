package analyze

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// mismatchTolerance is the relative difference above which a file's aggregate
// counts as not given by its own requests. Files of stock vLLM agree to 1e-9.
const mismatchTolerance = 1e-3

// mismatches compares the file's aggregates with those of its requests.
func mismatches(s *RunStats) []Mismatch {
	var out []Mismatch
	for _, a := range s.Run.Reported {
		ours, ok := s.ours(a)
		if !ok {
			continue
		}
		ours *= a.PerBase
		scale := max(math.Abs(a.File), math.Abs(ours))
		if scale > 0 && math.Abs(a.File-ours) > mismatchTolerance*scale {
			out = append(out, Mismatch{Field: a.Field, File: a.File, Ours: ours})
		}
	}
	return out
}

// rateTolerance is the relative difference above which a file's rate counts as not
// given by its count and its duration (judgement): some harnesses round both, or time
// a run a little longer than its requests.
const rateTolerance = 0.01

// rateMismatches compares the rates of a file without requests with its own counts
// over its duration.
func rateMismatches(s *RunStats) []Mismatch {
	d := s.Duration.Or(0)
	if d <= 0 {
		return nil
	}
	total := serving.None[int64]()
	if s.Input.OK && s.Output.OK {
		total = serving.Some(s.Input.V + s.Output.V)
	}
	of := map[serving.MetricKey]serving.Opt[int64]{serving.RateRequests: s.Counts.Completed, serving.RateOutput: s.Output, serving.RateTotal: total}
	var out []Mismatch
	for _, a := range s.Run.Reported {
		n := of[a.Metric]
		if !n.OK || a.Stat != "" {
			continue
		}
		ours := float64(n.V) / d * a.PerBase
		if _, unit := thousands(a.File / ours); unit {
			continue // told as one
		}
		if math.Abs(a.File-ours) > rateTolerance*max(a.File, ours) {
			out = append(out, Mismatch{Field: a.Field, File: a.File, Ours: ours})
		}
	}
	return out
}

// ours is our value of a reported aggregate, in base units.
func (s *RunStats) ours(a serving.Reported) (float64, bool) {
	opt := serving.None[float64]()
	switch a.Metric {
	case serving.RateRequests:
		opt = s.Throughput.Requests
	case serving.RateOutput:
		opt = s.Throughput.Output
	case serving.RateTotal:
		opt = s.Throughput.Total
	default:
		opt = s.Dists.stat(a.Metric, a.Stat)
	}
	return opt.V, opt.OK
}

// stat returns a statistic of a metric by its JSON name.
func (ds Dists) stat(m serving.MetricKey, name string) serving.Opt[float64] {
	d := ds.Of(m)
	if d == nil {
		return serving.None[float64]()
	}
	switch name {
	case "mean":
		return d.Mean
	case "std":
		return d.Std
	case "min":
		return d.Min
	case "max":
		return d.Max
	}
	if p, ok := serving.QuantileOf(name); ok {
		if q, ok := d.Q(p); ok {
			return q.Value
		}
	}
	return serving.None[float64]()
}

// mismatchWarnings says the mismatches in words.
func mismatchWarnings(s *RunStats) []string {
	var out []string
	for _, m := range s.Mismatch {
		out = append(out, fmt.Sprintf("%s: the file says %.6g, its own requests give %.6g", m.Field, m.File, m.Ours))
	}
	return out
}

package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// failedShare above which failures are a finding of their own.
const failedShare = 0.01

// failures tells how far the figures are of the requests that went well only.
func failures(c *runCheck) []Finding {
	sent, failed := c.Counts.Sent, c.Counts.Failed
	if sent.Or(0) <= 0 || !failed.OK {
		return nil
	}
	share := float64(failed.V) / float64(sent.V)
	if share <= failedShare {
		return nil
	}
	f := c.finding("failures_look_fast", share, failedShare, append([]serving.MetricKey{serving.RateRequests}, latencies...),
		"%s of %s requests did not complete; the latencies are of the others only, and a server that fails fast looks fast", number(float64(failed.V)), number(float64(sent.V)))
	if s := failedFaster(c.trail); s != "" {
		f.Message += "; " + s
	}
	if x, ok := c.Run.ReportedValue(serving.RateRequests, ""); ok && c.Duration.Or(0) > 0 && c.Counts.Completed.OK {
		if all := float64(sent.V) / c.Duration.V; math.Abs(x/all-1) < failedShare/2 {
			f.Message += "; the file's own request rate counts the failures"
		}
	}
	return []Finding{f}
}

// failedFaster compares the times of failed and completed requests, where the
// data have both.
func failedFaster(tr *trail) string {
	if tr == nil {
		return ""
	}
	var failed []float64
	for _, r := range tr.rows {
		if r.outcome != serving.OK && r.outcome != serving.Incomplete && r.e2e > 0 {
			failed = append(failed, r.e2e)
		}
	}
	good := tr.values(e2eOf)
	if len(failed) == 0 || len(good) == 0 {
		return ""
	}
	slices.Sort(failed)
	slices.Sort(good)
	a, b := stat.Quantile(failed, 0.5), stat.Quantile(good, 0.5)
	if a >= b {
		return ""
	}
	return "half of the failures took less than " + seconds(a) + ", half of the completed requests more than " + seconds(b)
}

// Limits of failures that hide the load (judgement).
const (
	failedRise  = 0.01 // of the share of failed requests between two levels
	fasterByAll = 0.05
)

// fasterWithFailures looks in a sweep for a level with more load, more failures
// and lower latencies than the one before: what was slow is what failed.
func fasterWithFailures(s *Sweep) []Finding {
	var out []Finding
	for i := 1; i < len(s.Points); i++ {
		a, b := s.Points[i-1].Runs[0], s.Points[i].Runs[0]
		fa, fb := failedOf(a), failedOf(b)
		if math.IsNaN(fa) || math.IsNaN(fb) || fb-fa <= failedRise {
			continue
		}
		for _, m := range []serving.MetricKey{serving.E2E, serving.TTFT} {
			x, y := a.Dists.stat(m, "p50"), b.Dists.stat(m, "p50")
			if x.OK && y.OK && y.V < (1-fasterByAll)*x.V {
				out = append(out, b.finding("failures_look_fast", fb, fa+failedRise, []serving.MetricKey{serving.TTFT, serving.E2E},
					"more load than %s, %s of the requests failed against %s, and %s p50 is lower (%s against %s): the requests that would have been slow are among the failed ones", a.Run.Label, percentRound(fb), percentRound(fa), nameOf(m), seconds(y.V), seconds(x.V)))
				break
			}
		}
	}
	return out
}

func failedOf(s *RunStats) float64 {
	if !s.Counts.Failed.OK || s.Counts.Sent.Or(0) <= 0 {
		return math.NaN()
	}
	return float64(s.Counts.Failed.V) / float64(s.Counts.Sent.V)
}

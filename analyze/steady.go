package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Limits of what is said about warm-up (judgement; those of MSER-5 itself and of
// trends are package stat's).
const (
	warmupMatters = 0.05 // change of p50 or p99 when the warm-up is left out
	warmupApart   = 2.0  // standard deviations of batch means between warm-up and rest
	driftP        = 0.01
	driftSize     = 0.2 // drift over the run against the mean
	trimmedLeast  = 20  // requests that have to be left for a percentile of them
)

// steadiness looks for warm-up inside the figures, and for runs that never
// settled. A backlog is its own finding and explains the drift.
func steadiness(c *runCheck) []Finding {
	if f, ok := allAtOnce(c.RunStats); ok {
		return []Finding{f}
	}
	if c.trail == nil || c.backlogged {
		return nil
	}
	var out []Finding
	for _, m := range []struct {
		key serving.MetricKey
		get func(*sentRequest) float64
	}{{serving.TTFT, ttftOf}, {serving.E2E, e2eOf}} {
		y := c.trail.values(m.get)
		w := stat.MSER5(y)
		if !w.Enough() {
			continue
		}
		if f, ok := drift(c, m.key, w, len(y)); ok {
			out = append(out, f)
		} else if f, ok := warmup(c, m.key, w, y); ok {
			out = append(out, f)
		}
	}
	return out
}

// allAtOnce tells of a run without any limit, whose TTFT is the place in the
// queue.
func allAtOnce(s *RunStats) (Finding, bool) {
	l, n := s.Run.Load, s.Counts.Sent
	if !sentAtOnce(l) || n.Or(0) < 2 || s.Dists.Of(serving.TTFT) == nil {
		return Finding{}, false
	}
	return s.finding("no_steady_state", float64(n.V), 1, []serving.MetricKey{serving.TTFT, serving.E2E},
		"all %s requests were sent at once: TTFT and E2E are a place in the queue and grow with the number of requests, so no level of load can be read from them; limit the concurrency or the rate", number(float64(n.V))), true
}

func sentAtOnce(l serving.Load) bool {
	return l.Mode == serving.ClosedLoop && !l.MaxConcurrency.OK && l.Unlimited
}

// drift reports a series whose MSER-5 minimum lies at the limit and whose batch
// means do move.
func drift(c *runCheck, m serving.MetricKey, w stat.Warmup, n int) (Finding, bool) {
	if !w.AtLimit {
		return Finding{}, false
	}
	g := stat.Backlog(positions(len(w.Batches)), w.Batches)
	if !(g.P < driftP && math.Abs(g.Ratio) > driftSize) {
		return Finding{}, false
	}
	f := c.finding("no_steady_state", g.Ratio, driftSize, []serving.MetricKey{m},
		"%s %s by %s of its mean over the %s requests and does not settle (MSER-5 would drop half of them; Kendall p = %.2g), so its percentiles depend on how long the run was; run longer, nothing was trimmed",
		nameOf(m), map[bool]string{true: "rises", false: "falls"}[g.Ratio > 0], percentRound(math.Abs(g.Ratio)), number(float64(n)), g.P)
	f.N = serving.Some(int64(n))
	return f, true
}

// warmup reports a start that differs from the rest and moves the percentiles.
func warmup(c *runCheck, m serving.MetricKey, w stat.Warmup, y []float64) (Finding, bool) {
	d := w.Values()
	if d == 0 || w.AtLimit || len(y)-d < trimmedLeast || !apart(w) {
		return Finding{}, false
	}
	all, rest := slices.Sorted(slices.Values(y)), slices.Sorted(slices.Values(y[d:]))
	var parts []string
	most := 0.0
	for _, p := range []float64{0.5, 0.99} {
		a, b := stat.Quantile(all, p), stat.Quantile(rest, p)
		if b > 0 {
			most = max(most, math.Abs(a/b-1))
		}
		parts = append(parts, fmt.Sprintf("p%g %s with it, %s without", p*100, seconds(a), seconds(b)))
	}
	if most < warmupMatters {
		return Finding{}, false
	}
	f := c.finding("warmup", most, warmupMatters, []serving.MetricKey{m},
		"the first %d of %s requests are warm-up by MSER-5 of %s: %s; %s. The figures here are with it", d, number(float64(len(y))), nameOf(m), parts[0], parts[1])
	f.N = serving.Some(int64(len(y)))
	return f, true
}

// apart reports whether the batches to drop differ from the rest by more than
// the rest varies: the minimum of MSER-5 wanders in series without a warm-up.
func apart(w stat.Warmup) bool {
	first, rest := w.Batches[:w.Drop], w.Batches[w.Drop:]
	m, sd := meanAndSD(rest)
	f, _ := meanAndSD(first)
	return math.Abs(f-m) > warmupApart*sd
}

func meanAndSD(v []float64) (mean, sd float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		sd += (x - mean) * (x - mean) / float64(len(v))
	}
	return mean, math.Sqrt(sd)
}

// positions are 0, 1, … n−1.
func positions(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = float64(i)
	}
	return out
}

// nameOf is what practitioners call a metric.
func nameOf(m serving.MetricKey) string {
	if d, ok := serving.MetricOf(m); ok {
		return d.Title
	}
	return string(m)
}

// percentRound is a share in whole percent, for sentences.
func percentRound(v float64) string { return number(math.Round(v*100)) + " %" }

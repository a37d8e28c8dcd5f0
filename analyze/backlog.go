package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Windows of in-flight that a trend is looked for in, and how many requests
// each should hold.
const (
	fewestWindows = 10
	mostWindows   = 30
	perWindow     = 10
)

// keptUp is the share of what was offered that a server has to have done not to
// count as falling behind.
const keptUp = 0.97

// backlogs looks for requests that pile up in an open loop.
func backlogs(c *runCheck) []Finding {
	if m := c.Run.Load.Mode; m != serving.OpenLoop && m != serving.CappedOpen {
		return nil
	}
	f, ok := backlogSeen(c)
	if !ok && (c.trail == nil || !c.trail.timed) {
		f, ok = backlogInferred(c.RunStats)
	}
	if !ok {
		return nil
	}
	c.backlogged = true
	return []Finding{f}
}

// backlogSeen measures the requests in flight over the time in which requests
// were sent, once the first ones have had time to end.
func backlogSeen(c *runCheck) (Finding, bool) {
	if c.trail == nil || !c.trail.timed || len(c.trail.rows) < fewestWindows*perWindow {
		return Finding{}, false
	}
	start, took, _ := c.trail.stays()
	if len(start) < fewestWindows*perWindow {
		return Finding{}, false
	}
	from, to := c.trail.sending()
	from += rampTime(took)
	k := min(mostWindows, max(fewestWindows, len(start)/perWindow))
	if !(to > from) {
		return Finding{}, false
	}
	means := stat.WindowMeans(start, took, from, to, k)
	g := stat.Backlog(positions(k), means)
	arrived, served, left := 0, 0, 0
	for i, s := range start {
		end := s + took[i]
		if s >= from {
			arrived++
		}
		if end >= from && end <= to {
			served++
		}
		if end > to {
			left++
		}
	}
	if arrived == 0 {
		return Finding{}, false
	}
	share := float64(served) / float64(arrived)
	if !g.Grows(share) {
		return Finding{}, false
	}
	return c.finding("backlog", share, keptUp, latencies,
		"requests pile up: in flight goes from %s to %s while requests are sent (%s of the mean, Kendall p = %.2g), %s of those arriving are served meanwhile, and %s are left when the last one is sent. All latency percentiles of this run depend on how long it lasted",
		number(means[0]), number(means[k-1]), percentRound(g.Ratio), g.P, percentRound(share), number(float64(left))), true
}

// rampTime is how long the first requests took: before they end, in flight can
// only grow.
func rampTime(took []float64) float64 {
	first := slices.Clone(took[:max(1, len(took)/10)])
	slices.Sort(first)
	return stat.Quantile(first, 0.5)
}

// waitExplains is the mean wait, as a share of how much longer than the sending
// the run took, from which the wait explains it: a queue that grows evenly makes
// it a half. Less, and requests waited in the client.
const waitExplains = 0.25

// backlogInferred is for a file without its requests. With an open loop of n
// requests at rate λ the last is sent at n/λ. Where the run took much longer,
// and requests waited for their first token longer than they then took to
// decode, the rest of the time went into working off what had piled up.
func backlogInferred(s *RunStats) (Finding, bool) {
	l, n := s.Run.Load, s.requests()
	ttft := s.Dists.Of(serving.TTFT)
	if l.Mode != serving.OpenLoop || !l.RequestRate.OK || l.RequestRate.V <= 0 || n.Or(0) < 20 || !s.Duration.OK || ttft == nil || !ttft.Mean.OK {
		return Finding{}, false
	}
	sending := float64(n.V) / l.RequestRate.V
	share := sending / s.Duration.V
	decode, ok := s.decodeTime()
	if share >= keptUp || !ok || ttft.Mean.V <= decode || ttft.Mean.V < waitExplains*(s.Duration.V-sending) {
		return Finding{}, false
	}
	return s.finding("backlog", share, keptUp, latencies,
		"requests pile up: %s requests at %s/s are sent in %s, the run took %s, and a request waits %s for its first token on average and decodes for %s. All latency percentiles of this run depend on how many requests were sent",
		number(float64(n.V)), number(l.RequestRate.V), seconds(sending), seconds(s.Duration.V), seconds(ttft.Mean.V), seconds(decode)), true
}

// decodeTime is the mean time from the first token to the last.
func (s *RunStats) decodeTime() (float64, bool) {
	ttft, e2e, tpot := s.Dists.stat(serving.TTFT, "mean"), s.Dists.stat(serving.E2E, "mean"), s.Dists.stat(serving.TPOT, "mean")
	switch n := s.Counts.Completed; {
	case ttft.OK && e2e.OK:
		return max(0, e2e.V-ttft.V), true
	case tpot.OK && s.Output.OK && n.Or(0) > 0:
		return tpot.V * max(0, float64(s.Output.V)/float64(n.V)-1), true
	}
	return 0, false
}

// windowBacklog looks for a backlog in a trace, of which only time windows are
// known: by Little's law in flight is arrivals a second × mean E2E. A load that
// grows is no backlog, so the wait has to grow with it.
func (t *table) windowBacklog() (Finding, bool) {
	if t.run != nil || t.time < 0 || t.cube.Step <= 0 {
		return Finding{}, false
	}
	inFlight, waits, arrived, ok := t.windowSeries()
	k := len(inFlight)
	if !ok || k < fewestWindows || arrived < fewestWindows*perWindow {
		return Finding{}, false
	}
	step := float64(t.cube.Step) / 1e9
	g, wait := stat.Backlog(positions(k), inFlight), stat.Backlog(positions(k), waits)
	served := max(0, 1-(inFlight[k-1]-inFlight[0])/float64(arrived))
	if !g.Grows(served) || !wait.Trending() {
		return Finding{}, false
	}
	return Finding{ID: "backlog", Subject: t.src.Name(), Value: serving.Some(served), Threshold: serving.Some(keptUp), N: serving.Some(arrived), Metrics: latencies,
		Message: t.src.Name() + ": requests pile up over " + seconds(step*float64(t.windowCount())) + ": in flight goes from " + number(inFlight[0]) + " to " + number(inFlight[k-1]) + " (arrivals × mean E2E, window by window) and the wait for the first token from " + seconds(waits[0]) + " to " + seconds(waits[k-1]) + ". All latency percentiles depend on which part of it they cover"}, true
}

func (t *table) windowCount() int {
	n := 0
	for _, c := range t.cube.Groups[t.time].Cells {
		n = max(n, c.Window+1)
	}
	return n
}

// windowSeries joins the windows of a trace to 30 or fewer. It is not known
// where a window lacks what it takes.
func (t *table) windowSeries() (inFlight, waits []float64, arrived int64, ok bool) {
	n := t.windowCount()
	group := max(1, (n+mostWindows-1)/mostWindows)
	if n/group < fewestWindows {
		return nil, nil, 0, false
	}
	k := n / group
	busy, wait, waited, sent := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	for i := range t.cube.Groups[t.time].Cells {
		c := &t.cube.Groups[t.time].Cells[i]
		w := c.Window / group
		e2e, first := c.Summaries[serving.E2E], firstWait(c)
		if c.Window < 0 || w >= k {
			continue
		}
		arrived += c.Sent
		sent[w] += float64(c.Sent)
		if e2e != nil && e2e.N > 0 {
			busy[w] += float64(c.Sent) * e2e.Mean
		}
		if first != nil && first.N > 0 {
			wait[w] += float64(first.N) * first.Mean
			waited[w] += float64(first.N)
		}
	}
	step, soFar := float64(t.cube.Step)/1e9*float64(group), 0.0
	for w := range k {
		if waited[w] == 0 {
			return nil, nil, 0, false
		}
		soFar += sent[w]
		inFlight = append(inFlight, min(busy[w]/step, soFar)) // where requests take longer than the trace, the law counts some that are yet to come
		waits = append(waits, wait[w]/waited[w])
	}
	return inFlight, waits, arrived, !slices.ContainsFunc(waits, math.IsNaN)
}

// firstWait is the summary of the time before the first token.
func firstWait(c *cube.Cell) *cube.Summary {
	if s := c.Summaries[serving.TTFT]; s != nil && s.N > 0 {
		return s
	}
	return c.Summaries[serving.Queue]
}

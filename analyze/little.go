package analyze

import (
	"math"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Limits of Little's law against the cap, and of the identity of a request's
// times.
const (
	littleAbove = 0.02
	littleBelow = 0.1
	identity    = 0.01 // |TTFT + TPOT·(output − 1) − E2E| / E2E
	identityOf  = 0.01 // share of the requests that may miss it
)

// inFlightAgainstCap holds throughput × mean time against the load. More than
// the cap is impossible; much less means that the cap was not reached.
func inFlightAgainstCap(c *runCheck) []Finding {
	l, sent := c.Throughput.InFlight, c.requests()
	limit, what := c.Run.Load.MaxConcurrency, "cap"
	if !l.OK || l.V <= 0 {
		return nil
	}
	if !limit.OK || sent.OK && sent.V < limit.V {
		limit, what = sent, "number of requests"
	}
	if !limit.OK || limit.V <= 0 {
		return nil
	}
	gap := stat.LittleGap(l.V, float64(limit.V))
	switch {
	case gap > littleAbove:
		return []Finding{c.finding("little", l.V, float64(limit.V), nil,
			"throughput × mean time is %s requests in flight, above the %s of %d: a time or a rate has another unit or meaning, or the %s counts something else than requests (users, or sessions with several requests each, or one of several clients)", number(l.V), what, limit.V, what)}
	case what != "cap" || c.Run.Load.Mode != serving.ClosedLoop || gap >= -littleBelow || c.few || c.generator:
		return nil
	}
	c.under = true
	return []Finding{c.finding("little", l.V, float64(limit.V)*(1-littleBelow), nil,
		"throughput × mean time is %s requests in flight, %s of the concurrency of %d: ramp and drain weigh heavily, or the client did not keep the slots full, so this level is less load than its name says", number(l.V), percentRound(1+gap), limit.V)}
}

// timesAddUp holds TTFT + TPOT·(output − 1) against E2E, request by request.
func timesAddUp(c *runCheck) []Finding {
	if c.trail == nil {
		return nil
	}
	n, off, worst := 0, 0, 0.0
	for i := range c.trail.rows {
		r := &c.trail.rows[i]
		sum := r.ttft + r.tpot*(r.output-1)
		if r.outcome != serving.OK || math.IsNaN(sum) || !(r.e2e > 0) || r.output < 2 {
			continue
		}
		n++
		if d := math.Abs(sum-r.e2e) / r.e2e; d > identity {
			off++
			worst = max(worst, d)
		}
	}
	if n == 0 || float64(off) <= identityOf*float64(n) {
		return nil
	}
	f := c.finding("times_do_not_add_up", float64(off)/float64(n), identityOf, []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E},
		"TTFT + TPOT × (output tokens − 1) is not E2E for %s of %s requests (off by up to %s): one of the three times has another definition, or the output was counted in another way", number(float64(off)), number(float64(n)), percentRound(worst))
	f.N = serving.Some(int64(n))
	return []Finding{f}
}

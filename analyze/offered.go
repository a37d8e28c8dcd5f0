package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Limits of what counts as a load that was not given (judgement).
const (
	minPerSlot    = 5    // requests a slot: with fewer, ramp and drain dominate
	offeredShare  = 0.95 // of the offered rate
	slotsKept     = 0.9  // of the cap, while requests were sent
	flatTTFT      = 1.2  // the second half against the first
	drainMatters  = 0.1  // of the rate while the load was on
	fewestOffered = 50   // requests a rate can be told from
	capHeld       = 0.6  // of the cap, over the whole run: it held requests back
	drainTimes    = 4    // mean times of a request that a drain may take
)

// slots holds the number of requests against the concurrency. A tool that runs
// one batch by design is left alone.
func slots(c *runCheck) []Finding {
	sent, limit := c.requests(), c.Run.Load.MaxConcurrency
	if !sent.OK || !limit.OK || c.Run.Format == oneBatch {
		return nil
	}
	if limit.V > sent.V {
		c.few = true
		return []Finding{c.finding("concurrency_above_requests", float64(limit.V), float64(sent.V), nil,
			"a concurrency of %d with only %d requests cannot be reached, so this level is no more load than one of %d; send at least %d", limit.V, sent.V, sent.V, minPerSlot*limit.V)}
	}
	if limit.V > 1 && sent.V < minPerSlot*limit.V {
		c.few = true
		return []Finding{c.finding("few_requests", float64(sent.V), float64(minPerSlot*limit.V), nil,
			"%d requests at concurrency %d: ramp-up and drain weigh heavily; want at least %d", sent.V, limit.V, minPerSlot*limit.V)}
	}
	return nil
}

// oneBatch is the format of results that are one batch each.
const oneBatch = "sglang-onebatch"

// requests is the number sent, or that completed where no more is known.
func (s *RunStats) requests() serving.Opt[int64] {
	if s.Counts.Sent.OK {
		return s.Counts.Sent
	}
	return s.Counts.Completed
}

// generator tells a load that the client did not give from one that the server
// did not take.
func generator(c *runCheck) []Finding {
	var f Finding
	var ok bool
	switch c.Run.Load.Mode {
	case serving.ClosedLoop:
		f, ok = slotsEmpty(c)
	case serving.OpenLoop, serving.CappedOpen:
		if f, ok = sentTooSlowly(c); !ok && c.trail == nil {
			f, ok = sendingTooLong(c.RunStats)
		}
	}
	if !ok {
		return nil
	}
	c.generator = true
	return []Finding{f}
}

// slotsEmpty is a closed loop whose slots stood empty between the ramp and the
// last request sent.
func slotsEmpty(c *runCheck) (Finding, bool) {
	limit := c.Run.Load.MaxConcurrency
	if c.trail == nil || !c.trail.timed || c.few || !limit.OK || len(c.trail.rows) < fewestOffered || limit.V < 2 {
		return Finding{}, false
	}
	start, took, unknown := c.trail.stays()
	if float64(unknown) > failedShare*float64(len(c.trail.rows)) || len(start) <= int(limit.V) {
		return Finding{}, false // what failed held a slot for a time nobody knows
	}
	from, to := c.trail.rows[limit.V-1].start, c.trail.rows[len(c.trail.rows)-1].start
	if !(to > from) {
		return Finding{}, false
	}
	held := stat.WindowMeans(start, took, from, to, 1)[0] / float64(limit.V)
	if held >= slotsKept || !flat(c.trail) {
		return Finding{}, false
	}
	return c.finding("generator_saturated", held, slotsKept, nil,
		"only %s of the %d slots held a request between the ramp and the last request sent, with a steady TTFT: the client did not keep up, so the server could take more than is shown", percentRound(held), limit.V), true
}

// sentTooSlowly is an open loop whose requests left later than the rate says,
// though nothing held them back: neither a cap nor a slower server.
func sentTooSlowly(c *runCheck) (Finding, bool) {
	rate := c.Run.Load.RequestRate
	if c.trail == nil || !c.trail.timed || !rate.OK || len(c.trail.rows) < fewestOffered {
		return Finding{}, false
	}
	from, to := c.trail.sending()
	if !(to > from) {
		return Finding{}, false
	}
	n := float64(len(c.trail.rows) - 1)
	got := n / (to - from)
	if share := got / rate.V; share >= offeredShare-3/math.Sqrt(n) || !flat(c.trail) || c.atCap(from, to) {
		return Finding{}, false
	}
	return c.finding("generator_saturated", got, offeredShare*rate.V, nil,
		"requests left at %s/s where %s/s were offered, with a steady TTFT and nothing at the cap: the client did not keep up, so this is not the load that its rate says", number(got), number(rate.V)), true
}

// atCap reports whether a cap on requests in flight held requests back.
func (c *runCheck) atCap(from, to float64) bool {
	limit := c.Run.Load.MaxConcurrency
	if !limit.OK {
		return false
	}
	start, took, _ := c.trail.stays()
	return stat.WindowMeans(start, took, from, to, 1)[0] >= slotsKept*slotsKept*float64(limit.V)
}

// flat reports whether TTFT did not grow over the run: the server's queue is not
// what held the load back. Without TTFT it is not known.
func flat(tr *trail) bool {
	y := tr.values(ttftOf)
	if len(y) < 20 {
		return false
	}
	a, b := slices.Sorted(slices.Values(y[:len(y)/2])), slices.Sorted(slices.Values(y[len(y)/2:]))
	return stat.Quantile(b, 0.5) <= flatTTFT*stat.Quantile(a, 0.5)
}

// sendingTooLong is for a file without its requests: an open loop without a cap
// ends one request after the last is sent, at n/λ. What is left of the duration
// the client took.
func sendingTooLong(s *RunStats) (Finding, bool) {
	rate, n := s.Run.Load.RequestRate, s.requests()
	longest, ok := s.longest()
	if s.Run.Load.Mode != serving.OpenLoop || !rate.OK || rate.V <= 0 || n.Or(0) < fewestOffered || !s.Duration.OK || !ok {
		return Finding{}, false
	}
	sending := float64(n.V) / rate.V * (1 + 3/math.Sqrt(float64(n.V)))
	if s.Duration.V <= sending/offeredShare+longest {
		return Finding{}, false
	}
	got := float64(n.V) / (s.Duration.V - longest)
	return s.finding("generator_saturated", got, offeredShare*rate.V, nil,
		"%s requests at %s/s are sent in %s and the slowest takes %s at most, yet the run took %s: the client sent at %s/s or less, so this is not the load that its rate says, and what waited in the client is in no latency", number(float64(n.V)), number(rate.V), seconds(float64(n.V)/rate.V), seconds(longest), seconds(s.Duration.V), number(got)), true
}

// longest bounds the time of the slowest request: its own figure, or twice the
// p99, for what is beyond it.
func (s *RunStats) longest() (float64, bool) {
	if m := s.Dists.stat(serving.E2E, "max"); m.OK {
		return m.V, true
	}
	if p := s.Dists.stat(serving.E2E, "p99"); p.OK {
		return 2 * p.V, true
	}
	ttft := s.Dists.stat(serving.TTFT, "p99")
	decode, ok := s.decodeTime()
	return 2*ttft.V + 8*decode, ttft.OK && ok // outputs vary, and nothing says how much
}

// offered holds the achieved rate against the offered one. Where a backlog or
// the generator explains the difference, that was said.
func offered(c *runCheck) []Finding {
	l, n := c.Run.Load, c.requests()
	if c.backlogged || c.generator || !l.RequestRate.OK || l.RequestRate.V <= 0 || n.Or(0) < 2 || c.Duration.Or(0) <= 0 {
		return nil
	}
	got, want := float64(n.V)/c.Duration.V, l.RequestRate.V
	sending, slack := float64(n.V)/want, 2/math.Sqrt(float64(n.V)) // arrivals are random
	if got >= offeredShare*want*(1-slack) {
		return nil
	}
	if l.MaxConcurrency.OK && l.MaxConcurrency.V <= n.V && c.Throughput.InFlight.Or(0) >= capHeld*float64(l.MaxConcurrency.V) {
		return []Finding{c.finding("below_offered_rate", got, offeredShare*want, nil,
			"%s requests/s achieved of %s/s offered: the cap of %d in flight holds requests back, so this is a closed loop at that cap rather than an open one at this rate", number(got), number(want), l.MaxConcurrency.V)}
	}
	if e, ok := c.meanTime(); ok && c.Duration.V-sending <= drainTimes*e {
		if c.draining { // said with figures of the requests themselves
			return nil
		}
		return []Finding{c.finding("drain", sending/c.Duration.V, 1-drainMatters, rates,
			"%s requests at %s/s are sent in %s, while a request takes %s and the run took %s: the load was hardly ever steady, so the %s requests/s achieved are not what this rate asks of the server; send for several times as long as a request takes", number(float64(n.V)), number(want), seconds(sending), seconds(e), seconds(c.Duration.V), number(got))}
	}
	if c.trail != nil && c.trail.timed && l.Mode == serving.OpenLoop {
		return nil // requests left at the rate, else the generator was said to be slow
	}
	return []Finding{c.finding("below_offered_rate", got, offeredShare*want, nil,
		"%s requests/s achieved of %s/s offered (%s requests are sent in %s at that rate, the run took %s): the server fell behind, or the client did", number(got), number(want), number(float64(n.V)), seconds(sending), seconds(c.Duration.V))}
}

func (s *RunStats) meanTime() (float64, bool) {
	if e := s.Dists.stat(serving.E2E, "mean"); e.OK {
		return e.V, true
	}
	t := s.Dists.stat(serving.TTFT, "mean")
	d, ok := s.decodeTime()
	return t.V + d, ok && t.OK
}

// drain holds the rate over the whole duration against that while the load was
// on: after the ramp, up to the last request sent.
func drain(c *runCheck) []Finding {
	x := c.Throughput.Requests
	if c.trail == nil || !c.trail.timed || c.few || c.under || c.backlogged || c.atOnce || !x.OK || len(c.trail.rows) < fewestOffered {
		return nil
	}
	start, took, _ := c.trail.stays()
	if len(start) < fewestOffered {
		return nil
	}
	from, to := c.trail.sending()
	from += rampTime(took)
	if to-from < 0.25*c.Duration.Or(math.Inf(+1)) {
		return nil // too little of the run to tell a rate from
	}
	done := 0
	for i := range start {
		if e := start[i] + took[i]; e >= from && e <= to {
			done++
		}
	}
	on := float64(done) / (to - from)
	if done < fewestOffered || on <= 0 || x.V >= (1-drainMatters)*on {
		return nil
	}
	c.draining = true
	return []Finding{c.finding("drain", x.V/on, 1-drainMatters, rates,
		"%s requests/s over the whole run, %s while the load was on: ramp and drain take %s from the throughput; send more requests", number(x.V), number(on), percentRound(1-x.V/on))}
}

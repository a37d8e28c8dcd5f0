package analyze

import (
	"context"
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

func runRuns(_ context.Context, in *Input, _ *Report) (any, []string, error) {
	if len(in.Data.Runs) == 0 {
		return nil, nil, nil
	}
	var out Runs
	for _, r := range in.Data.Runs {
		if t := in.tableOf(r); t != nil {
			out.Runs = append(out.Runs, t.runStats(in.Opt))
		} else {
			out.Runs = append(out.Runs, aggregateStats(r, in.Opt))
		}
	}
	return &out, []string{
		"A benchmark measures at the client: its TTFT holds the network and everything ahead of the server.",
		"Requests/s and tokens/s are over the run's whole duration, failed requests and the last drain included.",
	}, nil
}

// runStats computes a run's figures from its requests; the file's own
// aggregates are the cross-check.
func (t *table) runStats(opt Options) *RunStats {
	all := t.total()
	s := &RunStats{Run: t.run, Dists: t.distsOf(all).withReported(t.run, serving.Some(all.Outcomes[serving.OK])), Counts: t.countsOf(all),
		Duration: t.run.Duration, Input: serving.Some(all.Input), Output: serving.Some(all.Output),
		Examples: t.examples()}
	if !s.Duration.OK {
		if s.Duration = t.span(); s.Duration.OK {
			s.Warnings = append(s.Warnings, "the file states no usable duration: it is taken from the requests' times")
		}
	}
	s.Goodput = t.goodputOf(all, opt, s.Duration)
	s.SLO = t.sloResults(all, opt, s.Dists)
	s.addReportedTotals()
	s.setThroughput()
	s.Mismatch = mismatches(s)
	s.Warnings = append(append(s.Warnings, t.run.Notes...), mismatchWarnings(s)...)
	s.Warnings = append(s.Warnings, totalsWarnings(s)...)
	s.Warnings = unique(s.Warnings)
	s.Reading = stallReading(s.Dists)
	return s
}

// unique drops repetitions.
func unique(list []string) []string {
	var out []string
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// aggregateStats takes a run's figures from its file, where there are no
// requests to compute them from.
func aggregateStats(r *serving.Run, opt Options) *RunStats {
	s := &RunStats{Run: r, Duration: r.Duration, Input: r.Input, Output: r.Output, Warnings: append([]string(nil), r.Notes...)}
	s.Counts = Counts{Sent: r.Sent, Completed: r.Completed, Failed: r.Failed}
	if s.Counts.Completed.OK && s.Counts.Completed.V == 0 {
		s.Warnings = append(s.Warnings, "no request completed: the file's zeros are no latencies")
		s.SLO = fileSLOs(nil, r, opt)
		return s
	}
	s.Dists = reportedDists(r.Reported, serving.Client, r.Completed)
	s.SLO = fileSLOs(s.Dists, r, opt)
	s.Goodput = fileGoodput(r)
	s.addReportedTotals()
	s.setThroughput()
	s.Reading = stallReading(s.Dists)
	return s
}

// addReportedTotals takes what only the file knows.
func (s *RunStats) addReportedTotals() {
	get := func(k serving.MetricKey) serving.Opt[float64] {
		if v, ok := s.Run.ReportedValue(k, ""); ok {
			return serving.Some(v)
		}
		return serving.None[float64]()
	}
	s.Throughput.PeakOutput = get(serving.PeakOutput)
	s.Throughput.PeakConcurrent = get(serving.PeakConcurrent)
	if s.Dists.fromRequests() {
		return
	}
	s.Throughput.Requests = get(serving.RateRequests)
	s.Throughput.Output = get(serving.RateOutput)
	s.Throughput.Total = get(serving.RateTotal)
}

// fromRequests reports whether any distribution was computed from requests.
func (ds Dists) fromRequests() bool {
	return slices.ContainsFunc(ds, func(d *Dist) bool { return d.Origin == FromRequests })
}

// setThroughput computes the rates that counts and duration give, where they
// are not known yet, and those a user and a GPU see.
func (s *RunStats) setThroughput() {
	tp := &s.Throughput
	if s.Duration.OK && s.Duration.V > 0 {
		rate := func(dst *serving.Opt[float64], n serving.Opt[int64]) {
			if !dst.OK && n.OK {
				*dst = serving.Some(float64(n.V) / s.Duration.V)
			}
		}
		rate(&tp.Requests, s.Counts.Completed)
		rate(&tp.Output, s.Output)
		if s.Input.OK && s.Output.OK {
			rate(&tp.Total, serving.Some(s.Input.V+s.Output.V))
		}
	}
	if tp.Output.OK && s.Run.GPUs.OK && s.Run.GPUs.V > 0 {
		tp.OutputPerGPU = serving.Some(tp.Output.V / float64(s.Run.GPUs.V))
	}
	tp.InFlight = s.inFlight()
	if u := s.users(); u.OK && u.V > 0 && tp.Output.OK {
		tp.OutputPerUser = serving.Some(tp.Output.V / u.V)
	}
}

// inFlight is the mean number of requests in flight by Little's law: completed
// requests a second times their mean time in the system. Where the file has no
// E2E, it is TTFT plus the gaps of a mean request.
func (s *RunStats) inFlight() serving.Opt[float64] {
	rate := s.Throughput.Requests
	if !rate.OK {
		return serving.None[float64]()
	}
	if d := s.Dists.Of(serving.E2E); d != nil && d.Mean.OK {
		return serving.Some(stat.InFlightOf(rate.V, d.Mean.V))
	}
	ttft, itl := s.Dists.Of(serving.TTFT), s.Dists.Of(serving.ITL)
	n := s.Counts.Completed
	if ttft == nil || itl == nil || !ttft.Mean.OK || !itl.Mean.OK || !s.Output.OK || n.Or(0) == 0 {
		return serving.None[float64]()
	}
	gaps := max(0, float64(s.Output.V)/float64(n.V)-1)
	return serving.Some(stat.InFlightOf(rate.V, ttft.Mean.V+gaps*itl.Mean.V))
}

// users is the number of users that share the output: the cap of a closed loop
// that was reached, as vLLM's plot_pareto takes it, else the mean in flight.
func (s *RunStats) users() serving.Opt[float64] {
	l := s.Run.Load
	if l.Mode == serving.ClosedLoop && l.MaxConcurrency.OK && l.MaxConcurrency.V <= s.Counts.Sent.Or(0) {
		return serving.Some(float64(l.MaxConcurrency.V))
	}
	return s.Throughput.InFlight
}

// countsOf returns what became of a cell's requests.
//
// What was still running when the measurement ended is no failure. A table that
// says nothing of outcomes leaves the failures unknown, not zero.
func (t *table) countsOf(c *cube.Cell) Counts {
	out := Counts{Sent: serving.Some(c.Sent), Completed: serving.Some(c.Outcomes[serving.OK])}
	if !t.has(serving.ColOutcome) {
		return out
	}
	out.Outcomes = map[string]int64{}
	out.Failed = serving.Some(c.Sent - c.Outcomes[serving.OK] - c.Outcomes[serving.Incomplete])
	for o, n := range c.Outcomes {
		out.Outcomes[serving.Outcome(o).String()] = n // that there were none is known, too
	}
	return out
}

// span is the time from the first arrival to the last end, in seconds.
func (t *table) span() serving.Opt[float64] {
	c := t.cube
	if !c.First.OK {
		return serving.None[float64]()
	}
	last := c.Last
	if c.LastEnd.OK {
		last = c.LastEnd
	}
	if !last.OK || last.V <= c.First.V {
		return serving.None[float64]()
	}
	return serving.Some(float64(last.V-c.First.V) / 1e9)
}

// totalsWarnings compares the file's totals with its requests.
func totalsWarnings(s *RunStats) []string {
	var out []string
	check := func(what string, file, ours serving.Opt[int64]) {
		if file.OK && ours.OK && file.V != ours.V {
			out = append(out, fmt.Sprintf("the file says %d %s, its requests are %d", file.V, what, ours.V))
		}
	}
	check("completed requests", s.Run.Completed, s.Counts.Completed)
	check("output tokens", s.Run.Output, s.Output)
	return out
}

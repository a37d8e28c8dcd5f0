package analyze

import (
	"context"
	"fmt"
	"math"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// runChecks are the doubts about one benchmark run. The order matters: what
// explains a doubt comes before it.
var runChecks = []func(*runCheck) []Finding{
	units, slots, generator, backlogs, steadiness, inFlightAgainstCap, timesAddUp, drain, offered, aboveOffered, failures, chunks, fileMismatch,
}

// sweepChecks are the doubts about the levels of a sweep against each other.
var sweepChecks = []func(*Sweep) []Finding{warmCache, fasterWithFailures}

// A runCheck is a run under examination, with what was found so far.
type runCheck struct {
	*RunStats
	trail *trail // nil where its requests are not known one by one

	few        bool // too few requests for the concurrency
	generator  bool // the client was the limit
	backlogged bool
	under      bool // fewer in flight than the cap, over the whole run
	draining   bool
	atOnce     bool // no limit on the load at all
}

func runQuality(ctx context.Context, in *Input, rep *Report) (any, []string, error) {
	var q QualityFindings
	if runs := Value[Runs](rep); runs != nil {
		for _, r := range runs.Runs {
			fs, err := runFindings(ctx, in, r)
			if err != nil {
				return nil, nil, err
			}
			q.Findings = append(q.Findings, fs...)
		}
	}
	if sw := Value[Sweeps](rep); sw != nil {
		for _, s := range sw.Sweeps {
			for _, check := range sweepChecks {
				q.Findings = append(q.Findings, check(s)...)
			}
		}
	}
	q.Findings = append(q.Findings, smallSamples(rep)...)
	for _, t := range in.tables {
		q.Findings = append(q.Findings, t.findings()...)
	}
	if sv := Value[Servers](rep); sv != nil {
		for _, s := range sv.Servers {
			q.Findings = append(q.Findings, serverFindings(s)...)
		}
	}
	q.Findings = append(q.Findings, logAgainstScrapes(in)...)
	for _, i := range in.Data.Inputs {
		switch n := i.Problems.Len(); {
		case i.Format == "unknown":
			q.Findings = append(q.Findings, Finding{ID: "unknown_input", Subject: i.Path, Message: i.Path + " is nothing we know and was left out; vreport inspect says what was tried"})
		case n > 0:
			q.Findings = append(q.Findings, Finding{ID: "input_problems", Subject: i.Path, Value: serving.Some(float64(n)),
				Message: plural(n, "record", "records") + " of " + i.Path + " could not be used as written; they are listed with their positions under Inputs"})
		}
	}
	if len(q.Findings) == 0 && len(in.Data.Runs)+len(in.tables)+len(in.Data.Servers) == 0 {
		return nil, nil, nil
	}
	return &q, nil, nil
}

// smallSamples tells once how many runs are too small for the p99 that every
// table shows.
func smallSamples(rep *Report) []Finding {
	runs := Value[Runs](rep)
	if runs == nil {
		return nil
	}
	need := stat.MinN(0.99, confidence)
	small, least := 0, int64(math.MaxInt64)
	for _, r := range runs.Runs {
		if n := r.Counts.Completed; n.OK && n.V < need {
			small, least = small+1, min(least, n.V)
		}
	}
	if small == 0 {
		return nil
	}
	return []Finding{{ID: "small_n", Subject: "all", Value: serving.Some(float64(least)), Threshold: serving.Some(float64(need)),
		Message: fmt.Sprintf("%s of %d completed fewer than the %d requests that a p99 with both ends of its interval takes (the smallest: %d); read their p99 as a lower bound", plural(small, "run", "runs"), len(runs.Runs), need, least)}}
}

// runFindings are the doubts about one benchmark run.
func runFindings(ctx context.Context, in *Input, r *RunStats) ([]Finding, error) {
	c := &runCheck{RunStats: r, atOnce: sentAtOnce(r.Run.Load)}
	if t := in.tableOf(r.Run); t != nil {
		tr, err := t.trail(ctx, in.Opt.Window)
		if err != nil {
			return nil, err
		}
		if tr != nil && len(tr.rows) > 0 {
			c.trail = tr
		}
	}
	out := impossible(r.Run.ID, r.Run.Label, r.Dists)
	out = append(out, tooFast(r.Run.ID, r.Run.Label, r.Dists, r.Counts.Completed.Or(0), r.Output.Or(0))...)
	for _, check := range runChecks {
		out = append(out, check(c)...)
	}
	return out, nil
}

// fileMismatch tells of aggregates that the file's own requests do not give, or
// where it has none its own counts.
func fileMismatch(c *runCheck) []Finding {
	if len(c.Mismatch) == 0 {
		return rateMismatch(c)
	}
	m := c.Mismatch[0]
	return []Finding{c.finding("file_mismatch", float64(len(c.Mismatch)), 0, nil,
		"%s of the file not what its own requests give, first %s: file %.6g, requests %.6g", pluralVerb(len(c.Mismatch), "aggregate"), m.Field, m.File, m.Ours)}
}

// rateMismatch tells of rates that the file's counts and duration do not give.
func rateMismatch(c *runCheck) []Finding {
	if c.Dists.fromRequests() {
		return nil
	}
	ms := rateMismatches(c.RunStats)
	if len(ms) == 0 {
		return nil
	}
	m := ms[0]
	return []Finding{c.finding("file_mismatch", float64(len(ms)), 0, nil,
		"%s of the file not what its own counts over its duration give, first %s: file %.6g, counts %.6g", pluralVerb(len(ms), "rate"), m.Field, m.File, m.Ours)}
}

func pluralVerb(n int, one string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return fmt.Sprintf("%d %ss are", n, one)
}

// findings are doubts about a table of requests; damaged rows stand with the
// problems of their files.
func (t *table) findings() []Finding {
	var out []Finding
	subject := t.src.Name()
	if t.run != nil {
		subject = t.run.ID
	}
	if f, ok := t.windowBacklog(); ok {
		out = append(out, f)
	}
	if t.run == nil {
		all := t.total()
		ds := t.distsOf(all)
		out = append(out, impossible(subject, subject, ds)...)
		out = append(out, tooFast(subject, subject, ds, all.Outcomes[serving.OK], all.Output)...)
	}
	out = append(out, t.strays(subject)...)
	if d, ok := t.src.(interface{ Doubts() []serving.Doubt }); ok {
		for _, x := range d.Doubts() {
			out = append(out, Finding{ID: "columns_disagree", Subject: subject, Value: serving.Some(x.Ratio), Threshold: serving.Some(1.0), Metrics: []serving.MetricKey{x.Metric},
				Message: subject + ": " + x.Text})
		}
	}
	for _, e := range t.cube.Excluded {
		if e.Rows > 0 {
			out = append(out, Finding{ID: "excluded", Subject: subject, Value: serving.Some(float64(e.Rows)),
				Message: fmt.Sprintf("%s: %d rows are left out of all figures: %s", subject, e.Rows, e.Reason)})
		}
	}
	return out
}

// serverFindings are doubts about one server's scrapes.
func serverFindings(s *ServerStats) []Finding {
	var out []Finding
	if s.Members > 0 {
		return nil
	}
	if n := len(s.Server.Restarts); n > 0 {
		out = append(out, Finding{ID: "restart", Subject: s.Server.ID, Value: serving.Some(float64(n)),
			Message: s.Server.Label + ": " + plural(n, "restart", "restarts") + " inside the window; counters are added up across it, requests in flight at that moment are lost"})
	}
	if n := len(s.Gaps); n > 0 {
		out = append(out, Finding{ID: "scrape_gap", Subject: s.Server.ID, Value: serving.Some(float64(n)),
			Message: s.Server.Label + ": " + plural(n, "gap", "gaps") + " without a scrape; a busy server that does not answer its scrape is itself a sign"})
	}
	for _, h := range s.hists {
		if h.raised {
			out = append(out, Finding{ID: "broken_histogram", Subject: s.Server.ID,
				Message: fmt.Sprintf("%s: the buckets of %s are not cumulative (one holds less than a lower one, or than nothing), so its quantiles are not to be trusted", s.Server.Label, h.from)})
		}
		if n := len(h.cum); n > 0 && h.count.OK && math.Abs(h.cum[n-1]-h.count.V) > 0.01*h.count.V+1 {
			out = append(out, Finding{ID: "broken_histogram", Subject: s.Server.ID, Value: serving.Some(h.cum[n-1]), Threshold: h.count,
				Message: fmt.Sprintf("%s: the buckets of %s hold %s observations, its count says %s", s.Server.Label, h.from, number(h.cum[n-1]), number(h.count.V))})
		}
		if h.fell {
			out = append(out, Finding{ID: "negative_observations", Subject: s.Server.ID,
				Message: fmt.Sprintf("%s: the sum of %s fell while its count rose: negative times were observed (a known engine bug), so no mean is given", s.Server.Label, h.from)})
		}
	}
	if s.Server.Relative && s.Scrapes > 1 {
		out = append(out, Finding{ID: "no_time", Subject: s.Server.ID,
			Message: s.Server.Label + ": the scrapes carry no time (" + s.Server.TimeRule + "), so only their order is known and rates are per scrape interval of 1"})
	}
	return out
}

package analyze

import (
	"context"
	"fmt"
	"math"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// minPerSlot is how many requests a run wants for each slot of its
// concurrency: with fewer, ramp and drain dominate what it measured.
const minPerSlot = 5

// failedShare above which failures are a finding of their own.
const failedShare = 0.01

func runQuality(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	var q QualityFindings
	if runs := Value[Runs](rep); runs != nil {
		for _, r := range runs.Runs {
			q.Findings = append(q.Findings, runFindings(r, in.tableOf(r.Run))...)
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

// runFindings are doubts about one benchmark run.
func runFindings(r *RunStats, t *table) []Finding {
	var out []Finding
	add := func(id string, value, threshold float64, format string, a ...any) {
		out = append(out, Finding{ID: id, Subject: r.Run.ID, Value: serving.Some(value), Threshold: serving.Some(threshold),
			Message: r.Run.Label + ": " + fmt.Sprintf(format, a...)})
	}
	sent, limit := r.Counts.Sent, r.Run.Load.MaxConcurrency
	if sent.OK && limit.OK && limit.V > sent.V {
		add("concurrency_above_requests", float64(limit.V), float64(sent.V),
			"a concurrency of %d with only %d requests cannot be reached; send at least %d", limit.V, sent.V, minPerSlot*limit.V)
	} else if sent.OK && limit.OK && sent.V < minPerSlot*limit.V {
		add("few_requests", float64(sent.V), float64(minPerSlot*limit.V),
			"%d requests at concurrency %d: ramp-up and drain weigh heavily; want at least %d", sent.V, limit.V, minPerSlot*limit.V)
	}
	if sent.Or(0) > 0 && r.Counts.Failed.OK {
		if share := float64(r.Counts.Failed.V) / float64(sent.V); share > failedShare {
			add("failures_look_fast", share, failedShare,
				"%d of %d requests did not complete; the latencies are of the others only, and a server that fails fast looks fast", r.Counts.Failed.V, sent.V)
		}
	}
	if len(r.Mismatch) > 0 {
		add("file_mismatch", float64(len(r.Mismatch)), 0,
			"%s of the file not what its own requests give, first %s: file %.6g, requests %.6g",
			pluralVerb(len(r.Mismatch), "aggregate"), r.Mismatch[0].Field, r.Mismatch[0].File, r.Mismatch[0].Ours)
	}
	if itl := r.Dists.Of(serving.ITL); itl != nil && itl.Gaps == "chunk" {
		tpot := r.Dists.stat(serving.TPOT, "mean")
		f := "gaps are between chunks that hold several tokens (or none), not between tokens: ITL is not comparable with TPOT"
		if tpot.OK && itl.Mean.OK && tpot.V > 0 {
			add("chunks", itl.Mean.V/tpot.V, 1, "%s; mean gap / mean TPOT is %.2f", f, itl.Mean.V/tpot.V)
		} else {
			add("chunks", 0, 0, "%s", f)
		}
	}
	return out
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
				Message: fmt.Sprintf("%s: the buckets of %s are not cumulative (one holds less than a lower one), so its quantiles are not to be trusted", s.Server.Label, h.from)})
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

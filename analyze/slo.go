package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// What an objective can be undecided for want of, whatever the number of requests.
const (
	withoutRequests = "the files hold aggregates only, not the requests they came from (save runs with --save-detailed)"
	withoutMetric   = "the data have no such times"
)

// goodputOf counts the requests that met every condition, as a share of those
// sent and a rate over the duration. Nil without conditions.
//
// A table that lacks a condition's metric altogether cannot be judged by it:
// that is no goodput of 0.
func (t *table) goodputOf(c *cube.Cell, opt Options, dur serving.Opt[float64]) *Goodput {
	lacks := func(k serving.Condition) bool { return !t.has(string(k.Metric)) }
	if conds := t.conditions(opt); len(conds) == 0 || c.Sent == 0 || slices.ContainsFunc(conds, lacks) {
		return nil
	}
	g := &Goodput{Origin: FromRequests, Good: serving.Some(c.Good), Of: serving.Some(c.Sent),
		Share: serving.Some(float64(c.Good) / float64(c.Sent))}
	lo, hi := stat.Wilson(c.Good, c.Sent, confidence)
	g.Lo, g.Hi = serving.Some(lo), serving.Some(hi)
	if dur.Or(0) > 0 {
		g.PerSecond = serving.Some(float64(c.Good) / dur.V)
	}
	return g
}

// fileGoodput is the goodput a file states: under its own conditions, which
// are not stored in it, so it is never measured against the user's.
func fileGoodput(r *serving.Run) *Goodput {
	v, ok := r.ReportedValue(serving.GoodRequests, "")
	if !ok {
		return nil
	}
	g := &Goodput{Origin: FromFile, PerSecond: serving.Some(v)}
	if r.Duration.OK && r.Sent.Or(0) > 0 {
		if share := v * r.Duration.V / float64(r.Sent.V); share <= 1+rateTolerance { // more good ones than were sent are no share
			g.Share = serving.Some(min(1, share))
		}
	}
	return g
}

// sloResults judges every objective on a cell of a table. An objective for
// another slice is left out.
func (t *table) sloResults(c *cube.Cell, opt Options, ds Dists) []SLOResult {
	var out []SLOResult
	for i, s := range t.slos(opt) {
		if c.Of[i] == 0 {
			continue
		}
		if !t.has(string(s.Metric)) {
			out = append(out, SLOResult{Expr: s.Expr, Result: GateUndecided, Without: withoutMetric,
				Reason: fmt.Sprintf("the data have no %s and nothing it could be derived from", s.Metric)})
			continue
		}
		value := ds.stat(s.Metric, s.Stat())
		if s.Mean {
			out = append(out, meanSLO(s, ds.Of(s.Metric), c))
			continue
		}
		slack := int64(0) // requests in a bucket that the limit cuts through
		if c.Slack != nil {
			slack = c.Slack[i]
		}
		r := SLOResult{Expr: s.Expr, Value: value, Attainment: serving.Some(float64(c.Within[i]) / float64(c.Of[i]))}
		lo, _ := stat.Wilson(c.Within[i], c.Of[i], confidence)
		_, hi := stat.Wilson(c.Within[i]+slack, c.Of[i], confidence)
		r.Lo, r.Hi = serving.Some(lo), serving.Some(hi)
		r.Result = decide(lo, hi, s.P)
		r.Reason = fmt.Sprintf("%d of %d sent within %s: %s (95 %% interval %s to %s), want %s",
			c.Within[i], c.Of[i], seconds(s.Limit), percent(r.Attainment.V), percent(lo), percent(hi), percent(s.P))
		if slack > 0 {
			r.Reason += fmt.Sprintf("; whether %s within it, the buckets of the rollup leave open (make the rollup with this --slo and they do not)", plural(int(slack), "more is", "more are"))
		}
		if n := c.Sent - c.Of[i]; n > 0 && len(s.By) == 0 {
			r.Reason += fmt.Sprintf("; %s not streamed and so without %s", plural(int(n), "request was", "requests were"), s.Metric)
		}
		out = append(out, r)
	}
	return out
}

// decide compares an interval of the attained share with the share wanted: a
// gate passes or fails only where the whole interval is on one side.
func decide(lo, hi, want float64) GateResult {
	switch {
	case lo >= want:
		return GatePass
	case hi < want:
		return GateFail
	}
	return GateUndecided
}

// meanSLO judges an objective on a mean by the mean's normal interval. With
// requests that failed the mean of the others says nothing about them.
func meanSLO(s serving.SLO, d *Dist, c *cube.Cell) SLOResult {
	r := SLOResult{Expr: s.Expr, Result: GateUndecided}
	if d == nil || d.Count.Or(0) < 2 {
		r.Reason = "fewer than two values: the mean has no interval"
		return r
	}
	half := 1.959964 * d.Std.V / math.Sqrt(float64(d.Count.V-1))
	if d.Origin == FromRollup {
		half += 0.5e-6 // each value was rounded to a microsecond
	}
	lo, hi := d.Mean.V-half, d.Mean.V+half
	r.Value = d.Mean
	switch {
	case lo > s.Limit:
		r.Result = GateFail
	case hi <= s.Limit && c.Outcomes[serving.OK] == c.Sent:
		r.Result = GatePass
	}
	r.Reason = fmt.Sprintf("mean %s (95 %% interval %s to %s), want below %s", seconds(d.Mean.V), seconds(lo), seconds(hi), seconds(s.Limit))
	if n := c.Sent - c.Outcomes[serving.OK]; n > 0 {
		r.Reason += fmt.Sprintf("; %d requests did not complete and have no value", n)
	}
	return r
}

// fileSLOs compares objectives with a file's own aggregates. Without the
// requests there is no interval, so nothing is decided; the value stands there.
func fileSLOs(ds Dists, r *serving.Run, opt Options) []SLOResult {
	var out []SLOResult
	for _, s := range opt.SLOs {
		if !sliceHolds(s.By, r) {
			continue
		}
		v := ds.stat(s.Metric, s.Stat())
		res := SLOResult{Expr: s.Expr, Value: v, Result: GateUndecided, Without: withoutRequests,
			Reason: fmt.Sprintf("the file holds no requests and no %s of %s%s (save the run with --save-detailed)", s.Stat(), s.Metric, statedInstead(ds.Of(s.Metric)))}
		if v.OK {
			res.Reason = fmt.Sprintf("the file states %s %s = %s without the requests it came from: no interval (save the run with --save-detailed)", s.Metric, s.Stat(), seconds(v.V))
		}
		tooManyFailed(&res, s, r)
		out = append(out, res)
	}
	return out
}

// statedInstead names the percentiles that a file has, for an objective on one of them.
func statedInstead(d *Dist) string {
	if d == nil {
		return ""
	}
	var have []string
	for _, p := range []float64{0.5, 0.9, 0.95, 0.99, 0.999} {
		if q, ok := d.Q(p); ok && q.Value.OK {
			have = append(have, serving.QuantileName(p))
		}
	}
	if len(have) == 0 {
		return ""
	}
	return ", only " + strings.Join(have, ", ")
}

// tooManyFailed decides an objective against a run of which too few requests
// completed for it to hold, whatever their latencies were.
func tooManyFailed(res *SLOResult, s serving.SLO, r *serving.Run) {
	n, sent := r.Completed, r.Sent
	if s.Mean || !n.OK || sent.Or(0) <= 0 || n.V >= sent.V {
		return
	}
	if _, hi := stat.Wilson(n.V, sent.V, confidence); hi < s.P {
		res.Result, res.Without = GateFail, ""
		res.Reason = fmt.Sprintf("only %d of %d sent completed at all (at most %s with 95 %% confidence), want %s", n.V, sent.V, percent(hi), percent(s.P))
	}
}

// sliceHolds reports whether a run as a whole lies in a slice.
func sliceHolds(by []serving.Term, r *serving.Run) bool {
	return !slices.ContainsFunc(by, func(t serving.Term) bool {
		switch t.Dim {
		case serving.ColWorkload:
			return r.Workload.Or("") != t.Value
		case serving.ColModel:
			return r.Model.Or("") != t.Value
		}
		return true
	})
}

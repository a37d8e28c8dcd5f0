package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// DefaultHeadline are the figures that a verdict and the regression gate rest on.
var DefaultHeadline = []verdict.Figure{
	{Metric: serving.TTFT, Stat: "p95"}, {Metric: serving.TPOT, Stat: "p95"}, {Metric: serving.RateRequests}, {Metric: verdict.FailedShare},
}

// otherFigures are compared beside them.
var otherFigures = []verdict.Figure{
	{Metric: serving.TTFT, Stat: "p50"}, {Metric: serving.TPOT, Stat: "p50"}, {Metric: serving.ITL, Stat: "p99"}, {Metric: serving.E2E, Stat: "p50"}, {Metric: serving.E2E, Stat: "p95"},
	{Metric: serving.Queue, Stat: "p95"}, {Metric: serving.Prefill, Stat: "p95"}, {Metric: serving.Decode, Stat: "p95"},
	{Metric: serving.TTFT, Stat: "p99"}, {Metric: serving.TPOT, Stat: "p99"}, {Metric: serving.RateOutput}, {Metric: verdict.GoodShare},
}

// levelFigures are compared level by level.
var levelFigures = []verdict.Figure{
	{Metric: serving.TTFT, Stat: "p50"}, {Metric: serving.TTFT, Stat: "p95"}, {Metric: serving.TPOT, Stat: "p50"}, {Metric: serving.TPOT, Stat: "p95"},
	{Metric: serving.E2E, Stat: "p50"}, {Metric: serving.RateRequests}, {Metric: serving.RateOutput}, {Metric: verdict.FailedShare},
}

// headline are the figures that decide, the user's or the default. Many files
// have no p95: the default then rests on the nearest statistic that both sides
// have, the tail first.
func (c *comparing) headline() []verdict.Figure {
	if len(c.in.Opt.Headline) > 0 {
		return c.in.Opt.Headline
	}
	var out []verdict.Figure
	for _, f := range DefaultHeadline {
		out = append(out, c.stated(f))
	}
	return out
}

// stated is the figure, or the next one of its metric that both sides have; where
// they have none in common, the next one that a side has, so that its loss is told.
func (c *comparing) stated(f verdict.Figure) verdict.Figure {
	if f.Stat == "" {
		return f
	}
	both := func(g verdict.Figure, p *Pair) bool { return comparable(g, p) && p.has(before, g) && p.has(after, g) }
	if g, ok := c.nearest(f, both); ok {
		return g
	}
	if c.serversHave(f) {
		return f
	}
	g, _ := c.nearest(f, func(g verdict.Figure, p *Pair) bool { return p.has(before, g) || p.has(after, g) })
	return g
}

// nearest is the statistic of a figure's metric, the tail first, that is had at a
// level; the figure itself where there is none.
func (c *comparing) nearest(f verdict.Figure, had func(verdict.Figure, *Pair) bool) (verdict.Figure, bool) {
	for _, name := range []string{f.Stat, "p99", "p90", "p50", "mean"} {
		g := verdict.Figure{Metric: f.Metric, Stat: name}
		if slices.ContainsFunc(c.out.Pairs, func(p *Pair) bool { return had(g, p) }) {
			return g, true
		}
	}
	return f, false
}

// has reports whether a side has a figure at the level.
func (p *Pair) has(side int, f verdict.Figure) bool {
	return slices.ContainsFunc(p.units[side], func(u *unit) bool { return !math.IsNaN(u.value(f)) })
}

// rows compares every figure over all levels and at each.
func (c *comparing) rows() {
	headline := c.headline()
	c.out.Headline = c.figures(headline, c.out.Pairs, len(headline))
	verdict.DecideHeadline(plainRows(c.out.Headline))
	var others []verdict.Figure
	for _, f := range otherFigures {
		if !slices.Contains(headline, f) {
			others = append(others, f)
		}
	}
	c.out.Others = c.figures(others, c.out.Pairs, len(others))
	if len(c.out.Pairs) > 1 {
		for _, p := range c.out.Pairs {
			for _, r := range c.figures(levelFigures, []*Pair{p}, len(levelFigures)*len(c.out.Pairs)) {
				r.Pair = p
				c.out.Levels = append(c.out.Levels, r)
			}
		}
	}
	verdict.Decide(plainRows(slices.Concat(c.out.Others, c.out.Levels)), verdict.Explored)
}

func (c *comparing) figures(fs []verdict.Figure, pairs []*Pair, family int) []*CompareRow {
	var out []*CompareRow
	for _, f := range fs {
		if r, ok := c.figure(f, pairs, family); ok {
			out = append(out, &CompareRow{Share: 1, Row: r})
		}
	}
	return out
}

// figure compares one figure over some levels. Times of different sides of the
// wire (client, server), and gaps of different kinds, are different figures.
func (c *comparing) figure(f verdict.Figure, pairs []*Pair, family int) (*verdict.Row, bool) {
	var strata []verdict.Stratum
	for level, p := range pairs {
		if !comparable(f, p) || c.rateIsLoad(f, p) {
			continue
		}
		b, a := sample(p.units[before], f), sample(p.units[after], f)
		if p.replays(before) {
			b.Replayed = choiceOf(p.units[before][0].dists(), f)
		}
		if p.replays(after) {
			a.Replayed = choiceOf(p.units[after][0].dists(), f)
		}
		strata = append(strata, verdict.Stratum{Before: b, After: a, Level: level})
	}
	r, ok := verdict.Compare(f, c.in.Opt.threshold(f), strata, family)
	if ok && c.out.SameFiles {
		r.Method = verdict.SameFiles
	}
	return r, ok
}

// comparable reports whether a figure means the same thing on both sides of a
// level.
func comparable(f verdict.Figure, p *Pair) bool { return len(meanings(f, p)) < 2 }

// A meaning is what a time is of.
type meaning struct {
	side serving.Side
	gaps string // of itl
}

// meanings are what the runs of a level mean by a figure.
func meanings(f verdict.Figure, p *Pair) []meaning {
	var seen []meaning
	for _, us := range p.units {
		for _, u := range us {
			if d := u.dists().Of(f.Metric); d != nil {
				m := meaning{d.Side, d.Gaps}
				if !slices.Contains(seen, m) {
					seen = append(seen, m)
				}
			}
		}
	}
	return seen
}

// rateIsLoad reports whether a rate is only what was offered: at a fixed arrival
// rate that the server keeps up with, requests a second say nothing of it.
func (c *comparing) rateIsLoad(f verdict.Figure, p *Pair) bool {
	if f.Metric != serving.RateRequests && f.Metric != serving.RateOutput {
		return false
	}
	if p.Mode == "" || p.Mode == serving.UnknownLoad {
		return p.Mode == ""
	}
	if p.Mode == serving.ClosedLoop {
		return false
	}
	keptUp := func(u *unit) bool {
		rate := u.run.Run.Load.RequestRate
		return rate.OK && u.run.Throughput.Requests.Or(0) >= saturatedBelow*rate.V
	}
	return !slices.ContainsFunc(slices.Concat(p.units[before], p.units[after]), func(u *unit) bool { return !keptUp(u) })
}

func plainRows(rows []*CompareRow) []*verdict.Row {
	var plain []*verdict.Row
	for _, r := range rows {
		plain = append(plain, r.Row)
	}
	return plain
}

// threshold is the change that matters of a figure, the user's or the default.
func (o *Options) threshold(f verdict.Figure) float64 {
	if v, ok := o.Thresholds[f]; ok {
		return v
	}
	if v, ok := o.Thresholds[verdict.Figure{Metric: f.Metric}]; ok {
		return v
	}
	return f.Threshold()
}

package verdict

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// One run a side at each of six levels can give no p below 2/2⁶ = 0.031, which four
// figures cannot pay for one by one. But they need not: their levels are the same runs.
// Where the sides are the same thing, exchanging them at a level turns all of that
// level's effects around at once. Of all ways to do so it is counted how many make any
// figure as extreme as this one: figures that move together pay once.
//
// Source: Westfall and Young, Resampling-based multiple testing (1993), step-down max T.

// A step is the effect at one level.
type step struct {
	level int
	log   float64
}

// DecideHeadline calls the figures that decide. Those tested by the same levels are
// adjusted together, and pay for each figure tested otherwise; where there are none
// such, all by Holm.
func DecideHeadline(rows []*Row) {
	var signs, others []*Row
	for _, r := range rows {
		switch {
		case !r.P.OK:
		case r.Method == BySigns && r.distinctLevels():
			signs = append(signs, r)
		default:
			others = append(others, r)
		}
	}
	if len(signs) == 0 {
		Decide(rows, Headline)
		return
	}
	families := 1.0
	for _, r := range others {
		if r.decidable() {
			families++
		}
	}
	for i, p := range jointly(signs) {
		signs[i].PAdjusted = serving.Some(min(1, families*max(p, signs[i].P.V)))
		signs[i].families = families
	}
	for _, r := range others {
		r.PAdjusted = serving.Some(min(1, families*r.P.V))
	}
	for _, r := range rows {
		r.call()
	}
}

// distinctLevels reports whether it is known which level each effect is of.
func (r *Row) distinctLevels() bool {
	seen := map[int]bool{}
	for _, s := range r.steps {
		if seen[s.level] {
			return false
		}
		seen[s.level] = true
	}
	return len(r.steps) > 0
}

// decidable reports whether any outcome of a row could have been a discovery: where
// nothing failed on either side there is none to be made, and none to be paid for
// (Tarone, A modified Bonferroni method for discrete data, 1990).
func (r *Row) decidable() bool {
	return !r.Figure.IsShare() || r.Before.V != r.After.V || r.Before.V > 0 && r.Before.V < 1
}

// jointly returns each row's p among all of them, by step-down max T.
func jointly(rows []*Row) []float64 {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	own := make([]float64, len(rows))
	levels := 0
	for i, r := range rows {
		own[i] = r.turned(nil)
		for _, s := range r.steps {
			levels = max(levels, s.level+1)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case own[a] > own[b]:
			return -1
		case own[a] < own[b]:
			return 1
		}
		return 0
	})
	hits := make([]int, len(rows))
	all := stat.Exchanges(levels, seed)
	for _, turn := range all {
		most := 0.0
		for k := len(order) - 1; k >= 0; k-- { // the largest of this row and those after it
			i := order[k]
			if most = max(most, rows[i].turned(turn)); most >= own[i]-1e-12 {
				hits[i]++
			}
		}
	}
	p := make([]float64, len(rows))
	last := 0.0
	for _, i := range order {
		last = max(last, float64(hits[i])/float64(len(all)))
		p[i] = last
	}
	return p
}

// turned is how far the levels agree once the sides of some are exchanged: 0 where
// they cancel out, the root of their number where all moved alike. Exchanging sides
// does not change the scale, so that this orders as t does.
func (r *Row) turned(turn []bool) float64 {
	sum, squares := 0.0, 0.0
	for _, s := range r.steps {
		v := s.log
		squares += v * v
		if turn != nil && turn[s.level] {
			v = -v
		}
		sum += v
	}
	if squares == 0 {
		return 0
	}
	return math.Abs(sum) / math.Sqrt(squares)
}

// whyNoSigns says how the levels went, and how many that agree it would take.
func (r *Row) whyNoSigns() string {
	same, opposite := 0, 0
	for _, s := range r.steps {
		switch {
		case s.log*r.log > 0:
			same++
		case s.log*r.log < 0:
			opposite++
		}
	}
	s := fmt.Sprintf("the difference may be chance: %d of %d levels moved this way", same, len(r.steps))
	if opposite > 0 {
		s += fmt.Sprintf(", %d the other", opposite)
	}
	s += fmt.Sprintf(", adjusted p %.2g", r.PAdjusted.V)
	switch need := r.signsNeeded(); {
	case need > len(r.steps):
		s += fmt.Sprintf("; it takes %d levels that agree, or repeats", need)
	case opposite == 0:
		s += "; more levels that agree would tell, or repeats"
	}
	return s
}

// signsNeeded is the number of levels from which all of them agreeing can be a call.
func (r *Row) signsNeeded() int {
	n := minSigns
	for max(1, r.families)*math.Pow(2, 1-float64(n)) >= 1-Confidence {
		n++
	}
	return n
}

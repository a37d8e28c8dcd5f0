package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A slice is judged beside its siblings, the other values of its dimensions. Where
// one route alone is slower, both regions are slower too, as either has some of its
// requests: of the two dimensions the one whose values differ says where the change is.

// apartBy is how many standard errors a slice and its siblings are apart before one
// is told from the others: many are looked at.
const apartBy = 2.6

// siblings holds each slice against its siblings. What all of them did is the change
// of all requests: a slice that moved as its siblings and the whole did is judged by
// the whole, which has more of the evidence and shares all of the noise.
func (c *comparing) siblings() {
	if c.out.SameFiles {
		return
	}
	for _, r := range c.out.Slices {
		if e, se, ok := c.rest(r, nil); ok {
			r.Rest, r.apart = serving.Some(e), called(r) && !r.Mix && r.standsOut(e, se)
		}
	}
	for _, r := range c.out.Slices {
		whole := c.whole(r.Figure)
		if !called(r) || whole == nil || !r.Rest.OK || !alike(r.Rest.V, r.Effect()) || !alike(whole.Effect(), r.Effect()) {
			continue
		}
		switch {
		case whole.Call == r.Call && !whole.Mix:
			r.common = true
		case whole.Mix && !r.split:
			r.Mix = true
		case whole.Mix, whole.Lengths != "", c.in.Opt.namesSlice(r):
			// The slice holds fixed what the whole does not, or was asked for by itself.
		default:
			r.Call = verdict.Undecided
			r.Why = fmt.Sprintf("%s moved alike (%s): it is the change of all requests (%s), which is not called", c.othersText(r), effectText(r.Figure, r.Rest.V), effectText(r.Figure, whole.Effect()))
		}
	}
	c.sortSlices()
}

// called reports whether a row has a direction.
func called(r *CompareRow) bool { return r.Call == verdict.Slower || r.Call == verdict.Faster }

// alike reports whether something moved as a slice did: in its direction, and at
// least half as far.
func alike(other, slice float64) bool {
	return other*slice > 0 && math.Abs(other) >= math.Abs(slice)/2
}

// standsOut reports whether a slice moved, and its siblings did not as it did: by more
// than what matters, and by more than both may be off.
func (r *CompareRow) standsOut(rest, se float64) bool {
	away := math.Abs(r.Effect() - rest)
	limit := r.Threshold
	if !r.Figure.IsShare() {
		limit = math.Log1p(limit)
	}
	own, ok := r.standardError()
	return ok && !alike(rest, r.Effect()) && away > limit && away > math.Abs(r.Effect())/2 && away > apartBy*math.Hypot(own, se)
}

// standardError is of a row's effect, by its interval.
func (r *CompareRow) standardError() (float64, bool) {
	if !r.Lo.OK || !r.Hi.OK {
		return 0, false
	}
	width := r.Hi.V - r.Lo.V
	if !r.Figure.IsShare() {
		if !(r.Lo.V > 0) {
			return 0, false
		}
		width = math.Log(r.Hi.V / r.Lo.V)
	}
	const z = 1.959964
	return width / (2 * z), true
}

// rest is the effect of a slice's siblings by their requests, and its standard error.
// Within terms only siblings of those terms count.
func (c *comparing) rest(r *CompareRow, within []serving.Term) (effect, se float64, ok bool) {
	total, variance := 0.0, 0.0
	for _, o := range c.out.Slices {
		if o.Figure != r.Figure || !r.sibling(o, within) {
			continue
		}
		if s, known := o.standardError(); known {
			total += o.Share
			effect += o.Share * o.Effect()
			variance += o.Share * o.Share * s * s
		}
	}
	if total == 0 {
		return 0, 0, false
	}
	return effect / total, math.Sqrt(variance) / total, true
}

// names are all slices that a row is of: several where they hold the same requests.
func (r *CompareRow) names() [][]serving.Term { return append([][]serving.Term{r.By}, r.Also...) }

// sibling reports whether a row is of another value of the same dimensions, within
// terms.
func (r *CompareRow) sibling(o *CompareRow, within []serving.Term) bool {
	if o == r {
		return false
	}
	return slices.ContainsFunc(o.names(), func(by []serving.Term) bool { return sameDims(by, r.By) && holds(by, within) })
}

func sameDims(a, b []serving.Term) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(t serving.Term) bool {
		return !slices.ContainsFunc(b, func(u serving.Term) bool { return u.Dim == t.Dim })
	})
}

// holds reports whether a slice is one of the terms and perhaps more.
func holds(by, terms []serving.Term) bool {
	return !slices.ContainsFunc(terms, func(t serving.Term) bool { return !slices.Contains(by, t) })
}

// whole is the row of all requests of a figure, made where the tables have none for
// the user's headline; nil where it cannot be.
func (c *comparing) whole(f verdict.Figure) *CompareRow {
	if r := rowOf(slices.Concat(c.out.Headline, c.out.Others, c.wholes), f); r != nil {
		return r
	}
	r := c.rowFor(f)
	if r == nil {
		return nil
	}
	for i := range c.out.Mix {
		if m := &c.out.Mix[i]; m.Figure == f {
			r.Mix = m.explains(r.Row)
		}
	}
	r.uncall(c.shiftFor(f))
	c.wholes = append(c.wholes, r)
	return r
}

// namesSlice reports whether the user gave the slice a threshold of its own.
func (o *Options) namesSlice(r *CompareRow) bool {
	return slices.ContainsFunc(o.SliceThresholds, func(t SliceThreshold) bool { return t.matches(r) })
}

// leading is the row that says best what was called: a figure that decides; else
// the slice that the change is in, or the whole where it is in all of them.
func (c *comparing) leading(rows []*CompareRow) *CompareRow {
	if len(rows[0].By) == 0 {
		return rows[0]
	}
	best := c.culprit(rows)
	for _, r := range rows {
		if w := c.whole(r.Figure); r.common && (best == nil || w.weight() > best.weight()) {
			best = w
		}
	}
	if best == nil {
		return rows[0]
	}
	return best
}

// culprit is the slice that stands out from its siblings and means most to all users,
// first by one dimension, then as far into its crosses as one of them stands out. nil
// where none does.
func (c *comparing) culprit(rows []*CompareRow) *CompareRow {
	var found *CompareRow
	for _, r := range rows {
		if r.apart && (found == nil || len(r.By) < len(found.By) || len(r.By) == len(found.By) && r.weight() > found.weight()) {
			found = r
		}
	}
	for found != nil {
		next := c.within(found, rows)
		if next == nil {
			break
		}
		found = next
	}
	return found
}

// within is the part of a slice that stands out of it; nil where all of it moved.
func (c *comparing) within(p *CompareRow, rows []*CompareRow) *CompareRow {
	var found *CompareRow
	for _, r := range rows {
		if r.Figure != p.Figure || len(r.By) <= len(p.By) || !holds(r.By, p.By) {
			continue
		}
		if e, se, ok := c.rest(r, p.By); ok && r.standsOut(e, se) && (found == nil || r.weight() > found.weight()) {
			found = r
		}
	}
	return found
}

// leadingText names the leading row, and where it is of all requests the slice that
// most of it is in.
func (c *comparing) leadingText(rows []*CompareRow) string {
	r := c.leading(rows)
	s := change(r)
	if len(r.By) > 0 {
		return s
	}
	same := slices.DeleteFunc(slices.Clone(rows), func(o *CompareRow) bool { return o.Figure != r.Figure })
	if part := c.culprit(same); part != nil {
		s += ", most of it in " + termsText(part.By) + " (" + effectText(part.Figure, part.Effect()) + ")"
	}
	return s
}

// othersText names a slice's siblings.
func (c *comparing) othersText(r *CompareRow) string {
	var dims []string
	for _, t := range r.By {
		dims = append(dims, t.Dim)
	}
	return "the other values of " + strings.Join(dims, " × ")
}

// effectText is an effect as people write it: +12 %, or +3 percentage points.
func effectText(f verdict.Figure, effect float64) string {
	if f.IsShare() {
		return signed(effect*100) + " percentage points"
	}
	return ratioText(math.Exp(effect))
}

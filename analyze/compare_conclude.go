package analyze

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// conclude folds the rows into one verdict. A change that is the mix's is no
// verdict on the server, and a gain in one figure paid with another is mixed,
// never an average.
func (c *comparing) conclude() {
	c.repeats()
	o := c.out
	faster, slower := c.called(verdict.Faster), c.called(verdict.Slower)
	switch {
	case len(faster) > 0 && len(slower) > 0:
		o.Verdict = VerdictMixed
		o.Tradeoffs = append(o.Tradeoffs, fmt.Sprintf("%s is paid for with %s", change(c.leading(faster)), change(c.leading(slower))))
	case len(slower) > 0:
		o.Verdict = VerdictWorse
	case len(faster) > 0:
		o.Verdict = VerdictBetter
	case o.SameFiles, len(o.Headline) > 0 && !slices.ContainsFunc(o.Headline, func(r *CompareRow) bool { return r.Call != verdict.Equivalent }):
		o.Verdict = VerdictEquivalent
	default:
		o.Verdict = VerdictUndecided
	}
	c.cause(len(faster)+len(slower) > 0)
	o.Title = c.title(faster, slower)
	c.points(faster, slower)
	c.cautions()
}

// called lists what was called so: headline figures first, then slices. Other
// figures over all levels and single levels explain, they do not decide.
func (c *comparing) called(call verdict.Call) []*CompareRow {
	var out []*CompareRow
	for _, r := range slices.Concat(c.out.Headline, c.out.Slices) {
		if r.Call == call && !r.Mix {
			out = append(out, r)
		}
	}
	return out
}

// cause says what the verdict may be put down to: one changed setting, or why it
// cannot be told.
func (c *comparing) cause(changed bool) {
	keys, workload := c.out.settingsChanged()
	mix := slices.ContainsFunc(slices.Concat(c.out.Headline, c.out.Others), func(r *CompareRow) bool { return r.Mix })
	switch {
	case c.out.SameFiles:
	case mix && !changed:
		c.out.Cause = "mix"
	case workload:
		c.out.Cause = "workload"
	case len(keys) > 1:
		c.out.Cause = "several"
	case len(keys) == 1:
		c.out.Cause = keys[0]
	}
}

// title is the verdict in one sentence.
func (c *comparing) title(faster, slower []*CompareRow) string {
	name := c.in.sides.Names[after]
	switch o := c.out; {
	case o.SameFiles:
		return "Both sides are the same files"
	case o.Verdict == VerdictMixed:
		return fmt.Sprintf("%s is mixed: %s, but %s", name, c.leadingText(slower), c.leadingText(faster))
	case o.Verdict == VerdictWorse:
		return fmt.Sprintf("%s is worse: %s", name, c.leadingText(slower))
	case o.Verdict == VerdictBetter:
		return fmt.Sprintf("%s is better: %s", name, c.leadingText(faster))
	case o.Cause == "mix":
		return fmt.Sprintf("%s has other requests: what changed is their mix, not the speed within slices", name)
	case o.withheld() != nil:
		return fmt.Sprintf("%s has requests of other lengths (%s): whether the server got %s cannot be told", name, o.withheld().Lengths, direction(o.withheld()))
	case o.Verdict == VerdictUndecided && o.held() != nil:
		return "Undecided: " + c.unsteadyText(o.held())
	case o.Verdict == VerdictEquivalent:
		return fmt.Sprintf("%s is equivalent: every headline figure is within its threshold", name)
	case len(o.Pairs) == 0 && len(o.Headline) == 0:
		return "Nothing to compare: " + c.nothing()
	}
	return fmt.Sprintf("Undecided: the data cannot show whether %s differs", name)
}

// nothing says why there is nothing to compare.
func (c *comparing) nothing() string {
	if len(c.units[before])+len(c.units[after]) > 0 || len(c.in.sides.Data[before].Servers) == 0 || len(c.in.sides.Data[after].Servers) == 0 {
		return "the sides have no level of load in common"
	}
	for side, name := range c.in.sides.Names {
		if !c.observed(side) {
			return "the servers of " + name + " finished no request that they tell of"
		}
	}
	return "the servers of the sides have no figure in common"
}

// observed reports whether any of a side's servers has a distribution.
func (c *comparing) observed(side int) bool {
	sv := Value[Servers](c.rep)
	return sv != nil && slices.ContainsFunc(sv.Servers, func(s *ServerStats) bool { return c.in.sides.sideOf(s.Server) == side && len(s.Dists) > 0 })
}

// withheld is the first headline row that was not called because of the lengths of
// the requests.
func (c *Comparison) withheld() *CompareRow {
	for _, r := range c.Headline {
		if r.Lengths != "" {
			return r
		}
	}
	return nil
}

// held is the first headline row that was not called because a side was not the same
// throughout.
func (c *Comparison) held() *CompareRow {
	for _, r := range c.Headline {
		if r.Held && r.Unsteady.OK && r.Call == verdict.Undecided {
			return r
		}
	}
	return nil
}

// unsteadyText says which side was not one thing, beside what the other was.
func (c *comparing) unsteadyText(r *CompareRow) string {
	value := seconds
	if r.Figure.IsShare() {
		value = func(v float64) string { return percent(round3(v)) }
	}
	side, other := r.Unsteady.V.Side, r.After
	if side == after {
		other = r.Before
	}
	return fmt.Sprintf("%s was not the same throughout: %s %s in its first half and %s in its second (%s: %s)", c.in.sides.Names[side],
		figureTitle(r.Figure), value(r.Unsteady.V.First), value(r.Unsteady.V.Second), c.in.sides.Names[1-side], value(other.V))
}

// direction is what a change would be called.
func direction(r *CompareRow) verdict.Call {
	if (r.Effect() > 0) == (r.Figure.Better() == serving.LowerIsBetter) {
		return verdict.Slower
	}
	return verdict.Faster
}

// change is a row in words: TTFT p95 +12.1 % (of rag).
func change(r *CompareRow) string {
	s := figureTitle(r.Figure)
	if len(r.By) > 0 {
		s += " of " + termsText(r.By)
	}
	if r.Figure.IsShare() && r.Ratio.OK {
		return s + fmt.Sprintf(" %s → %s", percent(r.Before.V), percent(r.After.V))
	}
	switch {
	case r.Ratio.OK:
		s += " " + ratioText(r.Ratio.V)
	case r.Lo.OK && r.Effect() > 0:
		s += " by at least " + ratioText(r.Lo.V)
	case r.Hi.OK && r.Effect() < 0:
		s += " by at least " + ratioText(r.Hi.V)
	}
	return s
}

// figureTitle is a figure as people write it.
func figureTitle(f verdict.Figure) string {
	switch f.Metric {
	case verdict.FailedShare:
		return "failed share"
	case verdict.GoodShare:
		return "goodput share"
	case serving.RateRequests:
		return "requests/s"
	case serving.RateOutput:
		return "output tokens/s"
	}
	m, _ := serving.MetricOf(f.Metric)
	return strings.TrimSpace(m.Title + " " + f.Stat)
}

// maxPoints is how many changes are named one by one.
const maxPoints = 6

func (c *comparing) points(faster, slower []*CompareRow) {
	o := c.out
	for i, r := range slices.Concat(slower, faster) {
		if i == maxPoints {
			o.Points = append(o.Points, fmt.Sprintf("%d further figures changed; they are in the tables", len(slower)+len(faster)-maxPoints))
			break
		}
		o.Points = append(o.Points, c.point(r))
	}
	if len(slower)+len(faster) == 0 {
		for _, r := range o.Headline {
			o.Points = append(o.Points, c.point(r))
		}
	}
	for i := range o.Mix {
		m := &o.Mix[i]
		if r := rowOf(o.Headline, m.Figure); r != nil && m.Before > 0 && (r.Mix || abs(m.Mix) > r.Threshold*m.Before/2) {
			o.Points = append(o.Points, mixText(m))
		}
	}
	if len(o.Slices) > 0 && len(o.Headline) > 0 && !slices.ContainsFunc(slices.Concat(slower, faster), func(r *CompareRow) bool { return len(r.By) > 0 }) {
		o.Points = append(o.Points, fmt.Sprintf("no slice of %s changed by itself", plural(c.tested(), "slice tested", "slices tested")))
	}
}

// tested counts the slices that were compared.
func (c *comparing) tested() int {
	seen := map[sliceKey]bool{}
	for _, r := range c.out.Slices {
		seen[keyOf(r.By)] = true
	}
	return len(seen)
}

func abs(v float64) float64 { return max(v, -v) }

func rowOf(rows []*CompareRow, f verdict.Figure) *CompareRow {
	for _, r := range rows {
		if r.Figure == f {
			return r
		}
	}
	return nil
}

// point is one row in a sentence.
func (c *comparing) point(r *CompareRow) string {
	s := change(r)
	switch {
	case r.Figure.IsShare() && r.Lo.OK:
		s += fmt.Sprintf(" (difference %s to %s percentage points)", signed(r.Lo.V*100), signed(r.Hi.V*100))
	case r.Lo.OK && r.Hi.OK:
		s += fmt.Sprintf(" (95 %% interval %s to %s)", ratioText(r.Lo.V), ratioText(r.Hi.V))
	}
	s += ": " + string(r.Call)
	if r.Why != "" {
		s += ", " + r.Why
	}
	if len(r.By) > 0 {
		s += fmt.Sprintf("; %s of the requests", percent(round3(r.Share)))
		if r.Rest.OK {
			s += fmt.Sprintf(", %s %s", c.othersText(r), effectText(r.Figure, r.Rest.V))
		}
	}
	return s
}

func round3(v float64) float64 { return float64(int64(v*1000+0.5)) / 1000 }

// mixText says what of a change is the mix's, in words a reader can check.
func mixText(m *MixShift) string {
	s := fmt.Sprintf("%s: of a change of %s, %s come from a different mix of requests and %s from requests of the same kind",
		figureTitle(m.Figure), delta(m.Total), delta(m.Mix), delta(m.Within))
	if len(m.Moved) > 0 {
		x := m.Moved[0]
		s += fmt.Sprintf(" (%s went from %s to %s of the requests)", termsText(x.By), percent(round3(x.Before)), percent(round3(x.After)))
	}
	return s
}

func delta(v float64) string {
	if v < 0 {
		return "−" + seconds(-v)
	}
	return "+" + seconds(v)
}

// cautions are what to know before believing any of it.
func (c *comparing) cautions() {
	o := c.out
	keys, workload := o.settingsChanged()
	add := func(format string, a ...any) { o.Cautions = append(o.Cautions, fmt.Sprintf(format, a...)) }
	if o.SameFiles {
		return
	}
	if len(keys) > 1 {
		add("%d things were changed at once (%s): which of them caused a difference cannot be told", len(keys), strings.Join(keys, ", "))
	}
	if workload {
		add("the workload is not the same on both sides (%s): compare slices, not totals", strings.Join(c.workloadKeys(), ", "))
	}
	if len(keys) == 0 && !workload && len(c.called(verdict.Faster))+len(c.called(verdict.Slower)) > 0 {
		add("nothing that the files state was changed: what differs between the sides is not in them, so no cause can be named")
	}
	if c.otherHarness() {
		add("the sides were measured by different harnesses (%s and %s): only figures that mean the same in both are compared", orMissing(c.values(before, factHarness)), orMissing(c.values(after, factHarness)))
	}
	least := min(o.Sides[before].Repeats, o.Sides[after].Repeats)
	switch {
	case len(o.Pairs) == 0:
	case least < 2:
		add("one run a side: how much two runs of the same thing differ is not known, and has to be assumed; three repeats a side would tell")
	case least < 3:
		add("two runs a side give a weak test; take three or more")
	}
	if r := o.held(); r != nil {
		add("%s; what is called has to be more than that. Compare the part that is meant alone (--window), or see what happened in it (vreport report --incident)", c.unsteadyText(r))
	}
	if n := len(o.Unpaired); n > 0 {
		add("%s on one side only, listed below and not compared", plural(n, "run or trace is", "runs or traces are"))
	}
	c.disagreeing()
}

func (c *comparing) workloadKeys() []string {
	var out []string
	for _, x := range c.out.Changed {
		if x.Kind == ChangedWorkload {
			out = append(out, x.Key)
		}
	}
	return out
}

// disagreeing says where a figure was called although runs of the second side fall on
// both sides of the first one's mean: no direction is shared by all of them.
func (c *comparing) disagreeing() {
	for _, r := range c.out.Headline {
		if r.Call != verdict.Faster && r.Call != verdict.Slower || r.Figure.IsShare() || min(r.Runs[before], r.Runs[after]) < 2 {
			continue
		}
		if up, down := c.directions(r.Figure); up > 0 && down > 0 {
			c.out.Cautions = append(c.out.Cautions, fmt.Sprintf("%s: %s", figureTitle(r.Figure), c.directionText(up, down)))
		}
	}
}

package analyze

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A figure that decides does not stop deciding because a side no longer has it. The
// column that was renamed, the benchmark that no longer streams, the level at which
// nothing completed: each leaves fewer figures, and those that are left say nothing of
// the one that is gone.

// missing adds a row, undecided, for each figure that decides and could not be
// compared, and takes back what was called of one that a level has lost.
func (c *comparing) missing() {
	if c.out.SameFiles || len(c.out.Pairs)+len(c.out.Headline) == 0 {
		return // nothing changed, or nothing is compared, whatever the files lack
	}
	headline := c.headline()
	for _, f := range headline {
		r := rowOf(c.out.Headline, f)
		lost := c.lost(f)
		switch {
		case r == nil && (len(lost) > 0 || len(c.in.Opt.Headline) > 0 && !c.onlyLoad(f)):
			c.absent(f, lost)
		case r != nil && r.overLevels() && r.Call != verdict.Slower && len(lost) > 0:
			r.Why = fmt.Sprintf("%s; at the other levels it is %s", c.lostText(lost), r.Call)
			r.Call = verdict.Undecided
		}
	}
	slices.SortStableFunc(c.out.Headline, func(a, b *CompareRow) int {
		return cmp.Compare(slices.Index(headline, a.Figure), slices.Index(headline, b.Figure))
	})
}

// overLevels reports whether a row is of the paired runs and not of the engines'
// histograms, or of nothing.
func (r *CompareRow) overLevels() bool {
	return r.Method != verdict.ByBuckets && r.Method != verdict.NotCompared
}

// absent adds the row of a figure that nothing was compared of, and the caution that
// stands above the verdict of the others.
func (c *comparing) absent(f verdict.Figure, lost []loss) {
	var strata []verdict.Stratum
	for _, p := range c.out.Pairs {
		if comparable(f, p) {
			strata = append(strata, verdict.Stratum{Before: sample(p.units[before], f), After: sample(p.units[after], f)})
		}
	}
	why := c.lostText(lost)
	c.out.Headline = append(c.out.Headline, &CompareRow{Share: 1, Row: verdict.Absent(f, c.in.Opt.threshold(f), strata, why)})
	c.out.Cautions = append(c.out.Cautions, fmt.Sprintf("%s is one of the figures that decide, and is not compared: %s", figureTitle(f), why))
}

// A loss is a level at which a figure stands on a side and cannot be compared.
type loss struct{ why, level string }

// lost lists the levels at which a figure cannot be compared although a side has it.
// What neither side has is no loss.
func (c *comparing) lost(f verdict.Figure) []loss {
	var out []loss
	for _, p := range c.out.Pairs {
		if c.rateIsLoad(f, p) {
			continue
		}
		if why := c.lossAt(f, p); why != "" {
			out = append(out, loss{why, p.Label})
		}
	}
	if why := c.lossOfServers(f); why != "" && len(c.out.Pairs) == 0 {
		out = append(out, loss{why: why})
	}
	return out
}

// lossAt says why a figure cannot be compared at a level; "" where it can be, or
// where neither side has it.
func (c *comparing) lossAt(f verdict.Figure, p *Pair) string {
	if ms := meanings(f, p); len(ms) > 1 {
		return "it is measured in different ways (" + ms[0].text() + ", " + ms[1].text() + ")"
	}
	var has, usable [2]bool
	for side := range has {
		has[side], usable[side] = sample(p.units[side], f).Stands(f)
	}
	if !has[before] && !has[after] || usable[before] && usable[after] {
		return ""
	}
	return c.lossText(has, usable)
}

func (c *comparing) lossText(has, usable [2]bool) string {
	names := c.in.sides.Names
	switch {
	case !has[after]:
		return names[after] + " does not have it"
	case !has[before]:
		return names[before] + " does not have it"
	case !usable[before] && !usable[after]:
		return "both sides have it at 0, and there is no ratio to 0"
	case !usable[before]:
		return names[before] + " has it at 0, and there is no ratio to 0"
	}
	return names[after] + " has it at 0, and there is no ratio to 0"
}

// text says where a time was measured, and of ITL what lies between two gaps.
func (m meaning) text() string {
	s := string(m.side)
	if m.gaps != "" {
		s += ", by " + m.gaps
	}
	return s
}

// lossOfServers says which side's engines lack the histogram of a figure that the
// other side's have.
func (c *comparing) lossOfServers(f verdict.Figure) string {
	if has := c.histogramsOf(f); has[before] != has[after] && c.oneServer(before) != nil && c.oneServer(after) != nil {
		return c.lossText(has, has)
	}
	return ""
}

// serversHave reports whether the engines' histograms of both sides have a figure.
func (c *comparing) serversHave(f verdict.Figure) bool {
	return c.histogramsOf(f) == [2]bool{true, true}
}

// histogramsOf says which sides' engines have a histogram that a figure is a quantile of.
func (c *comparing) histogramsOf(f verdict.Figure) (has [2]bool) {
	q, ok := serving.QuantileOf(f.Stat)
	for side := range has {
		if s := c.oneServer(side); ok && s != nil {
			_, has[side] = s.bucketOf(f.Metric, q)
		}
	}
	return has
}

// onlyLoad reports whether a figure is a rate that says nothing but what was offered,
// at every level: that is no figure of the server, and cannot be missing.
func (c *comparing) onlyLoad(f verdict.Figure) bool {
	offered := 0
	for _, p := range c.out.Pairs {
		if p.Mode != "" && c.rateIsLoad(f, p) {
			offered++
		}
	}
	return offered > 0 && offered == len(c.out.Pairs)
}

// lostText is the reason, with the levels it is of where others are not lost.
func (c *comparing) lostText(lost []loss) string {
	if len(lost) == 0 {
		return "neither side has it"
	}
	first := lost[0]
	same := !slices.ContainsFunc(lost, func(l loss) bool { return l.why != first.why })
	if first.level == "" || same && len(lost) == len(c.out.Pairs) {
		return first.why
	}
	at := first.level
	if n := len(lost) - 1; n > 0 {
		at += fmt.Sprintf(" (and %s)", plural(n, "more level", "more levels"))
	}
	return fmt.Sprintf("at %s %s", at, first.why)
}

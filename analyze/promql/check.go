package promql

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	defaultLookback = 5 * time.Minute // Prometheus' own, where there is no interval to go by
	gapFactor       = 2.5             // intervals without a scrape that make a gap
	maxIntervals    = 200             // series whose intervals are looked at
	maxReads        = 1e9             // of subqueries in each other: the engine counts the product in 64 bits, and panics where that overflows
	maxSubquery     = 50_000          // steps of a subquery: the engine allocates for each before it counts samples, and nested ones multiply
)

// twoSamples are the functions that need two samples in their range; all others
// over a range make do with one.
var twoSamples = map[string]bool{
	"rate": true, "increase": true, "irate": true, "delta": true, "idelta": true, "deriv": true, "predict_linear": true,
	"double_exponential_smoothing": true,
}

// A checker looks at the selectors of an expression before it is evaluated. The
// engine answers a range that is too short with nothing at all.
type checker struct {
	db       *DB
	grid     grid
	warnings []string
	widest   int64                // ms: interval of the series whose latest value is taken
	found    map[string][]*series // by the text of a selector
	label    int                  // length of the longest label, once it was looked for
}

// lookback is how long a value is carried on: over one missed scrape, not over a
// gap.
func (c *checker) lookback() time.Duration {
	if c.widest == 0 {
		return defaultLookback
	}
	return ms(2 * c.widest)
}

func (c *checker) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if !slices.Contains(c.warnings, w) && len(c.warnings) < maxNotes {
		c.warnings = append(c.warnings, w)
	}
}

func (c *checker) check(ctx context.Context, tree parser.Expr) error {
	var ranges []rangeUse
	var refused error
	parser.Inspect(tree, func(n parser.Node, path []parser.Node) error {
		switch n := n.(type) {
		case *parser.SubqueryExpr:
			if err := c.checkSubquery(n, path); refused == nil {
				refused = err
			}
		case *parser.MatrixSelector:
			ranges = append(ranges, useOf(n, path))
		case *parser.VectorSelector:
			if ctx.Err() != nil {
				refused = context.Cause(ctx)
				return refused
			}
			found := c.selected(n)
			if len(found) == 0 {
				c.nothing(n)
			}
			if len(path) == 0 || !isRange(path[len(path)-1]) {
				c.widest = max(c.widest, widest(found))
			}
		}
		return nil
	})
	if refused != nil {
		return refused
	}
	if err := c.checkLabels(tree); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, r := range ranges {
		k := r.function + r.text
		if seen[k] {
			continue
		}
		seen[k] = true
		if err := c.checkRange(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// checkSubquery refuses subqueries of so many steps that they would fill memory
// before the engine's own limit is reached.
func (c *checker) checkSubquery(n *parser.SubqueryExpr, path []parser.Node) error {
	span := n.Range.Milliseconds() + c.grid.to - c.grid.from
	reads := windowSteps(n)
	for _, p := range path {
		if outer, ok := p.(*parser.SubqueryExpr); ok {
			span += outer.Range.Milliseconds()
			reads *= windowSteps(outer)
		}
	}
	if steps := span / stepOf(n); steps > maxSubquery {
		return fmt.Errorf("the subquery %s has %d steps, want at most %d: take a longer step or a shorter range", shown(n.String()), steps, maxSubquery)
	}
	if reads > maxReads {
		return fmt.Errorf("the subqueries around %s read %.0g samples of a series for one value, want at most %.0g: put fewer into each other", shown(n.Expr.String()), reads, float64(maxReads))
	}
	return nil
}

// stepOf is a subquery's step, ms.
func stepOf(n *parser.SubqueryExpr) int64 {
	if ms := n.Step.Milliseconds(); ms > 0 {
		return ms
	}
	return subqueryStep.Milliseconds()
}

// windowSteps is how many values a subquery makes for one of its function's.
func windowSteps(n *parser.SubqueryExpr) float64 {
	return max(float64(n.Range.Milliseconds()/stepOf(n)), 1)
}

func isRange(n parser.Node) bool { _, ok := n.(*parser.MatrixSelector); return ok }

// nothing warns of a selector without a series: a renamed metric must not look
// like one that is zero.
func (c *checker) nothing(n *parser.VectorSelector) {
	named := 0
	for _, s := range c.db.series {
		if n.Name != "" && s.labels.Get("__name__") == n.Name {
			named++
		}
	}
	if named > 0 {
		c.warn("no series fits %s, although %d are called %s: look at the labels", n.String(), named, n.Name)
		return
	}
	c.warn("no series fits %s", n.String())
}

// A rangeUse is a range selector and the function it is given to.
type rangeUse struct {
	sel      *parser.VectorSelector
	text     string
	length   int64 // ms
	function string
	need     int  // samples
	inside   bool // of a subquery, which has moments of its own
}

func useOf(m *parser.MatrixSelector, path []parser.Node) rangeUse {
	u := rangeUse{text: m.String(), length: m.Range.Milliseconds(), need: 1}
	u.sel, _ = m.VectorSelector.(*parser.VectorSelector)
	for i := len(path) - 1; i >= 0; i-- {
		switch n := path[i].(type) {
		case *parser.Call:
			if u.function == "" {
				u.function = n.Func.Name
			}
		case *parser.SubqueryExpr:
			u.inside = true
		}
	}
	if twoSamples[u.function] {
		u.need = 2
	}
	return u
}

// checkRange counts the moments at which a range holds too few samples. A range
// leaves out its first moment since Prometheus 3: [15s] over scrapes 15 s apart
// holds one sample. Gaps and the time before the second sample do not count:
// there no range would help.
func (c *checker) checkRange(ctx context.Context, u rangeUse) error {
	if u.sel == nil || u.sel.Anchored || u.sel.Smoothed || u.length <= 0 {
		return nil
	}
	found := c.selected(u.sel)
	if len(found) == 0 {
		return nil // told already
	}
	if u.need > 1 && !slices.ContainsFunc(found, func(s *series) bool { return len(s.t) > 1 }) {
		return fmt.Errorf("%s(%s) needs two samples, and no series has more than one: scrape at least twice", u.function, u.text)
	}
	interval := widest(found)
	g := c.moments(u)
	var all, short, wanted int64
	for _, s := range found {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a, sh, w := s.shortages(g, u, interval)
		all, short, wanted = all+a, short+sh, max(wanted, w)
	}
	if short == 0 {
		return nil
	}
	hold := "no sample"
	if u.need > 1 {
		hold = "fewer than two samples"
	}
	text := fmt.Sprintf("the range of %s holds %s at %d of %d points: scrapes are %s apart, and a range leaves out its first moment; the smallest range that works is [%s]",
		u.text, hold, short, all, window(ms(interval)), window(roundUp(wanted+1)))
	if short == all {
		return fmt.Errorf("%s", text)
	}
	c.warn("%s", text)
	return nil
}

// moments are when a selector looks at its series. Inside a subquery they are
// its steps, over the same stretch of time as far as the samples reach.
func (c *checker) moments(u rangeUse) grid {
	g := c.grid
	switch {
	case u.inside:
		return grid{c.db.from, c.db.to, max((c.db.to-c.db.from)/maxSteps, 1000)}
	case u.sel.Timestamp != nil:
		g = grid{*u.sel.Timestamp, *u.sel.Timestamp, 0}
	case u.sel.StartOrEnd == parser.START:
		g.to = g.from
	case u.sel.StartOrEnd == parser.END:
		g.from = g.to
	}
	off := u.sel.OriginalOffset.Milliseconds()
	return grid{g.from - off, g.to - off, g.step}
}

// shortages counts the moments inside the series, those at which the range holds
// too few samples, and how long before a moment the earliest needed sample lies.
func (s *series) shortages(g grid, u rangeUse, interval int64) (all, short, wanted int64) {
	k, gap := -1, int64(gapFactor*float64(max(interval, 1)))
	last := len(s.t) - 1
	for t := g.from; t <= g.to && t <= s.t[last]; t += max(g.step, 1) {
		for k < last && s.t[k+1] <= t {
			k++
		}
		first := k - u.need + 1
		if first < 0 || s.isStale(k) || s.isStale(first) || t-s.t[k] > gap || s.t[k]-s.t[first] > gap {
			continue
		}
		all++
		if back := t - s.t[first]; back >= u.length {
			short++
			wanted = max(wanted, back)
		}
		if g.step == 0 {
			break
		}
	}
	return all, short, wanted
}

// roundUp makes a range of whole seconds, as people write them; shorter ones
// stay as they are.
func roundUp(n int64) time.Duration {
	if n > 1000 {
		n = (n + 999) / 1000 * 1000
	}
	return ms(n)
}

// widest is the longest of the usual intervals of series, ms.
func widest(all []*series) int64 {
	var most int64
	step := max(len(all)/maxIntervals, 1)
	for i := 0; i < len(all); i += step {
		most = max(most, all[i].interval())
	}
	return most
}

// selected is DB.selected, once for selectors that are alike.
func (c *checker) selected(n *parser.VectorSelector) []*series {
	k := fmt.Sprint(n.LabelMatchers)
	found, ok := c.found[k]
	if !ok {
		found = c.db.selected(n.LabelMatchers)
		c.found[k] = found
	}
	return found
}

// selected returns the series that fit all matchers.
func (db *DB) selected(ms []*labels.Matcher) []*series {
	var out []*series
	for _, s := range db.series {
		if s.matches(ms) {
			out = append(out, s)
		}
	}
	return out
}

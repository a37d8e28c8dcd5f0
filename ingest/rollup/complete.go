package rollup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Each request is in one cell of every grouping, and so is each of its values. So
// all groupings have the same sums, whoever made the table, and where some have less
// rows were lost: a result was cut off, or copied in part. The cell in which it
// was cut has the least of its values alone, which looks like a fast slice.

// A tally is what the cells of one grouping have together.
type tally struct {
	dims  []string
	timed bool
	cells []*serving.RollupCell
	sent  int64
	n     map[serving.MetricKey]int64
	out   bool // a cell was left out: told already
}

// checkComplete tells of groupings with fewer requests or values than others, and
// leaves out the metrics of their cells that may be some of the values only. Of all
// cells some were left out before; short says that rows are known to be missing.
func (b *Builder) checkComplete(cells []*serving.RollupCell, short bool) {
	if b.mixed { // tables of different groupings: each has requests of its own
		return
	}
	all := b.tallies(cells)
	want := b.out.Rows
	for _, n := range b.out.Skipped {
		want -= n
	}
	if b.out.Rows == 0 {
		want = usual(all, func(t *tally) int64 { return t.sent })
	}
	at := serving.Pos{Path: b.path}
	for _, t := range all {
		if t.sent < want && !t.out {
			b.problem(at, colN, "the cells by %s have %d of %d requests: rows of the table are missing", t.name(), t.sent, want)
			short = true
		}
	}
	for _, m := range serving.Metrics {
		b.checkMetric(m.Key, all, short)
	}
}

// tallies adds up the cells by grouping.
func (b *Builder) tallies(cells []*serving.RollupCell) []*tally {
	var all []*tally
	by := map[string]*tally{}
	for _, g := range b.spec.Groupings {
		t := &tally{dims: g, timed: slices.Contains(g, serving.RollupTime), n: map[serving.MetricKey]int64{}}
		name := groupingName(g)
		if by[name] == nil {
			by[name] = t
			all = append(all, t)
		}
	}
	kept := make(map[*serving.RollupCell]bool, len(b.out.Cells))
	for _, c := range b.out.Cells {
		kept[c] = true
		t := by[grouping(c, b.spec)]
		if t == nil {
			continue
		}
		t.cells, t.sent = append(t.cells, c), serving.AddCounts(t.sent, c.Sent())
		for m := range c.Metrics {
			t.n[m] = serving.AddCounts(t.n[m], values(c, m))
		}
	}
	for _, c := range cells {
		if t := by[grouping(c, b.spec)]; t != nil && !kept[c] {
			t.out = true
		}
	}
	return all
}

// checkMetric holds the values of a metric in the groupings against each other.
func (b *Builder) checkMetric(m serving.MetricKey, all []*tally, short bool) {
	of := func(t *tally) int64 { return t.n[m] }
	want := usual(all, of)
	if want == 0 {
		return
	}
	agree := 0
	for _, t := range all {
		agree += b2i(of(t) == want)
	}
	for _, t := range all {
		n := of(t)
		switch {
		case t.out, t.timed && n == 0: // told, or not counted by time
		case n < want, short && agree < 2: // none says that these are all
			b.partly(m, t, want)
		}
	}
}

// partly leaves a metric out of those cells of a grouping that may lack some of its
// values: as many as requests completed are all, except of gaps.
func (b *Builder) partly(m serving.MetricKey, t *tally, want int64) {
	n, cells := t.n[m], 0
	for _, c := range t.cells {
		if h := c.Metrics[m]; len(h) > 0 && (m == serving.ITL || values(c, m) < c.Outcomes[serving.OK]) {
			delete(c.Metrics, m)
			cells++
		}
	}
	at := serving.Pos{Path: b.path}
	switch {
	case cells > 0:
		b.problem(at, colMetric, "the cells by %s have %d of %d values of %s: rows of the table are missing; it is left out where some may be", t.name(), n, want, m)
	case n < want:
		b.problem(at, colN, "the cells by %s have %d of %d values of %s: rows of the table are missing", t.name(), n, want, m)
	}
}

// usual is the figure that most groupings have, the greatest of those.
func usual(all []*tally, of func(*tally) int64) int64 {
	times := map[int64]int{}
	best := int64(0)
	for _, t := range all {
		n := of(t)
		if n == 0 {
			continue
		}
		times[n]++
		if k := times[n]; k > times[best] || k == times[best] && n > best {
			best = n
		}
	}
	return best
}

func values(c *serving.RollupCell, m serving.MetricKey) int64 {
	n := int64(0)
	for _, x := range c.Metrics[m] {
		n = serving.AddCounts(n, x.N)
	}
	return n
}

// name is what a problem calls the grouping.
func (t *tally) name() string {
	if len(t.dims) == 0 {
		return "nothing (all requests)"
	}
	return fmt.Sprintf("%.200q", t.dims)
}

// groupingName is the name of a grouping that grouping gives its cells.
func groupingName(dims []string) string {
	var names []string
	timed := false
	for _, d := range dims {
		if d == serving.RollupTime {
			timed = true
		} else {
			names = append(names, d)
		}
	}
	slices.Sort(names)
	if timed {
		names = append(names, serving.RollupTime)
	}
	return strings.Join(names, "\x00")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

package cube

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// FromRollup fills the cube of a plan from a rollup: its cells are sums of the
// rollup's, and what they say of values is read off the buckets, with the error
// of a bucket stated. A plan that asks for what the rollup was not made for (a
// window of arrival times) is an error; limits that were not counted when it was
// made are read off the buckets, too, and what a bucket leaves open is in
// Cell.Slack. There are no examples: the requests are gone.
func FromRollup(r *serving.Rollup, plan Plan) (*Cube, error) {
	if plan.Window != (Window{}) && WindowText(plan.Window) != r.Spec.Window {
		return nil, fmt.Errorf("the requests of a rollup cannot be told apart by time any more: pass --window to vreport rollup or vreport sql instead")
	}
	f := &rollFiller{rollup: r, plan: &plan}
	f.match()
	c := &Cube{Rows: r.Rows, Relative: r.Spec.Relative, Excluded: rollExcluded(r)}
	c.First, c.Last = spanTimes(r.Arrival)
	_, c.LastEnd = spanTimes(r.End)
	f.win = rollWindows(r)
	if f.win.n > 0 && slices.ContainsFunc(plan.Groupings, func(g Grouping) bool { return slices.Contains(g, DimTime) }) {
		c.Start, c.Step = serving.Some(f.win.start), f.win.step
	}
	for _, g := range plan.Groupings {
		group := f.group(g)
		c.Groups = append(c.Groups, group)
	}
	return c, nil
}

// WindowText writes a window of arrival times as a rollup's spec has it: ends in
// ns, "" for no limit.
func WindowText(w Window) string {
	if w == (Window{}) {
		return ""
	}
	return strconv.FormatInt(w.From, 10) + "/" + strconv.FormatInt(w.To, 10)
}

// SkippedReasons are the reasons for which rows are left out, as a rollup and as
// Exclusion names them.
var SkippedReasons = [numReasons]string{"warmup", "window", "no_time"}

func rollExcluded(r *serving.Rollup) []Exclusion {
	var out []Exclusion
	for i, k := range SkippedReasons {
		if n := r.Skipped[k]; n > 0 {
			out = append(out, Exclusion{reasons[i], n})
		}
	}
	return out
}

// maxMicros bounds the times that nanoseconds hold.
const maxMicros = math.MaxInt64 / 1000

func spanTimes(s serving.RollupSpan) (first, last serving.Opt[int64]) {
	if s.N == 0 || s.Least < -maxMicros || s.Most > maxMicros {
		return
	}
	return serving.Some(s.Least * 1000), serving.Some(s.Most * 1000)
}

// rollWindows chooses time windows that the rollup's own add up to: those that
// the requests themselves would be given, where the rollup's step divides
// theirs.
func rollWindows(r *serving.Rollup) windows {
	first, last, n := int64(0), int64(0), 0
	for _, c := range r.Cells {
		if at, ok := windowOf(c); ok {
			if n == 0 {
				first, last = at, at
			}
			first, last, n = min(first, at), max(last, at), n+1
		}
	}
	step := r.Spec.StepUS
	if n == 0 || step <= 0 || step > maxMicros/4 {
		return windows{}
	}
	step *= 1000
	for _, s := range steps {
		if s := int64(s); s%step == 0 {
			if w := windowsAt(first, last, s); w.n > 0 {
				w.relative = r.Spec.Relative
				return w
			}
		}
	}
	for ; step <= math.MaxInt64/4; step *= 2 {
		if w := windowsAt(first, last, step); w.n > 0 {
			w.relative = r.Spec.Relative
			return w
		}
	}
	return windows{}
}

// windowOf returns the start of a cell's time window, ns.
func windowOf(c *serving.RollupCell) (int64, bool) {
	us, err := strconv.ParseInt(c.Window, 10, 64)
	if err != nil || us < -maxMicros || us > maxMicros {
		return 0, false
	}
	return us * 1000, true
}

// A rollFiller makes the groups of one cube.
type rollFiller struct {
	rollup *serving.Rollup
	plan   *Plan
	win    windows
	cache  rankCache
	limits []int // by limit of the plan: the rollup's objective that counts it; -1 for none
}

// match finds the plan's limits among the rollup's.
func (f *rollFiller) match() {
	for _, l := range f.plan.Limits {
		f.limits = append(f.limits, slices.IndexFunc(f.rollup.Spec.SLOs, func(expr string) bool {
			s, err := serving.ParseSLO(expr)
			return err == nil && s.Metric == l.Metric && s.Limit == l.Max && slices.Equal(s.By, l.By)
		}))
	}
}

// A rolled is a cell in the making: rollup cells with the labels they get.
type rolled struct {
	key    []string
	window int
	of     []*serving.RollupCell
	sum    *serving.RollupCell
}

// group makes the cells of a grouping.
func (f *rollFiller) group(dims Grouping) Group {
	g := Group{Dims: dims}
	if len(dims) == 0 {
		cell := &serving.RollupCell{Within: make([]int64, len(f.rollup.Spec.SLOs)), Of: make([]int64, len(f.rollup.Spec.SLOs))}
		if of := f.cellsOf(dims); len(of) > 0 {
			cell = serving.SumRollupCells(of...)
		}
		g.Cells = []Cell{f.cell(dims, &rolled{window: -1, sum: cell})}
		return g
	}
	cells := f.rolled(dims)
	levels, folded := f.fold(dims, cells)
	if len(folded) > 0 {
		g.Folded = folded
	}
	made := map[string]*rolled{}
	var out []*rolled
	for _, c := range cells {
		key := make([]string, len(dims))
		for i, label := range c.key {
			key[i] = levels[i].label(label)
		}
		k := strings.Join(key, "\x00")
		have := made[k]
		if have == nil {
			have = &rolled{key: key, window: c.window}
			made[k] = have
			out = append(out, have)
		}
		have.of = append(have.of, c.of...)
	}
	slices.SortFunc(out, func(a, b *rolled) int {
		for i := range dims {
			if dims[i] == DimTime {
				// A window of -1, which has no time, comes last.
				if c := cmp.Compare(uint(a.window), uint(b.window)); c != 0 {
					return c
				}
				continue
			}
			if c := cmp.Compare(levels[i].rank[a.key[i]], levels[i].rank[b.key[i]]); c != 0 {
				return c
			}
		}
		return 0
	})
	for _, c := range out {
		c.sum = serving.SumRollupCells(c.of...)
		g.Cells = append(g.Cells, f.cell(dims, c))
	}
	return g
}

// cellsOf returns the rollup's cells to add up for a grouping: those of the
// grouping itself, or of the smallest that splits it further.
func (f *rollFiller) cellsOf(dims Grouping) []*serving.RollupCell {
	var best []string
	found := false
	for _, g := range f.rollup.Spec.Groupings {
		if slices.Contains(g, DimTime) != slices.Contains(dims, DimTime) || !containsAll(g, dims) {
			continue
		}
		if !found || len(g) < len(best) {
			best, found = g, true
		}
	}
	if !found {
		return nil
	}
	in := make([]bool, len(f.rollup.Spec.Dims))
	for i, d := range f.rollup.Spec.Dims {
		in[i] = slices.Contains(best, d)
	}
	timed := slices.Contains(best, DimTime)
	var out []*serving.RollupCell
	for _, c := range f.rollup.Cells {
		if timed == (c.Window != "") && !slices.ContainsFunc(indexes(len(in)), func(i int) bool { return in[i] != (c.By[i] != "") }) {
			out = append(out, c)
		}
	}
	return out
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func containsAll(list, wanted []string) bool {
	return !slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(list, w) })
}

// HasRollup reports whether a rollup can be split by dimensions.
func HasRollup(r *serving.Rollup, dims ...string) bool {
	return slices.ContainsFunc(r.Spec.Groupings, func(g []string) bool {
		return slices.Contains(g, DimTime) == slices.Contains(dims, DimTime) && containsAll(g, dims)
	})
}

// rolled returns the cells of a grouping with their labels, nothing folded.
func (f *rollFiller) rolled(dims Grouping) []*rolled {
	at := make([]int, len(dims))
	for i, d := range dims {
		at[i] = slices.Index(f.rollup.Spec.Dims, d)
	}
	var out []*rolled
	for _, c := range f.cellsOf(dims) {
		x := &rolled{key: make([]string, len(dims)), window: -1, of: []*serving.RollupCell{c}}
		for i, d := range dims {
			x.key[i] = Unknown
			if d == DimTime {
				if t, ok := windowOf(c); ok && f.win.n > 0 {
					x.window = int(f.win.of(t))
					x.key[i] = f.win.label(x.window)
				}
			} else if at[i] >= 0 {
				x.key[i] = c.By[at[i]]
			}
		}
		out = append(out, x)
	}
	return out
}

// rollLevels are the labels of one dimension, in order.
type rollLevels struct {
	rank map[string]int // of labels that stand for themselves, Unknown and Other
}

func (l *rollLevels) label(s string) string {
	if _, ok := l.rank[s]; ok {
		return s
	}
	return Other
}

// fold chooses which labels stand for themselves, as the scan of requests does:
// the most frequent, ties by name; where the combinations are still too many, the
// dimension with the most labels is halved until they fit.
func (f *rollFiller) fold(dims Grouping, cells []*rolled) ([]rollLevels, map[string]int) {
	limit := keepOf(f.plan)
	keep := make([]int, len(dims))
	lv := make([]rollLevels, len(dims))
	folded := map[string]int{}
	set := func(i, n int) {
		keep[i] = n
		k := 0
		if lv[i], k = f.levels(dims[i], i, cells, n); k > 0 {
			folded[dims[i]] = k
		}
	}
	for i := range dims {
		set(i, limit)
	}
	for f.combinations(dims, lv, cells) > limit {
		widest := -1
		for i, d := range dims {
			if n := len(lv[i].rank); f.folds(d) && keep[i] > 1 && n > 2 && (widest < 0 || n > len(lv[widest].rank)) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		set(widest, min(keep[widest], len(lv[widest].rank))/2)
	}
	return lv, folded
}

// combinations counts the combinations of labels, time windows apart.
func (f *rollFiller) combinations(dims Grouping, lv []rollLevels, cells []*rolled) int {
	seen := map[string]struct{}{}
	var b strings.Builder
	for _, c := range cells {
		b.Reset()
		for i, d := range dims {
			if d != DimTime {
				b.WriteString(lv[i].label(c.key[i]))
				b.WriteByte(0)
			}
		}
		seen[b.String()] = struct{}{}
	}
	return len(seen)
}

// folds reports whether a dimension may have any number of values.
func (f *rollFiller) folds(dim string) bool {
	_, bucketed := f.rollup.Spec.Buckets[dim]
	return dim != DimTime && dim != DimCache && !bucketed
}

func (f *rollFiller) levels(dim string, i int, cells []*rolled, keep int) (rollLevels, int) {
	rows := map[string]int64{}
	for _, c := range cells {
		rows[c.key[i]] += c.of[0].Sent()
	}
	var known []string
	for l := range rows {
		if l != Unknown && l != Other {
			known = append(known, l)
		}
	}
	folded := 0
	if f.folds(dim) && len(known) > keep {
		slices.SortFunc(known, func(a, b string) int {
			return cmp.Or(cmp.Compare(rows[b], rows[a]), strings.Compare(a, b))
		})
		folded = len(known) - keep
		known = known[:keep]
	}
	slices.SortFunc(known, f.order(dim))
	out := rollLevels{rank: map[string]int{}}
	for _, l := range known {
		out.rank[l] = len(out.rank)
	}
	out.rank[Unknown] = len(out.rank)
	out.rank[Other] = len(out.rank)
	return out, folded
}

// order compares the labels of a dimension: buckets by their bounds, cache
// states by how much was cached, counts as numbers, the rest by name.
func (f *rollFiller) order(dim string) func(a, b string) int {
	number := func(s string) float64 {
		if i := strings.IndexAny(s, "-+"); i > 0 {
			s = s[:i]
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return math.Inf(1)
		}
		return v
	}
	m, isMetric := serving.MetricOf(serving.MetricKey(dim))
	switch _, bucketed := f.rollup.Spec.Buckets[dim]; {
	case dim == DimCache:
		return func(a, b string) int {
			return cmp.Or(cmp.Compare(slices.Index(cacheStates, a), slices.Index(cacheStates, b)), strings.Compare(a, b))
		}
	case bucketed || isMetric && m.Unit == serving.Tokens || dim == serving.ColPreempt:
		return func(a, b string) int { return cmp.Or(cmp.Compare(number(a), number(b)), strings.Compare(a, b)) }
	}
	return strings.Compare
}

// StepOf returns the length of the time windows, ns, that requests of such
// arrival times are given.
func StepOf(first, last int64) int64 {
	w := windowsOf(first, last, false)
	return w.step
}

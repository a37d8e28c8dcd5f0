package prom

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A slotKey is one figure of a server: what it is called and, of a split
// family, which part.
type slotKey struct {
	kind kind
	as   string
	dim  string
	by   string
}

// A slot collects a figure from the families it may come under, best first.
type slot struct {
	unit   serving.Unit
	over   over // of parts, how they make the whole
	levels []*level
}

// A level is what one family says of a figure.
type level struct {
	prefer   int
	family   string
	others   []string // further families it is the sum of
	selector []serving.Term
	value    tally     // of gauges and counters; a histogram's count
	sum      tally     // of a histogram
	bounds   []float64 // ascending
	buckets  map[float64]*tally
}

// A tally is one number a scrape, made of one or several series.
type tally struct {
	v []float64 // NaN where no series had it
	n []int32   // how many series it is made of
}

func newTally(n int) tally { return tally{nans(n), make([]int32, n)} }

func nans(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

func (t *tally) add(i int, v float64) {
	if t.n[i]++; t.n[i] == 1 {
		t.v[i] = v
	} else {
		t.v[i] += v
	}
}

// max is for gauges: processes behind one address report the same level, and
// shares do not add up.
func (t *tally) max(i int, v float64) {
	if t.n[i]++; !(t.v[i] >= v) {
		t.v[i] = v
	}
}

// A room bounds the memory of an assembly: numbers that are still to be had,
// one a series and scrape. A label with a new value in every scrape (a request
// id) would fill any memory.
type room struct {
	left    int
	lost    map[string]bool // families that did not fit, at most a few
	crowded map[string]bool // families with too many parts or buckets, at most a few
	parts   map[partOf]int  // how many parts a figure has
}

type partOf struct {
	e       *engine
	as, dim string
}

const (
	maxNumbers = 32 << 20 // 12 bytes each
	maxEngines = 512      // behind one endpoint
	maxParts   = 4096     // of one figure: finish reasons, HTTP handlers and statuses, GPUs
	maxBounds  = 4096     // of one histogram
)

func newRoom() *room {
	return &room{left: maxNumbers, lost: map[string]bool{}, crowded: map[string]bool{}, parts: map[partOf]int{}}
}

// part makes room for one more part of a figure. A figure of a million parts
// tells nobody anything, and its whole is counted all the same where it has one.
func (r *room) part(e *engine, k slotKey, se *series) bool {
	p := partOf{e, k.as, k.dim}
	if r.parts[p] >= maxParts {
		r.crowd(se)
		return false
	}
	r.parts[p]++
	return true
}

// crowd notes a family whose parts or buckets are too many.
func (r *room) crowd(se *series) {
	if len(r.crowded) < 3 {
		r.crowded[se.family] = true
	}
}

func (r *room) take(n int, se *series) bool {
	if r.left < n {
		if len(r.lost) < 3 {
			r.lost[se.family] = true
		}
		return false
	}
	r.left -= n
	return true
}

// targets returns where the samples of a series go in its engine; nowhere where
// there is no room left.
func (e *engine) targets(at int, se *series, n int) []target {
	r := se.row
	key := slotKey{kind: r.kind, as: r.as}
	sel := se.selector
	if r.dim != "" {
		key.dim, key.by = r.dim, se.by
		if se.byLabel != "" {
			sel = append(slices.Clone(sel), serving.Term{Dim: se.byLabel, Value: se.by})
		}
	}
	l := e.level(key, se, sel, n)
	switch {
	case l == nil && r.kind == counter && r.whole: // of a part beyond maxParts
		if w := e.level(slotKey{kind: r.kind, as: r.as}, se, se.selector, n); w != nil {
			return []target{{at, w.value.add}}
		}
		return nil
	case l == nil:
		return nil
	case r.kind == gauge && r.sum:
		return []target{{at, measured(r, l.value.add)}}
	case r.kind == gauge:
		return []target{{at, measured(r, l.value.max)}}
	case r.kind == counter && r.whole:
		w := e.level(slotKey{kind: r.kind, as: r.as}, se, se.selector, n)
		if w == nil {
			return nil
		}
		return []target{{at, l.value.add}, {at, w.value.add}}
	case r.kind == counter:
		return []target{{at, measured(r, l.value.add)}}
	case se.part == partCount:
		return []target{{at, l.value.add}}
	case se.part == partSum:
		return []target{{at, measured(r, l.sum.add)}}
	}
	if b := l.bucket(e.room, se, n); b != nil {
		return []target{{at, b.add}}
	}
	return nil
}

// measured converts values on their way; what is no measurement is not put.
func measured(r *row, put func(int, float64)) func(int, float64) {
	if r.max == 0 && r.scale == 0 {
		return put
	}
	return func(t int, v float64) {
		if v = r.value(v); !math.IsNaN(v) {
			put(t, v)
		}
	}
}

func (e *engine) level(key slotKey, se *series, sel []serving.Term, n int) *level {
	sl := e.slots[key]
	if sl != nil {
		for _, l := range sl.levels {
			if l.prefer == se.row.prefer {
				l.selector = shared(l.selector, sel)
				l.add(se.family)
				return l
			}
		}
	}
	if sl == nil && key.by != "" && !e.room.part(e, key, se) || !e.room.take(2*n, se) {
		return nil
	}
	if sl == nil {
		sl = &slot{unit: se.row.unit, over: se.row.over}
		e.slots[key] = sl
		e.keys = append(e.keys, key)
	}
	l := &level{prefer: se.row.prefer, family: se.family, selector: sel, value: newTally(n)}
	if key.kind == histogram {
		l.sum, l.buckets = newTally(n), map[float64]*tally{}
	}
	sl.levels = append(sl.levels, l)
	slices.SortFunc(sl.levels, func(a, b *level) int { return cmp.Compare(a.prefer, b.prefer) })
	return l
}

// add notes that a level is made of a family too.
func (l *level) add(family string) {
	if family == l.family || slices.Contains(l.others, family) {
		return
	}
	if family < l.family {
		l.family, family = family, l.family
	}
	if len(l.others) < 8 {
		l.others = append(l.others, family)
	}
}

// query selects the level's series, of all families it is made of.
func (l *level) query() string {
	if len(l.others) == 0 {
		return selector(l.family, l.selector)
	}
	names := append([]string{l.family}, l.others...)
	slices.Sort(names)
	return multiSelector(names, l.selector)
}

// shared keeps the terms that two selectors have in common.
func shared(a, b []serving.Term) []serving.Term {
	if slices.Equal(a, b) {
		return a
	}
	return slices.DeleteFunc(slices.Clone(a), func(t serving.Term) bool { return !slices.Contains(b, t) })
}

func (l *level) bucket(r *room, se *series, n int) *tally {
	bound := se.bound
	t := l.buckets[bound]
	if t == nil {
		if len(l.buckets) >= maxBounds {
			r.crowd(se)
			return nil
		}
		if !r.take(n, se) {
			return nil
		}
		nt := newTally(n)
		t = &nt
		l.buckets[bound] = t
		at, _ := slices.BinarySearch(l.bounds, bound)
		l.bounds = slices.Insert(l.bounds, at, bound)
	}
	return t
}

// has reports whether a histogram's level says anything of scrape t.
func (l *level) has(t int) bool {
	if l.value.n[t] > 0 || l.sum.n[t] > 0 {
		return true
	}
	for _, b := range l.buckets {
		if b.n[t] > 0 {
			return true
		}
	}
	return false
}

// incomplete blanks sums that lack a series which the scrape before had, where
// the scrape is known to be damaged: the sum without it would look like a
// restart.
func (t *tally) incomplete(st *stream) {
	for i := 1; i < len(t.v); i++ {
		if st.scrapes[i].Damaged && t.n[i] > 0 && t.n[i] < t.n[i-1] {
			t.v[i] = math.NaN()
			t.n[i] = t.n[i-1]
		}
	}
}

// restarts says for each scrape whether the process began anew since the one
// before: its start time moved, or, where that is unknown, counters fell.
// Single series can fall without a restart (vLLM has observed negative times),
// so half of those that had counted must.
func (e *engine) restarts(st *stream) []bool {
	n := len(st.scrapes)
	out := make([]bool, n)
	var counts []*tally
	for _, k := range e.keys {
		for _, l := range e.slots[k].levels {
			if k.kind == counter || k.kind == histogram {
				l.value.incomplete(st)
				counts = append(counts, &l.value)
			}
			for _, b := range l.buckets {
				b.incomplete(st)
			}
			if k.kind == histogram {
				l.sum.incomplete(st)
			}
		}
	}
	last, lastStart := make([]float64, len(counts)), math.NaN()
	for i := range last {
		last[i] = math.NaN()
	}
	for t := range n {
		moved, fell := 0, 0
		for i, c := range counts {
			v := c.v[t]
			if math.IsNaN(v) {
				continue
			}
			if last[i] > 0 {
				moved++
				if v < last[i] {
					fell++
				}
			}
			last[i] = v
		}
		start := e.start[t]
		out[t] = t > 0 && (fell > 0 && 2*fell >= moved || !math.IsNaN(start) && !math.IsNaN(lastStart) && !sameStart(start, lastStart))
		if !math.IsNaN(start) {
			lastStart = start
		}
	}
	return out
}

// A builder fills a server's series from an engine's slots.
type builder struct {
	e       *engine
	st      *stream
	s       *serving.Server
	ps      *serving.Problems
	restart []bool

	families map[slotKey][]bool // by figure and dimension
	split    []split            // parts of gauges that make a whole
}

func (b *builder) build() {
	for t, r := range b.restart {
		if r {
			b.s.Restarts = append(b.s.Restarts, b.st.times[t])
		}
	}
	keys := slices.Clone(b.e.keys)
	slices.SortStableFunc(keys, func(x, y slotKey) int {
		return cmp.Or(cmp.Compare(orderOf(x.as), orderOf(y.as)), cmp.Compare(x.as, y.as), cmp.Compare(x.dim, y.dim), natural(x.by, y.by))
	})
	for _, k := range keys {
		sl := b.e.slots[k]
		switch k.kind {
		case gauge:
			b.gauge(k, sl)
		case counter:
			b.counter(k, sl)
		case histogram:
			b.histogram(k, sl)
		}
	}
	b.derive()
}

// rowOrder is the order of figures: that of the table.
var rowOrder = func() map[string]int {
	m := map[string]int{}
	for i, r := range rows {
		if _, ok := m[r.as]; !ok {
			m[r.as] = i
		}
	}
	return m
}()

// orderOf puts figures that are in no row behind the others.
func orderOf(as string) int {
	if i, ok := rowOrder[as]; ok {
		return i
	}
	return len(rows)
}

// best takes each scrape's value from the newest name it has.
func (sl *slot) best(n int) []float64 {
	v := sl.levels[0].value.v
	for _, l := range sl.levels[1:] {
		for t := range n {
			if math.IsNaN(v[t]) {
				v[t] = l.value.v[t]
			}
		}
	}
	return v
}

func (k slotKey) terms() []serving.Term {
	if k.by == "" {
		return nil
	}
	return []serving.Term{{Dim: k.dim, Value: k.by}}
}

func (b *builder) gauge(k slotKey, sl *slot) {
	g := serving.Gauge{Name: serving.SeriesName(k.as), By: k.terms(), Unit: sl.unit, From: sl.levels[0].family,
		PromQL: sl.levels[0].query(), Values: sl.best(len(b.st.scrapes))}
	if sl.unit == serving.Share {
		b.shares(&g)
	}
	if sl.over != overNothing && k.by != "" {
		b.parts(sl.over, g)
		return
	}
	if hasAny(g.Values) {
		b.s.Gauges = append(b.s.Gauges, g)
	}
}

func hasAny(v []float64) bool {
	return slices.ContainsFunc(v, func(x float64) bool { return !math.IsNaN(x) })
}

// shares blanks values that are no share. vLLM's hit rate is −1 while there is
// no data; a percentage would be read a hundred times too high.
func (b *builder) shares(g *serving.Gauge) {
	const rounding = 1e-9
	first, bad := -1, 0
	var found float64
	for t, v := range g.Values {
		switch {
		case v == -1:
			g.Values[t] = math.NaN()
		case v < 0 || v > 1+rounding:
			if bad++; first < 0 {
				first, found = t, v
			}
			g.Values[t] = math.NaN()
		}
	}
	if bad > 0 {
		f := b.st.scrapes[first]
		b.ps.Add(serving.Problem{
			At: serving.Pos{Path: f.Path, Line: f.Line, Field: g.From}, Count: bad,
			Message: fmt.Sprintf("%v is no share, want 0…1; the value is left out", found),
		})
	}
}

func (b *builder) counter(k slotKey, sl *slot) {
	c := serving.Counter{Name: serving.SeriesName(k.as), By: k.terms(), Unit: sl.unit, From: sl.levels[0].family,
		PromQL: sl.levels[0].query(), Values: sl.best(len(b.st.scrapes))}
	if k.by != "" {
		b.fromZero(k, c.Values)
	}
	if hasAny(c.Values) {
		b.s.Counters = append(b.s.Counters, c)
	}
}

// fromZero completes a split counter before its first value. Exporters make the
// series of a label value when they first count it (the first 5xx), so as long
// as the process was the same and the family was there, it stood at zero.
func (b *builder) fromZero(k slotKey, v []float64) {
	first := slices.IndexFunc(v, func(x float64) bool { return !math.IsNaN(x) })
	there := b.family(k)
	for t := first - 1; t >= 0; t-- {
		if b.restart[t+1] || b.st.scrapes[t].Damaged || !there[t] {
			return
		}
		v[t] = 0
	}
}

// family says in which scrapes any part of a split family is.
func (b *builder) family(k slotKey) []bool {
	k.by = ""
	if there := b.families[k]; there != nil {
		return there
	}
	there := make([]bool, len(b.st.scrapes))
	for other, sl := range b.e.slots {
		if other.by == "" {
			continue
		}
		if other.by = ""; other == k {
			for _, l := range sl.levels {
				for t, n := range l.value.n {
					there[t] = there[t] || n > 0
				}
			}
		}
	}
	if b.families == nil {
		b.families = map[slotKey][]bool{}
	}
	b.families[k] = there
	return there
}

func (b *builder) histogram(k slotKey, sl *slot) {
	n := len(b.st.scrapes)
	newest := sl.levels[0]
	h := serving.HistogramSeries{Metric: serving.MetricKey(k.as), From: newest.family, Unit: sl.unit,
		PromQL: selector(newest.family+"_bucket", newest.selector), Counts: make([][]float64, n), Sum: nans(n), Count: nans(n)}
	from := make([]*level, n) // the family each scrape is read from
	for t := range n {
		for _, l := range sl.levels {
			if l.has(t) {
				from[t] = l
				h.Sum[t], h.Count[t] = l.sum.v[t], l.value.v[t]
				break
			}
		}
	}
	h.Bounds = b.bounds(k, from)
	flat := make([]float64, n*len(h.Bounds))
	for t, l := range from {
		if l == nil || len(h.Bounds) == 0 {
			continue
		}
		row := flat[t*len(h.Bounds) : (t+1)*len(h.Bounds) : (t+1)*len(h.Bounds)]
		if l.row(t, h.Bounds, row) {
			h.Counts[t] = row
		}
	}
	b.s.Histograms = append(b.s.Histograms, h)
}

// row fills in the cumulative counts of scrape t, NaN where a bucket is missing.
// The +Inf bucket and _count are the same number, so either stands in for the
// other. It reports false where the scrape has no bucket at all.
func (l *level) row(t int, bounds, row []float64) bool {
	any := false
	for i, bound := range bounds {
		row[i] = math.NaN()
		if b := l.buckets[bound]; b != nil && b.n[t] > 0 {
			row[i], any = b.v[t], true
		}
		if math.IsInf(bound, +1) && math.IsNaN(row[i]) {
			row[i] = l.value.v[t]
		}
	}
	return any
}

// bounds returns the bounds that can be followed over all scrapes. A bucket that
// one damaged scrape lost is still followed; but where a restart brought another
// version with other buckets, only those of both are left, since differences
// over the others would mean nothing.
func (b *builder) bounds(k slotKey, from []*level) []float64 {
	var all []float64
	seen := map[float64]int{} // bound → epochs that have it
	epochs := 0
	for t := 0; t < len(from); {
		end := t + 1
		for end < len(from) && !b.restart[end] {
			end++
		}
		epoch := map[float64]bool{}
		counted := false
		for ; t < end; t++ {
			if from[t] == nil {
				continue
			}
			counted = counted || from[t].value.n[t] > 0
			for bound, tl := range from[t].buckets {
				if tl.n[t] > 0 {
					epoch[bound] = true
				}
			}
		}
		if len(epoch) == 0 {
			continue
		}
		if counted {
			epoch[math.Inf(+1)] = true
		}
		epochs++
		for bound := range epoch {
			if seen[bound]++; seen[bound] == 1 {
				all = append(all, bound)
			}
		}
	}
	slices.Sort(all)
	common := slices.DeleteFunc(slices.Clone(all), func(x float64) bool { return seen[x] < epochs })
	if lost := len(all) - len(common); lost > 0 {
		f := b.st.scrapes[0]
		b.ps.Add(serving.Problem{
			At:      serving.Pos{Path: f.Path, Field: k.as},
			Message: fmt.Sprintf("the buckets of %s changed at a restart; the %d bounds that all scrapes have are used, %d are left out", k.as, len(common), lost),
		})
	}
	return common
}

package cube

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// A finisher turns leaves into cells.
type finisher struct {
	*scanner
	plan   *Plan
	views  []view
	stocks []*stock
	cube   *Cube
	win    *windows
	kept   *keptSlots // nil where the first scan kept none

	members [][][]uint32 // by view and cell: its leaves
	pending [][]*pending // by metric
	cache   rankCache
}

// A pending summary lacks the values at some ranks.
type pending struct {
	stock   *stock
	leaves  []uint32
	whole   bool // whole numbers
	summary *Summary
	wants   []want
}

// A want is a rank whose value is to be found, in a bucket.
type want struct {
	rank   int64 // 0-based, in the cell
	bucket uint16
	offset int64  // 0-based, in the bucket, or the range of it
	key    uint64 // of the range, where the hold is counted
	value  float64
	known  bool
}

// cells builds the cells with their counts.
func (f *finisher) cells() {
	limits := len(f.lay.limits)
	f.cube.Groups = make([]Group, len(f.views))
	f.members = make([][][]uint32, len(f.views))
	for g := range f.views {
		v := &f.views[g]
		group := &f.cube.Groups[g]
		group.Dims = v.dims
		for _, a := range v.axes {
			if a.lv.folded > 0 {
				if group.Folded == nil {
					group.Folded = map[string]int{}
				}
				group.Folded[f.lay.dims[a.dim].name] = a.lv.folded
			}
		}
		s := f.stocks[v.family]
		at := map[uint64][]uint32{}
		for i, k := range s.table.keys {
			key := v.key(s.f, k)
			at[key] = append(at[key], uint32(i))
		}
		if len(v.dims) == 0 && len(at) == 0 {
			at[0] = nil
		}
		keys := make([]uint64, 0, len(at))
		for k := range at {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			leaves := at[k]
			slices.SortFunc(leaves, func(a, b uint32) int { return cmp.Compare(s.table.keys[a], s.table.keys[b]) })
			f.members[g] = append(f.members[g], leaves)
			c := Cell{Key: make([]string, len(v.dims)), Window: -1, Summaries: map[serving.MetricKey]*Summary{}}
			for i, l := range v.levels(k) {
				lv := v.axes[i].lv.list[l]
				c.Key[i] = lv.label
				if v.dims[i] == DimTime {
					c.Window = int(lv.code)
				}
			}
			if limits > 0 {
				c.Within, c.Of = make([]int64, limits), make([]int64, limits)
			}
			for _, leaf := range leaves {
				c.add(s, leaf, limits)
			}
			group.Cells = append(group.Cells, c)
		}
	}
}

func (c *Cell) add(s *stock, leaf uint32, limits int) {
	k := &s.counts[leaf]
	c.Sent += k.sent
	for o, n := range k.outcomes {
		c.Outcomes[o] += n
	}
	c.Good += k.good
	c.Input += k.input
	c.Output += k.output
	c.Cached += k.cached
	c.CachedOf += k.cachedOf
	for l := range limits {
		c.Within[l] += s.within[int(leaf)*limits+l]
		c.Of[l] += s.of[int(leaf)*limits+l]
	}
}

// ranks describes each cell as far as the leaves tell, and lists the ranks whose
// values they do not. What else there is to do in the meantime is begun first.
func (f *finisher) ranks(ctx context.Context, besides ...func()) error {
	f.pending = make([][]*pending, len(f.lay.metrics))
	done := make([][][]*Summary, len(f.lay.metrics))
	err := each(ctx, f.workers, len(besides)+len(f.lay.metrics), func() func(int) {
		r := &ranker{f: f}
		return func(i int) {
			if i < len(besides) {
				besides[i]()
			} else if m := i - len(besides); f.lay.metrics[m].shown {
				done[m] = r.metric(m)
			}
		}
	})
	if err != nil {
		return err
	}
	for m := range done {
		for g := range done[m] {
			for c, sum := range done[m][g] {
				if sum != nil {
					f.cube.Groups[g].Cells[c].Summaries[f.lay.metrics[m].key] = sum
				}
			}
		}
	}
	return nil
}

// A ranker describes the cells of one metric after the other, on one goroutine.
type ranker struct {
	f      *finisher
	counts []int64 // by bucket, of a cell
	pages  []bool  // which pages of counts are used
	bins   []bin   // the same, of the buckets that have values
	values []float64
	ranks  []int64 // scratch of grid
	wants  []want
}

// A bin is a bucket of a cell that has values, and how many are in those before.
type bin struct {
	bucket    uint16
	before, n int64
}

func (r *ranker) metric(m int) [][]*Summary {
	f := r.f
	out := make([][]*Summary, len(f.views))
	for g := range f.views {
		s := f.stocks[f.views[g].family]
		out[g] = make([]*Summary, len(f.members[g]))
		if !s.f.shown[m] || f.views[g].explore {
			continue
		}
		for c, leaves := range f.members[g] {
			out[g][c] = r.cell(m, s, leaves)
		}
	}
	return out
}

// cell describes the values of a cell.
func (r *ranker) cell(m int, s *stock, leaves []uint32) *Summary {
	f := r.f
	sum := &Summary{Min: math.Inf(1), Max: math.Inf(-1)}
	var total sums
	for _, leaf := range leaves {
		a := &s.accs[m][leaf]
		if a.n == 0 {
			continue
		}
		sum.N += a.n
		sum.Min, sum.Max = min(sum.Min, a.min), max(sum.Max, a.max)
		total.merge(&a.sums)
	}
	if sum.N == 0 {
		return nil
	}
	sum.Mean, sum.Std = total.moments(sum.N, unitOf(&f.lay.metrics[m]))
	p := &pending{stock: s, leaves: leaves, summary: sum, whole: f.lay.metrics[m].kind == serving.KindCount}
	p.list(f)
	cdf := f.plan.CDF && !s.f.timed
	if sum.N <= int64(s.f.raw) {
		r.values = r.values[:0]
		for _, leaf := range leaves {
			r.values = append(r.values, s.accs[m][leaf].raw...)
		}
		slices.Sort(r.values)
		for i := range p.wants {
			p.wants[i].value = r.values[p.wants[i].rank]
		}
		if cdf {
			sum.CDF = make([]float64, len(CDFGrid))
			for i, q := range CDFGrid {
				sum.CDF[i] = stat.Quantile(r.values, q)
			}
		}
		p.settle(f)
		return sum
	}
	r.add(m, s, leaves)
	r.list()
	if cdf {
		sum.CDF = r.grid(p)
	}
	open := r.find(p)
	if f.plan.NoExact {
		r.guess(p)
		sum.Error = math.Ldexp(1, -int(s.f.scale.s))
		open = false
	}
	if open {
		f.pending[m] = append(f.pending[m], p)
	} else {
		p.settle(f)
	}
	return sum
}

// list lists the ranks that the cell's quantiles and their intervals need, in
// ascending order.
func (p *pending) list(f *finisher) {
	var ranks []int64
	n := p.summary.N
	intervals := f.intervals(p.stock)
	var ci []stat.Ranks
	if intervals {
		ci = f.cache.get(n, f.plan)
	}
	for i, q := range f.quantiles(p.stock) {
		j, g := rank7(n, q)
		ranks = append(ranks, j)
		if g > 0 {
			ranks = append(ranks, j+1)
		}
		if intervals && ci[i].HasLo() {
			ranks = append(ranks, ci[i].Lo-1)
		}
		if intervals && ci[i].HasHi() {
			ranks = append(ranks, ci[i].Hi-1)
		}
	}
	if !p.stock.f.extremes {
		ranks = append(ranks, 0, n-1)
	}
	p.want(ranks)
}

func (p *pending) want(ranks []int64) {
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	p.wants = slices.Grow(p.wants, len(ranks))
	for _, k := range ranks {
		p.wants = append(p.wants, want{rank: k})
	}
}

// at returns the value at a wanted rank.
func (p *pending) at(rank int64) float64 {
	i, _ := slices.BinarySearchFunc(p.wants, rank, func(w want, r int64) int { return cmp.Compare(w.rank, r) })
	return p.wants[i].value
}

// quantile returns a type 7 quantile whose ranks were wanted.
func (p *pending) quantile(q float64) float64 {
	j, g := rank7(p.summary.N, q)
	if g > 0 {
		return stat.Between(p.at(j), p.at(j+1), g)
	}
	return p.at(j)
}

// quantiles are those that the cells of a family report.
func (f *finisher) quantiles(s *stock) []float64 {
	if s.f.timed && f.plan.Windowed != nil {
		return f.plan.Windowed.Quantiles
	}
	return f.plan.Quantiles
}

func (f *finisher) intervals(s *stock) bool { return !s.f.timed || f.plan.Windowed == nil }

// rank7 returns the 0-based rank below a type 7 quantile and the weight of the
// next one, as stat.Quantile has them.
func rank7(n int64, p float64) (j int64, g float64) {
	h := float64(n-1) * min(max(p, 0), 1)
	j = int64(h)
	if j >= n-1 {
		return n - 1, 0
	}
	return j, h - float64(j)
}

// add sums the histograms of a cell's leaves.
func (r *ranker) add(m int, s *stock, leaves []uint32) {
	pages := s.f.scale.pages()
	r.counts = sized(r.counts, pages*pageSize)
	r.pages = sized(r.pages, pages)
	clear(r.pages)
	use := func(i int) []int64 {
		c := r.counts[i*pageSize : (i+1)*pageSize]
		if !r.pages[i] {
			r.pages[i] = true
			clear(c)
		}
		return c
	}
	for _, leaf := range leaves {
		a := &s.accs[m][leaf]
		for _, x := range a.raw {
			b := s.f.scale.index(x)
			use(int(b >> pageBits))[b&(pageSize-1)]++
		}
		for i, pg := range a.pages {
			if pg == nil {
				continue
			}
			c := use(i)
			for k, n := range pg {
				c[k] += int64(n)
			}
		}
		for k := 0; k < len(a.near); k += pageSize {
			c := use(a.nearPage + k>>pageBits)
			for k, n := range a.near[k:min(k+pageSize, len(a.near))] {
				c[k] += int64(n)
			}
		}
	}
}

// list lists the buckets that have values, ascending.
func (r *ranker) list() {
	r.bins = r.bins[:0]
	before := int64(0)
	for i, used := range r.pages {
		if !used {
			continue
		}
		for k, n := range r.counts[i*pageSize : (i+1)*pageSize] {
			if n > 0 {
				r.bins = append(r.bins, bin{uint16(i*pageSize + k), before, n})
				before += n
			}
		}
	}
}

// find gives each wanted rank its bucket. It reports whether values are missing.
func (r *ranker) find(p *pending) (open bool) {
	wants := p.wants
	for _, b := range r.bins {
		if len(wants) == 0 {
			break
		}
		if wants[0].rank >= b.before+b.n {
			continue
		}
		x, single := p.stock.f.scale.single(b.bucket, p.whole)
		for len(wants) > 0 && wants[0].rank < b.before+b.n {
			w := &wants[0]
			wants = wants[1:]
			w.bucket, w.offset = b.bucket, w.rank-b.before
			switch {
			case single:
				w.value, w.known = x, true
			case w.rank == 0 && p.stock.f.extremes:
				w.value, w.known = p.summary.Min, true
			case w.rank == p.summary.N-1 && p.stock.f.extremes:
				w.value, w.known = p.summary.Max, true
			}
			open = open || !w.known
		}
	}
	return open
}

// guess answers wanted ranks, whose buckets are known, from the histogram alone.
func (r *ranker) guess(p *pending) {
	bins := r.bins
	for i := range p.wants {
		w := &p.wants[i]
		for bins[0].bucket != w.bucket {
			bins = bins[1:]
		}
		if !w.known {
			w.value = within(&p.stock.f.scale, w.bucket, float64(w.offset)+0.5, float64(bins[0].n), p.summary)
		}
	}
}

// within returns the value at a place within a bucket of n values, as if these
// were spread evenly.
func within(l *scale, b uint16, at, n float64, s *Summary) float64 {
	lo, hi := l.bounds(b)
	lo, hi = max(lo, s.Min), min(hi, s.Max)
	return min(max(lo+(hi-lo)*at/n, s.Min), s.Max)
}

// grid returns the values at CDFGrid, each between two values that are within a
// bucket of the exact ones: it is for drawing, where a 128th cannot be seen, and
// exact ones would take a third of all values.
func (r *ranker) grid(p *pending) []float64 {
	t := pending{stock: p.stock, whole: p.whole, summary: p.summary, wants: r.wants[:0]}
	ranks := r.ranks[:0]
	for _, q := range CDFGrid {
		j, g := rank7(p.summary.N, q)
		if ranks = append(ranks, j); g > 0 {
			ranks = append(ranks, j+1)
		}
	}
	t.want(ranks)
	r.ranks, r.wants = ranks, t.wants
	r.find(&t)
	r.guess(&t)
	out := make([]float64, len(CDFGrid))
	at := 0
	for i, q := range CDFGrid { // ascending, as the wants are
		j, g := rank7(p.summary.N, q)
		for t.wants[at].rank < j {
			at++
		}
		out[i] = t.wants[at].value
		if g > 0 {
			out[i] = stat.Between(out[i], t.wants[at+1].value, g)
		}
	}
	return out
}

// settle turns the values at the wanted ranks into quantiles.
func (p *pending) settle(f *finisher) {
	n := p.summary.N
	intervals := f.intervals(p.stock)
	var ci []stat.Ranks
	if intervals {
		ci = f.cache.get(n, f.plan)
	}
	for i, q := range f.quantiles(p.stock) {
		out := Quantile{P: q, Value: p.quantile(q)}
		if intervals && ci[i].HasLo() {
			out.Lo = serving.Some(p.at(ci[i].Lo - 1))
		}
		if intervals && ci[i].HasHi() {
			out.Hi = serving.Some(p.at(ci[i].Hi - 1))
		}
		p.summary.Quantiles = append(p.summary.Quantiles, out)
	}
	if !p.stock.f.extremes {
		p.summary.bound(p.at(0), p.at(n-1))
	}
}

// bound sets the extremes, once they are known, and has the grid keep to them.
func (s *Summary) bound(least, most float64) {
	s.Min, s.Max = least, most
	for i, p := range CDFGrid[:len(s.CDF)] {
		s.CDF[i] = min(max(s.CDF[i], least), most)
		switch p {
		case 0:
			s.CDF[i] = least
		case 1:
			s.CDF[i] = most
		}
	}
}

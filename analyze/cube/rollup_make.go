package cube

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
)

// RollUp aggregates the requests to the cells of the plan's groupings with the
// histograms of rollups. Memory does not grow with rows, and the result does not
// depend on the number of workers. The caller completes the spec by what the plan
// does not say: who made it, and which of the groupings is the cross of slices.
func RollUp(ctx context.Context, src serving.Requests, plan Plan, problems *serving.Problems, progress func(rows int64)) (*serving.Rollup, error) {
	plan.Examples, plan.Explore, plan.Distrust = 0, nil, true
	plan.Groupings = distinctSets(plan.Groupings)
	lay, err := newLayout(src, &plan)
	if err != nil {
		return nil, err
	}
	if lay.streaming < 0 { // counted, whether or not anything is judged
		lay.streaming, lay.streamed = lay.wantKind(serving.ColStreaming, serving.KindText), src.Dict(serving.ColStreaming)
	}
	s := &scanner{lay: lay, progress: progress, workers: workers(plan.Workers)}
	views, found, win, err := s.views(ctx, src, &plan)
	if err != nil {
		return nil, err
	}
	fams := lay.families(views)
	for i := range fams {
		fams[i].choose(lay, &plan, found.rows)
		fams[i].metric, fams[i].shown = nil, map[int]bool{} // their values are kept here
		fams[i].dense, fams[i].sums = false, false
	}
	asked := s.matches(&plan, found, win)
	var all []*rollTaker
	recs, err := s.stream(ctx, lay, src.Parts(), win, true, func() taker {
		t := &rollTaker{filler: s.newFiller(&plan, fams, asked), leaves: make([][]*rollLeaf, len(fams))}
		all = append(all, t)
		return t
	})
	if err != nil {
		return nil, err
	}
	if progress != nil {
		progress(s.rows)
	}
	if problems != nil {
		report(lay, recs, problems)
	}
	t := all[0]
	t.finish()
	for _, o := range all[1:] {
		o.finish()
		t.merge(o)
	}
	f := &finisher{scanner: s, plan: &plan, views: views, stocks: t.stocks, cube: &Cube{}, win: win}
	f.cells()
	return t.rollup(f, src, recs), nil
}

// A rollTaker fills the leaves of a rollup on one goroutine: counts as every
// other scan has them, and histograms of its own.
type rollTaker struct {
	*filler
	leaves [][]*rollLeaf // by family and leaf
	units  []int64
	timed  int64    // rows with an arrival time
	sum    rollHist // of a cell, while it is made
}

// A rollLeaf is what a leaf knows besides its counts.
type rollLeaf struct {
	whole, brief int64
	hists        []rollHist // by metric of the layout
}

// take implements taker.
func (w *rollTaker) take(c *chunk) error {
	if err := w.filler.take(c); err != nil {
		return err
	}
	for _, a := range c.arrival {
		if a != noTime {
			w.timed++
		}
	}
	for i, s := range w.stocks {
		for len(w.leaves[i]) < len(s.table.keys) {
			w.leaves[i] = append(w.leaves[i], &rollLeaf{hists: make([]rollHist, len(w.lay.metrics))})
		}
		w.countStreams(c, w.leaves[i], &w.rows[i].order)
	}
	for m := range w.lay.metrics {
		if w.lay.metrics[m].shown {
			w.addValues(c, m)
		}
	}
	return nil
}

func (w *rollTaker) countStreams(c *chunk, leaves []*rollLeaf, o *leafOrder) {
	for k, leaf := range o.leaves {
		l := leaves[leaf]
		for _, row := range o.rows[o.starts[k]:o.starts[k+1]] {
			switch st := c.state[row]; {
			case st&wholeBit != 0:
				l.whole++
			case st&outcomeBits == uint8(serving.OK):
				if n, ok := c.tokens(w.lay.output, int(row)); ok && n <= 1 {
					l.brief++
				}
			}
		}
	}
}

// noUnits marks a value that is not counted.
const noUnits = -1

func (w *rollTaker) addValues(c *chunk, m int) {
	v := &w.col
	v.load(c, m)
	if len(v.x) == 0 {
		return
	}
	unit := serving.RollupUnits(w.lay.metrics[m].key)
	w.units = sized(w.units, len(v.x))
	for i, x := range v.x {
		w.units[i] = noUnits
		if y := x * unit; y >= 0 {
			w.units[i] = int64(math.Floor(min(y, 1<<52) + 0.5))
		}
	}
	for row, st := range c.state {
		if st&outcomeBits != uint8(serving.OK) {
			from, to := v.span(uint32(row))
			for i := from; i < to; i++ {
				w.units[i] = noUnits
			}
		}
	}
	for i, s := range w.stocks {
		if s.f.timed && !w.plan.Windowed.has(w.lay.metrics[m].key) {
			continue
		}
		o := &w.rows[i].order
		for k, leaf := range o.leaves {
			h := &w.leaves[i][leaf].hists[m]
			for _, row := range o.rows[o.starts[k]:o.starts[k+1]] {
				from, to := v.span(row)
				for j := from; j < to; j++ {
					if u := w.units[j]; u >= 0 {
						h.add(u)
					}
				}
			}
		}
	}
}

// merge takes in what another taker has.
func (w *rollTaker) merge(o *rollTaker) {
	for i := range w.stocks {
		numbers, _ := w.stocks[i].table.numbers(nil, o.stocks[i].table.keys, false)
		for _, to := range numbers {
			for len(w.leaves[i]) <= int(to) {
				w.leaves[i] = append(w.leaves[i], &rollLeaf{hists: make([]rollHist, len(w.lay.metrics))})
			}
		}
		for k, to := range numbers {
			w.leaves[i][to].merge(o.leaves[i][k])
			o.leaves[i][k] = nil // it may be large
		}
	}
	w.timed += o.timed
	w.filler.merge(o.filler)
}

func (l *rollLeaf) merge(o *rollLeaf) {
	l.whole += o.whole
	l.brief += o.brief
	for m := range l.hists {
		if len(l.hists[m].slots) == 0 {
			l.hists[m] = o.hists[m]
			continue
		}
		l.hists[m].merge(&o.hists[m])
	}
}

// rollup makes the rollup of the cells that a finisher made.
func (w *rollTaker) rollup(f *finisher, src serving.Requests, recs []partRecord) *serving.Rollup {
	r := &serving.Rollup{Label: src.Name(), Rows: f.rows}
	r.Spec = serving.RollupSpec{Layout: serving.RollupLayout, Side: src.Side(), Relative: w.lay.relative, Buckets: map[string][]int64{},
		WarmShare: w.plan.WarmShare, Window: WindowText(w.plan.Window)}
	if r.Spec.WarmShare <= 0 {
		r.Spec.WarmShare = defaultWarmShare
	}
	for i, n := range excludedRows(recs) {
		if n > 0 {
			if r.Skipped == nil {
				r.Skipped = map[string]int64{}
			}
			r.Skipped[SkippedReasons[i]] = n
		}
	}
	if w.timed > 0 {
		r.Arrival = serving.RollupSpan{N: w.timed, Least: floorDiv(w.first, 1000), Most: floorDiv(w.last, 1000)}
	}
	for _, rec := range recs {
		if rec.lastEnd != noTime {
			us := floorDiv(rec.lastEnd, 1000)
			if r.End.N == 0 {
				r.End.Least, r.End.Most = us, us
			}
			r.End.N, r.End.Least, r.End.Most = r.End.N+1, min(r.End.Least, us), max(r.End.Most, us)
		}
	}
	for _, dims := range w.plan.Groupings {
		r.Spec.Groupings = append(r.Spec.Groupings, append([]string{}, dims...))
		for _, d := range dims {
			if d == DimTime {
				r.Spec.StepUS = f.win.step / 1000
				continue
			}
			if !slices.Contains(r.Spec.Dims, d) {
				r.Spec.Dims = append(r.Spec.Dims, d)
			}
			if b, ok := w.plan.Buckets[d]; ok && f.lay.dims[f.lay.dim[d]].kind == dimBucket {
				r.Spec.Buckets[d] = b
			}
		}
	}
	for g := range w.plan.Groupings {
		for i := range f.cube.Groups[g].Cells {
			r.Cells = append(r.Cells, w.cell(f, r, g, i))
		}
	}
	serving.SortRollupCells(r.Cells)
	return r
}

func excludedRows(recs []partRecord) (out [numReasons]int64) {
	for i := range recs {
		for k, n := range recs[i].excluded {
			out[k] += n
		}
	}
	return out
}

// cell returns cell i of grouping g.
func (w *rollTaker) cell(f *finisher, r *serving.Rollup, g, i int) *serving.RollupCell {
	c := &f.cube.Groups[g].Cells[i]
	out := &serving.RollupCell{By: make([]string, len(r.Spec.Dims)), Outcomes: c.Outcomes, Good: c.Good, Within: c.Within, Of: c.Of,
		Input: c.Input, Output: c.Output, Cached: c.Cached, CachedOf: c.CachedOf, Metrics: map[serving.MetricKey]serving.RollupHistogram{}}
	for k, d := range f.cube.Groups[g].Dims {
		if d != DimTime {
			out.By[slices.Index(r.Spec.Dims, d)] = c.Key[k]
			continue
		}
		out.Window = Unknown
		if c.Window >= 0 {
			out.Window = strconv.FormatInt((f.win.start+int64(c.Window)*f.win.step)/1000, 10)
		}
	}
	family := f.views[g].family
	members := f.members[g][i]
	for _, leaf := range members {
		l := w.leaves[family][leaf]
		out.Whole += l.whole
		out.Brief += l.brief
	}
	for m := range w.lay.metrics {
		sum := &w.sum
		sum.reset()
		if len(members) == 1 {
			sum = &w.leaves[family][members[0]].hists[m]
		} else {
			for _, leaf := range members {
				sum.merge(&w.leaves[family][leaf].hists[m])
			}
		}
		if h := sum.counts(); len(h) > 0 {
			out.Metrics[w.lay.metrics[m].key] = h
		}
	}
	return out
}

// A rollHist is a histogram of whole numbers on the layout of rollups: the buckets
// that have values, in the order in which they came, and a table to find them by
// open addressing. Most leaves have few values, far apart.
type rollHist struct {
	index   []int32 // 1 + number of a slot; 0 where the place is free
	buckets []int32 // by slot
	slots   []rollSlot
}

// A rollSlot is a bucket. The squares are summed in 128 bits, so that no figure
// depends on the order of a scan.
type rollSlot struct {
	n, total    int64
	hi, lo      uint64
	least, most int64
}

// place finds where the number of a bucket's slot is, or where it belongs.
func (h *rollHist) place(bucket int32) uint32 {
	mask := uint32(len(h.index) - 1)
	i := uint32(bucket) * 0x9e3779b1 >> 8 & mask
	for h.index[i] != 0 && h.buckets[h.index[i]-1] != bucket {
		i = (i + 1) & mask
	}
	return i
}

func (h *rollHist) slot(bucket int32) *rollSlot {
	if 4*len(h.slots) >= 3*len(h.index) {
		h.index = make([]int32, max(4, 2*len(h.index)))
		for k, b := range h.buckets {
			h.index[h.place(b)] = int32(k + 1)
		}
	}
	i := h.place(bucket)
	if h.index[i] == 0 {
		h.buckets = append(h.buckets, bucket)
		h.slots = append(h.slots, rollSlot{})
		h.index[i] = int32(len(h.slots))
	}
	return &h.slots[h.index[i]-1]
}

// reset empties a histogram and keeps its memory.
func (h *rollHist) reset() {
	clear(h.index)
	h.buckets, h.slots = h.buckets[:0], h.slots[:0]
}

func (h *rollHist) add(u int64) {
	hi, lo := bits.Mul64(uint64(u), uint64(u))
	h.slot(serving.RollupBucket(u)).merge(&rollSlot{1, u, hi, lo, u, u})
}

func (s *rollSlot) merge(o *rollSlot) {
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		*s = *o
		return
	}
	s.n += o.n
	s.total += o.total
	var c uint64
	s.lo, c = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + c
	s.least, s.most = min(s.least, o.least), max(s.most, o.most)
}

func (h *rollHist) merge(o *rollHist) {
	for k, b := range o.buckets {
		h.slot(b).merge(&o.slots[k])
	}
}

// counts lists the buckets that have values, in order.
func (h *rollHist) counts() serving.RollupHistogram {
	if len(h.slots) == 0 {
		return nil
	}
	out := make(serving.RollupHistogram, len(h.slots))
	for k := range h.slots {
		s := &h.slots[k]
		out[k] = serving.RollupCount{Bucket: h.buckets[k], N: s.n, Total: s.total,
			Squares: math.Ldexp(float64(s.hi), 64) + float64(s.lo), Least: s.least, Most: s.most}
	}
	slices.SortFunc(out, func(a, b serving.RollupCount) int { return int(a.Bucket - b.Bucket) })
	return out
}

// distinctSets leaves out groupings that split the requests as one before does:
// the cells of a rollup are told apart by their values alone.
func distinctSets(list []Grouping) []Grouping {
	var out []Grouping
	for _, g := range list {
		if !slices.ContainsFunc(out, func(h Grouping) bool { return len(g) == len(h) && containsAll(g, h) }) {
			out = append(out, g)
		}
	}
	return out
}

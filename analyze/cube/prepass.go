package cube

import (
	"context"
	"errors"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// errChanged says that a second scan did not bring what the first one did.
var errChanged = errors.New("the data changed while it was read")

// A survey is what a first, cheap scan over names and times finds out: how often
// each value of a dimension occurs, and from when to when. It decides what gets
// a cell before any value is stored.
type survey struct {
	rows        int64 // counted
	first, last int64
	counts      [][]int64             // by dimension, by code+1
	tuples      []map[uint64]struct{} // by grouping: combinations of codes that occur; nil where nobody asks
	crowded     []bool                // by grouping: more than maxTuples
	told        bool                  // by the source, of itself: of names it is known only that they occur
	ranks       []*ranking            // by dimension, as they are asked for
}

// maxTuples bounds the combinations that are told apart.
const maxTuples = 1 << 20

// fixedCodes returns the codes that a dimension can have where these are few and
// known without a look at the rows.
func (d *dimension) fixedCodes(maxGroups int) (n int, ok bool) {
	switch d.kind {
	case dimNone:
		return 0, true
	case dimBucket:
		return len(d.bounds) + 1, true
	case dimCache:
		return len(cacheStates), true
	case dimText:
		if d.name == serving.ColOutcome && maxGroups >= serving.NumOutcomes {
			return serving.NumOutcomes, true
		}
	}
	return 0, false
}

// surveyLayout returns the layout of the survey's scan: the columns of the
// dimensions that have to be counted. all counts every dimension.
func surveyLayout(src serving.Requests, plan *Plan, first *layout, all bool) (*layout, error) {
	p := Plan{Buckets: plan.Buckets, WarmShare: plan.WarmShare, Window: plan.Window, Groupings: plan.Groupings, Explore: plan.Explore, Limits: plan.Limits}
	lay := emptyLayout(src, &p)
	lay.arrival = lay.wantKind(serving.ColArrival, serving.KindTime)
	lay.phase = lay.wantKind(serving.ColPhase, serving.KindText)
	lay.phases = src.Dict(serving.ColPhase)
	if err := lay.addDims(src, &p); err != nil {
		return nil, err
	}
	for i, d := range lay.dims { // numbers taken as names share their codes
		d.dict = first.dims[i].dict
	}
	if all {
		return lay, nil
	}
	// Dimensions of known codes need not be scanned: their columns are dropped
	// again, unless another one has them.
	full := lay
	lay = emptyLayout(src, &p)
	lay.arrival = lay.wantKind(serving.ColArrival, serving.KindTime)
	lay.phase = lay.wantKind(serving.ColPhase, serving.KindText)
	lay.phases, lay.dim = full.phases, full.dim
	for _, d := range full.dims {
		c := *d
		if _, ok := d.fixedCodes(keepOf(plan)); ok {
			c.kind = dimNone
		} else if d.col >= 0 {
			c.col = lay.want(full.wanted[d.col])
		}
		lay.dims = append(lay.dims, &c)
	}
	return lay, nil
}

func keepOf(plan *Plan) int {
	if plan.MaxGroups <= 0 {
		return defaultMaxGroups
	}
	return plan.MaxGroups
}

// A surveyor counts on one goroutine.
type surveyor struct {
	survey
	lay   *layout
	plan  *Plan
	width []uint64 // codes of each dimension, for tuples
}

func (s *surveyor) take(c *chunk) error {
	s.rows += int64(c.n)
	for _, a := range c.arrival {
		if a == noTime {
			continue
		}
		if s.last == noTime || a < s.first {
			s.first = a
		}
		s.last = max(s.last, a)
	}
	for d := range s.lay.dims {
		if codes := c.codes[d]; codes != nil {
			s.counts[d] = addCounts(s.counts[d], codes)
		}
	}
	for g := range s.tuples {
		if s.tuples[g] == nil || s.crowded[g] {
			continue
		}
		for row := range c.n {
			k := uint64(0)
			for _, name := range s.plan.Groupings[g] {
				d := s.lay.dim[name]
				if codes := c.codes[d]; codes != nil && name != DimTime {
					if uint64(codes[row]+1) >= s.width[d] {
						return errChanged
					}
					k = k*s.width[d] + uint64(codes[row]+1)
				}
			}
			s.tuples[g][k] = struct{}{}
		}
		s.crowded[g] = len(s.tuples[g]) > maxTuples
	}
	return nil
}

func addCounts(counts []int64, codes []int32) []int64 {
	for _, c := range codes {
		if int(c)+1 >= len(counts) {
			counts = append(counts, make([]int64, int(c)+2-len(counts))...)
		}
		counts[c+1]++
	}
	return counts
}

// survey scans the dimensions. tuples says which groupings' combinations to
// collect; width is the number of codes of each dimension then.
func (s *scanner) survey(ctx context.Context, src serving.Requests, plan *Plan, lay *layout, tuples []bool, width []uint64) (*survey, error) {
	var all []*surveyor
	_, err := s.stream(ctx, lay, src.Parts(), nil, false, func() taker {
		w := &surveyor{lay: lay, plan: plan, width: width}
		w.last = noTime
		w.counts = make([][]int64, len(lay.dims))
		w.tuples, w.crowded = make([]map[uint64]struct{}, len(plan.Groupings)), make([]bool, len(plan.Groupings))
		for g := range tuples {
			if tuples[g] {
				w.tuples[g] = map[uint64]struct{}{}
			}
		}
		all = append(all, w)
		return w
	})
	if err != nil {
		return nil, err
	}
	out := &all[0].survey
	for _, w := range all[1:] {
		out.merge(&w.survey)
	}
	for d, dim := range lay.dims {
		if dim.kind == dimNone {
			out.counts[d] = []int64{out.rows}
		}
	}
	return out, nil
}

func (s *survey) merge(o *survey) {
	s.rows += o.rows
	if o.last != noTime {
		if s.last == noTime || o.first < s.first {
			s.first = o.first
		}
		s.last = max(s.last, o.last)
	}
	for d, c := range o.counts {
		if len(c) > len(s.counts[d]) {
			s.counts[d] = append(s.counts[d], make([]int64, len(c)-len(s.counts[d]))...)
		}
		for i, n := range c {
			s.counts[d][i] += n
		}
	}
	for g, t := range o.tuples {
		s.crowded[g] = s.crowded[g] || o.crowded[g]
		for k := range t {
			s.tuples[g][k] = struct{}{}
		}
		s.crowded[g] = s.crowded[g] || len(s.tuples[g]) > maxTuples
	}
}

// views resolves the groupings: which names stand for themselves, by how often
// they occur.
func (s *scanner) views(ctx context.Context, src serving.Requests, plan *Plan) ([]view, *survey, *windows, error) {
	lay, err := surveyLayout(src, plan, s.lay, false)
	if err != nil {
		return nil, nil, nil, err
	}
	noTuples := make([]bool, len(plan.Groupings))
	found := s.told(ctx, src, plan, lay)
	if found == nil {
		if found, err = s.survey(ctx, src, plan, lay, noTuples, nil); err != nil {
			return nil, nil, nil, err
		}
	}
	views, win, tuples := s.settleViews(plan, found)
	if found.told && slices.Contains(tuples, true) {
		// It matters which names are the most frequent.
		if found, err = s.survey(ctx, src, plan, lay, noTuples, nil); err != nil {
			return nil, nil, nil, err
		}
		views, win, tuples = s.settleViews(plan, found)
	}
	if slices.Contains(tuples, true) {
		// The product of the values is too many cells, but those that occur
		// together may be fewer: they have to be counted.
		if lay, err = surveyLayout(src, plan, s.lay, true); err != nil {
			return nil, nil, nil, err
		}
		width := make([]uint64, len(found.counts))
		for d, c := range found.counts {
			width[d] = uint64(max(len(c), 1))
		}
		more, err := s.survey(ctx, src, plan, lay, tuples, width)
		if err != nil {
			return nil, nil, nil, err
		}
		found.tuples, found.crowded = more.tuples, more.crowded
		for g := range views {
			if tuples[g] {
				s.shrink(&views[g], g, found, win, keepOf(plan))
			}
		}
		s.share(views)
	}
	if plan.Explore != nil {
		views = append(views, s.exploreView(plan, found, win))
		s.share(views)
	}
	return views, found, win, nil
}

// settleViews resolves the groupings by a survey, which it completes, and says
// which have more combinations of values than cells.
func (s *scanner) settleViews(plan *Plan, found *survey) (views []view, win *windows, tuples []bool) {
	win = &windows{}
	if _, ok := s.lay.dim[DimTime]; ok && found.last != noTime {
		w := windowsOf(found.first, found.last, s.lay.relative)
		win = &w
	}
	for d, dim := range s.lay.dims {
		if n, ok := dim.fixedCodes(keepOf(plan)); ok && n > 0 {
			found.counts[d] = all(n+1, found.rows)
		}
		if dim.kind == dimTime {
			found.counts[d] = all(win.n+1, found.rows)
		}
	}
	views = s.resolve(plan, found, win)
	tuples = make([]bool, len(views))
	for g := range views {
		tuples[g] = found.combinations(&views[g], keepOf(plan)) > keepOf(plan)
	}
	return views, win, tuples
}

func all(n int, v int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = max(v, 1)
	}
	return out
}

func (s *scanner) resolve(plan *Plan, found *survey, win *windows) []view {
	views := make([]view, len(plan.Groupings))
	made := make([]*levels, len(s.lay.dims))
	for g, dims := range plan.Groupings {
		v := &views[g]
		v.dims = dims
		for _, name := range dims {
			d := s.lay.dim[name]
			if made[d] == nil {
				lv := found.rank(s.lay, d, win).levels(keepOf(plan))
				made[d] = &lv
			}
			v.axes = append(v.axes, axis{d, made[d]})
			v.timed = v.timed || name == DimTime
		}
	}
	s.share(views)
	return views
}

// share lets axes that fold a dimension alike be the same one.
func (s *scanner) share(views []view) {
	made := map[[2]int]*levels{}
	for g := range views {
		for i, a := range views[g].axes {
			k := [2]int{a.dim, a.lv.folded}
			if made[k] == nil {
				made[k] = a.lv
			}
			views[g].axes[i].lv = made[k]
		}
	}
}

// combinations bounds the combinations of a view that occur, time windows apart.
func (found *survey) combinations(v *view, limit int) int {
	var axes []axis
	several := 0
	for i, a := range v.axes {
		if v.dims[i] != DimTime {
			axes = append(axes, a)
			several += b2i(len(a.lv.list) > 1)
		}
	}
	p := product(axes)
	if several < 2 {
		return min(int(min(p, maxKeys)), limit)
	}
	return int(min(p, maxKeys))
}

// rank is that of a dimension, made once.
func (found *survey) rank(lay *layout, d int, win *windows) *ranking {
	if found.ranks == nil {
		found.ranks = make([]*ranking, len(lay.dims))
	}
	if found.ranks[d] == nil {
		found.ranks[d] = lay.dims[d].rank(found.counts[d], win)
	}
	return found.ranks[d]
}

// shrink folds names of a view until its combinations fit: the dimension with
// the most names is halved again and again.
func (s *scanner) shrink(v *view, g int, found *survey, win *windows, limit int) {
	keep := make([]int, len(v.axes))
	for i := range keep {
		keep[i] = limit
	}
	for product(v.axes) > maxKeys || found.occurring(v, s.lay, g, limit) > limit {
		widest := -1
		for i := range v.axes {
			n := len(v.axes[i].lv.list)
			if s.lay.dims[v.axes[i].dim].folds() && keep[i] > 1 && n > 2 && (widest < 0 || n > len(v.axes[widest].lv.list)) {
				widest = i
			}
		}
		if widest < 0 {
			return // states and buckets only
		}
		d := v.axes[widest].dim
		keep[widest] = min(keep[widest], len(v.axes[widest].lv.list)) / 2
		lv := found.rank(s.lay, d, win).levels(keep[widest])
		v.axes[widest].lv = &lv
	}
}

// occurring counts the combinations of a view that occur. Where the tuples were
// too many to collect it is what there could be.
func (found *survey) occurring(v *view, lay *layout, g, limit int) int {
	if n := found.combinations(v, limit); n <= limit || found.crowded[g] {
		return n
	}
	seen := map[uint64]struct{}{}
	for k := range found.tuples[g] {
		key, mul := uint64(0), uint64(1)
		for i := len(v.axes) - 1; i >= 0; i-- {
			a := v.axes[i]
			if v.dims[i] == DimTime || lay.dims[a.dim].kind == dimNone {
				continue
			}
			w := uint64(max(len(found.counts[a.dim]), 1))
			key += uint64(a.lv.of[k%w]) * mul
			mul *= uint64(len(a.lv.list))
			k /= w
		}
		seen[key] = struct{}{}
	}
	return len(seen)
}

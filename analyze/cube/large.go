package cube

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// fillLarge fills the cube of a source that is too large to be held: a survey
// of names and times, a scan into leaves, and where quantiles are to be exact a
// scan that keeps the values around the wanted ranks.
func (s *scanner) fillLarge(ctx context.Context, src serving.Requests, plan *Plan, problems *serving.Problems) (*Cube, error) {
	views, found, win, err := s.views(ctx, src, plan)
	if err != nil {
		return nil, err
	}
	s.workers = plan.threads(s.workers)
	if found.rows > fewRows {
		defer collectOften()()
	}
	fams := s.lay.families(views)
	chooseAll(fams, s.lay, plan, found.rows)
	asked := s.matches(plan, found, win)
	parts := src.Parts()
	kept := keepSlots(fams, plan, len(parts), found.rows)
	var fillers []*filler
	recs, err := s.stream(ctx, s.lay, parts, win, true, func() taker {
		w := s.newFiller(plan, fams, asked)
		w.kept, w.number = kept, len(fillers)
		fillers = append(fillers, w)
		return w
	})
	if errors.Is(err, errChanged) && found.told {
		err = ErrTold
	}
	if err != nil {
		return nil, err
	}
	if s.progress != nil {
		s.progress(s.rows)
	}
	if problems != nil {
		report(s.lay, recs, problems)
	}
	w := fillers[0]
	if err := w.join(ctx, fillers[1:], s.workers); err != nil {
		return nil, err
	}
	if err := w.tooMany(); err != nil {
		return nil, err
	}
	c := &Cube{Rows: s.rows, Excluded: excludedOf(recs), Relative: s.lay.relative, Scanned: true}
	w.times(c, recs, win)
	f := &finisher{scanner: s, plan: plan, views: views, stocks: w.stocks, cube: c, win: win, kept: kept}
	f.cells()
	var unnamed error
	err = f.ranks(ctx,
		func() { c.Examples, unnamed = w.examples(ctx, src, recs) },
		func() { c.Explored = f.explored() })
	if err == nil {
		err = unnamed
	}
	if err != nil {
		return nil, err
	}
	if c.Explored != nil {
		c.Groups = c.Groups[:len(c.Groups)-1] // the cross is the last of the views
	}
	if err := f.gather(ctx, src); err != nil {
		return nil, err
	}
	return c, nil
}

// collectOften has the collector let the heap grow by a third of what is in use,
// not to twice of it, and returns what undoes it. The scans of a large source
// have most of their memory from the start on and leave little behind: in
// minutes it costs a few collections.
func collectOften() func() {
	was := debug.SetGCPercent(33)
	return func() { debug.SetGCPercent(was) }
}

// threadBytes is what a goroutine of a scan takes: its histograms, batches and
// pages.
const threadBytes = 64 << 20

// threads returns how many of some goroutines the plan's memory is enough for:
// they have half of it, the values of the second scan the other.
func (p *Plan) threads(most int) int {
	if p.MaxMemory <= 0 {
		return most
	}
	return max(1, min(most, int(p.MaxMemory/2/threadBytes)))
}

// room is the size of the values that are kept at a time.
func (p *Plan) room() int {
	if p.MaxMemory <= 0 {
		return gatherBytes
	}
	return int(min(int64(gatherBytes), p.MaxMemory/3))
}

// chooseAll sets what the families store.
func chooseAll(fams []family, lay *layout, plan *Plan, rows int64) {
	at := map[uint]*places{}
	for i := range fams {
		f := &fams[i]
		f.choose(lay, plan, rows)
		if at[f.scale.s] == nil {
			at[f.scale.s] = &places{of: make([]*place, len(lay.metrics))}
		}
		f.places = at[f.scale.s]
	}
}

// choose sets what a family stores.
func (f *family) choose(lay *layout, plan *Plan, rows int64) {
	f.raw, f.scale = rawLimit, newScale(sliceBits(plan, rows))
	if f.timed {
		// Rows come mostly in order of time: few histograms are in use at once,
		// and where they are few altogether they may be as fine as others.
		f.raw = rawWindowLimit
		if !f.fits() {
			f.scale = newScale(windowBits(plan, rows))
		}
	}
	if f.coarse {
		f.raw, f.scale = rawWindowLimit, newScale(plan.Explore.Bits)
	}
	f.shown = map[int]bool{}
	for m := range lay.metrics {
		if lay.metrics[m].shown && (!f.coarse || slices.Contains(plan.Explore.Metrics, lay.metrics[m].key)) && (!f.timed || plan.Windowed.has(lay.metrics[m].key)) {
			f.metric = append(f.metric, m)
			f.shown[m] = true
		}
	}
	f.dense = f.fits()
	f.extremes = plan.NoExact || !f.dense
	f.sums = f.sumsTokens(lay)
}

// fits reports whether the histograms of a metric may lie side by side.
func (f *family) fits() bool { return f.values <= denseBytes/uint64(f.scale.window()) }

func (s *scanner) newFiller(plan *Plan, fams []family, asked [][]match) *filler {
	w := &filler{lay: s.lay, plan: plan, asked: asked, last: noTime, rows: make([]leafRows, len(fams))}
	for i := range fams {
		w.stocks = append(w.stocks, newStock(s.lay, &fams[i]))
	}
	for m := range s.lay.metrics {
		w.units = append(w.units, unitOf(&s.lay.metrics[m]))
	}
	if plan.Examples > 0 {
		for _, m := range s.lay.ranks() {
			w.slowest = append(w.slowest, &slowList{metric: m, limit: plan.Examples})
		}
	}
	return w
}

// join takes in what other fillers have and links the leaves of dense families,
// the families side by side.
func (w *filler) join(ctx context.Context, others []*filler, workers int) error {
	w.finish()
	for _, o := range others {
		o.finish()
		w.mergeRequests(o)
	}
	if w.kept != nil {
		w.kept.expect(1+len(others), len(w.stocks))
	}
	return each(ctx, workers, len(w.stocks), func() func(int) {
		return func(i int) {
			for _, o := range others {
				w.mergeStock(i, o)
			}
			w.link(i)
		}
	})
}

// merge takes in what another filler has, whose notes are kept by nobody.
func (w *filler) merge(o *filler) {
	w.mergeRequests(o)
	for i := range w.stocks {
		w.mergeStock(i, o)
	}
}

// mergeStock takes in another filler's leaves of a family.
func (w *filler) mergeStock(i int, o *filler) {
	s := w.stocks[i]
	leaves := s.merge(o.stocks[i], len(w.lay.limits))
	if w.kept != nil && s.f.dense {
		w.kept.rename(o.number, i, s, o.stocks[i], leaves)
	}
}

// mergeRequests takes in when another filler's requests were, and its slowest.
func (w *filler) mergeRequests(o *filler) {
	if o.last != noTime {
		if w.last == noTime || o.first < w.first {
			w.first = o.first
		}
		w.last = max(w.last, o.last)
	}
	for i, l := range w.slowest {
		for _, s := range o.slowest[i].top {
			l.insert(s)
		}
	}
}

// maxCount is what a counter of a histogram holds.
var maxCount int64 = math.MaxUint32

// tooMany refuses what counters could not have counted: a bucket has no more
// values than its leaf.
func (w *filler) tooMany() error {
	for _, s := range w.stocks {
		for _, m := range s.f.metric {
			for i := range s.accs[m] {
				if n := s.accs[m][i].n; n > maxCount || s.over {
					return fmt.Errorf("%d values of %s in one slice, want %d at most: report parts of the data", max(n, maxCount), w.lay.metrics[m].key, maxCount)
				}
			}
		}
	}
	return nil
}

func (w *filler) times(c *Cube, recs []partRecord, win *windows) {
	end := int64(noTime)
	for i := range recs {
		end = max(end, recs[i].lastEnd)
	}
	if end != noTime {
		c.LastEnd = serving.Some(end)
	}
	if w.last == noTime {
		return
	}
	c.First, c.Last = serving.Some(w.first), serving.Some(w.last)
	if win.n > 0 {
		c.Start, c.Step = serving.Some(win.start), win.step
	}
}

// matches resolves the terms of the limits to codes.
func (s *scanner) matches(plan *Plan, found *survey, win *windows) [][]match {
	out := make([][]match, len(plan.Limits))
	for l, limit := range plan.Limits {
		for _, term := range limit.By {
			d := s.lay.dim[term.Dim]
			t := match{dim: d, codes: make([]bool, len(found.counts[d]))}
			for i := range t.codes {
				t.codes[i] = found.counts[d][i] > 0 && s.lay.dims[d].label(int32(i)-1, win) == term.Value
			}
			out[l] = append(out[l], t)
		}
	}
	return out
}

// report adds the problems of a stream in part order.
func report(lay *layout, recs []partRecord, problems *serving.Problems) {
	for i := range recs {
		problems.Merge(&recs[i].problems)
		for m, bad := range recs[i].bad {
			if bad.count > 0 {
				addNotFinite(problems, lay.metrics[m].key, recs[i].source, fileRowOf(recs, i, bad.row), bad.count)
			}
		}
	}
}

// fileRowOf returns the 1-based row within the file of a 0-based row of a part.
func fileRowOf(recs []partRecord, part int, row int64) int64 {
	for i := part - 1; i >= 0 && recs[i].source == recs[part].source; i-- {
		row += recs[i].size
	}
	return row + 1
}

func excludedOf(recs []partRecord) []Exclusion {
	var out []Exclusion
	for r := range numReasons {
		e := Exclusion{Reason: reasons[r]}
		for i := range recs {
			e.Rows += recs[i].excluded[r]
		}
		if e.Rows > 0 {
			out = append(out, e)
		}
	}
	return out
}

// examples finishes the slowest requests: their places and their ids.
func (w *filler) examples(ctx context.Context, src serving.Requests, recs []partRecord) ([]Example, error) {
	var out []Example
	wanted := map[int]map[int64][]int{} // by part and position: examples
	for _, l := range w.slowest {
		for _, s := range l.top {
			s.Source, s.Row = recs[s.part].source, fileRowOf(recs, s.part, s.row)
			if wanted[s.part] == nil {
				wanted[s.part] = map[int64][]int{}
			}
			wanted[s.part][s.row] = append(wanted[s.part][s.row], len(out))
			out = append(out, s.Example)
		}
	}
	return out, w.lay.findIDs(ctx, src, wanted, out)
}

package cube

import (
	"context"
	"runtime"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// The second scan keeps the values in the buckets of wanted ranks, and nothing
// else.

// gatherBytes bounds the values that are kept at a time: where they are more,
// some metrics wait for a scan of their own.
var gatherBytes = 128 << 20

// gather finds the values at the wanted ranks.
func (f *finisher) gather(ctx context.Context, src serving.Requests) error {
	holds := make([][]*hold, len(f.lay.metrics))
	size := make([]int, len(f.lay.metrics))
	err := each(ctx, f.workers, len(holds), func() func(int) {
		return func(m int) {
			if len(f.pending[m]) > 0 {
				holds[m] = f.holds(m)
				size[m] = fit(holds[m], f.plan.room())
			}
		}
	})
	if err != nil {
		return err
	}
	// Histograms have told what they know: the room is for values now.
	for _, s := range f.stocks {
		for m := range s.accs {
			for i := range s.accs[m] {
				s.accs[m][i].pages, s.accs[m][i].near = nil, nil
			}
		}
		s.pool = pagePool{}
	}
	room := f.plan.room()
	var round []int
	total := 0
	for m := range holds {
		if holds[m] == nil {
			continue
		}
		if len(round) > 0 && total+size[m] > room {
			if err := f.round(ctx, src, round, holds); err != nil {
				return err
			}
			round, total = round[:0], 0
		}
		round, total = append(round, m), total+size[m]
	}
	if len(round) == 0 {
		return ctx.Err()
	}
	return f.round(ctx, src, round, holds)
}

// holds lists the wanted buckets of each leaf, by family.
func (f *finisher) holds(m int) []*hold {
	out := make([]*hold, len(f.stocks))
	for _, p := range f.pending[m] {
		i := slices.Index(f.stocks, p.stock)
		if out[i] == nil {
			n := len(p.stock.table.keys)
			out[i] = &hold{stock: p.stock, wanted: make([]bucketSet, n)}
		}
		out[i].want(m, p)
	}
	for _, h := range out {
		if h == nil {
			continue
		}
		for leaf := range h.stock.accs[m] {
			slices.Sort(h.stock.accs[m][leaf].raw) // pick looks into them
		}
		h.number(m)
		h.measure(f.pending[m])
		h.flag(m)
	}
	return out
}

// fit has the values of holds counted that would take more than their share of some
// room, where there is not enough for all. It returns what of the room they take.
func fit(holds []*hold, room int) int {
	size, n := 0, 0
	for _, h := range holds {
		if h != nil {
			size, n = size+h.size, n+1
		}
	}
	if size <= room {
		return size
	}
	for _, h := range holds {
		if h != nil && h.size > room/n {
			h.ties, h.shift, h.size = newTies(room/n, len(h.next), nil), allBits, room/n
		}
	}
	return room
}

// round scans once more for some metrics, and settles them. Where a hold is counted
// it takes another scan, or several, for what is left of its metric.
func (f *finisher) round(ctx context.Context, src serving.Requests, metrics []int, holds [][]*hold) error {
	for len(metrics) > 0 {
		runtime.GC() // histograms, or the values of the round before, leave room for these
		for _, m := range metrics {
			for _, h := range holds[m] {
				if h != nil {
					h.open()
				}
			}
		}
		if err := f.rescan(ctx, src, metrics, holds); err != nil {
			return err
		}
		if err := f.settle(ctx, metrics, holds); err != nil {
			return err
		}
		metrics = slices.DeleteFunc(slices.Clone(metrics), func(m int) bool {
			return !slices.ContainsFunc(holds[m], func(h *hold) bool { return h != nil })
		})
	}
	return nil
}

// settle takes the wanted values out of the holds of some metrics. Those stay that
// need another scan.
func (f *finisher) settle(ctx context.Context, metrics []int, holds [][]*hold) error {
	var changed atomic.Bool
	err := each(ctx, f.workers, len(metrics), func() func(int) {
		var values []float64
		return func(i int) {
			m := metrics[i]
			for k, h := range holds[m] {
				if h == nil {
					continue
				}
				if !h.full() {
					changed.Store(true)
					return
				}
				if h.ties != nil {
					if f.narrow(m, h) {
						holds[m][k] = nil
					}
					continue
				}
				for _, p := range f.pending[m] {
					if p.stock == h.stock {
						values = p.pick(m, h, values)
						p.settle(f)
					}
				}
				holds[m][k] = nil
			}
		}
	})
	if err == nil && changed.Load() {
		return errChanged
	}
	return err
}

// narrow settles the cells of a counted hold, or finds out where another scan has
// to look. It reports whether all is known.
func (f *finisher) narrow(m int, h *hold) bool {
	h.ties.sort()
	known := h.ties.shift == 0
	found := &ties{shift: h.ties.shift, table: make([]tie, 1<<6)}
	var in []tie
	for _, p := range f.pending[m] {
		if p.stock != h.stock {
			continue
		}
		in = p.narrow(m, h, found, in)
		if known {
			p.settle(f)
		}
	}
	if !known {
		h.shift, h.ties = h.ties.shift, newTies(h.size, found.used, found)
	}
	return known
}

// rescan has the values of some metrics taken: of parts of whose rows it is known
// where they belong, and of the others.
func (f *finisher) rescan(ctx context.Context, src serving.Requests, metrics []int, holds [][]*hold) error {
	parts := src.Parts()
	with, without := f.kept.settle(len(parts))
	if len(with) > 0 {
		lay := emptyLayout(src, f.plan)
		lay.window = Window{} // rows outside have no slot
		if err := f.take(ctx, lay, parts, with, f.kept, metrics, holds); err != nil {
			return err
		}
	}
	if len(without) == 0 {
		return nil
	}
	lay, err := gatherLayout(src, f.plan, f.lay)
	if err != nil {
		return err
	}
	return f.take(ctx, lay, parts, without, nil, metrics, holds)
}

// take scans some parts for the values of some metrics.
func (f *finisher) take(ctx context.Context, lay *layout, all []serving.Part, which []int, kept *keptSlots, metrics []int, holds [][]*hold) error {
	for _, m := range metrics {
		lay.metrics[lay.metric(f.lay.metrics[m].key)].shown = true
	}
	parts := make([]serving.Part, len(which))
	for i, k := range which {
		parts[i] = all[k]
	}
	want := make([]int, len(metrics)) // in the layout of this scan
	some := make([][]*hold, len(metrics))
	for i, m := range metrics {
		want[i], some[i] = lay.metric(f.lay.metrics[m].key), holds[m]
	}
	if kept == nil && !allFlagged(some) {
		_, err := f.stream(ctx, lay, parts, f.win, false, func() taker { return newGatherer(f.stocks, want, some) })
		return err
	}
	return f.batches(ctx, lay.wanted, parts, func() batchTaker {
		var p placer = noteReader{kept, which}
		if kept == nil {
			p = newLeafFinder(lay, f.stocks, f.win)
		}
		return newBatchGatherer(lay, want, some, p)
	})
}

// gatherLayout is the layout of a second scan that has to find out where rows
// belong: dimensions and outcome.
func gatherLayout(src serving.Requests, plan *Plan, first *layout) (*layout, error) {
	lay := emptyLayout(src, plan)
	lay.outcome = lay.wantKind(serving.ColOutcome, serving.KindText)
	lay.phase = lay.wantKind(serving.ColPhase, serving.KindText)
	lay.phases, lay.outcomes = first.phases, first.outcomes
	p := *plan
	p.Limits, p.Explore = nil, nil
	if err := lay.addDims(src, &p); err != nil { // those of groupings come first in both
		return nil, err
	}
	for i, d := range lay.dims { // numbers taken as names have the codes of the first scan
		d.dict = first.dims[i].dict
	}
	if _, timed := lay.dim[DimTime]; timed || plan.Window != (Window{}) {
		lay.arrival = lay.wantKind(serving.ColArrival, serving.KindTime)
	}
	return lay, nil
}

// pick takes the wanted values out of those that were kept. in is scratch.
func (p *pending) pick(m int, h *hold, in []float64) []float64 {
	for i, to := 0, 0; i < len(p.wants); i = to {
		to = i + 1
		if p.wants[i].known {
			continue
		}
		for to < len(p.wants) && p.wants[to].bucket == p.wants[i].bucket {
			to++
		}
		in = p.kept(m, h, p.wants[i].bucket, in[:0])
		choose(p.wants[i:to], in)
	}
	return in
}

// kept appends the cell's values that are in a bucket.
func (p *pending) kept(m int, h *hold, bucket uint16, in []float64) []float64 {
	for _, leaf := range p.leaves {
		if slot, ok := h.wanted[leaf].slot(bucket); ok {
			in = append(in, h.values[h.starts[slot]:h.starts[slot+1]]...)
		} else {
			in = append(in, bucketOf(&h.stock.f.scale, h.stock.accs[m][leaf].raw, bucket)...)
		}
	}
	return in
}

// countFrom is how many values it takes for counting them to be faster than
// dividing them.
const countFrom = 256

// choose sets the values of the wants of a bucket, out of all that are in it.
func choose(wants []want, in []float64) {
	if len(in) >= countFrom {
		ranks := make([]int, len(wants))
		for i, w := range wants {
			ranks[i] = int(w.offset)
		}
		for i, x := range stat.AtRanks(in, ranks) {
			wants[i].value = x
		}
		return
	}
	done := int64(0) // those below are no greater than the rest
	for i := range wants {
		w := &wants[i]
		w.value = nth(in[done:], int(w.offset-done))
		done = w.offset + 1
	}
}

// bucketOf returns those of sorted values that are in a bucket.
func bucketOf(l *scale, sorted []float64, b uint16) []float64 {
	from := sort.Search(len(sorted), func(i int) bool { return l.index(sorted[i]) >= b })
	to := from + sort.Search(len(sorted)-from, func(i int) bool { return l.index(sorted[from+i]) > b })
	return sorted[from:to]
}

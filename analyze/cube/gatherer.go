package cube

import (
	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// A gatherer is the taker of a second scan that has to find out where rows
// belong.
type gatherer struct {
	stocks  []*stock
	used    []bool    // by family
	metrics []int     // of the layout
	holds   [][]*hold // by metric of those, by family
	sorter  leafSorter
	rows    []leafRows
	rough   roughColumn
	hits    hits
	col     valueColumn
}

func newGatherer(stocks []*stock, metrics []int, holds [][]*hold) *gatherer {
	return &gatherer{stocks: stocks, used: usedBy(holds, len(stocks)), metrics: metrics, holds: holds, rows: make([]leafRows, len(stocks))}
}

// usedBy says of which families values are wanted.
func usedBy(holds [][]*hold, families int) []bool {
	used := make([]bool, families)
	for _, of := range holds {
		for k, h := range of {
			used[k] = used[k] || h != nil
		}
	}
	return used
}

func (g *gatherer) take(c *chunk) error {
	if err := g.place(c); err != nil {
		return err
	}
	for i, m := range g.metrics {
		v := &g.col
		v.load(c, m)
		g.rough.place = nil
		var made [2]bool
		for k, h := range g.holds[i] {
			if h == nil {
				continue
			}
			r := &g.rows[k]
			if h.flags != nil {
				if !h.keepFlagged(v.x, &g.rough, r.slotsOf(v), nil, &g.hits) {
					return errChanged
				}
				continue
			}
			timed := b2i(h.stock.f.timed)
			if !made[timed] {
				made[timed] = true
				v.index(timed, &h.stock.f.scale)
			}
			if !h.keep(v, &r.order, v.bucket[timed], &g.hits) {
				return errChanged
			}
		}
	}
	return nil
}

// place finds out where the rows of a chunk belong.
func (g *gatherer) place(c *chunk) error {
	c.blank()
	for i, s := range g.stocks {
		r := &g.rows[i]
		if !g.used[i] {
			continue
		}
		if err := r.find(&g.sorter, s, c, true); err != nil {
			return err
		}
		if s.f.dense {
			r.slots = s.slotsOf(r.slots, r.ids)
		} else {
			sortLeaves(&g.sorter, &r.order, r.ids, len(s.table.keys))
		}
	}
	return nil
}

// A batchGatherer is the taker of a second scan whose values are all wanted of
// dense families. It looks at the values where the source has them.
type batchGatherer struct {
	placer
	used    []bool     // by family
	columns []int      // of a batch
	holds   [][]*hold  // by column of those, by family
	slots   [][]uint16 // by family: of the rows of a batch
	flat    []uint16   // of the values of a column of lists
	numbers []float64  // of a column of counts
	rough   roughColumn
	hits    hits
}

// A placer says in which slots of some families the rows of a batch belong: in
// noSlot those that have no values.
type placer interface {
	place(part int, b *serving.Batch, used []bool, slots [][]uint16) error
}

func newBatchGatherer(lay *layout, metrics []int, holds [][]*hold, p placer) *batchGatherer {
	families := len(holds[0])
	g := &batchGatherer{placer: p, used: usedBy(holds, families), holds: holds, slots: make([][]uint16, families)}
	for _, m := range metrics {
		g.columns = append(g.columns, lay.metrics[m].col)
	}
	return g
}

func (g *batchGatherer) takeBatch(part int, b *serving.Batch) error {
	for k := range g.slots {
		g.slots[k] = sized(g.slots[k], b.N)
	}
	if err := g.place(part, b, g.used, g.slots); err != nil {
		return err
	}
	for i, col := range g.columns {
		v := &b.Cols[col]
		x, valid := g.values(v, b.N)
		g.rough.place = nil
		for k, h := range g.holds[i] {
			if h == nil {
				continue
			}
			slots := g.slots[k]
			if v.Kind == serving.KindGaps {
				slots = g.flatten(v, slots)
			}
			if !h.keepFlagged(x, &g.rough, slots, valid, &g.hits) {
				return errChanged
			}
		}
	}
	return nil
}

// values returns the values of a column and which of them there are.
func (g *batchGatherer) values(v *serving.Vector, n int) ([]float64, serving.Bitmap) {
	switch v.Kind {
	case serving.KindGaps:
		return v.Floats[v.Offsets[0]:v.Offsets[n]], nil
	case serving.KindCount:
		g.numbers = sized(g.numbers, n)
		wide.Floats(g.numbers, v.Ints[:n])
		return g.numbers, v.Valid
	}
	return v.Floats[:n], v.Valid
}

// flatten gives each value of a column of lists the slot of its row.
func (g *batchGatherer) flatten(v *serving.Vector, slots []uint16) []uint16 {
	g.flat = g.flat[:0]
	for row, slot := range slots {
		if !v.Has(row) {
			slot = noSlot
		}
		for range v.Offsets[row+1] - v.Offsets[row] {
			g.flat = append(g.flat, slot)
		}
	}
	return g.flat
}

// A noteReader is the placer of rows whose slots the first scan noted.
type noteReader struct {
	kept  *keptSlots
	which []int // parts that are scanned
}

func (r noteReader) place(part int, b *serving.Batch, used []bool, slots [][]uint16) error {
	for k := range slots {
		if used[k] {
			r.kept.slots(slots[k], r.which[part], k, b.Row)
		}
	}
	return nil
}

// A leafFinder is the placer of rows of which that has to be found out.
type leafFinder struct {
	stocks []*stock
	win    *windows
	c      *chunk // of dimensions alone
	sorter leafSorter
	rows   leafRows
}

func newLeafFinder(lay *layout, stocks []*stock, win *windows) *leafFinder {
	dims := *lay
	dims.metrics = nil
	return &leafFinder{stocks: stocks, win: win, c: emptyChunk(&dims)}
}

func (f *leafFinder) place(_ int, b *serving.Batch, used []bool, slots [][]uint16) error {
	c, r := f.c, &f.rows
	c.reset()
	c.add(b)
	c.setWindows(f.win)
	for k, s := range f.stocks {
		if !used[k] {
			continue
		}
		if err := r.find(&f.sorter, s, c, true); err != nil {
			return err
		}
		clear(slots[k])
		for at, leaf := range r.ids {
			if c.ok(at) {
				slots[k][c.sel[at]] = uint16(s.slots[leaf])
			}
		}
	}
	return nil
}

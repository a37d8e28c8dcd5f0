package cube

import "github.com/vreport/vreport/ingest/serving"

// A gatherer is the taker of a second scan that has to find out where rows
// belong.
type gatherer struct {
	lay     *layout
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

func newGatherer(lay *layout, stocks []*stock, metrics []int, holds [][]*hold) *gatherer {
	return &gatherer{lay: lay, stocks: stocks, used: usedBy(holds, len(stocks)), metrics: metrics, holds: holds, rows: make([]leafRows, len(stocks))}
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

// A knowingGatherer is the taker of a second scan of rows whose slots were noted:
// all families that values are wanted of are dense then. It looks at the values
// where the source has them.
type knowingGatherer struct {
	used    []bool    // by family
	columns []int     // of a batch
	holds   [][]*hold // by column of those, by family
	kept    *keptSlots
	which   []int      // parts that are scanned
	slots   [][]uint16 // by family: of the rows of a batch
	flat    []uint16   // of the values of a column of lists
	numbers []float64  // of a column of counts
	rough   roughColumn
	hits    hits
}

func newKnowingGatherer(lay *layout, metrics []int, holds [][]*hold, kept *keptSlots, which []int) *knowingGatherer {
	families := len(holds[0])
	g := &knowingGatherer{used: usedBy(holds, families), holds: holds, kept: kept, which: which, slots: make([][]uint16, families)}
	for _, m := range metrics {
		g.columns = append(g.columns, lay.metrics[m].col)
	}
	return g
}

func (g *knowingGatherer) takeBatch(part int, b *serving.Batch) error {
	for k, used := range g.used {
		if used {
			g.slots[k] = sized(g.slots[k], b.N)
			g.kept.slots(g.slots[k], g.which[part], k, b.Row)
		}
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
func (g *knowingGatherer) values(v *serving.Vector, n int) ([]float64, serving.Bitmap) {
	switch v.Kind {
	case serving.KindGaps:
		return v.Floats[v.Offsets[0]:v.Offsets[n]], nil
	case serving.KindCount:
		g.numbers = sized(g.numbers, n)
		for i, x := range v.Ints[:n] {
			g.numbers[i] = float64(x)
		}
		return g.numbers, v.Valid
	}
	return v.Floats[:n], v.Valid
}

// flatten gives each value of a column of lists the slot of its row.
func (g *knowingGatherer) flatten(v *serving.Vector, slots []uint16) []uint16 {
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

package cube

import (
	"slices"
)

// explore fills the cross of a table that is held in memory.
func (t *table) explore(plan *Plan, win *windows, counts [][]int64, asked [][]bool) *Explored {
	e := plan.Explore
	of := func(name string) *dimension { return t.lay.dims[t.lay.dim[name]] }
	dims, left := e.choose(func(name string) int {
		return of(name).breadth(func() *ranking { return of(name).rank(counts[t.lay.dim[name]], win) }, e.MaxNames)
	})
	lv := make([]levels, len(dims))
	labels := make([][]string, len(dims))
	for i, name := range dims {
		lv[i] = of(name).levelsOf(counts[t.lay.dim[name]], e.MaxNames, win)
		labels[i] = lv[i].labels()
	}
	g, index := t.cells(dims, lv)
	t.countCells(g.Cells, index, asked)
	x := newExplored(e, g, left, labels)
	l := newScale(e.Bits)
	for _, k := range e.Metrics {
		m, ok := t.lay.index[k]
		if !ok || !t.lay.metrics[m].shown {
			continue
		}
		x.Metrics = append(x.Metrics, k)
		for c, h := range t.histograms(m, &index, &l) {
			x.Cells[c].Histograms = append(x.Cells[c].Histograms, h)
		}
	}
	x.finish(e)
	return x
}

func (ls *levels) labels() []string {
	out := make([]string, len(ls.list))
	for i, l := range ls.list {
		out[i] = l.label
	}
	return out
}

// histograms counts the values of a metric by cell and bucket.
func (t *table) histograms(m int, index *cellIndex, l *scale) []Histogram {
	counts := map[uint64]int64{}
	for row := range t.n {
		c := uint64(index.cell(uint32(row))) << 16
		for _, x := range t.valuesOf(m, row) {
			counts[c|uint64(l.index(x))]++
		}
	}
	keys := make([]uint64, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]Histogram, index.cells)
	for _, k := range keys {
		out[k>>16] = append(out[k>>16], Bin{uint16(k), counts[k]})
	}
	return out
}

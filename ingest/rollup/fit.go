package rollup

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Fit leaves out of rollups that are about to be added up the cells with which the
// sums would not fit 64 bits, the heaviest first: a forged one stands out by what
// it claims, and the honest ones stay. It calls left with the number of the rollup,
// the cell and what was found and expected.
func Fit(rollups []*serving.Rollup, left func(i int, c *serving.RollupCell, why string)) {
	byGrouping := map[string]*load{}
	for i, r := range rollups {
		for _, c := range r.Cells {
			g := grouping(c, &r.Spec)
			l := byGrouping[g]
			if l == nil {
				l = &load{}
				byGrouping[g] = l
			}
			l.add(i, c)
		}
	}
	out := map[*serving.RollupCell]string{}
	for _, l := range byGrouping {
		l.shed(out)
	}
	if len(out) == 0 {
		return
	}
	for i, r := range rollups {
		r.Cells = slices.DeleteFunc(r.Cells, func(c *serving.RollupCell) bool {
			why, ok := out[c]
			if ok {
				left(i, c, why)
			}
			return ok
		})
	}
}

// grouping names the grouping that a cell is of.
func grouping(c *serving.RollupCell, spec *serving.RollupSpec) string {
	var dims []string
	for i, v := range c.By {
		if v != "" {
			dims = append(dims, spec.Dims[i])
		}
	}
	slices.Sort(dims)
	if c.Window != "" {
		dims = append(dims, serving.RollupTime)
	}
	return strings.Join(dims, "\x00")
}

// A load is the cells of one grouping and what they weigh together.
type load struct {
	n, total int64
	cells    []weighed
}

type weighed struct {
	file     int
	cell     *serving.RollupCell
	n, total int64
}

func (l *load) add(file int, c *serving.RollupCell) {
	n, total := c.Weight()
	l.n, l.total = serving.AddCounts(l.n, n), serving.AddCounts(l.total, total)
	l.cells = append(l.cells, weighed{file, c, n, total})
}

// shed names the cells to leave out.
func (l *load) shed(out map[*serving.RollupCell]string) {
	l.drop(out, serving.MaxRollupN, func(w weighed) int64 { return w.n }, "count")
	l.drop(out, serving.MaxRollupTotal, func(w weighed) int64 { return w.total }, "sum")
}

func (l *load) drop(out map[*serving.RollupCell]string, limit int64, of func(weighed) int64, what string) {
	slices.SortFunc(l.cells, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(of(a), of(b)), cmp.Compare(b.file, a.file), strings.Compare(b.cell.Key(), a.cell.Key()))
	})
	sum, keep := int64(0), 0
	for keep < len(l.cells) && of(l.cells[keep]) <= limit-sum {
		sum += of(l.cells[keep])
		keep++
	}
	for _, w := range l.cells[keep:] {
		out[w.cell] = fmt.Sprintf("the cell %s has a %s of %d, with which those of its grouping come to more than %d, which is all that a rollup holds; it is left out", cellName(w.cell), what, of(w), limit)
	}
	l.cells = l.cells[:keep]
}

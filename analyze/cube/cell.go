package cube

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/vreport/vreport/ingest/serving"
)

// defaultMaxGroups bounds the cells of a grouping where the plan does not.
const defaultMaxGroups = 1000

// A cellIndex says which cell of a grouping each row is in. Cells are numbered
// in the order of their keys.
type cellIndex struct {
	of    []uint32 // by row; nil where there is one cell of everything
	cells int
	timed bool // time windows are among the dimensions
}

// count makes the cells of all groupings and counts the rows in them.
func (t *table) count(ctx context.Context, c *Cube, plan *Plan, workers int) ([]cellIndex, error) {
	win := t.addWindows(c)
	counts := make([][]int64, len(t.lay.dims))
	for d := range t.lay.dims {
		counts[d] = t.countDim(d)
	}
	asked := t.asked(plan, win, counts)
	c.Groups = make([]Group, len(plan.Groupings))
	index := make([]cellIndex, len(plan.Groupings))
	err := each(ctx, workers, len(plan.Groupings), func() func(int) {
		return func(g int) {
			c.Groups[g], index[g] = t.group(plan.Groupings[g], plan.MaxGroups, win, counts)
			t.countCells(c.Groups[g].Cells, index[g], asked)
		}
	})
	if plan.Explore != nil && err == nil {
		c.Explored = t.explore(plan, win, counts, asked)
	}
	return index, err
}

// each calls work(i) for 0 ≤ i < n on the given number of goroutines, each with
// a work function of its own.
func each(ctx context.Context, workers, n int, newWork func() func(i int)) error {
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			work := newWork()
			for i := range next {
				if ctx.Err() == nil {
					work(i)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return ctx.Err()
}

// addWindows notes the times seen and gives each row its time window.
func (t *table) addWindows(c *Cube) *windows {
	first, last := int64(0), int64(noTime)
	for _, a := range t.arrival {
		if a == noTime {
			continue
		}
		if last == noTime || a < first {
			first = a
		}
		last = max(last, a)
	}
	if t.lastEnd != noTime {
		c.LastEnd = serving.Some(t.lastEnd)
	}
	if last == noTime {
		return &windows{}
	}
	c.First, c.Last = serving.Some(first), serving.Some(last)
	d, ok := t.lay.dim[DimTime]
	if !ok {
		return &windows{}
	}
	win := windowsOf(first, last, t.lay.relative)
	c.Start, c.Step = serving.Some(win.start), win.step
	t.codes[d] = make([]int32, t.n)
	for i, a := range t.arrival {
		t.codes[d][i] = none
		if a != noTime {
			t.codes[d][i] = win.of(a)
		}
	}
	return &win
}

// countDim counts a dimension's codes, by code+1.
func (t *table) countDim(d int) []int64 {
	if t.codes[d] == nil {
		return []int64{int64(t.n)} // the source does not have it
	}
	return countCodes(t.codes[d])
}

// group builds a grouping's cells, without their figures.
func (t *table) group(dims Grouping, maxGroups int, win *windows, counts [][]int64) (Group, cellIndex) {
	if maxGroups <= 0 {
		maxGroups = defaultMaxGroups
	}
	return t.cells(dims, t.fold(dims, maxGroups, win, counts))
}

// cells builds the cells of the combinations of levels that occur.
func (t *table) cells(dims Grouping, lv []levels) (Group, cellIndex) {
	g := Group{Dims: dims}
	for i, l := range lv {
		if l.folded > 0 {
			if g.Folded == nil {
				g.Folded = map[string]int{}
			}
			g.Folded[dims[i]] = l.folded
		}
	}
	ids, keys := t.combine(dims, lv, true)
	index := cellIndex{of: ids, cells: len(keys)}
	g.Cells = make([]Cell, len(keys))
	for c, key := range keys {
		g.Cells[c] = Cell{Key: make([]string, len(dims)), Window: -1}
		for i, k := range key {
			l := lv[i].list[k]
			g.Cells[c].Key[i] = l.label
			if dims[i] == DimTime {
				g.Cells[c].Window, index.timed = int(l.code), true
			}
		}
	}
	return g, index
}

// fold chooses which names stand for themselves. Each dimension keeps at most
// maxGroups, beside Unknown and Other; where the combinations of several are
// still more (time windows apart, which are bounded by themselves), the
// dimension with the most names is halved until they fit.
func (t *table) fold(dims Grouping, maxGroups int, win *windows, counts [][]int64) []levels {
	lv := make([]levels, len(dims))
	keep := make([]int, len(dims))
	ranks := make([]*ranking, len(dims))
	for i, name := range dims {
		d := t.lay.dim[name]
		keep[i] = maxGroups
		ranks[i] = t.lay.dims[d].rank(counts[d], win)
		lv[i] = ranks[i].levels(maxGroups)
	}
	for t.combinations(dims, lv, maxGroups) > maxGroups {
		widest := -1
		for i, name := range dims {
			n := len(lv[i].list)
			if t.lay.dims[t.lay.dim[name]].folds() && keep[i] > 1 && n > 2 && (widest < 0 || n > len(lv[widest].list)) {
				widest = i
			}
		}
		if widest < 0 {
			break // states and buckets only
		}
		keep[widest] = min(keep[widest], len(lv[widest].list)) / 2
		lv[widest] = ranks[widest].levels(keep[widest])
	}
	return lv
}

// combinations counts the combinations that occur, time windows apart. It does
// not look where there cannot be more than limit.
func (t *table) combinations(dims Grouping, lv []levels, limit int) int {
	product, several := 1, 0
	for i, l := range lv {
		if dims[i] != DimTime && len(l.list) > 1 {
			product = min(product*len(l.list), limit+1)
			several++
		}
	}
	if product <= limit || several < 2 {
		return min(product, limit)
	}
	_, keys := t.combine(dims, lv, false)
	return len(keys)
}

// combine numbers the combinations of levels that occur in lexical order of the
// levels, and returns each row's number and each number's levels. Without
// timed, time windows are passed over.
func (t *table) combine(dims Grouping, lv []levels, timed bool) ([]uint32, [][]uint32) {
	if t.n == 0 && len(dims) > 0 {
		return nil, nil
	}
	var ids []uint32
	keys := [][]uint32{nil}
	for i, name := range dims {
		codes := t.codes[t.lay.dim[name]]
		if !timed && name == DimTime {
			continue
		}
		if codes == nil { // all unknown: nothing to tell apart
			for k := range keys {
				keys[k] = append(keys[k], lv[i].of[0])
			}
			continue
		}
		ids, keys = refine(ids, keys, codes, &lv[i])
	}
	return ids, keys
}

// denseCombinations is how many combinations a table may have room for; beyond,
// a map is kept.
const denseCombinations = 1 << 22

// refine tells the rows of each number apart by one more dimension.
func refine(ids []uint32, keys [][]uint32, codes []int32, lv *levels) ([]uint32, [][]uint32) {
	width := uint64(len(lv.list))
	at := func(row int) uint64 {
		c := uint64(lv.of[codes[row]+1])
		if ids != nil {
			c += uint64(ids[row]) * width
		}
		return c
	}
	out := make([]uint32, len(codes))
	var found []uint64
	if total := width * uint64(len(keys)); total <= denseCombinations {
		number := make([]uint32, total)
		for row := range codes {
			number[at(row)] = 1
		}
		for c, seen := range number {
			if seen != 0 {
				number[c] = uint32(len(found))
				found = append(found, uint64(c))
			}
		}
		for row := range codes {
			out[row] = number[at(row)]
		}
	} else {
		number := map[uint64]uint32{}
		for row := range codes {
			number[at(row)] = 0
		}
		for c := range number {
			found = append(found, c)
		}
		slices.SortFunc(found, cmp.Compare[uint64])
		for i, c := range found {
			number[c] = uint32(i)
		}
		for row := range codes {
			out[row] = number[at(row)]
		}
	}
	refined := make([][]uint32, len(found))
	for i, c := range found {
		refined[i] = append(slices.Clip(keys[c/width]), uint32(c%width))
	}
	return out, refined
}

// countCells fills the cells' counts. asked says for each limit which rows it is
// for; nil means all.
func (t *table) countCells(cells []Cell, index cellIndex, asked [][]bool) {
	limits := len(t.lay.limits)
	for i := range cells {
		if limits > 0 {
			cells[i].Within, cells[i].Of = make([]int64, limits), make([]int64, limits)
		}
	}
	for row := range t.n {
		c := &cells[0]
		if index.of != nil {
			c = &cells[index.of[row]]
		}
		c.Sent++
		s := t.state[row]
		c.Outcomes[s&outcomeBits]++
		if s&goodBit != 0 {
			c.Good++
		}
		for l := range limits {
			if (asked[l] == nil || asked[l][row]) && t.lay.limits[l].asksOf(s) {
				c.Of[l]++
				if t.within[l][row] {
					c.Within[l]++
				}
			}
		}
		if s&outcomeBits == uint8(serving.OK) {
			t.countTokens(c, row)
		}
	}
}

func (t *table) countTokens(c *Cell, row int) {
	prompt, known := t.tokens(t.lay.prompt, row)
	c.Input += prompt
	output, _ := t.tokens(t.lay.output, row)
	c.Output += output
	if cached, ok := t.tokens(t.lay.cached, row); ok && known {
		c.Cached += cached
		c.CachedOf += prompt
	}
}

func (t *table) tokens(metric, row int) (int64, bool) {
	if metric < 0 || len(t.values[metric]) == 0 {
		return 0, false
	}
	v := t.values[metric][row]
	if !(v > -1<<62 && v < 1<<62) { // missing, or no count at all
		return 0, false
	}
	return int64(v), true
}

// asked tells which rows each limit is for.
func (t *table) asked(plan *Plan, win *windows, counts [][]int64) [][]bool {
	asked := make([][]bool, len(plan.Limits))
	for l, limit := range plan.Limits {
		for _, term := range limit.By {
			if asked[l] == nil {
				asked[l] = make([]bool, t.n)
				for row := range asked[l] {
					asked[l][row] = true
				}
			}
			d := t.lay.dim[term.Dim]
			match := make([]bool, len(counts[d]))
			for i := range match {
				match[i] = counts[d][i] > 0 && t.lay.dims[d].label(int32(i)-1, win) == term.Value
			}
			for row := range asked[l] {
				code := none
				if t.codes[d] != nil {
					code = t.codes[d][row]
				}
				asked[l][row] = asked[l][row] && match[code+1]
			}
		}
	}
	return asked
}

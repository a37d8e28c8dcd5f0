package cube

import (
	"fmt"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// An Explore asks for what a reader needs to combine slices by themselves, away
// from the data: the cross of as many dimensions as fit, with counts and a
// sparse histogram a metric and cell.
type Explore struct {
	Dims     []string // the most wanted first
	MaxCells int      // dimensions that would make more cells are left out
	MaxNames int      // values of a dimension that stand for themselves; the rest is folded into Other
	Metrics  []serving.MetricKey
	Bits     uint // of the histograms: an octave is cut into 2^Bits buckets; 7 at most
}

// spareCells is how many times MaxCells the combinations of values may be before
// the scan has told which of them occur.
const spareCells = 12

// choose takes dimensions as long as the combinations of their values are few.
// levels says how many values a dimension can have.
func (e *Explore) choose(levels func(name string) int) (dims Grouping, left []string) {
	cells := 1
	for _, name := range e.Dims {
		if n := max(levels(name), 1); cells*n <= spareCells*e.MaxCells {
			cells *= n
			dims = append(dims, name)
		} else {
			left = append(left, name)
		}
	}
	return dims, left
}

// breadth is how many values a dimension can have: of states and buckets all
// that there are, so that it does not depend on how a source is scanned.
func (d *dimension) breadth(rank func() *ranking, keep int) int {
	if d.kind == dimNone {
		return 1
	}
	if n, ok := d.fixedCodes(keep); ok {
		return n + 1
	}
	return len(rank().levels(keep).list)
}

// An Explored is a cross with histograms. It depends on the rows alone, not on
// how they were scanned.
type Explored struct {
	Dims    Grouping
	Values  [][]string     // by dimension: those that occur, in display order
	Folded  map[string]int // per dimension: distinct values folded into Other
	Left    []string       // dimensions left out, in the order they were asked for
	Metrics []serving.MetricKey
	Bits    uint
	Cells   []ExploredCell
}

// An ExploredCell is what is known of one combination; Summaries are nil.
type ExploredCell struct {
	Cell
	Levels     []int       // indexes into Values, a value a dimension
	Histograms []Histogram // aligned with Metrics
}

// A Histogram lists the buckets that hold values, ascending. Buckets are
// numbered as those of the engine with Explored.Bits mantissa bits.
type Histogram []Bin

// A Bin is a bucket with the number of its values.
type Bin struct {
	Bucket uint16
	N      int64
}

// coarser returns the number that a bucket has with fewer mantissa bits.
func coarser(b uint16, from, to uint) uint16 {
	if b < pageSize {
		return b
	}
	return pageSize + (b-pageSize)>>(from-to)
}

// newExplored puts cells together. labels has the values of each dimension in
// display order.
func newExplored(e *Explore, g Group, left []string, labels [][]string) *Explored {
	x := &Explored{Dims: g.Dims, Folded: g.Folded, Left: left, Bits: e.Bits, Values: labels}
	for i := range g.Cells {
		c := ExploredCell{Cell: g.Cells[i]}
		c.Summaries = nil
		for d, v := range c.Key {
			c.Levels = append(c.Levels, slices.Index(labels[d], v))
		}
		x.Cells = append(x.Cells, c)
	}
	return x
}

// finish drops what tells nothing and what is too much.
func (x *Explored) finish(e *Explore) {
	var kept []int
	for d, name := range x.Dims {
		used := make([]bool, len(x.Values[d]))
		for i := range x.Cells {
			used[x.Cells[i].Levels[d]] = true
		}
		switch with := append(slices.Clip(kept), d); {
		case count(used) < 2: // one value: nothing to choose from
		case x.combinations(with) > e.MaxCells:
			x.Left = append(x.Left, name)
		default:
			kept = with
		}
	}
	x.project(kept)
	rank := func(name string) int { return slices.Index(e.Dims, name) }
	slices.SortFunc(x.Left, func(a, b string) int { return rank(a) - rank(b) })
}

func count(used []bool) int {
	n := 0
	for _, u := range used {
		n += b2i(u)
	}
	return n
}

// combinations counts the combinations of some dimensions that occur.
func (x *Explored) combinations(dims []int) int {
	seen := map[string]bool{}
	for i := range x.Cells {
		seen[x.Cells[i].levelsKey(dims)] = true
	}
	return len(seen)
}

func (c *ExploredCell) levelsKey(dims []int) string {
	b := make([]byte, 0, 2*len(dims))
	for _, d := range dims {
		b = append(b, byte(c.Levels[d]>>8), byte(c.Levels[d])) // so that keys sort as levels do
	}
	return string(b)
}

// Without returns the cross without its last dimension, which joins those left
// out.
func (x *Explored) Without() *Explored {
	out := *x
	last := len(x.Dims) - 1
	out.Left = append([]string{x.Dims[last]}, x.Left...)
	kept := make([]int, last)
	for i := range kept {
		kept[i] = i
	}
	out.project(kept)
	return &out
}

// project sums the cells over all dimensions but those kept, and drops values
// that do not occur.
func (x *Explored) project(kept []int) {
	cells := map[string]*ExploredCell{}
	var keys []string
	for i := range x.Cells {
		c := &x.Cells[i]
		k := c.levelsKey(kept)
		if sum := cells[k]; sum != nil {
			sum.add(c)
			continue
		}
		sum := &ExploredCell{Cell: c.Cell, Levels: pick(c.Levels, kept), Histograms: slices.Clone(c.Histograms)}
		sum.Key, sum.Within, sum.Of = pick(c.Key, kept), slices.Clone(c.Within), slices.Clone(c.Of)
		cells[k] = sum
		keys = append(keys, k)
	}
	slices.Sort(keys)
	dims := make(Grouping, len(kept))
	values := make([][]string, len(kept))
	folded := map[string]int(nil)
	number := make([][]int, len(kept))
	for i, d := range kept {
		dims[i] = x.Dims[d]
		if n := x.Folded[dims[i]]; n > 0 {
			if folded == nil {
				folded = map[string]int{}
			}
			folded[dims[i]] = n
		}
		used := make([]bool, len(x.Values[d]))
		for _, c := range cells {
			used[c.Levels[i]] = true
		}
		number[i] = make([]int, len(used))
		for v, u := range used {
			if u {
				number[i][v] = len(values[i])
				values[i] = append(values[i], x.Values[d][v])
			}
		}
	}
	x.Dims, x.Values, x.Folded, x.Cells = dims, values, folded, nil
	for _, k := range keys {
		c := cells[k]
		for i := range c.Levels {
			c.Levels[i] = number[i][c.Levels[i]]
		}
		x.Cells = append(x.Cells, *c)
	}
}

func pick[T any](all []T, kept []int) []T {
	out := make([]T, len(kept))
	for i, k := range kept {
		out[i] = all[k]
	}
	return out
}

func (c *ExploredCell) add(o *ExploredCell) {
	c.Sent += o.Sent
	for i, n := range o.Outcomes {
		c.Outcomes[i] += n
	}
	c.Good += o.Good
	c.Input += o.Input
	c.Output += o.Output
	c.Cached += o.Cached
	c.CachedOf += o.CachedOf
	for l := range o.Within {
		c.Within[l] += o.Within[l]
		c.Of[l] += o.Of[l]
	}
	for m, h := range o.Histograms {
		c.Histograms[m] = c.Histograms[m].plus(h)
	}
}

// plus returns the sum of two histograms.
func (h Histogram) plus(o Histogram) Histogram {
	if len(h) == 0 {
		return o
	}
	out := make(Histogram, 0, len(h)+len(o))
	for len(h) > 0 && len(o) > 0 {
		switch {
		case h[0].Bucket < o[0].Bucket:
			out, h = append(out, h[0]), h[1:]
		case h[0].Bucket > o[0].Bucket:
			out, o = append(out, o[0]), o[1:]
		default:
			out = append(out, Bin{h[0].Bucket, h[0].N + o[0].N})
			h, o = h[1:], o[1:]
		}
	}
	return append(append(out, h...), o...)
}

// Coarsen returns the cross with histograms of fewer mantissa bits.
func (x *Explored) Coarsen(bits uint) (*Explored, error) {
	if bits > x.Bits {
		return nil, fmt.Errorf("histograms of %d bits cannot get %d", x.Bits, bits)
	}
	out := *x
	out.Bits, out.Cells = bits, slices.Clone(x.Cells)
	for i := range out.Cells {
		c := &out.Cells[i]
		c.Histograms = make([]Histogram, len(c.Histograms))
		for m, h := range x.Cells[i].Histograms {
			c.Histograms[m] = h.coarsen(x.Bits, bits)
		}
	}
	return &out, nil
}

func (h Histogram) coarsen(from, to uint) Histogram {
	var out Histogram
	for _, b := range h {
		k := coarser(b.Bucket, from, to)
		if n := len(out); n > 0 && out[n-1].Bucket == k {
			out[n-1].N += b.N
		} else {
			out = append(out, Bin{k, b.N})
		}
	}
	return out
}

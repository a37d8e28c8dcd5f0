package cube

import (
	"cmp"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// An axis is a dimension as a grouping shows it: with its names folded.
type axis struct {
	dim int
	lv  *levels
}

// A view is a grouping resolved: its cells are sums of the leaves of a family.
type view struct {
	dims   Grouping
	axes   []axis
	timed  bool
	family int
	of     []int // the family's axis of each of its own

	explore bool     // the cross of Plan.Explore, the last of the views
	left    []string // dimensions it has no room for
}

// A family is a set of leaf cells: the combinations of some axes. Several
// groupings share one, for each value that a family stores costs a step in each
// of two scans, and the cells of a coarser grouping are sums of its leaves.
type family struct {
	axes   []axis
	stride []uint64   // of the axes in a leaf's key; the first is the most significant
	size   uint64     // of the key space
	shares [][]uint32 // where it is small: what each code of each axis adds to a key, and noLevel
	timed  bool
	coarse bool // made for the cross of Plan.Explore alone
	scale  scale
	raw    int          // values that a leaf keeps as they are, before it becomes a histogram
	metric []int        // those stored
	shown  map[int]bool // the same, as a set
	values uint64       // leaves that can have values
	dense  bool         // these are few
	// extremes are kept while values come: not where the second scan finds them.
	extremes bool
	sums     bool    // tokens are the sums of token metrics
	places   *places // of its scale
}

// leafCap bounds the leaves of a family that was made to serve several
// groupings: beyond, histograms do not stay in the cache.
const leafCap = 512

// maxKeys bounds the key space of a family; groupings beyond are folded
// further.
const maxKeys = 1 << 60

// denseKeys is the key space up to which leaves are found by a table.
const denseKeys = 1 << 20

// rawLimit is how many values a cell holds before it becomes a histogram; of
// windows, whose histograms are coarse and whose cells are thousands, fewer.
var (
	rawLimit       = 256
	rawWindowLimit = 64
)

func product(axes []axis) uint64 {
	p := uint64(1)
	for _, a := range axes {
		n := uint64(max(len(a.lv.list), 1))
		if p > maxKeys/n {
			return maxKeys + 1
		}
		p *= n
	}
	return p
}

// leafProduct is product without the outcome, which is the same for all values:
// only completed requests have any.
func (lay *layout) leafProduct(axes []axis) uint64 {
	var some []axis
	for _, a := range axes {
		if lay.dims[a.dim].name != serving.ColOutcome {
			some = append(some, a)
		}
	}
	return product(some)
}

// families chooses the leaves for the views: the largest first, so that smaller
// ones find theirs made.
func (lay *layout) families(views []view) []family {
	order := make([]int, len(views))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &views[a], &views[b]
		if x.explore != y.explore {
			return cmp.Compare(b2i(x.explore), b2i(y.explore))
		}
		if x.timed != y.timed {
			return cmp.Compare(b2i(x.timed), b2i(y.timed))
		}
		return cmp.Or(cmp.Compare(len(y.axes), len(x.axes)), cmp.Compare(product(y.axes), product(x.axes)))
	})
	var out []family
	for _, i := range order {
		v := &views[i]
		v.family = slices.IndexFunc(out, func(f family) bool { return f.timed == v.timed && len(missing(f.axes, v.axes)) == 0 })
		if v.family < 0 && !v.timed && !v.explore {
			v.family = slices.IndexFunc(out, func(f family) bool {
				return !f.timed && lay.leafProduct(append(slices.Clone(f.axes), missing(f.axes, v.axes)...)) <= leafCap
			})
		}
		if v.family < 0 {
			v.family = len(out)
			out = append(out, family{timed: v.timed, coarse: v.explore})
		}
		f := &out[v.family]
		f.axes = append(f.axes, missing(f.axes, v.axes)...)
	}
	for i := range out {
		out[i].setStrides()
		out[i].values = lay.leafProduct(out[i].axes)
	}
	for i := range views {
		v := &views[i]
		for _, a := range v.axes {
			v.of = append(v.of, slices.Index(out[v.family].axes, a))
		}
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// layer says which of a chunk's bucket columns a family's values go by: each
// has a scale of its own.
func (f *family) layer() int {
	switch {
	case f.coarse:
		return 2
	case f.timed:
		return 1
	}
	return 0
}

// missing returns the axes of b that a lacks.
func missing(a, b []axis) []axis {
	var out []axis
	for _, x := range b {
		if !slices.Contains(a, x) && !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func (f *family) setStrides() {
	f.stride = make([]uint64, len(f.axes))
	f.size = 1
	for i := len(f.axes) - 1; i >= 0; i-- {
		f.stride[i] = f.size
		f.size *= uint64(max(len(f.axes[i].lv.list), 1))
	}
	if f.size > denseKeys {
		return
	}
	f.shares = make([][]uint32, len(f.axes))
	for i, a := range f.axes {
		f.shares[i] = make([]uint32, len(a.lv.of))
		for k, level := range a.lv.of {
			if f.shares[i][k] = level; level&noLevel == 0 {
				f.shares[i][k] = level * uint32(f.stride[i])
			}
		}
	}
}

// key returns the view's cell that a leaf is part of. Keys order cells as their
// levels do.
func (v *view) key(f *family, leaf uint64) uint64 {
	key := uint64(0)
	for i, a := range v.axes {
		n := uint64(len(f.axes[v.of[i]].lv.list))
		key = key*uint64(max(len(a.lv.list), 1)) + leaf/f.stride[v.of[i]]%max(n, 1)
	}
	return key
}

// levels of a cell's key.
func (v *view) levels(key uint64) []int {
	out := make([]int, len(v.axes))
	for i := len(v.axes) - 1; i >= 0; i-- {
		n := uint64(max(len(v.axes[i].lv.list), 1))
		out[i] = int(key % n)
		key /= n
	}
	return out
}

// keys returns the leaf key of each row of a chunk. It fails on a code that the
// levels do not know: the source is not what it was.
func (f *family) keys(dst []uint64, c *chunk) ([]uint64, error) {
	dst = sized(dst, c.n)
	clear(dst)
	for i, a := range f.axes {
		codes, of, stride := c.codes[a.dim], a.lv.of, f.stride[i]
		if codes == nil {
			if len(of) == 0 || of[0]&noLevel != 0 {
				return dst, errChanged
			}
			for row := range dst {
				dst[row] += uint64(of[0]) * stride
			}
			continue
		}
		seen := uint32(0)
		for row, code := range codes[:len(dst)] {
			k := uint(code + 1)
			if k >= uint(len(of)) {
				return dst, errChanged
			}
			seen |= of[k]
			dst[row] += uint64(of[k]) * stride
		}
		if seen&noLevel != 0 {
			return dst, errChanged
		}
	}
	return dst, nil
}

// keyRows is how many rows get their keys at a time: they stay in the nearest cache
// from one axis to the next.
const keyRows = 4 << 10

// smallKeys is keys where the key space is small.
func (f *family) smallKeys(dst []uint32, c *chunk) ([]uint32, error) {
	dst = sized(dst, c.n)
	clear(dst)
	for from := 0; from < c.n; from += keyRows {
		to := min(from+keyRows, c.n)
		for i, a := range f.axes {
			codes, add := c.codes[a.dim], f.shares[i]
			if codes == nil {
				if len(add) == 0 || add[0]&noLevel != 0 {
					return dst, errChanged
				}
				for row := from; row < to && add[0] > 0; row++ {
					dst[row] += add[0]
				}
				continue
			}
			if seen, ok := wide.AddLevels(dst[from:to], codes[from:to], add); !ok || seen&noLevel != 0 {
				return dst, errChanged
			}
		}
	}
	return dst, nil
}

// A keyTable numbers the leaf keys of a family in the order they come.
type keyTable struct {
	dense []uint32 // number+1 by key
	other map[uint64]uint32
	keys  []uint64
}

func newKeyTable(size uint64) keyTable {
	if size <= denseKeys {
		return keyTable{dense: make([]uint32, size)}
	}
	return keyTable{other: map[uint64]uint32{}}
}

// numbers turns keys into numbers; new keys get one unless frozen.
func (t *keyTable) numbers(dst []uint32, keys []uint64, frozen bool) ([]uint32, error) {
	dst = sized(dst, len(keys))
	for i, k := range keys {
		n := t.number(k)
		if n == 0 {
			if frozen {
				return dst, errChanged
			}
			n = t.add(k)
		}
		dst[i] = n - 1
	}
	return dst, nil
}

// number returns the number of a key, counted from 1; 0 where it has none.
func (t *keyTable) number(k uint64) uint32 {
	if t.dense != nil {
		return t.dense[k]
	}
	return t.other[k]
}

// smallNumbers is numbers of the keys of a small space.
func (t *keyTable) smallNumbers(dst, keys []uint32, frozen bool) ([]uint32, error) {
	dst = sized(dst, len(keys))
	for i := 0; i < len(keys); i++ {
		if i += wide.Find(dst[i:], keys[i:], t.dense); i == len(keys) {
			break
		}
		n := t.dense[keys[i]]
		if n == 0 {
			if frozen {
				return dst, errChanged
			}
			n = t.add(uint64(keys[i]))
		}
		dst[i] = n - 1
	}
	return dst, nil
}

func (t *keyTable) add(k uint64) uint32 {
	t.keys = append(t.keys, k)
	n := uint32(len(t.keys))
	if t.dense != nil {
		t.dense[k] = n
	} else {
		t.other[k] = n
	}
	return n
}

// A leafCounts is what a leaf knows besides values: sums of its rows.
type leafCounts struct {
	sent     int64
	outcomes [serving.NumOutcomes]int64
	good     int64
	input    int64
	output   int64
	cached   int64
	cachedOf int64
}

func (a *leafCounts) merge(b *leafCounts) {
	a.sent += b.sent
	for i := range a.outcomes {
		a.outcomes[i] += b.outcomes[i]
	}
	a.good += b.good
	a.input += b.input
	a.output += b.output
	a.cached += b.cached
	a.cachedOf += b.cachedOf
}

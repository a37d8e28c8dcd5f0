package cube

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// A dimension turns rows into small codes while they are scanned and codes into
// labels afterwards. A code of none is a row without a value.
//
// Codes of text depend on the order in which a parallel scan met the strings,
// so nothing but their labels may reach a result.
type dimension struct {
	name   string
	kind   dimKind
	col    int           // the column it reads, -1 where there is none
	of     int           // of a cache state: the column of prompt tokens
	bounds Bounds        // of buckets
	start  [65]int32     // of buckets: the one of the least count of each bit length
	warm   float64       // of a cache state
	dict   *serving.Dict // of text and of numbers taken as names
}

// none is the code of a row that has no value in a dimension.
const none int32 = -1

type dimKind uint8

const (
	dimNone   dimKind = iota // the source has no such column: all unknown
	dimText                  // a text column
	dimBucket                // a count column with bounds
	dimNumber                // a count or number without bounds: each value is a name
	dimCache                 // a cache state
	dimTime                  // time windows; its codes are made after the scan
)

// Cache states by code.
var cacheStates = []string{"cold", "partial", "warm"}

// newDimension resolves a name against the columns that a source has. Columns
// it needs are added to the layout.
func newDimension(name string, src serving.Requests, plan *Plan, lay *layout) (*dimension, error) {
	d := &dimension{name: name, col: -1, of: -1}
	switch name {
	case DimTime:
		d.kind = dimTime
		return d, nil
	case DimCache:
		d.warm = plan.WarmShare
		if d.warm <= 0 {
			d.warm = defaultWarmShare
		}
		d.col, d.of = lay.want(string(serving.CachedTokens)), lay.want(string(serving.PromptTokens))
		if d.col >= 0 {
			d.kind = dimCache
		}
		return d, nil
	}
	c, ok := lay.columns[name]
	if !ok {
		return d, nil
	}
	bounds, bucketed := plan.Buckets[name]
	switch c.Kind {
	case serving.KindText:
		d.kind, d.dict = dimText, src.Dict(name)
	case serving.KindCount, serving.KindNumber:
		d.kind, d.dict = dimNumber, serving.NewDict()
		if bucketed {
			d.kind, d.bounds, d.dict = dimBucket, bounds, nil
			for n := range d.start {
				d.start[n] = bounds.of(int64(1) << n >> 1 & math.MaxInt64)
			}
		}
	default:
		return nil, fmt.Errorf("column %q of %s cannot be grouped by: want a text column or a count column with buckets", name, src.Name())
	}
	d.col = lay.want(name)
	return d, nil
}

// defaultWarmShare is the share of cached prompt tokens from which a prompt
// counts as warm where the plan does not say.
const defaultWarmShare = 0.9

// check refuses bounds that give no buckets.
func (b Bounds) check(name string) error {
	for i, v := range b {
		if v <= 0 || i > 0 && v <= b[i-1] {
			return fmt.Errorf("buckets of %s: %v: want positive bounds in ascending order, e.g. 128,512,2048", name, []int64(b))
		}
	}
	return nil
}

// label names bucket i: 0-127, 128-511, …, 131072+.
func (b Bounds) label(i int) string {
	from := int64(0)
	if i > 0 {
		from = b[i-1]
	}
	if i == len(b) {
		return strconv.FormatInt(from, 10) + "+"
	}
	if b[i]-1 == from {
		return strconv.FormatInt(from, 10)
	}
	return fmt.Sprintf("%d-%d", from, b[i]-1)
}

// of returns the bucket of a count. Bounds are few: a linear search beats a
// binary one.
func (b Bounds) of(v int64) int32 {
	if v < 0 {
		return none
	}
	i := 0
	for i < len(b) && v >= b[i] {
		i++
	}
	return int32(i)
}

// bucket is bounds.of, from nearer by.
func (d *dimension) bucket(v int64) int32 {
	if v < 0 {
		return none
	}
	i := int(d.start[bits.Len64(uint64(v))])
	for i < len(d.bounds) && v >= d.bounds[i] {
		i++
	}
	return int32(i)
}

// appendCodes adds the codes of the selected rows of a batch.
func (d *dimension) appendCodes(dst []int32, b *serving.Batch, sel []int32, names map[string]int32) []int32 {
	switch d.kind {
	case dimText:
		return appendText(dst, &b.Cols[d.col], sel)
	case dimBucket:
		return d.appendBuckets(dst, &b.Cols[d.col], sel)
	case dimNumber:
		return d.appendNumbers(dst, &b.Cols[d.col], sel, names)
	case dimCache:
		return d.appendCache(dst, b, sel)
	}
	for range sel {
		dst = append(dst, none)
	}
	return dst
}

// isAll reports whether a selection, ascending, is of the first rows and all of
// them.
func isAll(sel []int32) bool { return len(sel) > 0 && int(sel[len(sel)-1]) == len(sel)-1 }

func appendText(dst []int32, v *serving.Vector, sel []int32) []int32 {
	if isAll(sel) {
		at := len(dst)
		dst = append(dst, v.Codes[:len(sel)]...)
		for i, c := range dst[at:] {
			if c < none {
				dst[at+i] = none
			}
		}
		missingRows(v.Valid, len(sel), func(i int) { dst[at+i] = none })
		return dst
	}
	if v.Valid == nil {
		for _, i := range sel {
			dst = append(dst, max(v.Codes[i], none))
		}
		return dst
	}
	for _, i := range sel {
		c := none
		if v.Has(int(i)) {
			c = max(v.Codes[i], none)
		}
		dst = append(dst, c)
	}
	return dst
}

// fewBounds is how many bounds a value is compared with faster than it is looked up.
const fewBounds = 16

func (d *dimension) appendBuckets(dst []int32, v *serving.Vector, sel []int32) []int32 {
	if v.Kind == serving.KindCount && isAll(sel) && len(d.bounds) <= fewBounds {
		at := len(dst)
		dst = slices.Grow(dst, len(sel))[:at+len(sel)]
		wide.Buckets(dst[at:], v.Ints[:len(sel)], d.bounds)
		missingRows(v.Valid, len(sel), func(i int) { dst[at+i] = none })
		return dst
	}
	for _, i := range sel {
		c := none
		if n, ok := countAt(v, int(i)); ok {
			c = d.bucket(n)
		}
		dst = append(dst, c)
	}
	return dst
}

// appendNumbers takes each number for a name. names is the caller's own cache of
// the shared intern table.
func (d *dimension) appendNumbers(dst []int32, v *serving.Vector, sel []int32, names map[string]int32) []int32 {
	for _, i := range sel {
		if !v.Has(int(i)) {
			dst = append(dst, none)
			continue
		}
		var buf [32]byte
		s := buf[:0]
		if v.Kind == serving.KindCount {
			s = strconv.AppendInt(s, v.Ints[i], 10)
		} else {
			s = strconv.AppendFloat(s, v.Floats[i], 'g', -1, 64)
		}
		c, ok := names[string(s)]
		if !ok {
			c = d.dict.Code(string(s))
			names[string(s)] = c
		}
		dst = append(dst, c)
	}
	return dst
}

func (d *dimension) appendCache(dst []int32, b *serving.Batch, sel []int32) []int32 {
	cached := &b.Cols[d.col]
	if d.of >= 0 && cached.Kind == serving.KindCount && b.Cols[d.of].Kind == serving.KindCount && b.Cols[d.of].Valid == nil {
		prompt := b.Cols[d.of].Ints
		at := len(dst)
		dst = slices.Grow(dst, len(sel))[:at+len(sel)]
		out := dst[at:]
		if isAll(sel) {
			wide.Shares(out, cached.Ints[:len(sel)], prompt, d.warm)
			missingRows(cached.Valid, len(sel), func(i int) { out[i] = none })
			return dst
		}
		for k, i := range sel {
			out[k] = cacheState(cached.Ints[i], cached.Has(int(i)), prompt[i], true, d.warm)
		}
		return dst
	}
	for _, i := range sel {
		c, ok := countAt(cached, int(i))
		p, known := int64(0), false
		if d.of >= 0 {
			p, known = countAt(&b.Cols[d.of], int(i))
		}
		dst = append(dst, cacheState(c, ok, p, known, d.warm))
	}
	return dst
}

// cacheState returns the code of a cache state. A request that does not say
// what was cached is unknown, never cold; so is one that says more was cached
// than there was.
func cacheState(cached int64, ok bool, prompt int64, known bool, warm float64) int32 {
	switch {
	case !ok || cached < 0:
		return none
	case cached == 0:
		return 0
	case !known || cached > prompt:
		return none
	}
	return 1 + int32(b2i(float64(cached)/float64(prompt) >= warm))
}

// countAt returns a count, whichever way the column holds it.
func countAt(v *serving.Vector, i int) (int64, bool) {
	if !v.Has(i) {
		return 0, false
	}
	if v.Kind == serving.KindCount || v.Kind == serving.KindTime {
		return v.Ints[i], true
	}
	f := v.Floats[i]
	if !(f > -1<<63 && f < 1<<63) {
		return 0, false
	}
	return int64(f), true
}

// label returns the name of a code.
func (d *dimension) label(code int32, win *windows) string {
	if code < 0 {
		return Unknown
	}
	switch d.kind {
	case dimText, dimNumber:
		if s := d.dict.Name(code); s != "" {
			return s
		}
	case dimBucket:
		return d.bounds.label(int(code))
	case dimCache:
		return cacheStates[code]
	case dimTime:
		return win.label(int(code))
	}
	return Unknown
}

// folds reports whether the dimension may have any number of values.
func (d *dimension) folds() bool { return d.kind == dimText || d.kind == dimNumber }

// A level is one value of a dimension as a grouping shows it.
type level struct {
	label string
	code  int32 // of time: the window
	rows  int64
}

// noLevel stands for the level of a code that does not occur.
const noLevel = 1 << 31

// levels are the values of a dimension in display order, with the level of
// every code.
type levels struct {
	list   []level
	of     []uint32 // by code+1
	folded int      // distinct values folded into Other
}

// A ranking is the names of a dimension that occur, of which any number can be
// kept. To make one of a million names takes a second, to cut it again little.
type ranking struct {
	d      *dimension
	known  []level            // once it is sorted, the most frequent first, ties by name
	sorted bool               // of names: where all are kept they need not be
	codes  map[string][]int32 // by label
	size   int                // codes+1
}

// rank counts the codes of a dimension.
func (d *dimension) rank(counts []int64, win *windows) *ranking {
	r := &ranking{d: d, codes: map[string][]int32{}, size: len(counts)}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		code := int32(i) - 1
		l := d.label(code, win)
		r.codes[l] = append(r.codes[l], code)
		if l == Unknown || l == Other && d.folds() {
			continue
		}
		r.known = append(r.known, level{l, code, n})
	}
	return r
}

// levelsOf is rank and levels at once.
func (d *dimension) levelsOf(counts []int64, keep int, win *windows) levels {
	return d.rank(counts, win).levels(keep)
}

// levels orders what occurs: buckets, states and windows by code, names by name,
// then Unknown, then Other. Of names at most keep stand for themselves: the most
// frequent, ties by name.
func (r *ranking) levels(keep int) levels {
	out := levels{of: make([]uint32, r.size)}
	for i := range out.of {
		out.of[i] = noLevel
	}
	own, rest := r.known, r.known[:0]
	if r.d.folds() {
		own, rest = r.cut(keep)
		out.folded = len(rest)
	}
	for _, l := range own {
		out.add(l, r.codes[l.label])
	}
	if c, ok := r.codes[Unknown]; ok {
		out.add(level{label: Unknown, code: none}, c)
	}
	var others []int32
	if r.d.folds() {
		others = append(others, r.codes[Other]...)
	}
	for _, l := range rest {
		others = append(others, r.codes[l.label]...)
	}
	if len(others) > 0 {
		out.add(level{label: Other, code: none}, others)
	}
	return out
}

func (ls *levels) add(l level, codes []int32) {
	for _, c := range codes {
		ls.of[c+1] = uint32(len(ls.list))
	}
	ls.list = append(ls.list, l)
}

// cut divides names into the most frequent ones, in the order they are shown, and
// the rest.
func (r *ranking) cut(keep int) (own, rest []level) {
	if len(r.known) <= keep {
		own = slices.Clone(r.known)
	} else {
		if !r.sorted {
			r.sorted = true
			slices.SortFunc(r.known, func(a, b level) int {
				return cmp.Or(cmp.Compare(b.rows, a.rows), strings.Compare(a.label, b.label))
			})
		}
		own, rest = slices.Clone(r.known[:keep]), r.known[keep:]
	}
	slices.SortFunc(own, func(a, b level) int {
		if r.d.kind == dimNumber {
			x, _ := strconv.ParseFloat(a.label, 64)
			y, _ := strconv.ParseFloat(b.label, 64)
			if x != y {
				return cmp.Compare(x, y)
			}
		}
		return strings.Compare(a.label, b.label)
	})
	return own, rest
}

// countCodes counts codes, by code+1.
func countCodes(codes []int32) []int64 {
	counts := make([]int64, 1)
	for _, c := range codes {
		if int(c)+1 >= len(counts) {
			counts = append(counts, make([]int64, int(c)+2-len(counts))...)
		}
		counts[c+1]++
	}
	return counts
}

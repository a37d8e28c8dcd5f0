package cube

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
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

func (d *dimension) appendBuckets(dst []int32, v *serving.Vector, sel []int32) []int32 {
	if v.Valid == nil && v.Kind == serving.KindCount {
		at := len(dst)
		dst = slices.Grow(dst, len(sel))[:at+len(sel)]
		out := dst[at:]
		if isAll(sel) {
			for i, n := range v.Ints[:len(sel)] {
				out[i] = d.bucket(n)
			}
			return dst
		}
		for k, i := range sel {
			out[k] = d.bucket(v.Ints[i])
		}
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
			prompt = prompt[:len(sel)]
			for i, n := range cached.Ints[:len(sel)] {
				out[i] = cacheState(n, true, prompt[i], true, d.warm)
			}
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
	// A division takes longer than all the rest; it decides where rounding could.
	c, w := float64(cached), warm*float64(prompt)
	if math.Abs(c-w) > 1e-6*w {
		return 1 + int32(b2i(c > w))
	}
	return 1 + int32(b2i(c/float64(prompt) >= warm))
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

// levels are the values of a dimension in display order, with the level of
// every code.
type levels struct {
	list   []level
	of     []uint32 // by code+1
	folded int      // distinct values folded into Other
}

// levelsOf counts the codes and orders what occurs: buckets, states and windows
// by code, names by name, then Unknown, then Other. Of names at most keep stand
// for themselves: the most frequent, ties by name.
func (d *dimension) levelsOf(counts []int64, keep int, win *windows) levels {
	var known []level
	codes := map[string][]int32{}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		code := int32(i) - 1
		l := d.label(code, win)
		codes[l] = append(codes[l], code)
		if l == Unknown || l == Other && d.folds() {
			continue
		}
		known = append(known, level{l, code, n})
	}
	out := levels{of: make([]uint32, len(counts))}
	if d.folds() {
		known, out.folded = d.fold(known, keep)
	}
	for _, l := range known {
		out.add(l, codes[l.label])
		delete(codes, l.label)
	}
	if c, ok := codes[Unknown]; ok {
		out.add(level{label: Unknown, code: none}, c)
		delete(codes, Unknown)
	}
	if len(codes) > 0 {
		var all []int32
		for _, c := range codes {
			all = append(all, c...)
		}
		out.add(level{label: Other, code: none}, all)
	}
	return out
}

func (ls *levels) add(l level, codes []int32) {
	for _, c := range codes {
		ls.of[c+1] = uint32(len(ls.list))
	}
	ls.list = append(ls.list, l)
}

// fold keeps the most frequent names and orders them.
func (d *dimension) fold(known []level, keep int) ([]level, int) {
	folded := 0
	if len(known) > keep {
		sort.Slice(known, func(i, j int) bool {
			if known[i].rows != known[j].rows {
				return known[i].rows > known[j].rows
			}
			return known[i].label < known[j].label
		})
		folded = len(known) - keep
		known = known[:keep]
	}
	slices.SortFunc(known, func(a, b level) int {
		if d.kind == dimNumber {
			x, _ := strconv.ParseFloat(a.label, 64)
			y, _ := strconv.ParseFloat(b.label, 64)
			if x != y {
				if x < y {
					return -1
				}
				return 1
			}
		}
		return strings.Compare(a.label, b.label)
	})
	return known, folded
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

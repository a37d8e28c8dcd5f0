package cube

import (
	"math"
	"math/bits"
)

// Buckets are log-linear: an octave is cut into 2^S equal pieces, which is what
// the exponent and the first S bits of the mantissa of a float64 say. From
// 2^minExp up to 2^(minExp+octaves) the buckets lie there; below and above there
// are wide ones. Numbered from the smallest values to the largest:
//
//	0                  x < 0
//	1                  x = 0
//	2                  0 < x < 2^minExp
//	256 + i            the regular ones: i = bits(x)>>(52-S) - (1023+minExp)<<S
//	256 + octaves<<S   x ≥ 2^(minExp+octaves)
//
// so that a database can number them, too: e = floor(log2(x)) and
// i = (e-minExp)·2^S + floor((x/2^e - 1)·2^S). A value lies within 2^-S of any
// other of its regular bucket, relatively.
const (
	minExp   = -42
	octaves  = 96
	pageBits = 8
	pageSize = 1 << pageBits

	bucketNegative = 0
	bucketZero     = 1
	bucketTiny     = 2
)

// Mantissa bits of histograms. Finer ones take more memory in the first scan and
// leave fewer values for the second, so it is the rows that decide.
const (
	fineBits   = 8 // of slices
	coarseBits = 4 // of time windows, which are thousands of cells
	roughBits  = 6 // of time windows where there is no second scan

	fewRows  = 4 << 20
	manyRows = 16 << 20
)

func sliceBits(plan *Plan, rows int64) uint {
	switch {
	case plan.NoExact:
		return fineBits
	case rows <= fewRows:
		return fineBits - 1
	case rows > manyRows:
		return fineBits + 1
	}
	return fineBits
}

func windowBits(plan *Plan, rows int64) uint {
	switch {
	case plan.NoExact:
		return roughBits
	case rows > manyRows:
		return coarseBits + 1
	}
	return coarseBits
}

// A scale numbers buckets with S mantissa bits.
type scale struct {
	s     uint
	shift uint
	base  uint64
	width uint64 // regular buckets
}

func newScale(s uint) scale {
	return scale{s: s, shift: 52 - s, base: (1023 + minExp) << s, width: octaves << s}
}

// buckets is how many buckets there are, gaps between wide and regular ones
// included.
func (l *scale) buckets() int { return pageSize + int(l.width) + 1 }

// pages is how many pages of buckets there are.
func (l *scale) pages() int { return (l.buckets() + pageSize - 1) >> pageBits }

// index returns the bucket of a finite value.
func (l *scale) index(x float64) uint16 {
	if i := math.Float64bits(x)>>l.shift - l.base; i < l.width {
		return uint16(i + pageSize)
	}
	switch {
	case x < 0:
		return bucketNegative
	case x == 0:
		return bucketZero
	case x < 1:
		return bucketTiny
	}
	return uint16(l.width + pageSize)
}

// bounds returns the range of a bucket, lo ≤ x < hi.
func (l *scale) bounds(b uint16) (lo, hi float64) {
	at := func(i uint64) float64 { return math.Float64frombits((i + l.base) << l.shift) }
	i := uint64(b) - pageSize
	switch {
	case b == bucketNegative:
		return math.Inf(-1), 0
	case b == bucketZero:
		return 0, 0
	case b < pageSize:
		return 0, at(0)
	case i >= l.width:
		return at(l.width), math.Inf(1)
	}
	return at(i), at(i + 1)
}

// single reports whether all values of a bucket are the same one: zeros, and
// whole numbers where a bucket is no wider than 1.
func (l *scale) single(b uint16, whole bool) (x float64, ok bool) {
	if b == bucketZero {
		return 0, true
	}
	if !whole || b < pageSize || uint64(b)-pageSize >= l.width {
		return 0, false
	}
	lo, hi := l.bounds(b)
	if hi-lo > 1 {
		return 0, false
	}
	return math.Ceil(lo), true
}

// A page holds the counts of 256 buckets: an octave of a fine histogram. Pages
// that no value falls into are not there.
type page [pageSize]uint32

// A pagePool hands out pages, a block at a time.
type pagePool struct{ block []page }

func (p *pagePool) get() *page {
	if len(p.block) == 0 {
		p.block = make([]page, 64)
	}
	pg := &p.block[0]
	p.block = p.block[1:]
	*pg = page{} // see open: to write first is cheaper
	return pg
}

// A bucketSet holds a bit a bucket, in pages as histograms are, and numbers its
// buckets.
type bucketSet []*setPage

type setPage struct {
	bits [pageSize / 64]uint64
	slot [pageSize / 64]uint32 // of the first bucket of each word
}

// A setPool hands out bucket sets and their pages, a block at a time. All of it is
// written to first, which is cheaper: see open.
type setPool struct {
	pages []setPage
	sets  bucketSet
}

func (p *setPool) page() *setPage {
	if len(p.pages) == 0 {
		p.pages = make([]setPage, 256)
		clear(p.pages)
	}
	pg := &p.pages[0]
	p.pages = p.pages[1:]
	return pg
}

// set returns an empty set of n pages.
func (p *setPool) set(n int) bucketSet {
	if len(p.sets) < n {
		p.sets = make(bucketSet, 64*n)
		clear(p.sets)
	}
	s := p.sets[:n:n]
	p.sets = p.sets[n:]
	return s
}

func (s bucketSet) add(b uint16, pool *setPool) {
	pg := s[b>>pageBits]
	if pg == nil {
		pg = pool.page()
		s[b>>pageBits] = pg
	}
	pg.bits[b>>6&3] |= 1 << (b & 63)
}

// number gives the buckets consecutive slots and returns the next one.
func (s bucketSet) number(slot uint32) uint32 {
	for _, pg := range s {
		if pg == nil {
			continue
		}
		for i, w := range pg.bits {
			pg.slot[i] = slot
			slot += uint32(bits.OnesCount64(w))
		}
	}
	return slot
}

// each calls yield for the buckets, ascending.
func (s bucketSet) each(yield func(b uint16)) {
	for i, pg := range s {
		if pg == nil {
			continue
		}
		for k, w := range pg.bits {
			for ; w != 0; w &= w - 1 {
				yield(uint16(i<<pageBits + k<<6 + bits.TrailingZeros64(w)))
			}
		}
	}
}

// slot returns the slot of a bucket.
func (s bucketSet) slot(b uint16) (uint32, bool) {
	if int(b>>pageBits) >= len(s) || s[b>>pageBits] == nil {
		return 0, false
	}
	pg := s[b>>pageBits]
	w := pg.bits[b>>6&3]
	if w>>(b&63)&1 == 0 {
		return 0, false
	}
	return pg.slot[b>>6&3] + uint32(bits.OnesCount64(w&(1<<(b&63)-1))), true
}

// has reports whether a bucket is in the set.
func (s bucketSet) has(b uint16) bool {
	if uint(b>>pageBits) >= uint(len(s)) {
		return false
	}
	pg := s[b>>pageBits]
	return pg != nil && pg.bits[b>>6&3]>>(b&63)&1 != 0
}

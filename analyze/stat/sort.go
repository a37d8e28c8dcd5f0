package stat

import (
	"math"
	"slices"
)

// radixFrom is the length from which Sort sorts by digits: below, comparing is
// faster.
const radixFrom = 4096

// Sort sorts values, which must not be NaN, in ascending order; -0 comes before
// 0. Of very many it takes a fifth of the time of slices.Sort, and as much
// memory again.
func Sort(x []float64) {
	if len(x) < radixFrom {
		slices.Sort(x)
		return
	}
	const digit, digits = 11, 6
	var counts [digits][1 << digit]uint32
	from, to := make([]uint64, len(x)), make([]uint64, len(x))
	for i, v := range x {
		k := sortKey(v)
		from[i] = k
		for d := range counts {
			counts[d][k>>(digit*d)&(1<<digit-1)]++
		}
	}
	for d := range counts {
		c, shift := &counts[d], digit*d
		if c[from[0]>>shift&(1<<digit-1)] == uint32(len(x)) {
			continue // all the same
		}
		at := uint32(0)
		for i, n := range c {
			c[i] = at
			at += n
		}
		for _, k := range from {
			i := k >> shift & (1<<digit - 1)
			to[c[i]] = k
			c[i]++
		}
		from, to = to, from
	}
	for i, k := range from {
		x[i] = math.Float64frombits(k ^ (uint64(int64(^k)>>63) | 1<<63))
	}
}

// sortKey maps a value to an integer, so that order is that of integers.
func sortKey(v float64) uint64 {
	k := math.Float64bits(v)
	return k ^ (uint64(int64(k)>>63) | 1<<63)
}

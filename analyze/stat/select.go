package stat

import (
	"math"
	"math/bits"
	"slices"
)

// Quantiles returns the type 7 quantiles at each p (0…1) of values in any order,
// which must not be NaN: what Quantile says of them once they are sorted, in a
// fraction of the time that sorting takes. They are NaN for no values.
func Quantiles(x []float64, ps ...float64) []float64 {
	out := make([]float64, len(ps))
	if len(x) == 0 {
		for i := range out {
			out[i] = math.NaN()
		}
		return out
	}
	ranks := make([]int, 0, 2*len(ps))
	for _, p := range ps {
		j, _ := rank7(len(x), p)
		ranks = append(ranks, j, min(j+1, len(x)-1))
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	at := atRanks(x, ranks, nil)
	for i, p := range ps {
		j, g := rank7(len(x), p)
		k := slices.Index(ranks, j)
		out[i] = Between(at[k], at[min(k+1, len(at)-1)], g)
	}
	return out
}

// Limits of selecting: below selectFrom values sorting them is faster, and more
// buckets would cost more than they save of some hundred values.
const (
	selectFrom = 160
	selectBits = 9
)

// AtRanks returns the values at ascending 0-based ranks, each less than there are
// values, which come in any order and must not be NaN. Values are counted in buckets of
// their bits, which lie as close as orders of magnitude do, and only those of a
// bucket that holds a rank are looked at further. No order of values, and no
// distribution, makes it slower than a sort by more than the counting. It leaves x
// with some of the values, in any order, and takes no other memory for them.
func AtRanks(x []float64, ranks []int) []float64 { return atRanks(x, ranks, x) }

// atRanks is AtRanks with room for values, which may be x.
func atRanks(x []float64, ranks []int, room []float64) []float64 {
	lo, hi := keyRange(x)
	if len(x) < selectFrom || lo == hi {
		return sortedAt(x, ranks, room)
	}
	shift := max(0, bits.Len64(hi-lo)-selectBits)
	bucket := func(v float64) uint64 { return (sortKey(v) - lo) >> shift & (1<<selectBits - 1) }
	var counts [1 << selectBits]int
	for _, v := range x {
		counts[bucket(v)]++
	}
	var wanted [1 << selectBits]bool
	inner := make([]int, len(ranks))   // ranks among the values of wanted buckets
	b, below, kept, left := 0, 0, 0, 0 // values in buckets before b; of all before b and b itself, those wanted and not
	for i, k := range ranks {
		for ; k >= below+counts[b]; b++ {
			below += counts[b]
			if !wanted[b] {
				left += counts[b]
			}
		}
		if !wanted[b] {
			wanted[b] = true
			kept += counts[b]
		}
		inner[i] = k - left
	}
	if kept > len(x)/2 { // one value many times, or a few that lie far out
		return sortedAt(x, ranks, room)
	}
	held := slices.Grow(room[:0], kept)
	for _, v := range x {
		if wanted[bucket(v)] {
			held = append(held, v)
		}
	}
	return atRanks(held, inner, held)
}

func sortedAt(x []float64, ranks []int, room []float64) []float64 {
	s := append(room[:0], x...)
	Sort(s)
	out := make([]float64, len(ranks))
	for i, k := range ranks {
		out[i] = s[k]
	}
	return out
}

// keyRange returns the least and the greatest key of values.
func keyRange(x []float64) (lo, hi uint64) {
	lo = math.MaxUint64
	for _, v := range x {
		k := sortKey(v)
		lo, hi = min(lo, k), max(hi, k)
	}
	return lo, hi
}

package stat

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// An Interval is a confidence interval of a ratio after / before, by resampling.
type Interval struct {
	Ratio, Lo, Hi float64
	// P is twice the share of resamples on the rarer side of 1: how surprising
	// no change would be, should the resamples vary as the truth does.
	P float64
}

// A Series is the values of one side in the order of their arrival, resampled in
// blocks of that many neighbours: requests that shared a batch are no
// independent draws.
type Series struct {
	Values []float64
	Block  int // 1: each by itself
}

// BlockLength is the length of blocks for n requests of which starts fall into
// one E2E p95: the cube root rule, but at least as many as share the server at
// once.
func BlockLength(n int, starts float64) int {
	l := math.Ceil(math.Cbrt(float64(n)))
	if starts > l {
		l = math.Ceil(starts)
	}
	return int(min(max(l, 1), math.Max(1, float64(n))))
}

// BootstrapQuantiles returns percentile intervals of the ratios of quantiles
// after / before, by a moving-block bootstrap of each side. The percentile
// interval, not BCa: the jackknife that BCa rests on is inconsistent for
// quantiles. A ratio with a quantile at or below 0 on a side is NaN.
func BootstrapQuantiles(before, after Series, ps []float64, reps int, conf float64, seed uint64) []Interval {
	b, a := newResampler(before), newResampler(after)
	rb, ra := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
	logs := make([][]float64, len(ps))
	qb, qa := make([]float64, len(ps)), make([]float64, len(ps))
	for range reps {
		b.quantiles(rb, ps, qb)
		a.quantiles(ra, ps, qa)
		for i := range ps {
			logs[i] = append(logs[i], math.Log(qa[i]/qb[i]))
		}
	}
	out := make([]Interval, len(ps))
	for i, p := range ps {
		out[i] = percentileInterval(Quantile(a.sorted, p)/Quantile(b.sorted, p), logs[i], conf)
	}
	return out
}

// percentileInterval is the interval of a ratio from resampled logarithms.
func percentileInterval(ratio float64, logs []float64, conf float64) Interval {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) || ratio <= 0 || slices.ContainsFunc(logs, math.IsNaN) {
		return Interval{Ratio: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), P: 1}
	}
	slices.Sort(logs)
	below, above := 0, 0
	for _, l := range logs {
		switch {
		case l < 0:
			below++
		case l > 0:
			above++
		}
	}
	n := len(logs)
	rarer := n - max(below, above) // ties with 1 speak for no change
	return Interval{
		Ratio: ratio,
		Lo:    math.Exp(Quantile(logs, (1-conf)/2)),
		Hi:    math.Exp(Quantile(logs, (1+conf)/2)),
		P:     min(1, 2*float64(rarer+1)/float64(n+1)),
	}
}

// A resampler draws blocks of a series and reads quantiles off counts by rank:
// no draw is sorted.
type resampler struct {
	sorted []float64
	rank   []int32 // of each value in order of arrival
	block  int
	counts []int32
}

func newResampler(s Series) *resampler {
	n := len(s.Values)
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(s.Values[a], s.Values[b]) })
	r := &resampler{sorted: make([]float64, n), rank: make([]int32, n), counts: make([]int32, n), block: min(max(s.Block, 1), max(n, 1))}
	for k, i := range order {
		r.sorted[k], r.rank[i] = s.Values[i], int32(k)
	}
	return r
}

// quantiles draws once and writes the draw's type 7 quantiles.
func (r *resampler) quantiles(rng *rand.Rand, ps, out []float64) {
	n := len(r.rank)
	if n == 0 {
		for i := range out {
			out[i] = math.NaN()
		}
		return
	}
	clear(r.counts)
	for left := n; left > 0; {
		at := rng.IntN(n - r.block + 1)
		k := min(r.block, left)
		for _, rank := range r.rank[at : at+k] {
			r.counts[rank]++
		}
		left -= k
	}
	r.read(ps, out)
}

// read walks the counts once; ps ascend.
func (r *resampler) read(ps, out []float64) {
	n, rank, cum := len(r.sorted), -1, 0
	at := func(k int) float64 { // the k-th smallest of the draw; k never falls
		for cum <= k {
			rank++
			cum += int(r.counts[rank])
		}
		return r.sorted[rank]
	}
	for i, p := range ps {
		j, g := rank7(n, p)
		v := at(j)
		if g > 0 {
			// Looking one further must not lose the place for the next p.
			rk, c := rank, cum
			v += g * (at(j+1) - v)
			rank, cum = rk, c
		}
		out[i] = v
	}
}

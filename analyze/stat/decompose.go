package stat

import (
	"cmp"
	"math"
	"slices"
)

// A Band says what the requests around a percentile spent their time on. The
// percentiles of parts do not add up to the percentile of the whole; means over
// the same requests do.
type Band struct {
	N       int
	Mean    float64   // of the whole
	Parts   []float64 // means of the parts over the same requests
	Tail    bool      // the band did not stand for the percentile: these are all requests from it on
	P       float64   // the percentile itself
	BandN   int       // requests of the narrow band, whichever was taken
	BandGap float64   // |mean of the narrow band − percentile| / percentile
}

// Limits of a band that stands for its percentile.
const (
	bandLeast = 20
	bandGap   = 0.05
)

// TailBand decomposes the whole's percentile p into parts: means over the
// requests of ranks p ± 0.01 (0-based ⌊(p−.01)n⌋ … ⌈(p+.01)n⌉−1 of a stable
// sort), where at least 20 do and their mean is within 5 % of the percentile;
// else over all requests from the percentile on. parts[c][i] is part c of
// request i.
//
// Source: Euler allocation of a quantile, Tasche, Risk contributions and
// performance measurement (1999).
func TailBand(whole []float64, parts [][]float64, p float64) (Band, bool) {
	n := len(whole)
	if n == 0 {
		return Band{}, false
	}
	at := Quantiles(whole, p)[0]
	// 0.94·n must not become 1880.0000000000002 and take a rank too many.
	const eps = 1e-9
	from, to := int(math.Floor((p-0.01)*float64(n)+eps)), int(math.Ceil((p+0.01)*float64(n)-eps))
	from = max(from, 0)
	order := orderFrom(whole, from)
	b := meansAt(whole, parts, order[:min(to, n)-from])
	b.P, b.BandN, b.BandGap = at, b.N, math.Abs(b.Mean-at)/at
	if b.N >= bandLeast && b.BandGap <= bandGap {
		return b, true
	}
	t := meansAt(whole, parts, order[min(int(math.Floor(p*float64(n)+eps)), n-1)-from:])
	t.P, t.BandN, t.BandGap, t.Tail = at, b.BandN, b.BandGap, true
	return t, true
}

// orderFrom returns the places of values from a rank on, in the order of a stable
// sort. What lies below is only counted: it is most, where a tail is asked for.
func orderFrom(x []float64, rank int) []int {
	least := atRanks(x, []int{rank}, nil)[0]
	var order []int
	for i, v := range x {
		if v >= least {
			order = append(order, i)
		}
	}
	// Ties by place are what a stable sort makes of them, several times faster.
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(x[a], x[b]), a-b) })
	return order[rank-(len(x)-len(order)):]
}

func meansAt(whole []float64, parts [][]float64, rows []int) Band {
	b := Band{N: len(rows), Mean: meanOver(whole, rows)}
	for _, p := range parts {
		b.Parts = append(b.Parts, meanOver(p, rows))
	}
	return b
}

func meanOver(x []float64, rows []int) float64 {
	var s compensated
	for _, i := range rows {
		s.add(x[i])
	}
	return s.value() / float64(len(rows))
}

package stat

import (
	"math"
	"slices"
)

// InFlight is what a trace of requests says of how many were in the system.
type InFlight struct {
	Span       float64 // first start to last end
	Throughput float64 // requests over the span
	Time       float64 // mean time in the system
	Mean       float64 // time average of the number in flight
	Peak       int     // most at one time; one that ends as another starts is not counted with it
}

// Little measures requests in flight from when each started and how long it
// took, in one unit of time. Over the span from the first start to the last end
// the mean number in flight is throughput × mean time exactly, whatever the
// arrivals were. The zero value is of no request.
//
// Source: Little, A Proof for the Queuing Formula L = λW (1961).
func Little(start, took []float64) InFlight {
	if len(start) == 0 {
		return InFlight{}
	}
	var f InFlight
	ends, first, last, sum := make([]float64, len(start)), math.Inf(+1), math.Inf(-1), 0.0
	for i, s := range start {
		ends[i] = s + took[i]
		first, last = min(first, s), max(last, ends[i])
		sum += took[i]
	}
	n := float64(len(start))
	f.Span, f.Time = last-first, sum/n
	if f.Span > 0 {
		f.Throughput, f.Mean = n/f.Span, sum/f.Span
	}
	starts := slices.Sorted(slices.Values(start))
	slices.Sort(ends)
	for i, done := 0, 0; i < len(starts); i++ {
		for ends[done] <= starts[i] && done < i {
			done++
		}
		f.Peak = max(f.Peak, i+1-done)
	}
	return f
}

// WindowMeans returns the time average of the number in flight in each of k
// equal windows of [from, to].
func WindowMeans(start, took []float64, from, to float64, k int) []float64 {
	out := make([]float64, k)
	width := (to - from) / float64(k)
	if !(width > 0) {
		return out
	}
	for i, s := range start {
		end := min(s+took[i], to)
		s = max(s, from)
		if end <= s {
			continue
		}
		a, b := int((s-from)/width), min(int((end-from)/width), k-1)
		for w := min(a, k-1); w <= b; w++ {
			lo, hi := from+float64(w)*width, from+float64(w+1)*width
			out[w] += max(0, min(end, hi)-max(s, lo))
		}
	}
	for w := range out {
		out[w] /= width
	}
	return out
}

// InFlightOf is Little's law: throughput × mean time in the system.
func InFlightOf(throughput, time float64) float64 { return throughput * time }

// LittleGap is how far l requests in flight are from a cap of c, as a share of
// c: negative below it. More than a few percent above it is impossible, so
// that one of the figures has another unit or another meaning.
func LittleGap(l, c float64) float64 { return l/c - 1 }

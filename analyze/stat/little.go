package stat

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

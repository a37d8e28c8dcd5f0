package stat

import "math"

// Limits of what counts as a growing backlog: the trend has to be no chance, to
// matter, and requests have to be left over.
const (
	backlogP      = 0.01
	backlogGrowth = 0.2
	backlogServed = 0.97
)

// A Growth is the trend of the number of requests in flight.
type Growth struct {
	Trend
	Tau, P float64 // Kendall's rank correlation with time
	Ratio  float64 // growth over the whole span against the mean
}

// Backlog measures the trend of window means n of requests in flight at times
// t, 10 to 30 of them.
func Backlog(t, n []float64) Growth {
	g := Growth{Trend: TheilSen(t, n)}
	g.Tau, g.P = Kendall(t, n)
	if m := meanOf(n); len(n) > 1 && m > 0 {
		g.Ratio = g.Slope * (t[len(t)-1] - t[0]) / m
	}
	return g
}

// Grows reports whether requests pile up: the trend is significant, it is a
// fifth of the mean or more, and less than 97 % of those that arrived were
// served meanwhile (share 0…1). Then every latency percentile depends on how
// long the test lasted.
func (g Growth) Grows(served float64) bool {
	return g.Trending() && served < backlogServed
}

// Trending is Grows without the share served, which a test shorter than a few
// dozen service times cannot tell from requests that are simply under way.
func (g Growth) Trending() bool {
	return !math.IsNaN(g.P) && g.P < backlogP && g.Ratio > backlogGrowth
}

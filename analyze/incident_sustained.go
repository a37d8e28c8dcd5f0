package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// A sustained is a stretch in which a rate of completions was kept up.
type sustained struct {
	from, to  float64
	n, tokens float64 // completed in it; tokens NaN where they are not known
}

func (x sustained) rate() float64 { return x.n / (x.to - x.from) }

// clearlySustained is how many standard deviations of its count a stretch's rate is
// lowered by when stretches are compared: the best of many short ones is good luck.
const clearlySustained = 2.5

// floor is the rate that a stretch bears out.
func (x sustained) floor() float64 {
	return (x.n - clearlySustained*math.Sqrt(x.n)) / (x.to - x.from)
}

// What a rate has to hold for to be called sustained (judgement).
const (
	sustainedSeconds = 60.0 // at least …
	sustainedStays   = 2.0  // … and so many mean E2E: shorter, a batch that drains passes for it
	sustainedLeast   = 30.0 // completions
	sustainedParts   = 3.0  // of a recording that is itself short, such a part
)

// sustainedLengths are the lengths that are tried, of the least.
var sustainedLengths = []float64{1, 1.5, 2, 3, 4, 6}

// completions count the requests completed before a moment, and their tokens.
type completions func(t float64) (n, tokens float64)

// between is a stretch's part of them.
func (c completions) between(from, to float64) sustained {
	n0, k0 := c(from)
	n1, k1 := c(to)
	return sustained{from, to, n1 - n0, k1 - k0}
}

// completions of a table, whenever they arrived, until the last request came into
// the batch: from then on it empties.
func (c *rowChannel) completions() (of completions, last float64) {
	type end struct{ at, tokens float64 }
	var ends []end
	last = c.span()
	for i := range c.rows {
		r := &c.rows[i]
		if r.outcome != serving.OK || math.IsNaN(r.e2e) {
			continue
		}
		ends = append(ends, end{r.at + r.e2e, r.output})
		if in := r.at + max(0, r.front()) + r.queue; in > last {
			last = in
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	tokens := make([]float64, len(ends)+1)
	for i, e := range ends {
		tokens[i+1] = tokens[i] + zeroIfUnknown(e.tokens)*c.every
	}
	return func(t float64) (float64, float64) {
		k, _ := slices.BinarySearchFunc(ends, t, func(e end, t float64) int { return compareTime(e.at, t) })
		return float64(k) * c.every, tokens[k]
	}, last
}

// completions of servers, by counters: what one gains over a gap stands at its end.
func (c *serverChannel) completions() (of completions, last float64) {
	bins := int(c.span/c.step + 0.5)
	n, tokens := make([]float64, bins+1), make([]float64, bins+1)
	failed := by(func(s string) bool { return s == "abort" || s == "error" })
	for k := range bins {
		from, to := float64(k)*c.step, float64(k+1)*c.step
		n[k+1] = n[k] + zeroIfUnknown(c.rise(serving.FinishedTotal, from, to, nil)) - zeroIfUnknown(c.rise(serving.FinishedTotal, from, to, failed))
		tokens[k+1] = tokens[k] + zeroIfUnknown(c.rise(serving.GenerationTotal, from, to, nil))
	}
	return func(t float64) (float64, float64) {
		k := max(0, min(bins, int(math.Round(t/c.step))))
		return n[k], tokens[k]
	}, float64(bins) * c.step
}

// sustained looks for the stretch that bears out the highest rate: among the
// baseline, the incident and what follows, and shorter ones in them that are long
// enough. Nil where the data are too short, or too little is completed.
func (v *incidentView) sustained() *sustained {
	s, b, i := v.main()
	if s == nil {
		return nil
	}
	of, end := s.completions()
	if !v.inc.Open {
		end = min(end, v.until)
	}
	least := leastSustained(b, i, end-v.since)
	var best *sustained
	try := func(from, to float64) {
		if to-from < least*(1-1e-9) || !(least > 0) {
			return
		}
		if x := of.between(from, to); x.n >= sustainedLeast && (best == nil || x.floor() > best.floor()) {
			best = &x
		}
	}
	try(v.since, v.guard)
	try(v.from, v.to)
	try(v.to, v.until)
	stretches(s, v.since, end, least, try)
	if best != nil && s.rows != nil && !s.rows.has[string(serving.OutputTokens)] {
		best.tokens = nan
	}
	return best
}

// leastSustained is how long a rate has to hold, of so many seconds of data. A stay
// is the baseline's: in the incident it holds the wait.
func leastSustained(b, i *phase, span float64) float64 {
	stay := i.E2E.Mean
	if b != nil {
		stay = b.E2E.Mean
	}
	return min(max(sustainedSeconds, sustainedStays*zeroIfUnknown(stay)), span/sustainedParts)
}

// stretches tries those of each length that begin on a grid; of servers that of
// their scrapes.
func stretches(s *source, since, end, least float64, try func(from, to float64)) {
	grid := least / 12
	if s.servers != nil {
		grid = s.servers.step
	}
	for _, times := range sustainedLengths {
		length := math.Ceil(least*times/grid) * grid
		for from := math.Ceil(since/grid) * grid; from+length <= end; from += grid {
			try(from, from+length)
		}
	}
}

func (s *source) completions() (completions, float64) {
	if s.rows != nil {
		return s.rows.completions()
	}
	return s.servers.completions()
}

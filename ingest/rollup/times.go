package rollup

import (
	"math"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
)

// maxSpan bounds times, µs from their origin: what nanoseconds hold in 64 bits.
const maxSpan = math.MaxInt64 / 1000

// addSpan takes in a row that says when the first and the last of some requests
// were. All rates are by it.
func (b *Builder) addSpan(s *serving.RollupSpan, first *serving.Pos, r *Row, at serving.Pos) {
	if r.Least > r.Most {
		b.problem(at, colLeast, "%s from %d to %d µs, want the first not after the last", r.Metric, r.Least, r.Most)
		return
	}
	if r.Least < -maxSpan || r.Most > maxSpan {
		b.problem(at, colLeast, "%s from %d to %d µs, want times from -%d to %[4]d", r.Metric, r.Least, r.Most, int64(maxSpan))
		return
	}
	if s.N == 0 {
		*first = at
		s.Least, s.Most = r.Least, r.Most
	}
	s.N, s.Least, s.Most = serving.AddCounts(s.N, r.N), min(s.Least, r.Least), max(s.Most, r.Most)
}

// checkTimes holds the times of the whole against the counts and the time windows
// of the cells. A span that does not fit them is forgotten, so that there are no
// rates rather than wrong ones; at says where each cell stands.
func (b *Builder) checkTimes(at map[*serving.RollupCell]serving.Pos) {
	arrival, end := &b.out.Arrival, &b.out.End
	if n := b.out.Rows; n > 0 && arrival.N > n {
		b.problem(b.arrival, colN, "arrivals of %d requests, want at most the %d rows there are: when they were is taken as unknown", arrival.N, n)
		*arrival = serving.RollupSpan{}
	}
	if arrival.N > 0 {
		b.checkWindows(at)
	}
	if arrival.N > 0 && end.N > 0 && end.Most < arrival.Least {
		b.problem(b.end, colMost, "the last request ended at %d µs, want an end after the first arrival, at %d: when they ended is taken as unknown", end.Most, arrival.Least)
		*end = serving.RollupSpan{}
	}
}

// checkWindows compares the span of arrivals with the time windows. Requests in
// windows outside of the span say that one of the two is wrong: it is the one that
// fewer requests stand for.
func (b *Builder) checkWindows(at map[*serving.RollupCell]serving.Pos) {
	step, span := b.spec.StepUS, b.out.Arrival
	var inside, outside int64
	least, most, outer := int64(math.MaxInt64), int64(math.MinInt64), map[*serving.RollupCell]bool{}
	for _, c := range b.out.Cells {
		t, err := strconv.ParseInt(c.Window, 10, 64)
		if err != nil {
			continue
		}
		if t > span.Most || t <= span.Least-step {
			outer[c] = true
			outside = serving.AddCounts(outside, c.Sent())
			continue
		}
		least, most = min(least, t), max(most, t)
		inside = serving.AddCounts(inside, c.Sent())
	}
	forget := func(format string, a ...any) {
		b.problem(b.arrival, colLeast, format+": when they were is taken as unknown", a...)
		b.out.Arrival, b.out.End = serving.RollupSpan{}, serving.RollupSpan{}
	}
	switch {
	case outside > 0 && outside >= inside:
		forget("arrivals from %d to %d µs, want times in which the %d requests of the time windows lie; %d lie outside", span.Least, span.Most, serving.AddCounts(inside, outside), outside)
		return
	case outside > 0:
		kept := b.out.Cells[:0]
		for _, c := range b.out.Cells {
			if !outer[c] {
				kept = append(kept, c)
				continue
			}
			b.problem(at[c], colWindow, "the cell %s lies outside of the arrivals, want a window from %d to %d µs; it is left out", cellName(c), span.Least-step+1, span.Most)
		}
		b.out.Cells = kept
	}
	if inside > 0 && b.problems.Len() == 0 && (span.Least < least-1 || span.Most-most > step) {
		// Nothing else is wrong, so no window can be missing. An engine may round
		// a time to the next microsecond that it floors for the window.
		forget("arrivals from %d to %d µs, want the first and the last in the first and the last time window, which start at %d and %d", span.Least, span.Most, least, most)
	}
}

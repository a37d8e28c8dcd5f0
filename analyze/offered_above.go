package analyze

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// aboveShare of the offered rate is more than a rounded rate or a short drain explains
// (judgement).
const aboveShare = 1.25

// aboveOffered is an open loop that completed more than it was offered, by more than
// chance: n arrivals take n/λ ± 1/√n, and more the burstier they are.
func aboveOffered(c *runCheck) []Finding {
	l, n := c.Run.Load, c.requests()
	got, why := c.achieved()
	if l.Mode != serving.OpenLoop && l.Mode != serving.CappedOpen || l.RequestRate.Or(0) <= 0 || n.Or(0) < 2 || got <= 0 {
		return nil
	}
	limit := aboveShare * l.RequestRate.V
	if b := l.Burstiness.Or(1); b > 0 {
		limit *= 1 + 3/math.Sqrt(float64(n.V)*min(1, b))
	}
	if got <= limit {
		return nil
	}
	return []Finding{c.finding("above_offered_rate", got, limit, rates,
		"%s requests/s achieved of %s/s offered, and a server completes no more than it is sent; %s", number(got), number(l.RequestRate.V), why)}
}

// achieved is the rate that the report shows, 0 where there is none, and what else the
// file says of it.
func (s *RunStats) achieved() (rate float64, why string) {
	n, d := s.requests(), s.Duration.Or(0)
	byCount := 0.0
	if n.OK && d > 0 {
		byCount = float64(n.V) / d
	}
	rate = s.Throughput.Requests.Or(byCount)
	if byCount > 0 && rate > aboveShare*byCount {
		return rate, fmt.Sprintf("its %s requests over its %s are %s/s, so the rates that the file states are of something else", number(float64(n.V)), seconds(d), number(byCount))
	}
	return rate, "the rate, the count or the duration is not of this run"
}

package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// openSaturation is the first level of an open loop whose server fell behind,
// and the last before it that kept up; -1 where there is none.
func openSaturation(levels []*SweepPoint) (first, last int) {
	if len(levels) == 0 {
		return -1, -1
	}
	base := levels[0].timeInSystem()
	var want, got []float64
	for _, p := range levels {
		want, got = append(want, p.keptUpRate(base)), append(got, p.Rate.V)
	}
	first, last = stat.OpenSaturation(want, got)
	// Where higher rates complete no more, the server is full, however few
	// requests the lower one was measured by.
	for i := range got[:max(0, len(got)-1)] {
		if (first < 0 || i < first) && got[i] < stat.AchievedShare*levels[i].X && got[i] >= full*slices.Max(got[i+1:]) {
			return i, i - 1
		}
	}
	return first, last
}

// full is the share of what higher rates complete from which a server is full.
const full = 0.97

// keptUpRate is what a server that keeps up with the offered rate λ shows of n
// requests over the whole run. They are sent in n/λ, and after the last one its
// own time passes: n / (n/λ + E2E). That is less than λ where a run is short
// against a request, which is no fault of the server. Of a backlog the time
// counts half, so it is still seen.
//
// Arrivals are random: n of them take n/λ ± 1/√n. As long as a request takes no
// longer than twice the lowest level's, two such deviations are chance.
func (p *SweepPoint) keptUpRate(base serving.Opt[float64]) float64 {
	n := float64(p.Runs[0].requests().Or(0))
	if n < 1 {
		return p.X
	}
	rate, own := p.X, p.timeInSystem()
	if own.OK && own.V > 0 {
		rate = n / (n/p.X + own.V)
	}
	if base.OK && own.OK && own.V < twiceAlone*base.V {
		rate *= max(0, 1-2/math.Sqrt(n))
	}
	return rate
}

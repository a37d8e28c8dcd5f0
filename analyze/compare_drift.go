package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A window needs this many requests beyond a quantile to say anything of it, and
// drift this many batches of windows.
const (
	minWindowTail   = 5
	minDriftBatches = 8
)

// drift is the variance of a quantile's logarithm that its own requests do not
// know of: load and batch of a server stay what they are for minutes, so that a
// trace of a hundred thousand requests is nothing like as many independent ones.
// It is what the quantile's course over the trace's windows says beyond the
// interval of independent requests, and the same for every slice, as all of them
// shared the server. None where it cannot be told.
func (t *table) drift(k serving.MetricKey, p float64) verdict.Drift {
	if t == nil || t.time < 0 {
		return verdict.Drift{}
	}
	q := 0.5
	if p > 0.75 {
		q = 0.95
	}
	all := t.total().Summaries[k]
	if all == nil {
		return verdict.Drift{}
	}
	whole := quantileOf(all, q)
	if whole == nil {
		return verdict.Drift{}
	}
	own, ok := logVariance(whole.Lo, whole.Hi)
	if !ok {
		return verdict.Drift{}
	}
	course := t.course(k, q)
	v, df, ok := stat.MeanVariance(course, minDriftBatches)
	if !ok {
		return verdict.Drift{}
	}
	first, _ := stat.Moments(course[:len(course)/2])
	second, _ := stat.Moments(course[len(course)/2:])
	return verdict.Drift{Variance: max(0, v-own), DF: df, Halves: math.Abs(second - first)}
}

// course is the logarithm of a quantile in each window that has enough requests,
// in the order of time.
func (t *table) course(k serving.MetricKey, q float64) []float64 {
	cells := slices.Clone(t.cube.Groups[t.time].Cells)
	slices.SortStableFunc(cells, func(a, b cube.Cell) int { return cmp.Compare(a.Window, b.Window) })
	var out []float64
	for _, c := range cells {
		s := c.Summaries[k]
		if s == nil || float64(s.N)*(1-q) < minWindowTail {
			continue
		}
		if w := quantileOf(s, q); w != nil && w.Value > 0 {
			out = append(out, math.Log(w.Value))
		}
	}
	return out
}

// logVariance is what a 95 % interval says of the variance of the logarithm.
func logVariance(lo, hi serving.Opt[float64]) (float64, bool) {
	if !lo.OK || !hi.OK || !(lo.V > 0) || hi.V < lo.V {
		return 0, false
	}
	const z = 1.959964
	se := math.Log(hi.V/lo.V) / (2 * z)
	return se * se, true
}

func quantileOf(s *cube.Summary, p float64) *cube.Quantile {
	for i := range s.Quantiles {
		if s.Quantiles[i].P == p {
			return &s.Quantiles[i]
		}
	}
	return nil
}

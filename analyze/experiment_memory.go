package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Rank correlations of changes beyond which GPU memory activity and TPOT are related,
// and below which they are not, and the number of changes that either takes.
const (
	relatedFrom  = 0.5
	unrelatedTo  = 0.2
	leastChanges = 20
)

// memoryUnrelated refutes decode pressure: where the batch is what makes decode slow,
// each step reads more memory, so that TPOT moves with the GPUs' memory activity. Both
// sides count together; changes are within a side.
func (c *comparing) memoryUnrelated() Condition {
	out := Condition{Kind: Refutes, Text: "no relation of GPU memory activity and TPOT", Answer: answerUnknown}
	var da, dt []float64
	for side := range c.in.sides.Data {
		a, t := c.memoryAndTPOT(side)
		for i := 1; i < len(a); i++ {
			da, dt = append(da, a[i]-a[i-1]), append(dt, t[i]-t[i-1])
		}
	}
	if len(da) == 0 {
		out.Why = "it needs DCGM's memory activity (DCGM_FI_PROF_DRAM_ACTIVE) and the engine's TPOT histogram, scraped at the same time"
		return out
	}
	rho := stat.Spearman(da, dt)
	if math.IsNaN(rho) {
		out.Why = "GPU memory activity or TPOT never changed"
		return out
	}
	out.Value = serving.Some(rho)
	out.Why = fmt.Sprintf("rank correlation %s of %d changes", number(rho), len(da))
	switch {
	case len(da) < leastChanges:
		out.Why += fmt.Sprintf(": fewer than %d say nothing", leastChanges)
	case rho >= relatedFrom:
		out.Answer = answerNotMet
	case rho <= unrelatedTo:
		out.Answer = answerMet
	}
	return out
}

// memoryAndTPOT are the means of both between one scrape of the engine and the next,
// wherever both are known; of several engines those of the one scraped most.
func (c *comparing) memoryAndTPOT(side int) (activity, tpot []float64) {
	var gpus []serverView
	var engine serverView
	var h *serving.HistogramSeries
	for _, s := range c.in.sides.Data[side].Servers {
		v := viewOf(s, c.in.windowOf(func() int { return side }))
		if s.Relative {
			continue
		}
		if slices.ContainsFunc(s.Gauges, func(g serving.Gauge) bool { return g.Name == serving.GPUMemActive }) {
			gpus = append(gpus, v)
		}
		if x := s.HistogramOf(serving.TPOT); x != nil && (h == nil || v.n() > engine.n()) {
			engine, h = v, x
		}
	}
	if h == nil {
		return nil, nil
	}
	for i := engine.from; i+1 < engine.to; i++ {
		n, sum := h.Count[i+1]-h.Count[i], h.Sum[i+1]-h.Sum[i]
		a := activityIn(gpus, engine.Times[i], engine.Times[i+1])
		if n > 0 && sum > 0 && !math.IsNaN(a) {
			activity, tpot = append(activity, a), append(tpot, sum/n)
		}
	}
	return activity, tpot
}

// activityIn is the mean memory activity of all GPUs in (from, to], NaN where nothing
// was scraped.
func activityIn(gpus []serverView, from, to int64) float64 {
	sum, n := 0.0, 0
	for _, v := range gpus {
		first, _ := slices.BinarySearch(v.Times, from+1)
		for i := max(first, v.from); i < v.to && v.Times[i] <= to; i++ {
			for _, g := range v.Gauges {
				if g.Name == serving.GPUMemActive && !math.IsNaN(g.Values[i]) {
					sum, n = sum+g.Values[i], n+1
				}
			}
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}

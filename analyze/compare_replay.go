package analyze

import (
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// Benchmarks draw their requests from a seed, and repeats of one command replay
// the same ones. Where both sides replay the same, what a run's requests happened
// to be cancels out. Where each side replays its own, every repeat has the same
// luck, and no spread between them shows it.

// replays reports whether all runs of a side replay the same requests while the
// other side's runs had others.
func (p *Pair) replays(side int) bool {
	own, other := p.units[side], p.units[1-side]
	if len(own) < 2 {
		return false
	}
	first, ok := promptsOf(own[0])
	if !ok {
		return false
	}
	for _, u := range own[1:] {
		if v, ok := promptsOf(u); !ok || v != first {
			return false
		}
	}
	for _, u := range other {
		if v, ok := promptsOf(u); !ok || v == first {
			return false
		}
	}
	return true
}

// promptsSeen tells sets of prompts apart without looking at each again.
type promptsSeen struct {
	n              int64
	mean, min, max float64
}

func promptsOf(u *unit) (promptsSeen, bool) {
	d := u.dists().Of(serving.PromptTokens)
	if d == nil || !d.Count.OK || !d.Mean.OK || !d.Min.OK || !d.Max.OK {
		return promptsSeen{}, false
	}
	return promptsSeen{d.Count.V, d.Mean.V, d.Min.V, d.Max.V}, true
}

// choiceOf is the variance of a figure's logarithm that the choice of requests
// brings: that of the interval its own run gives it. 0 where it has none.
func choiceOf(ds Dists, f verdict.Figure) float64 {
	p, ok := serving.QuantileOf(f.Stat)
	d := ds.Of(f.Metric)
	if !ok || d == nil {
		return 0
	}
	q, _ := d.Q(p)
	v, _ := logVariance(q.Lo, q.Hi)
	return v
}

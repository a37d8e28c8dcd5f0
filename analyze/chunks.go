package analyze

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// Limits of what tells gaps between chunks from gaps between tokens: where the
// gaps can be counted, and where only means of both are known (judgement).
const (
	gapsApart  = 0.01
	meansApart = 1.3
)

// chunks holds the number of gaps against the number of tokens.
func chunks(c *runCheck) []Finding {
	itl := c.Dists.Of(serving.ITL)
	if itl == nil {
		return nil
	}
	touches := []serving.MetricKey{serving.ITL}
	const so = "so ITL is between chunks and not comparable with TPOT"
	if per, gaps, ok := tokensPerGap(c.trail); ok && (itl.Gaps == "chunk" || math.Abs(per-1) > gapsApart) {
		why := "chunks hold several tokens (a stream that is collected on its way, or speculative decoding)"
		switch {
		case math.Abs(per-1) < gapsApart/10:
			why = "some chunks hold several tokens and others none"
		case per < 1:
			why = "some chunks hold no token (an empty first or last one), or the tokens were counted in another way"
		}
		f := c.finding("chunks", per, 1, touches, "%s gaps for %s tokens after the first ones: %s, %s", number(gaps), number(gaps*per), why, so)
		return []Finding{f}
	}
	mean, median := c.Dists.stat(serving.TPOT, "mean"), c.Dists.stat(serving.TPOT, "p50")
	if itl.Gaps == "chunk" {
		if mean.OK && itl.Mean.OK && mean.V > 0 {
			return []Finding{c.finding("chunks", itl.Mean.V/mean.V, 1, touches, "gaps are between chunks that hold several tokens or none (mean gap / mean TPOT is %.2f), %s", itl.Mean.V/mean.V, so)}
		}
		f := c.finding("chunks", 0, 0, touches, "gaps are between chunks that hold several tokens or none, %s", so)
		f.Value, f.Threshold = serving.None[float64](), serving.None[float64]()
		return []Finding{f}
	}
	if !itl.Mean.OK || !mean.OK || itl.Gaps == "token" {
		return nil
	}
	longer := itl.Mean.V / max(mean.V, median.Or(0))
	if _, odd := thousands(longer); longer <= meansApart || odd || math.IsInf(longer, 0) {
		return nil
	}
	return []Finding{c.finding("chunks", longer, meansApart, touches,
		"the mean gap is %.2f × the time per token, so chunks hold several tokens (speculative decoding, or a stream that is collected on its way) or the two are of different definitions: ITL is not comparable with TPOT", longer)}
}

// tokensPerGap is tokens after the first over gaps, of the completed requests
// that have both.
func tokensPerGap(tr *trail) (per, gaps float64, ok bool) {
	if tr == nil {
		return 0, 0, false
	}
	tokens := 0.0
	for i := range tr.rows {
		r := &tr.rows[i]
		if r.outcome == serving.OK && r.output > 1 && !math.IsNaN(r.gaps) {
			tokens += r.output - 1
			gaps += r.gaps
		}
	}
	return tokens / gaps, gaps, gaps > 0
}

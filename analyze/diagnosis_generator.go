package analyze

import (
	"context"
	"math"

	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// generated says whether the load generator of the benchmark runs was the limit:
// by the checks of the section on data quality, over each whole run.
func generated(ctx context.Context, in *Input) (rules.Facts, error) {
	out := rules.Facts{}
	for _, r := range in.Data.Runs {
		if r.Requests == nil || rowsOf(r.Requests) > maxTrail {
			continue
		}
		tr, err := trailOf(ctx, r.Requests, in.windowOf(func() int { return in.sides.sideOf(r) }))
		if err != nil {
			return nil, err
		}
		if len(tr.rows) < fewestOffered || !tr.timed || r.Load.Mode == serving.UnknownLoad {
			continue
		}
		put := func(k rules.Key, v float64, u serving.Unit) {
			f := rules.Fact{Value: v, Unit: u, Source: r.Label, Window: "the whole run"}
			if old, ok := out[k]; math.IsNaN(v) || ok && k == rules.Saturated && old.Value >= v {
				return
			}
			out[k] = f
		}
		found := generator(&runCheck{RunStats: &RunStats{Run: r}, trail: tr})
		if len(found) == 0 {
			put(rules.Saturated, 0, serving.NoUnit)
			continue
		}
		put(rules.Saturated, 1, serving.NoUnit)
		put(rules.GivenShare, givenShare(r, found[0]), serving.Share)
		put(rules.TTFTDrift, halvesRatio(tr), serving.NoUnit)
	}
	return out, nil
}

func rowsOf(src serving.Requests) int64 {
	n := int64(0)
	for _, p := range src.Parts() {
		n += max(0, p.Rows())
	}
	return n
}

// givenShare is the part of the load asked for that the client gave: of the rate,
// or of the slots.
func givenShare(r *serving.Run, f Finding) float64 {
	if r.Load.Mode == serving.ClosedLoop {
		return f.Value.V
	}
	return f.Value.V / r.Load.RequestRate.V
}

// halvesRatio is the median TTFT of the second half of a run over that of the first.
func halvesRatio(tr *trail) float64 {
	y := tr.values(ttftOf)
	if len(y) < 2*leastForP50 {
		return math.NaN()
	}
	return spreadOf(y[len(y)/2:]).P50 / spreadOf(y[:len(y)/2]).P50
}

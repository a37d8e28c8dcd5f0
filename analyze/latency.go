package analyze

import (
	"context"
	"fmt"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// Latency is the value of section "latency": the distributions of every run
// and dataset, each with the counts that stand beside them. Groups of different
// sides are never one group.
type Latency struct{ Groups []LatencyGroup }

// A LatencyGroup is one source's distributions.
type LatencyGroup struct {
	Label  string
	Half   Half      // of a comparison: its side
	Run    *RunStats // set for a benchmark run
	Side   serving.Side
	Counts Counts
	Dists  Dists
}

func runLatency(_ context.Context, in *Input, rep *Report) (any, []string, error) {
	var l Latency
	if runs := Value[Runs](rep); runs != nil {
		for _, r := range runs.Runs {
			if len(r.Dists) > 0 {
				l.Groups = append(l.Groups, LatencyGroup{Label: r.Run.Label, Half: in.halfOf(r.Run), Run: r, Side: serving.Client, Counts: r.Counts, Dists: r.Dists})
			}
		}
	}
	if sl := Value[Slices](rep); sl != nil {
		for _, d := range sl.Datasets {
			if d.Run == nil && len(d.All.Dists) > 0 {
				l.Groups = append(l.Groups, LatencyGroup{Label: d.Dataset, Half: d.Half, Side: d.Side, Counts: d.All.Counts, Dists: d.All.Dists})
			}
		}
	}
	if len(l.Groups) == 0 {
		return nil, nil, nil
	}
	notes := []string{
		"Quantiles are type 7 (linear interpolation). Intervals are 95 % order-statistic intervals; they assume independent requests.",
		"Latencies cover completed requests; failed, cancelled and timed-out ones are counted beside them.",
	}
	if slices.ContainsFunc(in.tables, func(t *table) bool { return t.cube != nil && t.cube.Scanned }) {
		notes = append(notes, "Of a table that is scanned and not held (more than 32,768 requests, or text whose length is not known beforehand) it is not known whether slow ones come in bursts (no percentile is marked ≈), and the curves are drawn within 1/128 of each value; percentiles, their intervals, counts and means are exact unless an error is stated.")
	}
	for _, r := range in.Data.Runs {
		if r.OnePiece > 0.01 {
			notes = append(notes, fmt.Sprintf("%s: %s of the answers came in one piece (not streamed, or held back on the way): their TTFT is their E2E, and is among the figures of TTFT.", r.Label, percentRound(r.OnePiece)))
		}
	}
	return &l, notes, nil
}

package analyze

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// Limits of a cache warmed by an earlier level (judgement).
const (
	warmFaster  = 0.2 // TTFT p50 below the earlier level's
	warmPrompts = 0.1 // prompts of the two levels are equally long within it
)

// warmCache looks in a sweep for a level that was started later than another,
// with more load, and has a faster first token: queueing can only make it
// slower, so the prompts, or the engine, were warm. It takes the times the
// levels were started at.
func warmCache(s *Sweep) []Finding {
	var out []Finding
	for i := range s.Points {
		late := s.Points[i].Runs[0]
		if early := warmedBy(s.Points[:i], late); early != nil {
			x, y := early.Dists.stat(serving.TTFT, "p50"), late.Dists.stat(serving.TTFT, "p50")
			out = append(out, late.finding("warm_cache", y.V/x.V, 1-warmFaster, []serving.MetricKey{serving.TTFT},
				"started after %s, with more load, yet TTFT p50 is %s against %s: a prefix cache that the earlier level filled with the same prompts, or an engine that was not warm before; start each level with another seed, or an empty cache", early.Run.Label, seconds(y.V), seconds(x.V)))
		}
	}
	return out
}

// warmedBy returns the slowest level with less load that was started before.
func warmedBy(lower []SweepPoint, late *RunStats) *RunStats {
	var worst *RunStats
	y := late.Dists.stat(serving.TTFT, "p50")
	if !y.OK || failedOf(late) > failedShare {
		return nil
	}
	for _, p := range lower {
		early := p.Runs[0]
		x := early.Dists.stat(serving.TTFT, "p50")
		if !x.OK || y.V >= (1-warmFaster)*x.V || !startedBefore(early.Run, late.Run) || !samePrompts(early, late) || failedOf(early) > failedShare {
			continue
		}
		if worst == nil || x.V > worst.Dists.stat(serving.TTFT, "p50").V {
			worst = early
		}
	}
	return worst
}

// startedBefore compares two times as they are written; it is known only where
// both are written alike.
func startedBefore(a, b *serving.Run) bool {
	return a.Started.OK && b.Started.OK && len(a.Started.V) == len(b.Started.V) && a.Started.V < b.Started.V
}

// samePrompts reports whether the prompts are equally long on average: shorter
// ones have a faster first token for a simpler reason.
func samePrompts(a, b *RunStats) bool {
	x, y := promptLength(a), promptLength(b)
	return x > 0 && math.Abs(y/x-1) <= warmPrompts
}

func promptLength(s *RunStats) float64 {
	if n := s.Counts.Completed.Or(0); n > 0 && s.Input.OK {
		return float64(s.Input.V) / float64(n)
	}
	return 0
}

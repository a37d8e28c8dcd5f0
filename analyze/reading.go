package analyze

import (
	"fmt"

	"github.com/vreport/vreport/ingest/serving"
)

// Ratios of p99 to p50 that make TPOT and ITL disagree: single gaps at least
// double while the slowest requests, on average, stay below it.
const (
	stallITLRatio  = 2.0
	stallTPOTRatio = 1.8
)

// stallReading says in words what TPOT and ITL tell together. TPOT p99 finds
// the slowest request, ITL p99 the slowest moment; the two part where single
// steps stall (a prefill mixed into decode steps). It says nothing where gaps
// are between chunks of several tokens: those are not gaps between tokens.
func stallReading(ds Dists) string {
	tpot, itl := ds.Of(serving.TPOT), ds.Of(serving.ITL)
	if tpot == nil || itl == nil || itl.Gaps == "chunk" {
		return ""
	}
	t50, t99 := ds.stat(serving.TPOT, "p50"), ds.stat(serving.TPOT, "p99")
	i50, i99 := ds.stat(serving.ITL, "p50"), ds.stat(serving.ITL, "p99")
	if !t50.OK || !t99.OK || !i50.OK || !i99.OK || t50.V <= 0 || i50.V <= 0 {
		return ""
	}
	rt, ri := t99.V/t50.V, i99.V/i50.V
	switch {
	case ri >= stallITLRatio && rt < stallTPOTRatio:
		return fmt.Sprintf("Stalls: TPOT p99 is %.1f × its median, so requests were fine on average; ITL p99 is %.1f × its median, so single gaps grew. Prefill mixed into decode steps is the usual cause.", rt, ri)
	case ri >= stallITLRatio && rt >= stallTPOTRatio:
		return fmt.Sprintf("Whole requests stream slowly: TPOT p99 is %.1f × its median (the slowest requests) and ITL p99 %.1f × (the slowest moments).", rt, ri)
	case rt >= stallTPOTRatio:
		return fmt.Sprintf("Some requests stream slowly throughout: TPOT p99 is %.1f × its median while ITL p99 is only %.1f ×.", rt, ri)
	}
	return fmt.Sprintf("Even streaming: TPOT p99 is %.1f × and ITL p99 %.1f × the median.", rt, ri)
}

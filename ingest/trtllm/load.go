package trtllm

import (
	"fmt"

	"github.com/vreport/vreport/ingest/serving"
)

// atOnce is the share of a run within which all its requests started, so that
// nothing held them back.
const atOnce = 0.05

// setLoad finds out how requests were sent. Reports state neither a rate nor a
// limit on requests in flight. What they call issue rate is the time from the
// first to the last start, a request, in 1e-18 s: where all started at once,
// there was no limit; else there was one that is not known.
func setLoad(r *serving.Run, issueRate float64, announced serving.Opt[float64]) {
	r.Load.Mode = serving.UnknownLoad
	if announced.V > 0 {
		r.Load = serving.LoadOf(serving.None[int64](), announced, false)
		return
	}
	spread := issueRate * 1e-18 * float64(r.Sent.V)
	switch {
	case !r.Duration.OK || !(spread > 0) || spread > r.Duration.V:
		// An older version's figure means something else.
		r.Load.Unlimited = announced.OK
	case spread <= atOnce*r.Duration.V:
		r.Load = serving.LoadOf(serving.None[int64](), serving.None[float64](), true)
	default:
		r.Load.Unlimited = announced.OK
		r.Notes = append(r.Notes, fmt.Sprintf("requests started over %.0f%% of the run: a rate or a limit on those in flight that the report does not state", 100*spread/r.Duration.V))
	}
}

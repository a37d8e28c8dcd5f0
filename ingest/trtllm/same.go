package trtllm

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// SameRun reports whether two runs of this format are one: the printed report,
// the JSON report and the raw requests of one benchmark. The printed duration
// has a ten-thousandth of a millisecond, and no two runs take the same time to
// that.
func SameRun(a, b *serving.Run) bool {
	if a.Format != Format || b.Format != Format || !a.Duration.OK || !b.Duration.OK || !a.Completed.OK || a.Completed != b.Completed {
		return false
	}
	d := math.Abs(a.Duration.V - b.Duration.V)
	if d > 6e-8+1e-12*a.Duration.V {
		return false
	}
	return !a.Output.OK || !b.Output.OK || math.Abs(float64(a.Output.V-b.Output.V)) <= 1e-5*float64(a.Output.V)+1
}

package rollup

import (
	"fmt"
	"math"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// contradiction says what the counts of a cell cannot be together, "" for
// nothing. Rows are sound one by one and still make a share of 800 %, or a
// negative sum, where some of them were lost, repeated or forged; the figures
// would look like measurements.
func contradiction(c *serving.RollupCell) string {
	var ns, totals int64
	for _, n := range c.Outcomes {
		if n > maxN-ns {
			return "more requests than a rollup holds"
		}
		ns += n
	}
	sent := ns
	for _, n := range []int64{c.Input, c.Output, c.Cached, c.CachedOf} {
		if n > maxTotal {
			return "a sum of tokens beyond what a rollup holds"
		}
	}
	for k, h := range c.Metrics {
		ns, totals = 0, 0
		for _, x := range h {
			if x.N > maxN-ns || x.Total > maxTotal-totals {
				return fmt.Sprintf("a sum of %s beyond what a rollup holds", k)
			}
			ns, totals = ns+x.N, totals+x.Total
		}
	}
	if c.Good > c.Outcomes[serving.OK] {
		return fmt.Sprintf("%d good requests of %d completed", c.Good, c.Outcomes[serving.OK])
	}
	for i, n := range c.Within {
		if n > c.Of[i] || c.Of[i] > sent {
			return fmt.Sprintf("%d requests within an objective of %d, of %d sent", n, c.Of[i], sent)
		}
	}
	return ""
}

// cellName is how a problem names a cell.
func cellName(c *serving.RollupCell) string {
	var by []string
	for _, d := range append([]string{c.Window}, c.By...) {
		if d != "" {
			by = append(by, fmt.Sprintf("%.80q", d))
		}
	}
	if len(by) == 0 {
		return "of all"
	}
	return strings.Join(by, ", ")
}

// sum adds two counts, neither negative. A sum that 64 bits do not hold is their
// greatest number, which contradiction finds, and not a smaller one.
func sum(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

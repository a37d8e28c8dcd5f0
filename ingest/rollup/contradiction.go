package rollup

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// contradiction says what the counts of a cell cannot be together, "" for
// nothing. Rows are sound one by one and still make a share of 800 %, or a
// negative sum, where some of them were lost, repeated or forged; the figures
// would look like measurements.
func contradiction(c *serving.RollupCell) string {
	if n, total := c.Weight(); n > serving.MaxRollupN || total > serving.MaxRollupTotal {
		return fmt.Sprintf("a count of %d and a sum of %d, want at most %d and %d", n, total, int64(serving.MaxRollupN), int64(serving.MaxRollupTotal))
	}
	sent, done := c.Sent(), c.Outcomes[serving.OK]
	switch {
	case c.Good > done:
		return fmt.Sprintf("%d good requests of %d completed", c.Good, done)
	case c.Whole > sent:
		return fmt.Sprintf("%d answers that came whole, of %d requests sent", c.Whole, sent)
	case c.Brief > done:
		return fmt.Sprintf("%d answers of one token, of %d requests completed", c.Brief, done)
	case c.Cached > c.CachedOf:
		return fmt.Sprintf("%d cached tokens of prompts of %d", c.Cached, c.CachedOf)
	case c.CachedOf > c.Input:
		return fmt.Sprintf("%d prompt tokens that say what was cached, of %d", c.CachedOf, c.Input)
	}
	for i, n := range c.Within {
		if n > c.Of[i] || c.Of[i] > sent {
			return fmt.Sprintf("%d requests within an objective of %d, of %d sent", n, c.Of[i], sent)
		}
	}
	for _, m := range serving.Metrics {
		n := int64(0)
		for _, x := range c.Metrics[m.Key] {
			n += x.N
		}
		if m.Key != serving.ITL && n > done {
			return fmt.Sprintf("%d values of %s of %d requests completed", n, m.Key, done)
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

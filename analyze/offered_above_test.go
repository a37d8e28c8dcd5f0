package analyze

import (
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// An open loop completes no more than it was offered, but for chance.
func TestAchievedAboveOffered(t *testing.T) {
	run := func(rate float64, n int64, seconds, stated float64) *serving.Run {
		r := &serving.Run{ID: "r", Label: "r", Format: "llmd-report", Sent: serving.Some(n), Completed: serving.Some(n), Duration: serving.Some(seconds)}
		r.Load = serving.LoadOf(serving.None[int64](), serving.Some(rate), false)
		if stated > 0 {
			r.Reported = []serving.Reported{{Field: "request_rate", Metric: serving.RateRequests, File: stated, PerBase: 1}}
		}
		return r
	}
	capped := run(10, 500, 10, 0)
	capped.Load.Mode = serving.ClosedLoop
	bursty := run(10, 500, 35, 0)
	bursty.Load.Burstiness = serving.Some(0.1)
	for _, c := range []struct {
		name string
		run  *serving.Run
		says string // "" for no finding
	}{
		{"as offered", run(10, 500, 50, 0), ""},
		{"a little faster by chance", run(10, 500, 42, 0), ""},
		{"few requests prove little", run(10, 20, 1.5, 0), ""},
		{"bursts come fast", bursty, ""},
		{"five times as fast", run(10, 500, 10, 0), "the rate, the count or the duration is not of this run"},
		{"the file's own rate", run(10, 500, 50, 2262), "its 500 requests over its 50 s are 10/s"},
		{"a closed loop is offered no rate", capped, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, f := range findingsOf(t, &serving.Dataset{Runs: []*serving.Run{c.run}}) {
				if f.ID == "above_offered_rate" {
					got = append(got, f.Message)
				}
			}
			if c.says == "" && len(got) > 0 || c.says != "" && (len(got) != 1 || !strings.Contains(got[0], c.says)) {
				t.Errorf("findings %q, want one with %q (none for \"\")", got, c.says)
			}
		})
	}
}

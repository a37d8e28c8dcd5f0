package analyze

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// headlined makes a report of a sweep whose levels have outputs of 100, 300, 400 and
// 450 tokens/s at 2, 4, 8 and 16 users: power is greatest at 4.
func headlined(failed map[int]int64, findings map[int]string, meets int, knee bool) *Report {
	runs, s, q := &Runs{}, &Sweep{Mode: serving.ClosedLoop}, &QualityFindings{}
	for i, x := range []float64{100, 300, 400, 450} {
		users := float64(int(2) << i)
		r := &RunStats{Run: &serving.Run{ID: fmt.Sprint(users), Label: fmt.Sprintf("c%g", users)}}
		r.Counts = Counts{Sent: serving.Some[int64](100), Failed: serving.Some(failed[i])}
		r.Throughput.Output = serving.Some(x)
		runs.Runs = append(runs.Runs, r)
		p := SweepPoint{Runs: []*RunStats{r}, X: users, Users: serving.Some(users), OutputPerS: serving.Some(x)}
		if i == meets {
			p.MeetsSLO = serving.Some(true)
		}
		s.Points = append(s.Points, p)
		if id := findings[i]; id != "" {
			q.Findings = append(q.Findings, Finding{ID: id, Subject: r.Run.ID})
		}
	}
	k := Knee{Method: "power", Unit: "users"}
	if knee {
		k.X = serving.Some(4.0)
	}
	s.Knees = []Knee{k}
	return &Report{Results: []Result{{Value: runs}, {Value: &Sweeps{Sweeps: []*Sweep{s}}}, {Value: q}}}
}

// The headline is of a level that can be taken as it stands while there is one, and
// says what speaks against it where there is none.
func TestHeadlineOfDoubt(t *testing.T) {
	fast, above := "failures_look_fast", "above_offered_rate"
	all := map[int]string{0: fast, 1: fast, 2: fast, 3: fast}
	for _, c := range []struct {
		name     string
		failed   map[int]int64
		findings map[int]string
		meets    int // index of the level that meets the objectives; -1 for none
		knee     bool
		want     string
	}{
		{"power", nil, nil, -1, true, "c4: level with the most throughput for its latency (power)"},
		{"the knee lies beyond", nil, nil, -1, false, "c4: of the levels tried, the one with the most throughput for its latency (the power knee is not reached)"},
		{"an objective is met", nil, nil, 2, true, "c8: highest load that meets every objective"},
		{"failures at the best level", map[int]int64{1: 20}, map[int]string{1: fast}, -1, true, "c8: level with the most throughput for its latency (power) among the 3 of 4 without notable failures or doubts"},
		{"failures everywhere", map[int]int64{1: 17}, all, -1, true, "c4 (17 % of its requests failed): level with the most throughput for its latency (power)"},
		{"an objective counts failures itself", map[int]int64{2: 2}, map[int]string{2: fast}, 2, true, "c8 (2 % of its requests failed): highest load that meets every objective"},
		{"what cannot be is worse than failures", map[int]int64{0: 3, 1: 3, 2: 3}, map[int]string{0: fast, 1: fast, 2: fast, 3: above}, 3, true, "c4 (3 % of its requests failed): level with the most throughput for its latency (power) among the 3 of 4 whose figures are plausible"},
		{"nothing can be", nil, map[int]string{0: above, 1: above, 2: above, 3: above}, -1, true, "c4 (in doubt: more achieved than was offered): level"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := focus(headlined(c.failed, c.findings, c.meets, c.knee)); !strings.HasPrefix(got, c.want) {
				t.Errorf("headline of %q, want %q", got, c.want)
			}
		})
	}
}

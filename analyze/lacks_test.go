package analyze

import (
	"slices"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// What inspect says a report will lack is what the report then lacks.
func TestLacksAgreesWithTheReport(t *testing.T) {
	series := &serving.Server{ID: "s", Label: "s", Times: []int64{0, 15e9, 30e9}, Gauges: []serving.Gauge{{Name: serving.Waiting, Values: []float64{0, 1, 2}}}}
	for name, ds := range map[string]*serving.Dataset{
		"nothing": {},
		"a run":   {Runs: []*serving.Run{newRun("a", 4, steady(50, 1, 9))}},
		"a sweep": {Runs: []*serving.Run{newRun("a", 4, steady(50, 1, 9)), newRun("b", 8, steady(50, 1, 9))}},
		"a trace": {Traces: []serving.Requests{newTable("t", serving.Client, steady(50, 1, 9))}},
		"slices":  {Runs: []*serving.Run{courseRun("a", newCourse(0, 1))}},
		"a slice": {Runs: []*serving.Run{courseRun("a", newCourse(0))}},
		"scrapes": {Servers: []*serving.Server{series}},
	} {
		var want, got []string
		for _, r := range analyzed(t, ds, DefaultOptions()).Results {
			// A run's own table may fall into a single slice; inspect cannot know. Advice
			// and cost depend on what is asked of the report, a diagnosis on what the data show.
			if r.Value == nil && !slices.Contains([]string{"inputs", "slices", "advice", "cost", "diagnosis", "incident"}, r.Section.Name) {
				want = append(want, r.Section.Title)
			}
		}
		for _, l := range Lacks(ds) {
			if l.Title != "Slices" {
				got = append(got, l.Title)
			}
		}
		if !slices.Equal(want, got) {
			t.Errorf("%s: inspect says %q lack, the report lacks %q", name, got, want)
		}
	}
}

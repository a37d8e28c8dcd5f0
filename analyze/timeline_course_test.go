package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// courseStart is no multiple of a second, as no run starts on one.
const courseStart = 1760000000_633024512

// newCourse is a run in slices of ten seconds, numbered as given, each with as many
// requests as its number and one.
func newCourse(numbers ...int) *serving.Course {
	c := &serving.Course{Step: serving.Some(10.)}
	one := func(m serving.MetricKey, stat string, per float64) {
		s := serving.CourseSeries{Metric: m, Stat: stat}
		for _, n := range numbers {
			s.Values = append(s.Values, float64(n+1)*per)
		}
		c.Series = append(c.Series, s)
	}
	for _, n := range numbers {
		c.Slices = append(c.Slices, serving.CourseSlice{Index: n})
	}
	one(serving.CompletedRequests, "", 1)
	one(serving.RateRequests, "", .1)
	one(serving.RateOutput, "", 100)
	one(serving.TTFT, "p50", .05)
	one(serving.TTFT, "p95", .09)
	one(serving.TTFT, "p99", .1)
	one(serving.ITL, "p95", .02)
	one(serving.E2E, "mean", 2)
	one(serving.MeanConcurrent, "mean", 3)
	return c
}

// datedCourse gives a course its times, off by what a float64 does to them.
func datedCourse(c *serving.Course) *serving.Course {
	for i := range c.Slices {
		s := &c.Slices[i]
		at := courseStart + int64(s.Index)*10e9
		s.Start, s.End = serving.Some(at-int64(i%2)*256), serving.Some(at+10e9)
	}
	return c
}

func courseRun(id string, c *serving.Course) *serving.Run {
	return &serving.Run{ID: id, Label: id, Course: c, Completed: serving.Some(int64(9))}
}

// seriesText writes one series of a timeline, ? where missing.
func seriesText(tl *Timeline, metric, stat string) string {
	i := slices.IndexFunc(tl.Series, func(s TimelineSeries) bool { return s.Metric == metric && s.Stat == stat })
	if i < 0 {
		return "none"
	}
	var out []string
	for _, v := range tl.Series[i].Values {
		if math.IsNaN(v) {
			out = append(out, "?")
		} else {
			out = append(out, number(v))
		}
	}
	return strings.Join(out, " ")
}

func TestCourseTimeline(t *testing.T) {
	decoded := newCourse(0, 1)
	decoded.Series = append(decoded.Series, serving.CourseSeries{Metric: serving.RateDecoded, Stat: "mean", Values: []float64{7, 8}})
	unplaced := datedCourse(newCourse(0, 1, 2))
	unplaced.Slices[1].Start, unplaced.Slices[1].End = serving.None[int64](), serving.None[int64]()
	counted := newCourse(0, 1, 3)
	counted.Step = serving.None[float64]()
	cut := datedCourse(newCourse(0, 1))
	cut.Slices[1].End, cut.Slices[1].Incomplete = serving.Some(int64(courseStart+14e9)), true
	for _, tc := range []struct {
		name              string
		c                 *serving.Course
		relative, counted bool
		from              int64
		step              float64
		want              map[string]string
		marks             []marks
	}{
		{"times", datedCourse(newCourse(0, 1, 4)), false, false, courseStart, 10, map[string]string{
			"requests_per_s started": "0.1 0.2 ? ? 0.5", "output_tokens_per_s of requests that started": "100 200 ? ? 500", "ttft p50": "0.05 0.1 ? ? 0.25", "ttft p99": "0.1 0.2 ? ? 0.5",
			"ttft p95": "none", "itl p95": "0.02 0.04 ? ? 0.1", "e2e mean": "2 4 ? ? 10", "tpot p50": "none", "in_flight mean": "3 6 ? ? 15"}, nil},
		{"numbers", newCourse(0, 1, 4), true, false, 0, 10, map[string]string{"requests_per_s started": "0.1 0.2 ? ? 0.5"}, nil},
		{"numbers alone", counted, true, true, 0, 1, map[string]string{"ttft p99": "0.1 0.2 ? 0.4"}, nil},
		{"tokens as they came", decoded, true, false, 0, 10, map[string]string{"output_tokens_per_s decoded": "7 8", "output_tokens_per_s of requests that started": "none"}, nil},
		{"a slice without a place", unplaced, false, false, courseStart, 10, map[string]string{"ttft p50": "0.05 ? 0.15"}, nil},
		{"cut short", cut, false, false, courseStart, 10, map[string]string{"ttft p50": "0.05 0.1"},
			[]marks{{10, EventPartial, "the time slice in which the run ended: 4 s", "run", 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ds := &serving.Dataset{Runs: []*serving.Run{courseRun("run", tc.c)}}
			all := timelinesOf(t, ds)
			if len(all) != 1 {
				t.Fatalf("%d timelines", len(all))
			}
			tl := all[0]
			if tl.Relative != tc.relative || tl.Counted != tc.counted || tl.From != tc.from || tl.Step != tc.step {
				t.Errorf("relative %v, counted %v, from %d, step %v", tl.Relative, tl.Counted, tl.From, tl.Step)
			}
			for k, want := range tc.want {
				metric, stat, _ := strings.Cut(k, " ")
				if got := seriesText(tl, metric, stat); got != want {
					t.Errorf("%s: %s, want %s", k, got, want)
				}
			}
			if d := cmp.Diff(tc.marks, marksOf(tl)); d != "" {
				t.Errorf("events (-want +got):\n%s", d)
			}
			if want := "A point stands at the start of its step, which its figure covers."; tl.Points != want {
				t.Errorf("points: %q, want %q", tl.Points, want)
			}
			for _, s := range tl.Series {
				if s.Side != serving.Client || s.Label != "run" {
					t.Errorf("series %s at the %s of %s", s.Metric, s.Side, s.Label)
				}
			}
		})
	}
}

// What a reader must know of slices stands beside the chart.
func TestCourseNotes(t *testing.T) {
	withRequests := newRun("requests", 4, steady(50, 1, 9))
	withRequests.Course = datedCourse(newCourse(0, 1))
	short := courseRun("short", datedCourse(newCourse(0)))
	noted := courseRun("numbered", newCourse(0, 1))
	noted.Course.Notes = []string{"figures of a CSV"}
	large := courseRun("large", datedCourse(newCourse(200, 201)))
	rep := analyzed(t, &serving.Dataset{Runs: []*serving.Run{withRequests, short, noted, large}}, DefaultOptions())
	var notes []string
	for _, r := range rep.Results {
		if r.Section.Name == "timeline" {
			notes = r.Notes
		}
	}
	text := strings.Join(notes, "\n")
	for want, is := range map[string]bool{
		"requests: its time slices are not drawn, since its requests are": true, "numbered: figures of a CSV.": true,
		"numbered: its time slices say no times": true, "half of its time slices hold at most 2 completed requests": true,
		"large: half": false, "short": false, "Figures of time slices are the file's own": true,
	} {
		if strings.Contains(text, want) != is {
			t.Errorf("%q: %v, want %v in\n%s", want, !is, is, text)
		}
	}
	labels := map[string]bool{}
	for _, tl := range Value[Timelines](rep).Timelines {
		for _, s := range tl.Series {
			labels[s.Label] = true
		}
	}
	if d := cmp.Diff(map[string]bool{"requests": true, "numbered": true, "large": true}, labels); d != "" {
		t.Errorf("drawn (-want +got):\n%s", d)
	}
	for _, tl := range Value[Timelines](rep).Timelines {
		for _, s := range tl.Series {
			if s.Label == "requests" && s.Stat == "started" {
				t.Error("slices are drawn beside the requests they are of")
			}
		}
	}
}

// A sweep of many runs is many pages: some are drawn, and it is said.
func TestCourseFew(t *testing.T) {
	ds := &serving.Dataset{}
	for i := range maxRunTimelines + 2 {
		ds.Runs = append(ds.Runs, courseRun(fmt.Sprint("run", i), newCourse(0, 1)))
	}
	rep := analyzed(t, ds, DefaultOptions())
	if n := len(Value[Timelines](rep).Timelines); n != maxRunTimelines {
		t.Errorf("%d timelines, want %d", n, maxRunTimelines)
	}
	for _, r := range rep.Results {
		if r.Section.Name == "timeline" && !strings.Contains(strings.Join(r.Notes, "\n"), "6 runs have a time axis; the first 4 are drawn") {
			t.Errorf("notes %q", r.Notes)
		}
	}
}

// Two sides each count from their own start, slices without a length by themselves.
func TestCourseCompared(t *testing.T) {
	counted := newCourse(0, 1)
	counted.Step = serving.None[float64]()
	a := &serving.Dataset{Runs: []*serving.Run{courseRun("a", datedCourse(newCourse(0, 1)))}}
	b := &serving.Dataset{Runs: []*serving.Run{courseRun("b", newCourse(0, 1)), courseRun("c", counted)}}
	rep, err := Compare(t.Context(), Sides{Names: [2]string{"before", "after"}, Data: [2]*serving.Dataset{a, b}}, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	all := Value[Timelines](rep).Timelines
	if len(all) != 2 || !all[0].Aligned || all[0].From != 0 || all[0].N != 2 || all[0].Counted || !all[1].Counted {
		t.Fatalf("%d timelines: %+v", len(all), all)
	}
	halves := map[string]Half{}
	for _, s := range all[0].Series {
		halves[s.Label] = s.Half
	}
	if d := cmp.Diff(map[string]Half{"before · a": FirstHalf, "after · b": SecondHalf}, halves); d != "" {
		t.Errorf("sides (-want +got):\n%s", d)
	}
}

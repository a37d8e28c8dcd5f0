package ingest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// slicesFrom are two time slices of ten seconds, as JSON; first is when the first
// began, seconds behind 1760000000.
func slicesFrom(first int) string {
	slice := func(k int) string {
		at := 1760000000 + first + 10*k
		return fmt.Sprintf(`{"start_ns":%d000000000,"end_ns":%d000000000,"time_to_first_token":{"unit":"ms","avg":%d00.004},"request_count":{"unit":"requests","avg":%d}}`, at, at+10, k+1, k+1)
	}
	return `{"timeslices":[` + slice(0) + `,` + slice(1) + `],"input_config":{"loadgen":{"concurrency":8}}}`
}

const (
	sliceRows = "Timeslice,Metric,Unit,Stat,Value\n0,Time to First Token,ms,avg,100.00\n0,Request Count,requests,avg,1.00\n1,Time to First Token,ms,avg,200.00\n1,Request Count,requests,avg,2.00\n"

	summaryAt = `{"request_latency":{"unit":"ms","avg":1000.0},"time_to_first_token":{"unit":"ms","avg":400.0},"request_count":{"unit":"requests","avg":3},"min_request_timestamp":{"unit":"ns","avg":%d000000000},"input_config":{"loadgen":{"concurrency":8},"output":{"slice_duration":10.0}},"was_cancelled":false,"error_summary":[]}`
)

// Time slices are the course of the run beside them, and count once.
func TestJoinCourses(t *testing.T) {
	summary := func(at int) string { return fmt.Sprintf(summaryAt, 1760000000+at) }
	for _, tc := range []struct {
		name  string
		files map[string]string
		runs  map[string]string // by label: the file of the course, "" for none
		notes map[string]string // by file
	}{
		{"alone", map[string]string{"x_timeslices.json": slicesFrom(0)}, map[string]string{"x_timeslices": "x_timeslices.json"}, nil},
		{"JSON and CSV", map[string]string{"x_timeslices.json": slicesFrom(0), "x_timeslices.csv": sliceRows},
			map[string]string{"x_timeslices": "x_timeslices.json"}, map[string]string{"x_timeslices.csv": "count once"}},
		{"JSON and a CSV of another name", map[string]string{"b.json": slicesFrom(0), "a.csv": sliceRows},
			map[string]string{"b": "b.json"}, map[string]string{"a.csv": "count once"}},
		{"JSON and a damaged CSV", map[string]string{"x_timeslices.json": slicesFrom(0), "x_timeslices.csv": sliceRows[:100]},
			map[string]string{"x_timeslices": "x_timeslices.json"}, map[string]string{"x_timeslices.csv": "count once"}},
		{"beside a summary", map[string]string{"p.json": summary(2), "p_timeslices.json": slicesFrom(0), "p_timeslices.csv": sliceRows},
			map[string]string{"p": "p_timeslices.json"}, map[string]string{"p.json": "its course over time is in", "p_timeslices.json": "they are the course of the run in"}},
		{"rows beside a summary", map[string]string{"p.json": summary(2), "other.csv": sliceRows},
			map[string]string{"p": "other.csv"}, nil},
		{"of another time", map[string]string{"p.json": summary(500), "p_timeslices.json": slicesFrom(0)},
			map[string]string{"p": "", "p_timeslices": "p_timeslices.json"}, nil},
		{"two runs told apart by time", map[string]string{"a.json": summary(500), "b.json": summary(2), "p.json": slicesFrom(0)},
			map[string]string{"a": "", "b": "p.json"}, nil},
		{"two runs told apart by name", map[string]string{"a.json": summary(500), "b.json": summary(2), "a_timeslices.csv": sliceRows},
			map[string]string{"a": "a_timeslices.csv", "b": ""}, nil},
		{"two runs that nothing tells apart", map[string]string{"a.json": summary(500), "b.json": summary(2), "p.csv": sliceRows},
			map[string]string{"a": "", "b": "", "p": "p.csv"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tc.files {
				put(t, filepath.Join(dir, name), text)
			}
			ds := load(t, Options{}, dir)
			got := map[string]string{}
			for _, r := range ds.Runs {
				got[r.ID] = ""
				if r.Course != nil {
					got[r.ID] = filepath.Base(r.Course.Source.Path)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.runs) {
				t.Errorf("runs with their courses: %v, want %v", got, tc.runs)
			}
			for _, in := range ds.Inputs {
				if want := tc.notes[filepath.Base(in.Path)]; !strings.Contains(in.Note, want) {
					t.Errorf("%s: note %q, want %q", in.Path, in.Note, want)
				}
			}
			if err := Usable(ds); err != nil {
				t.Error(err)
			}
		})
	}
}

// The run's settings say how long a slice is where its file does not.
func TestCourseLength(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "p.json"), fmt.Sprintf(summaryAt, 1760000002))
	put(t, filepath.Join(dir, "p_timeslices.csv"), sliceRows)
	ds := load(t, Options{}, dir)
	if c := ds.Runs[0].Course; c.Step.V != 10 || ds.Runs[0].Completed.V != 3 {
		t.Errorf("slices of %v s, completed %v", c.Step, ds.Runs[0].Completed)
	}
	if _, _, timed := ds.Runs[0].Course.Span(); timed {
		t.Error("times that nothing states")
	}
	start, err := ParseClockOffset("client=2026-01-05T10:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	ds = load(t, Options{Clocks: []ClockOffset{start}}, dir)
	if s := ds.Runs[0].Course.Slices[1]; s.Start.V != start.By+10e9 || s.End.V != start.By+20e9 {
		t.Errorf("the second slice is %+v, want 10 s behind %d", s, start.By)
	}
}

// A clock that is off moves slices that have a time.
func TestCourseClock(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.json")
	put(t, file, slicesFrom(0))
	ds := load(t, Options{Clocks: []ClockOffset{{Of: "client", By: -2e9}}}, file)
	starts := []int64{ds.Runs[0].Course.Slices[0].Start.V, ds.Runs[0].Course.Slices[1].End.V}
	if !slices.Equal(starts, []int64{1759999998e9, 1760000018e9}) {
		t.Errorf("slices from %d to %d", starts[0], starts[1])
	}
	if ds.Runs[0].Completed != serving.Some(int64(3)) {
		t.Errorf("completed %v", ds.Runs[0].Completed)
	}
}

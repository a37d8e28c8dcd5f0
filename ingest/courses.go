package ingest

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/vreport/vreport/ingest/aiperf"
	"github.com/vreport/vreport/ingest/serving"
)

// joinCourses gives the runs of one directory their courses. Time slices are a run
// cut in pieces, which stands as a whole in another file: its load counts there.
// Slices that have no run beside them stay a run of their own.
func joinCourses(ds *serving.Dataset, files []found, all []loaded, group []int) {
	var courses, others []int
	for _, i := range group {
		switch {
		case len(all[i].runs) == 1 && courseAlone(all[i].runs[0]):
			courses = append(courses, i)
		case len(all[i].runs) > 0:
			others = append(others, i)
		}
	}
	slices.SortStableFunc(courses, func(a, b int) int { // JSON first
		return cmp.Compare(rounded(all[a].runs[0].Course), rounded(all[b].runs[0].Course))
	})
	var seen []*serving.Course
	for _, i := range courses {
		c := all[i].runs[0].Course
		// One base name is one run, as JSON and as CSV, even if one of them is damaged.
		same := slices.IndexFunc(seen, func(o *serving.Course) bool {
			return bareName(o.Source.Path) == bareName(c.Source.Path) || aiperf.SameCourse(o, c)
		})
		if same >= 0 {
			addNote(ds.Inputs[i], "the same slices stand in "+seen[same].Source.Path+" and count once")
			all[i].runs = nil
			continue
		}
		seen = append(seen, c)
		j, r := runOf(c, files[i].path, others, files, all)
		if r == nil {
			continue
		}
		r.Course, all[i].runs = c, nil
		aiperf.PlaceSlices(r)
		if first, last, ok := c.Span(); ok {
			ds.Inputs[i].Span(first, last)
		}
		addNote(ds.Inputs[i], "they are the course of the run in "+files[j].path)
		addNote(ds.Inputs[j], "its course over time is in "+files[i].path)
	}
}

func rounded(c *serving.Course) int {
	if c.Rounded {
		return 1
	}
	return 0
}

// courseAlone reports whether a run is known by its course alone.
func courseAlone(r *serving.Run) bool {
	return r.Course != nil && r.Requests == nil && len(r.Reported) == 0
}

// runOf finds the run whose course it is: the only one that nothing speaks
// against, or of several the one whose file has the name that the slices' file is
// named after.
func runOf(c *serving.Course, path string, others []int, files []found, all []loaded) (int, *serving.Run) {
	at, found, n := -1, (*serving.Run)(nil), 0
	for _, j := range others {
		for _, r := range all[j].runs {
			if r.Course != nil || !aiperf.MayHold(r, c) {
				continue
			}
			if bareName(path) == bareName(files[j].path)+"_timeslices" {
				return j, r
			}
			at, found, n = j, r, n+1
		}
	}
	if n != 1 {
		return -1, nil
	}
	return at, found
}

func bareName(path string) string { return trimExt(filepath.Base(path)) }

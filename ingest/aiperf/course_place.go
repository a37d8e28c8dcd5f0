package aiperf

import (
	"math"
	"slices"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
)

// maxLength bounds what settings may say of the length of a slice, seconds.
const maxLength = 1e5

// PlaceSlices finds the times of a run's slices as far as anything states them:
// the file, or for one without times the first request of each slice, on the grid
// of the length that the run's settings say.
func PlaceSlices(r *serving.Run) {
	c := r.Course
	if !c.Step.OK {
		c.Step = sliceLength(r.Settings)
	}
	_, _, timed := c.Span()
	if timed && !c.Step.OK {
		c.Step = usualLength(c.Slices)
	}
	if !timed && c.Step.OK {
		onGrid(c)
	}
	for i := range c.Slices {
		s := &c.Slices[i]
		// A thousandth is what float64 does to nanoseconds since the epoch.
		if s.Start.OK && float64(s.End.V-s.Start.V)/1e9 < .999*c.Step.V {
			s.Incomplete = true
		}
	}
}

// sliceLength is the length of a slice that settings state.
func sliceLength(settings []serving.Setting) serving.Opt[float64] {
	for _, s := range settings {
		if last(s.Key) != "slice_duration" {
			continue
		}
		if v, err := strconv.ParseFloat(s.Value, 64); err == nil && v >= 1e-3 && v <= maxLength {
			return serving.Some(v)
		}
	}
	return serving.None[float64]()
}

// usualLength is the median length of slices that have times.
func usualLength(list []serving.CourseSlice) serving.Opt[float64] {
	var all []int64
	for _, s := range list {
		if s.Start.OK {
			all = append(all, s.End.V-s.Start.V)
		}
	}
	slices.Sort(all)
	return serving.Some(float64(all[len(all)/2]) / 1e9)
}

// onGrid places slices by their first requests. It does nothing where one has
// none, or two would be one.
func onGrid(c *serving.Course) {
	first := c.Of(firstRequest, "")
	if first == nil {
		return
	}
	cells := make([]float64, len(first))
	for i, v := range first {
		cells[i] = math.Floor(v / c.Step.V)
		if !(v >= 0 && v < 1<<32) || i > 0 && cells[i] <= cells[i-1] {
			return
		}
	}
	for i, n := range cells {
		c.Slices[i].Start = serving.Some(int64(n * c.Step.V * 1e9))
		c.Slices[i].End = serving.Some(int64((n + 1) * c.Step.V * 1e9))
	}
	c.Notes = append(c.Notes, "the file says no times of its slices: they are those of each slice's first request, on the grid of wall-clock time that it was cut by")
}

package aiperf

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Time slices (--slice-duration) are one run cut in pieces: each slice has the
// metrics of the requests that started in it, whenever they ended. A slice in
// which none started is not written.
//
// Releases before 0.8 number the slices that they write and say no times; the
// slices lie on a grid of wall-clock time. Newer ones cut from the first request
// on and say when each slice began and ended, the last one cut off where the run
// ended.

// Bounds on what a file of time slices may make us remember: 32 MB.
const (
	maxSlices  = 10_000
	maxFigures = 400
	maxIndex   = 50_000
)

// sliceMeanings are metrics that are read of slices alone. The rate at which tokens
// came is: output_token_throughput has all tokens of the requests that started in a
// slice of a second, if they took minutes.
var sliceMeanings = map[string]meaning{
	"effective_decode_throughput": {serving.RateDecoded, rate, false},

	tagRequests: {serving.CompletedRequests, count, true},
	tagErrors:   {serving.FailedRequests, count, true},
}

// A courseKey names a series of a course.
type courseKey struct {
	metric serving.MetricKey
	stat   string
}

// A slicer collects the time slices of one file.
type slicer struct {
	s   *summary
	c   *serving.Course
	at  map[courseKey]int
	cut bool // not all of the file's slices are here
}

func newSlicer(s *summary) *slicer {
	return &slicer{s: s, c: &serving.Course{Source: serving.Pos{Path: s.path}}, at: map[courseKey]int{}}
}

// begin adds a slice and returns it, nil where there are too many.
func (c *slicer) begin(at serving.Pos) *serving.CourseSlice {
	if len(c.c.Slices) >= maxSlices {
		c.cut = true
		c.s.in.Problems.AddKind("slices", serving.Problem{At: at,
			Message: fmt.Sprintf("more than %d time slices: this one is left out; take a longer --slice-duration", maxSlices)})
		return nil
	}
	c.c.Slices = append(c.c.Slices, serving.CourseSlice{Index: len(c.c.Slices)})
	return &c.c.Slices[len(c.c.Slices)-1]
}

// times takes the times of a slice, ns since the epoch as the file writes them.
func (c *slicer) times(s *serving.CourseSlice, start, end string, at serving.Pos) {
	if start == "" && end == "" {
		return
	}
	from, to := whole(start), whole(end)
	// 2^62 ns are the year 2116: what lies behind it is no time of a run.
	if !from.OK || !to.OK || from.V < 0 || to.V <= from.V || to.V > 1<<62 {
		c.s.in.Problems.AddKind("slice times", serving.Problem{At: at,
			Message: fmt.Sprintf("a slice from %q to %q, want nanoseconds since the epoch, the end behind the start; it has no place in time", start, end)})
		return
	}
	s.Start, s.End = from, to
}

// whole reads a whole number that may be written as a float.
func whole(text string) serving.Opt[int64] {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return serving.Some(n)
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v == math.Trunc(v) && math.Abs(v) < 1<<63 {
		return serving.Some(int64(v))
	}
	return serving.None[int64]()
}

// known tells whether a metric of slices is read, and notes that it is not.
func (c *slicer) known(name string) (meaning, bool) {
	tag := tagOf(name)
	m, ok := sliceMeanings[tag]
	if !ok {
		m, ok = meanings[tag]
	}
	if !ok || m.metric == "" {
		c.s.field(name, "", "", "")
		return meaning{}, false
	}
	return m, true
}

// add takes a metric that is known into slice i.
func (c *slicer) add(i int, b block, m meaning) {
	per, ok := perBase(b.unit, m.dim)
	if !ok {
		c.s.in.Problems.AddKind("slice unit "+b.name, c.s.unitProblem(b, m))
		return
	}
	c.s.field(b.name, string(m.metric), b.unit, "sibling")
	for _, st := range b.stats {
		k := courseKey{m.metric, st.stat}
		switch {
		case m.total && st.stat != "mean":
			continue // a single number's min and max say nothing
		case m.total:
			k.stat = ""
		}
		c.set(k, i, st.v, per, b.at)
	}
}

// set puts a value into its series.
func (c *slicer) set(k courseKey, i int, v, per float64, at serving.Pos) {
	n, ok := c.at[k]
	if !ok {
		if len(c.c.Series) >= maxFigures {
			c.s.in.Problems.AddKind("series", serving.Problem{At: at,
				Message: fmt.Sprintf("more than %d figures a slice: %s %s is left out", maxFigures, k.metric, k.stat)})
			return
		}
		n = len(c.c.Series)
		c.at[k] = n
		c.c.Series = append(c.c.Series, serving.CourseSeries{Metric: k.metric, Stat: k.stat, PerBase: per})
	}
	s := &c.c.Series[n]
	s.Values = padded(s.Values, i+1)
	s.Values[i] = v / per
}

// padded lengthens values with missing ones.
func padded(values []float64, n int) []float64 {
	for len(values) < n {
		values = append(values, math.NaN())
	}
	return values
}

// run makes a run of slices that have no other: it has their course, how it was
// made and what can be added up. Percentiles cannot.
func (c *slicer) run() (*serving.Run, error) {
	if len(c.c.Series) == 0 {
		return nil, noFigure(c.s.path)
	}
	for i := range c.c.Series {
		c.c.Series[i].Values = padded(c.c.Series[i].Values, len(c.c.Slices))
	}
	c.number()
	r := &serving.Run{Source: serving.Pos{Path: c.s.path}, Format: FormatSummary, Label: baseLabel(c.s.path), Course: c.c}
	c.s.configure(r)
	if !c.cut {
		c.totals(r)
	}
	r.Notes = append(r.Notes, "only time slices of this run were found: counts are their sums, and there are no latencies of the run as a whole (give profile_export_aiperf.json beside them)")
	if c.c.Rounded {
		c.c.Notes = append(c.c.Notes, "figures of a CSV, which have two decimals")
	}
	if _, _, timed := c.c.Span(); !timed && c.c.Of(serving.RateRequests, "") != nil {
		c.c.Notes = append(c.c.Notes, "rates of slices without times are over the time from the first request of a slice to the last response to those that started in it")
	}
	PlaceSlices(r)
	c.describe()
	return r, nil
}

// number counts the slices anew where the file's numbers are none.
func (c *slicer) number() {
	list, last := c.c.Slices, -1
	for i := range list {
		if n := list[i].Index; n <= last || n > maxIndex {
			for k := range list {
				list[k].Index = k
			}
			return
		}
		last = list[i].Index
	}
}

// totals adds up what every slice counts: each request is in one slice.
func (c *slicer) totals(r *serving.Run) {
	sum := func(m serving.MetricKey) serving.Opt[int64] {
		total := 0.0
		for _, v := range c.c.Of(m, "") {
			total += v // a missing one makes it NaN
		}
		if c.c.Of(m, "") == nil || !(total >= 0 && total < 1<<53) || total != math.Trunc(total) {
			return serving.None[int64]()
		}
		return serving.Some(int64(total))
	}
	r.Completed, r.Failed = sum(serving.CompletedRequests), sum(serving.FailedRequests)
	r.Input, r.Output = sum(serving.TotalInputTokens), sum(serving.TotalOutputTokens)
	if r.Completed.OK && r.Failed.OK {
		r.Sent = serving.Some(r.Completed.V + r.Failed.V)
	}
	first, last := c.c.Of(firstRequest, ""), c.c.Of(lastResponse, "")
	if first == nil || last == nil || slices.ContainsFunc(append(slices.Clone(first), last...), math.IsNaN) {
		return
	}
	if d := slices.Max(last) - slices.Min(first); d > 0 {
		r.Duration = serving.Some(d)
	}
}

// describe tells the input what it holds, when that was, and what is missing.
func (c *slicer) describe() {
	in := c.s.in
	in.Records = 1
	first, last, timed := c.c.Span()
	if timed {
		in.Span(first, last)
	}
	note := fmt.Sprintf("%d time slices of one run", len(c.c.Slices))
	if len(c.c.Slices) == 1 {
		note = "1 time slice of one run"
	}
	if c.c.Step.OK {
		note += ", " + strconv.FormatFloat(c.c.Step.V, 'g', 6, 64) + " s each"
	}
	if !timed {
		note += ", without times"
	}
	var lacks []string
	for _, f := range []struct {
		metric serving.MetricKey
		name   string
	}{{serving.TTFT, "time to first token"}, {serving.TPOT, "time per output token"}, {serving.ITL, "gaps between tokens"}, {serving.E2E, "latency"},
		{serving.MeanConcurrent, "concurrency"}} {
		if !slices.ContainsFunc(c.c.Series, func(s serving.CourseSeries) bool { return s.Metric == f.metric }) {
			lacks = append(lacks, f.name)
		}
	}
	if lacks != nil {
		note += "; not in it: " + strings.Join(lacks, ", ")
	}
	in.Note = note
}

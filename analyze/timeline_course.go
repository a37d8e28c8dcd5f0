package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// EventPartial marks a time slice in which its run ended.
const EventPartial = "partial"

// hasCourse reports whether a run's file states how it went over time.
func hasCourse(r *serving.Run) bool { return r.Course != nil && len(r.Course.Slices) > 1 }

// courseTracks draws the time slices that runs have in place of requests. Where
// there are requests they say more, and the slices would be the same again.
func courseTracks(in *Input, timed map[*serving.Run]bool, few func(Half) bool) (tracks []*track, notes []string) {
	said, drawn := map[string]bool{}, 0
	note := func(s string) {
		if !said[s] {
			said[s], notes = true, append(notes, s)
		}
	}
	for _, r := range in.Data.Runs {
		switch {
		case !hasCourse(r):
			continue
		case timed[r]:
			note(fmt.Sprintf("%s: its time slices are not drawn, since its requests are.", r.Label))
			continue
		}
		k := courseTrack(r)
		if k == nil {
			continue
		}
		k.half = in.halfOf(r)
		if !few(k.half) {
			continue
		}
		tracks = append(tracks, k)
		drawn++
		for _, s := range r.Course.Notes {
			note(r.Label + ": " + s + ".")
		}
		if _, _, dated := r.Course.Span(); !dated {
			note(r.Label + ": its time slices say no times and are drawn one after the other: what follows a slice without a request stands too early.")
		}
		if s := fewRequests(r.Course); s != "" {
			note(r.Label + ": " + s)
		}
	}
	if drawn > 0 {
		note("Figures of time slices are the file's own: latencies are of the requests that started in a slice, whenever they ended; tokens decoded and requests in flight are of the slice itself. A slice in which no request started is not in the file.")
	}
	return tracks, notes
}

// fewRequests says what percentiles of small slices are; "" where they hold
// enough.
func fewRequests(c *serving.Course) string {
	n := slices.DeleteFunc(slices.Clone(c.Of(serving.CompletedRequests, "")), math.IsNaN)
	if len(n) == 0 {
		return ""
	}
	slices.Sort(n)
	median := n[len(n)/2]
	if median >= 100 {
		return ""
	}
	return fmt.Sprintf("half of its time slices hold at most %s: a p99 of so few is close to the slowest one.", plural(int(median), "completed request", "completed requests"))
}

// courseTrack turns a run's time slices into series; nil where fewer than two have
// a place.
func courseTrack(r *serving.Run) *track {
	c := r.Course
	at, until, keep := courseTimes(c)
	if len(at) < 2 {
		return nil
	}
	_, _, timed := c.Span()
	k := &track{label: r.Label, relative: !timed, counted: !timed && !c.Step.OK, step: courseStep(c),
		phase: slices.Min(at), from: slices.Min(at), to: slices.Max(until)}
	add := func(panel string, unit serving.Unit, metric, stat string, values []float64) {
		if values == nil {
			return
		}
		placed := make([]float64, len(keep))
		for i, n := range keep {
			placed[i] = values[n]
		}
		k.add(ofStretch, TimelineSeries{Metric: metric, Stat: stat, Label: r.Label, Unit: unit, Side: serving.Client, Panel: panel}, at, until, placed)
	}
	add(PanelThroughput, serving.PerSecond, "requests_per_s", "started", c.Of(serving.RateRequests, ""))
	if decoded := c.Of(serving.RateDecoded, "mean"); decoded != nil {
		add(PanelThroughput, serving.PerSecond, "output_tokens_per_s", "decoded", decoded)
	} else {
		add(PanelThroughput, serving.PerSecond, "output_tokens_per_s", "of requests that started", c.Of(serving.RateOutput, ""))
	}
	add(PanelThroughput, serving.PerSecond, string(serving.GoodRequests), "started", c.Of(serving.GoodRequests, ""))
	for _, m := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E} {
		for _, st := range courseStats(c, m) {
			add(latencyPanel(m), serving.Seconds, string(m), st, c.Of(m, st))
		}
	}
	add(PanelRequests, serving.RequestsUnit, "in_flight", "mean", c.Of(serving.MeanConcurrent, "mean"))
	add(PanelRequests, serving.RequestsUnit, "failed", "per slice", c.Of(serving.FailedRequests, ""))
	for i, n := range keep {
		if c.Slices[n].Incomplete {
			k.events = append(k.events, Event{At: at[i], Kind: EventPartial, Text: "the time slice in which the run ended: " + seconds(float64(until[i]-at[i])/1e9), Source: r.Label})
		}
	}
	if len(k.series) == 0 {
		return nil
	}
	return k
}

// courseStats are the statistics to draw of a metric: the median and the tail as
// far as the file has them, else the mean.
func courseStats(c *serving.Course, m serving.MetricKey) []string {
	var out []string
	for _, either := range [][]string{{"p50"}, {"p99", "p95", "p90"}} {
		for _, st := range either {
			if c.Of(m, st) != nil {
				out = append(out, st)
				break
			}
		}
	}
	if out == nil {
		return []string{"mean"}
	}
	return out
}

// courseStep is the length of a slice, ns; a second for a slice without one.
func courseStep(c *serving.Course) int64 { return max(1, int64(c.Step.Or(1)*1e9)) }

// courseTimes are the stretches that slices cover, and which slices those are.
// Without times one follows the other by their numbers.
func courseTimes(c *serving.Course) (at, until []int64, keep []int) {
	first, _, timed := c.Span()
	step := courseStep(c)
	// What float64 does to nanoseconds since the epoch must not push a slice over
	// the edge of a step.
	snap := func(t int64) int64 {
		by := mod(t-first, step)
		switch {
		case by <= step/1000:
			return t - by
		case step-by <= step/1000:
			return t + step - by
		}
		return t
	}
	for i := range c.Slices {
		s := &c.Slices[i]
		switch {
		case !timed:
			at, until = append(at, int64(s.Index)*step), append(until, int64(s.Index+1)*step)
		case s.Start.OK:
			at, until = append(at, snap(s.Start.V)), append(until, snap(s.End.V))
		default:
			continue
		}
		keep = append(keep, i)
	}
	return at, until, keep
}

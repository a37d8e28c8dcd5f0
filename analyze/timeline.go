package analyze

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// maxSteps bounds the length of a timeline's series.
const maxSteps = 2000

// maxRunTimelines is how many benchmark runs get a timeline of their own: a
// sweep of many levels would be many pages of them.
const maxRunTimelines = 4

// Panels of a timeline, top to bottom.
const (
	PanelThroughput = "throughput"
	PanelLatency    = "latency"   // of whole requests: TTFT, E2E, queue
	PanelStreaming  = "streaming" // between tokens: TPOT, ITL, orders of magnitude smaller
	PanelRequests   = "requests"
	PanelKV         = "kv"
	PanelPreempt    = "preemptions"
	PanelGPU        = "gpu"
)

func runTimeline(ctx context.Context, in *Input, rep *Report) (any, []string, error) {
	var tracks []*track
	var notes []string
	runs := map[Half]int{} // drawn so far, a side
	few := func(h Half) bool { runs[h]++; return runs[h] <= maxRunTimelines }
	timed := map[*serving.Run]bool{}
	for _, t := range in.tables {
		k := t.track(in.Opt)
		if k == nil {
			continue
		}
		k.half = in.halfOf(t)
		timed[t.run] = true
		if t.run == nil || few(k.half) {
			tracks = append(tracks, k)
		}
	}
	courses, more := courseTracks(in, timed, few)
	tracks, notes = append(tracks, courses...), append(notes, more...)
	if n := max(runs[NoHalf], runs[FirstHalf], runs[SecondHalf]); n > maxRunTimelines {
		notes = append(notes, fmt.Sprintf("%d runs have a time axis; the first %d are drawn. Report a run by itself to see it.", n, maxRunTimelines))
	}
	year := axisYear(in)
	var logged []*logServer
	if sv := Value[Servers](rep); sv != nil {
		for _, s := range sv.Servers {
			if s.Members == 0 {
				server, common := dated(s.Server, year)
				k := serverTrack(viewOf(server, in.windowOf(func() int { return in.sides.sideOf(s.Server) })))
				logged = append(logged, &logServer{server: server, track: k})
				if k != nil {
					k.common = common && k.relative
					k.half = in.halfOf(s.Server)
					tracks = append(tracks, k)
				}
			}
		}
	}
	tracks, more = logTracks(in, tracks, logged, year)
	notes = append(notes, more...)
	queries, more := queryTracks(ctx, in)
	tracks, notes = append(tracks, queries...), append(notes, more...)
	if in.sides != nil {
		align(in.sides, tracks, in.Opt.Annotations)
	} else {
		onOneAxis(tracks)
	}
	var out Timelines
	for _, c := range cluster(tracks) {
		out.Timelines = append(out.Timelines, layOut(c, in.Opt.Annotations))
	}
	if len(out.Timelines) == 0 {
		return nil, nil, nil
	}
	return &out, append(notes, "Server and client figures are separate series."), nil
}

// A track is one source's series on its own time axis.
type track struct {
	label    string
	half     Half
	relative bool
	aligned  bool  // its times count from the start of its side
	common   bool  // relative, and of one axis with others that are
	counted  bool  // its axis counts slices whose length nothing states
	phase    int64 // where its steps begin, ns; 0: wherever
	from, to int64 // ns; to is behind the last stretch
	step     int64 // ns
	series   []trackSeries
	events   []Event
}

// A trackSeries is a series with a value at each of its own moments.
type trackSeries struct {
	TimelineSeries
	at    []int64 // start of the stretch a value covers, ns, ascending
	until []int64 // its end
	value []float64
	reach reach
}

// cluster puts tracks on one axis that overlap in time and are of like length:
// five minutes of requests would be a dot on the axis of a week of scrapes.
// Tracks with a made-up origin share an axis with nobody.
func cluster(tracks []*track) [][]*track {
	var out [][]*track
	sorted := slices.Clone(tracks)
	slices.SortStableFunc(sorted, func(a, b *track) int {
		if a.relative != b.relative {
			if a.relative {
				return 1
			}
			return -1
		}
		if a.alone() {
			return 0
		}
		return cmp.Compare(a.from, b.from)
	})
	for _, t := range sorted {
		i := slices.IndexFunc(out, func(c []*track) bool { return shares(c, t) })
		if i < 0 || t.alone() {
			out = append(out, []*track{t})
			continue
		}
		out[i] = append(out[i], t)
	}
	return out
}

// alone reports whether a track's times count from an origin of its own.
func (t *track) alone() bool { return t.relative && !t.aligned && !t.common || t.counted }

func shares(c []*track, t *track) bool {
	if c[0].alone() || c[0].relative != t.relative {
		return false
	}
	from, to := c[0].from, c[0].to
	for _, o := range c {
		from, to = min(from, o.from), max(to, o.to)
	}
	a, b := float64(to-from), float64(t.to-t.from)
	return t.from < to && from < t.to && max(a, b) <= 20*min(a, b)
}

// layOut resamples the tracks of a cluster onto one axis with the finest of
// their steps.
func layOut(c []*track, annotations []Event) *Timeline {
	from, to, step, phase := c[0].from, c[0].to, c[0].step, c[0].phase
	for _, t := range c {
		from, to = min(from, t.from), max(to, t.to)
		if t.step < step {
			step, phase = t.step, t.phase
		}
	}
	step = max(step, 1)
	for (to-from)/step >= maxSteps {
		step *= 2
	}
	from -= mod(from-phase, step)
	out := &Timeline{Title: c[0].label, From: from, Relative: c[0].relative, Aligned: c[0].aligned, Counted: c[0].counted, Step: float64(step) / 1e9, N: int((to - from + step - 1) / step)}
	if len(c) > 1 {
		out.Title = plural(len(c), "source", "sources") + " on one time axis"
	}
	var drawn drawnPoints
	for _, t := range c {
		for _, s := range t.series {
			if v, ok := s.resample(from, step, out.N, &drawn); ok {
				s.TimelineSeries.Values, s.TimelineSeries.Half = v, t.half
				out.Series = append(out.Series, s.TimelineSeries)
			}
		}
		out.Events = append(out.Events, t.events...)
	}
	for _, a := range annotations {
		if !out.Relative && a.At >= from && a.At <= to {
			out.Events = append(out.Events, a)
		}
	}
	out.Points = drawn.note()
	out.Series = withoutRare(out.Series)
	out.Events = boundEvents(out.Events, maxLogEvents)
	slices.SortStableFunc(out.Series, func(a, b TimelineSeries) int { return cmp.Compare(panelRank(a), panelRank(b)) })
	slices.SortStableFunc(out.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return out
}

// panelOrder is the order of panels from top to bottom: what users felt, then
// what the engine was doing.
var panelOrder = []string{PanelThroughput, PanelLatency, PanelStreaming, PanelRequests, PanelKV, PanelPreempt, PanelGPU, PanelEvents, PanelPromQL}

// panelRank sorts series by panel; the rates beside the output come last.
func panelRank(s TimelineSeries) int {
	if s.Panel == PanelThroughput && s.Metric != "output_tokens_per_s" {
		return len(panelOrder)
	}
	return slices.Index(panelOrder, s.Panel)
}

func mod(a, b int64) int64 { return ((a % b) + b) % b }

// stepsOf are the steps that a stretch is drawn in: those of which it covers a half
// at least, so that one a few milliseconds off the axis is not drawn twice; if there
// are none, that of its middle.
func stepsOf(at, until, step int64) (first, last int) {
	floor := func(t int64) int { return int((t - mod(t, step)) / step) }
	half := (step + 1) / 2
	first, last = floor(at+half-1), floor(until-half)
	if last < first {
		first = floor(at + (until-at)/2)
		last = first
	}
	return first, last
}

// resample lays values onto steps. A value holds over the stretch it covers;
// of several in one step the largest stands, so that no spike is lost.
func (s *trackSeries) resample(from, step int64, n int, drawn *drawnPoints) ([]float64, bool) {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	any := false
	for k, v := range s.value {
		if math.IsNaN(v) {
			continue
		}
		first, last := stepsOf(s.at[k]-from, s.until[k]-from, step)
		drawn.stretch(s.reach, last-first)
		for i := max(first, 0); i <= min(last, n-1); i++ {
			drawn.merged = drawn.merged || !math.IsNaN(out[i]) && v != out[i]
			if math.IsNaN(out[i]) || v > out[i] {
				out[i] = v
			}
			any = true
		}
	}
	return out, any
}

// track turns a table's time windows into series: nil without arrival times.
func (t *table) track(opt Options) *track {
	if t.time < 0 || t.cube.Step <= 0 || len(t.cube.Groups[t.time].Cells) < 2 {
		return nil
	}
	c := t.cube
	label := t.src.Name()
	if t.run != nil {
		label = t.run.Label
	}
	var windows []windowCell
	for _, cell := range t.windows() {
		windows = append(windows, windowCell{t.distsOf(cell), cell.Sent, cell.Sent - cell.Outcomes[serving.OK], cell.Good, cell.Output, float64(c.Step) / 1e9})
	}
	k := &track{label: label, relative: c.Relative, step: c.Step, from: c.Start.V, to: c.Start.V}
	add := func(metric, stat, panel string, unit serving.Unit, value func(w *windowCell) float64) {
		s := trackSeries{TimelineSeries: TimelineSeries{Metric: metric, Stat: stat, Label: label, Unit: unit, Side: t.side(), Panel: panel}}
		for i := range windows {
			at := c.Start.V + int64(i)*c.Step
			s.at, s.until = append(s.at, at), append(s.until, at+c.Step)
			s.value = append(s.value, value(&windows[i]))
			k.to = max(k.to, at+c.Step)
		}
		k.series = append(k.series, s)
	}
	add("requests_per_s", "arrived", PanelThroughput, serving.PerSecond, func(w *windowCell) float64 { return float64(w.sent) / w.seconds })
	add("output_tokens_per_s", "of requests that arrived", PanelThroughput, serving.PerSecond, func(w *windowCell) float64 { return float64(w.output) / w.seconds })
	for _, m := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E, serving.Queue} {
		if t.total().Summaries[m] == nil {
			continue
		}
		for _, q := range []string{"p50", "p99"} {
			add(string(m), q, latencyPanel(m), serving.Seconds, func(w *windowCell) float64 { return orNaN(w.dists.stat(m, q)) })
		}
	}
	add("failed", "per window", PanelRequests, serving.RequestsUnit, func(w *windowCell) float64 { return float64(w.failed) })
	if len(t.conditions(opt)) > 0 {
		add("goodput_share", "", PanelRequests, serving.Share, func(w *windowCell) float64 {
			if w.sent == 0 {
				return math.NaN()
			}
			return float64(w.good) / float64(w.sent)
		})
	}
	return k
}

// windows returns the cells of all time windows from the first to the last. One
// without a request is known to have none: its rates are 0, not missing.
func (t *table) windows() []*cube.Cell {
	var out []*cube.Cell
	cells := t.cube.Groups[t.time].Cells
	for i := range cells {
		w := cells[i].Window
		if w < 0 {
			continue
		}
		for len(out) <= w {
			out = append(out, &cube.Cell{Window: len(out)})
		}
		out[w] = &cells[i]
	}
	return out
}

// latencyPanel keeps gaps between tokens off the axis of whole requests, on
// which they would be a flat line at zero.
func latencyPanel(k serving.MetricKey) string {
	if k == serving.TPOT || k == serving.ITL {
		return PanelStreaming
	}
	return PanelLatency
}

// A windowCell is what one time window of a table holds.
type windowCell struct {
	dists              Dists
	sent, failed, good int64
	output             int64
	seconds            float64
}

func orNaN(o serving.Opt[float64]) float64 {
	if !o.OK {
		return math.NaN()
	}
	return o.V
}

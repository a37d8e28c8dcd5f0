package analyze

import (
	"context"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// coarseRatio is the width of a bucket, as a ratio of its bounds, above which a
// quantile inside it is labelled coarse.
const coarseRatio = 1.5

// serverQuantiles are those asked of a server's histograms.
var serverQuantiles = []float64{0.5, 0.9, 0.95, 0.99}

func runServers(_ context.Context, in *Input, _ *Report) (any, []string, error) {
	var out Servers
	for _, s := range in.Data.Servers {
		if v := viewOf(s, in.windowOf(func() int { return in.sides.sideOf(s) })); v.n() > 0 {
			out.Servers = append(out.Servers, v.stats())
		}
	}
	if len(out.Servers) == 0 {
		return nil, nil, nil
	}
	out.Servers = append(fleets(in, out.Servers), out.Servers...)
	notes := []string{
		"Server times are measured inside the engine: a server's TTFT holds no network and is never put beside a client's as one series.",
		"A quantile of a histogram lies in one bucket: the interval is that bucket, the value Prometheus' interpolation inside it.",
		"Counters are increases over the window, with restarts added up; no figure here is an absolute counter.",
	}
	for _, s := range out.Servers {
		if s.SinceStart {
			notes = append(notes, s.Server.Label+": one scrape only, so its figures are since the process started, not of a window.")
		}
	}
	return &out, notes, nil
}

// A serverView is a server with the scrapes of the window.
type serverView struct {
	*serving.Server
	from, to int // scrapes [from, to)
}

func viewOf(s *serving.Server, w cube.Window) serverView {
	v := serverView{s, 0, len(s.Times)}
	if s.Relative || w == (cube.Window{}) {
		return v
	}
	v.from, _ = slices.BinarySearch(s.Times, w.From)
	if w.To != 0 {
		v.to, _ = slices.BinarySearch(s.Times, w.To)
	}
	v.to = max(v.to, v.from)
	return v
}

func (v serverView) n() int { return v.to - v.from }

// restarted reports that the process began anew between scrape i of the view
// and the one before it, even where no counter fell.
func (v serverView) restarted(i int) bool { return slices.Contains(v.Restarts, v.Times[v.from+i]) }

// gaps are the stretches without a scrape. Where the scrapes carry no time but a
// number, a missing number is one only if it is missing beyond the usual
// stride: files that count 0, 5, 10 have no gaps.
func (v serverView) gaps() []serving.Gap {
	var out []serving.Gap
	usual := int64(0)
	if v.n() > 1 {
		usual = usualInterval(v.Times[v.from:v.to])
	}
	for _, g := range v.Gaps {
		inside := v.n() > 0 && g.To >= v.Times[v.from] && g.From <= v.Times[v.to-1]
		if inside && (!v.Relative || float64(g.To-g.From) > gapFactor*float64(usual)) {
			out = append(out, g)
		}
	}
	return out
}

func (v serverView) stats() *ServerStats {
	out := &ServerStats{Server: v.Server, Scrapes: v.n(), SinceStart: v.n() == 1, Gaps: v.gaps()}
	if !v.Relative {
		out.From, out.To = serving.Some(v.Times[v.from]), serving.Some(v.Times[v.to-1])
	}
	for _, m := range serving.Metrics {
		if h := v.HistogramOf(m.Key); h != nil {
			if w, ok := v.increase(h); ok {
				out.hists = append(out.hists, w)
				out.Dists = append(out.Dists, w.dist(v.span()))
			}
		}
	}
	for _, d := range reportedDists(v.Reported, serving.ServerSide, serving.None[int64]()) {
		if out.Dists.Of(d.Metric) == nil {
			out.Dists = append(out.Dists, d)
		}
	}
	for i := range v.Counters {
		if inc, ok := v.counter(&v.Counters[i]); ok {
			out.Increases = append(out.Increases, inc)
		}
	}
	for i := range v.Gauges {
		if g, ok := v.gauge(&v.Gauges[i]); ok {
			out.Gauges = append(out.Gauges, g)
		}
	}
	return out
}

// span is the view as PromQL sees it.
func (v serverView) span() querySpan {
	q := querySpan{instant: v.n() == 1}
	if v.n() > 1 && !v.Relative {
		q.window = rangeOf(v.Times[v.to-1] - v.Times[v.from])
	}
	return q
}

// A histWindow is a histogram's increase over a window.
type histWindow struct {
	metric     serving.MetricKey
	from       string
	promQL     string // the selector of its buckets
	bounds     []float64
	cum        []float64 // cumulative counts per bound
	count, sum serving.Opt[float64]
	resets     int
	raised     bool // a bucket held less than a lower one, or less than nothing: not cumulative
	fell       bool // the sum went down without a restart: no mean
}

// increase is a histogram's increase over the view: of one scrape the whole
// since process start.
func (v serverView) increase(h *serving.HistogramSeries) (histWindow, bool) {
	w := histWindow{metric: h.Metric, from: h.From, promQL: h.PromQL, bounds: h.Bounds}
	rows := h.Counts[v.from:v.to]
	if v.n() == 1 {
		if rows[0] == nil {
			return w, false
		}
		w.cum = slices.Clone(rows[0])
		w.sum, w.count = finite(h.Sum[v.from]), finite(h.Count[v.from])
	} else {
		w.cum, w.resets = stat.BucketDeltaAcross(h.Bounds, rows, v.restarted)
		var sum float64
		sum, w.fell = stat.SumIncrease(h.Sum[v.from:v.to], h.Count[v.from:v.to], v.restarted)
		count, _ := stat.IncreaseAcross(h.Count[v.from:v.to], v.restarted)
		w.sum, w.count = finite(sum), finite(count)
	}
	for b := 1; b < len(w.cum); b++ {
		w.raised = w.raised || w.cum[b] < w.cum[b-1]
	}
	for _, row := range rows {
		for _, n := range row {
			w.raised = w.raised || n < 0
		}
	}
	n := 0.0
	if len(w.cum) > 0 {
		n = w.cum[len(w.cum)-1]
	}
	if !w.count.OK && n > 0 {
		w.count = serving.Some(n)
	}
	return w, n > 0
}

// mostCount is the greatest count that a float tells from its neighbours. What a
// file has above is no count, and would be none in 64 bits either.
const mostCount = 1 << 53

// countOf is a figure of a file as a count.
func countOf(v float64) serving.Opt[int64] {
	if !(v >= 0 && v <= mostCount) {
		return serving.None[int64]()
	}
	return serving.Some(int64(math.Round(v)))
}

func finite(v float64) serving.Opt[float64] {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return serving.None[float64]()
	}
	return serving.Some(v)
}

// dist reads quantiles off the buckets, each with the bucket as its interval.
func (w *histWindow) dist(span querySpan) *Dist {
	d := &Dist{Metric: w.metric, Origin: FromHistogram, Side: serving.ServerSide}
	if w.count.OK {
		d.Count = countOf(w.count.V)
		if w.sum.OK && !w.fell && w.count.V > 0 && w.sum.V >= 0 {
			d.Mean = serving.Some(w.sum.V / w.count.V)
		}
	}
	for _, p := range serverQuantiles {
		if q, ok := w.quantile(p); ok {
			d.Quantiles = append(d.Quantiles, q)
		}
	}
	if x := span.over("rate", w.promQL); x != "" {
		d.PromQL = "histogram_quantile(0.95, sum by (le) (" + x + "))"
	}
	return d
}

func (w *histWindow) quantile(p float64) (Quantile, bool) {
	b := stat.BucketQuantile(p, w.bounds, w.cum)
	if math.IsNaN(b.Value) {
		return Quantile{}, false
	}
	q := Quantile{P: p, Lo: finite(b.Lo), Hi: finite(b.Hi)}
	if b.Overflow {
		// Beyond the last finite bound: all that is known is "at least".
		q.Hi, q.Quality = serving.None[float64](), QualityCoarse
		return q, true
	}
	q.Value, q.Quality = serving.Some(b.Value), QualityOK
	if b.Lo <= 0 || b.Hi/b.Lo > coarseRatio || w.raised {
		q.Quality = QualityCoarse
	}
	return q, true
}

func (v serverView) counter(c *serving.Counter) (Increase, bool) {
	inc := Increase{Name: c.Name, By: c.By, Unit: c.Unit, selector: c.PromQL}
	if v.n() == 1 {
		x := c.Values[v.from]
		inc.Value = x
		inc.PromQL = c.PromQL
		return inc, !math.IsNaN(x)
	}
	inc.Value, inc.Resets = stat.IncreaseAcross(c.Values[v.from:v.to], v.restarted)
	if x := v.span().over("increase", c.PromQL); x != "" {
		inc.PromQL = "sum(" + x + ")"
	}
	return inc, !math.IsNaN(inc.Value)
}

func (v serverView) gauge(g *serving.Gauge) (GaugeStats, bool) {
	out := GaugeStats{Name: g.Name, By: g.By, Unit: g.Unit, Min: math.Inf(1), Max: math.Inf(-1)}
	sum := 0.0
	for _, x := range g.Values[v.from:v.to] {
		if math.IsNaN(x) {
			continue
		}
		out.N++
		sum += x
		out.Min, out.Max, out.Last = min(out.Min, x), max(out.Max, x), x
	}
	if out.N == 0 {
		return out, false
	}
	out.Mean = sum / float64(out.N)
	out.selector = g.PromQL
	out.PromQL = v.span().over("avg_over_time", g.PromQL)
	return out, true
}

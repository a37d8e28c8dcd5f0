package analyze

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Kinds of events that an incident adds to those of its sources.
const (
	EventIncident    = "incident"
	EventChangePoint = "change_point"
)

// incidentSteps is how many windows an incident's panels aim at.
const incidentSteps = 150

// panels draws every source on the incident's axis, from the begin of the
// baseline to the end of what follows, in windows as fine as that allows: those
// of a whole day would show an incident of minutes as a dot.
func (v *incidentView) panels(in *Input) {
	var tracks []*track
	for _, s := range v.u.sources {
		if s.relative != v.u.relative {
			continue // its clock has nothing in common with the axis
		}
		if s.rows != nil {
			if k := v.rowTrack(s); k != nil {
				tracks = append(tracks, k)
			}
			continue
		}
		for _, view := range s.servers.views {
			if k := serverTrack(s.servers.cut(view, v.since, v.until)); k != nil {
				tracks = append(tracks, k)
			}
		}
	}
	if len(tracks) == 0 {
		return
	}
	inc := v.inc
	var marks []Event
	if !inc.Relative {
		marks = in.Opt.Annotations
	}
	t := layOut(tracks, marks)
	t.Title = inc.Label
	t.Relative = inc.Relative
	t.Events = boundEvents(append(t.Events, v.logEvents(in)...), maxLogEvents)
	slices.SortStableFunc(t.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	inc.Events = slices.Clone(t.Events)
	t.Events = append(t.Events, Event{At: inc.Window.From, To: inc.Window.To, Kind: EventIncident, Text: "the incident's window", Source: inc.Label})
	slices.SortStableFunc(t.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	inc.Panels = t
}

// logEvents are the failures that logs tell of around the incident, as far as
// the logs are on its axis.
func (v *incidentView) logEvents(in *Input) []Event {
	var out []Event
	year := 0
	if !v.u.relative {
		year = time.Unix(0, v.u.origin).UTC().Year()
	}
	from, to := v.u.origin+int64(v.since*1e9), v.u.origin+int64(v.until*1e9)
	for _, l := range in.Data.Logs {
		c := clockOf(l, nil, year)
		if !c.ok || c.real == v.u.relative {
			continue
		}
		var series *serving.Server
		if i := slices.IndexFunc(in.Data.Servers, func(s *serving.Server) bool { return slices.Contains(s.Sources, l.Path) }); i >= 0 {
			series, _ = dated(in.Data.Servers[i], year)
		}
		for _, e := range l.Events {
			if at := c.at(e.At); at >= from && at <= to && !(e.Kind == serving.EventRestart && series != nil && seenRestart(series, at)) {
				out = append(out, c.event(e))
			}
		}
	}
	return out
}

// rowTrack turns the requests around an incident into series.
func (v *incidentView) rowTrack(s *source) *track {
	step := max((v.until-v.since)/incidentSteps, 1e-3)
	for _, nice := range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600} {
		if nice >= step {
			step = nice
			break
		}
	}
	first := math.Floor(v.since/step) * step
	n := int(math.Ceil((v.until - first) / step))
	rows := s.rows.among(v.since, v.until)
	if n < 2 || len(rows) < 2 {
		return nil
	}
	bins := make([][]diagRow, n)
	for _, r := range rows {
		i := min(n-1, int((r.at-first)/step))
		bins[i] = append(bins[i], r)
	}
	at := func(t float64) int64 { return v.u.origin + int64(math.Round(t*1e9)) }
	k := &track{label: s.label, relative: v.u.relative, step: int64(step * 1e9), phase: at(first), from: at(first), to: at(first + float64(n)*step)}
	side := s.rows.side
	add := func(metric, st, panel string, u serving.Unit, value func(i int) float64) {
		starts, until, values := make([]int64, n), make([]int64, n), make([]float64, n)
		for i := range n {
			starts[i], until[i] = k.from+int64(i)*k.step, k.from+int64(i+1)*k.step
			values[i] = value(i)
		}
		k.add(ofStretch, TimelineSeries{Metric: metric, Stat: st, Label: s.label, Unit: u, Side: side, Panel: panel}, starts, until, values)
	}
	every := s.rows.every
	quantile := func(get func(*diagRow) float64, p float64) func(i int) float64 {
		return func(i int) float64 {
			x := known(bins[i], get)
			if len(x) == 0 {
				return nan
			}
			slices.Sort(x)
			return stat.Quantile(x, p)
		}
	}
	add("requests_per_s", "arrived", PanelThroughput, serving.PerSecond, func(i int) float64 { return float64(len(bins[i])) * every / step })
	add("output_tokens_per_s", "of requests that arrived", PanelThroughput, serving.PerSecond, func(i int) float64 {
		return sumKnown(valuesOf(bins[i], func(r *diagRow) float64 { return r.output })) * every / step
	})
	for _, m := range []struct {
		key   serving.MetricKey
		panel string
		get   func(*diagRow) float64
	}{{serving.TTFT, PanelLatency, func(r *diagRow) float64 { return r.ttft }}, {serving.Queue, PanelLatency, func(r *diagRow) float64 { return r.queue }}, {serving.TPOT, PanelStreaming, func(r *diagRow) float64 { return r.tpot }}} {
		add(string(m.key), "p50", m.panel, serving.Seconds, quantile(m.get, 0.5))
		add(string(m.key), "p95", m.panel, serving.Seconds, quantile(m.get, 0.95))
	}
	add("failed", "per window", PanelRequests, serving.RequestsUnit, func(i int) float64 {
		f := 0.0
		for _, r := range bins[i] {
			if r.outcome != serving.OK {
				f += every
			}
		}
		return f
	})
	if v.u.of("scrapes") == nil {
		for _, l := range []*signal{s.rows.waiting, s.rows.running} {
			add(l.name, "counted from requests", PanelRequests, serving.RequestsUnit, func(i int) float64 {
				lo := first + float64(i)*step
				return meanKnown(l.between(math.Floor(lo/l.step)*l.step, math.Ceil((lo+step)/l.step)*l.step))
			})
		}
	}
	return k
}

// valuesOf are the values of all requests, whatever became of them.
func valuesOf(rows []diagRow, get func(*diagRow) float64) []float64 {
	out := make([]float64, len(rows))
	for i := range rows {
		out[i] = get(&rows[i])
	}
	return out
}

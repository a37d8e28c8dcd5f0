package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

func newWireServer(s *analyze.ServerStats) wireServer {
	sv := s.Server
	w := wireServer{
		ID: sv.ID, Label: sv.Label, Engine: sv.Engine, Version: sv.Version.Ptr(), Model: sv.Model.Ptr(), Replica: sv.Replica.Ptr(),
		Sources: sv.Sources, Members: s.Members, Scrapes: s.Scrapes, SinceStart: s.SinceStart, Relative: sv.Relative, TimeRule: sv.TimeRule,
		Window: newWireWindow(s), Restarts: []string{}, Gaps: []wireWindow{}, Info: wireSettings(sv.Info),
		Increases: map[string]float64{}, Metrics: wireMetrics(s.Dists),
	}
	for _, t := range sv.Restarts {
		w.Restarts = append(w.Restarts, wireTime(t, sv.Relative))
	}
	for _, g := range s.Gaps {
		w.Gaps = append(w.Gaps, wireWindow{wireTime(g.From, sv.Relative), wireTime(g.To, sv.Relative)})
	}
	for _, in := range s.Increases {
		w.addIncrease(in)
	}
	for _, g := range s.Gauges {
		w.Gauges = append(w.Gauges, newWireGauge(g))
	}
	for _, d := range s.Dists {
		if d.PromQL != "" {
			w.addPromQL(string(d.Metric), d.PromQL)
		}
	}
	return w
}

func newWireWindow(s *analyze.ServerStats) *wireWindow {
	var w wireWindow
	if s.From.OK {
		w.From = wireTime(s.From.V, s.Server.Relative)
	}
	if s.To.OK {
		w.To = wireTime(s.To.V, s.Server.Relative)
	}
	if w == (wireWindow{}) {
		return nil
	}
	return &w
}

// addIncrease lists a counter, and the whole of a figure also under its name: a
// part of a split figure must not be taken for the whole.
func (w *wireServer) addIncrease(in analyze.Increase) {
	c := wireCounter{
		Name: string(in.Name), Unit: wireUnit(in.Unit), Increase: wireValue(in.Unit, serving.Some(in.Value)),
		Resets: in.Resets, PromQL: in.PromQL,
	}
	if len(in.By) > 0 {
		c.By = wireBy(in.By)
	} else {
		if c.Increase != nil {
			w.Increases[c.Name] = *c.Increase
		}
		if in.PromQL != "" {
			w.addPromQL(c.Name, in.PromQL)
		}
	}
	w.Counters = append(w.Counters, c)
}

func (w *wireServer) addPromQL(name, query string) {
	if w.PromQL == nil {
		w.PromQL = map[string]string{}
	}
	if _, ok := w.PromQL[name]; !ok {
		w.PromQL[name] = query
	}
}

func newWireGauge(g analyze.GaugeStats) wireGauge {
	w := wireGauge{
		Name: string(g.Name), Unit: wireUnit(g.Unit), N: g.N, PromQL: g.PromQL,
		Mean: wireValue(g.Unit, serving.Some(g.Mean)), Min: wireValue(g.Unit, serving.Some(g.Min)),
		Max: wireValue(g.Unit, serving.Some(g.Max)), Last: wireValue(g.Unit, serving.Some(g.Last)),
	}
	if len(g.By) > 0 {
		w.By = wireBy(g.By)
	}
	return w
}

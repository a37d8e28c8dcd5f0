package render

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// JSON writes a report as vreport.report/v1. The same report gives the same
// bytes. Characters that mean something in HTML are escaped in every string, so
// that the text can stand in a script element as it is; Options.Indent lays it
// out for people.
//
// A number that is not finite is left out: JSON has none, and it is no
// measurement.
func (p *Printer) JSON(w io.Writer) error {
	raw, err := p.data()
	if err != nil {
		return err
	}
	if p.opt.Indent {
		var lines bytes.Buffer
		if err := json.Indent(&lines, raw, "", "  "); err != nil {
			return err
		}
		raw = lines.Bytes()
	}
	if _, err := w.Write(raw); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

func newWireReport(rep *analyze.Report, opt Options) *wireReport {
	out := &wireReport{wireReportHead: wireReportHead{
		Schema:    reportSchema,
		Generator: wireGenerator{Name: "vreport", Version: opt.Version},
		Title:     rep.Title,
		Command:   opt.Command,
		Gate:      newWireGate(rep.Gate),
	}}
	for _, res := range rep.Results {
		out.add(res.Value)
		name := ""
		if res.Section != nil {
			name = res.Section.Name
		}
		if res.Value == nil && res.Skipped != "" {
			out.Skipped = append(out.Skipped, wireSkipped{name, res.Skipped})
		}
		if len(res.Notes) > 0 {
			out.Notes = append(out.Notes, wireNotes{name, res.Notes})
		}
	}
	return out
}

// add puts a section's value into its place. Section "latency" has none of its
// own: its distributions stand with their runs and slices.
func (r *wireReport) add(value any) {
	switch v := value.(type) {
	case *analyze.Summary:
		r.Summary = newWireSummary(v)
	case *analyze.Inputs:
		r.Inputs = mapTo(v.Inputs, newWireInput)
	case *analyze.Runs:
		r.Runs = mapTo(v.Runs, newWireRun)
	case *analyze.Slices:
		r.Datasets = mapTo(v.Datasets, newWireDataset)
		r.Slices = newWireSlices(v)
	case *analyze.Sweeps:
		r.Sweeps = newWireSweeps(v)
		for _, g := range v.Grids {
			r.Grids = append(r.Grids, newWireGrid(g))
		}
	case *analyze.Ceilings:
		r.Ceilings = mapTo(v.Ceilings, newWireCeiling)
	case *analyze.AdviceList:
		r.Advice = mapTo(v.Advice, newWireAdvice)
	case *analyze.Diagnoses:
		all := mapTo(v.Diagnoses, newWireDiagnosis)
		if len(all) > 0 {
			r.Diagnosis, r.MoreDiagnoses = &all[0], all[1:]
		}
	case *analyze.Incidents:
		all := mapTo(v.Incidents, newWireIncident)
		if len(all) > 0 {
			r.Incident, r.MoreIncidents = &all[0], all[1:]
		}
	case *analyze.Cost:
		r.Cost = newWireCost(v)
	case *analyze.Servers:
		r.Servers = mapTo(v.Servers, newWireServer)
	case *analyze.Timelines:
		all := mapTo(v.Timelines, newWireTimeline)
		if len(all) > 0 {
			r.Timeline, r.MoreTimelines = &all[0], all[1:]
		}
	case *analyze.Comparison:
		r.Compare = newWireCompare(v)
		r.Experiment = newWireExperiment(v.Experiment)
	case *analyze.QualityFindings:
		r.Quality = mapTo(v.Findings, newWireFinding)
	}
}

// mapTo converts a list; the result is never nil, because an absent list would
// say that nobody looked.
func mapTo[T, W any](list []T, f func(T) W) []W {
	out := make([]W, 0, len(list))
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}

func newWireGate(g analyze.Gate) wireGate {
	w := wireGate{Result: string(g.Result), Reasons: g.Reasons}
	if w.Result == "" {
		w.Result = string(analyze.GateNone)
	}
	if w.Reasons == nil {
		w.Reasons = []string{}
	}
	return w
}

func newWireSummary(s *analyze.Summary) *wireSummary {
	w := &wireSummary{Tone: s.Tone, Badge: s.Badge, Title: s.Title, Points: s.Points}
	if w.Points == nil {
		w.Points = []string{}
	}
	for _, c := range s.Cards {
		w.Cards = append(w.Cards, wireCard{
			Label: c.Label, Metric: c.Metric, Unit: wireUnit(c.Unit), Value: wireValue(c.Unit, c.Value), Before: wireValue(c.Unit, c.Before),
			N: c.N.Ptr(), Sub: c.Sub, SLO: c.SLO, Tone: c.Tone,
		})
	}
	for _, c := range s.Chips {
		w.Chips = append(w.Chips, wireChip(c))
	}
	return w
}

func newWireFinding(f analyze.Finding) wireFinding {
	n := (*int64)(nil)
	if f.N.OK {
		n = &f.N.V
	}
	metrics := mapTo(f.Metrics, func(m serving.MetricKey) string { return string(m) })
	return wireFinding{f.ID, f.Subject, wireNumber(f.Value), wireNumber(f.Threshold), n, metrics, f.Message}
}

// wireNumber is a finite number or nothing.
func wireNumber(v serving.Opt[float64]) *float64 {
	if !v.OK || !finite(v.V) {
		return nil
	}
	return &v.V
}

func wireFloat(v float64) *float64 { return wireNumber(serving.Some(v)) }

// wireMillis is seconds as milliseconds, or nothing.
func wireMillis(v serving.Opt[float64]) *float64 { return wireValue(serving.Seconds, v) }

// wireValue is a value in the unit that wireUnit names.
func wireValue(u serving.Unit, v serving.Opt[float64]) *float64 {
	if v.OK && u == serving.Seconds {
		v.V = toMillis(v.V)
	}
	return wireNumber(v)
}

// wireUnit names the unit of a value in the JSON.
func wireUnit(u serving.Unit) string {
	switch u {
	case serving.Seconds:
		return "ms"
	case serving.Tokens:
		return "tokens"
	case serving.RequestsUnit:
		return "requests"
	case serving.PerSecond:
		return "per_s"
	case serving.Share:
		return "share"
	case serving.Bytes:
		return "bytes"
	}
	return "none"
}

func wireSide(s serving.Side) string {
	if s == "" {
		return string(serving.UnknownSide)
	}
	return string(s)
}

// wireBy is a slice's dimensions as an object; empty for all.
func wireBy(by []serving.Term) map[string]string {
	m := make(map[string]string, len(by))
	for _, t := range by {
		m[t.Dim] = t.Value
	}
	return m
}

// wireSettings keeps the first of equal keys, as serving.Run.Setting does.
func wireSettings(list []serving.Setting) map[string]string {
	m := make(map[string]string, len(list))
	for _, s := range list {
		if _, ok := m[s.Key]; !ok {
			m[s.Key] = s.Value
		}
	}
	return m
}

// wireTime is an instant, or an offset on an axis that has no date.
func wireTime(ns int64, relative bool) string {
	if relative {
		s := strconv.FormatFloat(float64(ns)/1e9, 'f', -1, 64)
		if ns >= 0 {
			s = "+" + s
		}
		return s + "s"
	}
	return FormatInstant(ns)
}

// wireSeriesValue rounds a value that is drawn, not read, to six significant
// digits, but never a whole number: a page carries some thousands of them.
func wireSeriesValue(u serving.Unit, v float64) *float64 {
	p := wireValue(u, serving.Some(v))
	if p == nil || *p == math.Trunc(*p) {
		return p
	}
	scale := math.Pow10(min(max(significant(math.Abs(*p), 6), 0), 300))
	if r := math.Round(*p*scale) / scale; finite(r) {
		*p = round15(r)
	}
	return p
}

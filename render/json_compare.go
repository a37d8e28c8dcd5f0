package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// wireCompare is a comparison. Ratios are after / before; of a share of requests
// the difference stands in their place, and says so.
type wireCompare struct {
	Verdict    string             `json:"verdict"`
	Title      string             `json:"title"`
	Points     []string           `json:"points"`
	Cautions   []string           `json:"cautions"`
	Cause      string             `json:"cause,omitempty"`
	Sides      []wireCompared     `json:"sides"`
	Pairs      []wirePair         `json:"pairs"`
	Unpaired   []wireUnpaired     `json:"unpaired"`
	Repeats    []int              `json:"repeats"`
	Floor      map[string]float64 `json:"floor"`
	Detectable map[string]float64 `json:"smallest_detectable"`
	Changed    []wireChanged      `json:"changed_settings"`
	Same       []wireChanged      `json:"same_settings"`
	NotStated  []wireChanged      `json:"not_stated"`
	Tradeoffs  []string           `json:"tradeoffs"`
	Rows       []wireCompareRow   `json:"rows"`
	Mix        []wireMix          `json:"mix_shift"`
	New        []wireSliceRef     `json:"slices_new"`
	Gone       []wireSliceRef     `json:"slices_gone"`
	TooSmall   []wireSliceRef     `json:"slices_too_small,omitempty"`
	Pressure   []wirePressure     `json:"pressure,omitempty"`
}

type wireCompared struct {
	Name     string `json:"name"`
	Runs     int    `json:"runs"`
	Traces   int    `json:"traces"`
	Servers  int    `json:"servers"`
	Requests int64  `json:"requests"`
	Files    int    `json:"files"`
}

type wirePair struct {
	Label  string   `json:"label"`
	Mode   string   `json:"mode,omitempty"`
	X      *float64 `json:"x,omitempty"`
	XName  string   `json:"x_name,omitempty"`
	Before []string `json:"before"`
	After  []string `json:"after"`
}

type wireUnpaired struct {
	Side  string `json:"side"`
	Label string `json:"label"`
	Why   string `json:"why"`
}

type wireChanged struct {
	Key    string `json:"key"`
	Kind   string `json:"kind"`
	Before string `json:"before"`
	After  string `json:"after"`
}

type wireCompareRow struct {
	Group      string            `json:"group"`
	By         map[string]string `json:"by"`
	Pair       *wireLevel        `json:"pair,omitempty"`
	Metric     string            `json:"metric"`
	Stat       string            `json:"stat,omitempty"`
	Unit       string            `json:"unit"`
	Before     *float64          `json:"before,omitempty"`
	After      *float64          `json:"after,omitempty"`
	Ratio      *float64          `json:"ratio,omitempty"`
	Difference *float64          `json:"difference,omitempty"`
	Interval   []*float64        `json:"interval,omitempty"`
	P          *float64          `json:"p,omitempty"`
	PAdjusted  *float64          `json:"p_adjusted,omitempty"`
	Method     string            `json:"method"`
	Repeats    []int             `json:"repeats"`
	Levels     int               `json:"levels"`
	Threshold  *float64          `json:"threshold"`
	Floor      *float64          `json:"floor,omitempty"`
	Detectable *float64          `json:"smallest_detectable,omitempty"`
	Assumed    *float64          `json:"assumed_noise,omitempty"`
	Share      *float64          `json:"share"`
	Mix        bool              `json:"mix,omitempty"`
	Verdict    string            `json:"verdict"`
	Why        string            `json:"why,omitempty"`
}

type wireLevel struct {
	Mode string   `json:"mode,omitempty"`
	X    *float64 `json:"x,omitempty"`
	Name string   `json:"label"`
}

type wireMix struct {
	Metric      string      `json:"metric"`
	Stat        string      `json:"stat"`
	Unit        string      `json:"unit"`
	Before      *float64    `json:"before"`
	Total       *float64    `json:"total"`
	Mix         *float64    `json:"mix"`
	Within      *float64    `json:"within"`
	Dims        []string    `json:"dimensions"`
	Moved       []wireMoved `json:"moved"`
	Unsupported *float64    `json:"unsupported"`
	Effective   *float64    `json:"effective_n"`
}

type wireMoved struct {
	By     map[string]string `json:"by"`
	Before *float64          `json:"share_before"`
	After  *float64          `json:"share_after"`
}

type wireSliceRef struct {
	By    map[string]string `json:"by"`
	Sent  int64             `json:"sent"`
	Share *float64          `json:"share"`
}

type wirePressure struct {
	What   string   `json:"what"`
	Unit   string   `json:"unit"`
	Before *float64 `json:"before,omitempty"`
	After  *float64 `json:"after,omitempty"`
	PromQL string   `json:"promql,omitempty"`
}

// Groups of rows.
const (
	rowsHeadline = "headline"
	rowsOther    = "other"
	rowsLevel    = "level"
	rowsSlice    = "slice"
)

func newWireCompare(c *analyze.Comparison) *wireCompare {
	w := &wireCompare{
		Verdict: string(c.Verdict), Title: c.Title, Points: orEmpty(c.Points), Cautions: orEmpty(c.Cautions), Cause: c.Cause,
		Pairs: []wirePair{}, Unpaired: mapTo(c.Unpaired, func(u analyze.Unpaired) wireUnpaired { return wireUnpaired(u) }),
		Changed: mapTo(c.Changed, newWireChanged), Same: mapTo(c.Same, newWireChanged), NotStated: mapTo(c.NotStated, newWireChanged),
		Floor: map[string]float64{}, Detectable: map[string]float64{}, Tradeoffs: orEmpty(c.Tradeoffs), Rows: []wireCompareRow{},
		Mix: mapTo(c.Mix, newWireMix), New: mapTo(c.New, newWireSliceRef), Gone: mapTo(c.Gone, newWireSliceRef),
	}
	for _, s := range c.Sides {
		w.Sides = append(w.Sides, wireCompared{s.Name, s.Runs, s.Traces, s.Servers, s.Requests, len(s.Files)})
		w.Repeats = append(w.Repeats, s.Repeats)
	}
	for _, p := range c.Pairs {
		w.Pairs = append(w.Pairs, wirePair{p.Label, string(p.Mode), wireNumber(p.X), p.XName, orEmpty(p.Labels(0)), orEmpty(p.Labels(1))})
	}
	for _, g := range []struct {
		name string
		rows []*analyze.CompareRow
	}{{rowsHeadline, c.Headline}, {rowsOther, c.Others}, {rowsLevel, c.Levels}, {rowsSlice, c.Slices}} {
		for _, r := range g.rows {
			w.Rows = append(w.Rows, newWireCompareRow(g.name, r))
		}
	}
	for _, r := range c.Headline {
		if v := wireNumber(r.Floor); v != nil {
			w.Floor[r.Figure.String()] = *v
		}
		if v := wireNumber(r.Detectable); v != nil {
			w.Detectable[r.Figure.String()] = *v
		}
	}
	for _, s := range c.TooSmall {
		w.TooSmall = append(w.TooSmall, newWireSliceRef(s))
	}
	for _, p := range c.Pressure {
		w.Pressure = append(w.Pressure, wirePressure{p.What, wireUnit(p.Unit), wireValue(p.Unit, p.Before), wireValue(p.Unit, p.After), p.PromQL})
	}
	return w
}

func newWireChanged(x analyze.Changed) wireChanged {
	return wireChanged{x.Key, string(x.Kind), x.Before, x.After}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func newWireCompareRow(group string, r *analyze.CompareRow) wireCompareRow {
	u := figureUnit(r.Figure)
	w := wireCompareRow{
		Group: group, By: wireBy(r.By), Metric: string(r.Figure.Metric), Stat: r.Figure.Stat, Unit: wireUnit(u),
		Before: wireValue(u, r.Before), After: wireValue(u, r.After), P: wireNumber(r.P), PAdjusted: wireNumber(r.PAdjusted),
		Method: string(r.Method), Repeats: r.Runs[:], Levels: r.Levels, Threshold: wireFloat(r.Threshold), Floor: wireNumber(r.Floor),
		Detectable: wireNumber(r.Detectable), Assumed: wireNumber(r.Assumed), Share: wireFloat(r.Share), Mix: r.Mix, Verdict: string(r.Call), Why: r.Why,
	}
	if r.Figure.IsShare() {
		w.Difference = wireNumber(r.Ratio)
	} else {
		w.Ratio = wireNumber(r.Ratio)
	}
	if r.Lo.OK || r.Hi.OK {
		w.Interval = []*float64{wireNumber(r.Lo), wireNumber(r.Hi)}
	}
	if p := r.Pair; p != nil {
		w.Pair = &wireLevel{string(p.Mode), wireNumber(p.X), p.Label}
	}
	return w
}

// figureUnit is the unit of a compared figure.
func figureUnit(f verdict.Figure) serving.Unit {
	switch {
	case f.IsShare():
		return serving.Share
	case f.Metric == serving.RateRequests, f.Metric == serving.RateOutput, f.Metric == serving.RateTotal:
		return serving.PerSecond
	}
	return unitOf(f.Metric)
}

func newWireMix(m analyze.MixShift) wireMix {
	u := figureUnit(m.Figure)
	value := func(v float64) *float64 { return wireValue(u, serving.Some(v)) }
	w := wireMix{Metric: string(m.Figure.Metric), Stat: m.Figure.Stat, Unit: wireUnit(u), Before: value(m.Before), Total: value(m.Total), Mix: value(m.Mix), Within: value(m.Within),
		Dims: m.Dims, Unsupported: wireFloat(m.Unsupported), Effective: wireFloat(m.Effective), Moved: []wireMoved{}}
	for _, x := range m.Moved {
		w.Moved = append(w.Moved, wireMoved{wireBy(x.By), wireFloat(x.Before), wireFloat(x.After)})
	}
	return w
}

func newWireSliceRef(s analyze.SliceRef) wireSliceRef {
	return wireSliceRef{wireBy(s.By), s.Sent, wireFloat(s.Share)}
}

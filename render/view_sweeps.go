package render

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// sweepsView holds each sweep's frontier, its curves over the load, and the
// table of its levels.
type sweepsView struct{ Sweeps []sweepView }

type sweepView struct {
	ID, Title, Sub string
	Knee           *Fact
	Figures        []*Figure
	Notes          []string
	Held           []Fact
	Differed       *Table
}

func viewSweeps(c *pageContext, value any) (any, error) {
	s, err := valueAs[analyze.Sweeps](value)
	if err != nil {
		return nil, err
	}
	var v sweepsView
	for i, sw := range s.Sweeps {
		one, err := c.sweep(fmt.Sprintf("sweep-%d", i+1), sw)
		if err != nil {
			return nil, err
		}
		v.Sweeps = append(v.Sweeps, one)
	}
	return &v, nil
}

func (c *pageContext) sweep(id string, s *analyze.Sweep) (sweepView, error) {
	v := sweepView{ID: id, Title: s.Label, Notes: s.Notes, Differed: differedTable(id, s.Differed)}
	v.Sub = fmt.Sprintf("%d levels of %s, %s, throughput %s.", len(s.Points), loadName(s.XName), loadMode(s.Mode), perWhat(s.PerGPU))
	if v.Title == "" {
		v.Title = upperFirst(strings.ReplaceAll(id, "-", " "))
	}
	if k := s.Knee; k != nil {
		v.Knee = &Fact{"Knee (" + k.Method + ", confidence " + strings.ReplaceAll(k.Confidence, "_", " ") + ").", k.Text}
	}
	for _, e := range s.HeldEqual {
		v.Held = append(v.Held, Fact(e))
	}
	levels := levelsOf(s)
	table := []Panel{{Table: c.sweepTable(id, s, levels)}}
	slo := c.ttftObjective(s)
	front, err := frontierChart(s, levels, slo)
	if err != nil {
		return v, err
	}
	if front != nil {
		f := Figure{ID: id + "-frontier", Title: "Throughput against latency", Height: "l", Group: id + "-frontier", Tables: table, Legend: signLegend(s),
			Caption: "One point a load level, labelled with it. " + objectivesNote(s)}
		var options []SwitchOption
		for _, k := range frontierKinds {
			if _, ok := front.Variants[k.key]; ok {
				options = append(options, SwitchOption{Key: k.key, Label: k.label})
			}
		}
		f.Switch = newSwitch(f.Group, "Latency axis", options...)
		v.Figures = append(v.Figures, c.draw(f, front))
		table = nil
	}
	curves, panels, err := loadChart(s, levels, slo)
	if err != nil {
		return v, err
	}
	if curves != nil {
		if table == nil {
			table = []Panel{{Table: loadTable(id, s, levels, slo)}}
		}
		f := Figure{ID: id + "-load", Title: "Throughput and latency over the load", Height: fmt.Sprintf("load%d", panels), Tables: table,
			Caption: "All panels share the load axis. Where throughput flattens while TTFT climbs, only the queue grows."}
		v.Figures = append(v.Figures, c.draw(f, curves))
	}
	return v, nil
}

func loadName(x string) string {
	switch x {
	case "max_concurrency":
		return "concurrency"
	case "request_rate":
		return "request rate"
	}
	return x
}

func loadUnit(x string) string {
	switch x {
	case "max_concurrency":
		return "concurrent requests"
	case "request_rate":
		return "requests/s offered"
	}
	return x
}

func perWhat(perGPU bool) string {
	if perGPU {
		return "per GPU"
	}
	return "per server"
}

// A level is a point of a sweep with its words.
type level struct {
	*analyze.SweepPoint
	name string // 64, 10/s, unlimited
	miss bool   // an objective is missed
}

func levelsOf(s *analyze.Sweep) []level {
	var out []level
	for i := range s.Points {
		p := &s.Points[i]
		l := level{SweepPoint: p, name: FormatNumber(p.X), miss: p.MeetsSLO.OK && !p.MeetsSLO.V}
		switch {
		case p.XUnlimited:
			l.name = "unlimited"
		case s.XName == "request_rate":
			l.name += "/s"
		}
		out = append(out, l)
	}
	return out
}

func (l level) run() *analyze.RunStats { return l.Runs[0] }

// quantile is a quantile of the level's first run.
func (l level) quantile(k serving.MetricKey, p float64) serving.Opt[float64] {
	if d := l.run().Dists.Of(k); d != nil {
		if q, ok := d.Q(p); ok {
			return q.Value
		}
	}
	return serving.None[float64]()
}

// An objective is the limit a curve is drawn against.
type objective struct {
	p     float64
	limit serving.Opt[float64] // seconds
	expr  string
}

// ttftObjective is the percentile of TTFT that the sweep is judged by: that of
// the user's objective, else p99 without a limit.
func (c *pageContext) ttftObjective(s *analyze.Sweep) objective {
	for _, l := range c.limits(serving.TTFT) {
		if l.Mean {
			continue
		}
		if slices.ContainsFunc(levelsOf(s), func(v level) bool { return v.quantile(serving.TTFT, l.P).OK }) {
			return objective{l.P, serving.Some(l.Limit), FormatSLO(l)}
		}
	}
	return objective{p: .99}
}

func (o objective) title() string { return "TTFT " + serving.QuantileName(o.p) }

func objectivesNote(s *analyze.Sweep) string {
	if slices.ContainsFunc(s.Points, func(p analyze.SweepPoint) bool { return p.MeetsSLO.OK }) {
		return "Hollow points miss an objective."
	}
	return "No objective is set, so no point is judged: pass --slo to see which levels meet yours."
}

func signLegend(s *analyze.Sweep) *Legend {
	l := &Legend{Label: "Signs", Items: []LegendItem{{Label: "on the frontier", Swatch: "disc"}}}
	if slices.ContainsFunc(s.Points, func(p analyze.SweepPoint) bool { return p.Dominance == "dominated" }) {
		l.Items = append(l.Items, LegendItem{Label: "dominated", Swatch: "disc off"})
	}
	if slices.ContainsFunc(s.Points, func(p analyze.SweepPoint) bool { return p.MeetsSLO.OK && !p.MeetsSLO.V }) {
		l.Items = append(l.Items, LegendItem{Label: "misses an objective", Swatch: "ring"})
	}
	if s.Knee != nil && s.Knee.X.OK {
		l.Items = append(l.Items, LegendItem{Label: "knee", Swatch: "diamond"})
	}
	return l
}

// kneeLevel is the level next to the knee: by users in flight where the knee is
// counted in them, by the load itself in an open loop. -1 without a knee.
func kneeLevel(s *analyze.Sweep, levels []level) int {
	if s.Knee == nil || !s.Knee.X.OK || s.Knee.X.V <= 0 {
		return -1
	}
	best, dist := -1, math.Inf(1)
	for i, l := range levels {
		at := l.X
		if s.Mode != serving.OpenLoop && l.Users.OK {
			at = l.Users.V
		}
		if at <= 0 {
			continue
		}
		if d := math.Abs(math.Log(at / s.Knee.X.V)); d < dist {
			best, dist = i, d
		}
	}
	return best
}

func (c *pageContext) sweepTable(id string, s *analyze.Sweep, levels []level) *Table {
	out := "output"
	if s.PerGPU {
		out = "output per GPU"
	}
	t := &Table{ID: id + "-levels", Caption: "Load levels, medians over repeats; percentiles of the first run", Sortable: true, Dense: true,
		Head: []Head{col("Load"), col("Run"), numCol("sent", "", ""), numCol("completed", "", ""), numCol("failed", "", ""), numCol("users", "in flight", ""), numCol(out, "tok/s", "tok/s"), numCol("per user", "tok/s", "tok/s"),
			metricCol("TTFT p50", serving.Seconds), metricCol("TTFT p99", serving.Seconds), metricCol("TPOT p50", serving.Seconds), metricCol("TPOT p99", serving.Seconds), metricCol("E2E p50", serving.Seconds),
			numCol("Goodput", "req/s", "req/s"), col("Frontier"), col("Objectives")}}
	knee := kneeLevel(s, levels)
	for i, l := range levels {
		r := l.run()
		head := Cell{Text: l.name, Raw: RawValue(serving.NoUnit, serving.Some(l.X))}
		if i == knee {
			head.Sub = "knee"
		}
		name := text(r.Run.Label)
		if n := len(l.Runs); n > 1 {
			name.Sub = FormatCount(int64(n)) + " repeats"
		}
		d := c.doubtsOf(r.Run.ID)
		t.Rows = append(t.Rows, Row{Cells: []Cell{d.whole(head), name, countCell(r.Counts.Sent), countCell(r.Counts.Completed), failedCell(r.Counts.Failed), rateCell(l.Users), rateCell(l.OutputPerS), rateCell(l.PerUser),
			distCell(r.Dists, serving.TTFT, .5), d.metric(serving.TTFT, valueCell(serving.Seconds, l.TTFT99)), valueCell(serving.Seconds, l.TPOT50), d.metric(serving.TPOT, distCell(r.Dists, serving.TPOT, .99)), d.metric(serving.E2E, valueCell(serving.Seconds, l.E2E50)),
			rateCell(l.Goodput), dominanceCell(l.Dominance), meetsCell(l.MeetsSLO)}})
	}
	return t.dropEmpty("sent", "completed", "failed").collectKeys()
}

func dominanceCell(d string) Cell {
	switch d {
	case "frontier":
		return Cell{Text: d, Pill: "good"}
	case "tied":
		return Cell{Text: "tied", Pill: "neutral"}
	case "":
		return faint(Missing)
	}
	return faint(d)
}

func meetsCell(m serving.Opt[bool]) Cell {
	switch {
	case !m.OK:
		return faint(Missing)
	case m.V:
		return Cell{Text: "met", Pill: "good"}
	}
	return Cell{Text: "missed", Pill: "bad"}
}

// loadTable is the data of the curves over the load.
func loadTable(id string, s *analyze.Sweep, levels []level, o objective) *Table {
	t := &Table{ID: id + "-load-t", Caption: "The curves' data", Sortable: true, Head: []Head{{Label: "Load", Unit: loadUnit(s.XName)}}}
	panels := loadPanels(s, levels, o)
	for _, p := range panels {
		t.Head = append(t.Head, numCol(p.title, p.unit, p.raw))
	}
	for i, l := range levels {
		row := Row{Cells: []Cell{{Text: l.name, Raw: RawValue(serving.NoUnit, serving.Some(l.X))}}}
		for _, p := range panels {
			v := p.values[i]
			row.Cells = append(row.Cells, number(p.show(v), RawValue(p.of, v)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func differedTable(id string, ds []analyze.Differed) *Table {
	if len(ds) == 0 {
		return nil
	}
	t := &Table{ID: id + "-differed", Caption: "More than the load changed: a difference between levels may be due to these", Head: []Head{col("Setting"), col("Values")}}
	for _, d := range ds {
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: d.Key, Code: true}, wrapped(strings.Join(d.Values, " · "))}})
	}
	return t
}

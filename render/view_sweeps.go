package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// sweepsView holds sweeps on one chart, and each sweep's frontier, its curves
// over the load, the named points and regions, and the table of its levels.
type sweepsView struct {
	Overlays []overlayView
	Sweeps   []sweepView
	Grids    []gridView
}

type sweepView struct {
	ID, Title, Sub, Trade string
	Figures               []*Figure
	Named, Regions        *Table
	Slices                *sliceView
	Notes                 []string
	Held                  []Fact
	Differed              *Table
}

type overlayView struct {
	Text   string
	Figure *Figure
}

// sliceView is the curves of the slices of a sweep's requests.
type sliceView struct {
	Figures []*Figure
	Tables  []*Table
}

type gridView struct {
	Title, Text string
	Table       *Table
}

func viewSweeps(c *pageContext, value any) (any, error) {
	s, err := valueAs[analyze.Sweeps](value)
	if err != nil {
		return nil, err
	}
	var v sweepsView
	for i, o := range s.Overlays {
		one, err := c.overlay(fmt.Sprintf("overlay-%d", i+1), o, s.Sweeps)
		if err != nil {
			return nil, err
		}
		if one.Figure != nil {
			v.Overlays = append(v.Overlays, one)
		}
	}
	for i, sw := range s.Sweeps {
		one, err := c.sweep(fmt.Sprintf("sweep-%d", i+1), sw)
		if err != nil {
			return nil, err
		}
		v.Sweeps = append(v.Sweeps, one)
	}
	for i, g := range s.Grids {
		v.Grids = append(v.Grids, newGridView(fmt.Sprintf("grid-%d", i+1), g))
	}
	return &v, nil
}

func (c *pageContext) sweep(id string, s *analyze.Sweep) (sweepView, error) {
	v := sweepView{ID: id, Title: s.Label, Notes: s.Notes, Trade: s.Trade, Named: namedTable(id, s), Regions: regionTable(id, s), Differed: differedTable(id, s.Differed)}
	v.Sub = fmt.Sprintf("%d levels of %s, %s, throughput %s.", len(s.Points), loadName(s.XName), loadMode(s.Mode), perWhat(s.PerGPU))
	if v.Title == "" {
		v.Title = upperFirst(strings.ReplaceAll(id, "-", " "))
	}
	for _, e := range s.HeldEqual {
		v.Held = append(v.Held, Fact(e))
	}
	levels := levelsOf(s)
	table := []Panel{{Table: c.sweepTable(id, s, levels)}}
	front, options, err := c.frontierChart([]sweepCurve{{s, levels, s.Label}})
	if err != nil {
		return v, err
	}
	if front != nil {
		f := Figure{ID: id + "-frontier", Title: "Throughput against latency", Height: "l", Group: id + "-frontier", Tables: table, Legend: signLegend(s),
			Caption: "One point a load level, labelled with it. " + userAxisNote(s) + objectivesNote(s)}
		f.Switch = newSwitch(f.Group, "Latency axis", options...)
		v.Figures = append(v.Figures, c.draw(f, front))
		table = nil
	}
	curves, panels, err := c.loadChart(s, levels)
	if err != nil {
		return v, err
	}
	if curves != nil {
		tables := append(table, Panel{Table: c.loadTable(id, s, levels)})
		caption := "All panels share the load axis. Where throughput and TPOT flatten while TTFT climbs, only the queue grows."
		if len(limited(levels)) < len(levels) {
			caption += " The run without a limit on its rate has no place on it."
		}
		f := Figure{ID: id + "-load", Title: "Throughput and latency over the load", Height: fmt.Sprintf("load%d", panels), Tables: tables, Legend: regionLegend(s),
			Caption: caption}
		v.Figures = append(v.Figures, c.draw(f, curves))
	} else if table != nil {
		// Nothing to draw: the levels stand alone.
		v.Figures = append(v.Figures, &Figure{ID: id + "-levels", Title: "Load levels", Tables: table})
	}
	if len(s.Slices) > 0 {
		if v.Slices, err = c.sliceCurves(id, s); err != nil {
			return v, err
		}
	}
	return v, nil
}

// overlay puts sweeps of one load axis on one chart.
func (c *pageContext) overlay(id string, o analyze.Overlay, all []*analyze.Sweep) (overlayView, error) {
	var curves []sweepCurve
	legend := &Legend{Charts: id, Label: "Sweeps"}
	t := &Table{ID: id + "-t", Caption: "The sweeps side by side", Sortable: true, Head: []Head{col("Sweep"), numCol("levels", "", ""), numCol("highest output", "tok/s", "tok/s"), numCol("N*", "users", ""), numCol("SLO capacity", "", ""), numCol("fastest user", "tok/s", "tok/s")}}
	for k, i := range o.Sweeps {
		s := all[i]
		curves = append(curves, sweepCurve{s, levelsOf(s), s.Label})
		legend.Items = append(legend.Items, LegendItem{Series: seriesName(k), Label: s.Label, Swatch: swatch(look(s.Half, k)), On: true})
		t.Rows = append(t.Rows, overlayRow(s))
	}
	ch, options, err := c.frontierChart(curves)
	if err != nil || ch == nil {
		return overlayView{}, err
	}
	f := Figure{ID: id, Title: fmt.Sprintf("%d sweeps on one chart", len(curves)), Height: "l", Group: id, Legend: legend, Tables: []Panel{{Table: t.dropEmpty()}},
		Caption: "One line a sweep, one point a load level; grey points are beaten within their own sweep, hollow ones miss an objective. " + userAxisNote(curves[0].sweep)}
	f.Switch = newSwitch(id, "Latency axis", options...)
	v := overlayView{Figure: c.draw(f, ch)}
	if curves[0].sweep.Half != analyze.NoHalf {
		v.Figure.Caption += "One colour a side, dashed with triangles for the second. "
	}
	if len(o.Differ) > 0 {
		v.Text = "What differs between them: " + strings.Join(o.Differ, "; ") + "."
	} else {
		v.Text = "The files name no setting that differs between them: they lie in different directories, and what was changed is not recorded."
	}
	return v, nil
}

func overlayRow(s *analyze.Sweep) Row {
	var top, fast serving.Opt[float64]
	for _, p := range s.Points {
		if p.OutputPerS.OK && (!top.OK || p.OutputPerS.V > top.V) {
			top = p.OutputPerS
		}
		if p.PerUser.OK && (!fast.OK || p.PerUser.V > fast.V) {
			fast = p.PerUser
		}
	}
	var knee serving.Opt[float64]
	if k := s.Knee("saturation"); k != nil && s.Mode != serving.OpenLoop {
		knee = k.X
	}
	capacity := number(Missing, "")
	if c := s.Capacity; c != nil {
		capacity = number(bracket(c), RawValue(serving.NoUnit, c.Pass))
	}
	return Row{Cells: []Cell{text(s.Label), number(fmt.Sprint(len(s.Points)), fmt.Sprint(len(s.Points))), rateCell(top), rateCell(knee), capacity, rateCell(fast)}}
}

// sliceCurves draws the slices of a sweep, those of each dimension on a chart of
// their own.
func (c *pageContext) sliceCurves(id string, s *analyze.Sweep) (*sliceView, error) {
	v := &sliceView{}
	var dims []string
	for _, x := range s.Slices {
		if d := x.By[0].Dim; !slices.Contains(dims, d) {
			dims = append(dims, d)
		}
	}
	for n, d := range dims {
		fid := fmt.Sprintf("%s-slices-%d", id, n+1)
		legend := &Legend{Charts: fid, Label: "Slices"}
		var curves []sweepCurve
		t := &Table{ID: fid + "-t", Caption: "Levels by " + d, Sortable: true, Dense: true, Head: []Head{col("Slice"), numCol("Load", "", ""), numCol("users", "in flight", ""), numCol("output", "tok/s", "tok/s"), numCol("per user", "tok/s", "tok/s"),
			metricCol("TTFT p99", serving.Seconds), metricCol("TPOT p50", serving.Seconds), metricCol("E2E p50", serving.Seconds), numCol("Goodput", "req/s", "req/s"), col("Frontier"), col("Objectives")}}
		for _, x := range s.Slices {
			if x.By[0].Dim != d {
				continue
			}
			levels := levelsOf(x)
			legend.Items = append(legend.Items, LegendItem{Series: seriesName(len(curves)), Label: x.By[0].Value, Swatch: swatch(len(curves)), On: true})
			curves = append(curves, sweepCurve{x, levels, x.Label})
			for _, l := range levels {
				t.Rows = append(t.Rows, Row{Cells: []Cell{text(x.By[0].Value), number(l.name, RawValue(serving.NoUnit, serving.Some(l.X))), rateCell(l.Users), rateCell(l.OutputPerS), rateCell(l.PerUser),
					valueCell(serving.Seconds, l.TTFT99), valueCell(serving.Seconds, l.TPOT50), valueCell(serving.Seconds, l.E2E50), rateCell(l.Goodput), dominanceCell(l), meetsCell(l)}})
			}
		}
		ch, options, err := c.frontierChart(curves)
		if err != nil {
			return nil, err
		}
		t = t.dropEmpty()
		if ch == nil {
			v.Tables = append(v.Tables, t)
			continue
		}
		f := Figure{ID: fid, Title: "By " + d, Height: "l", Group: fid, Legend: legend, Tables: []Panel{{Table: t}},
			Caption: "Each slice's own tokens/s and frontier, from its requests at each level; a frontier never mixes slices."}
		f.Switch = newSwitch(fid, "Latency axis", options...)
		v.Figures = append(v.Figures, c.draw(f, ch))
	}
	return v, nil
}

// newGridView shows combinations of two settings as what they are.
func newGridView(id string, g *analyze.Grid) gridView {
	v := gridView{Title: g.YName + " × " + g.XName, Text: "Requests/s of the fastest run at each combination"}
	if g.Label != "" {
		v.Title = g.Label + ": " + v.Title
	}
	if g.Limit != "" {
		v.Text += ", of those that keep a P99 E2E of " + g.Limit + " ms"
	}
	v.Text += "."
	if g.Best >= 0 {
		b := g.Cells[g.Best]
		v.Text += fmt.Sprintf(" The best is %s %s with %s %s: %s requests/s.", g.YName, g.Y[b.Y], g.XName, g.X[b.X], FormatNumber(b.Rate.V))
	}
	if g.Missing > 0 {
		v.Text += fmt.Sprintf(" %d of the combinations have no result.", g.Missing)
	}
	t := &Table{ID: id, Caption: g.YName + " down, " + g.XName + " across", Head: []Head{col(g.YName)}}
	for _, x := range g.X {
		t.Head = append(t.Head, numCol(x, g.XName, "req/s"))
	}
	for y := range g.Y {
		row := Row{Cells: []Cell{{Text: g.Y[y]}}}
		for x := range g.X {
			cell := number(Missing, "")
			for i, k := range g.Cells {
				if k.Y != y || k.X != x {
					continue
				}
				cell = rateCell(k.Rate)
				if i == g.Best {
					cell.Pill = "good"
				}
				if k.E2E.OK {
					cell.Sub = "E2E p99 " + FormatValue(serving.Seconds, k.E2E)
				}
			}
			row.Cells = append(row.Cells, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	v.Table = t
	return v
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
	miss bool   // an objective is missed, by the figure itself
}

func levelsOf(s *analyze.Sweep) []level {
	var out []level
	for i := range s.Points {
		p := &s.Points[i]
		l := level{SweepPoint: p, name: FormatNumber(p.X), miss: p.MeetsSLO.OK && !p.MeetsSLO.V || p.Within.OK && !p.Within.V}
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

// quantile is a quantile of the level, the median over its repeats.
func (l level) quantile(k serving.MetricKey, p float64) serving.Opt[float64] {
	return l.Stat(k, serving.QuantileName(p))
}

// An objective is the limit a curve is drawn against.
type objective struct {
	metric serving.MetricKey
	p      float64
	limit  serving.Opt[float64] // seconds
	expr   string
}

// objectiveOn is the percentile of a metric that the sweep is judged by: that of
// the user's objective, else a usual one without a limit.
func (c *pageContext) objectiveOn(s *analyze.Sweep, k serving.MetricKey, usual float64) objective {
	for _, l := range c.limits(k) {
		if l.Mean {
			continue
		}
		if slices.ContainsFunc(levelsOf(s), func(v level) bool { return v.quantile(k, l.P).OK }) {
			return objective{k, l.P, serving.Some(l.Limit), FormatSLO(l)}
		}
	}
	return objective{metric: k, p: usual}
}

func (o objective) title() string {
	m, _ := serving.MetricOf(o.metric)
	return m.Title + " " + serving.QuantileName(o.p)
}

// userAxisNote says what a user is.
func userAxisNote(s *analyze.Sweep) string {
	switch s.Mode {
	case serving.ClosedLoop:
		return "A user is one of the concurrency, where it was reached. "
	case serving.OpenLoop, serving.CappedOpen:
		return "Users are the mean in flight (Little's law). "
	}
	return ""
}

func objectivesNote(s *analyze.Sweep) string {
	if slices.ContainsFunc(s.Points, func(p analyze.SweepPoint) bool { return p.MeetsSLO.OK || p.Within.OK }) {
		return "Hollow points miss an objective."
	}
	return "No objective is set, so no point is judged: pass --slo to see which levels meet yours."
}

func signLegend(s *analyze.Sweep) *Legend {
	l := &Legend{Label: "Signs", Items: []LegendItem{{Label: "on the frontier, or tied with it", Swatch: "disc"}}}
	if slices.ContainsFunc(s.Points, func(p analyze.SweepPoint) bool { return p.Dominance == "dominated" }) {
		l.Items = append(l.Items, LegendItem{Label: "dominated", Swatch: "disc off"})
	}
	if slices.ContainsFunc(levelsOf(s), func(l level) bool { return l.miss }) {
		l.Items = append(l.Items, LegendItem{Label: "misses an objective", Swatch: "ring"})
	}
	if len(namedPoints(s)) > 0 {
		l.Items = append(l.Items, LegendItem{Label: "level next to a named point", Swatch: "diamond"})
	}
	return l
}

func regionLegend(s *analyze.Sweep) *Legend {
	if len(s.Regions) == 0 {
		return nil
	}
	l := &Legend{Label: "Regions"}
	for _, r := range s.Regions {
		label := map[string]string{analyze.Room: "room in the batch", analyze.Saturating: "saturation", analyze.Queueing: "only the queue grows"}[r.Name]
		if r.StoppedBy != "" && r.StoppedBy != analyze.StoppedByUnknown {
			label += ", stopped by " + stopName(r.StoppedBy)
		}
		l.Items = append(l.Items, LegendItem{Label: label, Swatch: "area " + r.Name})
	}
	return l
}

func (c *pageContext) sweepTable(id string, s *analyze.Sweep, levels []level) *Table {
	out := "output"
	if s.PerGPU {
		out = "output per GPU"
	}
	t := &Table{ID: id + "-levels", Caption: "Load levels: medians over repeats", Sortable: true, Dense: true,
		Head: []Head{col("Load"), col("Run"), numCol("sent", "", ""), numCol("completed", "", ""), numCol("failed", "", ""), numCol("users", "in flight", ""), numCol("Rate", "req/s", "req/s"), numCol(out, "tok/s", "tok/s"), numCol("per user", "tok/s", "tok/s"),
			metricCol("TTFT p50", serving.Seconds), metricCol("TTFT p99", serving.Seconds), metricCol("TPOT p50", serving.Seconds), metricCol("TPOT p99", serving.Seconds), metricCol("E2E p50", serving.Seconds),
			numCol("Goodput", "req/s", "req/s"), numCol("Good", "of sent", ""), col("Frontier"), col("Objectives")}}
	named := map[int][]string{}
	for _, n := range namedPoints(s) {
		if i := nearestLevel(levels, n.x); i >= 0 && n.short != "" {
			named[i] = append(named[i], n.short)
		}
	}
	for i, l := range levels {
		r := l.run()
		head := Cell{Text: l.name, Raw: RawValue(serving.NoUnit, serving.Some(l.X)), Sub: strings.Join(named[i], ", ")}
		if !l.Reached {
			head.Sub = strings.TrimPrefix(head.Sub+", not reached", ", ")
		}
		name := text(r.Run.Label)
		if n := len(l.Runs); n > 1 {
			name.Sub = FormatCount(int64(n)) + " repeats"
		}
		d := c.doubtsOf(r.Run.ID)
		t.Rows = append(t.Rows, Row{Cells: []Cell{d.whole(head), name, countCell(r.Counts.Sent), countCell(r.Counts.Completed), failedCell(r.Counts.Failed), rateCell(l.Users), rateCell(l.Rate), rateCell(l.OutputPerS), rateCell(l.PerUser),
			valueCell(serving.Seconds, l.quantile(serving.TTFT, .5)), d.metric(serving.TTFT, valueCell(serving.Seconds, l.TTFT99)), valueCell(serving.Seconds, l.TPOT50), d.metric(serving.TPOT, valueCell(serving.Seconds, l.quantile(serving.TPOT, .99))), d.metric(serving.E2E, valueCell(serving.Seconds, l.E2E50)),
			rateCell(l.Goodput), attainedCell(l), dominanceCell(l), meetsCell(l)}})
	}
	return t.dropEmpty("sent", "completed", "failed").collectKeys()
}

// attainedCell is the share of sent requests that were good, with its interval.
func attainedCell(l level) Cell {
	if l.Attainment == nil {
		return number(Missing, "")
	}
	g := l.Attainment
	c := number(FormatShareOpt(g.Share), RawValue(serving.Share, g.Share))
	c.Lo, c.Hi = RawValue(serving.Share, g.Lo), RawValue(serving.Share, g.Hi)
	if s := FormatInterval(serving.Share, g.Lo, g.Hi); s != Missing {
		c.Sub = s
	}
	return c
}

// frontier writes a level's place on the default frontier, with how often it is
// on it when the sweep is drawn anew.
func (l level) frontier() string {
	if l.Dominance == "" {
		return Missing
	}
	if l.Share.OK {
		return fmt.Sprintf("%s, in %s of resamples", l.Dominance, FormatShare(l.Share.V))
	}
	return l.Dominance
}

func dominanceCell(l level) Cell {
	c := faint(orMissing(l.Dominance))
	switch l.Dominance {
	case "frontier":
		c = Cell{Text: l.Dominance, Pill: "good"}
	case "tied":
		c = Cell{Text: "tied", Pill: "neutral"}
	}
	if l.Share.OK {
		c.Sub = FormatShare(l.Share.V) + " of resamples"
	}
	return c
}

// verdict says whether a level meets the objectives: by the intervals, or by the
// figures where those do not decide.
func (l level) verdict() string {
	switch {
	case l.MeetsSLO.OK && l.MeetsSLO.V:
		return "met"
	case l.MeetsSLO.OK:
		return "missed"
	case l.Within.OK && l.Within.V:
		return "met, undecided"
	case l.Within.OK:
		return "missed, undecided"
	}
	return Missing
}

func meetsCell(l level) Cell {
	v := l.verdict()
	switch v {
	case "met":
		return Cell{Text: v, Pill: "good"}
	case "missed":
		return Cell{Text: v, Pill: "bad"}
	case Missing:
		return faint(v)
	}
	return Cell{Text: v, Pill: "warn"}
}

// loadTable is the data of the curves over the load.
func (c *pageContext) loadTable(id string, s *analyze.Sweep, levels []level) *Table {
	t := &Table{ID: id + "-load-t", Caption: "The curves' data", Sortable: true, Head: []Head{{Label: "Load", Unit: loadUnit(s.XName)}}}
	panels := c.loadPanels(s, levels)
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
	t := &Table{ID: id + "-differed", Caption: "What changed beside the load", Head: []Head{col("Setting"), col("Values"), col("Matters")}}
	for _, d := range ds {
		matters := text("a difference between levels may be due to it")
		if d.Incidental {
			matters = faint("changes from run to run")
		}
		values := d.Values
		const most = 12
		if len(values) > most {
			values = append(slices.Clone(values[:most]), fmt.Sprintf("and %d more", len(values)-most))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: d.Key, Code: true}, wrapped(strings.Join(values, " · ")), matters}})
	}
	return t
}

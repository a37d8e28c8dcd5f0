package render

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// A view file turns one section's value into strings and a few chart options;
// the section's template only places them. The types in this file are what
// templates/partials.gohtml lays out.

// A Table is a table of text. Cells carry the raw number beside the text, for
// sorting and for CSV.
type Table struct {
	ID       string
	Caption  string
	Sortable bool
	Dense    bool        `json:",omitempty"` // many columns
	Groups   []HeadGroup `json:",omitempty"`
	Head     []Head
	Rows     []Row
	Keys     []Key `json:",omitempty"` // explains the marks that occur
}

// A HeadGroup is a heading over several columns.
type HeadGroup struct {
	Label string
	Span  int
}

// A Head is a column heading. Unit is shown; Raw is the unit of the cells' raw
// numbers, for CSV.
type Head struct{ Label, Unit, Class, Raw string }

// A Row is a table row; its first cell is its heading.
type Row struct {
	ID    string `json:",omitempty"`
	Class string `json:",omitempty"`
	Cells []Cell
}

// A Cell is a table cell.
type Cell struct {
	Text     string
	Sub      string `json:",omitempty"` // second line: an interval, a definition
	Class    string `json:",omitempty"`
	Raw      string `json:",omitempty"` // the number for sorting and CSV
	Lo, Hi   string `json:",omitempty"` // ends of its interval
	Mark     string `json:",omitempty"` // how far it can be trusted
	MarkText string `json:",omitempty"`
	Pill     string `json:",omitempty"` // good, bad, warn or neutral
	Link     string `json:",omitempty"` // an id in the page
	Code     bool   `json:",omitempty"`
	Doubt    *Doubt `json:",omitempty"` // findings about it
}

// A Key explains a mark.
type Key struct{ Mark, Text string }

// A Fact is a name with a value.
type Fact struct{ Key, Value string }

// Warnings is a list of doubts with a title.
type Warnings struct {
	Title string
	Items []string
}

// A Panel is a table that a switch shows and hides; without a key it always
// shows.
type Panel struct {
	Group, Key, Title string
	Table             *Table
}

// A Figure is a chart with its caption and the table of its data.
type Figure struct {
	ID, Title, Caption string
	Height             string // a size class of the style sheet
	Group              string // the switch it follows
	Drawn              bool   // the page has a chart library
	Switch             *Switch
	Legend             *Legend
	Tables             []Panel
}

// A Switch chooses among variants of charts and panels.
type Switch struct {
	Group, Label string
	Options      []SwitchOption
}

// A SwitchOption is one choice.
type SwitchOption struct {
	Key, Label string
	On         bool
}

// A Legend names a chart's series. An item with a series turns it on and off in
// all charts of the list.
type Legend struct {
	Charts, Label string
	Items         []LegendItem
}

// A LegendItem is one series, or the meaning of a sign where Series is empty.
type LegendItem struct {
	Series, Label, Swatch string
	On                    bool
}

// newSwitch returns a switch with the first option on, or nil where there is
// nothing to choose.
func newSwitch(group, label string, options ...SwitchOption) *Switch {
	if len(options) < 2 {
		return nil
	}
	options[0].On = true
	return &Switch{Group: group, Label: label, Options: options}
}

// Cells

func text(s string) Cell { return Cell{Text: s} }

func faint(s string) Cell { return Cell{Text: s, Class: "faint"} }

func wrapped(s string) Cell { return Cell{Text: s, Class: "prose"} }

func code(s string) Cell { return Cell{Text: s, Class: "prose", Code: true} }

// number is a right-aligned cell with its raw value; a missing value is faint.
func number(shown, raw string) Cell {
	c := Cell{Text: shown, Class: "num", Raw: raw}
	if shown == Missing {
		c.Class = "num faint"
	}
	return c
}

func valueCell(u serving.Unit, v serving.Opt[float64]) Cell {
	return number(FormatValue(u, v), RawValue(u, v))
}

func countCell(n serving.Opt[int64]) Cell {
	if !n.OK {
		return number(Missing, "")
	}
	return number(FormatCount(n.V), fmt.Sprint(n.V))
}

// rateCell is a rate under a heading that says of what.
func rateCell(v serving.Opt[float64]) Cell {
	if !v.OK {
		return number(Missing, "")
	}
	return number(FormatNumber(v.V), RawValue(serving.NoUnit, v))
}

// failedCell is a count of failures, which stands out where there are any.
func failedCell(n serving.Opt[int64]) Cell {
	c := countCell(n)
	if n.OK && n.V > 0 {
		c.Class = "num bad"
	}
	return c
}

// quantileCell is a quantile with its interval and its mark.
func quantileCell(d *analyze.Dist, p float64, interval bool) Cell {
	q, ok := d.Q(p)
	if !ok {
		return number(Missing, "")
	}
	u := unitOf(d.Metric)
	c := number(FormatQuantile(u, q), RawValue(u, q.Value))
	c.Lo, c.Hi = RawValue(u, q.Lo), RawValue(u, q.Hi)
	if interval && q.Value.OK {
		if s := FormatInterval(u, q.Lo, q.Hi); s != Missing {
			c.Sub = s
		}
	}
	c.mark(q.Quality)
	return c
}

func (c *Cell) mark(q analyze.Quality) {
	if m := QualityMark(q); m != "" {
		c.Mark, c.MarkText = m, QualityText(q)
	}
}

// goodputCell is the share of sent requests that met every condition.
func goodputCell(g *analyze.Goodput) Cell {
	if g == nil {
		return number(Missing, "")
	}
	c := number(FormatShareOpt(g.Share), RawValue(serving.Share, g.Share))
	c.Lo, c.Hi = RawValue(serving.Share, g.Lo), RawValue(serving.Share, g.Hi)
	switch {
	case g.Good.OK && g.Of.OK:
		c.Sub = FormatCount(g.Good.V) + " of " + FormatCount(g.Of.V)
	case g.PerSecond.OK:
		c.Sub = FormatRate(g.PerSecond.V, "req")
	}
	if g.Origin == analyze.FromFile {
		c.Sub = strings.TrimSpace(c.Sub + " (the file's own conditions)")
	}
	return c
}

// resultCell is an objective's answer as a pill with its attainment.
func resultCell(r analyze.SLOResult) Cell {
	c := Cell{Text: string(r.Result), Pill: gateTone(r.Result), Raw: RawValue(serving.Share, r.Attainment),
		Lo: RawValue(serving.Share, r.Lo), Hi: RawValue(serving.Share, r.Hi)}
	if r.Attainment.OK {
		c.Sub = FormatShare(r.Attainment.V) + " within"
		if s := FormatInterval(serving.Share, r.Lo, r.Hi); s != Missing {
			c.Sub += ", " + s
		}
	} else if r.Reason != "" {
		c.Sub = r.Reason
	}
	return c
}

func gateTone(r analyze.GateResult) string {
	switch r {
	case analyze.GatePass:
		return "good"
	case analyze.GateFail:
		return "bad"
	case analyze.GateUndecided:
		return "warn"
	}
	return "neutral"
}

// Headings

func col(label string) Head { return Head{Label: label} }

func numCol(label, unit, raw string) Head {
	return Head{Label: label, Unit: unit, Class: "num", Raw: raw}
}

// metricCol is a column of one metric's values: its raw numbers are
// milliseconds where the metric is a duration.
func metricCol(label string, u serving.Unit) Head {
	raw := ""
	if u == serving.Seconds {
		raw = "ms"
	}
	return numCol(label, "", raw)
}

// collectKeys explains the marks a table uses, in the order they appear.
func (t *Table) collectKeys() *Table {
	seen := map[string]bool{}
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			if c.Mark != "" && !seen[c.Mark] {
				seen[c.Mark] = true
				t.Keys = append(t.Keys, Key{c.Mark, c.MarkText})
			}
		}
	}
	return t
}

// dropEmpty removes columns without any value: a table of runs that have no
// E2E needs no column of dashes. The first column stays, and so do those named
// in keep.
func (t *Table) dropEmpty(keep ...string) *Table {
	used := make([]bool, len(t.Head))
	for i, h := range t.Head {
		used[i] = i == 0
		for _, k := range keep {
			used[i] = used[i] || h.Label == k
		}
		for _, r := range t.Rows {
			if i < len(r.Cells) && r.Cells[i].Text != Missing && r.Cells[i].Text != "" {
				used[i] = true
			}
		}
	}
	at := 0
	var groups []HeadGroup
	for _, g := range t.Groups {
		n := 0
		for i := at; i < at+g.Span; i++ {
			if used[i] {
				n++
			}
		}
		at += g.Span
		if n > 0 {
			groups = append(groups, HeadGroup{g.Label, n})
		}
	}
	t.Groups = groups
	t.Head = pick(t.Head, used)
	for i := range t.Rows {
		t.Rows[i].Cells = pick(t.Rows[i].Cells, used)
	}
	return t
}

func pick[T any](all []T, used []bool) []T {
	var out []T
	for i, v := range all {
		if used[i] {
			out = append(out, v)
		}
	}
	return out
}

// orMissing is a text, or the sign of a missing value.
func orMissing(s string) string {
	if s == "" {
		return Missing
	}
	return s
}

// ms converts seconds to the milliseconds of charts.
func ms(v float64) float64 { return v * 1000 }

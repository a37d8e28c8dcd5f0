package render

import (
	"fmt"
	"math"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// compareView lays a comparison out: what to know first, the figures that decide,
// what was changed, for whom, and how a change splits into mix and speed.
type compareView struct {
	Cautions *Warnings
	Result   *verdictView
	Asked    *Table
	Forest   *Figure
	Map      *Figure
	Headline *Table
	Others   *Table
	Changed  *Table
	Same     string
	Slices   *Table
	NewGone  *Table
	Mix      *Table
	Levels   *Table
	Pairs    *Table
	Unpaired *Table
	Pressure *Table
}

// maxCompareRows bounds the slices and levels in a table; the JSON has all.
const maxCompareRows = 120

func viewCompare(c *pageContext, value any) (any, error) {
	v, err := valueAs[analyze.Comparison](value)
	if err != nil {
		return nil, err
	}
	names := [2]string{v.Sides[0].Name, v.Sides[1].Name}
	out := &compareView{
		Headline: compareTable("compare-headline", "The figures that decide, over all levels of load", names, v.Headline, nil),
		Others:   compareTable("compare-others", "Further figures over all levels", names, v.Others, nil),
		Slices:   compareTable("compare-slices", "Slice by slice: what changed first, then by effect × share of the requests", names, v.Slices, sliceHeading),
		Levels:   compareTable("compare-levels", "Level by level", names, v.Levels, levelHeading),
		Changed:  changedTable(names, v.Changed), NewGone: newGoneTable(names, v), Mix: mixTable(v.Mix),
		Pairs: pairsTable(names, v.Pairs), Unpaired: unpairedTable(v.Unpaired), Pressure: pressureTable(names, v.Pressure),
	}
	if out.Same = sameText(v); len(v.Changed) == 0 {
		out.Same = unchanged + " " + out.Same
	}
	out.Result, out.Asked = experimentView(v.Experiment)
	if f := newForest(v); f != nil {
		fig, ch, err := f.figure("compare-forest")
		if err != nil {
			return nil, err
		}
		out.Forest = c.draw(fig, ch)
	}
	if m := newDeltaMap(v); m != nil {
		fig, ch, err := m.figure("compare-map")
		if err != nil {
			return nil, err
		}
		out.Map = c.draw(fig, ch)
	}
	if len(v.Cautions) > 0 {
		out.Cautions = &Warnings{"Before you believe it", v.Cautions}
	}
	return out, nil
}

// A rowHeading names what a row is of, beside its figure.
type rowHeading struct {
	label string
	of    func(*analyze.CompareRow) Cell
}

var sliceHeading = &rowHeading{"Slice", func(r *analyze.CompareRow) Cell {
	c := text(byText(r.By))
	for _, a := range r.Also {
		c.Sub = strings.TrimPrefix(c.Sub+", "+byText(a), ", ")
	}
	if c.Sub != "" {
		c.Sub = "the same requests: " + c.Sub
	}
	c.Class = "prose"
	return c
}}

var levelHeading = &rowHeading{"Level", func(r *analyze.CompareRow) Cell { return text(r.Pair.Label) }}

func byText(by []serving.Term) string {
	var parts []string
	for _, t := range by {
		parts = append(parts, strings.ToLower(dimTitle(t.Dim))+" "+t.Value)
	}
	return strings.Join(parts, " · ")
}

func compareTable(id, caption string, names [2]string, rows []*analyze.CompareRow, heading *rowHeading) *Table {
	if len(rows) == 0 {
		return nil
	}
	t := &Table{ID: id, Caption: caption, Sortable: true, Dense: heading != nil}
	if heading != nil {
		t.Head = append(t.Head, col(heading.label))
	}
	t.Head = append(t.Head, col("Figure"), metricCol(names[0], serving.Seconds), metricCol(names[1], serving.Seconds), numCol("Change", "", ""), col("Call"), numCol("p", "adjusted", ""), numCol("Share", "", ""))
	if heading == nil {
		t.Head = append(t.Head, numCol("Detectable", "", ""))
	}
	shown := rows
	if len(rows) > maxCompareRows {
		shown = rows[:maxCompareRows]
		t.Caption += fmt.Sprintf(" (the first %d of %s; the JSON has all)", maxCompareRows, FormatCount(int64(len(rows))))
	}
	for _, r := range shown {
		var cells []Cell
		if heading != nil {
			cells = append(cells, heading.of(r))
		}
		t.Rows = append(t.Rows, Row{Cells: append(cells, compareCells(r, heading)...)})
	}
	return t.dropEmpty()
}

func compareCells(r *analyze.CompareRow, heading *rowHeading) []Cell {
	u := figureUnit(r.Figure)
	cells := []Cell{text(figureName(r.Figure)), valueCell(u, r.Before), valueCell(u, r.After), changeCell(r), explainedCall(r), number(FormatP(r.PAdjusted), RawValue(serving.NoUnit, r.PAdjusted))}
	portion := number(Missing, "")
	if heading == sliceHeading {
		portion = number(FormatShare(r.Share), RawValue(serving.Share, serving.Some(r.Share)))
	}
	if heading != nil {
		return append(cells, portion)
	}
	detect := number(Missing, "")
	if r.Detectable.OK {
		detect = number("± "+FormatShare(r.Detectable.V), RawValue(serving.Share, r.Detectable))
	}
	return append(cells, portion, detect)
}

// figureName is a figure as the tables write it.
func figureName(f verdict.Figure) string {
	switch f.Metric {
	case verdict.FailedShare:
		return "Failed"
	case verdict.GoodShare:
		return "Goodput"
	case serving.RateRequests:
		return "Requests/s"
	case serving.RateOutput:
		return "Output tokens/s"
	}
	m, _ := serving.MetricOf(f.Metric)
	return strings.TrimSpace(m.Title + " " + f.Stat)
}

// changeCell is the change with its interval: of a share the difference in
// percentage points.
func changeCell(r *analyze.CompareRow) Cell {
	if !r.Ratio.OK {
		return number(Missing, "")
	}
	shown := func(v serving.Opt[float64]) string {
		switch {
		case !v.OK:
			return Missing
		case r.Figure.IsShare():
			return FormatPoints(v.V)
		}
		return FormatChange(v.V)
	}
	c := number(shown(r.Ratio), RawValue(serving.NoUnit, r.Ratio))
	c.Lo, c.Hi = RawValue(serving.NoUnit, r.Lo), RawValue(serving.NoUnit, r.Hi)
	if r.Lo.OK || r.Hi.OK {
		c.Sub = shown(r.Lo) + " … " + shown(r.Hi)
	}
	return c
}

// callCell is the call as a pill: words and shape beside the colour.
func callCell(r *analyze.CompareRow) Cell {
	c := Cell{Text: callSign[r.Call] + " " + string(r.Call), Pill: callTone[r.Call]}
	if r.Figure.Better() == serving.HigherIsBetter || r.Figure.IsShare() {
		// "Slower" is of latencies; the rest gets better or worse.
		switch r.Call {
		case verdict.Slower:
			c.Text = callSign[r.Call] + " worse"
		case verdict.Faster:
			c.Text = callSign[r.Call] + " better"
		}
	}
	if r.Mix {
		c.Pill, c.Sub = "neutral", "by mix"
	}
	return c
}

// explainedCall is the call with its reason and how it was tested.
func explainedCall(r *analyze.CompareRow) Cell {
	c := callCell(r)
	why := r.Why
	if r.Mix {
		why = "a change of the mix of requests, not within slices"
	}
	if r.Call == verdict.Undecided && r.Detectable.OK {
		why += " · detectable from ± " + FormatShare(r.Detectable.V)
	}
	c.Sub, c.Class = strings.TrimPrefix(why+" · "+methodText(r), " · "), "prose"
	return c
}

var callSign = map[verdict.Call]string{verdict.Faster: "▼", verdict.Slower: "▲", verdict.Equivalent: "=", verdict.Undecided: "?"}

var callTone = map[verdict.Call]string{verdict.Faster: "good", verdict.Slower: "bad", verdict.Equivalent: "neutral", verdict.Undecided: "warn"}

func methodText(r *analyze.CompareRow) string {
	repeats := fmt.Sprintf("%d against %d runs", r.Runs[0], r.Runs[1])
	switch r.Method {
	case verdict.ByRanks:
		return "U test, " + repeats
	case verdict.ByWelch:
		return "Welch on logarithms, " + repeats
	case verdict.ByModerated:
		return "Welch, noise shared by the slices, " + repeats
	case verdict.BySigns:
		return fmt.Sprintf("signs of %d levels", r.Levels)
	case verdict.ByBootstrap:
		return "noise within one run (block bootstrap)"
	case verdict.ByInterval:
		return "noise within one run (intervals)"
	case verdict.ByCounts:
		return "counts of requests"
	case verdict.ByBuckets:
		return "histogram buckets"
	case verdict.SameFiles:
		return "the same files"
	case verdict.NotCompared:
		return "not compared"
	}
	return "ratio only"
}

func changedTable(names [2]string, list []analyze.Changed) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{ID: "compare-changed", Caption: "What differs between the sides, settings first", Head: []Head{col("What"), col("Kind"), col(names[0]), col(names[1])}}
	for _, x := range list {
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(x.Key), text(string(x.Kind)), wrapped(x.Before), wrapped(x.After)}})
	}
	return t
}

func newGoneTable(names [2]string, c *analyze.Comparison) *Table {
	if len(c.New)+len(c.Gone)+len(c.TooSmall) == 0 {
		return nil
	}
	t := &Table{ID: "compare-newgone", Caption: "Slices that could not be compared", Head: []Head{col("Slice"), col("Why"), numCol("Sent", "", ""), numCol("Share", "", "")}}
	add := func(list []analyze.SliceRef, why string) {
		for _, s := range list[:min(len(list), maxCompareRows)] {
			t.Rows = append(t.Rows, Row{Cells: []Cell{text(byText(s.By)), text(why), number(FormatCount(s.Sent), fmt.Sprint(s.Sent)), number(FormatShare(s.Share), RawValue(serving.Share, serving.Some(s.Share)))}})
		}
	}
	add(c.New, "only in "+names[1])
	add(c.Gone, "only in "+names[0])
	add(c.TooSmall, "too few requests in a run")
	return t
}

// leastMoved is the change of a share that is worth naming.
const leastMoved = 0.005

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// mixOfAll tells the split's figures from those of the other tables, which may even
// point the other way.
const mixOfAll = "All requests of the paired levels count together here; where there are several levels, the figures that decide are means over them"

func mixTable(list []analyze.MixShift) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{ID: "compare-mix", Caption: "Mix or speed: what of each change other requests explain, and what happened to requests of the same kind, by " + dimNames(list[0].Dims) + ". " + mixOfAll, Head: []Head{col("Figure"),
		metricCol("Change", serving.Seconds), metricCol("from the mix", serving.Seconds), metricCol("within cells", serving.Seconds), col("Moved most"), numCol("Left out", "of requests", "")}}
	for _, m := range list {
		u := figureUnit(m.Figure)
		delta := func(v float64) Cell { return number(FormatDelta(u, v), RawValue(u, serving.Some(v))) }
		var movers []string
		for _, x := range m.Moved[:min(2, len(m.Moved))] {
			if math.Abs(x.After-x.Before) < leastMoved {
				continue
			}
			movers = append(movers, fmt.Sprintf("%s: %s → %s", byText(x.By), FormatShare(x.Before), FormatShare(x.After)))
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(figureName(m.Figure)), delta(m.Total), delta(m.Mix), delta(m.Within), wrapped(orWord(strings.Join(movers, "; "), "no cell by half a point")),
			number(FormatShare(m.Unsupported), RawValue(serving.Share, serving.Some(m.Unsupported)))}})
	}
	return t
}

func pairsTable(names [2]string, list []*analyze.Pair) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{ID: "compare-pairs", Caption: "What was compared with what", Head: []Head{col("Level"), numCol(names[0], "runs", ""), col("which"), numCol(names[1], "runs", ""), col("which")}}
	for _, p := range list {
		row := []Cell{text(p.Label)}
		for side := range names {
			l := p.Labels(side)
			shown := strings.Join(l[:min(len(l), 6)], ", ")
			if len(l) > 6 {
				shown += fmt.Sprintf(" and %d more", len(l)-6)
			}
			row = append(row, number(fmt.Sprint(len(l)), fmt.Sprint(len(l))), wrapped(shown))
		}
		t.Rows = append(t.Rows, Row{Cells: row})
	}
	return t
}

func unpairedTable(list []analyze.Unpaired) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{ID: "compare-unpaired", Caption: "Not compared: the other side has no match", Head: []Head{col("Side"), col("What"), col("Why")}}
	for _, u := range list[:min(len(list), maxCompareRows)] {
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(u.Side), text(u.Label), wrapped(u.Why)}})
	}
	return t
}

func pressureTable(names [2]string, list []analyze.PressureRow) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{ID: "compare-pressure", Caption: "What the engines say of both sides", Head: []Head{col("Figure"), numCol(names[0], "", ""), numCol(names[1], "", ""), col("PromQL")}}
	for _, p := range list {
		t.Rows = append(t.Rows, Row{Cells: []Cell{text(p.What), valueCell(p.Unit, p.Before), valueCell(p.Unit, p.After), code(orMissing(p.PromQL))}})
	}
	return t.dropEmpty()
}

package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/verdict"
)

// compareSign stands before a comparison's verdict.
var compareSign = map[analyze.Verdict]string{
	analyze.VerdictBetter: "✅", analyze.VerdictWorse: "❌", analyze.VerdictMixed: "⚖️",
	analyze.VerdictEquivalent: "🟰", analyze.VerdictUndecided: "❔",
}

// gateOfVerdict is the decision of a gate that a verdict looks like.
var gateOfVerdict = map[analyze.Verdict]analyze.GateResult{
	analyze.VerdictBetter: analyze.GatePass, analyze.VerdictEquivalent: analyze.GatePass,
	analyze.VerdictWorse: analyze.GateFail, analyze.VerdictUndecided: analyze.GateUndecided,
}

// compareHeading is the verdict in a line. Where a gate was asked for, the sign is the
// gate's, and is put in words where the verdict alone would have another: a reader of
// the heading knows how the check ended.
func (m *mdWriter) compareHeading(c *analyze.Comparison, g analyze.GateResult) string {
	sign, ok := verdictSign[g]
	switch {
	case !ok:
		return fmt.Sprintf("## %s %s", compareSign[c.Verdict], m.text(c.Title))
	case gateOfVerdict[c.Verdict] == g:
		return fmt.Sprintf("## %s %s", sign, m.text(c.Title))
	}
	return fmt.Sprintf("## %s %s (gate: %s)", sign, m.text(c.Title), g)
}

// compareHead puts the verdict and its numbers first: they are on every rung of
// the ladder.
func (m *mdWriter) compareHead(c *analyze.Comparison, g analyze.GateResult) {
	m.line(m.compareHeading(c, g) + "\n")
	const most = 3
	var parts []string
	for _, r := range slices.Concat(c.Headline, c.Others) {
		if len(parts) < most && r.Ratio.OK {
			parts = append(parts, fmt.Sprintf("**%s** %s → %s (%s)", figureName(r.Figure), m.compared(r, 0), m.compared(r, 1), m.compareChange(r)))
		}
	}
	if len(parts) > 0 {
		m.line(strings.Join(parts, " · ") + "\n")
	}
	for _, s := range c.Cautions {
		m.line("> ⚠️ " + m.text(s) + "\n>")
	}
	if len(c.Cautions) > 0 {
		m.line("")
	}
}

// compared is a row's value of one side.
func (m *mdWriter) compared(r *analyze.CompareRow, side int) string {
	v := r.Before
	if side == 1 {
		v = r.After
	}
	return FormatValue(figureUnit(r.Figure), v)
}

func (m *mdWriter) compareChange(r *analyze.CompareRow) string { return changeCell(r).Text }

// comparison is everything below the verdict, folded but for what changed.
func (m *mdWriter) comparison(c *analyze.Comparison) {
	m.experiment(c.Experiment)
	m.changedSettings(c)
	if m.lim.runs == 0 {
		return
	}
	m.fold("Figures that decide", func() { m.compareRows(c, c.Headline, nil) })
	var called []*analyze.CompareRow
	for _, r := range c.Slices {
		if r.Call == verdict.Slower || r.Call == verdict.Faster {
			called = append(called, r)
		}
	}
	m.fold(fmt.Sprintf("For whom: %s called of %d", countOf(len(called), "change"), len(c.Slices)), func() {
		m.compareRows(c, c.Slices[:min(len(c.Slices), 4*m.lim.slices)], sliceHeading)
		m.more(len(c.Slices), 4*m.lim.slices, "rows")
	})
	m.fold("Mix or speed", func() { m.mixRows(c) })
	m.fold("Level by level", func() {
		m.compareRows(c, c.Levels[:min(len(c.Levels), 2*m.lim.runs)], levelHeading)
		m.more(len(c.Levels), 2*m.lim.runs, "rows")
	})
	m.fold("On one side only", func() {
		for _, u := range c.Unpaired[:min(len(c.Unpaired), m.lim.inputs)] {
			m.line(fmt.Sprintf("- %s: %s: %s", m.cell(u.Side), m.cell(u.Label), m.text(u.Why)))
		}
		m.more(len(c.Unpaired), m.lim.inputs, "runs")
	})
}

// fold collapses a part; one that writes nothing is left out.
func (m *mdWriter) fold(title string, write func()) {
	outer := m.b.String()
	m.b.Reset()
	write()
	body := m.b.String()
	m.b.Reset()
	m.b.WriteString(outer)
	if strings.TrimSpace(body) == "" {
		return
	}
	m.line("\n<details><summary>" + m.text(title) + "</summary>\n\n" + body + "\n</details>")
}

func (m *mdWriter) changedSettings(c *analyze.Comparison) {
	if len(c.Changed) == 0 {
		m.line("\n_" + m.text(unchanged+" "+sameText(c)) + "_")
		return
	}
	m.line("\n**What changed**\n")
	t := mdTable{head: []string{"what", "kind", m.cell(c.Sides[0].Name), m.cell(c.Sides[1].Name)}, text: map[int]bool{0: true, 1: true, 2: true, 3: true}}
	limit := max(5, m.lim.findings)
	for _, x := range c.Changed[:min(len(c.Changed), limit)] {
		t.add(m.cell(x.Key), string(x.Kind), m.cell(x.Before), m.cell(x.After))
	}
	t.write(m)
	m.more(len(c.Changed), limit, "changes")
	m.line("\n_" + m.text(sameText(c)) + "_")
}

func (m *mdWriter) compareRows(c *analyze.Comparison, rows []*analyze.CompareRow, heading *rowHeading) {
	if len(rows) == 0 {
		return
	}
	t := mdTable{head: []string{"of", "figure", m.cell(c.Sides[0].Name), m.cell(c.Sides[1].Name), "change", "95 % interval", "call", "p adjusted"}, text: map[int]bool{0: true, 1: true, 6: true}}
	for _, r := range rows {
		of, change := "", changeCell(r)
		if heading != nil {
			of = m.cell(heading.of(r).Text)
		}
		t.add(of, figureName(r.Figure), m.compared(r, 0), m.compared(r, 1), change.Text, change.Sub, callCell(r).Text, FormatP(r.PAdjusted))
	}
	t.write(m)
}

func (m *mdWriter) mixRows(c *analyze.Comparison) {
	if len(c.Mix) == 0 {
		return
	}
	t := mdTable{head: []string{"figure", "change", "from the mix", "within cells"}, text: map[int]bool{0: true}}
	for _, x := range c.Mix {
		u := figureUnit(x.Figure)
		t.add(figureName(x.Figure), FormatDelta(u, x.Total), FormatDelta(u, x.Mix), FormatDelta(u, x.Within))
	}
	t.write(m)
	if len(c.Pairs) > 1 {
		m.line("<sub>" + mixOfAll + ".</sub>")
		m.line("")
	}
}

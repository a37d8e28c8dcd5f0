package render

import (
	"strings"

	"github.com/vreport/vreport/analyze"
)

// experimentTone says how a result reads.
var experimentTone = map[analyze.ExperimentResult]string{analyze.Adopt: "good", analyze.Reject: "bad", analyze.UndecidedYet: "warn"}

// experimentView is the hypothesis with its answer and the conditions.
func experimentView(e *analyze.Experiment) (*verdictView, *Table) {
	if e == nil {
		return nil, nil
	}
	t := &Table{ID: "compare-experiment", Caption: "The conditions written down beforehand, and what adoption always needs", Head: []Head{col("Condition"), col("Answer"), numCol("Found", "", ""), col("Meaning")}}
	for _, c := range e.Conditions {
		answer := Cell{Text: strings.ReplaceAll(c.Answer, "_", " "), Pill: answerTone(c), Sub: c.Why, Class: "prose"}
		t.Rows = append(t.Rows, Row{Cells: []Cell{{Text: c.Text, Class: "prose"}, answer, conditionCell(c), text(conditionMeaning[c.Kind])}})
	}
	return &verdictView{Tone: experimentTone[e.Result], Badge: string(e.Result), Title: e.Statement}, t.dropEmpty()
}

var conditionMeaning = map[analyze.ConditionKind]string{analyze.Expected: "was expected", analyze.Refutes: "would refute it", analyze.Required: "adoption needs it"}

// answerTone is good where the answer speaks for adoption.
func answerTone(c analyze.Condition) string {
	switch {
	case c.Answer == "undecided":
		return "warn"
	case (c.Answer == "met") == (c.Kind != analyze.Refutes):
		return "good"
	}
	return "bad"
}

// conditionCell is the change that was found. What is no change is a count.
func conditionCell(c analyze.Condition) Cell {
	switch {
	case !c.Value.OK:
		return number(Missing, "")
	case !c.Lo.OK && !c.Hi.OK && c.Kind == analyze.Required:
		return number(FormatNumber(c.Value.V), "")
	}
	cell := number(FormatChange(1+c.Value.V), "")
	if c.Lo.OK && c.Hi.OK {
		cell.Sub = FormatChange(1+c.Lo.V) + " … " + FormatChange(1+c.Hi.V)
	}
	return cell
}

// experiment writes the hypothesis and its conditions as Markdown.
func (m *mdWriter) experiment(e *analyze.Experiment) {
	if e == nil {
		return
	}
	m.line("\n**Hypothesis: " + string(e.Result) + "**: " + m.text(e.Statement) + "\n")
	t := mdTable{head: []string{"condition", "answer", "found", "meaning"}, text: map[int]bool{0: true, 1: true, 3: true}}
	for _, c := range e.Conditions {
		t.add(m.cell(c.Text), strings.ReplaceAll(c.Answer, "_", " "), conditionCell(c).Text, conditionMeaning[c.Kind])
	}
	t.write(m)
}

package render

import (
	"fmt"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/rules"
)

// diagnosis writes the best supported hypothesis first, then what else there is.
func (m *mdWriter) diagnosis(v *analyze.Diagnoses) {
	if m.lim.findings == 0 {
		return
	}
	m.heading("Diagnosis")
	for _, d := range v.Diagnoses {
		m.line("**" + m.cell(d.Label) + "**: " + m.text(d.Verdict) + "\n")
		if d.Known {
			m.line("Incident " + m.text(d.Incident) + ", against " + m.text(d.Baseline) + ".\n")
		}
		if top := d.Top(); top != nil {
			m.list("For", top.For)
			m.list("Against", top.Against)
			m.list("Next", top.Next)
			var remedies []string
			for _, r := range top.Remedies {
				remedies = append(remedies, r.Text+" Price: "+r.Price)
			}
			m.list("To try", remedies)
		}
		m.symptomsAndRivals(d)
		if d.Separate != "" {
			m.line("\nTo separate the first two: " + m.text(d.Separate) + "\n")
		}
	}
}

func (m *mdWriter) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	m.line("\n" + title + ":\n")
	m.bullets(items, m.lim.points, "more")
}

func (m *mdWriter) symptomsAndRivals(d *analyze.Diagnosis) {
	if len(d.Present()) == 0 {
		return
	}
	t := mdTable{head: []string{"hypothesis", "case", "status", "score", "known"}, text: map[int]bool{0: true, 1: true, 2: true}}
	for _, h := range d.Hypotheses {
		if h.Status != rules.Supported && h.Status != rules.CannotTell {
			continue
		}
		status, _ := statusText(h.Status)
		t.add(m.cell(h.Cause), h.Case, status, fmt.Sprintf("%.2f", h.Score), FormatShare(h.Coverage))
	}
	if len(t.rows) > 0 {
		m.line("")
		t.write(m)
	}
}

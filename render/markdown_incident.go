package render

import (
	"fmt"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// incidents writes each incident as the draft of a post-mortem: what happened
// and when, the numbers before, during and after, and the three lists, each
// entry with what it rests on.
func (m *mdWriter) incidents(v *analyze.Incidents) {
	for _, inc := range v.Incidents {
		m.heading("Incident: " + m.cell(inc.Label))
		m.line(m.text(inc.Summary) + "\n")
		m.line("**" + m.text(inc.Verdict) + "**\n")
		for _, f := range incidentFacts(inc) {
			m.line("- " + f.Key + ": " + m.text(f.Value))
		}
		m.incidentTimeline(inc)
		m.incidentFigures(inc)
		m.measures("Immediate mitigation", inc.Mitigation)
		m.measures("Cause analysis", inc.Analysis)
		m.measures("Prevention", inc.Prevention)
		m.skews(inc)
		m.incidentReplicas(inc)
		m.replays(inc)
		m.incidentSettings(inc)
	}
}

// incidentTimeline joins onsets and events, in the order of time.
func (m *mdWriter) incidentTimeline(inc *analyze.Incident) {
	t := mdTable{head: []string{"time", "±", "what", "source"}, text: map[int]bool{0: true, 1: true, 2: true, 3: true}}
	events := inc.Events
	put := func(until int64) {
		for len(events) > 0 && (until < 0 || events[0].At < until) {
			e := events[0]
			events = events[1:]
			t.add(FormatTime(e.At, inc.Relative), "", m.text(e.Kind+": "+e.Text), m.cell(e.Source))
		}
	}
	for _, o := range inc.Onsets {
		put(o.At)
		t.add(FormatTime(o.At, inc.Relative), FormatSpan(o.Width), m.text(fmt.Sprintf("%s %s → %s", signalName(o.Signal), plainValue(o.Unit, known(o.Before)), plainValue(o.Unit, known(o.After)))), m.cell(o.Source))
	}
	put(-1)
	m.firstOf(t, "Timeline", max(m.lim.points, 5)*2, "moments")
}

func (m *mdWriter) incidentFigures(inc *analyze.Incident) {
	t := mdTable{head: []string{"figure", "before", "during", "after", "during / before", "source"}, text: map[int]bool{0: true, 5: true}}
	for _, f := range inc.Figures {
		change := ""
		if r := f.Ratio(); r.OK {
			change = "× " + FormatNumber(r.V)
		}
		value := func(v serving.Opt[float64], n float64) string {
			s := plainValue(f.Unit, v)
			if n > 0 && v.OK {
				s += fmt.Sprintf(" (n %s)", FormatNumber(n))
			}
			return s
		}
		t.add(m.cell(strings.TrimSpace(figureTitle(f.Metric)+" "+f.Stat)), value(f.Before, f.N[0]), value(f.During, f.N[1]), value(f.After, f.N[2]), change, m.cell(f.Source))
	}
	m.firstOf(t, "Figures", max(m.lim.runs, 8), "figures")
}

// firstOf writes the first rows of a table, if it has any, and how many follow.
func (m *mdWriter) firstOf(t mdTable, title string, limit int, what string) {
	all := len(t.rows)
	if all == 0 {
		return
	}
	m.line("\n#### " + title + "\n")
	t.rows = t.rows[:min(all, limit)]
	t.write(m)
	m.more(all, limit, what)
}

func (m *mdWriter) measures(title string, list []analyze.Measure) {
	if len(list) == 0 {
		return
	}
	m.line("\n#### " + title + "\n")
	for _, x := range list[:min(len(list), max(m.lim.points, 5))] {
		s := "- " + m.text(x.Text)
		if x.Because != "" {
			s += " _Because:_ " + m.text(x.Because) + "."
		}
		if x.Price != "" {
			s += " _Price:_ " + m.text(x.Price)
		}
		m.line(s)
		for _, block := range []string{alertRule(x), x.Command} {
			if block != "" {
				m.line("\n" + inListItem(mdCode(commandLine(block, max(m.lim.command, 2000)))) + "\n")
			}
		}
	}
	m.more(len(list), max(m.lim.points, 5), "entries")
}

// alertRule is an alert's query with how long it has to hold.
func alertRule(x analyze.Measure) string {
	if x.PromQL == "" || x.For == "" {
		return x.PromQL
	}
	return x.PromQL + "  # for " + x.For
}

// inListItem keeps a block inside its list item.
func inListItem(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

func (m *mdWriter) incidentReplicas(inc *analyze.Incident) {
	if len(inc.Replicas) == 0 || m.lim.servers == 0 {
		return
	}
	m.line("\n#### Replicas, before → during\n")
	t := mdTable{head: []string{"replica", "requests/s", "TTFT mean", "waiting mean", "running mean", "KV max", "preemptions"}, text: map[int]bool{0: true}}
	pair := func(u serving.Unit, b, d serving.Opt[float64]) string {
		if !b.OK && !d.OK {
			return ""
		}
		return plainValue(u, b) + " → " + plainValue(u, d)
	}
	for _, r := range inc.Replicas[:min(len(inc.Replicas), m.lim.servers)] {
		b, d := r.Before, r.During
		t.add(m.cell(r.Name), pair(serving.NoUnit, b.RequestsPerSecond, d.RequestsPerSecond), pair(serving.Seconds, b.TTFT, d.TTFT), pair(serving.NoUnit, b.Waiting, d.Waiting), pair(serving.NoUnit, b.Running, d.Running),
			pair(serving.Share, b.KV, d.KV), pair(serving.NoUnit, b.Preemptions, d.Preemptions))
	}
	t.write(m)
	m.more(len(inc.Replicas), m.lim.servers, "replicas")
}

// skews names clocks that are off, and sources whose clock is not known.
func (m *mdWriter) skews(inc *analyze.Incident) {
	for _, s := range inc.Skews {
		switch {
		case s.Relative:
			m.line(fmt.Sprintf("- Clock of %s: it starts at %s on that of %s, ± %s (%s).", m.cell(s.Source), FormatInstant(s.Start), m.cell(s.Against), plainValue(serving.Seconds, serving.Some(s.Uncertainty)), m.text(s.How)))
		case s.Off():
			m.line(fmt.Sprintf("- Clock of %s: %s ahead of that of %s, ± %s (%s).", m.cell(s.Source), plainValue(serving.Seconds, serving.Some(s.Offset)), m.cell(s.Against), plainValue(serving.Seconds, serving.Some(s.Uncertainty)), m.text(s.How)))
		}
	}
}

func (m *mdWriter) replays(inc *analyze.Incident) {
	if len(inc.Examples) == 0 || m.lim.slices == 0 {
		return
	}
	m.line("\n#### Requests to replay\n")
	t := mdTable{head: []string{"request", "why", "sent", "outcome", "workload", "TTFT", "E2E", "prompt", "output"}, text: map[int]bool{0: true, 1: true, 2: true, 3: true, 4: true}}
	for _, r := range inc.Examples {
		name := m.cell(r.ID)
		if r.ID == "" {
			name = m.cell(fmt.Sprintf("row %d of %s", r.Row, r.File))
		}
		t.add(name, m.cell(r.Why), FormatTime(r.At, inc.Relative), r.Outcome, m.cell(r.Workload), FormatValue(serving.Seconds, r.TTFT), FormatValue(serving.Seconds, r.E2E), plainValue(serving.NoUnit, r.Prompt), plainValue(serving.NoUnit, r.Output))
	}
	t.write(m)
}

func (m *mdWriter) incidentSettings(inc *analyze.Incident) {
	if len(inc.Settings) == 0 || m.lim.inputs == 0 {
		return
	}
	limit := min(m.lim.inputs, 40)
	m.fold("Settings", func() {
		t := mdTable{head: []string{"setting", "value"}, text: map[int]bool{0: true, 1: true}}
		for _, s := range inc.Settings[:min(len(inc.Settings), limit)] {
			t.add(m.cell(s.Key), m.cell(s.Value))
		}
		t.write(m)
		m.more(len(inc.Settings), limit, "settings")
	})
}

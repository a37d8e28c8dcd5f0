package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
)

func (m *mdWriter) sweeps(v *analyze.Sweeps) {
	if len(v.Sweeps)+len(v.Grids) == 0 || m.lim.sweeps == 0 {
		return
	}
	m.heading("Throughput against latency")
	for _, s := range v.Sweeps[:min(len(v.Sweeps), m.lim.sweeps)] {
		m.line("- " + m.sweep(s))
	}
	m.more(len(v.Sweeps), m.lim.sweeps, "sweeps")
	for _, g := range v.Grids[:min(len(v.Grids), m.lim.sweeps)] {
		v := newGridView("", g)
		m.line("- **" + m.cell(v.Title) + "**: " + m.text(v.Text))
	}
}

// sweep is what a reviewer asks of a curve: how far it goes, what it costs, and
// what stops it.
func (m *mdWriter) sweep(s *analyze.Sweep) string {
	name := s.Label
	if name == "" {
		name = s.ID
	}
	out := fmt.Sprintf("**%s** (%s loop, %s)", m.cell(name), m.cell(string(s.Mode)), countOf(len(s.Points), "level"))
	if len(s.Front) > 0 {
		axis := "output tok/s"
		if s.PerGPU {
			axis += " per GPU"
		}
		out += fmt.Sprintf(": frontier of %s against tok/s per user: %s", axis, m.frontNames(s))
	}
	out += "."
	item := func(text string) { out += "\n  - " + text }
	if c := s.Capacity; c != nil {
		item("SLO capacity: " + m.text(c.Text))
	}
	if t := s.TurnDown; t != nil {
		item("Goodput turns down: " + m.text(t.Text))
	}
	if t := s.Target; t != nil {
		item("Target: " + m.text(t.Text))
	}
	if k := m.knees(s); k != "" {
		item("Knees: " + k)
	}
	if r := s.Region(analyze.Queueing); r != nil {
		item(fmt.Sprintf("Only the queue grows from %s %s on, stopped by %s.", m.cell(loadName(s.XName)), FormatNumber(r.From), stopName(r.StoppedBy)))
	}
	return out
}

// knees names the method beside each figure: a knee has no single true value.
func (m *mdWriter) knees(s *analyze.Sweep) string {
	var parts []string
	for _, k := range s.Knees {
		name, _ := kneeName(s, k.Method)
		text := lowerFirst(name) + " not reached"
		if k.X.OK {
			text = fmt.Sprintf("%s %s %s (%s)", lowerFirst(name), FormatNumber(k.X.V), m.cell(k.Unit), m.cell(k.Confidence))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// frontNames are the labels of the runs on the frontier, in the order of load.
func (m *mdWriter) frontNames(s *analyze.Sweep) string {
	var names []string
	for _, p := range s.Points {
		for _, r := range p.Runs {
			if slices.Contains(s.Front, r.Run.ID) {
				if n := m.cell(r.Run.Label); !slices.Contains(names, n) {
					names = append(names, n)
				}
			}
		}
	}
	const most = 16
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

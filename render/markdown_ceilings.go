package render

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/analyze"
)

func (m *mdWriter) ceilings(v *analyze.Ceilings) {
	if m.lim.sweeps == 0 {
		return
	}
	t := mdTable{head: []string{"ceilings", "hardware", "one request ≤", "MBU", "KV pool", "requests", "binds"}, text: map[int]bool{0: true, 1: true, 6: true}}
	for _, c := range v.Ceilings[:min(len(v.Ceilings), m.lim.sweeps)] {
		one, mbu, pool, requests := Missing, Missing, Missing, Missing
		if c.Bandwidth != nil {
			one = FormatNumber(c.Bandwidth.OneRequest) + " tok/s"
		}
		if l := topLevel(c); l != nil {
			mbu = FormatShareOpt(l.MBU)
		}
		if k := c.Capacity; k != nil && k.Best() != nil {
			p := k.Best()
			if p.Tokens.OK {
				pool = FormatCount(int64(p.Tokens.V)) + " tokens"
			}
			if p.Requests.OK {
				requests = FormatNumber(math.Floor(p.Requests.V))
			}
		}
		t.add(m.cell(c.Label), m.cell(hardwareText(c)), one, mbu, pool, requests, string(c.Binding.What))
	}
	m.heading("Hardware ceilings")
	t.write(m)
	m.more(len(v.Ceilings), m.lim.sweeps, "ceilings")
	for _, c := range v.Ceilings[:min(len(v.Ceilings), m.lim.sweeps)] {
		for _, f := range c.Findings {
			m.line("\n⚠️ " + m.cell(c.Label) + ": " + m.text(f))
		}
	}
	if len(v.Ceilings) > 0 {
		m.line("\n<sub>MBU at the highest load; requests of the observed context.</sub>")
	}
}

// topLevel is the level with the largest batch.
func topLevel(c *analyze.Ceiling) *analyze.CeilingLevel {
	var top *analyze.CeilingLevel
	for i := range c.Levels {
		if l := &c.Levels[i]; l.Batch.OK && (top == nil || l.Batch.V > top.Batch.V) {
			top = l
		}
	}
	return top
}

func (m *mdWriter) advice(v *analyze.AdviceList) {
	if len(v.Advice) == 0 || m.lim.findings == 0 {
		return
	}
	m.heading("Experiments to run next")
	for _, a := range v.Advice[:min(len(v.Advice), m.lim.findings)] {
		m.line("- **" + m.cell(adviceTitle(a)) + "** (" + m.cell(a.Subject) + "): " + m.text(a.Observation) + " Costs: " + m.text(a.Price))
	}
	m.more(len(v.Advice), m.lim.findings, "experiments")
}

func (m *mdWriter) cost(c *analyze.Cost) {
	if m.lim.sweeps == 0 || len(c.Rows) == 0 {
		return
	}
	m.heading("Cost")
	for _, k := range c.Capacity[:min(len(c.Capacity), m.lim.sweeps)] {
		m.line(fmt.Sprintf("- %s: **%s** a million output tokens at the capacity under the objectives (level %s)", m.cell(k.Sweep.Label), money(c.Price, k.PerMillionOut), m.cell(k.Level)))
	}
	best := c.Rows[0]
	for _, r := range c.Rows {
		if r.PerMillionOut.OK && (!best.PerMillionOut.OK || r.PerMillionOut.V < best.PerMillionOut.V) {
			best = r
		}
	}
	if best.PerMillionOut.OK {
		m.line(fmt.Sprintf("- cheapest run: %s, %s a million output tokens, at %s for a GPU and hour", m.cell(best.Run.Run.Label), money(c.Price, best.PerMillionOut.V), money(c.Price, c.Price.PerGPUHour)))
	}
}

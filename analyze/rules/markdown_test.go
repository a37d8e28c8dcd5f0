package rules

import (
	"fmt"
	"math"
	"strings"
)

// markdown writes the table of rules for docs/diagnosis.md.
func markdown(table []Rule) string {
	var b strings.Builder
	for _, r := range table {
		fmt.Fprintf(&b, "### %s · %s\n\n%s (`%s`).\n\n", r.Case, r.Cause, r.Title, r.ID)
		b.WriteString("| | observation | limit | weight |\n|:--|:--|:--|--:|\n")
		for _, g := range []struct {
			kind string
			list []Predicate
		}{{"required", r.Required}, {"for", r.Supports}, {"against", r.Against}, {"refutes", r.Refutes}} {
			for _, p := range g.list {
				weight := ""
				if p.Weight > 0 {
					weight = fmt.Sprintf("%g", p.Weight)
				}
				fmt.Fprintf(&b, "| %s | %s (`%s`) | %s | %s |\n", g.kind, AboutOf(p.Fact).Says, p.Fact, p.limits(), weight)
			}
		}
		for _, n := range r.Needs {
			fmt.Fprintf(&b, "| cannot tell | %s (`%s`) without `%s` | %s | |\n", AboutOf(n.When.Fact).Says, n.When.Fact, n.Fact, n.When.limits())
		}
		b.WriteString("\nNext: " + strings.Join(r.Next, " ") + "\n\nTo try:\n\n")
		for _, m := range r.Remedies {
			fmt.Fprintf(&b, "- %s Price: %s\n", m.Text, m.Price)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (p Predicate) limits() string {
	switch {
	case math.IsInf(p.Lo, 1):
		return fmt.Sprintf("≤ %g", p.Hi)
	case p.Lo == p.Hi:
		return fmt.Sprintf("≥ %g", p.Hi)
	case p.Hi < p.Lo:
		return fmt.Sprintf("below %g, full at %g", p.Lo, p.Hi)
	}
	return fmt.Sprintf("above %g, full at %g", p.Lo, p.Hi)
}

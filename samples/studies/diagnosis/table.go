package main

import (
	"fmt"
	"slices"
	"strings"
)

// The aims: shares of scenarios and seeds.
const (
	aimPlanted = 0.95 // from all files: the planted cause is first and supported
	aimHealthy = 0.95 // from any files: a server without a fault has nothing supported
	aimAlone   = 0.90 // from one kind: right, or "cannot tell"
	aimWrong   = 0.05 // from one kind: a wrong cause supported, at most
)

// rates are what the aims are held against.
type rates struct{ planted, healthy, alone, wrong share }

type share struct{ k, n int }

func (s *share) count(hit bool, n int) {
	s.n += n
	if hit {
		s.k += n
	}
}

func (s share) value() float64 { return float64(s.k) / float64(max(s.n, 1)) }

func (s share) String() string { return fmt.Sprintf("%.1f %% (%d of %d)", 100*s.value(), s.k, s.n) }

func (s *study) rates() rates {
	var r rates
	for key, n := range s.counts {
		name, kind, outcome := key[0], key[1], key[2]
		cause := s.causes[name]
		supported := outcome != none && outcome != cannotTell && outcome != noInput
		switch {
		case outcome == noInput:
		case cause == none:
			r.healthy.count(!supported, n)
		case kind == "all":
			r.planted.count(outcome == cause, n)
		default:
			r.alone.count(outcome == cause || outcome == cannotTell, n)
		}
		if outcome != noInput && kind != "all" {
			r.wrong.count(supported && outcome != cause, n)
		}
	}
	return r
}

func (s *study) passes() bool {
	r := s.rates()
	return r.planted.value() >= aimPlanted && r.healthy.value() >= aimHealthy && r.alone.value() >= aimAlone && r.wrong.value() <= aimWrong
}

// table is the confusion matrix in Markdown: a row a scenario and kind of input.
func (s *study) table() string {
	var b strings.Builder
	r := s.rates()
	fmt.Fprintf(&b, "Seeds %d to %d, %d scenarios.\n\n", s.from, s.to, len(s.scenarios))
	fmt.Fprintf(&b, "| what | aim | found |\n|:--|--:|--:|\n")
	fmt.Fprintf(&b, "| all files: the planted cause is first and supported | ≥ 95 %% | %s |\n", r.planted)
	fmt.Fprintf(&b, "| no fault planted: nothing is supported, whatever the files | ≥ 95 %% | %s |\n", r.healthy)
	fmt.Fprintf(&b, "| one kind of file: the planted cause, or “cannot tell” | ≥ 90 %% | %s |\n", r.alone)
	fmt.Fprintf(&b, "| one kind of file: another cause is supported | ≤ 5 %% | %s |\n\n", r.wrong)
	b.WriteString("| scenario | planted |")
	for _, k := range kinds {
		b.WriteString(" " + k.name + " |")
	}
	b.WriteString("\n|:--|:--|" + strings.Repeat(":--|", len(kinds)) + "\n")
	for _, name := range s.scenarios {
		fmt.Fprintf(&b, "| %s | %s |", name, s.causes[name])
		for _, k := range kinds {
			b.WriteString(" " + s.cell(name, k.name) + " |")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cell lists the outcomes of a scenario and kind, the most frequent first.
func (s *study) cell(name, kind string) string {
	type outcome struct {
		what string
		n    int
	}
	var all []outcome
	for key, n := range s.counts {
		if key[0] == name && key[1] == kind {
			all = append(all, outcome{key[2], n})
		}
	}
	slices.SortFunc(all, func(a, b outcome) int {
		if a.n != b.n {
			return b.n - a.n
		}
		return strings.Compare(a.what, b.what)
	})
	var out []string
	for _, o := range all {
		text := fmt.Sprintf("%s %d", o.what, o.n)
		if o.what == s.causes[name] {
			text = "**" + text + "**"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

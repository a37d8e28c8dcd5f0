package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Override replaces the limits of one fact in one rule, or in all.
type Override struct {
	Cause  string // "" in every rule
	Fact   Key
	Lo, Hi float64 // Lo is NaN where one limit is given: then Lo moves as far as Hi does
}

// ParseOverride reads FACT=HI, FACT=LO..HI, or CAUSE.FACT=…: from which value on
// evidence counts, and from which it counts in full.
func ParseOverride(s string) (Override, error) {
	const want = "want CAUSE.FACT=LIMIT or CAUSE.FACT=LOW..FULL, e.g. over_capacity.queue_share=0.5..0.9"
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return Override{}, fmt.Errorf("%q, %s", s, want)
	}
	o := Override{Lo: math.NaN()}
	name = strings.TrimSpace(name)
	if cause, fact, split := strings.Cut(name, "."); split {
		if !slices.ContainsFunc(Table, func(r Rule) bool { return r.Cause == cause }) {
			return Override{}, fmt.Errorf("%q is no cause, want one of %s", cause, strings.Join(causes(), ", "))
		}
		o.Cause, name = cause, fact
	}
	o.Fact = Key(name)
	if !used(o) {
		return Override{}, fmt.Errorf("no rule asks for %q, want one of %s", name, strings.Join(factsOf(o.Cause), ", "))
	}
	lo, hi, split := strings.Cut(value, "..")
	if !split {
		hi = lo
	}
	var err error
	if o.Hi, err = limit(hi); err != nil {
		return Override{}, fmt.Errorf("%s: %w, %s", name, err, want)
	}
	if split {
		if o.Lo, err = limit(lo); err != nil {
			return Override{}, fmt.Errorf("%s: %w, %s", name, err, want)
		}
		if o.Lo == o.Hi {
			return Override{}, fmt.Errorf("%s: both limits are %s, want two that differ", name, strings.TrimSpace(lo))
		}
	}
	return o, nil
}

func limit(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no number", s)
	}
	return v, nil
}

func causes() []string {
	var out []string
	for _, r := range Table {
		out = append(out, r.Cause)
	}
	return out
}

func factsOf(cause string) []string {
	seen := map[Key]bool{}
	for _, r := range Table {
		if cause == "" || r.Cause == cause {
			for _, p := range slices.Concat(r.Required, r.Supports, r.Against, r.Refutes) {
				seen[p.Fact] = true
			}
		}
	}
	var out []string
	for k := range seen {
		out = append(out, string(k))
	}
	slices.Sort(out)
	return out
}

func used(o Override) bool { return slices.Contains(factsOf(o.Cause), string(o.Fact)) }

// Tuned is the table with overrides applied, later ones over earlier ones. An
// evidence that counts from 0.4 to 0.8 and gets the limit 0.9 counts from 0.5 to
// 0.9.
func Tuned(overrides []Override) []Rule {
	if len(overrides) == 0 {
		return Table
	}
	out := slices.Clone(Table)
	for i := range out {
		r := &out[i]
		for _, list := range []*[]Predicate{&r.Required, &r.Supports, &r.Against, &r.Refutes} {
			*list = slices.Clone(*list)
			for _, o := range overrides {
				for k := range *list {
					if p := &(*list)[k]; p.Fact == o.Fact && (o.Cause == "" || o.Cause == r.Cause) {
						p.override(o)
					}
				}
			}
		}
	}
	return out
}

func (p *Predicate) override(o Override) {
	switch {
	case p.Weight == 0 && math.IsInf(p.Lo, 1):
		p.Hi = o.Hi
	case p.Weight == 0:
		p.Lo, p.Hi = o.Hi, o.Hi
	case math.IsNaN(o.Lo):
		p.Lo, p.Hi = p.Lo+o.Hi-p.Hi, o.Hi
	default:
		p.Lo, p.Hi = o.Lo, o.Hi
	}
}

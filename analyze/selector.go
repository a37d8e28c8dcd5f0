package analyze

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// A span of scrapes as PromQL sees it: one scrape is an instant, whose counters
// count from the start of the process; several are a range.
type querySpan struct {
	instant bool
	window  string // a range, such as 61s; "" where the times are unknown
}

// over writes a function of a selector's series over the span; the selector
// itself at an instant, and nothing where no time is known.
func (q querySpan) over(fn, selector string) string {
	switch {
	case selector == "":
		return ""
	case q.instant:
		return selector
	case q.window == "":
		return ""
	}
	return fmt.Sprintf("%s(%s[%s])", fn, selector, q.window)
}

// rangeOf writes a length as a PromQL range. Two scrapes 15 s apart need a
// little more than 15 s: ranges are left-open.
func rangeOf(ns int64) string { return fmt.Sprintf("%ds", int64(math.Ceil(float64(ns)/1e9))+1) }

// sharedSelector selects the series of both selectors: their name with the terms
// they have in common. It is "" where they have no name in common, since terms
// alone would take in everything.
func sharedSelector(a, b string) string {
	if a == b {
		return a
	}
	na, ta := selectorParts(a)
	nb, tb := selectorParts(b)
	terms := slices.DeleteFunc(ta, func(t string) bool { return !slices.Contains(tb, t) })
	switch {
	case na != nb || na == "" && !slices.ContainsFunc(terms, func(t string) bool { return strings.HasPrefix(t, "__name__") }):
		return ""
	case len(terms) == 0:
		return na
	}
	return na + "{" + strings.Join(terms, ",") + "}"
}

// selectorParts splits name{a="x",b="y"}. Commas within quotes part nothing.
func selectorParts(s string) (name string, terms []string) {
	name, rest, ok := strings.Cut(s, "{")
	if !ok {
		return s, nil
	}
	rest = strings.TrimSuffix(rest, "}")
	quoted, from := false, 0
	for i := 0; i < len(rest); i++ {
		switch {
		case quoted && rest[i] == '\\':
			i++
		case rest[i] == '"':
			quoted = !quoted
		case rest[i] == ',' && !quoted:
			terms = append(terms, rest[from:i])
			from = i + 1
		}
	}
	return name, append(terms, rest[from:])
}

package column

import (
	"fmt"
	"strings"
)

// A Mapping is a user's word on a column: the canonical column Canonical is the
// file's column Column, in Unit.
type Mapping struct {
	Canonical string
	Column    string
	Unit      Unit // NoUnit: the other rules decide
}

// String writes the mapping as --map takes it.
func (m Mapping) String() string {
	s := m.Canonical + "=" + m.Column
	if m.Unit != NoUnit {
		s += ":" + m.Unit.String()
	}
	return s
}

// ParseMapping reads `canonical=column[:unit]`, as in `ttft=first_token:ms`. A
// column name may hold colons: the part behind the last one is a unit only if
// it is one, or if it looks like an attempt at one.
func ParseMapping(s string) (Mapping, error) {
	name, rest, ok := strings.Cut(s, "=")
	name, rest = strings.TrimSpace(name), strings.TrimSpace(rest)
	if !ok || name == "" || rest == "" {
		return Mapping{}, fmt.Errorf("mapping %q: want canonical=column[:unit], e.g. ttft=first_token:ms", s)
	}
	c := canonByName(name)
	if c == nil {
		return Mapping{}, fmt.Errorf("mapping %q: no canonical column is called %q, %s", s, name, whichCanon(name))
	}
	m := Mapping{Canonical: c.name, Column: rest}
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return m, nil
	}
	col, unit := strings.TrimSpace(rest[:i]), strings.TrimSpace(rest[i+1:])
	if col == "" {
		return Mapping{}, fmt.Errorf("mapping %q: no column before the unit", s)
	}
	u, ok := ParseUnit(unit)
	if !ok {
		return Mapping{}, fmt.Errorf("mapping %q: %q is no unit, did you mean %q? (ns, us, ms, s)", s, unit, nearest(unit, unitNames[1:]))
	}
	if !c.timed() {
		return Mapping{}, fmt.Errorf("mapping %q: %s is no duration or instant and takes no unit", s, c.name)
	}
	m.Column, m.Unit = col, u
	return m, nil
}

// whichCanon helps with the name of no canonical column: with the nearest one where
// that is near, else with all.
func whichCanon(name string) string {
	if n := nearest(name, canonNames()); 2*distance(name, n) <= len(n) {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "want one of " + strings.Join(canonNames(), ", ")
}

// nearest returns the candidate with the least edit distance to s, the first
// of several.
func nearest(s string, candidates []string) string {
	best, at := "", 1<<30
	for _, c := range candidates {
		if d := distance(strings.ToLower(s), strings.ToLower(c)); d < at {
			best, at = c, d
		}
	}
	return best
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diag, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diag+cost)
		}
	}
	return row[len(b)]
}

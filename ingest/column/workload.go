package column

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A WorkloadRule names the workload of the rows whose text column matches.
type WorkloadRule struct {
	Name   string
	Column string         // a text column, or "run" for the label or path of a whole file
	Match  *regexp.Regexp // of the whole or a part of the value
}

// ParseWorkloadRule reads `NAME=COLUMN=~REGEX` or `NAME=COLUMN=VALUE`; the second
// wants the whole value.
func ParseWorkloadRule(s string) (WorkloadRule, error) {
	const want = "want NAME=COLUMN=VALUE or NAME=COLUMN=~REGEX, e.g. chat=endpoint=~^/v1/chat"
	name, rest, ok := strings.Cut(s, "=")
	col, value, ok2 := strings.Cut(rest, "=")
	name, col = strings.TrimSpace(name), strings.TrimSpace(col)
	if !ok || !ok2 || name == "" || col == "" {
		return WorkloadRule{}, fmt.Errorf("workload rule %q: %s", s, want)
	}
	pattern, isRegexp := strings.CutPrefix(value, "~")
	if !isRegexp {
		pattern = "^" + regexp.QuoteMeta(value) + "$"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return WorkloadRule{}, fmt.Errorf("workload rule %q: %w", s, err)
	}
	return WorkloadRule{Name: name, Column: col, Match: re}, nil
}

// RunColumn is the column name by which a rule speaks of a whole run or table.
const RunColumn = "run"

// WorkloadOf returns the workload that the rules give to a whole run by its
// label or path.
func WorkloadOf(rules []WorkloadRule, texts ...string) (string, bool) {
	for _, r := range rules {
		if r.Column == RunColumn && slices.ContainsFunc(texts, r.Match.MatchString) {
			return r.Name, true
		}
	}
	return "", false
}

// Label returns a table whose workload column follows the rules: the first that
// matches a row names it, a row that none matches keeps its own. Rules on
// columns that the table lacks do not apply; where none is left, the table is
// returned as it is.
func Label(src serving.Requests, rules []WorkloadRule) serving.Requests {
	t := &labelled{Requests: src, dict: serving.NewDict()}
	for _, r := range rules {
		if r.Column == RunColumn && r.Match.MatchString(src.Name()) || isText(src.Columns(), r.Column) {
			t.rules = append(t.rules, r)
		}
	}
	if len(t.rules) == 0 {
		return src
	}
	t.own = isText(src.Columns(), serving.ColWorkload)
	return t
}

func isText(columns []serving.Column, name string) bool {
	return slices.ContainsFunc(columns, func(c serving.Column) bool { return c.Name == name && c.Kind == serving.KindText })
}

// A labelled table answers for the workload column itself and passes everything
// else on.
type labelled struct {
	serving.Requests
	rules []WorkloadRule
	own   bool // the table has a workload column of its own
	dict  *serving.Dict
}

// Columns implements serving.Requests.
func (t *labelled) Columns() []serving.Column { return Labelled(t.Requests.Columns(), t.rules) }

// Labelled returns columns of which that of the workload follows rules.
func Labelled(columns []serving.Column, rules []WorkloadRule) []serving.Column {
	if len(rules) == 0 {
		return columns
	}
	var from []string
	for _, r := range rules {
		if !slices.Contains(from, r.Column) {
			from = append(from, r.Column)
		}
	}
	col := serving.Column{Name: serving.ColWorkload, Kind: serving.KindText, From: strings.Join(from, ", "), How: "rule"}
	cols := slices.Clone(columns)
	i := slices.IndexFunc(cols, func(c serving.Column) bool { return c.Name == serving.ColWorkload })
	if i < 0 {
		return append(cols, col)
	}
	cols[i] = col
	return cols
}

// Dict implements serving.Requests.
func (t *labelled) Dict(column string) *serving.Dict {
	if column == serving.ColWorkload {
		return t.dict
	}
	return t.Requests.Dict(column)
}

// Parts implements serving.Requests.
func (t *labelled) Parts() []serving.Part {
	var out []serving.Part
	for _, p := range t.Requests.Parts() {
		out = append(out, &labelledPart{p, t})
	}
	return out
}

type labelledPart struct {
	serving.Part
	t *labelled
}

// Scan implements serving.Part. A rule is tried once a distinct value of its
// column, not once a row.
func (p *labelledPart) Scan(ctx context.Context, want []string, problems *serving.Problems, yield func(*serving.Batch) error) error {
	at := slices.Index(want, serving.ColWorkload)
	if at < 0 {
		return p.Part.Scan(ctx, want, problems, yield)
	}
	inner := slices.Clone(want)
	if !p.t.own {
		inner = slices.Delete(inner, at, at+1)
	}
	var at2 []int // of each rule's column among those scanned
	var hits []map[int32]bool
	for _, r := range p.t.rules {
		i := -1
		if r.Column != RunColumn {
			if i = slices.Index(inner, r.Column); i < 0 {
				i = len(inner)
				inner = append(inner, r.Column)
			}
		}
		at2, hits = append(at2, i), append(hits, map[int32]bool{})
	}
	l := labeller{t: p.t, at: at2, hits: hits, own: slices.Index(inner, serving.ColWorkload)}
	out := serving.Batch{Cols: make([]serving.Vector, len(want))}
	return p.Part.Scan(ctx, inner, problems, func(b *serving.Batch) error {
		out.Row, out.N, out.Lasting = b.Row, b.N, b.Lasting
		k := 0
		for i := range want {
			if i == at {
				out.Cols[i] = l.label(b)
				if !p.t.own {
					continue
				}
			} else {
				out.Cols[i] = b.Cols[k]
			}
			k++
		}
		return yield(&out)
	})
}

// A labeller labels the rows of one scan.
type labeller struct {
	t     *labelled
	at    []int
	hits  []map[int32]bool // per rule: whether a code of its column matches
	own   int              // the table's own workload column among those scanned; -1
	codes []int32
}

func (l *labeller) label(b *serving.Batch) serving.Vector {
	l.codes = slices.Grow(l.codes[:0], b.N)[:b.N]
	valid := serving.NewBitmap(b.N)
	for i := range b.N {
		if name, ok := l.row(b, i); ok {
			l.codes[i] = l.t.dict.Code(name)
			valid.Set(i)
		}
	}
	return serving.Vector{Kind: serving.KindText, Codes: l.codes, Valid: valid}
}

func (l *labeller) row(b *serving.Batch, i int) (string, bool) {
	for k, r := range l.t.rules {
		if l.at[k] < 0 {
			return r.Name, true
		}
		v := &b.Cols[l.at[k]]
		if !v.Has(i) {
			continue
		}
		code := v.Codes[i]
		hit, known := l.hits[k][code]
		if !known {
			hit = r.Match.MatchString(l.t.Requests.Dict(r.Column).Name(code))
			l.hits[k][code] = hit
		}
		if hit {
			return r.Name, true
		}
	}
	if l.own >= 0 && b.Cols[l.own].Has(i) {
		return l.t.Requests.Dict(serving.ColWorkload).Name(b.Cols[l.own].Codes[i]), true
	}
	return "", false
}

package serving

import (
	"fmt"
	"strings"
)

// Pos is a place in an input. Every part is optional; String joins what there
// is, as `results/b.json:12: requests[11].ttft_ms` or `trace.parquet: row 10482: output_tokens`.
type Pos struct {
	Path  string // as the user named it
	Line  int    // 1-based; 0 if not a text or not known
	Row   int64  // 1-based row of a table; 0 if none
	Field string // a field, column or JSON path; "" if none
}

// String formats the position for an error message.
func (p Pos) String() string {
	var b strings.Builder
	b.WriteString(p.Path)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Row > 0 {
		sep(&b)
		fmt.Fprintf(&b, "row %d", p.Row)
	}
	if p.Field != "" {
		sep(&b)
		b.WriteString(p.Field)
	}
	return b.String()
}

func sep(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteString(": ")
	}
}

// A Problem is a bad record or a doubt about one: data with a position, not the
// end of reading. Message says what was found, what was expected and, where
// there is a remedy, what to do.
type Problem struct {
	At      Pos
	Message string
	Count   int // how many records it stands for; 0 means 1
}

// String formats the problem as one line.
func (p Problem) String() string {
	s := p.At.String()
	if s != "" {
		s += ": "
	}
	s += p.Message
	if p.Count > 1 {
		s += fmt.Sprintf(" (%d records)", p.Count)
	}
	return s
}

// A FormatError says that an input as a whole cannot be read: it is known what
// it is (Format), but it is damaged, encrypted or of a kind that is refused.
type FormatError struct {
	At     Pos
	Format string // a format name of the contract, or ""
	Found  string
	Want   string
	Remedy string
}

// Error formats the error as `position: found, want …; remedy`.
func (e *FormatError) Error() string {
	s := e.At.String()
	if s != "" {
		s += ": "
	}
	s += e.Found
	if e.Want != "" {
		s += ", want " + e.Want
	}
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// maxProblems bounds what one input may remember; the rest is counted.
const maxProblems = 200

// Problems collects the problems of one input, bounded: the first of each kind
// are kept with their positions, repetitions are counted.
//
// It is not safe for concurrent use; a parallel scan gives each worker its own
// and merges them in part order.
type Problems struct {
	list  []Problem
	index map[string]int // kind → position in list
	lost  int
}

// Add records a problem.
func (ps *Problems) Add(p Problem) {
	if len(ps.list) >= maxProblems {
		ps.lost += max(p.Count, 1)
		return
	}
	ps.list = append(ps.list, p)
}

// AddKind records a problem of a kind that may repeat a million times: the
// first is kept with its position, later ones only raise its count.
func (ps *Problems) AddKind(kind string, p Problem) {
	if ps.index == nil {
		ps.index = map[string]int{}
	}
	if i, ok := ps.index[kind]; ok {
		ps.list[i].Count = max(ps.list[i].Count, 1) + max(p.Count, 1)
		return
	}
	if len(ps.list) < maxProblems {
		ps.index[kind] = len(ps.list)
	}
	ps.Add(p)
}

// Merge appends another collection's problems; kinds fold together.
func (ps *Problems) Merge(o *Problems) {
	kinds := make(map[int]string, len(o.index))
	for k, i := range o.index {
		kinds[i] = k
	}
	for i, p := range o.list {
		if k, ok := kinds[i]; ok {
			ps.AddKind(k, p)
		} else {
			ps.Add(p)
		}
	}
	ps.lost += o.lost
}

// List returns the problems in the order they were found, the overflow last.
func (ps *Problems) List() []Problem {
	out := append([]Problem(nil), ps.list...)
	if ps.lost > 0 {
		out = append(out, Problem{Message: fmt.Sprintf("%d further problems are not listed", ps.lost), Count: ps.lost})
	}
	return out
}

// Len returns the number of records that had a problem.
func (ps *Problems) Len() int {
	n := ps.lost
	for _, p := range ps.list {
		n += max(p.Count, 1)
	}
	return n
}

// A Doubt is about a column of a table whose values others of the same rows
// contradict: it is Ratio times what they give.
type Doubt struct {
	Metric MetricKey
	Ratio  float64
	Text   string
}

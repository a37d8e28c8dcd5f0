package serving

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// A Rollup is a table of requests after aggregation: counts and histograms of
// cells, which add up. It is what one machine sends where the requests
// themselves are too many. It has a table's name, side and columns, and no
// parts: there are no rows left to scan.
type Rollup struct {
	Label   string
	Spec    RollupSpec
	Files   []string // what it was read from
	Rows    int64    // requests seen, excluded ones included
	Skipped map[string]int64

	Arrival RollupSpan // µs
	End     RollupSpan // µs

	Cells []*RollupCell // by key, ascending
}

// A RollupSpec says what the cells of a rollup are. Rollups whose specs agree
// add up.
type RollupSpec struct {
	Layout    string             `json:"layout"`
	Writer    string             `json:"writer,omitempty"` // who made it, for people
	Side      Side               `json:"side"`
	Relative  bool               `json:"relative,omitempty"` // times count from an arbitrary origin
	Gaps      string             `json:"gaps,omitempty"`     // of itl: token or chunk
	Dims      []string           `json:"dims"`               // of the columns d1, d2, …
	GroupBy   []string           `json:"group_by"`           // the cross of slices
	Groupings [][]string         `json:"groupings"`          // which combinations of dims have cells
	Buckets   map[string][]int64 `json:"buckets,omitempty"`  // lower bounds of count dims
	WarmShare float64            `json:"warm_share"`
	SLOs      []string           `json:"slo,omitempty"`
	Goodput   string             `json:"goodput,omitempty"` // conditions in ms: ttft:500,tpot:50
	Window    string             `json:"window,omitempty"`  // only arrivals in it, FROM/TO in ns
	StepUS    int64              `json:"step_us,omitempty"` // of time windows; 0: none
	Columns   []string           `json:"columns"`           // canonical columns of the requests
	Values    int64              `json:"values,omitempty"`  // what the counts of all rows of a table come to; 0: not said
}

// RollupTime is the dimension of time windows in Groupings.
const RollupTime = "@time"

// A RollupSpan is the least and the greatest of some times; N is how many.
type RollupSpan struct{ N, Least, Most int64 }

func (s *RollupSpan) add(o RollupSpan) {
	switch {
	case o.N == 0:
	case s.N == 0:
		*s = o
	default:
		s.N, s.Least, s.Most = AddCounts(s.N, o.N), min(s.Least, o.Least), max(s.Most, o.Most)
	}
}

// A RollupCell is what is known of one combination of values.
type RollupCell struct {
	By     []string // aligned with Spec.Dims; "" where the cell is not split by it
	Window string   // start of its time window in µs, "unknown" for requests without a time, "" where not split by time

	Outcomes [NumOutcomes]int64
	Good     int64   // met every condition of Spec.Goodput
	Within   []int64 // aligned with Spec.SLOs: requests within the limit
	Of       []int64 // aligned with Spec.SLOs: requests it is for
	Whole    int64   // answers that came whole, not streamed
	Brief    int64   // completed and streamed, at most one output token
	Input    int64   // prompt tokens of completed requests
	Output   int64
	Cached   int64
	CachedOf int64 // prompt tokens of completed requests that say what was cached

	Metrics map[MetricKey]RollupHistogram // of completed requests
}

// Sent is how many requests the cell has.
func (c *RollupCell) Sent() int64 {
	n := int64(0)
	for _, k := range c.Outcomes {
		n += k
	}
	return n
}

// Counts and sums above these are damage: they would not add up in 64 bits. They
// hold for the cells of one grouping together, since such are added up.
const (
	MaxRollupN     = 1 << 50
	MaxRollupTotal = 1 << 60
)

// Weight returns the greatest count and the greatest sum of a cell, which bound
// what adding it can do.
func (c *RollupCell) Weight() (n, total int64) {
	n = max(c.Good, c.Whole, c.Brief)
	total = max(c.Input, c.Output, c.Cached, c.CachedOf)
	for _, k := range [][]int64{c.Within, c.Of} {
		n = max(n, slices.Max(append([]int64{0}, k...)))
	}
	sent := int64(0)
	for _, k := range c.Outcomes {
		sent = AddCounts(sent, k)
	}
	n = max(n, sent)
	for _, h := range c.Metrics {
		values, sum := int64(0), int64(0)
		for _, x := range h {
			values, sum = AddCounts(values, x.N), AddCounts(sum, x.Total)
		}
		n, total = max(n, values), max(total, sum)
	}
	return n, total
}

// AddCounts adds two counts, neither negative. A sum that 64 bits do not hold is
// the greatest number there is, and not a smaller one.
func AddCounts(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// A RollupHistogram is the buckets that have values, ascending.
type RollupHistogram []RollupCount

// A RollupCount is the values of one bucket, as whole numbers: how many, their
// sum, the sum of their squares, the least and the greatest.
type RollupCount struct {
	Bucket      int32
	N           int64
	Total       int64
	Squares     float64
	Least, Most int64
}

func (a *RollupCount) add(b RollupCount) {
	a.N, a.Total = AddCounts(a.N, b.N), AddCounts(a.Total, b.Total)
	a.Squares += b.Squares
	a.Least, a.Most = min(a.Least, b.Least), max(a.Most, b.Most)
}

// Key orders the cells of a rollup and tells them apart.
func (c *RollupCell) Key() string { return strings.Join(c.By, "\x00") + "\x01" + c.Window }

// Name is what the dataset is called.
func (r *Rollup) Name() string { return r.Label }

// Side says where the times were measured.
func (r *Rollup) Side() Side {
	if r.Spec.Side == "" {
		return UnknownSide
	}
	return r.Spec.Side
}

// Columns lists the columns that the requests had.
func (r *Rollup) Columns() []Column {
	var out []Column
	for _, name := range r.Spec.Columns {
		c := Column{Name: name, Kind: KindText, How: "rollup"}
		if m, ok := MetricOf(MetricKey(name)); ok {
			c.Kind = KindDuration
			if m.Unit == Tokens {
				c.Kind = KindCount
			}
			if m.Key == ITL {
				c.Kind, c.Gaps = KindGaps, r.Spec.Gaps
			}
		}
		if name == ColArrival || name == ColEnd {
			c.Kind, c.Relative = KindTime, r.Spec.Relative
		}
		out = append(out, c)
	}
	return out
}

// Parts is empty: the requests are gone.
func (r *Rollup) Parts() []Part { return nil }

// Rescannable is true of nothing, too.
func (r *Rollup) Rescannable() bool { return true }

// Dict returns no table: there are no texts of requests.
func (r *Rollup) Dict(string) *Dict { return nil }

// Differs says what keeps two rollups from being added: "" where nothing does.
// Steps of time windows may differ, and so may the columns.
func (s *RollupSpec) Differs(o *RollupSpec) string {
	show := func(v any) string {
		if t := fmt.Sprint(v); t != "" && t != "[]" && t != "map[]" {
			return t
		}
		return "none"
	}
	for _, f := range []struct {
		what string
		a, b any
	}{
		{"bucket layout", s.Layout, o.Layout},
		{"side of the times", s.Side, o.Side},
		{"origin of times (relative)", s.Relative, o.Relative},
		{"gaps of itl", s.Gaps, o.Gaps},
		{"objectives (--slo)", s.SLOs, o.SLOs},
		{"goodput", s.Goodput, o.Goodput},
		{"--group-by", s.GroupBy, o.GroupBy},
		{"bounds of --buckets", s.Buckets, o.Buckets},
		{"share from which a prompt is warm", s.WarmShare, o.WarmShare},
		{"--window", s.Window, o.Window},
	} {
		a, b := show(f.a), show(f.b)
		if f.what == "gaps of itl" && (a == "none" || b == "none") {
			continue // one has no gaps at all
		}
		if a != b {
			return fmt.Sprintf("%s: %s against %s", f.what, a, b)
		}
	}
	return ""
}

// Add adds another rollup: counts and sums are added cell by cell. The order of
// additions matters to no figure but the last bits of a standard deviation. An
// error says what the two do not share.
func (r *Rollup) Add(ctx context.Context, o *Rollup) error {
	if d := r.Spec.Differs(&o.Spec); d != "" {
		return fmt.Errorf("its %s", d)
	}
	r.Rows = AddCounts(r.Rows, o.Rows)
	r.Files = append(r.Files, o.Files...)
	for k, n := range o.Skipped {
		if r.Skipped == nil {
			r.Skipped = map[string]int64{}
		}
		r.Skipped[k] = AddCounts(r.Skipped[k], n)
	}
	r.Arrival.add(o.Arrival)
	r.End.add(o.End)
	place := r.widen(&o.Spec)
	at := make(map[string]*RollupCell, len(r.Cells))
	for _, c := range r.Cells {
		at[c.Key()] = c
	}
	for i, c := range o.Cells {
		if i&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c = c.moved(place, len(r.Spec.Dims))
		have := at[c.Key()]
		if have == nil {
			r.Cells = append(r.Cells, c)
			continue
		}
		have.add(c)
		if n, total := have.Weight(); n > MaxRollupN || total > MaxRollupTotal {
			return fmt.Errorf("counts and sums come to more than a rollup holds (%d and %d)", int64(MaxRollupN), int64(MaxRollupTotal))
		}
	}
	SortRollupCells(r.Cells)
	return nil
}

// widen takes in the dims, groupings, columns and steps of another spec, and
// returns where each of its dims stands.
func (r *Rollup) widen(o *RollupSpec) []int {
	s := &r.Spec
	place := make([]int, len(o.Dims))
	for i, d := range o.Dims {
		if place[i] = slices.Index(s.Dims, d); place[i] < 0 {
			place[i] = len(s.Dims)
			s.Dims = append(s.Dims, d)
		}
	}
	for _, g := range o.Groupings {
		if !slices.ContainsFunc(s.Groupings, func(h []string) bool { return slices.Equal(g, h) }) {
			s.Groupings = append(s.Groupings, g)
		}
	}
	for _, c := range o.Columns {
		if !slices.Contains(s.Columns, c) {
			s.Columns = append(s.Columns, c)
		}
	}
	s.Gaps = cmp.Or(s.Gaps, o.Gaps)
	if s.StepUS > 0 && o.StepUS > 0 {
		s.StepUS = lcm(s.StepUS, o.StepUS)
	} else {
		s.StepUS = max(s.StepUS, o.StepUS)
	}
	for _, c := range r.Cells {
		for len(c.By) < len(s.Dims) {
			c.By = append(c.By, "")
		}
	}
	return place
}

// lcm is the least common multiple; the greatest number there is, where 64 bits do
// not hold it.
func lcm(a, b int64) int64 {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	if b > math.MaxInt64/(a/x) {
		return math.MaxInt64
	}
	return a / x * b
}

// moved returns the cell with its values at the places of another spec's dims.
func (c *RollupCell) moved(place []int, dims int) *RollupCell {
	out := *c
	out.By = make([]string, dims)
	for i, v := range c.By {
		out.By[place[i]] = v
	}
	out.Within, out.Of = slices.Clone(c.Within), slices.Clone(c.Of)
	out.Metrics = maps.Clone(c.Metrics)
	return &out
}

func (c *RollupCell) add(o *RollupCell) {
	plus := func(a *int64, b int64) { *a = AddCounts(*a, b) }
	for i, n := range o.Outcomes {
		plus(&c.Outcomes[i], n)
	}
	for i := range o.Within {
		plus(&c.Within[i], o.Within[i])
		plus(&c.Of[i], o.Of[i])
	}
	plus(&c.Good, o.Good)
	plus(&c.Whole, o.Whole)
	plus(&c.Brief, o.Brief)
	plus(&c.Input, o.Input)
	plus(&c.Output, o.Output)
	plus(&c.Cached, o.Cached)
	plus(&c.CachedOf, o.CachedOf)
	for k, h := range o.Metrics {
		if c.Metrics == nil {
			c.Metrics = map[MetricKey]RollupHistogram{}
		}
		c.Metrics[k] = c.Metrics[k].Plus(h)
	}
}

// SumRollupCells returns the sum of cells, with the key of the first.
func SumRollupCells(cells ...*RollupCell) *RollupCell {
	out := *cells[0]
	out.Within, out.Of = slices.Clone(out.Within), slices.Clone(out.Of)
	out.Metrics = maps.Clone(out.Metrics)
	for _, c := range cells[1:] {
		out.add(c)
	}
	return &out
}

// Plus returns the sum of two histograms, without changing either.
func (h RollupHistogram) Plus(o RollupHistogram) RollupHistogram {
	out := make(RollupHistogram, 0, len(h)+len(o))
	i, j := 0, 0
	for i < len(h) || j < len(o) {
		switch {
		case j == len(o) || i < len(h) && h[i].Bucket < o[j].Bucket:
			out = append(out, h[i])
			i++
		case i == len(h) || o[j].Bucket < h[i].Bucket:
			out = append(out, o[j])
			j++
		default:
			c := h[i]
			c.add(o[j])
			out = append(out, c)
			i, j = i+1, j+1
		}
	}
	return out
}

// SortRollupCells puts cells in the order of their keys.
func SortRollupCells(cells []*RollupCell) {
	slices.SortFunc(cells, func(a, b *RollupCell) int { return strings.Compare(a.Key(), b.Key()) })
}

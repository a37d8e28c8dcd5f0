package rollup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// A Builder puts rows together to a rollup. The rows may come in any order; bad
// ones become problems.
type Builder struct {
	path     string
	problems *serving.Problems
	spec     *serving.RollupSpec
	out      serving.Rollup
	cells    map[string]*building
	counts   int
	slos     int
	dims     int
	mixed    bool  // specs name different groupings
	stated   int64 // what all counts come to, as the specs have it; 0 where one does not
	counted  int64 // what they come to

	arrival, end serving.Pos // of the rows that say when
}

// A building is a cell whose buckets are not in order yet.
type building struct {
	serving.RollupCell
	at         serving.Pos // of its first row
	within, of map[int]int64
}

// maxCounts bounds the buckets of one file: 48 bytes each.
const maxCounts = 16 << 20

// NewBuilder returns a builder for the rows of one file.
func NewBuilder(path string, problems *serving.Problems) *Builder {
	return &Builder{path: path, problems: problems, cells: map[string]*building{}}
}

// Add takes a row in; at is where it stands, for problems. An error ends the
// file: it is no rollup that can be read.
func (b *Builder) Add(r *Row, at serving.Pos) error {
	switch r.Kind {
	case kindSpec:
		return b.addSpec(r.Spec, at)
	case kindCell:
	default:
		b.problem(at, colKind, "%q is no kind of row, want %s or %s", r.Kind, kindSpec, kindCell)
		return nil
	}
	if r.N < 0 {
		b.problem(at, colN, "%d is no count, want 0 or more", r.N)
		return nil
	}
	if r.N == 0 {
		return nil
	}
	b.counted = serving.AddCounts(b.counted, r.N)
	if r.N > serving.MaxRollupN || r.Total < 0 || r.Total > serving.MaxRollupTotal {
		b.problem(at, colTotal, "a count of %d with a sum of %d is beyond what a rollup holds, want at most %d and from 0 to %d", r.N, r.Total, int64(serving.MaxRollupN), int64(serving.MaxRollupTotal))
		return nil
	}
	if strings.HasPrefix(r.Metric, "@") {
		b.addCount(r, at)
		return nil
	}
	return b.addBucket(r, at)
}

func (b *Builder) problem(at serving.Pos, field, format string, a ...any) {
	at.Field = field
	b.problems.AddKind(field+format, serving.Problem{At: at, Message: fmt.Sprintf(format, a...), Count: 1})
}

func (b *Builder) wrong(at serving.Pos, found, want, remedy string) error {
	return &serving.FormatError{At: at, Format: Format, Found: found, Want: want, Remedy: remedy}
}

const remake = "make the rollup again with vreport sql or vreport rollup of this version"

func (b *Builder) addSpec(text string, at serving.Pos) error {
	at.Field = colSpec
	var s serving.RollupSpec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return b.wrong(at, fmt.Sprintf("no spec of a rollup: %v", err), "a JSON object", remake)
	}
	stated := s.Values
	s.Values = 0 // of the file, not of what it adds up to
	if s.Layout != serving.RollupLayout {
		return b.wrong(at, fmt.Sprintf("bucket layout %q", s.Layout), serving.RollupLayout, remake)
	}
	if why := checkSpec(&s); why != "" {
		return b.wrong(at, why, "a spec as vreport writes it", remake)
	}
	if b.spec == nil {
		b.spec, b.stated = &s, stated
		return nil
	}
	b.mixed = b.mixed || !sameGroupings(b.spec.Groupings, s.Groupings)
	if b.stated > 0 && stated > 0 {
		b.stated = serving.AddCounts(b.stated, stated)
	} else {
		b.stated = 0
	}
	if !slices.Equal(s.Dims, b.spec.Dims) {
		return b.wrong(at, fmt.Sprintf("two rollups of different dimensions in one file: %v and %v", b.spec.Dims, s.Dims), "one", "leave them in files of their own: vreport adds them up")
	}
	if d := b.spec.Differs(&s); d != "" {
		return b.wrong(at, "two rollups in one file that cannot be added: "+d, "equal ones", "make them with the same options")
	}
	if s.StepUS != b.spec.StepUS {
		return b.wrong(at, fmt.Sprintf("two rollups of different steps in one file: %d and %d µs", b.spec.StepUS, s.StepUS), "one", "leave them in files of their own: vreport adds them up")
	}
	for _, g := range s.Groupings {
		if !slices.ContainsFunc(b.spec.Groupings, func(h []string) bool { return slices.Equal(g, h) }) {
			b.spec.Groupings = append(b.spec.Groupings, g)
		}
	}
	for _, c := range s.Columns {
		if !slices.Contains(b.spec.Columns, c) {
			b.spec.Columns = append(b.spec.Columns, c)
		}
	}
	return nil
}

// sameGroupings compares groupings, in any order.
func sameGroupings(a, b [][]string) bool {
	names := func(of [][]string) []string {
		var out []string
		for _, g := range of {
			out = append(out, groupingName(g))
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	return slices.Equal(names(a), names(b))
}

// checkSpec says what is wrong with a spec, "" for nothing.
func checkSpec(s *serving.RollupSpec) string {
	switch {
	case len(s.Dims) > maxDims:
		return fmt.Sprintf("%d dimensions", len(s.Dims))
	case s.StepUS < 0 || s.StepUS > 1<<53:
		return fmt.Sprintf("a step of %d µs", s.StepUS)
	case !(s.WarmShare > 0 && s.WarmShare <= 1):
		return fmt.Sprintf("a warm share of %v", s.WarmShare)
	}
	for i, d := range s.Dims {
		if d == "" || d == serving.RollupTime || slices.Contains(s.Dims[:i], d) {
			return fmt.Sprintf("dimension %q", d)
		}
	}
	known := func(d string) bool { return slices.Contains(s.Dims, d) }
	for _, g := range append(slices.Clone(s.Groupings), s.GroupBy) {
		for _, d := range g {
			if !known(d) && d != serving.RollupTime {
				return fmt.Sprintf("grouping %v without dimension %q", g, d)
			}
		}
	}
	for d, bounds := range s.Buckets {
		for i, v := range bounds {
			if v <= 0 || i > 0 && v <= bounds[i-1] {
				return fmt.Sprintf("bounds %v of %s", bounds, d)
			}
		}
	}
	for _, x := range s.SLOs {
		if _, err := serving.ParseSLO(x); err != nil {
			return err.Error()
		}
	}
	if s.Goodput != "" {
		if _, err := serving.ParseGoodput(s.Goodput); err != nil {
			return err.Error()
		}
	}
	return ""
}

// cell returns the cell of a row.
func (b *Builder) cell(r *Row, at serving.Pos) *building {
	if r.Window != "" && r.Window != "unknown" {
		if _, err := strconv.ParseInt(r.Window, 10, 64); err != nil {
			b.problem(at, colWindow, "%q is no time, want microseconds, unknown or nothing", r.Window)
			return nil
		}
	}
	b.dims = max(b.dims, len(r.Dims))
	key := serving.RollupCell{By: r.Dims, Window: r.Window}
	k := key.Key()
	c := b.cells[k]
	if c == nil {
		c = &building{at: at, within: map[int]int64{}, of: map[int]int64{}}
		c.By, c.Window, c.Metrics = slices.Clone(r.Dims), r.Window, map[serving.MetricKey]serving.RollupHistogram{}
		b.cells[k] = c
	}
	return c
}

// addCount takes in a row that is no distribution.
func (b *Builder) addCount(r *Row, at serving.Pos) {
	switch r.Metric {
	case mRows:
		b.out.Rows = serving.AddCounts(b.out.Rows, r.N)
		return
	case mArrival:
		b.addSpan(&b.out.Arrival, &b.arrival, r, at)
		return
	case mEnd:
		b.addSpan(&b.out.End, &b.end, r, at)
		return
	}
	if reason, ok := strings.CutPrefix(r.Metric, mSkipped); ok {
		if b.out.Skipped == nil {
			b.out.Skipped = map[string]int64{}
		}
		b.out.Skipped[reason] = serving.AddCounts(b.out.Skipped[reason], r.N)
		return
	}
	c := b.cell(r, at)
	if c == nil {
		return
	}
	switch r.Metric {
	case mOutcome:
		if r.Bucket < 0 || r.Bucket >= int64(serving.NumOutcomes) {
			b.problem(at, colBucket, "%d is no outcome, want 0 to %d", r.Bucket, serving.NumOutcomes-1)
			return
		}
		c.Outcomes[r.Bucket] = serving.AddCounts(c.Outcomes[r.Bucket], r.N)
	case mGood:
		if r.Bucket == 1 {
			c.Good = serving.AddCounts(c.Good, r.N)
		}
	case mWhole:
		c.Whole = serving.AddCounts(c.Whole, r.N)
	case mBrief:
		c.Brief = serving.AddCounts(c.Brief, r.N)
	case mInput:
		c.Input = serving.AddCounts(c.Input, r.Total)
	case mOutput:
		c.Output = serving.AddCounts(c.Output, r.Total)
	case mCached:
		c.Cached = serving.AddCounts(c.Cached, r.Total)
	case mCachedOf:
		c.CachedOf = serving.AddCounts(c.CachedOf, r.Total)
	default:
		digits, ok := strings.CutPrefix(r.Metric, mSLO)
		k, err := strconv.Atoi(digits)
		if !ok || err != nil || k < 1 || k > 1000 {
			b.problem(at, colMetric, "%q is no metric of a rollup", r.Metric)
			return
		}
		b.slos = max(b.slos, k)
		c.of[k-1] = serving.AddCounts(c.of[k-1], r.N)
		if r.Bucket == 1 {
			c.within[k-1] = serving.AddCounts(c.within[k-1], r.N)
		}
	}
}

// addBucket takes in a bucket of a metric.
func (b *Builder) addBucket(r *Row, at serving.Pos) error {
	k := serving.MetricKey(r.Metric)
	if _, ok := serving.MetricOf(k); !ok {
		b.problem(at, colMetric, "%q is no metric", r.Metric)
		return nil
	}
	if r.Bucket < 0 || r.Bucket > int64(serving.MaxRollupBucket) {
		b.problem(at, colBucket, "%d is no bucket, want 0 to %d", r.Bucket, serving.MaxRollupBucket)
		return nil
	}
	bucket := int32(r.Bucket)
	if r.Least < 0 || r.Least > r.Most || serving.RollupBucket(r.Least) != bucket || serving.RollupBucket(r.Most) != bucket {
		least, most := serving.RollupBounds(bucket)
		b.problem(at, colBucket, "values from %d to %d are not in bucket %d, which is from %d to %d: another layout?", r.Least, r.Most, bucket, least, most)
		return nil
	}
	if n := float64(r.N); float64(r.Total) < n*float64(r.Least)*(1-1e-9) || float64(r.Total) > n*float64(r.Most)*(1+1e-9) ||
		!(r.Squares >= 0) || r.Squares > n*float64(r.Most)*float64(r.Most)*(1+1e-9) {
		b.problem(at, colTotal, "a sum of %d (squares %g) is not that of %d values from %d to %d", r.Total, r.Squares, r.N, r.Least, r.Most)
		return nil
	}
	c := b.cell(r, at)
	if c == nil {
		return nil
	}
	if b.counts++; b.counts > maxCounts {
		return b.wrong(at, fmt.Sprintf("more than %d buckets", maxCounts), "a rollup of fewer slices and time windows", "group by fewer dimensions, or take a longer --step")
	}
	c.Metrics[k] = append(c.Metrics[k], serving.RollupCount{Bucket: bucket, N: r.N, Total: r.Total, Squares: r.Squares, Least: r.Least, Most: r.Most})
	return nil
}

// Rollup returns what the rows gave.
func (b *Builder) Rollup() (*serving.Rollup, error) {
	at := serving.Pos{Path: b.path}
	if b.spec == nil {
		return nil, b.wrong(at, "no row of kind "+kindSpec, "one that says what the buckets are", "take the whole result of the query")
	}
	if b.dims < len(b.spec.Dims) && len(b.cells) > 0 {
		return nil, b.wrong(at, fmt.Sprintf("%d columns of dimensions", b.dims), fmt.Sprintf("d1 to d%d", len(b.spec.Dims)), "take the whole result of the query")
	}
	if b.slos > len(b.spec.SLOs) {
		return nil, b.wrong(at, fmt.Sprintf("counts of %d objectives", b.slos), fmt.Sprintf("%d, as the spec says", len(b.spec.SLOs)), remake)
	}
	b.out.Spec, b.out.Files = *b.spec, []string{b.path}
	b.finish()
	if len(b.out.Cells) == 0 && len(b.cells) > 0 {
		return nil, b.wrong(at, "no cell whose counts agree", "counts of one query", remake)
	}
	serving.SortRollupCells(b.out.Cells)
	b.cells = nil
	return &b.out, nil
}

// finish moves the cells whose counts agree to the rollup.
func (b *Builder) finish() {
	at := make(map[*serving.RollupCell]serving.Pos, len(b.cells))
	var all []*serving.RollupCell
	for _, k := range slices.Sorted(maps.Keys(b.cells)) {
		pos := b.cells[k].at
		c := b.cells[k].finish(len(b.spec.Dims), len(b.spec.SLOs))
		all = append(all, c)
		if why := contradiction(c); why != "" {
			b.problem(pos, colN, "the cell %s has %s: its rows are not those of one query; it is left out", cellName(c), why)
			continue
		}
		at[c] = pos
		b.out.Cells = append(b.out.Cells, c)
	}
	b.checkTimes(at)
	Fit([]*serving.Rollup{&b.out}, func(_ int, c *serving.RollupCell, why string) {
		b.problem(at[c], colN, "%s", why)
	})
	short := b.stated > 0 && b.counted < b.stated
	if short {
		b.problem(serving.Pos{Path: b.path}, colN, "the counts of all rows come to %d, want %d as the spec says: rows of the table are missing", b.counted, b.stated)
	}
	b.checkComplete(all, short)
}

// finish puts a cell's buckets in order; rows of one bucket are added up.
func (c *building) finish(dims, slos int) *serving.RollupCell {
	c.By = c.By[:min(dims, len(c.By))]
	c.Within, c.Of = make([]int64, slos), make([]int64, slos)
	for k, n := range c.of {
		c.Of[k], c.Within[k] = n, c.within[k]
	}
	for k, h := range c.Metrics {
		slices.SortFunc(h, func(a, b serving.RollupCount) int {
			return cmp.Or(cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Squares, b.Squares))
		})
		out := h[:0]
		for _, x := range h {
			if n := len(out); n > 0 && out[n-1].Bucket == x.Bucket {
				out[n-1] = (serving.RollupHistogram{out[n-1]}).Plus(serving.RollupHistogram{x})[0]
				continue
			}
			out = append(out, x)
		}
		c.Metrics[k] = slices.Clip(out)
	}
	return &c.RollupCell
}

package render

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// slicesView shows for whom it is slow, a part a dataset. Traces come first;
// what many runs of a benchmark have to say is folded.
type slicesView struct{ Datasets, Folded []datasetView }

// maxOpenDatasets is how many datasets are shown without a click.
const maxOpenDatasets = 3

type datasetView struct {
	ID, Title, Sub string
	Warnings       *Warnings
	Heat           *Figure
	Cross          *Table // the cross where no heat map carries it
	Alone          *aloneView
	Explore        *exploreView
	Examples       *Table
	Columns        *Table
	Problems       *Table
}

type aloneView struct {
	Switch *Switch
	Tables []Panel
}

// maxSliceRows bounds a table of slices; the JSON has them all.
const maxSliceRows = 200

func viewSlices(c *pageContext, value any) (any, error) {
	s, err := valueAs[analyze.Slices](value)
	if err != nil {
		return nil, err
	}
	sorted := slices.Clone(s.Datasets)
	slices.SortStableFunc(sorted, func(a, b *analyze.DatasetStats) int { return b2i(a.Run != nil) - b2i(b.Run != nil) })
	var v slicesView
	for i, d := range sorted {
		one, err := c.dataset(fmt.Sprintf("slices-%d", i+1), d)
		if err != nil {
			return nil, err
		}
		if i < maxOpenDatasets && (d.Run == nil || len(sorted) <= maxOpenDatasets) {
			v.Datasets = append(v.Datasets, one)
		} else {
			v.Folded = append(v.Folded, one)
		}
	}
	return &v, nil
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *pageContext) dataset(id string, d *analyze.DatasetStats) (datasetView, error) {
	v := datasetView{ID: id, Title: d.Dataset, Sub: datasetNote(d), Examples: examplesTable(id+"-slow", d.Examples, relativeArrival(d.Columns)), Columns: columnsTable(id, d.Columns), Problems: problemsTable(id+"-problems", d.Problems)}
	if len(d.Warnings) > 0 {
		v.Warnings = &Warnings{"Read with care", d.Warnings}
	}
	// A cross of one dimension may be among those alone, which follow.
	twice := len(d.GroupBy) == 1 && slices.ContainsFunc(d.Alone, func(a analyze.Dimension) bool { return a.Name == d.GroupBy[0] })
	if len(d.Cross) > 0 && !twice {
		v.Cross = sliceTable(id+"-cross", "Slices by "+dimNames(d.GroupBy), d.GroupBy, d.Cross)
	}
	h := newHeat(d)
	if h != nil {
		f, ch, err := h.figure(id)
		if err != nil {
			return v, err
		}
		f.Tables = []Panel{{Table: h.table(id)}}
		v.Heat = c.draw(f, ch)
	}
	v.Alone = newAlone(id, d.Alone)
	var err error
	v.Explore, err = c.explore(id, d.Explore)
	return v, err
}

func datasetNote(d *analyze.DatasetStats) string {
	parts := []string{fmt.Sprintf("%s rows, times %s", FormatCount(d.Rows), sideWord(d.Side))}
	if d.All != nil {
		n := d.All.Counts
		parts = append(parts, fmt.Sprintf("%s sent, %s completed, %s failed", FormatCountOpt(n.Sent), FormatCountOpt(n.Completed), FormatCountOpt(n.Failed)))
	}
	if d.Span.OK {
		parts = append(parts, "over "+FormatSpan(d.Span.V))
	}
	for _, e := range d.Excluded {
		parts = append(parts, fmt.Sprintf("%s rows left out (%s)", FormatCount(e.Rows), e.Reason))
	}
	return strings.Join(parts, "; ") + "."
}

// dimTitle names a dimension for people.
func dimTitle(name string) string {
	switch name {
	case string(serving.PromptTokens):
		return "Prompt tokens"
	case string(serving.OutputTokens):
		return "Output tokens"
	case "cache":
		return "Cache state"
	}
	s := strings.ReplaceAll(name, "_", " ")
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func dimNames(dims []string) string {
	var out []string
	for _, d := range dims {
		out = append(out, strings.ToLower(dimTitle(d)))
	}
	return strings.Join(out, " × ")
}

// sliceTable is one row a slice, with its counts and shares beside its
// latencies.
func sliceTable(id, caption string, dims []string, list []*analyze.Slice) *Table {
	t := &Table{ID: id, Caption: caption, Sortable: true, Dense: true}
	for _, d := range dims {
		t.Head = append(t.Head, col(dimTitle(d)))
	}
	t.Groups = []HeadGroup{{"", len(dims)}, {"Requests", 4}, {"TTFT", 3}, {"TPOT", 2}, {"Queue", 1}, {"Prefill", 1}, {"E2E", 2}, {"", 2}}
	t.Head = append(t.Head, numCol("sent", "", ""), numCol("share", "", ""), numCol("completed", "", ""), numCol("failed", "", ""),
		metricCol("p50", serving.Seconds), metricCol("p95", serving.Seconds), metricCol("p99", serving.Seconds), metricCol("p50", serving.Seconds), metricCol("p99", serving.Seconds),
		metricCol("p95", serving.Seconds), metricCol("p95", serving.Seconds), metricCol("p50", serving.Seconds), metricCol("p99", serving.Seconds), numCol("Goodput", "of sent", ""), numCol("Cached", "of prompt", ""))
	rows := list
	if len(rows) > maxSliceRows {
		rows = rows[:maxSliceRows]
		t.Caption += fmt.Sprintf(" (the first %d of %s; the JSON has all)", maxSliceRows, FormatCount(int64(len(list))))
	}
	for _, s := range rows {
		var cells []Cell
		for _, d := range dims {
			cells = append(cells, termCell(s.By, d))
		}
		failed := failedCell(s.Counts.Failed)
		failed.Sub = outcomes(s.Counts.Outcomes)
		cells = append(cells, countCell(s.Counts.Sent), number(FormatShare(s.Share), RawValue(serving.Share, serving.Some(s.Share))), countCell(s.Counts.Completed), failed,
			intervalCell(s.Dists, serving.TTFT, .5), intervalCell(s.Dists, serving.TTFT, .95), intervalCell(s.Dists, serving.TTFT, .99), distCell(s.Dists, serving.TPOT, .5), intervalCell(s.Dists, serving.TPOT, .99),
			intervalCell(s.Dists, serving.Queue, .95), intervalCell(s.Dists, serving.Prefill, .95), distCell(s.Dists, serving.E2E, .5), intervalCell(s.Dists, serving.E2E, .99),
			goodputCell(s.Goodput), valueCell(serving.Share, s.CachedShare))
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	return t.dropEmpty("sent", "share", "completed", "failed").collectKeys()
}

func intervalCell(ds analyze.Dists, k serving.MetricKey, p float64) Cell {
	d := ds.Of(k)
	if d == nil {
		return number(Missing, "")
	}
	return quantileCell(d, p, true)
}

func termCell(by []serving.Term, dim string) Cell {
	for _, t := range by {
		if t.Dim == dim {
			c := text(orMissing(t.Value))
			if t.Value == "unknown" || t.Value == "(other)" {
				c.Class = "faint"
			}
			return c
		}
	}
	return faint(Missing)
}

// outcomes lists what became of the requests that did not complete.
func outcomes(m map[string]int64) string {
	var out []string
	for _, name := range serving.OutcomeNames()[1:] {
		if n := m[name]; n > 0 {
			out = append(out, FormatCount(n)+" "+name)
		}
	}
	return strings.Join(out, ", ")
}

func newAlone(id string, dims []analyze.Dimension) *aloneView {
	group := id + "-alone"
	var v aloneView
	var options []SwitchOption
	for i, d := range dims {
		key := fmt.Sprintf("d%d", i+1)
		caption := "By " + strings.ToLower(dimTitle(d.Name))
		if d.Folded > 0 {
			caption += fmt.Sprintf(" (%s rarer values are folded into “(other)”)", FormatCount(int64(d.Folded)))
		}
		options = append(options, SwitchOption{Key: key, Label: dimTitle(d.Name)})
		v.Tables = append(v.Tables, Panel{Group: group, Key: key, Title: dimTitle(d.Name), Table: sliceTable(group+"-"+key, caption, []string{d.Name}, d.Slices)})
	}
	if len(v.Tables) == 0 {
		return nil
	}
	v.Switch = newSwitch(group, "Dimension", options...)
	if v.Switch == nil {
		v.Tables[0].Key = ""
	}
	return &v
}

func columnsTable(id string, cols []serving.Column) *Table {
	if len(cols) == 0 {
		return nil
	}
	t := &Table{ID: id + "-columns", Caption: "What each column was taken for, and what decided its unit", Head: []Head{col("Taken for"), col("The file's column"), col("Unit"), col("Decided by")}}
	for _, k := range cols {
		name := text(k.Name)
		if k.Gaps != "" {
			name.Sub = "gaps between " + k.Gaps + "s"
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, wrapped(orMissing(k.From)), text(orMissing(k.Unit)), text(orMissing(k.How))}})
	}
	return t
}

func problemsTable(id string, ps []serving.Problem) *Table {
	if len(ps) == 0 {
		return nil
	}
	t := &Table{ID: id, Caption: "Records with a problem; the rest was read", Head: []Head{col("Where"), col("What"), numCol("Records", "", "")}}
	for _, p := range ps {
		n := int64(max(p.Count, 1))
		where := Cell{Text: orMissing(p.At.String()), Class: "prose"}
		t.Rows = append(t.Rows, Row{Cells: []Cell{where, wrapped(p.Message), number(FormatCount(n), fmt.Sprint(n))}})
	}
	return t
}

// A heat is a cross laid out in two dimensions: one across, all others that
// tell anything down.
type heat struct {
	x, y   string   // what the axes are
	xs, ys []string // labels, in the order of the cross
	cells  map[[2]int]*analyze.Slice
	folded int // rows left out
}

// maxHeatRows bounds the rows of a heat map: the rest is in the table.
const maxHeatRows = 24

// newHeat lays a cross out, or returns nil where it has fewer than two cells.
func newHeat(d *analyze.DatasetStats) *heat {
	if len(d.Cross) < 2 || len(d.GroupBy) == 0 {
		return nil
	}
	dims := tellingDims(d)
	if len(dims) == 0 {
		return nil
	}
	across := dims[len(dims)-1]
	if slices.Contains(dims, string(serving.PromptTokens)) {
		across = string(serving.PromptTokens)
	}
	down := slices.DeleteFunc(slices.Clone(dims), func(n string) bool { return n == across })
	h := &heat{x: dimTitle(across), y: dimNames(down), cells: map[[2]int]*analyze.Slice{}}
	h.xs = valuesOf(d.Cross, []string{across})
	h.ys = valuesOf(d.Cross, down)
	for _, s := range d.Cross {
		x, y := slices.Index(h.xs, valueOf(s, []string{across})), slices.Index(h.ys, valueOf(s, down))
		h.cells[[2]int{x, y}] = s
	}
	if across == string(serving.PromptTokens) || across == string(serving.OutputTokens) {
		h.sortColumns()
	}
	h.cut()
	return h
}

// tellingDims are the dimensions with more than one value.
func tellingDims(d *analyze.DatasetStats) []string {
	var out []string
	for _, dim := range d.GroupBy {
		if len(valuesOf(d.Cross, []string{dim})) > 1 {
			out = append(out, dim)
		}
	}
	return out
}

func valuesOf(list []*analyze.Slice, dims []string) []string {
	var out []string
	for _, s := range list {
		if v := valueOf(s, dims); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func valueOf(s *analyze.Slice, dims []string) string {
	var parts []string
	for _, d := range dims {
		for _, t := range s.By {
			if t.Dim == d {
				parts = append(parts, t.Value)
			}
		}
	}
	if len(parts) == 0 {
		return "all"
	}
	return strings.Join(parts, " · ")
}

// sortColumns puts buckets into the order of their lower bounds: the cross lists
// them in the order its rows happen to have them. What is no bucket ("unknown")
// comes last.
func (h *heat) sortColumns() {
	if !slices.ContainsFunc(h.xs, func(v string) bool { return lowerBound(v) != math.MaxInt64 }) {
		return
	}
	old := slices.Clone(h.xs)
	slices.SortStableFunc(h.xs, func(a, b string) int { return cmp.Compare(lowerBound(a), lowerBound(b)) })
	moved := map[[2]int]*analyze.Slice{}
	for at, s := range h.cells {
		moved[[2]int{slices.Index(h.xs, old[at[0]]), at[1]}] = s
	}
	h.cells = moved
}

// lowerBound is the number that a bucket's name begins with.
func lowerBound(v string) int64 {
	digits := len(v) - len(strings.TrimLeft(v, "0123456789"))
	n, err := strconv.ParseInt(v[:digits], 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}

// sortValues orders the values of a dimension: buckets by their lower bounds, all
// else by name.
func sortValues(list []string) {
	slices.SortStableFunc(list, func(a, b string) int {
		return cmp.Or(cmp.Compare(lowerBound(a), lowerBound(b)), strings.Compare(a, b))
	})
}

// cut keeps the rows with the most requests, in their order.
func (h *heat) cut() {
	if len(h.ys) <= maxHeatRows {
		return
	}
	sent := make([]int64, len(h.ys))
	for at, s := range h.cells {
		sent[at[1]] += s.Counts.Sent.Or(0)
	}
	order := make([]int, len(h.ys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case sent[a] > sent[b]:
			return -1
		case sent[a] < sent[b]:
			return 1
		}
		return 0
	})
	keep := order[:maxHeatRows]
	slices.Sort(keep)
	cells, ys := map[[2]int]*analyze.Slice{}, []string(nil)
	for row, y := range keep {
		ys = append(ys, h.ys[y])
		for x := range h.xs {
			if s := h.cells[[2]int{x, y}]; s != nil {
				cells[[2]int{x, row}] = s
			}
		}
	}
	h.folded = len(h.ys) - len(ys)
	h.cells, h.ys = cells, ys
}

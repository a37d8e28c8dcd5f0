package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// Groupings of the slices in the JSON.
const (
	groupAll   = "all"   // the whole dataset
	groupCross = "cross" // a combination of the dimensions of --group-by
	groupAlone = "alone" // one dimension by itself
)

// newWireSlices lists every dataset's slices: the whole first, then the cross,
// then each dimension alone.
func newWireSlices(s *analyze.Slices) []wireSlice {
	out := []wireSlice{}
	for _, d := range s.Datasets {
		if d.All != nil {
			out = append(out, newWireSlice(d.Dataset, groupAll, d.All))
		}
		for _, c := range d.Cross {
			out = append(out, newWireSlice(d.Dataset, groupCross, c))
		}
		for _, dim := range d.Alone {
			for _, c := range dim.Slices {
				out = append(out, newWireSlice(d.Dataset, groupAlone, c))
			}
		}
	}
	return out
}

func newWireSlice(dataset, grouping string, s *analyze.Slice) wireSlice {
	head := wireSliceHead{
		Dataset: dataset, Grouping: grouping, By: wireBy(s.By),
		Sent: s.Counts.Sent.Ptr(), Completed: s.Counts.Completed.Ptr(), Failed: s.Counts.Failed.Ptr(), Outcomes: s.Counts.Outcomes,
		Share: wireFloat(s.Share), Tokens: wireTokens{&s.Input, &s.Output}, CachedShare: wireNumber(s.CachedShare),
		Goodput: newWireGoodput(s.Goodput), SLO: newWireSLOs(s.SLO),
	}
	return wireSlice{head, wireMetrics(s.Dists)}
}

func newWireDataset(d *analyze.DatasetStats) wireDataset {
	w := wireDataset{
		Dataset: d.Dataset, Side: wireSide(d.Side), Rows: d.Rows, Span: wireNumber(d.Span), GroupBy: d.GroupBy,
		Examples: newWireExamples(d.Examples, relativeArrival(d.Columns)),
		Warnings: d.Warnings,
	}
	if d.Run != nil {
		w.Run = d.Run.ID
	}
	for _, c := range d.Columns {
		w.Columns = append(w.Columns, wireColumn{c.Name, kindName(c.Kind), c.Relative, c.From, c.Unit, c.How, c.Gaps})
	}
	for _, e := range d.Excluded {
		w.Excluded = append(w.Excluded, wireExcluded(e))
	}
	for _, dim := range d.Alone {
		if dim.Folded > 0 {
			if w.Folded == nil {
				w.Folded = map[string]int{}
			}
			w.Folded[dim.Name] = dim.Folded
		}
	}
	for _, p := range d.Problems {
		w.Problems = append(w.Problems, newWireProblem(p))
	}
	return w
}

func newWireExamples(list []analyze.Example, relative bool) []wireExample {
	var out []wireExample
	for _, e := range list {
		w := wireExample{
			Rank: string(e.Rank), ID: e.ID, Source: e.Source, Row: e.Row, By: wireBy(e.By), Values: map[string]float64{},
		}
		if e.At.OK {
			w.At = wireTime(e.At.V, relative)
		}
		for k, v := range e.Values {
			if p := wireValue(unitOf(k), serving.Some(v)); p != nil {
				w.Values[string(k)] = *p
			}
		}
		out = append(out, w)
	}
	return out
}

// relativeArrival reports whether arrival times count from an arbitrary origin.
func relativeArrival(columns []serving.Column) bool {
	for _, c := range columns {
		if c.Name == serving.ColArrival {
			return c.Relative
		}
	}
	return false
}

func kindName(k serving.ColumnKind) string {
	switch k {
	case serving.KindTime:
		return "time"
	case serving.KindDuration:
		return "duration"
	case serving.KindCount:
		return "count"
	case serving.KindRatio:
		return "ratio"
	case serving.KindText:
		return "text"
	case serving.KindGaps:
		return "gaps"
	}
	return "number"
}

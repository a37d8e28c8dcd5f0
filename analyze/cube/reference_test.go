package cube

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// The reference: the same cube, a row at a time, out of maps and strings.

// A record is one row.
type record struct {
	row    int
	values map[serving.MetricKey]float64
	gaps   []float64
	texts  map[string]string
	times  map[string]int64
}

func (m *memory) records() []record {
	out := make([]record, m.n)
	for i := range out {
		r := record{row: i, values: map[serving.MetricKey]float64{}, texts: map[string]string{}, times: map[string]int64{}}
		for _, c := range m.cols {
			d := m.data[c.Name]
			if d.missing[i] {
				continue
			}
			switch c.Kind {
			case serving.KindText:
				r.texts[c.Name] = d.texts[i]
			case serving.KindTime:
				r.times[c.Name] = d.ints[i]
			case serving.KindCount:
				r.values[serving.MetricKey(c.Name)] = float64(d.ints[i])
			case serving.KindGaps:
				r.gaps = d.gaps[i]
			default:
				if !math.IsNaN(d.floats[i]) && !math.IsInf(d.floats[i], 0) {
					r.values[serving.MetricKey(c.Name)] = d.floats[i]
				}
			}
		}
		out[i] = r
	}
	return out
}

func (r *record) outcome() serving.Outcome {
	if o, ok := r.texts[serving.ColOutcome]; ok {
		return serving.Outcome(slices.Index(serving.OutcomeNames(), o))
	}
	return serving.OK
}

func (r *record) valuesOf(k serving.MetricKey) []float64 {
	if k == serving.ITL {
		return r.gaps
	}
	if v, ok := r.values[k]; ok {
		return []float64{v}
	}
	return nil
}

// whole reports whether a record's answer was not streamed, and a metric is one
// that such an answer does not have.
func (r *record) whole(k serving.MetricKey) bool {
	return r.texts[serving.ColStreaming] == "no" && (k == serving.TTFT || k == serving.TPOT || k == serving.ITL)
}

func (r *record) within(k serving.MetricKey, limit float64) bool {
	if r.outcome() != serving.OK {
		return false
	}
	if r.whole(k) {
		e2e, ok := r.values[serving.E2E]
		return k != serving.TTFT || ok && e2e <= limit
	}
	if out, ok := r.values[serving.OutputTokens]; ok && out <= 1 && (k == serving.TPOT || k == serving.ITL) {
		return true
	}
	v := r.valuesOf(k)
	return len(v) > 0 && slices.Max(v) <= limit
}

// dim returns the label of a dimension and its place in the order.
func (r *record) dim(m *memory, plan *Plan, name string, c *Cube) (string, int) {
	if name == DimCache {
		cached, ok := r.values[serving.CachedTokens]
		prompt, known := r.values[serving.PromptTokens]
		switch {
		case ok && cached == 0:
			return "cold", 0
		case !ok || !known || cached > prompt || cached < 0:
			return Unknown, math.MaxInt - 1
		case cached/prompt >= plan.WarmShare:
			return "warm", 2
		}
		return "partial", 1
	}
	if name == DimTime {
		t, ok := r.times[serving.ColArrival]
		if !ok {
			return Unknown, math.MaxInt - 1
		}
		w := int((t - c.Start.V) / c.Step)
		return fmt.Sprint(w), w
	}
	if v, ok := r.values[serving.MetricKey(name)]; ok {
		b, ok := plan.Buckets[name]
		if !ok {
			return fmt.Sprint(v), int(v)
		}
		i := sort.Search(len(b), func(i int) bool { return float64(b[i]) > v })
		lo, hi := int64(0), "+"
		if i > 0 {
			lo = b[i-1]
		}
		if i < len(b) {
			hi = fmt.Sprintf("-%d", b[i]-1)
		}
		return fmt.Sprintf("%d%s", lo, hi), i
	}
	if v, ok := r.texts[name]; ok && v != "" && v != Unknown {
		return v, 0
	}
	return Unknown, math.MaxInt - 1
}

// counted leaves out what the plan leaves out.
func counted(all []record, w Window) []record {
	var out []record
	for _, r := range all {
		if p := strings.ToLower(r.texts[serving.ColPhase]); p == "warmup" || p == "warm-up" {
			continue
		}
		if t, ok := r.times[serving.ColArrival]; w != (Window{}) && (!ok || t < w.From || t >= w.To) {
			continue
		}
		out = append(out, r)
	}
	return out
}

// reference returns the groups of a plan that folds nothing.
func reference(m *memory, plan *Plan, c *Cube) []Group {
	rows := counted(m.records(), plan.Window)
	var out []Group
	for _, dims := range plan.Groupings {
		type cell struct {
			order []string
			rows  []record
			key   []string
		}
		cells := map[string]*cell{}
		for _, r := range rows {
			k := &cell{}
			for _, d := range dims {
				label, at := r.dim(m, plan, d, c)
				k.key = append(k.key, label)
				k.order = append(k.order, fmt.Sprintf("%020d%s", at, label))
			}
			id := fmt.Sprintf("%q", k.key)
			if cells[id] == nil {
				cells[id] = k
			}
			cells[id].rows = append(cells[id].rows, r)
		}
		if len(dims) == 0 && len(rows) == 0 {
			cells[""] = &cell{}
		}
		var sorted []*cell
		for _, k := range cells {
			sorted = append(sorted, k)
		}
		slices.SortFunc(sorted, func(a, b *cell) int { return slices.Compare(a.order, b.order) })
		g := Group{Dims: dims}
		for _, k := range sorted {
			g.Cells = append(g.Cells, referenceCell(m, plan, c, dims, k.key, k.rows))
		}
		out = append(out, g)
	}
	return out
}

func referenceCell(m *memory, plan *Plan, c *Cube, dims Grouping, key []string, rows []record) Cell {
	cell := Cell{Key: key, Window: -1, Summaries: map[serving.MetricKey]*Summary{}}
	for i, d := range dims {
		if d == DimTime && key[i] != Unknown {
			fmt.Sscan(key[i], &cell.Window)
			w := windows{start: c.Start.V, step: c.Step, relative: c.Relative}
			key[i] = w.label(cell.Window)
		}
	}
	if len(plan.Limits) > 0 {
		cell.Within, cell.Of = make([]int64, len(plan.Limits)), make([]int64, len(plan.Limits))
	}
	for _, r := range rows {
		cell.Sent++
		cell.Outcomes[r.outcome()]++
		good := len(plan.Conditions) > 0
		for _, t := range plan.Conditions {
			good = good && r.within(t.Metric, t.Limit)
		}
		if good {
			cell.Good++
		}
		for l, t := range plan.Limits {
			asked := !r.whole(t.Metric)
			for _, term := range t.By {
				label, _ := r.dim(m, plan, term.Dim, c)
				asked = asked && label == term.Value
			}
			if asked {
				cell.Of[l]++
				if r.within(t.Metric, t.Max) {
					cell.Within[l]++
				}
			}
		}
		if r.outcome() != serving.OK {
			continue
		}
		cell.Input += int64(r.values[serving.PromptTokens])
		cell.Output += int64(r.values[serving.OutputTokens])
		_, ok := r.values[serving.CachedTokens]
		if _, known := r.values[serving.PromptTokens]; ok && known {
			cell.Cached += int64(r.values[serving.CachedTokens])
			cell.CachedOf += int64(r.values[serving.PromptTokens])
		}
	}
	for _, k := range plan.Metrics {
		if s := referenceSummary(plan, k, rows, slices.Contains(dims, DimTime)); s != nil {
			cell.Summaries[k] = s
		}
	}
	return cell
}

func referenceSummary(plan *Plan, k serving.MetricKey, rows []record, timed bool) *Summary {
	var x []float64
	var timely []record
	for _, r := range rows {
		if r.outcome() == serving.OK {
			x = append(x, r.valuesOf(k)...)
			if _, ok := r.times[serving.ColArrival]; ok {
				timely = append(timely, r)
			}
		}
	}
	if len(x) == 0 {
		return nil
	}
	slices.SortStableFunc(timely, func(a, b record) int {
		return int(a.times[serving.ColArrival] - b.times[serving.ColArrival])
	})
	slices.Sort(x)
	s := &Summary{N: int64(len(x)), Min: x[0], Max: x[len(x)-1]}
	for _, v := range x {
		s.Mean += v / float64(len(x))
	}
	for _, v := range x {
		s.Std += (v - s.Mean) * (v - s.Mean) / float64(len(x))
	}
	s.Std = math.Sqrt(s.Std)
	for _, p := range plan.Quantiles {
		h := p * float64(len(x)-1)
		j := int(h)
		q := Quantile{P: p, Value: x[j] + (h-float64(j))*(x[min(j+1, len(x)-1)]-x[j])}
		r := stat.QuantileRanks(s.N, p, plan.Confidence)
		if r.Lo >= 1 {
			q.Lo = serving.Some(x[r.Lo-1])
		}
		if r.Hi <= s.N {
			q.Hi = serving.Some(x[r.Hi-1])
		}
		if p == 0.5 || p >= 0.9 {
			var y []float64
			for _, r := range timely {
				for _, v := range r.valuesOf(k) {
					if v > q.Value {
						y = append(y, 1)
					} else {
						y = append(y, 0)
					}
				}
			}
			if r := acf1(y); !math.IsNaN(r) {
				q.ACF1 = serving.Some(r)
			}
		}
		s.Quantiles = append(s.Quantiles, q)
	}
	if plan.CDF && !timed {
		for _, p := range CDFGrid {
			s.CDF = append(s.CDF, stat.Quantile(x, p))
		}
	}
	return s
}

// acf1 is the lag-1 autocorrelation of a series, by its definition.
func acf1(y []float64) float64 {
	m, num, den := stat.Sum(y)/float64(len(y)), 0.0, 0.0
	for t, v := range y {
		den += (v - m) * (v - m)
		if t > 0 {
			num += (v - m) * (y[t-1] - m)
		}
	}
	return num / den // NaN of a constant series
}

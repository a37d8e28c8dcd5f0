package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// A MixShift splits a change into what the mix of requests did and what happened
// within its cells; Total = Mix + Within. Values are in the metric's base unit.
type MixShift struct {
	Figure             verdict.Figure
	Total, Mix, Within float64
	Before             float64 // the figure before, by the same definition
	Dims               []string
	Moved              []MovedCell // the cells whose share changed most
	Unsupported        float64     // share of the requests in cells that one side lacks, left out
	Effective          float64     // effective number of requests behind the reweighted side
}

// A MovedCell is a cell of the workload with its shares on both sides.
type MovedCell struct {
	By            []serving.Term
	Before, After float64
}

// mixDims are the cells that a change is split by, finest first: the first with
// nearly every request in cells that both sides have is taken.
var mixDims = [][]string{
	{serving.ColWorkload, string(serving.PromptTokens), cube.DimCache, string(serving.OutputTokens)},
	{serving.ColWorkload, string(serving.PromptTokens), cube.DimCache},
	{serving.ColWorkload, string(serving.PromptTokens)},
	{string(serving.PromptTokens)},
	{serving.ColWorkload},
}

// addMixCells plans the cells.
func (t *table) addMixCells() {
	t.mix = make([]int, len(mixDims))
	for i, dims := range mixDims {
		t.mix[i] = -1
		have := slices.DeleteFunc(slices.Clone(dims), func(d string) bool { return !t.has(d) })
		// A dimension that one side lacks would leave nothing in common.
		if len(have) == len(dims) || len(have) > 0 && i < 3 {
			t.plan.Groupings = append(t.plan.Groupings, have)
			t.mix[i] = len(t.plan.Groupings) - 1
		}
	}
}

// A cell needs this many requests on each side to count, and the others may hold
// no more than this share.
const (
	minMixCell     = 30
	maxUnsupported = 0.05
)

// mix splits the change of the headline latencies.
func (c *comparing) mix() {
	for _, f := range []verdict.Figure{{Metric: serving.TTFT, Stat: "mean"}, {Metric: serving.TTFT, Stat: "p50"}, {Metric: serving.TTFT, Stat: "p95"},
		{Metric: serving.TPOT, Stat: "p50"}, {Metric: serving.TPOT, Stat: "p95"}, {Metric: serving.E2E, Stat: "mean"}, {Metric: serving.E2E, Stat: "p95"}} {
		if m, lengths, ok := c.mixOf(f, nil); ok {
			c.out.Mix = append(c.out.Mix, m)
			c.cellLengths[f] = lengths
		}
	}
	for _, r := range slices.Concat(c.out.Headline, c.out.Others) {
		for i := range c.out.Mix {
			if m := &c.out.Mix[i]; m.Figure == r.Figure {
				r.Mix = m.explains(r.Row)
			}
		}
	}
	c.sliceMix()
}

// explains reports whether a change that matters is the mix's: within cells what
// is left is below the threshold, or no more than the same thing differs from
// itself, and a fraction of what the mix did.
func (m *MixShift) explains(r *verdict.Row) bool {
	limit := r.Threshold * m.Before
	rest := max(limit, r.Floor.Or(0)*m.Before)
	return m.Before > 0 && math.Abs(m.Mix) > limit && math.Abs(m.Within) <= rest && math.Abs(m.Mix) > 2*math.Abs(m.Within)
}

// sliceMix puts a slice's change down to the mix of requests within it: prompts of
// one bucket are longer where more of them are rag's.
func (c *comparing) sliceMix() {
	for _, r := range c.out.Slices {
		if !called(r) || r.Figure.IsShare() {
			continue
		}
		if m, _, ok := c.mixOf(r.Figure, r.By); ok {
			r.split, r.Mix = true, m.explains(r.Row)
		} else if b, a, ok := otherKinds(c.mixCells(kindLevel, r.Figure), r.By); ok {
			r.Call = verdict.Undecided
			r.Why = fmt.Sprintf("its requests are others: %s of them and then %s are of kinds that one side has too few of to compare", percent(round3(b)), percent(round3(a)))
		}
	}
}

// kindLevel is the cells of mixDims that tell kinds of requests: workload × prompt
// length.
const kindLevel = 2

// otherKinds reports whether a slice's mix changed by kinds that one side has too few
// of to hold the mix fixed, by more than is left out elsewhere and more than chance;
// with their shares of the slice.
func otherKinds(cells []*mixCell, within []serving.Term) (b, a float64, ok bool) {
	var all, rare [2]float64
	for _, m := range cells {
		if !holds(m.by, within) {
			continue
		}
		few := m.n[before] < minMixCell || m.n[after] < minMixCell
		for i := range all {
			all[i] += m.n[i]
			if few {
				rare[i] += m.n[i]
			}
		}
	}
	if all[before] == 0 || all[after] == 0 {
		return 0, 0, false
	}
	b, a = rare[before]/all[before], rare[after]/all[after]
	pooled := (rare[before] + rare[after]) / (all[before] + all[after])
	chance := math.Sqrt(pooled * (1 - pooled) * (1/all[before] + 1/all[after]))
	return b, a, math.Abs(a-b) > max(maxUnsupported, 3*chance)
}

// mixOf splits one figure, of all requests or of a slice, by the finest cells that
// both sides have. It also compares the lengths of requests within the cells.
func (c *comparing) mixOf(f verdict.Figure, within []serving.Term) (MixShift, lengthShift, bool) {
	for i, dims := range mixDims {
		cells := slices.DeleteFunc(slices.Clone(c.mixCells(i, f)), func(m *mixCell) bool { return !holds(m.by, within) })
		kept, lost := supported(cells)
		if len(kept) < 2 || lost > maxUnsupported {
			continue
		}
		m := MixShift{Figure: f, Dims: dims, Unsupported: lost}
		m.split(kept)
		m.Moved = moved(kept)
		return m, lengthsWithin(kept), true
	}
	return MixShift{}, lengthShift{}, false
}

// A mixCell is the values of one cell on both sides.
type mixCell struct {
	by   []serving.Term
	n    [2]float64
	sum  [2]float64
	vals [2]stat.Weighted

	done   [2]float64    // completed requests
	tokens [2][2]float64 // their prompt and output tokens, of each side
}

// A mixKey is one of mixDims and a figure.
type mixKey struct {
	level int
	f     verdict.Figure
}

// mixCells are a figure's cells: all slices ask for them.
func (c *comparing) mixCells(level int, f verdict.Figure) []*mixCell {
	k := mixKey{level, f}
	if _, ok := c.cells[k]; !ok {
		c.cells[k] = c.gatherCells(level, f)
	}
	return c.cells[k]
}

// gatherCells gathers a figure's cells over all paired units that have it.
func (c *comparing) gatherCells(level int, f verdict.Figure) []*mixCell {
	index := map[sliceKey]*mixCell{}
	var out []*mixCell
	for _, p := range c.out.Pairs {
		if !comparable(f, p) {
			continue
		}
		for side, us := range p.units {
			for _, u := range us {
				if u.table == nil || u.table.mix == nil || u.table.mix[level] < 0 {
					return nil
				}
				g := &u.table.cube.Groups[u.table.mix[level]]
				for i := range g.Cells {
					cell := &g.Cells[i]
					s := cell.Summaries[f.Metric]
					if s == nil || s.N == 0 {
						continue
					}
					by := terms(g.Dims, cell.Key)
					k := keyOf(by)
					if index[k] == nil {
						index[k] = &mixCell{by: by}
						out = append(out, index[k])
					}
					index[k].add(side, s)
					index[k].addLengths(side, cell)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *mixCell) int { return cmp.Compare(keyOf(a.by), keyOf(b.by)) })
	return out
}

func terms(dims cube.Grouping, key []string) []serving.Term {
	var by []serving.Term
	for i, d := range dims {
		by = append(by, serving.Term{Dim: d, Value: key[i]})
	}
	return by
}

// add takes a cell's values by its quantile grid: between two points of the grid
// their middle, with the weight of the requests between them.
func (m *mixCell) add(side int, s *cube.Summary) {
	n := float64(s.N)
	m.n[side] += n
	m.sum[side] += s.Mean * n
	for i := 1; i < len(s.CDF); i++ {
		m.vals[side].Add((s.CDF[i-1]+s.CDF[i])/2, n*(cube.CDFGrid[i]-cube.CDFGrid[i-1]))
	}
}

// addLengths takes what the cell's completed requests asked for and got.
func (m *mixCell) addLengths(side int, cell *cube.Cell) {
	m.done[side] += float64(cell.Outcomes[serving.OK])
	m.tokens[0][side] += float64(cell.Input)
	m.tokens[1][side] += float64(cell.Output)
}

// supported keeps the cells that both sides have enough of; lost is the share of
// the requests in the others, of the side that has more in them.
func supported(cells []*mixCell) (kept []*mixCell, lost float64) {
	var all, out [2]float64
	for _, m := range cells {
		all[before], all[after] = all[before]+m.n[before], all[after]+m.n[after]
		if m.n[before] >= minMixCell && m.n[after] >= minMixCell && len(m.vals[before].X) > 0 && len(m.vals[after].X) > 0 {
			kept = append(kept, m)
			continue
		}
		out[before], out[after] = out[before]+m.n[before], out[after]+m.n[after]
	}
	for i := range all {
		if all[i] > 0 {
			lost = max(lost, out[i]/all[i])
		}
	}
	return kept, lost
}

// split computes the parts: Kitagawa of a mean, reweighting of a quantile.
func (m *MixShift) split(cells []*mixCell) {
	var w, mean [2][]float64
	total := [2]float64{}
	for _, c := range cells {
		total[before], total[after] = total[before]+c.n[before], total[after]+c.n[after]
	}
	var weights []float64
	for _, c := range cells {
		for i := range total {
			w[i] = append(w[i], c.n[i]/total[i])
			mean[i] = append(mean[i], c.sum[i]/c.n[i])
		}
		// A request of the cell counts this much when before is given after's mix.
		ratio := (c.n[after] / total[after]) / (c.n[before] / total[before])
		for range min(int(c.n[before]), 1<<16) {
			weights = append(weights, ratio)
		}
	}
	m.Effective = stat.EffectiveWeight(weights)
	p, ok := serving.QuantileOf(m.Figure.Stat)
	if !ok {
		k := stat.Kitagawa(w[before], w[after], mean[before], mean[after])
		for i := range w[before] {
			m.Before += w[before][i] * mean[before][i]
		}
		m.Total, m.Mix, m.Within = k.Total, k.Mix, k.Within
		return
	}
	var in []stat.MixCell
	for _, c := range cells {
		in = append(in, stat.MixCell{Before: c.vals[before], After: c.vals[after]})
	}
	q := stat.ReweightQuantile(in, p)
	m.Before, m.Total, m.Mix, m.Within = q.Before, q.Total, q.Mix, q.Within
}

// maxMoved is how many cells are named.
const maxMoved = 5

// moved names the cells whose share changed most.
func moved(cells []*mixCell) []MovedCell {
	total := [2]float64{}
	for _, c := range cells {
		total[before], total[after] = total[before]+c.n[before], total[after]+c.n[after]
	}
	var out []MovedCell
	for _, c := range cells {
		out = append(out, MovedCell{By: c.by, Before: c.n[before] / total[before], After: c.n[after] / total[after]})
	}
	slices.SortStableFunc(out, func(a, b MovedCell) int {
		return cmp.Compare(math.Abs(b.After-b.Before), math.Abs(a.After-a.Before))
	})
	return out[:min(len(out), maxMoved)]
}

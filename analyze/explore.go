package analyze

import (
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// An Explorer is what a page needs to recompute slices for its reader: a cross
// with histograms, small enough to be carried.
type Explorer struct {
	*cube.Explored
	SLOs   []serving.SLO // aligned with Within and Of of the cells
	Good   GoodMeaning   // what Good of the cells counts
	Packed []byte        // cube.Explored.Pack
}

// Error is the relative error of a quantile read from the histograms: the width
// of a bucket.
func (e *Explorer) Error() float64 { return 1 / float64(int(1)<<e.Bits) }

// GoodMeaning says which requests are good.
type GoodMeaning string

// What good means.
const (
	GoodNothing    GoodMeaning = ""           // there is neither a condition nor more than one objective
	GoodConditions GoodMeaning = "goodput"    // met every condition of --goodput
	GoodObjectives GoodMeaning = "objectives" // were within the limits of all objectives
)

const (
	exploreBudget = 256_000 // bytes of a page, for all of its tables
	exploreCells  = 1500
	exploreNames  = 24
	exploreBits   = 5 // a bucket is 1/32 wide
	leastBits     = 3
	// exploreRows is up to how many rows a cross of its own is worth its time; of
	// larger tables it is that of --group-by, which is counted anyway.
	exploreRows = 256 << 10
)

// planExplore adds the cross to the plan: the dimensions of --group-by, then
// those that are shown alone. What became of a request is counted in every cell;
// as a dimension it would tell nothing, since only completed ones have latencies.
func (t *table) planExplore(opt Options) {
	e := &cube.Explore{Dims: t.exploreDims(opt), MaxCells: exploreCells, MaxNames: exploreNames, Bits: exploreBits}
	for _, m := range serving.Metrics {
		if m.Unit == serving.Seconds && t.has(string(m.Key)) {
			e.Metrics = append(e.Metrics, m.Key)
		}
	}
	if t.isVast() {
		e.Dims = slices.DeleteFunc(e.Dims, func(d string) bool { return !slices.Contains(t.groups, d) })
	}
	if len(e.Metrics) > 0 && len(e.Dims) > 0 {
		t.plan.Explore = e
	}
	if t.goodMeaning(opt) == GoodObjectives {
		for _, s := range jointSLOs(opt) {
			t.plan.Conditions = append(t.plan.Conditions, serving.Condition{Metric: s.Metric, Limit: s.Limit})
		}
	}
}

func (t *table) exploreDims(opt Options) []string {
	return slices.DeleteFunc(t.aloneDims(opt), func(d string) bool { return d == serving.ColOutcome })
}

func (t *table) isVast() bool {
	n := int64(0)
	for _, p := range t.src.Parts() {
		n += max(p.Rows(), 0)
	}
	return n > exploreRows
}

// jointLeast is the quantile from which on an objective speaks of nearly every
// request: the limit of a median is not one that each has to meet.
const jointLeast = 0.9

// jointSLOs are the objectives that every request should meet, whatever its
// slice.
func jointSLOs(opt Options) []serving.SLO {
	return slices.DeleteFunc(slices.Clone(opt.SLOs), func(s serving.SLO) bool { return s.Mean || s.P < jointLeast || len(s.By) > 0 })
}

func (t *table) goodMeaning(opt Options) GoodMeaning {
	lacks := func(k serving.MetricKey) bool { return !t.has(string(k)) }
	switch joint := jointSLOs(opt); {
	case len(opt.Goodput) > 0:
		if slices.ContainsFunc(opt.Goodput, func(c serving.Condition) bool { return lacks(c.Metric) }) {
			return GoodNothing
		}
		return GoodConditions
	case len(joint) < 2 || slices.ContainsFunc(joint, func(s serving.SLO) bool { return lacks(s.Metric) }):
		return GoodNothing
	}
	return GoodObjectives
}

// explorer is the table's cross as it was counted; nil where there is nothing to
// choose from.
func (t *table) explorer(opt Options) *Explorer {
	x := t.cube.Explored
	if x == nil || len(x.Dims) == 0 {
		return nil
	}
	e := &Explorer{Explored: x, SLOs: t.slos(opt), Good: t.goodMeaning(opt)}
	if t.isVast() {
		for _, d := range t.exploreDims(opt) {
			if !slices.Contains(t.plan.Explore.Dims, d) {
				x.Left = append(x.Left, d)
			}
		}
	}
	return e
}

// fitExplorers makes the explorers of a page fit its budget. What one leaves is
// for those after it.
func fitExplorers(list []*DatasetStats) error {
	left := exploreBudget
	for i, d := range list {
		if d.Explore == nil {
			continue
		}
		if err := d.Explore.fit(left / (len(list) - i)); err != nil {
			return err
		}
		if d.Explore.Packed == nil {
			d.Explore = nil
			continue
		}
		left -= d.Explore.size()
	}
	return nil
}

// fit makes the histograms coarser until they fit; where even the coarsest do
// not, the least wanted dimension goes.
func (e *Explorer) fit(budget int) error {
	for x := e.Explored; len(x.Dims) > 0; x = x.Without() {
		for bits := x.Bits; bits >= leastBits; bits-- {
			c, err := x.Coarsen(bits)
			if err != nil {
				return err
			}
			e.Explored, e.Packed = c, c.Pack()
			if e.size() <= budget {
				return nil
			}
		}
	}
	e.Packed = nil
	return nil
}

// size is what an explorer takes of a page: its numbers in base64, and its
// labels.
func (e *Explorer) size() int {
	n := (len(e.Packed)+2)/3*4 + 1000
	for _, values := range e.Values {
		for _, v := range values {
			n += len(v) + 20
		}
	}
	return n
}

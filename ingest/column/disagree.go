package column

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// slackOfColumns is how far a column may be from what others give for it.
const slackOfColumns = 0.01

// Disagreements are the columns of the batch last run by CrossCheck that are not what
// others of the same rows give, as far as no unit explains it. What is read counts.
func (p *Plan) Disagreements() []serving.Doubt { return p.disagree }

// A recomputation is a column that is read beside what others give for it: the ratio
// of both in a row, as numerator and denominator, and how far they may be apart because
// they are written in whole seconds or milliseconds.
type recomputation struct {
	name string
	what string // of it, in words: "" for the values themselves
	from string // what others give, in words
	row  func(i int) (read, given, slack float64, ok bool)
}

// findDisagreements compares what is read with what can be computed.
func (g *Program) findDisagreements(n int) {
	p := g.plan
	p.disagree = nil
	for _, c := range g.recomputations(n) {
		apart, rows := 0, 0
		r := medianRatio(n, func(i int) (float64, float64, bool) {
			read, given, slack, ok := c.row(i)
			if ok {
				rows++
			}
			if ok && math.Abs(read-given) > slack {
				apart++
			}
			return read, given, ok
		})
		if math.Abs(r-1) > slackOfColumns && 2*apart > rows {
			raw := p.Raws[p.Sources[p.byName[c.name]].Raw].Name
			p.disagree = append(p.disagree, serving.Doubt{Metric: serving.MetricKey(c.name), Ratio: r,
				Text: fmt.Sprintf("%s%s, which is read from column %s, is %.3g × %s in the middle one of the first requests", c.what, c.name, raw, r, c.from)})
		}
	}
}

func (g *Program) recomputations(n int) (out []recomputation) {
	p := g.plan
	arrival := g.Vector(serving.ColArrival)
	since := func(name, col, words string) {
		v, to := g.read(name), g.Vector(col)
		if v == nil || to == nil || arrival == nil || !p.sameClock(col, serving.ColArrival) {
			return
		}
		slack := g.grain(name, v, n) + grainOfTimes(to, n) + grainOfTimes(arrival, n)
		out = append(out, recomputation{name, "", words, func(i int) (float64, float64, float64, bool) {
			return v.Floats[i], float64(to.Ints[i]-arrival.Ints[i]) / 1e9, slack, v.Has(i) && to.Has(i) && arrival.Has(i)
		}})
	}
	since(e2e, serving.ColEnd, "end − arrival")
	since(ttft, serving.ColFirstToken, "first token − arrival")
	all, first := g.Vector(e2e), g.before(ttft)
	if all == nil || first == nil {
		return out
	}
	ends := g.grain(e2e, all, n) + g.grain(ttft, first, n)
	// Of an answer that came whole nothing is left behind the first token.
	rest := func(i int) (float64, bool) {
		x := all.Floats[i] - first.Floats[i]
		return x, all.Has(i) && first.Has(i) && x > slackOfColumns*all.Floats[i]
	}
	if v, tokens := g.read(tpot), g.Vector(outputTokens); v != nil && tokens != nil {
		own := g.grain(tpot, v, n)
		out = append(out, recomputation{tpot, "", "(E2E − TTFT) / (output tokens − 1)", func(i int) (float64, float64, float64, bool) {
			x, ok := rest(i)
			gaps := float64(tokens.Ints[i] - 1)
			return v.Floats[i], x / gaps, own + ends/gaps, ok && v.Has(i) && tokens.Has(i) && gaps > 0
		}})
	}
	if v := g.read(itl); v != nil {
		own := g.grain(itl, v, n)
		out = append(out, recomputation{itl, "the sum of ", "E2E − TTFT", func(i int) (float64, float64, float64, bool) {
			x, ok := rest(i)
			if !ok || !v.Has(i) {
				return 0, 0, 0, false
			}
			sum, gaps := 0.0, v.Floats[v.Offsets[i]:v.Offsets[i+1]]
			for _, gap := range gaps {
				sum += gap
			}
			return sum, x, ends + own*float64(len(gaps)), true
		}})
	}
	return out
}

// before returns a column before filters, nil where the batch has none.
func (g *Program) before(name string) *serving.Vector {
	if i, ok := g.index[nodeKey{name, plain}]; ok {
		return &g.nodes[i].vec
	}
	return nil
}

// read is before for columns that the file itself has.
func (g *Program) read(name string) *serving.Vector {
	if _, ok := g.plan.byName[name]; !ok {
		return nil
	}
	return g.before(name)
}

// grain is what the durations of a column are whole numbers of: the unit that it is
// read in, of a derived one a second or a millisecond; 0 where they are finer.
func (g *Program) grain(name string, v *serving.Vector, n int) float64 {
	var some []float64
	for i := 0; i < n && len(some) < enoughRatios; i++ {
		if !v.Has(i) {
			continue
		}
		if v.Kind == serving.KindGaps {
			some = append(some, v.Floats[v.Offsets[i]:v.Offsets[i+1]]...)
		} else {
			some = append(some, v.Floats[i])
		}
	}
	units := []float64{1, 1e-3}
	if i, ok := g.plan.byName[name]; ok {
		units = []float64{1 / g.plan.Sources[i].Unit.PerSecond()}
	}
	for _, unit := range units {
		if !slices.ContainsFunc(some, func(x float64) bool { return math.Abs(x/unit-math.Round(x/unit)) > 1e-6 }) {
			return unit
		}
	}
	return 0
}

// grainOfTimes is grain of instants.
func grainOfTimes(v *serving.Vector, n int) float64 {
	all := int64(0) // what divides all of them
	for i := 0; i < min(n, enoughRatios); i++ {
		if v.Has(i) {
			for b := v.Ints[i]; b != 0; {
				all, b = b, all%b
			}
		}
	}
	switch {
	case all%1e9 == 0:
		return 1
	case all%1e6 == 0:
		return 1e-3
	}
	return 0
}

package column

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/serving"
)

// slackOfColumns is how far a column may be from what others give for it.
const slackOfColumns = 0.01

// Disagreements are the columns of the batch last run by CrossCheck that are not what
// others of the same rows give, as far as no unit explains it. What is read counts.
func (p *Plan) Disagreements() []serving.Doubt { return p.disagree }

// A recomputation is a column that is read beside what others give for it: the ratio
// of both in a row, as numerator and denominator.
type recomputation struct {
	name string
	what string // of it, in words: "" for the values themselves
	from string // what others give, in words
	row  func(i int) (read, given float64, ok bool)
}

// findDisagreements compares what is read with what can be computed.
func (g *Program) findDisagreements(n int) {
	p := g.plan
	p.disagree = nil
	for _, c := range g.recomputations() {
		if r := medianRatio(n, c.row); math.Abs(r-1) > slackOfColumns {
			raw := p.Raws[p.Sources[p.byName[c.name]].Raw].Name
			p.disagree = append(p.disagree, serving.Doubt{Metric: serving.MetricKey(c.name), Ratio: r,
				Text: fmt.Sprintf("%s%s, which is read from column %s, is %.3g × %s in the middle one of the first requests", c.what, c.name, raw, r, c.from)})
		}
	}
}

func (g *Program) recomputations() (out []recomputation) {
	p := g.plan
	arrival := g.Vector(serving.ColArrival)
	since := func(name, col, words string) {
		v, to := g.read(name), g.Vector(col)
		if v == nil || to == nil || arrival == nil || !p.sameClock(col, serving.ColArrival) {
			return
		}
		out = append(out, recomputation{name, "", words, func(i int) (float64, float64, bool) {
			return v.Floats[i], float64(to.Ints[i]-arrival.Ints[i]) / 1e9, v.Has(i) && to.Has(i) && arrival.Has(i)
		}})
	}
	since(e2e, serving.ColEnd, "end − arrival")
	since(ttft, serving.ColFirstToken, "first token − arrival")
	all, first := g.Vector(e2e), g.before(ttft)
	if all == nil || first == nil {
		return out
	}
	// Of an answer that came whole nothing is left behind the first token.
	rest := func(i int) (float64, bool) {
		x := all.Floats[i] - first.Floats[i]
		return x, all.Has(i) && first.Has(i) && x > slackOfColumns*all.Floats[i]
	}
	if v, tokens := g.read(tpot), g.Vector(outputTokens); v != nil && tokens != nil {
		out = append(out, recomputation{tpot, "", "(E2E − TTFT) / (output tokens − 1)", func(i int) (float64, float64, bool) {
			x, ok := rest(i)
			return v.Floats[i], x / float64(tokens.Ints[i]-1), ok && v.Has(i) && tokens.Has(i) && tokens.Ints[i] > 1
		}})
	}
	if v := g.read(itl); v != nil {
		out = append(out, recomputation{itl, "the sum of ", "E2E − TTFT", func(i int) (float64, float64, bool) {
			x, ok := rest(i)
			if !ok || !v.Has(i) {
				return 0, 0, false
			}
			sum := 0.0
			for _, gap := range v.Floats[v.Offsets[i]:v.Offsets[i+1]] {
				sum += gap
			}
			return sum, x, true
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

package column

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// SampleColumns are the columns that CrossCheck needs, where they exist.
func (p *Plan) SampleColumns() []string {
	var out []string
	for _, n := range []string{serving.ColArrival, serving.ColFirstToken, serving.ColEnd, ttft, tpot, e2e, queue, prefill, decode, outputTokens, itl} {
		if p.makes(n) {
			out = append(out, n)
		}
	}
	return out
}

// A FactorError says that two columns of a file contradict each other by a
// power of a thousand: one of their units is wrong.
type FactorError struct {
	Columns []string // the file's names
	Text    string
}

// Error formats the error with its remedy.
func (e *FactorError) Error() string { return e.Text }

// CrossCheck compares the columns of a batch with each other, after Run. Wrong
// units make every figure wrong without a sign, so a contradiction is an error
// and not a problem; what is off by less is one of Disagreements.
func (g *Program) CrossCheck(n int) error {
	if err := g.checkUnits(n); err != nil {
		return err
	}
	g.findDisagreements(n)
	return nil
}

// checkUnits looks for factors of a thousand between columns.
func (g *Program) checkUnits(n int) error {
	p := g.plan
	_, readE2E := p.byName[e2e]
	if readE2E && p.sameClock(serving.ColEnd, serving.ColArrival) {
		end, arr, e := g.Vector(serving.ColEnd), g.Vector(serving.ColArrival), g.Vector(e2e)
		r := medianRatio(n, func(i int) (float64, float64, bool) {
			return e.Floats[i], float64(end.Ints[i]-arr.Ints[i]) / 1e9, e.Has(i) && end.Has(i) && arr.Has(i)
		})
		if x := thousands(r); x != 1 {
			return p.factor(x, e2e, "end − arrival", e2e, serving.ColEnd, serving.ColArrival)
		}
	}
	e := g.Vector(e2e)
	if e == nil {
		return nil
	}
	for _, name := range []string{ttft, queue, prefill, decode} {
		v := g.index[nodeKey{name, plain}]
		if _, ok := g.index[nodeKey{name, plain}]; !ok {
			continue
		}
		part := &g.nodes[v].vec
		r := medianRatio(n, func(i int) (float64, float64, bool) {
			return part.Floats[i], e.Floats[i], e.Has(i) && part.Has(i)
		})
		if r > 10 {
			return p.factor(r, name, "E2E, which holds it", name, e2e)
		}
	}
	return g.checkTPOT(n, e)
}

// checkTPOT holds TPOT against (E2E − TTFT) / (output tokens − 1).
func (g *Program) checkTPOT(n int, e *serving.Vector) error {
	p := g.plan
	if _, ok := p.byName[tpot]; !ok || !p.makes(ttft) || !p.makes(outputTokens) {
		return nil
	}
	t, first, out := &g.nodes[g.index[nodeKey{tpot, plain}]].vec, &g.nodes[g.index[nodeKey{ttft, plain}]].vec, g.Vector(outputTokens)
	r := medianRatio(n, func(i int) (float64, float64, bool) {
		return t.Floats[i]*float64(out.Ints[i]-1) + first.Floats[i], e.Floats[i],
			t.Has(i) && first.Has(i) && out.Has(i) && e.Has(i) && out.Ints[i] > 1
	})
	if x := thousands(r); x != 1 {
		return p.factor(x, tpot, "what (E2E − TTFT) / (output tokens − 1) gives", tpot, ttft, e2e)
	}
	// A TPOT that is too small is hidden by TTFT in the sum.
	r = medianRatio(n, func(i int) (float64, float64, bool) {
		return t.Floats[i], (e.Floats[i] - first.Floats[i]) / float64(out.Ints[i]-1),
			t.Has(i) && first.Has(i) && out.Has(i) && e.Has(i) && out.Ints[i] > 1 && e.Floats[i]-first.Floats[i] > slackOfColumns*e.Floats[i]
	})
	if x := thousands(r); x != 1 {
		return p.factor(x, tpot, "what (E2E − TTFT) / (output tokens − 1) gives", tpot, ttft, e2e)
	}
	return nil
}

func (p *Plan) factor(x float64, what, than string, names ...string) error {
	cols := p.rawNames(names)
	text := ""
	for i, c := range cols {
		if i > 0 {
			text += " and "
		}
		text += c
		if s, ok := p.sourceOf(c); ok && s.Unit != NoUnit {
			text += fmt.Sprintf(" (taken as %s)", s.Unit)
		}
	}
	return &FactorError{cols, fmt.Sprintf("columns %s contradict each other: %s is %.3g times %s; one of the units is wrong, pass --map %s=COLUMN:UNIT", text, what, x, than, what)}
}

func (p *Plan) sourceOf(raw string) (Source, bool) {
	for _, s := range p.Sources {
		if p.Raws[s.Raw].Name == raw {
			return s, true
		}
	}
	return Source{}, false
}

// enoughRatios is how many ratios a median is of. One that is to be told from its
// thousandfold needs no more.
const enoughRatios = 2 << 10

// medianRatio returns the median of a/b over the first rows that have both and
// where both are above 0, or 1 where there are none.
func medianRatio(n int, at func(i int) (a, b float64, ok bool)) float64 {
	var r []float64
	for i := 0; i < n && len(r) < enoughRatios; i++ {
		if a, b, ok := at(i); ok && a > 0 && b > 0 {
			r = append(r, a/b)
		}
	}
	if len(r) == 0 {
		return 1
	}
	slices.Sort(r)
	return r[len(r)/2]
}

// thousands returns the power of a thousand that r is near (within a factor of
// 1.4), or 1.
func thousands(r float64) float64 {
	l := math.Log10(r)
	k := math.Round(l / 3)
	if k == 0 || math.Abs(k) > 3 || math.Abs(l-3*k) > 0.15 {
		return 1
	}
	return math.Pow(1000, k)
}

// GapsBetween tells from a batch whether the gaps of itl are between tokens or
// between chunks that hold several: a request with n output tokens has n − 1
// gaps between tokens. It returns "" where the batch cannot tell.
func (g *Program) GapsBetween(n int) string {
	v, out := g.Vector(itl), g.Vector(outputTokens)
	if v == nil || out == nil {
		return ""
	}
	r := medianRatio(n, func(i int) (float64, float64, bool) {
		if !v.Has(i) || !out.Has(i) {
			return 0, 0, false
		}
		return float64(v.Offsets[i+1] - v.Offsets[i]), float64(out.Ints[i] - 1), true
	})
	if r < 0.9 {
		return "chunk"
	}
	return "token"
}

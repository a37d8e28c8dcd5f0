package analyze

import (
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/verdict"
	"github.com/vreport/vreport/ingest/serving"
)

// Longer prompts are slower on any server. Where the requests of the sides have
// other lengths, and nothing holds the lengths fixed, a change in the direction that
// the lengths alone would cause says nothing of the server, and is not called.

// A lengthShift is how many times as long the requests of the second side are; 1
// where it is not known.
type lengthShift struct {
	prompt, output float64
	text           string // the means, for a sentence
}

// explains reports whether the lengths alone may have caused an effect (the logarithm
// of a ratio) of a figure, and names the length that may have. Prefill grows at most
// with the square of the prompt, so that a small change of length explains only a
// small effect; beyond otherPrompts a queue may form that was not there, which has no
// bound.
func (l lengthShift) explains(f verdict.Figure, effect float64) (string, bool) {
	if f.IsShare() || effect == 0 {
		return "", false
	}
	slower := effect > 0
	if f.Better() == serving.HigherIsBetter {
		slower = effect < 0
	}
	for _, by := range []struct {
		what    string
		ratio   float64
		metrics []serving.MetricKey
	}{
		{"prompts", l.prompt, []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E, serving.Queue, serving.Prefill, serving.Decode, serving.RateRequests, serving.RateOutput}},
		{"outputs", l.output, []serving.MetricKey{serving.E2E, serving.Decode, serving.RateRequests}},
	} {
		shift := math.Log(by.ratio)
		switch {
		case !slices.Contains(by.metrics, f.Metric), math.Abs(shift) <= math.Log1p(lengthChange), slower != (shift > 0):
		case math.Abs(shift) > math.Log(otherPrompts), math.Abs(effect) <= 2*math.Abs(shift):
			return by.what, true
		}
	}
	return "", false
}

// why says what was not called, and for what reason.
func (l lengthShift) why(what string) string {
	return fmt.Sprintf("the %s have other lengths (%s), which alone may be the difference", what, l.text)
}

// unlike takes back the calls that other lengths of the requests explain as well:
// over all levels those that no cells hold fixed, of a level and of a slice those of
// its own requests.
func (c *comparing) unlike() {
	if c.out.SameFiles {
		return
	}
	for _, r := range slices.Concat(c.out.Headline, c.out.Others) {
		r.uncall(c.shiftFor(r.Figure))
	}
	for _, r := range c.out.Levels {
		r.uncall(c.lengthsOf([]*Pair{r.Pair}))
	}
	for _, r := range c.out.Slices {
		r.uncall(c.sliceLengths[keyOf(r.By)])
	}
	c.sortSlices()
}

// shiftFor is how the lengths of all requests changed: within cells where a figure was
// split by them.
func (c *comparing) shiftFor(f verdict.Figure) lengthShift {
	if l, ok := c.cellLengths[f]; ok {
		return l
	}
	return c.lengthsOf(c.out.Pairs)
}

// uncall makes a call undecided that lengths explain.
func (r *CompareRow) uncall(l lengthShift) {
	if r.Mix || r.Call != verdict.Slower && r.Call != verdict.Faster || l.text == "" {
		return
	}
	if what, ok := l.explains(r.Figure, r.Effect()); ok {
		r.Call, r.Lengths, r.Why = verdict.Undecided, l.text, l.why(what)
	}
}

// lengthsOf compares the mean lengths over levels; of sides with neither runs nor
// traces those that the engines' histograms state.
func (c *comparing) lengthsOf(pairs []*Pair) lengthShift {
	mean := func(k serving.MetricKey) (b, a float64) {
		n := 0.0
		for _, p := range pairs {
			of := func(u *unit) serving.Opt[float64] { return u.meanLength(k) }
			if x, y := meanOf(p.units[before], of), meanOf(p.units[after], of); x.OK && y.OK {
				b, a, n = b+x.V, a+y.V, n+1
			}
		}
		if n == 0 {
			return c.serverLengths(pairs, k)
		}
		return b / n, a / n
	}
	pb, pa := mean(serving.PromptTokens)
	ob, oa := mean(serving.OutputTokens)
	return shiftOf([2]float64{pb, ob}, [2]float64{pa, oa})
}

func (c *comparing) serverLengths(pairs []*Pair, k serving.MetricKey) (b, a float64) {
	x, y := c.oneServer(before), c.oneServer(after)
	if len(pairs) > 0 || x == nil || y == nil {
		return 0, 0
	}
	return x.Dists.stat(k, "mean").Or(0), y.Dists.stat(k, "mean").Or(0)
}

// shiftOf compares mean prompt and output lengths; 0 is not known.
func shiftOf(b, a [2]float64) lengthShift {
	l := lengthShift{prompt: 1, output: 1}
	for i, dst := range []*float64{&l.prompt, &l.output} {
		if !(b[i] > 0 && a[i] > 0) {
			continue
		}
		*dst = a[i] / b[i]
		if math.Abs(math.Log(*dst)) <= math.Log1p(lengthChange) {
			continue
		}
		if l.text != "" {
			l.text += ", "
		}
		l.text += fmt.Sprintf("mean %s %s → %s tokens", []string{"prompt", "output"}[i], number(math.Round(b[i])), number(math.Round(a[i])))
	}
	return l
}

// lengths compares the mean lengths of a slice's completed requests.
func (s *sliced) lengths() lengthShift {
	var tokens [2][2]float64 // prompt, output; a side
	var n [2]float64
	for u, x := range s.cells {
		done := float64(x.Counts.Completed.Or(0))
		n[u.side] += done
		tokens[0][u.side] += float64(x.Input)
		tokens[1][u.side] += float64(x.Output)
	}
	if n[before] == 0 || n[after] == 0 {
		return lengthShift{}
	}
	return shiftOf([2]float64{tokens[0][before] / n[before], tokens[1][before] / n[before]}, [2]float64{tokens[0][after] / n[after], tokens[1][after] / n[after]})
}

// lengthsWithin compares mean lengths with the mix held at that of the second side:
// what is left within the cells.
func lengthsWithin(cells []*mixCell) lengthShift {
	var b, a [2]float64
	for i := range b {
		n := 0.0
		for _, m := range cells {
			x, y := m.length(i, before), m.length(i, after)
			if x > 0 && y > 0 {
				b[i], a[i], n = b[i]+m.n[after]*x, a[i]+m.n[after]*y, n+m.n[after]
			}
		}
		if n > 0 {
			b[i], a[i] = b[i]/n, a[i]/n
		}
	}
	return shiftOf(b, a)
}

// length is the mean prompt (0) or output (1) length of a side's requests in the cell.
func (m *mixCell) length(which, side int) float64 {
	if m.done[side] == 0 {
		return 0
	}
	return m.tokens[which][side] / m.done[side]
}

package analyze

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/vreport/vreport/ingest/serving"
)

// Ratios of mean lengths beyond which two runs of a side are of different
// workloads: chance explains less of prompts, which are given, than of outputs,
// which may stop early.
const (
	otherPrompts = 1.3
	otherOutputs = 2
)

// pairLengths pairs runs of one load. Where a side has runs of very different
// lengths they are no repeats but several workloads, and each is compared with the
// nearest of the other side. Where each side has one, that is a pair, whatever its
// lengths: the list of what changed says so.
func (c *comparing) pairLengths(b, a []*unit, keys []string) {
	before, after := byLength(b), byLength(a)
	if len(before) == 1 && len(after) == 1 {
		c.out.Pairs = append(c.out.Pairs, newPair(b, a, keys))
		return
	}
	type match struct {
		b, a int
		far  float64
	}
	var all []match
	for i, x := range before {
		for k, y := range after {
			if far, ok := lengthsApart(x[0], y[0]); ok {
				all = append(all, match{i, k, far})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y match) int { return cmp.Compare(x.far, y.far) })
	for _, m := range all {
		if before[m.b] == nil || after[m.a] == nil {
			continue // has a nearer one
		}
		p := newPair(before[m.b], after[m.a], keys)
		p.Label += lengthText(before[m.b][0])
		c.out.Pairs = append(c.out.Pairs, p)
		before[m.b], after[m.a] = nil, nil
	}
	c.unpaired(slices.Concat(slices.Concat(before...), slices.Concat(after...)))
}

// byLength splits runs of one load into workloads by their mean lengths.
func byLength(units []*unit) [][]*unit {
	var out [][]*unit
	for _, same := range splitUnits(units, serving.PromptTokens, otherPrompts) {
		out = append(out, splitUnits(same, serving.OutputTokens, otherOutputs)...)
	}
	return out
}

// splitUnits cuts runs, ordered by a mean length, wherever neighbours are further
// apart than a ratio. Traces, and runs without the length, stay with the first.
func splitUnits(units []*unit, k serving.MetricKey, ratio float64) [][]*unit {
	length := func(u *unit) float64 {
		if u.run == nil {
			return 0
		}
		return u.meanLength(k).Or(0)
	}
	sorted := slices.Clone(units)
	slices.SortStableFunc(sorted, func(x, y *unit) int { return cmp.Compare(length(x), length(y)) })
	out := [][]*unit{nil}
	last := 0.0
	for _, u := range sorted {
		v := length(u)
		if last > 0 && v > last*ratio {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], u)
		last = v
	}
	return out
}

// lengthsApart is how far the lengths of two runs are from each other; ok is false where
// they are of different workloads.
func lengthsApart(x, y *unit) (far float64, ok bool) {
	for _, d := range []struct {
		key   serving.MetricKey
		ratio float64
	}{{serving.PromptTokens, otherPrompts}, {serving.OutputTokens, otherOutputs}} {
		a, b := x.meanLength(d.key), y.meanLength(d.key)
		if !a.OK || !b.OK || a.V <= 0 || b.V <= 0 {
			continue
		}
		v := math.Abs(math.Log(a.V / b.V))
		if v > math.Log(d.ratio) {
			return 0, false
		}
		far += v
	}
	return far, true
}

// lengthText tells the workloads of one load apart.
func lengthText(u *unit) string {
	in, out := u.meanLength(serving.PromptTokens), u.meanLength(serving.OutputTokens)
	switch {
	case in.OK && out.OK:
		return fmt.Sprintf(", %.0f tokens in and %.0f out", in.V, out.V)
	case in.OK:
		return fmt.Sprintf(", %.0f tokens in", in.V)
	}
	return ""
}

package stat

import (
	"cmp"
	"slices"
)

// A MeanShift splits the change of a mean over slices into what the shares did
// and what the slices did; Total = Mix + Within.
type MeanShift struct {
	Total, Mix, Within float64
	ByMix              []float64 // a slice: (w1-w0)·(its level - both sides' mean); they add up to Mix
	ByWithin           []float64 // a slice: mean share · (m1-m0)
}

// Kitagawa splits a change of a mean by Kitagawa's method, with each factor at
// the average of both sides: shares w0, w1 (which add up to 1) and means m0, m1 a
// slice.
func Kitagawa(w0, w1, m0, m1 []float64) MeanShift {
	s := MeanShift{ByMix: make([]float64, len(w0)), ByWithin: make([]float64, len(w0))}
	level := 0.0
	for i := range w0 {
		level += (w0[i]*m0[i] + w1[i]*m1[i]) / 2
	}
	for i := range w0 {
		s.ByMix[i] = (w1[i] - w0[i]) * ((m0[i]+m1[i])/2 - level)
		s.ByWithin[i] = (w0[i] + w1[i]) / 2 * (m1[i] - m0[i])
		s.Mix += (w1[i] - w0[i]) * (m0[i] + m1[i]) / 2
		s.Within += s.ByWithin[i]
	}
	s.Total = s.Mix + s.Within
	return s
}

// A QuantileShift splits the change of a quantile; Total = Mix + Within exactly.
type QuantileShift struct {
	Before, After      float64 // weighted type 1 quantiles, as are all of these
	Total, Mix, Within float64 // averages of both orders of changing one thing first
	AfterMix           float64 // before's speed with after's mix
	BeforeMix          float64 // after's speed with before's mix
}

// Weighted values are a sample; without weights each counts one.
type Weighted struct{ X, W []float64 }

// Add appends a value with its weight.
func (v *Weighted) Add(x, w float64) { v.X, v.W = append(v.X, x), append(v.W, w) }

// weight is that of value i.
func (v Weighted) weight(i int) float64 {
	if v.W == nil {
		return 1
	}
	return v.W[i]
}

// Total is the sum of the weights.
func (v Weighted) Total() float64 {
	if v.W == nil {
		return float64(len(v.X))
	}
	return Sum(v.W)
}

// A MixCell is the values of one cell of the workload (a prompt length band with
// a cache state, say) on both sides.
type MixCell struct{ Before, After Weighted }

// ReweightQuantile splits the change of the p quantile by reweighting (DiNardo,
// Fortin, Lemieux): the requests of one side are given the shares that their
// cells have on the other. All four quantiles are the weighted type 1 quantile, so
// that the parts add up. Cells must have weight on both sides.
func ReweightQuantile(cells []MixCell, p float64) QuantileShift {
	n0, n1 := 0.0, 0.0
	for _, c := range cells {
		n0, n1 = n0+c.Before.Total(), n1+c.After.Total()
	}
	quantile := func(values func(MixCell) Weighted, share func(MixCell) float64) float64 {
		var x []weighted
		for _, c := range cells {
			v := values(c)
			w := share(c) / v.Total()
			for i, y := range v.X {
				x = append(x, weighted{y, w * v.weight(i)})
			}
		}
		return weightedQuantile(x, p)
	}
	before := func(c MixCell) Weighted { return c.Before }
	after := func(c MixCell) Weighted { return c.After }
	w0 := func(c MixCell) float64 { return c.Before.Total() / n0 }
	w1 := func(c MixCell) float64 { return c.After.Total() / n1 }
	s := QuantileShift{Before: quantile(before, w0), After: quantile(after, w1),
		AfterMix: quantile(before, w1), BeforeMix: quantile(after, w0)}
	s.Total = s.After - s.Before
	s.Mix = ((s.AfterMix - s.Before) + (s.After - s.BeforeMix)) / 2
	s.Within = ((s.After - s.AfterMix) + (s.BeforeMix - s.Before)) / 2
	return s
}

type weighted struct{ x, w float64 }

func weightedQuantile(v []weighted, p float64) float64 {
	slices.SortStableFunc(v, func(a, b weighted) int { return cmp.Compare(a.x, b.x) })
	x, w := make([]float64, len(v)), make([]float64, len(v))
	for i, e := range v {
		x[i], w[i] = e.x, e.w
	}
	return WeightedQuantile(x, w, p)
}

// EffectiveWeight is Kish's effective number of equal weights, (Σw)²/Σw²: it
// stands for n in every label of a reweighted figure.
func EffectiveWeight(w []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range w {
		sum, squares = sum+v, squares+v*v
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / squares
}

package stat

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// A linearFit holds the coefficients of a sum of terms and the sum of squared
// errors they leave.
type linearFit struct {
	c   []float64
	sse float64
}

// leastSquares fits y by a sum of terms, by QR; false where they do not determine
// the coefficients.
func leastSquares(terms [][]float64, y []float64) (linearFit, bool) {
	if len(y) < len(terms) {
		return linearFit{}, false
	}
	a := mat.NewDense(len(y), len(terms), nil)
	for j, t := range terms {
		a.SetCol(j, t)
	}
	var qr mat.QR
	qr.Factorize(a)
	var c mat.VecDense
	if err := qr.SolveVecTo(&c, false, mat.NewVecDense(len(y), y)); err != nil {
		return linearFit{}, false
	}
	out := linearFit{c: make([]float64, len(terms))}
	for j := range terms {
		out.c[j] = c.AtVec(j)
	}
	for i := range y {
		e := y[i]
		for j := range terms {
			e -= out.c[j] * terms[j][i]
		}
		out.sse += e * e
	}
	return out, true
}

// leastNonNegative is leastSquares with no coefficient below 0: the best of all
// subsets of the terms, the first among them, whose coefficients are not
// negative. There are few terms, so trying them all is the simple way.
func leastNonNegative(terms [][]float64, y []float64) linearFit {
	best := linearFit{c: make([]float64, len(terms)), sse: math.Inf(1)}
	for set := 0; set < 1<<(len(terms)-1); set++ {
		use, at := [][]float64{terms[0]}, []int{0}
		for j := 1; j < len(terms); j++ {
			if set>>(j-1)&1 == 1 {
				use, at = append(use, terms[j]), append(at, j)
			}
		}
		f, ok := leastSquares(use, y)
		if !ok || f.sse >= best.sse {
			continue
		}
		full := linearFit{c: make([]float64, len(terms)), sse: f.sse}
		negative := false
		for k, j := range at {
			full.c[j] = f.c[k]
			negative = negative || f.c[k] < 0
		}
		if !negative {
			best = full
		}
	}
	return best
}

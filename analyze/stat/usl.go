package stat

import "math"

// A USL is a fit of Gunther's universal scalability law to a closed-loop sweep:
//
//	X(N) = λN / (1 + α(N−1) + βN(N−1))
//
// λ is the throughput of one user, α what is serialized, β what coherence costs.
// With β = 0 it is exactly a decode step of t0 + t1·B: t1 = α/λ, t0 = (1−α)/λ.
//
// Source: Gunther, Guerrilla Capacity Planning (2007).
type USL struct {
	Lambda, Alpha, Beta float64
	Residual            float64 // relative root mean square
	DeltaBIC            float64 // how much β > 0 beats β = 0; above 6 is strong evidence
}

// Limits of what a fit may be used for (judgement).
const (
	maxUSLResidual = 0.05 // above it the curve is none of the law's: a hard plateau, for instance
	strongEvidence = 6
)

// FitUSL fits the law to users n and throughput x, levels ascending, all above
// 0. Dividing by the throughput makes it linear, N/X = p + q(N−1) + rN(N−1); the
// weights X/N make the relative error constant. None of the three may be
// negative. False where there are fewer than three levels.
func FitUSL(n, x []float64) (USL, bool) {
	if len(n) < 3 {
		return USL{}, false
	}
	terms := [][]float64{make([]float64, len(n)), make([]float64, len(n)), make([]float64, len(n))}
	ones := make([]float64, len(n))
	for i := range n {
		w := x[i] / n[i]
		terms[0][i], terms[1][i], terms[2][i], ones[i] = w, w*(n[i]-1), w*n[i]*(n[i]-1), 1
	}
	without := leastNonNegative(terms[:2], ones)
	with := leastNonNegative(terms, ones)
	fit := with
	// A β that explains nothing is rounding.
	if noise := 1e-20 * float64(len(n)); with.sse+noise >= without.sse*(1-1e-9) {
		fit = without
	}
	if !(fit.c[0] > 0) {
		return USL{}, false
	}
	u := USL{Lambda: 1 / fit.c[0], Alpha: fit.c[1] / fit.c[0], Residual: math.Sqrt(fit.sse / float64(len(n)))}
	if len(fit.c) > 2 {
		u.Beta = fit.c[2] / fit.c[0]
		u.DeltaBIC = deltaBIC(without.sse, fit.sse, len(n), 1)
	}
	return u, true
}

// deltaBIC is how much lower the Bayes information criterion of a model with
// more parameters is. Two exact fits differ by their parameters only.
func deltaBIC(simple, rich float64, n, more int) float64 {
	floor := 1e-24 * float64(n)
	return float64(n)*math.Log(max(simple, floor)/max(rich, floor)) - float64(more)*math.Log(float64(n))
}

// Peak is the number of users of the highest throughput; infinite with β = 0,
// where throughput only approaches λ/α.
func (u USL) Peak() float64 {
	if u.Beta <= 0 {
		return math.Inf(1)
	}
	return math.Sqrt(max(0, 1-u.Alpha) / u.Beta)
}

// Power is the number of users at which X²/N is greatest.
func (u USL) Power() float64 {
	a, b := u.Alpha, u.Beta
	if b <= 0 {
		if a <= 0 {
			return math.Inf(1)
		}
		return (1 - a) / a
	}
	return (a - b - math.Sqrt((a-b)*(a-b)+12*b*(1-a))) / (-6 * b)
}

// Fits reports whether the residual allows to speak of the fit at all.
func (u USL) Fits() bool { return u.Residual <= maxUSLResidual }

// Retrograde reports whether the fall beyond the peak is real: β beats β = 0,
// the fit is close, and a level beyond the best one lies below it by more than
// the noise, a share such as twice the variation of repeats. A flat plateau
// would give a peak otherwise.
func (u USL) Retrograde(x []float64, noise float64) bool {
	best, beyond := 0, math.Inf(1)
	for i := range x {
		if x[i] > x[best] {
			best = i
		}
	}
	for _, v := range x[best+1:] {
		beyond = min(beyond, v)
	}
	return u.Beta > 0 && u.DeltaBIC > strongEvidence && u.Fits() && beyond < x[best]*(1-noise)
}

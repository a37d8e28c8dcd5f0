package ceiling

import "math"

// A Line is the step time as a function of the batch, ITL(B) = T0 + T1·B, by
// ordinary least squares. T0 is the time to read the weights and whatever does
// not grow, T1 what each further request adds.
type Line struct {
	T0, T1   float64 // seconds
	Residual float64 // root mean square over the mean, relative
	N        int     // levels
}

// minLevels is the least number of batches that a line is fitted through.
const minLevels = 3

// maxResidual is the relative residual beyond which the step time is not called
// a line.
const maxResidual = 0.15

// FitLine fits the step time. It reports false, with the reason, where the
// points do not carry a line.
func FitLine(batch, seconds []float64) (Line, string) {
	l := Line{N: len(batch)}
	if l.N < minLevels {
		return l, "fewer than 3 levels"
	}
	n := float64(l.N)
	var mx, my float64
	for i := range batch {
		mx, my = mx+batch[i]/n, my+seconds[i]/n
	}
	var sxx, sxy float64
	for i := range batch {
		dx := batch[i] - mx
		sxx, sxy = sxx+dx*dx, sxy+dx*(seconds[i]-my)
	}
	if sxx == 0 || !(my > 0) {
		return l, "all levels have the same batch"
	}
	l.T1 = sxy / sxx
	l.T0 = my - l.T1*mx
	ss := 0.0
	for i := range batch {
		r := seconds[i] - l.T0 - l.T1*batch[i]
		ss += r * r
	}
	l.Residual = math.Sqrt(ss/n) / my
	switch {
	case l.Residual > maxResidual:
		return l, "the step time is no line of the batch"
	case l.T0 <= 0:
		return l, "the line has no time at batch 0 above 0"
	case l.T1 <= 0:
		return l, "the step time does not grow with the batch"
	}
	return l, ""
}

// HalfBatch is the batch at which a step takes twice its time at batch 0.
func (l Line) HalfBatch() float64 { return l.T0 / l.T1 }

// Asymptote is the output rate in tokens/s that the line never passes.
func (l Line) Asymptote() float64 { return 1 / l.T1 }

// WeightBandwidth is the bandwidth at which weights of so many bytes are read
// in T0.
func (l Line) WeightBandwidth(weights float64) float64 { return weights / l.T0 }

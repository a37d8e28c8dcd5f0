package stat

// mserBatch is the batch of MSER-5, and minBatches how many the rule wants: with
// fewer its minimum is chance.
const (
	mserBatch  = 5
	minBatches = 20
)

// A Warmup is what MSER-5 says of a series in order of arrival.
type Warmup struct {
	Batches   []float64 // means of 5 values each; a rest of fewer is left out
	Statistic []float64 // the statistic with the first d batches left out, d = 0…⌊m/2⌋
	Drop      int       // batches to leave out: where the statistic is least
	AtLimit   bool      // the least is the last one looked at: no steady state was reached
}

// Values is the number of values to leave out.
func (w Warmup) Values() int { return w.Drop * mserBatch }

// Enough reports whether there are batches enough to trust the answer.
func (w Warmup) Enough() bool { return len(w.Batches) >= minBatches }

// MSER5 finds the warm-up of a series by the marginal standard error rule over
// means of 5 values: leave out as many batches as make
//
//	Σ_{i≥d} (z_i − z̄_d)² / (m−d)²
//
// least, at most half of them. Where the least lies at that limit the series has
// no steady state and nothing may be trimmed.
//
// Source: White, An Effective Truncation Heuristic for Bias Reduction in
// Simulation Output (1997), in its batched form.
func MSER5(y []float64) Warmup {
	var w Warmup
	for i := 0; i+mserBatch <= len(y); i += mserBatch {
		w.Batches = append(w.Batches, meanOf(y[i:i+mserBatch]))
	}
	m := len(w.Batches)
	if m == 0 {
		return w
	}
	for d := 0; d <= m/2; d++ {
		rest := w.Batches[d:]
		mean, sum := meanOf(rest), 0.0
		for _, z := range rest {
			sum += (z - mean) * (z - mean)
		}
		n := float64(m - d)
		w.Statistic = append(w.Statistic, sum/(n*n))
		if w.Statistic[d] < w.Statistic[w.Drop] {
			w.Drop = d
		}
	}
	w.AtLimit = w.Drop > 0 && w.Drop == m/2
	return w
}

func meanOf(y []float64) float64 {
	s := 0.0
	for _, v := range y {
		s += v
	}
	return s / float64(len(y))
}

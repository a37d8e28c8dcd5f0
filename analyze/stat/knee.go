package stat

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Confidence says how far a knee can be trusted.
type Confidence string

// The confidences.
const (
	High       Confidence = "high"
	Medium     Confidence = "medium"
	Low        Confidence = "low"
	NotReached Confidence = "not_reached" // the sweep ends before it, or has too few levels
)

// A Knee is a named knee of a sweep. N is NaN where it was not reached; Reason
// says what the confidence rests on.
type Knee struct {
	N          float64
	Confidence Confidence
	Reason     string
	Shares     map[float64]float64 // of the resamples, by the level they answer; nil without repeats
}

// Knees are the named knees of a closed-loop sweep. A knee has no single true
// value, so each keeps its name.
type Knees struct {
	Saturation Knee // where the asymptotes cross, N*
	Power      Knee // greatest X²/N, a level
	USL        Knee // the peak of the scalability law, beyond which throughput falls
	Kneedle    Knee // the geometric cross-check
	Bends      []Bend
	Fit        USL // valid where Fitted
	Fitted     bool
}

// A Bend is where another definition puts the bend of a curve. It has no confidence:
// it stands beside the knees to show how far definitions differ.
type Bend struct {
	Method string // chord, L-method, hinge
	N      float64
}

// bends are those that stand out.
func bends(n, x []float64) []Bend {
	var out []Bend
	if at, far, ok := Chord(n, x, ConcaveIncreasing); ok && far >= MinChord {
		out = append(out, Bend{"chord", at})
	}
	if at, ok := LMethod(n, x); ok {
		out = append(out, Bend{"L-method", at})
	}
	if h, ok := FitHinge(n, x); ok && h.Sure(len(n)) {
		out = append(out, Bend{"hinge", h.T})
	}
	return out
}

// Rules of what makes a knee and how it is graded (judgement).
const (
	minLevels    = 4
	stillRising  = 0.05 // gain of throughput over the level before
	mostlyStable = 0.8
	hardlyStable = 0.5
	agree        = 2.0  // factor between the methods
	disagree     = 4.0  //
	usualNoise   = 0.03 // of throughput, where there are no repeats to tell it
)

// FindKnees returns the knees of a closed-loop sweep with users (or concurrency)
// n, and the throughput of each repeat of each level. A level's repeats stand
// for it with their median.
//
// N* = X_max · R(lowest n), with R = n/x, is where the asymptotes N/R and X_max
// of a closed system cross: the curve bends around it. With fewer than 4 levels no
// knee is reached. Where throughput is best at the last level, by more than 5 %, its
// highest is not in the sweep, and those knees that rest on it are not reached; power
// may have passed its maximum long before.
//
// The confidence comes from resampling the repeats within each level or, where
// there are none, from leaving out one level at a time: high where at least 80 %
// of the answers are within one level of the whole's and N*, power and Kneedle
// are within a factor 2 of each other; low below 50 % or beyond a factor 4. Power
// alone is no more than medium.
//
// Sources: Denning and Buzen, The Operational Analysis of Queueing Network Models
// (1978); Kleinrock, Power and Deterministic Rules of Thumb (1979).
func FindKnees(n []float64, repeats [][]float64) Knees {
	n, repeats = usable(n, repeats)
	x := medians(repeats)
	var out Knees
	out.Fit, out.Fitted = FitUSL(n, x)
	if len(n) < minLevels {
		none := unreached("%d load levels, and a knee takes at least %d", len(n), minLevels)
		out.Saturation, out.Power, out.USL, out.Kneedle = none, none, none, none
		return out
	}
	if gain := lastGain(x); gain > stillRising {
		out.rising(n, repeats, gain)
		return out
	}
	kneedle := func(n, x []float64) float64 {
		if k, ok := Kneedle(n, x, ConcaveIncreasing, 1); ok {
			return k
		}
		return math.NaN()
	}
	spread := spreadOf(saturation(n, x), PowerKnee(n, x), kneedle(n, x))
	out.Saturation = graded(n, repeats, saturation, spread)
	out.Power = powerOf(n, repeats, spread)
	out.Kneedle = graded(n, repeats, kneedle, spread)
	if math.IsNaN(out.Kneedle.N) {
		out.Kneedle.Confidence, out.Kneedle.Reason = NotReached, "the curve has no bend that stands out from its chord"
	}
	out.USL = out.peak(x, noiseOf(repeats))
	out.Bends = bends(n, x)
	return out
}

// peak is the peak of the fit, where its guards let it be told.
func (k *Knees) peak(x []float64, noise float64) Knee {
	switch {
	case !k.Fitted:
		return unreached("the law cannot be fitted to these levels")
	case !k.Fit.Fits():
		return unreached("the law does not describe this curve (residual %.1f %%, at most %.0f %% allowed), as where a limit cuts it off", 100*k.Fit.Residual, 100*maxUSLResidual)
	case !k.Fit.Retrograde(x, noise):
		return unreached("no fall of throughput beyond its highest level that exceeds the noise of %.1f %%", 100*noise)
	}
	return Knee{N: k.Fit.Peak(), Confidence: Medium, Reason: fmt.Sprintf("residual %.1f %%, a falling end beats a flat one by ΔBIC %.0f, and the fall exceeds the noise of %.1f %%", 100*k.Fit.Residual, k.Fit.DeltaBIC, 100*noise)}
}

// unreached is a knee that the sweep does not show.
func unreached(why string, args ...any) Knee {
	return Knee{N: math.NaN(), Confidence: NotReached, Reason: fmt.Sprintf(why, args...)}
}

// lastGain is the growth of throughput at the last level over the best before.
func lastGain(x []float64) float64 {
	last := len(x) - 1
	return x[last]/slices.Max(x[:last]) - 1
}

// rising are the knees of a sweep that ends before throughput does. Only power has a
// maximum that does not rest on the highest throughput.
func (k *Knees) rising(n []float64, repeats [][]float64, gain float64) {
	x, last := medians(repeats), n[len(n)-1]
	still := fmt.Sprintf("throughput still rises by %.0f %% at the last level, %.4g", 100*gain, last)
	k.Saturation = unreached("%s: its highest is not in the sweep, and N* lies at %.3g or above", still, saturation(n, x))
	k.USL = unreached("%s, so it has no peak below", still)
	k.Kneedle = unreached("%s, so where the curve bends depends on where the sweep ends", still)
	k.Power = powerOf(n, repeats, math.NaN())
}

// powerOf is the power knee, of a maximum inside the sweep: one at an end of it may
// lie beyond. Nothing is below one request in flight.
func powerOf(n []float64, repeats [][]float64, spread float64) Knee {
	x := medians(repeats)
	power := func(i int) float64 { return x[i] * x[i] / n[i] }
	at, last := PowerKnee(n, x), len(n)-1
	i := slices.Index(n, at)
	switch {
	case power(last) >= (1-2*noiseOf(repeats))*power(i): // squared, throughput's noise counts twice
		return unreached("throughput for its latency does not fall clearly up to the last level, so the knee may be at %.4g or above", n[last])
	case i == 0 && at >= 2:
		return unreached("throughput for its latency falls from the lowest level on, so the knee is at %.4g or below", at)
	}
	return graded(n, repeats, PowerKnee, spread)
}

// graded finds a knee and says how far it can be trusted.
func graded(n []float64, repeats [][]float64, find func(n, x []float64) float64, spread float64) Knee {
	x := medians(repeats)
	k := Knee{N: find(n, x)}
	if math.IsNaN(k.N) {
		return k
	}
	share := 0.0
	near := func(v float64) bool { return math.Abs(position(n, v)-position(n, k.N)) <= 1+1e-9 }
	if repeated(repeats) {
		k.Shares = KneeShares(n, repeats, median, find)
		for v, s := range k.Shares {
			if near(v) {
				share += s
			}
		}
		k.Reason = fmt.Sprintf("%.0f %% of %d resamples of the repeats are within one level of it", 100*share, Resamples)
	} else {
		stable := 0
		for i := range n {
			if near(find(without(n, i), without(x, i))) {
				stable++
			}
		}
		share = float64(stable) / float64(len(n))
		k.Reason = fmt.Sprintf("%d of %d answers without one level are within one level of it", stable, len(n))
	}
	if math.IsNaN(spread) {
		k.Reason += "; saturation and Kneedle, which would check it, are not reached"
	} else {
		k.Reason += fmt.Sprintf("; saturation, power and Kneedle differ by a factor %.2g", spread)
	}
	k.Confidence = Medium
	switch {
	case share < hardlyStable || spread > disagree:
		k.Confidence = Low
	case share >= mostlyStable && spread <= agree:
		k.Confidence = High
	}
	return k
}

// spreadOf is the factor between the smallest and the largest of some answers.
func spreadOf(vs ...float64) float64 {
	lo, hi := math.Inf(1), 0.0
	for _, v := range vs {
		if !math.IsNaN(v) {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	return hi / lo
}

// repeated reports whether each level but at most one has repeats to resample.
func repeated(repeats [][]float64) bool {
	single := 0
	for _, r := range repeats {
		if len(r) < 2 {
			single++
		}
	}
	return single <= 1
}

// noiseOf is twice the median coefficient of variation of the repeats.
func noiseOf(repeats [][]float64) float64 {
	var cvs []float64
	for _, r := range repeats {
		if len(r) > 1 {
			cvs = append(cvs, CV(r))
		}
	}
	if len(cvs) == 0 {
		return usualNoise
	}
	slices.Sort(cvs)
	return 2 * Quantile(cvs, 0.5)
}

// CV is the coefficient of variation of some values, by the sample's deviation.
func CV(v []float64) float64 {
	if len(v) < 2 {
		return math.NaN()
	}
	mean := 0.0
	for _, x := range v {
		mean += x / float64(len(v))
	}
	ss := 0.0
	for _, x := range v {
		ss += (x - mean) * (x - mean)
	}
	return math.Sqrt(ss/float64(len(v)-1)) / math.Abs(mean)
}

func saturation(n, x []float64) float64 { return slices.Max(x) * n[0] / x[0] }

// PowerKnee returns the level of greatest power, throughput over residence time
// x/R = x²/n; the lowest of equals. n ascends.
//
// Source: Kleinrock, Power and Deterministic Rules of Thumb (1979).
func PowerKnee(n, x []float64) float64 {
	best := 0
	for i := range n {
		if x[i]*x[i]/n[i] > x[best]*x[best]/n[best] {
			best = i
		}
	}
	if len(n) == 0 {
		return math.NaN()
	}
	return n[best]
}

// usable orders levels by load and leaves out what is no positive number, and
// levels without any.
func usable(n []float64, repeats [][]float64) (ns []float64, rs [][]float64) {
	order := make([]int, len(n))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(n[a], n[b]) })
	for _, i := range order {
		var r []float64
		for _, v := range repeats[i] {
			if v > 0 && isFinite(v) {
				r = append(r, v)
			}
		}
		if len(r) > 0 && n[i] > 0 && isFinite(n[i]) {
			ns, rs = append(ns, n[i]), append(rs, r)
		}
	}
	return ns, rs
}

func medians(repeats [][]float64) []float64 {
	var out []float64
	for _, r := range repeats {
		out = append(out, median(r))
	}
	return out
}

func without(v []float64, i int) []float64 {
	return append(slices.Clone(v[:i]), v[i+1:]...)
}

// position returns where a load lies among the levels, counted in levels: 1.5 is
// halfway (in ratio, as levels are spaced) between the second and the third. It
// goes on beyond both ends.
func position(levels []float64, v float64) float64 {
	i, _ := slices.BinarySearch(levels, v)
	i = min(max(i, 1), len(levels)-1)
	lo, hi := levels[i-1], levels[i]
	return float64(i-1) + math.Log(v/lo)/math.Log(hi/lo)
}

package stat

import "math/rand/v2"

// Resamples is how many resamples a share is counted in: its error is then at
// most two percentage points.
const Resamples = 2000

// seed of all resampling: the same data give the same shares.
const seed = 0x76726570

// Resample draws, Resamples times, from a source that is the same each time it
// is asked for, and hands each draw on.
func Resample(draw func(*rand.Rand)) {
	rng := rand.New(rand.NewPCG(seed, seed))
	for range Resamples {
		draw(rng)
	}
}

// Redraw fills out with as many values as there are, drawn with replacement.
func Redraw(rng *rand.Rand, values, out []float64) []float64 {
	out = out[:0]
	for range values {
		out = append(out, values[rng.IntN(len(values))])
	}
	return out
}

// KneeShares resamples the repeats within each level and returns how often each
// level is what find says: the distribution of a knee. center is what stands for
// a level's repeats, such as their median.
func KneeShares(n []float64, repeats [][]float64, center func([]float64) float64, find func(n, x []float64) float64) map[float64]float64 {
	count := map[float64]int{}
	x := make([]float64, len(n))
	var buf []float64
	Resample(func(rng *rand.Rand) {
		for i, r := range repeats {
			buf = Redraw(rng, r, buf)
			x[i] = center(buf)
		}
		count[find(n, x)]++
	})
	out := map[float64]float64{}
	for v, c := range count {
		out[v] = float64(c) / Resamples
	}
	return out
}

// FrontShares returns how often each point is on the frontier when the points
// are drawn anew: draw fills one resample of all points, whose objectives are
// minimized.
func FrontShares(n int, draw func(rng *rand.Rand, points [][]float64)) []float64 {
	count := make([]int, n)
	points := make([][]float64, n)
	for i := range points {
		points[i] = make([]float64, 2)
	}
	Resample(func(rng *rand.Rand) {
		draw(rng, points)
		for _, i := range Front(points) {
			count[i]++
		}
	})
	out := make([]float64, n)
	for i, c := range count {
		out[i] = float64(c) / Resamples
	}
	return out
}

package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 100, radixFrom - 1, radixFrom, 10_000} {
		for name, draw := range map[string]func() float64{
			"normal":   r.NormFloat64,
			"counts":   func() float64 { return float64(r.IntN(9)) },
			"constant": func() float64 { return 0.25 },
			"any":      func() float64 { return math.Copysign(math.Float64frombits(r.Uint64()>>12), r.Float64()-0.5) },
			"endless":  func() float64 { return math.Inf(r.IntN(3) - 1) },
		} {
			x := make([]float64, n)
			for i := range x {
				x[i] = draw()
			}
			want := slices.Clone(x)
			slices.Sort(want)
			Sort(x)
			if !slices.Equal(x, want) {
				t.Errorf("%d values, %s: not as slices.Sort has them", n, name)
			}
		}
	}
}

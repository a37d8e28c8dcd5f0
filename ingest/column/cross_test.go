package column

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// nth is what sorting would put at a place, for any values in any order.
func TestNthIsOfSorted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1}
	orders := map[string]func(i, n int) float64{
		"random": func(int, int) float64 { return r.NormFloat64() }, "few": func(int, int) float64 { return float64(r.IntN(3)) },
		"special": func(int, int) float64 { return special[r.IntN(len(special))] }, "up": func(i, _ int) float64 { return float64(i) },
		"down": func(i, n int) float64 { return float64(n - i) }, "organ": func(i, n int) float64 { return float64(min(i, n-i)) },
	}
	for name, value := range orders {
		for _, n := range []int{1, 2, 16, 17, 100, 1000, 5000} {
			list := make([]float64, n)
			for i := range list {
				list[i] = value(i, n)
			}
			sorted := slices.Clone(list)
			slices.Sort(sorted)
			for _, k := range []int{0, n / 2, n - 1} {
				got, want := nth(slices.Clone(list), k), sorted[k]
				if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("%s, %d of %d: %v, want %v", name, k, n, got, want)
				}
			}
		}
	}
}

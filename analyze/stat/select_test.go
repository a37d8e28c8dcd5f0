package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	ps := []float64{0, 0.5, 0.95, 0.99, 1}
	for _, n := range []int{0, 1, 2, selectFrom - 1, selectFrom, 361, 5000, 30_000} {
		for name, draw := range map[string]func() float64{
			"normal":   r.NormFloat64,
			"times":    func() float64 { return math.Exp(r.NormFloat64()) },
			"counts":   func() float64 { return float64(r.IntN(9)) },
			"constant": func() float64 { return 0.25 },
			"zeros":    func() float64 { return max(0, r.NormFloat64()) },
			"signs":    func() float64 { return math.Copysign(0, r.NormFloat64()) },
			"far":      func() float64 { return math.Pow(r.Float64(), -40) },
			"any":      func() float64 { return math.Copysign(math.Float64frombits(r.Uint64()>>12), r.Float64()-0.5) },
			"endless":  func() float64 { return math.Inf(r.IntN(3) - 1) },
		} {
			x := make([]float64, n)
			for i := range x {
				x[i] = draw()
			}
			as := slices.Clone(x)
			got := Quantiles(x, ps...)
			if !slices.Equal(x, as) {
				t.Errorf("%d values, %s: the values were changed", n, name)
			}
			slices.Sort(as)
			for i, p := range ps {
				if want := Quantile(as, p); got[i] != want && !(math.IsNaN(want) && math.IsNaN(got[i])) {
					t.Errorf("%d values, %s, p %v: %v, want %v", n, name, p, got[i], want)
				}
			}
		}
	}
}

func BenchmarkQuantiles(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{100, 360, 1500, 22_000} {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(r.NormFloat64())
		}
		name := map[int]string{100: "100", 360: "360", 1500: "1500", 22_000: "22000"}[n]
		b.Run("select/"+name, func(b *testing.B) {
			for b.Loop() {
				Quantiles(x, 0.5, 0.95, 0.99)
			}
		})
		b.Run("sort/"+name, func(b *testing.B) {
			for b.Loop() {
				s := slices.Clone(x)
				Sort(s)
			}
		})
	}
}

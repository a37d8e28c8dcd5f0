package cube

import (
	"math/rand"
	"slices"
	"testing"
)

func TestNth(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		x := make([]float64, 1+r.Intn(300))
		for i := range x {
			x[i] = float64(r.Intn(1 + r.Intn(400)))
		}
		sorted := slices.Sorted(slices.Values(x))
		k := r.Intn(len(x))
		if got := nth(x, k); got != sorted[k] || x[k] != got {
			t.Fatalf("%d of %d: %v (at its place: %v), want %v", k, len(x), got, x[k], sorted[k])
		}
		if l := k + r.Intn(len(x)-k); l > k {
			if got := nth(x[k+1:], l-k-1); got != sorted[l] {
				t.Fatalf("%d after %d of %d: %v, want %v", l, k, len(x), got, sorted[l])
			}
		}
		if slices.Sort(x); !slices.Equal(x, sorted) {
			t.Fatal("values lost")
		}
	}
}

package trace

import (
	"math/rand/v2"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// Booleans are read from any bit on, to any other.
func TestPlainBits(t *testing.T) {
	b := []byte{0b10110010, 0b01011101, 0b11100011, 0b00011010}
	for from := range 32 {
		for to := from; to <= 32; to++ {
			dst := make([]int64, to-from)
			plainBits(dst, b, from)
			for i, x := range dst {
				if at := from + i; x != int64(b[at/8]>>(at%8)&1) {
					t.Fatalf("bits %d to %d: %d at %d", from, to, x, at)
				}
			}
		}
	}
}

// Values are moved to the rows that have one, wherever those lie in the bitmap.
func TestSpread(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		testSpread[int64](t, r)
		testSpread[float64](t, r)
		testSpread[int32](t, r)
	}
}

func testSpread[T int32 | int64 | float64](t *testing.T, r *rand.Rand) {
	at, n := r.IntN(130), 1+r.IntN(300)
	valid := serving.NewBitmap(at + n)
	for i := range at + n {
		if r.IntN(5) > 0 {
			valid.Set(i)
		}
	}
	dst, want := make([]T, n), []int{}
	present := 0
	for i := range n {
		if valid.Get(at + i) {
			dst[present] = T(1000 + i)
			present++
			want = append(want, i)
		}
	}
	spread(dst, present, valid, at)
	for _, i := range want {
		if dst[i] != T(1000+i) {
			t.Fatalf("%d rows from %d: %v in row %d", n, at, dst[i], i)
		}
	}
}

package trace

import (
	"math/rand"
	"slices"
	"testing"
)

// Bits are read the same from wherever a piece of a page starts.
func TestUnpack(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	b := make([]byte, 301)
	for i := range b {
		b[i] = byte(r.Intn(256))
	}
	for width := uint(0); width <= 32; width++ {
		for bit := uint(0); bit < 70; bit += 1 + uint(r.Intn(5)) {
			most := 70
			if width > 0 {
				most = (len(b)*8 - int(bit)) / int(width)
			}
			for _, n := range []int{0, 1, 7, 8, 9, 65, most - 1, most} {
				if n > most {
					continue
				}
				got, want := make([]uint32, n), make([]uint32, n)
				for i := range want {
					for k := range width {
						at := bit + uint(i)*width + k
						want[i] |= uint32(b[at>>3]>>(at&7)&1) << k
					}
				}
				unpack(got, b, bit, width)
				if !slices.Equal(got, want) {
					t.Fatalf("%d values of %d bits from bit %d: %v, want %v", n, width, bit, got, want)
				}
			}
		}
	}
}

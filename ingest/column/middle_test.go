package column

import "testing"

func TestMiddle(t *testing.T) {
	if _, _, ok := Middle(nil); ok {
		t.Error("the middle of nothing")
	}
	for _, tt := range []struct {
		in     []float64
		lo, hi float64
	}{
		{[]float64{7}, 7, 7},
		{[]float64{3, 0, 2}, 0, 3},
		{[]float64{5, 5, 0, 5, 6, 5, 0, 5}, 5, 5},
		{[]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 7},
	} {
		if lo, hi, ok := Middle(tt.in); !ok || lo != tt.lo || hi != tt.hi {
			t.Errorf("%v: %v to %v", tt.in, lo, hi)
		}
	}
}

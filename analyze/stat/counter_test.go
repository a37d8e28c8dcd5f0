package stat

import (
	"math"
	"testing"
)

func TestIncrease(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		v      []float64
		inc    float64
		resets int
	}{
		{"rises", []float64{10, 15, 40}, 30, 0},
		{"flat", []float64{7, 7}, 0, 0},
		{"falls once", []float64{100, 160, 20, 50}, 110, 1},
		{"falls to zero and stays", []float64{5, 0, 0}, 0, 1},
		{"falls twice", []float64{9, 1, 3, 2}, 5, 2},
		{"a missing scrape is bridged", []float64{10, nan, 25}, 15, 0},
		{"missing at both ends", []float64{nan, 10, 12, nan}, 2, 0},
		{"missing around a fall", []float64{10, nan, 4, nan, 9}, 9, 1},
		{"one value", []float64{nan, 3}, nan, 0},
		{"nothing", nil, nan, 0},
	} {
		inc, resets := IncreaseAcross(c.v, nil)
		if !(inc == c.inc || math.IsNaN(inc) && math.IsNaN(c.inc)) || resets != c.resets {
			t.Errorf("%s: increase %v, %d, want %v, %d", c.name, inc, resets, c.inc, c.resets)
		}
	}
}

func TestIncreaseAcrossKnownRestart(t *testing.T) {
	// The new process has counted past the old one by the time it is scraped.
	v := []float64{10, 20, 35}
	inc, resets := IncreaseAcross(v, func(i int) bool { return i == 2 })
	if inc != 45 || resets != 1 {
		t.Errorf("got %v, %d, want 45, 1", inc, resets)
	}
	// The first scrape after the restart lacks the counter.
	v = []float64{10, 20, math.NaN(), 35}
	inc, resets = IncreaseAcross(v, func(i int) bool { return i == 2 })
	if inc != 45 || resets != 1 {
		t.Errorf("with a gap: got %v, %d, want 45, 1", inc, resets)
	}
}

func TestSumIncrease(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		name       string
		sum, count []float64
		want       float64
		fell       bool
	}{
		{"steady", []float64{1, 2, 5}, []float64{1, 2, 3}, 4, false},
		{"restart by the count", []float64{10, 2, 5}, []float64{9, 1, 2}, 5, false},
		{"restart past the old sum", []float64{1, 2, 5}, []float64{9, 1, 2}, 5, false},
		{"a negative observation is no restart", []float64{10, 8, 9}, []float64{3, 4, 5}, -1, true},
		{"a gap is bridged", []float64{1, nan, 5}, []float64{1, nan, 3}, 4, false},
		{"a restart inside a gap", []float64{7, nan, 5}, []float64{4, 1, 3}, 5, false},
	} {
		got, fell := SumIncrease(tc.sum, tc.count, nil)
		if got != tc.want || fell != tc.fell {
			t.Errorf("%s: %v, %v; want %v, %v", tc.name, got, fell, tc.want, tc.fell)
		}
	}
	if got, _ := SumIncrease([]float64{1}, []float64{1}, nil); !math.IsNaN(got) {
		t.Errorf("one value gives %v, want NaN", got)
	}
}

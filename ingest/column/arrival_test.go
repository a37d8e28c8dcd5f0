package column

import (
	"slices"
	"testing"
)

func TestFromFirst(t *testing.T) {
	clock := []float64{58683.5, -1, 58683.25, 58683.25 + 4e9}
	var late []int
	times, valid := FromFirst(len(clock), func(i int) (float64, bool) { return clock[i], clock[i] >= 0 }, func(i int, _ float64) { late = append(late, i) })
	if !slices.Equal(times, []int64{250_000_000, 0, 0, 0}) || valid.Count() != 2 || valid.Get(1) || valid.Get(3) || !slices.Equal(late, []int{3}) {
		t.Errorf("times %v, valid %b, late %v", times, valid, late)
	}
	if _, valid := FromFirst(2, func(int) (float64, bool) { return 0, false }, nil); valid.Count() != 0 {
		t.Error("no clock at all gives times")
	}
}

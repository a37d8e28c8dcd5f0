package column

import (
	"math"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// What is fine at a glance is what clean would have left alone.
func TestAllFine(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, tt := range []struct {
		kind serving.ColumnKind
		v    serving.Vector
		want bool
	}{
		{serving.KindDuration, serving.Vector{Floats: []float64{0, 1, math.MaxFloat64, math.SmallestNonzeroFloat64}}, true},
		{serving.KindDuration, serving.Vector{Floats: []float64{1, -1e-300}}, false},
		{serving.KindDuration, serving.Vector{Floats: []float64{inf, 1}}, false},
		{serving.KindDuration, serving.Vector{Floats: []float64{-inf}}, false},
		{serving.KindDuration, serving.Vector{Floats: []float64{nan}}, false},
		{serving.KindDuration, serving.Vector{Floats: []float64{math.Float64frombits(math.MaxUint64)}}, false},
		{serving.KindNumber, serving.Vector{Floats: []float64{-1, 1, -math.MaxFloat64}}, true},
		{serving.KindNumber, serving.Vector{Floats: []float64{1, -inf}}, false},
		{serving.KindNumber, serving.Vector{Floats: []float64{nan, 1}}, false},
		{serving.KindRatio, serving.Vector{Floats: []float64{2}}, false},
		{serving.KindCount, serving.Vector{Ints: []int64{0, math.MaxInt64}}, true},
		{serving.KindCount, serving.Vector{Ints: []int64{0, -1}}, false},
		{serving.KindCount, serving.Vector{Ints: []int64{BadInt}}, false},
		{serving.KindTime, serving.Vector{Ints: []int64{-5, 7, math.MaxInt64, math.MinInt64 + 1}}, true},
		{serving.KindTime, serving.Vector{Ints: []int64{7, BadInt}}, false},
	} {
		if got := allFine(&Source{Kind: tt.kind}, &tt.v, len(tt.v.Ints)+len(tt.v.Floats)); got != tt.want {
			t.Errorf("kind %d, %v %v: %v", tt.kind, tt.v.Floats, tt.v.Ints, got)
		}
	}
}

// Of a column of dates, what lies outside of the years that are dates is not fine.
func TestFineDates(t *testing.T) {
	first, last := firstDate*1e9, lastDate*1e9-1
	for _, tt := range []struct {
		in   []int64
		want bool
	}{
		{nil, true}, {[]int64{first, last}, true}, {[]int64{first - 1, last}, false}, {[]int64{first, last + 1}, false}, {[]int64{0}, false}, {[]int64{BadInt, first}, false},
	} {
		if got := allFine(&Source{Kind: serving.KindTime, dated: true}, &serving.Vector{Ints: tt.in}, len(tt.in)); got != tt.want {
			t.Errorf("%v: %v", tt.in, got)
		}
	}
}

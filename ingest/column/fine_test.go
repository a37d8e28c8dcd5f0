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
		if got := allFine(tt.kind, &tt.v, len(tt.v.Ints)+len(tt.v.Floats)); got != tt.want {
			t.Errorf("kind %d, %v %v: %v", tt.kind, tt.v.Floats, tt.v.Ints, got)
		}
	}
}

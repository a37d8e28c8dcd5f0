package analyze

import (
	"math"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A figure that 64 bits do not hold, or that is less than nothing, is no count.
func TestCountOf(t *testing.T) {
	for v, want := range map[float64]serving.Opt[int64]{
		0: serving.Some(int64(0)), 2.6: serving.Some(int64(3)), 1 << 53: serving.Some(int64(1 << 53)),
		1e303: serving.None[int64](), -5: serving.None[int64](), math.Inf(1): serving.None[int64](),
	} {
		if got := countOf(v); got != want {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
	if countOf(math.NaN()).OK {
		t.Error("NaN is a count")
	}
}

package stat

import (
	"math"
	"slices"
	"testing"
)

var (
	inf = math.Inf(+1)

	ttftBounds = []float64{0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, inf}
	ttftCum    = []float64{120, 480, 820, 930, 965, 985, 996, 999, 1000}
	repBounds  = []float64{0.1, 0.25, 0.5, 1, 2.5, inf}
	repA       = []float64{500, 900, 990, 1000, 1000, 1000}
	repB       = []float64{10, 30, 60, 120, 200, 200}
)

// The expected values were computed by promql.BucketQuantile of Prometheus 3.16.
func TestBucketQuantileEqualsPrometheus(t *testing.T) {
	for _, c := range []struct {
		name           string
		le, cum, q, at []float64
	}{
		{"click", []float64{0, 0.5, 1, inf}, []float64{6, 11, 14, 19}, []float64{0.5, 0.9}, []float64{0.35, 1.0}},
		{"ttft", ttftBounds, ttftCum, []float64{0.5, 0.9, 0.95, 0.99, 0.999, 1},
			[]float64{0.2647058823529412, 0.6818181818181819, 0.8928571428571428, 3.6363636363636362, 7.5, 7.5}},
		{"repA", repBounds, repA, []float64{0.5, 0.95, 0.99}, []float64{0.1, 0.3888888888888889, 0.5}},
		{"repB", repBounds, repB, []float64{0.5, 0.95, 0.99}, []float64{0.8333333333333333, 2.3125, 2.4625}},
		{"merged", repBounds, []float64{510, 930, 1050, 1120, 1200, 1200}, []float64{0.5, 0.95, 0.99},
			[]float64{0.13214285714285715, 1.375, 2.275}},
		{"not monotonic", []float64{0.1, 0.2, 0.4, inf}, []float64{10, 9, 20, 20}, []float64{0.5, 0.9}, []float64{0.1, 0.36}},
	} {
		for i, q := range c.q {
			got := BucketQuantile(q, c.le, c.cum)
			if math.Abs(got.Value-c.at[i]) > 1e-9*c.at[i] {
				t.Errorf("%s: q=%v: %v, want %v", c.name, q, got.Value, c.at[i])
			}
			if !(got.Lo <= got.Value && got.Value <= got.Hi) {
				t.Errorf("%s: q=%v: %v is outside [%v, %v]", c.name, q, got.Value, got.Lo, got.Hi)
			}
		}
	}
}

func TestBucketQuantileBounds(t *testing.T) {
	for _, c := range []struct {
		q, lo, hi float64
		overflow  bool
	}{
		{0.5, 0.25, 0.5, false}, {0.95, 0.75, 1, false}, {0.99, 2.5, 5, false},
		{0.999, 5, 7.5, false}, // rank 999 is the count at 7.5
		{1, 7.5, inf, true},
	} {
		got := BucketQuantile(c.q, ttftBounds, ttftCum)
		if got.Lo != c.lo || got.Hi != c.hi || got.Overflow != c.overflow {
			t.Errorf("q=%v: %+v, want (%v, %v] overflow %v", c.q, got, c.lo, c.hi, c.overflow)
		}
	}
}

func TestBucketQuantileOfDamagedHistograms(t *testing.T) {
	nan := math.NaN()
	for name, q := range map[string]BucketQ{
		"empty":         BucketQuantile(0.5, nil, nil),
		"one bucket":    BucketQuantile(0.5, []float64{inf}, []float64{9}),
		"no +Inf":       BucketQuantile(0.5, []float64{1, 2}, []float64{3, 9}),
		"nothing in it": BucketQuantile(0.5, []float64{1, inf}, []float64{0, 0}),
		"q above 1":     BucketQuantile(1.5, ttftBounds, ttftCum),
		"q is NaN":      BucketQuantile(nan, ttftBounds, ttftCum),
	} {
		if !math.IsNaN(q.Value) || !math.IsNaN(q.Lo) || !math.IsNaN(q.Hi) {
			t.Errorf("%s: %+v, want NaNs", name, q)
		}
	}
	if got := BucketQuantile(0.5, []float64{0.1, 0.2, inf}, []float64{10, 4, 20}); !got.Raised || got.Value != 0.1 {
		t.Errorf("falling count: %+v, want 0.1 and raised", got)
	}
	if got := BucketQuantile(0.9, []float64{0.1, 0.2, 0.4, inf}, []float64{10, nan, 20, 20}); got.Lo != 0.1 || got.Hi != 0.4 || got.Raised {
		t.Errorf("a lost bucket widens the interval: %+v, want (0.1, 0.4]", got)
	}
	if got := BucketQuantile(0.5, []float64{1, 1, inf}, []float64{3, 4, 10}); got.Value != 1*(5.0/7) {
		t.Errorf("equal bounds are added: %+v", got)
	}
	given := []float64{10, 9, 20, 20}
	BucketQuantile(0.5, []float64{0.1, 0.2, 0.4, inf}, given)
	if given[1] != 9 {
		t.Error("the caller's counts were changed")
	}
}

func TestMergeBuckets(t *testing.T) {
	sum, dropped := MergeBuckets(Buckets{repBounds, repA}, Buckets{repBounds, repB}, Buckets{})
	if dropped != 0 || !slices.Equal(sum.Bounds, repBounds) || !slices.Equal(sum.Cum, []float64{510, 930, 1050, 1120, 1200, 1200}) {
		t.Errorf("same bounds: %+v, dropped %d", sum, dropped)
	}
	// The fleet's p99, not the mean of the replicas' (1.481) nor the weighted one (0.827).
	if got := BucketQuantile(0.99, sum.Bounds, sum.Cum).Value; math.Abs(got-2.275) > 1e-9 {
		t.Errorf("fleet p99 = %v, want 2.275", got)
	}
	sum, dropped = MergeBuckets(
		Buckets{[]float64{1, 2, 5, inf}, []float64{10, 20, 30, 40}},
		Buckets{[]float64{1, 3, 5, inf}, []float64{1, 2, 3, 4}})
	if dropped != 2 || !slices.Equal(sum.Bounds, []float64{1, 5, inf}) || !slices.Equal(sum.Cum, []float64{11, 33, 44}) {
		t.Errorf("different bounds: %+v, dropped %d", sum, dropped)
	}
	if sum, _ := MergeBuckets(); len(sum.Bounds) != 0 {
		t.Errorf("nothing: %+v", sum)
	}
}

func TestBucketDelta(t *testing.T) {
	nan := math.NaN()
	le := []float64{1, 2, inf}
	for _, c := range []struct {
		name   string
		rows   [][]float64
		delta  []float64
		resets int
	}{
		{"two scrapes", [][]float64{{1, 2, 3}, {4, 8, 9}}, []float64{3, 6, 6}, 0},
		{"a scrape without it", [][]float64{{1, 2, 3}, nil, {4, 8, 9}}, []float64{3, 6, 6}, 0},
		{"restart", [][]float64{{5, 6, 7}, {6, 8, 9}, {1, 2, 2}, {2, 4, 5}}, []float64{3, 6, 7}, 1},
		{"restart seen in one bucket only", [][]float64{{5, 6, 7}, {1, 9, 9}}, []float64{1, 9, 9}, 1},
		{"a lost bucket line", [][]float64{{1, 2, 3}, {2, nan, 5}, {4, 8, 9}}, []float64{3, 6, 6}, 0},
		{"one scrape", [][]float64{{1, 2, 3}}, nil, 0},
		{"none", [][]float64{nil, nil}, nil, 0},
	} {
		delta, resets := BucketDeltaAcross(le, c.rows, nil)
		if !slices.Equal(delta, c.delta) || resets != c.resets {
			t.Errorf("%s: %v, %d, want %v, %d", c.name, delta, resets, c.delta, c.resets)
		}
	}
	delta, resets := BucketDeltaAcross(le, [][]float64{{1, 2, 3}, {4, 8, 9}}, func(i int) bool { return i == 1 })
	if !slices.Equal(delta, []float64{4, 8, 9}) || resets != 1 {
		t.Errorf("known restart: %v, %d", delta, resets)
	}
}

package cube

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// Counters of 8 bits run full where most requests take the same time, values
// lie far outside of the window, and there is nothing of it to be seen.
func TestDenseSpills(t *testing.T) {
	const n = 210_000
	x := make([]float64, n)
	for i := range x {
		switch {
		case i%1000 == 0:
			x[i] = []float64{-1, 1e-20, 1e15, 1e300, 0, 7}[i/1000%6]
		case i%3 == 0:
			x[i] = 0
		default:
			x[i] = 0.125
		}
	}
	sorted := append([]float64(nil), x...)
	var r radix
	keys := make([]uint64, n)
	for i, v := range sorted {
		keys[i] = orderedBits(v)
	}
	r.sort(keys, make([]uint32, n))
	for i, k := range keys {
		sorted[i] = fromOrderedBits(k)
	}
	for _, workers := range []int{1, 3} {
		for _, exact := range []bool{true, false} {
			src := newMemory(n)
			src.parts = 5
			src.add(serving.Column{Name: "ttft", Kind: serving.KindDuration}, &column{floats: x})
			plan := Plan{Metrics: []serving.MetricKey{serving.TTFT}, Groupings: []Grouping{{}}, Quantiles: []float64{0, 0.001, 0.25, 0.5, 0.999, 1}, Confidence: 0.95, Workers: workers, NoExact: !exact}
			s := fill(t, src, plan).Groups[0].Cells[0].Summaries[serving.TTFT]
			if s.N != n || s.Min != -1 || s.Max != 1e300 {
				t.Fatalf("workers %d: n %d, min %g, max %g", workers, s.N, s.Min, s.Max)
			}
			for _, q := range s.Quantiles {
				want := stat.Quantile(sorted, q.P)
				tol := 0.0
				if !exact {
					tol = 1.0 / 256
				}
				if math.Abs(q.Value-want) > tol*math.Abs(want) {
					t.Errorf("workers %d, exact %v: p%g = %g, want %g", workers, exact, 100*q.P, q.Value, want)
				}
			}
		}
	}
}

// Values of any magnitude have exact quantiles: those that no window has counters
// for, too.
func TestDenseMagnitudes(t *testing.T) {
	const n = 40_000
	r := rand.New(rand.NewSource(1))
	for _, scale := range []float64{1e-300, 1e-13, 1, 900, 1e4, 1e9, 1e30, 1e290} {
		x, sorted := make([]float64, n), []float64(nil)
		for i := range x {
			if x[i] = math.NaN(); r.Intn(9) > 0 {
				x[i] = scale * math.Exp(3*r.NormFloat64())
				sorted = append(sorted, x[i])
			}
		}
		slices.Sort(sorted)
		src := newMemory(n)
		src.parts = 3
		src.add(serving.Column{Name: "ttft", Kind: serving.KindDuration}, &column{floats: x})
		plan := Plan{Metrics: []serving.MetricKey{serving.TTFT}, Groupings: []Grouping{{}}, Quantiles: []float64{0, 0.25, 0.5, 0.999, 1}, Confidence: 0.95, Workers: 2}
		s := fill(t, src, plan).Groups[0].Cells[0].Summaries[serving.TTFT]
		if s.N != int64(len(sorted)) || s.Min != sorted[0] || s.Max != sorted[len(sorted)-1] {
			t.Errorf("%g: n %d, min %g, max %g; want %d, %g, %g", scale, s.N, s.Min, s.Max, len(sorted), sorted[0], sorted[len(sorted)-1])
		}
		for _, q := range s.Quantiles {
			if want := stat.Quantile(sorted, q.P); q.Value != want {
				t.Errorf("%g: p%g = %g, want %g", scale, 100*q.P, q.Value, want)
			}
		}
	}
}

func TestPlace(t *testing.T) {
	l := newScale(8)
	for _, tt := range []struct {
		x      []float64
		unit   float64
		in, no []float64
	}{
		{[]float64{0.01, 0.1, 1, 10}, 1 << 40, []float64{0.01, 100}, []float64{0, -1, 1e12, math.NaN()}},
		{[]float64{16, 100, 100_000}, 1, []float64{16, 100_000, 50_000}, []float64{0, 1e12}},
		{[]float64{1e-9, 0.5, 0.6, 0.7}, 1 << 40, []float64{0.5, 0.7}, []float64{1e-9}},
		{nil, 1 << 40, []float64{1}, []float64{1e-9}},
	} {
		p := l.place(tt.unit, tt.x)
		has := func(x float64) bool { return math.Float64bits(x)>>l.shift-p.Base < p.Width }
		for _, x := range tt.in {
			if !has(x) {
				t.Errorf("%v: %g has no counter", tt.x, x)
			}
		}
		for _, x := range tt.no {
			if has(x) {
				t.Errorf("%v: %g has a counter", tt.x, x)
			}
		}
	}
}

// A value that is too large in fixed point, or becomes so when it is rounded, has
// no counter; any other has the word of its bucket.
func TestLaneWords(t *testing.T) {
	for s := uint(fineBits - 1); s <= fineBits+1; s++ {
		scale := newScale(s)
		for _, unit := range []float64{1, 1 << unitBits} {
			top := math.Ldexp(1, maxDenseBits) / unit
			x := []float64{top / 900, top / 300, top / 2, math.Nextafter(top/2, 0), math.Nextafter(top, 0), top, 2 * top, 0, -1, math.NaN(), math.Inf(1)}
			p := scale.place(unit, []float64{top / 2, top / 3, top})
			var l lane
			l.load(p, unit, x)
			for i, v := range x {
				k, q := bucket(l.w[i]), l.w[i]&(1<<maxDenseBits-1)
				want, sum := p.Width, uint64(0)
				if at := math.Float64bits(v)>>p.Shift - p.Base; at < p.Width {
					want, sum = at, uint64(math.Floor(v*unit+0.5))
				} else if v == 0 {
					want = p.Width + 1
				}
				if k != want || q != sum {
					t.Errorf("2^-%d, unit %g, %g: bucket %d, %d in fixed point, want %d, %d", s, unit, v, k, q, want, sum)
				}
			}
			if bucket(l.w[2]) >= p.Width {
				t.Errorf("2^-%d, unit %g: %g has no counter", s, unit, x[2])
			}
		}
	}
}

package cube

import (
	"math"
	"math/rand"
	"testing"

	"github.com/vreport/vreport/analyze/stat"
)

func TestSums(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for name, next := range map[string]func() float64{
		"durations": func() float64 { return r.ExpFloat64() / 10 },
		"negative":  func() float64 { return -r.ExpFloat64() },
		"mixed":     func() float64 { return r.NormFloat64() },
		"constant":  func() float64 { return 0.3 },
		"offset":    func() float64 { return 1e6 + r.Float64()*1e-3 },
		"wide":      func() float64 { return r.NormFloat64() * 1e30 },
		"largest":   func() float64 { return math.MaxFloat64 * r.Float64() },
		"some wide": func() float64 { return math.Exp(30 * r.Float64()) },
	} {
		const unit = 1 << unitBits
		x := make([]float64, 1001)
		var parts [3]sums
		for i := range x {
			x[i] = next()
			s := &parts[r.Intn(len(parts))]
			if q, ok := fixed(x[i], unit); ok {
				s.add(q)
			} else {
				s.addWide(x[i])
			}
		}
		all := parts[2]
		all.merge(&parts[0])
		all.merge(&parts[1])
		mean, std := all.moments(int64(len(x)), unit)
		wantMean, wantStd := stat.Moments(x)
		if math.Abs(mean-wantMean) > 1e-12*(1+math.Abs(wantMean)) || math.Abs(std-wantStd) > 1e-11*(1+math.Abs(wantStd)) {
			t.Errorf("%s: mean %v std %v, want %v and %v", name, mean, std, wantMean, wantStd)
		}
		if name == "constant" && std != 0 {
			t.Errorf("std %v of a constant", std)
		}
	}
}

func TestScale(t *testing.T) {
	for _, s := range []uint{coarseBits, coarseBits + 1, roughBits, fineBits - 1, fineBits, fineBits + 1} {
		l := newScale(s)
		x := []float64{-math.MaxFloat64, -1, -1e-300, 0, 5e-324, 1e-300, 2e-13, 1e-9, 0.001, 0.5, 1, 1.5, 2, 3, 255, 256, 257, 1e6, 4e15, 1e17, 1e300, math.MaxFloat64}
		for range 1000 {
			x = append(x, math.Exp(rand.NormFloat64()*10))
		}
		for _, v := range x {
			b := l.index(v)
			lo, hi := l.bounds(b)
			if v < lo || v >= hi && b != bucketZero || int(b) >= l.buckets() {
				t.Fatalf("S %d: %v in bucket %d: %v to %v", s, v, b, lo, hi)
			}
			if y, ok := l.single(b, v == math.Trunc(v)); ok && y != v {
				t.Fatalf("S %d: %v is not the only value of its bucket: %v", s, v, y)
			}
			if b >= pageSize && uint64(b)-pageSize < l.width && (hi-lo)/lo > math.Ldexp(1, -int(s)) {
				t.Fatalf("S %d: bucket of %v is %v wide", s, v, hi-lo)
			}
			for _, w := range x[:30] {
				if v < w && l.index(v) > l.index(w) {
					t.Fatalf("order of %v and %v", v, w)
				}
			}
		}
	}
}

package cube

import (
	"math"
	"math/big"
	"math/bits"
)

// sums holds Σx and Σx² of values in fixed point: exact sums of numbers that
// were rounded once, so that they can be added up in any order and merged. The
// unit is 1 of a count and 2^-unitBits of anything else (a picosecond of a
// duration); values that do not fit go to wide.
type sums struct {
	lo, hi     uint64 // Σq, two's complement
	s0, s1, s2 uint64 // Σq²
	wide       *wideSums
}

const (
	unitBits = 40
	maxFixed = 1 << 62
)

// wideSums are the sums of values beyond the scale, such as a gauge of 1e30 that
// somebody summarizes: slow, as exact.
type wideSums struct{ x, xx *big.Float }

const wideBits = 4300 // from the square of the least float64 to that of the largest

// fixed returns a value in units; ok is false where it does not fit.
func fixed(x, unit float64) (q int64, ok bool) {
	y := x * unit
	if !(y > -maxFixed && y < maxFixed) {
		return 0, false
	}
	return int64(math.Floor(y + 0.5)), true
}

func (s *sums) add(q int64) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, uint64(q), 0)
	s.hi += uint64(q>>63) + c
	a := uint64(q)
	if q < 0 {
		a = -a
	}
	h, l := bits.Mul64(a, a)
	s.s0, c = bits.Add64(s.s0, l, 0)
	s.s1, c = bits.Add64(s.s1, h, c)
	s.s2 += c
}

func (s *sums) addWide(x float64) {
	if s.wide == nil {
		s.wide = &wideSums{new(big.Float).SetPrec(wideBits), new(big.Float).SetPrec(wideBits)}
	}
	v := new(big.Float).SetPrec(wideBits).SetFloat64(x)
	s.wide.x.Add(s.wide.x, v)
	s.wide.xx.Add(s.wide.xx, v.Mul(v, v))
}

func (s *sums) merge(o *sums) {
	var c uint64
	s.lo, c = bits.Add64(s.lo, o.lo, 0)
	s.hi += o.hi + c
	s.s0, c = bits.Add64(s.s0, o.s0, 0)
	s.s1, c = bits.Add64(s.s1, o.s1, c)
	s.s2 += o.s2 + c
	if o.wide != nil {
		if s.wide == nil {
			s.wide = &wideSums{new(big.Float).SetPrec(wideBits), new(big.Float).SetPrec(wideBits)}
		}
		s.wide.x.Add(s.wide.x, o.wide.x)
		s.wide.xx.Add(s.wide.xx, o.wide.xx)
	}
}

// moments returns the mean and the population standard deviation of n values.
func (s *sums) moments(n int64, unit float64) (mean, std float64) {
	if s.wide != nil {
		return s.wideMoments(n, unit)
	}
	neg := s.hi>>63 != 0
	lo, hi := s.lo, s.hi
	if neg {
		var c uint64
		lo, c = bits.Add64(^lo, 1, 0)
		hi = ^hi + c
	}
	// m is the mean, cut to an integer: Σ(q-m)² = Σq² - 2mΣq + nm², all of it
	// exact, and nothing cancels in floating point.
	m, rest := bits.Div64(hi%uint64(n), lo, uint64(n)) // |Σq| < n·2^62
	part := float64(rest) / float64(n)
	p0, p1, p2 := mul192(lo, hi, m)
	q1, q0 := bits.Mul64(m, m)
	n0, n1, n2 := mul192(q0, q1, uint64(n))
	var c uint64
	d0, d1, d2 := s.s0, s.s1, s.s2
	for range 2 {
		d0, c = bits.Sub64(d0, p0, 0)
		d1, c = bits.Sub64(d1, p1, c)
		d2, _ = bits.Sub64(d2, p2, c)
	}
	d0, c = bits.Add64(d0, n0, 0)
	d1, c = bits.Add64(d1, n1, c)
	d2, _ = bits.Add64(d2, n2, c)
	square := (float64(d0)+math.Ldexp(float64(d1), 64)+math.Ldexp(float64(d2), 128))/float64(n) - part*part
	mean = (float64(m) + part) / unit
	if neg {
		mean = -mean
	}
	return mean, math.Sqrt(max(square, 0)) / unit
}

// mul192 returns a·b of 128 and 64 bits.
func mul192(lo, hi, b uint64) (p0, p1, p2 uint64) {
	h, p0 := bits.Mul64(lo, b)
	h2, l2 := bits.Mul64(hi, b)
	p1, c := bits.Add64(h, l2, 0)
	return p0, p1, h2 + c
}

func (s *sums) wideMoments(n int64, unit float64) (mean, std float64) {
	f := func() *big.Float { return new(big.Float).SetPrec(wideBits) }
	sum := new(big.Int).SetUint64(s.hi)
	if s.hi>>63 != 0 {
		sum.Sub(sum, new(big.Int).Lsh(big.NewInt(1), 64))
	}
	sum.Add(sum.Lsh(sum, 64), new(big.Int).SetUint64(s.lo))
	sq := new(big.Int).SetUint64(s.s2)
	sq.Add(sq.Lsh(sq, 64), new(big.Int).SetUint64(s.s1))
	sq.Add(sq.Lsh(sq, 64), new(big.Int).SetUint64(s.s0))
	u, count := f().SetFloat64(unit), f().SetInt64(n)
	x, xx := f().SetInt(sum), f().SetInt(sq)
	x.Quo(x, u).Add(x, s.wide.x).Quo(x, count)
	xx.Quo(xx, u).Quo(xx, u).Add(xx, s.wide.xx).Quo(xx, count)
	mean, _ = x.Float64()
	xx.Sub(xx, f().Mul(x, x))
	if xx.Sign() > 0 {
		std, _ = xx.Sqrt(xx).Float64()
	}
	return mean, std
}

package jsonscan

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// scanNumber reads the plain number that b starts with and returns how many
// bytes it has, 0 where there is none: JSON's grammar without a sign, and finite.
// A number that reaches the end of b is cut: more of it may follow. The result
// is that of strconv.ParseFloat, bit for bit.
func scanNumber(b []byte) (v float64, n int, cut bool) {
	m, i := digits(0, b, 0)
	if i == 0 {
		return 0, 0, false
	}
	if b[0] == '0' && i > 1 {
		return 0, 0, false // no number starts with 0 and a digit
	}
	exp, length := 0, i // length is that of the digits behind zeros in front
	if b[0] == '0' {
		length = 0
	}
	if i < len(b) && b[i] == '.' {
		start := i + 1
		m, i = digits(m, b, start)
		if i == start {
			return 0, 0, i == len(b)
		}
		exp = start - i
		if length == 0 {
			for start < i && b[start] == '0' {
				start++
			}
		}
		length += i - start
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		return parseNumber(b, i)
	}
	switch {
	case i == len(b):
		return 0, 0, true
	case m>>53 == 0 && length <= 19 && exp >= -22:
		// Both are exact, so their quotient is rounded once (Clinger 1990).
		return float64(m) / tens[-exp], i, false
	case length <= 19 && exp > -len(fives):
		return quotient(m, -exp), i, false
	}
	return parseNumber(b, i)
}

// digits appends the decimal digits at b[i:] to m, which wraps around where
// there are more than 19, and returns where they end.
func digits(m uint64, b []byte, i int) (uint64, int) {
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		// Every byte is '0' to '9': its upper half is 3, also after adding 6.
		if (w&0xf0f0f0f0f0f0f0f0)|((w+0x0606060606060606)&0xf0f0f0f0f0f0f0f0)>>4 != 0x3333333333333333 {
			break
		}
		// Pairs of digits, then fours, then all eight.
		w -= 0x3030303030303030
		w = w*10 + w>>8
		w = ((w&0x000000ff000000ff)*(100+1000000<<32) + (w>>16&0x000000ff000000ff)*(1+10000<<32)) >> 32
		m = m*100000000 + w
		i += 8
	}
	for ; i < len(b); i++ {
		d := b[i] - '0'
		if d > 9 {
			break
		}
		m = m*10 + uint64(d)
	}
	return m, i
}

// parseNumber leaves a number to the standard library; at is where its digits
// end and an exponent may stand.
func parseNumber(b []byte, at int) (v float64, n int, cut bool) {
	i := at
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start := i
		if _, i = digits(0, b, i); i == start {
			return 0, 0, i == len(b)
		}
	}
	if i == len(b) {
		return 0, 0, true
	}
	v, err := strconv.ParseFloat(string(b[:i]), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, 0, false
	}
	return v, i, false
}

// quotient returns m / 10^k, rounded to nearest, ties to even; k indexes fives.
//
// m and 5^k are shifted up to 64 bits, so that one division gives a quotient of
// 64 bits or one more than 64 and its remainder: everything that rounding to 53
// bits asks for. The power of two and both shifts only move the exponent, which
// stays far from a float64's ends.
func quotient(m uint64, k int) float64 {
	if m == 0 {
		return 0
	}
	d := fives[k]
	up, upD := bits.LeadingZeros64(m), bits.LeadingZeros64(d)
	m <<= up
	d <<= upD
	// m/2 < d, as both have their top bit set.
	q, rem := bits.Div64(m>>1, m<<63, d)
	// m·2^63 = q·d + rem, so the value is (q + rem/d)·2^e, q ≥ 2^62.
	e := upD - up - 63 - k
	if rem != 0 {
		q |= 1 // only says that the value is above q: bits of it are cut off below
	}
	drop := 11 - bits.LeadingZeros64(q) // 10 or 11 bits more than 53
	half := uint64(1) << (drop - 1)
	low := q & (half<<1 - 1)
	q >>= drop
	if low > half || low == half && q&1 == 1 {
		q++
	}
	return float64(q) * math.Float64frombits(uint64(1023+e+drop)<<52)
}

var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// fives are the powers of five that fit 64 bits.
var fives = func() (f [28]uint64) {
	f[0] = 1
	for i := 1; i < len(f); i++ {
		f[i] = f[i-1] * 5
	}
	return f
}()

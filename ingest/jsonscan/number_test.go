package jsonscan

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// checkNumber compares scanNumber with the standard library: the same bits for
// a number without a sign, no number for anything else.
func checkNumber(t *testing.T, s string) {
	t.Helper()
	v, n, cut := scanNumber([]byte(s + ","))
	want, err := strconv.ParseFloat(s, 64)
	plain := json.Valid([]byte(s)) && s[0] >= '0' && s[0] <= '9' && s == strings.TrimSpace(s) && err == nil
	if !plain {
		if n == len(s) && !cut {
			t.Errorf("scanNumber(%q) = %v, want no plain number", s, v)
		}
		return
	}
	if n != len(s) || cut || math.Float64bits(v) != math.Float64bits(want) {
		t.Errorf("scanNumber(%q) = %v (%x) of %d bytes, want %v (%x)", s, v, math.Float64bits(v), n, want, math.Float64bits(want))
	}
	if _, n, cut := scanNumber([]byte(s)); n != 0 || !cut {
		t.Errorf("scanNumber(%q) at the end: %d bytes, cut %v; more of it may follow", s, n, cut)
	}
}

var numberSeeds = []string{"0", "0.0", "1", "10", "12345678", "123456789", "0.1", "0.020123456789012345", "0.00012345678901234567", "9007199254740993", "9007199254740992.5",
	"18446744073709551615", "18446744073709551616", "9999999999999999999", "99999999999999999999", "0.9999999999999999999", "1e5", "1E-5", "1.5e+300", "1e308", "1e309", "4.9e-324",
	"2.2250738585072011e-308", "0.000000000000000000000000000123", "1234567890123456789.0", "0.00000000000000000000000000", "5e-324", "1e23", "8.5", "00", "01", "1.", ".5", "1e", "1e+", "-1", "+1", "x", "1x",
	"0.30000000000000004", "1.7976931348623157e308", "3.141592653589793238", "12345678.12345678", "1234567/", "1234567:", "1234567\xff", "\xfa1234567", "12345678\xfa1234567"}

func TestScanNumber(t *testing.T) {
	for _, s := range numberSeeds {
		checkNumber(t, s)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		v := math.Ldexp(1+rng.Float64(), rng.IntN(80)-60)
		checkNumber(t, strconv.FormatFloat(v, 'f', -1, 64))
		checkNumber(t, strconv.FormatFloat(v, 'g', rng.IntN(20)+1, 64))
		m, k := rng.Uint64()>>rng.IntN(64), rng.IntN(27)
		checkNumber(t, point(strconv.FormatUint(m, 10), k))
	}
}

// TestScanNumberTies writes out values that lie exactly between two float64s,
// and their neighbours in decimal.
func TestScanNumberTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		// (2^53 + odd) / 2^shift is a tie with 54 bits and few decimals.
		m := 1<<53 + rng.Uint64N(1<<53) | 1
		for shift := range 4 {
			text := strconv.FormatUint(m>>shift, 10)
			if frac := m & (1<<shift - 1); shift > 0 {
				text += fmt.Sprintf(".%0*d", shift, frac*uint64(math.Pow(5, float64(shift))))
			}
			checkNumber(t, text)
			checkNumber(t, strings.TrimRight(text, "13579")+"1")
		}
	}
}

// point puts a decimal point in front of the last k digits.
func point(s string, k int) string {
	if k == 0 {
		return s
	}
	if len(s) <= k {
		s = strings.Repeat("0", k-len(s)+1) + s
	}
	return s[:len(s)-k] + "." + s[len(s)-k:]
}

func FuzzScanNumber(f *testing.F) {
	for _, s := range numberSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" || strings.ContainsAny(s, ", ]") {
			return
		}
		checkNumber(t, s)
	})
}

func BenchmarkScanNumber(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var texts [1024][]byte
	for i := range texts {
		texts[i] = []byte(strconv.FormatFloat(rng.Float64()/20, 'f', -1, 64) + ",")
	}
	b.Run("scan", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			scanNumber(texts[i%1024])
		}
	})
	b.Run("strconv", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			t := texts[i%1024]
			strconv.ParseFloat(string(t[:len(t)-1]), 64)
		}
	})
}

//go:build !purego

package wide

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// missing skips a test, or fails it where VREPORT_REQUIRE_AVX512 asks for it.
func missing(t testing.TB, what any) {
	t.Helper()
	if os.Getenv("VREPORT_REQUIRE_AVX512") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// TestLoops says which loops the other tests are of: make test prints it, so that
// nobody takes a pass on a processor without AVX-512 for one of the assembly.
func TestLoops(t *testing.T) {
	switch {
	case !has:
		missing(t, "this processor has no AVX-512: the loops in Go are tested, those in assembly are not")
	case !hasTally:
		missing(t, "this processor has no AVX-512 IFMA: the loops in assembly are tested, but not that of Tally")
	}
	t.Log("this processor has AVX-512 with IFMA: all loops are tested, in Go and in assembly")
}

// odd are values at which loops may differ.
var odd = []float64{0, math.Copysign(0, -1), math.NaN(), math.Float64frombits(0xfff8000000000001), math.Inf(1), math.Inf(-1), -1, 1, 1023.9999999999999, 1024,
	math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0x1p-10, math.Nextafter(0x1p-10, 0), 1e-12, 5e-13, 1e300}

func values(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		switch r.IntN(4) {
		case 0:
			x[i] = odd[r.IntN(len(odd))]
		case 1:
			x[i] = math.Float64frombits(r.Uint64())
		default:
			x[i] = math.Exp(r.NormFloat64() * 3)
		}
	}
	return x
}

// both calls a loop as it is and one value at a time.
func both[T any](t *testing.T, loop func() T) (wide, narrow T) {
	t.Helper()
	if !has {
		missing(t, "this processor has no AVX-512")
	}
	wide = loop()
	defer func(h, t bool) { has, hasTally = h, t }(has, hasTally)
	has, hasTally = false, false
	return wide, loop()
}

func check[T any](t *testing.T, what string, equal func(a, b T) bool, loop func() T) {
	t.Helper()
	if a, b := both(t, loop); !equal(a, b) {
		t.Errorf("%s: %v eight at a time, %v one at a time", what, a, b)
	}
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestTallySums has the largest sums there are.
func TestTallySums(t *testing.T) {
	word, rows := []uint64{1<<WordBits - 1}, make([]uint32, TallyRows)
	for _, start := range []uint8{0, 255} {
		over := 0
		sum, s0, s1 := Tally([]uint8{start}, word, rows, func(uint64) { over++ })
		n, v := big.NewInt(TallyRows), big.NewInt(1<<WordBits-1)
		square := new(big.Int).Mul(n, new(big.Int).Mul(v, v))
		got := new(big.Int).Add(new(big.Int).Lsh(new(big.Int).SetUint64(s1), 64), new(big.Int).SetUint64(s0))
		if want := new(big.Int).Mul(n, v); want.Cmp(new(big.Int).SetUint64(sum)) != 0 || got.Cmp(square) != 0 {
			t.Errorf("sums %d and %d, want %d and %d", sum, got, want, square)
		}
		if want := (TallyRows + int(start)) / 256; over != want {
			t.Errorf("from %d on a counter came to 0 %d times, want %d", start, over, want)
		}
	}
}

// TestTallyOver has as many counters run over at a time as there can be.
func TestTallyOver(t *testing.T) {
	for n := range 200 {
		counts, words, rows := make([]uint8, n), make([]uint64, n), make([]uint32, n)
		for i := range n {
			counts[i], words[i], rows[i] = 255, uint64(i)<<WordBits, uint32(i)
		}
		next := uint64(0)
		Tally(counts, words, rows, func(k uint64) {
			if k != next {
				t.Fatalf("%d counters: that of bucket %d is said to run over, want %d", n, k, next)
			}
			next++
		})
		if next != uint64(n) {
			t.Errorf("%d of %d counters ran over", next, n)
		}
	}
}

// TestWide holds the loops of assembly to those of Go, with every length of rest and
// values of all kinds.
func TestWide(t *testing.T) {
	for n := range 70 {
		compareLoops(t, rand.New(rand.NewPCG(uint64(n), 1)), n)
	}
	compareLoops(t, rand.New(rand.NewPCG(7, 7)), 64<<10+5)
}

func FuzzWide(f *testing.F) {
	f.Add(uint64(1), uint16(100))
	f.Fuzz(func(t *testing.T, seed uint64, n uint16) {
		compareLoops(t, rand.New(rand.NewPCG(seed, 0)), int(n%2048))
	})
}

func compareLoops(t *testing.T, r *rand.Rand, n int) {
	x := values(r, n)
	s := uint(4 + r.IntN(7)) // bits of the mantissa
	w := Window{Shift: 52 - s, Base: uint64(1023-10) << s, Width: uint64(r.IntN(19 << s))}
	unit := 1.0
	if r.IntN(2) == 0 {
		unit = 1 << 40
	}
	type words struct {
		w            []uint64
		outside, nan int
	}
	check(t, "Words", func(a, b words) bool { return a.outside == b.outside && a.nan == b.nan && slices.Equal(a.w, b.w) }, func() words {
		dst := make([]uint64, n)
		o, nan := Words(dst, x, w, unit)
		return words{dst, o, nan}
	})
	check(t, "Coarse", slices.Equal, func() []uint16 {
		dst := make([]uint16, n)
		Coarse(dst, x, w, 3)
		return dst
	})
	marks := make([]uint64, (1+r.IntN(300))<<LineBits/64)
	for i := range marks {
		marks[i] = r.Uint64() & r.Uint64()
	}
	lines, at := make([]uint16, n), make([]uint16, n)
	for i := range lines {
		lines[i], at[i] = uint16(r.IntN(len(marks)*64>>LineBits)), uint16(r.IntN(1<<LineBits))
	}
	check(t, "Marked", slices.Equal, func() []uint32 {
		dst := make([]uint32, n)
		return dst[:Marked(dst, lines, at, marks)]
	})
	check(t, "Outside", slices.Equal, func() []uint32 {
		dst := make([]uint32, n)
		return dst[:Outside(dst, x, w)]
	})
	check(t, "Zeros", slices.Equal, func() []uint64 {
		dst := make([]uint64, (n+63)/64)
		for i := range dst {
			dst[i] = 0xaaaa
		}
		Zeros(dst, x)
		return dst
	})
	ints := make([]int64, n)
	for i := range ints {
		ints[i] = int64(r.Uint64()) >> r.IntN(64)
		if r.IntN(50) == 0 {
			ints[i] = math.MinInt64
		}
	}
	check(t, "Floats", sameBits, func() []float64 {
		dst := make([]float64, n)
		Floats(dst, ints)
		return dst
	})
	check(t, "Bits", func(a, b [2]int64) bool { return a == b }, func() [2]int64 {
		all, lowest := Bits(ints)
		return [2]int64{all, lowest}
	})
	check(t, "Ratios", sameBits, func() []float64 {
		dst := make([]float64, n)
		Ratios(dst, x, ints)
		return dst
	})
	compareRows(t, r, x, w)
	for _, from := range [][]float64{x, make([]float64, n)} {
		type copied struct {
			x      []float64
			finite bool
		}
		check(t, "Copy", func(a, b copied) bool { return a.finite == b.finite && sameBits(a.x, b.x) && sameBits(a.x, from) }, func() copied {
			dst := make([]float64, n)
			return copied{dst, Copy(dst, from)}
		})
		for _, look := range []uint64{math.MaxUint64, 1<<63 - 1} {
			check(t, "Most", func(a, b uint64) bool { return a == b }, func() uint64 { return Most(from, look) })
		}
	}
	type tallied struct {
		counts      []uint8
		over        []uint64 // in any order
		sum, s0, s1 uint64
	}
	rows, word := make([]uint32, min(n, TallyRows)), make([]uint64, n)
	kinds := uint64(1 + r.IntN(300))
	low := r.IntN(WordBits)
	for i := range word {
		if word[i] = 1<<WordBits - 1; low > 0 { // else the largest there are
			word[i] = r.Uint64() >> (64 - WordBits) >> r.IntN(low)
		}
		word[i] |= r.Uint64N(kinds) << WordBits
	}
	for i := range rows {
		rows[i] = uint32(r.IntN(n))
	}
	start := make([]uint8, kinds)
	for i := range start {
		start[i] = uint8(250 + r.IntN(6))
	}
	check(t, "Tally", func(a, b tallied) bool {
		return slices.Equal(a.counts, b.counts) && slices.Equal(a.over, b.over) && a.sum == b.sum && a.s0 == b.s0 && a.s1 == b.s1
	}, func() tallied {
		out := tallied{counts: slices.Clone(start)}
		out.sum, out.s0, out.s1 = Tally(out.counts, word, rows, func(k uint64) { out.over = append(out.over, k) })
		slices.Sort(out.over)
		return out
	})
	var raw []byte
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	check(t, "Quotients", sameBits, func() []float64 {
		dst := make([]float64, n)
		Quotients(dst, raw, 1000)
		return dst
	})
}

// compareEncoded does it for the loops of encoded columns.
func compareEncoded(t *testing.T, r *rand.Rand, indexes, table []uint32) {
	n := len(indexes)
	ints, floats, codes := make([]int64, len(table)), make([]float64, len(table)), make([]int32, len(table))
	for i := range table {
		ints[i], floats[i], codes[i] = int64(r.Uint64()), r.Float64(), int32(r.Uint32())
	}
	for _, bad := range []bool{false, true} {
		if bad && n > 0 {
			indexes = slices.Clone(indexes)
			indexes[r.IntN(n)] = uint32(len(table)) + r.Uint32()>>1
		}
		want := !bad || n == 0
		x, y, z := make([]int64, n), make([]float64, n), make([]int32, n)
		if LookInts(x, ints, indexes) != want || LookFloats(y, floats, indexes) != want || LookCodes(z, codes, indexes) != want {
			t.Errorf("an index beyond the table: %t, and the opposite was said of it", bad)
		}
		for i, k := range indexes {
			if want && (x[i] != ints[k] || y[i] != floats[k] || z[i] != codes[k]) {
				t.Fatalf("index %d gives %d, %g, %d, want %d, %g, %d", k, x[i], y[i], z[i], ints[k], floats[k], codes[k])
			}
		}
	}
	width, bit := uint(1+r.IntN(25)), uint(r.IntN(20))
	raw := make([]byte, (bit+width*uint(n)+7)/8)
	for i := range raw {
		raw[i] = uint8(r.Uint32())
	}
	got := make([]uint32, n)
	k := Unpack(got, raw, bit, width)
	if has && n > 64 && k < n-64 {
		t.Errorf("%d of %d numbers were unpacked", k, n)
	}
	for i := range k {
		want := uint32(0)
		for j := range width {
			at := bit + uint(i)*width + j
			want |= uint32(raw[at>>3]>>(at&7)&1) << j
		}
		if got[i] != want {
			t.Fatalf("number %d of %d bits from bit %d on is %d, want %d", i, width, bit, got[i], want)
		}
	}
	compareSpread(t, r, func(r *rand.Rand) int32 { return int32(r.Uint32()) }, n)
	compareSpread(t, r, func(r *rand.Rand) int64 { return int64(r.Uint64()) }, n)
	compareSpread(t, r, (*rand.Rand).Float64, n)
}

func compareSpread[T int32 | int64 | float64](t *testing.T, r *rand.Rand, value func(*rand.Rand) T, n int) {
	words, at := n/64, r.IntN(3)
	if words == 0 || !has {
		return
	}
	where := make([]uint64, words)
	before := r.IntN(at + 1) // of the rows before these, not all have a value
	dst, present := make([]T, at+64*words), before
	for i := range where {
		if where[i] = ^uint64(0); r.IntN(3) > 0 && i > r.IntN(words) {
			where[i] = r.Uint64() | r.Uint64()
		}
		present += bits.OnesCount64(where[i])
	}
	for i := range present {
		dst[i] = value(r)
	}
	packed := slices.Clone(dst)
	left, rest := Spread(dst, present, where, at)
	if left != before || rest != 0 {
		t.Fatalf("%d values and %d words are left, want %d and 0", left, rest, before)
	}
	k := before
	for i := range 64 * words {
		if where[i/64]>>(i%64)&1 != 0 {
			if dst[at+i] != packed[k] {
				t.Fatalf("row %d has %v, want %v", i, dst[at+i], packed[k])
			}
			k++
		}
	}
}

// compareBits does it for the loops that make bitmaps.
func compareBits(t *testing.T, r *rand.Rand, x []float64, codes []int32, state []uint8) {
	n := len(x)
	bitmap := func(of func(dst []uint64)) func() []uint64 {
		return func() []uint64 {
			dst := make([]uint64, (n+63)/64)
			for i := range dst {
				dst[i] = 0xaaaa
			}
			of(dst)
			return dst
		}
	}
	check(t, "Equal", slices.Equal, bitmap(func(dst []uint64) { Equal(dst, codes, 2) }))
	check(t, "AtMost", slices.Equal, bitmap(func(dst []uint64) { AtMost(dst, x, 1) }))
	check(t, "Without", slices.Equal, bitmap(func(dst []uint64) { Without(dst, state, 7) }))
	where := make([]uint64, (n+63)/64)
	for i := range where {
		where[i] = r.Uint64()
	}
	check(t, "Set", slices.Equal, func() []uint8 {
		b := slices.Clone(state)
		Set(b, where, 8)
		return b
	})
	small, shorts := make([]uint16, n), make([]uint8, n)
	for i := range small {
		small[i], shorts[i] = uint16(r.IntN(256)), uint8(r.IntN(256))
	}
	check(t, "Narrow", slices.Equal, func() []uint8 {
		dst := make([]uint8, n)
		Narrow(dst, small)
		return dst
	})
	check(t, "Widen", slices.Equal, func() []uint16 {
		dst := make([]uint16, n)
		Widen(dst, shorts)
		return dst
	})
	part, whole := make([]int64, n), make([]int64, n)
	for i := range part {
		part[i], whole[i] = int64(r.IntN(12)-2)<<r.IntN(60), int64(r.IntN(12)-2)<<r.IntN(60)
	}
	check(t, "Above", slices.Equal, bitmap(func(dst []uint64) { Above(dst, part, whole) }))
	check(t, "Below", slices.Equal, bitmap(func(dst []uint64) { Below(dst, part, 1) }))
	check(t, "Shares", slices.Equal, func() []int32 {
		dst := make([]int32, n)
		Shares(dst, part, whole, 0.8)
		return dst
	})
	bounds := make([]int64, 1+r.IntN(12))
	for i := range bounds {
		bounds[i] = int64(r.IntN(20)) << (4 * i)
	}
	slices.Sort(bounds)
	check(t, "Buckets", slices.Equal, func() []int32 {
		dst := make([]int32, n)
		Buckets(dst, part, bounds)
		return dst
	})
}

// compareRows does it for the loops that say where rows belong.
func compareRows(t *testing.T, r *rand.Rand, x []float64, w Window) {
	n := len(x)
	add := make([]uint32, 1+r.IntN(40))
	for i := range add {
		add[i] = r.Uint32() >> r.IntN(32)
	}
	codes := make([]int32, n)
	for i := range codes {
		codes[i] = int32(r.IntN(len(add))) - 1
	}
	type added struct {
		dst  []uint32
		seen uint32
		ok   bool
	}
	for _, bad := range []bool{false, true} {
		if bad && n > 0 {
			codes[r.IntN(n)] = []int32{-2, int32(len(add)) - 1, math.MaxInt32, math.MinInt32}[r.IntN(4)]
		}
		check(t, "AddLevels", func(a, b added) bool {
			return a.ok == b.ok && (!a.ok || a.seen == b.seen && slices.Equal(a.dst, b.dst))
		}, func() added {
			dst := make([]uint32, n)
			for i := range dst {
				dst[i] = uint32(i)
			}
			seen, ok := AddLevels(dst, codes, add)
			return added{dst, seen, ok}
		})
	}
	keys, state := make([]uint32, n), make([]uint8, n)
	for i := range keys {
		keys[i], state[i] = uint32(r.IntN(len(add))), uint8(r.IntN(64))
	}
	compareBits(t, r, x, codes, state)
	words := make([]int32, len(add))
	for i := range words {
		words[i] = int32(r.Uint32())
	}
	for _, from := range [][]int32{codes, slices.Clone(codes)} { // as they are, with others than there are words for, and without
		type translated struct {
			dst []int32
			ok  bool
		}
		check(t, "Translate", func(a, b translated) bool { return a.ok == b.ok && (!a.ok || slices.Equal(a.dst, b.dst)) }, func() translated {
			dst := make([]int32, n)
			return translated{ok: Translate(dst, words, from), dst: dst}
		})
		for i, c := range from {
			if uint(c) >= uint(len(words)) {
				from[i] = 0
			}
		}
		if dst := make([]int32, n); !Translate(dst, words, from) || n > 0 && dst[n-1] != words[from[n-1]] {
			t.Errorf("codes that have words are not translated")
		}
	}
	// Both stop where they cannot go on, and may do so a little before.
	check(t, "Find", slices.Equal, func() []uint32 {
		dst := make([]uint32, n)
		for from := 0; from < n; from++ {
			if from += Find(dst[from:], keys[from:], add); from < n {
				dst[from] = add[keys[from]] - 1
			}
		}
		return dst
	})
	slots := make([]uint32, len(add))
	for i := range slots {
		slots[i] = uint32(r.IntN(1<<16) >> r.IntN(17))
	}
	check(t, "Settle", slices.Equal, func() []uint16 {
		dst := make([]uint16, n)
		for from := 0; from < n; from++ {
			if from += Settle(dst[from:], keys[from:], state[from:], 7, slots); from < n {
				if dst[from] = 0; state[from]&7 == 0 {
					dst[from] = uint16(slots[keys[from]])
				}
			}
		}
		return dst
	})
	for i := range slots {
		slots[i]++
	}
	if got := Settle(make([]uint16, n), keys, state, 7, slots); got != n {
		t.Errorf("Settle stops at row %d of %d, with a slot for each", got, n)
	}
	compareEncoded(t, r, keys, add)
	stride := uint32(w.Width+63)&^63 + 64
	set := make([]uint64, uint32(len(add))*stride/64)
	for i := range set {
		set[i] = r.Uint64()
	}
	lines, every := make([]uint16, n), 1+r.IntN(4)
	for i := range lines {
		lines[i] = uint16(keys[i])
	}
	check(t, "Wanted", slices.Equal, func() []uint32 {
		rows, at := make([]uint32, 0, n), make([]uint32, n)
		for i := range n {
			if i%every == 0 || i == n-1 {
				rows = append(rows, uint32(i))
			}
		}
		k := Wanted(rows, at, lines, x, w, stride, set)
		return append(rows[:k], at[:k]...)
	})
}

func BenchmarkWide(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	const n = 16 << 10
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Exp(r.NormFloat64())
	}
	w := Window{Shift: 45, Base: (1023 - 8) << 7, Width: 2048}
	words, at, lines, rows, of := make([]uint64, n), make([]uint16, n), make([]uint16, n), make([]uint32, n), make([]uint32, n)
	marks := make([]uint64, 200<<LineBits/64)
	for i := range marks {
		marks[i] = r.Uint64() & r.Uint64()
	}
	for i := range lines {
		lines[i] = uint16(r.IntN(200))
	}
	dst, raw := make([]float64, n), make([]byte, 8*n)
	counts, some := make([]uint8, 2050), make([]uint32, 300)
	for i := range some {
		some[i] = uint32(i * n / len(some))
	}
	ints, codes, keys, state, add := make([]int64, n), make([]int32, n), make([]uint32, n), make([]uint8, n), []uint32{1, 2, 3, 4, 5, 6, 7, 8}
	for i := range codes {
		codes[i], keys[i] = int32(r.IntN(7)), uint32(r.IntN(8))
	}
	for _, loop := range []struct {
		name string
		run  func()
	}{
		{"Words", func() { Words(words, x, w, 1<<40) }},
		{"Coarse", func() { Coarse(at, x, w, 2) }},
		{"Marked", func() { Marked(rows, lines, at, marks) }},
		{"Copy", func() { Copy(dst, x) }},
		{"Most", func() { Most(x, math.MaxUint64) }},
		{"Outside", func() { Outside(rows, x, w) }},
		{"Zeros", func() { Zeros(words, x) }},
		{"Floats", func() { Floats(dst, ints) }},
		{"Bits", func() { Bits(ints) }},
		{"AddLevels", func() { AddLevels(rows, codes, add) }},
		{"Find", func() { Find(rows, keys, add) }},
		{"Settle", func() { Settle(at, keys, state, 7, add) }},
		{"Equal", func() { Equal(words, codes, 2) }},
		{"AtMost", func() { AtMost(words, x, 1) }},
		{"Without", func() { Without(words, state, 7) }},
		{"Set", func() { Set(state, words, 8) }},
		{"Buckets", func() { Buckets(codes, ints, []int64{128, 512, 2048, 8192, 32768, 131072}) }},
		{"Shares", func() { Shares(codes, ints, ints, 0.8) }},
		{"Wanted", func() {
			for i := range of {
				of[i] = uint32(i)
			}
			Wanted(of, rows, lines, x, w, 64, marks)
		}},
		{"Tally", func() {
			Words(words, x, w, 1<<40)
			for range n / len(some) {
				Tally(counts, words, some, func(uint64) {})
			}
		}},
		{"Quotients", func() { Quotients(dst, raw, 1000) }},
	} {
		for _, on := range []bool{true, false} {
			name := loop.name + "/one"
			if on {
				name = loop.name + "/wide"
			}
			b.Run(name, func(b *testing.B) {
				if on && !has {
					b.Skip("this processor has no AVX-512")
				}
				defer func(h, t bool) { has, hasTally = h, t }(has, hasTally)
				has, hasTally = on, on && hasTally
				for b.Loop() {
					loop.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/value")
			})
		}
	}
}

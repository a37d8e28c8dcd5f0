//go:build linux && amd64 && !purego

package wide

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// A yard has slices with a fence on one side: pages that nobody may touch, so that a
// loop that leaves its slice faults. A fence is longer than all counters of a tally.
type yard struct {
	r     *rand.Rand
	plots [][]byte
	used  int
	ends  bool // slices end at a fence; else they begin behind one
	wild  bool // numbers and lengths are not what the loops ask for
}

const plot, fence = 64 << 10, 64 << 10

func newYard(t *testing.T, plots int) *yard {
	y := &yard{}
	for range plots {
		b, err := syscall.Mmap(-1, 0, fence+plot+fence, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
		if err != nil {
			missing(t, err)
		}
		t.Cleanup(func() { _ = syscall.Munmap(b) })
		b = b[fence:][:plot]
		if err := syscall.Mprotect(b, syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			t.Fatal(err)
		}
		y.plots = append(y.plots, b)
	}
	return y
}

// numbers is n numbers less than a limit, 0 for any; in a wild yard some are not, and
// some are missing.
func numbers[T uint8 | uint16 | uint32 | uint64 | int32 | int64 | float64](y *yard, n int, limit uint64) []T {
	if y.wild && y.r.IntN(8) == 0 {
		n = y.r.IntN(n + 1)
	}
	var zero T
	size := int(unsafe.Sizeof(zero))
	b := y.plots[y.used]
	y.used++
	if b = b[:n*size]; y.ends {
		b = y.plots[y.used-1][plot-n*size:]
	}
	x := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
	for i := range x {
		v := y.r.Uint64()
		if limit > 0 {
			v %= limit
		}
		if y.wild && y.r.IntN(8) == 0 {
			v = []uint64{limit, limit + 1, math.MaxUint64, 1 << 31, math.MaxInt32, y.r.Uint64()}[y.r.IntN(6)]
		}
		x[i] = T(v)
		if f, ok := any(&x[i]).(*float64); ok {
			*f = math.Float64frombits(v)
			if y.r.IntN(2) == 0 {
				*f = odd[y.r.IntN(len(odd))]
			}
		}
	}
	return x
}

// ascending is a number of rows, less than a limit.
func (y *yard) ascending(n, limit int) []uint32 {
	x := numbers[uint32](y, n, 0)
	for i := range x {
		if !y.wild || y.r.IntN(8) > 0 {
			x[i] = uint32(i + limit - n)
		}
	}
	return x
}

func spreadIn[T int32 | int64 | float64](y *yard, n int) {
	at, where := y.r.IntN(3), numbers[uint64](y, n/64, 0)
	present := at
	for _, w := range where {
		present += bits.OnesCount64(w)
	}
	dst := numbers[T](y, at+n/64*64, 0)
	if y.wild {
		at, present = at-y.r.IntN(3), present+y.r.IntN(200)-100
	}
	Spread(dst, present, where, at)
}

// fenced are all loops, of n values.
var fenced = []struct {
	name string
	run  func(y *yard, n int)
}{
	{"Words", func(y *yard, n int) { Words(numbers[uint64](y, n, 0), numbers[float64](y, n, 0), y.window(), 1) }},
	{"Coarse", func(y *yard, n int) { Coarse(numbers[uint16](y, n, 0), numbers[float64](y, n, 0), y.window(), 3) }},
	{"Marked", func(y *yard, n int) {
		lines := 1 + y.r.IntN(9)
		Marked(numbers[uint32](y, n, 0), numbers[uint16](y, n, uint64(lines)), numbers[uint16](y, n, 1<<LineBits), numbers[uint64](y, lines<<LineBits/64, 0))
	}},
	{"Outside", func(y *yard, n int) { Outside(numbers[uint32](y, n, 0), numbers[float64](y, n, 0), y.window()) }},
	{"Zeros", func(y *yard, n int) { Zeros(numbers[uint64](y, (n+63)/64, 0), numbers[float64](y, n, 0)) }},
	{"Floats", func(y *yard, n int) { Floats(numbers[float64](y, n, 0), numbers[int64](y, n, 0)) }},
	{"Bits", func(y *yard, n int) { Bits(numbers[int64](y, n, 0)) }},
	{"Above", func(y *yard, n int) {
		Above(numbers[uint64](y, (n+63)/64, 0), numbers[int64](y, n, 0), numbers[int64](y, n, 0))
	}},
	{"Below", func(y *yard, n int) { Below(numbers[uint64](y, (n+63)/64, 0), numbers[int64](y, n, 0), 1) }},
	{"Ratios", func(y *yard, n int) {
		Ratios(numbers[float64](y, n, 0), numbers[float64](y, n, 0), numbers[int64](y, n, 0))
	}},
	{"Translate", func(y *yard, n int) {
		Translate(numbers[int32](y, n, 0), numbers[int32](y, 50, 0), numbers[int32](y, n, 50))
	}},
	{"Copy", func(y *yard, n int) { Copy(numbers[float64](y, n, 0), numbers[float64](y, n, 0)) }},
	{"Most", func(y *yard, n int) { Most(numbers[float64](y, n, 0), math.MaxUint64) }},
	{"Quotients", func(y *yard, n int) { Quotients(numbers[float64](y, n, 0), numbers[uint8](y, 8*n, 0), 1000) }},
	{"Tally", func(y *yard, n int) {
		kinds := 1 + y.r.Uint64N(300)
		counts := numbers[uint8](y, int(kinds), 0)
		for i := range counts {
			counts[i] |= 0xf0 // many run over
		}
		words := numbers[uint64](y, n, kinds<<WordBits)
		Tally(counts, words, numbers[uint32](y, 2*n, uint64(n)), func(k uint64) { counts[k] += 0xf0 })
	}},
	{"AddLevels", func(y *yard, n int) {
		AddLevels(numbers[uint32](y, n, 0), numbers[int32](y, n, 5), numbers[uint32](y, 6, 0))
	}},
	{"Find", func(y *yard, n int) {
		Find(numbers[uint32](y, n, 0), numbers[uint32](y, n, 50), numbers[uint32](y, 50, 0))
	}},
	{"Settle", func(y *yard, n int) {
		Settle(numbers[uint16](y, n, 0), numbers[uint32](y, n, 50), numbers[uint8](y, n, 0), 3, numbers[uint32](y, 50, 0))
	}},
	{"Wanted", func(y *yard, n int) {
		all := n + y.r.IntN(3)
		w, lines := y.window(), 1+y.r.Uint64N(3)
		stride := (w.Width+64)&^63 + 64
		Wanted(y.ascending(n, all), numbers[uint32](y, n, 0), numbers[uint16](y, all, lines), numbers[float64](y, all, 0), w, uint32(stride), numbers[uint64](y, int(lines*stride/64), 0))
	}},
	{"Buckets", func(y *yard, n int) {
		Buckets(numbers[int32](y, n, 0), numbers[int64](y, n, 0), numbers[int64](y, y.r.IntN(12), 0))
	}},
	{"Shares", func(y *yard, n int) {
		Shares(numbers[int32](y, n, 0), numbers[int64](y, n, 0), numbers[int64](y, n, 0), 0.8)
	}},
	{"Narrow", func(y *yard, n int) { Narrow(numbers[uint8](y, n, 0), numbers[uint16](y, n, 0)) }},
	{"Widen", func(y *yard, n int) { Widen(numbers[uint16](y, n, 0), numbers[uint8](y, n, 0)) }},
	{"Equal", func(y *yard, n int) { Equal(numbers[uint64](y, (n+63)/64, 0), numbers[int32](y, n, 3), 2) }},
	{"AtMost", func(y *yard, n int) { AtMost(numbers[uint64](y, (n+63)/64, 0), numbers[float64](y, n, 0), 1) }},
	{"Without", func(y *yard, n int) { Without(numbers[uint64](y, (n+63)/64, 0), numbers[uint8](y, n, 0), 3) }},
	{"Set", func(y *yard, n int) { Set(numbers[uint8](y, n, 0), numbers[uint64](y, (n+63)/64, 0), 8) }},
	{"Unpack", func(y *yard, n int) {
		width, bit := uint(y.r.IntN(40)), uint(y.r.IntN(20))
		b := numbers[uint8](y, int(bit+width*uint(n)+7)/8, 0)
		if y.wild {
			bit = uint(y.r.Uint64() >> y.r.IntN(64))
		}
		Unpack(numbers[uint32](y, n, 0), b, bit, width)
	}},
	{"LookCodes", func(y *yard, n int) {
		LookCodes(numbers[int32](y, n, 0), numbers[int32](y, 50, 0), numbers[uint32](y, n, 50))
	}},
	{"LookInts", func(y *yard, n int) {
		LookInts(numbers[int64](y, n, 0), numbers[int64](y, 50, 0), numbers[uint32](y, n, 50))
	}},
	{"LookFloats", func(y *yard, n int) {
		LookFloats(numbers[float64](y, n, 0), numbers[float64](y, 50, 0), numbers[uint32](y, n, 50))
	}},
	{"SpreadCodes", spreadIn[int32]},
	{"SpreadInts", spreadIn[int64]},
	{"SpreadFloats", spreadIn[float64]},
}

func (y *yard) window() Window {
	return Window{Shift: 45, Base: (1023 - 8) << 7, Width: y.r.Uint64N(2048)}
}

// TestFences holds all loops to their slices, with numbers and lengths that are what
// they ask for and with others. Those may end a loop as they do in Go.
func TestFences(t *testing.T) {
	y := newYard(t, 8)
	for _, loop := range fenced {
		t.Run(loop.name, func(t *testing.T) {
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			for n := range 201 {
				for k := range 12 {
					y.r = rand.New(rand.NewPCG(uint64(n), uint64(k)))
					y.used, y.ends, y.wild = 0, k&1 == 0, k >= 4
					if e := thrown(func() { loop.run(y, n) }); e != nil && (!y.wild || !strings.Contains(e.Error(), "out of range")) {
						t.Fatalf("%d values, which are what it asks for: %t: %v", n, !y.wild, e)
					}
				}
			}
		})
	}
}

func thrown(f func()) (e runtime.Error) {
	defer func() {
		if p := recover(); p != nil {
			e = p.(runtime.Error)
		}
	}()
	f()
	return nil
}

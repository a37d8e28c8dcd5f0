//go:build !purego

package wide

import "golang.org/x/sys/cpu"

// has says whether the processor, and the system on it, has the instructions.
var has = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasPOPCNT

// hasTally says whether there are those of Tally, too: multiplication of 52 bits.
var hasTally = has && cpu.X86.HasAVX512IFMA

// The functions of the .s files do what the loops of wide.go, bits.go and rows.go do,
// for the first n values, n a multiple of the number in their name and more than 0.
// Unpack and Spread have no loop here: ingest/trace goes without them.

//go:noescape
func words8(dst *uint64, x *float64, n int, shift, base, width uint64, unit float64) (outside, nan int)

//go:noescape
func coarse8(dst *uint16, x *float64, n int, shift, base, last, coarse uint64)

// Those that list write as many values at a time as are in their names, from the
// next place on: there are as many that are not decided yet. last bounds what is
// read of a table, whatever the numbers say: its last element, or half-word; and so
// do lastRow, lastWord and lastCount.

//go:noescape
func marked16(rows *uint32, lines, at *uint16, n int, marks *uint64, last uint64) int

//go:noescape
func outside8(dst *uint32, x *float64, n int, shift, base, width uint64) int

//go:noescape
func zeros8(dst *uint64, x *float64, n int)

//go:noescape
func floats8(dst *float64, x *int64, n int)

//go:noescape
func bits8(x *int64, n int) (all, lowest int64)

//go:noescape
func addLevels16(dst *uint32, codes *int32, n int, add *uint32, size uint64) (seen uint32, ok bool)

//go:noescape
func find16(dst, keys *uint32, n int, table *uint32, last uint64) (done int)

//go:noescape
func settle16(dst *uint16, leaves *uint32, state *uint8, n int, look uint64, slots *uint32, last uint64) (done int)

//go:noescape
func wanted8(rows, at *uint32, n int, lines *uint16, x *float64, lastRow, shift, base, width, stride uint64, set *uint64, last uint64) int

// copy8 returns the largest of the bits without their sign, shifted left.
//
//go:noescape
func copy8(dst, src *float64, n int) uint64

//go:noescape
func most8(x *float64, n int, look uint64) uint64

//go:noescape
func quotients8(dst *float64, b *byte, n int, div float64)

// tally8 adds to sum and to the sums of the lower 52 bits of squares and of the upper
// ones. It lists in full the buckets whose counters came to 0, and ends early where
// they are many. It returns how many rows are done, and how many are in full.
//
//go:noescape
func tally8(counts *uint8, words *uint64, rows *uint32, n int, lastCount, lastWord uint64, full *[64]uint16, sum, lo, hi *uint64) (done, found int)

//go:noescape
func equal16(dst *uint64, codes *int32, n int, code int32)

//go:noescape
func atMost8(dst *uint64, x *float64, n int, most float64)

//go:noescape
func without64(dst *uint64, b *uint8, n int, look uint8)

//go:noescape
func set64(b *uint8, where *uint64, n int, bit uint8)

//go:noescape
func buckets8(dst *int32, x *int64, n int, bounds *int64, m int)

//go:noescape
func shares8(dst *int32, part, whole *int64, n int, limit float64)

//go:noescape
func narrow32(dst *uint8, x *uint16, n int)

//go:noescape
func widen32(dst *uint16, x *uint8, n int)

//go:noescape
func unpack16(dst *uint32, b *byte, n int, bit, width uint64)

// The look-ups return the largest index.

//go:noescape
func lookCodes16(dst *int32, indexes *uint32, n int, table *int32, last uint64) uint32

//go:noescape
func lookInts8(dst *int64, indexes *uint32, n int, table *int64, last uint64) uint32

//go:noescape
func lookFloats8(dst *float64, indexes *uint32, n int, table *float64, last uint64) uint32

// n is of words. What is left is less than 0 where there are more bits than values.

//go:noescape
func spreadCodes(dst *int32, at int, where *uint64, n, present int) int

//go:noescape
func spreadInts(dst *int64, at int, where *uint64, n, present int) int

//go:noescape
func spreadFloats(dst *float64, at int, where *uint64, n, present int) int

//go:noescape
func translate16(dst, codes *int32, n int, table *int32, last uint64) uint32

//go:noescape
func above8(dst *uint64, x, y *int64, n int)

//go:noescape
func below8(dst *uint64, x *int64, n int, limit int64)

//go:noescape
func ratios8(dst, x *float64, by *int64, n int)

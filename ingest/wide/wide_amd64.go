package wide

import "golang.org/x/sys/cpu"

// has says whether the processor, and the system on it, has the instructions.
var has = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasPOPCNT

// hasTally says whether there are those of Tally, too: multiplication of 52 bits.
var hasTally = has && cpu.X86.HasAVX512IFMA

// The functions of wide_amd64.s do what the loops of wide.go do, for the first n
// values, n a multiple of the number in their name and more than 0.

//go:noescape
func words8(dst *uint64, x *float64, n int, shift, base, width uint64, unit float64) (outside, nan int)

//go:noescape
func coarse8(dst *uint16, x *float64, n int, shift, base, last, coarse uint64)

// marked16 takes no half-words of marks beyond last. It writes sixteen values to dst
// from each place on that one belongs to: there are as many that are not decided yet.
//
//go:noescape
func marked16(dst *uint32, lines, at *uint16, n int, marks *uint64, last uint64) int

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
func tally8(counts *uint8, words *uint64, rows *uint32, n int, full *[64]uint16, sum, lo, hi *uint64) (done, found int)

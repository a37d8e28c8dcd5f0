//go:build !amd64

package wide

const has, hasTally = false, false

func words8(dst *uint64, x *float64, n int, shift, base, width uint64, unit float64) (outside, nan int) {
	panic("unreachable")
}
func coarse8(dst *uint16, x *float64, n int, shift, base, last, coarse uint64) { panic("unreachable") }
func marked16(dst *uint32, lines, at *uint16, n int, marks *uint64, last uint64) int {
	panic("unreachable")
}
func copy8(dst, src *float64, n int) uint64                { panic("unreachable") }
func most8(x *float64, n int, look uint64) uint64          { panic("unreachable") }
func quotients8(dst *float64, b *byte, n int, div float64) { panic("unreachable") }
func tally8(counts *uint8, words *uint64, rows *uint32, n int, full *[64]uint16, sum, lo, hi *uint64) (done, found int) {
	panic("unreachable")
}

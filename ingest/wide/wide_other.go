//go:build !amd64 || purego

package wide

const has, hasTally = false, false

func words8(dst *uint64, x *float64, n int, shift, base, width uint64, unit float64) (outside, nan int) {
	panic("unreachable")
}
func coarse8(dst *uint16, x *float64, n int, shift, base, last, coarse uint64) { panic("unreachable") }
func copy8(dst, src *float64, n int) uint64                                    { panic("unreachable") }
func most8(x *float64, n int, look uint64) uint64                              { panic("unreachable") }
func quotients8(dst *float64, b *byte, n int, div float64)                     { panic("unreachable") }
func tally8(counts *uint8, words *uint64, rows *uint32, n int, lastCount, lastWord uint64, full *[64]uint16, sum, lo, hi *uint64) (done, found int) {
	panic("unreachable")
}
func marked16(rows *uint32, lines, at *uint16, n int, marks *uint64, last uint64) int {
	panic("unreachable")
}
func outside8(dst *uint32, x *float64, n int, shift, base, width uint64) int { panic("unreachable") }
func zeros8(dst *uint64, x *float64, n int)                                  { panic("unreachable") }
func floats8(dst *float64, x *int64, n int)                                  { panic("unreachable") }
func bits8(x *int64, n int) (all, lowest int64)                              { panic("unreachable") }
func addLevels16(dst *uint32, codes *int32, n int, add *uint32, size uint64) (seen uint32, ok bool) {
	panic("unreachable")
}
func find16(dst, keys *uint32, n int, table *uint32, last uint64) int { panic("unreachable") }
func settle16(dst *uint16, leaves *uint32, state *uint8, n int, look uint64, slots *uint32, last uint64) int {
	panic("unreachable")
}
func wanted8(rows, at *uint32, n int, lines *uint16, x *float64, lastRow, shift, base, width, stride uint64, set *uint64, last uint64) int {
	panic("unreachable")
}
func equal16(dst *uint64, codes *int32, n int, code int32)         { panic("unreachable") }
func atMost8(dst *uint64, x *float64, n int, most float64)         { panic("unreachable") }
func without64(dst *uint64, b *uint8, n int, look uint8)           { panic("unreachable") }
func set64(b *uint8, where *uint64, n int, bit uint8)              { panic("unreachable") }
func buckets8(dst *int32, x *int64, n int, bounds *int64, m int)   { panic("unreachable") }
func shares8(dst *int32, part, whole *int64, n int, limit float64) { panic("unreachable") }
func narrow32(dst *uint8, x *uint16, n int)                        { panic("unreachable") }
func widen32(dst *uint16, x *uint8, n int)                         { panic("unreachable") }
func unpack16(dst *uint32, b *byte, n int, bit, width uint64)      { panic("unreachable") }
func lookCodes16(dst *int32, indexes *uint32, n int, table *int32, last uint64) uint32 {
	panic("unreachable")
}
func lookInts8(dst *int64, indexes *uint32, n int, table *int64, last uint64) uint32 {
	panic("unreachable")
}
func lookFloats8(dst *float64, indexes *uint32, n int, table *float64, last uint64) uint32 {
	panic("unreachable")
}
func spreadCodes(dst *int32, at int, where *uint64, n, present int) int      { panic("unreachable") }
func spreadInts(dst *int64, at int, where *uint64, n, present int) int       { panic("unreachable") }
func spreadFloats(dst *float64, at int, where *uint64, n, present int) int   { panic("unreachable") }
func translate16(dst, codes *int32, n int, table *int32, last uint64) uint32 { panic("unreachable") }
func above8(dst *uint64, x, y *int64, n int)                                 { panic("unreachable") }
func below8(dst *uint64, x *int64, n int, limit int64)                       { panic("unreachable") }
func ratios8(dst, x *float64, by *int64, n int)                              { panic("unreachable") }

package cube

import "math"

// radix sorts keys, each with a row. A comparison sort of a million values
// takes several times as long.
type radix struct {
	keys []uint64
	rows []uint32
}

const (
	digitBits = 11
	digits    = 1 << digitBits
	passes    = (64 + digitBits - 1) / digitBits
)

// sort orders keys ascending and takes rows along. Equal keys keep their order.
func (r *radix) sort(keys []uint64, rows []uint32) {
	n := len(keys)
	r.keys, r.rows = sized(r.keys, n), sized(r.rows, n)
	var counts [passes][digits]int
	for _, k := range keys {
		for p := range passes {
			counts[p][k>>(p*digitBits)&(digits-1)]++
		}
	}
	fromK, toK, fromR, toR := keys, r.keys, rows, r.rows
	for p := range passes {
		if n > 0 && counts[p][fromK[0]>>(p*digitBits)&(digits-1)] == n {
			continue // all the same in this digit
		}
		at := 0
		var next [digits]int
		for d := range digits {
			next[d] = at
			at += counts[p][d]
		}
		for i, k := range fromK {
			d := k >> (p * digitBits) & (digits - 1)
			toK[next[d]], toR[next[d]] = k, fromR[i]
			next[d]++
		}
		fromK, toK, fromR, toR = toK, fromK, toR, fromR
	}
	if n > 0 && &fromK[0] != &keys[0] {
		copy(keys, fromK)
		copy(rows, fromR)
	}
}

// orderedBits maps a float to an integer of the same order.
func orderedBits(x float64) uint64 {
	b := math.Float64bits(x + 0) // -0 becomes 0: which zero it was is no order
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

func fromOrderedBits(b uint64) float64 {
	if b>>63 != 0 {
		return math.Float64frombits(b &^ (1 << 63))
	}
	return math.Float64frombits(^b)
}

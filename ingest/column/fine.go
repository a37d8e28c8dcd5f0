package column

import (
	"math"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// allFine reports whether no value of a batch is one to look at: most batches have
// none. It has no branch a value; slots of rows without a value are looked at, too,
// and where it is false nothing may be wrong.
func allFine(s *Source, v *serving.Vector, n int) bool {
	switch s.Kind {
	case serving.KindDuration:
		return noneOff(v.Floats[:n], math.MaxUint64)
	case serving.KindNumber:
		return noneOff(v.Floats[:n], signBit-1)
	case serving.KindCount:
		all, _ := wide.Bits(v.Ints[:n])
		return all >= 0
	case serving.KindTime:
		if s.dated {
			least, most := int64(math.MaxInt64), int64(math.MinInt64)
			for _, x := range v.Ints[:n] {
				least, most = min(least, x), max(most, x)
			}
			return n == 0 || inEra(least) && inEra(most)
		}
		_, lowest := wide.Bits(v.Ints[:n])
		return lowest >= 0 // but for BadInt
	}
	return s.Kind == serving.KindText
}

const signBit = 1 << 63

// noneOff reports whether all numbers are finite and, where the sign is among the
// bits to look at, none is below zero.
func noneOff(values []float64, look uint64) bool {
	return wide.Most(values, look) <= math.Float64bits(math.MaxFloat64)
}

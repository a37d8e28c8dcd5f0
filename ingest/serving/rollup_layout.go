package serving

import "math/bits"

// The bucket layout of rollups: log-linear over whole numbers, in whole-number
// arithmetic only, so that every database engine numbers the buckets alike. A
// duration is counted in microseconds, a token count in tokens.
//
//	u < 256   bucket = u
//	else      bucket = 128·k + ⌊u / 2^k⌋  with  k = ⌊log2 u⌋ − 7
//
// An octave has 128 buckets. Two values of one bucket differ by less than
// 1/128 of the smaller one.
const (
	RollupLayout = "log-linear/7" // what files call this layout

	rollupBits = 7
	rollupMax  = 1<<53 - 1 // greater values count as this one: 285 years of microseconds
)

// RollupError is the relative error of a figure that is read off a rollup's
// bucket.
const RollupError = 1.0 / (1 << rollupBits)

// RollupBucket returns the bucket of a value, which is not negative.
func RollupBucket(u int64) int32 {
	u = min(u, rollupMax)
	if u < 2<<rollupBits {
		return int32(u)
	}
	k := bits.Len64(uint64(u)) - 1 - rollupBits
	return int32(k<<rollupBits) + int32(u>>k)
}

// MaxRollupBucket is the last bucket.
var MaxRollupBucket = RollupBucket(rollupMax)

// RollupBounds returns the least and the greatest value of a bucket.
func RollupBounds(bucket int32) (least, most int64) {
	if bucket < 2<<rollupBits {
		return int64(bucket), int64(bucket)
	}
	k := int64(bucket)>>rollupBits - 1
	m := int64(bucket) - k<<rollupBits
	return m << k, (m+1)<<k - 1
}

// RollupUnits is how many of a rollup's whole numbers make one base unit of a
// metric: microseconds of durations.
func RollupUnits(k MetricKey) float64 {
	if m, ok := MetricOf(k); ok && m.Unit == Tokens {
		return 1
	}
	return 1e6
}

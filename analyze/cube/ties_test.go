package cube

import (
	"math"
	"math/rand"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// tiedShapes put any number of values into a bucket.
var tiedShapes = []shape{
	{"one value", 0, func(r *rand.Rand) float64 { return 0.125 }},
	{"ten values", 0, func(r *rand.Rand) float64 { return 0.1 + float64(r.Intn(10))/1e5 }},
	{"whole milliseconds", 0.1, func(r *rand.Rand) float64 { return math.Round(200*math.Exp(r.NormFloat64())) / 1000 }},
	{"one bucket, all different", 0, func(r *rand.Rand) float64 { return 0.125 * (1 + r.Float64()/4096) }},
	{"neighbours", 0, func(r *rand.Rand) float64 {
		return math.Float64frombits(math.Float64bits(0.125) + uint64(r.Intn(3000)))
	}},
	{"negative", 0, func(r *rand.Rand) float64 { return -math.Exp(20 * r.NormFloat64()) }},
	{"far out", 0.2, func(r *rand.Rand) float64 { return math.Ldexp(1+r.Float64(), 60+r.Intn(900)) }},
}

// tiedTable has a TTFT of a shape, and workloads.
func tiedTable(r *rand.Rand, n int, s shape) *memory {
	m := randomTable(r, n, false)
	d := m.data[string(serving.TTFT)]
	for i := range n {
		d.floats[i], d.missing[i] = s.value(r), r.Float64() < s.missing
	}
	return m
}

// Where values are counted, whatever the room is, quantiles are as exact as where
// all of them are kept.
func TestTied(t *testing.T) {
	restoreSizes(t)
	plan := Plan{Metrics: []serving.MetricKey{serving.TTFT}, Groupings: []Grouping{{}, {"workload"}, {DimTime}},
		Quantiles: []float64{0, 0.1, 0.5, 0.9, 0.99, 1}, Confidence: 0.95}
	for _, s := range tiedShapes {
		for _, room := range []int{1, 1000, 10000, 100000} {
			for _, kept := range []int64{0, 1 << 20} {
				large(t, 4, room)
				keptBytes = kept
				src := tiedTable(rand.New(rand.NewSource(1)), 3000, s)
				src.parts, src.batch, plan.Workers = 3, 64, 1+room%3
				got := fill(t, src, plan)
				if diff := cmp.Diff(reference(src, &plan, got), got.Groups, sameRanks); diff != "" {
					t.Fatalf("%s, room of %d (-reference +fill):\n%s", s.name, room, diff)
				}
			}
		}
	}
}

// Values that are the same take no memory of their own, and those that differ no
// more than there is room for.
func TestTiedMemory(t *testing.T) {
	const n = 400_000
	plan := Plan{Metrics: []serving.MetricKey{serving.TTFT}, Groupings: []Grouping{{}}, Quantiles: []float64{0.5, 0.9}, Confidence: 0.95, Workers: 1}
	for _, s := range tiedShapes {
		m := newMemory(n)
		d := &column{floats: make([]float64, n)}
		for i, r := 0, rand.New(rand.NewSource(1)); i < n; i++ {
			d.floats[i] = s.value(r)
		}
		m.add(serving.Column{Name: string(serving.TTFT), Kind: serving.KindDuration}, d)
		m.batch = 4096
		taken := func(room int, inexact bool) int {
			large(t, 256, room)
			plan.NoExact = inexact
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			fill(t, m, plan)
			runtime.ReadMemStats(&after)
			return int(after.TotalAlloc - before.TotalAlloc)
		}
		const room = 200 << 10
		if more := taken(room, false) - taken(room, true); more > n*8/2 {
			t.Errorf("%s: the second scan took %d kB, want nothing near the %d kB of all values", s.name, more>>10, n*8>>10)
		}
	}
}

// A table of ranges grows to its bound and no further, and loses none of what it
// counts.
func TestTiesBounded(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	c := newTies(64<<10, 10, nil)
	const n = 100_000
	for range n {
		c.add(uint32(r.Intn(10)), 1+r.Float64()/512)
	}
	if got := len(c.table) + len(c.spare); got*16 > 64<<10 {
		t.Errorf("%d places, want %d at most", got, 64<<10/16)
	}
	if c.shift == 0 || c.shift > 43 {
		t.Errorf("keys lack %d bits, want the last of those that a bucket leaves open", c.shift)
	}
	c.sort()
	total := uint32(0)
	for _, e := range c.table {
		total += e.n
	}
	if total != n {
		t.Errorf("%d values counted, want %d", total, n)
	}
}

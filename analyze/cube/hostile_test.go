package cube

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vreport/vreport/ingest/serving"
)

// A shape makes the values of a column, and says how many of them are missing.
type shape struct {
	name    string
	missing float64
	value   func(r *rand.Rand) float64
}

var shapes = []shape{
	{"all missing", 1, func(r *rand.Rand) float64 { return 1 }},
	{"one value", 0, func(r *rand.Rand) float64 { return 0.125 }},
	{"one bucket", 0.3, func(r *rand.Rand) float64 { return 0.125 * (1 + r.Float64()/4096) }},
	{"zeros", 0, func(r *rand.Rand) float64 { return []float64{0, math.Copysign(0, -1)}[r.Intn(2)] }},
	{"negative", 0.1, func(r *rand.Rand) float64 { return -math.Exp(r.NormFloat64()) }},
	{"both signs", 0, func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"denormal", 0.5, func(r *rand.Rand) float64 { return math.Float64frombits(uint64(r.Intn(1 << 20))) }},
	{"any magnitude", 0, func(r *rand.Rand) float64 { return math.Ldexp(1+r.Float64(), r.Intn(1900)-1000) }},
	{"beyond the window", 0.05, func(r *rand.Rand) float64 {
		if r.Intn(3) == 0 {
			return math.Ldexp(1+float64(r.Intn(4))/4, []int{-40, 12, 45, 300}[r.Intn(4)])
		}
		return 0.1 + 0.1*r.Float64()
	}},
	{"no numbers", 0.1, func(r *rand.Rand) float64 {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), r.Float64()}[r.Intn(4)]
	}},
	{"edges of octaves", 0, func(r *rand.Rand) float64 {
		x := math.Ldexp(1, r.Intn(24)-12)
		return []float64{x, math.Nextafter(x, 0), math.Nextafter(x, 9e9)}[r.Intn(3)]
	}},
	{"usual", 0.1, func(r *rand.Rand) float64 { return 0.2 * math.Exp(r.NormFloat64()) }},
}

// hostileTable has columns of any shape, rows in any order of time, and names that
// some rows have to themselves.
func hostileTable(r *rand.Rand, n int) (m *memory, what string) {
	m = randomTable(r, n, false)
	for _, k := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E, serving.Queue} {
		s := shapes[r.Intn(len(shapes))]
		what += fmt.Sprintf("%s: %s; ", k, s.name)
		d := m.data[string(k)]
		for i := range n {
			d.floats[i], d.missing[i] = s.value(r), r.Float64() < s.missing
		}
	}
	s := shapes[r.Intn(len(shapes))]
	what += "itl: " + s.name
	itl := m.data[string(serving.ITL)]
	for i := range n {
		itl.missing[i] = r.Float64() < s.missing
		for j := range itl.gaps[i] {
			itl.gaps[i][j] = s.value(r)
		}
	}
	at := m.data[serving.ColArrival].ints
	switch r.Intn(3) {
	case 0:
		r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
	case 1:
		for i := range at {
			at[i] = at[0]
		}
	}
	return m, what
}

// dropOddGaps takes out the gaps that are no numbers.
func (m *memory) dropOddGaps() {
	for i, g := range m.data[string(serving.ITL)].gaps {
		var keep []float64
		for _, x := range g {
			if isFinite(x) {
				keep = append(keep, x)
			}
		}
		m.data[string(serving.ITL)].gaps[i] = keep
	}
}

// sameRanks compares what is a value of the data: extremes, ends of intervals and,
// but for the interpolation, quantiles. Sums of numbers of any magnitude differ.
var sameRanks = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *Summary) bool {
	if a == nil || b == nil {
		return a == b
	}
	ok := a.N == b.N && a.Min == b.Min && a.Max == b.Max && len(a.Quantiles) == len(b.Quantiles)
	for i := range a.Quantiles {
		p, q := a.Quantiles[i], b.Quantiles[i]
		ok = ok && p.P == q.P && p.Lo == q.Lo && p.Hi == q.Hi && math.Abs(p.Value-q.Value) <= 1e-12*(math.Abs(p.Value)+math.Abs(p.Lo.V)+math.Abs(p.Hi.V))
	}
	return ok
})}

// Tables of any shape are what the reference says, and the same to the last bit
// however they are cut, whoever scans them, and whatever was noted of their rows.
func TestHostileReference(t *testing.T) {
	restoreSizes(t)
	for seed := range int64(12) {
		r := rand.New(rand.NewSource(seed))
		large(t, 1+r.Intn(20), 1+r.Intn(20000))
		plan := explorePlan(1500, 100)
		if seed%4 == 1 {
			plan.Window = Window{From: 1_700_000_001e9, To: 1_700_000_008e9}
		}
		if seed%5 == 1 {
			plan.MaxMemory = int64(1+r.Intn(100)) << 10
		}
		if seed%7 == 1 {
			plan.Groupings = []Grouping{{}, {"workload"}, {DimTime}}
		}
		n := r.Intn(1200)
		var first *Cube
		var problems []serving.Problem
		for k, workers := range []int{1, 2, 3, 8} {
			keptBytes = []int64{0, 100, 1000, 3000, 1 << 20}[(int(seed)+k)%5]
			chunkRows = []int{64, 128, 1024, 64 << 10}[r.Intn(4)]
			src, what := hostileTable(rand.New(rand.NewSource(seed)), n)
			what = fmt.Sprintf("seed %d, workers %d, %s", seed, workers, what)
			src.parts, src.batch = 1+r.Intn(9), 64*(1+r.Intn(8))
			plan.Workers = workers
			var ps serving.Problems
			got, err := Fill(context.Background(), src, plan, &ps, nil)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if first == nil {
				first, problems = got, ps.List()
				src.dropOddGaps()
				if diff := cmp.Diff(reference(src, &plan, got), got.Groups, sameRanks); diff != "" {
					t.Fatalf("%s (-reference +fill):\n%s", what, diff)
				}
				heldRows = 32 << 10
				held := fill(t, src, plan)
				heldRows = -1
				if diff := cmp.Diff(held.Explored, got.Explored); diff != "" {
					t.Fatalf("%s (-held +streamed):\n%s", what, diff)
				}
				if diff := cmp.Diff(reference(src, &plan, held), held.Groups, sameRanks); diff != "" {
					t.Fatalf("%s (-reference +held):\n%s", what, diff)
				}
				continue
			}
			if !reflect.DeepEqual(first, got) {
				t.Fatalf("%s:\n%s", what, cmp.Diff(first, got))
			}
			if diff := cmp.Diff(problems, ps.List()); diff != "" {
				t.Fatalf("%s: problems: %s", what, diff)
			}
		}
	}
}

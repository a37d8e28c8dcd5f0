package cube

import (
	"context"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// banded has values sorted a few at a time.
func banded(t testing.TB, n int) {
	was := bandValues
	bandValues = n
	t.Cleanup(func() { bandValues = was })
}

// Cells that were described in bands are those of one sort.
func TestBandsAreOneSort(t *testing.T) {
	for seed := range int64(6) {
		r := rand.New(rand.NewSource(seed))
		src := randomTable(r, 500+r.Intn(1500), false)
		src.parts, src.batch = 1+r.Intn(9), 1+r.Intn(700)
		plan := wholePlan()
		plan.CDF = true
		if seed%2 == 1 {
			plan.Windowed = &Windowed{Metrics: []serving.MetricKey{serving.TTFT, serving.ITL}, Quantiles: []float64{0.5, 0.95}}
		}
		want := fill(t, src, plan)
		for _, n := range []int{7, 100} {
			t.Run("", func(t *testing.T) {
				banded(t, n)
				if diff := cmp.Diff(want, fill(t, src, plan), near); diff != "" {
					t.Fatalf("seed %d, %d values at a time (-one sort +bands):\n%s", seed, n, diff)
				}
			})
		}
	}
}

// Bands cover every value once, in order, however they are spread.
func TestBanderAscends(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	spreads := map[string]func() float64{
		"narrow":       func() float64 { return 0.02 + r.Float64()*1e-12 },
		"wide":         func() float64 { return r.ExpFloat64() * 1e-300 * float64(r.Intn(2)) * 1e300 },
		"equal":        func() float64 { return 0.025 },
		"two":          func() float64 { return float64(r.Intn(2)) },
		"signs":        func() float64 { return r.NormFloat64() },
		"neighbouring": func() float64 { return 1 + float64(r.Intn(3))*0x1p-52 },
	}
	for name, next := range spreads {
		itl := &column{gaps: make([][]float64, 40), missing: make([]bool, 40)}
		var want []float64
		for i := range itl.gaps {
			for range r.Intn(100) {
				itl.gaps[i] = append(itl.gaps[i], next())
			}
			want = append(want, itl.gaps[i]...)
		}
		slices.Sort(want)
		src := newMemory(40)
		src.add(serving.Column{Name: string(serving.ITL), Kind: serving.KindGaps}, itl)
		plan := Plan{Metrics: []serving.MetricKey{serving.ITL}}
		lay, err := newLayout(src, &plan)
		if err != nil {
			t.Fatal(err)
		}
		s := &scanner{lay: lay, workers: 1}
		tab, _, err := s.scan(context.Background(), src.Parts(), nil)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := tab.keyRange(0)
		var got []float64
		b := bander{t: tab, size: 50, radix: &radix{}}
		b.ascend(context.Background(), lo, hi, tab.countValues(0), func(keys []uint64, rows []uint32) {
			if len(keys) > 50 || len(keys) != len(rows) {
				t.Fatalf("%s: a band of %d keys and %d rows, want at most 50", name, len(keys), len(rows))
			}
			for _, k := range keys {
				got = append(got, fromOrderedBits(k))
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d values in bands, want %d in ascending order", name, len(got), len(want))
		}
	}
}

package cube

import (
	"context"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vreport/vreport/ingest/serving"
)

// large has every source streamed, with cells that become histograms early on,
// for one test.
func large(t testing.TB, raw, bytes int) {
	held, r, w, g := heldRows, rawLimit, rawWindowLimit, gatherBytes
	heldRows, rawLimit, rawWindowLimit, gatherBytes = -1, raw, raw/2, bytes
	t.Cleanup(func() { heldRows, rawLimit, rawWindowLimit, gatherBytes = held, r, w, g })
}

// restoreSizes undoes, after a test, what it makes of the sizes of notes and chunks.
func restoreSizes(t testing.TB) {
	kept, rows := keptBytes, chunkRows
	t.Cleanup(func() { keptBytes, chunkRows = kept, rows })
}

// nearLarge compares a streamed cube with the reference: quantiles and
// intervals to the last digit but the interpolation's, grids for drawing within
// a bucket.
var nearLarge = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b *Summary) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	if len(x.CDF) != len(y.CDF) {
		return false
	}
	for i := range x.CDF {
		if y.N <= int64(rawLimit) && math.Abs(x.CDF[i]-y.CDF[i]) > 1e-9*(1+math.Abs(x.CDF[i])) {
			return false
		}
	}
	x.CDF, y.CDF = nil, nil
	x.Quantiles, y.Quantiles = withoutACF(x.Quantiles), withoutACF(y.Quantiles)
	return nearSummary(&x, &y)
})}

func TestLargeReference(t *testing.T) {
	for seed := range int64(16) {
		r := rand.New(rand.NewSource(seed))
		large(t, 1+r.Intn(20), 1+r.Intn(20000))
		src := randomTable(r, r.Intn(900), false)
		src.parts, src.batch = 1+r.Intn(5), 1+r.Intn(300)
		plan := wholePlan()
		plan.CDF = seed == 0
		plan.Workers = 1 + r.Intn(3)
		if seed%3 == 1 {
			plan.Window = Window{From: 1_700_000_001e9, To: 1_700_000_015e9}
		}
		got := fill(t, src, plan)
		if diff := cmp.Diff(reference(src, &plan, got), got.Groups, nearLarge); diff != "" {
			t.Fatalf("seed %d (-reference +fill):\n%s", seed, diff)
		}
	}
}

// A streamed cube is the held one, folds, examples and exclusions included.
func TestLargeIsHeld(t *testing.T) {
	for seed := range int64(6) {
		r := rand.New(rand.NewSource(seed))
		src := randomTable(r, 500+r.Intn(1500), false)
		src.parts, src.batch = 1+r.Intn(9), 1+r.Intn(700)
		plan := wholePlan()
		plan.Groupings = append(plan.Groupings, Grouping{"request_id"}, Grouping{"tenant", "workload", "replica"}, Grouping{"request_id", "tenant"}, Grouping{"tenant", DimTime, "workload"})
		plan.MaxGroups = 5 + r.Intn(60)
		plan.CDF = true
		if seed%2 == 1 {
			plan.Windowed = &Windowed{Metrics: []serving.MetricKey{serving.TTFT, serving.ITL}, Quantiles: []float64{0.5, 0.95}}
		}
		var pw, pg serving.Problems
		want, err := Fill(context.Background(), src, plan, &pw, nil)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			large(t, 8, 5000)
			got, err := Fill(context.Background(), src, plan, &pg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Scanned || want.Scanned {
				t.Error("a cube does not say which it is")
			}
			want.Scanned = true
			if diff := cmp.Diff(want, got, nearLarge); diff != "" {
				t.Fatalf("seed %d (-held +streamed):\n%s", seed, diff)
			}
			if diff := cmp.Diff(pw.List(), pg.List()); diff != "" {
				t.Fatalf("seed %d: problems: %s", seed, diff)
			}
		}()
		heldRows = 32 << 10
	}
}

// The result is the same to the last bit however the table is cut and however
// many workers scan it.
func TestLargeIndependent(t *testing.T) {
	for seed := range int64(3) {
		large(t, 8, 3000)
		plan := wholePlan()
		plan.CDF = true
		plan.MaxGroups = 12
		plan.NoExact = seed == 2
		var want *Cube
		for _, cut := range []struct{ workers, parts, batch int }{{1, 1, 0}, {1, 7, 13}, {4, 1, 100}, {4, 7, 50}, {4, 31, 1}, {2, 3000, 0}} {
			src := randomTable(rand.New(rand.NewSource(seed)), 1500, false)
			src.parts, src.batch = cut.parts, cut.batch
			plan.Workers = cut.workers
			got := fill(t, src, plan)
			if want == nil {
				want = got
				continue
			}
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("seed %d, %+v:\n%s", seed, cut, cmp.Diff(want, got))
			}
		}
	}
}

// What a histogram says is within the error it states.
func TestNoExact(t *testing.T) {
	src := randomTable(rand.New(rand.NewSource(1)), 5000, false)
	plan := wholePlan()
	plan.CDF = true
	want := fill(t, src, plan)
	large(t, 50, 0)
	plan.NoExact = true
	got := fill(t, src, plan)
	approximate := 0
	for g := range want.Groups {
		for c := range want.Groups[g].Cells {
			for k, a := range want.Groups[g].Cells[c].Summaries {
				b := got.Groups[g].Cells[c].Summaries[k]
				if b.Error > 0 {
					approximate++
				}
				for i := range a.Quantiles {
					p, q := a.Quantiles[i], b.Quantiles[i]
					if math.Abs(p.Value-q.Value) > b.Error*p.Value+1e-12 {
						t.Errorf("%v %s p%v: %v, want %v within %v", want.Groups[g].Cells[c].Key, k, p.P, q.Value, p.Value, b.Error)
					}
				}
				for i := range a.CDF {
					if math.Abs(a.CDF[i]-b.CDF[i]) > a.CDF[i]/256+1e-12 {
						t.Errorf("%v %s grid %v of %d: %v, want about %v", want.Groups[g].Cells[c].Key, k, CDFGrid[i], b.N, b.CDF[i], a.CDF[i])
					}
				}
				if !slices.IsSorted(b.CDF) {
					t.Errorf("%v %s: grid %v", want.Groups[g].Cells[c].Key, k, b.CDF)
				}
			}
		}
	}
	if approximate < 100 {
		t.Errorf("%d summaries from histograms", approximate)
	}
}

// A source that changes between the scans of values is an error, not a wrong figure.
func TestLargeChanged(t *testing.T) {
	large(t, 8, 1<<20)
	src := &changing{memory: randomTable(rand.New(rand.NewSource(1)), 500, false)}
	src.other = randomTable(rand.New(rand.NewSource(2)), 500, false)
	src.other.dicts = src.dicts
	if _, err := Fill(context.Background(), src, wholePlan(), nil, nil); err != errChanged {
		t.Errorf("got %v, want %v", err, errChanged)
	}
}

type changing struct {
	*memory
	other *memory
	asked int
}

func (c *changing) Parts() []serving.Part {
	// Asked for its size, the survey and the first scan.
	if c.asked++; c.asked > 3 {
		return c.other.Parts()
	}
	return c.memory.Parts()
}

func FuzzLarge(f *testing.F) {
	f.Add(int64(1), uint16(50), uint8(3), uint8(7), uint8(0), uint8(4), uint16(100))
	f.Add(int64(2), uint16(0), uint8(1), uint8(1), uint8(1), uint8(0), uint16(0))
	f.Add(int64(3), uint16(400), uint8(9), uint8(1), uint8(2), uint8(30), uint16(9000))
	f.Fuzz(func(t *testing.T, seed int64, n uint16, parts, batch, window, raw uint8, bytes uint16) {
		large(t, int(raw), int(bytes))
		r := rand.New(rand.NewSource(seed))
		src := randomTable(r, int(n)%700, false)
		src.parts, src.batch = 1+int(parts)%20, 1+int(batch)
		plan := wholePlan()
		plan.Workers = 1 + int(parts)%3
		if window%3 > 0 {
			plan.Window = Window{From: 1_700_000_000e9, To: 1_700_000_000e9 + int64(window)*100e6}
		}
		got := fill(t, src, plan)
		if diff := cmp.Diff(reference(src, &plan, got), got.Groups, nearLarge); diff != "" {
			t.Fatalf("(-reference +fill):\n%s", diff)
		}
	})
}

func TestLargeEmpty(t *testing.T) {
	large(t, 8, 100)
	plan := wholePlan()
	for _, m := range []*memory{newMemory(0), randomTable(rand.New(rand.NewSource(1)), 0, false), {name: "no parts"}} {
		c := fill(t, m, plan)
		if len(c.Groups) != len(plan.Groupings) || len(c.Groups[0].Cells) != 1 || c.Groups[0].Cells[0].Sent != 0 {
			t.Errorf("%s: %+v, want one cell of nothing for everything", m.name, c.Groups)
		}
	}
}

// The error is that of the first part, whichever part fails first.
func TestLargeError(t *testing.T) {
	large(t, 8, 100)
	first := fmt.Errorf("first")
	for range 20 {
		m := randomTable(rand.New(rand.NewSource(1)), 1000, false)
		m.parts, m.batch = 10, 7
		m.failAt = map[int]error{2: first, 3: fmt.Errorf("later"), 9: fmt.Errorf("last")}
		_, err := Fill(context.Background(), m, Plan{Groupings: []Grouping{{}}, Workers: 4}, nil, nil)
		if err != first {
			t.Fatalf("got %v, want %v", err, first)
		}
	}
}

func withoutACF(qs []Quantile) []Quantile {
	out := slices.Clone(qs)
	for i := range out {
		out[i].ACF1 = serving.Opt[float64]{}
	}
	return out
}

// More values than a counter holds are an error, not a wrong figure.
func TestLargeTooMany(t *testing.T) {
	large(t, 4, 1<<20)
	defer func(n int64) { maxCount = n }(maxCount)
	m, plan := newMemory(3000), Plan{Metrics: []serving.MetricKey{serving.TTFT}, Groupings: []Grouping{{}}, Quantiles: []float64{0.5}}
	x := make([]float64, 3000)
	m.add(serving.Column{Name: "ttft", Kind: serving.KindDuration}, &column{floats: x})
	for _, tt := range []struct {
		most int64
		ok   bool
	}{{3000, true}, {2999, false}} {
		maxCount = tt.most
		_, err := Fill(t.Context(), m, plan, nil, nil)
		if (err == nil) != tt.ok {
			t.Errorf("at most %d: error %v", tt.most, err)
		}
	}
}

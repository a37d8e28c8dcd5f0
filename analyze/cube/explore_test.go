package cube

import (
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

func explorePlan(max, names int) Plan {
	p := wholePlan()
	p.Explore = &Explore{
		Dims:     []string{"workload", "prompt_tokens", DimCache, "model", "replica", "output_tokens", "tenant"},
		MaxCells: max, MaxNames: names, Bits: 5,
		Metrics: []serving.MetricKey{serving.TTFT, serving.ITL, serving.E2E, "no_such_metric"},
	}
	return p
}

// Counts and histograms are those of the rows: every cell against the reference,
// which has the values themselves.
func TestExploreReference(t *testing.T) {
	for _, held := range []bool{true, false} {
		for seed := range int64(6) {
			r := rand.New(rand.NewSource(seed))
			if !held {
				large(t, 1+r.Intn(20), 5000)
			}
			src := randomTable(r, 400+r.Intn(400), false)
			src.parts, src.batch = 1+r.Intn(5), 1+r.Intn(100)
			plan := explorePlan(1500, 100)
			got := fill(t, src, plan)
			x := got.Explored
			if x == nil || len(x.Dims) < 3 {
				t.Fatalf("held %v, seed %d: explored %+v", held, seed, x)
			}
			checkExplored(t, src, &plan, got)
			coarse, err := x.Coarsen(3)
			if err != nil {
				t.Fatal(err)
			}
			got.Explored = coarse
			checkExplored(t, src, &plan, got)
			got.Explored = x.Without()
			if left := got.Explored.Left; len(left) != len(x.Left)+1 || left[0] != x.Dims[len(x.Dims)-1] {
				t.Errorf("without its last dimension %v are left out", left)
			}
			checkExplored(t, src, &plan, got)
		}
	}
}

func checkExplored(t *testing.T, src *memory, plan *Plan, c *Cube) {
	t.Helper()
	x := c.Explored
	p := *plan
	p.Groupings = []Grouping{x.Dims}
	want := reference(src, &p, c)[0].Cells
	if len(want) != len(x.Cells) {
		t.Fatalf("%v: %d cells, want %d", x.Dims, len(x.Cells), len(want))
	}
	rows := counted(src.records(), plan.Window)
	if !slices.Equal(x.Metrics, []serving.MetricKey{serving.TTFT, serving.ITL, serving.E2E}) {
		t.Errorf("metrics %v", x.Metrics)
	}
	for i := range want {
		w, g := want[i], x.Cells[i]
		w.Summaries = nil
		if diff := cmp.Diff(w, g.Cell, near); diff != "" {
			t.Fatalf("cell %v (-reference +explored):\n%s", g.Key, diff)
		}
		for d, l := range g.Levels {
			if x.Values[d][l] != g.Key[d] {
				t.Fatalf("cell %v has levels %v of %v", g.Key, g.Levels, x.Values)
			}
		}
		for m, k := range x.Metrics {
			checkHistogram(t, src, &p, c, rows, k, g.Key, g.Histograms[m])
		}
	}
}

func checkHistogram(t *testing.T, src *memory, p *Plan, c *Cube, rows []record, k serving.MetricKey, key []string, h Histogram) {
	t.Helper()
	var values []float64
	for _, r := range rows {
		in := r.outcome() == serving.OK
		for d, name := range c.Explored.Dims {
			label, _ := r.dim(src, p, name, c)
			in = in && label == key[d]
		}
		if in {
			values = append(values, r.valuesOf(k)...)
		}
	}
	total := int64(0)
	for i, b := range h {
		l := newScale(c.Explored.Bits)
		lo, hi := l.bounds(b.Bucket)
		n := int64(0)
		for _, v := range values {
			n += int64(b2i(lo <= v && (v < hi || v == lo)))
		}
		if n != b.N || n == 0 || i > 0 && h[i-1].Bucket >= b.Bucket {
			t.Fatalf("%s of %v: bucket %d [%v, %v) has %d, want %d", k, key, b.Bucket, lo, hi, b.N, n)
		}
		total += n
	}
	if total != int64(len(values)) {
		t.Fatalf("%s of %v: %d of %d values", k, key, total, len(values))
	}
}

// A streamed cross is the held one, to the last bit, whatever is folded or left
// out, and whether it has leaves of its own or those of another grouping.
func TestExploreLargeIsHeld(t *testing.T) {
	for seed := range int64(12) {
		r := rand.New(rand.NewSource(seed))
		src := randomTable(r, r.Intn(1200), false)
		src.parts, src.batch = 1+r.Intn(9), 1+r.Intn(700)
		plan := explorePlan(1+r.Intn(300), 1+r.Intn(9))
		if seed%3 == 0 {
			plan.Explore.Dims = plan.Explore.Dims[:3]
			plan.Explore.MaxNames = 100
		}
		if seed%4 == 0 {
			plan.NoExact = true
		}
		want := fill(t, src, plan).Explored
		large(t, 1+r.Intn(30), 5000)
		got := fill(t, src, plan)
		heldRows = 32 << 10
		if !reflect.DeepEqual(want, got.Explored) {
			t.Fatalf("seed %d (-held +streamed):\n%s", seed, cmp.Diff(want, got.Explored))
		}
		if len(got.Groups) != len(plan.Groupings) {
			t.Errorf("seed %d: %d groups of %d groupings", seed, len(got.Groups), len(plan.Groupings))
		}
		if len(want.Cells) > plan.Explore.MaxCells {
			t.Errorf("seed %d: %d cells, at most %d", seed, len(want.Cells), plan.Explore.MaxCells)
		}
		for _, name := range append(slices.Clone(want.Left), want.Dims...) {
			if !slices.Contains(plan.Explore.Dims, name) {
				t.Errorf("seed %d: %s was not asked for", seed, name)
			}
		}
	}
}

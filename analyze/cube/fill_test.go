package cube

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vreport/vreport/ingest/serving"
)

func fill(t testing.TB, src serving.Requests, plan Plan) *Cube {
	t.Helper()
	c, err := Fill(context.Background(), src, plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wholePlan asks for everything.
func wholePlan() Plan {
	return Plan{
		Metrics: []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E, serving.Queue, serving.PromptTokens, serving.OutputTokens, serving.Decode},
		Groupings: []Grouping{
			{}, {"workload", "prompt_tokens", DimCache}, {"workload"}, {"prompt_tokens"}, {DimCache}, {"output_tokens"},
			{"streaming"}, {"outcome"}, {"tenant"}, {"no_such_column", "model"}, {DimTime}, {DimTime, "replica"}, {"replica", DimTime},
		},
		Buckets:    map[string]Bounds{"prompt_tokens": {128, 512, 2048, 8192, 32768, 131072}, "output_tokens": {64, 256, 1024, 4096}},
		Quantiles:  []float64{0, 0.25, 0.5, 0.9, 0.95, 0.99, 1},
		Confidence: 0.95, WarmShare: 0.9,
		Conditions: []serving.Condition{{Metric: serving.TTFT, Limit: 0.3}, {Metric: serving.TPOT, Limit: 0.03}},
		Limits: []Limit{
			{Metric: serving.TTFT, Max: 0.2}, {Metric: serving.TPOT, Max: 0.02}, {Metric: serving.ITL, Max: 0.015}, {Metric: serving.Decode, Max: 1},
			{Metric: serving.E2E, Max: 5, By: []serving.Term{{Dim: "workload", Value: "chat"}, {Dim: DimCache, Value: "warm"}}},
			{Metric: serving.E2E, Max: 5, By: []serving.Term{{Dim: "prompt_tokens", Value: "128-511"}}},
			{Metric: serving.E2E, Max: 5, By: []serving.Term{{Dim: "workload", Value: "no such"}}},
		},
		Examples: 5,
	}
}

// near compares cubes whose sums were taken in another way.
var near = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(nearSummary)}

func nearSummary(a, b *Summary) bool {
	if a == nil || b == nil {
		return a == b
	}
	eq := func(x, y float64) bool { return math.Abs(x-y) <= 1e-9*(1+math.Abs(x)) }
	return a.N == b.N && eq(a.Mean, b.Mean) && eq(a.Std, b.Std) && a.Min == b.Min && a.Max == b.Max && a.Error == b.Error &&
		slices.EqualFunc(a.CDF, b.CDF, eq) &&
		slices.EqualFunc(a.Quantiles, b.Quantiles, func(p, q Quantile) bool {
			return p.P == q.P && eq(p.Value, q.Value) && p.Lo == q.Lo && p.Hi == q.Hi && p.ACF1.OK == q.ACF1.OK && eq(p.ACF1.V, q.ACF1.V)
		})
}

func TestFillReference(t *testing.T) {
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		src := randomTable(r, r.Intn(600), false)
		src.parts, src.batch = 1+r.Intn(5), 1+r.Intn(100)
		plan := wholePlan()
		plan.CDF = seed == 0
		if seed%3 == 1 {
			plan.Window = Window{From: 1_700_000_001e9, To: 1_700_000_005e9}
		}
		got := fill(t, src, plan)
		if diff := cmp.Diff(reference(src, &plan, got), got.Groups, near); diff != "" {
			t.Fatalf("seed %d (-reference +fill):\n%s", seed, diff)
		}
	}
}

// The result is the same to the last bit however the table is cut and however
// many workers scan it.
func TestFillIndependent(t *testing.T) {
	for seed := range int64(3) {
		plan := wholePlan()
		plan.CDF = true
		plan.MaxGroups = 12
		var want *Cube
		for _, cut := range []struct{ workers, parts, batch int }{{1, 1, 0}, {1, 7, 13}, {4, 1, 100}, {4, 7, 50}, {4, 31, 1}, {2, 3000, 0}} {
			src := randomTable(rand.New(rand.NewSource(seed)), 1500, false)
			src.parts, src.batch = cut.parts, cut.batch
			src.once = cut.parts%2 == 0 // ids from the first scan or a second one
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

// Every grouping holds every request once.
func TestFillCellsAddUp(t *testing.T) {
	src := randomTable(rand.New(rand.NewSource(3)), 2000, false)
	plan := wholePlan()
	plan.MaxGroups = 7
	c := fill(t, src, plan)
	all := &c.Groups[0].Cells[0]
	excluded := int64(0)
	for _, e := range c.Excluded {
		excluded += e.Rows
	}
	if all.Sent+excluded != c.Rows || c.Rows != 2000 || excluded == 0 {
		t.Errorf("sent %d + excluded %d of %d rows", all.Sent, excluded, c.Rows)
	}
	for _, g := range c.Groups {
		sum := Cell{Within: make([]int64, len(plan.Limits)), Of: make([]int64, len(plan.Limits))}
		n := int64(0)
		combinations := map[string]bool{}
		for _, cell := range g.Cells {
			sum.Sent += cell.Sent
			sum.Good += cell.Good
			sum.Input += cell.Input
			sum.CachedOf += cell.CachedOf
			for o, k := range cell.Outcomes {
				sum.Outcomes[o] += k
			}
			for l := range cell.Of {
				sum.Of[l] += cell.Of[l]
				sum.Within[l] += cell.Within[l]
			}
			if s := cell.Summaries[serving.ITL]; s != nil {
				n += s.N
			}
			key := ""
			for i, d := range g.Dims {
				if d != DimTime {
					key += cell.Key[i] + "\x00"
				}
			}
			combinations[key] = true
		}
		whole := Cell{Sent: all.Sent, Good: all.Good, Input: all.Input, CachedOf: all.CachedOf, Outcomes: all.Outcomes, Within: all.Within, Of: all.Of}
		if diff := cmp.Diff(whole, sum); diff != "" || n != all.Summaries[serving.ITL].N {
			t.Errorf("%v: ITL %d of %d\n%s", g.Dims, n, all.Summaries[serving.ITL].N, diff)
		}
		if fold := g.Dims; len(fold) == 1 && len(combinations) > plan.MaxGroups+2 {
			t.Errorf("%v: %d cells, want at most %d and the two rests", g.Dims, len(combinations), plan.MaxGroups)
		}
	}
}

// texts returns a table of one text column.
func texts(name string, values ...string) *memory {
	m := newMemory(len(values))
	m.add(serving.Column{Name: name, Kind: serving.KindText}, &column{texts: values})
	return m
}

func keys(g Group) []string {
	var out []string
	for _, c := range g.Cells {
		out = append(out, fmt.Sprintf("%v %d", c.Key, c.Sent))
	}
	return out
}

func TestFillFolds(t *testing.T) {
	src := texts("tenant", "d", "b", "b", "c", "c", "a", "e", "e", "e", "unknown", "", "(other)")
	c := fill(t, src, Plan{Groupings: []Grouping{{"tenant"}}, MaxGroups: 3})
	// b and c are as frequent as each other, a and d are not kept.
	want := []string{"[b] 2", "[c] 2", "[e] 3", "[unknown] 2", "[(other)] 3"}
	if diff := cmp.Diff(want, keys(c.Groups[0])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"tenant": 2}, c.Groups[0].Folded); diff != "" {
		t.Error(diff)
	}
}

// Two dimensions of few values each may still have too many combinations.
func TestFillFoldsCombinations(t *testing.T) {
	m := newMemory(400)
	a, b := &column{texts: make([]string, m.n)}, &column{ints: make([]int64, m.n)}
	for i := range m.n {
		a.texts[i], b.ints[i] = fmt.Sprint("a", i%20), int64(i/20)
	}
	m.add(serving.Column{Name: "a", Kind: serving.KindText}, a)
	m.add(serving.Column{Name: "b", Kind: serving.KindCount}, b)
	g := fill(t, m, Plan{Groupings: []Grouping{{"a", "b"}}, MaxGroups: 50}).Groups[0]
	if len(g.Cells) > 50 || len(g.Cells) < 12 {
		t.Errorf("%d cells, want at most 50", len(g.Cells))
	}
	if g.Folded["a"] == 0 || g.Folded["b"] == 0 {
		t.Errorf("folded %v, want some of each", g.Folded)
	}
	if last := g.Cells[len(g.Cells)-1].Key; last[0] != Other || last[1] != Other {
		t.Errorf("last cell %v, want the rest last", last)
	}
}

func TestFillNumbersInOrder(t *testing.T) {
	m := newMemory(4)
	m.add(serving.Column{Name: "replica", Kind: serving.KindCount}, &column{ints: []int64{10, 9, 2, 10}})
	g := fill(t, m, Plan{Groupings: []Grouping{{"replica"}}}).Groups[0]
	if diff := cmp.Diff([]string{"[2] 1", "[9] 1", "[10] 2"}, keys(g)); diff != "" {
		t.Error(diff)
	}
}

func TestFillOneToken(t *testing.T) {
	m := newMemory(6)
	nan := []bool{false, true, true, true, true, false}
	m.add(serving.Column{Name: "tpot", Kind: serving.KindDuration}, &column{floats: []float64{0.01, 0, 0, 0, 0, 0.9}, missing: nan})
	m.add(serving.Column{Name: "output_tokens", Kind: serving.KindCount}, &column{ints: []int64{5, 1, 5, 0, 1, 1}, missing: []bool{false, false, false, true, false, false}})
	m.add(serving.Column{Name: "outcome", Kind: serving.KindText}, &column{texts: []string{"ok", "ok", "ok", "ok", "error", "ok"}})
	c := fill(t, m, Plan{
		Groupings:  []Grouping{{}},
		Conditions: []serving.Condition{{Metric: serving.TPOT, Limit: 0.05}},
		Limits:     []Limit{{Metric: serving.TPOT, Max: 0.05}, {Metric: serving.ITL, Max: 0.05}},
	}).Groups[0].Cells[0]
	// Within: row 0 by value, 1 and 5 as one-token outputs. Misses: 2 and 3 for
	// they say nothing, 4 for it failed.
	if c.Sent != 6 || c.Good != 3 || c.Within[0] != 3 || c.Within[1] != 2 || c.Of[0] != 6 {
		t.Errorf("sent %d good %d within %v of %v, want 6, 3, [3 2], [6 6]", c.Sent, c.Good, c.Within, c.Of)
	}
}

func TestFillGapsByWorst(t *testing.T) {
	m := newMemory(3)
	m.add(serving.Column{Name: "itl", Kind: serving.KindGaps}, &column{gaps: [][]float64{{0.01, 0.02}, {0.01, 0.2}, nil}})
	c := fill(t, m, Plan{Groupings: []Grouping{{}}, Metrics: []serving.MetricKey{serving.ITL}, Limits: []Limit{{Metric: serving.ITL, Max: 0.02}}}).Groups[0].Cells[0]
	if c.Within[0] != 1 || c.Of[0] != 3 {
		t.Errorf("within %d of %d, want 1 of 3: the request without a gap above the limit", c.Within[0], c.Of[0])
	}
	if n := c.Summaries[serving.ITL].N; n != 4 {
		t.Errorf("%d gaps, want 4", n)
	}
}

func TestFillNotFinite(t *testing.T) {
	m := newMemory(4)
	m.parts = 2
	m.add(serving.Column{Name: "e2e", Kind: serving.KindDuration}, &column{floats: []float64{1, 2, math.NaN(), math.Inf(1)}})
	m.damaged = map[int]string{0: "a", 1: "b"}
	var problems serving.Problems
	c, err := Fill(context.Background(), m, Plan{Groupings: []Grouping{{}}, Metrics: []serving.MetricKey{serving.E2E}}, &problems, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Groups[0].Cells[0].Summaries[serving.E2E]; s.N != 2 || s.Mean != 1.5 {
		t.Errorf("n %d mean %v, want 2 and 1.5", s.N, s.Mean)
	}
	var got []string
	for _, p := range problems.List() {
		got = append(got, p.String())
	}
	want := []string{
		"file: row 1: a (2 records)",
		"file: row 3: e2e: not a finite number, want a value or none; it counts as missing (2 records)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFillEmpty(t *testing.T) {
	plan := wholePlan()
	for _, m := range []*memory{newMemory(0), randomTable(rand.New(rand.NewSource(1)), 0, false), {name: "no parts"}} {
		c := fill(t, m, plan)
		if len(c.Groups) != len(plan.Groupings) || len(c.Groups[0].Cells) != 1 || c.Groups[0].Cells[0].Sent != 0 {
			t.Errorf("%s: %+v, want one cell of nothing for everything", m.name, c.Groups)
		}
	}
}

// The error is that of the first part, whichever part fails first.
func TestFillError(t *testing.T) {
	first := errors.New("first")
	for range 20 {
		m := randomTable(rand.New(rand.NewSource(1)), 1000, false)
		m.parts, m.batch = 10, 7
		m.failAt = map[int]error{2: first, 3: errors.New("later"), 9: errors.New("last")}
		_, err := Fill(context.Background(), m, Plan{Groupings: []Grouping{{}}, Workers: 4}, nil, nil)
		if err != first {
			t.Fatalf("got %v, want %v", err, first)
		}
	}
}

func TestFillCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	m := randomTable(rand.New(rand.NewSource(1)), 1000, false)
	m.parts, m.batch = 10, 1
	_, err := Fill(ctx, m, wholePlan(), nil, func(int64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want it cancelled", err)
	}
}

func TestFillRefuses(t *testing.T) {
	m := randomTable(rand.New(rand.NewSource(1)), 10, false)
	for _, tt := range []struct {
		plan Plan
		want string
	}{
		{Plan{Groupings: []Grouping{{"ttft"}}}, `column "ttft" of memory cannot be grouped by: want a text column or a count column with buckets`},
		{Plan{Buckets: map[string]Bounds{"prompt_tokens": {5, 5}}}, `buckets of prompt_tokens: [5 5]: want positive bounds in ascending order, e.g. 128,512,2048`},
	} {
		if _, err := Fill(context.Background(), m, tt.plan, nil, nil); err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestFillTimes(t *testing.T) {
	m := newMemory(3)
	at := int64(1_700_000_000e9)
	m.add(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime}, &column{ints: []int64{at + 5e9, at, at + 2e9}})
	m.add(serving.Column{Name: serving.ColEnd, Kind: serving.KindTime}, &column{ints: []int64{at + 6e9, 0, 0}, missing: []bool{false, true, true}})
	m.add(serving.Column{Name: "e2e", Kind: serving.KindDuration}, &column{floats: []float64{9, 1, 4.5}})
	c := fill(t, m, Plan{Groupings: []Grouping{{DimTime}}})
	if c.First.V != at || c.Last.V != at+5e9 || c.LastEnd.V != at+6.5e9 || c.Step != 1e9 || c.Start.V != at {
		t.Errorf("first %v last %v end %v step %v start %v", c.First, c.Last, c.LastEnd, c.Step, c.Start)
	}
	want := []string{"[2023-11-14T22:13:20Z] 1", "[2023-11-14T22:13:22Z] 1", "[2023-11-14T22:13:25Z] 1"}
	if diff := cmp.Diff(want, keys(c.Groups[0])); diff != "" {
		t.Error(diff)
	}
}

func TestFillExamples(t *testing.T) {
	m := newMemory(6)
	m.parts = 3
	m.add(serving.Column{Name: "ttft", Kind: serving.KindDuration}, &column{floats: []float64{1, 3, 2, 3, 9, 0}, missing: []bool{false, false, false, false, false, true}})
	m.add(serving.Column{Name: "outcome", Kind: serving.KindText}, &column{texts: []string{"ok", "ok", "ok", "ok", "timeout", "ok"}})
	m.add(serving.Column{Name: "request_id", Kind: serving.KindText}, &column{texts: []string{"a", "b", "c", "d", "e", "f"}})
	m.add(serving.Column{Name: "workload", Kind: serving.KindText}, &column{texts: []string{"x", "y", "x", "z", "y", "y"}})
	m.add(serving.Column{Name: "phase", Kind: serving.KindText}, &column{texts: []string{"warmup", "", "", "", "", ""}})
	c := fill(t, m, Plan{Groupings: []Grouping{{"workload"}}, Examples: 2})
	var got []string
	for _, e := range c.Examples {
		got = append(got, fmt.Sprint(e.Rank, " ", e.ID, " ", e.Row, " ", e.Values["ttft"], " ", e.Dims["workload"]))
	}
	if diff := cmp.Diff([]string{"ttft b 2 3 y", "ttft d 4 3 z"}, got); diff != "" {
		t.Error(diff)
	}
}

// A stall is a single gap: the request with the worst one is an example, however
// fast it was as a whole.
func TestFillExamplesByGap(t *testing.T) {
	for _, n := range []int{4, 4 + int(heldRows)} { // held in memory, and streamed
		m := newMemory(n)
		gaps := make([][]float64, n)
		e2e := make([]float64, n)
		for i := range gaps {
			gaps[i], e2e[i] = []float64{0.01, 0.02}, 1
		}
		gaps[2] = []float64{0.01, 0.9, 0.01}
		e2e[1] = 9
		m.add(serving.Column{Name: "itl", Kind: serving.KindGaps}, &column{gaps: gaps})
		m.add(serving.Column{Name: "e2e", Kind: serving.KindDuration}, &column{floats: e2e})
		c := fill(t, m, Plan{Metrics: []serving.MetricKey{serving.ITL, serving.E2E}, Groupings: []Grouping{{}}, Examples: 1})
		var got []string
		for _, e := range c.Examples {
			got = append(got, fmt.Sprint(e.Rank, " ", e.Row, " ", e.Values[e.Rank]))
		}
		if diff := cmp.Diff([]string{"e2e 2 9", "itl 3 0.9"}, got); diff != "" {
			t.Errorf("%d rows: %s", n, diff)
		}
	}
}

func TestBoundsLabels(t *testing.T) {
	b := Bounds{1, 128, 512}
	var got []string
	for i := range len(b) + 1 {
		got = append(got, b.label(i))
	}
	if diff := cmp.Diff([]string{"0", "1-127", "128-511", "512+"}, got); diff != "" {
		t.Error(diff)
	}
	for v, want := range map[int64]int32{-1: none, 0: 0, 1: 1, 127: 1, 128: 2, 511: 2, 512: 3, math.MaxInt64: 3} {
		if got := b.of(v); got != want {
			t.Errorf("bucket of %d: %d, want %d", v, got, want)
		}
	}
	src := newMemory(0)
	src.add(serving.Column{Name: "prompt_tokens", Kind: serving.KindCount}, &column{})
	plan := Plan{Buckets: map[string]Bounds{"prompt_tokens": b}}
	d, err := newDimension("prompt_tokens", src, &plan, emptyLayout(src, &plan))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []int64{-5, 0, 1, 2, 127, 128, 129, 255, 256, 511, 512, 513, 1 << 40, math.MaxInt64} {
		if got := d.bucket(v); got != b.of(v) {
			t.Errorf("bucket of %d: %d, want %d", v, got, b.of(v))
		}
	}
}

func TestCacheState(t *testing.T) {
	for _, tt := range []struct {
		cached int64
		ok     bool
		prompt int64
		known  bool
		want   int32
	}{
		{0, false, 10, true, none}, {0, true, 10, true, 0}, {0, true, 0, false, 0}, {1, true, 10, true, 1}, {8, true, 10, true, 1},
		{9, true, 10, true, 2}, {10, true, 10, true, 2}, {11, true, 10, true, none}, {5, true, 0, false, none}, {-1, true, 10, true, none},
	} {
		if got := cacheState(tt.cached, tt.ok, tt.prompt, tt.known, 0.9); got != tt.want {
			t.Errorf("%+v: got %d", tt, got)
		}
	}
}

func TestWindowsOf(t *testing.T) {
	const s = int64(time.Second)
	for _, tt := range []struct {
		first, last int64
		step        int64
		n           int
	}{
		{0, 0, s, 1}, {0, 299 * s, s, 300}, {0, 300 * s, 2 * s, 151}, {-1, 1, s, 2}, {7*s + 1, 3600 * s, 15 * s, 241},
		{0, 86400 * s, 300 * s, 289}, {0, 86400 * s * 365, 2 * 86400 * s, 183},
	} {
		w := windowsOf(tt.first, tt.last, false)
		if w.step != tt.step || w.n != tt.n {
			t.Errorf("%d to %d: step %v, %d windows, want %v, %d", tt.first, tt.last, time.Duration(w.step), w.n, time.Duration(tt.step), tt.n)
		}
	}
	for _, r := range [][2]int64{{math.MinInt64 + 1, math.MaxInt64}, {math.MinInt64 + 1, math.MinInt64 + 2}, {math.MaxInt64 - 1, math.MaxInt64}, {-1 << 62, 1 << 62}} {
		w := windowsOf(r[0], r[1], false)
		for _, v := range r {
			if i := w.of(v); i < 0 || int(i) >= w.n || w.n > MaxWindows {
				t.Errorf("%v: window %d of %d", r, i, w.n)
			}
		}
	}
}

func TestRadix(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var x radix
	for _, n := range []int{0, 1, 2, 1000} {
		keys, rows := make([]uint64, n), make([]uint32, n)
		for i := range keys {
			v := r.NormFloat64() * math.Pow(10, float64(r.Intn(40)-20))
			if i%3 == 0 {
				v = float64(r.Intn(5) - 2)
			}
			keys[i], rows[i] = orderedBits(v), uint32(i)
		}
		was := append([]uint64(nil), keys...)
		x.sort(keys, rows)
		for i := range keys {
			if keys[i] != was[rows[i]] {
				t.Fatalf("row %d does not go with its key", rows[i])
			}
			if i > 0 && (keys[i-1] > keys[i] || keys[i-1] == keys[i] && rows[i-1] > rows[i]) {
				t.Fatalf("not in order at %d", i)
			}
			if i > 0 && fromOrderedBits(keys[i-1]) > fromOrderedBits(keys[i]) {
				t.Fatalf("order of bits is not that of values at %d", i)
			}
		}
	}
}

func FuzzFill(f *testing.F) {
	f.Add(int64(1), uint16(50), uint8(3), uint8(7), uint8(0))
	f.Add(int64(2), uint16(0), uint8(1), uint8(1), uint8(1))
	f.Add(int64(3), uint16(400), uint8(9), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, seed int64, n uint16, parts, batch, window uint8) {
		r := rand.New(rand.NewSource(seed))
		src := randomTable(r, int(n)%300, false)
		src.parts, src.batch = 1+int(parts)%20, 1+int(batch)
		plan := wholePlan()
		plan.Workers = 1 + int(parts)%3
		if window%3 > 0 {
			plan.Window = Window{From: 1_700_000_000e9, To: 1_700_000_000e9 + int64(window)*100e6}
		}
		got := fill(t, src, plan)
		if diff := cmp.Diff(reference(src, &plan, got), got.Groups, near); diff != "" {
			t.Fatalf("(-reference +fill):\n%s", diff)
		}
	})
}

// benchmarkPlan is about what a report of a trace asks for.
func benchmarkPlan() Plan {
	plan := wholePlan()
	plan.Metrics = []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E, serving.Queue, serving.Prefill, serving.PromptTokens, serving.OutputTokens, serving.CachedTokens}
	plan.Groupings = []Grouping{
		{}, {"workload", "prompt_tokens", DimCache}, {"workload"}, {"prompt_tokens"}, {DimCache}, {"model"}, {"replica"},
		{"output_tokens"}, {"streaming"}, {"outcome"}, {DimTime}, {DimTime, "replica"},
	}
	plan.Quantiles = []float64{0.5, 0.9, 0.95, 0.99, 0.999}
	plan.Windowed = &Windowed{Metrics: []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E, serving.Queue}, Quantiles: []float64{0.5, 0.95, 0.99}}
	plan.CDF = true
	return plan
}

// BenchmarkFill is one core's rows/s by stage, over a table in memory: what a
// file costs to decode comes on top (ingest/trace has it). exact - histogram is
// the second scan and the search for ranks; histogram - survey is the first.
func BenchmarkFill(b *testing.B) {
	const rows = 1_000_000
	src := randomTable(rand.New(rand.NewSource(1)), rows, true)
	src.parts = 8
	src.intern()
	plan := benchmarkPlan()
	plan.Workers = 1
	run := func(name string, f func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(b)
			}
			b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
	run("survey", func(b *testing.B) {
		lay, err := newLayout(src, &plan)
		if err != nil {
			b.Fatal(err)
		}
		s := &scanner{lay: lay, workers: 1}
		if _, _, _, err := s.views(context.Background(), src, &plan); err != nil {
			b.Fatal(err)
		}
	})
	run("histogram", func(b *testing.B) {
		rough := plan
		rough.NoExact = true
		fill(b, src, rough)
	})
	run("exact", func(b *testing.B) { fill(b, src, plan) })
	run("held", func(b *testing.B) {
		was := heldRows
		heldRows = rows
		defer func() { heldRows = was }()
		fill(b, src, plan)
	})
}

// BenchmarkFillRun is one benchmark run of 500 requests with their gaps.
func BenchmarkFillRun(b *testing.B) {
	r := rand.New(rand.NewSource(1))
	src := randomTable(r, 500, false)
	itl := src.data[string(serving.ITL)]
	for i := range itl.gaps {
		itl.gaps[i] = make([]float64, 200)
		for k := range itl.gaps[i] {
			itl.gaps[i][k] = r.ExpFloat64() / 50
		}
	}
	plan := wholePlan()
	plan.CDF = true
	b.ReportAllocs()
	for b.Loop() {
		fill(b, src, plan)
	}
}

package cube

import (
	"context"
	"errors"
	"math/rand"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

// A telling table says what its columns hold, or something else.
type telling struct {
	*memory
	lie   string // a text that it does not list
	early int64  // ns that its last time is told before
	mute  string // a column of which it says nothing
	mu    sync.Mutex
	scans map[string]int
}

func (m *telling) Parts() []serving.Part {
	var out []serving.Part
	for _, p := range m.memory.Parts() {
		out = append(out, &tellingPart{p.(*memoryPart), m})
	}
	return out
}

type tellingPart struct {
	*memoryPart
	told *telling
}

func (p *tellingPart) Scan(ctx context.Context, want []string, problems *serving.Problems, yield func(*serving.Batch) error) error {
	p.told.mu.Lock()
	p.told.scans[slices.Max(append(want, ""))]++
	p.told.mu.Unlock()
	return p.memoryPart.Scan(ctx, want, problems, yield)
}

func (p *tellingPart) Span(name string) (from, to int64, ok bool) {
	if name == p.told.mute {
		return 0, 0, false
	}
	d := p.m.data[name]
	from, to = 1<<62, -1<<62
	for i := p.from; i < p.to; i++ {
		if !d.missing[i] {
			from, to = min(from, d.ints[i]), max(to, d.ints[i])
		}
	}
	return from, to - p.told.early, from <= to-p.told.early
}

func (p *tellingPart) Texts(_ context.Context, name string) (codes []int32, missing, ok bool) {
	if name == p.told.mute {
		return nil, false, false
	}
	d := p.m.data[name]
	for i := p.from; i < p.to; i++ {
		if d.missing[i] {
			missing = true
		} else if c := p.m.dicts[name].Code(d.texts[i]); d.texts[i] != p.told.lie && !slices.Contains(codes, c) {
			codes = append(codes, c)
		}
	}
	return codes, missing, true
}

// tellingTable is without a phase, for rows that are left out have to be looked at.
func tellingTable(seed int64) *telling {
	m := randomTable(rand.New(rand.NewSource(seed)), 900, false)
	m.parts = 3
	m.cols = slices.DeleteFunc(m.cols, func(c serving.Column) bool { return c.Name == serving.ColPhase })
	return &telling{memory: m, scans: map[string]int{}}
}

// What a source tells of itself spares the survey and changes no figure.
func TestTold(t *testing.T) {
	large(t, 8, 1<<20)
	src, plan := tellingTable(1), wholePlan()
	plan.Groupings = []Grouping{{}, {"workload"}, {DimCache}, {DimTime}}
	got, err := Fill(context.Background(), src, plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, n := range src.scans {
		told += n
	}
	plan.Distrust = true
	want, err := Fill(context.Background(), src, plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := -told
	for _, n := range src.scans {
		all += n
	}
	if all != told+3 {
		t.Errorf("%d scans of parts and %d with a survey, want 3 more", told, all)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b serving.Opt[float64]) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// A source that tells what is not so is found out, and looked through when told
// to distrust it.
func TestToldWrongly(t *testing.T) {
	large(t, 8, 1<<20)
	for _, tt := range []struct {
		name string
		set  func(*telling)
		want error
	}{
		{"a name it does not list", func(s *telling) { s.lie = s.data["workload"].texts[0] }, ErrTold},
		{"times beyond its last", func(s *telling) { s.early = 3e9 }, ErrTold},
		{"nothing of a column", func(s *telling) { s.mute = "workload" }, nil},
		{"no times", func(s *telling) { s.mute = serving.ColArrival }, nil},
	} {
		src, plan := tellingTable(2), wholePlan()
		plan.Groupings = []Grouping{{"workload"}, {DimTime}}
		tt.set(src)
		if _, err := Fill(context.Background(), src, plan, nil, nil); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		plan.Distrust = true
		if _, err := Fill(context.Background(), src, plan, nil, nil); err != nil {
			t.Errorf("%s, distrusted: %v", tt.name, err)
		}
	}
}

// A watcher sees each row once, in order within its part, whichever way the
// source is filled.
func TestWatch(t *testing.T) {
	for _, held := range []bool{true, false} {
		if !held {
			large(t, 8, 1<<20)
		}
		src, plan := randomTable(rand.New(rand.NewSource(3)), 700, false), wholePlan()
		src.parts, src.batch, plan.Workers = 4, 64, 2
		seen := make([][]int64, src.parts)
		plan.Watch = &Watch{Columns: []string{"ttft", serving.ColArrival}, See: func(part int, b *serving.Batch) {
			if len(b.Cols) != 2 || b.Cols[1].Kind != serving.KindTime {
				t.Errorf("columns %v", b.Cols)
			}
			for i := range b.N {
				seen[part] = append(seen[part], b.Row+int64(i))
			}
		}}
		fill(t, src, plan)
		for part, p := range src.Parts() {
			if int64(len(seen[part])) != p.Rows() || !slices.IsSorted(seen[part]) {
				t.Errorf("held %v, part %d: %d rows seen, want %d", held, part, len(seen[part]), p.Rows())
			}
		}
	}
}

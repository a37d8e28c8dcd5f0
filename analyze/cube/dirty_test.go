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

	"github.com/vreport/vreport/ingest/serving"
)

// dirtyTable has what traces come with: rows in no order of time, nulls, NaN and
// infinities, negative values, values beyond any scale, and names by the
// thousands, some of them frequent.
func dirtyTable(n int) *memory {
	r := rand.New(rand.NewSource(11))
	src := randomTable(r, n, false)
	at := src.data[serving.ColArrival].ints
	r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
	ttft, queue := src.data[string(serving.TTFT)].floats, src.data[string(serving.Queue)].floats
	for i := range n {
		switch r.Intn(40) {
		case 0:
			ttft[i] = math.NaN()
		case 1:
			ttft[i] = math.Inf(1 - 2*r.Intn(2))
		case 2:
			queue[i] = -queue[i]
		case 3:
			queue[i] = []float64{1e300, 1e-300, -1e12, 5e-324}[r.Intn(4)]
		}
	}
	names := &column{texts: make([]string, n)}
	for i := range names.texts {
		k := r.Intn(10_000)
		if i >= 10_000 && r.Intn(2) == 0 {
			k = r.Intn(50)
		} else if i < 10_000 {
			k = i // each once
		}
		names.texts[i] = fmt.Sprintf("session-%d", k)
	}
	src.add(serving.Column{Name: serving.ColSession, Kind: serving.KindText}, names)
	return src
}

// A dirty table is the same held and streamed, and streamed it is the same to
// the last bit whatever the threads and however it is cut: 10,000 names fold
// into the same others.
func TestDirtyIsHeld(t *testing.T) {
	const n = 24_000
	plan := wholePlan()
	plan.Groupings = []Grouping{{}, {serving.ColSession}, {"workload", "prompt_tokens", DimCache}, {DimTime}, {serving.ColSession, "model"}}
	plan.MaxGroups = 200
	plan.CDF = true
	var pw serving.Problems
	want, err := Fill(context.Background(), dirtyTable(n), plan, &pw, nil)
	if err != nil {
		t.Fatal(err)
	}
	if folded := want.Groups[1].Folded[serving.ColSession]; folded < 8000 { // warm-up rows have some of the 10,000 to themselves
		t.Fatalf("%d names are folded, want most of 9,800", folded)
	}
	if !slices.ContainsFunc(pw.List(), func(p serving.Problem) bool { return p.At.Field == string(serving.TTFT) }) {
		t.Fatal("no problem tells of the times that are no numbers")
	}
	want.Scanned = true
	held := heldRows
	large(t, 64, 1<<20)
	defer func() { heldRows = held }()
	var first *Cube
	for _, cut := range []struct{ workers, parts, batch int }{{1, 1, 0}, {3, 7, 900}, {8, 40, 333}} {
		src := dirtyTable(n)
		src.parts, src.batch = cut.parts, cut.batch
		plan.Workers = cut.workers
		var pg serving.Problems
		got, err := Fill(context.Background(), src, plan, &pg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
			if diff := cmp.Diff(want, got, nearLarge); diff != "" {
				t.Fatalf("(-held +streamed):\n%s", diff)
			}
			if diff := cmp.Diff(pw.List(), pg.List()); diff != "" {
				t.Fatalf("problems: %s", diff)
			}
		} else if !reflect.DeepEqual(first.Groups, got.Groups) {
			t.Fatalf("%+v:\n%s", cut, cmp.Diff(first.Groups, got.Groups))
		}
	}
}

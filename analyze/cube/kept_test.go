package cube

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The second scan gives the same whether the slots of rows were kept, of all
// parts or of some, and however a part was cut into pieces.
func TestKeptReference(t *testing.T) {
	restoreSizes(t)
	for seed := range int64(24) {
		r := rand.New(rand.NewSource(seed))
		large(t, 1+r.Intn(20), 1+r.Intn(20000))
		keptBytes = []int64{0, 100, 1000, 3000, 1 << 20}[seed%5]
		chunkRows = []int{64, 128, 1024}[seed%3]
		src := randomTable(r, 300+r.Intn(900), false)
		src.parts, src.batch = 1+r.Intn(5), 64*(1+r.Intn(4))
		plan := wholePlan()
		plan.Workers = 1 + r.Intn(3)
		if seed%4 == 1 {
			plan.Window = Window{From: 1_700_000_001e9, To: 1_700_000_015e9}
		}
		got := fill(t, src, plan)
		if diff := cmp.Diff(reference(src, &plan, got), got.Groups, nearLarge); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestPack(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, most := range []int{1, 2, 200, 60_000} {
		for _, n := range []int{1, 7, 500} {
			slots := make([]uint16, n)
			for i := range slots {
				slots[i] = uint16(r.Intn(most))
			}
			runs := slices.Clone(slots)
			slices.Sort(runs)
			for _, s := range [][]uint16{slots, runs} {
				p := pack(s, int(slices.Max(s))+1)
				if want := int64(2 * n); p.size() > max(want, 6) {
					t.Errorf("%d slots below %d take %d bytes, want %d at most", n, most, p.size(), want)
				}
				from := r.Intn(n)
				to := from + 1 + r.Intn(n-from)
				got := make([]uint16, to-from)
				p.unpack(got, from)
				if !slices.Equal(got, s[from:to]) {
					t.Errorf("%d slots below %d, %d to %d: %v, want %v", n, most, from, to, got, s[from:to])
				}
			}
		}
	}
}

// Rows of which nothing was noted belong nowhere, and names are those after the
// merge.
func TestSlots(t *testing.T) {
	k := &keptSlots{parts: make([]partSlots, 1), known: [][][]uint16{nil, {{0, 30, 10, 20}}}}
	k.parts[0].pieces = []slotPiece{
		{row: 20, n: 2, by: 1, fams: []packed{pack([]uint16{3, 1}, 4)}},
		{row: 10, n: 3, by: 0, fams: []packed{pack([]uint16{7, 8, 9}, 10)}},
	}
	if with, without := k.settle(1); !slices.Equal(with, []int{0}) || len(without) > 0 {
		t.Fatalf("parts with notes %v, without %v", with, without)
	}
	c := &chunk{table: table{n: 12, runs: []run{{at: 0, row: 11}, {at: 10, row: 21}}}}
	got := k.slotsOf(nil, c, 0, 0)
	if want := []uint16{8, 9, 0, 0, 0, 0, 0, 0, 0, 20, 30, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// slotsOf is slots for the rows of a chunk.
func (k *keptSlots) slotsOf(dst []uint16, c *chunk, part, family int) []uint16 {
	dst = sized(dst, c.n)
	for i, r := range c.runs {
		end := c.n
		if i+1 < len(c.runs) {
			end = c.runs[i+1].at
		}
		k.slots(dst[r.at:end], part, family, r.row)
	}
	return dst
}

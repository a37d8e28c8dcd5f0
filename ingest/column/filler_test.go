package column

import (
	"math"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func TestFiller(t *testing.T) {
	nan := math.NaN()
	tab := NewTable("t", "f", serving.Client, 3)
	f := Filler{tab}
	f.Durations(serving.Column{Name: "ttft"}, []float64{0.5, nan, -1})
	f.Durations(serving.Column{Name: "e2e"}, []float64{nan, nan, math.Inf(1)})
	f.Counts(serving.Column{Name: "output_tokens"}, []float64{1, 2.5, 3})
	f.Codes(serving.Column{Name: "error"}, []int32{-1, 0, -1}, serving.NewDict("x"))
	f.Instants(serving.Column{Name: "arrival_time"}, []float64{100, 101.5, 1e30}, 100)
	var got []serving.Column
	err := tab.Scan(t.Context(), []string{"ttft", "output_tokens", "error", "arrival_time"}, nil, func(b *serving.Batch) error {
		for i, want := range [][]bool{{true, false, false}, {true, false, true}, {false, true, false}, {true, true, false}} {
			for row, has := range want {
				if b.Cols[i].Has(row) != has {
					t.Errorf("column %d row %d: has %v, want %v", i, row, !has, has)
				}
			}
		}
		if b.Cols[3].Ints[1] != 1.5e9 {
			t.Errorf("the second arrival is %d ns", b.Cols[3].Ints[1])
		}
		return nil
	})
	got = tab.Columns()
	if err != nil || len(got) != 4 || got[0].Unit != "s" || got[1].Kind != serving.KindCount {
		t.Errorf("%v, columns %+v: want none for e2e, which no row has", err, got)
	}
}

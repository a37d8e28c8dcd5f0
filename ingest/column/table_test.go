package column

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// TestTableScan scans a table of more than one batch and puts it together again.
func TestTableScan(t *testing.T) {
	const rows = 2*serving.BatchRows + 77
	var (
		ints    = make([]int64, rows)
		floats  = make([]float64, rows)
		codes   = make([]int32, rows)
		offsets = []int32{0}
		gaps    []float64
		valid   = serving.NewBitmap(rows)
	)
	for i := range rows {
		ints[i], floats[i], codes[i] = int64(i), float64(i)/2, int32(i%3)
		for j := range i % 4 {
			gaps = append(gaps, float64(i)+float64(j)/10)
		}
		offsets = append(offsets, int32(len(gaps)))
		if i%5 != 0 {
			valid.Set(i)
		}
	}
	tb := NewTable("run", "run.json", serving.Client, rows)
	tb.Ints(serving.Column{Name: "prompt_tokens", Kind: serving.KindCount}, ints, nil)
	tb.Floats(serving.Column{Name: "ttft", Kind: serving.KindDuration}, floats, valid)
	tb.Text(serving.Column{Name: "outcome", Kind: serving.KindText}, codes, serving.NewOutcomeDict(), nil)
	tb.Gaps(serving.Column{Name: "itl", Kind: serving.KindGaps}, gaps, offsets, nil)

	parts := tb.Parts()
	if len(parts) != 1 || parts[0].Rows() != rows || parts[0].Source() != "run.json" {
		t.Fatalf("parts %v", parts)
	}
	next := int64(0)
	err := parts[0].Scan(t.Context(), []string{"itl", "ttft", "outcome", "prompt_tokens"}, nil, func(b *serving.Batch) error {
		if b.Row != next || b.N == 0 || b.N > serving.BatchRows {
			t.Fatalf("batch of %d rows at %d, want one at %d", b.N, b.Row, next)
		}
		next += int64(b.N)
		itl, ttft, outcome, prompt := b.Cols[0], b.Cols[1], b.Cols[2], b.Cols[3]
		for i := range b.N {
			row := int(b.Row) + i
			if got := itl.Floats[itl.Offsets[i]:itl.Offsets[i+1]]; len(got) != row%4 || len(got) > 0 && got[0] != float64(row) {
				t.Fatalf("row %d: gaps %v", row, got)
			}
			if ttft.Has(i) != (row%5 != 0) || ttft.Floats[i] != float64(row)/2 || outcome.Codes[i] != int32(row%3) || prompt.Ints[i] != int64(row) || !prompt.Has(i) {
				t.Fatalf("row %d is not what was put in", row)
			}
		}
		return nil
	})
	if err != nil || next != rows {
		t.Fatalf("%d rows, %v, want %d", next, err, rows)
	}
	if got := tb.Dict("outcome").Name(1); got != "error" {
		t.Errorf("code 1 is %q, want error", got)
	}
	if !tb.Rescannable() || tb.Side() != serving.Client || tb.Name() != "run" || len(tb.Columns()) != 4 {
		t.Errorf("table %v %v %v %v", tb.Rescannable(), tb.Side(), tb.Name(), tb.Columns())
	}
}

func TestTableErrors(t *testing.T) {
	tb := NewTable("run", "run.json", serving.Client, 2)
	tb.Ints(serving.Column{Name: "a", Kind: serving.KindCount}, []int64{1, 2}, nil)
	if err := tb.Scan(t.Context(), []string{"b"}, nil, nil); err == nil {
		t.Error("a column that is not there: no error")
	}
	stop := errors.New("stop")
	if err := tb.Scan(t.Context(), []string{"a"}, nil, func(*serving.Batch) error { return stop }); err != stop {
		t.Errorf("error %v, want the callback's", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tb.Scan(ctx, nil, nil, func(*serving.Batch) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if got := NewTable("", "", serving.Client, 0).Parts(); !reflect.DeepEqual(got, []serving.Part(nil)) {
		t.Errorf("an empty table has parts %v", got)
	}
	for name, f := range map[string]func(){
		"wrong length": func() { tb.Ints(serving.Column{Name: "c"}, []int64{1}, nil) },
		"short bitmap": func() {
			NewTable("", "", "", 65).Floats(serving.Column{Name: "c"}, make([]float64, 65), serving.NewBitmap(64))
		},
		"twice": func() { tb.Ints(serving.Column{Name: "a"}, []int64{1, 2}, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

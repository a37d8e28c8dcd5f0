package trace

import (
	"context"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// A list of millions of numbers, which a few bytes of a file may claim, costs its own
// row the list, and not memory; those around it keep theirs.
func TestListTooLong(t *testing.T) {
	type listed struct {
		Out int64     `parquet:"output_tokens"`
		ITL []float64 `parquet:"itl_ms,dict"`
	}
	const rows, long = 40, 17
	in := make([]listed, rows)
	for i := range in {
		in[i] = listed{Out: int64(i), ITL: make([]float64, i%5)}
		for k := range in[i].ITL {
			in[i].ITL[k] = float64(1000 * (i + k))
		}
	}
	in[long].ITL = make([]float64, 3*maxGaps)
	in[rows-1].ITL = make([]float64, maxGaps+2*levelBlock) // the last one ends the file
	for _, version := range []int{1, 2} {
		tb := open(t, Options{}, fileIn("t.parquet", write(t, in, parquet.PageBufferSize(1<<20), parquet.DataPageVersion(version))))
		var problems serving.Problems
		at := 0
		for _, p := range tb.Parts() {
			err := p.Scan(context.Background(), []string{"output_tokens", "itl"}, &problems, func(b *serving.Batch) error {
				v := &b.Cols[1]
				if cap(v.Floats) > 3*maxGaps {
					t.Errorf("version %d: room for %d values", version, cap(v.Floats))
				}
				for i := range b.N {
					got, want := v.Floats[v.Offsets[i]:v.Offsets[i+1]], in[at].ITL
					if at == long || at == rows-1 {
						if v.Has(i) || len(got) > 0 {
							t.Errorf("version %d, row %d: %d values", version, at, len(got))
						}
					} else if len(got) != len(want) || len(got) > 0 && (!v.Has(i) || got[len(got)-1] != want[len(want)-1]/1000) {
						t.Errorf("version %d, row %d: %v, want %v ms", version, at, got, want)
					}
					if b.Cols[0].Ints[i] != in[at].Out {
						t.Errorf("version %d: row %d is another one's", version, at)
					}
					at++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if at != rows {
			t.Errorf("version %d: %d rows, want %d", version, at, rows)
		}
		list := problems.List()
		if len(list) != 1 || list[0].At.Row != long+1 || problems.Len() != 2 || !strings.Contains(list[0].Message, "a list of more than 1048576 numbers") {
			t.Errorf("version %d: %d problems: %v", version, problems.Len(), list)
		}
	}
}

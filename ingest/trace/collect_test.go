package trace

import (
	"context"
	"slices"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// columns are whole columns of a table, for comparing.
type columns struct {
	table    serving.Requests
	rows     int
	has      map[string][]bool
	ints     map[string][]int64
	floats   map[string][]float64
	codes    map[string][]int32
	gaps     [][]float64
	problems serving.Problems
}

func collect(t testing.TB, tb serving.Requests, want ...string) *columns {
	t.Helper()
	c := &columns{table: tb, has: map[string][]bool{}, ints: map[string][]int64{}, floats: map[string][]float64{}, codes: map[string][]int32{}}
	for _, p := range tb.Parts() {
		var next int64
		err := p.Scan(context.Background(), want, &c.problems, func(b *serving.Batch) error {
			if b.Row != next {
				t.Fatalf("batch at row %d, want %d", b.Row, next)
			}
			next += int64(b.N)
			c.add(want, b)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *columns) add(want []string, b *serving.Batch) {
	c.rows += b.N
	for k, name := range want {
		v := &b.Cols[k]
		for i := range b.N {
			c.has[name] = append(c.has[name], v.Has(i))
			switch v.Kind {
			case serving.KindTime, serving.KindCount:
				c.ints[name] = append(c.ints[name], v.Ints[i])
			case serving.KindText:
				c.codes[name] = append(c.codes[name], v.Codes[i])
			case serving.KindGaps:
				c.gaps = append(c.gaps, slices.Clone(v.Floats[v.Offsets[i]:v.Offsets[i+1]]))
			default:
				c.floats[name] = append(c.floats[name], v.Floats[i])
			}
		}
	}
}

func (c *columns) text(name string, i int) string {
	if !c.has[name][i] {
		return "null"
	}
	return c.table.Dict(name).Name(c.codes[name][i])
}

func (c *columns) float(name string, i int) float64 { return c.floats[name][i] }

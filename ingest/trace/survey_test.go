package trace

import (
	"context"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// The footer and the dictionaries tell what a scan finds.
func TestSurveyed(t *testing.T) {
	rows := rowsOf(3000)
	tb := open(t, Options{}, fileIn("t.parquet", write(t, rows, parquet.Compression(&parquet.Zstd), parquet.MaxRowsPerRowGroup(1100))))
	ctx := context.Background()
	at := 0
	for i, p := range tb.Parts() {
		s, n := p.(serving.Surveyed), int(p.Rows())
		part := rows[at : at+n]
		at += n
		from, to, ok := s.Span(serving.ColArrival)
		if want := [2]int64{part[0].StartTime * 1000, part[n-1].StartTime * 1000}; !ok || [2]int64{from, to} != want {
			t.Errorf("part %d: times %d to %d (%v), want %v", i, from, to, ok, want)
		}
		for _, col := range []struct {
			name string
			of   func(row) string
		}{
			{serving.ColWorkload, func(r row) string { return r.Workload }},
			{serving.ColReplica, func(r row) string { return r.Replica }},
			{serving.ColModel, func(r row) string { return r.Model }},
		} {
			codes, missing, ok := s.Texts(ctx, col.name)
			if !ok || missing {
				t.Fatalf("part %d: %s: known %v, missing %v, want known and none missing", i, col.name, ok, missing)
			}
			var got, want []string
			for _, c := range codes {
				got = append(got, tb.Dict(col.name).Name(c))
			}
			for _, r := range part {
				want = append(want, col.of(r))
			}
			slices.Sort(got)
			slices.Sort(want)
			if want = slices.Compact(want); !slices.Equal(got, want) {
				t.Errorf("part %d: %s: %v, want %v", i, col.name, got, want)
			}
		}
		if codes, _, ok := s.Texts(ctx, serving.ColStreaming); !ok || len(codes) != 2 {
			t.Errorf("part %d: streaming: %v (%v), want no and yes", i, codes, ok)
		}
	}
}

// Where the footer cannot tell, it takes a scan.
func TestNotSurveyed(t *testing.T) {
	type plain struct {
		At    float64 `parquet:"arrival_time"`
		Names string  `parquet:"workload"`
		E2E   float64 `parquet:"e2e_ms"`
	}
	type optional struct {
		At   int64    `parquet:"start_time,timestamp(microsecond)"`
		Name *string  `parquet:"workload,optional,dict"`
		E2E  *float64 `parquet:"e2e_ms,optional"`
	}
	ctx := context.Background()
	name := "chat"
	p := open(t, Options{}, fileIn("t.parquet", write(t, []plain{{1.7e9, name, 3}, {1.7e9 + 1, name, 4}}))).Parts()[0].(serving.Surveyed)
	if _, _, ok := p.Span(serving.ColArrival); ok {
		t.Error("bounds of times that are no whole numbers")
	}
	if _, _, ok := p.Texts(ctx, serving.ColWorkload); ok {
		t.Error("texts without a dictionary")
	}
	if _, _, ok := p.Texts(ctx, serving.ColOutcome); ok {
		t.Error("outcomes of a file without any")
	}
	q := open(t, Options{}, fileIn("t.parquet", write(t, []optional{{1, &name, nil}, {2, nil, nil}}))).Parts()[0].(serving.Surveyed)
	codes, missing, ok := q.Texts(ctx, serving.ColWorkload)
	if !ok || !missing || len(codes) != 1 {
		t.Errorf("%v, missing %v, known %v: want one text and that rows may lack one", codes, missing, ok)
	}
	q.(*part).limit.Store(1)
	if _, _, ok := q.Span(serving.ColArrival); ok {
		t.Error("bounds of a part that cannot be read to its end")
	}
}

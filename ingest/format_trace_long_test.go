package ingest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

// Labels of a MiB that start alike are as many labels in every format, and what is
// kept of each is short.
func TestLongLabels(t *testing.T) {
	type request struct {
		Arrival  int64   `parquet:"arrival_time_ms"`
		Workload string  `parquet:"workload"`
		TTFT     float64 `parquet:"ttft_ms"`
		E2E      float64 `parquet:"e2e_ms"`
	}
	label := func(i int) string { return strings.Repeat("é", 1<<19) + fmt.Sprint(i%3) }
	var csv, lines strings.Builder
	var rows []request
	csv.WriteString("arrival_time_ms,workload,ttft_ms,e2e_ms\n")
	for i := range 9 {
		fmt.Fprintf(&csv, "%d,%s,30,900\n", i*100, label(i))
		fmt.Fprintf(&lines, `{"arrival_time_ms":%d,"workload":"%s","ttft_ms":30,"e2e_ms":900}`+"\n", i*100, label(i))
		rows = append(rows, request{int64(i) * 100, label(i), 30, 900})
	}
	var table bytes.Buffer
	if err := parquet.Write(&table, rows); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for name, text := range map[string]string{"t.csv": csv.String(), "t.jsonl": lines.String(), "t.parquet": table.String()} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		ds, err := Load(t.Context(), []string{path}, Options{})
		if err != nil || len(ds.Traces) != 1 {
			t.Fatalf("%s: %v, %d traces", name, err, len(ds.Traces))
		}
		seen := map[string]bool{}
		for _, p := range ds.Traces[0].Parts() {
			err := p.Scan(context.Background(), []string{"workload"}, &ds.Inputs[0].Problems, func(b *serving.Batch) error {
				for i := range b.N {
					seen[ds.Traces[0].Dict("workload").Name(b.Cols[0].Codes[i])] = true
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(want) == 0 {
			want = seen
		}
		for s := range seen {
			if len(s) > 256 || !strings.HasPrefix(s, "ééé") || !want[s] {
				t.Errorf("%s: %d bytes, %.20q", name, len(s), s)
			}
		}
		if len(seen) != 3 || ds.Inputs[0].Problems.Len() > 0 {
			t.Errorf("%s: %d labels, want 3; problems %v", name, len(seen), ds.Inputs[0].Problems.List())
		}
		ds.Close()
	}
}

// The statistics of longer texts stand in the headers of pages, which are refused
// where they are not needed: the file is not called damaged.
func TestHugeStatistics(t *testing.T) {
	type request struct {
		Arrival int64   `parquet:"arrival_time_ms"`
		Text    string  `parquet:"workload"`
		TTFT    float64 `parquet:"ttft_ms"`
	}
	var table bytes.Buffer
	if err := parquet.Write(&table, []request{{1, strings.Repeat("a", 5<<20), 30}, {2, strings.Repeat("b", 5<<20), 30}}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, table.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	ds, err := Load(t.Context(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range ds.Traces {
		for _, p := range tr.Parts() {
			err = p.Scan(context.Background(), []string{"workload"}, &ds.Inputs[0].Problems, func(*serving.Batch) error { return nil })
		}
	}
	if said := fmt.Sprint(err, ds.Inputs[0].Problems.List()); !strings.Contains(said, "statistics of long texts") || !strings.Contains(said, "t.parquet") {
		t.Error(said)
	}
}

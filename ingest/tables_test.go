package ingest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/serving"
)

func writeParquet[T any](t *testing.T, path string, rows []T) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
}

// TestTablesOfFiles joins what belongs together and nothing else: parts whose
// columns grew, a partitioned tree, files that are parts by their names only.
func TestTablesOfFiles(t *testing.T) {
	type old struct {
		TTFT float64 `parquet:"ttft_ms"`
		Out  int64   `parquet:"output_tokens"`
	}
	type grown struct {
		TTFT  float64 `parquet:"ttft_ms"`
		Out   int32   `parquet:"output_tokens"`
		Model string  `parquet:"model"`
	}
	type text struct {
		TTFT float64 `parquet:"ttft_ms"`
		Out  string  `parquet:"output_tokens"`
	}
	type other struct {
		E2E float64 `parquet:"e2e_s"`
		ID  string  `parquet:"request_id"`
		A   string  `parquet:"a"`
	}
	dir := t.TempDir()
	writeParquet(t, filepath.Join(dir, "log/part-1.parquet"), []old{{1, 2}})
	writeParquet(t, filepath.Join(dir, "log/part-2.parquet"), []grown{{1, 2, "m"}, {3, 4, "m"}})
	writeParquet(t, filepath.Join(dir, "log/part-3.parquet"), []text{{1, "many"}})
	writeParquet(t, filepath.Join(dir, "log/part-4.parquet"), []other{{1, "x", "y"}})
	writeParquet(t, filepath.Join(dir, "log/part-5.parquet"), []old{})
	writeParquet(t, filepath.Join(dir, "spark/part-00000-1b4e28ba-2fa1-11d2-883f-0016d3cca427-c000.snappy.parquet"), []old{{1, 2}})
	writeParquet(t, filepath.Join(dir, "spark/part-00000-6fa459ea-ee8a-3ca4-894e-db77e160355e-c000.snappy.parquet"), []old{{1, 2}})
	writeParquet(t, filepath.Join(dir, "tree/day=1/x.parquet"), []old{{1, 2}})
	writeParquet(t, filepath.Join(dir, "tree/day=2/y.parquet"), []grown{{1, 2, "m"}})
	ds, err := Load(t.Context(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ds.Close()
	var got []string
	for _, tb := range ds.Traces {
		var rows int64
		for _, p := range tb.Parts() {
			rows += p.Rows()
		}
		has := func(n string) string {
			if slices.ContainsFunc(tb.Columns(), func(c serving.Column) bool { return c.Name == n }) {
				return " " + n
			}
			return ""
		}
		got = append(got, strings.TrimSpace(strings.Join([]string{filepath.Base(tb.Name()), string(rune('0' + rows)), has("model"), has("day"), has("e2e")}, " ")))
	}
	for i := range got {
		got[i] = strings.Join(strings.Fields(got[i]), " ")
	}
	want := []string{"part-1 3 model", "part-3 1", "part-4 1 e2e", "part-00000-1b4e28ba-2fa1-11d2-883f-0016d3cca427-c000.snappy 2", "tree 2 model day"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

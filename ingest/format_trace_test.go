package ingest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// TestFormatTrace recognizes and decodes traces as text, from a file and from a
// pipe.
func TestFormatTrace(t *testing.T) {
	for _, c := range []struct {
		name, text string
		format     *Format
		rows       int64
	}{
		{"a.csv", "id,arrival_time,ttft_ms\na,2026-01-05,120\nb,2026-01-06,130\n", formatTraceCSV, 2},
		{"a.jsonl", `{"id": "a", "ttft_ms": 120}` + "\n", formatTraceJSONL, 1},
		{"a.json", `[{"id": "a", "ttft_ms": 120}, {"id": "b", "ttft_ms": 120}]`, formatTraceJSONL, 2},
		{"notes.txt", "Latency, as they say,\nis high, very high,\n", nil, 0},
		{"gauges.csv", "t,running,waiting\n1,2,3\n", nil, 0},
		{"result.json", `{"request_throughput": 5, "ttfts": [1]}`, nil, 0},
	} {
		for _, stdin := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), c.name)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			f := found{path: path, rel: c.name}
			if stdin {
				f = found{path: "-", rel: "stdin", stdin: true}
			}
			file, err := openFile(t.Context(), f, strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			defer file.raw.Close()
			p := &probe{file: file, in: &serving.Input{Path: f.path}}
			for _, format := range []*Format{formatTraceCSV, formatTraceJSONL} {
				if ok, why := format.sniff(p); ok != (format == c.format) || !ok && why == "" {
					t.Errorf("%s: %s says %v, %q", c.name, format.Name, ok, why)
				}
			}
			if c.format == nil {
				continue
			}
			var l loaded
			if err := c.format.decode(context.Background(), p, &l); err != nil {
				t.Fatal(err)
			}
			if !l.keep || len(l.tables) != 1 || p.in.Format != c.format.Name || p.in.Records != c.rows {
				t.Fatalf("%s: %+v, %+v", c.name, l, p.in)
			}
			for range 2 {
				var rows int64
				err := l.tables[0].Parts()[0].Scan(context.Background(), []string{"ttft"}, nil, func(b *serving.Batch) error {
					rows += int64(b.N)
					return nil
				})
				if err != nil || rows != c.rows {
					t.Errorf("%s: %d rows, %v", c.name, rows, err)
				}
			}
		}
	}
}

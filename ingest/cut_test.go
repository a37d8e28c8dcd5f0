package ingest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// rowsOf is the number of requests that a file has, and what was wrong with it.
func rowsOf(t *testing.T, name string, data []byte) (int64, []serving.Problem) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	ds := load(t, Options{}, path)
	if len(ds.Traces) != 1 {
		t.Fatalf("%s: %d traces: %v", name, len(ds.Traces), ds.Inputs[0].Problems.List())
	}
	defer ds.Close()
	rows, problems := int64(0), &ds.Inputs[0].Problems
	for _, p := range ds.Traces[0].Parts() {
		err := p.Scan(t.Context(), []string{string(serving.TTFT)}, problems, func(b *serving.Batch) error {
			rows += int64(b.N)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows, problems.List()
}

// Compressed data without their end, or with something behind it, are read as far as
// they go, and an array that does not end is told.
func TestCutFiles(t *testing.T) {
	var lines, csv []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf(`{"request_id":"r%d","arrival_time":%d,"ttft_ms":%d,"e2e_ms":1000,"output_tokens":10,"prompt_tokens":20}`, i, 1700000000+i, 100+i))
		csv = append(csv, fmt.Sprintf("r%d,%d,%d,1000,10,20", i, 1700000000+i, 100+i))
	}
	zip := func(text string) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		return b.Bytes()
	}
	jsonl, table := zip(strings.Join(lines, "\n")+"\n"), zip("request_id,arrival_time,ttft_ms,e2e_ms,output_tokens,prompt_tokens\n"+strings.Join(csv, "\n")+"\n")
	array := "[" + strings.Join(lines, ",")
	for _, c := range []struct {
		name string
		data []byte
		want string // "" for no problem
	}{
		{"whole.jsonl.gz", jsonl, ""},
		{"cut.jsonl.gz", jsonl[:len(jsonl)-6], "reading fails"},
		{"more.jsonl.gz", append(bytes.Clone(jsonl), "garbage!"...), "reading fails"},
		{"whole.csv.gz", table, ""},
		{"cut.csv.gz", table[:len(table)-6], "reading fails"},
		{"more.csv.gz", append(bytes.Clone(table), "garbage!"...), "reading fails"},
		{"whole.json", []byte(array + "]\n"), ""},
		{"cut.json", []byte(array + ","), "before the array of records does"},
		{"lines.json", []byte("[\n" + strings.Join(lines, ",\n") + ",\n"), "before the array of records does"},
	} {
		rows, problems := rowsOf(t, c.name, c.data)
		text := fmt.Sprint(problems)
		if rows != 20 && !(strings.HasSuffix(c.name, "json") && rows == 21 && c.want != "") {
			t.Errorf("%s: %d rows, want 20", c.name, rows)
		}
		if (c.want == "") != (len(problems) == 0) || !strings.Contains(text, c.want) {
			t.Errorf("%s: problems %s, want %q", c.name, text, c.want)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
)

// The same requests have the same figures, whatever kind of file they are in:
// Parquet, CSV, CSV through a pipe, or JSON
// lines. More rows than are read to learn the columns, so that text goes through
// its spool.
func TestSameFiguresOfEveryKindOfTrace(t *testing.T) {
	type request struct {
		ID      string   `parquet:"request_id" json:"request_id"`
		Arrival int64    `parquet:"arrival_time,timestamp(microsecond)" json:"-"`
		Text    string   `parquet:"-" json:"arrival_time"`
		Work    string   `parquet:"workload" json:"workload"`
		Tier    *string  `parquet:"tier,optional" json:"tier"`
		Prompt  int64    `parquet:"prompt_tokens" json:"prompt_tokens"`
		Cached  *int64   `parquet:"cached_tokens,optional" json:"cached_tokens"`
		Output  int64    `parquet:"output_tokens" json:"output_tokens"`
		TTFT    *float64 `parquet:"ttft_ms,optional" json:"ttft_ms"`
		E2E     *float64 `parquet:"e2e_ms,optional" json:"e2e_ms"`
		Queue   float64  `parquet:"queue_ms" json:"queue_ms"`
		Status  string   `parquet:"status" json:"status"`
	}
	r := rand.New(rand.NewPCG(3, 4))
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var rows []request
	var csv, jsonl bytes.Buffer
	csv.WriteString("request_id,arrival_time,workload,tier,prompt_tokens,cached_tokens,output_tokens,ttft_ms,e2e_ms,queue_ms,status\n")
	for i := range 12_000 {
		at = at.Add(time.Duration(r.ExpFloat64()*5e4) * time.Microsecond)
		q := request{ID: fmt.Sprintf("r-%05d", i), Arrival: at.UnixMicro(), Text: at.Format("2006-01-02T15:04:05.000000Z"), Work: []string{"chat", "rag", "agent, long"}[r.IntN(3)],
			Prompt: 10 + r.Int64N(9000), Output: 2 + r.Int64N(400), Queue: r.ExpFloat64() * 20, Status: "ok"}
		cached, tier := q.Prompt*r.Int64N(3)/3, []string{"free", "paid"}[r.IntN(2)]
		ttft := q.Queue + r.ExpFloat64()*200
		e2e := ttft + float64(q.Output)*(10+r.Float64()*5)
		if r.IntN(5) > 0 {
			q.Cached, q.Tier = &cached, &tier
		}
		if q.TTFT, q.E2E = &ttft, &e2e; r.IntN(40) == 0 {
			q.TTFT, q.E2E, q.Status = nil, nil, "error"
		}
		rows = append(rows, q)
		fmt.Fprintf(&csv, "%s,%s,%q,%s,%d,%s,%d,%s,%s,%v,%s\n", q.ID, q.Text, q.Work, fieldOf(q.Tier), q.Prompt, fieldOf(q.Cached), q.Output, fieldOf(q.TTFT), fieldOf(q.E2E), q.Queue, q.Status)
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		jsonl.Write(append(line, '\n'))
	}
	dir := t.TempDir()
	if err := parquet.WriteFile(filepath.Join(dir, "t.parquet"), rows, parquet.MaxRowsPerRowGroup(5000)); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"t.csv": csv.Bytes(), "t.jsonl": jsonl.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	figures := func(path, stdin string) map[string]any {
		t.Helper()
		var stdout, stderr bytes.Buffer
		args := []string{"report", path, "--json", "-", "--goodput", "ttft:300,tpot:14", "--slo", "workload=chat:ttft:p95<400ms"}
		if status := run(args, strings.NewReader(stdin), &stdout, &stderr); status != statusDone {
			t.Fatalf("%s: status %d: %s", path, status, stderr.String())
		}
		var out map[string]any
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatal(err)
		}
		if list, _ := out["slices"].([]any); len(list) < 20 {
			t.Fatalf("%s: %d slices", path, len(list))
		}
		for _, k := range []string{"inputs", "options"} { // say what the files are
			delete(out, k)
		}
		return plain(out).(map[string]any)
	}
	// A table whose number of rows is not known beforehand, which text is, is summed
	// in fixed point, by the picosecond: deviations differ in the tenth digit.
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) })
	want := figures("t="+filepath.Join(dir, "t.parquet"), "")
	for _, path := range []string{"t.csv", "t.jsonl"} {
		if d := cmp.Diff(want, figures("t="+filepath.Join(dir, path), ""), near); d != "" {
			t.Errorf("%s:\n%s", path, d[:min(len(d), 4000)])
		}
	}
	if d := cmp.Diff(want, figures("t=-", csv.String()), near); d != "" {
		t.Errorf("standard input:\n%s", d[:min(len(d), 4000)])
	}
}

// fieldOf is a CSV field of a value that may be missing.
func fieldOf[T any](p *T) string {
	if p == nil {
		return ""
	}
	return fmt.Sprint(*p)
}

// plain drops what names a file or a place in it: examples stand on lines of one
// kind of file and in rows of another. So is the word on autocorrelation: the
// order of values is known of a table in memory, and not of one that streams.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			switch k {
			case "source", "row", "line", "at", "columns", "files", "command", "quality", "notes":
				delete(v, k)
			default:
				v[k] = plain(x)
			}
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/vreport/vreport/ingest/rollup"
	"github.com/vreport/vreport/ingest/serving"
)

// A crooked request is one of a table as gateways leave it: fields inside others,
// lists, times as text, and any of the columns that say how a request ended.
type crooked struct {
	Case     string    `json:"case" parquet:"case"`
	Arrival  *string   `json:"arrival_time" parquet:"arrival_time,optional"`
	Endpoint *string   `json:"endpoint" parquet:"endpoint,optional"`
	Tenant   string    `json:"tenant" parquet:"tenant"`
	Usage    usage     `json:"usage" parquet:"usage"`
	First    *float64  `json:"first" parquet:"first,optional"`
	E2E      *float64  `json:"e2e_ms" parquet:"e2e_ms,optional"`
	ITL      []float64 `json:"itl_ms" parquet:"itl_ms,list"`
	Stream   *string   `json:"stream" parquet:"stream,optional"`
	Phase    *string   `json:"phase" parquet:"phase,optional"`

	Outcome   *string `json:"outcome" parquet:"outcome,optional"`
	Status    *string `json:"status" parquet:"status,optional"`
	Success   *string `json:"success" parquet:"success,optional"`
	Cancelled *string `json:"cancelled" parquet:"cancelled,optional"`
	Error     *string `json:"error" parquet:"error,optional"`
	HTTP      *string `json:"http_status" parquet:"http_status,optional"`
	Finish    *string `json:"finish_reason" parquet:"finish_reason,optional"`
}

type usage struct {
	Input  *int64 `json:"input_tokens" parquet:"input_tokens,optional"`
	Output *int64 `json:"output_tokens" parquet:"output_tokens,optional"`
	Cached *int64 `json:"cached_tokens" parquet:"cached_tokens,optional"`
}

// What is asked of a rollup of them. Workloads come from rules: the value of a
// column, expressions that Go and engines write differently, and a rule for a
// column that the table lacks.
var crookedFlags = []string{"--map", "ttft=first:ms", "--side", "server", "--window", "2026-01-05T07:59Z/2026-01-05T09:00Z", "--group-by", "case,workload",
	"--workload", "chat=endpoint=/v1/chat/completions", "--workload", `embed=endpoint=~^/v\d+/(?P<what>embed\w*)$`, "--workload", "o'brien=tenant=~(?i)O'BRIEN|\\pLx\\.$", "--workload", "none=region=eu",
	"--slo", "ttft:p90<150ms", "--slo", "itl:p99<30ms", "--slo", "workload=chat:e2e:p90<2s", "--goodput", "ttft:200,tpot:40", "--buckets", "prompt_tokens=100,200"}

// outcomeTexts is every word of the outcome table, how people write them, and some
// that say nothing.
var outcomeTexts = []string{"ok", "success", "succeeded", "successful", "completed", "complete", "done", "finished", "default", "unset", "true", "1",
	"stop", "length", "eos", "tool_calls", "finished_stopped", "finished_length_capped", "incomplete", "running", "in_progress", "in progress", "pending", "waiting", "queued", "unfinished",
	"timeout", "timed out", "timed_out", "time out", "deadline", "deadline_exceeded", "cancel", "canceled", "abort", "client disconnected", "error", "fail", "failed", "exception", "crash", "refused", "rejected", "false",
	"", "none", "null", "nil", "nan", "0", "{}", "[]", `""`, "no", "t", "yes", "y", "1.0", "stream", "streaming", "f", "n", "0.0", "non-streaming", "nonstream",
	"OK", " Ok\t", "TIMEOUT\n", "Status_Code_OK", "status_code_unset", "STATUS_CODE_ERROR", "status_code_429", "content_filter", "whatever", "it's", `a\b`, "user aborted: timeout",
	"100", "200", "204", "301", "400", "408", "429", "499", "500", "503", "504", "599", "600", "99", "1000", "200.0", "504.0", "4.004", "20.00", "2000", "abc", "2x0", "+", "ünïcode"}

// writeCrooked writes the table as JSON lines and as Parquet and returns their
// names.
func writeCrooked(t *testing.T, dir string) []string {
	t.Helper()
	var rows []crooked
	start := time.Date(2026, 1, 5, 8, 0, 0, 123456000, time.UTC)
	add := func(name string, set func(r *crooked)) {
		n := len(rows)
		r := crooked{Case: name, Arrival: new(start.Add(time.Duration(n) * 1700 * time.Millisecond).Format(time.RFC3339Nano)), Endpoint: new("/v1/chat/completions"),
			Tenant: "acme", First: new(float64(80 + n%150)), E2E: new(float64(900+n) + 0.25), ITL: []float64{float64(10 + n%25), 12.5, 20},
			Usage: usage{Input: new(int64(50 + n%300)), Output: new(int64(n%40 + 1)), Cached: new(int64(n % 60))}}
		set(&r)
		rows = append(rows, r)
	}
	columns := map[string]func(*crooked) **string{
		"outcome": func(r *crooked) **string { return &r.Outcome }, "status": func(r *crooked) **string { return &r.Status },
		"success": func(r *crooked) **string { return &r.Success }, "cancelled": func(r *crooked) **string { return &r.Cancelled },
		"error": func(r *crooked) **string { return &r.Error }, "http_status": func(r *crooked) **string { return &r.HTTP },
		"finish_reason": func(r *crooked) **string { return &r.Finish }, "stream": func(r *crooked) **string { return &r.Stream },
	}
	for _, c := range []string{"outcome", "status", "success", "cancelled", "error", "http_status", "finish_reason", "stream"} {
		for i, text := range outcomeTexts {
			add(fmt.Sprintf("%s %d %s", c, i, strings.TrimSpace(text)), func(r *crooked) { *columns[c](r) = &text })
		}
	}
	for _, pair := range []string{"status=ok error=timeout", "finish_reason=stop http_status=500", "cancelled=true success=true", "status=running error=boom", "success=true error=none", "http_status=499 status=timeout", "cancelled=false finish_reason=abort"} {
		add(pair, func(r *crooked) {
			for f := range strings.FieldsSeq(pair) {
				c, text, _ := strings.Cut(f, "=")
				*columns[c](r) = &text
			}
		})
	}
	others := map[string]func(*crooked){
		"no output":        func(r *crooked) { r.Usage.Output = new(int64(0)) },
		"no end":           func(r *crooked) { r.E2E = nil },
		"ok without end":   func(r *crooked) { r.E2E, r.Status = nil, new("ok") },
		"no first":         func(r *crooked) { r.First = nil },
		"first of 0":       func(r *crooked) { r.First, r.Status = new(0.0), new("failed") },
		"negative":         func(r *crooked) { r.First, r.E2E, r.Usage.Input = new(-1.0), new(-5.0), new(int64(-3)) },
		"no gaps":          func(r *crooked) { r.ITL = nil },
		"late gap":         func(r *crooked) { r.ITL = []float64{1, 31.5, 2} },
		"more cached":      func(r *crooked) { r.Usage.Cached = new(int64(9999)) },
		"cached unknown":   func(r *crooked) { r.Usage.Cached = nil },
		"nothing of usage": func(r *crooked) { r.Usage = usage{} },
		"one token":        func(r *crooked) { r.Usage.Output, r.ITL = new(int64(1)), nil },
		"warm-up":          func(r *crooked) { r.Phase = new("Warm-Up") },
		"measured":         func(r *crooked) { r.Phase = new("profiling") },
		"no time":          func(r *crooked) { r.Arrival = nil },
		"no such time":     func(r *crooked) { r.Arrival = new("soon") },
		"before":           func(r *crooked) { r.Arrival = new("2026-01-05T07:58:59.999Z") },
		"at the end":       func(r *crooked) { r.Arrival = new("2026-01-05T09:00:00Z") },
		"other zone":       func(r *crooked) { r.Arrival = new("2026-01-05T10:10:00.5+02:00") },
		"no zone":          func(r *crooked) { r.Arrival = new("2026-01-05T08:20:00") },
		"with a blank":     func(r *crooked) { r.Arrival = new("2026-01-05 08:30:00Z") },
		"embeddings":       func(r *crooked) { r.Endpoint = new("/v1/embeddings") },
		"other version":    func(r *crooked) { r.Endpoint = new("/vx/embeddings") },
		"no endpoint":      func(r *crooked) { r.Endpoint = nil },
		"by tenant":        func(r *crooked) { r.Endpoint, r.Tenant = nil, "Team o'Brien" },
		"by letter":        func(r *crooked) { r.Endpoint, r.Tenant = nil, "äx." },
		"by no letter":     func(r *crooked) { r.Endpoint, r.Tenant = nil, "1x." },
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		add(name, others[name])
	}
	var lines bytes.Buffer
	for _, r := range rows {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	if err := os.WriteFile(filepath.Join(dir, "crooked.jsonl"), lines.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := parquet.WriteFile(filepath.Join(dir, "crooked.parquet"), rows); err != nil {
		t.Fatal(err)
	}
	return []string{"crooked.jsonl", "crooked.parquet"}
}

// compareRollups compares the rollup that an engine made with our own: all counts
// and sums, and every bucket.
func compareRollups(t *testing.T, wantFile, gotFile string) {
	t.Helper()
	want, got := readRollup(t, wantFile), readRollup(t, gotFile)
	if n := int64(len(outcomeTexts)); want.Rows < 8*n {
		t.Fatalf("%d requests, want more than %d", want.Rows, 8*n)
	}
	got.Spec.Writer = want.Spec.Writer
	if !reflect.DeepEqual(got.Spec, want.Spec) {
		t.Errorf("spec %+v\nwant %+v", got.Spec, want.Spec)
	}
	if got.Rows != want.Rows || !reflect.DeepEqual(got.Skipped, want.Skipped) || got.Arrival != want.Arrival || got.End.Most != want.End.Most {
		t.Errorf("%d rows, skipped %v, %v to %v; want %d, %v, %v to %v", got.Rows, got.Skipped, got.Arrival, got.End, want.Rows, want.Skipped, want.Arrival, want.End)
	}
	have := map[string]*serving.RollupCell{}
	for _, c := range got.Cells {
		have[fmt.Sprint(c.By, c.Window)] = c
	}
	if len(got.Cells) != len(want.Cells) {
		t.Errorf("%d cells, want %d", len(got.Cells), len(want.Cells))
	}
	wrong := 0
	for _, a := range want.Cells {
		if wrong > 5 {
			t.Fatal("and so on")
		}
		b, ok := have[fmt.Sprint(a.By, a.Window)]
		if !ok {
			t.Errorf("no cell %q %s", a.By, a.Window)
			wrong++
			continue
		}
		if a.Window != "" { // these are counted over all of the time
			a.Whole, a.Brief = 0, 0
		}
		for m, h := range b.Metrics {
			for i := range h {
				if i < len(a.Metrics[m]) && math.Abs(h[i].Squares-a.Metrics[m][i].Squares) <= 1e-9*h[i].Squares {
					h[i].Squares = a.Metrics[m][i].Squares
				}
			}
		}
		if !reflect.DeepEqual(a, b) {
			wrong++
			for m := range a.Metrics {
				if reflect.DeepEqual(a.Metrics[m], b.Metrics[m]) {
					delete(a.Metrics, m)
					delete(b.Metrics, m)
				}
			}
			t.Errorf("cell %q %s: %+v\nwant %+v", a.By, a.Window, b, a)
		}
	}
}

func readRollup(t *testing.T, file string) *serving.Rollup {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := rollup.DecodeCSV(t.Context(), file, f, &serving.Input{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/samples"
)

// compared runs compare and returns its exit status and its JSON.
func compared(t *testing.T, args ...string) (int, map[string]any) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(append([]string{"compare", "--json", "-"}, args...), strings.NewReader(""), &stdout, &stderr)
	if status == statusError {
		t.Fatalf("compare %q: %s", args, stderr.String())
	}
	var rep struct{ Compare map[string]any }
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	return status, rep.Compare
}

// The planted truths of the sample pairs are what compare says, and a side
// against itself is never a change.
func TestCompareSamples(t *testing.T) {
	dir := t.TempDir()
	if err := samples.Write(dir, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	pair := func(name string) (before, after string) {
		return filepath.Join(dir, "pairs", name, "before"), filepath.Join(dir, "pairs", name, "after")
	}
	for _, tc := range []struct {
		name    string
		verdict []string
		cause   string
		status  int
	}{
		{"no-change", []string{"equivalent", "undecided"}, "", statusUndecided},
		{"noise-3pct", []string{"equivalent", "undecided"}, "", statusUndecided},
		{"slice-regression", []string{"worse"}, "", statusFailed},
		{"mix-shift", []string{"equivalent", "undecided", "mixed"}, "mix", statusUndecided},
		{"ttft-for-tpot", []string{"mixed"}, "max_num_seqs", statusFailed},
		{"two-settings", []string{"mixed"}, "several", statusFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, a := pair(tc.name)
			status, c := compared(t, b, a, "--gate", "regression")
			if v := c["verdict"].(string); !strings.Contains(strings.Join(tc.verdict, " "), v) {
				t.Errorf("verdict %s (%s), want one of %v", v, c["title"], tc.verdict)
			}
			if cause, _ := c["cause"].(string); cause != tc.cause {
				t.Errorf("cause %q, want %q", cause, tc.cause)
			}
			if status != tc.status {
				t.Errorf("--gate regression: status %d, want %d", status, tc.status)
			}
			for _, side := range []string{b, a} {
				status, c := compared(t, side, side, "--gate", "regression")
				if c["verdict"] != "equivalent" || status != statusDone {
					t.Errorf("%s against itself: %s (%s), status %d", side, c["verdict"], c["title"], status)
				}
			}
		})
	}
}

// A slice regression is named with its slice.
func TestCompareNamesTheSlice(t *testing.T) {
	dir := t.TempDir()
	if err := samples.Write(dir, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "pairs", "slice-regression")
	_, c := compared(t, filepath.Join(at, "before"), filepath.Join(at, "after"))
	found := false
	for _, r := range c["rows"].([]any) {
		row := r.(map[string]any)
		by := row["by"].(map[string]any)
		if row["group"] == "slice" && row["verdict"] == "slower" {
			if by["workload"] != "rag" || row["metric"] != "ttft" {
				t.Errorf("slower: %v of %v", row["metric"], by)
			}
			found = true
		}
	}
	if !found {
		t.Error("no slice is called slower")
	}
}

func TestCompareCutsOneTrace(t *testing.T) {
	dir := t.TempDir()
	if err := samples.Write(dir, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(dir, "trace", "requests.parquet")
	mid := middle(t, trace)
	_, c := compared(t, trace, "--at", mid)
	sides := c["sides"].([]any)
	b, a := sides[0].(map[string]any)["requests"].(float64), sides[1].(map[string]any)["requests"].(float64)
	if b == 0 || a == 0 {
		t.Errorf("%v requests before %s, %v from it on", b, mid, a)
	}
	_, whole := compared(t, trace, trace)
	if n := whole["sides"].([]any)[0].(map[string]any)["requests"].(float64); b+a != n {
		t.Errorf("%v + %v requests, the trace has %v", b, a, n)
	}
}

// middle is an instant in the middle of a trace's timeline.
func middle(t *testing.T, trace string) string {
	t.Helper()
	var out bytes.Buffer
	if status := run([]string{"report", trace, "--json", "-"}, strings.NewReader(""), &out, &bytes.Buffer{}); status != statusDone {
		t.Fatalf("status %d", status)
	}
	var rep struct {
		Timeline struct {
			From   time.Time
			StepS  float64 `json:"step_s"`
			Series []struct{ Values []any }
		}
	}
	if err := json.Unmarshal(out.Bytes(), &rep); err != nil || len(rep.Timeline.Series) == 0 {
		t.Fatalf("no timeline: %v", err)
	}
	half := float64(len(rep.Timeline.Series[0].Values)) / 2 * rep.Timeline.StepS
	return rep.Timeline.From.Add(time.Duration(half * float64(time.Second))).Format(time.RFC3339Nano)
}

func TestCompareUsage(t *testing.T) {
	for _, args := range [][]string{{"a.json"}, {"a.json", "b.json", "--at", "60"}, {"x=a.json", "x=b.json"}, {"a", "b", "c"}, {"a", "b", "--threshold", "ttft"}, {"a", "b", "--headline", "speed"}} {
		var stderr bytes.Buffer
		if status := run(append([]string{"compare"}, args...), strings.NewReader(""), &bytes.Buffer{}, &stderr); status != statusError {
			t.Errorf("compare %q: status %d", args, status)
		}
	}
}

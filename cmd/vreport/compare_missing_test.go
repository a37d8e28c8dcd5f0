package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeTrace writes a trace of 300 requests, a second apart, with the columns and the
// values that a row has.
func writeTrace(t *testing.T, name, columns string, row func(i int) string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "request_id,arrival_time,%s\n", columns)
	for i := range 300 {
		fmt.Fprintf(&b, "r%d,%d,%s\n", i, 1700000000+i, row(i))
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A CI job is not told that all is well by a file that lost the column it watches.
func TestGateOfALostColumn(t *testing.T) {
	times := func(i int) string { return fmt.Sprintf("%d,1000,1,100", 50+i%100) }
	whole := writeTrace(t, "before.csv", "ttft_ms,e2e_ms,output_tokens,prompt_tokens", times)
	lost := writeTrace(t, "after.csv", "e2e_ms,output_tokens,prompt_tokens", func(i int) string { _, rest, _ := strings.Cut(times(i), ","); return rest })
	again := writeTrace(t, "after.csv", "ttft_ms,e2e_ms,output_tokens,prompt_tokens", func(i int) string { return times(299 - i) })
	for _, tt := range []struct {
		before, after string
		want          int
	}{{whole, again, statusDone}, {whole, lost, statusUndecided}, {lost, whole, statusUndecided}, {lost, lost, statusDone}} {
		if status, c := compared(t, tt.before, tt.after, "--gate", "regression"); status != tt.want {
			t.Errorf("%s against %s: status %d, want %d: %v", tt.before, tt.after, status, tt.want, c["title"])
		}
	}
}

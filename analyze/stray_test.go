package analyze

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vreport/vreport/ingest"
)

// One clock that is a year ahead makes a year of an hour, and is told; a quiet stretch
// in a day is none.
func TestStrays(t *testing.T) {
	start := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name string
		at   func(i int) time.Time
		want string
	}{
		{"a clock a year ahead", func(i int) time.Time {
			if i == 7 {
				return start.AddDate(1, 0, 0)
			}
			return start.Add(time.Duration(i) * time.Second)
		}, "599 of 600 requests arrived from 2026-11-03T00:00:00Z to 2026-11-05T00:00:00Z"},
		{"evenly", func(i int) time.Time { return start.Add(time.Duration(i) * time.Minute) }, ""},
		{"two bursts", func(i int) time.Time {
			return start.Add(time.Duration(i%2) * 10 * time.Hour).Add(time.Duration(i) * time.Second)
		}, ""},
		{"all within moments", func(i int) time.Time { return start.Add(time.Duration(i) * time.Millisecond) }, ""},
	} {
		var b strings.Builder
		b.WriteString("arrival_time,ttft_ms,e2e_ms,output_tokens\n")
		for i := range 600 {
			fmt.Fprintf(&b, "%s,100,1000,10\n", tt.at(i).Format(time.RFC3339Nano))
		}
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		ds, err := ingest.Load(context.Background(), []string{path}, ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := Run(context.Background(), ds, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range Value[QualityFindings](rep).Findings {
			if f.ID == "stray_times" {
				got = f.Message
			}
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		ds.Close()
	}
}

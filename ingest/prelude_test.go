package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// Titles and comments above a table are passed over and named; what only looks like
// a table under a title is not taken for one.
func TestLinesAboveATable(t *testing.T) {
	var requests, gauges, running strings.Builder
	requests.WriteString("arrival_time_ms,workload,prompt_tokens,output_tokens,ttft_ms,e2e_ms\n")
	gauges.WriteString("Time,vllm:num_requests_running,vllm:num_requests_waiting\n")
	running.WriteString("name,value,unit,note\n")
	for i := range 40 {
		fmt.Fprintf(&requests, "%d,chat,%d,20,%d,900\n", i*100, 100+i, 30+i)
		fmt.Fprintf(&gauges, "2026-01-05T10:%02d:00Z,%d,%d\n", i, i%7, i%3)
		fmt.Fprintf(&running, "a%d,%d,s,x\n", i, i)
	}
	crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
	_, rows, _ := strings.Cut(requests.String(), "\n")
	for _, c := range []struct {
		name, text string
		format     string
		note       string
		line       int // of a bad row put behind the header
	}{
		{"a title", "Requests of January\n" + requests.String(), "trace-csv", `the line above the column names is skipped: "Requests of January"`, 3},
		{"a title with a comma, quoted", "\"January, all\"\n" + requests.String(), "trace-csv", `"January, all"`, 3},
		{"Excel", crlf("Report: requests,,,,,\nCreated:,2026-01-05,,,,\n,,,,,\n" + requests.String()), "trace-csv", `3 lines above the column names are skipped: "Report: requests", "Created:,2026-01-05"`, 5},
		{"comments of other kinds", "// made, by, a, script, of, mine\n-- x\n% y\n" + requests.String(), "trace-csv", "3 lines above", 5},
		{"comments that were read before", "# a\n# b\n" + requests.String(), "trace-csv", "", 4},
		{"a BOM and a title", "\xef\xbb\xbfRequests\n\n" + requests.String(), "trace-csv", `skipped: "Requests"`, 4},
		{"semicolons", "Anfragen\n" + strings.ReplaceAll(requests.String(), ",", ";"), "trace-csv", `"Anfragen"`, 3},
		{"a panel's title", "Requests running\n\n" + gauges.String(), "metrics-csv", `2 lines above the column names are skipped: "Requests running"`, 4},
		{"a panel's comment", "# exported by a dashboard, by hand\n" + gauges.String(), "metrics-csv", `skipped: "# exported by a dashboard, by hand"`, 3},
		{"a hint and a title", "sep=,\nRequests running\n" + gauges.String(), "metrics-csv", `"Requests running"`, 4},

		{"a title above rows without names", "Requests of January\n" + rows, unknown, "", 0},
		{"rows above a header", strings.SplitAfter(rows, "\n")[0] + requests.String(), unknown, "", 0},
		{"another table above", running.String()[:60] + requests.String(), unknown, "", 0},
		{"a title above another table", "Values\n" + running.String(), unknown, "", 0},
		{"too long a preface", strings.Repeat("text\n", 30) + requests.String(), unknown, "", 0},
		{"prose that names a time", "A report\ntime, more or less\nwent on.\nAnd on, and on.\n", unknown, "", 0},
		{"a title above a broken table", "Title\n" + strings.SplitAfter(requests.String(), "\n")[0] + strings.Repeat("1,2,3\n", 20), unknown, "", 0},
	} {
		path := filepath.Join(t.TempDir(), "t.csv")
		if err := os.WriteFile(path, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		ds, err := Load(t.Context(), []string{path}, Options{})
		if c.format == unknown {
			if err == nil && ds.Inputs[0].Format != unknown {
				t.Errorf("%s: taken for %s, %s", c.name, ds.Inputs[0].Format, ds.Inputs[0].Note)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		in := ds.Inputs[0]
		skips := strings.Contains(in.Note, "skipped")
		if in.Format != c.format || in.Problems.Len() > 0 || !strings.Contains(in.Note, c.note) || skips != (c.note != "") {
			t.Errorf("%s: %s, note %q, problems %v; want %s with %q", c.name, in.Format, in.Note, in.Problems.List(), c.format, c.note)
		}
		ds.Close()

		// A bad row is told with its line in the file.
		all := strings.SplitAfter(c.text, "\n")
		text := strings.Join(all[:c.line-1], "") + "bad\n" + strings.Join(all[c.line-1:], "")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if ds, err = Load(t.Context(), []string{path}, Options{}); err != nil {
			t.Errorf("%s with a bad row: %v", c.name, err)
			continue
		}
		for _, tr := range ds.Traces {
			for _, p := range tr.Parts() {
				if err := p.Scan(t.Context(), []string{"workload"}, &ds.Inputs[0].Problems, func(*serving.Batch) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
		if l := ds.Inputs[0].Problems.List(); len(l) != 1 || l[0].At.Line != c.line {
			t.Errorf("%s with a bad row: problems %v, want one at line %d", c.name, l, c.line)
		}
		ds.Close()
	}
}

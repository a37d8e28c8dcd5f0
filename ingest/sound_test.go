package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// serveFile is a result of vllm bench serve without requests, with some fields
// changed.
func serveFile(t *testing.T, change map[string]string) string {
	t.Helper()
	fields := []string{"backend", "model_id", "num_prompts", "completed", "failed", "duration", "total_input_tokens", "total_output_tokens", "request_throughput", "output_throughput", "mean_ttft_ms", "median_ttft_ms", "std_ttft_ms", "p99_ttft_ms", "request_goodput"}
	is := map[string]string{"backend": `"vllm"`, "model_id": `"m"`, "num_prompts": "1000", "completed": "1000", "failed": "0", "duration": "100", "total_input_tokens": "100000", "total_output_tokens": "100000",
		"request_throughput": "10", "output_throughput": "1000", "mean_ttft_ms": "60", "median_ttft_ms": "50", "std_ttft_ms": "20", "p99_ttft_ms": "150", "request_goodput": "9"}
	var list []string
	for _, f := range fields {
		v := is[f]
		if c, ok := change[f]; ok {
			v = c
		}
		list = append(list, fmt.Sprintf("%q: %s", f, v))
	}
	path := filepath.Join(t.TempDir(), "run.json")
	if err := os.WriteFile(path, []byte("{"+strings.Join(list, ", ")+"}"), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// An aggregate that cannot be is told, and one out of range is no figure.
func TestUnsoundAggregates(t *testing.T) {
	none := serving.MetricKey("")
	for _, c := range []struct {
		field, value, want string
		gone               serving.MetricKey
		stat               string
	}{
		{"mean_ttft_ms", "-1", "mean_ttft_ms: is -1, want 0 or more", serving.TTFT, "mean"},
		{"std_ttft_ms", "-5", "std_ttft_ms: is -5", serving.TTFT, "std"},
		{"p99_ttft_ms", "-1", "p99_ttft_ms: is -1", serving.TTFT, "p99"},
		{"p99_ttft_ms", "0", "p99_ttft_ms: is 0, less than median_ttft_ms at 50", none, ""},
		{"median_ttft_ms", "90000", "p99_ttft_ms: is 150, less than median_ttft_ms at 90000", none, ""},
		{"request_throughput", "-10", "request_throughput: is -10", serving.RateRequests, ""},
		{"request_goodput", "-1", "request_goodput: is -1", serving.GoodRequests, ""},
		{"request_goodput", "50", "50 requests/s within the objectives of 10 completed", none, ""},
		{"completed", "2000", "2000 requests completed of 1000 sent", none, ""},
		{"total_output_tokens", "-7", "total_output_tokens: is -7", none, ""},
	} {
		ds := load(t, Options{}, serveFile(t, map[string]string{c.field: c.value}))
		var list []string
		for _, p := range ds.Inputs[0].Problems.List() {
			list = append(list, p.String())
		}
		if len(list) != 1 || !strings.Contains(list[0], c.want) {
			t.Errorf("%s of %s: problems %q, want one with %q", c.field, c.value, list, c.want)
		}
		if c.gone != none {
			if v, ok := ds.Runs[0].ReportedValue(c.gone, c.stat); ok {
				t.Errorf("%s of %s is taken as %v", c.field, c.value, v)
			}
		}
	}
	ds := load(t, Options{}, serveFile(t, map[string]string{"total_output_tokens": "-7"}))
	if ds.Runs[0].Output.OK {
		t.Errorf("%d output tokens are taken", ds.Runs[0].Output.V)
	}
	if ds := load(t, Options{}, serveFile(t, nil)); ds.Inputs[0].Problems.Len() > 0 {
		t.Errorf("a sound file has problems: %v", ds.Inputs[0].Problems.List())
	}
}

// Rounding makes no contradiction, and differences may be negative.
func TestSoundAggregates(t *testing.T) {
	r := &serving.Run{Reported: []serving.Reported{
		{Field: "p50", Metric: serving.TTFT, Stat: "p50", File: 10.05, PerBase: 1000},
		{Field: "p99", Metric: serving.TTFT, Stat: "p99", File: 10.04, PerBase: 1000},
		{Field: "server p50", Metric: serving.TTFT, Stat: "p50", File: 30, PerBase: 1000, Side: serving.ServerSide},
		{Field: "late", Metric: "schedule_delay", Stat: "min", File: -0.001, PerBase: 1},
	}}
	var in serving.Input
	if checkRuns([]*serving.Run{r}, &in); in.Problems.Len() > 0 || len(r.Reported) != 4 {
		t.Errorf("problems %v, %d figures", in.Problems.List(), len(r.Reported))
	}
}

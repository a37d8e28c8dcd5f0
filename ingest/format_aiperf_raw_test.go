package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// The user's own PromQL sees server metrics that have a course, and is told of
// those that have none.
func TestAIPerfRawSeries(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name, "server_metrics_export."+name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := write("parquet", "")
	if err := parquet.WriteFile(rows, metricRows()); err != nil {
		t.Fatal(err)
	}
	const line = `{"endpoint_url":"http://h:8000/metrics","timestamp_ns":176000000@000000000,"metrics":{"vllm:num_requests_running":[{"labels":{"model_name":"m"},"value":@}],"home_made":[{"labels":{"a":"b"},"value":7}]}}` + "\n"
	var lines strings.Builder
	for _, digit := range []string{"1", "2", "3"} {
		lines.WriteString(strings.ReplaceAll(line, "@", digit))
	}
	const whole = `{"aiperf_version":"0.8.0","summary":{"endpoint_info":{"http://h:8000/metrics":{"first_update_ns":1760000000000000000,"last_update_ns":1760000004000000000}}},
"metrics":{"vllm:num_requests_running":{"type":"gauge","series":[{"endpoint_url":"http://h:8000/metrics","stats":{"avg":3.5}SLICES1}]},"vllm:num_preemptions":{"type":"counter","series":[{"endpoint_url":"http://h:8000/metrics","stats":{"total":5,"rate":1}SLICES2}]}}}`
	slices := strings.NewReplacer("SLICES1", `,"timeslices":[{"start_ns":1760000000000000000,"end_ns":1760000002000000000,"avg":6},{"start_ns":1760000002000000000,"end_ns":1760000004000000000,"avg":1.5}]`,
		"SLICES2", `,"timeslices":[{"start_ns":1760000000000000000,"end_ns":1760000002000000000,"total":2},{"start_ns":1760000002000000000,"end_ns":1760000004000000000,"total":3}]`)
	for _, c := range []struct {
		name, path, series string
		values             []float64
	}{
		{"Parquet", rows, "vllm:num_requests_running", []float64{3, 4, 5}},
		{"JSONL", write("jsonl", lines.String()), "home_made", []float64{7, 7, 7}},
		{"JSON with time slices", write("json", slices.Replace(whole)), "vllm:num_preemptions_total", []float64{0, 2, 5}},
		{"JSON of the whole run", write("whole.json", strings.NewReplacer("SLICES1", "", "SLICES2", "").Replace(whole)), "", nil},
	} {
		ds, err := Load(t.Context(), []string{c.path}, Options{KeepRaw: true})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if c.series == "" {
			if len(ds.Raw.Series) > 0 || !strings.Contains(ds.Inputs[0].Note, "--promql does not see it") {
				t.Errorf("%s: %d series, note %q", c.name, len(ds.Raw.Series), ds.Inputs[0].Note)
			}
			continue
		}
		found := false
		for _, s := range ds.Raw.Series {
			if s.Labels["__name__"] != c.series || strings.HasSuffix(s.Labels["instance"], "8001") {
				continue
			}
			found = true
			for i, v := range c.values {
				if i >= len(s.V) || s.V[i] != v {
					t.Errorf("%s: %v, want %v", c.name, s.V, c.values)
					break
				}
			}
		}
		if !found || ds.Raw.Relative || len(ds.Servers) == 0 {
			t.Errorf("%s: no %s among %d series; %d servers, problems %v", c.name, c.series, len(ds.Raw.Series), len(ds.Servers), ds.Inputs[0].Problems.List())
		}
	}
}

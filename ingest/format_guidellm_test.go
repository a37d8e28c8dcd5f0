package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// harnessFormats are the report formats of GuideLLM, inference-perf and llm-d.
var harnessFormats = []*Format{formatInferencePerf, formatGuidellm, formatLLMD}

// recognize returns the formats that take a file, and what the first one gives.
func recognize(t *testing.T, path string) (names []string, l *loaded, in *serving.Input) {
	t.Helper()
	f, err := openFile(t.Context(), found{path: path}, nil)
	if err != nil {
		return nil, nil, nil // damaged compression: nobody's
	}
	defer f.raw.Close()
	in = &serving.Input{Path: path, Bytes: f.size}
	p := &probe{file: f, in: in}
	l = &loaded{}
	for _, fm := range harnessFormats {
		ok, why := fm.sniff(p)
		if !ok {
			if why == "" {
				t.Errorf("%s: %s does not say why not", path, fm.Name)
			}
			continue
		}
		if names = append(names, fm.Name); len(names) == 1 {
			if err := fm.decode(t.Context(), p, l); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	return names, l, in
}

func TestHarnessFormats(t *testing.T) {
	for name, tc := range map[string]struct{ text, format string }{
		"guidellm.json":   {`{"benchmarks": [{"metrics": {"time_to_first_token_ms": {"successful": {"mean": 5, "max": 6, "min": 4, "count": 2}}}, "request_totals": {"successful": 2}}]}`, "guidellm"},
		"asv.json":        {`{"benchmarks": {"a": 1}, "version": 1}`, ""},
		"stage.json":      {`{"load_summary": {"count": 1}, "successes": {"count": 1, "latency": {}}, "failures": {"count": 0}}`, "inference-perf"},
		"stage.yaml":      {"load_summary: {count: 1}\nsuccesses: {count: 1, latency: {}}\nfailures: {count: 0}\n", "inference-perf"},
		"requests.json":   {`[{"start_time": 1, "end_time": 2, "info": {}, "error": null}]`, "inference-perf"},
		"report.yaml":     {"version: '0.2'\nrun:\n  uid: x\nresults:\n  request_performance: {aggregate: {requests: {total: 1}}}\n", "llmd-report"},
		"report.json":     {`{"version": "0.1", "scenario": {}, "metrics": {"requests": {"total": 1, "failures": 0}}}`, "llmd-report"},
		"other.json":      {`{"version": "3", "scenario": {}, "metrics": {}}`, ""},
		"chart.yaml":      {"version: 0.1.0\nname: x\n", ""},
		"notes.txt":       {"load_summary and successes and failures\n", ""},
		"empty.json":      {"", ""},
		"trace.jsonl":     {`{"start_time": 1, "end_time": 2}`, ""},
		"vllm-serve.json": {`{"request_throughput": 1, "mean_ttft_ms": 2, "model_id": "m"}`, ""},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		names, l, in := recognize(t, path)
		if got := strings.Join(names, " "); got != tc.format {
			t.Errorf("%s is taken for %q, want %q", name, got, tc.format)
		}
		if tc.format != "" && (len(l.runs) != 1 || in.Records != 1 || len(in.Fields) == 0) {
			t.Errorf("%s: %d runs, %d records, %d fields", name, len(l.runs), in.Records, len(in.Fields))
		}
	}
}

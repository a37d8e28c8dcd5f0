package ingest

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/prom"
	"github.com/vreport/vreport/ingest/serving"
)

var promFormats = []*Format{formatPromDump, formatOpenMetrics, formatPromAPI, formatMetricsCSV}

// readProm recognizes a file as Load does, with these formats alone.
func readProm(t *testing.T, path string) (*probe, *loaded) {
	t.Helper()
	file, err := openFile(t.Context(), found{path: path, rel: filepath.Base(path)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.raw.Close() })
	p := &probe{file: file, in: &serving.Input{Path: path}}
	for _, f := range promFormats {
		ok, why := f.sniff(p)
		if !ok && why == "" {
			t.Errorf("%s: %s refuses without a reason", path, f.Name)
		}
		if !ok {
			continue
		}
		p.in.Format = f.Name
		l := &loaded{}
		if err := f.decode(t.Context(), p, l); err != nil {
			t.Fatalf("%s as %s: %v", path, f.Name, err)
		}
		return p, l
	}
	return p, nil
}

func TestFormatProm(t *testing.T) {
	for _, c := range []struct{ name, text, format string }{
		{"om.txt", "# TYPE vllm:prompt_tokens counter\nvllm:prompt_tokens_total{model_name=\"m\"} 5 1760000000.5\n# EOF\n", "openmetrics"},
		{"text.txt", "# TYPE vllm:prompt_tokens_total counter\nvllm:prompt_tokens_total{model_name=\"m\"} 5\n", ""},
		{"dump.txt", `{__name__="vllm:num_requests_running", instance="a:8000", model_name="m"} 3 1760000000000` + "\n", "prometheus-dump"},
		{"query.json", `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"vllm:num_requests_running","model_name":"m"},"value":[1760000000.1,"3"]}]}}`, "prometheus-api"},
		{"panel.csv", "\"Time\",\"p99\"\n2026-01-05 10:00:00,120 ms\n2026-01-05 10:00:15,1.2 s\n", "metrics-csv"},
		{"poll.jsonl", `{"ts": 1760000000.5, "running": 3, "waiting": 0}` + "\n" + `{"ts": 1760000001.5, "running": 4, "waiting": 1}` + "\n", "metrics-csv"},
		{"trace.csv", "timestamp,input_length,output_length\n1,2,3\n", ""},
		{"words.txt", "nothing at all\n", ""},
	} {
		p, l := readProm(t, write(t, t.TempDir(), c.name, c.text))
		if (l == nil) != (c.format == "") || p.in.Format != c.format {
			t.Errorf("%s is %q, want %q", c.name, p.in.Format, c.format)
		}
		if l == nil {
			continue
		}
		if servers, ps := prom.Assemble(l.scrapes, prom.AssembleOptions{}); len(servers) != 1 || len(ps) > 0 || p.in.Problems.Len() > 0 {
			t.Errorf("%s: %d servers, problems %v %v", c.name, len(servers), ps, p.in.Problems.List())
		}
	}
}

// Every file of the corpus is of these formats only where its list says so, or
// where nothing else reads it.
func TestFormatPromCorpus(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no directory")
	}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, l := readProm(t, path)
		rel, _ := filepath.Rel(dir, path)
		timeline, _ := filepath.Match(filepath.Join("prom", "timeline_*_gpu.jsonl"), rel)
		want := rel == filepath.Join("traces", "vllm_rtx4090_timeseries.csv") || timeline
		if (l != nil) != want {
			t.Errorf("%s is %q", rel, p.in.Format)
		}
		if l == nil || timeline {
			return nil
		}
		servers, ps := prom.Assemble(l.scrapes, prom.AssembleOptions{})
		if len(servers) != 1 || len(ps) > 0 || p.in.Problems.Len() > 0 {
			t.Fatalf("%s: %d servers, problems %v %v", rel, len(servers), ps, p.in.Problems.List())
		}
		s := servers[0]
		b, _ := os.ReadFile(path)
		if rows := strings.Count(string(b), "\n") - 1; len(s.Times) != rows || !s.Relative {
			t.Errorf("%d times, want %d; relative %v", len(s.Times), rows, s.Relative)
		}
		kv := s.GaugeOf(serving.KVUsage)
		if kv == nil || math.Abs(kv.Values[0]-0.1322) > 1e-9 || s.GaugeOf(serving.Waiting).Values[2] != 11 {
			t.Errorf("kv %v", kv)
		}
		return nil
	})
}

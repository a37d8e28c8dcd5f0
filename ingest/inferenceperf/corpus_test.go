package inferenceperf

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no corpus")
	}
	return dir
}

func read(t *testing.T, path string) *Part {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := &serving.Input{Bytes: int64(len(b))}
	runs, servers, err := Decode(t.Context(), path, bytes.NewReader(b), in)
	if err != nil || in.Problems.Len() > 0 || len(runs)+len(servers) != 1 {
		t.Errorf("%s: %d runs, %d servers, %v, %v", path, len(runs), len(servers), err, in.Problems.List())
	}
	return &Part{Path: path, Runs: runs, Servers: servers}
}

// TestCorpusSniff recognizes inference-perf's files and no other.
func TestCorpusSniff(t *testing.T) {
	dir := corpus(t)
	ours, others := 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want := strings.Contains(path, "/inference_perf/") || strings.Contains(e.Name(), "inferenceperf_")
		got := false
		if t := bytes.TrimSpace(b); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
			s, _ := jsonscan.Probe(path, bytes.NewReader(b), Decided)
			got, _ = Sniff(s.Keys)
		} else {
			got, _ = SniffYAML(b[:min(len(b), 256<<10)])
		}
		if got != want {
			t.Errorf("%s: recognized %v", path, got)
		}
		if !want {
			others++
			return nil
		}
		ours++
		read(t, path)
		return nil
	})
	if err != nil || ours < 30 || others < 200 {
		t.Errorf("%d files of ours, %d others, %v", ours, others, err)
	}
}

// TestCorpusStages reads a whole execution: the stages are the levels, the
// summary is their sum. The client's time a token is checked against what
// Prometheus knew of the server in the same stage.
func TestCorpusStages(t *testing.T) {
	for _, name := range []string{"vllm_batch_size", "vllm_eagle"} {
		paths, err := filepath.Glob(filepath.Join(corpus(t), "bench/inference_perf", name, "*.json"))
		if err != nil || len(paths) != 16 {
			t.Fatalf("%d files, %v", len(paths), err)
		}
		var parts []*Part
		for _, p := range paths {
			parts = append(parts, read(t, p))
		}
		Reconcile(parts)
		runs, servers := 0, 0
		for _, p := range parts {
			runs, servers = runs+len(p.Runs), servers+len(p.Servers)
		}
		if runs != 7 || servers != 7 {
			t.Errorf("%s: %d runs and %d servers, want the 7 stages", name, runs, servers)
		}
	}
	stage := read(t, filepath.Join(corpus(t), "bench/inference_perf/vllm_batch_size/stage_3_lifecycle_metrics.json")).Runs[0]
	prom := read(t, filepath.Join(corpus(t), "bench/inference_perf/vllm_batch_size/stage_3_prometheus_metrics.json")).Servers[0]
	e2e, _ := stage.ReportedValue(serving.E2E, "mean")
	ttft, _ := stage.ReportedValue(serving.TTFT, "mean")
	out, _ := stage.ReportedValue(serving.OutputTokens, "mean")
	client, server := (e2e-ttft)/(out-1), math.NaN()
	for _, r := range prom.Reported {
		if r.Metric == serving.ITL && r.Stat == "mean" {
			server = r.Value()
		}
	}
	if !(math.Abs(client/server-1) <= 0.05) {
		t.Errorf("%v s a token at the client, %v at the server", client, server)
	}
	if _, ok := stage.ReportedValue(serving.TPOT, "mean"); ok {
		t.Error("half the time a token is taken for TPOT")
	}
}

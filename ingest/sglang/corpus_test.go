package sglang

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

// corpus returns the folder of real files.
func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no corpus")
	}
	return dir
}

func TestCorpusServing(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "bench/sglang_serving/*.jsonl"))
	if len(paths) < 9 {
		t.Fatalf("%d files", len(paths))
	}
	for _, path := range paths {
		runs, in := servingRuns(t, path, readAll(t, path))
		r := runs[0]
		if len(runs) != 1 || in.Problems.Len() != 0 || r.Engine.V != "sglang" || r.Model.V != "Qwen/Qwen2.5-3B-Instruct" || r.Load.Mode != serving.ClosedLoop || !r.Load.Unlimited {
			t.Errorf("%s: %+v %v", path, r, in.Problems.List())
		}
		pd := strings.HasPrefix(filepath.Base(path), "pd_")
		if r.GPUs.OK == pd {
			t.Errorf("%s: GPUs %v", path, r.GPUs)
		}
		for _, s := range r.Settings {
			if k := strings.ToLower(s.Key); strings.Contains(k, "key") || strings.Contains(k, "path") || strings.Contains(k, "port") || strings.Contains(k, "seed") {
				t.Errorf("%s: setting %v", path, s)
			}
		}
		// concurrency is the sum of all latencies over the duration.
		e2e, _ := r.ReportedValue(serving.E2E, "mean")
		c, _ := r.ReportedValue(meanInFlight, "mean")
		if got := e2e * float64(r.Completed.V) / r.Duration.V; math.Abs(got-c) > 1e-9*c {
			t.Errorf("%s: %v in flight by Little's law, the file says %v", path, got, c)
		}
		total, _ := r.ReportedValue(serving.RateTotal, "")
		if got := float64(r.Input.V+r.Output.V) / r.Duration.V; math.Abs(got-total) > 1e-9*total {
			t.Errorf("%s: %v tokens/s, the file says %v", path, got, total)
		}
	}
}

func TestCorpusOneBatch(t *testing.T) {
	dir := filepath.Join(corpus(t), "bench/sglang_onebatch")
	for name, want := range map[string]int{"bench_one_batch_server_old_min.jsonl": 3, "bench_one_batch_server_result.jsonl": 9} {
		runs, in := batchRuns(t, filepath.Join(dir, name), readAll(t, filepath.Join(dir, name)))
		if len(runs) != want || in.Problems.Len() != 0 {
			t.Errorf("%s: %d runs, %v", name, len(runs), in.Problems.List())
		}
		for _, r := range runs {
			total, ok := r.ReportedValue(serving.RateTotal, "")
			if got := float64(r.Input.V+r.Output.V) / r.Duration.V; !ok || math.Abs(got-total) > 1e-3*total {
				t.Errorf("%s: %v tokens/s, the file says %v", name, got, total)
			}
			if out, ok := r.ReportedValue(serving.RateOutput, ""); ok {
				if got := float64(r.Output.V) / r.Duration.V; math.Abs(got-out) > 1e-3*out {
					t.Errorf("%s: %v output tokens/s, the file says %v", name, got, out)
				}
			}
		}
	}
}

func TestCorpusLog(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "bench/sglang_engine_log/*"))
	if len(paths) < 2 {
		t.Fatalf("%d files", len(paths))
	}
	for _, path := range paths {
		text := readAll(t, path)
		in := &serving.Input{}
		servers, _, err := DecodeLog(t.Context(), path, bytes.NewReader(text), in)
		if err != nil || len(servers) != 1 || in.Problems.Len() != 0 {
			t.Fatalf("%s: %d servers, %v, %v", path, len(servers), err, in.Problems.List())
		}
		s := servers[0]
		checkServer(t, s)
		if want := bytes.Count(text, []byte(" batch, #")); in.Records != int64(want) {
			t.Errorf("%s: %d lines, want %d", path, in.Records, want)
		}
		if s.Model.V != "Qwen/Qwen2.5-1.5B-Instruct" || !strings.HasPrefix(s.Version.V, "0.5.11") {
			t.Errorf("%s: model %v version %v", path, s.Model, s.Version)
		}
		var computed, cached float64
		for line := range strings.Lines(string(text)) {
			if b, ok := parseBatch(line); ok {
				n, _ := b.get("#new-token")
				c, _ := b.get("#cached-token")
				computed, cached = computed+n, cached+c
			}
		}
		if got := lastOf(s, serving.PromptTotal); got != computed+cached || computed == 0 {
			t.Errorf("%s: %v prompt tokens, want %v", path, got, computed+cached)
		}
		if got := lastOf(s, serving.PrefixHits); got != cached || cached == 0 {
			t.Errorf("%s: %v cached tokens, want %v", path, got, cached)
		}
	}
}

// TestCorpusSniff recognizes every file of this package's formats and no other.
func TestCorpusSniff(t *testing.T) {
	dir := corpus(t)
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		rel, _ := filepath.Rel(filepath.Join(dir, "bench"), path)
		b := readAll(t, path)
		head := b[:min(len(b), 256<<10)]
		check := func(format string, got bool) {
			if want := strings.HasPrefix(rel, format+"/"); got != want {
				t.Errorf("%s: taken for %s: %v, want %v", rel, format, got, want)
			}
		}
		check("sglang_engine_log", SniffLog(head))
		keys := map[string]bool{}
		if h := bytes.TrimSpace(head); len(h) > 0 && (h[0] == '{' || h[0] == '[') {
			s, err := jsonscan.Probe(path, bytes.NewReader(b), nil)
			if err != nil {
				return err
			}
			keys = s.Keys
		}
		got, _ := SniffServing(keys)
		check("sglang_serving", got)
		got, _ = SniffOneBatch(keys)
		check("sglang_onebatch", got)
		return nil
	})
	if err != nil || n < 250 {
		t.Errorf("%d files, %v", n, err)
	}
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

package llmd

import (
	"bytes"
	"io/fs"
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

// TestCorpusSniff recognizes llm-d's reports and no other file.
func TestCorpusSniff(t *testing.T) {
	ours, others := 0, 0
	err := filepath.WalkDir(corpus(t), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want := strings.Contains(path, "/llmd_report/")
		head := b[:min(len(b), 256<<10)]
		got, _ := SniffYAML(head, len(head) == len(b))
		if s, err := jsonscan.Probe(path, bytes.NewReader(b), nil); err == nil && SniffJSON(head) {
			got, _ = SniffKeys(s.Keys)
		}
		if got != want {
			t.Errorf("%s: recognized %v", path, got)
		}
		if want {
			ours++
		} else {
			others++
		}
		return nil
	})
	if err != nil || ours < 2 || others < 200 {
		t.Errorf("%d files of ours, %d others, %v", ours, others, err)
	}
}

// TestCorpusReports reads the format's own examples; that of 0.1 has seconds
// labelled ms.
func TestCorpusReports(t *testing.T) {
	for name, want := range map[string]struct {
		gpus      int
		e2e, ttft float64
		doubts    int
	}{
		"br_v0_1_example.yaml": {17, 3.31325431142327, 0.800974442732916, 1},
		"br_v0_2_example.yaml": {16, 0.0368578234128654, 0.0368578234128654, 0},
	} {
		path := filepath.Join(corpus(t), "bench/llmd_report", name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		in := &serving.Input{}
		runs, err := Decode(t.Context(), path, bytes.NewReader(b), in)
		if err != nil || len(runs) != 1 || in.Problems.Len() != want.doubts {
			t.Fatalf("%s: %d runs, %v, %v", name, len(runs), err, in.Problems.List())
		}
		if r := runs[0]; r.GPUs.V != want.gpus {
			t.Errorf("%s: gpus %v", name, r.GPUs)
		}
		near(t, runs[0], serving.E2E, "mean", want.e2e)
		near(t, runs[0], serving.TTFT, "mean", want.ttft)
	}
}

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpus makes a report of every file below VREPORT_CORPUS, alone: whatever
// people keep in such directories, the answer is a report or an error that
// names the file.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no directory of real files")
	}
	out := filepath.Join(t.TempDir(), "r.html")
	made, refused := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		os.Remove(out)
		var stdout, stderr bytes.Buffer
		status := run([]string{"report", path, "-o", out}, strings.NewReader(""), &stdout, &stderr)
		_, missing := os.Stat(out)
		switch {
		case status == statusDone && missing == nil:
			made++
		case status == statusError && missing != nil && strings.Contains(stderr.String(), path):
			refused++
		default:
			t.Errorf("%s: status %d, output: %v, standard error:\n%s", path, status, missing, &stderr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reports, %d files refused by name", made, refused)
	if made == 0 {
		t.Error("no report was made")
	}
}

// The H100 sweep of Llama-3.1-8B: the bound of one request and the KV cache of a
// token are known from the model and the card.
func TestCorpusCeilings(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	sweep := filepath.Join(dir, "bench", "vllm_serve", "auro_h100_fp16_8b_1024x512")
	if _, err := os.Stat(sweep); dir == "" || err != nil {
		t.Skip("VREPORT_CORPUS has no H100 sweep")
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", sweep, "--model", "meta-llama/Llama-3.1-8B", "--hardware", "h100-sxm:1", "--json", "-"}, strings.NewReader(""), &stdout, &stderr); status != statusDone {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	for _, want := range []string{`"tokens_per_s_one_request":208.58`, `"kv_bytes_per_token":131072,`, `"ridge_batch":295.2`} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the report has no %s", want)
		}
	}
}

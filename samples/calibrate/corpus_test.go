package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMeasuredSweep holds the simulator against the measured sweep, where it is
// at hand.
func TestMeasuredSweep(t *testing.T) {
	corpus := os.Getenv("VREPORT_CORPUS")
	if corpus == "" {
		t.Skip("VREPORT_CORPUS names no directory of real files")
	}
	off, err := compare(filepath.Join(corpus, "bench/vllm_serve/auro_h100_fp16_8b_1024x512"))
	if err != nil {
		t.Fatal(err)
	}
	if off {
		t.Error("a level is off by more than the tolerance")
	}
}

func TestCompareSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	if _, err := compare(dir); err == nil {
		t.Error("an empty directory passes")
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"max_concurrency": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := compare(dir); err == nil {
		t.Error("a file without arrays passes")
	}
}

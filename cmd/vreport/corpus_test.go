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

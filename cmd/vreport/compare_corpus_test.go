package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory of real files against itself is the same files, and against a copy
// under other names it is never a change.
func TestCorpusAgainstItself(t *testing.T) {
	corpus := os.Getenv("VREPORT_CORPUS")
	if corpus == "" {
		t.Skip("set VREPORT_CORPUS to a directory of real files")
	}
	dirs := 0
	err := filepath.WalkDir(filepath.Join(corpus, "bench"), func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
		if len(files) == 0 || len(files) > 40 || size(files) > 64<<20 {
			return nil
		}
		c, ok := corpusVerdict(t, dir, dir)
		if !ok {
			return nil // files that are no measurement
		}
		dirs++
		if c.Verdict != "equivalent" || !strings.Contains(c.Title, "same files") {
			t.Errorf("%s against itself: %s (%s)", dir, c.Verdict, c.Title)
		}
		if dirs%4 != 0 {
			return nil
		}
		copied := t.TempDir()
		for i, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(copied, string(rune('a'+i%26))+strings.Repeat("x", i/26)+filepath.Ext(f)), b, 0o644); err != nil {
				return err
			}
		}
		if c, ok := corpusVerdict(t, filepath.Join(dir, "*.json"), copied); ok && c.Verdict != "equivalent" {
			t.Errorf("%s against a copy of its files: %s (%s)", dir, c.Verdict, c.Title)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if dirs == 0 {
		t.Error("no directory was compared")
	}
	t.Logf("%d directories", dirs)
}

type verdictOf struct{ Verdict, Title string }

func corpusVerdict(t *testing.T, before, after string) (verdictOf, bool) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := run([]string{"compare", "--json", "-", before, after}, strings.NewReader(""), &stdout, &stderr); status == statusError {
		return verdictOf{}, false
	}
	var rep struct{ Compare verdictOf }
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		t.Fatalf("%s: %v", before, err)
	}
	return rep.Compare, true
}

func size(files []string) int64 {
	var n int64
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			n += st.Size()
		}
	}
	return n
}

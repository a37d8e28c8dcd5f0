package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

// listing returns the names in a directory, hidden ones included.
func listing(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestWriteOutputs(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	outs := []*output{
		{flag: "-o", path: filepath.Join(dir, "a"), render: text("one")},
		{flag: "--json", path: "-", render: text("two")},
	}
	if err := writeOutputs(t.Context(), &stdout, outs); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(outs[0].path)
	if err != nil || string(got) != "one" || stdout.String() != "two" || outs[0].size != 3 {
		t.Errorf("file %q (%v), standard output %q, size %d", got, err, &stdout, outs[0].size)
	}
	if got := listing(t, dir); got != "a" {
		t.Errorf("the directory holds %q", got)
	}
}

// All or nothing: the first output waits until the last one is made.
func TestWriteOutputsFails(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	var stdout bytes.Buffer
	err := writeOutputs(t.Context(), &stdout, []*output{
		{flag: "-o", path: old, render: text("new")},
		{flag: "--markdown", path: "-", render: text("new")},
		{flag: "--json", path: filepath.Join(dir, "b"), render: func(w io.Writer) error {
			fmt.Fprint(w, "half")
			return boom
		}},
	})
	if !errors.Is(err, boom) || !strings.HasPrefix(err.Error(), "--json: ") {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(old); string(got) != "old" {
		t.Errorf("the old file says %q", got)
	}
	if got := listing(t, dir); got != "old" || stdout.Len() > 0 {
		t.Errorf("the directory holds %q, standard output %q", got, &stdout)
	}
}

// Ctrl-C between rendering and renaming leaves nothing behind.
func TestWriteOutputsInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	err := writeOutputs(ctx, io.Discard, []*output{
		{flag: "-o", path: filepath.Join(dir, "a"), render: text("one")},
		{flag: "--json", path: filepath.Join(dir, "b"), render: func(w io.Writer) error {
			cancel()
			return nil
		}},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := listing(t, dir); got != "" {
		t.Errorf("the directory holds %q", got)
	}
	var stderr bytes.Buffer
	if got := finish(&stderr, statusDone, err); got != statusError || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("status %d, %q", got, &stderr)
	}
}

func TestCheckOutputs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	os.Mkdir("sub", 0o777)
	os.Symlink("a.html", "link.html")
	for _, tt := range []struct {
		paths []string
		want  string
	}{
		{[]string{"a", "b", "-"}, ""},
		{[]string{"-", "-"}, "both write to standard output"},
		{[]string{"a", "./a"}, "both write to ./a"},
		{[]string{"sub/../a", "a"}, "both write to a"},
		{[]string{"a.html", "link.html"}, "both write to link.html"},
		{[]string{"sub"}, "sub is a directory"},
		{[]string{"no/a"}, "there is no directory no to write no/a to"},
	} {
		var outs []*output
		for i, p := range tt.paths {
			outs = append(outs, &output{flag: fmt.Sprintf("--f%d", i), path: p})
		}
		err := checkOutputs(outs)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("checkOutputs(%q) = %v, want %q", tt.paths, err, tt.want)
		}
	}
	if got := listing(t, dir); got != "link.html sub" {
		t.Errorf("the check left %q", got)
	}
}

func TestPipeWriter(t *testing.T) {
	r, w := io.Pipe()
	r.Close()
	p := &pipeWriter{w: w}
	for range 2 {
		if n, err := p.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	p = &pipeWriter{w: failing{syscall.ENOSPC}}
	if _, err := p.Write([]byte("abc")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("another error was dropped: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 가": "plain é 가", "\x1b[31mred": `\u001b[31mred`, "a\nb": `a\u000ab`, "a\u202eb": `a\u202eb`, "a\tb": "a\tb",
	} {
		if got := printable(in); got != want {
			t.Errorf("printable(%q) = %q, want %q", in, got, want)
		}
	}
}

package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/samples"
)

// Whatever README.md and docs/usage.md say to type works: each line of a code
// block that starts with `$ vreport` runs in a directory that holds the samples
// under the names the texts use, and has to exit with status 0.
func TestDocumentedCommands(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to run the commands with")
	}
	dir := newcomersDirectory(t)
	n := 0
	for _, doc := range []string{"README.md", "docs/usage.md"} {
		for _, line := range documentedCommands(readFile(t, doc)) {
			n++
			t.Run(line, func(t *testing.T) {
				cmd := exec.Command("sh", "-c", line)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s: %s: %v\n%s", doc, line, err, out)
				}
			})
		}
	}
	if n < 5 {
		t.Errorf("only %d commands were found", n)
	}
}

// newcomersDirectory makes the files that the documentation speaks of.
func newcomersDirectory(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "samples")
	if err := samples.Write(data, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"sweep": "results", "server/metrics": "metrics", "trace/requests.parquet": "requests.parquet",
	} {
		if err := os.Rename(filepath.Join(data, filepath.FromSlash(from)), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// documentedCommands returns the commands of a document's code blocks. Text
// outside of blocks may quote a command without promising that it runs.
func documentedCommands(doc string) []string {
	var out []string
	in := false
	for line := range strings.Lines(doc) {
		if strings.HasPrefix(line, "```") {
			in = !in
		}
		if cmd, ok := strings.CutPrefix(strings.TrimSpace(line), "$ vreport "); ok && in {
			out = append(out, "vreport "+cmd)
		}
	}
	return out
}

func TestDocumentedCommandsParse(t *testing.T) {
	got := documentedCommands("$ vreport no\n```sh\n$ vreport a b\ntext\n```\n$ vreport no\n```\n  $ vreport c\n```\n")
	if strings.Join(got, "|") != "vreport a b|vreport c" {
		t.Errorf("commands %q", got)
	}
}

// Every flag is described in the documentation, and every flag it describes
// exists.
func TestDocumentedFlags(t *testing.T) {
	usage := readFile(t, "docs/usage.md") + readFile(t, "README.md")
	known := flagsOf(t, "report")
	for _, command := range []string{"compare", "rollup", "sql", "inspect"} {
		maps.Copy(known, flagsOf(t, command))
	}
	for name := range known {
		if name != "help" && name != "output" && !strings.Contains(usage, "--"+name) {
			t.Errorf("--%s is not in docs/usage.md", name)
		}
	}
	for _, command := range []string{"compare", "rollup", "sql"} {
		maps.Copy(known, flagsOf(t, command))
	}
	for _, word := range strings.FieldsFunc(usage, func(r rune) bool { return !(r == '-' || r >= 'a' && r <= 'z') }) {
		name, ok := strings.CutPrefix(word, "--")
		if !ok || strings.Trim(name, "-") == "" || slices.Contains([]string{"help", "no-progress", "no-exact", "save-detailed"}, name) {
			continue // vLLM's own, and those that are there by themselves
		}
		if _, ok := known[name]; !ok {
			t.Errorf("the documentation speaks of --%s, which is no flag", name)
		}
	}
}

// A plain go build has no chart library. It works all the same, says so, and
// takes a library that is handed over.
func TestPlainBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir := t.TempDir()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	// An overlay takes the bundle out of the sources, should it be there.
	overlay := filepath.Join(dir, "overlay.json")
	bundle := filepath.Join(top, "templates", "dist", "echarts.js.gz")
	write(t, overlay, `{"Replace": {"`+filepath.ToSlash(bundle)+`": ""}}`)
	bin := filepath.Join(dir, "vreport")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", bin, "./cmd/vreport")
	build.Dir = top
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data := filepath.Join(dir, "samples")
	if err := samples.Write(data, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	report := func(args ...string) (string, string) {
		cmd := exec.Command(bin, append([]string{"report", filepath.Join(data, "sweep"), "-o", "-"}, args...)...)
		cmd.Dir = dir
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		return stdout.String(), stderr.String()
	}
	page, said := report()
	if !strings.Contains(said, "this build has no chart library") {
		t.Errorf("standard error says nothing of the missing library: %q", said)
	}
	if !strings.Contains(page, "--echarts-js") || !strings.Contains(page, "<table") {
		t.Error("the page has no note on the missing library, or no tables")
	}
	js := filepath.Join(dir, "echarts.min.js")
	write(t, js, `/* echarts, handed over */`)
	page, said = report("--echarts-js", js)
	if strings.Contains(said, "no chart library") || !strings.Contains(page, "echarts, handed over") {
		t.Errorf("the library that was handed over is not in the page; standard error: %q", said)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

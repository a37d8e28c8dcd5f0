package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/vreport/vreport/samples"
)

// ghStub stands for GitHub's command: it writes down what it was called with,
// and knows of a comment where the file "comments" holds its number.
const ghStub = `#!/bin/sh
echo "gh $*" >> "$GH_LOG"
case "$*" in *--paginate*) cat comments 2>/dev/null || true ;; esac
`

type actionStep struct {
	ID   string            `yaml:"id"`
	Run  string            `yaml:"run"`
	Env  map[string]string `yaml:"env"`
	Uses string            `yaml:"uses"`
}

// The commands of the composite action are run one after the other, as a runner
// would run them.
func TestAction(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash to run the commands with")
	}
	var action struct {
		Runs struct {
			Using string       `yaml:"using"`
			Steps []actionStep `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal([]byte(readFile(t, ".github/actions/report/action.yml")), &action); err != nil {
		t.Fatal(err)
	}
	if action.Runs.Using != "composite" {
		t.Errorf("uses %q, want composite", action.Runs.Using)
	}
	data := t.TempDir()
	if err := samples.Write(data, samples.DefaultSeed); err != nil {
		t.Fatal(err)
	}
	pair := func(name string) (string, string) {
		return filepath.Join(data, "pairs", name, "before"), filepath.Join(data, "pairs", name, "after")
	}
	for _, tt := range []struct {
		name, pair, comments, undecided string
		want                            map[string]bool // step: whether it ends well
		log                             string
	}{
		{"a regression", "slice-regression", "", "pass", map[string]bool{"install": true, "compare": true, "comment": true, "gate": false}, "--method POST repos/o/r/issues/7/comments"},
		{"a comment to replace", "no-change", "4711\n", "pass", map[string]bool{"install": true, "compare": true, "comment": true, "gate": true}, "--method PATCH repos/o/r/issues/comments/4711"},
		{"no such side", "none", "", "pass", map[string]bool{"install": true, "compare": false}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			bin := filepath.Join(dir, "bin")
			write := func(path, text string, mode os.FileMode) {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), mode); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(bin, "gh"), ghStub, 0o755)
			if tt.comments != "" {
				write(filepath.Join(dir, "comments"), tt.comments, 0o644)
			}
			before, after := pair(tt.pair)
			values := map[string]string{
				"inputs.vreport": "vreport", "github.action_path": "/nowhere", "inputs.before": before, "inputs.after": "pr=" + after,
				"inputs.args": "--threshold=ttft:p95=5%\n\n--title=a $(touch pwned) title\n", "inputs.gate": "regression", "inputs.artifact": "page of a pr.html",
				"inputs.token": "t", "github.repository": "o/r", "github.event.pull_request.number": "7", "inputs.undecided": tt.undecided,
			}
			output := filepath.Join(dir, "out")
			write(output, "", 0o644)
			for _, s := range action.Runs.Steps {
				if s.Run == "" {
					continue
				}
				if strings.Contains(s.Run, "${{") {
					t.Errorf("step %s writes an input into its script: pass it by env", s.ID)
				}
				cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", s.Run)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GITHUB_OUTPUT="+output,
					"GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"), "GH_LOG="+filepath.Join(dir, "log"))
				for k, v := range s.Env {
					name := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(v, "${{"), "}}"))
					value, ok := values[name]
					if !ok {
						t.Fatalf("step %s: %s is %q, which nothing sets", s.ID, k, name)
					}
					cmd.Env = append(cmd.Env, k+"="+value)
				}
				out, err := cmd.CombinedOutput()
				if want, ok := tt.want[s.ID]; !ok || (err == nil) != want {
					t.Fatalf("step %s ended with %v, want well: %v\n%s", s.ID, err, want, out)
				}
				if err != nil {
					break
				}
				for line := range strings.Lines(readOutput(t, output)) {
					name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
					values["steps."+s.ID+".outputs."+name] = value
				}
				write(output, "", 0o644)
			}
			if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
				t.Error("an argument ran as a command")
			}
			if tt.log == "" {
				return
			}
			if log := readOutput(t, filepath.Join(dir, "log")); !strings.Contains(log, tt.log) || !strings.Contains(log, "body=@compare.md") {
				t.Errorf("gh was called with %q, want %q", log, tt.log)
			}
			if s := readOutput(t, filepath.Join(dir, "summary")); !strings.HasPrefix(s, "<!-- vreport") {
				t.Errorf("the summary starts with %.40q", s)
			}
			if _, err := os.Stat(filepath.Join(dir, "page of a pr.html")); err != nil {
				t.Error(err)
			}
		})
	}
}

func readOutput(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// The jobs of docs/ci.md are YAML, and what they upload unzipped they name and fetch
// as such an artifact has to be: by its file's name, and not with a command that
// unzips whatever it gets.
func TestJobsOfTheDocumentation(t *testing.T) {
	text := readFile(t, "docs/ci.md")
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(text, -1)
	if len(blocks) < 4 {
		t.Fatalf("%d jobs, want those of GitHub and GitLab", len(blocks))
	}
	blocks = append(blocks, []string{"", readFile(t, ".github/actions/report/action.yml")})
	uploads, downloads := 0, 0
	for _, b := range blocks {
		var doc any
		if err := yaml.Unmarshal([]byte(b[1]), &doc); err != nil {
			t.Errorf("%v\n%s", err, b[1])
			continue
		}
		for _, step := range stepsIn(doc) {
			uses, _ := step["uses"].(string)
			with, _ := step["with"].(map[string]any)
			switch {
			case strings.HasPrefix(uses, "actions/upload-artifact@"):
				uploads++
				if uses != "actions/upload-artifact@v7" || with["archive"] != false || with["name"] != nil {
					t.Errorf("%s with %v: want v7, archive: false and no name", uses, with)
				}
			case strings.HasPrefix(uses, "actions/download-artifact@"):
				downloads++
				if uses != "actions/download-artifact@v8" || with["name"] != "baseline.html" || with["run-id"] == nil {
					t.Errorf("%s with %v: want v8, the file's name and the run", uses, with)
				}
			}
			if run, _ := step["run"].(string); strings.Contains(run, "gh run download") {
				t.Error("gh run download cannot read an artifact that is no zip file")
			}
		}
	}
	if uploads < 3 || downloads < 1 {
		t.Errorf("%d uploads and %d downloads of an artifact", uploads, downloads)
	}
}

// stepsIn finds what looks like a step, however deep.
func stepsIn(doc any) []map[string]any {
	var out []map[string]any
	switch v := doc.(type) {
	case []any:
		for _, x := range v {
			out = append(out, stepsIn(x)...)
		}
	case map[string]any:
		if v["uses"] != nil || v["run"] != nil {
			out = append(out, v)
		}
		for _, x := range v {
			out = append(out, stepsIn(x)...)
		}
	}
	return out
}

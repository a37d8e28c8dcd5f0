package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

func TestDecodeConfig(t *testing.T) {
	const file = `
# objectives of the chat service
title: "a: title"
slo:
  - ttft:p99<500ms
  - workload=chat:ttft:p95<250ms
goodput: {ttft: 500, e2el: 5000}
group-by: workload,cache
buckets:
  prompt_tokens: [512, 2048]
  output_tokens: 64,256
map:
  - ttft=first_token:ms
strict: true
window: 60/120
`
	got, err := decodeConfig("c.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	want := layer{
		"title":    {{"a: title", "c.yaml:3:8: title"}},
		"slo":      {{"ttft:p99<500ms", "c.yaml:5:5: slo"}, {"workload=chat:ttft:p95<250ms", "c.yaml:6:5: slo"}},
		"goodput":  {{"ttft:500", "c.yaml:7:11: goodput"}, {"e2el:5000", "c.yaml:7:22: goodput"}},
		"group-by": {{"workload,cache", "c.yaml:8:11: group-by"}},
		"buckets":  {{"prompt_tokens=512,2048", "c.yaml:10:3: buckets"}, {"output_tokens=64,256", "c.yaml:11:3: buckets"}},
		"map":      {{"ttft=first_token:ms", "c.yaml:13:5: map"}},
		"strict":   {{"true", "c.yaml:14:9: strict"}},
		"window":   {{"60/120", "c.yaml:15:9: window"}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(given{})); d != "" {
		t.Error(d)
	}
	if _, err := resolve(got); err != nil {
		t.Errorf("resolve: %v", err)
	}
}

func TestDecodeConfigErrors(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"unknown key", "titel: x", `c.yaml:1:1: unknown key "titel", did you mean "title"?`},
		{"unknown key below a known one", "title: x\ngruop-by: y", `c.yaml:2:1: unknown key "gruop-by", did you mean "group-by"?`},
		{"config names no other config", "config: x", `unknown key "config"`},
		{"no value", "slo:", `c.yaml:1:`},
		{"list where one is wanted", "title: [a, b]", "c.yaml:1:8: title: is a list, want a single value"},
		{"mapping where a list is wanted", "slo: {ttft: 5}", "c.yaml:1:6: slo: is a mapping, want a value or a list of values"},
		{"block mapping", "title:\n  a: b", "c.yaml:2:3: title: is a mapping"},
		{"nested mapping", "buckets: {a: {b: c}}", "c.yaml:1:14: buckets: a: is a mapping"},
		{"alias", "title: &x a\nsweep-by: *x", "is an anchor or alias"},
		{"scalar document", "hello", `c.yaml:1:1: is "hello", want settings`},
		{"two documents", "title: a\n---\ntitle: b", "c.yaml:3:1: a second document, want one"},
		{"duplicate", "title: a\ntitle: b", "c.yaml:2:1: mapping key"},
		{"syntax", "title: 'a", "c.yaml:1:8: "},
		{"tab", "slo:\n\t- a", "c.yaml:2:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := decodeConfig("c.yaml", []byte(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to contain %q", err, tt.want)
			}
		})
	}
}

// A wrong file is reported as a whole, not one mistake a run.
func TestDecodeConfigReportsEverything(t *testing.T) {
	_, err := decodeConfig("c.yaml", []byte("sloo: a\ntitle: [a]\nstrict: {}\n"))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("error %v, want three lines", err)
	}
}

func FuzzDecodeConfig(f *testing.F) {
	for _, s := range []string{
		"", "#", "slo:\n  - ttft:p99<500ms\n", "buckets: {prompt_tokens: [1, 2]}", "title: |\n  a\n  b",
		"title: &a x\nsweep-by: *a", "<<: {a: b}", "? a\n: b", "---\n---\n", "title: !!str 1", "map: [[a]]", "\xff\xfe", "a: {b: [c, {d: e}]", "strict: ~",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := decodeConfig("c.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "c.yaml:") {
				t.Errorf("error without the file: %v", err)
			}
			return
		}
		for name := range l {
			if _, ok := settingOf(name); !ok {
				t.Errorf("decoded %q, which is no setting", name)
			}
		}
		resolve(l)
	})
}

// Every flag can stand in the config file, and every key there is a flag.
func TestSettingsAreFlags(t *testing.T) {
	flags := flagsOf(t, "compare") // which has those of report, and its own
	for name := range flagsOf(t, "report") {
		if _, ok := flags[name]; !ok {
			t.Errorf("flag --%s of report is no flag of compare", name)
		}
	}
	for _, s := range settings {
		if _, ok := flags[s.name]; !ok {
			t.Errorf("setting %q is no flag of report or compare", s.name)
		}
	}
	for name := range flags {
		if _, ok := settingOf(name); !ok && name != "config" && name != "help" {
			t.Errorf("flag --%s of report is no setting, so it cannot stand in %s", name, configName)
		}
	}
	inspect := flagsOf(t, "inspect")
	for _, name := range inspectSettings {
		if _, ok := inspect[name]; !ok {
			t.Errorf("%q, which inspect takes from the config file, is no flag of it", name)
		}
	}
}

// typedFlags can read a flag, and a flag that was not typed is absent: no
// default may look like a choice.
func TestFlagTypes(t *testing.T) {
	for _, cmd := range []string{"report", "compare", "inspect", "version"} {
		for name, f := range flagsOf(t, cmd) {
			if name == "help" {
				continue
			}
			if f.HasDefault {
				t.Errorf("%s --%s has a default", cmd, name)
			}
			switch f.Target.Type() {
			case reflect.TypeFor[*string](), reflect.TypeFor[[]string](), reflect.TypeFor[*bool]():
			default:
				t.Errorf("%s --%s is a %v, which typedFlags does not read", cmd, name, f.Target.Type())
			}
		}
	}
}

func flagsOf(t *testing.T, command string) map[string]*kong.Flag {
	t.Helper()
	k, err := kong.New(&cli{}, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*kong.Flag{}
	for _, n := range k.Model.Children {
		if n.Name != command {
			continue
		}
		for _, f := range n.Flags {
			out[f.Name] = f
		}
	}
	if len(out) == 0 {
		t.Fatalf("command %s has no flags", command)
	}
	return out
}

func TestTypedFlags(t *testing.T) {
	cmd, got, err := parse([]string{"report", "-o", "x", "--slo", "a,b", "--slo", "c", "--no-progress", "--strict=false", "p"}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := cmd.(*reportCmd); !ok {
		t.Errorf("command is a %T", cmd)
	}
	want := layer{
		"output":   {{"x", "--output"}},
		"slo":      {{"a,b", "--slo"}, {"c", "--slo"}},
		"progress": {{"false", "--progress"}},
		"strict":   {{"false", "--strict"}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(given{})); d != "" {
		t.Error(d)
	}
}

func TestOver(t *testing.T) {
	file := layer{"slo": {{"a", ""}, {"b", ""}}, "title": {{"t", ""}}}
	typed := layer{"slo": {{"c", ""}}}
	got := typed.over(file)
	if len(got["slo"]) != 1 || got["slo"][0].text != "c" || got["title"][0].text != "t" {
		t.Errorf("over = %v", got)
	}
	if len(file["slo"]) != 2 {
		t.Error("over changed the layer below")
	}
	if got := typed.over(nil); len(got) != 1 {
		t.Errorf("over nothing = %v", got)
	}
}

func TestNearest(t *testing.T) {
	names := settingNames()
	for typed, want := range map[string]string{
		"sloo": "slo", "SLO": "slo", "group_by": "group-by", "gruop-by": "group-by", "bucket": "buckets",
		"echarts": "echarts-js", "titel": "title", "jsno": "json", "checksum": "checksums",
	} {
		if got := nearest(strings.ToLower(typed), names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", typed, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"slo", "slo", 0}, {"sloo", "slo", 1},
		{"lso", "slo", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}, {"größe", "grosse", 3},
	} {
		if got := editDistance(tt.a, tt.b); got != tt.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

// Nesting costs the parser the square of its depth. What nests beyond any config
// file is refused before it is parsed; long lists are none of it.
func TestConfigNesting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vreport.yaml")
	for text, refused := range map[string]bool{
		strings.Repeat("- ", 400_000):                               true,
		"slo:\n  " + strings.Repeat("-\t", 400_000) + "a":           true,
		strings.Repeat("? ", 400_000):                               true,
		strings.Repeat("[", 400_000):                                true,
		"slo:\n" + strings.Repeat("  - ttft:p95<800ms\n", 4_000):    false,
		"---\ntitle: " + strings.Repeat("- ", 4_000) + "as a title": false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readConfig(path)
		if got := err != nil && strings.Contains(err.Error(), "lists within lists"); got != refused {
			t.Errorf("%.30q…: error %.200v, refused for its nesting: want %v", text, err, refused)
		}
	}
}

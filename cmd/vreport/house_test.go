package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/templates"
)

// This file holds the house rules: docs/architecture.md says what they are for.

const (
	module = "github.com/vreport/vreport"
	root   = "../.."
)

// A rule says what the files of a folder may import. Folders are matched as by
// path.Match; the first rule that matches counts.
type rule struct {
	folder string
	ours   []string // patterns of our own packages
	theirs []string // prefixes of other modules; nil: any that onlyIn allows
	std    bool     // the standard library and nothing of others
	quiet  bool     // touches no files, no clock, no network, no HTML
}

var rules = []rule{
	{folder: "ingest/serving", std: true},
	{folder: "ingest/wide", theirs: []string{"golang.org/x/sys/cpu"}},
	{folder: "ingest/column", ours: []string{"ingest/serving", "ingest/wide"}, std: true},
	{folder: "ingest/jsonscan", ours: []string{"ingest/serving"}},
	{folder: "ingest/flat", ours: []string{"ingest/serving", "ingest/jsonscan"}},
	{folder: "ingest/tree", ours: []string{"ingest/serving", "ingest/jsonscan"}},
	{folder: "ingest/csvtext", ours: []string{"ingest/serving"}, std: true},
	{folder: "ingest/logtext", ours: []string{"ingest/serving"}, std: true},
	{folder: "ingest/*", ours: []string{"ingest/serving", "ingest/column", "ingest/jsonscan", "ingest/flat", "ingest/tree", "ingest/logtext", "ingest/csvtext", "ingest/wide"}},
	{folder: "ingest", ours: []string{"ingest/*"}},
	{folder: "analyze/stat", quiet: true},
	{folder: "analyze/*", ours: []string{"ingest/serving", "ingest/wide", "analyze/stat", "analyze/cube"}, quiet: true},
	{folder: "analyze", ours: []string{"ingest/serving", "analyze/*"}, quiet: true},
	{folder: "render", ours: []string{"ingest/serving", "analyze", "analyze/*", "templates"}},
	{folder: "templates", std: true},
	{folder: "samples", theirs: []string{"github.com/parquet-go/parquet-go"}},
	{folder: "samples/*", ours: []string{"samples", "samples/*", "ingest", "ingest/*", "analyze", "analyze/*"}},
	{folder: "samples/studies/*", ours: []string{"samples", "samples/*", "ingest", "ingest/*", "analyze", "analyze/*"}},
	{folder: "cmd/vreport", ours: []string{"ingest", "ingest/serving", "ingest/column", "ingest/rollup", "analyze", "analyze/*", "render", "templates", "samples"}},
}

// onlyIn names the folders (or files) that are the only importers of a module,
// so that its oddities are dealt with in one place.
var onlyIn = map[string][]string{
	"github.com/alecthomas/kong":                       {"cmd/vreport"},
	"github.com/goccy/go-yaml":                         {"cmd/vreport", "ingest/tree"},
	"github.com/go-echarts/go-echarts/v2":              {"render/chart*.go"},
	"golang.org/x/sys":                                 {"ingest/wide"},
	"github.com/parquet-go/parquet-go":                 {"ingest/trace", "ingest/rollup/write.go", "samples"},
	"github.com/prometheus/prometheus/model/textparse": {"ingest/prom"},
	"github.com/prometheus/prometheus/tsdb":            {"ingest/prom", "analyze/promql"},
	"github.com/prometheus/prometheus/promql":          {"analyze/promql"},
	"github.com/go-json-experiment/json":               {"ingest/jsonscan", "ingest/flat", "ingest/tree", "ingest/vllm", "ingest/trace", "render"},
	"encoding/csv":                                     {"ingest/csvtext", "ingest/rollup/write.go", "cmd/vreport/annotations.go"},
	"html/template":                                    {"render"},
	"net/http":                                         {"samples/frontend.go"}, // the names of statuses; nothing is ever sent
	"os/exec":                                          {},
	"unsafe":                                           {},
}

// loud are packages that would make an analysis depend on more than its input.
var loud = []string{"os", "io/fs", "io/ioutil", "net", "html", "text/template", "math/rand", "math/rand/v2", "log", "flag", "embed"}

// seededIn names the files of quiet folders that draw random numbers: from a
// seed that the caller hands in, never from the package's own source.
var seededIn = []string{"analyze/stat/bootstrap.go", "analyze/stat/exchange.go", "analyze/stat/resample.go", "analyze/sweep_front.go"}

// clockFor names the files of quiet folders that read the clock all the same,
// and what for. No result may depend on it.
var clockFor = map[string]string{
	"analyze/cube/scan.go":    "how often progress is told",
	"analyze/promql/guard.go": "how often a query's memory is looked at: it is answered in full or refused",
}

// embedFor names the files of quiet folders that carry data, and which. It is in
// the binary, not in the file system.
var embedFor = map[string]string{
	"analyze/ceiling/hardware.go":  "the data sheets of hardware",
	"analyze/ceiling/catalogue.go": "the dimensions of published models",
}

// initFor names the files that may have an init function, and what for.
var initFor = map[string]string{
	"ingest/column/rules.go": "breaks an initialization cycle of one table with a function that walks it",
}

// sourceFile is one Go file that ships: no test, nothing generated elsewhere.
type sourceFile struct {
	path string // below the root, with slashes
	ast  *ast.File
}

func sources(t *testing.T) []sourceFile {
	t.Helper()
	var out []sourceFile
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && p != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "out", "bin", "testdata"}, name)) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		out = append(out, sourceFile{filepath.ToSlash(rel), f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 30 {
		t.Fatalf("only %d source files below %s", len(out), root)
	}
	return out
}

func (f sourceFile) folder() string { return path.Dir(f.path) }

func (f sourceFile) imports() []string {
	var out []string
	for _, s := range f.ast.Imports {
		p, _ := strconv.Unquote(s.Path.Value)
		out = append(out, p)
	}
	return out
}

// Arrows only point down.
func TestImports(t *testing.T) {
	for _, f := range sources(t) {
		r, ok := ruleOf(f.folder())
		if !ok {
			t.Errorf("%s: no rule says what a file in %s may import; docs/architecture.md has the picture", f.path, f.folder())
			continue
		}
		for _, imp := range f.imports() {
			if imp == "math/rand/v2" && slices.Contains(seededIn, f.path) {
				continue
			}
			if why := r.forbids(imp); why != "" && !(imp == "embed" && embedFor[f.path] != "") {
				t.Errorf("%s: imports %s: %s", f.path, imp, why)
			}
			if why := misplaced(f, imp); why != "" {
				t.Errorf("%s: imports %s: %s", f.path, imp, why)
			}
		}
		if !r.quiet {
			continue
		}
		for _, call := range calls(f.ast, "filepath", "Abs", "EvalSymlinks", "Glob", "Walk", "WalkDir") {
			t.Errorf("%s: calls %s; an analysis touches no files", f.path, call)
		}
		if clockFor[f.path] != "" {
			continue
		}
		for _, call := range calls(f.ast, "time", "Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep") {
			t.Errorf("%s: calls %s; the clock comes in from outside", f.path, call)
		}
	}
}

func ruleOf(folder string) (rule, bool) {
	for _, r := range rules {
		if ok, _ := path.Match(r.folder, folder); ok {
			return r, true
		}
	}
	return rule{}, false
}

// forbids says why a file under the rule may not import a package; "" where it
// may.
func (r rule) forbids(imp string) string {
	if rel, ok := strings.CutPrefix(imp, module+"/"); ok {
		if !slices.ContainsFunc(r.ours, func(p string) bool { ok, _ := path.Match(p, rel); return ok }) {
			return fmt.Sprintf("%s may import of ours only %q", r.folder, r.ours)
		}
		return ""
	}
	first, _, _ := strings.Cut(imp, "/")
	switch standard := !strings.Contains(first, "."); {
	case standard && r.quiet && (slices.Contains(loud, imp) || strings.HasPrefix(imp, "net/")):
		return r.folder + " touches no files, no clock, no network and no HTML"
	case standard:
		return ""
	case r.std:
		return r.folder + " imports nothing but the standard library"
	case r.theirs != nil && !slices.ContainsFunc(r.theirs, func(p string) bool { return strings.HasPrefix(imp, p) }):
		return fmt.Sprintf("%s may import of others only %q", r.folder, r.theirs)
	}
	return ""
}

// misplaced says why a file may not be an importer of a package that has its
// only importers.
func misplaced(f sourceFile, imp string) string {
	for mod, places := range onlyIn {
		if imp != mod && !strings.HasPrefix(imp, mod+"/") {
			continue
		}
		for _, p := range places {
			if ok, _ := path.Match(p, f.folder()); ok {
				return ""
			}
			if ok, _ := path.Match(p, f.path); ok {
				return ""
			}
		}
		return fmt.Sprintf("only %q may", places)
	}
	return ""
}

// calls lists calls of pkg's functions.
func calls(f *ast.File, pkg string, names ...string) []string {
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := s.X.(*ast.Ident); ok && x.Name == pkg && x.Obj == nil && slices.Contains(names, s.Sel.Name) {
			out = append(out, pkg+"."+s.Sel.Name)
		}
		return true
	})
	return out
}

// Nothing registers itself: a list that is read in one place has an order, and
// can be found.
func TestNoInit(t *testing.T) {
	for _, f := range sources(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil && initFor[f.path] == "" {
				t.Errorf("%s: has an init function; put a value in a list instead", f.path)
			}
		}
	}
}

// Every package says in one place what it is for.
func TestPackageDocs(t *testing.T) {
	docs := map[string]int{}
	for _, f := range sources(t) {
		if docs[f.folder()] += 0; f.ast.Doc != nil {
			docs[f.folder()]++
		}
	}
	for folder, n := range docs {
		if n != 1 {
			t.Errorf("%s: %d package comments, want 1", folder, n)
		}
	}
}

// A section stands in analyze.Sections, has a template of its name, and says
// what it shows and needs. That it has a view is a test of package render,
// whose list is not exported.
func TestSections(t *testing.T) {
	names := map[string]bool{}
	for _, s := range analyze.Sections {
		if names[s.Name] {
			t.Errorf("section %q stands twice in analyze.Sections", s.Name)
		}
		names[s.Name] = true
		if s.Title == "" || s.Nav == "" || s.Doc == "" || s.Needs == "" || s.Run == nil {
			t.Errorf("section %q lacks a title, a short title, a doc, its needs or its function", s.Name)
		}
		if _, err := fs.Stat(templates.FS, "sections/"+s.Name+".gohtml"); err != nil {
			t.Errorf("section %q has no templates/sections/%s.gohtml", s.Name, s.Name)
		}
		if !renderNames(t, s.Name) {
			t.Errorf("section %q has no view in package render", s.Name)
		}
	}
	for _, s := range analyze.Sections {
		for _, a := range s.After {
			if !names[a] {
				t.Errorf("section %q comes after %q, which is none", s.Name, a)
			}
		}
	}
	files, err := fs.Glob(templates.FS, "sections/*.gohtml")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(path.Base(f), ".gohtml"); !names[name] {
			t.Errorf("templates/%s belongs to no section of analyze.Sections", f)
		}
	}
}

// renderNames says whether the list of views in package render names a section.
func renderNames(t *testing.T, section string) bool {
	t.Helper()
	found := false
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "render/registry.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && l.Value == strconv.Quote(section) {
			found = true
		}
		return true
	})
	return found
}

// contractFormats are the format names that scripts may rely on.
var contractFormats = strings.Fields(`vllm-serve vllm-sweep vllm-throughput vllm-latency vllm-console vllm-log vllm-autotune
	sglang-serving sglang-onebatch sglang-log guidellm aiperf-summary aiperf-records aiperf-server-metrics gpu-telemetry genai-perf
	inference-perf llmd-report inferencex trtllm-bench prometheus-text openmetrics prometheus-api prometheus-dump prometheus-tsdb
	metrics-csv trace-parquet trace-csv trace-jsonl rollup vreport-report server-log`)

// A format has a name of the contract, says what it is, and stands in the
// README. Two encodings of one format share its name and differ in what they say.
func TestFormats(t *testing.T) {
	list := readFile(t, "docs/formats.md")
	seen, docs := map[string]bool{}, map[string]bool{}
	for _, f := range ingest.Formats {
		if !slices.Contains(contractFormats, f.Name) {
			t.Errorf("format %q is no name of the contract", f.Name)
		}
		if f.Doc == "" || docs[f.Doc] {
			t.Errorf("format %q does not say what it is, or says what another one says: %q", f.Name, f.Doc)
		}
		seen[f.Name], docs[f.Doc] = true, true
		if !strings.Contains(list, "| `"+f.Name+"` |") {
			t.Errorf("format %q has no row in docs/formats.md", f.Name)
		}
	}
	for _, name := range contractFormats {
		if !seen[name] && strings.Contains(list, "| `"+name+"` |") {
			t.Errorf("docs/formats.md promises format %q, which nothing reads", name)
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A lock file names no host: whoever builds takes the packages from where their
// npm is told to.
func TestLocksNameNoRegistry(t *testing.T) {
	n := 0
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"node_modules", ".git", "out"}, d.Name()) {
			return filepath.SkipDir
		}
		if d.Name() != "package-lock.json" {
			return nil
		}
		n++
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		if bytes.Contains(b, []byte(`"resolved"`)) {
			t.Errorf("%s has \"resolved\" entries; npm install with omit-lockfile-registry-resolved leaves them out", p)
		}
		var lock struct {
			Packages map[string]struct{ Integrity string }
		}
		if err := json.Unmarshal(b, &lock); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for name, pkg := range lock.Packages {
			if name != "" && pkg.Integrity == "" {
				t.Errorf("%s: %s has no checksum", p, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n == 0 {
		t.Error("no package-lock.json was found")
	}
}

// go install needs a go.mod that stands for itself.
func TestGoMod(t *testing.T) {
	out, err := exec.Command("go", "mod", "edit", "-json", filepath.Join(root, "go.mod")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Replace, Exclude, Tool []any
		Toolchain              string
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace)+len(mod.Exclude)+len(mod.Tool) > 0 || mod.Toolchain != "" {
		t.Errorf("go.mod has replace, exclude, tool or toolchain lines: %+v", mod)
	}
}

// Command diagnosis measures how well the diagnosis finds what was planted: it
// simulates every scenario for a range of seeds, diagnoses each from all of its
// files and from every kind of file alone, and prints the confusion matrix.
//
//	go run ./samples/studies/diagnosis -from 101 -to 110
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/samples"
)

func main() {
	from := flag.Uint64("from", 101, "first seed")
	to := flag.Uint64("to", 110, "last seed")
	dir := flag.String("dir", "", "keep the simulated files here and use those that are there")
	verbose := flag.Bool("v", false, "print what was found wherever it is not what was planted")
	only := flag.String("only", "", "one scenario")
	flag.Parse()
	s := &study{verbose: *verbose, only: *only, dir: *dir}
	err := s.run(*from, *to)
	if err == nil {
		fmt.Print(s.table())
		if !s.passes() {
			err = fmt.Errorf("the diagnosis misses its aims")
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// kinds are the inputs a diagnosis is made from: all files of a scenario, and
// each kind alone.
var kinds = []struct {
	name string
	of   func(path string) bool
}{
	{"all", func(string) bool { return true }},
	{"scrapes", func(p string) bool { return strings.HasPrefix(p, "metrics/") || strings.HasPrefix(p, "gpu/") }},
	{"trace", func(p string) bool { return strings.HasSuffix(p, ".parquet") }},
	{"benchmark", func(p string) bool { return strings.HasPrefix(p, "client/") }},
	{"log", func(p string) bool { return !strings.Contains(p, "/") && strings.HasSuffix(p, ".log") }},
}

// A study counts outcomes.
type study struct {
	verbose   bool
	only, dir string
	from, to  uint64
	scenarios []string
	causes    map[string]string
	counts    map[[3]string]int // scenario, kind, outcome
}

func (s *study) run(from, to uint64) error {
	s.from, s.to = from, to
	s.causes, s.counts = map[string]string{}, map[[3]string]int{}
	for seed := from; seed <= to; seed++ {
		if err := s.seed(seed); err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
	}
	return nil
}

func (s *study) seed(seed uint64) error {
	base := filepath.Join(s.dir, fmt.Sprint(seed))
	if s.dir == "" {
		d, err := os.MkdirTemp("", "vreport-study-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(d)
		base = d
	}
	if _, err := os.Stat(filepath.Join(base, "causes")); err != nil {
		if err := simulate(seed, base); err != nil {
			return err
		}
	}
	list, err := os.ReadFile(filepath.Join(base, "causes"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		name, cause, _ := strings.Cut(strings.TrimSpace(line), " ")
		if s.only != "" && name != s.only {
			continue
		}
		if !slices.Contains(s.scenarios, name) {
			s.scenarios = append(s.scenarios, name)
			s.causes[name] = cause
		}
		for _, k := range kinds {
			if err := s.diagnose(seed, filepath.Join(base, name), name, cause, k.name, k.of); err != nil {
				return fmt.Errorf("%s, %s: %w", name, k.name, err)
			}
		}
	}
	return nil
}

func simulate(seed uint64, base string) error {
	all, err := samples.Scenarios(seed)
	if err != nil {
		return err
	}
	var causes strings.Builder
	for _, sc := range all {
		for name, data := range sc.Files {
			p := filepath.Join(base, sc.Name, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(p, data, 0o644); err != nil {
				return err
			}
		}
		fmt.Fprintln(&causes, sc.Name, sc.Cause)
	}
	return os.WriteFile(filepath.Join(base, "causes"), []byte(causes.String()), 0o644)
}

// Outcomes beside a cause that was supported.
const (
	none       = "none"        // nothing is supported, and it was told what is not
	cannotTell = "cannot tell" // nothing is supported, and something could not be told
	noInput    = "no input"
)

func (s *study) diagnose(seed uint64, dir, name, cause, kind string, of func(string) bool) error {
	var paths []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if rel, _ := filepath.Rel(dir, p); of(filepath.ToSlash(rel)) {
				paths = append(paths, p)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		s.counts[[3]string{name, kind, noInput}]++
		return nil
	}
	ds, err := ingest.Load(context.Background(), paths, ingest.Options{})
	if err != nil {
		return err
	}
	defer ds.Close()
	all, err := analyze.Diagnose(context.Background(), ds, analyze.DefaultOptions())
	if err != nil {
		return err
	}
	outcome := none
	if all == nil {
		outcome = cannotTell
	} else {
		outcome = outcomeOf(all, cause)
	}
	s.counts[[3]string{name, kind, outcome}]++
	if s.verbose && outcome != cause && !(outcome == cannotTell && kind != "all") && !(cause == none && outcome == cannotTell) {
		s.explain(seed, name, kind, outcome, all)
	}
	return nil
}

func outcomeOf(all *analyze.Diagnoses, planted string) string {
	d := all.Diagnoses[0]
	if top := d.Top(); top != nil {
		return top.Cause
	}
	for _, h := range d.Hypotheses {
		// Whether the load generator was the limit is never told without its own file,
		// and whether a process failed never without a log: that says nothing of
		// scenarios in which something else is planted.
		if h.Status == rules.CannotTell && (h.Cause == planted || h.Cause != "load_generator" && h.Cause != "other") {
			return cannotTell
		}
	}
	return none
}

func (s *study) explain(seed uint64, name, kind, outcome string, all *analyze.Diagnoses) {
	fmt.Printf("-- seed %d %s from %s: %s\n", seed, name, kind, outcome)
	if all == nil {
		return
	}
	d := all.Diagnoses[0]
	fmt.Printf("   %d subjects; lead %s, incident %s\n", len(all.Diagnoses), d.Lead, d.Incident)
	for _, y := range d.Symptoms {
		fmt.Printf("   symptom %s %v %v\n", y.ID, y.Present, y.Evidence)
	}
	for _, h := range d.Hypotheses {
		if h.Cause == s.causes[name] || h.Status == rules.Supported {
			fmt.Printf("   %s %s score %.2f coverage %.2f\n      for %s\n      against %s\n      missing %s\n", h.Cause, h.Status, h.Score, h.Coverage,
				strings.Join(h.For, "\n          "), strings.Join(h.Against, "\n          "), strings.Join(h.Missing, "; "))
		}
	}
}

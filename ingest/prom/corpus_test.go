package prom

import (
	"bufio"
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no directory")
	}
	return dir
}

// formats reads the corpus' own list: glob → accepted formats.
func formats(t *testing.T, dir string) (globs, accepted []string) {
	b, err := os.ReadFile(filepath.Join(dir, "FORMATS.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSpace(l), "\t"); len(f) == 2 && !strings.HasPrefix(l, "#") {
			globs, accepted = append(globs, f[0]), append(accepted, f[1])
		}
	}
	return globs, accepted
}

func parseFile(t *testing.T, path string) ([]*Scrape, *serving.Input) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := &serving.Input{Path: path}
	s, err := Parse(context.Background(), path, f, in)
	if err != nil {
		t.Fatal(err)
	}
	return s, in
}

func TestCorpusIsRecognized(t *testing.T) {
	dir := corpus(t)
	wanted := map[string]bool{}
	globs, accepted := formats(t, dir)
	for i, g := range globs {
		if accepted[i] != Format {
			continue
		}
		paths, _ := filepath.Glob(filepath.Join(dir, g))
		if len(paths) == 0 {
			t.Errorf("%s matches nothing", g)
		}
		for _, p := range paths {
			wanted[p] = true
		}
	}
	n := 0
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		is := Sniff(b[:min(len(b), 256<<10)])
		if wanted[path] && !is {
			t.Errorf("%s is not recognized", path)
		}
		// Further scrapes are in the corpus that its list does not name.
		if is && !wanted[path] && !(strings.HasPrefix(path, filepath.Join(dir, "prom")) && strings.Contains(path, "vllm_")) {
			t.Errorf("%s is taken for a scrape", path)
		}
		if is {
			n++
			s, in := parseFile(t, path)
			if len(s) != 1 || in.Records != 1 || in.Problems.Len() > 0 || len(in.Fields) == 0 {
				t.Errorf("%s: %d scrapes, %d fields, problems %v", path, len(s), len(in.Fields), in.Problems.List())
			}
			t.Logf("%s: %s", filepath.Base(path), in.Note)
		}
		return nil
	})
	if n < 30 {
		t.Errorf("only %d scrapes in the corpus", n)
	}
}

// plain reads a scrape without anything of this package.
func plain(t *testing.T, path string) map[string]float64 {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]float64{}
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		l := sc.Text()
		if i := strings.LastIndexByte(l, ' '); i > 0 && l[0] != '#' {
			if out[l[:i]], err = strconv.ParseFloat(l[i+1:], 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

func TestCorpusPairOfScrapes(t *testing.T) {
	dir := filepath.Join(corpus(t), "prom")
	idle, loaded := filepath.Join(dir, "vllm_0.25.1_idle.txt"), filepath.Join(dir, "vllm_0.25.1_loaded.txt")
	after, _ := parseFile(t, loaded)
	before, _ := parseFile(t, idle)
	servers, ps := Assemble(append(after, before...), AssembleOptions{})
	if len(servers) != 1 || len(ps) > 0 {
		t.Fatalf("%d servers, problems %v", len(servers), ps)
	}
	s := servers[0]
	if !slices.Equal(s.Sources, []string{idle, loaded}) || !s.Relative || len(s.Restarts) > 0 {
		t.Fatalf("order %v, relative %v, restarts %v", s.Sources, s.Relative, s.Restarts)
	}
	a, b := plain(t, idle), plain(t, loaded)
	const id = `{engine="0",model_name="opt-125m-tp2"}`
	counters := 0
	for _, c := range s.Counters {
		if c.From == "http_requests_total" || c.From == "process_cpu_seconds_total" || len(c.By) > 0 || c.Name == serving.FinishedTotal {
			continue
		}
		counters++
		want := b[c.From+id] - a[c.From+id]
		if got := c.Values[1] - c.Values[0]; got != want {
			t.Errorf("%s rose by %v, want %v", c.From, got, want)
		}
	}
	if counters < 9 {
		t.Errorf("only %d counters", counters)
	}
	if len(s.Histograms) < 9 {
		t.Errorf("only %d histograms", len(s.Histograms))
	}
	buckets := 0
	for _, h := range s.Histograms {
		if got, want := h.Count[1]-h.Count[0], b[h.From+"_count"+id]-a[h.From+"_count"+id]; got != want {
			t.Errorf("%s: count rose by %v, want %v", h.From, got, want)
		}
		if got, want := h.Sum[1]-h.Sum[0], b[h.From+"_sum"+id]-a[h.From+"_sum"+id]; got != want {
			t.Errorf("%s: sum rose by %v, want %v", h.From, got, want)
		}
		for series, v := range b {
			rest, ok := strings.CutPrefix(series, h.From+"_bucket{")
			if !ok {
				continue
			}
			_, le, _ := strings.Cut(rest, `le="`)
			le, _, _ = strings.Cut(le, `"`)
			bound, err := strconv.ParseFloat(le, 64)
			at := slices.Index(h.Bounds, bound)
			if err != nil || at < 0 {
				t.Fatalf("%s: bound %s is lost", h.From, le)
			}
			buckets++
			if h.Counts[1][at] != v || h.Counts[0][at] != a[series] {
				t.Errorf("%s: %v → %v, want %v → %v", series, h.Counts[0][at], h.Counts[1][at], a[series], v)
			}
		}
		if !math.IsInf(h.Bounds[len(h.Bounds)-1], 1) {
			t.Errorf("%s ends with %v", h.From, h.Bounds[len(h.Bounds)-1])
		}
	}
	if buckets < 150 {
		t.Errorf("only %d buckets were compared", buckets)
	}
}

func TestCorpusSeries(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "prom", "synthetic_series", "*.prom"))
	var all []*Scrape
	for _, p := range slices.Backward(paths) {
		s, _ := parseFile(t, p)
		all = append(all, s...)
	}
	servers, ps := Assemble(all, AssembleOptions{})
	if len(servers) != 1 || len(ps) > 0 {
		t.Fatalf("%d servers, problems %v", len(servers), ps)
	}
	s := servers[0]
	if len(s.Times) != 11 || !s.Relative || s.TimeRule != ruleSequence || !slices.Equal(s.Sources, paths) {
		t.Errorf("%d scrapes, relative %v by %s: %v", len(s.Times), s.Relative, s.TimeRule, s.Sources)
	}
	if !slices.Equal(s.Restarts, []int64{30e9}) {
		t.Errorf("restarts %v, want one at scrape 30", s.Restarts)
	}
	if len(s.Gaps) != 8 { // all but 29–30 and 30–31
		t.Errorf("gaps %v", s.Gaps)
	}
	for _, c := range s.Counters {
		if hasHole := slices.ContainsFunc(c.Values, math.IsNaN); hasHole {
			t.Errorf("%s has holes: %v", c.Name, c.Values)
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two measurements of the same thing: two clients of one run, repeats of a sweep.
// They are never better, worse or mixed, whichever comes first, and the same
// comparison gives the same bytes.
func TestCorpusComparesTheSame(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no directory of real files")
	}
	scaled := filepath.Join(dir, "bench", "vllm_serve", "anyscale_hscale_x2")
	pairs := [][2]string{{filepath.Join(scaled, "part1"), filepath.Join(scaled, "part2")}}
	first, err := filepath.Glob(filepath.Join(dir, "bench", "vllm_sweep", "*", "*", "run=0.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range first {
		pairs = append(pairs, [2]string{f, filepath.Join(filepath.Dir(f), "run=1.json")})
	}
	tried := 0
	for _, p := range pairs {
		if _, err := os.Stat(p[1]); err != nil {
			continue
		}
		tried++
		for _, args := range [][]string{{p[0], p[1]}, {p[1], p[0]}} {
			if _, c := compared(t, args...); c["verdict"] != "undecided" && c["verdict"] != "equivalent" {
				t.Errorf("%q: %s: %s", args, c["verdict"], c["title"])
			}
		}
		if status, c := compared(t, p[0], p[0], "--gate", "regression"); c["verdict"] != "equivalent" || status != statusDone {
			t.Errorf("%s against itself: %s, status %d", p[0], c["verdict"], status)
		}
		var once, again, stderr bytes.Buffer
		run([]string{"compare", p[0], p[1], "--json", "-"}, strings.NewReader(""), &once, &stderr)
		run([]string{"compare", p[0], p[1], "--json", "-"}, strings.NewReader(""), &again, &stderr)
		if !bytes.Equal(once.Bytes(), again.Bytes()) {
			t.Errorf("%q: two runs give different bytes", p)
		}
	}
	if tried == 0 {
		t.Skip("the directory has no two measurements of the same thing")
	}
}

// Two engines on three workloads at one rate: each workload is a pair of its own,
// and what only one side has is listed.
func TestCorpusPairsWorkloads(t *testing.T) {
	r1 := filepath.Join(os.Getenv("VREPORT_CORPUS"), "bench", "vllm_serve", "simonmo_r1_h200")
	if _, err := os.Stat(r1); os.Getenv("VREPORT_CORPUS") == "" || err != nil {
		t.Skip("VREPORT_CORPUS has no such files")
	}
	_, c := compared(t, filepath.Join(r1, "vllm-*.json"), filepath.Join(r1, "sgl-*.json"))
	if n, u := len(c["pairs"].([]any)), len(c["unpaired"].([]any)); n != 3 || u != 1 {
		t.Errorf("%d pairs and %d unpaired, want 3 and 1", n, u)
	}
}

// Scrapes alone are sides: an idle engine is named as one that served nobody, halves
// of one series are never called, and of two engines the models are named.
func TestCorpusScrapesAsSides(t *testing.T) {
	dir := filepath.Join(os.Getenv("VREPORT_CORPUS"), "prom")
	idle, loaded := filepath.Join(dir, "vllm_0.25.1_idle.txt"), filepath.Join(dir, "vllm_0.25.1_loaded.txt")
	if _, err := os.Stat(loaded); os.Getenv("VREPORT_CORPUS") == "" || err != nil {
		t.Skip("VREPORT_CORPUS has no scrapes")
	}
	if _, c := compared(t, idle, loaded); c["verdict"] != "undecided" || !strings.Contains(c["title"].(string), "the servers of before finished no request") {
		t.Errorf("idle against loaded: %s: %s", c["verdict"], c["title"])
	}
	series := filepath.Join(dir, "synthetic_series")
	if _, c := compared(t, filepath.Join(series, "m_00[012]?.prom"), filepath.Join(series, "m_00[34]?.prom")); c["verdict"] != "undecided" || len(c["rows"].([]any)) == 0 {
		t.Errorf("before and after a restart: %s: %s", c["verdict"], c["title"])
	}
	_, c := compared(t, loaded, filepath.Join(dir, "vllm_v0_0.6_kubeai.txt"))
	keys := map[string]bool{}
	for _, x := range c["changed_settings"].([]any) {
		keys[x.(map[string]any)["key"].(string)] = true
	}
	if c["verdict"] != "undecided" || !keys["model"] || !keys["gpu_memory_utilization"] || !keys["mean prompt tokens"] {
		t.Errorf("another model, memory and prompts of 10 tokens: %s, changed %v", c["verdict"], keys)
	}
}

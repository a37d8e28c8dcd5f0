package inferencex

import (
	"bytes"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no corpus")
	}
	return dir
}

func TestCorpus(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "bench/inferencex_agg/*.json"))
	if len(paths) < 7 {
		t.Fatalf("%d files", len(paths))
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		runs, in := decodeAll(t, path, string(b))
		if len(runs) != 1 || in.Problems.Len() != 0 {
			t.Errorf("%s: %d runs, %v", path, len(runs), in.Problems.List())
			continue
		}
		r := runs[0]
		base := filepath.Base(path)
		if r.GPUs.V != int(base[2]-'0') || r.Engine.V != "vllm" || r.Load.Mode != serving.ClosedLoop {
			t.Errorf("%s: %+v", path, r)
		}
		if !strings.HasSuffix(base, "conc"+itoa(r.Load.MaxConcurrency.V)+".json") {
			t.Errorf("%s: concurrency %v", path, r.Load.MaxConcurrency)
		}
		// The tokens over the duration are the rate.
		for m, n := range map[serving.MetricKey]serving.Opt[int64]{inputRate: r.Input, serving.RateOutput: r.Output} {
			rate, ok := r.ReportedValue(m, "")
			if got := float64(n.V) / r.Duration.V; !ok || !n.OK || math.Abs(got-rate) > 1e-5*rate {
				t.Errorf("%s: %s %v, the file says %v", path, m, got, rate)
			}
		}
		// Interactivity is 1/TPOT, upside down.
		slow, ok := r.ReportedValue(interactivity, "p5")
		tpot, _ := r.ReportedValue(serving.TPOT, "p95")
		if !ok || math.Abs(slow*tpot-1) > 1e-3 {
			t.Errorf("%s: p5 of interactivity %v with p95 of TPOT %v", path, slow, tpot)
		}
		if len(r.Notes) > 0 && strings.Contains(strings.Join(r.Notes, ""), "parallel sizes") {
			t.Errorf("%s: %v", path, r.Notes)
		}
	}
}

func TestCorpusSniff(t *testing.T) {
	dir := corpus(t)
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		got := false
		if h := bytes.TrimSpace(b[:min(len(b), 4096)]); len(h) > 0 && (h[0] == '{' || h[0] == '[') {
			s, _ := jsonscan.Probe(path, bytes.NewReader(b), Decided)
			got, _ = Sniff(s.Keys)
		}
		if want := strings.Contains(path, "/inferencex_agg/"); got != want {
			t.Errorf("%s: recognized %v, want %v", path, got, want)
		}
		return nil
	})
	if err != nil || n < 250 {
		t.Errorf("%d files, %v", n, err)
	}
}

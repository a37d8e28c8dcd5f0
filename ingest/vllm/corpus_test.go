package vllm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// corpus returns the folder of real benchmark files.
func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no corpus")
	}
	return filepath.Join(dir, "bench")
}

func readCorpus(t *testing.T, path string) ([]*serving.Run, *serving.Input) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := &serving.Input{Bytes: int64(len(b))}
	runs, err := DecodeServe(t.Context(), path, bytes.NewReader(b), in)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return runs, in
}

// TestCorpusLogs reads the engine logs and compares counts, sums and extremes
// with those that a regular expression of another program
// finds in the files.
func TestCorpusLogs(t *testing.T) {
	dir := filepath.Join(corpus(t), "vllm_engine_log")
	for name, want := range map[string]struct {
		lines            int64
		generation       float64 // sum over lines, tokens/s
		waiting, running float64 // highest
		version, pool    string
	}{
		"djdr_qwen3.6_35b_bf16_bootlog.txt":               {1087, 83303.1, 19, 54, "0.19.2rc1.dev134+gfe9c3d6c5", "623040"},
		"inferencex_kimi_tp4_conc16_server.log":           {402, 60933.7, 24, 16, "0.24.0", "1854891"},
		"inferencex_kimi_tp4_conc1_server.log":            {365, 21848.9, 3, 1, "0.24.0", "1854204"},
		"bettervllmlog_server.log":                        {33, 1943.2, 0, 1, "", ""},
		"aeon_gemma26_dflash_20260608T0436JST_server.log": {4, 34.2, 0, 1, "0.20.1", "519920"},
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if ok, why := SniffLog(b[:min(len(b), 256<<10)]); !ok {
			t.Errorf("%s: %s", name, why)
		}
		ss, in := decodeLogText(t, name, string(b))
		if len(ss) != 1 || in.Records != want.lines || in.Problems.Len() != 0 {
			t.Errorf("%s: %d servers of %d lines, problems %v", name, len(ss), in.Records, in.Problems.List())
			continue
		}
		s := ss[0]
		sum := 0.0
		for _, v := range s.GaugeOf(serving.GenerationRate).Values {
			if v == v {
				sum += v
			}
		}
		maxOf := func(n serving.SeriesName) float64 {
			m := 0.0
			for _, v := range s.GaugeOf(n).Values {
				if v > m {
					m = v
				}
			}
			return m
		}
		if math.Abs(sum-want.generation) > 1e-6*want.generation || maxOf(serving.Waiting) != want.waiting || maxOf(serving.Running) != want.running || s.Version.V != want.version || infoOf(s, "kv_cache_tokens") != want.pool {
			t.Errorf("%s: generation %.1f, waiting %v, running %v, version %q, pool %q, want %+v", name, sum, maxOf(serving.Waiting), maxOf(serving.Running), s.Version.V, infoOf(s, "kv_cache_tokens"), want)
		}
	}
}

// TestCorpusOthers makes sure that these formats take no other tool's files.
func TestCorpusOthers(t *testing.T) {
	root := filepath.Dir(corpus(t))
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		head := make([]byte, 256<<10)
		n, _ := io.ReadFull(f, head)
		head = head[:n]
		log, _ := SniffLog(head)
		if want := strings.HasPrefix(rel, "bench/vllm_engine_log/") && !strings.Contains(rel, "NEARMISS"); log != want {
			t.Errorf("%s is taken for an engine log: %v", rel, log)
		}
		if tuned, _ := SniffAutotune(head); tuned {
			t.Errorf("%s is taken for a tuner's result", rel)
		}
		if csv, _ := SniffSweepCSV(head); csv {
			t.Errorf("%s is taken for a sweep's table", rel)
		}
		if h := bytes.TrimSpace(head); len(h) == 0 || h[0] != '{' && h[0] != '[' {
			return nil
		}
		if _, err := f.Seek(0, 0); err != nil {
			return err
		}
		shape, err := jsonscan.Probe(path, f, nil)
		if err != nil {
			return nil
		}
		a, _ := SniffThroughput(shape.Keys)
		b, _ := SniffLatency(shape.Keys)
		c, _ := SniffTwin(shape.Keys, head)
		sweep, _ := SniffSweep(shape.Keys)
		if a || b || c != "" || sweep != strings.HasPrefix(rel, "bench/vllm_sweep/") {
			t.Errorf("%s is taken for throughput %v, latency %v, a twin %q, a sweep's %v", rel, a, b, c, sweep)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCorpusFigures recomputes the figures of files with request arrays and
// compares them with independent ones.
func TestCorpusFigures(t *testing.T) {
	dir := corpus(t)
	f, err := os.Open(filepath.Join(dir, "EXPECT.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var e struct {
			Path            string
			Sent, Completed int64
			Duration        float64 `json:"duration_s"`
			Goodput         struct {
				TTFT, TPOT float64
				Good       int
			}
			Metrics map[string]map[string]float64
		}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		runs, in := readCorpus(t, filepath.Join(dir, e.Path))
		if len(runs) != 1 || in.Problems.Len() != 0 {
			t.Errorf("%s: %d runs, problems %v", e.Path, len(runs), in.Problems.List())
			continue
		}
		r := runs[0]
		sane(t, r)
		if r.Sent.V != e.Sent || r.Completed.V != e.Completed || r.Duration.V != e.Duration {
			t.Errorf("%s: sent %v completed %v duration %v", e.Path, r.Sent, r.Completed, r.Duration)
		}
		ok := columnOf(t, r, "outcome")
		for name, want := range e.Metrics {
			if want == nil {
				continue
			}
			var all []float64
			for i, row := range columnOf(t, r, name) {
				if ok[i][0] == 0 {
					all = append(all, row...)
				}
			}
			for stat, got := range describe(all) {
				if w, has := want[stat]; has && math.Abs(got-w) > 1e-9*math.Abs(w) {
					t.Errorf("%s: %s %s = %v, want %v", e.Path, name, stat, got, w)
				}
			}
		}
		good := 0
		ttft, tpot, out := columnOf(t, r, "ttft"), columnOf(t, r, "tpot"), columnOf(t, r, "output_tokens")
		for i := range ok {
			within := len(tpot[i]) == 1 && tpot[i][0]*1000 <= e.Goodput.TPOT || len(tpot[i]) == 0 && out[i][0] == 1
			if ok[i][0] == 0 && len(ttft[i]) == 1 && ttft[i][0]*1000 <= e.Goodput.TTFT && within {
				good++
			}
		}
		if good != e.Goodput.Good {
			t.Errorf("%s: %d good requests, want %d", e.Path, good, e.Goodput.Good)
		}
	}
	if n == 0 {
		t.Error("no expectations")
	}
}

// describe computes statistics in milliseconds: type-7 quantiles, population
// standard deviation.
func describe(seconds []float64) map[string]float64 {
	v := make([]float64, len(seconds))
	sum := 0.0
	for i, s := range seconds {
		v[i] = s * 1000
		sum += v[i]
	}
	sort.Float64s(v)
	mean, n := sum/float64(len(v)), float64(len(v))
	sq := 0.0
	for _, x := range v {
		sq += (x - mean) * (x - mean)
	}
	q := func(p float64) float64 {
		h := (n - 1) * p
		i := int(h)
		if i+1 >= len(v) {
			return v[len(v)-1]
		}
		return v[i] + (h-float64(i))*(v[i+1]-v[i])
	}
	return map[string]float64{"count": n, "mean": mean, "std": math.Sqrt(sq / n), "min": v[0], "max": v[len(v)-1],
		"p50": q(.5), "p90": q(.9), "p95": q(.95), "p99": q(.99), "p99.9": q(.999)}
}

// TestCorpusSniff recognizes every file of the formats this package reads, and
// no other.
func TestCorpusSniff(t *testing.T) {
	dir := corpus(t)
	ours, others := 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		want := strings.HasPrefix(rel, "vllm_serve/") || strings.HasPrefix(rel, "vllm_sweep/")
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if SniffConsole(b) {
			t.Errorf("%s: taken for a printed table", rel)
		}
		for _, enough := range []func(map[string]bool) bool{nil, DecidedServe} {
			s, err := jsonscan.Probe(path, bytes.NewReader(b), enough)
			if got, why := SniffServe(s.Keys); err != nil || got != want {
				t.Errorf("%s: recognized %v (%s), want %v", rel, got, why, want)
			}
		}
		if !want {
			others++
			return nil
		}
		ours++
		runs, in := readCorpus(t, path)
		if in.Problems.Len() > 0 || len(runs) == 0 {
			t.Errorf("%s: %d runs, problems %v", rel, len(runs), in.Problems.List())
		}
		for _, r := range runs {
			sane(t, r)
			if !r.Model.OK || r.Load.Mode == serving.UnknownLoad || !r.Completed.OK {
				t.Errorf("%s: model %v load %v completed %v", rel, r.Model, r.Load, r.Completed)
			}
		}
		return nil
	})
	if err != nil || ours < 100 || others < 20 {
		t.Errorf("%d files of ours, %d others, %v", ours, others, err)
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCorpus makes a report of every file below VREPORT_CORPUS, alone: whatever
// people keep in such directories, the answer is a report or an error that
// names the file.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no directory of real files")
	}
	out := filepath.Join(t.TempDir(), "r.html")
	made, refused := 0, 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		os.Remove(out)
		var stdout, stderr bytes.Buffer
		status := run([]string{"report", path, "-o", out}, strings.NewReader(""), &stdout, &stderr)
		_, missing := os.Stat(out)
		switch {
		case status == statusDone && missing == nil:
			made++
		case status == statusError && missing != nil && strings.Contains(stderr.String(), path):
			refused++
		default:
			t.Errorf("%s: status %d, output: %v, standard error:\n%s", path, status, missing, &stderr)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reports, %d files refused by name", made, refused)
	if made == 0 {
		t.Error("no report was made")
	}
}

// The H100 sweep of Llama-3.1-8B: the bound of one request and the KV cache of a
// token are known from the model and the card.
func TestCorpusCeilings(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	sweep := filepath.Join(dir, "bench", "vllm_serve", "auro_h100_fp16_8b_1024x512")
	if _, err := os.Stat(sweep); dir == "" || err != nil {
		t.Skip("VREPORT_CORPUS has no H100 sweep")
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", sweep, "--model", "meta-llama/Llama-3.1-8B", "--hardware", "h100-sxm:1", "--json", "-"}, strings.NewReader(""), &stdout, &stderr); status != statusDone {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	for _, want := range []string{`"tokens_per_s_one_request":208.58`, `"kv_bytes_per_token":131072,`, `"ridge_batch":295.2`} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("the report has no %s", want)
		}
	}
}

// A corpusSweep is what a test reads of a sweep in the report's JSON.
type corpusSweep struct {
	Label  string
	Load   string
	XName  string `json:"x_name"`
	Points []struct {
		X       float64
		Run     string
		Users   float64
		PerGPU  float64 `json:"output_tokens_per_s_per_gpu"`
		PerUser float64 `json:"output_tokens_per_s_per_user"`
		TTFT99  float64 `json:"ttft_p99"`
	}
	Regions []struct{ Name string }
	Notes   []string
}

func (s corpusSweep) notes() string { return strings.Join(s.Notes, "\n") }

func (s corpusSweep) queues() bool {
	return slices.ContainsFunc(s.Regions, func(r struct{ Name string }) bool { return r.Name == "queueing" })
}

// corpusSweeps are the sweeps that are found below a part of the corpus.
func corpusSweeps(t *testing.T, part string) []corpusSweep {
	t.Helper()
	dir := os.Getenv("VREPORT_CORPUS")
	path := filepath.Join(dir, "bench", filepath.FromSlash(part))
	if _, err := os.Stat(path); dir == "" || err != nil {
		t.Skip("VREPORT_CORPUS has no " + part)
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", path, "--json", "-"}, strings.NewReader(""), &stdout, &stderr); status != statusDone {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	var rep struct{ Sweeps []corpusSweep }
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	return rep.Sweeps
}

// The H100 sweep was sent at 10 requests/s under a cap: neither an open nor a
// closed loop. With 100 requests the two highest caps are no more load.
func TestCorpusSweepCappedOpen(t *testing.T) {
	ss := corpusSweeps(t, "vllm_serve/auro_h100_fp16_8b_1024x512")
	if len(ss) != 1 || len(ss[0].Points) != 9 || ss[0].Load != "capped-open" || ss[0].XName != "max_concurrency" {
		t.Fatalf("%+v, want one capped-open sweep of nine levels", ss)
	}
	for _, want := range []string{"c128, c256", "no real increase", "Capped-open: 10 requests/s were offered"} {
		if !strings.Contains(ss[0].notes(), want) {
			t.Errorf("notes lack %q:\n%s", want, ss[0].notes())
		}
	}
	for _, p := range ss[0].Points {
		if p.X >= 128 && p.Users > 100 {
			t.Errorf("%g users of %s, which sent 100 requests", p.Users, p.Run)
		}
	}
	if ss[0].queues() {
		t.Error("a queue at caps that were never reached")
	}
}

// The rate sweeps end in an overload with a TTFT of minutes: the queue is seen.
func TestCorpusSweepOverload(t *testing.T) {
	ss := corpusSweeps(t, "vllm_serve/tsho_gemma4_gpu_rate_sweep")
	if len(ss) != 3 {
		t.Fatalf("%d sweeps, want short, medium and long", len(ss))
	}
	minutes := 0
	for _, s := range ss {
		if s.Load != "open" || s.XName != "request_rate" || len(s.Points) != 7 {
			t.Errorf("%s: %s over %s with %d levels, want open over seven rates", s.Label, s.Load, s.XName, len(s.Points))
		}
		if last := s.Points[len(s.Points)-1]; last.TTFT99 > 60_000 {
			minutes++
		}
		if !s.queues() {
			t.Errorf("%s: no queue in an overload", s.Label)
		}
	}
	if minutes == 0 {
		t.Error("no sweep ends in a TTFT of minutes")
	}
}

// InferenceX states the GPUs of each run: the axes are per user and per GPU. Each
// tensor-parallel size is a curve of its own, and so are runs that offload KV
// cache.
func TestCorpusSweepPerGPU(t *testing.T) {
	ss := corpusSweeps(t, "inferencex_agg")
	if len(ss) != 3 {
		t.Fatalf("%d sweeps, want TP 4 with and without offloading, and TP 8", len(ss))
	}
	for _, s := range ss {
		for _, p := range s.Points {
			if p.PerGPU <= 0 || p.PerUser <= 0 {
				t.Errorf("%s at %g: %g tokens/s a GPU, %g a user", s.Label, p.X, p.PerGPU, p.PerUser)
			}
		}
	}
}

// SGLang's results carry their server's arguments, and so the number of GPUs.
func TestCorpusSweepSGLang(t *testing.T) {
	for _, s := range corpusSweeps(t, "sglang_serving") {
		for _, p := range s.Points {
			if strings.HasPrefix(p.Run, "agg_n100") && p.PerGPU <= 0 {
				t.Errorf("%s at %g: not per GPU though server_info has the size", s.Label, p.X)
			}
		}
	}
}

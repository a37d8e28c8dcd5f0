package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCorpusQuality holds the findings about real runs against what is known of
// them.
func TestCorpusQuality(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no directory of real files")
	}
	bench := filepath.Join(dir, "bench")
	for _, tt := range []struct {
		dir, id string
		of      []string // ends of the subjects, all of them
	}{
		{"vllm_serve/auro_h100_fp16_8b_1024x512", "concurrency_above_requests", []string{"c128", "c256"}},
		{"vllm_serve/tsho_gemma4_gpu_rate_sweep", "backlog", []string{
			"long-rate1", "long-rate2", "long-rate4", "long-rate8", "long-rate16", "long-rate32",
			"medium-rate1", "medium-rate2", "medium-rate4", "medium-rate8", "medium-rate16", "medium-rate32",
			"short-rate4", "short-rate8", "short-rate16", "short-rate32"}},
		{"vllm_serve/tsho_gemma4_gpu_rate_sweep", "no_steady_state", []string{"long-rateinf", "medium-rateinf", "short-rateinf"}},
		{"inference_perf/vllm_batch_size", "generator_saturated", []string{"stage_4_lifecycle_metrics", "stage_5_lifecycle_metrics", "stage_6_lifecycle_metrics"}},
		{"aiperf/kimi_tp4", "little", []string{"conc1/profile_export_aiperf", "conc4/profile_export_aiperf", "conc16/profile_export_aiperf"}},
	} {
		t.Run(tt.dir+" "+tt.id, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "r.json")
			var stdout, stderr bytes.Buffer
			if status := run([]string{"report", filepath.Join(bench, tt.dir), "--json", out}, strings.NewReader(""), &stdout, &stderr); status != statusDone {
				t.Fatalf("status %d\n%s", status, &stderr)
			}
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			var report struct {
				Quality []struct{ ID, Subject, Message string }
			}
			if err := json.Unmarshal(b, &report); err != nil {
				t.Fatal(err)
			}
			missing := map[string]bool{}
			for _, s := range tt.of {
				missing[s] = true
			}
			for _, f := range report.Quality {
				if f.ID != tt.id {
					continue
				}
				known := false
				for _, s := range tt.of {
					if strings.HasSuffix(f.Subject, s) {
						known = true
						delete(missing, s)
					}
				}
				if !known {
					t.Errorf("of %s: %s", f.Subject, f.Message)
				}
			}
			for s := range missing {
				t.Errorf("no finding of %s", s)
			}
		})
	}
}

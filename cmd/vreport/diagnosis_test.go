package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two scrapes of a real server, idle and loaded: a request spends 25.9 ms outside
// the engine's stages.
func TestCorpusFrontEnd(t *testing.T) {
	dir := os.Getenv("VREPORT_CORPUS")
	idle, loaded := filepath.Join(dir, "prom", "vllm_0.25.1_idle.txt"), filepath.Join(dir, "prom", "vllm_0.25.1_loaded.txt")
	if _, err := os.Stat(loaded); dir == "" || err != nil {
		t.Skip("VREPORT_CORPUS has no scrapes of an idle and a loaded server")
	}
	var stdout, stderr bytes.Buffer
	if status := run([]string{"report", idle, loaded, "--json", "-"}, strings.NewReader(""), &stdout, &stderr); status != statusDone {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	var rep struct {
		Diagnosis struct {
			Stages []struct {
				Of, Window, Band string
				Frontend         float64
			}
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &rep); err != nil {
		t.Fatal(err)
	}
	for _, s := range rep.Diagnosis.Stages {
		if s.Of == "e2e" && s.Window == "all" {
			if math.Abs(s.Frontend-25.94) > 0.05 {
				t.Errorf("front end %.2f ms, want 25.94", s.Frontend)
			}
			return
		}
	}
	t.Error("E2E was not decomposed")
}

// A limit that no rule has is refused with its place and with what there is.
func TestDiagnosisLimits(t *testing.T) {
	for _, c := range []struct{ limit, want string }{
		{"queue=1", "--diagnosis: no rule asks for \"queue\""},
		{"nobody.queue_share=1", "\"nobody\" is no cause"},
		{"queue_share=x", "\"x\" is no number"},
	} {
		var stdout, stderr bytes.Buffer
		status := run([]string{"report", "nothing.json", "--diagnosis", c.limit}, strings.NewReader(""), &stdout, &stderr)
		if status != statusError || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("--diagnosis %s: status %d, %s; want %q", c.limit, status, &stderr, c.want)
		}
	}
}

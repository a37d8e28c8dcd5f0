//go:build linux

package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// BenchmarkReportMemory reports on a detailed benchmark of 180 MB with 6.4
// million gaps and tells how much memory the whole command took at its peak.
func BenchmarkReportMemory(b *testing.B) {
	dir := b.TempDir()
	in := filepath.Join(dir, "detailed.json")
	if err := writeDetailed(in, 16000, 400); err != nil {
		b.Fatal(err)
	}
	peak := int64(0)
	for b.Loop() {
		cmd := exec.Command("vreport", "report", in, "-o", filepath.Join(dir, "out.html"))
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		peak = max(peak, cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
	}
	b.ReportMetric(float64(peak)/1024, "MiB-peak")
}

// writeDetailed writes a result as vllm bench serve --save-detailed does.
func writeDetailed(path string, requests, gaps int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	r := rand.New(rand.NewPCG(1, 2))
	list := func(name string, value func() string) {
		fmt.Fprintf(w, ", %q: [", name)
		for i := range requests {
			if i > 0 {
				w.WriteString(", ")
			}
			w.WriteString(value())
		}
		w.WriteString("]")
	}
	fmt.Fprintf(w, `{"backend": "vllm", "model_id": "m", "num_prompts": %d, "request_rate": "inf", "max_concurrency": 256, "duration": 800.0, "completed": %[1]d, `+
		`"request_throughput": 20.0, "mean_ttft_ms": 125.0`, requests)
	start := 0.0
	list("input_lens", func() string { return "500" })
	list("output_lens", func() string { return fmt.Sprint(gaps + 1) })
	list("ttfts", func() string { return fmt.Sprint(0.05 + 0.15*r.Float64()) })
	list("start_times", func() string { start += 0.05 * r.ExpFloat64(); return fmt.Sprint(start) })
	list("itls", func() string {
		row := make([]string, gaps)
		for i := range row {
			row[i] = fmt.Sprint(0.02 + 0.005*r.NormFloat64()*r.Float64())
		}
		return "[" + strings.Join(row, ", ") + "]"
	})
	text := strings.Repeat("the quick brown fox jumps over the lazy dog ", 61)
	list("generated_texts", func() string { return fmt.Sprintf("%q", text) })
	list("errors", func() string { return `""` })
	w.WriteString("}\n")
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

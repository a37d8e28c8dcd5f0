package trtllm

import (
	"bytes"
	"encoding/csv"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
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

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestCorpusText compares each report with the table that the tool's users made
// of the same files.
func TestCorpusText(t *testing.T) {
	dir := filepath.Join(corpus(t), "bench/trtllm_bench_txt")
	rows, err := csv.NewReader(bytes.NewReader(readAll(t, filepath.Join(dir, "throughput_summary.csv")))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{}
	for _, r := range rows {
		table["result_"+r[0]+"_"+r[1]+"_"+r[2]+".txt"] = r
	}
	paths, _ := filepath.Glob(filepath.Join(dir, "result_*.txt"))
	if len(paths) < 11 {
		t.Fatalf("%d files", len(paths))
	}
	compared := 0
	for _, path := range paths {
		runs, in := textRuns(t, path, string(readAll(t, path)))
		if len(runs) != 1 || in.Problems.Len() != 0 {
			t.Errorf("%s: %d runs, %v", path, len(runs), in.Problems.List())
			continue
		}
		r := runs[0]
		if r.GPUs != serving.Some(8) || r.Model.V != "meta-llama/Llama-3.1-70B-Instruct" || r.Version.V != "0.16.0" || r.Load.Mode != serving.ClosedLoop || !r.Load.Unlimited {
			t.Errorf("%s: %+v", path, r)
		}
		out, _ := r.ReportedValue(serving.RateOutput, "")
		if got := float64(r.Output.V) / r.Duration.V; !r.Output.OK || math.Abs(got-out) > 1e-4*out {
			t.Errorf("%s: %v output tokens/s, the file says %v", path, got, out)
		}
		row := table[filepath.Base(path)]
		if row == nil {
			continue
		}
		compared++
		rate, _ := r.ReportedValue(serving.RateRequests, "")
		if tokens, _ := strconv.ParseFloat(row[3], 64); tokens != out {
			t.Errorf("%s: %v tokens/s, want %v", path, out, tokens)
		}
		if want, _ := strconv.ParseFloat(row[4], 64); want != rate {
			t.Errorf("%s: %v requests/s, want %v", path, rate, want)
		}
	}
	if compared < 5 {
		t.Errorf("only %d files stand in the table", compared)
	}
}

// TestCorpusSniff recognizes every file of this format and no other.
func TestCorpusSniff(t *testing.T) {
	dir := corpus(t)
	n := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		rel, _ := filepath.Rel(filepath.Join(dir, "bench"), path)
		b := readAll(t, path)
		head := b[:min(len(b), 256<<10)]
		if got, want := SniffText(head), strings.HasPrefix(rel, "trtllm_bench_txt/result_"); got != want {
			t.Errorf("%s: recognized %v, want %v", rel, got, want)
		}
		if h := bytes.TrimSpace(head); len(h) > 0 && (h[0] == '{' || h[0] == '[') {
			s, _ := jsonscan.Probe(path, bytes.NewReader(b), nil)
			if ok, _ := SniffReport(s.Keys); ok {
				t.Errorf("%s: taken for a report", rel)
			}
			if ok, _ := SniffRequests(s.Keys); ok {
				t.Errorf("%s: taken for requests", rel)
			}
		}
		return nil
	})
	if err != nil || n < 250 {
		t.Errorf("%d files, %v", n, err)
	}
}

package guidellm

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no corpus")
	}
	return dir
}

// TestCorpusSniff recognizes GuideLLM's files and no other.
func TestCorpusSniff(t *testing.T) {
	dir := corpus(t)
	ours, others := 0, 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want := strings.Contains(path, "/guidellm/")
		if got, why := Sniff(path, bytes.NewReader(b)); got != want {
			t.Errorf("%s: recognized %v (%s)", path, got, why)
		}
		if !want {
			others++
			return nil
		}
		ours++
		in := &serving.Input{}
		runs, err := Decode(t.Context(), path, bytes.NewReader(b), in)
		if err != nil || len(runs) == 0 || in.Problems.Len() > 0 {
			t.Errorf("%s: %d runs, %v, %v", path, len(runs), err, in.Problems.List())
		}
		for _, r := range runs {
			if r.Load.Mode == serving.UnknownLoad || !r.Model.OK || r.Completed.V == 0 || !r.Duration.OK {
				t.Errorf("%s: load %v model %v completed %v duration %v", path, r.Load, r.Model, r.Completed, r.Duration)
			}
		}
		return nil
	})
	if err != nil || ours < 2 || others < 200 {
		t.Errorf("%d files of ours, %d others, %v", ours, others, err)
	}
}

// TestCorpusFigures compares what the requests give with an independent reading
// of the file and with the file's own aggregates.
func TestCorpusFigures(t *testing.T) {
	path := filepath.Join(corpus(t), "bench/guidellm/v0.3_constant10_609req.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := Decode(t.Context(), path, bytes.NewReader(b), &serving.Input{})
	if err != nil {
		t.Fatal(err)
	}
	r := runs[0]
	if r.Requests == nil || len(r.Notes) != 0 || r.Sent.V != 609 || r.Completed.V != 586 || r.Failed.V != 0 {
		t.Fatalf("requests %v, notes %v, counts %v %v %v", r.Requests, r.Notes, r.Sent, r.Completed, r.Failed)
	}
	var file struct {
		Benchmarks []struct {
			Requests struct {
				Successful []struct {
					Output int     `json:"output_tokens"`
					First  float64 `json:"first_token_time"`
					Last   float64 `json:"last_token_time"`
					Start  float64 `json:"start_time"`
					End    float64 `json:"end_time"`
				}
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string][]float64{}
	for _, q := range file.Benchmarks[0].Requests.Successful {
		want["ttft"] = append(want["ttft"], q.First-q.Start)
		want["tpot"] = append(want["tpot"], (q.Last-q.First)/float64(q.Output-1))
		want["e2e"] = append(want["e2e"], q.End-q.Start)
	}
	outcome := columnOf(t, r, "outcome")
	for name, m := range map[string]serving.MetricKey{"ttft": serving.TTFT, "tpot": serving.TPOT, "e2e": serving.E2E} {
		var got []float64
		sum := 0.0
		for i, v := range columnOf(t, r, name) {
			if outcome[i] == 0 {
				got = append(got, v)
				sum += v
			}
		}
		slices.Sort(got)
		slices.Sort(want[name])
		for i := range want[name] {
			if math.Abs(got[i]-want[name][i]) > 1e-9 {
				t.Fatalf("%s: sorted value %d is %v, want %v", name, i, got[i], want[name][i])
			}
		}
		if mean, ok := r.ReportedValue(m, "mean"); !ok || math.Abs(sum/586-mean) > 1e-9 {
			t.Errorf("%s: mean %v, the file says %v", name, sum/586, mean)
		}
	}
}

package aiperf

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

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// corpus returns the folder of real AIPerf files.
func corpus(t *testing.T) string {
	dir := os.Getenv("VREPORT_CORPUS")
	if dir == "" {
		t.Skip("VREPORT_CORPUS names no corpus")
	}
	return filepath.Join(dir, "bench", "aiperf")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// floatsOf reads a number column of the completed requests of the run itself, in
// seconds, gaps pooled.
func floatsOf(t *testing.T, src serving.Requests, name string) []float64 {
	t.Helper()
	var out []float64
	phases := src.Dict(serving.ColPhase)
	for _, p := range src.Parts() {
		err := p.Scan(t.Context(), []string{name, serving.ColOutcome, serving.ColPhase}, nil, func(b *serving.Batch) error {
			for i := range b.N {
				v := &b.Cols[0]
				if b.Cols[1].Codes[i] != int32(serving.OK) || isWarmup(phases.Name(b.Cols[2].Codes[i])) || !v.Has(i) {
					continue
				}
				switch {
				case v.Kind == serving.KindGaps:
					out = append(out, v.Floats[v.Offsets[i]:v.Offsets[i+1]]...)
				case v.Ints != nil:
					out = append(out, float64(v.Ints[i]))
				default:
					out = append(out, v.Floats[i])
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The summaries that AIPerf made of these requests are an independent program's
// figures: mean, population deviation and interpolated quantiles must come out.
func TestCorpusFigures(t *testing.T) {
	dir := corpus(t)
	checked := 0
	for _, sub := range []string{"kimi_tp4/conc1", "v0.2_run1_cancellations"} {
		records, in := decodeRecords(t, readFile(t, filepath.Join(dir, sub, "profile_export.jsonl")))
		summary, _ := decodeSummary(t, readFile(t, filepath.Join(dir, sub, "profile_export_aiperf.json")))
		if in.Problems.Len() > 0 {
			t.Errorf("%s: %v", sub, in.Problems.List())
		}
		if !SameRun(summary, records) {
			t.Errorf("%s: the summary and the records are two runs", sub)
		}
		if records.Completed != summary.Completed || records.Failed != summary.Failed || records.Output != summary.Output || records.Input != summary.Input {
			t.Errorf("%s: counts %v %v %v %v of the records, %v %v %v %v of the summary", sub, records.Completed, records.Failed, records.Input, records.Output,
				summary.Completed, summary.Failed, summary.Input, summary.Output)
		}
		if math.Abs(records.Duration.V-summary.Duration.V) > 1e-3*summary.Duration.V {
			t.Errorf("%s: duration %v, the summary has %v", sub, records.Duration.V, summary.Duration.V)
		}
		for _, m := range []serving.MetricKey{serving.TTFT, serving.TPOT, serving.ITL, serving.E2E, serving.PromptTokens, serving.OutputTokens} {
			v := floatsOf(t, records.Requests, string(m))
			for _, stat := range []string{"mean", "std", "min", "max", "p50", "p90", "p99"} {
				want, ok := summary.ReportedValue(m, stat)
				if !ok {
					continue
				}
				if got := statistics(v, stat); math.Abs(got-want) > 1e-9*math.Max(math.Abs(want), 1) {
					t.Errorf("%s: %s %s of %d is %v, AIPerf has %v", sub, m, stat, len(v), got, want)
				}
				checked++
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d figures were compared", checked)
	}
}

// statistics computes what numpy does.
func statistics(v []float64, stat string) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	n := float64(len(v))
	mean := 0.0
	for _, x := range v {
		mean += x / n
	}
	switch stat {
	case "mean":
		return mean
	case "std":
		s := 0.0
		for _, x := range v {
			s += (x - mean) * (x - mean) / n
		}
		return math.Sqrt(s)
	case "min":
		return v[0]
	case "max":
		return v[len(v)-1]
	}
	q, _ := serving.QuantileOf(stat)
	at := q * (n - 1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// Each CSV is the twin of the JSON beside it, of every version.
func TestCorpusTwins(t *testing.T) {
	dir := corpus(t)
	paths, _ := filepath.Glob(filepath.Join(dir, "*", "*", "profile_export_aiperf.csv"))
	flat, _ := filepath.Glob(filepath.Join(dir, "*", "profile_export_aiperf.csv"))
	for _, path := range append(paths, flat...) {
		c, in := decodeSummary(t, readFile(t, path))
		j, _ := decodeSummary(t, readFile(t, strings.TrimSuffix(path, "csv")+"json"))
		if !SameRun(j, c) || in.Problems.Len() > 0 {
			t.Errorf("%s is another run than its JSON; %v", path, in.Problems.List())
		}
		if !rounds(c, j) {
			t.Errorf("%s: a figure is not the JSON's rounded", path)
		}
	}
	if len(paths)+len(flat) < 4 {
		t.Errorf("only %d CSV files", len(paths)+len(flat))
	}
}

// The last reading of each GPU, taken by encoding/json.
func TestCorpusTelemetry(t *testing.T) {
	dir := corpus(t)
	text := readFile(t, filepath.Join(dir, "qwen_concurrency1", "gpu_telemetry_export.jsonl"))
	servers, in := decodeTelemetry(t, text)
	if len(servers) != 1 || in.Records != 20 || len(servers[0].Times) != 10 {
		t.Fatalf("%d servers of %d records, want one GPU once at ten times", len(servers), in.Records)
	}
	var first struct {
		TimestampNS int64              `json:"timestamp_ns"`
		Data        map[string]float64 `json:"telemetry_data"`
	}
	line, _, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil {
		t.Fatal(err)
	}
	s := servers[0]
	for name, want := range map[serving.SeriesName]float64{serving.GPUUtil: first.Data["gpu_utilization"] / 100,
		serving.GPUMemoryUsed: first.Data["gpu_memory_used"] * 1e9, serving.GPUPower: first.Data["gpu_power_usage"]} {
		if g := s.GaugeOf(name); g == nil || math.Abs(g.Values[0]-want) > 1e-9*want || s.Times[0] != first.TimestampNS {
			t.Errorf("%s is %v, want %v", name, g, want)
		}
	}
}

// sniff says what the sniffers take a file for.
func sniff(t *testing.T, path string, text []byte) string {
	t.Helper()
	head := text[:min(len(text), 256<<10)]
	var keys map[string]bool
	if trimmed := bytes.TrimLeft(head, " \r\n\t"); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		shape, err := jsonscan.Probe(path, bytes.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		keys = shape.Keys
		may := func(ok bool, _ string) bool { return ok }
		switch {
		case may(MayBeRecords(head)) && may(SniffRecords(keys, head)):
			return FormatRecords
		case may(MayBeTelemetry(head)) && may(SniffTelemetry(keys)):
			return FormatTelemetry
		case may(MayBeMetrics(head)) && (may(SniffMetricsLines(keys)) || may(SniffMetricsJSON(keys, head))):
			return FormatServerMetrics
		case may(MayBeSummary(head)):
			tool, _ := SniffSummary(keys, head)
			return string(tool)
		}
		return ""
	}
	if ok, _ := SniffMetricsCSV(head); ok {
		return FormatServerMetrics
	}
	tool, _ := SniffSummaryCSV(head)
	return string(tool)
}

// No other tool's file is taken for one of these, and all of these are.
func TestCorpusSniff(t *testing.T) {
	corpus(t)
	ours := map[string]string{
		"profile_export.jsonl": FormatRecords, "profile_export_aiperf.json": FormatSummary, "profile_export_aiperf.csv": FormatSummary,
		"server_metrics_export.csv": FormatServerMetrics, "gpu_telemetry_export.jsonl": FormatTelemetry,
	}
	taken, files := 0, 0
	err := filepath.WalkDir(os.Getenv("VREPORT_CORPUS"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		want := ""
		if strings.Contains(path, "/aiperf/") {
			want = ours[filepath.Base(path)]
		}
		got := sniff(t, path, b)
		if got != want {
			t.Errorf("%s is taken for %q, want %q", path, got, want)
		}
		if got != "" {
			taken++
		}
		return nil
	})
	if err != nil || taken < 15 || files < 200 {
		t.Errorf("%d of %d files taken, %v", taken, files, err)
	}
}

// TestCorpusConsole holds the printed tables against the JSON summaries: every
// figure is the same to two decimals.
func TestCorpusConsole(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "*", "*", "profile_export_console.txt"))
	for _, path := range paths {
		runs, err := DecodeConsole(t.Context(), path, strings.NewReader(readFile(t, path)), &serving.Input{})
		if err != nil || len(runs) != 1 {
			t.Fatalf("%s: %d runs, %v", path, len(runs), err)
		}
		full := strings.Replace(path, "_console.txt", "_aiperf.json", 1)
		want, err := DecodeSummary(t.Context(), full, strings.NewReader(readFile(t, full)), &serving.Input{})
		if err != nil {
			t.Fatal(err)
		}
		if !rounds(runs[0], want[0]) || len(runs[0].Reported) < 60 {
			t.Errorf("%s: %d figures, which are not those of the JSON rounded", path, len(runs[0].Reported))
		}
	}
	if len(paths) == 0 {
		t.Error("no printed table in the corpus")
	}
}

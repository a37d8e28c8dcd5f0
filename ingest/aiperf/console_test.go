package aiperf

import (
	"context"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

const printed = `10:00:00 INFO  profiling is complete

                        NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━━━━┳━━━━━━━━┓
┃                         Metric ┃       avg ┃    min ┃        max ┃    p99 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━━━╇━━━━━━━━┩
│       Time to First Token (ms) │ 10,259.11 │ 106.84 │ 169,384.65 │ 946.00 │
│           Request Latency (ms) │ 25,463.40 │ 283.28 │ 280,391.16 │ 905.27 │
│ Output Token Throughput Per    │     76.29 │  45.37 │     102.47 │ 101.56 │
│         User (tokens/sec/user) │           │        │            │        │
│  Request Throughput            │      2.50 │    N/A │        N/A │    N/A │
│                 (requests/sec) │           │        │            │        │
│       Request Count (requests) │    195.00 │    N/A │        N/A │    N/A │
└────────────────────────────────┴───────────┴────────┴────────────┴────────┘
                 NVIDIA AIPerf | GPU Telemetry
┃ GPU ┃ Power ┃ x ┃ y ┃ z ┃
│ 0   │ 300   │ 1 │ 2 │ 3 │
`

const printedGenAI = `
                    NVIDIA GenAI-Perf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
┃                Statistic ┃    avg ┃    min ┃    max ┃    p99 ┃
│ Time To First Token (ms) │  16.26 │  12.39 │  17.25 │  17.09 │
│     Request Latency (ms) │ 322.36 │ 311.42 │ 327.03 │ 326.71 │
└──────────────────────────┴────────┴────────┴────────┴────────┘
`

func console(t *testing.T, text string) []*serving.Run {
	t.Helper()
	in := &serving.Input{}
	runs, err := DecodeConsole(context.Background(), "c.txt", strings.NewReader(text), in)
	if err != nil {
		t.Fatal(err)
	}
	if in.Problems.Len() != 0 || in.Records != int64(len(runs)) {
		t.Errorf("%d records of %d runs, problems %v", in.Records, len(runs), in.Problems.List())
	}
	return runs
}

func TestConsole(t *testing.T) {
	runs := console(t, printed)
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	r := runs[0]
	if r.Completed.V != 195 || r.Source.Line != 7 || r.GPUs.OK || r.Load.Mode != serving.UnknownLoad {
		t.Errorf("completed %v, line %d, GPUs %v, load %v", r.Completed, r.Source.Line, r.GPUs, r.Load.Mode)
	}
	for _, c := range []struct {
		metric serving.MetricKey
		stat   string
		want   float64
	}{
		{"ttft", "mean", 10259.11}, {"ttft", "max", 169384.65}, {"ttft", "p99", 946}, {"e2e", "min", 283.28},
		{perUser, "p99", 101.56}, // its title goes on in a second row
		{"requests_per_s", "", 2.5},
	} {
		found := false
		for _, x := range r.Reported {
			if x.Metric == c.metric && x.Stat == c.stat {
				found = true
				if x.File != c.want {
					t.Errorf("%s %s is %v, want %v", c.metric, c.stat, x.File, c.want)
				}
			}
		}
		if !found {
			t.Errorf("no %s %s among %v", c.metric, c.stat, r.Reported)
		}
	}
}

// Two runs in one text are two.
func TestConsoleOfSeveralRuns(t *testing.T) {
	runs := console(t, printed+printed)
	if len(runs) != 2 || runs[0].Source.Line == runs[1].Source.Line || len(runs[0].Reported) != len(runs[1].Reported) {
		t.Fatalf("%d runs, want 2 alike at different lines", len(runs))
	}
}

func TestSniffConsole(t *testing.T) {
	for _, c := range []struct {
		text string
		want Tool
	}{
		{printed, AIPerf},
		{printedGenAI, GenAIPerf},
		{"NVIDIA AIPerf | LLM Metrics, said the manual", ""},
		{"┃ Metric ┃ avg ┃\n│ loss │ 1 │\n", ""},
	} {
		if got, why := SniffConsole([]byte(c.text)); got != c.want || (got == "") == (why == "") {
			t.Errorf("%.40q is of %q (%s), want %q", c.text, got, why, c.want)
		}
	}
	if runs := console(t, printedGenAI); len(runs) != 1 || len(runs[0].Reported) != 8 {
		t.Errorf("GenAI-Perf's table gives %d runs", len(runs))
	}
}

func TestConsoleWithoutRows(t *testing.T) {
	_, err := DecodeConsole(context.Background(), "c.txt", strings.NewReader("NVIDIA AIPerf | LLM Metrics\n┃ Metric ┃ avg ┃\n"), &serving.Input{})
	if err == nil || !strings.Contains(err.Error(), "c.txt") {
		t.Errorf("error %v, want one that names the file", err)
	}
}

func FuzzConsole(f *testing.F) {
	f.Add(printed)
	f.Add(printedGenAI)
	f.Add(printed + printedGenAI)
	f.Add("┃ Metric ┃ avg ┃\n│ a │ 1 │\n│ b │ │\n│ a │ x │\n")
	f.Fuzz(func(t *testing.T, s string) {
		in := &serving.Input{}
		runs, err := DecodeConsole(context.Background(), "c.txt", strings.NewReader(s), in)
		if (err == nil) != (len(runs) > 0) {
			t.Fatalf("%d runs and error %v", len(runs), err)
		}
		for _, r := range runs {
			for _, x := range r.Reported {
				if x.File-x.File != 0 {
					t.Fatalf("%s %s is %v", x.Metric, x.Stat, x.File)
				}
			}
		}
	})
}

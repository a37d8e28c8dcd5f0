package prom

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func seeds(f *testing.F) {
	for _, s := range []string{
		small, scrapeAt(1) + scrapeAt(2), grep(small, "vllm:", "#"), "HTTP/1.1 200 OK\na: b\n\n" + small,
		"\ufeffvllm:num_requests_running 1", "{\"vllm:num_requests_running\",engine=\"0\"} 1 5\n", "a{b=\"\\\"\\\\\\n\"} NaN\n",
		"vllm:x{", "vllm:x{a=\"", "{\"", "{\"}\"} 1", "a\x00 1\n", "a{b=\"\x00", "# Timestamp: 1764417600\nvllm:kv_cache_usage_perc -1\n",
		"vllm:time_to_first_token_seconds_bucket{le=\"NaN\"} 1\n", "1764417600\nvllm:num_requests_running 1\n# EOF\nvllm:num_requests_running 1\n",
		"vllm:num_requests_running{pod=\"a\"} 1\nvllm:num_requests_waiting 1\nprocess_start_time_seconds 1e9\nhttp_requests_total{status=\"2xx\"} 1\n",
		"vllm:num_requests_running 1 9e15\n", "vllm:num_requests_running 1 -9e15\nvllm:num_requests_running 1 9007199254740993\n",
	} {
		f.Add([]byte(s))
	}
}

// FuzzParse holds whatever is read to what the rest of the program relies on.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		// Each input meets a decoder that knows nothing, and then one that knows
		// it; what other inputs left behind would make coverage a matter of luck.
		decoders.free = nil
		in := &serving.Input{}
		scrapes, err := Parse(context.Background(), "f.prom", bytes.NewReader(b), in)
		if err != nil {
			return
		}
		if in.Records != int64(len(scrapes)) || len(scrapes) == 0 {
			t.Fatalf("%d records, %d scrapes", in.Records, len(scrapes))
		}
		again := &serving.Input{}
		if s, err := Parse(context.Background(), "f.prom", bytes.NewReader(b), again); err != nil || len(s) != len(scrapes) || len(again.Problems.List()) != len(in.Problems.List()) {
			t.Fatalf("a second reading differs: %d scrapes, then %d, %v", len(scrapes), len(s), err)
		}
		servers, _ := Assemble(scrapes, AssembleOptions{})
		for _, s := range servers {
			checkServer(t, s)
		}
	})
}

func checkServer(t *testing.T, s *serving.Server) {
	t.Helper()
	n := len(s.Times)
	if n == 0 || s.TimeRule == "" || s.Label == "" || len(s.Sources) == 0 {
		t.Fatalf("incomplete server %+v", s)
	}
	for i := 1; i < n; i++ {
		if s.Times[i] <= s.Times[i-1] {
			t.Fatalf("times do not ascend: %v", s.Times)
		}
	}
	for _, g := range s.Gauges {
		if len(g.Values) != n || !strings.HasPrefix(g.PromQL, g.From) {
			t.Fatalf("gauge %+v", g)
		}
		for _, v := range g.Values {
			if g.Unit == serving.Share && (v < 0 || v > 1+1e-6) {
				t.Fatalf("share %v", v)
			}
		}
	}
	for _, c := range s.Counters {
		if len(c.Values) != n {
			t.Fatalf("counter %+v", c)
		}
	}
	for _, h := range s.Histograms {
		if len(h.Counts) != n || len(h.Sum) != n || len(h.Count) != n {
			t.Fatalf("histogram %+v", h)
		}
		for i, b := range h.Bounds {
			if math.IsNaN(b) || i > 0 && b <= h.Bounds[i-1] {
				t.Fatalf("bounds %v", h.Bounds)
			}
		}
		for _, row := range h.Counts {
			if row != nil && len(row) != len(h.Bounds) {
				t.Fatalf("row %v of %v", row, h.Bounds)
			}
		}
	}
}

func FuzzSniff(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if !Sniff(b) {
			return
		}
		decoders.free = nil
		// What is recognized can be read, but for a single line cut in its number.
		b = append(bytes.Clone(b), '\n')
		if _, err := Parse(context.Background(), "f.prom", bytes.NewReader(b), &serving.Input{}); err != nil {
			t.Fatalf("recognized, but %v", err)
		}
	})
}

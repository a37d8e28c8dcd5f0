package prom

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

func TestPoll(t *testing.T) {
	for _, c := range []struct {
		name, text string
		dec        decoding
		times      []int64
		relative   bool
		gauges     map[serving.SeriesName][]float64
		counters   map[serving.SeriesName][]float64
	}{
		{"seconds", "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n1.0,3392.0,2.0,5,2,13.22\n2.5,9045.0,79.0,16,0,0.5\n", DecodeCSV, []int64{1e9, 25e8}, true,
			map[serving.SeriesName][]float64{serving.Running: {5, 16}, serving.Waiting: {2, 0}, serving.KVUsage: {0.1322, 0.005}, serving.PromptRate: {3392, 9045}, serving.GenerationRate: {2, 79}}, nil},
		{"shares", "timestamp,kv_cache_usage,num_requests_running,preemptions,my_gauge\n1760000000,0.25,1,4,9\n1760000001,0.5,2,5,\n", DecodeCSV, []int64{1760000000e9, 1760000001e9}, false,
			map[serving.SeriesName][]float64{serving.KVUsage: {0.25, 0.5}, serving.Running: {1, 2}, "my_gauge": {9, math.NaN()}},
			map[serving.SeriesName][]float64{serving.Preemptions: {4, 5}}},
		{"prefixes", "ts;vllm:num_requests_running;vllm:prompt_tokens;vllm:kv_cache_usage_perc\n2026-01-05T10:00:00Z;1;100;12.5\n2026-01-05T10:00:01Z;2;200;50\n", DecodeCSV, []int64{1767607200e9, 1767607201e9}, false,
			map[serving.SeriesName][]float64{serving.Running: {1, 2}, serving.KVUsage: {0.125, 0.5}}, map[serving.SeriesName][]float64{serving.PromptTotal: {100, 200}}},
		{"grafana", "sep=,\n\"Time\",\"p99\",\"KV cache\",\"rate\"\n\"2026-01-05 10:00:00\",\"900 ms\",\"12%\",\"1.5 K req/s\"\n\"2026-01-05 10:00:15\",\"1.2 s\",\"\",\"2 req/s\"\n", DecodeCSV, []int64{1767607200e9, 1767607215e9}, false,
			map[serving.SeriesName][]float64{"p99": {0.9, 1.2}, serving.KVUsage: {0.12, math.NaN()}, "rate": {1500, 2}}, nil},
		{"nvidia-smi", "timestamp, index, utilization.gpu [%], memory.used [MiB], power.draw [W]\n2026/01/05 10:00:00.000, 0, 50 %, 1024 MiB, 100.5 W\n2026/01/05 10:00:00.000, 1, 100 %, 1024 MiB, [N/A]\n", DecodeCSV, []int64{1767607200e9}, false,
			map[serving.SeriesName][]float64{serving.GPUUtil: {0.75}, serving.GPUMemoryUsed: {2048 << 20}, serving.GPUPower: {100.5}}, nil},
		{"lines", `{"ts": 1760000000.5, "metrics": {"vllm:num_requests_waiting": 3, "DCGM_FI_DEV_GPU_UTIL": 72}, "sequence": 0}` + "\n" + `{"ts": 1760000001.5, "metrics": {"vllm:num_requests_waiting": null, "DCGM_FI_DEV_GPU_UTIL": 1}, "sequence": 1}`, DecodeJSONPoll,
			[]int64{17600000005e8, 17600000015e8}, false, map[serving.SeriesName][]float64{serving.Waiting: {3, math.NaN()}, serving.GPUUtil: {0.72, 0.01}}, nil},
	} {
		scrapes, in := decoded(t, c.dec, c.name, c.text)
		servers, ps := Assemble(scrapes, AssembleOptions{})
		if len(servers) != 1 || len(ps) > 0 || in.Problems.Len() > 0 {
			t.Errorf("%s: %d servers, problems %v %v", c.name, len(servers), ps, in.Problems.List())
			continue
		}
		s := servers[0]
		if !slices.Equal(s.Times, c.times) || s.Relative != c.relative {
			t.Errorf("%s: times %v, relative %v (%s)", c.name, s.Times, s.Relative, s.TimeRule)
		}
		for n, want := range c.gauges {
			if g := s.GaugeOf(n); g == nil || !slices.EqualFunc(g.Values, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) || math.IsNaN(a) && math.IsNaN(b) }) {
				t.Errorf("%s: %s is %v, want %v", c.name, n, g, want)
			}
		}
		for n, want := range c.counters {
			if x := counterNamed(s, n); x == nil || !slices.Equal(x.Values, want) {
				t.Errorf("%s: %s is %v, want %v", c.name, n, x, want)
			}
		}
		sniff := SniffCSV
		if strings.HasPrefix(c.text, "{") {
			sniff = SniffJSONPoll
		}
		if ok, why := sniff([]byte(c.text)); !ok {
			t.Errorf("%s is not recognized: %s", c.name, why)
		}
	}
}

// A wide table of unknown numbers is no report, and rows that are damaged do not
// lose the others.
func TestPollTrouble(t *testing.T) {
	head, row := "time,running", "1,2"
	for i := range 40 {
		head += ",x" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		row += ",1"
	}
	_, in := decoded(t, DecodeCSV, "wide", head+"\n"+row+"\n"+"2,3\nnever"+strings.TrimPrefix(row, "1")+"\n")
	used := 0
	for _, f := range in.Fields {
		if f.As != "" {
			used++
		}
	}
	if used != 2 || in.Records != 1 || in.Problems.Len() != 2 {
		t.Errorf("%d used, %d rows, problems %v", used, in.Records, in.Problems.List())
	}
	for _, text := range []string{"a,b\n1,2\n", "time\n1\n", "time,note\n1,x\n", "timestamp,input_length,output_length\n1,2,3\n", "", "time,running\nnow,1\n"} {
		if ok, why := SniffCSV([]byte(text)); ok || why == "" {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestQuantity(t *testing.T) {
	for s, want := range map[string]quantity{"12.5": {12.5, ""}, "1,234": {1234, ""}, "3.2 ms": {3.2, "ms"}, "45%": {45, "%"}, "1e-3": {1e-3, ""}, "2 K req/s": {2000, "req/s"}} {
		if q, ok := parseQuantity(s); !ok || q != want {
			t.Errorf("%q: %v %v", s, q, ok)
		}
	}
	for _, s := range []string{"", "x", "0,53", "3 apples", "1,23", "-"} {
		if q, ok := parseQuantity(s); ok {
			t.Errorf("%q: %v", s, q)
		}
	}
}

// A quote that is never closed does not load the rest of a file into one cell.
func TestUnclosedQuote(t *testing.T) {
	text := "time,running\n1,2\n2,\"" + strings.Repeat("3\n", 16<<20)
	scrapes, in := decoded(t, DecodeCSV, "x", text)
	if ps := in.Problems.List(); len(scrapes) != 1 || len(ps) != 1 || !strings.HasPrefix(ps[0].String(), "x:3: a record of more than 16 MiB") {
		t.Error(len(scrapes), ps)
	}
}

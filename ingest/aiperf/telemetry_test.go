package aiperf

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

func reading(t int64, url, index, uuid string, util, gb, watt float64) string {
	return fmt.Sprintf(`{"timestamp_ns":%d,"dcgm_url":"http://%s/metrics","gpu_index":%s,"gpu_uuid":%q,"gpu_model_name":"RTX","hostname":"h","telemetry_data":{"gpu_power_usage":%g,"gpu_utilization":%g,"gpu_memory_used":%g,"memory_temperature":0.0}}`,
		t, url, index, uuid, watt, util, gb) + "\n"
}

const t0 = 1760000000000000000

func decodeTelemetry(t *testing.T, text string) ([]*serving.Server, *serving.Input) {
	t.Helper()
	in := &serving.Input{}
	servers, err := DecodeTelemetry(t.Context(), "gpu.jsonl", strings.NewReader(text), in)
	if err != nil {
		t.Fatal(err)
	}
	return servers, in
}

func TestTelemetry(t *testing.T) {
	text := reading(t0, "h:9400", "0", "A", 50, 40, 100) + reading(t0, "h:9400", "1", "B", 100, 41.5, 200) +
		reading(t0+1, "h:9402", "0", "A", 99, 99, 99) + // the same GPU again
		reading(t0+333, "h:9400", "0", "A", 60, 40, 110) + reading(t0+333, "h:9400", "1", "B", 0, 0, 0)
	servers, in := decodeTelemetry(t, text)
	if len(servers) != 1 || !strings.Contains(in.Note, "counted once") {
		t.Fatalf("%d servers, note %q, want one: a GPU of two exporters counts once", len(servers), in.Note)
	}
	s := servers[0]
	if d := cmp.Diff([]int64{t0, t0 + 333}, s.Times); d != "" {
		t.Error(d)
	}
	want := map[string][]float64{
		"gpu_util []": {0.75, 0.3}, "gpu_util [{gpu 0}]": {0.5, 0.6}, "gpu_util [{gpu 1}]": {1, 0},
		"gpu_memory_used []": {81.5e9, 40e9}, "gpu_memory_used [{gpu 0}]": {40e9, 40e9}, "gpu_memory_used [{gpu 1}]": {41.5e9, 0},
		"gpu_power []": {300, 110}, "gpu_power [{gpu 0}]": {100, 110}, "gpu_power [{gpu 1}]": {200, 0},
	}
	got := map[string][]float64{}
	for _, g := range s.Gauges {
		got[fmt.Sprint(g.Name, " ", g.By)] = g.Values
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestTelemetryDamaged(t *testing.T) {
	text := reading(t0, "h:9400", "0", "A", 50, 40, 100) + "{broken\n" + reading(5, "h:9400", "0", "A", 50, 40, 100) +
		reading(t0+1, "h:9400", "0", "A", 1e19, 40, -1) + `{"timestamp_ns":1760000000000000000,"telemetry_data":{}}` + "\n"
	servers, in := decodeTelemetry(t, text)
	if len(servers) != 1 || len(servers[0].Times) != 2 {
		t.Fatalf("%d servers", len(servers))
	}
	for _, g := range servers[0].Gauges {
		if g.Name != serving.GPUMemoryUsed && !math.IsNaN(g.Values[1]) {
			t.Errorf("%s is %v where the reading cannot be", g.Name, g.Values[1])
		}
	}
	if in.Problems.Len() != 5 {
		t.Errorf("problems %v, want 5: a broken line, a time, no GPU, two readings", in.Problems.List())
	}
	if _, err := DecodeTelemetry(t.Context(), "x", strings.NewReader("{}"), &serving.Input{}); err == nil {
		t.Error("no reading and no error")
	}
}

func FuzzTelemetry(f *testing.F) {
	f.Add(reading(t0, "h:9400", "0", "A", 50, 40, 100) + reading(t0+333, "h:9402", "1", "B", 1, 2, 3))
	f.Fuzz(func(t *testing.T, s string) {
		servers, _ := DecodeTelemetry(t.Context(), "x", strings.NewReader(s), &serving.Input{})
		for _, s := range servers {
			for _, g := range s.Gauges {
				if len(g.Values) != len(s.Times) {
					t.Errorf("%s has %d values at %d times", g.Name, len(g.Values), len(s.Times))
				}
			}
		}
	})
}

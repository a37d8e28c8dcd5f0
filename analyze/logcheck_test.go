package analyze

import (
	"math"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// A log and the scrapes of a server at another rhythm: where they are of one
// server they agree, else the finding says in what they do not.
func TestLogAgainstScrapes(t *testing.T) {
	const start = 1_790_000_000_000_000_000
	load := func(sec float64) float64 { return 20 + 8*math.Sin(sec/40) }
	log := func(times float64, at int64) *serving.Server {
		s := &serving.Server{ID: "log", Label: "log", Model: serving.Some("m")}
		var rate, run, kv []float64
		for i := range 60 {
			sec := float64(10 * i)
			s.Times = append(s.Times, at+int64(sec*1e9))
			rate, run, kv = append(rate, 40*times*load(sec-5)), append(run, times*load(sec)), append(kv, 0.02*load(sec))
		}
		s.Gauges = []serving.Gauge{{Name: serving.GenerationRate, Values: rate}, {Name: serving.Running, Values: run}, {Name: serving.KVUsage, Values: kv}}
		return s
	}
	scrapes := func() *serving.Server {
		s := &serving.Server{ID: "scrapes", Label: "vllm", Model: serving.Some("m")}
		var tokens, run, kv []float64
		sum := 0.0
		for i := range 45 {
			sec := 3 + float64(15*i)
			s.Times = append(s.Times, start+int64(sec*1e9))
			sum += 15 * 40 * load(sec-7.5)
			tokens, run, kv = append(tokens, sum), append(run, load(sec)), append(kv, 0.02*load(sec))
		}
		s.Gauges = []serving.Gauge{{Name: serving.Running, Values: run}, {Name: serving.KVUsage, Values: kv}}
		s.Counters = []serving.Counter{{Name: serving.GenerationTotal, Values: tokens}}
		return s
	}
	for _, c := range []struct {
		name string
		log  *serving.Server
		want int
	}{
		{"one server", log(1, start), 0},
		{"another server", log(2.5, start), 2},
		{"another hour", log(2.5, start+7200e9), 0},
	} {
		in := &Input{Data: &serving.Dataset{Servers: []*serving.Server{scrapes(), c.log}}, Opt: DefaultOptions()}
		if got := logAgainstScrapes(in); len(got) != c.want {
			t.Errorf("%s: %d findings, want %d: %+v", c.name, len(got), c.want, got)
		}
	}
	long := log(2.5, start)
	long.Times[40] += 120e9 // a gap: the longer part is compared
	for i := 41; i < len(long.Times); i++ {
		long.Times[i] += 120e9
	}
	in := &Input{Data: &serving.Dataset{Servers: []*serving.Server{scrapes(), long}}, Opt: DefaultOptions()}
	if got := logAgainstScrapes(in); len(got) != 2 {
		t.Errorf("with a gap: %+v", got)
	}
}

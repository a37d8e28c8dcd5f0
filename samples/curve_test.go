package samples

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest"
	"github.com/vreport/vreport/ingest/serving"
)

// These tests read sweeps with a planted limit back through the program itself:
// where the queue begins, what stopped the server and which levels keep an
// objective must come out as they were put in. Generator and reader still share
// no code; only the tests know both.

var curveSeeds = flag.String("curves", "1,2", "seeds of the planted sweeps: numbers with commas, or FROM-TO")

// A planted is a sweep with its truth.
type planted struct {
	files     []file
	queue     float64 // the load from which only the queue grows; 0: the sweep does not go so far
	stoppedBy string
	slo       string
	pass      float64 // the last level that keeps the objective
	fail      float64
}

// curveLevels are loads from 1 on, each half an octave or a whole one above the
// one before.
func curveLevels(rng *rand.Rand, top float64) []int {
	out := []int{1}
	for x := 1.0; ; {
		x *= []float64{math.Sqrt2, 2, 2}[rng.IntN(3)]
		n := int(math.Round(x))
		if x > top {
			return out
		}
		if n > out[len(out)-1] {
			out = append(out, n)
		}
	}
}

// plantedClosed is a closed loop whose server is stopped by max_num_seqs, by its
// KV pool (observed by scrapes), or not at all.
func plantedClosed(seed uint64, by string) planted {
	src := source{seed, "curve/" + by}
	rng := src.of("ranges").rng()
	cfg := newEngine(llama8B, 1)
	mix := []share{{randomLoad(250+300*rng.Float64(), 48+48*rng.Float64()), 1}}
	limit := math.Round(math.Exp(math.Log(10) + rng.Float64()*math.Log(6))) // 10 … 60
	p := planted{queue: limit, stoppedBy: by}
	top := limit * (2 + 2*rng.Float64())
	switch by {
	case analyze.StoppedBySeqs:
		cfg.maxNumSeqs = int(limit)
	case analyze.StoppedByKV:
		s := shapeOf(mix)
		cfg.maxNumSeqs = 256
		cfg.setKVTokens(limit * (s.prompt + s.output/2))
		p.queue = float64(cfg.kvBlocks()*blockTokens) / (s.prompt + s.output/2)
		top = p.queue * (2 + 2*rng.Float64())
	case "":
		cfg.maxNumSeqs = 256
		p.queue, top = 0, limit
	}
	levels := curveLevels(rng, top)
	var truth []float64
	zero := int64(firstZero)
	for _, n := range levels {
		level := strconv.Itoa(n)
		st := benchRun(cfg, mix, max(32, 6*n), n, src.of(level), src.of("load/"+level))
		if by == analyze.StoppedByKV && float64(n) > p.queue {
			st = watched(cfg, st, max(32, 6*n), n, mix, src.of(level), src.of("load/"+level))
		}
		b := bench{model: cfg.model.name, concurrency: n, metadata: engineMetadata(&cfg), detailed: true, zero: zero}
		p.files = append(p.files, file{fmt.Sprintf("c%d.json", n), writeBench(b, st.attempts)})
		c := &casting{zero: zero}
		c.addServer(st, st.servers[0], v1Full)
		for _, f := range c.files {
			if strings.Contains(f.path, "metrics/") {
				p.files = append(p.files, f)
			}
		}
		zero += 3600
		// What a long run of another load says is the truth of the level.
		long := benchRun(cfg, mix, max(200, 24*n), n, src.of("long/"+level), src.of("long/load/"+level))
		truth = append(truth, tpotP95(long.attempts))
	}
	p.objective(rng, levels, truth)
	return p
}

// watched runs a level again with 25 scrapes over its length.
func watched(cfg engineConfig, st *stage, n, concurrency int, mix []share, src, load source) *stage {
	var end int64
	for _, a := range st.attempts {
		end = max(end, a.closed)
	}
	every := end / 23
	return simulate(plan{
		servers: []serverConfig{{pod: "vllm-0", engine: cfg, front: newFrontend(), started: -600 * second}},
		route:   leastLoaded,
		clients: []client{&closedClient{reqs: newMaker(load, "bench").some(n, mix, second), concurrency: concurrency}},
		net:     network{base: 0.25e-3, jitter: 0.1e-3}, scrapeFrom: 0, scrapes: 25, every: every,
	}, src)
}

// objective sets a limit that separates two neighbouring levels of a growing
// figure.
func (p *planted) objective(rng *rand.Rand, levels []int, truth []float64) {
	var at []int
	for i := 1; i < len(levels); i++ {
		if slices.Max(truth[:i]) < 0.92*slices.Min(truth[i:]) {
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return
	}
	i := at[rng.IntN(len(at))]
	limit := math.Sqrt(slices.Max(truth[:i]) * slices.Min(truth[i:]))
	p.slo = fmt.Sprintf("tpot:p95<%.2fms", 1000*limit)
	p.pass, p.fail = float64(levels[i-1]), float64(levels[i])
}

// plantedOpen is a rate sweep over the capacity of the server.
func plantedOpen(seed uint64) planted {
	src := source{seed, "curve/open"}
	rng := src.of("ranges").rng()
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs = 8 + rng.IntN(25)
	mix := []share{{randomLoad(250+300*rng.Float64(), 48+48*rng.Float64()), 1}}
	full := cfg.capacity(shapeOf(mix))
	p := planted{queue: full, stoppedBy: analyze.StoppedBySeqs}
	for _, share := range []float64{0.2, 0.4, 0.6, 0.8, 0.95, 1.2, 1.5} {
		rate := math.Round(100*share*full) / 100
		reqs := newMaker(src.of(fmt.Sprint(share)), "bench").arrive(traffic{from: 1, to: 61, rate: rate, mix: mix})
		st := simulate(plan{
			servers: []serverConfig{{pod: "vllm-0", engine: cfg, front: newFrontend(), started: -600 * second}},
			route:   leastLoaded, clients: []client{&openClient{reqs: reqs}}, net: network{base: 0.25e-3, jitter: 0.1e-3},
		}, src.of("run"))
		b := bench{model: cfg.model.name, rate: rate, metadata: engineMetadata(&cfg), detailed: true, zero: firstZero + int64(3600*share)}
		p.files = append(p.files, file{fmt.Sprintf("r%g.json", rate), writeBench(b, st.attempts)})
	}
	return p
}

// read runs the sweep through the program.
func (p planted) read(t *testing.T) *analyze.Sweep {
	t.Helper()
	dir := t.TempDir()
	if err := writeFiles(dir, p.files); err != nil {
		t.Fatal(err)
	}
	ds, err := ingest.Load(context.Background(), []string{dir}, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ds.Close()
	opt := analyze.DefaultOptions()
	if p.slo != "" {
		slo, err := serving.ParseSLO(p.slo)
		if err != nil {
			t.Fatal(err)
		}
		opt.SLOs = []serving.SLO{slo}
	}
	rep, err := analyze.Run(context.Background(), ds, opt)
	if err != nil {
		t.Fatal(err)
	}
	v := analyze.Value[analyze.Sweeps](rep)
	if v == nil || len(v.Sweeps) != 1 {
		t.Fatalf("want one sweep of %d files, got %+v", len(p.files), v)
	}
	return v.Sweeps[0]
}

// steps is how many levels two loads are apart on a sweep's axis: a load between
// two levels counts as either.
func steps(s *analyze.Sweep, a, b float64) int {
	at := func(x float64) (lo, hi int) {
		lo, hi = -1, len(s.Points)
		for i, p := range s.Points {
			if p.X <= x*1.0001 {
				lo = i
			}
			if p.X >= x*0.9999 && hi == len(s.Points) {
				hi = i
			}
		}
		return lo, hi
	}
	la, ha := at(a)
	lb, hb := at(b)
	return max(0, lb-ha, la-hb)
}

func curveSeedList(t *testing.T) []uint64 {
	t.Helper()
	if from, to, ok := strings.Cut(*curveSeeds, "-"); ok {
		a, errA := strconv.ParseUint(from, 10, 64)
		b, errB := strconv.ParseUint(to, 10, 64)
		if errA != nil || errB != nil {
			t.Fatal(*curveSeeds)
		}
		var out []uint64
		for ; a <= b; a++ {
			out = append(out, a)
		}
		return out
	}
	var out []uint64
	for f := range strings.SplitSeq(*curveSeeds, ",") {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// TestPlantedCurves reads planted sweeps: knee, what stopped them and capacity
// are found within one level, and a capacity that is called decided is exact.
func TestPlantedCurves(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates whole sweeps")
	}
	for _, seed := range curveSeedList(t) {
		for _, c := range []struct {
			name  string
			plant func() planted
		}{
			{"seqs", func() planted { return plantedClosed(seed, analyze.StoppedBySeqs) }},
			{"kv", func() planted { return plantedClosed(seed, analyze.StoppedByKV) }},
			{"none", func() planted { return plantedClosed(seed, "") }},
			{"open", func() planted { return plantedOpen(seed) }},
		} {
			t.Run(fmt.Sprintf("%d/%s", seed, c.name), func(t *testing.T) {
				p := c.plant()
				p.check(t, p.read(t))
			})
		}
	}
}

func (p planted) check(t *testing.T, s *analyze.Sweep) {
	t.Helper()
	r := s.Region(analyze.Queueing)
	switch {
	case r == nil && p.queue > 0:
		t.Errorf("queue: none found, planted at %.4g", p.queue)
	case r != nil && p.queue == 0:
		t.Errorf("queue: found at %.4g, none is planted: %s", r.From, r.Text)
	case r != nil:
		t.Logf("queue: found at %.4g, planted at %.4g, %d apart", r.From, p.queue, steps(s, r.From, p.queue))
		if n := steps(s, r.From, p.queue); n > 1 {
			t.Errorf("queue: found at %.4g, planted at %.4g: %d levels apart", r.From, p.queue, n)
		}
		if r.StoppedBy != p.stoppedBy {
			t.Errorf("stopped by %s, planted %s: %q", r.StoppedBy, p.stoppedBy, r.Evidence)
		}
	}
	if p.slo == "" {
		return
	}
	c := s.Capacity
	if c == nil || !c.Pass.OK || !c.Fail.OK {
		t.Errorf("capacity: no bracket for %s, planted [%g, %g]: %+v", p.slo, p.pass, p.fail, c)
		return
	}
	t.Logf("capacity: found [%g, %g] decided %t, planted [%g, %g] of %s", c.Pass.V, c.Fail.V, c.Decided, p.pass, p.fail, p.slo)
	if steps(s, c.Pass.V, p.pass) > 1 || steps(s, c.Fail.V, p.fail) > 1 {
		t.Errorf("capacity: found [%g, %g], planted [%g, %g]", c.Pass.V, c.Fail.V, p.pass, p.fail)
	}
	if c.Decided && (c.Pass.V != p.pass || c.Fail.V != p.fail) {
		t.Errorf("capacity: called decided at [%g, %g], planted [%g, %g]", c.Pass.V, c.Fail.V, p.pass, p.fail)
	}
}

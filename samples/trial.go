package samples

import (
	"fmt"
	"math"
	"strconv"
)

// A Trial is a before/after pair out of many: what a study of comparisons counts
// how often they are right on. Unlike the pairs among the samples, whose runs are
// spread evenly so that each tells its story, a trial draws its runs
// independently, and may by chance tell another one.
type Trial struct {
	Story    Story
	Seed     uint64
	Repeats  int     // runs a side
	Requests int     // a run
	Noise    float64 // standard deviation of the logarithm of a run's speed
	Ratio    float64 // of SlowSlice: the factor on all of rag's times; 1 for an A/A
	Fresh    bool    // other prompts in each run; else all runs of the trial replay the same ones
}

// A Story is what a trial plants.
type Story string

// The stories.
const (
	SlowSlice   Story = "slow-slice"   // traces of chat and rag, each on a pool of its own; rag's pool is slower
	OtherMix    Story = "other-mix"    // traces of one pool: more of rag, and nothing else
	Benchmark   Story = "benchmark"    // benchmark files, nothing changed
	TwoSettings Story = "two-settings" // benchmark files, two settings changed
)

// The files of a trial are below these directories.
const (
	TrialBefore = "before"
	TrialAfter  = "after"
)

// Write simulates the trial and writes its runs below dir.
func (t Trial) Write(dir string) error {
	c := newCasting(&set{dir: string(t.Story)}, 0, t.Seed)
	if err := t.play(c); err != nil {
		return fmt.Errorf("trial %s, seed %d: %w", t.Story, t.Seed, err)
	}
	for i := range c.files {
		c.files[i].path = c.files[i].path[len(c.dir)+1:]
	}
	return writeFiles(dir, c.files)
}

func (t Trial) play(c *casting) error {
	noise := c.src.of("speed").rng()
	for side, name := range []string{TrialBefore, TrialAfter} {
		for run := 1; run <= t.Repeats; run++ {
			no := strconv.Itoa(run)
			r := trialRun{
				side: side, name: name + "/run" + no, zero: c.zero + int64(side)*86400 + int64(run)*3600,
				speed: math.Exp(t.Noise * noise.NormFloat64()), src: c.src.of(name + no), load: c.src.of("load"),
			}
			if t.Fresh {
				r.load = c.src.of("load/" + name + no)
			}
			if err := t.run(c, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// A trialRun is one run of a trial.
type trialRun struct {
	side      int // 0 before, 1 after
	name      string
	zero      int64
	speed     float64 // factor on all times of the machine
	src, load source
}

func (t Trial) run(c *casting, r trialRun) error {
	switch t.Story {
	case SlowSlice, OtherMix:
		data, err := writeTrace(t.trace(r), r.zero)
		if err != nil {
			return err
		}
		c.add(r.name+".parquet", data)
	case Benchmark, TwoSettings:
		c.add(r.name+".json", t.bench(r))
	default:
		return fmt.Errorf("there is no story %q", t.Story)
	}
	return nil
}

// slowed is a replica whose whole machine is slower by a factor.
func slowed(pod string, cfg engineConfig, by float64) serverConfig {
	cfg.speed *= by
	s := replica(pod, cfg)
	s.front.perRequest, s.front.perToken, s.front.perOutput, s.front.ipc = s.front.perRequest*by, s.front.perToken*by, s.front.perOutput*by, s.front.ipc*by
	return s
}

// byWorkload gives rag a pool of its own.
func byWorkload(st *stage, q *request) *server {
	if q.workload == "rag" {
		return st.servers[1]
	}
	return st.servers[0]
}

func (t Trial) trace(r trialRun) []*attempt {
	rate := 0.4 // requests/s: a light load, under which times grow with the machine's and no more
	chat := &workload{name: "chat", prompt: length{260, 0.6, 16, 1500}, output: length{40, 0.3, 8, 120}, maxTokens: 120}
	rag := &workload{name: "rag", prompt: length{4000, 0.25, 2100, 8000}, output: length{40, 0.3, 8, 120}, maxTokens: 120}
	part, ratio := 0.4, 1.0
	servers := []serverConfig{slowed("vllm-0", newEngine(llama8B, 1), r.speed)}
	route := router(leastLoaded)
	switch {
	case t.Story == OtherMix:
		part = []float64{0.15, 0.45}[r.side]
		rate = 0.04 // so light that no request of one kind meets one of the other, which would slow it down
	case r.side == 1:
		ratio = t.Ratio
	}
	if t.Story == SlowSlice {
		route, servers = byWorkload, append(servers, slowed("vllm-1", newEngine(llama8B, 1), r.speed*ratio))
	}
	mix := []share{{chat, 1 - part}, {rag, part}}
	reqs := newMaker(r.load, "req").arrive(traffic{from: trafficFrom, to: trafficFrom + 1.3*float64(t.Requests)/rate, rate: rate, mix: mix})
	p := observed(route, []client{&openClient{reqs: reqs[:min(len(reqs), t.Requests)]}}, servers...)
	p.scrapes = 0
	return simulate(p, r.src).attempts
}

// bench is one run of a benchmark, with the engine of the settings' story.
func (t Trial) bench(r trialRun) []byte {
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs, cfg.maxBatchedTokens = 24, 2048
	if t.Story == TwoSettings && r.side == 1 {
		cfg.maxNumSeqs, cfg.maxBatchedTokens = 64, 8192
	}
	told := engineMetadata(&cfg)
	cfg.speed *= r.speed
	const concurrency = 48
	st := benchRun(cfg, []share{{randomLoad(360, 40), 1}}, t.Requests, concurrency, r.src, r.load)
	return writeBench(bench{model: cfg.model.name, concurrency: concurrency, metadata: told, detailed: true, zero: r.zero}, st.attempts)
}

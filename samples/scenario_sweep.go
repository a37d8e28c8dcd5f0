package samples

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// sweepLevels are the concurrencies of a sweep.
var sweepLevels = []int{1, 2, 4, 8, 16, 32, 48, 64, 96}

// engineMetadata is what people pass as --metadata.
func engineMetadata(c *engineConfig) [][2]string {
	return [][2]string{
		{"engine_version", "0.25.1"}, {"gpu", c.gpu.name}, {"tensor_parallel_size", strconv.Itoa(c.tp)},
		{"max_num_seqs", strconv.Itoa(c.maxNumSeqs)}, {"max_num_batched_tokens", strconv.Itoa(c.maxBatchedTokens)},
		{"gpu_memory_utilization", strconv.FormatFloat(c.memUtil, 'f', -1, 64)},
	}
}

// randomLoad is the benchmark's random dataset.
func randomLoad(prompt, output float64) *workload {
	return &workload{
		name: "random", prompt: length{prompt, 0.3, int(prompt / 2), int(prompt * 2)},
		output: length{output, 0.35, int(output / 3), int(output * 3)}, maxTokens: int(output*3) + 1,
	}
}

// benchRun runs `vllm bench serve` once: n requests of a mix at a concurrency
// against one engine.
func benchRun(cfg engineConfig, mix []share, n, concurrency int, src, load source) *stage {
	reqs := newMaker(load, "bench").some(n, mix, second)
	return simulate(plan{
		servers: []serverConfig{{pod: "vllm-0", engine: cfg, front: newFrontend(), started: -600 * second}},
		route:   leastLoaded,
		clients: []client{&closedClient{reqs: reqs, concurrency: concurrency}},
		net:     network{base: 0.25e-3, jitter: 0.1e-3},
	}, src)
}

// sweep makes a concurrency sweep whose knee is the batch limit and whose
// capacity under an SLO lies between two known levels.
func sweep(c *casting, cfg engineConfig) error {
	prompt := c.between("prompt median", "tokens", 300, 500)
	output := 64.0
	if c.full {
		output = 256
	}
	// Lengths spread, as --random-range-ratio does: equal ones would keep all
	// requests in step for ever.
	mix := []share{{randomLoad(prompt, output), 1}}
	const pass, fail = 32, 48
	p95 := map[int]float64{}
	for _, n := range sweepLevels {
		level := strconv.Itoa(n)
		st := benchRun(cfg, mix, max(24, 6*n), n, c.src.of(level), c.src.of("load/"+level))
		b := bench{model: cfg.model.name, concurrency: n, metadata: engineMetadata(&cfg), detailed: true, zero: c.zero + int64(n)*60}
		c.add(fmt.Sprintf("openai-infqps-concurrency%d.json", n), writeBench(b, st.attempts))
		p95[n] = tpotP95(st.attempts)
	}
	// The limit in the middle of two levels separates them.
	limit := math.Round(1e4*math.Sqrt(p95[pass]*p95[fail])) / 10
	c.truth.Where = "max_num_seqs"
	c.truth.Says = fmt.Sprintf("Throughput grows up to %d concurrent requests, which is max_num_seqs; beyond it only the queue and TTFT grow. With tpot:p95<%gms level %d passes and level %d fails.",
		cfg.maxNumSeqs, limit, pass, fail)
	c.truth.fact("knee", cfg.maxNumSeqs)
	c.truth.fact("slo", fmt.Sprintf("tpot:p95<%gms", limit))
	c.truth.fact("slo_capacity_pass", pass)
	c.truth.fact("slo_capacity_fail", fail)
	return nil
}

// tpotP95 is the 95th percentile of the requests' TPOT in seconds.
func tpotP95(attempts []*attempt) float64 {
	var v []float64
	for _, s := range sentBy(attempts) {
		if s.output > 1 {
			v = append(v, sec(s.end-s.start-s.ttft)/float64(s.output-1))
		}
	}
	slices.Sort(v)
	return quantile(v, 0.95)
}

func denseSweep(c *casting) error {
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs = 64
	return sweep(c, cfg)
}

func moeSweep(c *casting) error {
	cfg := newEngine(qwen30B, 1)
	cfg.maxNumSeqs = 64
	return sweep(c, cfg)
}

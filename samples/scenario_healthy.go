package samples

import "fmt"

// Servers without a fault. Each looks like one at a single gauge.

func healthy(c *casting) error {
	cfg := large(48)
	mix := []share{{assistant(), 0.8}, {ragLoad(), 0.2}}
	rate := c.between("load", "of capacity", 0.5, 0.6) * cfg.capacity(shapeOf(mix))
	st, err := c.play(observed(leastLoaded, []client{&openClient{reqs: c.steps(mix, rate, 200, rate)}}, replica("vllm-0", cfg)))
	c.addGPUs(st, st.servers[0])
	c.window(trafficFrom, trafficTo)
	c.truth.Says = "A steady load within the capacity, short queues, every objective met."
	c.truth.fact("slo", []string{"ttft:p95<1500ms", "tpot:p95<80ms"})
	return err
}

// healthyKV keeps a fixed number of long documents in flight that fills the KV
// pool to nine tenths.
func healthyKV(c *casting) error {
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs = 256
	mix := []share{{&workload{name: "documents", prompt: length{5500, 0.1, 4000, 7000}, output: length{600, 0.2, 200, 1100}, maxTokens: 1100}, 1}}
	s := shapeOf(mix)
	usage := c.between("KV usage", "of the pool", 0.89, 0.91)
	n := int(usage * float64(cfg.kvBlocks()*blockTokens) / (s.prompt + s.output/2 + blockTokens/2))
	m := newMaker(c.src.of("load"), "req")
	reqs := m.some(3000, mix, 0)
	for i, q := range reqs {
		// They come one by one: a crowd at the start would stay in step.
		q.at = ns(trafficFrom - 14 + float64(i)*0.4)
	}
	p := observed(leastLoaded, []client{&closedClient{reqs: reqs, concurrency: n, until: ns(trafficTo)}}, replica("vllm-0", cfg))
	p.scrapeFrom = 75 * second // after the ramp
	p.scrapes = 26
	_, err := c.play(p)
	c.window(75, trafficTo)
	c.truth.Where = "vllm:kv_cache_usage_perc"
	c.truth.Says = fmt.Sprintf("%d documents in flight fill the KV pool to %.0f %%. Nothing is preempted and nobody waits: that is an efficient server.", n, 100*usage)
	c.truth.fact("slo", []string{"tpot:p95<120ms"})
	return err
}

func healthyGPU(c *casting) error {
	cfg := large(64)
	mix := []share{{assistant(), 1}}
	n := int(c.between("in flight", "requests", 40, 50))
	m := newMaker(c.src.of("load"), "req")
	reqs := m.some(4000, mix, 0)
	for i, q := range reqs {
		q.at = ns(trafficFrom - 14 + float64(i)*0.15)
	}
	st, err := c.play(observed(leastLoaded, []client{&closedClient{reqs: reqs, concurrency: n, until: ns(trafficTo)}}, replica("vllm-0", cfg)))
	c.addGPUs(st, st.servers[0])
	c.window(trafficFrom, trafficTo)
	c.truth.Where = "DCGM_FI_DEV_GPU_UTIL"
	c.truth.Says = "The GPUs compute nine tenths of the time, and every objective is met: utilization alone is no fault."
	c.truth.fact("slo", []string{"ttft:p95<1000ms", "tpot:p95<60ms"})
	return err
}

func lowTraffic(c *casting) error {
	cfg := large(64)
	mix := []share{{assistant(), 1}}
	rate := c.between("load", "of capacity", 0.006, 0.012) * cfg.capacity(shapeOf(mix))
	st, err := c.play(observed(leastLoaded, []client{&openClient{reqs: c.steps(mix, rate, 200, rate)}}, replica("vllm-0", cfg)))
	c.addGPUs(st, st.servers[0])
	c.window(trafficFrom, trafficTo)
	c.truth.Where = "DCGM_FI_DEV_GPU_UTIL"
	c.truth.Says = "The GPUs are mostly idle because little is asked: no queue, every objective met. A capacity test comes next, not a repair."
	c.truth.fact("slo", []string{"ttft:p95<1000ms", "tpot:p95<60ms"})
	return err
}

package samples

import "fmt"

// Case D: KV usage and preemptions rise together.

// tight is a mixture-of-experts model whose weights leave little of one H100
// for the KV cache: about a hundred thousand tokens.
func tight() engineConfig {
	cfg := newEngine(qwen30B, 1)
	cfg.maxNumSeqs = 256
	return cfg
}

// pressed draws a model whose KV pool is the first thing to run out: that one,
// or a small dense model on a GPU that it shares.
func (c *casting) pressed() engineConfig {
	if c.choose("model", "Qwen3-30B-A3B on 1 H100", "Llama-3.1-8B on a part of an H100") == 0 {
		return tight()
	}
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs = 256
	cfg.setKVTokens(95_000)
	return cfg
}

func essay() []share {
	return []share{{&workload{name: "chat", prompt: length{600, 0.4, 50, 2500}, output: length{560, 0.35, 50, 1600}, maxTokens: 1600, prefixTokens: 0, batched: 0.05}, 1}}
}

func kvConcurrency(c *casting) error {
	_, err := kvShortage(c, nil)
	return err
}

// kvShortage plays the scenario with a change to its server.
func kvShortage(c *casting, change func(*serverConfig, float64)) (*stage, error) {
	cfg := c.pressed()
	mix := essay()
	full := cfg.capacity(shapeOf(mix))
	from := c.onset()
	before := c.between("load before", "of capacity", 0.5, 0.6)
	after := c.between("load after", "of capacity", 1.03, 1.1)
	reqs := c.steps(mix, before*full, from, after*full)
	srv := replica("vllm-0", cfg)
	if change != nil {
		change(&srv, from)
	}
	st, err := c.play(observed(leastLoaded, []client{&openClient{reqs: reqs}}, srv))
	c.truth.Case, c.truth.Cause, c.truth.Where = "D", "kv_concurrency", "vllm:kv_cache_usage_perc"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("The load grows until more requests run than the pool of %s tokens holds: usage reaches 1, the last comers are preempted and computed again. No request is unusually long.", thousands(cfg.kvBlocks()*blockTokens))
	return st, err
}

// kvPast has the same counters, high from an event long before the first
// scrape.
func kvPast(c *casting) error {
	cfg := c.pressed()
	mix := essay()
	full := cfg.capacity(shapeOf(mix))
	past := c.between("load of the past event", "of capacity", 1.2, 1.4)
	now := c.between("load in the window", "of capacity", 0.4, 0.5)
	const calm = 1500.0
	m := newMaker(c.src.of("load"), "req")
	reqs := append(m.arrive(traffic{from: trafficFrom, to: 300, rate: past * full, mix: mix}),
		m.arrive(traffic{from: calm, to: calm + trafficTo - trafficFrom, rate: now * full, mix: mix})...)
	p := observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg))
	p.scrapeFrom = ns(calm + 15)
	st := simulate(p, c.src)
	c.addServer(st, st.servers[0], v1Trimmed)
	c.window(calm, calm+trafficTo-trafficFrom)
	c.truth.Where = "vllm:num_preemptions_total"
	c.truth.Says = "The counter of preemptions is high at the first scrape, from an event twenty minutes before, and does not move in the window: nothing is wrong now."
	var rows []*attempt
	for _, a := range st.attempts {
		if a.sent >= ns(calm) {
			rows = append(rows, a)
		}
	}
	return c.addTrace("requests.parquet", rows)
}

// kvRestart loses its counters in the middle of the shortage.
func kvRestart(c *casting) error {
	after := c.between("restart after the onset", "s", 80, 110)
	down := c.between("time down", "s", 35, 55)
	var at float64
	_, err := kvShortage(c, func(s *serverConfig, from float64) {
		at = from + after
		s.crashes, s.returns = ns(at), ns(at+down)
	})
	c.truth.Says = fmt.Sprintf("A KV shortage as in kv-concurrency, with a restart %.0f s into it that takes %.0f s: counters begin again at zero, scrapes are missing, and what was in flight is lost. The increase over the window is the sum of both processes.", after, down)
	c.truth.fact("restart", c.stamp(ns(at)))
	c.truth.fact("serves_again", c.stamp(ns(at+down)))
	return err
}

// kvGiants leaves the load as it was and adds a few requests that each take a
// fifth of the pool.
func kvGiants(c *casting) error {
	cfg := c.pressed()
	mix := essay()
	from := c.onset()
	load := c.between("load", "of capacity", 0.42, 0.5)
	n := int(c.between("giants in flight", "requests", 3, 5))
	giant := []share{{&workload{name: "documents", prompt: length{19_000, 0.12, 14_000, 26_000}, output: length{700, 0.2, 200, 1500}, maxTokens: 1500}, 1}}
	reqs := c.steps(mix, load*cfg.capacity(shapeOf(mix)), from, load*cfg.capacity(shapeOf(mix)))
	few := newMaker(c.src.of("giants"), "doc").some(500, giant, ns(from))
	_, err := c.play(observed(leastLoaded, []client{
		&openClient{reqs: reqs},
		&closedClient{reqs: few, concurrency: n, until: ns(trafficTo - 20)},
	}, replica("vllm-0", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "D", "kv_giants", "prompt_tokens=8192-32767"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("The load stays at %.2f of the capacity; %d requests of about 19,000 tokens are in flight with it and fill a pool of %s: usage reaches 1 and preemptions begin, with few requests running.", load, n, thousands(cfg.kvBlocks()*blockTokens))
	return err
}

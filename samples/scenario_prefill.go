package samples

import "fmt"

// Case B: the queue is short and the first token is late.

// longPrompts plants the table of an incident whose averages hide it: the
// median prompt stays, the 95th percentile grows two and a half times.
func longPrompts(c *casting) error {
	cfg := large(64)
	cfg.maxBatchedTokens = 1024
	answer := length{480, 0.3, 60, 1200}
	before := &workload{name: "rag", prompt: length{850, 0.63, 60, 5000}, output: answer, maxTokens: 1200}
	after := *before
	part := c.between("share of long prompts", "of requests", 0.075, 0.085)
	after.prompt.median = 812
	after.longShare, after.long = part, length{6600, 0.2, 5000, 14000}
	from := c.onset()
	const replicas = 3
	// A small part of the time goes to prefill: long prompts must not turn into a
	// shortage of capacity.
	rate := replicas * c.between("prefill load", "of the GPU's time", 0.04, 0.05) / cfg.prefillCost(shapeOf([]share{{before, 1}}))
	m := newMaker(c.src.of("load"), "req")
	calm := m.arrive(traffic{from: trafficFrom, to: from, rate: rate, mix: []share{{before, 1}}})
	incident := m.arrive(traffic{from: from, to: trafficTo, rate: rate, mix: []share{{&after, 1}}})
	m.spread(calm, before)
	m.spread(incident, &after)
	_, err := c.play(observed(leastLoaded, []client{&openClient{reqs: append(calm, incident...)}},
		replica("vllm-0", cfg), replica("vllm-1", cfg), replica("vllm-2", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "B", "long_prompts", "prompt_tokens=2048-8191"
	c.window(from, trafficTo)
	c.truth.Says = "The median prompt stays near 850 tokens and the 95th percentile grows from about 2,400 to 6,100: prefill and TTFT of the long ones, not the queue, not TPOT."
	return err
}

func prefixReuseLost(c *casting) error {
	cfg := newEngine(llama8B, 1)
	if c.choose("model", "Llama-3.1-8B on 1 H100", "Llama-3.3-70B on 8 H100") == 1 {
		cfg = newEngine(llama70B, 8)
	}
	prefix := int(c.between("shared prefix", "tokens", 3000, 4200))
	before := &workload{name: "agent", prompt: length{240, 0.5, 20, 1500}, output: length{130, 0.4, 4, 500}, maxTokens: 500, prefixTokens: prefix, prefixes: 1}
	after := *before
	after.stamped = true
	from := c.onset()
	rate := c.between("prefill load after", "of the GPU's time", 0.2, 0.3) / cfg.prefillCost(shapeOf([]share{{&after, 1}}))
	m := newMaker(c.src.of("load"), "req")
	reqs := append(m.arrive(traffic{from: trafficFrom, to: from, rate: rate, mix: []share{{before, 1}}}),
		m.arrive(traffic{from: from, to: trafficTo, rate: rate, mix: []share{{&after, 1}}})...)
	_, err := c.play(observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "B", "prefix_reuse_lost", "cache=cold"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("A release puts a timestamp ahead of the system prompt of %d tokens: prompts are as long as before, but none begins like another, and cached tokens fall to zero.", prefix)
	return err
}

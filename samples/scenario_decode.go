package samples

import "fmt"

// Case C: the first token is fast, streaming is slow.

// maxNumSeqs is a roll-out: the old replica holds bursts back in the queue, the
// new one, with a higher max_num_seqs, lets all of them into the batch at once.
func maxNumSeqs(c *casting) error {
	old := newEngine(llama8B, 1)
	old.maxNumSeqs = 32
	raised := old
	raised.maxNumSeqs = 256
	mix := []share{{&workload{name: "chat", prompt: length{220, 0.4, 20, 900}, output: length{210, 0.3, 20, 600}, maxTokens: 600, prefixTokens: 4096, prefixes: 1}, 1}}
	from := c.onset()
	size := c.between("burst", "requests", 75, 95)
	m := newMaker(c.src.of("load"), "req")
	reqs := m.arrive(traffic{from: trafficFrom, to: trafficTo, rate: 0.6, mix: mix})
	for at := trafficFrom + 8.0; at < trafficTo-5; at += 25 {
		reqs = append(reqs, m.arrive(traffic{from: at, to: at + 1.5, rate: size / 1.5, mix: mix})...)
	}
	a, b := replica("vllm-0", old), replica("vllm-1", raised)
	a.leaves = ns(from + 30)
	b.started, b.joins = ns(from-90), ns(from-20)
	_, err := c.play(observed(switchAt(ns(from)), []client{&openClient{reqs: reqs}}, a, b))
	c.truth.Case, c.truth.Cause, c.truth.Where = "C", "max_num_seqs", "replica=vllm-1"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("max_num_seqs goes from 32 to 256 with a roll-out. Bursts of about %.0f requests no longer wait, they share the step: TTFT falls, TPOT rises, tokens/s stay.", size)
	c.truth.fact("max_num_seqs", []int{32, 256})
	return err
}

func batchInPool(c *casting) error {
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs = 256
	chat := []share{{assistant(), 1}}
	job := []share{{&workload{name: "batch", prompt: length{1500, 0.3, 200, 4000}, output: length{850, 0.2, 200, 1500}, maxTokens: 1500, batched: 1}, 1}}
	from := c.onset()
	n := int(c.between("batch concurrency", "requests", 80, 120))
	rate := cfg.rateAt(shapeOf(chat), c.between("chat in flight", "requests", 9, 13))
	talk := newMaker(c.src.of("load"), "req").arrive(traffic{from: trafficFrom, to: trafficTo, rate: rate, mix: chat})
	bulk := newMaker(c.src.of("batch"), "job").some(4000, job, ns(from))
	_, err := c.play(observed(leastLoaded, []client{
		&openClient{reqs: talk},
		&closedClient{reqs: bulk, concurrency: n, until: ns(trafficTo - 20)},
	}, replica("vllm-0", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "C", "batch_in_pool", "workload=batch"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("A batch job with %d requests in flight joins the chat pool: chat's TPOT more than doubles while its own load is the same.", n)
	return err
}

// longerOutputs is a change of what users ask for, not of the server.
func longerOutputs(c *casting) error {
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs = 256
	before := &workload{name: "chat", prompt: length{220, 0.4, 20, 900}, output: length{300, 0.3, 30, 3000}, maxTokens: 3000, prefixTokens: 4096, prefixes: 1}
	after := *before
	longer := c.between("longer", "times", 1.8, 2)
	after.output.median *= longer
	from := c.onset()
	rate := cfg.rateAt(shapeOf([]share{{before, 1}}), c.between("in flight before", "requests", 14, 18))
	m := newMaker(c.src.of("load"), "req")
	reqs := append(m.arrive(traffic{from: trafficFrom, to: from, rate: rate, mix: []share{{before, 1}}}),
		m.arrive(traffic{from: from, to: trafficTo, rate: rate, mix: []share{{&after, 1}}})...)
	_, err := c.play(observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "C", "longer_outputs", "output_tokens"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("As many requests as before, with answers %.1f times as long: more of them run at once, each step takes longer, TPOT rises with the first token as fast as ever.", longer)
	return err
}

package samples

import "fmt"

// Case E: the GPU has little to do, and users wait.

func tokenizerCPU(c *casting) error {
	cfg := newEngine(llama8B, 1)
	w := &workload{name: "classify", prompt: length{900, 0.4, 100, 3000}, output: length{14, 0.3, 2, 40}, maxTokens: 40, prefixTokens: 3072, prefixes: 1}
	mix := []share{{w, 1}}
	srv := replica("vllm-0", cfg)
	// A tokenizer in Python: one core is enough until its limit is lowered.
	srv.front.cores, srv.front.perToken, srv.front.perRequest = 1, 45e-6, 3e-3
	from := c.onset()
	cost := srv.front.perRequest + srv.front.perToken*shapeOf(mix).prompt
	before := c.between("CPU before", "of one core", 0.3, 0.4)
	rate := before / cost
	limit := c.between("CPU demand after", "of the limit", 1.12, 1.25)
	srv.front.slowFrom, srv.front.slow = ns(from), limit/before
	reqs := c.steps(mix, rate, from, rate)
	st, err := c.play(observed(leastLoaded, []client{&openClient{reqs: reqs}}, srv))
	c.addGPUs(st, st.servers[0])
	c.truth.Case, c.truth.Cause, c.truth.Where = "E", "tokenizer_cpu", "frontend"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("The API server's CPU limit is lowered to 1/%.1f of a core: tokenizing would need %.2f times what is left. Requests wait before the engine sees them; its queue is empty and the GPU nearly idle.", limit/before, limit)
	return err
}

func proxyBuffering(c *casting) error {
	cfg := newEngine(llama8B, 1)
	w := assistant()
	w.batched = 0 // a benchmark is the client, and it streams
	mix := []share{{w, 1}}
	from := c.onset()
	rate := cfg.rateAt(shapeOf(mix), c.between("in flight", "requests", 6, 9))
	buffer := int(c.between("proxy's buffer", "tokens", 48, 96))
	p := observed(leastLoaded, []client{&openClient{reqs: c.steps(mix, rate, from, rate)}}, replica("vllm-0", cfg))
	p.buffer, p.bufferFrom = buffer, ns(from)
	st, err := c.play(p)
	var before, during []*attempt
	for _, a := range st.attempts {
		if a.buffer > 0 {
			during = append(during, a)
		} else {
			before = append(before, a)
		}
	}
	b := bench{model: cfg.model.name, rate: round3(rate), metadata: engineMetadata(&cfg), detailed: true, zero: c.zero}
	c.add("client/before.json", writeBench(b, before))
	c.add("client/during.json", writeBench(b, during))
	c.truth.Case, c.truth.Cause, c.truth.Where = "E", "proxy_buffering", "client TTFT"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("A proxy collects %d tokens before it passes anything on: the client's TTFT grows many times over, the server's stays, and one chunk carries many tokens.", buffer)
	return err
}

// loadGenerator is a benchmark whose client is the limit: nothing is wrong with the
// server, and the load is not the one that the result file names.
func loadGenerator(c *casting) error {
	cfg := newEngine(llama8B, 1)
	w := assistant()
	w.batched = 0 // a benchmark is the client, and it streams
	mix := []share{{w, 1}}
	full := cfg.capacity(shapeOf(mix))
	offered := c.between("offered", "of capacity", 0.5, 0.7) * full
	able := c.between("client", "of the offered rate", 0.6, 0.8)
	p := observed(leastLoaded, []client{&pacedClient{openClient{reqs: c.steps(mix, offered, 200, offered)}, ns(1 / (able * offered)), ns(trafficTo)}}, replica("vllm-0", cfg))
	st, err := c.play(p)
	c.addGPUs(st, st.servers[0])
	b := bench{model: cfg.model.name, rate: round3(offered), metadata: engineMetadata(&cfg), detailed: true, zero: c.zero}
	c.add("client/run.json", writeBench(b, st.attempts))
	c.truth.Case, c.truth.Cause, c.truth.Where = "E", "load_generator", "client/run.json"
	c.window(trafficFrom, trafficTo)
	c.truth.Says = fmt.Sprintf("The benchmark was asked for %.1f requests/s, and its one process manages %.0f %% of that. The server is fast and not busy: this is a result about the client.", offered, 100*able)
	c.truth.fact("offered_requests_per_s", round3(offered))
	c.truth.fact("sent_share", able)
	return err
}

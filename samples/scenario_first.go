package samples

// The everyday workloads. Their absolute numbers are plain assumptions; each
// scenario changes what its story needs.
func chatLoad() *workload {
	return &workload{name: "chat", prompt: length{260, 0.7, 16, 3000}, output: length{180, 0.5, 2, 800}, maxTokens: 800, prefixTokens: 512, prefixes: 1, batched: 0.06, cancel: 0.01}
}

func ragLoad() *workload {
	return &workload{name: "rag", prompt: length{2600, 0.45, 400, 9000}, output: length{140, 0.5, 2, 600}, maxTokens: 600, batched: 0.1}
}

func agentLoad() *workload {
	return &workload{name: "agent", prompt: length{350, 0.6, 30, 2500}, output: length{120, 0.6, 2, 700}, maxTokens: 700, prefixTokens: 3072, prefixes: 2, sessions: 40}
}

func batchLoad() *workload {
	return &workload{name: "batch", prompt: length{900, 0.4, 100, 4000}, output: length{380, 0.3, 50, 900}, maxTokens: 900, prefixTokens: 0, batched: 1}
}

// Scrapes of a scenario: thirty, every fifteen seconds, from a quarter of a
// minute after the traffic's begin.
const (
	trafficFrom = 15.0 // s
	trafficTo   = 455.0
	scrapeFrom  = 30 * second
	scrapeEvery = 15 * second
	scrapeCount = 30
	startedAgo  = -3 * 3600 * second
)

// observed is a plan with the usual scrapes.
func observed(route router, clients []client, servers ...serverConfig) plan {
	return plan{
		servers: servers, route: route, clients: clients, net: network{base: 4e-3, jitter: 3e-3},
		scrapeFrom: scrapeFrom, scrapes: scrapeCount, every: scrapeEvery,
	}
}

func replica(pod string, cfg engineConfig) serverConfig {
	return serverConfig{pod: pod, engine: cfg, front: newFrontend(), started: startedAgo}
}

// oneServer makes thirty scrapes of one healthy server under a daily load.
func oneServer(c *casting) error {
	cfg := newEngine(llama8B, 1)
	mix := []share{{chatLoad(), 0.7}, {agentLoad(), 0.3}}
	rate := c.between("load", "of capacity", 0.45, 0.6) * cfg.capacity(shapeOf(mix))
	reqs := newMaker(c.src.of("load"), "req").arrive(traffic{from: trafficFrom, to: trafficTo + 90, rate: rate, mix: mix})
	p := observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg))
	p.scrapeFrom = scrapeFrom + 90*second // an empty server would fill up in view
	st := simulate(p, c.src)
	c.addServer(st, st.servers[0], v1Full)
	c.truth.Says = "Thirty scrapes of a healthy server under a steady load."
	return nil
}

// bigTrace makes 5,000 requests with every slicing column: two models, three
// replicas, four workloads, every outcome.
func bigTrace(c *casting) error {
	small, large := newEngine(llama8B, 1), newEngine(llama70B, 4)
	small.maxModelLen = 10_000
	large.maxNumSeqs = 64
	mix := []share{{chatLoad(), 0.55}, {ragLoad(), 0.2}, {agentLoad(), 0.2}, {batchLoad(), 0.05}}
	toLarge := []share{{chatLoad(), 0.5}, {ragLoad(), 0.5}}
	const smallShare = 0.75
	var all []*attempt
	for _, part := range []struct {
		name string
		n    int
		cfg  engineConfig
		mix  []share
		pods []string
	}{
		{"8b", 5000 * smallShare, small, mix, []string{"vllm-8b-0", "vllm-8b-1"}},
		{"70b", 5000 * (1 - smallShare), large, toLarge, []string{"vllm-70b-0"}},
	} {
		rate := c.between("load of "+part.name, "of capacity", 0.55, 0.7) * part.cfg.capacity(shapeOf(part.mix)) * float64(len(part.pods))
		m := newMaker(c.src.of(part.name), part.name)
		reqs := m.arrive(traffic{from: trafficFrom, to: trafficFrom + 1.3*float64(part.n)/rate, rate: rate, mix: part.mix, tenants: []float64{5, 3, 1, 1}})
		var servers []serverConfig
		for _, p := range part.pods {
			servers = append(servers, replica(p, part.cfg))
		}
		p := observed(leastLoaded, []client{&openClient{reqs: reqs[:part.n], timeout: ns(25)}}, servers...)
		p.scrapes = 0
		all = append(all, simulate(p, c.src.of(part.name)).attempts...)
	}
	c.truth.Says = "Five thousand requests of four workloads on two models and three replicas: the columns to slice by."
	return c.addTrace("requests.parquet", all)
}

// oldServer is the same kind of server under a release with the older names: a
// scrape before and one after a load.
func oldServer(c *casting) error {
	cfg := newEngine(llama8B, 1)
	mix := []share{{assistant(), 1}}
	rate := c.between("load", "of capacity", 0.2, 0.3) * cfg.capacity(shapeOf(mix))
	reqs := newMaker(c.src.of("load"), "req").arrive(traffic{from: trafficFrom, to: trafficFrom + 150, rate: rate, mix: mix})
	p := observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg))
	p.scrapeFrom, p.scrapes, p.every = 10*second, 2, 240*second
	st := simulate(p, c.src)
	for i, sc := range st.scrapes[st.servers[0]] {
		c.add([]string{"before.prom", "after.prom"}[i], writeScrape(st.servers[0], sc, v0, c.zero))
	}
	c.truth.Says = "Two scrapes of a V0 engine with the older names and bounds, before and after a load."
	return nil
}

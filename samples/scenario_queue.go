package samples

import (
	"fmt"
	"math"
)

// Case A: TTFT and the queue rise together.

// large is the engine of most scenarios: Llama-3.3-70B on four H100.
func large(maxNumSeqs int) engineConfig {
	cfg := newEngine(llama70B, 4)
	cfg.maxNumSeqs = maxNumSeqs
	return cfg
}

// engine draws which of two models a story is told on: the small one gets half
// the places in the batch, so that both are full at about the same rate.
func (c *casting) engine(maxNumSeqs int) engineConfig {
	if c.choose("model", "Llama-3.3-70B on 4 H100", "Llama-3.1-8B on 1 H100") == 0 {
		return large(maxNumSeqs)
	}
	cfg := newEngine(llama8B, 1)
	cfg.maxNumSeqs = maxNumSeqs / 2
	return cfg
}

// assistant is a chat with long answers, so that few requests are much work.
func assistant() *workload {
	return &workload{name: "chat", prompt: length{280, 0.6, 16, 3000}, output: length{320, 0.45, 8, 1200}, maxTokens: 1200, prefixTokens: 512, prefixes: 1, batched: 0.05}
}

// onset draws when an incident begins; all last to the end of the traffic.
func (c *casting) onset() float64 { return float64(int(c.between("onset", "s", 200, 250))) }

// window marks the truth's window.
func (c *casting) window(from, to float64) {
	c.truth.From, c.truth.To = c.stamp(ns(from)), c.stamp(ns(to))
}

// play simulates a plan and writes what was observed of it: a trace, scrapes
// and logs of every replica.
func (c *casting) play(p plan) (*stage, error) {
	st := simulate(p, c.src)
	d := v1Trimmed
	if c.full {
		d = v1Full
	}
	for _, s := range st.servers {
		c.addServer(st, s, d)
	}
	if c.full || c.client {
		b := bench{model: st.servers[0].cfg.engine.model.name, metadata: engineMetadata(&st.servers[0].cfg.engine), detailed: true, zero: c.zero}
		// What was sent is what was asked for, retries too.
		first, last := int64(math.MaxInt64), int64(0)
		for _, a := range st.attempts {
			first, last = min(first, a.sent), max(last, a.sent)
		}
		b.rate = round3(float64(len(st.attempts)) / max(1, sec(last-first)))
		c.add("client/all.json", writeBench(b, st.attempts))
	}
	return st, c.addTrace("requests.parquet", st.attempts)
}

// steps is traffic that changes its rate once.
func (c *casting) steps(mix []share, before, from, after float64) []*request {
	m := newMaker(c.src.of("load"), "req")
	return append(m.arrive(traffic{from: trafficFrom, to: from, rate: before, mix: mix}),
		m.arrive(traffic{from: from, to: trafficTo, rate: after, mix: mix})...)
}

func overCapacity(c *casting) error {
	cfg := c.engine(32)
	mix := []share{{assistant(), 1}}
	full := cfg.capacity(shapeOf(mix))
	from := c.onset()
	before := c.between("load before", "of capacity", 0.6, 0.75)
	after := c.between("load after", "of capacity", 1.25, 1.5)
	reqs := c.steps(mix, before*full, from, after*full)
	_, err := c.play(observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "A", "over_capacity", "all traffic"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("Arrivals grow from %.2f to %.2f of the capacity of %.1f requests/s and stay: the queue builds up to the end.", before, after, full)
	c.truth.fact("capacity_requests_per_s", round3(full))
	c.truth.fact("max_num_seqs", cfg.maxNumSeqs)
	return err
}

func burst(c *casting) error {
	cfg := c.engine(32)
	mix := []share{{assistant(), 1}}
	full := cfg.capacity(shapeOf(mix))
	from := float64(int(c.between("onset", "s", 180, 230)))
	load := c.between("load", "of capacity", 0.45, 0.55)
	height := c.between("burst", "of capacity", 5, 7)
	const width = 10
	m := newMaker(c.src.of("load"), "req")
	reqs := m.arrive(traffic{from: trafficFrom, to: trafficTo, rate: load * full, mix: mix})
	reqs = append(reqs, m.arrive(traffic{from: from, to: from + width, rate: height * full, mix: mix})...)
	_, err := c.play(observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "A", "burst", "all traffic"
	c.window(from, from+width)
	c.truth.Says = fmt.Sprintf("Ten seconds at %.1f times the capacity on top of %.2f of it: a mean over five minutes is %.2f of the capacity and shows nothing.", height, load, load+height*width/300)
	c.truth.fact("five_minute_mean_of_capacity", round3(load+height*width/300))
	return err
}

func hotReplica(c *casting) error {
	cfg := c.engine(16)
	mix := []share{{assistant(), 1}}
	full := cfg.capacity(shapeOf(mix))
	from := c.onset()
	load := c.between("load", "of the fleet's capacity", 0.6, 0.66)
	heavy := c.between("heavy tenant's share", "of requests", 0.5, 0.58)
	const replicas, tenants, hot = 3, 12, 1
	weights := make([]float64, tenants)
	for i := range weights {
		weights[i] = 1
	}
	skewed := append([]float64(nil), weights...)
	skewed[hot] = heavy / (1 - heavy) * (tenants - 1)
	m := newMaker(c.src.of("load"), "req")
	reqs := append(m.arrive(traffic{from: trafficFrom, to: from, rate: load * replicas * full, mix: mix, tenants: weights}),
		m.arrive(traffic{from: from, to: trafficTo, rate: load * replicas * full, mix: mix, tenants: skewed})...)
	_, err := c.play(observed(stickyTenant, []client{&openClient{reqs: reqs}},
		replica("vllm-0", cfg), replica("vllm-1", cfg), replica("vllm-2", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "A", "hot_replica", fmt.Sprintf("replica=vllm-%d", hot)
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("The fleet stays at %.2f of its capacity, but a router that sticks tenants to replicas sends %.0f %% of the requests to one of three.", load, 100*(heavy+(1-heavy)*3/11))
	return err
}

// retryTimeout is three times what a request takes that need not wait.
const retryTimeout = 20.0 // s

func retries(c *casting) error {
	cfg := large(16)
	w := assistant()
	w.output = length{320, 0.22, 100, 640} // so that nobody needs the whole timeout
	mix := []share{{w, 1}}
	full := cfg.capacity(shapeOf(mix))
	from := c.onset()
	load := c.between("load", "of capacity", 0.82, 0.87)
	stall := c.between("stall", "s", 25, 35)
	reqs := c.steps(mix, load*full, from, load*full)
	srv := replica("vllm-0", cfg)
	srv.stallFrom, srv.stallTo = ns(from), ns(from+stall)
	_, err := c.play(observed(leastLoaded, []client{&openClient{reqs: reqs, timeout: ns(retryTimeout), retries: 4, backoff: ns(0.5)}}, srv))
	c.truth.Case, c.truth.Cause, c.truth.Where = "A", "retries", "attempt>1"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("Users ask at a steady %.2f of the capacity. A stall of %.0f s makes clients give up after 20 s and try again up to four times: the retries keep the queue full long after the stall.", load, stall)
	return err
}

// poolShared lets a batch job into a pool that is small enough for it to take
// all places in the batch.
func poolShared(c *casting) error {
	cfg := c.engine(32)
	mix := []share{{assistant(), 1}}
	job := []share{{&workload{name: "batch", prompt: length{700, 0.3, 100, 3000}, output: length{520, 0.25, 100, 1200}, maxTokens: 1200, batched: 1}, 1}}
	from := c.onset()
	load := c.between("chat's load", "of capacity", 0.35, 0.45)
	n := int(c.between("batch concurrency", "requests", 70, 110))
	talk := newMaker(c.src.of("load"), "req").arrive(traffic{from: trafficFrom, to: trafficTo, rate: load * cfg.capacity(shapeOf(mix)), mix: mix})
	bulk := newMaker(c.src.of("batch"), "job").some(4000, job, ns(from))
	_, err := c.play(observed(leastLoaded, []client{
		&openClient{reqs: talk},
		&closedClient{reqs: bulk, concurrency: n, until: ns(trafficTo - 20)},
	}, replica("vllm-0", cfg)))
	c.truth.Case, c.truth.Cause, c.truth.Where = "A", "pool_shared", "workload=batch"
	c.window(from, trafficTo)
	c.truth.Says = fmt.Sprintf("A batch job keeps %d requests in a pool of %d places that chat shares: chat, itself at %.2f of the capacity as before, stands in the queue behind it.", n, cfg.maxNumSeqs, load)
	c.truth.fact("max_num_seqs", cfg.maxNumSeqs)
	return err
}

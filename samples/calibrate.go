package samples

import "slices"

// A Level is one level of a benchmark sweep to reproduce: what was sent.
type Level struct {
	Prompts     []int // tokens
	Outputs     []int // tokens
	Rate        float64
	Concurrency int
}

// A Curve is what a level comes out at.
type Curve struct {
	OutputPerSecond float64 // generated tokens/s over the run's duration
	MedianTPOT      float64 // s
	MedianTTFT      float64 // s
}

// Reproduce runs a level against the simulated Llama-3.1-8B in FP16 on one H100,
// the engine whose efficiencies all samples share.
func Reproduce(l Level, seed uint64) Curve {
	src := source{seed, "reproduce"}
	m := newMaker(src.of("load"), "r")
	var reqs []*request
	at := 1.0
	for i, p := range l.Prompts {
		q := m.one(&workload{name: "random", prompt: fixed(p), output: fixed(l.Outputs[i]), maxTokens: l.Outputs[i]}, ns(at))
		reqs = append(reqs, q)
		at += m.rng.ExpFloat64() / l.Rate
	}
	st := simulate(plan{
		servers: []serverConfig{replica("vllm-0", newEngine(llama8B, 1))}, route: leastLoaded,
		clients: []client{&closedClient{reqs: reqs, concurrency: l.Concurrency}},
		net:     network{base: 0.25e-3, jitter: 0.1e-3},
	}, src)
	return curveOf(st.attempts)
}

func curveOf(attempts []*attempt) Curve {
	var tpot, ttft []float64
	var tokens int
	first, last := attempts[0].sent, int64(0)
	for _, s := range sentBy(attempts) {
		first, last = min(first, s.start), max(last, s.end)
		tokens += s.output
		ttft = append(ttft, sec(s.ttft))
		if s.output > 1 {
			tpot = append(tpot, sec(s.end-s.start-s.ttft)/float64(s.output-1))
		}
	}
	slices.Sort(tpot)
	slices.Sort(ttft)
	return Curve{float64(tokens) / sec(last-first), quantile(tpot, 0.5), quantile(ttft, 0.5)}
}

package samples

import (
	"fmt"
	"math"
	"strconv"
)

// Before/after pairs. Runs of a machine differ by a few percent whatever one
// does: each run has a factor on all its step times. The three of a side are
// spread evenly, in random order, with a little noise: independent draws would
// now and then plant a difference that nobody meant.
const runNoise = 0.022

// repeats a side has.
const repeats = 3

// runSpeed draws the factor of one run.
func (c *casting) runSpeed(side string, run int) float64 {
	r := c.src.of(side + "/speed").rng()
	place := r.Perm(repeats)[run-1] - repeats/2
	for range run - 1 {
		r.Float64() // each run its own noise
	}
	return 1 + runNoise*float64(place) + 0.006*(r.Float64()-0.5)
}

// benchPair writes three benchmark files a side: the same prompts, two engines.
func (c *casting) benchPair(before, after engineConfig, concurrency int) {
	n, output := 6*concurrency, 60.0
	if c.full {
		n, output = 12*concurrency, 200
	}
	mix := []share{{randomLoad(360, output), 1}}
	for _, side := range []struct {
		name string
		cfg  engineConfig
		day  int64
	}{{"before", before, 0}, {"after", after, 1}} {
		for run := 1; run <= repeats; run++ {
			cfg := side.cfg
			cfg.speed *= c.runSpeed(side.name, run)
			no := strconv.Itoa(run)
			st := benchRun(cfg, mix, n, concurrency, c.src.of(side.name+no), c.src.of("load"+no))
			b := bench{model: cfg.model.name, concurrency: concurrency, metadata: engineMetadata(&side.cfg), detailed: true, zero: c.zero + side.day*600 + int64(run)*120}
			c.add(fmt.Sprintf("%s/run%d.json", side.name, run), writeBench(b, st.attempts))
		}
	}
}

// tracePair writes three traces a side at a light load.
func (c *casting) tracePair(before, after engineConfig, mixBefore, mixAfter []share, rate float64) error {
	n := 400.0
	if c.full {
		n = 1500
	}
	for _, side := range []struct {
		name string
		cfg  engineConfig
		mix  []share
		day  int64
	}{{"before", before, mixBefore, 0}, {"after", after, mixAfter, 1}} {
		for run := 1; run <= repeats; run++ {
			cfg := side.cfg
			cfg.speed *= math.Sqrt(c.runSpeed(side.name, run)) // a quiet machine
			no := strconv.Itoa(run)
			reqs := newMaker(c.src.of("load"+no), "req").arrive(traffic{from: trafficFrom, to: trafficFrom + n/rate, rate: rate, mix: side.mix})
			p := observed(leastLoaded, []client{&openClient{reqs: reqs}}, replica("vllm-0", cfg))
			p.scrapes = 0
			st := simulate(p, c.src.of(side.name+no))
			zero := c.zero
			c.zero += side.day*86400 + int64(run)*1800
			err := c.addTrace(fmt.Sprintf("%s/run%d.parquet", side.name, run), st.attempts)
			c.zero = zero
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// verdict states what a comparison may conclude.
func (c *casting) verdict(where, says string, oneOf ...string) {
	c.truth.Where, c.truth.Says = where, says
	c.truth.fact("verdict_one_of", oneOf)
}

func pairNoChange(c *casting) error {
	cfg := newEngine(llama8B, 1)
	c.benchPair(cfg, cfg, 16)
	c.verdict("", "Nothing changed between the sides: three repeats each, a few percent apart.", "equivalent", "undecided")
	return nil
}

func pairNoise(c *casting) error {
	cfg := newEngine(llama8B, 1)
	slower := cfg
	slower.speed = 1.03
	c.benchPair(cfg, slower, 16)
	c.verdict("all", "Every step is 3 % slower, which repeats that differ by as much cannot show.", "undecided", "equivalent")
	c.truth.fact("planted_ratio", 1.03)
	return nil
}

func pairSlice(c *casting) error {
	cfg := newEngine(llama8B, 1)
	slower := cfg
	// TTFT of these prompts is prefill for the most part; with the fixed parts
	// of a step 15 % more compute is 12 % more TTFT.
	slower.longPrefillFrom, slower.longPrefillCost = 2048, 1.15
	rag := &workload{name: "rag", prompt: length{4000, 0.25, 2100, 8000}, output: length{60, 0.4, 4, 200}, maxTokens: 200}
	chat := &workload{name: "chat", prompt: length{260, 0.6, 16, 1500}, output: length{90, 0.4, 4, 300}, maxTokens: 300}
	mix := []share{{chat, 0.7}, {rag, 0.3}}
	err := c.tracePair(cfg, slower, mix, mix, c.between("rate", "requests/s", 0.2, 0.3))
	c.verdict("workload=rag", "Prefill of prompts from 2,048 tokens on costs 15 % more: TTFT of rag is 12 % longer, chat is as before.", "worse", "mixed")
	c.truth.fact("metric", "ttft")
	c.truth.fact("planted_ratio", 1.12)
	return err
}

func pairMix(c *casting) error {
	cfg := newEngine(llama8B, 1)
	chat := &workload{name: "chat", prompt: length{260, 0.6, 16, 1500}, output: length{90, 0.4, 4, 300}, maxTokens: 300}
	rag := &workload{name: "rag", prompt: length{4000, 0.25, 2100, 8000}, output: length{60, 0.4, 4, 200}, maxTokens: 200}
	before := c.between("rag before", "of requests", 0.12, 0.18)
	after := c.between("rag after", "of requests", 0.42, 0.5)
	err := c.tracePair(cfg, cfg, []share{{chat, 1 - before}, {rag, before}}, []share{{chat, 1 - after}, {rag, after}}, c.between("rate", "requests/s", 0.12, 0.18))
	c.verdict("mix", fmt.Sprintf("The engine is the same, and so is each workload; rag grows from %.0f to %.0f %% of the requests, and the overall TTFT with it.", 100*before, 100*after), "equivalent", "undecided", "mixed")
	c.truth.fact("metric", "ttft")
	c.truth.fact("planted_ratio_within", 1)
	return err
}

func pairTradeoff(c *casting) error {
	before := newEngine(llama8B, 1)
	before.maxNumSeqs = 24
	after := before
	after.maxNumSeqs = 64
	c.benchPair(before, after, 48)
	c.verdict("max_num_seqs", "max_num_seqs from 24 to 64 at 48 in flight: TTFT gains because nobody waits, TPOT pays for it.", "mixed")
	c.truth.fact("changed_settings", []string{"max_num_seqs"})
	return nil
}

func pairTwoSettings(c *casting) error {
	before := newEngine(llama8B, 1)
	before.maxNumSeqs, before.maxBatchedTokens = 24, 2048
	after := before
	after.maxNumSeqs, after.maxBatchedTokens = 64, 8192
	c.benchPair(before, after, 48)
	c.verdict("max_num_seqs, max_num_batched_tokens", "Two settings changed at once: whatever differs, its cause cannot be told.", "mixed")
	c.truth.fact("changed_settings", []string{"max_num_seqs", "max_num_batched_tokens"})
	return nil
}

// round3 keeps three decimals, for figures in texts and tables.
func round3(v float64) float64 { return math.Round(v*1000) / 1000 }

package analyze

import (
	"fmt"
	"math"
	"strconv"

	"github.com/vreport/vreport/ingest/serving"
)

// adviceRules are the knobs of M17, each with the observation that suggests it.
// Their order decides which of two that turn the same knob is kept.
var adviceRules = []adviceRule{
	{"kv_pool", "The KV pool is full: more pool, first by gpu_memory_utilization, then by an FP8 cache, then by tensor parallelism where the interconnect carries it.", adviseKV},
	{"batch_limit", "The batch limit is reached while the pool has room: raise max_num_seqs.", adviseBatchLimit},
	{"slow_tokens", "TPOT or ITL misses its objective: fewer prefill tokens a step, or fewer sequences.", adviseSlowTokens},
	{"stalls", "Single gaps at least double while requests are even on average: fewer prefill tokens a step.", adviseStalls},
	{"late_first_token", "TTFT misses its objective: beyond capacity replicas; without a queue more prefill tokens a step.", adviseLateFirst},
	{"bandwidth", "Steps take the time to read weights and cache: fewer bytes, or replicas.", adviseBandwidth},
	{"tp_too_large", "More GPUs share the model than its memory needs: less tensor parallelism and more replicas.", adviseLessTP},
	{"moe_batch", "The throughput of a mixture of experts does not follow the batch: expert parallelism.", adviseExpertParallel},
	{"room", "No ceiling is touched and throughput still rises: test with more load.", adviseMoreLoad},
}

func adviseKV(c *adviceCase) []Advice {
	x := c.ceiling
	if x == nil || x.Binding.What != BindsCapacity && !c.engineSaysFull() {
		return nil
	}
	seen := c.forOf(BindsCapacity)
	if seen == "" {
		return nil
	}
	var out []Advice
	util := 0.0
	if x.Capacity != nil {
		util = x.Capacity.Util
	}
	if util > 0 && util < 0.945 {
		out = append(out, Advice{Knob: "gpu_memory_utilization", Direction: "raise", From: number(util), To: "0.95", Observation: seen,
			Price: "Less memory is left for peaks of activations and for other processes: out-of-memory errors become possible."})
	}
	if x.Model == nil || x.Model.KVType.Bytes > 1 {
		a := Advice{Knob: "kv_cache_dtype", Direction: "lower", To: "fp8", Observation: seen, Price: "Half the bytes a token at some accuracy: check answers on your own evaluation."}
		if x.Model != nil {
			a.From = x.Model.KVType.Name
		}
		out = append(out, a)
	}
	// Tensor parallelism helps only where the links between the GPUs are known
	// to carry it: on PCIe alone it can lose.
	if x.Machine != nil && fastLink(x.Interlink) && x.Machine.TP < 8 {
		tp := x.Machine.TP
		out = append(out, Advice{Knob: "tensor_parallel_size", Direction: "raise", From: strconv.Itoa(tp), To: strconv.Itoa(2 * tp), Observation: seen,
			Price: "Twice the GPUs of a replica, and communication in every layer: fewer tokens/s per GPU."})
	}
	return out
}

// engineSaysFull reports preemptions or a full pool in the engine's own figures.
func (c *adviceCase) engineSaysFull() bool {
	return c.ceiling != nil && c.forOf(BindsCapacity) != ""
}

// forOf is the evidence that a ceiling binds; "" where there is none.
func (c *adviceCase) forOf(w Binds) string {
	if c.ceiling == nil {
		return ""
	}
	prefix := string(w) + ": "
	for _, t := range c.ceiling.Binding.For {
		if len(t) > len(prefix) && t[:len(prefix)] == prefix {
			return sentenceAt(t[len(prefix):], c.ceiling.Binding.At)
		}
	}
	return ""
}

func sentenceAt(text, at string) string {
	if at == "" {
		return sentence(text)
	}
	return sentence(text + " (at " + at + ")")
}

// fastLink reports links on which tensor parallelism is known to pay.
func fastLink(l string) bool {
	switch l {
	case "nvlink", "infinity-fabric", "ici", "neuronlink":
		return true
	}
	return false
}

func adviseBatchLimit(c *adviceCase) []Advice {
	seen := c.forOf(BindsBatch)
	if seen == "" || c.forOf(BindsCapacity) != "" {
		return nil
	}
	// TPOT that misses its objective already would only get worse.
	if i, _, _, _ := c.missed(serving.TPOT, serving.ITL); i >= 0 {
		return nil
	}
	limit, err := strconv.Atoi(c.facts.maxSeqs)
	if err != nil || limit <= 0 {
		return nil
	}
	to := 2 * limit
	if p := c.ceiling.Capacity; p != nil && p.Best() != nil && p.Best().Requests.OK {
		replicas := 1.0
		if c.ceiling.Machine != nil {
			replicas = float64(c.ceiling.Machine.Replicas)
		}
		if fits := int(p.Best().Requests.V / replicas); fits <= limit {
			return nil // the pool would be next at once
		} else if to > fits {
			to = fits
		}
	}
	return []Advice{{Knob: "max_num_seqs", Direction: "raise", From: strconv.Itoa(limit), To: strconv.Itoa(to), Observation: seen,
		Price: "A larger batch gives the server more tokens/s and each user fewer: TPOT and ITL rise, and the KV pool fills."}}
}

func adviseSlowTokens(c *adviceCase) []Advice {
	i, r, s, m := c.missed(serving.TPOT, serving.ITL)
	if i < 0 {
		return nil
	}
	seen := sentence(missText(r, s, m))
	var out []Advice
	if batched, _ := strconv.Atoi(c.batched); batched == 0 || batched > 2048 {
		out = append(out, Advice{Knob: "max_num_batched_tokens", Direction: "lower", From: c.batched, To: "2048", Observation: seen, at: r,
			Price: "Prompts take more steps: TTFT rises, and throughput falls."})
	}
	if limit, _ := strconv.Atoi(c.facts.maxSeqs); limit > 1 {
		to := limit * 3 / 4
		from := "one step down"
		if i > 0 {
			if n := c.levels[i-1][0].users(); n.OK && int(n.V) >= 1 && int(n.V) < limit {
				to, from = int(n.V), "the highest level that keeps it"
			}
		}
		out = append(out, Advice{Knob: "max_num_seqs", Direction: "lower", From: strconv.Itoa(limit), To: strconv.Itoa(to), Observation: seen, at: r,
			Price: "Throughput falls and requests beyond the limit wait: TTFT rises. Keep it only if TTFT and completed throughput stay within their objectives (" + from + ")."})
	}
	return out
}

func adviseStalls(c *adviceCase) []Advice {
	for i := len(c.levels) - 1; i >= 0; i-- {
		for _, r := range c.levels[i] {
			tpot, itl := r.Dists.Of(serving.TPOT), r.Dists.Of(serving.ITL)
			if len(r.Reading) < 7 || r.Reading[:7] != "Stalls:" || tpot == nil || itl == nil {
				continue
			}
			if batched, _ := strconv.Atoi(c.batched); batched > 0 && batched <= 2048 {
				return nil
			}
			i50, i99 := r.Dists.stat(serving.ITL, "p50"), r.Dists.stat(serving.ITL, "p99")
			return []Advice{{Knob: "max_num_batched_tokens", Direction: "lower", From: c.batched, To: "2048", at: r,
				Observation: fmt.Sprintf("Single gaps stall at %s: ITL p99 is %s, its median %s, while TPOT is even.", place(r), seconds(i99.V), seconds(i50.V)),
				Price:       "Prompts take more steps: TTFT rises, and throughput falls."}}
		}
	}
	return nil
}

func adviseLateFirst(c *adviceCase) []Advice {
	i, r, s, m := c.missed(serving.TTFT)
	if i < 0 {
		return nil
	}
	seen := missText(r, s, m)
	queue, why := c.queued(i, r)
	switch queue {
	case queueLong:
		return []Advice{{Knob: "data_parallel_size", Direction: "raise", From: "1", To: "2", at: r, Observation: sentence(seen + "; " + why),
			Price: "Twice the GPUs, and prefix caches that are no longer shared. A larger batch would not help: what arrives exceeds what is served."}}
	case queueShort:
		to := "8192"
		if b, _ := strconv.Atoi(c.batched); b >= 8192 {
			to = strconv.Itoa(2 * b)
		}
		return []Advice{{Knob: "max_num_batched_tokens", Direction: "raise", From: c.batched, To: to, at: r, Observation: sentence(seen + "; " + why),
			Price:  "Longer steps while prompts are read: ITL gets worse for everybody who streams.",
			Caveat: "First look for prefix reuse and shorter prompts: they cost nothing in ITL."}}
	}
	return nil
}

// What is known of the queue at a level.
const (
	queueUnknown = iota
	queueShort
	queueLong
)

// queued tells whether requests wait for a place at a level, and what says so.
func (c *adviceCase) queued(level int, r *RunStats) (int, string) {
	if limit, _ := strconv.Atoi(c.facts.maxSeqs); limit > 0 {
		if n := r.users(); n.OK && n.V > 1.05*float64(limit) {
			return queueLong, fmt.Sprintf("%s are in flight, max_num_seqs is %d: the rest waits", number(math.Round(n.V)), limit)
		}
	}
	first := c.levels[0][0]
	low, now := first.Dists.stat(serving.TTFT, "p50"), r.Dists.stat(serving.TTFT, "p50")
	if c.sweep != nil && level > 0 && low.OK && now.OK && low.V > 0 && now.V > 3*low.V {
		return queueLong, fmt.Sprintf("its median grew from %s at %s to %s with the load", seconds(low.V), place(first), seconds(now.V))
	}
	if v, ok := c.gauge(serving.Waiting); ok && v >= 1 {
		return queueLong, fmt.Sprintf("up to %s waited at the engine", plural(int(v), "request", "requests"))
	}
	if v, ok := c.gauge(serving.Waiting); ok && v < 1 {
		return queueShort, "nothing waited at the engine"
	}
	if c.sweep != nil && level == 0 {
		return queueShort, "it does so at the lowest load, where nothing waits"
	}
	if n := r.users(); n.OK && n.V <= 1.05 {
		return queueShort, "with one request at a time nothing waits"
	}
	return queueUnknown, ""
}

func adviseBandwidth(c *adviceCase) []Advice {
	seen := c.forOf(BindsBandwidth)
	if seen == "" || c.ceiling.Model == nil || c.ceiling.Binding.What != BindsBandwidth {
		return nil
	}
	var out []Advice
	m := c.ceiling.Model
	if m.Weights.Bytes >= 2 {
		out = append(out, Advice{Knob: "quantization", Direction: "lower", From: m.Weights.Name, To: "fp8", Observation: seen,
			Price: "Half the bytes of the weights at some accuracy: check answers on your own evaluation. It helps most at small batches, where weights are what is read."})
		if g := c.ceiling.GPU; g != nil && g.FLOPS["fp8"] == 0 {
			out[0].Caveat = g.Title + " has no FP8 arithmetic: the weights are widened as they are read."
		}
	}
	if m.KVType.Bytes > 1 && c.ceiling.Bandwidth.HalfBatch.OK && c.topBatch() > c.ceiling.Bandwidth.HalfBatch.V {
		out = append(out, Advice{Knob: "kv_cache_dtype", Direction: "lower", From: m.KVType.Name, To: "fp8",
			Observation: sentence(seen[:len(seen)-1] + fmt.Sprintf("; beyond a batch of %s the KV cache is most of what is read", number(math.Round(c.ceiling.Bandwidth.HalfBatch.V)))),
			Price:       "Half the bytes a token at some accuracy: check answers on your own evaluation."})
	}
	return out
}

func (c *adviceCase) topBatch() float64 {
	top := 0.0
	for _, l := range c.ceiling.Levels {
		top = math.Max(top, l.Batch.Or(0))
	}
	return top
}

func adviseLessTP(c *adviceCase) []Advice {
	x := c.ceiling
	if x == nil || x.Machine == nil || x.Capacity == nil || x.Capacity.LeastGPUs == 0 || c.facts.tp == 0 {
		return nil // a size that no file states is not judged
	}
	least := x.Capacity.LeastGPUs
	if x.Machine.TP <= least || x.Binding.What == BindsCapacity || len(x.Levels) == 0 {
		return nil
	}
	// Fewer GPUs a replica are slower for each user: not where that misses
	// already.
	if i, _, _, _ := c.missed(serving.TPOT, serving.ITL, serving.TTFT, serving.E2E); i >= 0 {
		return nil
	}
	a := Advice{Knob: "tensor_parallel_size", Direction: "lower", From: strconv.Itoa(x.Machine.TP), To: strconv.Itoa(least),
		Observation: fmt.Sprintf("%d × %s share the model; %s of weights with the reserve and one request fit %d.", x.Machine.TP, x.GPU.Title, gigabytes(x.Model.WeightBytes()), least),
		Price:       fmt.Sprintf("Each user is bounded by %s of the bandwidth, so TPOT and TTFT rise; the pool a replica is smaller. The GPUs that are freed are further replicas: compare tokens/s per GPU.", percent(float64(least)/float64(x.Machine.TP)))}
	if x.Interlink == "pcie" {
		a.Caveat = "The cards are linked by PCIe, where communication of tensor parallelism costs most."
	}
	return []Advice{a}
}

func adviseExpertParallel(c *adviceCase) []Advice {
	x := c.ceiling
	if x == nil || x.Model == nil || x.Model.MoE == nil || x.Machine == nil || c.sweep == nil || c.facts.expertParallel || !fastLink(x.Interlink) {
		return nil
	}
	size := x.Machine.TP * x.Machine.Replicas
	if size < 2 || c.forOf(BindsCapacity) != "" || c.forOf(BindsBatch) != "" || len(c.levels) < 3 {
		return nil
	}
	a, b := c.levels[len(c.levels)-2][0], c.levels[len(c.levels)-1][0]
	na, nb := a.users(), b.users()
	if !na.OK || !nb.OK || na.V <= 0 || nb.V < 1.3*na.V || !a.Throughput.Output.OK || !b.Throughput.Output.OK || a.Throughput.Output.V <= 0 {
		return nil
	}
	load, out := nb.V/na.V, b.Throughput.Output.V/a.Throughput.Output.V
	if out-1 > 0.5*(load-1) {
		return nil
	}
	return []Advice{{Knob: "enable_expert_parallel", Direction: "enable", From: "off", To: fmt.Sprintf("size %d = TP × DP", size),
		Observation: fmt.Sprintf("From %s to %s there are %.1f × the requests in flight and %.2f × the output tokens/s.", place(a), place(b), load, out),
		Price:       "All-to-all traffic in every layer of experts, and a step waits for the GPU with the busiest experts."}}
}

func adviseMoreLoad(c *adviceCase) []Advice {
	x := c.ceiling
	if x == nil || c.sweep == nil || x.Binding.What != BindsNeither || len(c.levels) < 2 {
		return nil
	}
	a, b := c.levels[len(c.levels)-2][0], c.levels[len(c.levels)-1][0]
	if !a.Throughput.Output.OK || !b.Throughput.Output.OK || b.Throughput.Output.V < 1.05*a.Throughput.Output.V {
		return nil
	}
	p := c.sweep.Points[len(c.sweep.Points)-1]
	if p.XUnlimited || p.X <= 0 {
		return nil
	}
	knob := "max_concurrency"
	if c.sweep.Mode == serving.OpenLoop {
		knob = "request_rate"
	}
	return []Advice{{Knob: knob, Direction: "test", From: number(p.X), To: number(2 * p.X),
		Observation: fmt.Sprintf("Throughput still rises from %s to %s (%s to %s tokens/s), and no ceiling is touched.", place(a), place(b), number(a.Throughput.Output.V), number(b.Throughput.Output.V)),
		Price:       "None but the time of the test: the capacity is not measured yet."}}
}

package samples

import "math"

// An llm is what the cost of serving a model follows from.
type llm struct {
	name        string
	params      float64 // all of them
	active      float64 // used for one token: params for a dense model
	weightBytes float64 // all weights as loaded
	expertBytes float64 // the part of weightBytes that belongs to routed experts; 0 for a dense model
	experts     int     // routed experts a layer
	topK        int     // of them, used for one token
	kvBytes     float64 // of KV cache a token: 2 × layers × KV heads × head dim × bytes
	layers      int
	hidden      int
}

// The models. Parameter counts and shapes are those of their published
// configurations; weights are two bytes a parameter.
var (
	llama8B = llm{
		name: "meta-llama/Llama-3.1-8B-Instruct", params: 8.03e9, active: 8.03e9, weightBytes: 16.06e9,
		kvBytes: 2 * 32 * 8 * 128 * 2, layers: 32, hidden: 4096,
	}
	llama70B = llm{
		name: "meta-llama/Llama-3.3-70B-Instruct", params: 70.6e9, active: 70.6e9, weightBytes: 141.2e9,
		kvBytes: 2 * 80 * 8 * 128 * 2, layers: 80, hidden: 8192,
	}
	// qwen30B is a mixture of experts: 48 layers of 128 experts, each of
	// 3 × 2048 × 768 parameters, 8 of them used for one token.
	qwen30B = llm{
		name: "Qwen/Qwen3-30B-A3B", params: 30.5e9, active: 3.3e9, weightBytes: 61.0e9,
		expertBytes: 48 * 128 * 3 * 2048 * 768 * 2, experts: 128, topK: 8,
		kvBytes: 2 * 48 * 4 * 128 * 2, layers: 48, hidden: 2048,
	}
)

// readBytes is what one step reads of the weights when it holds the given
// number of tokens. A dense model is read whole. Of a mixture of experts only
// the experts that some token chose are read: with independent choices a layer
// uses experts × (1 − (1 − topK/experts)^tokens) of them.
func (m *llm) readBytes(tokens int) float64 {
	if m.experts == 0 {
		return m.weightBytes
	}
	used := 1 - math.Pow(1-float64(m.topK)/float64(m.experts), float64(tokens))
	return m.weightBytes - m.expertBytes + m.expertBytes*used
}

// A gpu is one accelerator: peak figures as its vendor states them.
type gpu struct {
	name      string
	memBytes  float64
	bandwidth float64 // bytes/s
	flops     float64 // dense, at the weights' precision
}

var h100 = gpu{name: "NVIDIA H100 80GB HBM3", memBytes: 80e9, bandwidth: 3.35e12, flops: 989e12}

// An engineConfig is how an engine was started, with the efficiencies that
// separate it from the peak.
type engineConfig struct {
	model            llm
	gpu              gpu
	tp               int // tensor parallel size = GPUs of this engine
	maxNumSeqs       int
	maxBatchedTokens int
	maxModelLen      int
	memUtil          float64 // gpu_memory_utilization
	reserveBytes     float64 // activations and CUDA graphs, per engine
	bandwidthEff     float64 // share of the peak bandwidth that is reached
	computeEff       float64 // share of the peak FLOPS that prefill reaches
	stepOverhead     float64 // s a step: scheduling, launch, sampling
	seqOverhead      float64 // s a sequence and step: sampling, bookkeeping
	noise            float64 // relative standard deviation of a step's time
	speed            float64 // factor on every step's time: 1, or what a run or a regression changes
	longPrefillFrom  int     // prompts from this length on …
	longPrefillCost  float64 // … cost this factor in prefill compute; 0 for none
}

// newEngine is the configuration the measured curve of Llama-3.1-8B on one H100
// was fitted with (see the calibrate program). Other models inherit the
// efficiencies: for them nothing was measured.
func newEngine(m llm, tp int) engineConfig {
	return engineConfig{
		model: m, gpu: h100, tp: tp,
		maxNumSeqs: 128, maxBatchedTokens: 8192, maxModelLen: 32768,
		memUtil: 0.92, reserveBytes: 3e9 * float64(tp),
		bandwidthEff: 0.66, computeEff: 0.40,
		stepOverhead: 3.1e-3, seqOverhead: 45e-6,
		noise: 0.012, speed: 1,
	}
}

// blockTokens is the engine's KV block size.
const blockTokens = 16

// kvBlocks is the size of the KV pool: GPUs × memory × utilization − weights −
// reserve, in blocks.
func (c *engineConfig) kvBlocks() int {
	pool := float64(c.tp)*c.gpu.memBytes*c.memUtil - c.model.weightBytes - c.reserveBytes
	return max(1, int(pool/c.model.kvBytes)/blockTokens)
}

// setKVTokens sets the memory utilization so that the pool holds n tokens.
func (c *engineConfig) setKVTokens(n float64) {
	c.memUtil = math.Ceil((n*c.model.kvBytes+c.model.weightBytes+c.reserveBytes)/(float64(c.tp)*c.gpu.memBytes)*1000) / 1000
}

// A stepLoad is what one step has to do.
type stepLoad struct {
	prefill    int     // prompt tokens computed
	prefillCtx float64 // sum over them of the context each attends to
	long       int     // of prefill, tokens of prompts beyond longPrefillFrom
	seqs       int     // sequences in the batch
	tokens     int     // all tokens computed
	kvTokens   int     // KV entries read
}

// stepCost is the time of one step in seconds before noise:
//
//	(weights + KV of the batch) / bandwidth + compute of the prefill tokens + overhead
//
// with 2 FLOP a parameter and token, and 4 × layers × hidden × context for the
// attention of a prefilled token.
func (c *engineConfig) stepCost(l stepLoad) float64 {
	bytes := c.model.readBytes(l.tokens) + float64(l.kvTokens)*c.model.kvBytes
	flop := 2*c.model.active*float64(l.prefill) + 4*float64(c.model.layers)*float64(c.model.hidden)*l.prefillCtx
	if c.longPrefillCost > 0 && l.long > 0 {
		flop += flop * (c.longPrefillCost - 1) * float64(l.long) / float64(l.prefill)
	}
	n := float64(c.tp)
	t := bytes/(c.gpu.bandwidth*n*c.bandwidthEff) + flop/(c.gpu.flops*n*c.computeEff)
	return (t + c.stepOverhead + c.seqOverhead*float64(l.seqs)) * c.speed
}

// kernelShare is the part of a step in which the GPU computes: what a
// utilization counter sees: all but the host's fixed part.
func (c *engineConfig) kernelShare(l stepLoad) float64 {
	return 1 - c.stepOverhead*c.speed/c.stepCost(l)
}

// A shape is the mean request of a load, for planning its rate.
type shape struct{ prompt, cached, output float64 }

// decodeStep is the time of a pure decode step of n such requests.
func (c *engineConfig) decodeStep(s shape, n float64) float64 {
	return c.stepCost(stepLoad{seqs: int(n), tokens: int(n), kvTokens: int(n * (s.prompt + s.output/2))})
}

// prefillCost is the time one such request's prefill adds to the steps it is in.
func (c *engineConfig) prefillCost(s shape) float64 {
	p := s.prompt - s.cached
	l := stepLoad{prefill: int(p), prefillCtx: p * (s.cached + p/2)}
	idle := c.stepCost(stepLoad{})
	return c.stepCost(l) - idle
}

// capacity is the rate at which the engine is full: with n = max_num_seqs
// running (or what the KV pool holds), each request costs its prefill and one
// n-th of each of its decode steps.
func (c *engineConfig) capacity(s shape) float64 {
	return c.rateAt(s, math.Min(float64(c.maxNumSeqs), float64(c.kvBlocks()*blockTokens)/(s.prompt+s.output/2)))
}

// rateAt is the throughput in requests/s with n requests running.
func (c *engineConfig) rateAt(s shape, n float64) float64 {
	return 1 / (c.prefillCost(s) + s.output*c.decodeStep(s, n)/n)
}

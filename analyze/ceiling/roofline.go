package ceiling

import "math"

// A Machine is a replica on its hardware: GPUs that hold one copy of the model.
// With pipeline stages one request passes them in turn, so only the GPUs of one
// stage read for it at a time.
type Machine struct {
	GPU      GPU
	TP       int // GPUs that share each layer
	Stages   int // pipeline stages; 1 for none
	Replicas int // copies of the model, each on TP × Stages GPUs
}

// GPUs is the number of GPUs of one replica.
func (m Machine) GPUs() int { return m.TP * m.Stages }

// Bandwidth is the memory bandwidth of one stage of a replica, bytes/s.
func (m Machine) Bandwidth() float64 { return float64(m.TP) * m.GPU.Bandwidth }

// StepSeconds is the shortest a decode step of a batch can take: weights and KV
// cache of the whole batch over the bandwidth. It is the token gap of every
// request in flight.
func StepSeconds(weights, kv, bandwidth float64) float64 { return (weights + kv) / bandwidth }

// OneRequest is the bound of one request's tokens/s: bandwidth over the weights
// that a step of one token reads. Its own KV cache is left out, as the bound is
// usually stated.
func OneRequest(m *Model, hw Machine) float64 { return hw.Bandwidth() / m.ReadBytes(1) }

// NaiveOneRequest is the bound of one request if a step read every weight. For
// a mixture of experts it is no bound: experts that nobody chose are not read.
func NaiveOneRequest(m *Model, hw Machine) float64 { return hw.Bandwidth() / m.WeightBytes() }

// PerUser is the bound of the tokens/s that each of a batch of requests sees, at
// a context.
func PerUser(m *Model, hw Machine, batch, context float64) float64 {
	return 1 / StepSeconds(m.ReadBytes(batch), batch*m.KVBytes(context, hw.TP), hw.Bandwidth())
}

// HalfBatch is the batch at which the KV cache has as many bytes as the
// weights: there each user has half the speed of one alone.
func HalfBatch(weights, kvPerRequest float64) float64 { return weights / kvPerRequest }

// Asymptote is the output rate in tokens/s that bandwidth allows however large
// the batch, KV cache being all that is read.
func Asymptote(bandwidth, kvPerRequest float64) float64 { return bandwidth / kvPerRequest }

// MBU is the memory bandwidth utilization: what a step must read at least, over
// the time it took and the peak bandwidth.
func MBU(weights, kv, seconds, bandwidth float64) float64 {
	return (weights + kv) / seconds / bandwidth
}

// Ridge is the batch beyond which a decode step takes longer to compute than to
// read the weights: 2 FLOP a parameter and token against the bytes. The
// bandwidth bound is not extrapolated beyond it. It is found in tokens of a step,
// without the KV cache; NaN where the compute rate is not in the catalogue.
func Ridge(m *Model, hw Machine) float64 {
	f, ok := hw.GPU.Compute(m)
	if !ok || m.Active <= 0 {
		return math.NaN()
	}
	flops := f * float64(hw.TP)
	over := func(b float64) bool { return 2*m.Active*b/flops >= m.ReadBytes(b)/hw.Bandwidth() }
	if m.MoE == nil {
		return flops * m.WeightBytes() / (2 * m.Active * hw.Bandwidth())
	}
	lo, hi := 1.0, 1.0
	for !over(hi) && hi < 1e9 {
		lo, hi = hi, hi*2
	}
	for range 60 {
		if mid := (lo + hi) / 2; over(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// Compute is the dense FLOP/s that a model's products run at on the GPU: in
// their quantized type where the GPU has it, else in the 16-bit type.
func (g GPU) Compute(m *Model) (float64, bool) {
	for _, t := range []string{m.Weights.Compute, m.DType, "bf16", "fp16"} {
		if f := g.FLOPS[t]; t != "" && f > 0 {
			return f, true
		}
	}
	return 0, false
}

// Memory that an engine does not give to the KV cache.
const (
	// Utilization is vLLM's default of gpu_memory_utilization (v0.25.1).
	Utilization = 0.92
	// Reserve is what activations, CUDA graphs and communication buffers of one
	// GPU are taken to need where no log says it: 2.5 GB.
	Reserve = 2.5e9
)

// Pool is the KV cache that fits a replica in bytes: GPUs × memory ×
// utilization − weights − reserve. It is negative where the weights do not fit.
func Pool(m *Model, hw Machine, utilization float64) float64 {
	n := float64(hw.GPUs())
	return n*hw.GPU.Memory*utilization - m.WeightBytes() - n*Reserve
}

// LeastGPUs is the smallest tensor-parallel size, a power of two, whose memory
// holds weights, reserve and one request of a context; 0 where 1024 do not.
func LeastGPUs(m *Model, g GPU, utilization, context float64) int {
	for tp := 1; tp <= 1024; tp *= 2 {
		hw := Machine{GPU: g, TP: tp, Stages: 1, Replicas: 1}
		if Pool(m, hw, utilization) >= m.KVBytes(context, tp)+m.StateBytes() {
			return tp
		}
	}
	return 0
}

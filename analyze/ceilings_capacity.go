package analyze

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/ingest/serving"
)

// contextOf is the length of a request in mid-output: mean prompt plus half the
// mean output, over the completed requests of all runs.
func contextOf(runs []*RunStats) serving.Opt[float64] {
	var in, out, n float64
	for _, r := range runs {
		if r.Counts.Completed.Or(0) > 0 && r.Input.OK && r.Output.OK {
			in, out, n = in+float64(r.Input.V), out+float64(r.Output.V), n+float64(r.Counts.Completed.V)
		}
	}
	if n == 0 || in+out == 0 {
		return serving.None[float64]()
	}
	return serving.Some((in + out/2) / n)
}

// setCapacity computes what fits, and puts what the engine says beside it.
func (f *ceilingFinder) setCapacity(c *Ceiling, s *subject, reported *Pool) {
	cap := &CapacityCeiling{Reported: reported, Util: ceiling.Utilization, UtilFrom: "vLLM's default (v0.25.1)"}
	if u, err := strconv.ParseFloat(s.facts.util, 64); err == nil && u > 0 && u <= 1 {
		cap.Util, cap.UtilFrom = u, "the files"
	}
	if reported != nil && c.Machine != nil && c.Machine.Replicas > 1 {
		reported.Tokens.V *= float64(c.Machine.Replicas)
		reported.From += fmt.Sprintf(", × %d replicas", c.Machine.Replicas)
	}
	m := c.Model
	if m != nil {
		cap.State = m.StateBytes()
		if cap.PerToken = finite(m.KVPerToken()); !cap.PerToken.OK {
			c.Missing = append(c.Missing, "the KV cache of a token: "+strings.Join(m.Doubts, "; "))
		}
		if m.Windowed() {
			cap.Beyond = finite(m.KVPerTokenBeyond())
		}
		if c.Context.OK {
			tp := 1
			if c.Machine != nil {
				tp = c.Machine.TP
			}
			cap.PerReq = finite(m.KVBytes(c.Context.V, tp) + m.StateBytes())
		}
	}
	if m != nil && c.Machine != nil {
		cap.compute(c)
	}
	cap.complete(c)
	if !cap.PerToken.OK && cap.Computed == nil && cap.Reported == nil {
		return
	}
	c.Capacity = cap
	if cap.Fits.OK && !cap.Fits.V && cap.Reported == nil {
		least := ""
		if cap.LeastGPUs > 0 {
			least = fmt.Sprintf(" The least that holds it is %d of them.", cap.LeastGPUs)
		}
		c.Findings = append(c.Findings, fmt.Sprintf("Does not fit: %s of weights in %s on %d × %s of %s, of which %s may be used.%s",
			gigabytes(m.WeightBytes()), m.Weights.Name, c.Machine.GPUs(), c.GPU.Title, gigabytes(c.GPU.Memory), percent(cap.Util), least))
	}
}

// compute is the pool of all replicas by arithmetic.
func (cap *CapacityCeiling) compute(c *Ceiling) {
	m, hw := c.Model, *c.Machine
	one := ceiling.Pool(m, hw, cap.Util)
	if math.IsNaN(one) {
		return
	}
	from := fmt.Sprintf("%d × %s × %s (gpu_memory_utilization, %s) − weights − %s a GPU for activations and CUDA graphs (assumed)",
		hw.GPUs(), gigabytes(hw.GPU.Memory), percent(cap.Util), cap.UtilFrom, gigabytes(ceiling.Reserve))
	if hw.Replicas > 1 {
		from = fmt.Sprintf("%d replicas of %s", hw.Replicas, from)
	}
	need := 0.0
	if c.Context.OK {
		if v := m.KVBytes(c.Context.V, hw.TP) + m.StateBytes(); !math.IsNaN(v) {
			need = v
		}
		cap.LeastGPUs = ceiling.LeastGPUs(m, hw.GPU, cap.Util, c.Context.V)
	} else {
		cap.LeastGPUs = ceiling.LeastGPUs(m, hw.GPU, cap.Util, 1)
	}
	cap.Fits = serving.Some(one > 0 && one >= need)
	if one <= 0 {
		return
	}
	cap.Computed = &Pool{Bytes: serving.Some(one * float64(hw.Replicas)), From: from}
}

// complete fills in of each pool what follows from the rest.
func (cap *CapacityCeiling) complete(c *Ceiling) {
	for _, p := range []*Pool{cap.Computed, cap.Reported} {
		if p == nil {
			continue
		}
		n := 0.0
		switch {
		case p.Tokens.OK:
			if !p.Bytes.OK && cap.PerToken.OK && cap.State == 0 && !cap.Beyond.OK {
				tp := 1
				if c.Machine != nil {
					tp = c.Machine.TP
				}
				p.Bytes = finite(p.Tokens.V * c.Model.KVBytes(1, tp))
			}
			if c.Context.OK {
				n = p.Tokens.V / c.Context.V
			}
		case p.Bytes.OK && cap.PerReq.OK && cap.PerReq.V > 0:
			n = p.Bytes.V / cap.PerReq.V
			p.Tokens = serving.Some(n * c.Context.V)
		case p.Bytes.OK && cap.PerToken.OK && cap.PerToken.V > 0 && !cap.Beyond.OK && c.Machine != nil:
			p.Tokens = finite(p.Bytes.V / c.Model.KVBytes(1, c.Machine.TP))
		}
		if n > 0 {
			p.Requests = finite(n)
		}
	}
}

// poolMetric is the pool that benchmarks record of the server.
const poolMetric serving.MetricKey = "server_kv_pool_tokens"

// reportedPool is the KV cache that an engine states: in its scrapes
// (cache_config_info), its log, or the result's server information. With several
// replicas each states its own.
func reportedPool(s *subject) *Pool {
	var p *Pool
	n := 0
	for _, srv := range s.servers {
		tokens, from := serverPool(srv.Server)
		if tokens <= 0 {
			continue
		}
		n++
		if p == nil {
			p = &Pool{Tokens: serving.Some(0.0), From: from + " of " + srv.Server.Label}
		}
		// Engines that were started one after the other, for one level each,
		// are not replicas beside each other.
		if n == 1 || tokens < p.Tokens.V {
			p.Tokens.V = tokens
		}
	}
	if n > 1 {
		p.From += fmt.Sprintf("; the smallest of %d servers, each its own", n)
	}
	if p != nil {
		return p
	}
	for _, r := range s.runs {
		for _, a := range r.Run.Reported {
			if a.Metric == poolMetric && a.Value() > 0 {
				return &Pool{Tokens: serving.Some(a.Value()), From: "the engine, as " + r.Run.Label + " records it (" + a.Field + ")"}
			}
		}
	}
	return nil
}

// serverPool is the pool of one engine in tokens, and which fact says it.
func serverPool(s *serving.Server) (tokens float64, from string) {
	info := settingsReader(s.Info)
	number := func(k string) float64 {
		v, err := strconv.ParseFloat(info.get(k), 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return 0
		}
		return v
	}
	if v := number("kv_cache_size_tokens"); v > 0 {
		return v, "kv_cache_size_tokens in cache_config_info"
	}
	if v := number("kv_cache_tokens"); v > 0 {
		return v, "the line “KV cache size” in the log"
	}
	if b, size := number("num_gpu_blocks"), number("block_size"); b > 0 && size > 0 {
		return b * size, "num_gpu_blocks × block_size in cache_config_info"
	}
	if v := number("max_total_num_tokens"); v > 0 {
		return v, "max_total_num_tokens in the log"
	}
	return 0, ""
}

func gigabytes(b float64) string {
	return strconv.FormatFloat(math.Round(b/1e8)/10, 'f', -1, 64) + " GB"
}

package ceiling

import (
	"math"
)

// A Model is what a ceiling needs to know of a model: how many parameters it
// has, of which kind, and how many elements its KV cache holds.
type Model struct {
	Name   string // as given
	Type   string // model_type of its configuration
	Source string // where the facts are from: the catalogue, a file, the user
	DType  string // of the weights before quantization: bf16, fp16, fp32

	Parts []Part // empty where the configuration does not tell the parameters
	MoE   *MoE   // nil for a dense model
	// Total and Active parameters. Active is what one token needs; 0 where
	// unknown, Total for a dense model.
	Total, Active float64

	KV     []KVGroup // the cache of the layers, alike ones together; nil where it cannot be told
	State  float64   // elements a request holds beside: recurrent layers
	Layers int

	Weights Format   // how the weights are stored
	KVType  Format   // how the KV cache is stored
	Doubts  []string // what could not be told, and what was assumed
}

// A PartKind says what weights belong to: quantization spares some kinds.
type PartKind string

// The kinds of weights.
const (
	Embedding PartKind = "embedding" // the input table, of which a step reads a few rows; of tied models it is the output head, too
	Head      PartKind = "head"      // the output head
	Linear    PartKind = "linear"    // projections of attention, dense and shared MLPs, recurrent layers
	Experts   PartKind = "experts"   // routed experts
	Small     PartKind = "small"     // norms, biases, routers, convolutions: never quantized
)

// A Part is a number of parameters of one kind.
type Part struct {
	Kind   PartKind
	Params float64
}

// MoE are the routed experts of a mixture of experts, alike in each layer that
// has them.
type MoE struct {
	Experts int // routed experts of a layer
	TopK    int // chosen for a token
	Routed  float64
}

// A KVGroup is layers whose cache is alike.
type KVGroup struct {
	Layers   int
	Elements float64 // a token and layer: 2 × KV heads × head dim; of MLA latent + rope dims
	Heads    int     // KV heads that tensor parallelism can split; 1 for MLA
	Window   int     // tokens that are kept; 0 for all
}

// A Format is how numbers are stored.
type Format struct {
	Name  string  // bf16, fp8, int4, …
	Bytes float64 // a number, scales included
	// Spares lists the kinds that stay in 16 bits; nil where the format is that
	// of every parameter.
	Spares []PartKind
	// Compute is the type that the products are computed in; "" for that of
	// the model.
	Compute string
	Source  string // where it is from: the flag, the configuration, the name, a setting
}

// formats are the ways numbers are stored. The bytes of the 4-bit ones hold
// their scales: a 16-bit scale and a 4-bit zero point each 128 weights (AWQ,
// GPTQ), an 8-bit scale each 32 (MXFP4) or each 16 (NVFP4).
var formats = []Format{
	{Name: "fp32", Bytes: 4},
	{Name: "bf16", Bytes: 2},
	{Name: "fp16", Bytes: 2},
	{Name: "fp8", Bytes: 1, Compute: "fp8"},
	{Name: "int8", Bytes: 1, Compute: "int8"},
	{Name: "w8a16", Bytes: 1},
	{Name: "int4", Bytes: 0.5 + 2.5/128},
	{Name: "mxfp4", Bytes: 0.5 + 1.0/32, Compute: "fp4"},
	{Name: "nvfp4", Bytes: 0.5 + 1.0/16, Compute: "fp4"},
}

// formatAliases are other names of formats.
var formatAliases = map[string]string{
	"float32": "fp32", "bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float": "fp32",
	"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_inc": "fp8", "fp8_ds_mla": "fp8", "e4m3": "fp8", "e5m2": "fp8", "float8": "fp8", "w8a8": "int8", "w8a8_int8": "int8", "w8a8_fp8": "fp8",
	"awq": "int4", "awq_marlin": "int4", "gptq": "int4", "gptq_marlin": "int4", "w4a16": "int4", "4bit": "int4", "modelopt_fp4": "nvfp4", "modelopt": "fp8",
	"fp4": "mxfp4", "fbgemm_fp8": "fp8", "mx-fp4": "mxfp4", "nf4": "int4", "bitsandbytes": "int4",
}

// FormatOf finds a format by name.
func FormatOf(name string) (Format, bool) {
	name = lower(name)
	if a, ok := formatAliases[name]; ok {
		name = a
	}
	for _, f := range formats {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// FormatNames lists the formats that a flag may name.
func FormatNames() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// of returns the bytes of a parameter of a kind.
func (f Format) of(k PartKind) float64 {
	if f.Spares == nil {
		return f.Bytes
	}
	for _, s := range f.Spares {
		if s == k {
			return 2
		}
	}
	return f.Bytes
}

// WeightBytes is the size of all weights; NaN where the parameters are unknown.
func (m *Model) WeightBytes() float64 {
	if len(m.Parts) == 0 {
		if m.Total > 0 && m.Weights.Bytes > 0 {
			return m.Total * m.Weights.Bytes
		}
		return math.NaN()
	}
	sum := 0.0
	for _, p := range m.Parts {
		sum += p.Params * m.Weights.of(p.Kind)
	}
	return sum
}

// RoutedBytes is the size of the routed experts; 0 for a dense model.
func (m *Model) RoutedBytes() float64 {
	if m.MoE == nil {
		return 0
	}
	return m.MoE.Routed * m.Weights.of(Experts)
}

// EmbeddingBytes is the size of an input table that is apart from the head: a
// step reads a few rows of it.
func (m *Model) EmbeddingBytes() float64 {
	tied := true
	sum := 0.0
	for _, p := range m.Parts {
		switch p.Kind {
		case Head:
			tied = false
		case Embedding:
			sum += p.Params * m.Weights.of(Embedding)
		}
	}
	if tied {
		return 0
	}
	return sum
}

// ReadBytes is what a step of so many tokens is expected to read of the
// weights: all of a dense model; of a mixture of experts the shared part and
// the experts that some token is expected to choose; NaN where that is unknown.
func (m *Model) ReadBytes(tokens float64) float64 {
	all := m.WeightBytes()
	if m.MoE == nil {
		return all
	}
	routed := m.RoutedBytes()
	if m.MoE.Experts == 0 {
		// Only the active parameters are known: one token reads those, of more
		// it cannot be told.
		if tokens <= 1 {
			return all - routed
		}
		return math.NaN()
	}
	return all - routed + routed*ExpectedExperts(m.MoE.Experts, m.MoE.TopK, tokens)/float64(m.MoE.Experts)
}

// ExpectedExperts is the number of distinct experts of a layer that a step of
// so many tokens uses, if each token chooses k of e independently and alike:
// e·(1 − (1 − k/e)^tokens). Skewed routing uses fewer. Tokens are all tokens of
// the step, those of prefill chunks and drafts included.
func ExpectedExperts(e, k int, tokens float64) float64 {
	if e <= 0 || k <= 0 || tokens <= 0 {
		return 0
	}
	if k >= e {
		return float64(e)
	}
	return float64(e) * (1 - math.Pow(1-float64(k)/float64(e), tokens))
}

// SplitActive divides a mixture of experts, of which only the total and the
// active parameters are known, into its routed experts and the rest:
// routed = (total − active) / (1 − k/e).
func SplitActive(total, active float64, e, k int) (shared, routed float64) {
	routed = (total - active) / (1 - float64(k)/float64(e))
	return total - routed, routed
}

// KVBytes is the KV cache of one request with so many tokens of context, in a
// group of tp GPUs that share the layers' heads: heads that are fewer than the
// GPUs are held several times. NaN where it cannot be told.
func (m *Model) KVBytes(context float64, tp int) float64 {
	if m.KV == nil || m.KVType.Bytes == 0 {
		return math.NaN()
	}
	sum := 0.0
	for _, g := range m.KV {
		n := context
		if g.Window > 0 {
			n = math.Min(n, float64(g.Window))
		}
		sum += float64(g.Layers) * g.Elements * n * copies(g.Heads, tp)
	}
	return sum * m.KVType.Bytes
}

// KVPerToken is what one more token of context adds while no window is full.
func (m *Model) KVPerToken() float64 { return m.KVBytes(1, 1) }

// KVPerTokenBeyond is what one more token adds once every window is full.
func (m *Model) KVPerTokenBeyond() float64 {
	if m.KV == nil {
		return math.NaN()
	}
	sum := 0.0
	for _, g := range m.KV {
		if g.Window == 0 {
			sum += float64(g.Layers) * g.Elements
		}
	}
	return sum * m.KVType.Bytes
}

// StateBytes is what recurrent layers hold of a request, whatever its length.
func (m *Model) StateBytes() float64 { return m.State * 2 }

// Windowed reports whether some layers keep a window only.
func (m *Model) Windowed() bool {
	for _, g := range m.KV {
		if g.Window > 0 {
			return true
		}
	}
	return false
}

// copies is how often a cache of so many heads is held in a group of tp GPUs.
func copies(heads, tp int) float64 {
	if heads <= 0 || tp <= heads {
		return 1
	}
	return float64(tp) / float64(heads)
}

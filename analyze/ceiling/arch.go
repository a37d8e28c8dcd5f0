package ceiling

import (
	"fmt"
	"slices"
	"strings"
)

// readArchitecture counts parameters and cache elements from the dimensions of
// a configuration, layer by layer, as the published implementations build them.
func (m *Model) readArchitecture(c config) {
	b := &builder{config: c, m: m}
	family, ok := families[m.Type]
	if !ok {
		b.unknown()
		return
	}
	b.dimensions()
	if err := family(b); err != nil {
		m.Parts, m.KV, m.MoE = nil, nil, nil
		m.Doubts = append(m.Doubts, fmt.Sprintf("cannot tell its parameters and KV cache: its config.json %v", err))
		return
	}
	b.finish()
}

// A builder adds up the layers of one model.
type builder struct {
	config
	m *Model

	h, layers, heads, kv, hd, inter, vocab int
	tied                                   bool

	linear, routed, small float64
	embedding, head       float64
	experts, topK         int
	groups                []KVGroup
	state                 float64
}

// dimensions reads what all transformers have.
func (b *builder) dimensions() {
	b.h, b.layers = b.int("hidden_size", "n_embd"), b.int("num_hidden_layers", "n_layer")
	b.heads = b.int("num_attention_heads", "n_head")
	b.kv = b.intOr(b.heads, "num_key_value_heads")
	if b.hd = b.int("head_dim", "attention_head_dim"); b.hd == 0 && b.heads > 0 {
		b.hd = b.h / b.heads
	}
	b.inter, b.vocab = b.int("intermediate_size", "ffn_dim", "n_inner"), b.int("vocab_size")
}

// A family builds the layers of one model_type.
type family func(b *builder) error

// families lists the model types whose layers are known.
var families = map[string]family{
	"llama":               plain(traits{biasKey: "attention_bias", outBias: true, mlpBias: "mlp_bias"}),
	"mistral":             plain(traits{window: true}),
	"ministral3":          plain(traits{window: true}),
	"granite":             plain(traits{biasKey: "attention_bias", outBias: true, mlpBias: "mlp_bias"}),
	"smollm3":             plain(traits{tied: true, biasKey: "attention_bias", outBias: true}),
	"phi3":                plain(traits{window: true}),
	"qwen2":               plain(traits{bias: true}),
	"qwen2_5_vl_text":     plain(traits{bias: true}),
	"qwen3":               plain(traits{qkNorm: true, biasKey: "attention_bias", outBias: true}),
	"qwen3_vl_text":       plain(traits{qkNorm: true, biasKey: "attention_bias", outBias: true}),
	"gemma":               plain(traits{tied: true}),
	"gemma2":              plain(traits{tied: true, norms: 4, window: true, period: 2}),
	"gemma3_text":         plain(traits{tied: true, norms: 4, qkNorm: true, window: true, period: 6}),
	"mixtral":             plain(traits{window: true, moe: moeTraits{experts: []string{"num_local_experts"}}}),
	"qwen2_moe":           plain(traits{bias: true, moe: moeTraits{experts: []string{"num_experts"}, size: "moe_intermediate_size", shared: "shared_expert_intermediate_size", sharedGate: true}}),
	"qwen3_moe":           plain(traits{qkNorm: true, biasKey: "attention_bias", outBias: true, moe: moeTraits{experts: []string{"num_experts"}, size: "moe_intermediate_size"}}),
	"qwen3_vl_moe_text":   plain(traits{qkNorm: true, biasKey: "attention_bias", outBias: true, moe: moeTraits{experts: []string{"num_experts"}, size: "moe_intermediate_size"}}),
	"glm4_moe":            plain(traits{biasKey: "attention_bias", qkNormKey: "use_qk_norm", moe: moeTraits{experts: []string{"n_routed_experts"}, size: "moe_intermediate_size", sharedCount: "n_shared_experts", correction: true}}),
	"llama4_text":         buildLlama4,
	"gpt_oss":             buildGPTOSS,
	"gemma4_text":         buildGemma4,
	"opt":                 buildOPT,
	"deepseek_v2":         buildDeepSeek,
	"deepseek_v3":         buildDeepSeek,
	"kimi_k2":             buildDeepSeek,
	"qwen3_next":          buildQwen3Next,
	"qwen3_5_text":        buildQwen3Next,
	"qwen3_5_moe_text":    buildQwen3Next,
	"jamba":               buildJamba,
	"nemotron_h":          buildNemotronH,
	"granitemoehybrid":    buildGraniteHybrid,
	"mistral3_text":       plain(traits{window: true}),
	"qwen2_5_omni_text":   plain(traits{bias: true}),
	"qwen2_vl_text":       plain(traits{bias: true}),
	"qwen3_omni_moe_text": plain(traits{qkNorm: true, moe: moeTraits{experts: []string{"num_experts"}, size: "moe_intermediate_size"}}),
}

// traits are what transformers of attention and MLP differ in.
type traits struct {
	bias      bool   // query, key and value have a bias
	biasKey   string // or where this key says so
	outBias   bool   // then the output projection, too
	mlpBias   string // key
	qkNorm    bool   // a norm over each head's query and key
	qkNormKey string
	norms     int  // a layer, of the hidden size; 2 where 0
	tied      bool // where the file does not say
	window    bool // sliding_window counts
	period    int  // every period-th layer is full; 0: all slide
	moe       moeTraits
}

// moeTraits are how the mixtures of experts name their dimensions.
type moeTraits struct {
	experts     []string // keys of the number of routed experts
	size        string   // key of an expert's width; intermediate_size where ""
	shared      string   // key of the shared expert's width
	sharedCount string   // key of the number of shared experts
	sharedGate  bool
	correction  bool // a bias a routed expert that balances the load
}

// need says which dimensions are missing.
func (b *builder) need(named ...any) error {
	for i := 0; i+1 < len(named); i += 2 {
		if named[i+1].(int) <= 0 {
			return fmt.Errorf("has no %s", named[i])
		}
	}
	return nil
}

func plain(t traits) family {
	return func(b *builder) error {
		if err := b.need("num_attention_heads", b.heads, "head_dim", b.hd, "intermediate_size", b.inter, "vocab_size", b.vocab); err != nil {
			return err
		}
		b.tied = b.flag("tie_word_embeddings", t.tied)
		b.vocabulary()
		bias := t.bias || t.biasKey != "" && b.flag(t.biasKey, false)
		norms := max(t.norms, 0)
		if norms == 0 {
			norms = 2
		}
		windows := b.windows(t)
		for i := range b.layers {
			b.attention(bias, bias && t.outBias)
			if t.qkNorm || t.qkNormKey != "" && b.flag(t.qkNormKey, false) {
				b.small += float64(2 * b.hd)
			}
			b.cache(windows[i], b.kv, b.hd)
			b.small += float64(norms * b.h)
			if t.moe.experts != nil && b.sparse(i) {
				if err := b.mixture(t.moe); err != nil {
					return err
				}
				continue
			}
			b.mlp(b.inter, true)
			if t.mlpBias != "" && b.flag(t.mlpBias, false) {
				b.small += float64(2*b.inter + b.h)
			}
		}
		b.small += float64(b.h)
		return nil
	}
}

// vocabulary counts the input table and the output head.
func (b *builder) vocabulary() {
	b.embedding = float64(b.vocab) * float64(b.h)
	if !b.tied {
		b.head = b.embedding
	}
}

func (b *builder) attention(bias, outBias bool) {
	q, kv := float64(b.heads)*float64(b.hd), float64(b.kv)*float64(b.hd)
	b.linear += float64(b.h) * (2*q + 2*kv)
	if bias {
		b.small += q + 2*kv
	}
	if outBias {
		b.small += float64(b.h)
	}
}

func (b *builder) mlp(width int, gated bool) {
	n := 2.0
	if gated {
		n = 3
	}
	b.linear += n * float64(b.h) * float64(width)
}

// sparse reports whether layer i has experts.
func (b *builder) sparse(i int) bool {
	if i < b.int("first_k_dense_replace") || slices.Contains(b.ints("mlp_only_layers"), i) {
		return false
	}
	return (i+1)%b.intOr(1, "decoder_sparse_step", "moe_layer_freq") == 0
}

func (b *builder) mixture(t moeTraits) error {
	b.experts, b.topK = b.int(t.experts...), b.int("num_experts_per_tok", "num_experts_per_token", "top_k_experts")
	width := b.inter
	if t.size != "" {
		width = b.intOr(b.inter, t.size)
	}
	if err := b.need(t.experts[0], b.experts, "num_experts_per_tok", b.topK, "moe_intermediate_size", width); err != nil {
		return err
	}
	b.routed += float64(b.experts) * 3 * float64(b.h) * float64(width)
	b.small += float64(b.h) * float64(b.experts)
	if t.correction {
		b.small += float64(b.experts)
	}
	if t.shared != "" && b.int(t.shared) > 0 {
		b.mlp(b.int(t.shared), true)
		if t.sharedGate {
			b.small += float64(b.h)
		}
	}
	if t.sharedCount != "" && b.int(t.sharedCount) > 0 {
		b.mlp(b.int(t.sharedCount)*width, true)
	}
	return nil
}

// windows is the sliding window of each layer; 0 for full attention.
func (b *builder) windows(t traits) []int {
	out := make([]int, b.layers)
	w := b.int("sliding_window", "attention_chunk_size")
	if w == 0 || !b.flag("use_sliding_window", true) {
		return out
	}
	types := b.texts("layer_types")
	for i := range out {
		switch {
		case len(types) == b.layers:
			if strings.HasPrefix(types[i], "sliding") || strings.HasPrefix(types[i], "chunked") {
				out[i] = w
			}
		case !t.window:
		case t.period == 0:
			out[i] = w
		case (i+1)%b.intOr(t.period, "sliding_window_pattern") != 0:
			out[i] = w
		}
	}
	return out
}

// cache adds a layer's keys and values.
func (b *builder) cache(window, heads, dim int) {
	b.group(KVGroup{Layers: 1, Elements: 2 * float64(heads) * float64(dim), Heads: heads, Window: window})
}

// group adds a layer to those that are like it.
func (b *builder) group(g KVGroup) {
	for i := range b.groups {
		if o := &b.groups[i]; o.Elements == g.Elements && o.Heads == g.Heads && o.Window == g.Window {
			o.Layers += g.Layers
			return
		}
	}
	b.groups = append(b.groups, g)
}

// finish turns the sums into the model.
func (b *builder) finish() {
	m := b.m
	for _, p := range []Part{{Embedding, b.embedding}, {Head, b.head}, {Linear, b.linear}, {Experts, b.routed}, {Small, b.small}} {
		if p.Params > 0 {
			m.Parts = append(m.Parts, p)
			m.Total += p.Params
		}
	}
	m.Active = m.Total
	if b.routed > 0 {
		m.MoE = &MoE{Experts: b.experts, TopK: b.topK, Routed: b.routed}
		m.Active = m.Total - b.routed + b.routed*float64(min(b.topK, b.experts))/float64(b.experts)
	}
	m.KV, m.State = b.groups, b.state
	if m.KV == nil {
		m.KV = []KVGroup{} // known to hold nothing a token
	}
	if len(m.KV) > 1 && m.Windowed() {
		m.Doubts = append(m.Doubts, "its sliding-window layers keep the window only: so does vLLM with its hybrid KV cache manager, older versions and some connectors keep everything")
	}
	if m.State > 0 {
		m.Doubts = append(m.Doubts, "the state of its recurrent layers is counted at 16 bits; engines may keep a part at 32, and round their pages up")
	}
}

// unknown takes what an unknown type has in common with plain transformers, if
// nothing in its configuration says that it is none.
func (b *builder) unknown() {
	b.dimensions()
	m := b.m
	name := m.Type
	if name == "" {
		name = "none"
	}
	m.Doubts = append(m.Doubts, fmt.Sprintf("cannot tell its parameters: model_type %q is not known; give --model …,params=70.6e9 (and active=… of a mixture of experts)", name))
	for key, v := range b.config {
		for _, odd := range []string{"lora_rank", "mamba", "ssm", "linear_", "layer_types", "conv", "index_", "hybrid", "global_", "shared_kv", "kv_shared", "block_types", "sliding", "chunk"} {
			if strings.Contains(key, odd) && v != nil {
				m.Doubts = append(m.Doubts, fmt.Sprintf("cannot tell its KV cache: model_type %q is not known, and its layers are not all alike", name))
				return
			}
		}
	}
	if b.heads == 0 || b.hd == 0 {
		m.Doubts = append(m.Doubts, "cannot tell its KV cache: its config.json has no attention heads")
		return
	}
	for range b.layers {
		b.cache(0, b.kv, b.hd)
	}
	m.KV = b.groups
	m.Doubts = append(m.Doubts, "its KV cache is computed as that of a plain transformer: layers, KV heads and head_dim")
}

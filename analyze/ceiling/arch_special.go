package ceiling

import (
	"fmt"
	"strings"
)

// buildDeepSeek is multi-head latent attention with shared and routed experts:
// DeepSeek V2, V3, R1, Kimi K2. The cache holds one latent vector and one
// rotary key a token and layer, for all heads.
func buildDeepSeek(b *builder) error {
	kvRank, rope, nope, v := b.int("kv_lora_rank"), b.int("qk_rope_head_dim"), b.int("qk_nope_head_dim"), b.int("v_head_dim")
	if err := b.need("num_attention_heads", b.heads, "kv_lora_rank", kvRank, "qk_rope_head_dim", rope, "qk_nope_head_dim", nope, "v_head_dim", v, "vocab_size", b.vocab); err != nil {
		return err
	}
	b.tied = b.flag("tie_word_embeddings", false)
	b.vocabulary()
	h, heads := float64(b.h), float64(b.heads)
	qDim := heads * float64(nope+rope)
	t := moeTraits{experts: []string{"n_routed_experts"}, size: "moe_intermediate_size", sharedCount: "n_shared_experts",
		correction: b.text("topk_method") == "noaux_tc"}
	for i := range b.layers {
		if r := b.int("q_lora_rank"); r > 0 {
			b.linear += h*float64(r) + float64(r)*qDim
			b.small += float64(r)
		} else {
			b.linear += h * qDim
		}
		b.linear += h*float64(kvRank+rope) + float64(kvRank)*heads*float64(nope+v) + heads*float64(v)*h
		b.small += float64(kvRank) + 2*h
		b.group(KVGroup{Layers: 1, Elements: float64(kvRank + rope), Heads: 1})
		if i >= b.int("first_k_dense_replace") && b.int("n_routed_experts") > 0 {
			if err := b.mixture(t); err != nil {
				return err
			}
			continue
		}
		b.mlp(b.inter, true)
	}
	b.small += h
	return nil
}

// buildGPTOSS alternates sliding and full attention with biases and sinks; its
// experts have biases, too.
func buildGPTOSS(b *builder) error {
	b.experts, b.topK = b.int("num_local_experts"), b.int("num_experts_per_tok", "experts_per_token")
	if err := b.need("num_attention_heads", b.heads, "head_dim", b.hd, "intermediate_size", b.inter, "vocab_size", b.vocab, "num_local_experts", b.experts, "num_experts_per_tok", b.topK); err != nil {
		return err
	}
	b.tied = b.flag("tie_word_embeddings", false)
	b.vocabulary()
	windows := b.windows(traits{window: true, period: 2})
	h, e, inter := float64(b.h), float64(b.experts), float64(b.inter)
	for i := range b.layers {
		b.attention(true, true)
		b.small += float64(b.heads) + 2*h
		b.cache(windows[i], b.kv, b.hd)
		b.small += h*e + e
		b.routed += e * (h*2*inter + 2*inter + inter*h + h)
	}
	b.small += h
	return nil
}

// buildGemma4 has full layers with their own head size and number of KV heads,
// whose values are made from the keys' projection. The cache holds both.
func buildGemma4(b *builder) error {
	if b.int("hidden_size_per_layer_input") > 0 || b.int("num_kv_shared_layers") > 0 {
		return fmt.Errorf("has layers that share a cache or embeddings a layer, which are not counted yet")
	}
	types, window := b.texts("layer_types"), b.int("sliding_window")
	full, fullKV := b.intOr(b.hd, "global_head_dim"), b.intOr(b.kv, "num_global_key_value_heads")
	if err := b.need("num_attention_heads", b.heads, "head_dim", b.hd, "intermediate_size", b.inter, "vocab_size", b.vocab, "sliding_window", window); err != nil {
		return err
	}
	if len(types) != b.layers {
		return fmt.Errorf("has no layer_types for its %d layers", b.layers)
	}
	b.tied = b.flag("tie_word_embeddings", true)
	b.vocabulary()
	h, slide, slideKV := float64(b.h), b.hd, b.kv
	for _, t := range types {
		hd, kv, kvs, w := slide, slideKV, 2.0, window
		if t == "full_attention" {
			hd, kv, w = full, fullKV, 0
			if b.flag("attention_k_eq_v", false) {
				kvs = 1
			} else {
				kv = slideKV
			}
		}
		b.linear += h * float64(hd) * (2*float64(b.heads) + kvs*float64(kv))
		b.small += float64(2*hd) + 4*h + 1
		b.cache(w, kv, hd)
		b.mlp(b.inter, true)
		if b.flag("enable_moe_block", false) {
			if err := b.mixture(moeTraits{experts: []string{"num_experts"}, size: "moe_intermediate_size"}); err != nil {
				return err
			}
			b.small += 4*h + float64(b.experts)
		}
	}
	b.small += h
	return nil
}

// buildLlama4 has a shared and one routed expert in every step-th layer, and
// three of four layers attend within chunks.
func buildLlama4(b *builder) error {
	wide := b.int("intermediate_size_mlp")
	b.experts, b.topK = b.int("num_local_experts"), b.int("num_experts_per_tok")
	if err := b.need("num_attention_heads", b.heads, "head_dim", b.hd, "intermediate_size", b.inter, "vocab_size", b.vocab, "num_local_experts", b.experts, "num_experts_per_tok", b.topK); err != nil {
		return err
	}
	b.tied = b.flag("tie_word_embeddings", false)
	b.vocabulary()
	step, chunk := b.intOr(1, "interleave_moe_layer_step"), b.intOr(8192, "attention_chunk_size")
	h := float64(b.h)
	for i := range b.layers {
		b.attention(false, false)
		b.small += 2 * h
		w := chunk
		if (i+1)%b.intOr(4, "no_rope_layer_interval") == 0 {
			w = 0
		}
		b.cache(w, b.kv, b.hd)
		if (i+1)%step != 0 {
			b.mlp(wide, true)
			continue
		}
		b.routed += float64(b.experts) * 3 * h * float64(b.inter)
		b.small += h * float64(b.experts)
		b.mlp(b.inter, true)
	}
	b.small += h
	return nil
}

// buildOPT is the older transformer: learned positions, biases everywhere, norms
// with a bias.
func buildOPT(b *builder) error {
	pos := b.int("max_position_embeddings")
	if err := b.need("num_attention_heads", b.heads, "ffn_dim", b.inter, "vocab_size", b.vocab, "max_position_embeddings", pos); err != nil {
		return err
	}
	if w := b.int("word_embed_proj_dim"); w > 0 && w != b.h || !b.flag("do_layer_norm_before", true) {
		return fmt.Errorf("is of the variant with projected embeddings, which is not counted yet")
	}
	b.tied = b.flag("tie_word_embeddings", true)
	b.vocabulary()
	h := float64(b.h)
	b.small += float64(pos+2)*h + 2*h
	for range b.layers {
		b.attention(true, true)
		b.mlp(b.inter, false)
		b.small += float64(b.inter) + h + 4*h
		b.cache(0, b.heads, b.hd)
	}
	return nil
}

// buildQwen3Next has gated linear attention in most layers and gated full
// attention in every fourth; Qwen3.5 is built alike.
func buildQwen3Next(b *builder) error {
	nk, nv, dk, dv, conv := b.int("linear_num_key_heads"), b.int("linear_num_value_heads"), b.int("linear_key_head_dim"), b.int("linear_value_head_dim"), b.int("linear_conv_kernel_dim")
	if err := b.need("num_attention_heads", b.heads, "head_dim", b.hd, "vocab_size", b.vocab, "linear_num_key_heads", nk, "linear_num_value_heads", nv,
		"linear_key_head_dim", dk, "linear_value_head_dim", dv, "linear_conv_kernel_dim", conv); err != nil {
		return err
	}
	b.tied = b.flag("tie_word_embeddings", false)
	b.vocabulary()
	types := b.texts("layer_types")
	every := b.intOr(4, "full_attention_interval")
	h, keys, values := float64(b.h), float64(nk*dk), float64(nv*dv)
	for i := range b.layers {
		full := (i+1)%every == 0
		if len(types) == b.layers {
			full = types[i] == "full_attention"
		}
		b.small += 2 * h
		if full {
			// The query projection makes a gate as well.
			b.attention(false, false)
			b.linear += h * float64(b.heads*b.hd)
			b.small += float64(2 * b.hd)
			b.cache(0, b.kv, b.hd)
		} else {
			b.linear += h*(2*keys+2*values) + values*h
			b.small += h*2*float64(nv) + (2*keys+values)*float64(conv) + 2*float64(nv) + float64(dv)
			b.state += (2*keys+values)*float64(conv-1) + float64(nv)*float64(dk)*float64(dv)
		}
		if b.int("num_experts") > 0 && b.sparse(i) {
			if err := b.mixture(moeTraits{experts: []string{"num_experts"}, size: "moe_intermediate_size", shared: "shared_expert_intermediate_size", sharedGate: true}); err != nil {
				return err
			}
			continue
		}
		if err := b.need("intermediate_size", b.inter); err != nil {
			return err
		}
		b.mlp(b.inter, true)
	}
	b.small += h
	return nil
}

// buildJamba has a few attention layers among Mamba layers, and experts in every
// second.
func buildJamba(b *builder) error {
	n, k, expand, rank := b.intOr(16, "mamba_d_state"), b.intOr(4, "mamba_d_conv"), b.intOr(2, "mamba_expand"), b.int("mamba_dt_rank")
	period, offset := b.int("attn_layer_period"), b.int("attn_layer_offset")
	b.experts, b.topK = b.int("num_experts"), b.int("num_experts_per_tok")
	if err := b.need("num_attention_heads", b.heads, "intermediate_size", b.inter, "vocab_size", b.vocab, "mamba_dt_rank", rank, "attn_layer_period", period, "num_experts", b.experts, "num_experts_per_tok", b.topK); err != nil {
		return err
	}
	b.tied = b.flag("tie_word_embeddings", false)
	b.vocabulary()
	h := float64(b.h)
	d, ns, dr := float64(expand)*h, float64(n), float64(rank)
	ePeriod, eOffset := b.intOr(1, "expert_layer_period"), b.int("expert_layer_offset")
	for i := range b.layers {
		b.small += 2 * h
		if i%period == offset%period {
			b.attention(false, false)
			b.cache(0, b.kv, b.hd)
		} else {
			b.linear += h*2*d + d*(dr+2*ns) + dr*d + d*h
			b.small += d*float64(k) + d + d + d*ns + d + dr + 2*ns
			if b.flag("mamba_proj_bias", false) {
				b.small += 2*d + h
			}
			b.state += d*float64(k-1) + d*ns
		}
		if b.experts > 1 && i%ePeriod == eOffset%ePeriod {
			b.routed += float64(b.experts) * 3 * h * float64(b.inter)
			b.small += h * float64(b.experts)
			continue
		}
		b.mlp(b.inter, true)
	}
	b.small += h
	return nil
}

// mamba2 counts one Mamba-2 block of so many heads.
func (b *builder) mamba2(heads, headDim, groups, n, conv int, bias, convBias bool) {
	h, d := float64(b.h), float64(heads*headDim)
	mixed := d + 2*float64(groups*n)
	b.linear += h*(d+mixed+float64(heads)) + d*h
	b.small += mixed*float64(conv) + 3*float64(heads) + d
	if convBias {
		b.small += mixed
	}
	if bias {
		b.small += d + mixed + float64(heads) + h
	}
	b.state += mixed*float64(conv-1) + d*float64(n)
}

// buildNemotronH follows a pattern of blocks: M Mamba-2, * attention, - MLP,
// each with one norm.
func buildNemotronH(b *builder) error {
	pattern := b.text("hybrid_override_pattern")
	heads, hd, groups, n, conv := b.int("mamba_num_heads"), b.int("mamba_head_dim"), b.intOr(1, "n_groups"), b.int("ssm_state_size"), b.intOr(4, "conv_kernel")
	if err := b.need("num_attention_heads", b.heads, "head_dim", b.hd, "vocab_size", b.vocab, "mamba_num_heads", heads, "mamba_head_dim", hd, "ssm_state_size", n); err != nil {
		return err
	}
	if len(pattern) != b.layers || strings.Trim(pattern, "M*-E") != "" {
		return fmt.Errorf("has no hybrid_override_pattern of M, *, - and E for its %d layers", b.layers)
	}
	b.tied = b.flag("tie_word_embeddings", false)
	b.vocabulary()
	for _, kind := range pattern {
		b.small += float64(b.h)
		switch kind {
		case 'M':
			b.mamba2(heads, hd, groups, n, conv, b.flag("mamba_proj_bias", b.flag("use_bias", false)), b.flag("use_conv_bias", true))
		case '*':
			b.attention(b.flag("attention_bias", false), b.flag("attention_bias", false))
			b.cache(0, b.kv, b.hd)
		case '-':
			if err := b.need("intermediate_size", b.inter); err != nil {
				return err
			}
			b.mlp(b.inter, false)
		case 'E':
			b.experts, b.topK = b.int("n_routed_experts"), b.int("num_experts_per_tok")
			wide := b.int("moe_intermediate_size")
			if err := b.need("n_routed_experts", b.experts, "num_experts_per_tok", b.topK, "moe_intermediate_size", wide); err != nil {
				return err
			}
			b.routed += float64(b.experts) * 2 * float64(b.h) * float64(wide)
			b.small += float64(b.h)*float64(b.experts) + float64(b.experts)
			if s := b.int("moe_shared_expert_intermediate_size"); s > 0 {
				b.mlp(s*b.intOr(1, "n_shared_experts"), false)
			}
		}
	}
	b.small += float64(b.h)
	return nil
}

// buildGraniteHybrid is Granite 4: Mamba-2 or attention in each layer, routed
// experts beside a shared MLP.
func buildGraniteHybrid(b *builder) error {
	types := b.texts("layer_types")
	if types == nil {
		types = b.texts("layers_block_type")
	}
	heads, groups, n, conv := b.int("mamba_n_heads"), b.intOr(1, "mamba_n_groups"), b.int("mamba_d_state"), b.intOr(4, "mamba_d_conv")
	hd := b.int("mamba_d_head")
	if hd == 0 && heads > 0 {
		hd = b.intOr(2, "mamba_expand") * b.h / heads
	}
	if err := b.need("num_attention_heads", b.heads, "vocab_size", b.vocab, "mamba_n_heads", heads, "mamba_d_state", n); err != nil {
		return err
	}
	if len(types) != b.layers {
		return fmt.Errorf("has no layer_types for its %d layers", b.layers)
	}
	b.tied = b.flag("tie_word_embeddings", true)
	b.vocabulary()
	for _, t := range types {
		b.small += 2 * float64(b.h)
		if t == "attention" {
			b.attention(b.flag("attention_bias", false), b.flag("attention_bias", false))
			b.cache(0, b.kv, b.hd)
		} else {
			b.mamba2(heads, hd, groups, n, conv, b.flag("mamba_proj_bias", false), b.flag("mamba_conv_bias", true))
		}
		if s := b.int("shared_intermediate_size"); s > 0 {
			b.mlp(s, true)
		}
		if e := b.int("num_local_experts"); e > 0 {
			if err := b.mixture(moeTraits{experts: []string{"num_local_experts"}}); err != nil {
				return err
			}
		}
	}
	b.small += float64(b.h)
	return nil
}

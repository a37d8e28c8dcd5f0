package ceiling

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// ParseConfig reads a model's Hugging Face config.json. What it does not tell
// stays unknown and is listed in Doubts; only text that is no configuration of a
// model is an error.
func ParseConfig(name string, data []byte) (*Model, error) {
	var root map[string]any
	if err := json.Unmarshal(data, &root); err != nil {
		return nil, fmt.Errorf("is no JSON object: %w", err)
	}
	c := config(root)
	// Models with vision or audio keep the language model's dimensions below.
	for _, key := range []string{"text_config", "llm_config", "language_config", "thinker_config"} {
		if sub, ok := root[key].(map[string]any); ok {
			c = config(sub)
			if _, has := c["quantization_config"]; !has && root["quantization_config"] != nil {
				c["quantization_config"] = root["quantization_config"]
			}
			for _, k := range []string{"model_type", "torch_dtype", "dtype", "tie_word_embeddings", "vocab_size"} {
				if _, has := c[k]; !has && root[k] != nil {
					c[k] = root[k]
				}
			}
			break
		}
	}
	layers, hidden := c.int("num_hidden_layers", "n_layer", "n_layers"), c.int("hidden_size", "n_embd", "d_model")
	if layers <= 0 || hidden <= 0 {
		return nil, errors.New("has no num_hidden_layers or no hidden_size above 0: it is no config.json of a language model")
	}
	if layers > 1e4 || hidden > 1e6 {
		return nil, fmt.Errorf("has %d layers of width %d, which no model has", layers, hidden)
	}
	m := &Model{Name: name, Type: c.text("model_type"), Layers: layers, Source: "config.json"}
	m.DType = c.dtype()
	if m.DType == "" {
		m.DType = "bf16"
		m.Doubts = append(m.Doubts, "its config.json states no type of the weights: bf16 is assumed")
	}
	m.Weights, _ = FormatOf(m.DType)
	m.Weights.Source = "config.json"
	m.KVType, _ = FormatOf(m.DType)
	m.KVType.Source = "the type of the weights (kv_cache_dtype auto)"
	if m.DType == "fp32" {
		m.KVType.Source = "the type in config.json"
	}
	m.readArchitecture(c)
	if q, ok := c["quantization_config"].(map[string]any); ok {
		m.readQuantization(config(q))
	}
	if root["vision_config"] != nil || root["audio_config"] != nil {
		m.Doubts = append(m.Doubts, "its vision or audio encoder is not counted")
	}
	return m, nil
}

// config is an object of a configuration.
type config map[string]any

// number returns the first of several keys that has a number.
func (c config) number(keys ...string) (float64, bool) {
	for _, k := range keys {
		if v, ok := c[k].(float64); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, true
		}
	}
	return 0, false
}

// int returns a dimension; 0 where there is none or it is nonsense.
func (c config) int(keys ...string) int {
	v, ok := c.number(keys...)
	if !ok || v < 0 || v > 1e9 || v != math.Trunc(v) {
		return 0
	}
	return int(v)
}

func (c config) intOr(def int, keys ...string) int {
	if v := c.int(keys...); v > 0 {
		return v
	}
	return def
}

func (c config) text(key string) string {
	s, _ := c[key].(string)
	return s
}

// flag returns a boolean, or what the family takes where the file has none.
func (c config) flag(key string, def bool) bool {
	if b, ok := c[key].(bool); ok {
		return b
	}
	return def
}

func (c config) texts(key string) []string {
	list, _ := c[key].([]any)
	var out []string
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil
		}
		out = append(out, s)
	}
	return out
}

func (c config) ints(key string) []int {
	list, _ := c[key].([]any)
	var out []int
	for _, v := range list {
		if f, ok := v.(float64); ok && f >= 0 && f < 1e6 {
			out = append(out, int(f))
		}
	}
	return out
}

// dtype is the type of the weights.
func (c config) dtype() string {
	for _, k := range []string{"torch_dtype", "dtype"} {
		if f, ok := FormatOf(strings.TrimPrefix(c.text(k), "torch.")); ok {
			return f.Name
		}
	}
	return ""
}

func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// sparesLinear are what a quantization of the linear layers leaves in 16 bits.
var sparesLinear = []PartKind{Embedding, Head, Small}

// readQuantization takes the format of the weights from quantization_config.
func (m *Model) readQuantization(q config) {
	method := lower(q.text("quant_method"))
	f, ok := Format{}, false
	switch method {
	case "fp8", "fbgemm_fp8":
		f, ok = FormatOf("fp8")
	case "awq", "gptq", "auto-round", "autoround":
		switch bits := q.intOr(4, "bits", "w_bit"); bits {
		case 4:
			f, ok = grouped(q.intOr(128, "group_size", "q_group_size")), true
		case 8:
			f, ok = FormatOf("w8a16")
		}
	case "bitsandbytes":
		if q.flag("load_in_8bit", false) {
			f, ok = FormatOf("w8a16")
		} else {
			f, ok = FormatOf("int4")
		}
	case "mxfp4":
		f, ok = FormatOf("mxfp4")
	case "modelopt":
		f, ok = FormatOf(map[bool]string{true: "nvfp4", false: "fp8"}[strings.Contains(lower(q.text("quant_algo")), "fp4")])
	case "compressed-tensors", "quark":
		f, ok = schemeOf(q)
	}
	if !ok {
		m.Weights = Format{Name: "unknown", Source: "config.json"}
		m.Doubts = append(m.Doubts, fmt.Sprintf("cannot tell the bytes of its weights: quantization %q is not known, give --model …,weights=fp8 or another of %s", method, strings.Join(FormatNames(), ", ")))
		return
	}
	f.Spares = sparesLinear
	f.Source = "quantization_config (" + method + ")"
	// Some checkpoints quantize the experts alone.
	ignored := strings.Join(append(q.texts("modules_to_not_convert"), q.texts("ignore")...), " ")
	if m.MoE != nil && strings.Contains(ignored, "self_attn") {
		f.Spares = append(slices.Clone(sparesLinear), Linear)
	}
	m.Weights = f
	if k := lower(q.text("kv_cache_quant_algo")); k != "" {
		if kf, ok := FormatOf(k); ok {
			kf.Source = "quantization_config"
			m.KVType = kf
		}
	}
	if ks, ok := q["kv_cache_scheme"].(map[string]any); ok {
		if config(ks).int("num_bits") == 8 {
			m.KVType, _ = FormatOf("fp8")
			m.KVType.Source = "quantization_config"
		}
	}
}

// schemeOf reads the weights' scheme of compressed-tensors (config_groups) and
// of Quark (global_quant_config).
func schemeOf(q config) (Format, bool) {
	var weights config
	if groups, ok := q["config_groups"].(map[string]any); ok {
		names := make([]string, 0, len(groups))
		for k := range groups {
			names = append(names, k)
		}
		slices.Sort(names)
		for _, k := range names {
			if g, ok := groups[k].(map[string]any); ok {
				if w, ok := g["weights"].(map[string]any); ok {
					weights = config(w)
					weights["has_activations"] = g["input_activations"] != nil
					break
				}
			}
		}
	}
	if g, ok := q["global_quant_config"].(map[string]any); ok {
		if w, ok := g["weight"].(map[string]any); ok {
			if d := lower(config(w).text("dtype")); d != "" {
				return FormatOf(map[string]string{"fp8_e4m3": "fp8", "fp4": "mxfp4", "int4": "int4", "int8": "int8"}[d])
			}
		}
	}
	if weights == nil {
		return Format{}, false
	}
	bits, float := weights.int("num_bits"), lower(weights.text("type")) == "float"
	switch {
	case bits == 8 && float:
		return FormatOf("fp8")
	case bits == 8 && weights.flag("has_activations", false):
		return FormatOf("int8")
	case bits == 8:
		return FormatOf("w8a16")
	case bits == 4 && float && weights.int("group_size") == 32:
		return FormatOf("mxfp4")
	case bits == 4 && float:
		return FormatOf("nvfp4")
	case bits == 4:
		return grouped(weights.intOr(128, "group_size")), true
	}
	return Format{}, false
}

// grouped is int4 with a 16-bit scale and a 4-bit zero point each group.
func grouped(size int) Format {
	f, _ := FormatOf("int4")
	f.Bytes = 0.5 + 2.5/float64(size)
	return f
}

package ceiling

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// The parameters that the dimensions give are those that the models' pages
// state, to the last one.
func TestCatalogueParameters(t *testing.T) {
	published := 0
	for _, k := range knownModels() {
		m, err := ParseConfig(k.Name, k.Config)
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
			continue
		}
		if k.Parameters > 0 {
			published++
			if m.Total != k.Parameters {
				t.Errorf("%s: %.0f parameters, published are %.0f", k.Name, m.Total, k.Parameters)
			}
		}
		if m.KV == nil || math.IsNaN(m.KVPerToken()) || m.KVPerToken() <= 0 || m.Active <= 0 || m.Active > m.Total {
			t.Errorf("%s: KV %g bytes a token, %g active of %g", k.Name, m.KVPerToken(), m.Active, m.Total)
		}
	}
	if published < 40 {
		t.Errorf("only %d models have a published count", published)
	}
}

// Sizes of models whose pages state them rounded, or with an encoder.
func TestRoundedSizes(t *testing.T) {
	for name, want := range map[string][2]float64{
		"google/gemma-4-26B-A4B-it":                 {25.2e9, 3.8e9},
		"google/gemma-4-31B-it":                     {30.7e9, 30.7e9},
		"Qwen/Qwen3-Next-80B-A3B-Instruct":          {79.7e9, 3.9e9},
		"meta-llama/Llama-4-Scout-17B-16E-Instruct": {107.8e9, 17.2e9},
		"ibm-granite/granite-4.0-h-small":           {32.2e9, 8.8e9},
		"nvidia/Nemotron-H-8B-Base-8K":              {8.1e9, 8.1e9},
		"zai-org/GLM-4.5-Air":                       {106.9e9, 13.4e9},
	} {
		m, ok := LookUp(name)
		if !ok {
			t.Errorf("%s is not in the catalogue", name)
			continue
		}
		if math.Abs(m.Total-want[0]) > .005*want[0] || math.Abs(m.Active-want[1]) > .02*want[1] {
			t.Errorf("%s: %g parameters, %g active, want %g and %g", name, m.Total, m.Active, want[0], want[1])
		}
	}
}

// Names that mean a model of the catalogue, and names that do not.
func TestLookUp(t *testing.T) {
	for _, tc := range []struct{ name, of, weights string }{
		{"meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B", "bf16"},
		{"RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "meta-llama/Llama-3.1-8B", "fp8"},
		{"hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4", "meta-llama/Llama-3.1-70B", "int4"},
		{"nvidia/Llama-3.3-70B-Instruct-NVFP4", "meta-llama/Llama-3.3-70B-Instruct", "nvfp4"},
		{"Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4", "Qwen/Qwen2.5-72B", "int4"},
		{"Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen/Qwen3-30B-A3B", "bf16"},
		{"/models/Qwen3-8B/", "Qwen/Qwen3-8B", "bf16"},
		{"deepseek-ai/DeepSeek-R1-0528", "deepseek-ai/DeepSeek-V3", "fp8"},
		{"openai/gpt-oss-120b", "openai/gpt-oss-120b", "mxfp4"},
		{"moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2-Thinking", "int4"},
		{"NousResearch/Hermes-3-Llama-3.1-8B", "", ""},
		{"llama", "", ""},
		{"", "", ""},
	} {
		m, ok := LookUp(tc.name)
		if !ok {
			if tc.of != "" {
				t.Errorf("%q is not found, want %s", tc.name, tc.of)
			}
			continue
		}
		if tc.of == "" || !strings.Contains(m.Source, tc.of) || m.Weights.Name != tc.weights {
			t.Errorf("%q is %s in %s, want %q in %s", tc.name, m.Source, m.Weights.Name, tc.of, tc.weights)
		}
	}
}

// A checkpoint in FP8 keeps its tables in 16 bits; weights=fp8 counts every
// parameter at one byte.
func TestQuantizedBytes(t *testing.T) {
	table := 128256.0 * 4096
	m, _ := LookUp("RedHatAI/Meta-Llama-3.1-8B-FP8")
	norms := 65 * 4096.0
	if got, want := m.WeightBytes(), m.Total+2*table+norms; got != want {
		t.Errorf("FP8 by name: %.0f bytes, want %.0f", got, want)
	}
	if got := model(t, "meta-llama/Llama-3.1-8B,weights=fp8").WeightBytes(); got != m.Total {
		t.Errorf("weights=fp8: %.0f bytes, want %.0f", got, m.Total)
	}
	oss, _ := LookUp("openai/gpt-oss-120b")
	if got := oss.WeightBytes(); got < 60e9 || got > 67e9 {
		t.Errorf("gpt-oss-120b weighs %.1f GB, its files 65.2", got/1e9)
	}
}

func TestParseSpec(t *testing.T) {
	s, err := ParseSpec("my/model, weights=FP8, kv=fp8_e4m3, params=25.2B, active=3.8e9")
	if err != nil || s != (Spec{"my/model", "fp8", "fp8_e4m3", 25.2e9, 3.8e9}) {
		t.Errorf("got %+v, %v", s, err)
	}
	m, err := s.Model(nil)
	if err != nil || m.WeightBytes() != 25.2e9 || m.ReadBytes(1) != 3.8e9 || !math.IsNaN(m.ReadBytes(8)) || !math.IsNaN(m.KVPerToken()) {
		t.Errorf("a model of which only the size is known: %+v, %v", m, err)
	}
	for in, want := range map[string]string{
		"":              "names no model",
		"x,weights=fp9": "fp9 is no format",
		"x,size=3":      "is nothing a model has",
		"x,params=big":  "params:",
		"x,params=-3":   "params:",
	} {
		if _, err := ParseSpec(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
	if _, err := (Spec{Name: "no/such-model"}).Model(nil); err == nil || !strings.Contains(err.Error(), "config.json") {
		t.Errorf("an unknown name: %v", err)
	}
}

// What a configuration does not tell stays unknown.
func TestHonestConfigs(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		params, kv   bool
		doubt        string
	}{
		{"unknown plain", `{"model_type":"newone","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"torch_dtype":"bfloat16"}`, false, true, "model_type \"newone\" is not known"},
		{"unknown hybrid", `{"model_type":"newone","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"mamba_d_state":16}`, false, false, "cannot tell its KV cache"},
		{"no type", `{"hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32}`, false, true, "model_type \"none\""},
		{"lacks a dimension", `{"model_type":"llama","hidden_size":4096,"num_hidden_layers":32,"num_attention_heads":32,"vocab_size":32000}`, false, false, "has no intermediate_size"},
		{"unknown quantization", `{"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":100,"quantization_config":{"quant_method":"secret"}}`, true, true, "quantization \"secret\" is not known"},
	} {
		m, err := ParseConfig(tc.name, []byte(tc.config))
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if (len(m.Parts) > 0) != tc.params || (m.KV != nil) != tc.kv || !strings.Contains(strings.Join(m.Doubts, "\n"), tc.doubt) {
			t.Errorf("%s: parts %v, KV %v, doubts %q", tc.name, m.Parts, m.KV, m.Doubts)
		}
	}
	for _, bad := range []string{``, `[]`, `{}`, `{"hidden_size":-4,"num_hidden_layers":2}`, `{"hidden_size":8,"num_hidden_layers":1000000}`} {
		if m, err := ParseConfig("x", []byte(bad)); err == nil {
			t.Errorf("%q is taken for a model: %+v", bad, m)
		}
	}
}

func TestQuantizationConfigs(t *testing.T) {
	base := `{"model_type":"llama","hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":2,"vocab_size":100,"torch_dtype":"bfloat16","quantization_config":`
	for q, want := range map[string]string{
		`{"quant_method":"fp8"}`:                           "fp8",
		`{"quant_method":"awq","bits":4,"group_size":128}`: "int4",
		`{"quant_method":"gptq","bits":8}`:                 "w8a16",
		`{"quant_method":"modelopt","quant_algo":"NVFP4"}`: "nvfp4",
		`{"quant_method":"modelopt","quant_algo":"FP8"}`:   "fp8",
		`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"float"}}}}`:                                  "fp8",
		`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":8,"type":"int"},"input_activations":{"num_bits":8}}}}`: "int8",
		`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":4,"type":"int","group_size":32}}}}`:                    "int4",
		`{"quant_method":"compressed-tensors","config_groups":{"group_0":{"weights":{"num_bits":4,"type":"float","group_size":16}}}}`:                  "nvfp4",
		`{"quant_method":"quark","global_quant_config":{"weight":{"dtype":"fp4"}}}`:                                                                    "mxfp4",
	} {
		m, err := ParseConfig("x", []byte(base+q+"}"))
		if err != nil || m.Weights.Name != want {
			t.Errorf("%s is %s (%v), want %s", q, m.Weights.Name, err, want)
		}
	}
}

func TestHardware(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range GPUs() {
		if seen[g.Name] {
			t.Errorf("%s is there twice", g.Name)
		}
		seen[g.Name] = true
		if g.Title == "" || g.Source == "" || g.Memory < 8e9 || g.Memory > 1e12 || g.Bandwidth < 1e11 || g.Bandwidth > 2e13 || g.Link == "" {
			t.Errorf("%s: %+v", g.Name, g)
		}
		for k, f := range g.FLOPS {
			if f < 1e13 || f > 1e17 || !slices.Contains(hardwareFields, k) {
				t.Errorf("%s: %s %g", g.Name, k, f)
			}
		}
		if o, err := ParseHardware(g.Name+":8", nil); err != nil || o.Count != 8 || o.GPU.Name != g.Name || o.String() != g.Name+":8" {
			t.Errorf("%s:8 is %v, %v", g.Name, o, err)
		}
	}
	for _, want := range []string{"h100-sxm", "h100-pcie", "h100-nvl", "h200-sxm", "b200", "gb200", "a100-sxm-80gb", "a100-sxm-40gb", "l40s", "l4", "rtx-4090", "rtx-5090", "rtx-pro-6000", "mi300x", "mi325x", "mi355x", "gaudi-3", "tpu-v5e", "tpu-v6e", "dgx-spark", "a10g", "v100-sxm-32gb"} {
		if !seen[want] {
			t.Errorf("the catalogue has no %s", want)
		}
	}
}

func TestParseHardware(t *testing.T) {
	own := []GPU{{Name: "h100-sxm", Bandwidth: 1}}
	if h, err := ParseHardware("h100-sxm", own); err != nil || h.Count != 0 || h.GPU.Bandwidth != 1 {
		t.Errorf("a user's entry before the catalogue's, and no number assumed: %+v, %v", h, err)
	}
	h, err := ParseHardware("card:2,memory=48GB,bandwidth=864 GB/s,bf16=362TFLOPS,link=pcie", nil)
	if err != nil || h.Count != 2 || h.GPU.Memory != 48e9 || h.GPU.Bandwidth != 864e9 || h.GPU.FLOPS["bf16"] != 362e12 {
		t.Errorf("an entry in line: %+v, %v", h, err)
	}
	again, err := ParseHardware(h.Inline(), nil)
	if err != nil || again.GPU.Memory != h.GPU.Memory || again.GPU.Bandwidth != h.GPU.Bandwidth || again.Count != 2 || again.GPU.Link != "pcie" {
		t.Errorf("%s is read as %+v, %v", h.Inline(), again, err)
	}
	for in, want := range map[string]string{
		"h100:4":                  "can be several cards, want one of h100-sxm",
		"h100-sxm:0":              "no number of GPUs",
		"h100-sxm:four":           "no number of GPUs",
		":4":                      "names no hardware",
		"nonsense:1":              "is no hardware of the catalogue",
		"card:1,memory=48GB":      "has no bandwidth",
		"card:1,bandwidth=1TB/s":  "has no memory",
		"card:1,memory=48TFLOP/s": "memory:",
		"card:1,speed=3":          "is no field of hardware",
		"card:1,memory=48GB,bandwidth=864GB/s,tdp=350W": `"tdp" is no field of hardware, want one of memory`, // no figure is made of it
	} {
		_, err := ParseHardware(in, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", in, err, want)
		}
	}
}

func TestRecognize(t *testing.T) {
	for text, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "h100-sxm", "NVIDIA H100 PCIe": "h100-pcie", "NVIDIA H100 NVL": "h100-nvl", "NVIDIA H200": "h200-sxm", "NVIDIA H200 NVL": "h200-nvl",
		"cluster:mi355x-amds": "mi355x", "NVIDIA A100-SXM4-80GB": "a100-sxm-80gb", "NVIDIA A100 80GB PCIe": "a100-pcie-80gb", "NVIDIA GB200": "gb200", "NVIDIA B200": "b200",
		"NVIDIA GeForce RTX 4090": "rtx-4090", "NVIDIA GB10": "dgx-spark", "Tesla T4": "t4", "NVIDIA L40S": "l40s", "NVIDIA L4 GPU-1234": "l4",
		"NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx-pro-6000-server", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition": "rtx-pro-6000",
		"H100": "", "A100": "", "cpu": "", "": "",
	} {
		g, ok := Recognize(text, nil)
		if ok != (want != "") || ok && g.Name != want {
			t.Errorf("%q is %q (%v), want %q", text, g.Name, ok, want)
		}
	}
}

// No text makes a model or hardware crash or take values that are not finite.
func FuzzParse(f *testing.F) {
	for _, k := range knownModels() {
		f.Add(k.Name+",weights=fp8", string(k.Config))
	}
	f.Add("h100-sxm:4", `{"hidden_size":1e300,"num_hidden_layers":2}`)
	f.Add("card:2,memory=1e999GB", `{"model_type":"jamba","hidden_size":64,"num_hidden_layers":4,"attn_layer_period":1}`)
	f.Fuzz(func(t *testing.T, flag, config string) {
		if h, err := ParseHardware(flag, nil); err == nil && (h.GPU.Bandwidth <= 0 || math.IsInf(h.GPU.Bandwidth, 0)) {
			t.Errorf("%q has bandwidth %g", flag, h.GPU.Bandwidth)
		}
		_, _ = ParseSpec(flag)
		Recognize(flag, nil)
		m, err := ParseConfig("x", []byte(config))
		if err != nil {
			return
		}
		for _, v := range []float64{m.Total, m.Active, m.State} {
			if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%q gives %g", config, v)
			}
		}
		if v := m.KVBytes(1000, 4); v < 0 || math.IsInf(v, 0) {
			t.Errorf("%q has a KV cache of %g", config, v)
		}
		m.ReadBytes(8)
		LeastGPUs(m, GPU{Memory: 80e9, Bandwidth: 1e12}, Utilization, 100)
	})
}

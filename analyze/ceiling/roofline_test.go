package ceiling

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// A vector is a case of testdata/vectors.json, computed by other programs.
type vector struct {
	ID        string          `json:"id"`
	Input     json.RawMessage `json:"input"`
	Expected  json.RawMessage `json:"expected"`
	Tolerance float64         `json:"tolerance"`
}

var vectorTests = map[string]func(t *testing.T, v *vector){
	"roof.llama70b": testLlama70B, "roof.batch_curve": testBatchCurve, "roof.mbu": testMBU, "roof.itl_fit": testLine,
	"moe.gemma4": testExperts, "moe.deepseek": testExperts, "moe.qwen3": testExperts, "moe.bruteforce": testUnion, "moe.seed": testSeed,
}

func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []*vector }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			done := false
			for prefix, test := range vectorTests {
				if strings.HasPrefix(v.ID, prefix) {
					ran[prefix], done = true, true
					test(t, v)
				}
			}
			if !done {
				t.Error("nothing computes this vector")
			}
		})
	}
	if len(ran) != len(vectorTests) {
		t.Errorf("vectors of %d topics, want %d", len(ran), len(vectorTests))
	}
}

func (v *vector) read(t *testing.T, in, want any) {
	t.Helper()
	if err := json.Unmarshal(v.Input, in); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(v.Expected, want); err != nil {
		t.Fatal(err)
	}
}

func (v *vector) near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= v.Tolerance*math.Abs(want)) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

// plain is a model of so many parameters and KV cache like Llama-3.3-70B's.
func plainModel(params, bytes float64) *Model {
	return &Model{Total: params, Active: params, DType: "bf16", Weights: Format{Name: "bf16", Bytes: bytes}, KVType: Format{Name: "bf16", Bytes: 2},
		KV: []KVGroup{{Layers: 80, Elements: 2 * 8 * 128, Heads: 8}}}
}

func testLlama70B(t *testing.T, v *vector) {
	var in struct {
		Params float64 `json:"params"`
		Bytes  float64 `json:"bytes_per_param"`
		GPUs   int     `json:"gpus"`
		BW     float64 `json:"bw_per_gpu"`
		Mem    float64 `json:"mem_per_gpu"`
		Util   float64 `json:"util"`
		Ctx    float64 `json:"ctx"`
		Flops  float64 `json:"peak_flops_per_gpu_dense_bf16"`
	}
	want := map[string]float64{}
	v.read(t, &in, &want)
	m := plainModel(in.Params, in.Bytes)
	hw := Machine{GPU: GPU{Memory: in.Mem, Bandwidth: in.BW, FLOPS: map[string]float64{"bf16": in.Flops}}, TP: in.GPUs, Stages: 1, Replicas: 1}
	v.near(t, "weights", m.WeightBytes(), want["weight_bytes"])
	v.near(t, "bandwidth", hw.Bandwidth(), want["agg_bw"])
	v.near(t, "step", StepSeconds(m.ReadBytes(1), 0, hw.Bandwidth()), want["step_s_b1_weights_only"])
	v.near(t, "one request", OneRequest(m, hw), want["decode_tok_s_b1"])
	v.near(t, "KV of a token", m.KVPerToken(), want["kv_bytes_per_token"])
	v.near(t, "budget", Pool(m, hw, in.Util)+float64(hw.GPUs())*Reserve, want["budget_minus_weights"])
	v.near(t, "tokens of 140e9", poolTokens(m, hw, 140e9, in.Ctx), want["kv_tokens_if_pool_140e9"])
	v.near(t, "tokens of 140 GiB", poolTokens(m, hw, 140<<30, in.Ctx), want["kv_tokens_if_pool_140GiB"])
	v.near(t, "requests of 140e9", requests(m, hw, 140e9, in.Ctx), want["reqs_8k_if_140e9"])
	v.near(t, "requests of 440k tokens", requests(m, hw, want["pool_bytes_for_440k_tokens"], in.Ctx), want["reqs_8k_if_440k"])
	v.near(t, "KV of a request", m.KVBytes(in.Ctx, in.GPUs), want["kv_bytes_per_8k_req"])
	v.near(t, "ridge", Ridge(m, hw), want["ridge_batch"])
}

func testBatchCurve(t *testing.T, v *vector) {
	var in struct {
		B        []float64
		L, W, BW float64
	}
	var want struct {
		Step      []float64 `json:"step_s"`
		Tok       []float64 `json:"tok_s"`
		Asymptote float64   `json:"asymptote_tok_s"`
		Half      float64   `json:"half_batch"`
	}
	v.read(t, &in, &want)
	m := plainModel(in.W/2, 2)
	hw := Machine{GPU: GPU{Bandwidth: in.BW}, TP: 1, Stages: 1, Replicas: 1}
	kv := m.KVBytes(in.L, 1)
	for i, b := range in.B {
		v.near(t, "step", StepSeconds(m.ReadBytes(b), b*kv, hw.Bandwidth()), want.Step[i])
		v.near(t, "tokens/s", b*PerUser(m, hw, b, in.L), want.Tok[i])
	}
	v.near(t, "asymptote", Asymptote(in.BW, kv), want.Asymptote)
	v.near(t, "half batch", HalfBatch(in.W, kv), want.Half)
}

func testMBU(t *testing.T, v *vector) {
	var in struct {
		W, KV, Ctx, B, BW float64
		TPOT              float64 `json:"tpot_s"`
	}
	want := map[string]float64{}
	v.read(t, &in, &want)
	v.near(t, "MBU", MBU(in.W, in.B*in.Ctx*in.KV, in.TPOT, in.BW), want["mbu"])
}

func testLine(t *testing.T, v *vector) {
	var in struct {
		B, ITL []float64
		W, BW  float64
	}
	want := map[string]float64{}
	v.read(t, &in, &want)
	l, why := FitLine(in.B, in.ITL)
	if why != "" {
		t.Fatal(why)
	}
	v.near(t, "t0", l.T0, want["t0"])
	v.near(t, "t1", l.T1, want["t1"])
	v.near(t, "effective", l.WeightBandwidth(in.W), want["eff_weight_bw"])
	v.near(t, "share", l.WeightBandwidth(in.W)/in.BW, want["eff_weight_frac"])
	v.near(t, "half batch", l.HalfBatch(), want["knee"])
	v.near(t, "asymptote", l.Asymptote(), want["asymptote"])
}

// moe makes a mixture of experts from totals only.
func moe(total, active float64, e, k int, bytes float64) *Model {
	_, routed := SplitActive(total, active, e, k)
	return &Model{Total: total, Active: active, MoE: &MoE{Experts: e, TopK: k, Routed: routed}, Weights: Format{Bytes: bytes}}
}

func testExperts(t *testing.T, v *vector) {
	var in struct {
		Total, Active, BW float64
		E, K              int
		T                 []float64
		Bytes             float64 `json:"bytes_per_param"`
	}
	var want struct {
		Rows []struct {
			Shared   float64 `json:"shared_params"`
			Routed   float64 `json:"routed_params"`
			Distinct float64 `json:"expected_distinct"`
			Bytes    float64 `json:"weights_bytes"`
			Steps    float64 `json:"steps_per_s"`
			Bound    float64 `json:"tok_s_bound"`
		}
		Naive  float64 `json:"naive_all_weights_tok_s_b1"`
		Active float64 `json:"active_only_tok_s_b1"`
	}
	v.read(t, &in, &want)
	m := moe(in.Total, in.Active, in.E, in.K, in.Bytes)
	hw := Machine{GPU: GPU{Bandwidth: in.BW}, TP: 1, Stages: 1, Replicas: 1}
	for i, n := range in.T {
		r := want.Rows[i]
		shared, routed := SplitActive(in.Total, in.Active, in.E, in.K)
		v.near(t, "shared", shared, r.Shared)
		v.near(t, "routed", routed, r.Routed)
		v.near(t, "experts", ExpectedExperts(in.E, in.K, n), r.Distinct)
		v.near(t, "bytes", m.ReadBytes(n), r.Bytes)
		v.near(t, "steps", 1/StepSeconds(m.ReadBytes(n), 0, in.BW), r.Steps)
		v.near(t, "bound", n/StepSeconds(m.ReadBytes(n), 0, in.BW), r.Bound)
	}
	v.near(t, "all weights", NaiveOneRequest(m, hw), want.Naive)
	v.near(t, "active only", OneRequest(m, hw), want.Active)
}

func testUnion(t *testing.T, v *vector) {
	var in struct{ E, K, T int }
	want := map[string]float64{}
	v.read(t, &in, &want)
	v.near(t, "experts", ExpectedExperts(in.E, in.K, float64(in.T)), want["expected_distinct"])
}

// The measurement that refutes reading every weight: 139 tokens/s of one
// request, 674 of ten.
func testSeed(t *testing.T, v *vector) {
	var in struct{ Meas, Conc []float64 }
	want := map[string]float64{}
	v.read(t, &in, &want)
	m := moe(25.2e9, 3.8e9, 128, 8, 1)
	hw := Machine{GPU: GPU{Bandwidth: 1.79e12}, TP: 1, Stages: 1, Replicas: 1}
	v.near(t, "naive bound", NaiveOneRequest(m, hw), want["naive_bound_b1"])
	v.near(t, "over naive", in.Meas[0]/NaiveOneRequest(m, hw), want["ratio_naive"])
	v.near(t, "of active", in.Meas[0]/OneRequest(m, hw), want["ratio_active"])
	bound := 10 / StepSeconds(m.ReadBytes(10), 0, hw.Bandwidth())
	v.near(t, "bound at 10", bound, want["bound_b10"])
	v.near(t, "of it", in.Meas[1]/bound, want["ratio_b10"])
}

func machine(t *testing.T, s string) Machine {
	t.Helper()
	h, err := ParseHardware(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Machine{GPU: h.GPU, TP: h.Count, Stages: 1, Replicas: 1}
}

func model(t *testing.T, s string) *Model {
	t.Helper()
	spec, err := ParseSpec(s)
	if err != nil {
		t.Fatal(err)
	}
	m, err := spec.Model(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The figures people know, from the catalogue: a 70B model on four H100, its
// pool, and DeepSeek-V3 that does not fit eight.
func TestKnownDeployments(t *testing.T) {
	near := func(what string, got, want, tol float64) {
		t.Helper()
		if !(math.Abs(got-want) <= tol*math.Abs(want)) {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	m, hw := model(t, "meta-llama/Llama-3.3-70B-Instruct"), machine(t, "h100-sxm:4")
	near("one request", OneRequest(m, hw), 94.9, .002)
	near("KV of a token", m.KVPerToken(), 327680, 0)
	near("FP8 at TP 4", OneRequest(model(t, "meta-llama/Llama-3.3-70B-Instruct,weights=fp8"), hw), 189.8, .002)
	near("BF16 at TP 8", OneRequest(m, machine(t, "h100-sxm:8")), 189.8, .002)
	near("ridge", Ridge(m, hw), 295.2, .001)
	pool := Pool(m, hw, Utilization)
	if tokens := poolTokens(m, hw, pool, 8192); tokens < .42e6 || tokens > .46e6 {
		t.Errorf("the pool holds %.0f tokens, want 0.42 to 0.46 million", tokens)
	}
	if n := requests(m, hw, pool, 8192); n < 50 || n > 54 {
		t.Errorf("the pool holds %.1f requests of 8192, want 50 to 54", n)
	}
	near("a few GPUs hold it", float64(LeastGPUs(m, hw.GPU, Utilization, 8192)), 4, 0)
	v3 := model(t, "deepseek-ai/DeepSeek-V3")
	if w := v3.WeightBytes(); w < 671e9 {
		t.Errorf("DeepSeek-V3 weighs %.0f GB in FP8, want more than 671", w/1e9)
	}
	if p := Pool(v3, machine(t, "h100-sxm:8"), Utilization); p >= 0 {
		t.Errorf("DeepSeek-V3 fits 8 × 80 GB with %.0f GB to spare", p/1e9)
	}
	near("Llama-3.1-8B on one H100", OneRequest(model(t, "meta-llama/Llama-3.1-8B"), machine(t, "h100-sxm:1")), 208.6, .0005)
	gemma := model(t, "google/gemma-4-26B-A4B-it,weights=fp8")
	near("Gemma 4 if every weight were read", NaiveOneRequest(gemma, machine(t, "rtx-pro-6000:1")), 71.0, .003)
}

// Tensor parallelism that is wider than the KV heads holds the cache several
// times; MLA's on each GPU.
func TestCopies(t *testing.T) {
	m := model(t, "Qwen/Qwen2.5-0.5B")
	if a, b := m.KVBytes(100, 2), m.KVBytes(100, 8); b != 4*a {
		t.Errorf("2 KV heads on 8 GPUs take %g bytes, on 2 %g: want four times", b, a)
	}
	v3 := model(t, "deepseek-ai/DeepSeek-V3")
	if a, b := v3.KVBytes(100, 1), v3.KVBytes(100, 8); b != 8*a {
		t.Errorf("MLA on 8 GPUs takes %g bytes, on 1 %g: want eight times", b, a)
	}
}

// Layers with a sliding window stop growing.
func TestWindows(t *testing.T) {
	m := model(t, "google/gemma-3-27b-it")
	if got, want := m.KVBytes(1000, 1), 1000*m.KVPerToken(); got != want {
		t.Errorf("below the window %g bytes, want %g", got, want)
	}
	grow := m.KVBytes(9000, 1) - m.KVBytes(8000, 1)
	if want := 1000 * m.KVPerTokenBeyond(); math.Abs(grow-want) > 1 {
		t.Errorf("1000 tokens beyond the window take %g bytes, want %g", grow, want)
	}
	if m.KVPerTokenBeyond() >= m.KVPerToken() || !m.Windowed() {
		t.Error("no layer has a window")
	}
}

// What a line is not fitted through.
func TestLineGuards(t *testing.T) {
	for _, tc := range []struct {
		name string
		b, s []float64
		why  string
	}{
		{"two levels", []float64{1, 2}, []float64{.01, .02}, "fewer than 3 levels"},
		{"one batch", []float64{4, 4, 4}, []float64{.01, .01, .01}, "all levels have the same batch"},
		{"falling", []float64{1, 8, 64}, []float64{.03, .029, .02}, "the step time does not grow with the batch"},
		{"a hinge", []float64{1, 8, 64, 65}, []float64{.01, .01, .01, .09}, "the step time is no line of the batch"},
		{"through the floor", []float64{1, 2, 3, 4}, []float64{.001, .011, .021, .031}, "the line has no time at batch 0 above 0"},
	} {
		if _, why := FitLine(tc.b, tc.s); why != tc.why {
			t.Errorf("%s: %q, want %q", tc.name, why, tc.why)
		}
	}
}

// Beyond the ridge of a mixture of experts, too, computing takes longer.
func TestRidgeOfExperts(t *testing.T) {
	m, hw := model(t, "Qwen/Qwen3-30B-A3B"), machine(t, "h100-sxm:1")
	b := Ridge(m, hw)
	compute := func(n float64) float64 { return 2 * m.Active * n / hw.GPU.FLOPS["bf16"] }
	read := func(n float64) float64 { return m.ReadBytes(n) / hw.Bandwidth() }
	if !(b > 1) || compute(b*.99) >= read(b*.99) || compute(b*1.01) <= read(b*1.01) {
		t.Errorf("ridge at %g: compute %g, read %g", b, compute(b), read(b))
	}
}

// requests is how many requests of a context a pool of so many bytes holds.
func requests(m *Model, hw Machine, pool, context float64) float64 {
	return pool / (m.KVBytes(context, hw.TP) + m.StateBytes())
}

// poolTokens is how many tokens of requests of a context a pool holds.
func poolTokens(m *Model, hw Machine, pool, context float64) float64 {
	return requests(m, hw, pool, context) * context
}

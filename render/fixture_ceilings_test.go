package render

import (
	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/analyze/ceiling"
	"github.com/vreport/vreport/ingest/serving"
)

// fixtureCeilings holds a ceiling with every figure, and one of which little is
// known.
func fixtureCeilings(runs *analyze.Runs) *analyze.Ceilings {
	some := serving.Some[float64]
	gpu := ceiling.GPU{Name: "h100-sxm", Title: "NVIDIA H100 SXM", Memory: 80e9, Bandwidth: 3.35e12, Link: "nvlink", Source: "data sheet " + hostileText}
	model := &ceiling.Model{Name: hostileModel, Source: "config.json", DType: "bf16", Total: 70.6e9, Active: 70.6e9,
		KV:      []ceiling.KVGroup{{Layers: 80, Elements: 2048, Heads: 8}},
		Weights: ceiling.Format{Name: "bf16", Bytes: 2, Source: hostileText}, KVType: ceiling.Format{Name: "bf16", Bytes: 2, Source: "config.json"}}
	full := &analyze.Ceiling{
		ID: "ceiling-1", Label: "sweep " + hostileLabel, Name: hostileModel, Model: model, GPU: &gpu, GPUs: serving.Some(8), GPUsFrom: "--hardware",
		Machine: &ceiling.Machine{GPU: gpu, TP: 4, Stages: 1, Replicas: 2}, Context: some(8192),
		Bandwidth: &analyze.BandwidthCeiling{Weights: 141.2e9, Read: 141.2e9, Peak: 13.4e12, OneRequest: 94.9008, Naive: some(71.03), Ridge: some(295.2), HalfBatch: some(52.6), Asymptote: some(4991.9),
			Curve: []analyze.BoundPoint{{Users: 1, PerUser: 93.1, Output: 93.1}, {Users: 64, PerUser: 43, Output: 2752}}},
		Capacity: &analyze.CapacityCeiling{PerToken: some(327680), Beyond: some(20480), State: 39.5e6, PerReq: some(2684354560), LeastGPUs: 4, Fits: serving.Some(true),
			Computed: &analyze.Pool{Bytes: some(286.6e9), Tokens: some(874634), Requests: some(106.7), From: "8 × 80 GB × 92 %"},
			Reported: &analyze.Pool{Tokens: some(832192), Requests: some(101.5), From: "log " + hostileText}},
		Line:        &analyze.StepLine{Line: ceiling.Line{T0: .014, T1: .00027, Residual: .01, N: 7}, BatchMeasure: "requests decoding at once", Effective: some(10.0857e12), EffectiveOf: some(.75267)},
		Binding:     analyze.Binding{What: analyze.BindsCapacity, At: "c64 " + hostileText, Text: "The KV pool is full.", For: []string{"capacity: 3 preemptions"}, Against: []string{"compute: 12 %"}, Missing: []string{"max_num_seqs: " + hostileText}},
		Findings:    []string{"1 of 2 levels measured faster than memory can be read. " + hostileText},
		Assumptions: []string{"KV cache in bf16"},
	}
	for i, r := range runs.Runs[:2] {
		full.Levels = append(full.Levels, analyze.CeilingLevel{Run: r, Label: []string{"1", "64"}[i], Batch: some([]float64{1, 63.2}[i]), Context: some(8192), TPOT: some(.0104 * float64(i+1)),
			Bound: some(93.13), MBU: some([]float64{1.031, .62}[i]), MFU: some(.04), Experts: some(8), Beyond: i == 1})
	}
	little := &analyze.Ceiling{ID: "ceiling-2", Label: "unknown model, 1 run", Name: "x", GPU: &gpu,
		Line:    &analyze.StepLine{Line: ceiling.Line{N: 3}, Refused: "the step time is no line of the batch"},
		Binding: analyze.Binding{What: analyze.BindsUnknown, Text: "Cannot be told."}, Missing: []string{"the number of GPUs: give --hardware h100-sxm:COUNT"}}
	return &analyze.Ceilings{Ceilings: []*analyze.Ceiling{full, little}}
}

func fixtureAdvice() *analyze.AdviceList {
	return &analyze.AdviceList{Advice: []analyze.Advice{
		{ID: "kv_pool", Subject: "sweep " + hostileText, Knob: "gpu_memory_utilization", Direction: "raise", From: "0.92", To: "0.95", Observation: "3 preemptions at " + hostileText, Price: "Less memory is left.",
			Command: "echo '[{}]' > serve.json\nvllm serve '" + hostileModel + "'", Phase: "experiment"},
		{ID: "moe_batch", Subject: "moe", Knob: "enable_expert_parallel", Direction: "enable", Observation: "2.0 × the requests and 1.10 × the tokens/s.", Price: "All-to-all traffic.", Caveat: "Mind the links.", Phase: "experiment"},
	}}
}

func fixtureCost(runs *analyze.Runs, sweeps *analyze.Sweeps) *analyze.Cost {
	some := serving.Some[float64]
	return &analyze.Cost{Price: analyze.Price{PerGPUHour: 2.5, Currency: "USD"},
		Rows: []analyze.CostRow{{Run: runs.Runs[0], GPUs: 4, GPUsFrom: "--hardware", PerHour: 10, PerMillionOut: some(1.875), PerMillionTotal: some(.2083)},
			{Run: runs.Runs[1], GPUs: 4, GPUsFrom: "results/" + hostileText + ".json:1", PerHour: 10, PerMillionTotal: some(.3)}},
		Capacity: []analyze.CapacityCost{{Sweep: sweeps.Sweeps[0], Level: "64", PerMillionOut: 1.875, Run: runs.Runs[0]}}}
}

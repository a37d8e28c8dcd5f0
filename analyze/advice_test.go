package analyze

import (
	"slices"
	"testing"

	"github.com/vreport/vreport/ingest/serving"
)

// advised lists what is advised by a rule, as "direction knob to".
func advised(t *testing.T, ds *serving.Dataset, hw, rule string, exprs ...string) []string {
	t.Helper()
	opt := DefaultOptions()
	opt.Hardware = hardware(t, hw)
	opt.SLOs = slos(t, exprs...)
	v := Value[AdviceList](analyzed(t, ds, opt))
	if v == nil {
		return nil
	}
	var out []string
	for _, a := range v.Advice {
		if a.ID == rule {
			out = append(out, a.Direction+" "+a.Knob+" "+a.To)
		}
		if a.Observation == "" || a.Price == "" || a.Phase != phaseExperiment || a.Command == "" {
			t.Errorf("incomplete: %+v", a)
		}
	}
	return out
}

// withITL adds gaps to planted runs: their median and 99th percentile.
func withITL(ds *serving.Dataset, p50, p99 float64) *serving.Dataset {
	for _, r := range ds.Runs {
		for stat, v := range map[string]float64{"mean": p50, "p50": p50, "p99": p99} {
			r.Reported = append(r.Reported, serving.Reported{Field: stat, Metric: serving.ITL, Stat: stat, File: v, PerBase: 1})
		}
	}
	return ds
}

// withTTFT makes the first token of each level as late as given, and the rest of the
// run as long.
func withTTFT(ds *serving.Dataset, ttft func(conc int64) float64) *serving.Dataset {
	for _, r := range ds.Runs {
		for i := range r.Reported {
			if x := &r.Reported[i]; x.Metric == serving.TTFT {
				x.File = ttft(r.Load.MaxConcurrency.V)
			}
		}
	}
	return ds
}

// Rules find the observation that was planted for them, and are silent where what
// speaks against them was planted as well.
func TestAdviceFindsWhatWasPlanted(t *testing.T) {
	const dense, moe = "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-30B-A3B"
	setting := func(k, v string) serving.Setting { return serving.Setting{Key: k, Value: v} }
	plain := func(settings ...serving.Setting) *serving.Dataset {
		return plantedSweep(dense, .012, .0008, 100, 500, levels, settings...)
	}
	served := func(ds *serving.Dataset, s *serving.Server) *serving.Dataset {
		ds.Servers = append(ds.Servers, s)
		return ds
	}
	growing := func(conc int64) float64 { return .05 * float64(conc) }
	late := func(int64) float64 { return 2 }
	seqs := setting("max_num_seqs", "256")
	for _, tt := range []struct {
		name, rule, hw string
		ds             *serving.Dataset
		slo            []string
		want           []string
	}{
		{"TTFT grows with the load", "late_first_token", "h100-sxm:1", withTTFT(plain(), growing), []string{"ttft:p99<1000ms"}, []string{"raise data_parallel_size 2"}},
		{"TTFT is late at every load", "late_first_token", "h100-sxm:1", withTTFT(plain(), late), []string{"ttft:p99<1000ms"}, []string{"raise max_num_batched_tokens 8192"}},
		{"the same with steps of 8192 already", "late_first_token", "h100-sxm:1", withTTFT(plain(setting("max_num_batched_tokens", "8192")), late), []string{"ttft:p99<1000ms"}, []string{"raise max_num_batched_tokens 16384"}},
		{"the same without an objective", "late_first_token", "h100-sxm:1", withTTFT(plain(), late), nil, nil},
		{"TTFT within its objective", "late_first_token", "h100-sxm:1", withTTFT(plain(), late), []string{"ttft:p99<5000ms"}, nil},

		{"single gaps of ten times the median", "stalls", "h100-sxm:1", withITL(plain(), .012, .12), nil, []string{"lower max_num_batched_tokens 2048"}},
		{"the same with small steps already", "stalls", "h100-sxm:1", withITL(plain(setting("max_num_batched_tokens", "2048")), .012, .12), nil, nil},
		{"even gaps", "stalls", "h100-sxm:1", withITL(plain(), .012, .014), nil, nil},

		{"steps as long as reading the weights takes", "bandwidth", "h100-sxm:1", served(plantedSweep(dense, .0068, .00003, 100, 500, levels), server(dense, 64, 0, .3, 0, seqs)), nil, []string{"lower quantization fp8"}},
		{"steps twice as long", "bandwidth", "h100-sxm:1", served(plain(), server(dense, 64, 0, .3, 0, seqs)), nil, nil},
		{"steps as long, and a full pool", "bandwidth", "h100-sxm:1", served(plantedSweep(dense, .0068, .00003, 100, 500, levels), server(dense, 64, 5, 1, 12, seqs)), nil, nil},

		{"twice the requests of a mixture of experts, hardly more tokens", "moe_batch", "h100-sxm:4", plantedSweep(moe, .004, .002, 100, 500, levels, setting("tensor_parallel_size", "4")), nil, []string{"enable enable_expert_parallel size 4 = TP × DP"}},
		{"twice the requests, nearly twice the tokens", "moe_batch", "h100-sxm:4", plantedSweep(moe, .02, .00002, 100, 500, levels, setting("tensor_parallel_size", "4")), nil, nil},
		{"experts are spread already", "moe_batch", "h100-sxm:4", plantedSweep(moe, .004, .002, 100, 500, levels, setting("tensor_parallel_size", "4"), setting("enable_expert_parallel", "true")), nil, nil},
		{"one GPU", "moe_batch", "h100-sxm:1", plantedSweep(moe, .004, .002, 100, 500, levels), nil, nil},
		{"links that cannot carry it", "moe_batch", "l40s:4", plantedSweep(moe, .004, .002, 100, 500, levels, setting("tensor_parallel_size", "4")), nil, nil},
		{"a dense model", "moe_batch", "h100-sxm:4", plantedSweep(dense, .004, .002, 100, 500, levels, setting("tensor_parallel_size", "4")), nil, nil},

		{"no ceiling touched, throughput rising", "room", "h100-sxm:1", served(plain(), server(dense, 64, 0, .3, 0, seqs)), nil, []string{"test max_concurrency 128"}},
	} {
		if got := advised(t, tt.ds, tt.hw, tt.rule, tt.slo...); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %s advises %q, want %q", tt.name, tt.rule, got, tt.want)
		}
	}
}

package samples

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// TestBenchAggregates recomputes a file's own figures from its arrays.
func TestBenchAggregates(t *testing.T) {
	for _, dir := range []string{"sweep", "sweep-moe", "pairs/no-change", "scenarios/proxy-buffering"} {
		pattern := map[string]string{"sweep": "*.json", "sweep-moe": "*.json", "pairs/no-change": "before/*.json", "scenarios/proxy-buffering": "client/before.json"}[dir]
		for _, f := range open(t, dir).match(pattern) {
			var r result
			var raw map[string]any
			if err := json.Unmarshal(f.data, &r); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(f.data, &raw); err != nil {
				t.Fatal(err)
			}
			var ttft, tpot, itl, e2el []float64
			in, out, ok := 0, 0, 0
			for i := range r.TTFTs {
				if r.Errors[i] != "" {
					continue
				}
				ok++
				in += r.InputLens[i]
				out += r.OutputLens[i]
				ttft = append(ttft, 1000*r.TTFTs[i])
				itl = append(itl, r.ITLs[i]...)
				e2el = append(e2el, 1000*(r.TTFTs[i]+sum(r.ITLs[i])))
			}
			for i := range itl {
				itl[i] *= 1000
			}
			tpot = r.tpots()
			for key, v := range map[string][]float64{"ttft": ttft, "tpot": tpot, "itl": itl, "e2el": e2el} {
				m := mean(v)
				var dev float64
				for _, x := range v {
					dev += (x - m) * (x - m)
				}
				for field, want := range map[string]float64{
					"mean_" + key + "_ms": m, "std_" + key + "_ms": math.Sqrt(dev / float64(len(v))), "median_" + key + "_ms": q(v, 0.5),
					"p90_" + key + "_ms": q(v, 0.9), "p95_" + key + "_ms": q(v, 0.95), "p99_" + key + "_ms": q(v, 0.99),
				} {
					if got := raw[field].(float64); math.Abs(got-want) > 1e-8*want {
						t.Errorf("%s: %s is %v, the arrays give %v", f.path, field, got, want)
					}
				}
			}
			if ok != r.Completed || in != r.In || out != r.Out || r.Completed+r.Failed != r.NumPrompts {
				t.Errorf("%s: %d completed, %d in, %d out; the arrays give %d, %d, %d", f.path, r.Completed, r.In, r.Out, ok, in, out)
			}
			if got, want := r.Requests*r.Duration, float64(ok); math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: throughput × duration is %v of %v requests", f.path, got, want)
			}
		}
	}
}

// TestBenchHasStockKeys wants every key of a file that vllm bench serve writes
// today with --save-detailed and these percentiles.
func TestBenchHasStockKeys(t *testing.T) {
	want := []string{"date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "request_rate", "burstiness", "max_concurrency",
		"duration", "completed", "failed", "total_input_tokens", "total_output_tokens", "request_throughput", "request_goodput", "output_throughput", "total_token_throughput",
		"input_lens", "output_lens", "ttfts", "itls", "start_times", "generated_texts", "errors", "max_output_tokens_per_s", "max_concurrent_requests", "rtfx"}
	for _, m := range []string{"ttft", "tpot", "itl", "e2el"} {
		for _, s := range []string{"mean", "median", "std", "p50", "p90", "p95", "p99"} {
			want = append(want, s+"_"+m+"_ms")
		}
	}
	for _, f := range open(t, "sweep").match("*.json") {
		var raw map[string]json.RawMessage
		if err := json.Unmarshal(f.data, &raw); err != nil {
			t.Fatal(err)
		}
		for _, k := range want {
			if raw[k] == nil {
				t.Errorf("%s: no %s", f.path, k)
			}
			delete(raw, k)
		}
		for k, v := range raw { // the rest is --metadata: strings
			if v[0] != '"' {
				t.Errorf("%s: %s is %s, want a string of --metadata", f.path, k, v)
			}
		}
		var r result
		if err := json.Unmarshal(f.data, &r); err != nil {
			t.Fatal(err)
		}
		if n := r.NumPrompts; len(r.TTFTs) != n || len(r.ITLs) != n || len(r.Starts) != n || len(r.Errors) != n || !slices.IsSorted(r.Starts) {
			t.Errorf("%s: arrays are not %d requests in dispatch order", f.path, n)
		}
	}
}

// TestCalibratedCurve holds the simulator's own curve of Llama-3.1-8B on one
// H100, 1024 tokens in, 512 out, under ten offered requests/s. It was fitted to
// a measured one (see the calibrate program), and must not drift from there.
func TestCalibratedCurve(t *testing.T) {
	want := []struct {
		concurrency int
		output      float64 // tokens/s
		tpot        float64 // ms
	}{
		{1, 94.1, 10.5}, {2, 184, 10.7}, {4, 356, 11.0}, {8, 640, 11.8}, {16, 1080, 13.4},
		{32, 1620, 16.4}, {64, 2230, 20.4}, {128, 2560, 23.2}, {256, 2560, 23.2},
	}
	for _, w := range want {
		l := Level{Rate: 10, Concurrency: w.concurrency}
		for range 100 {
			l.Prompts, l.Outputs = append(l.Prompts, 940), append(l.Outputs, 512)
		}
		c := Reproduce(l, DefaultSeed)
		within(t, "tokens/s over the curve", c.OutputPerSecond/w.output, 0.97, 1.03)
		within(t, "TPOT over the curve", 1000*c.MedianTPOT/w.tpot, 0.97, 1.03)
	}
}

// TestCeilings holds the simulator against the physics a reader computes.
func TestCeilings(t *testing.T) {
	for _, x := range []struct {
		cfg       engineConfig
		tokens    float64 // one request's bound by bandwidth
		kvPerByte float64
		pool      [2]float64 // tokens
	}{
		{newEngine(llama8B, 1), 3.35e12 / 16.06e9, 131072, [2]float64{400e3, 430e3}},
		{newEngine(llama70B, 4), 94.9, 327680, [2]float64{420e3, 460e3}},
	} {
		step := x.cfg.decodeStep(shape{prompt: 100, output: 100}, 1)
		if rate := 1 / step; rate >= x.tokens || rate < 0.4*x.tokens {
			t.Errorf("%s: one request gets %.1f tokens/s, bound %.1f", x.cfg.model.name, rate, x.tokens)
		}
		if x.cfg.model.kvBytes != x.kvPerByte {
			t.Errorf("%s: %v bytes of KV a token", x.cfg.model.name, x.cfg.model.kvBytes)
		}
		within(t, x.cfg.model.name+": pool", float64(x.cfg.kvBlocks()*blockTokens), x.pool[0], x.pool[1])
	}
	// A mixture of experts reads its active part for one token, everything for many.
	if r := qwen30B.readBytes(1) / qwen30B.weightBytes; r > 0.15 {
		t.Errorf("one token reads %.2f of the weights", r)
	}
	if r := qwen30B.readBytes(256) / qwen30B.weightBytes; r < 0.99 {
		t.Errorf("256 tokens read %.2f of the weights", r)
	}
}

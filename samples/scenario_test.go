package samples

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Each scenario's truth is in its data: plain arithmetic on the files finds
// what was planted, for the committed seed and for others.

var truthChecks = map[string]func(*testing.T, sample){
	"scenarios/healthy":           checkHealthy,
	"scenarios/healthy-kv90":      checkHealthyKV,
	"scenarios/healthy-busy-gpu":  checkBusyGPU,
	"scenarios/low-traffic":       checkLowTraffic,
	"scenarios/over-capacity":     checkOverCapacity,
	"scenarios/burst":             checkBurst,
	"scenarios/hot-replica":       checkHotReplica,
	"scenarios/retries":           checkRetries,
	"scenarios/pool-shared":       checkPoolShared,
	"scenarios/longer-outputs":    checkLongerOutputs,
	"scenarios/kv-giants":         checkKVGiants,
	"scenarios/long-prompts":      checkLongPrompts,
	"scenarios/prefix-reuse-lost": checkPrefixReuse,
	"scenarios/max-num-seqs":      checkMaxNumSeqs,
	"scenarios/batch-in-pool":     checkBatchInPool,
	"scenarios/kv-concurrency":    checkKVConcurrency,
	"scenarios/kv-past-event":     checkKVPast,
	"scenarios/kv-restart":        checkKVRestart,
	"scenarios/tokenizer-cpu":     checkTokenizer,
	"scenarios/proxy-buffering":   checkProxy,
	"scenarios/load-generator":    checkLoadGenerator,
	"sweep":                       checkSweep,
	"sweep-moe":                   checkSweep,
	"pairs/no-change":             checkNoChange,
	"pairs/noise-3pct":            checkNoise,
	"pairs/slice-regression":      checkSlice,
	"pairs/mix-shift":             checkMix,
	"pairs/ttft-for-tpot":         checkTradeoff,
	"pairs/two-settings":          checkTwoSettings,
}

func TestTruths(t *testing.T) {
	for _, s := range sets {
		if check := truthChecks[s.dir]; check != nil {
			t.Run(s.dir, func(t *testing.T) { check(t, open(t, s.dir)) })
		} else if strings.Contains(s.dir, "/") {
			t.Errorf("%s has no check", s.dir)
		}
	}
}

var otherSeeds = flag.String("seeds", "2", "other seeds to check the truths of: numbers with commas")

func seedList(t *testing.T) []uint64 {
	var out []uint64
	for f := range strings.SplitSeq(*otherSeeds, ",") {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// TestTruthsOfOtherSeeds holds the ranges: a rule tuned on one seed must meet
// the same stories on another.
func TestTruthsOfOtherSeeds(t *testing.T) {
	if testing.Short() {
		t.Skip("generates whole sets")
	}
	for _, seed := range seedList(t) {
		all, err := generate(sets, seed, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			if check := truthChecks[m.set.dir]; check != nil {
				t.Run(fmt.Sprintf("%d/%s", seed, m.set.dir), func(t *testing.T) { check(t, find(t, all, m.set.dir)) })
			}
		}
	}
}

// within fails unless v lies in [lo, hi].
func within(t *testing.T, what string, v, lo, hi float64) {
	t.Helper()
	if !(v >= lo && v <= hi) {
		t.Errorf("%s is %.4g, want %.4g to %.4g", what, v, lo, hi)
	}
}

// ratio is window over baseline of a quantile.
func (s sample) ratio(f func(row) (float64, bool), p float64) float64 {
	s.t.Helper()
	from, to := s.window()
	rows := s.rows("requests.parquet")
	return q(each(rows, from, to, f), p) / q(each(rows, 0, from, f), p)
}

// all passes every row.
const never, ever = 0, 1e12

func checkAllServed(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		if r.Status != "ok" || r.Preempt != 0 {
			t.Errorf("%s: %s, preempted %d times", r.ID, r.Status, r.Preempt)
		}
	}
}

// checkSLO wants the objectives that the truth states to be met.
func checkSLO(t *testing.T, s sample, rows []row) {
	t.Helper()
	for _, slo := range s.fact("slo").([]string) {
		var metric string
		var p, limit float64
		if _, err := fmt.Sscanf(strings.NewReplacer(":", " ", "<", " ", "ms", "").Replace(slo), "%s p%g %g", &metric, &p, &limit); err != nil {
			t.Fatalf("%q: %v", slo, err)
		}
		f := map[string]func(row) (float64, bool){"ttft": ttft, "tpot": tpot}[metric]
		within(t, slo, 1000*q(each(rows, never, ever, f), p/100), 0, limit)
	}
}

func checkHealthy(t *testing.T, s sample) {
	rows := s.rows("requests.parquet")
	checkAllServed(t, rows)
	checkSLO(t, s, rows)
	within(t, "mean waiting", mean(gauge(s.scrapes("vllm-0"), "vllm:num_requests_waiting", never, ever)), 0, 1)
}

func checkHealthyKV(t *testing.T, s sample) {
	rows, sc := s.rows("requests.parquet"), s.scrapes("vllm-0")
	checkAllServed(t, rows)
	checkSLO(t, s, rows)
	kv := gauge(sc, "vllm:kv_cache_usage_perc", never, ever)
	within(t, "mean KV usage", mean(kv), 0.86, 0.94)
	within(t, "most KV usage", q(kv, 1), 0.88, 0.99)
	within(t, "preemptions", sc[len(sc)-1].get("vllm:num_preemptions_total", ""), 0, 0)
	within(t, "mean waiting", mean(gauge(sc, "vllm:num_requests_waiting", never, ever)), 0, 0.5)
}

// utilization is the mean of the GPU counter over a window.
func (s sample) utilization(from, to float64) float64 {
	s.t.Helper()
	var v []float64
	for _, f := range s.match("gpu/dcgm-*_metrics.log") {
		if p := parseProm(s.t, f); p.at >= from && p.at < to {
			v = append(v, p.get("DCGM_FI_DEV_GPU_UTIL", `gpu="0"`))
		}
	}
	return mean(v)
}

func checkBusyGPU(t *testing.T, s sample) {
	rows := s.rows("requests.parquet")
	checkAllServed(t, rows)
	checkSLO(t, s, rows)
	within(t, "GPU utilization", s.utilization(never, ever), 85, 100)
}

func checkLowTraffic(t *testing.T, s sample) {
	rows := s.rows("requests.parquet")
	checkAllServed(t, rows)
	checkSLO(t, s, rows)
	within(t, "GPU utilization", s.utilization(never, ever), 0, 40)
	within(t, "waiting", q(gauge(s.scrapes("vllm-0"), "vllm:num_requests_waiting", never, ever), 1), 0, 0)
}

func checkOverCapacity(t *testing.T, s sample) {
	from, to := s.window()
	sc := s.scrapes("vllm-0")
	waiting := gauge(sc, "vllm:num_requests_waiting", from, to)
	half := len(waiting) / 2
	within(t, "growth of waiting", mean(waiting[half:])/mean(waiting[:half]), 1.5, 100)
	within(t, "running in the window over max_num_seqs", mean(gauge(sc, "vllm:num_requests_running", from+30, to))/float64(s.fact("max_num_seqs").(int)), 0.97, 1)
	// The queue explains the TTFT.
	rows := s.rows("requests.parquet")
	within(t, "queue over TTFT", mean(each(rows, from, to, queue))/mean(each(rows, from, to, ttft)), 0.95, 1.02)
	arrived := float64(len(each(rows, from, to, prompt))) / (to - from)
	capacity := s.fact("capacity_requests_per_s").(float64)
	within(t, "arrivals over capacity", arrived/capacity, 1.15, 1.65)
	done := increase(sc, "vllm:request_success_total", "", from+30, to) / (to - from - 30)
	within(t, "completions over capacity", done/capacity, 0.85, 1.15)
}

func checkBurst(t *testing.T, s sample) {
	from, to := s.window()
	rows := s.rows("requests.parquet")
	capacity := float64(len(each(rows, from-150, from+150, prompt))) / 300 / s.fact("five_minute_mean_of_capacity").(float64)
	inside := float64(len(each(rows, from, to, prompt))) / (to - from)
	within(t, "rate in the burst over capacity", inside/capacity, 4, 9)
	within(t, "five-minute mean over capacity", float64(len(each(rows, from-150, from+150, prompt)))/300/capacity, 0.5, 0.9)
	within(t, "waiting before", mean(gauge(s.scrapes("vllm-0"), "vllm:num_requests_waiting", never, from)), 0, 2)
	within(t, "most waiting after", q(gauge(s.scrapes("vllm-0"), "vllm:num_requests_waiting", from, to+30), 1), 80, 1000)
}

func checkHotReplica(t *testing.T, s sample) {
	from, to := s.window()
	waiting := func(pod string) float64 {
		return mean(gauge(s.scrapes(pod), "vllm:num_requests_waiting", from+60, to))
	}
	within(t, "waiting on vllm-1", waiting("vllm-1"), 10, 1000)
	for _, pod := range []string{"vllm-0", "vllm-2"} {
		within(t, "waiting on "+pod, waiting(pod), 0, 1)
	}
	rows := s.rows("requests.parquet")
	before := float64(len(each(rows, never, from, prompt))) / (from - rows[0].at())
	after := float64(len(each(rows, from, to, prompt))) / (to - from)
	within(t, "arrivals after over before", after/before, 0.85, 1.15)
}

func checkRetries(t *testing.T, s sample) {
	from, to := s.window()
	rows := s.rows("requests.parquet")
	first := func(r row) (float64, bool) { return 1, r.Attempt == 1 }
	again := func(r row) (float64, bool) { return 1, r.Attempt > 1 }
	late := func(r row) (float64, bool) { return 1, r.Status == "timeout" }
	n := func(f func(row) (float64, bool), a, b float64) float64 { return float64(len(each(rows, a, b, f))) }
	begin := rows[0].at()
	within(t, "users' rate after over before", n(first, from, to)/(to-from)/(n(first, begin, from)/(from-begin)), 0.8, 1.2)
	within(t, "attempts a user request before", 1+n(again, begin, from)/n(first, begin, from), 1, 1.05)
	within(t, "attempts a user request long after the stall", 1+n(again, from+60, to)/n(first, from+60, to), 1.5, 6)
	within(t, "share of timeouts long after", n(late, from+60, to)/n(func(row) (float64, bool) { return 1, true }, from+60, to), 0.4, 1)
}

// checkLongPrompts reproduces the reading of the incident whose averages hide
// it.
func checkLongPrompts(t *testing.T, s sample) {
	within(t, "prompt p50 ratio", s.ratio(prompt, 0.5), 0.85, 1.15)
	within(t, "prompt p95 ratio", s.ratio(prompt, 0.95), 2.0, 3.1)
	within(t, "prefill p95 ratio", s.ratio(prefill, 0.95), 1.9, 3.3)
	within(t, "TTFT p95 ratio", s.ratio(ttft, 0.95), 1.8, 3.2)
	within(t, "TTFT p50 ratio", s.ratio(ttft, 0.5), 0.85, 1.2)
	within(t, "TPOT p95 ratio", s.ratio(tpot, 0.95), 0.95, 1.15)
	from, to := s.window()
	within(t, "queue p95 in the window, s", q(each(s.rows("requests.parquet"), from, to, queue), 0.95), 0, 0.13)
}

func checkPrefixReuse(t *testing.T, s sample) {
	from, to := s.window()
	rows := s.rows("requests.parquet")
	cached := func(r row) (float64, bool) {
		if r.Cached == nil {
			return 0, false
		}
		return float64(*r.Cached) / float64(r.Prompt), true
	}
	within(t, "cached share before", mean(each(rows, never, from, cached)), 0.8, 1)
	within(t, "cached share in the window", mean(each(rows, from, to, cached)), 0, 0.01)
	within(t, "prompt p50 ratio", s.ratio(prompt, 0.5), 0.97, 1.03)
	within(t, "prefill p50 ratio", s.ratio(prefill, 0.5), 3, 30)
	within(t, "queue p95 in the window, s", q(each(rows, from, to, queue), 0.95), 0, 0.3)
	sc := s.scrapes("vllm-0")
	hits := func(a, b float64) float64 {
		return increase(sc, "vllm:prefix_cache_hits_total", "", a, b) / increase(sc, "vllm:prefix_cache_queries_total", "", a, b)
	}
	within(t, "hits over queries before", hits(never, from), 0.8, 1)
	within(t, "hits over queries after", hits(from+15, to), 0, 0.01)
}

func checkMaxNumSeqs(t *testing.T, s sample) {
	from, to := s.window()
	within(t, "TPOT p50 ratio", s.ratio(tpot, 0.5), 1.3, 3)
	within(t, "TPOT p95 ratio", s.ratio(tpot, 0.95), 1.5, 3)
	within(t, "TTFT p95 ratio", s.ratio(ttft, 0.95), 0, 0.3)
	most := func(pod string) float64 {
		return q(gauge(s.scrapes(pod), "vllm:num_requests_running", never, ever), 1)
	}
	within(t, "most running before", most("vllm-0"), 20, 32)
	within(t, "most running after", most("vllm-1"), 50, 256)
	rows := s.rows("requests.parquet")
	out := func(r row) (float64, bool) { return float64(r.Output), true }
	begin := rows[0].at()
	within(t, "tokens/s after over before", sum(each(rows, from, to, out))/(to-from)/(sum(each(rows, begin, from, out))/(from-begin)), 0.8, 1.25)
}

// of keeps a workload's rows.
func of(workload string, f func(row) (float64, bool)) func(row) (float64, bool) {
	return func(r row) (float64, bool) {
		v, ok := f(r)
		return v, ok && r.Workload == workload
	}
}

func output(r row) (float64, bool) { return float64(r.Output), true }

func checkPoolShared(t *testing.T, s sample) {
	from, to := s.window()
	rows, sc := s.rows("requests.parquet"), s.scrapes("vllm-0")
	begin := rows[0].at()
	rate := func(a, b float64) float64 { return float64(len(each(rows, a, b, of("chat", prompt)))) / (b - a) }
	within(t, "chat's rate ratio", rate(from, to)/rate(begin, from), 0.75, 1.25)
	within(t, "chat's queue p50 before, s", q(each(rows, begin, from, of("chat", queue)), 0.5), 0, 0.1)
	within(t, "chat's queue p50 in the window, s", q(each(rows, from+30, to-30, of("chat", queue)), 0.5), 5, 300)
	within(t, "mean waiting in the window", mean(gauge(sc, "vllm:num_requests_waiting", from, to-20)), 20, 300)
	within(t, "mean running in the window over max_num_seqs", mean(gauge(sc, "vllm:num_requests_running", from+15, to-20))/float64(s.fact("max_num_seqs").(int)), 0.97, 1)
	within(t, "batch requests before", float64(len(each(rows, never, from, of("batch", prompt)))), 0, 0)
}

func checkLongerOutputs(t *testing.T, s sample) {
	within(t, "output p50 ratio", s.ratio(output, 0.5), 1.6, 2.2)
	within(t, "TPOT p50 ratio", s.ratio(tpot, 0.5), 1.35, 4)
	within(t, "prompt p50 ratio", s.ratio(prompt, 0.5), 0.97, 1.03)
	from, to := s.window()
	sc := s.scrapes("vllm-0")
	running := func(a, b float64) float64 { return mean(gauge(sc, "vllm:num_requests_running", a, b)) }
	within(t, "running ratio", running(from+60, to)/running(never, from), 2, 12)
	within(t, "TTFT p50 in the window, s", q(each(s.rows("requests.parquet"), from, to, ttft), 0.5), 0, 0.3)
	within(t, "most waiting", q(gauge(sc, "vllm:num_requests_waiting", never, ever), 1), 0, 5)
}

func checkKVGiants(t *testing.T, s sample) {
	from, to := s.window()
	rows, sc := s.rows("requests.parquet"), s.scrapes("vllm-0")
	within(t, "preemptions before", increase(sc, "vllm:num_preemptions_total", "", never, from), 0, 0)
	within(t, "preemptions in the window", increase(sc, "vllm:num_preemptions_total", "", from, to), 30, 1e5)
	within(t, "most KV usage in the window", q(gauge(sc, "vllm:kv_cache_usage_perc", from, to), 1), 0.97, 1)
	within(t, "chat's prompt p95 ratio", s.ratio(of("chat", prompt), 0.95), 0.85, 1.15)
	giants := each(rows, from, to, of("documents", prompt))
	within(t, "shortest giant", q(giants, 0), 8192, 32768)
	within(t, "share of giants", float64(len(giants))/float64(len(each(rows, from, to, prompt))), 0.005, 0.2)
}

func checkBatchInPool(t *testing.T, s sample) {
	from, to := s.window()
	rows := s.rows("requests.parquet")
	within(t, "batch requests before", float64(len(each(rows, never, from, of("batch", prompt)))), 0, 0)
	within(t, "batch requests in the window", float64(len(each(rows, from, to, of("batch", prompt)))), 100, 1e6)
	within(t, "chat's TPOT p50 ratio", s.ratio(of("chat", tpot), 0.5), 2, 5)
	within(t, "chat's prompt p50 ratio", s.ratio(of("chat", prompt), 0.5), 0.9, 1.1)
	within(t, "chat's TTFT p50 in the window, s", q(each(rows, from, to, of("chat", ttft)), 0.5), 0, 0.3)
}

func checkKVConcurrency(t *testing.T, s sample) {
	from, to := s.window()
	sc := s.scrapes("vllm-0")
	within(t, "preemptions before", increase(sc, "vllm:num_preemptions_total", "", never, from), 0, 0)
	within(t, "preemptions in the window", increase(sc, "vllm:num_preemptions_total", "", from, to), 50, 1e5)
	within(t, "KV usage before", mean(gauge(sc, "vllm:kv_cache_usage_perc", never, from)), 0.2, 0.75)
	within(t, "most KV usage in the window", q(gauge(sc, "vllm:kv_cache_usage_perc", from, to), 1), 0.97, 1)
	within(t, "prompt p95 ratio", s.ratio(prompt, 0.95), 0.85, 1.15)
	within(t, "most running", q(gauge(sc, "vllm:num_requests_running", from, to), 1), 60, 200) // below max_num_seqs
}

func checkKVPast(t *testing.T, s sample) {
	sc := s.scrapes("vllm-0")
	within(t, "preemptions at the first scrape", sc[0].get("vllm:num_preemptions_total", ""), 100, 1e6)
	within(t, "their increase", increase(sc, "vllm:num_preemptions_total", "", never, ever), 0, 0)
	checkAllServed(t, s.rows("requests.parquet"))
	within(t, "most waiting", q(gauge(sc, "vllm:num_requests_waiting", never, ever), 1), 0, 3)
}

func checkKVRestart(t *testing.T, s sample) {
	from, to := s.window()
	sc := s.scrapes("vllm-0")
	starts, resets := map[float64]bool{}, 0
	var last float64
	for _, p := range sc {
		starts[p.get("process_start_time_seconds", "")] = true
		if v := p.get("vllm:generation_tokens_total", ""); v < last {
			resets++
			last = v
		} else {
			last = v
		}
	}
	within(t, "process starts", float64(len(starts)), 2, 2)
	within(t, "resets", float64(resets), 1, 1)
	within(t, "scrapes", float64(len(sc)), scrapeCount-4, scrapeCount-2)
	within(t, "preemptions over both processes", increase(sc, "vllm:num_preemptions_total", "", from, to), 20, 1e5)
	rows := s.rows("requests.parquet")
	refused := 0
	for _, r := range rows {
		if r.HTTP != nil && *r.HTTP == 503 {
			refused++
		}
	}
	within(t, "refused while down", float64(refused), 20, 1000)
	if !strings.Contains(string(s.match("vllm-0.log")[0].data), "Application startup complete.") {
		t.Error("the log shows no start")
	}
}

func checkTokenizer(t *testing.T, s sample) {
	from, to := s.window()
	rows, sc := s.rows("requests.parquet"), s.scrapes("vllm-0")
	frontend := func(r row) (float64, bool) {
		if r.Decode == nil {
			return 0, false
		}
		return r.E2E - *r.Queue - *r.Prefill - *r.Decode, true
	}
	within(t, "front end before, s", q(each(rows, never, from, frontend), 0.5), 0.1, 1)
	within(t, "front end in the window, s", q(each(rows, from, to, frontend), 0.5), 5, 200)
	within(t, "engine's queue in the window, s", q(each(rows, from, to, queue), 0.95), 0, 0.1)
	within(t, "most waiting", q(gauge(sc, "vllm:num_requests_waiting", never, ever), 1), 0, 3)
	within(t, "GPU utilization in the window", s.utilization(from, to), 0, 40)
	// The same out of the scrapes: E2E − queue − inference.
	part := func(name string) float64 { return increase(sc, "vllm:"+name+"_seconds_sum", "", from+30, to) }
	n := increase(sc, "vllm:e2e_request_latency_seconds_count", "", from+30, to)
	within(t, "front end by the histograms, s", (part("e2e_request_latency")-part("request_queue_time")-part("request_inference_time"))/n, 5, 200)
	within(t, "CPU of the API server in cores", increase(sc, "process_cpu_seconds_total", "", from+15, to)/(to-from-15), 0.85, 1.2)
}

func checkProxy(t *testing.T, s sample) {
	from, to := s.window()
	before, during := s.bench("client/before.json")[0], s.bench("client/during.json")[0]
	rows := s.rows("requests.parquet")
	server := func(a, b float64) float64 { return 1000 * mean(each(rows, a, b, ttft)) }
	within(t, "server TTFT ratio", server(from, to)/server(never, from), 0.85, 1.15)
	streamed := func(r result) float64 {
		var v []float64
		for i, x := range r.TTFTs {
			if len(r.ITLs[i]) > 0 {
				v = append(v, 1000*x)
			}
		}
		return mean(v)
	}
	within(t, "client − server TTFT before, ms", streamed(before)-server(never, from), 8, 25)
	within(t, "client over server TTFT during", streamed(during)/server(from, to), 8, 60)
	within(t, "ITL over TPOT before", before.MeanITL/before.MeanTPOT, 0.8, 1.2)
	within(t, "ITL over TPOT during", during.MeanITL/during.MeanTPOT, 5, 200)
}

func checkLoadGenerator(t *testing.T, s sample) {
	r := s.bench("client/run.json")[0]
	rows := s.rows("requests.parquet")
	offered := s.fact("offered_requests_per_s").(float64)
	first, last := r.Starts[0], r.Starts[len(r.Starts)-1]
	within(t, "requests/s that left, of those asked for", float64(len(r.Starts)-1)/(last-first)/offered, 0.58, 0.82)
	n := len(r.TTFTs) / 2
	within(t, "TTFT of the second half over the first", mean(r.TTFTs[n:])/mean(r.TTFTs[:n]), 0.7, 1.3)
	within(t, "queue time, s", q(each(rows, never, ever, queue), 0.95), 0, 0.3)
}

func checkSweep(t *testing.T, s sample) {
	levels := s.bench("*.json")
	if len(levels) != len(sweepLevels) {
		t.Fatalf("%d levels", len(levels))
	}
	knee := float64(s.fact("knee").(int))
	var at, beyond result
	best := 0.0
	for _, r := range levels {
		best = max(best, r.OutputRate)
		switch float64(r.MaxConcurrency) {
		case knee:
			at = r
		case 96:
			beyond = r
		}
	}
	within(t, "throughput at the knee over the best", at.OutputRate/best, 0.9, 1)
	within(t, "throughput beyond the knee over that at it", beyond.OutputRate/at.OutputRate, 0.93, 1.1)
	within(t, "TPOT beyond over at", beyond.MeanTPOT/at.MeanTPOT, 0.9, 1.1)
	within(t, "TTFT beyond over at", beyond.MeanTTFT/at.MeanTTFT, 2, 100)
	for i := 1; i < len(levels) && float64(levels[i].MaxConcurrency) <= knee; i++ {
		within(t, "growth of throughput up to the knee", levels[i].OutputRate/levels[i-1].OutputRate, 1.03, 2.05)
	}
	var limit float64
	if _, err := fmt.Sscanf(s.fact("slo").(string), "tpot:p95<%gms", &limit); err != nil {
		t.Fatal(err)
	}
	for _, r := range levels {
		v := q(r.tpots(), 0.95)
		if r.MaxConcurrency <= s.fact("slo_capacity_pass").(int) && v >= limit || r.MaxConcurrency >= s.fact("slo_capacity_fail").(int) && v < limit {
			t.Errorf("level %d: TPOT p95 %.2f ms, limit %.2f", r.MaxConcurrency, v, limit)
		}
	}
}

// sides returns a statistic of each run of both sides.
func (s sample) sides(f func(result) float64) (before, after []float64) {
	s.t.Helper()
	for _, r := range s.bench("before/run*.json") {
		before = append(before, f(r))
	}
	for _, r := range s.bench("after/run*.json") {
		after = append(after, f(r))
	}
	if len(before) != repeats || len(after) != repeats {
		s.t.Fatalf("%d and %d runs", len(before), len(after))
	}
	return before, after
}

func meanTPOT(r result) float64 { return r.MeanTPOT }
func meanTTFT(r result) float64 { return r.MeanTTFT }

func checkNoChange(t *testing.T, s sample) {
	b, a := s.sides(meanTPOT)
	within(t, "TPOT after over before", mean(a)/mean(b), 0.95, 1.05)
	within(t, "spread of the repeats", q(append(b, a...), 1)/q(append(b, a...), 0), 1.003, 1.12)
}

func checkNoise(t *testing.T, s sample) {
	b, a := s.sides(meanTPOT)
	within(t, "TPOT after over before", mean(a)/mean(b), 0.98, 1.08)
	// Some run after is no slower than some run before.
	within(t, "fastest after over slowest before", q(a, 0)/q(b, 1), 0.9, 1.02)
}

// slices returns the median TTFT of a workload on each side, over all repeats.
func (s sample) slices(workload string) (before, after float64) {
	s.t.Helper()
	side := func(name string) float64 {
		var v []float64
		for _, f := range s.match(name + "/run*.parquet") {
			v = append(v, each(s.rows(strings.TrimPrefix(f.path, s.dir+"/")), never, ever, func(r row) (float64, bool) {
				x, ok := ttft(r)
				return x, ok && (workload == "" || r.Workload == workload)
			})...)
		}
		return mean(v)
	}
	return side("before"), side("after")
}

func checkSlice(t *testing.T, s sample) {
	b, a := s.slices("rag")
	within(t, "rag's TTFT ratio", a/b, 1.09, 1.15)
	b, a = s.slices("chat")
	within(t, "chat's TTFT ratio", a/b, 0.95, 1.05)
}

func checkMix(t *testing.T, s sample) {
	for _, w := range []string{"rag", "chat"} {
		b, a := s.slices(w)
		within(t, w+"'s TTFT ratio", a/b, 0.93, 1.1)
	}
	b, a := s.slices("")
	within(t, "overall TTFT ratio", a/b, 1.4, 4)
}

func checkTradeoff(t *testing.T, s sample) {
	b, a := s.sides(meanTTFT)
	within(t, "TTFT ratio", mean(a)/mean(b), 0, 0.6)
	b, a = s.sides(meanTPOT)
	within(t, "TPOT ratio", mean(a)/mean(b), 1.2, 3)
}

func checkTwoSettings(t *testing.T, s sample) {
	settings := func(f file) string {
		var out []string
		for _, k := range []string{"max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "tensor_parallel_size"} {
			_, rest, ok := strings.Cut(string(f.data), `"`+k+`": `)
			if !ok {
				t.Fatalf("%s: no %s", f.path, k)
			}
			v, _, _ := strings.Cut(rest, ",")
			out = append(out, v)
		}
		return strings.Join(out, " ")
	}
	b, a := settings(s.match("before/run1.json")[0]), settings(s.match("after/run1.json")[0])
	differ := 0
	for i, v := range strings.Fields(b) {
		if v != strings.Fields(a)[i] {
			differ++
		}
	}
	within(t, "changed settings", float64(differ), 2, 2)
	checkTradeoff(t, s)
}

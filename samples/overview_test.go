package samples

import (
	"strings"
	"testing"
)

// TestOverview prints the figures of every scenario, to be read with -v when
// one is tuned; the scenarios' own tests hold them.
func TestOverview(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("a table for -v")
	}
	all, err := compact()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if !strings.HasPrefix(m.set.dir, "scenarios/") {
			continue
		}
		s := find(t, all, m.set.dir)
		from, to := s.window()
		rows := s.rows("requests.parquet")
		t.Logf("%s (%s)", s.dir, s.truth.Cause)
		for _, w := range []struct {
			name     string
			from, to float64
		}{{"before", 0, from}, {"window", from, to + 60}} {
			ms := func(f func(row) (float64, bool), p float64) float64 { return 1000 * q(each(rows, w.from, w.to, f), p) }
			status := map[string]int{}
			preempt := 0
			var end, begin float64
			for _, r := range rows {
				if r.at() >= w.from && r.at() < w.to {
					if begin == 0 {
						begin = r.at()
					}
					status[r.Status]++
					preempt += int(r.Preempt)
					end = r.at()
				}
			}
			t.Logf("  %s %4.0f s: prompt p50 %5.0f p95 %5.0f  queue p50 %6.0f p95 %6.0f  prefill p95 %6.0f  ttft p50 %6.0f p95 %6.0f  tpot p50 %5.1f p95 %5.1f  preempt %d %v", w.name, end-begin,
				ms(prompt, .5)/1000, ms(prompt, .95)/1000, ms(queue, .5), ms(queue, .95), ms(prefill, .95), ms(ttft, .5), ms(ttft, .95), ms(tpot, .5), ms(tpot, .95), preempt, status)
			pods := map[string]bool{}
			for _, r := range rows {
				pods[r.Replica] = true
			}
			for pod := range pods {
				sc := s.scrapes(pod)
				line := func(name string) []float64 { return gauge(sc, name, w.from, w.to) }
				if len(line("vllm:num_requests_running")) == 0 {
					continue
				}
				t.Logf("    %s run %5.1f max %3.0f  wait %5.1f max %3.0f  kv %.2f max %.2f  preempt +%.0f gen/s %.0f", pod, mean(line("vllm:num_requests_running")), q(line("vllm:num_requests_running"), 1),
					mean(line("vllm:num_requests_waiting")), q(line("vllm:num_requests_waiting"), 1), mean(line("vllm:kv_cache_usage_perc")), q(line("vllm:kv_cache_usage_perc"), 1),
					increase(sc, "vllm:num_preemptions_total", "", w.from, w.to), increase(sc, "vllm:generation_tokens_total", "", w.from, w.to)/(end-begin))
			}
		}
		for _, f := range s.files {
			if strings.Contains(f.path, "/gpu/") && strings.HasSuffix(f.path, "20_metrics.log") {
				t.Logf("    GPU %.0f at %.0f", parseProm(t, f).get("DCGM_FI_DEV_GPU_UTIL", `gpu="0"`), parseProm(t, f).at-from)
			}
		}
	}
}

package samples

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// stages are simulations with everything in them: preemption, prefix sharing,
// conversations, cancellations, timeouts, retries, a crash.
func stages() map[string]*stage {
	play := func(name string, cfg engineConfig, mix []share, load float64, change func(*serverConfig), c *openClient) *stage {
		rate := load * cfg.capacity(shapeOf(mix))
		src := source{7, name}
		c.reqs = newMaker(src.of("load"), "req").arrive(traffic{from: trafficFrom, to: 150, rate: rate, mix: mix})
		srv := replica("vllm-0", cfg)
		if change != nil {
			change(&srv)
		}
		p := observed(leastLoaded, []client{c}, srv)
		p.scrapes = 12
		return simulate(p, src)
	}
	daily := []share{{chatLoad(), 0.5}, {agentLoad(), 0.3}, {batchLoad(), 0.2}}
	small := newEngine(llama8B, 1)
	small.setKVTokens(30_000)
	small.maxNumSeqs, small.maxModelLen = 64, 12_000
	return map[string]*stage{
		"daily":   play("daily", newEngine(llama8B, 1), daily, 0.6, nil, &openClient{}),
		"preempt": play("preempt", tight(), essay(), 1.2, nil, &openClient{}),
		"evict":   play("evict", small, daily, 2, nil, &openClient{timeout: ns(8), retries: 2, backoff: ns(1)}),
		"crash": play("crash", tight(), essay(), 1.1, func(s *serverConfig) {
			s.crashes, s.returns = 90*second, 120*second
		}, &openClient{timeout: ns(60)}),
	}
}

// TestConservation counts everything that must not get lost.
func TestConservation(t *testing.T) {
	for name, st := range stages() {
		t.Run(name, func(t *testing.T) {
			s := st.servers[0]
			outcome := map[string]int{}
			for _, a := range st.attempts {
				if !a.settled || !a.over {
					t.Fatalf("%s attempt %d is not over", a.req.id, a.no)
				}
				outcome[a.status]++
			}
			if s.inside != 0 {
				t.Errorf("%d still inside", s.inside)
			}
			engines := append(append([]*engine(nil), s.old...), s.eng)
			var finished, generation, prompts, cached, preemptions, iterations int64
			var computed, recomputed, dropped, inSystem int64
			for _, e := range engines {
				if len(e.running)+len(e.waiting) != 0 {
					t.Errorf("%d running, %d waiting at the end", len(e.running), len(e.waiting))
				}
				if e.kv.free != e.kv.size() || e.kv.usage() != 0 {
					t.Errorf("%d of %d KV blocks are lost", e.kv.size()-e.kv.free, e.kv.size())
				}
				for b, r := range e.kv.refs {
					if r != 0 {
						t.Errorf("block %d has %d users", b, r)
					}
				}
				listed := 0
				for b := e.kv.next[e.kv.size()]; int(b) != e.kv.size(); b = e.kv.next[b] {
					listed++
				}
				if listed != e.kv.size() {
					t.Errorf("%d of %d blocks are in the free list", listed, e.kv.size())
				}
				for _, n := range e.m.finished {
					finished += n
				}
				generation += e.m.generation
				prompts += e.m.prompt
				cached += e.m.promptCached
				preemptions += e.m.preemptions
				iterations += int64(e.m.iteration.sum)
				computed += e.computedTokens
				recomputed += e.recomputedTokens
				dropped += e.droppedTokens
				inSystem += e.inSystem
			}
			if got := finished + int64(s.lost); got != int64(s.accepted) {
				t.Errorf("%d accepted, %d finished, %d lost", s.accepted, finished, s.lost)
			}
			var tokens, wantPrompts, wantCached, wantPreempt, wantComputed, wantRecomputed, time int64
			for _, a := range st.attempts {
				tokens += int64(len(a.tokenAt))
				q := a.seq
				if q == nil {
					continue
				}
				time += a.ended - q.queuedAt
				if a.status == statusOK {
					time -= ns(s.cfg.front.ipc)
				}
				wantPreempt += int64(q.preemptions)
				wantRecomputed += int64(q.recomputed)
				wantComputed += int64(q.recomputed)
				if q.highWater > 0 {
					wantComputed += int64(q.highWater - q.cached)
				}
				if q.generated > 0 {
					wantPrompts += int64(q.prompt)
					wantCached += int64(q.cached)
				}
				if a.status == statusOK && (q.generated != a.req.output || q.highWater != q.prompt+q.generated-1) {
					t.Errorf("%s: %d of %d tokens, %d computed", a.req.id, q.generated, a.req.output, q.highWater)
				}
			}
			for _, x := range []struct {
				what      string
				got, want int64
			}{
				{"generated tokens", generation, tokens},
				{"prompt tokens", prompts, wantPrompts},
				{"cached tokens", cached, wantCached},
				{"preemptions", preemptions, wantPreempt},
				{"tokens computed in steps", computed - dropped, wantComputed},
				{"tokens computed again", recomputed, wantRecomputed},
				{"tokens by iterations", iterations, prompts - cached + generation},
				{"request·ns in the system (Little's law)", inSystem, time},
			} {
				if x.got != x.want {
					t.Errorf("%s: %d, want %d", x.what, x.got, x.want)
				}
			}
			t.Logf("%v, %d preemptions, %d tokens again, %d cached", outcome, preemptions, recomputed, cached)
			interesting := map[string]bool{
				"daily": cached > 0 && outcome[statusCancelled] > 0, "preempt": preemptions > 0 && recomputed > 0,
				"evict": preemptions > 0 && cached > 0 && outcome[statusTimeout] > 0, "crash": outcome[statusError] > 0,
			}
			if !interesting[name] {
				t.Error("the simulation does not show what it is for")
			}
		})
	}
}

// TestLittle holds the number in the system, as gauges and as the benchmark's
// clock have it, against rate times time.
func TestLittle(t *testing.T) {
	for _, r := range open(t, "sweep").bench("*.json") {
		// In the middle half of a closed loop nobody starts or drains.
		var first, last float64 = math.Inf(1), 0
		for i, s := range r.Starts {
			first, last = min(first, s), max(last, s+r.TTFTs[i]+sum(r.ITLs[i]))
		}
		a, b := first+(last-first)/4, last-(last-first)/4
		if r.MaxConcurrency < 8 {
			continue // too few requests in that half
		}
		n, inside := 0.0, 0.0
		for i, s := range r.Starts {
			end := s + r.TTFTs[i] + sum(r.ITLs[i])
			inside += max(0, min(end, b)-max(s, a))
			if end >= a && end < b {
				n++
			}
		}
		within(t, "in flight over the cap at "+strconv.Itoa(r.MaxConcurrency), inside/(b-a)/float64(r.MaxConcurrency), 0.98, 1.02)
		// The whole run closes by definition of its own figures.
		within(t, "throughput × E2E over request time", r.Requests*r.MeanE2EL/1000/(sumE2E(r)/r.Duration), 0.98, 1.02)
	}
	// A long closed loop on the server's side: running + waiting = rate × (E2E −
	// front end), out of the scrapes alone.
	s := open(t, "scenarios/healthy-kv90")
	sc := s.scrapes("vllm-0")
	from, to := sc[0].at, sc[len(sc)-1].at
	rate := increase(sc, "vllm:e2e_request_latency_seconds_count", "", from, to) / (to - from)
	time := (increase(sc, "vllm:request_queue_time_seconds_sum", "", from, to) + increase(sc, "vllm:request_inference_time_seconds_sum", "", from, to)) / (rate * (to - from))
	n := mean(gauge(sc, "vllm:num_requests_running", from, to)) + mean(gauge(sc, "vllm:num_requests_waiting", from, to))
	within(t, "rate × time over the number in the system", rate*time/n, 0.98, 1.02)
}

func sumE2E(r result) float64 {
	total := 0.0
	for i := range r.TTFTs {
		total += r.TTFTs[i] + sum(r.ITLs[i])
	}
	return total
}

// TestScrapesCountTheRows holds every counter and histogram against the trace.
func TestScrapesCountTheRows(t *testing.T) {
	const ipc = 0.0007
	for _, set := range sets {
		if !strings.HasPrefix(set.dir, "scenarios/") || set.dir == "scenarios/kv-restart" {
			continue
		}
		t.Run(set.dir, func(t *testing.T) {
			s := open(t, set.dir)
			byPod := map[string][]row{}
			for _, r := range s.rows("requests.parquet") {
				byPod[r.Replica] = append(byPod[r.Replica], r)
			}
			for pod, rows := range byPod {
				sc := s.scrapes(pod)
				a, b := sc[0], sc[len(sc)-1]
				grew := func(name, label string) float64 { return b.get(name, label) - a.get(name, label) }
				var ok, late, out, queued, prefilled, decoded, e2e, inFlight float64
				for _, r := range rows {
					end := r.end() - ipc // the engine's side of it
					if r.Queue != nil && r.Status == "ok" && end > b.at && end-*r.Decode-*r.Prefill-*r.Queue < b.at {
						inFlight++
					}
					if end <= a.at || end > b.at {
						continue
					}
					switch r.Status {
					case "ok":
						ok++
						out += float64(r.Output)
						queued += *r.Queue
						prefilled += *r.Prefill
						decoded += *r.Decode
						e2e += r.E2E
					case "timeout", "cancelled":
						late++
					}
				}
				near := func(what string, got, want float64) {
					t.Helper()
					if math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
						t.Errorf("%s: %s: scrapes say %v, rows %v", pod, what, got, want)
					}
				}
				for _, h := range []string{"e2e_request_latency_seconds", "request_queue_time_seconds", "request_prefill_time_seconds", "request_decode_time_seconds",
					"request_inference_time_seconds", "request_time_per_output_token_seconds", "request_prompt_tokens", "request_generation_tokens"} {
					near(h+"_count", grew("vllm:"+h+"_count", ""), ok)
					near(h+" +Inf bucket", grew("vllm:"+h+"_bucket", `le="+Inf"`), ok)
				}
				near("success", grew("vllm:request_success_total", `"stop"`)+grew("vllm:request_success_total", `"length"`), ok)
				near("2xx", grew("http_requests_total", "2xx"), ok)
				near("queue sum", grew("vllm:request_queue_time_seconds_sum", ""), queued)
				near("prefill sum", grew("vllm:request_prefill_time_seconds_sum", ""), prefilled)
				near("decode sum", grew("vllm:request_decode_time_seconds_sum", ""), decoded)
				near("e2e sum", grew("vllm:e2e_request_latency_seconds_sum", ""), e2e)
				near("generation sum", grew("vllm:request_generation_tokens_sum", ""), out)
				if s.dir != "scenarios/retries" { // there, attempts that time out are in flight too
					near("running + waiting at the last scrape", b.get("vllm:num_requests_running", "")+b.get("vllm:num_requests_waiting", ""), inFlight)
				} else if aborted := grew("vllm:request_success_total", `"abort"`); aborted > late {
					t.Errorf("%v aborted, only %v rows timed out", aborted, late)
				}
			}
		})
	}
}

// TestTokenIdentities holds the counters of one scrape against each other: what
// the steps handled is what was computed of the prompts and what was generated,
// and every token after a request's first one is a gap.
func TestTokenIdentities(t *testing.T) {
	for _, p := range open(t, "server").scrapes("vllm-0") {
		prompts, cached, generated := p.get("vllm:prompt_tokens_total", ""), p.get("vllm:prompt_tokens_cached_total", ""), p.get("vllm:generation_tokens_total", "")
		for _, x := range []struct {
			what      string
			got, want float64
		}{
			{"iteration tokens", p.get("vllm:iteration_tokens_total_sum", ""), prompts - cached + generated},
			{"computed locally", p.get("vllm:prompt_tokens_by_source_total", "local_compute"), prompts - cached},
			{"gaps", p.get("vllm:inter_token_latency_seconds_count", ""), generated - p.get("vllm:time_to_first_token_seconds_count", "")},
			{"waiting", p.get("vllm:num_requests_waiting", ""), p.get("vllm:num_requests_waiting_by_reason", "")},
		} {
			if x.got != x.want {
				t.Errorf("at %.0f: %s is %v, want %v", p.at, x.what, x.got, x.want)
			}
		}
		if hits := p.get("vllm:prefix_cache_hits_total", ""); hits < cached {
			t.Errorf("at %.0f: %v hits, %v cached prompt tokens", p.at, hits, cached)
		}
	}
}

// TestHistogramsAreCumulative checks the exposition of every scrape of one set
// of each dialect.
func TestHistogramsAreCumulative(t *testing.T) {
	var files []file
	files = append(files, open(t, "server").match("metrics/*")...)
	files = append(files, open(t, "server-v0").match("*.prom")...)
	files = append(files, open(t, "scenarios/healthy").match("metrics/*")...)
	le := regexp.MustCompile(`le="([^"]+)"`)
	for _, f := range files {
		last, bound := 0.0, 0.0
		name := ""
		for line := range strings.Lines(string(f.data)) {
			if !strings.Contains(line, "_bucket{") {
				continue
			}
			n, rest, _ := strings.Cut(line, "{")
			if n != name {
				name, last, bound = n, 0, math.Inf(-1)
			}
			b, err := strconv.ParseFloat(le.FindStringSubmatch(rest)[1], 64)
			if err != nil {
				t.Fatal(err)
			}
			v, err := strconv.ParseFloat(strings.TrimSpace(rest[strings.LastIndexByte(rest, ' '):]), 64)
			if err != nil {
				t.Fatal(err)
			}
			if v < last || b <= bound {
				t.Errorf("%s: %s falls at le=%v", f.path, name, b)
			}
			last, bound = v, b
		}
		p := parseProm(t, f)
		for series, labels := range p.values {
			if family, ok := strings.CutSuffix(series, "_count"); ok && len(labels) == 1 && p.values[family+"_bucket"] != nil {
				if p.get(series, "") != p.get(family+"_bucket", `le="+Inf"`) {
					t.Errorf("%s: %s is not its last bucket", f.path, series)
				}
			}
		}
	}
}

// TestLogAgrees holds the engine's log line against the scrape of the same
// second.
func TestLogAgrees(t *testing.T) {
	line := regexp.MustCompile(`INFO (\d\d-\d\d \d\d:\d\d:\d\d) .*generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs, Waiting: (\d+) reqs, (?:Preemptions: (\d+), )?GPU KV cache usage: ([\d.]+)%`)
	for _, dir := range []string{"server", "scenarios/kv-concurrency", "scenarios/over-capacity"} {
		s := open(t, dir)
		scrapes := map[string]prom{}
		all := s.scrapes("vllm-0")
		for _, p := range all {
			scrapes[time.Unix(int64(p.at), 0).UTC().Format("01-02 15:04:05")] = p
		}
		met, preempted := 0, 0.0
		for l := range strings.Lines(string(s.match("vllm-0.log")[0].data)) {
			m := line.FindStringSubmatch(l)
			if m == nil {
				continue
			}
			if n, err := strconv.ParseFloat(m[5], 64); err == nil {
				preempted += n
			}
			p, ok := scrapes[m[1]]
			if !ok {
				continue
			}
			met++
			kv := strconv.FormatFloat(100*p.get("vllm:kv_cache_usage_perc", ""), 'f', 1, 64)
			run, wait := strconv.Itoa(int(p.get("vllm:num_requests_running", ""))), strconv.Itoa(int(p.get("vllm:num_requests_waiting", "")))
			if run != m[3] || wait != m[4] || kv != m[6] {
				t.Errorf("%s at %s: log %v, scrape %s %s %s", dir, m[1], m[3:], run, wait, kv)
			}
		}
		if met < 10 {
			t.Errorf("%s: only %d lines share a second with a scrape", dir, met)
		}
		if grew := increase(all, "vllm:num_preemptions_total", "", never, ever); math.Abs(grew-preempted) > 60 || grew > 0 && preempted == 0 {
			t.Errorf("%s: %v preemptions by the scrapes, %v by the log", dir, grew, preempted)
		}
	}
}

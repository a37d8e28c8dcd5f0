package samples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
)

// DefaultSeed makes the samples that are committed.
const DefaultSeed = 1

// sets lists the samples in the order of their README.
var sets = []*set{
	{"sweep", "concurrency sweep of a dense model", "frontier, knee at max_num_seqs, SLO capacity between two levels", "vreport report DIR/sweep", denseSweep},
	{"sweep-moe", "concurrency sweep of a mixture of experts", "the price of a token falls less with the batch than a dense model's: more experts are read", "vreport report DIR/sweep-moe", moeSweep},
	{"server", "thirty scrapes of one server", "gauges and histogram quantiles over time", "vreport report DIR/server", oneServer},
	{"server-v0", "two scrapes of an older release", "the same figures under older names", "vreport report DIR/server-v0", oldServer},
	{"trace", "5,000 requests with every slicing column", "slices by workload, prompt length and cache state", "vreport report DIR/trace", bigTrace},
	scenario("healthy", "nothing is wrong", "short queue, objectives met", healthy),
	scenario("healthy-kv90", "KV pool at 90 % without preemption", "usage near 0.9, preemptions 0, nobody waits", healthyKV),
	scenario("healthy-busy-gpu", "high GPU use inside the SLO", "GPU utilization near 90 %, TTFT and TPOT inside", healthyGPU),
	scenario("low-traffic", "little to do", "GPU utilization low, no queue", lowTraffic),
	scenario("over-capacity", "a queue beyond capacity", "waiting grows to the end, queue time is most of TTFT", overCapacity),
	scenario("burst", "ten seconds hidden in a five-minute mean", "waiting jumps and drains; the mean rate is below capacity", burst),
	scenario("hot-replica", "one of three replicas is overloaded", "waiting on vllm-1 alone", hotReplica),
	scenario("retries", "clients that try again keep the queue full", "attempts a request above 1, timeouts, the users' rate unchanged", retries),
	scenario("pool-shared", "chat and batch in one small pool", "waiting since workload batch came; chat's queue time grows, its load does not", poolShared),
	scenario("long-prompts", "a few long prompts", "prompt p50 unchanged, p95 × 2.5; prefill and TTFT follow, queue and TPOT do not", longPrompts),
	scenario("prefix-reuse-lost", "a timestamp ahead of the system prompt", "cached tokens fall to 0, prefill grows, prompts as long as before", prefixReuseLost),
	scenario("max-num-seqs", "max_num_seqs was raised", "running far above 32 in bursts, TPOT rises, tokens/s stay", maxNumSeqs),
	scenario("batch-in-pool", "a batch job in the chat pool", "workload batch appears, chat's TPOT doubles", batchInPool),
	scenario("longer-outputs", "answers twice as long", "output tokens, running and TPOT rise together, TTFT does not", longerOutputs),
	scenario("kv-concurrency", "KV shortage with preemption", "usage at 1 and preemptions in the same window", kvConcurrency),
	scenario("kv-giants", "a few giants push out the rest", "preemptions since prompts of 19,000 tokens came, with few requests running", kvGiants),
	scenario("kv-past-event", "the same counters, from a past event", "preemptions high but flat: nothing to diagnose", kvPast),
	scenario("kv-restart", "a restart inside the window", "counters reset, scrapes missing, errors 500 and 503", kvRestart),
	scenario("tokenizer-cpu", "slow tokenizer, idle GPU", "front end is most of TTFT; waiting 0, GPU utilization low", tokenizerCPU),
	scenario("proxy-buffering", "a proxy collects tokens", "client TTFT slow, server TTFT normal, chunks of many tokens", proxyBuffering),
	pair("no-change", "A/A, three repeats a side", "the sides differ by no more than the repeats of one side", pairNoChange),
	pair("noise-3pct", "3 % inside the noise", "too little apart for three repeats to show it", pairNoise),
	pair("slice-regression", "12 % slower TTFT in one slice", "workload rag slower, chat unchanged", pairSlice),
	pair("mix-shift", "an overall regression that is pure mix", "each workload equal, the mix differs", pairMix),
	pair("ttft-for-tpot", "TTFT gained, TPOT paid", "faster and slower at once", pairTradeoff),
	pair("two-settings", "two settings changed at once", "two settings differ, so neither is the cause", pairTwoSettings),
	scenario("load-generator", "a benchmark that its client limits", "requests leave at 60 to 80 % of the rate asked for, TTFT steady, the server not busy", loadGenerator),
}

func scenario(name, title, look string, f func(*casting) error) *set {
	dir := "scenarios/" + name
	return &set{dir, title, look, "vreport report DIR/" + dir, f}
}

func pair(name, title, look string, f func(*casting) error) *set {
	dir := "pairs/" + name
	return &set{dir, title, look, "vreport compare DIR/" + dir + "/before DIR/" + dir + "/after", f}
}

// made is a set with its seed applied.
type made struct {
	set   *set
	files []file
	truth truth
	err   error
}

// generate makes the given sets, as many at once as there are processors. The
// result does not depend on how many that are.
func generate(which []*set, seed uint64, full bool) ([]made, error) {
	return generateWith(which, seed, func(c *casting) { c.full = full })
}

// generateWith makes the given sets with a change to each casting.
func generateWith(which []*set, seed uint64, change func(*casting)) ([]made, error) {
	out := make([]made, len(which))
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range which {
		wg.Add(1)
		go func() {
			defer wg.Done()
			free <- struct{}{}
			defer func() { <-free }()
			c := newCasting(s, slices.Index(sets, s), seed)
			change(c)
			err := s.make(c)
			if c.truth.Paths == nil {
				c.truth.Paths = []string{s.dir}
			}
			out[i] = made{s, c.files, c.truth, err}
		}()
	}
	wg.Wait()
	for _, m := range out {
		if m.err != nil {
			return nil, fmt.Errorf("sample %s: %w", m.set.dir, m.err)
		}
	}
	return out, nil
}

// Write writes the compact samples below dir, which is made if it is missing:
// existing files of the same names are replaced, others stay. Those of
// DefaultSeed are in the program; others are generated.
func Write(dir string, seed uint64) error {
	if seed != DefaultSeed {
		return Generate(dir, seed, false)
	}
	files, err := unpack(committed)
	if err != nil {
		return err
	}
	return writeFiles(dir, files)
}

// Generate runs the simulator and writes what it makes below dir: the compact
// samples of any seed, or the full ones, which are the same stories at more
// length, with every metric and with request arrays in every benchmark file.
func Generate(dir string, seed uint64, full bool) error {
	all, err := generate(sets, seed, full)
	if err != nil {
		return err
	}
	return writeFiles(dir, collect(all))
}

// collect lists all files of the sets, with the truth table.
func collect(all []made) []file {
	var files []file
	for _, m := range all {
		files = append(files, m.files...)
	}
	return append(files, file{"truths.jsonl", truthTable(all)}, file{"README.md", readme(all)})
}

// truthTable is truths.jsonl: an object a set.
func truthTable(all []made) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, m := range all {
		if err := e.Encode(m.truth); err != nil {
			panic(err) // strings and finite numbers: a fault of this package
		}
	}
	return b.Bytes()
}

func writeFiles(dir string, files []file) error {
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p, f.data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

package logtext

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// tellingLines fit an expression, or nearly so. No two of them are of one branch.
var tellingLines = []string{
	"Reason: OOMKilled", "OOMKilling pod", "xOOMKilled", "OOMKilledx", "python invoked oom-kill: gfp", "Out of Memory: Kill process 7", "oUT OF memory: Killed process 7", "out of memory: Kills process", "Memory cgroup out of memory: Killed",
	"No available memory for the cache blocks", "Prefill out of memory. Try to lower", "Decode out of memory. Try to lower", "Not enough memory. Please try to increase --mem-fraction-static", "Not enough memory to handle 4096 prefill tokens", "Not enough memory to handle  prefill tokens",
	"KV cache is out of memory", "KVcache: out of memory", "KV cache " + strings.Repeat("é", 38) + " out of memory", "KV cache " + strings.Repeat("x", 40) + " out of memory", "KV cache out of memoryx", "insufficient GPU memory", "insufficient free blocks",
	"is larger than the available KV cache memory", "is larger than the maximum number of tokens that can be stored in KV cache",
	"torch.OutOfMemoryError", "CUDA out of memory", "HIP error: out of memory", "XPU\xff\xfe out of memory", "NPU out of memory", "CUDAS out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "Error Code 2: OutOfMemory", "CudaOutOfMemory", "Cuda out of memory", "CUDA\nout of memory",
	"NVRM: Xid (PCI", "CUDA error: an illegal memory access", "CUDA error: unspecified launch failure", "CUDA error: device-side assert", "GPU has fallen off the bus", "uncorrectable ECC error",
	"EngineDeadError", "AsyncEngineDeadError", "MQEngineDeadError", "XEngineDeadError", "EngineCore encountered a fatal error", "EngineCore failed to start", "Engine core proc EngineCore_DP0 died unexpectedly", "Engine core process a\tb died unexpectedly", "Engine core died", "Engine loop has died",
	"Background loop has errored", "Background loop is stopped", "Worker proc VllmWorker-1 died unexpectedly", "Worker process é died unexpectedly", "Scheduler hit an exception", "Received sigquit from a child process", "Rank 3 scheduler is dead", "scheduler is dead",
	"Shard process was signaled to shutdown", "Shard 12 crashed", "Shard 1 failed", "Shard x failed", "Webserver Crashed", "ShardFailed", "Executor worker returned error", "Executor worker died", "Hang detected on rank", "MPI_ABORT was invoked", "Fatal Python error", "Segmentation fault",
	"Back-off restarting failed container", "back-off 5m0s restarting failed container", "BackOff pulling restarting failed container", "back-off " + strings.Repeat("x", 21) + "restarting failed container", "CrashLoopBackOff",
	"Container vllm failed liveness probe, will be restarted", "Container a failed startup probe, will be restarted", "Container a b failed liveness probe, will be restarted",
	"Watchdog timeout", "watchdog caught collective operation timeout", "Watchdog timeouts", "RPC call to sample_tokens timed out", "RPC call to  timed out", "ZMQ socket timed out", "No available shared memory broadcast block found in 60 sec",
	"TimeoutError: x", "asyncio.TimeoutError", "Timed out", "timed out", "timed outx", "DeadlineExceeded", "Deadline exceeded", "deadline exceeded", "DEADLINE_EXCEEDED",
	`"POST /v1/completions HTTP/1.1" 200 OK`, `"POST /v1 x HTTP/1.1" 200`, `"POST / HTTP/1.1" 2000`, `"POST /a" "POST /b HTTP/2" 502`, `"POST /` + strings.Repeat("é", 300) + ` HTTP/1.1" 500`, `"POST /` + strings.Repeat("a", 601) + ` HTTP/1.1" 500`, `"POST /a HTTP/1.1" 099`,
	"2025-11-17 14:50:30,270 2025-11-18T14:50:30Z", "INFO 06-07 23:26:07 [x]", "x-06-07 23:26:07", "106-07 23:26:07", "12025-11-17T14:50:30+02:00", "/logs/20260815/x", "run-2026_08_15.log", "2026-0815", "a120260815", "2020260815 20260816",
}

// What is found line by line is what the expressions say, which are its definition.
func TestPhrasesAreTheExpressions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	found := map[string]int{}
	for _, line := range tellingLines {
		checkLine(t, []byte(line), found)
		for range 100 {
			checkLine(t, mutated(r, line), found)
		}
	}
	for i := range failures {
		if what := failures[i].what; found[what] < 50 {
			t.Errorf("%q is found in %d lines alone", what, found[what])
		}
	}
}

// An expression of letters that may be capitals has no other to be looked for.
func TestFoldedPhrases(t *testing.T) {
	const source = `Oom|(?i:(?:CUDA|HIP)\b.{0,4}out of memory)|(?i:\btimed out\b)`
	r, re, say := rand.New(rand.NewPCG(3, 4)), regexp.MustCompile(source), MustPhrases(source)
	found := 0
	for range 5000 {
		line := mutated(r, []string{"cUda: out OF memory", "hip OUT of memory", "Timed OUT", "it timed out.", "Oom"}[r.IntN(5)])
		if got, want := say.Match(line), re.Match(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		} else if want {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("%d lines alone are found", found)
	}
}

func FuzzPhrases(f *testing.F) {
	for _, line := range tellingLines {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { checkLine(t, line, map[string]int{}) })
}

// mutated changes a line in a few places, or puts another behind it.
func mutated(r *rand.Rand, line string) []byte {
	out := []byte(line)
	for range r.IntN(3) {
		at := r.IntN(len(out) + 1)
		switch tail := bytes.Clone(out[at:]); r.IntN(3) {
		case 0:
			out = append(out[:at], tail[min(1, len(tail)):]...)
		case 1:
			out = append(append(out[:at], " _x\n\t7é\"-"[r.IntN(10)]), tail...)
		default:
			out = append(append(out[:at], tellingLines[r.IntN(len(tellingLines))]...), tail...)
		}
	}
	return out
}

var (
	expressions = func() (out []*regexp.Regexp) {
		for i := range failures {
			out = append(out, regexp.MustCompile(failures[i].say.source))
		}
		return out
	}()
	postExpression = regexp.MustCompile(`"POST /[^\s"]{0,600} HTTP/[\d.]+" (\d{3})\b`)
)

func checkLine(t *testing.T, line []byte, found map[string]int) {
	t.Helper()
	for i := range failures {
		f := &failures[i]
		want := expressions[i].Match(line)
		if got := f.say.Match(line); got != want {
			t.Errorf("%q: %v that %s, want %v", line, got, f.what, want)
		}
		if want {
			found[f.what]++
			if !containsAny(line, f.marks) {
				t.Errorf("%q: no mark of %q", line, f.what)
			}
		}
	}
	text := line[:min(len(line), maxText)]
	wantStatus, wantOK := 0, false
	if m := postExpression.FindSubmatch(text); m != nil && !containsAny(text, requestMarks) {
		wantStatus = atoi(string(m[1]))
		wantOK = wantStatus >= 100 && wantStatus < 600
	}
	if status, ok := answer(line); ok != wantOK || ok && status != wantStatus {
		t.Errorf("%q: answered with %d, %v; want %d, %v", line, status, ok, wantStatus, wantOK)
	}
	s := string(line)
	for _, c := range []struct {
		re     *regexp.Regexp
		shape  string
		before int
	}{{fullTime, "0000-00-00*00:00:00", 0}, {yearlessTime, "00-00 00:00:00", 1}, {someDate, "2000*0", 1}} {
		want, got := c.re.FindAllStringSubmatch(s, 4), c.re.FindAllStringSubmatch(from(s, c.shape, c.before), 4)
		for i := range max(len(want), len(got)) {
			// What stands before the time may be cut; its parts may not.
			if i >= len(want) || i >= len(got) || strings.Join(want[i][1:], "|") != strings.Join(got[i][1:], "|") {
				t.Fatalf("%q: times %q, want %q", line, got, want)
			}
		}
	}
}

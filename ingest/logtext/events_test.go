package logtext

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vreport/vreport/ingest/serving"
)

func eventsOf(path, text string) *serving.EventLog {
	cal := &Calendar{Path: path}
	e := Events{Path: path, Cal: cal}
	no := 0
	for line := range strings.Lines(text) {
		no++
		raw := []byte(strings.TrimRight(line, "\r\n"))
		cal.See(raw)
		name, inner := Unwrap(raw)
		e.Line(no, name, raw, inner)
	}
	return e.Log(nil)
}

func instant(t testing.TB, s string) int64 {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at.UnixNano()
}

// One line of each server, with the kind, the time and the pod that it must give.
func TestEventOfALine(t *testing.T) {
	for _, c := range []struct {
		name, line string
		kind       serving.EventKind
		what, pod  string
		at         string
	}{
		{"vLLM V1", `(EngineCore_DP0 pid=222) ERROR 08-15 11:20:19 [core.py:1361] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.`, serving.EventOOM, "the GPU ran", "", "2026-08-15T11:20:19Z"},
		{"vLLM V1, pool", `ERROR 08-15 11:20:19 [core.py:1] ValueError: No available memory for the cache blocks. Try increasing gpu_memory_utilization`, serving.EventOOM, "KV cache", "", "2026-08-15T11:20:19Z"},
		{"vLLM V1, death", `(EngineCore pid=222) ERROR 08-15 11:20:19 [core.py:1361] EngineCore encountered a fatal error.`, serving.EventDied, "the engine died", "", "2026-08-15T11:20:19Z"},
		{"vLLM V1, process", `(APIServer pid=1) ERROR 08-15 11:20:19 [core_client.py:564] Engine core proc EngineCore_DP0 died unexpectedly, shutting down client.`, serving.EventDied, "the engine died", "", "2026-08-15T11:20:19Z"},
		{"vLLM V1, call", `ERROR 08-15 11:20:19 [core.py:1242] TimeoutError: RPC call to sample_tokens timed out.`, serving.EventTimeout, "a call between", "", "2026-08-15T11:20:19Z"},
		{"vLLM V0", `ERROR 08-15 11:20:19 client.py:300] vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already.`, serving.EventDied, "the engine died", "", "2026-08-15T11:20:19Z"},
		{"SGLang", `[2026-03-09 00:57:15 TP4] Watchdog timeout (self.watchdog_timeout=300)`, serving.EventTimeout, "watchdog", "", "2026-03-09T00:57:15Z"},
		{"SGLang, pool", `[2026-03-09 00:57:15 TP0] Scheduler hit an exception: RuntimeError: Prefill out of memory. Try to lower your batch size.`, serving.EventOOM, "KV cache", "", "2026-03-09T00:57:15Z"},
		{"SGLang, death", `[2026-03-09 00:57:20] Received sigquit from a child process. It usually means the child failed.`, serving.EventDied, "the engine died", "", "2026-03-09T00:57:20Z"},
		{"SGLang, access", `[2026-06-07 12:04:31] INFO:     172.17.0.1:48634 - "POST /generate HTTP/1.1" 503 Service Unavailable`, serving.EventError, "status 503", "", "2026-06-07T12:04:31Z"},
		{"TensorRT-LLM", `[12/02/2026-10:11:12] [TRT-LLM] [E] [TensorRT-LLM][ERROR] CUDA runtime error in cudaMallocAsync(ptr, n, stream): out of memory`, serving.EventOOM, "the GPU ran", "", "2026-12-02T10:11:12Z"},
		{"TGI", `2026-02-21T10:00:00.123456Z ERROR shard-manager: text_generation_launcher: Shard process was signaled to shutdown with signal 9 rank=0`, serving.EventDied, "the engine died", "", "2026-02-21T10:00:00Z"},
		{"TGI, warm-up", `2026-02-21T10:00:00.123456Z ERROR warmup: text_generation_client: Server error: Not enough memory to handle 4096 prefill tokens.`, serving.EventOOM, "KV cache", "", "2026-02-21T10:00:00Z"},
		{"nginx", `10.0.0.1 - - [17/Nov/2026:14:50:30 +0100] "POST /v1/chat/completions HTTP/1.1" 502 157 "-" "python-httpx"`, serving.EventError, "status 502", "", "2026-11-17T13:50:30Z"},
		{"Docker", `{"log":"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB\n","stream":"stderr","time":"2026-11-17T14:50:30.27Z"}`, serving.EventOOM, "the GPU ran", "", "2026-11-17T14:50:30Z"},
		{"kubectl logs", `[pod/vllm-1/server] 2026-11-17T14:50:30.27Z ERROR 11-17 14:50:30 [core.py:1] EngineCore encountered a fatal error.`, serving.EventDied, "the engine died", "vllm-1", "2026-11-17T14:50:30Z"},
		{"kubelet", `Nov 17 14:50:30 node1 kubelet[900]: E1117 14:50:30.270000     900 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \"StartContainer\" with CrashLoopBackOff: \"back-off 5m0s restarting failed container=vllm\""`, serving.EventRestart, "Kubernetes waits", "node1", "2026-11-17T14:50:30Z"},
		{"kernel", `[Tue Nov 17 14:50:30 2026] Memory cgroup out of memory: Killed process 1234 (python3) total-vm:1kB`, serving.EventOOM, "OOM-killed", "", "2026-11-17T14:50:30Z"},
		{"driver", `[Tue Nov 17 14:50:30 2026] NVRM: Xid (PCI:0000:38:00): 79, GPU has fallen off the bus.`, serving.EventDied, "GPU or its driver", "", "2026-11-17T14:50:30Z"},
	} {
		l := eventsOf("server_20260815.log", c.line+"\n")
		if l == nil || len(l.Events) != 1 {
			t.Errorf("%s: %+v, want one event", c.name, l)
			continue
		}
		e := l.Events[0]
		at := instant(t, c.at)
		// The file's name says the year; of vLLM's own times that is needed.
		if e.Kind != c.kind || !strings.Contains(e.What, c.what) || e.Replica != c.pod || e.Count != 1 || e.Source.Line != 1 {
			t.Errorf("%s: %+v, want %s %q of pod %q", c.name, e, c.kind, c.what, c.pod)
		}
		if l.Yearless {
			at -= instant(t, "2026-01-01T00:00:00Z") - int64(24*time.Hour) // 2000 was a leap year
		}
		if got := e.At; time.Duration(got-at).Abs() >= time.Second {
			t.Errorf("%s: at %v, want %v (%s)", c.name, time.Unix(0, got).UTC(), c.at, l.Assumed)
		}
	}
}

// What other lines hold is no failure: prompts, settings, source code, health
// probes, good answers, and timeouts that are a setting.
func TestEventNearMisses(t *testing.T) {
	for _, line := range []string{
		`INFO 06-07 10:00:03 [logger.py:40] Received request cmpl-1: prompt: 'torch.OutOfMemoryError: CUDA out of memory', params: None`,
		`[2026-03-09 00:57:15] Receive: obj=GenerateReqInput(text='Scheduler hit an exception, Segmentation fault')`,
		`2026-03-09T00:57:15Z INFO body={"messages":[{"role":"user","content":"Why OOMKilled?"}]}`,
		`(APIServer pid=1) INFO:     127.0.0.1:60622 - "POST /v1/completions HTTP/1.1" 200 OK`,
		`[2026-06-07 12:04:31] INFO:     172.17.0.1:48634 - "GET /health HTTP/1.1" 503 Service Unavailable`,
		`INFO 06-07 10:00:03 [config.py:1] non-default args: {'timeout': 600, 'timeout_keep_alive': 5}`,
		`[2026-06-07 12:03:29] server_args=ServerArgs(watchdog_timeout=300, dist_timeout=None)`,
		`the client timed out, says a text without a time`,
		`INFO 06-07 10:00:03 [kv.py:1] Available KV cache memory: 10.2 GiB`,
		`(APIServer pid=1) INFO:     Started server process [1]`,
	} {
		if l := eventsOf("x.log", "INFO 06-07 10:00:00 start\n"+line+"\n"); l != nil && len(l.Events) > 0 {
			t.Errorf("%s\ngives %+v", line, l.Events)
		}
	}
}

// Lines that stand close together are one event with a count; a line without a
// time happened when the line before it did.
func TestEventsTogether(t *testing.T) {
	access := `INFO:     127.0.0.1:60620 - "POST /v1/completions HTTP/1.1" %d X` + "\n"
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, "INFO 06-07 10:00:%02d [loggers.py:271] Avg\n", i*7)
		fmt.Fprintf(&b, access, 500)
		fmt.Fprintf(&b, access, 200)
		fmt.Fprintf(&b, access, 500)
	}
	l := eventsOf("run_20260607.log", b.String())
	zero := instant(t, "2026-06-07T10:00:00Z")
	type got struct{ At, To, Count, Line int64 }
	var events []got
	for _, e := range l.Events {
		events = append(events, got{(e.At - zero) / 1e9, (e.To - zero) / 1e9, e.Count, int64(e.Source.Line)})
	}
	if d := cmp.Diff([]got{{0, 7, 4, 2}, {14, 21, 4, 10}, {28, 35, 4, 18}}, events); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
	n, bad := int64(0), int64(0)
	for _, a := range l.Answers {
		n, bad = n+a.Count, bad+a.Errors
	}
	if n != 18 || bad != 12 {
		t.Errorf("%d answers of which %d failed, want 18 and 12", n, bad)
	}
}

// A million failures are few events, and none is lost.
func TestEventsAreBounded(t *testing.T) {
	cal := &Calendar{Path: "x.log"}
	e := Events{Path: "x.log", Cal: cal}
	const lines = 100_000
	for i := range lines {
		at := time.Date(2026, 6, 7, 0, 0, i, 0, time.UTC).Format("2006-01-02T15:04:05Z")
		raw := fmt.Appendf(nil, "[pod/p%d/c] %s ERROR TimeoutError", i%1000, at)
		name, text := Unwrap(raw)
		e.Line(i+1, name, raw, text)
	}
	if n := len(e.fails.list); n > 2*maxNotes {
		t.Errorf("%d notes are remembered", n)
	}
	l := e.Log(nil)
	sum := int64(0)
	for _, ev := range l.Events {
		sum += ev.Count
	}
	if len(l.Events) > maxEvents || sum != lines {
		t.Errorf("%d events of %d lines, want at most %d of %d", len(l.Events), sum, maxEvents, lines)
	}
}

// A server that starts twice is a restart; its workers, which start at once, are
// none.
func TestEventRestart(t *testing.T) {
	l := eventsOf("x.log", `2026-06-07T10:00:00Z INFO:     Started server process [1]
2026-06-07T10:00:01Z INFO:     Started server process [2]
2026-06-07T12:00:00Z INFO:     Started server process [1]
2026-06-07T12:00:03Z INFO:     Started server process [2]
`)
	if len(l.Events) != 1 || l.Events[0].Kind != serving.EventRestart || l.Events[0].At != instant(t, "2026-06-07T12:00:00Z") {
		t.Errorf("%+v, want one restart at noon", l.Events)
	}
}

// kubectl describe says when a killed container ended on a line of its own.
func TestEventDescribe(t *testing.T) {
	l := eventsOf("describe.txt", `    State:          Running
      Started:      Mon, 30 Nov 2026 10:00:05 +0000
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Mon, 30 Nov 2026 09:00:00 +0000
      Finished:     Mon, 30 Nov 2026 10:00:00 +0000
`)
	if len(l.Events) != 1 || l.Events[0].At != instant(t, "2026-11-30T10:00:00Z") || l.Events[0].Source.Line != 4 {
		t.Errorf("%+v, want the kill at ten", l.Events)
	}
}

// Without a year the times count from 1 January of a leap year, over the turn of
// the year too; without times there are events and no instants.
func TestEventTimes(t *testing.T) {
	l := eventsOf("x.log", "INFO 12-31 23:59:50 x\nERROR 01-01 00:00:10 [x.py:1] EngineCore encountered a fatal error.\n")
	if !l.Timed || !l.Yearless || l.Events[0].At-l.From != int64(20*time.Second) {
		t.Errorf("%+v", l)
	}
	l = eventsOf("x.log", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\n")
	if l.Timed || len(l.Events) != 1 || l.Events[0].At != 0 {
		t.Errorf("%+v", l)
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("(EngineCore pid=2) ERROR 06-07 10:00:01 [core.py:1] torch.OutOfMemoryError: CUDA out of memory\nINFO:     1.1.1.1:1 - \"POST /v1/completions HTTP/1.1\" 500 X\n")
	f.Add("Nov 17 14:50:30 node1 kubelet[900]: E1117 14:50:30.270000 back-off 5m0s restarting failed container\n")
	f.Add("[12/02/2025-10:11:12] [TRT-LLM] [E] out of memory\n[13/32/2025-10:11:12] [TRT-LLM] [E] CUDA out of memory\n")
	f.Add("      Reason:       OOMKilled\n      Finished:     Mon, 30 Nov 2026 10:00:00 +0000\n{\"log\":\"TimeoutError\",\"time\":\"2026-11-17T14:50:30Z\"}\n02-29 00:00:00 ERROR TimeoutError")
	f.Fuzz(func(t *testing.T, s string) {
		l := eventsOf("f_20260607.log", s)
		if l == nil {
			return
		}
		if len(l.Events) > 2*maxEvents || len(l.Answers) > maxAnswers {
			t.Fatalf("%d events", len(l.Events))
		}
		for i, e := range l.Events {
			if e.Count < 1 || e.To < e.At || e.Source.Line < 1 || i > 0 && e.At < l.Events[i-1].At || !l.Timed && e.At != 0 {
				t.Fatalf("event %d: %+v", i, e)
			}
		}
	})
}

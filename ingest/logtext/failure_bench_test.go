package logtext

import (
	"fmt"
	"testing"
)

// A server that fails again and again writes millions of such lines.
func BenchmarkEvents(b *testing.B) {
	for _, c := range []struct{ name, line string }{
		{"out of memory", `(EngineCore_DP0 pid=222) ERROR 08-15 11:20:%02d [core.py:1361] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB`},
		{"access", `[2026-06-07 12:04:%02d] INFO:     172.17.0.1:48634 - "POST /generate HTTP/1.1" 503 Service Unavailable`},
		{"timed out", `ERROR 08-15 11:20:%02d [core.py:1242] TimeoutError: RPC call to sample_tokens timed out.`},
		{"near misses", `INFO 08-15 11:20:%02d [worker.py:12] KV cache memory, CUDA memory, Engine Shard timeout, OOM watchdog x, died, deadline`},
		{"usual", `INFO 08-15 11:20:%02d [loggers.py:271] Engine 000: Avg prompt throughput: 3021.4 tokens/s, Running: 64 reqs, GPU KV cache usage: 97.2%%`},
	} {
		var lines [60][]byte
		for i := range lines {
			lines[i] = []byte(fmt.Sprintf(c.line, i))
		}
		b.Run(c.name, func(b *testing.B) {
			e := Events{Path: "x.log", Cal: &Calendar{Path: "x.log"}}
			n := 0
			for b.Loop() {
				line := lines[n/100%60]
				n++
				e.Cal.See(line)
				name, text := Unwrap(line)
				e.Line(n, name, line, text)
			}
		})
	}
}

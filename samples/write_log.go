package samples

import (
	"bytes"
	"fmt"
	"time"
)

// writeLog writes an engine's log: the start-up lines that state its settings
// and its KV pool, then the periodic line, again from each restart on.
func writeLog(s *server, lines []logLine, zero int64) []byte {
	var b bytes.Buffer
	starts := s.starts
	for _, l := range lines {
		for len(starts) > 0 && starts[0] < l.at {
			startLines(&b, s, starts[0], zero)
			starts = starts[1:]
		}
		fmt.Fprintf(&b, "%sAvg prompt throughput: %.1f tokens/s, Avg generation throughput: %.1f tokens/s, Running: %d reqs, Waiting: %d reqs, ",
			logPrefix("APIServer", l.at, zero, "loggers.py:273")+"Engine 000: ", l.promptRate, l.generationRate, l.running, l.waiting)
		if l.preemptions > 0 {
			fmt.Fprintf(&b, "Preemptions: %d, ", l.preemptions)
		}
		fmt.Fprintf(&b, "GPU KV cache usage: %.1f%%, Prefix cache hit rate: %.1f%%\n", 100*l.kvUsage, 100*l.hitRate)
	}
	return b.Bytes()
}

func logPrefix(process string, at, zero int64, place string) string {
	return fmt.Sprintf("(%s pid=1) INFO %s [%s] ", process, time.Unix(zero, at).UTC().Format("01-02 15:04:05"), place)
}

func startLines(b *bytes.Buffer, s *server, at, zero int64) {
	c := &s.cfg.engine
	line := func(process string, after float64, place, format string, a ...any) {
		b.WriteString(logPrefix(process, at+ns(after), zero, place))
		fmt.Fprintf(b, format+"\n", a...)
	}
	line("APIServer", 0, "utils.py:299", "version 0.25.1")
	line("APIServer", 0, "utils.py:233", "non-default args: {'model_tag': '%s', 'model': '%[1]s', 'max_model_len': %d, 'tensor_parallel_size': %d, 'gpu_memory_utilization': %g, 'max_num_batched_tokens': %d, 'max_num_seqs': %d}",
		c.model.name, c.maxModelLen, c.tp, c.memUtil, c.maxBatchedTokens, c.maxNumSeqs)
	line("APIServer", 4, "scheduler.py:252", "Chunked prefill is enabled with max_num_batched_tokens=%d.", c.maxBatchedTokens)
	line("EngineCore", 6, "core.py:109", "Initializing a V1 LLM engine (v0.25.1) with config: model='%s', dtype=torch.bfloat16, max_seq_len=%d, tensor_parallel_size=%d, enable_prefix_caching=True", c.model.name, c.maxModelLen, c.tp)
	line("EngineCore", 31, "gpu_model_runner.py:5255", "Model loading took %.2f GiB memory and 22.418803 seconds", c.model.weightBytes/float64(c.tp)/(1<<30))
	tokens := c.kvBlocks() * blockTokens
	line("EngineCore", 55, "gpu_worker.py:508", "Available KV cache memory: %.2f GiB", float64(tokens)*c.model.kvBytes/float64(c.tp)/(1<<30))
	line("EngineCore", 55, "kv_cache_utils.py:2146", "GPU KV cache size: %s tokens", thousands(tokens))
	line("EngineCore", 55, "kv_cache_utils.py:2147", "Maximum concurrency for %s tokens per request: %.2fx", thousands(c.maxModelLen), float64(tokens)/float64(c.maxModelLen))
	fmt.Fprintf(b, "(APIServer pid=1) INFO:     Application startup complete.\n")
}

// thousands writes a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

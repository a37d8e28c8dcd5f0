package samples

import (
	"bytes"
	"fmt"
	"strings"
)

const readmeHead = `# Samples that know the truth

Everything in this directory comes out of a seeded simulator of an LLM serving
stack; nothing was measured. Each part has a planted cause, or none, and what
the client, the engine and its log say of it is counted from the same requests.
%[1]struths.jsonl%[1]s has one object a part: the cause, where and when it holds, and
the ranges from which its parameters were drawn.

What the parts hold:

* %[1]s*.json%[1]s: results of %[1]svllm bench serve%[1]s, as the client saw it
* %[1]smetrics/POD_EPOCH_metrics.log%[1]s: a scrape of a replica's %[1]s/metrics%[1]s, every 15 s
* %[1]sPOD.log%[1]s: the engine's log, with its start-up lines where it started
* %[1]sgpu/*.log%[1]s: scrapes of the GPU exporter
* %[1]srequests.parquet%[1]s: the API server's request log; times are the server's

The engine is vLLM's V1 scheduler in small: first come, first served, continuous
batching under max_num_seqs, chunked prefill under max_num_batched_tokens, a
pool of KV blocks with prefix caching, preemption by recomputation. A step takes

    (weights + KV of the batch) / bandwidth + compute of the prefill tokens + overhead

with 3.35 TB/s at 66 %% and 989 TFLOPS at 40 %% for one H100, 3.1 ms a step and
45 µs a sequence. These four were chosen to fit one measured sweep of
Llama-3.1-8B in FP16 on one H100 (1,024 tokens in, 512 out, concurrency 1 to
256), whose throughput and median TPOT they give within 7 %%; they were not
checked on another one. The other models use them as they are.

| try | what was planted | where it shows |
|---|---|---|
`

const readmeTail = `
The commands are meant to be run in this directory. A report names the cause that its
figures support, and says where they support none; what was planted stands here, to hold
it against. A scenario's incident can also be marked by hand, which needs a time with its
zone: %[1]svreport report scenarios/over-capacity --incident 2026-01-05T18:04:00Z/3m%[1]s.
The same stories with other numbers come out of another seed, the same ones at more
length out of -full, in a clone of the repository:

    go run ./samples/generate [-seed N] [-full] DIR

A rule that is tuned on seeds 1 to 10 can be judged on 101 to 110.
`

// readme is the README of the samples: what to run on each part and what to
// look for.
func readme(all []made) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, readmeHead, "`")
	for _, m := range all {
		cause := m.truth.Cause
		if m.truth.Case != "" {
			cause = "case " + m.truth.Case + ", " + cause
		}
		fmt.Fprintf(&b, "| `%s` | **%s** (%s). %s | %s |\n", strings.ReplaceAll(m.set.run, "DIR/", ""), m.set.title, cause, strings.ReplaceAll(m.truth.Says, "|", "\\|"), m.set.look)
	}
	fmt.Fprintf(&b, readmeTail, "`")
	return b.Bytes()
}

// Package samples makes measurements whose truth is known: a seeded
// discrete-event simulator of an LLM serving stack, and writers that put down
// what real tools would have recorded of it.
//
// A diagnosis can only be trusted where the cause is known, and real incidents
// come without one. So each scenario here has a planted cause, and everything
// that is written of it (the benchmark's JSON, the engine's /metrics scrapes
// and log lines, the request trace) is counted from the same requests and
// agrees with itself: histogram counts are rows, counters are sums of requests,
// the client's TTFT is the server's plus the network.
//
// The simulator follows vLLM V1: first come, first served admission, continuous
// batching under max_num_seqs, chunked prefill under max_num_batched_tokens, a
// pool of KV blocks with prefix caching and LRU eviction, preemption by
// recomputation. Its costs are in physical units (see stepCost), so that the
// ceilings a reader computes from bandwidth and memory fit what happened.
//
// One seed decides everything; the same seed gives the same bytes whatever the
// number of processors. The package imports the standard library and parquet-go
// only, never this module's readers: a generator that shares code with its
// reader cannot catch its errors.
package samples

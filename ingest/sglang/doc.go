// Package sglang reads what SGLang's tools leave behind: the records of
// bench_serving (DecodeServing), those of its one-batch and offline benchmarks
// (DecodeOneBatch), and the engine's own log (DecodeLog).
//
// bench_serving is a fork of vLLM's benchmark with names of its own: e2e_latency
// for e2el, total_throughput for total_token_throughput. Its aggregates are
// milliseconds, its request arrays seconds. It states neither how many requests
// were sent nor how many failed, unless the arrays are there.
package sglang

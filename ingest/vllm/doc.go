// Package vllm reads what vLLM's own tools write: the result files of `vllm
// bench serve` and its predecessor benchmark_serving.py, forks included, the
// table that they print, sweep directories, the offline benches, the tuner's
// result, and the log of the engine itself.
//
// The wire's names and units stand in serve_wire.go, offline_wire.go and
// log_wire.go; units change in convert.go, in the tables of the other two, and
// nowhere else.
package vllm

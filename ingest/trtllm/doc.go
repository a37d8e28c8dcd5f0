// Package trtllm reads the reports of trtllm-bench: the blocks that it prints
// between its log lines (DecodeText), the file of --report_json (DecodeReport)
// and the raw requests of --request_json (DecodeRequests).
//
// Reports are milliseconds, raw requests nanoseconds. The benchmark drives the
// engine in its own process, so that no HTTP is in its times. Its percentiles
// are the element at ⌊n·p⌋ of the sorted values, without interpolation. What it
// calls inter-token latency is one mean a request, which is TPOT; and its "issue
// rate" is nanoseconds a request times 10⁹, no rate, and is left out.
package trtllm

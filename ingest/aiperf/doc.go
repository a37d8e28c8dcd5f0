// Package aiperf reads what NVIDIA's AIPerf leaves in its artifact directory,
// and what its predecessor GenAI-Perf left: the records of single requests, the
// summary of a run as JSON and CSV, the server metrics that were scraped beside
// it and the telemetry of the GPUs.
//
// Every figure of these files carries its unit in a string of its own, and the
// unit string alone decides: the same tag was written in nanoseconds and in
// milliseconds by different versions. wire.go has the names, convert.go is the
// only place where units change.
package aiperf

// Package inferenceperf reads what inference-perf leaves behind: the reports of
// a stage and of all stages (stage_N_lifecycle_metrics, summary_lifecycle_metrics),
// the requests (per_request_lifecycle_metrics) and what it asked Prometheus
// (…_prometheus_metrics). All its times are seconds.
//
// The files of a run tell of the same requests several times over; Reconcile
// says which of them count.
package inferenceperf

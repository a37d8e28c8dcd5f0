package aiperf

import (
	"bytes"

	"github.com/vreport/vreport/ingest/serving"
)

// SniffMetricsParquet says whether a Parquet file with this footer is a server
// metrics export: a row a sample and bucket, which is no table of requests.
func SniffMetricsParquet(footer []byte) (ok bool, why string) {
	for _, c := range []string{"endpoint_url", "metric_name", "metric_type", "timestamp_ns"} {
		if !bytes.Contains(footer, []byte(c)) {
			return false, "no column " + c
		}
	}
	return true, ""
}

// RefuseMetricsParquet says what to give instead.
func RefuseMetricsParquet(path string) error {
	return &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatServerMetrics, Found: "AIPerf's server metrics as Parquet, which holds differences from the start of the run and no request",
		Want: "the same metrics as JSONL, JSON or CSV", Remedy: "give server_metrics_export.json beside it, or run aiperf with --server-metrics-formats jsonl"}
}

package aiperf

import "bytes"

// The names in a file's first 256 KiB tell most files that are none of ours at
// once. Asking for the names of a JSON record first would read a file of another
// tool to its end, hundreds of megabytes of it.

// MayBeRecords reports whether the beginning of a file speaks for records.
func MayBeRecords(head []byte) (ok bool, why string) {
	return mayBe(head, []string{`"metadata"`, `"metrics"`, `"unit"`})
}

// MayBeSummary reports whether the beginning of a JSON file speaks for a summary.
func MayBeSummary(head []byte) (ok bool, why string) {
	if hasAny(head, `"timeslice_index"`, `"service_kind"`) {
		return true, ""
	}
	return mayBe(head, []string{`"unit"`, `"avg"`})
}

// MayBeTelemetry reports whether the beginning of a file speaks for telemetry.
func MayBeTelemetry(head []byte) (ok bool, why string) {
	return mayBe(head, []string{`"timestamp_ns"`, `"telemetry_data"`})
}

// MayBeMetrics reports whether the beginning of a JSON file speaks for server
// metrics.
func MayBeMetrics(head []byte) (ok bool, why string) {
	if hasAny(head, `"endpoints_configured"`, `"aiperf_version"`) {
		return true, ""
	}
	return mayBe(head, []string{`"timestamp_ns"`, `"metrics"`})
}

func mayBe(head []byte, names []string) (ok bool, why string) {
	for _, n := range names {
		if !bytes.Contains(head, []byte(n)) {
			return false, "no " + n + " at its beginning"
		}
	}
	return true, ""
}

// hasAny reports whether one of the marks stands in the beginning of a file.
func hasAny(head []byte, marks ...string) bool {
	for _, m := range marks {
		if bytes.Contains(head, []byte(m)) {
			return true
		}
	}
	return false
}

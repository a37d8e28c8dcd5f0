// Package own reads vreport's own reports: the JSON of --json, and the HTML page,
// which carries the same JSON. Yesterday's artifact is today's baseline.
//
// A report holds figures, no requests: what is read back are the runs, and of
// each trace its totals and slices, as aggregates with the intervals they had.
package own

// Format is the format's name.
const Format = "vreport-report"

// schema is the version that is read.
const schema = "vreport.report/v1"

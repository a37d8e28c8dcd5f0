// Package cube is the aggregation engine: it turns a table of requests into
// counts and distributions of every group that a report will ask for.
//
// A Plan lists what is wanted before the scan starts: metrics, groupings,
// quantiles with their intervals, objectives, time windows. Fill scans the
// table's parts concurrently, in batches of columns, and returns a Cube whose
// cells are ordered by their keys. The result does not depend on the number of
// workers, on how the rows are split into parts, or on the order in which the
// parts are scanned.
//
// The groupings and their dimensions know nothing of how values are kept, and
// the store that keeps them nothing of dimensions.
package cube

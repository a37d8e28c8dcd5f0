// Package rollup reads and writes rollups: tables of requests after aggregation,
// one row a slice, time window, metric and bucket, with a count and a sum. It
// also prints the SQL that makes a rollup inside a database engine (Query), next
// to the data.
//
// A rollup file is a plain table, in CSV or Parquet, that says all about itself
// in its rows: docs/rollup.md describes it. Rows may come in any order, and rows
// of one key are added up, so that the files of several machines may be
// concatenated.
package rollup

// Package trace reads request traces: tables with a row a request, as people
// write them with pandas, Polars, DuckDB, ClickHouse or Spark.
//
// Parquet files are read page by page: a scan's scratch memory is one page a
// column and one batch, never a row group. The metadata's types are parquet-go's.
// Its page reader is not used: a page has to be refused before it is
// decompressed if it would not fit, LZ4_RAW has to be read right (v0.32.0 does
// not), every row group has a codec of its own, and a damaged page must become
// an error and not numbers, whatever its sizes say. Values come in pieces of a
// batch, so that memory does not depend on the counts that a page claims.
//
// CSV and JSON are read in two steps: the start of a file decides what its
// columns are, then every scan reads the file anew, a batch at a time. A damaged
// record is a problem with its line, and costs itself alone.
//
// What the columns are is decided by package column.
package trace

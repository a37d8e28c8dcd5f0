// Package csvtext reads tables of comma-separated text whose records have bounds.
//
// encoding/csv takes as much into memory as a record is long, and a quote that
// never closes makes one of the rest of the file: a few MB of gzip become many GB.
// Here such a record is a problem with its line, and what stands behind its end is
// read on. Tables of requests, which are large, have a reader of their own in
// ingest/trace.
package csvtext

// Package prom reads Prometheus text scrapes of LLM servers: what
// `curl host:8000/metrics > file` saves, singly, concatenated or one file a
// scrape.
//
// Parse reads a file into scrapes. It is tolerant: a byte order mark, carriage
// returns, HTTP headers, a shell prompt and header comments are no obstacle, and
// a damaged line is a problem with its line number while the rest goes on.
// Labels are parsed by Prometheus' own parser, but only when a series is seen for
// the first time: a thousand scrapes repeat the same few thousand series.
//
// Assemble turns scrapes into servers: it finds out which scrapes come from the
// same endpoint, when they were taken or at least in which order, where the
// process restarted and where scrapes are missing, and puts the series of each
// engine on one time axis under the program's own names.
//
// What is kept in other ways becomes scrapes first, so that the vocabulary is one:
// DecodeAPI reads the JSON of query and query_range, DecodeDump what promtool tsdb
// dump prints, DecodeCSV and DecodeJSONPoll Grafana's panels and the tables of
// home-made pollers. Expressions that were evaluated already, and a few columns
// that nobody knows, are levels under their own names.
//
// What the exporters call things is a table; see vocabulary.go, and
// vocabulary_stack.go for what stands around the engines.
package prom

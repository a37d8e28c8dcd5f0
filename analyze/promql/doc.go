// Package promql answers users' own expressions from scraped series with the
// engine of Prometheus. It is the only importer of that engine, whose API is
// not stable and whose defaults suit a server that scrapes for ever.
//
// What differs from asking a server: files have no staleness markers, so a value
// is carried on for two scrape intervals and not for five minutes; and a range
// that is too short for the scrape interval, which the engine answers with
// nothing, is an error that says the smallest range that works.
//
// The figures of reports do not come from here: increases between two scrapes
// are exact, while rate and increase extrapolate to the ends of their window.
package promql

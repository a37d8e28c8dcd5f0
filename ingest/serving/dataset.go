package serving

import "io"

// An Input is one file as it was read.
type Input struct {
	Path        string // as given
	Label       string // of label=PATH; "" otherwise
	Format      string // a format name of the contract; "unknown" where nothing fitted
	Bytes       int64
	SHA256      string // "" where only a fingerprint was taken
	Fingerprint string
	Version     Opt[string] // of the engine or tool that it is of, where it says one
	Guess       string      // where it says none: what its fields betray of the version
	First, Last Opt[int64]  // the times its records span, ns; missing where they have none
	Records     int64       // runs, requests, scrapes or lines, as the format counts
	Fields      []Field     // what became of its fields
	Tried       []string    // of an unknown file: what was tried and why it did not fit
	Problems    Problems
	Note        string
}

// Span widens the times that the input's records are known to span.
func (in *Input) Span(first, last int64) {
	if !in.First.OK || first < in.First.V {
		in.First = Some(first)
	}
	if !in.Last.OK || last > in.Last.V {
		in.Last = Some(last)
	}
}

// A Field tells what a field of a file was taken for.
type Field struct {
	Name string // in the file
	As   string // canonical name, "" where it is not used
	Unit string
	How  string // map, logical-type, sibling, suffix, dialect, …
}

// A Dataset is everything that was read.
type Dataset struct {
	Inputs  []*Input
	Runs    []*Run
	Traces  []Requests // request-level tables that belong to no benchmark run
	Rollups []*Rollup  // tables of requests after aggregation
	Servers []*Server
	Logs    []*EventLog // what logs tell of failures, those of servers too
	Raw     Raw         // series under their own names, where asked for

	closers []io.Closer
}

// Package serving is the vocabulary of LLM serving measurements: what a run, a
// request, a server and an objective are, whoever measured them.
//
// It is a leaf. It imports the standard library only, and every other package
// of this module may import it, as go/ast lives beside go/parser. Decoders fill
// these types, analyses read them, and neither knows the other.
//
// Units are fixed at the door. Inside the program instants are int64
// nanoseconds, durations float64 seconds, counts int64, shares 0…1 and bytes
// bytes; a Metric says which of these its values are. Milliseconds and percent
// exist only in package render. A value that was not measured is absent: an Opt
// without a value, a row whose validity bit is clear. It is never 0.
//
// Requests are columns, not structs. A trace may hold fifty million rows, so a
// Requests source hands out batches of typed column slices (see Requests), and
// a benchmark's arrays are the same thing with one part.
package serving

// Package column knows what the columns of a request trace are called, in which
// units they come, and what follows from what: once, for every decoder.
//
// A decoder describes the columns it found (Raw). Resolve decides which of them
// is which canonical column and in which unit it is written, or says what it
// would have to be told (a Plan). A Program of that plan lists what a scan of
// some columns has to decode, and turns a batch of decoded columns into the
// batch that was asked for: derived columns filled in, impossible values
// removed and counted.
package column

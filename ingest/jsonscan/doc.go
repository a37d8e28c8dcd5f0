// Package jsonscan reads JSON as a stream, the way files of benchmark results
// need it: hundreds of megabytes of which a few columns are wanted, written by
// programs that print NaN and Infinity, put several records into one file and
// are killed in the middle of one.
//
// Nothing is loaded that the caller does not ask for. Memory is a window of a
// quarter of a megabyte, the longest single string, and what the caller keeps.
package jsonscan

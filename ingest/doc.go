// Package ingest reads measurement files into the vocabulary of package
// serving, whoever wrote them.
//
//  1. Arguments become files: a file, a directory, a glob, standard input.
//  2. Each file is unwrapped (gzip, zstd) and recognized by its content, never
//     by its name, out of one ordered list of formats.
//  3. Its decoder reads it. What is damaged becomes a Problem with a position
//     and the rest goes on; what is nothing we know is told what was tried.
//  4. Files that belong together are joined: the parts of one trace, the
//     scrapes of one server. Runs get labels that tell them apart.
//
// Nothing depends on the order of arguments: files are sorted by path first.
package ingest

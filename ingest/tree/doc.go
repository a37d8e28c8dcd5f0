// Package tree reads a small document, JSON or YAML, whole into a tree of values
// that remember the line they stood on: configuration-like reports of a few
// hundred lines, whose parts are looked up by path. Files with a record a
// request are streamed instead (package jsonscan).
//
// Size, depth and the number of values are bounded, aliases of YAML included, so
// that no input can fill memory.
package tree

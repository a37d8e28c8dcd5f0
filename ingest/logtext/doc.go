// Package logtext reads what logs of every server have in common: what a
// container runtime puts around a line, the time that stands before it, and
// which lines tell of a failure.
package logtext

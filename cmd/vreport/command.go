package main

import (
	"fmt"
	"slices"
	"strings"
)

// maxEchoedPaths bounds the command line printed in a report: beyond it nobody
// would type it, and the list of inputs has every name.
const maxEchoedPaths = 40

// commandLine returns the command that makes a report again. It names no output:
// two people who make the same report get the same bytes.
func commandLine(command string, flags, paths []string) string {
	words := append([]string{"vreport", command}, flags...)
	for _, p := range paths[:min(len(paths), maxEchoedPaths)] {
		words = append(words, quote(p))
	}
	s := strings.Join(words, " ")
	if n := len(paths) - maxEchoedPaths; n > 0 {
		s += fmt.Sprintf(" … # and %d further paths, see the inputs", n)
	}
	return s
}

// sorted puts paths into an order that says nothing of how they were typed.
func sorted(paths []string) []string { return slices.Compact(slices.Sorted(slices.Values(paths))) }

// quote quotes a word for a POSIX shell where it needs it.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_./:=,+@%", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

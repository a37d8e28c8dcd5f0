package aiperf

import "strings"

// A unit is what a unit string stands for: a dimension, and how many of it make
// one of the program's own.
type unit struct {
	dim dimension
	per float64
}

// units are the unit strings of both tools. Rates are per second of whatever
// their name says.
var units = map[string]unit{
	"ns": {duration, 1e9}, "nanoseconds": {duration, 1e9}, "us": {duration, 1e6}, "µs": {duration, 1e6}, "microseconds": {duration, 1e6},
	"ms": {duration, 1e3}, "milliseconds": {duration, 1e3}, "s": {duration, 1}, "sec": {duration, 1}, "seconds": {duration, 1},
	"": {count, 1}, "tokens": {count, 1}, "requests": {count, 1}, "count": {count, 1},
	"requests/sec": {rate, 1}, "tokens/sec": {rate, 1}, "tokens/sec/user": {rate, 1}, "per sec": {rate, 1}, "per second": {rate, 1},
	"%": {share, 100}, "percent": {share, 100}, "ratio": {share, 1},
}

// perBase returns how many of a unit make one of the program's base units; ok is
// false where the unit is not known or measures something else.
func perBase(name string, dim dimension) (per float64, ok bool) {
	u, ok := units[strings.ToLower(strings.TrimSpace(name))]
	if dim == instant {
		dim = duration
	}
	return u.per, ok && u.dim == dim
}

// want names the units a dimension may have, for a message.
func (d dimension) want() string {
	switch d {
	case duration, instant:
		return "ns, us, ms or sec"
	case rate:
		return "a rate per second"
	case share:
		return "% or ratio"
	}
	return "a count"
}

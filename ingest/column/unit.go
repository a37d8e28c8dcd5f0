package column

import (
	"math"
	"strings"
	"time"
	"unicode"
)

// A Unit is the unit of a file's durations or instants.
type Unit uint8

// The units. NoUnit is "not known", never a default.
const (
	NoUnit Unit = iota
	Nanosecond
	Microsecond
	Millisecond
	Second
)

var unitNames = [...]string{"", "ns", "us", "ms", "s"}

// String returns the unit as it is written in --map.
func (u Unit) String() string { return unitNames[u] }

// PerSecond returns how many of the unit make one second.
func (u Unit) PerSecond() float64 {
	return [...]float64{1, 1e9, 1e6, 1e3, 1}[u]
}

// Nanoseconds returns how many nanoseconds one of the unit is.
func (u Unit) Nanoseconds() int64 {
	return [...]int64{1, 1, 1e3, 1e6, 1e9}[u]
}

// unitWords are the spellings of units in names, in sibling columns and in
// --map. A bare "s" counts in a name only after a separator: ttft_s, not itls.
var unitWords = map[string]Unit{
	"ns": Nanosecond, "nano": Nanosecond, "nanos": Nanosecond, "nanosecond": Nanosecond, "nanoseconds": Nanosecond,
	"us": Microsecond, "µs": Microsecond, "μs": Microsecond, "micros": Microsecond, "microsecond": Microsecond, "microseconds": Microsecond,
	"ms": Millisecond, "msec": Millisecond, "msecs": Millisecond, "millis": Millisecond, "millisecond": Millisecond, "milliseconds": Millisecond,
	"s": Second, "sec": Second, "secs": Second, "second": Second, "seconds": Second,
}

// ParseUnit reads a unit of time as people write it.
func ParseUnit(s string) (Unit, bool) {
	u, ok := unitWords[strings.ToLower(strings.TrimSpace(s))]
	return u, ok
}

// fold reduces a name to what aliases are compared by: letters and digits in
// lower case, so that completion_start_time, completionStartTime and
// "Completion Start Time" are the same.
func fold(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// cutUnit splits the unit off a name: ttft_ms, "TTFT (ms)", e2eSeconds,
// event_time_unix_ms. The rest comes back folded.
func cutUnit(name string) (rest string, u Unit, ok bool) {
	w := words(name)
	if len(w) < 2 {
		return "", NoUnit, false
	}
	last := strings.ToLower(w[len(w)-1])
	u, ok = unitWords[last]
	if !ok {
		return "", NoUnit, false
	}
	w = w[:len(w)-1]
	for len(w) > 1 {
		switch strings.ToLower(w[len(w)-1]) {
		case "unix", "epoch", "in": // start_unix_ms, latency_in_ms
			w = w[:len(w)-1]
			continue
		}
		break
	}
	return fold(strings.Join(w, "")), u, true
}

// words splits a name at separators and before capitals that follow a small
// letter.
func words(name string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			out = append(out, string(cur))
			cur = cur[:0]
		}
	}
	var prev rune
	for _, r := range name {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(prev):
			flush()
			cur = append(cur, r)
		default:
			cur = append(cur, r)
		}
		prev = r
	}
	flush()
	return out
}

// The years between which an instant is taken for a date rather than for an
// offset from the start of a trace.
var (
	firstDate = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	lastDate  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// inEra reports whether an instant in nanoseconds is a plausible date, not an
// offset.
func inEra(ns int64) bool {
	return ns >= firstDate*1e9 && ns < lastDate*1e9
}

// epochUnit guesses the unit of an absolute instant from its magnitude. The
// four ranges of 1990 to 2100 do not overlap, so the guess cannot be wrong for
// a date; it is never made for a duration.
func epochUnit(v float64) (Unit, bool) {
	for u := Second; u >= Nanosecond; u-- {
		per := u.PerSecond()
		if v >= float64(firstDate)*per && v < float64(lastDate)*per {
			return u, true
		}
	}
	return NoUnit, false
}

// instantLayouts are how people write instants where they have no type.
var instantLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999 -0700 MST",
	"2006-01-02 15:04:05.999999999 MST",
	"2006-01-02 15:04:05.999999999-07",
	"2006-01-02T15:04:05.999999999-0700",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02 15:04",
	"2006-01-02",
}

// ParseInstant reads a written instant into nanoseconds since the epoch. One
// without a zone is taken as UTC.
func ParseInstant(s string) (ns int64, ok bool) {
	s = strings.TrimSpace(s)
	for _, l := range instantLayouts {
		if t, err := time.Parse(l, s); err == nil {
			if y := t.Year(); y < 1700 || y > 2200 {
				return 0, false // outside of what nanoseconds hold
			}
			return t.UnixNano(), true
		}
	}
	return 0, false
}

// finite reports whether v is a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

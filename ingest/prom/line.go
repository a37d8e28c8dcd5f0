package prom

import (
	"bytes"
	"errors"
	"math"
	"strconv"
)

// seriesEnd returns where the series part of a sample line ends: after the name,
// or after the closing brace of its labels. It is -1 where no series begins the
// line. It finds the end only; what is inside is judged by Prometheus' parser
// when the series is seen for the first time.
func seriesEnd(line []byte) int {
	i := 0
	for i < len(line) && isNameByte(line[i]) {
		i++
	}
	if i == 0 && (len(line) < 2 || line[0] != '{' || line[1] != '"') { // {"name", …} is the quoted form
		return -1
	}
	if i > 0 && '0' <= line[0] && line[0] <= '9' {
		return -1
	}
	j := i
	for j < len(line) && isBlank(line[j]) {
		j++
	}
	if j == len(line) || line[j] != '{' {
		return i
	}
	return braceEnd(line, j)
}

// braceEnd returns the index after the brace that closes line[open], or -1.
func braceEnd(line []byte, open int) int {
	for i := open + 1; i < len(line); i++ {
		switch line[i] {
		case '}':
			return i + 1
		case '"':
			i = quoteEnd(line, i)
			if i < 0 {
				return -1
			}
		}
	}
	return -1
}

// quoteEnd returns the index of the quote that closes line[open], or -1.
func quoteEnd(line []byte, open int) int {
	for i := open + 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':' || '0' <= c && c <= '9'
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// A reading is what follows the series on a sample line.
type reading struct {
	value    float64
	stamp    int64 // ns
	hasStamp bool
	noTime   bool // the timestamp is none that can be
	exemplar bool
}

var (
	errNoValue  = errors.New("there is no value")
	errValue    = errors.New("the value is no number")
	errStamp    = errors.New("the timestamp is no number")
	errTrailing = errors.New("there is text after the value and timestamp")
)

// parseReading reads `value [timestamp] [# exemplar]`. Timestamps are
// milliseconds in the text format and seconds in OpenMetrics; a number of less
// than 9e9 is seconds until the year 2255, and as milliseconds would be 1970.
func parseReading(b []byte) (r reading, err error) {
	tok, b := nextToken(b)
	if len(tok) == 0 {
		return r, errNoValue
	}
	if r.value, err = parseFloat(tok); err != nil {
		return r, errValue
	}
	tok, b = nextToken(b)
	if len(tok) == 0 {
		return r, nil
	}
	if tok[0] == '#' {
		r.exemplar = true
		return r, nil
	}
	ts, err := parseFloat(tok)
	switch {
	case err != nil || math.IsNaN(ts):
		return r, errStamp
	case math.Abs(ts) > 9e15: // a clock that was never set; the value is one all the same
		r.noTime = true
	default:
		r.stamp, r.hasStamp = stampNanos(tok, ts), true
	}
	if tok, _ = nextToken(b); len(tok) > 0 && tok[0] != '#' {
		return r, errTrailing
	} else if len(tok) > 0 {
		r.exemplar = true
	}
	return r, nil
}

func stampNanos(tok []byte, ts float64) int64 {
	if math.Abs(ts) >= 9e9 {
		if n, err := strconv.ParseInt(string(tok), 10, 64); err == nil && -9e12 < n && n < 9e12 {
			return n * 1e6
		}
		return int64(min(max(ts*1e6, -9e18), 9e18))
	}
	return secondsToNanos(ts)
}

// secondsToNanos keeps microseconds: a float64 of today's seconds has no more.
func secondsToNanos(s float64) int64 { return int64(math.Round(s*1e6)) * 1000 }

func nextToken(b []byte) (tok, rest []byte) {
	i := 0
	for i < len(b) && isBlank(b[i]) {
		i++
	}
	j := i
	for j < len(b) && !isBlank(b[j]) {
		j++
	}
	return b[i:j], b[j:]
}

// parseFloat reads a value. Most values of a scrape are short decimals, for
// which mantissa and power of ten are exact and one division rounds correctly;
// the rest goes to strconv.
func parseFloat(b []byte) (float64, error) {
	if v, ok := shortDecimal(b); ok {
		return v, nil
	}
	if bytes.ContainsAny(b, "pP_xX") { // Go's own forms, which the text format has not
		return 0, errValue
	}
	return strconv.ParseFloat(string(b), 64)
}

var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

func shortDecimal(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 16 { // 15 digits and a point
		return 0, false
	}
	var m uint64
	digits, point := 0, -1
	for i, c := range b {
		switch {
		case '0' <= c && c <= '9':
			m = m*10 + uint64(c-'0')
			digits++
		case c == '.' && point < 0:
			point = i
		default:
			return 0, false
		}
	}
	if digits == 0 || digits > 15 {
		return 0, false
	}
	if point < 0 {
		return float64(m), true
	}
	return float64(m) / powers[len(b)-1-point], true
}

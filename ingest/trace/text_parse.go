package trace

import (
	"bytes"
	"math"
	"strconv"

	"github.com/vreport/vreport/ingest/column"
)

// strip drops spaces and tabs around a value.
func strip(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// isNull reports whether a trimmed value is one of the words for "no value" that
// Python, pandas, JSON and SQL dumps write.
func isNull(b []byte) bool {
	switch len(b) {
	case 0:
		return true
	case 2:
		return b[0] == '\\' && b[1] == 'N'
	case 3:
		return string(b) == "nan" || string(b) == "NaN" || string(b) == "NaT"
	case 4:
		return string(b) == "null" || string(b) == "NULL" || string(b) == "Null" || string(b) == "None" || string(b) == "<NA>"
	}
	return false
}

// isNoNumber is isNull for a column of numbers, where no word can be a value.
func isNoNumber(b []byte) bool {
	if isNull(b) {
		return true
	}
	switch string(b) {
	case "-", "NA", "N/A", "n/a", "none", "nil", "NAN", "-nan":
		return true
	}
	return false
}

// parseInt reads a whole number. One that is written with a fraction of zeros
// or an exponent counts, too: pandas makes floats of counts as soon as one is
// missing.
func parseInt(b []byte) (int64, bool) {
	d := b
	neg := len(d) > 0 && d[0] == '-'
	if neg || len(d) > 0 && d[0] == '+' {
		d = d[1:]
	}
	if len(d) == 0 {
		return 0, false
	}
	if len(d) <= 18 {
		var v int64
		for _, c := range d {
			c -= '0'
			if c > 9 {
				return parseWhole(b)
			}
			v = v*10 + int64(c)
		}
		if neg {
			v = -v
		}
		return v, true
	}
	if v, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		return v, true
	}
	return parseWhole(b)
}

func parseWhole(b []byte) (int64, bool) {
	v, ok := parseFloat(b)
	if !ok || v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
		return 0, false
	}
	return int64(v), true
}

// powers of ten that a float64 holds exactly.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// parseFloat reads a number as Python, C and JavaScript write it, rounded as
// strconv does: where the digits and the power of ten are both exact, one
// operation rounds once (Clinger's fast path); else strconv does it.
func parseFloat(b []byte) (float64, bool) {
	i := 0
	neg := false
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		neg = b[i] == '-'
		i++
	}
	var m uint64
	digits, frac := 0, 0
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		m = m*10 + uint64(b[i]-'0')
		digits++
	}
	if i < len(b) && b[i] == '.' {
		i++
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			m = m*10 + uint64(b[i]-'0')
			frac++
		}
		digits += frac
	}
	if i < len(b) || digits == 0 || digits > 18 || m >= 1<<53 || frac >= len(pow10) {
		return parseSlow(b)
	}
	v := float64(m) / pow10[frac]
	if neg {
		v = -v
	}
	return v, true
}

func parseSlow(b []byte) (float64, bool) {
	if len(b) == 0 || len(b) > 64 {
		return 0, false
	}
	digits := false
	for _, c := range b {
		switch {
		case c-'0' <= 9:
			digits = true
		case c == '.' || c == '+' || c == '-' || c == 'e' || c == 'E':
		default: // strconv would take hexadecimal numbers and underscores
			return infinite(b)
		}
	}
	if !digits {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

func infinite(b []byte) (float64, bool) {
	sign := 1
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	if bytes.EqualFold(b, []byte("inf")) || bytes.EqualFold(b, []byte("infinity")) {
		return math.Inf(sign), true
	}
	return 0, false
}

// decimals is how many digits behind the point make one nanosecond.
func decimals(u column.Unit) int {
	switch u {
	case column.Second:
		return 9
	case column.Millisecond:
		return 6
	case column.Microsecond:
		return 3
	}
	return 0
}

// parseNanos reads a number in a unit with so many decimals into nanoseconds,
// exactly: epoch seconds as a float64 would be off by 200 ns.
func parseNanos(b []byte, dec int) (int64, bool) {
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		neg = b[0] == '-'
		i++
	}
	var v int64
	seen, left := false, dec
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		if v > (math.MaxInt64-9)/10 {
			return 0, false
		}
		v = v*10 + int64(b[i]-'0')
		seen = true
	}
	up := false
	if i < len(b) && b[i] == '.' {
		i++
		for first := true; i < len(b) && b[i]-'0' <= 9; i++ {
			seen = true
			switch {
			case left > 0:
				if v > (math.MaxInt64-9)/10 {
					return 0, false
				}
				v = v*10 + int64(b[i]-'0')
				left--
			case first:
				up, first = b[i] >= '5', false
			}
		}
	}
	if !seen {
		return 0, false
	}
	if i < len(b) { // an exponent, or no number
		f, ok := parseFloat(b)
		f = math.Round(f * pow10[dec])
		if !ok || !(math.Abs(f) < 1<<63) {
			return 0, false
		}
		return int64(f), true
	}
	for ; left > 0; left-- {
		if v > math.MaxInt64/10 {
			return 0, false
		}
		v *= 10
	}
	if up {
		v++
	}
	if neg {
		v = -v
	}
	return v, true
}

// looksInstant reports whether b starts as a written date does.
func looksInstant(b []byte) bool {
	return len(b) >= 10 && b[4] == '-' && b[7] == '-' && b[0]-'0' <= 9 && b[3]-'0' <= 9 && b[9]-'0' <= 9
}

// parseInstant reads a written instant into nanoseconds since the epoch; zoned
// is false where it says no zone and UTC was assumed. The common forms are read
// here, any number of fractional digits among them, the others by package column.
func parseInstant(b []byte) (ns int64, zoned, ok bool) {
	if !looksInstant(b) {
		return 0, false, false
	}
	if ns, zoned, ok := fastInstant(b); ok {
		return ns, zoned, ok
	}
	ns, ok = column.ParseInstant(string(b))
	// What is left of the other layouts: an offset, or a letter for a zone.
	rest := b[10:]
	zoned = bytes.ContainsAny(rest, "+Zz") || bytes.LastIndexByte(rest, '-') > 0 || bytes.Contains(rest, []byte("UTC")) || bytes.Contains(rest, []byte("GMT"))
	return ns, zoned, ok
}

func two(b []byte, i int) int {
	hi, lo := b[i]-'0', b[i+1]-'0'
	if hi > 9 || lo > 9 {
		return -1
	}
	return int(hi)*10 + int(lo)
}

var monthDays = [13]int{0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// fastInstant reads YYYY-MM-DD[T ]hh:mm:ss[.f…][Z|±hh[:mm]].
func fastInstant(b []byte) (ns int64, zoned, ok bool) {
	if len(b) < 19 || b[10] != ' ' && b[10] != 'T' || b[13] != ':' || b[16] != ':' {
		return 0, false, false
	}
	c, y, mo, d := two(b, 0), two(b, 2), two(b, 5), two(b, 8)
	h, mi, s := two(b, 11), two(b, 14), two(b, 17)
	if c < 0 || y < 0 || mo < 1 || mo > 12 || d < 1 || d > monthDays[mo] || h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 59 {
		return 0, false, false
	}
	year := c*100 + y
	if year < 1700 || year > 2200 || mo == 2 && d == 29 && (year%4 != 0 || year%100 == 0 && year%400 != 0) {
		return 0, false, false
	}
	i := 19
	frac := int64(0)
	if i < len(b) && (b[i] == '.' || b[i] == ',') {
		i++
		n := 0
		for ; i < len(b) && b[i]-'0' <= 9; i++ {
			if n < 9 {
				frac = frac*10 + int64(b[i]-'0')
				n++
			}
		}
		if n == 0 {
			return 0, false, false
		}
		for ; n < 9; n++ {
			frac *= 10
		}
	}
	offset, zoned, ok := zone(b[i:])
	if !ok {
		return 0, false, false
	}
	sec := int64(days(year, mo, d))*86400 + int64(h*3600+mi*60+s) - int64(offset)
	return sec*1e9 + frac, zoned, true
}

// zone reads the offset from UTC in seconds; an empty one is UTC, assumed.
func zone(b []byte) (offset int, zoned, ok bool) {
	switch {
	case len(b) == 0:
		return 0, false, true
	case len(b) == 1 && (b[0] == 'Z' || b[0] == 'z'):
		return 0, true, true
	case b[0] != '+' && b[0] != '-':
		return 0, false, false
	}
	h, m := -1, 0
	switch len(b) {
	case 3:
		h = two(b, 1)
	case 5:
		h, m = two(b, 1), two(b, 3)
	case 6:
		if b[3] == ':' {
			h, m = two(b, 1), two(b, 4)
		}
	}
	if h < 0 || h > 23 || m < 0 || m > 59 {
		return 0, false, false
	}
	offset = h*3600 + m*60
	if b[0] == '-' {
		offset = -offset
	}
	return offset, true, true
}

// days counts the days from 1 January 1970 in the Gregorian calendar, with
// years that start in March so that the leap day is the last.
func days(y, m, d int) int {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// parseSpan reads a duration that says its unit itself, into seconds: Go's and
// Prometheus' 1.5s and 250ms, Python's 0:00:01.5 and pandas' 0 days 00:00:01.5.
func parseSpan(b []byte) (float64, bool) {
	if bytes.IndexByte(b, ':') >= 0 {
		return parseClock(b)
	}
	i := 0
	for i < len(b) && (b[i]-'0' <= 9 || b[i] == '.' || b[i] == '-' || b[i] == '+') {
		i++
	}
	if i == 0 || i == len(b) {
		return 0, false
	}
	u, ok := column.ParseUnit(string(b[i:]))
	if !ok {
		return 0, false
	}
	v, ok := parseFloat(b[:i])
	return v / u.PerSecond(), ok
}

func parseClock(b []byte) (float64, bool) {
	total, sign := 0.0, 1.0
	if d, rest, ok := bytes.Cut(b, []byte("day")); ok {
		n, ok := parseInt(strip(d))
		if !ok {
			return 0, false
		}
		total, b = float64(n)*86400, bytes.TrimLeft(rest, "s, ")
	}
	if len(b) > 0 && b[0] == '-' {
		sign, b = -1, b[1:]
	}
	parts := bytes.Split(b, []byte(":"))
	if len(parts) != 3 {
		return 0, false
	}
	sec := 0.0
	for _, p := range parts {
		v, ok := parseFloat(p)
		if !ok || v < 0 || len(p) == 0 || p[0]-'0' > 9 {
			return 0, false
		}
		sec = sec*60 + v
	}
	return total + sign*sec, true
}

// eachElement calls f with each element of a list that is written in brackets:
// JSON's, Python's, numpy's (which has spaces between). Text elements come
// without their quotes. It returns false where b is no such list.
func eachElement(b []byte, f func(elem []byte, text bool) bool) bool {
	if len(b) < 2 || b[0] != '[' && b[0] != '(' || b[len(b)-1] != ']' && b[len(b)-1] != ')' {
		return false
	}
	b = b[1 : len(b)-1]
	for i := 0; i < len(b); {
		switch c := b[i]; c {
		case ' ', ',', '\n', '\r', '\t', ';':
			i++
		case '"', '\'':
			n := bytes.IndexByte(b[i+1:], c)
			if n < 0 || !f(b[i+1:i+1+n], true) {
				return false
			}
			i += n + 2
		default:
			k := i + 1
			for k < len(b) && b[k] != ',' && b[k] > ' ' && b[k] != ';' {
				k++
			}
			if !f(b[i:k], false) {
				return false
			}
			i = k
		}
	}
	return true
}

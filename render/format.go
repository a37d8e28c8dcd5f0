package render

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze"
	"github.com/vreport/vreport/ingest/serving"
)

// This file is the only place where numbers become text for people. Nothing
// here depends on a locale, a time zone or a clock. A missing value, a NaN and
// an infinity all read "–": none of them is a measured 0.
//
// The functions come in pairs where that helps a caller: FormatX takes a plain
// value, and FormatValue an optional one with its unit.

// Missing stands where there is no value.
const Missing = "–"

// FormatValue formats an optional value, given in the base unit of the program
// (seconds for durations, 0…1 for shares), with its unit: "186.3 ms",
// "512 tokens", "97.1 %", "11.57 /s".
func FormatValue(u serving.Unit, v serving.Opt[float64]) string {
	if !v.OK || !finite(v.V) {
		return Missing
	}
	switch u {
	case serving.Seconds:
		return FormatDuration(v.V)
	case serving.Tokens:
		return plural(FormatTokens(v.V), "token", "tokens")
	case serving.RequestsUnit:
		return plural(FormatTokens(v.V), "request", "requests")
	case serving.PerSecond:
		return FormatRate(v.V, "")
	case serving.Share:
		return FormatShare(v.V)
	case serving.Bytes:
		return FormatBytes(v.V)
	}
	return FormatNumber(v.V)
}

// FormatFigure formats a figure by its key, which tells what a rate is of:
// "requests_per_s" reads "11.57 req/s", "output_tokens_per_s" "1,481 tok/s".
func FormatFigure(key string, u serving.Unit, v serving.Opt[float64]) string {
	if u != serving.PerSecond {
		return FormatValue(u, v)
	}
	switch {
	case strings.Contains(key, "requests"):
		return FormatRateOpt(v, "req")
	case strings.Contains(key, "tokens"):
		return FormatRateOpt(v, "tok")
	}
	return FormatRateOpt(v, "")
}

// unitOf returns the unit of a request metric; a key that is none has no unit.
func unitOf(k serving.MetricKey) serving.Unit {
	if m, ok := serving.MetricOf(k); ok {
		return m.Unit
	}
	return serving.NoUnit
}

// FormatDuration formats seconds: "186.3 ms" below one second, "2.42 s" from
// there on, thousands separated. It never turns to minutes: latencies stay
// comparable at a glance. See FormatSpan for lengths of measurements.
func FormatDuration(sec float64) string {
	if !finite(sec) {
		return Missing
	}
	ms := sec * 1000
	if s := fixed(ms, msDecimals(ms)); math.Abs(ms) < 1000 && !reaches(s, 1000) {
		return s + " ms"
	}
	return fixed(sec, secDecimals(sec)) + " s"
}

// msDecimals gives a figure below a second four digits at most, and at least
// two significant ones however small it is.
func msDecimals(ms float64) int {
	switch a := math.Abs(ms); {
	case a == 0:
		return 0
	case a >= 99.995:
		return 1
	case a >= 0.9995:
		return 2
	case a >= 0.0095:
		return 3
	default:
		return min(significant(a, 2), 9)
	}
}

func secDecimals(s float64) int {
	switch a := math.Abs(s); {
	case a < 9.995:
		return 2
	case a < 999.95:
		return 1
	}
	return 0
}

// FormatSpan formats the length of a measurement: "86.4 s", "16 min 40 s",
// "2 h 5 min", "3 d 4 h".
func FormatSpan(sec float64) string {
	if !finite(sec) || sec < 0 {
		return Missing
	}
	if sec < 599.5 {
		return FormatDuration(sec)
	}
	s := int64(math.Round(math.Min(sec, 1e15)))
	two := func(big int64, bigName string, small int64, smallName string) string {
		if small == 0 {
			return FormatCount(big) + " " + bigName
		}
		return FormatCount(big) + " " + bigName + " " + FormatCount(small) + " " + smallName
	}
	switch {
	case s < 3600:
		return two(s/60, "min", s%60, "s")
	case s < 48*3600:
		return two(s/3600, "h", s%3600/60, "min")
	}
	return two(s/86400, "d", s%86400/3600, "h")
}

// FormatCount formats a whole number with thousands separators.
func FormatCount(n int64) string {
	return separate(strconv.FormatInt(n, 10))
}

// FormatCountOpt formats a whole number that may be missing.
func FormatCountOpt(n serving.Opt[int64]) string {
	if !n.OK {
		return Missing
	}
	return FormatCount(n.V)
}

// FormatTokens formats a number of tokens or requests, which is whole except
// where it is a mean or an interpolated quantile: "1,024", "512.5".
func FormatTokens(v float64) string {
	if !finite(v) {
		return Missing
	}
	if v == math.Trunc(v) {
		return fixed(v, 0)
	}
	if math.Abs(v) >= 10 {
		return trimZeros(fixed(v, 1))
	}
	return trimZeros(fixed(v, min(max(significant(math.Abs(v), 3), 0), 9)))
}

// FormatRate formats a rate of things per second: FormatRate(11.574, "req") is
// "11.57 req/s".
func FormatRate(v float64, what string) string {
	if !finite(v) {
		return Missing
	}
	return FormatNumber(v) + " " + what + "/s"
}

// FormatRateOpt formats a rate that may be missing.
func FormatRateOpt(v serving.Opt[float64], what string) string {
	if !v.OK {
		return Missing
	}
	return FormatRate(v.V, what)
}

// FormatNumber formats a bare number to four significant digits, whole ones and
// those of a thousand and more without decimals: "1,481", "11.57", "0.0363".
func FormatNumber(v float64) string {
	if !finite(v) {
		return Missing
	}
	a := math.Abs(v)
	switch {
	case a >= 1e15:
		return strconv.FormatFloat(v, 'g', 4, 64)
	case v == math.Trunc(v) || a >= 999.95:
		return fixed(v, 0)
	case a >= 99.995:
		return fixed(v, 1)
	case a >= 0.9995:
		return fixed(v, 2)
	case a < 1e-9:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return trimZeros(fixed(v, significant(a, 3)))
}

// FormatShare formats a share of 0…1 in percent: "97.1 %". A share that is not
// quite 0 or 1 never reads "0 %" or "100 %": decimals are added until it shows.
func FormatShare(v float64) string {
	if !finite(v) {
		return Missing
	}
	p := v * 100
	if p == 0 || p == 100 {
		return fixed(p, 0) + " %"
	}
	dist := math.Min(math.Abs(p), math.Abs(100-p))
	return fixed(p, min(max(significant(dist, 1), 1), 9)) + " %"
}

// FormatShareOpt formats a share that may be missing.
func FormatShareOpt(v serving.Opt[float64]) string {
	if !v.OK {
		return Missing
	}
	return FormatShare(v.V)
}

// FormatBytes formats bytes in decimal units, as memory bandwidth and file
// sizes are stated: "1.50 GB".
func FormatBytes(b float64) string {
	return bytesIn(b, 1000, []string{"B", "kB", "MB", "GB", "TB", "PB"})
}

// FormatBinaryBytes formats bytes in binary units, as a GPU's memory is
// allocated: "1.40 GiB". The two differ by 7 % at this size and are never
// called the same.
func FormatBinaryBytes(b float64) string {
	return bytesIn(b, 1024, []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"})
}

func bytesIn(b, base float64, units []string) string {
	if !finite(b) {
		return Missing
	}
	i := 0
	for i < len(units)-1 && math.Abs(b) >= base*0.99995 {
		b /= base
		i++
	}
	d := 0
	if i > 0 {
		d = min(max(significant(math.Abs(b), 3), 0), 2)
	}
	return fixed(b, d) + " " + units[i]
}

// FormatQuantile formats a quantile. One that lies beyond the last finite
// bucket of a histogram reads as its bound: "≥ 10.00 s".
func FormatQuantile(u serving.Unit, q analyze.Quantile) string {
	if q.Quality == analyze.QualityCoarse && q.Lo.OK && q.Lo.V == 0 && q.Hi.OK {
		// In a histogram's first bucket all that is known is its bound.
		return "≤ " + FormatValue(u, q.Hi)
	}
	if q.Value.OK || !q.Lo.OK || q.Hi.OK {
		return FormatValue(u, q.Value)
	}
	if s := FormatValue(u, q.Lo); s != Missing {
		return "≥ " + s
	}
	return Missing
}

// FormatInterval formats an interval on one scale: "[276, 301] ms". An end that
// n cannot support reads "–"; with neither end there is no interval.
func FormatInterval(u serving.Unit, lo, hi serving.Opt[float64]) string {
	lo.OK, hi.OK = lo.OK && finite(lo.V), hi.OK && finite(hi.V)
	if !lo.OK && !hi.OK {
		return Missing
	}
	var ends []float64
	for _, e := range []serving.Opt[float64]{lo, hi} {
		if e.OK {
			ends = append(ends, e.V)
		}
	}
	// The unit is that of the larger end: [0.69, 87.3] s, not milliseconds up to
	// five digits.
	s := CommonScale(u, []float64{slices.Max(ends)})
	s.Decimals = s.intervalDecimals(ends)
	return strings.TrimSuffix(fmt.Sprintf("[%s, %s] %s", s.FormatOpt(lo), s.FormatOpt(hi), s.Unit), " ")
}

// intervalDecimals are as few as tell the ends apart with two digits of their
// distance: an interval's own ends are uncertain, more would pretend.
func (s Scale) intervalDecimals(ends []float64) int {
	if len(ends) < 2 || ends[0] == ends[1] {
		return s.Decimals
	}
	return min(max(significant(math.Abs(ends[1]-ends[0])*s.Factor, 2), 0), 6)
}

// A Scale prints values that stand together, such as a row or a column of a
// table, in one unit and with one number of decimals, so that they can be
// compared by their length. The zero Scale is not useful; see CommonScale.
type Scale struct {
	Unit     string  // "ms"; "" for a bare number
	Factor   float64 // base unit to Unit
	Decimals int
}

// CommonScale returns the scale that shows every value with at least three
// significant digits. Missing values (NaN) and zeros do not count.
func CommonScale(u serving.Unit, values []float64) Scale {
	lo, hi := math.Inf(1), 0.0
	whole := true
	for _, v := range values {
		if a := math.Abs(v); finite(v) {
			if a > 0 {
				lo, hi = min(lo, a), max(hi, a)
			}
			whole = whole && v == math.Trunc(v)
		}
	}
	if hi == 0 {
		lo, hi = 1, 1
	}
	switch u {
	case serving.Seconds:
		return durationScale(lo, hi)
	case serving.Share:
		return Scale{"%", 100, min(max(significant(lo*100, 2), 1), 3)}
	case serving.Bytes:
		return byteScale(lo)
	}
	s := Scale{unitText(u), 1, 0}
	if !whole {
		s.Decimals = min(max(significant(lo, 3), 0), 3)
	}
	return s
}

// durationScale keeps milliseconds as long as one value is below a second,
// unless another is so large that nobody would read it in milliseconds.
func durationScale(lo, hi float64) Scale {
	if lo >= 1 || hi >= 1000 {
		return Scale{"s", 1, min(max(significant(lo, 3), 0), 3)}
	}
	return Scale{"ms", 1000, min(max(significant(lo*1000, 3), 1), 3)}
}

func byteScale(lo float64) Scale {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f, i := 1.0, 0
	for i < len(units)-1 && lo*f >= 1000 {
		f /= 1000
		i++
	}
	d := 0
	if i > 0 {
		d = min(max(significant(lo*f, 3), 0), 2)
	}
	return Scale{units[i], f, d}
}

// Format formats a value without its unit.
func (s Scale) Format(v float64) string {
	if !finite(v) {
		return Missing
	}
	return fixed(v*s.Factor, s.Decimals)
}

// FormatOpt formats a value that may be missing, without its unit.
func (s Scale) FormatOpt(v serving.Opt[float64]) string {
	if !v.OK {
		return Missing
	}
	return s.Format(v.V)
}

// RawValue is a value as a plain number for machines inside a page (sorting,
// copying as CSV): milliseconds for durations, shares 0…1, a point, no
// separators; "" where it is missing. Fractions carry nine significant digits,
// more than any clock behind them resolves: all seventeen, which the JSON
// report has, were a tenth of a page. Whole numbers are exact.
func RawValue(u serving.Unit, v serving.Opt[float64]) string {
	if !v.OK || !finite(v.V) {
		return ""
	}
	x := v.V
	if u == serving.Seconds {
		x = toMillis(x)
	}
	if short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 8, 64), 64); err == nil && x != math.Trunc(x) {
		x = short
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// QualityMark is the sign that stands behind a quantile in a table; "" where it
// can be trusted. QualityText explains it.
func QualityMark(q analyze.Quality) string {
	switch q {
	case analyze.QualityWeak:
		return "?"
	case analyze.QualityUnsupported:
		return "??"
	case analyze.QualityAutocorrelated:
		return "≈"
	case analyze.QualityCoarse:
		return "±"
	}
	return ""
}

// QualityText says what a quality means for a reader.
func QualityText(q analyze.Quality) string {
	switch q {
	case analyze.QualityOK:
		return "enough requests for this percentile"
	case analyze.QualityWeak:
		return "few requests beyond this percentile: read the interval, not the point"
	case analyze.QualityUnsupported:
		return "too few requests to support this percentile"
	case analyze.QualityAutocorrelated:
		return "slow requests come in bursts: the interval is too narrow"
	case analyze.QualityCoarse:
		return "from a histogram with wide buckets: the value lies somewhere in the interval"
	}
	return "the file's own figure; the number of requests behind it is not known"
}

// FormatInstant formats an instant (ns since the epoch) as RFC 3339 in UTC,
// with a fraction only where there is one.
func FormatInstant(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.999999999Z07:00")
}

// FormatInstantShort formats an instant for people, to the second:
// "2026-01-31 12:00:05 UTC".
func FormatInstantShort(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02 15:04:05 UTC")
}

// FormatOffset formats the distance (ns) from the start of a time axis without
// a date: "+12.5 s", "+16 min 40 s".
func FormatOffset(ns int64) string {
	sec := float64(ns) / 1e9
	sign := "+"
	if sec < 0 {
		sign, sec = "−", -sec
	}
	if sec < 599.5 {
		return sign + trimZeros(fixed(sec, 3)) + " s"
	}
	return sign + FormatSpan(sec)
}

// FormatTime formats a moment of a time axis that may be relative.
func FormatTime(ns int64, relative bool) string {
	if relative {
		return FormatOffset(ns)
	}
	return FormatInstantShort(ns)
}

// FormatLimit formats the limit of an objective as it was meant, without made
// up decimals: "500 ms", "1.5 s".
func FormatLimit(u serving.Unit, v float64) string {
	if !finite(v) {
		return Missing
	}
	if u != serving.Seconds {
		return FormatValue(u, serving.Some(v))
	}
	if ms := toMillis(v); math.Abs(ms) < 1000 {
		return plainNumber(ms) + " ms"
	}
	return plainNumber(v) + " s"
}

// FormatSLO formats an objective: "TTFT p99 < 500 ms", and for one slice
// "workload=chat: TTFT p99 < 500 ms". The slice's value is data: escape it.
func FormatSLO(s serving.SLO) string {
	var b strings.Builder
	if len(s.By) > 0 {
		b.WriteString(FormatTerms(s.By) + ": ")
	}
	fmt.Fprintf(&b, "%s %s < %s", metricTitle(s.Metric), s.Stat(), FormatLimit(unitOf(s.Metric), s.Limit))
	return b.String()
}

func metricTitle(k serving.MetricKey) string {
	if m, ok := serving.MetricOf(k); ok {
		return m.Title
	}
	return string(k)
}

// FormatTerms formats a slice's dimensions: "workload=chat, cache=cold", and
// "all" for none. The values are data: escape them.
func FormatTerms(by []serving.Term) string {
	if len(by) == 0 {
		return "all"
	}
	parts := make([]string, len(by))
	for i, t := range by {
		parts[i] = t.Dim + "=" + t.Value
	}
	return strings.Join(parts, ", ")
}

// FormatLoad formats a load level: "64 concurrent", "10 req/s",
// "10 req/s, ≤ 64 concurrent", "500 at once".
func FormatLoad(l serving.Load, sent serving.Opt[int64]) string {
	conc := func() string { return FormatCount(l.MaxConcurrency.V) + " concurrent" }
	switch {
	case l.RequestRate.OK && l.MaxConcurrency.OK:
		return FormatRate(l.RequestRate.V, "req") + ", ≤ " + conc()
	case l.RequestRate.OK:
		return FormatRate(l.RequestRate.V, "req")
	case l.MaxConcurrency.OK:
		return conc()
	case l.Unlimited && sent.OK:
		return FormatCount(sent.V) + " at once"
	case l.Unlimited:
		return "all at once"
	}
	return Missing
}

// unitText is the unit behind a number on its own scale; durations have none
// here, because they are scaled first.
func unitText(u serving.Unit) string {
	switch u {
	case serving.Tokens:
		return "tokens"
	case serving.RequestsUnit:
		return "requests"
	case serving.PerSecond:
		return "/s"
	case serving.Share:
		return "%"
	case serving.Bytes:
		return "B"
	}
	return ""
}

// toMillis converts seconds to milliseconds without the digits that binary
// fractions add: 0.28217 s is 282.17 ms, not 282.16999999999996. Fifteen
// significant digits carry every decimal fraction a file can have stated.
func toMillis(sec float64) float64 { return round15(sec * 1000) }

// round15 rounds to fifteen significant digits, half to even.
func round15(v float64) float64 {
	if !finite(v) {
		return v
	}
	if r, ok := quickRound15(v); ok {
		return r
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 14, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// quickRound15 rounds by arithmetic alone what text would be the long way for. A
// power of ten up to 1e22 is exact, and so is a whole number of fifteen digits:
// their quotient is the float64 nearest to the decimal, which is what reading its
// text gives. It leaves alone what is large or tiny, and what lies so near the
// middle between two decimals that the product, which is off by a sixteenth at
// most, could be on its other side.
func quickRound15(v float64) (float64, bool) {
	a := math.Abs(v)
	if !(a >= 1e-7 && a < 1e14) {
		return 0, false
	}
	scale := math.Pow10(14 - int(math.Floor(math.Log10(a))))
	p := a * scale
	whole, part := math.Modf(p)
	if p < 1e14 || p >= 1e15 || math.Abs(part-.5) <= 1./16 {
		return 0, false
	}
	if part > .5 {
		whole++
	}
	return math.Copysign(whole/scale, v), true
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// fixed formats v with d decimals and thousands separators; never "-0".
func fixed(v float64, d int) string {
	if math.Abs(v) >= 1e18 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	s := strconv.FormatFloat(v, 'f', d, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return separate(s)
}

// separate puts commas between groups of three digits of the whole part.
func separate(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "−", s[1:]
	}
	whole, frac, has := strings.Cut(s, ".")
	var b strings.Builder
	b.WriteString(sign)
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if has {
		b.WriteString("." + frac)
	}
	return b.String()
}

// significant returns the number of decimals that show a > 0 with n significant
// digits. It may be negative.
func significant(a float64, n int) int {
	if a <= 0 || !finite(a) {
		return 0
	}
	d := n - 1 - int(math.Floor(math.Log10(a)))
	// 9.996 to three digits is 10.0, one decimal fewer.
	if p := math.Pow10(d); d > 0 && math.Round(a*p)/p >= math.Pow10(n-d) {
		d--
	}
	return d
}

// reaches reports whether a formatted number was rounded up to limit.
func reaches(s string, limit float64) bool {
	v, err := strconv.ParseFloat(bareDigits.Replace(s), 64)
	return err == nil && v >= limit
}

// bareDigits takes off what is not of a number's size.
var bareDigits = strings.NewReplacer(",", "", "−", "")

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// plainNumber prints a number as somebody typed it.
func plainNumber(v float64) string {
	return separate(strconv.FormatFloat(round15(v), 'f', -1, 64))
}

func plural(n, one, many string) string {
	if n == "1" {
		return n + " " + one
	}
	return n + " " + many
}

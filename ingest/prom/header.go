package prom

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// A stampText is a time as somebody wrote it into a text.
type stampText struct {
	nanos int64
	zoned bool // the text says its zone; otherwise UTC is assumed, and said so
}

// zonedLayouts and localLayouts are the forms in which scripts write the time
// above a scrape: RFC 3339, date(1), HTTP.
var (
	zonedLayouts = []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999Z07:00",
		"2006-01-02 15:04:05.999999999 -0700", "2006-01-02 15:04:05.999999999 -07:00", time.RFC1123Z,
	}
	localLayouts = []string{
		"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006/01/02 15:04:05.999999999",
		"2006-01-02 15:04:05,999", time.ANSIC, "Mon _2 Jan 2006 15:04:05", "Mon _2 Jan 2006 03:04:05 PM", "Mon, 02 Jan 2006 15:04:05",
	}
)

// parseStamp reads a text that is nothing but a time.
func parseStamp(s string) (stampText, bool) {
	s = strings.TrimSpace(s)
	if len(s) < 10 || len(s) > 40 {
		return stampText{}, false
	}
	if n, ok := parseEpoch(s); ok {
		return stampText{n, true}, true
	}
	for _, l := range zonedLayouts {
		if t, err := time.Parse(l, s); err == nil {
			return ofTime(t, true)
		}
	}
	s, zoned := cutZone(s)
	for _, l := range localLayouts {
		if t, err := time.Parse(l, s); err == nil {
			return ofTime(t, zoned)
		}
	}
	return stampText{}, false
}

// ofTime refuses times outside of what nanoseconds in an int64 can hold.
func ofTime(t time.Time, zoned bool) (stampText, bool) {
	if y := t.Year(); y < 1970 || y > 2200 {
		return stampText{}, false
	}
	return stampText{t.UnixNano(), zoned}, true
}

// cutZone removes a zone abbreviation, which stands last or, as date(1) writes
// it, before the year. Only UTC and GMT are known; KST or CST could be several.
func cutZone(s string) (_ string, zoned bool) {
	f := strings.Fields(s)
	for i := len(f) - 1; i >= max(len(f)-2, 1); i-- {
		if z := f[i]; len(z) >= 3 && len(z) <= 5 && strings.ToUpper(z) == z && strings.Trim(z, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			zoned = z == "UTC" || z == "GMT"
			return strings.Join(append(f[:i:i], f[i+1:]...), " "), zoned
		}
	}
	return strings.Join(f, " "), false
}

// parseEpoch reads seconds, milliseconds, microseconds or nanoseconds since the
// epoch; which of them is told by the number of digits. Times before 2001 and
// after 2096 are other numbers.
func parseEpoch(s string) (int64, bool) {
	whole, frac, hasFrac := strings.Cut(s, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 {
		return 0, false
	}
	switch len(whole) {
	case 10:
		n *= 1e9
	case 13:
		n *= 1e6
	case 16:
		n *= 1e3
	case 19:
	default:
		return 0, false
	}
	if n < 1e18 || n > 4e18 {
		return 0, false
	}
	if !hasFrac {
		return n, true
	}
	if len(whole) != 10 || len(frac) == 0 || len(frac) > 9 || strings.Trim(frac, "0123456789") != "" {
		return 0, false
	}
	f, _ := strconv.ParseInt(frac+strings.Repeat("0", 9-len(frac)), 10, 64)
	return n + f, true
}

// A header is what comments and HTTP headers above a scrape say of it.
type header struct {
	stamp   stampText
	hasTime bool
	pod     string
}

func (h *header) merge(o header) {
	if o.hasTime {
		h.stamp, h.hasTime = o.stamp, true
	}
	if o.pod != "" {
		h.pod = o.pod
	}
}

// headerComment reads `# Timestamp: …`, `# Pod: …` and comments that are
// nothing but a time; ok is false for any other comment.
func headerComment(line []byte) (h header, ok bool) {
	s := strings.TrimSpace(strings.TrimLeft(string(line[:min(len(line), 300)]), "# "))
	if t, ok := parseStamp(s); ok {
		return header{stamp: t, hasTime: true}, true
	}
	i := strings.IndexAny(s, ":=")
	if i < 0 {
		return h, false
	}
	value := strings.TrimSpace(s[i+1:])
	switch strings.ToLower(strings.Trim(s[:i], " \t-*")) {
	case "timestamp", "time", "date", "datetime", "scraped at", "scraped_at", "scrape time", "scrape_time", "collected at", "collected_at", "captured at", "captured_at":
		if t, ok := parseStamp(strings.Trim(value, `"'`)); ok {
			return header{stamp: t, hasTime: true}, true
		}
	case "pod", "pod name", "pod_name", "podname", "instance", "replica":
		if value != "" {
			return header{pod: value}, true
		}
	}
	return h, false
}

// isHTTPStatus reports whether a line begins an HTTP response (`curl -i`).
func isHTTPStatus(line []byte) bool {
	return bytes.HasPrefix(line, []byte("HTTP/")) && bytes.IndexByte(line, ' ') > 0
}

// isHTTPHeader reports whether a line has the form of a header below it.
func isHTTPHeader(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(": "))
	return ok && len(name) > 0 && !bytes.ContainsAny(name, " {")
}

// httpStatus returns the status code of such a line, 0 if it has none.
func httpStatus(line []byte) int {
	f := bytes.Fields(line)
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(string(f[1]))
	return n
}

// httpDate returns the time of a `Date:` header.
func httpDate(line []byte) (header, bool) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || !strings.EqualFold(string(bytes.TrimSpace(name)), "date") {
		return header{}, false
	}
	t, ok := parseStamp(string(value))
	return header{stamp: t, hasTime: ok}, ok
}

// isDressing reports lines that tools leave around a scrape and that mean
// nothing: a shell prompt, the fences of Markdown, rules, `curl -v`'s talk.
func isDressing(line []byte) bool {
	switch line[0] {
	case '$':
		return len(line) > 1 && isBlank(line[1])
	case '`':
		return bytes.HasPrefix(line, []byte("```"))
	case '<', '>', '*', '+':
		if len(line) == 1 || isBlank(line[1]) {
			return true
		}
	}
	return len(bytes.Trim(line, "-=*~_")) == 0
}

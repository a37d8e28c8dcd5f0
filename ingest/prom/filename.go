package prom

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A nameInfo is what the name of a file says of the scrape in it.
type nameInfo struct {
	dir    string
	stem   string // the file name without its extension
	before string // of a name with a time in it: what stands before the time, e.g. the pod
	after  string // and behind it
	stamp  stampText
	timed  bool
	// Of a name without a time: its runs of digits, and the name with a # for each.
	template string
	numbers  []int64
}

var (
	isoInName   = regexp.MustCompile(`(\d{4})-?(\d{2})-?(\d{2})[T_ -]?(\d{2})[:hH_.-]?(\d{2})[:mM_.-]?(\d{2})(?:[.,](\d{1,9}))?(Z|[+-]\d{2}:?\d{2})?`)
	digitRuns   = regexp.MustCompile(`\d+`)
	epochInName = regexp.MustCompile(`\d{10}\.\d{1,9}|\d+`)
)

// readName looks for a time in a file name: seconds to nanoseconds since the
// epoch, or an ISO date and time with whatever separators a file name allows.
func readName(path string) nameInfo {
	base := filepath.Base(path)
	for _, packed := range [...]string{".gz", ".zst"} {
		base = strings.TrimSuffix(base, packed)
	}
	n := nameInfo{dir: filepath.Dir(path), stem: base}
	if ext := filepath.Ext(base); ext != "" && strings.Trim(ext[1:], "0123456789") != "" {
		n.stem = strings.TrimSuffix(base, ext)
	}
	if n.epoch() || n.iso() {
		return n
	}
	n.template = digitRuns.ReplaceAllStringFunc(n.stem, func(d string) string {
		v, err := strconv.ParseInt(d, 10, 64)
		if err != nil {
			return d
		}
		n.numbers = append(n.numbers, v)
		return "#"
	})
	return n
}

func (n *nameInfo) epoch() bool {
	for _, at := range epochInName.FindAllStringIndex(n.stem, -1) {
		if ns, ok := parseEpoch(n.stem[at[0]:at[1]]); ok {
			n.found(stampText{ns, true}, at[0], at[1])
			return true
		}
	}
	return false
}

func (n *nameInfo) iso() bool {
	for _, m := range isoInName.FindAllStringSubmatchIndex(n.stem, -1) {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return n.stem[m[2*i]:m[2*i+1]]
		}
		num := func(i int) int { v, _ := strconv.Atoi(part(i)); return v }
		// Digits that run on are a longer number, not a time with a tail.
		if m[1] < len(n.stem) && isDigit(n.stem[m[1]]) || m[0] > 0 && isDigit(n.stem[m[0]-1]) {
			continue
		}
		frac := part(7)
		nanos, _ := strconv.Atoi((frac + "000000000")[:9])
		t := time.Date(num(1), time.Month(num(2)), num(3), num(4), num(5), num(6), nanos, time.UTC)
		if t.Year() < 2001 || t.Year() > 2096 || int(t.Month()) != num(2) || t.Day() != num(3) || t.Hour() != num(4) || t.Minute() != num(5) || num(6) > 59 {
			continue
		}
		zone := part(8)
		if off, ok := zoneOffset(zone); ok {
			t = t.Add(-off)
		}
		n.found(stampText{t.UnixNano(), zone != ""}, m[0], m[1])
		return true
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func zoneOffset(z string) (time.Duration, bool) {
	if len(z) < 5 {
		return 0, false
	}
	d := strings.ReplaceAll(z[1:], ":", "")
	h, _ := strconv.Atoi(d[:2])
	m, _ := strconv.Atoi(d[2:])
	off := time.Duration(h)*time.Hour + time.Duration(m)*time.Minute
	if z[0] == '-' {
		off = -off
	}
	return off, true
}

func (n *nameInfo) found(t stampText, from, to int) {
	n.stamp, n.timed = t, true
	n.before = withoutPhase(strings.Trim(n.stem[:from], "_-. "))
	n.after = withoutPhase(strings.Trim(n.stem[to:], "_-. "))
}

// phaseWords pair the two scrapes around a run; the value orders them.
var phaseWords = map[string]int{
	"before": 0, "pre": 0, "idle": 0, "start": 0, "begin": 0, "baseline": 0,
	"after": 1, "post": 1, "loaded": 1, "end": 1, "final": 1,
}

var words = regexp.MustCompile(`[A-Za-z]+`)

// withoutPhase removes words such as before and after, so that the names of a
// pair become equal.
func withoutPhase(s string) string {
	out := words.ReplaceAllStringFunc(s, func(w string) string {
		if _, ok := phaseWords[strings.ToLower(w)]; ok {
			return ""
		}
		return w
	})
	return strings.Trim(strings.NewReplacer("__", "_", "--", "-", "..", ".").Replace(out), "_-. ")
}

// phaseOf returns 0 for a scrape before and 1 for one after a run, -1 where the
// path says neither.
func phaseOf(path string) int {
	phase := -1
	for _, w := range words.FindAllString(path, -1) {
		if p, ok := phaseWords[strings.ToLower(w)]; ok {
			phase = p
		}
	}
	return phase
}

// naturalLess orders names as people do: m_2 before m_10.
func naturalLess(a, b string) bool {
	for a != "" && b != "" {
		if isDigit(a[0]) && isDigit(b[0]) {
			da, db := digitsOf(a), digitsOf(b)
			na, nb := strings.TrimLeft(da, "0"), strings.TrimLeft(db, "0")
			if len(na) != len(nb) {
				return len(na) < len(nb)
			}
			if na != nb {
				return na < nb
			}
			a, b = a[len(da):], b[len(db):]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digitsOf(s string) string {
	i := 0
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return s[:i]
}

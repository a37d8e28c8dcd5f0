package logtext

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// A Stamp is the time of a log line, as far as it says: vLLM's own prefix is a
// month, a day and a local time without year and zone; a container runtime or
// another logger may have put a whole date before it.
type Stamp struct {
	full     time.Time // of a whole date; zero where there is none
	zoned    bool      // … which has a zone
	yearless time.Time // in leapYear; zero where there is none
}

// leapYear stands for the year that a log does not say, so that 29 February is
// a date.
const leapYear = 2000

var (
	// 2025-11-17 14:50:30,270 · 2025-11-17T14:50:30.270123456Z · [2024-09-10T16:54:45+02:00]
	fullTime = regexp.MustCompile(`(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)? ?(Z|[+-]\d\d:?\d\d)?`)
	// INFO 06-07 23:26:07 [loggers.py:271]
	yearlessTime = regexp.MustCompile(`(?:^|[^\d-])(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9})\d*)?`)
	// a date anywhere, in a file name too
	someDate = regexp.MustCompile(`(?:^|[^\d])(20\d\d)([-_/]?)(\d\d)([-_/]?)(\d\d)(?:[^\d]|$)`)
)

// from cuts off what stands before the first place that has a shape, but for some
// bytes; nothing is left where no place has it. In a shape, 0 is a digit and * is
// anything. Most lines have nothing of the kind, and an expression takes long to
// say so.
func from(s, shape string, before int) string {
	for i := 0; i+len(shape) <= len(s); i++ {
		if hasShape(s[i:], shape) {
			return s[max(i-before, 0):]
		}
	}
	return ""
}

func hasShape(s, shape string) bool {
	for k := range len(shape) {
		digit := s[k] >= '0' && s[k] <= '9'
		if shape[k] == '0' && !digit || shape[k] != '0' && shape[k] != '*' && s[k] != shape[k] {
			return false
		}
	}
	return true
}

// StampOf reads the time that stands before a line's text.
func StampOf(before string) Stamp {
	var s Stamp
	for _, m := range fullTime.FindAllStringSubmatch(from(before, "0000-00-00*00:00:00", 0), 4) {
		loc := time.UTC
		zoned := m[8] != ""
		if zoned && m[8] != "Z" {
			digits := strings.ReplaceAll(m[8][1:], ":", "")
			off := atoi(digits[:2])*3600 + atoi(digits[2:])*60
			if m[8][0] == '-' {
				off = -off
			}
			loc = time.FixedZone("", off)
		}
		t, ok := date(atoi(m[1]), m[2:8], loc)
		if ok && (s.full.IsZero() || zoned && !s.zoned) {
			s.full, s.zoned = t, zoned
		}
	}
	if m := yearlessTime.FindStringSubmatch(from(before, "00-00 00:00:00", 1)); m != nil {
		if t, ok := date(leapYear, m[1:7], time.UTC); ok {
			s.yearless = t
		}
	}
	if s.zero() {
		return otherStamp(before)
	}
	return s
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// date makes a time of month, day, hour, minute, second and fraction.
func date(year int, p []string, loc *time.Location) (time.Time, bool) {
	frac := 0
	if p[5] != "" {
		frac = atoi((p[5] + "000000000")[:9])
	}
	month, day, hour, minute, sec := atoi(p[0]), atoi(p[1]), atoi(p[2]), atoi(p[3]), atoi(p[4])
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || sec > 60 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, sec, frac, loc), true
}

// A Calendar turns the stamps of one log into instants.
type Calendar struct {
	Path   string      // of the log: its name may say the year
	dates  []time.Time // whole dates seen in the log's text
	looked int
}

// Bounds on looking for a date that says the year.
const (
	maxDateLines = 100_000
	maxDates     = 16
	dateBytes    = 256 // of a line
)

// See looks for a whole date in a line: a library's warning, a path, a command.
func (c *Calendar) See(line []byte) {
	if c.looked++; c.looked > maxDateLines || len(c.dates) >= maxDates {
		return
	}
	c.dates = append(c.dates, datesIn(string(line[:min(len(line), dateBytes)]))...)
}

func datesIn(s string) []time.Time {
	s = from(s, "2000*0", 1)
	var out []time.Time
	for _, m := range someDate.FindAllStringSubmatch(s, maxDates) {
		if m[2] != m[4] {
			continue
		}
		if t, ok := date(atoi(m[1]), []string{m[3], m[5], "0", "0", "0", ""}, time.UTC); ok {
			out = append(out, t)
		}
	}
	return out
}

// timesInLog is the rule of times that say all of it: date, time and zone.
const timesInLog = "the times in the log"

// Instants turns the stamps of an engine's lines, in the order of the file,
// into nanoseconds, and says by what rule. relative says that the instants are
// counted from the first line, or are an order alone.
func (c *Calendar) Instants(stamps []Stamp) (ns []int64, relative bool, rule string) {
	full, zoned, yearless := true, true, true
	for _, s := range stamps {
		full = full && !s.full.IsZero()
		zoned = zoned && s.zoned
		yearless = yearless && !s.yearless.IsZero()
	}
	ns = make([]int64, len(stamps))
	switch {
	case full:
		for i, s := range stamps {
			ns[i] = s.full.UnixNano()
		}
		if zoned {
			return ns, false, timesInLog
		}
		return ns, false, timesInLog + ", which name no zone: taken as UTC"
	case yearless:
		years := wraps(stamps)
		first, from := c.year(stamps, years)
		for i, s := range stamps {
			ns[i] = s.yearless.AddDate(years[i]+max(first, leapYear)-leapYear, 0, 0).UnixNano()
		}
		if first > 0 {
			return ns, false, fmt.Sprintf("the times in the log, which name no year and no zone: the year is %d by %s, the zone taken as UTC", first, from)
		}
		base := ns[0]
		for i := range ns {
			ns[i] -= base
		}
		return ns, true, fmt.Sprintf("the times in the log, which name no year: counted from the first line (%s, year unknown)", stamps[0].yearless.Format("01-02 15:04:05"))
	}
	for i := range ns {
		ns[i] = int64(i) * int64(time.Second)
	}
	return ns, true, "no times in the log: its lines in their order"
}

// wraps counts the turns of the year up to each stamp: the date falls back by
// more than half a year.
func wraps(stamps []Stamp) []int {
	out := make([]int, len(stamps))
	n := 0
	for i := 1; i < len(stamps); i++ {
		if stamps[i-1].yearless.Sub(stamps[i].yearless) > 183*24*time.Hour {
			n++
		}
		out[i] = n
	}
	return out
}

// year finds the year of the first stamp: that of a whole date, in the name of
// the file or in the log, which is within a day of a line's month and day.
func (c *Calendar) year(stamps []Stamp, years []int) (year int, from string) {
	base := filepath.Base(filepath.ToSlash(c.Path))
	for _, src := range []struct {
		name  string
		dates []time.Time
	}{{"the file's name", datesIn(base)}, {"a date in the log", c.dates}, {"the directory's name", datesIn(strings.TrimSuffix(filepath.ToSlash(c.Path), base))}} {
		for _, d := range src.dates {
			for _, i := range []int{0, len(stamps) - 1} {
				for y := d.Year() - 1; y <= d.Year()+1; y++ {
					t := stamps[i].yearless.AddDate(y-leapYear, 0, 0)
					if diff := t.Sub(d); diff > -24*time.Hour && diff < 48*time.Hour {
						return y - years[i], src.name
					}
				}
			}
		}
	}
	return 0, ""
}

// YearTime is the first instant within its year, where the year alone is missing.
func YearTime(relative bool, stamps []Stamp) serving.Opt[int64] {
	if !relative || len(stamps) == 0 || slices.ContainsFunc(stamps, func(s Stamp) bool { return s.yearless.IsZero() }) {
		return serving.None[int64]()
	}
	return serving.Some(stamps[0].yearless.Sub(time.Date(leapYear, 1, 1, 0, 0, 0, 0, time.UTC)).Nanoseconds())
}

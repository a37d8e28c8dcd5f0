package logtext

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// zero reports whether a line said no time.
func (s Stamp) zero() bool { return s.full.IsZero() && s.yearless.IsZero() }

// A dating turns stamps into instants by the rule that others of their log were
// dated by.
type dating struct {
	ok   bool
	full bool // whole dates
	year int  // of dates without one; 0 not known
	near time.Time

	assumed string // for readers: what the stamps do not say themselves; "" for nothing
}

// dating finds the rule for a log from stamps of it.
func (c *Calendar) dating(like []Stamp) dating {
	full, yearless := true, true
	for _, s := range like {
		full = full && !s.full.IsZero()
		yearless = yearless && !s.yearless.IsZero()
	}
	if !full && !yearless {
		for _, s := range like { // a log of several loggers
			if !s.full.IsZero() {
				return dating{ok: true, full: true, near: s.full, assumed: "some times in the log name no year or no zone: the year is that of the others, the zone taken as UTC"}
			}
		}
		return dating{}
	}
	ns, relative, rule := c.Instants(like)
	d := dating{ok: true, full: full}
	if rule != timesInLog {
		d.assumed = rule
	}
	switch {
	case relative:
		d.near = like[0].yearless
		// Unlike series, events may get a year from the other files.
		d.assumed = "the times in the log, which name no year and no zone: the year is that of the other files, where they say one, the zone taken as UTC"
	default:
		d.near = time.Unix(0, ns[0]).UTC()
		d.year = d.near.Year()
	}
	return d
}

// instant dates a stamp. Of a date without a year the year is the one that puts
// it nearest to the others. Where no year is known, instants count from 1 January
// of a leap year.
func (d dating) instant(s Stamp) int64 {
	whole := s.full
	if whole.IsZero() || !d.full && !s.yearless.IsZero() {
		whole = time.Time{}
	}
	if d.full || d.year > 0 {
		if !whole.IsZero() {
			return whole.UnixNano()
		}
		return nearest(s.yearless, d.near).UnixNano()
	}
	t := s.yearless
	if t.IsZero() {
		w := s.full.UTC()
		t = time.Date(leapYear, w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), w.Nanosecond(), time.UTC)
	}
	return nearest(t, d.near).Sub(time.Date(leapYear, 1, 1, 0, 0, 0, 0, time.UTC)).Nanoseconds()
}

// nearest gives a date of leapYear the year that puts it nearest to another.
func nearest(t, to time.Time) time.Time {
	var best time.Time
	for y := to.Year() - 1; y <= to.Year()+1; y++ {
		at := t.AddDate(y-t.Year(), 0, 0)
		if best.IsZero() || at.Sub(to).Abs() < best.Sub(to).Abs() {
			best = at
		}
	}
	return best
}

// More ways to write a time.
var (
	trtTime    = regexp.MustCompile(`\[(\d\d)/(\d\d)/(\d{4})-(\d\d):(\d\d):(\d\d)\]`)                                                           // [12/02/2025-10:11:12] [TRT-LLM] [E]
	klogTime   = regexp.MustCompile(`(?:^|[ :])[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?`)                                        // E1117 14:50:30.270000
	syslogTime = regexp.MustCompile(`(?:^|[^\w])(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ([ \d]\d) (\d\d):(\d\d):(\d\d)(?: (\d{4}))?`) // Nov 17 14:50:30, and dmesg -T with a year
	mailTime   = regexp.MustCompile(`(\d{1,2})[ /](Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ /](\d{4})[ :](\d\d):(\d\d):(\d\d) ([+-]\d{4})`)
)

// monthOf is a month's two digits.
func monthOf(name string) string {
	return fmt.Sprintf("%02d", strings.Index("JanFebMarAprMayJunJulAugSepOctNovDec", name)/3+1)
}

// otherStamp reads the times that TensorRT-LLM, Kubernetes, the kernel and web
// servers write.
func otherStamp(before string) (s Stamp) {
	if m := trtTime.FindStringSubmatch(before); m != nil {
		s.full, _ = date(atoi(m[3]), []string{m[1], m[2], m[4], m[5], m[6], ""}, time.UTC)
		return s
	}
	if m := mailTime.FindStringSubmatch(before); m != nil {
		off := atoi(m[7][1:3])*3600 + atoi(m[7][3:])*60
		if m[7][0] == '-' {
			off = -off
		}
		var ok bool
		if s.full, ok = date(atoi(m[3]), []string{monthOf(m[2]), m[1], m[4], m[5], m[6], ""}, time.FixedZone("", off)); ok {
			s.zoned = true
		}
		return s
	}
	if m := klogTime.FindStringSubmatch(before); m != nil {
		s.yearless, _ = date(leapYear, m[1:7], time.UTC)
		return s
	}
	if m := syslogTime.FindStringSubmatch(before); m != nil {
		part := []string{monthOf(m[1]), strings.TrimSpace(m[2]), m[3], m[4], m[5], ""}
		if m[6] != "" {
			s.full, _ = date(atoi(m[6]), part, time.UTC)
			return s
		}
		s.yearless, _ = date(leapYear, part, time.UTC)
	}
	return s
}

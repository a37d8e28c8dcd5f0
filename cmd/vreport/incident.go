package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze/cube"
)

func (o *options) setIncident(vs []given) error {
	v := last(vs)
	w, err := parseIncident(v.text)
	if err != nil {
		return wrong(v, "%w", err)
	}
	o.analyze.Incident = w
	return nil
}

// parseIncident reads FROM/TO, of which one may be a length: FROM/15m, 15m/TO.
// TO may be a time of FROM's day (2026-11-03T10:00:00Z/10:15) or left out, for
// an incident that lasts to the end of the data.
func parseIncident(s string) (cube.Window, error) {
	const want = "want FROM/TO, e.g. 2026-11-03T10:00:00Z/2026-11-03T10:15:00Z, 2026-11-03T19:00+09:00/15m, or seconds for data without a calendar time, e.g. 60/120"
	from, to, ok := strings.Cut(s, "/")
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if !ok || from == "" {
		return cube.Window{}, fmt.Errorf("%q, %s", s, want)
	}
	lengthFrom, isLengthFrom := parseLength(from)
	lengthTo, isLengthTo := parseLength(to)
	var w cube.Window
	var err error
	switch {
	case isLengthFrom && isLengthTo || isLengthFrom && to == "":
		return cube.Window{}, fmt.Errorf("%q has lengths only, %s", s, want)
	case isLengthFrom:
		if w.To, err = parseInstant(to); err == nil {
			w.From = w.To - lengthFrom
		}
	default:
		if w.From, err = parseInstant(from); err != nil {
			break
		}
		switch {
		case to == "":
			w.To = 1<<63 - 1
		case isLengthTo:
			w.To = w.From + lengthTo
		default:
			w.To, err = parseEnd(from, to)
		}
	}
	if err != nil {
		return cube.Window{}, fmt.Errorf("%w, %s", err, want)
	}
	if w.From >= w.To {
		return cube.Window{}, fmt.Errorf("%q ends before it starts, %s", s, want)
	}
	return w, nil
}

// parseLength reads a length with its unit: 90s, 15m, 1h30m, or PT15M. A bare
// number is a moment.
func parseLength(s string) (int64, bool) {
	if rest, ok := strings.CutPrefix(s, "PT"); ok {
		s = strings.ToLower(rest)
	}
	if s == "" || s[len(s)-1] >= '0' && s[len(s)-1] <= '9' {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	return d.Nanoseconds(), err == nil && d > 0
}

// parseEnd reads the end of a window. A time of day is of the begin's day and
// zone, unless it has a zone of its own.
func parseEnd(from, to string) (int64, error) {
	ns, err := parseInstant(to)
	if err == nil {
		return ns, nil
	}
	day := strings.IndexAny(from, "T ")
	if day < 0 {
		return 0, err
	}
	zone := strings.LastIndexAny(from, "Z+-")
	if zone <= day {
		return 0, err
	}
	for _, text := range []string{from[:day+1] + to + from[zone:], from[:day+1] + to} {
		if ns, e := parseInstant(text); e == nil {
			return ns, nil
		}
	}
	return 0, err
}

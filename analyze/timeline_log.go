package analyze

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// PanelEvents counts lines that tell of failures.
const PanelEvents = "events"

// Bounds on the events of a timeline and on what is drawn of them.
const (
	maxLogEvents = 500 // of a timeline; more are counted together
	drawnCount   = 5   // lines of a kind from which its count over time is drawn
)

// newYear is the instant that yearless times of a year count from: they were
// counted in a leap year, whose days after February are one more.
func newYear(year int, yearless int64) int64 {
	at := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	if leap := time.Date(year, 2, 29, 0, 0, 0, 0, time.UTC); leap.Month() != time.February && yearless >= 59*24*int64(time.Hour) {
		at -= 24 * int64(time.Hour)
	}
	return at
}

// axisYear is the year of the data, which logs do not say; 0 where nothing does.
func axisYear(in *Input) int {
	for _, t := range in.tables {
		if c := t.cube; !c.Relative && c.Start.OK && c.Start.V > 0 {
			return time.Unix(0, c.Start.V).UTC().Year()
		}
	}
	return yearOf(in.Data, nil)
}

// A logClock puts the events of a log onto the axis of its series, or onto that
// of the other data.
type logClock struct {
	log  *serving.EventLog
	by   int64
	ok   bool // there is an axis
	real bool // of dates
}

// clockOf is the clock of a log whose series, if it has any, are those of s; year
// is that of the other data, 0 for none.
func clockOf(l *serving.EventLog, s *serving.Server, year int) logClock {
	c := logClock{log: l}
	switch {
	case !l.Timed || s != nil && s.Relative && !(l.Yearless && s.YearTime.OK):
	case !l.Yearless:
		c.ok, c.real = true, true
	case s != nil && s.Relative:
		c.ok, c.by = true, -s.YearTime.V
	case s != nil || year > 0:
		if s != nil && len(s.Times) > 0 {
			year = time.Unix(0, s.Times[0]).UTC().Year()
		}
		c.ok, c.real, c.by = true, true, newYear(year, l.From)
	default:
		c.ok = true
	}
	return c
}

func (c logClock) at(ns int64) int64 { return ns + c.by }

// event is a log's event for readers.
func (c logClock) event(e serving.Event) Event {
	text := e.What
	if e.Replica != "" {
		text += " (" + e.Replica + ")"
	}
	if e.Count > 1 {
		text += fmt.Sprintf(", %s lines", number(float64(e.Count)))
	}
	out := Event{At: c.at(e.At), Kind: string(e.Kind), Text: text, Source: e.Source.String(), Count: e.Count}
	if e.To > e.At {
		out.To = c.at(e.To)
	}
	return out
}

// logTracks adds the events of logs to the tracks of their series; a log without
// series is a track of its own.
func logTracks(in *Input, tracks []*track, servers []*logServer, year int) ([]*track, []string) {
	var notes []string
	for _, l := range in.Data.Logs {
		if len(l.Events) == 0 {
			continue
		}
		s := serverOf(servers, l)
		var like *serving.Server
		if s != nil {
			like = s.server
		}
		c := clockOf(l, like, year)
		if !c.ok {
			n := int64(0)
			for _, e := range l.Events {
				n += e.Count
			}
			notes = append(notes, fmt.Sprintf("%s says no times: %s that tell of failures stand on no axis.", l.Path, plural(int(n), "line", "lines")))
			continue
		}
		w := in.windowOf(func() int { return in.sides.sideOf(l) })
		k := logTrack(c, w, s)
		if k == nil {
			continue
		}
		k.half = in.halfOf(l)
		if s != nil && s.track != nil {
			s.track.events = append(s.track.events, k.events...)
			s.track.series = append(s.track.series, k.series...)
			continue
		}
		if len(k.series) > 0 {
			tracks = append(tracks, k)
		}
	}
	return tracks, notes
}

// A logServer is a server with its track, nil where it has none.
type logServer struct {
	server *serving.Server
	track  *track
}

func serverOf(all []*logServer, l *serving.EventLog) *logServer {
	for _, s := range all {
		if slices.Contains(s.server.Sources, l.Path) {
			return s
		}
	}
	return nil
}

// logTrack lays a log's events onto an axis: moments, and for kinds that are
// frequent (or of a log that has nothing else) their count over time.
func logTrack(c logClock, w cube.Window, s *logServer) *track {
	label := filepath.Base(c.log.Path)
	k := &track{label: label, relative: !c.real, common: !c.real, from: c.at(c.log.From), to: c.at(c.log.To) + 1}
	kept := map[serving.EventKind][]serving.Event{}
	for _, e := range c.log.Events {
		at := c.at(e.At)
		if c.real && w != (cube.Window{}) && (at < w.From || w.To != 0 && at >= w.To) {
			continue
		}
		if e.Kind == serving.EventRestart && s != nil && seenRestart(s.server, at) {
			continue
		}
		k.events = append(k.events, c.event(e))
		kept[e.Kind] = append(kept[e.Kind], e)
	}
	if len(k.events) == 0 {
		return nil
	}
	k.step = max(int64(10*time.Second), (k.to-k.from)/240)
	if s != nil && s.track != nil {
		k.from, k.to, k.step = s.track.from, s.track.to, max(s.track.step, (s.track.to-s.track.from)/240)
	}
	for _, kind := range []serving.EventKind{serving.EventOOM, serving.EventDied, serving.EventRestart, serving.EventTimeout, serving.EventError} {
		n := int64(0)
		for _, e := range kept[kind] {
			n += e.Count
		}
		if n > 0 && (n >= drawnCount || s == nil || s.track == nil) {
			k.series = append(k.series, k.counts(c, label, kind, kept[kind]))
		}
	}
	return k
}

// seenRestart reports whether a log's series show a restart of about that time.
func seenRestart(s *serving.Server, at int64) bool {
	const near = int64(20 * time.Minute) // loading a model
	return slices.ContainsFunc(s.Restarts, func(r int64) bool { return r-at > -int64(time.Minute) && r-at < near })
}

// counts are the lines of a kind in each step; a step without any has none.
func (k *track) counts(c logClock, label string, kind serving.EventKind, events []serving.Event) trackSeries {
	s := trackSeries{TimelineSeries: TimelineSeries{Metric: "log_lines", Stat: string(kind), Label: label, Unit: serving.NoUnit, Side: serving.ServerSide, Panel: PanelEvents}}
	n := int((k.to-k.from)/k.step) + 1
	for i := range n {
		at := k.from + int64(i)*k.step
		s.at, s.until, s.value = append(s.at, at), append(s.until, at+k.step), append(s.value, 0)
	}
	for _, e := range events {
		if i := int((c.at(e.At) - k.from) / k.step); i >= 0 && i < n {
			s.value[i] += float64(e.Count)
		}
	}
	return s
}

// boundEvents counts events of one kind and text together that stand close to one
// another, until not more than most are left.
func boundEvents(all []Event, most int) []Event {
	if len(all) <= most {
		return all
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	span := all[len(all)-1].At - all[0].At
	for window := max(span/1000, 1); ; window *= 2 {
		var out []Event
		last := map[string]int{}
		for _, e := range all {
			key := e.Kind + "\x00" + plainText(e.Text)
			if i, ok := last[key]; ok && e.At-out[i].At < window && e.Count > 0 {
				o := &out[i]
				o.To, o.Count = max(o.To, e.To, e.At), o.Count+e.Count
				o.Text = plainText(o.Text) + fmt.Sprintf(", %s lines", number(float64(o.Count)))
				continue
			}
			last[key] = len(out)
			out = append(out, e)
		}
		if len(out) <= most || window > span {
			return out
		}
	}
}

// withoutRare leaves out the counts of lines that a mark says as well, where
// something else is drawn.
func withoutRare(all []TimelineSeries) []TimelineSeries {
	isCount := func(s TimelineSeries) bool { return s.Panel == PanelEvents }
	if !slices.ContainsFunc(all, func(s TimelineSeries) bool { return !isCount(s) }) {
		return all
	}
	return slices.DeleteFunc(all, func(s TimelineSeries) bool { return isCount(s) && sumKnown(s.Values) < drawnCount })
}

// plainText is an event's text without its count.
func plainText(s string) string {
	if i := strings.LastIndex(s, ", "); i >= 0 && strings.HasSuffix(s, " lines") {
		return s[:i]
	}
	return s
}

// onOneAxis lets tracks that count from the turn of an unknown year count from the
// first of them: they were there at the same time, though nobody knows when.
func onOneAxis(tracks []*track) {
	start := int64(math.MaxInt64)
	for _, t := range tracks {
		if t.common {
			start = min(start, t.from)
		}
	}
	for _, t := range tracks {
		if t.common {
			t.shift(start)
			t.aligned = false
		}
	}
}

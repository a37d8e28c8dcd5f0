package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// A ClockOffset puts a source's clock right: what is added to its times. Of data
// without a calendar time it may say the instant at which their time is 0.
type ClockOffset struct {
	Of    string // client, server, log, or a label, a path or a glob of one
	By    int64  // ns
	Start bool   // By is the instant at which the source's time is 0, ns since the epoch
}

// Kinds of sources that have a clock of their own.
const (
	clockClient = "client" // benchmark runs, traces of a client
	clockServer = "server" // scrapes, traces of a server
	clockLog    = "log"    // engine logs
)

// ParseClockOffset reads `SOURCE=OFFSET`: client=-2.5s, log=9h, or for data that
// count from their start client=2026-11-03T10:00:00Z.
func ParseClockOffset(s string) (ClockOffset, error) {
	const want = "want SOURCE=OFFSET, e.g. client=-2.5s, log=+9h, or client=2026-11-03T10:00:00Z for times that count from their start"
	i := strings.LastIndex(s, "=")
	if i <= 0 {
		return ClockOffset{}, fmt.Errorf("%q, %s", s, want)
	}
	c := ClockOffset{Of: strings.TrimSpace(s[:i])}
	text := strings.TrimSpace(s[i+1:])
	if d, err := time.ParseDuration(strings.TrimPrefix(text, "+")); err == nil {
		c.By = d.Nanoseconds()
		return c, nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(form, text); err == nil && t.UTC().Year() >= 1678 && t.UTC().Year() <= 2261 {
			c.By, c.Start = t.UnixNano(), true
			return c, nil
		}
	}
	return ClockOffset{}, fmt.Errorf("%q is no length with a unit, nor a time with a zone, %s", text, want)
}

// clocks puts the clocks of a dataset's sources right. What names a label or a
// path wins over what names a kind.
type clocks struct {
	offsets []ClockOffset
	used    []bool
	known   []string // names that sources have, for a complaint
}

func setClocks(ds *serving.Dataset, offsets []ClockOffset) error {
	if len(offsets) == 0 {
		return nil
	}
	c := &clocks{offsets, make([]bool, len(offsets)), nil}
	for i, t := range ds.Traces {
		kind := clockServer
		if t.Side() == serving.Client {
			kind = clockClient
		}
		var files []string
		for _, p := range t.Parts() {
			files = append(files, p.Source())
		}
		ds.Traces[i] = c.table(t, kind, append(files, t.Name())...)
	}
	for _, r := range ds.Runs {
		if r.Requests != nil {
			r.Requests = c.table(r.Requests, clockClient, r.Source.Path, r.Label, r.Requests.Name())
		}
		if r.Course != nil {
			if o, ok := c.of(clockClient, r.Source.Path, r.Label, r.Course.Source.Path); ok {
				shiftCourse(r.Course, o)
			}
		}
	}
	for _, s := range ds.Servers {
		kind := clockServer
		if len(s.Histograms) == 0 && s.GaugeOf(serving.GenerationRate) != nil {
			kind = clockLog
		}
		if o, ok := c.of(kind, append(slices.Clone(s.Sources), s.Label, s.ID)...); ok && !o.Start {
			shiftServer(s, o.By)
		}
	}
	for _, l := range ds.Logs {
		if o, ok := c.of(clockLog, l.Path); ok && !o.Start && l.Timed {
			shiftLog(l, o.By)
		}
	}
	for _, o := range offsets {
		if o.Of == clockServer && !o.Start && len(ds.Raw.Series) > 0 {
			shiftRaw(&ds.Raw, o.By)
		}
	}
	return c.unused()
}

// of finds what was said of a source: the last word on one of its names, else
// on its kind.
func (c *clocks) of(kind string, names ...string) (ClockOffset, bool) {
	best, named := -1, false
	for i, o := range c.offsets {
		switch {
		case slices.ContainsFunc(names, func(n string) bool { return n != "" && (o.Of == n || globbed(o.Of, n)) }):
			best, named = i, true
		case o.Of == kind && !named:
			best = i
		default:
			continue
		}
		c.used[i] = true
	}
	c.known = append(c.known, names...)
	if best < 0 {
		return ClockOffset{}, false
	}
	return c.offsets[best], true
}

func globbed(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok || strings.HasPrefix(name, strings.TrimSuffix(pattern, "/")+"/")
}

// unused is an error for a name that no source has. A kind that is not there is
// none: a config file is of many reports.
func (c *clocks) unused() error {
	slices.Sort(c.known)
	c.known = slices.Compact(slices.DeleteFunc(c.known, func(s string) bool { return s == "" }))
	for i, o := range c.offsets {
		if c.used[i] || slices.Contains([]string{clockClient, clockServer, clockLog}, o.Of) {
			continue
		}
		names := c.known
		if len(names) > 8 {
			names = append(slices.Clone(names[:8]), "…")
		}
		return fmt.Errorf("--clock-offset: no source is called %q, want client, server, log, or one of %s", o.Of, strings.Join(names, ", "))
	}
	return nil
}

func (c *clocks) table(t serving.Requests, kind string, names ...string) serving.Requests {
	o, ok := c.of(kind, names...)
	if !ok {
		return t
	}
	out := &clocked{Requests: t, by: o.By}
	for _, col := range t.Columns() {
		if col.Kind == serving.KindTime && col.Relative == o.Start {
			out.times = append(out.times, col.Name)
		}
	}
	if len(out.times) == 0 {
		return t
	}
	return out
}

// clocked is a table on another clock.
type clocked struct {
	serving.Requests
	by    int64
	times []string // columns that move
}

func (t *clocked) Columns() []serving.Column {
	out := slices.Clone(t.Requests.Columns())
	for i := range out {
		if slices.Contains(t.times, out[i].Name) {
			out[i].Relative = false
		}
	}
	return out
}

func (t *clocked) Parts() []serving.Part {
	var out []serving.Part
	for _, p := range t.Requests.Parts() {
		out = append(out, &clockedPart{p, t})
	}
	return out
}

type clockedPart struct {
	serving.Part
	of *clocked
}

// Scan moves times in a copy: the batch's own may be the table.
func (p *clockedPart) Scan(ctx context.Context, want []string, problems *serving.Problems, yield func(*serving.Batch) error) error {
	moved := map[int][]int64{}
	for i, name := range want {
		if slices.Contains(p.of.times, name) {
			moved[i] = nil
		}
	}
	if len(moved) == 0 {
		return p.Part.Scan(ctx, want, problems, yield)
	}
	return p.Part.Scan(ctx, want, problems, func(b *serving.Batch) error {
		out := *b
		out.Cols = slices.Clone(b.Cols)
		for i, buf := range moved {
			buf = append(buf[:0], b.Cols[i].Ints...)
			for k := range buf {
				buf[k] = plus(buf[k], p.of.by)
			}
			moved[i], out.Cols[i].Ints = buf, buf
		}
		return yield(&out)
	})
}

// TextAt looks single texts up where the part can.
func (p *clockedPart) TextAt(ctx context.Context, column string, rows []int64) ([]string, error) {
	if q, ok := p.Part.(interface {
		TextAt(context.Context, string, []int64) ([]string, error)
	}); ok {
		return q.TextAt(ctx, column, rows)
	}
	return nil, errors.ErrUnsupported
}

// plus adds without running over: slots without a value hold anything.
func plus(a, b int64) int64 {
	if s := a + b; (s > a) == (b > 0) {
		return s
	}
	if b > 0 {
		return math.MaxInt64
	}
	return math.MinInt64
}

func shifted(list []int64, by int64) []int64 {
	out := slices.Clone(list)
	for i := range out {
		out[i] = plus(out[i], by)
	}
	return out
}

// shiftServer moves scrapes that have a time; those that have only an order have
// no clock.
func shiftServer(s *serving.Server, by int64) {
	if s.Relative {
		if s.YearTime.OK {
			s.YearTime.V += by
		}
		return
	}
	s.Times, s.Restarts = shifted(s.Times, by), shifted(s.Restarts, by)
	s.Gaps = slices.Clone(s.Gaps)
	for i := range s.Gaps {
		s.Gaps[i].From, s.Gaps[i].To = plus(s.Gaps[i].From, by), plus(s.Gaps[i].To, by)
	}
}

// shiftCourse moves slices that have a time; those that follow each other from an
// unknown start get one.
func shiftCourse(c *serving.Course, o ClockOffset) {
	_, _, timed := c.Span()
	c.Slices = slices.Clone(c.Slices)
	for i := range c.Slices {
		s := &c.Slices[i]
		switch {
		case s.Start.OK && !o.Start:
			s.Start.V, s.End.V = plus(s.Start.V, o.By), plus(s.End.V, o.By)
		case !timed && o.Start && c.Step.OK:
			step := c.Step.V * 1e9
			s.Start = serving.Some(plus(o.By, int64(float64(s.Index)*step)))
			s.End = serving.Some(plus(o.By, int64(float64(s.Index+1)*step)))
		}
	}
}

func shiftLog(l *serving.EventLog, by int64) {
	l.From, l.To = plus(l.From, by), plus(l.To, by)
	l.Events, l.Answers = slices.Clone(l.Events), slices.Clone(l.Answers)
	for i := range l.Events {
		l.Events[i].At, l.Events[i].To = plus(l.Events[i].At, by), plus(l.Events[i].To, by)
	}
	for i := range l.Answers {
		l.Answers[i].At, l.Answers[i].To = plus(l.Answers[i].At, by), plus(l.Answers[i].To, by)
	}
}

// shiftRaw moves the series of the user's own expressions, whose times are
// shared between series.
func shiftRaw(r *serving.Raw, by int64) {
	if r.Relative {
		return
	}
	moved := map[*int64][]int64{}
	for i := range r.Series {
		t := r.Series[i].T
		if len(t) == 0 {
			continue
		}
		if moved[&t[0]] == nil {
			moved[&t[0]] = shifted(t, by/1e6)
		}
		r.Series[i].T = moved[&t[0]][:len(t):len(t)]
	}
}

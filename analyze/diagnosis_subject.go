package analyze

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/rules"
	"github.com/vreport/vreport/ingest/serving"
)

// A channel is one kind of source of a subject.
type channel interface {
	phase(from, to float64) *phase
	signals() []*signal
}

// A source is a channel with its name and what it covers.
type source struct {
	channel
	kind     string // trace, scrapes, log, client
	label    string
	from, to int64 // ns
	relative bool
	model    string         // where a table has several; of scrapes what they serve
	rows     *rowChannel    // of trace and client
	servers  *serverChannel // of scrapes and log
}

// A diagSubject is what one diagnosis is about: sources that cover the same time.
type diagSubject struct {
	label    string
	origin   int64 // ns: where its axis begins
	relative bool
	sources  []*source // trace before scrapes before client before log
	span     float64

	lead     onset // where the incident shows most
	found    bool
	own      map[*source]onset
	searched map[*source]bool // long enough for a change to be looked for
	onsets   []Onset
	phases   map[*source]phases
	facts    rules.Facts
	few      map[rules.Key]string // facts that too few requests tell, and how few
	client   rules.Facts          // of the load generator, over whole runs
	given    cube.Window          // the incident as the user marked it, ns

	logs      []*serving.EventLog // of the dataset
	year      int                 // of the data; 0 not known
	logFailed *failedShares       // by access logs; nil where none covers the time
}

var kindOrder = []string{"trace", "scrapes", "client", "log"}

// sourcesOf reads everything that a diagnosis can rest on.
func sourcesOf(ctx context.Context, in *Input) (out []*source, notes []string, err error) {
	add := func(src serving.Requests, kind string) error {
		rs, err := in.rowsOf(ctx, src, in.windowOf(func() int { return in.sides.sideOf(src) }))
		switch {
		case errors.Is(err, errTooManyRows):
			notes = append(notes, fmt.Sprintf("%s has more than %s requests: they are not read again for a diagnosis. Cut it into files by time.", src.Name(), number(maxDrawn)))
			return nil
		case err != nil:
			return err
		case rs == nil || len(rs.rows) < 10 || !(rs.span() > 0):
			return nil
		}
		if rs.every > 1 {
			notes = append(notes, fmt.Sprintf("%s: one request in %.0f was looked at, and counts are multiplied by it.", src.Name(), rs.every))
		}
		rs.goodput = in.Opt.Goodput
		parts, left := rs.byModel()
		if left != "" {
			notes = append(notes, left)
		}
		for _, p := range parts {
			c := newRowChannel(p)
			one := &source{channel: c, kind: kind, label: p.name, from: p.origin, to: p.origin + int64(p.span()*1e9), relative: p.relative, rows: c}
			if len(rs.models) > 1 {
				one.model = p.models[0]
			}
			out = append(out, one)
		}
		return nil
	}
	for _, t := range in.Data.Traces {
		kind := "trace"
		if t.Side() == serving.Client {
			kind = "client"
		}
		if err := add(t, kind); err != nil {
			return nil, nil, err
		}
	}
	if j, err := joinRuns(ctx, in, in.joinable()); err != nil {
		return nil, nil, err
	} else if j != nil {
		out = append(out, j)
	}
	out = append(out, serverSources(in, yearOf(in.Data, out))...)
	return out, notes, nil
}

// rowsOf returns the requests of a table that were picked out when it was scanned,
// and reads them where it was not.
func (in *Input) rowsOf(ctx context.Context, src serving.Requests, w cube.Window) (*rowSource, error) {
	for _, t := range in.tables {
		if t.src == src {
			if t.rows == nil {
				return nil, nil
			}
			return t.rows.source(), nil
		}
	}
	return readRows(ctx, src, w)
}

// joinable returns the runs with requests in the order they were started, if they
// are of one offered rate. Runs at several loads are a sweep, in which a change of
// latency is what was asked for.
func (in *Input) joinable() []*serving.Run {
	runs := slices.DeleteFunc(slices.Clone(in.Data.Runs), func(r *serving.Run) bool { return r.Requests == nil })
	for _, r := range runs {
		if r.Load != runs[0].Load || r.Model != runs[0].Model || len(runs) > 1 && r.Load.Mode != serving.OpenLoop {
			return nil
		}
	}
	slices.SortStableFunc(runs, func(a, b *serving.Run) int { return strings.Compare(a.Started.Or(""), b.Started.Or("")) })
	return runs
}

// joinRuns takes the requests of runs one after the other, as one table.
func joinRuns(ctx context.Context, in *Input, runs []*serving.Run) (*source, error) {
	var all *rowSource
	for _, r := range runs {
		rs, err := in.rowsOf(ctx, r.Requests, in.windowOf(func() int { return in.sides.sideOf(r) }))
		switch {
		case err != nil && !errors.Is(err, errTooManyRows):
			return nil, err
		case rs == nil || len(rs.rows) == 0:
			return nil, nil
		case all == nil:
			all = rs
		default:
			if rs.every != all.every || len(rs.replicas)+len(rs.workloads)+len(all.replicas)+len(all.workloads) > 0 {
				return nil, nil
			}
			by := all.span() + 1 // clocks of two runs have nothing in common but their order
			for i := range rs.rows {
				rs.rows[i].at += by
				rs.rows[i].src += int32(len(all.srcs))
			}
			all.srcs = append(all.srcs, rs.srcs...)
			all.rows = append(all.rows, rs.rows...)
			all.name = plural(len(runs), "benchmark run", "benchmark runs")
		}
	}
	if all == nil || len(all.rows) < 10 || !(all.span() > 0) {
		return nil, nil
	}
	all.goodput = in.Opt.Goodput
	c := newRowChannel(all)
	return &source{channel: c, kind: "client", label: all.name, from: all.origin, to: all.origin + int64(all.span()*1e9), relative: all.relative, rows: c}, nil
}

// serverSources groups engines that were there at the same time, scrapes and
// logs apart.
func serverSources(in *Input, year int) []*source {
	var out []*source
	var devices []serverView
	for _, s := range in.Data.Servers {
		orig := s
		s, common := dated(s, year)
		v := viewOf(s, in.windowOf(func() int { return in.sides.sideOf(orig) }))
		if v.n() < 2 {
			continue
		}
		kind := "scrapes"
		switch {
		case isLog(s):
			kind = "log"
		case s.GaugeOf(serving.Running) == nil && s.GaugeOf(serving.Waiting) == nil && s.HistogramOf(serving.TTFT) == nil && s.HistogramOf(serving.E2E) == nil:
			devices = append(devices, v)
			continue
		}
		from, to := v.Times[v.from], v.Times[v.to-1]
		i := slices.IndexFunc(out, func(o *source) bool {
			return o.kind == kind && o.relative == v.Relative && (common || !v.Relative) && o.servers.views[0].Model == v.Model && o.from < to && from < o.to
		})
		if i < 0 {
			out = append(out, &source{kind: kind, from: from, to: to, relative: v.Relative, model: v.Model.Or(""), servers: &serverChannel{log: kind == "log", relative: v.Relative}})
			i = len(out) - 1
		}
		o := out[i]
		o.servers.views = append(o.servers.views, v)
		o.from, o.to = min(o.from, from), max(o.to, to)
	}
	for _, o := range out {
		c := o.servers
		o.channel = c
		c.origin, c.span = o.from, float64(o.to-o.from)/1e9
		for _, v := range c.views {
			c.step = max(c.step, float64(usualInterval(v.Times[v.from:v.to]))/1e9)
		}
		c.step = max(c.step, c.span/250, 1e-3)
		for _, d := range devices {
			if !d.Relative && !o.relative && d.Times[d.from] < o.to && d.Times[d.to-1] > o.from {
				c.devices = append(c.devices, d)
			}
		}
		o.label = o.kind + " of " + c.views[0].Label
		if n := len(c.views); n > 1 {
			o.label = fmt.Sprintf("%s of %d replicas", o.kind, n)
		}
	}
	return slices.DeleteFunc(out, func(o *source) bool { return !(o.servers.span > 0) })
}

// subjectsOf joins sources that cover the same time. What a client recorded on a
// clock of its own is taken to be of the only subject, where there is one.
func subjectsOf(all []*source) []*diagSubject {
	var out []*diagSubject
	slices.SortStableFunc(all, func(a, b *source) int {
		return slices.Index(kindOrder, a.kind) - slices.Index(kindOrder, b.kind)
	})
	for _, s := range all {
		i := slices.IndexFunc(out, func(u *diagSubject) bool {
			o := u.sources[0]
			return !s.relative && !o.relative && overlap(s, o) > 0.5 && !s.otherModel(o) && !slices.ContainsFunc(u.sources, func(x *source) bool { return x.kind == s.kind })
		})
		if i < 0 && s.relative && len(out) == 1 && s.kind == "client" && !slices.ContainsFunc(out[0].sources, func(x *source) bool { return x.kind == "client" }) && similar(s, out[0].sources[0]) {
			i = 0
		}
		if i < 0 {
			out = append(out, &diagSubject{label: s.label})
			i = len(out) - 1
		}
		out[i].sources = append(out[i].sources, s)
	}
	for _, u := range out {
		u.relative = u.sources[0].relative
		u.origin = math.MaxInt64
		to := int64(math.MinInt64)
		for _, s := range u.sources {
			if s.relative == u.relative {
				u.origin, to = min(u.origin, s.from), max(to, s.to)
			}
		}
		u.span = float64(to-u.origin) / 1e9
		for _, s := range u.sources {
			if s.relative == u.relative {
				s.shift(u.origin)
			}
		}
	}
	return out
}

// shift puts a source on the subject's axis.
func (s *source) shift(origin int64) {
	if s.servers != nil {
		s.servers.origin = origin
		s.servers.span = float64(s.to-origin) / 1e9
		return
	}
	if s.rows.origin == origin {
		return
	}
	by := float64(s.rows.origin-origin) / 1e9
	for i := range s.rows.rows {
		s.rows.rows[i].at += by
	}
	s.rows.origin = origin
	*s.rows = *newRowChannel(s.rows.rowSource)
}

// overlap is the part of the shorter one that both cover.
func overlap(a, b *source) float64 {
	both := min(a.to, b.to) - max(a.from, b.from)
	return float64(both) / float64(max(1, min(a.to-a.from, b.to-b.from)))
}

// similar is whether two cover about as much time.
func similar(a, b *source) bool {
	r := float64(a.to-a.from) / float64(max(1, b.to-b.from))
	return r > 0.5 && r < 2
}

func (u *diagSubject) of(kind string) *source {
	for _, s := range u.sources {
		if s.kind == kind {
			return s
		}
	}
	return nil
}

// yearOf is the year of the data, which logs do not say; 0 where nothing does.
func yearOf(ds *serving.Dataset, rows []*source) int {
	for _, s := range rows {
		if !s.relative {
			return time.Unix(0, s.from).UTC().Year()
		}
	}
	for _, s := range ds.Servers {
		if !s.Relative && len(s.Times) > 0 {
			return time.Unix(0, s.Times[0]).UTC().Year()
		}
	}
	for _, l := range ds.Logs {
		if l.Timed && !l.Yearless && l.From > 0 {
			return time.Unix(0, l.From).UTC().Year()
		}
	}
	return 0
}

// dated puts a log whose lines name no year into the year of the other data; of
// logs alone, on one axis with one another. common says that it has one.
func dated(s *serving.Server, year int) (_ *serving.Server, common bool) {
	if !s.Relative || !s.YearTime.OK {
		return s, !s.Relative
	}
	by, relative := s.YearTime.V, true
	if year > 0 {
		by, relative = by+newYear(year, s.YearTime.V), false
	}
	out := *s
	out.Relative, out.YearTime = relative, serving.Some[int64](0) // its times count from there now
	out.Times = slices.Clone(s.Times)
	for i := range out.Times {
		out.Times[i] += by
	}
	out.Restarts = slices.Clone(s.Restarts)
	for i := range out.Restarts {
		out.Restarts[i] += by
	}
	out.Gaps = slices.Clone(s.Gaps)
	for i := range out.Gaps {
		out.Gaps[i].From += by
		out.Gaps[i].To += by
	}
	return &out, true
}

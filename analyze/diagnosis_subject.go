package analyze

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

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
}

var kindOrder = []string{"trace", "scrapes", "client", "log"}

// sourcesOf reads everything that a diagnosis can rest on.
func sourcesOf(ctx context.Context, in *Input) (out []*source, notes []string, err error) {
	add := func(src serving.Requests, kind string) error {
		rs, err := readRows(ctx, src, in.windowOf(func() int { return in.sides.sideOf(src) }))
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
			notes = append(notes, fmt.Sprintf("%s: every %s request was looked at, and counts are multiplied by it.", src.Name(), ordinal(int(rs.every))))
		}
		c := newRowChannel(rs)
		out = append(out, &source{channel: c, kind: kind, label: src.Name(), from: rs.origin, to: rs.origin + int64(rs.span()*1e9), relative: rs.relative, rows: c})
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
	runs := slices.DeleteFunc(slices.Clone(in.Data.Runs), func(r *serving.Run) bool { return r.Requests == nil })
	for _, r := range joinable(runs) {
		if err := add(r, "client"); err != nil {
			return nil, nil, err
		}
	}
	out = append(out, serverSources(in)...)
	return out, notes, nil
}

func ordinal(n int) string {
	if n == 1 {
		return "1st"
	}
	return fmt.Sprintf("%d-th", n)
}

// joinable joins runs of one offered rate, which follow one another on the same
// clock, to one table; runs at several loads are a sweep, in which a change of
// latency is what was asked for.
func joinable(runs []*serving.Run) []serving.Requests {
	if len(runs) == 0 {
		return nil
	}
	for _, r := range runs[1:] {
		if r.Load != runs[0].Load || r.Model != runs[0].Model {
			return nil
		}
	}
	if len(runs) == 1 {
		return []serving.Requests{runs[0].Requests}
	}
	if runs[0].Load.Mode != serving.OpenLoop {
		return nil
	}
	return []serving.Requests{&joinedRuns{runs}}
}

// joinedRuns are runs read one after the other.
type joinedRuns struct{ runs []*serving.Run }

func (j *joinedRuns) Name() string              { return fmt.Sprintf("%d benchmark runs", len(j.runs)) }
func (j *joinedRuns) Side() serving.Side        { return serving.Client }
func (j *joinedRuns) Columns() []serving.Column { return j.runs[0].Requests.Columns() }
func (j *joinedRuns) Rescannable() bool         { return true }
func (j *joinedRuns) Dict(c string) *serving.Dict {
	return j.runs[0].Requests.Dict(c)
}
func (j *joinedRuns) Parts() []serving.Part {
	var out []serving.Part
	for _, r := range j.runs {
		for _, c := range j.Columns() {
			if !slices.ContainsFunc(r.Requests.Columns(), func(o serving.Column) bool { return o.Name == c.Name && o.Kind == c.Kind }) {
				return out
			}
		}
		out = append(out, r.Requests.Parts()...)
	}
	return out
}

// serverSources groups engines that were there at the same time, scrapes and
// logs apart.
func serverSources(in *Input) []*source {
	var out []*source
	var devices []serverView
	for _, s := range in.Data.Servers {
		v := viewOf(s, in.windowOf(func() int { return in.sides.sideOf(s) }))
		if v.n() < 3 {
			continue
		}
		kind := "scrapes"
		switch {
		case isLog(s):
			kind = "log"
		case s.GaugeOf(serving.Running) == nil && s.HistogramOf(serving.TTFT) == nil && s.HistogramOf(serving.E2E) == nil:
			devices = append(devices, v)
			continue
		}
		from, to := v.Times[v.from], v.Times[v.to-1]
		i := slices.IndexFunc(out, func(o *source) bool {
			return o.kind == kind && !o.relative && !v.Relative && o.servers.views[0].Model == v.Model && o.from < to && from < o.to
		})
		if i < 0 {
			out = append(out, &source{kind: kind, from: from, to: to, relative: v.Relative, servers: &serverChannel{log: kind == "log", relative: v.Relative}})
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
			return !s.relative && !o.relative && overlap(s, o) > 0.5 && !slices.ContainsFunc(u.sources, func(x *source) bool { return x.kind == s.kind })
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

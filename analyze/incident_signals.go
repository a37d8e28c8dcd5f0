package analyze

import (
	"math"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// context are signals beside those in which an incident shows: what was asked
// for and what the server did with it. Their changes stand in the order of
// onsets and decide nothing.
func (s *source) context() []*signal {
	if s.rows != nil {
		return s.rows.context()
	}
	return s.servers.context()
}

func (c *serverChannel) context() []*signal {
	if c.log {
		return nil
	}
	mean := func(name string, m serving.MetricKey) *signal {
		return c.over(name, func(from, to float64) (float64, float64) {
			s := c.hist(m, from, to)
			return s.Mean, s.N
		})
	}
	arrivals := c.over("arrivals", func(from, to float64) (float64, float64) { return c.arrivals(from, to) / (to - from), 0 })
	missed := c.over("cache_missed", func(from, to float64) (float64, float64) {
		return 1 - c.rise(serving.PrefixHits, from, to, nil)/c.rise(serving.PrefixQueries, from, to, nil), 0
	})
	arrivals.n, missed.n = nil, nil
	return []*signal{arrivals, missed, mean("prompt_tokens", serving.PromptTokens), mean("output_tokens", serving.OutputTokens)}
}

// zoom is a source cut to a stretch, for windows of its own.
func (s *source) zoom(from, to float64) *source {
	out := *s
	if s.rows != nil {
		rs := *s.rows.rowSource
		rs.rows = slices.Clone(s.rows.among(from, to))
		for i := range rs.rows {
			rs.rows[i].at -= from
		}
		out.rows = newRowChannel(&rs)
		out.channel = out.rows
		return &out
	}
	c := *s.servers
	c.origin += int64(from * 1e9)
	c.span, c.step = to-from, 0
	c.views = nil
	for _, v := range s.servers.views {
		cut := s.servers.within(v, from, to)
		if cut.n() < 2 {
			continue
		}
		c.views = append(c.views, cut)
		c.step = max(c.step, float64(usualInterval(cut.Times[cut.from:cut.to]))/1e9)
	}
	c.step = max(c.step, c.span/250, 1e-3)
	out.servers, out.channel = &c, &c
	return &out
}

// searchable says whether there is enough in a source to look for changes in.
func (s *source) searchable() bool {
	if s.rows != nil {
		return len(s.rows.rows) >= 10 && s.rows.span() > 0
	}
	return len(s.servers.views) > 0
}

// order lists what changed for the worse in each source: of a marked window in
// and before it, in windows as fine as that allows.
func (u *diagSubject) order() {
	quiet := 0.0
	if u.found {
		quiet = (u.lead.since + u.lead.guard) / 2
	}
	for _, s := range u.sources {
		if s.relative != u.relative {
			continue
		}
		from := 0.0
		if u.lead.given {
			from = u.lead.since
			s = s.zoom(from, u.lead.to)
		}
		if !s.searchable() {
			continue
		}
		for _, o := range onsetsOf(slices.Concat(s.signals(), s.context()), clearly(quiet-from)) {
			o = o.refined(s)
			o.from += from
			u.onsets = append(u.onsets, u.onset(o, s))
		}
	}
}

// Of a marked window the baseline is what precedes it, but no more than so many
// times its length: yesterday's traffic is another workload.
const (
	baselineLengths = 3
	baselineLeast   = 300 // seconds, where the data have them
)

// markGiven takes the user's window for the incident, where the subject covers
// some of it.
func (u *diagSubject) markGiven() {
	if u.given == (cube.Window{}) {
		return
	}
	if u.yearless() {
		u.given.From += u.origin
		if u.given.To < math.MaxInt64-u.origin {
			u.given.To += u.origin
		}
	}
	end := u.origin + int64(u.span*1e9)
	if u.given.From >= end || u.given.To <= u.origin {
		return
	}
	from := max(0, float64(u.given.From-u.origin)/1e9)
	to := u.span
	if u.given.To < end {
		to = float64(u.given.To-u.origin) / 1e9
	}
	if to <= from {
		return
	}
	since := max(0, from-max(baselineLengths*(to-from), baselineLeast))
	u.lead = onset{from: from, to: to, guard: from, since: since, given: true, open: u.given.To >= end}
	u.found = true
}

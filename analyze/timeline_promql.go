package analyze

import (
	"context"
	"time"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/promql"
	"github.com/vreport/vreport/ingest/serving"
)

// PanelPromQL holds the user's own expressions.
const PanelPromQL = "promql"

// queryTracks runs the user's expressions over the scraped series, of a comparison
// over those of each side. What goes wrong with one of them is a note and leaves the
// others alone.
func queryTracks(ctx context.Context, in *Input) (tracks []*track, notes []string) {
	if len(in.Opt.PromQL) == 0 {
		return nil, nil
	}
	if in.sides == nil {
		return queryScrapes(ctx, in.Data.Raw, in.Opt.PromQL, in.Opt.Window)
	}
	for i, ds := range in.sides.Data {
		ts, more := queryScrapes(ctx, ds.Raw, in.Opt.PromQL, in.windowOf(func() int { return i }))
		name := in.sides.Names[i]
		for _, k := range ts {
			k.half, k.label = FirstHalf+Half(i), name+" · "+k.label
			for s := range k.series {
				k.series[s].Label = name + " · " + k.series[s].Label
			}
		}
		for _, n := range more {
			notes = append(notes, name+": "+n)
		}
		tracks = append(tracks, ts...)
	}
	return tracks, notes
}

func queryScrapes(ctx context.Context, raw serving.Raw, queries []Query, w cube.Window) (tracks []*track, notes []string) {
	db := promql.New(raw.Series)
	if db.Len() == 0 {
		return nil, []string{"--promql has no series to look at: it needs Prometheus scrapes, API answers or dumps with the series' own names, a TSDB snapshot, or AIPerf's server metrics with their course (JSONL, Parquet, or JSON with time slices)."}
	}
	from, to := db.Span()
	if w.To > w.From {
		from, to = later(from, w.From), earlier(to, w.To)
	}
	if to.Before(from) {
		return nil, []string{"--promql: no series lies in the window."}
	}
	step := max(db.Interval(), to.Sub(from)/maxSteps, time.Millisecond)
	if raw.Relative {
		notes = append(notes, "--promql: the scrapes carry no time, so their times are made up and rates are not per second.")
	}
	for _, q := range queries {
		results, warnings, err := db.Range(ctx, q.Expr, from, to, step)
		for _, w := range warnings {
			notes = append(notes, q.Name+": "+w)
		}
		if err != nil {
			notes = append(notes, q.Name+": "+err.Error())
			continue
		}
		if k := queryTrack(q, db.Expand(q.Expr, step), results, step, raw.Relative); k != nil {
			tracks = append(tracks, k)
		}
	}
	return tracks, notes
}

// queryTrack turns an expression's results into series, nil where it has none.
func queryTrack(q Query, expr string, results []promql.Result, step time.Duration, relative bool) *track {
	k := &track{label: q.Name, relative: relative, step: step.Nanoseconds()}
	for _, r := range results {
		if len(r.T) == 0 {
			continue
		}
		at, until := make([]int64, len(r.T)), make([]int64, len(r.T))
		for i, ms := range r.T {
			at[i], until[i] = ms*1e6, ms*1e6+k.step
		}
		if len(k.series) == 0 || at[0] < k.from {
			k.from = at[0]
		}
		k.to = max(k.to, until[len(until)-1])
		k.add(ofExpression, TimelineSeries{Metric: q.Name, Label: q.Name, By: r.Labels, Unit: serving.NoUnit, Side: serving.ServerSide, Panel: PanelPromQL, PromQL: expr}, at, until, r.V)
	}
	if len(k.series) == 0 {
		return nil
	}
	return k
}

func later(t time.Time, ns int64) time.Time {
	if u := time.Unix(0, ns); u.After(t) {
		return u
	}
	return t
}

func earlier(t time.Time, ns int64) time.Time {
	if u := time.Unix(0, ns); u.Before(t) {
		return u
	}
	return t
}

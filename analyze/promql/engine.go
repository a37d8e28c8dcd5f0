package promql

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/vreport/vreport/ingest/serving"
)

const (
	maxSamples = 20_000_000 // that a query may hold at once, 16 bytes each
	maxSteps   = 11_000     // of a range query: what Prometheus' own API allows
	timeout    = 30 * time.Second
	maxNotes   = 8 // warnings a query returns of each kind

	subqueryStep = time.Minute // of a subquery that does not say it, Prometheus' default
)

// A DB answers expressions over series. It may be used by several goroutines.
type DB struct {
	series   []*series // by labels
	parser   parser.Parser
	engine   *promql.Engine
	from, to int64 // ms
	interval int64 // ms
}

// New makes a database of series. Their samples are not copied and must not
// change; series with the same labels become one, and samples out of order are
// sorted.
func New(raw []serving.RawSeries) *DB {
	all := make([]*series, 0, len(raw))
	for _, r := range raw {
		if s := newSeries(r); len(s.t) > 0 {
			all = append(all, s)
		}
	}
	p := parser.NewParser(parser.Options{})
	db := &DB{series: merged(all), parser: p, engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: maxSamples, Timeout: timeout, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
		NoStepSubqueryIntervalFn: func(int64) int64 { return subqueryStep.Milliseconds() },
	})}
	for i, s := range db.series {
		if i == 0 || s.t[0] < db.from {
			db.from = s.t[0]
		}
		if i == 0 || s.t[len(s.t)-1] > db.to {
			db.to = s.t[len(s.t)-1]
		}
	}
	db.interval = widest(db.series)
	return db
}

// Len returns the number of series.
func (db *DB) Len() int { return len(db.series) }

// Span returns the times of the first and the last sample; zero times where
// there is none.
func (db *DB) Span() (from, to time.Time) {
	if len(db.series) == 0 {
		return
	}
	return time.UnixMilli(db.from).UTC(), time.UnixMilli(db.to).UTC()
}

// Interval returns the usual time between scrapes, the longest where endpoints
// differ; 0 where no series has two samples.
func (db *DB) Interval() time.Duration { return ms(db.interval) }

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// A Result is one series of an answer: a value at each of the steps that have
// one. Labels holds the labels that the expression left, sorted by name; a
// scalar has none.
type Result struct {
	Labels []serving.Term
	T      []int64 // ms
	V      []float64
}

// Range evaluates an expression at from, from+step, … up to to. Grafana's window
// variables are filled in first; see Expand. The results are in the order of
// their labels. Warnings are the engine's own, and ours where a selector finds
// nothing or a range is too short at some steps. A range that is too short at
// every step is an error, and so is an expression that cannot be parsed.
func (db *DB) Range(ctx context.Context, expr string, from, to time.Time, step time.Duration) ([]Result, []string, error) {
	if step < time.Millisecond {
		return nil, nil, fmt.Errorf("promql: a step of %s, want at least 1ms", step)
	}
	if to.Before(from) {
		return nil, nil, fmt.Errorf("promql: the range ends at %s, before it begins at %s", to.UTC().Format(time.RFC3339), from.UTC().Format(time.RFC3339))
	}
	if n := to.Sub(from) / step; n >= maxSteps {
		return nil, nil, fmt.Errorf("promql: %d steps of %s, want at most %d: take a longer step", n+1, step, maxSteps)
	}
	return db.ask(ctx, expr, grid{from.UnixMilli(), to.UnixMilli(), step.Milliseconds()})
}

// Instant evaluates an expression at one time; each result has one value.
func (db *DB) Instant(ctx context.Context, expr string, at time.Time) ([]Result, []string, error) {
	return db.ask(ctx, expr, grid{at.UnixMilli(), at.UnixMilli(), 0})
}

// A grid is the moments of an evaluation, ms. A step of 0 is one moment.
type grid struct{ from, to, step int64 }

func (db *DB) ask(ctx context.Context, expr string, g grid) ([]Result, []string, error) {
	expr = db.Expand(expr, ms(g.step))
	out, warnings, err := db.answer(ctx, expr, g)
	switch {
	case err == nil:
		return out, warnings, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	return nil, warnings, fmt.Errorf("promql %s: %w", shown(expr), err)
}

// answer is ask with errors that do not name the expression. The limit of time
// holds for the checks, too.
func (db *DB) answer(ctx context.Context, expr string, g grid) ([]Result, []string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTooLong)
	defer cancel()
	tree, err := parse(db.parser, expr)
	if err != nil {
		return nil, nil, syntaxError(expr, err)
	}
	// This works out ranges that are written as arithmetic, [2 * 30s].
	tree, err = promql.PreprocessExpr(tree, time.UnixMilli(g.from), time.UnixMilli(g.to), ms(g.step))
	if err != nil {
		return nil, nil, err
	}
	c := checker{db: db, grid: g, found: map[string][]*series{}}
	if err := c.check(ctx, tree); err != nil {
		return nil, c.warnings, err
	}
	q, err := db.query(ctx, expr, g, c.lookback())
	if err != nil {
		return nil, c.warnings, err
	}
	defer q.Close()
	res, err := guarded(ctx, q)
	if err != nil {
		return nil, c.warnings, err
	}
	warn, info := res.Warnings.AsStrings(expr, maxNotes, maxNotes)
	slices.Sort(warn) // they come out of a map
	slices.Sort(info)
	out, err := results(res.Value)
	if err != nil {
		return nil, c.warnings, err
	}
	return out, slices.Concat(c.warnings, warn, info), nil
}

func (db *DB) query(ctx context.Context, expr string, g grid, lookback time.Duration) (promql.Query, error) {
	opts := promql.NewPrometheusQueryOpts(false, lookback, nil)
	src := storage.QueryableFunc(func(_, _ int64) (storage.Querier, error) { return querier{db}, nil })
	if g.step == 0 {
		return db.engine.NewInstantQuery(ctx, src, opts, expr, time.UnixMilli(g.from))
	}
	return db.engine.NewRangeQuery(ctx, src, opts, expr, time.UnixMilli(g.from), time.UnixMilli(g.to), ms(g.step))
}

// syntaxError adds what a user of a dashboard's expression needs to know.
func syntaxError(expr string, err error) error {
	if i := strings.IndexByte(expr, '$'); i >= 0 {
		return fmt.Errorf("%w; a dashboard's variable, such as the one at position %d, has no value here: write what it stands for", err, i+1)
	}
	return err
}

func explained(err error) error {
	if _, ok := errors.AsType[promql.ErrTooManySamples](err); ok {
		return fmt.Errorf("it needs more than %d samples at once, which is the limit: select fewer series, a longer step or a shorter range", maxSamples)
	}
	if _, ok := errors.AsType[promql.ErrQueryTimeout](err); ok {
		return errTooLong
	}
	return err
}

var errTooLong = fmt.Errorf("it took longer than %s: select fewer series, a longer step or a shorter range", timeout)

// results copies an answer out of the engine, whose memory is used again.
func results(v parser.Value) ([]Result, error) {
	var out []Result
	switch v := v.(type) {
	case promql.Matrix:
		if err := sized(len(v)); err != nil {
			return nil, err
		}
		for _, s := range v {
			if len(s.Histograms) > 0 {
				return nil, errors.New("the result is a histogram, want numbers: take a quantile, the sum or the count of it")
			}
			r := Result{Labels: terms(s.Metric)}
			for _, p := range s.Floats {
				r.T, r.V = append(r.T, p.T), append(r.V, p.F)
			}
			out = append(out, r)
		}
	case promql.Vector:
		if err := sized(len(v)); err != nil {
			return nil, err
		}
		for _, s := range v {
			if s.H != nil {
				return nil, errors.New("the result is a histogram, want numbers: take a quantile, the sum or the count of it")
			}
			out = append(out, Result{terms(s.Metric), []int64{s.T}, []float64{s.F}})
		}
	case promql.Scalar:
		out = append(out, Result{nil, []int64{v.T}, []float64{v.V}})
	default:
		return nil, fmt.Errorf("the result is a %s, want numbers", parser.DocumentedType(v.Type()))
	}
	slices.SortStableFunc(out, func(a, b Result) int { return slices.CompareFunc(a.Labels, b.Labels, compareTerms) })
	return out, nil
}

func terms(ls labels.Labels) []serving.Term {
	var out []serving.Term
	ls.Range(func(l labels.Label) {
		out = append(out, serving.Term{Dim: strings.Clone(l.Name), Value: strings.Clone(l.Value)})
	})
	return out
}

func compareTerms(a, b serving.Term) int {
	return cmp.Or(strings.Compare(a.Dim, b.Dim), strings.Compare(a.Value, b.Value))
}

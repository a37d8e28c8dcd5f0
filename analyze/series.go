package analyze

import (
	"cmp"
	"context"
	"slices"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/analyze/stat"
	"github.com/vreport/vreport/ingest/serving"
)

// maxSeries is the number of rows up to which a table's requests are read one by
// one, to be resampled. Larger ones are judged by their intervals and by how
// their time windows differ.
const maxSeries = 32 << 10

// A requestSeries holds completed requests' values in the order of arrival.
type requestSeries struct {
	values map[serving.MetricKey]*stat.Series
	middle int64 // the arrival of the middle one, ns
}

func (s *requestSeries) of(k serving.MetricKey) *stat.Series { return s.values[k] }

// seriesMetrics are the metrics that are resampled.
var seriesMetrics = []serving.MetricKey{serving.TTFT, serving.TPOT, serving.E2E, serving.Queue, serving.Prefill, serving.Decode}

// readSeries reads the values of a table's completed requests within its window.
func readSeries(ctx context.Context, t *table) (*requestSeries, error) {
	r := &seriesReader{t: t}
	for _, name := range []string{serving.ColArrival, serving.ColOutcome, serving.ColPhase} {
		r.want(name)
	}
	r.fixed = len(r.cols)
	for _, k := range seriesMetrics {
		if t.has(string(k)) {
			r.metrics = append(r.metrics, k)
			r.want(string(k))
		}
	}
	for _, p := range t.src.Parts() {
		if err := p.Scan(ctx, r.cols, nil, r.batch); err != nil {
			return nil, err
		}
	}
	return r.series(), nil
}

// A seriesRow is one completed request.
type seriesRow struct {
	arrival int64
	values  []serving.Opt[float64] // by metric
}

type seriesReader struct {
	t       *table
	cols    []string
	fixed   int // columns ahead of the metrics
	metrics []serving.MetricKey
	rows    []seriesRow
}

func (r *seriesReader) want(name string) {
	if r.t.has(name) {
		r.cols = append(r.cols, name)
	}
}

// column returns a wanted column of a batch, or nil.
func (r *seriesReader) column(b *serving.Batch, name string) *serving.Vector {
	if i := slices.Index(r.cols, name); i >= 0 {
		return &b.Cols[i]
	}
	return nil
}

func (r *seriesReader) batch(b *serving.Batch) error {
	arrival, outcome, phase := r.column(b, serving.ColArrival), r.column(b, serving.ColOutcome), r.column(b, serving.ColPhase)
	w := r.t.plan.Window
	for i := range b.N {
		row := seriesRow{values: make([]serving.Opt[float64], len(r.metrics))}
		known := arrival != nil && arrival.Has(i)
		if known {
			row.arrival = arrival.Ints[i]
		}
		switch {
		case w.To > w.From && (!known || row.arrival < w.From || row.arrival >= w.To):
			continue
		case outcome != nil && outcome.Has(i) && serving.Outcome(outcome.Codes[i]) != serving.OK:
			continue
		case phase != nil && phase.Has(i) && cube.IsWarmUp(r.t.src.Dict(serving.ColPhase).Name(phase.Codes[i])):
			continue
		}
		for m := range r.metrics {
			if v := &b.Cols[r.fixed+m]; v.Has(i) && len(v.Floats) > i {
				row.values[m] = serving.Some(v.Floats[i])
			}
		}
		r.rows = append(r.rows, row)
	}
	return nil
}

// series puts the rows into the order of arrival. Those without an arrival keep
// theirs.
func (r *seriesReader) series() *requestSeries {
	slices.SortStableFunc(r.rows, func(a, b seriesRow) int { return cmp.Compare(a.arrival, b.arrival) })
	out := &requestSeries{values: map[serving.MetricKey]*stat.Series{}}
	if n := len(r.rows); n > 0 {
		out.middle = r.rows[n/2].arrival
	}
	block := r.block()
	for m, k := range r.metrics {
		s := &stat.Series{Block: block}
		for _, row := range r.rows {
			if row.values[m].OK {
				s.Values = append(s.Values, row.values[m].V)
			}
		}
		if len(s.Values) > 0 {
			out.values[k] = s
		}
	}
	return out
}

// block is the length of resampled blocks, from how many requests start within
// one E2E p95.
func (r *seriesReader) block() int {
	m := slices.Index(r.metrics, serving.E2E)
	if m < 0 {
		return stat.BlockLength(len(r.rows), 0)
	}
	var at []int64
	var e2e []float64
	for _, row := range r.rows {
		if row.values[m].OK {
			at, e2e = append(at, row.arrival), append(e2e, row.values[m].V)
		}
	}
	return blockOf(at, e2e)
}

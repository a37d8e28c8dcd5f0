package promql

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/vreport/vreport/ingest/serving"
)

// A series is a time series under its sorted labels. It never changes.
type series struct {
	labels labels.Labels
	t      []int64 // ms, ascending
	v      []float64
}

// newSeries sorts out what files leave undone. Values without a label are the
// same series as without it, and bounds are spelled as Prometheus 3 spells them:
// le="1.0" whether the exporter wrote 1 or 1.0.
func newSeries(s serving.RawSeries) *series {
	b := labels.NewScratchBuilder(len(s.Labels))
	for k, v := range s.Labels {
		if v == "" {
			continue
		}
		if k == labels.BucketLabel || k == "quantile" {
			v = spelled(v)
		}
		b.Add(k, v)
	}
	b.Sort()
	n := min(len(s.T), len(s.V))
	out := &series{labels: b.Labels(), t: s.T[:n], v: s.V[:n]}
	if !ascends(out.t) {
		out.sort()
	}
	return out
}

func spelled(le string) string {
	f, err := strconv.ParseFloat(le, 64)
	if err != nil {
		return le
	}
	return labels.FormatOpenMetricsFloat(f)
}

func ascends(t []int64) bool {
	for i := 1; i < len(t); i++ {
		if t[i] <= t[i-1] {
			return false
		}
	}
	return true
}

// sort copies the samples into order; of several at one time the first stays.
func (s *series) sort() {
	at := make([]int, len(s.t))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(s.t[i], s.t[j]) })
	t, v := make([]int64, 0, len(at)), make([]float64, 0, len(at))
	for _, i := range at {
		if n := len(t); n > 0 && t[n-1] == s.t[i] {
			continue
		}
		t, v = append(t, s.t[i]), append(v, s.v[i])
	}
	s.t, s.v = t, v
}

// merged joins series with the same labels: two files of one endpoint.
func merged(all []*series) []*series {
	slices.SortStableFunc(all, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	var out []*series
	for _, s := range all {
		n := len(out)
		if n == 0 || !labels.Equal(out[n-1].labels, s.labels) {
			out = append(out, s)
			continue
		}
		both := &series{labels: s.labels, t: slices.Concat(out[n-1].t, s.t), v: slices.Concat(out[n-1].v, s.v)}
		both.sort()
		out[n-1] = both
	}
	return out
}

func (s *series) matches(ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(s.labels.Get(m.Name)) {
			return false
		}
	}
	return true
}

// isStale reports whether sample i says that the series ended here.
func (s *series) isStale(i int) bool { return value.IsStaleNaN(s.v[i]) }

// interval is the median time between samples, the lower of two, ms; 0 with
// fewer than two samples.
func (s *series) interval() int64 {
	if len(s.t) < 2 {
		return 0
	}
	d := make([]int64, len(s.t)-1)
	for i := range d {
		d[i] = s.t[i+1] - s.t[i]
	}
	slices.Sort(d)
	return d[(len(d)-1)/2]
}

// The engine's view of a series.

func (s *series) Labels() labels.Labels { return s.labels }

func (s *series) Iterator(reuse chunkenc.Iterator) chunkenc.Iterator {
	it, ok := reuse.(*iterator)
	if !ok {
		it = new(iterator)
	}
	*it = iterator{s: s, i: -1}
	return it
}

// millis are milliseconds since the epoch.
type millis = int64

type iterator struct {
	s *series
	i int
}

func (it *iterator) Next() chunkenc.ValueType {
	it.i = min(it.i+1, len(it.s.t))
	return it.here()
}

// Seek is not that of package io, and has to be told from it: hence the name of
// its parameter's type.
func (it *iterator) Seek(t millis) chunkenc.ValueType {
	it.i = max(it.i, 0)
	if it.i < len(it.s.t) && it.s.t[it.i] < t {
		n, _ := slices.BinarySearch(it.s.t[it.i:], t)
		it.i += n
	}
	return it.here()
}

func (it *iterator) here() chunkenc.ValueType {
	if it.i >= len(it.s.t) {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

func (it *iterator) At() (int64, float64) { return it.s.t[it.i], it.s.v[it.i] }
func (it *iterator) AtT() int64           { return it.s.t[it.i] }
func (*iterator) AtST() int64             { return 0 }
func (*iterator) Err() error              { return nil }

// A scraped text has no native histograms.

func (it *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return it.AtT(), nil
}

func (it *iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return it.AtT(), nil
}

// A querier is the engine's view of the database. It hands out whole series: the
// engine looks at the samples it needs.
type querier struct{ db *DB }

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	return &set{list: q.db.selected(ms), i: -1}
}

func (q querier) LabelValues(_ context.Context, name string, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var out []string
	for _, s := range q.db.selected(ms) {
		if v := s.labels.Get(name); v != "" {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil, nil
}

func (q querier) LabelNames(_ context.Context, _ *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var out []string
	for _, s := range q.db.selected(ms) {
		s.labels.Range(func(l labels.Label) { out = append(out, l.Name) })
	}
	slices.Sort(out)
	return slices.Compact(out), nil, nil
}

func (querier) Close() error { return nil }

type set struct {
	list []*series
	i    int
}

func (s *set) Next() bool                      { s.i++; return s.i < len(s.list) }
func (s *set) At() storage.Series              { return s.list[s.i] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }

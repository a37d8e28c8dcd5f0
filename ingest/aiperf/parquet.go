package aiperf

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Columns of server_metrics_export.parquet: a row for each value at each time,
// and for a histogram one for each of its buckets. Counters and histograms hold
// their increase since the last scrape before the profiling phase, gauges are as
// they were scraped. Every other column is a label.
const (
	colEndpoint    = "endpoint_url"
	colMetric      = "metric_name"
	colType        = "metric_type"
	colTime        = "timestamp_ns"
	colValue       = "value"
	colSum         = "sum"
	colCount       = "count"
	colBound       = "bucket_le"
	colBucket      = "bucket_count"
	colUnit        = "unit"
	colDescription = "description"
)

// SniffMetricsParquet says whether a Parquet file with these columns is a server
// metrics export.
func SniffMetricsParquet(names []string) (ok bool, why string) {
	for _, c := range []string{colEndpoint, colMetric, colType, colTime} {
		if !slices.Contains(names, c) {
			return false, "no column " + c + " of AIPerf's server metrics"
		}
	}
	return true, ""
}

// MetricsColumn says as what a column of the export is read.
func MetricsColumn(name string) (serving.ColumnKind, bool) {
	switch name {
	case colUnit, colDescription:
		return 0, false
	case colTime:
		return serving.KindTime, true
	case colValue, colSum, colCount, colBucket:
		return serving.KindNumber, true
	case colEndpoint, colMetric, colType, colBound:
		return serving.KindText, true
	}
	return serving.KindText, isName(name)
}

// maxSeries bounds the series of one export.
const maxSeries = 1 << 20

// A RowReader turns rows of the export into a Metrics.
type RowReader struct {
	m     *Metrics
	names []string
	texts []*serving.Dict
	codes []int // columns that say what a row is of: all texts but the bound

	endpoint, metric, kind, when, value, sum, count, bound, bucket int

	groups map[string]*rowGroup
	key    []byte
	epochs map[string]map[int64]bool   // times of each endpoint
	byKey  map[[2]string]*metricSeries // by endpoint and key
}

// A rowGroup is one metric with its labels at one endpoint.
type rowGroup struct {
	endpoint string
	name     string
	labels   []label
	hist     bool
	value    []*metricSeries // under one name, or two: see WriteScrapes
	sum      *metricSeries
	count    *metricSeries
	buckets  map[int32]*metricSeries // by the code of the bound
}

// NewRowReader returns a reader of rows with these columns, of which texts have
// a table.
func NewRowReader(names []string, texts []*serving.Dict) *RowReader {
	r := &RowReader{m: newMetrics(), names: names, texts: texts, groups: map[string]*rowGroup{}, epochs: map[string]map[int64]bool{}, byKey: map[[2]string]*metricSeries{}}
	for _, c := range []struct {
		at   *int
		name string
	}{{&r.endpoint, colEndpoint}, {&r.metric, colMetric}, {&r.kind, colType}, {&r.when, colTime}, {&r.value, colValue},
		{&r.sum, colSum}, {&r.count, colCount}, {&r.bound, colBound}, {&r.bucket, colBucket}} {
		*c.at = slices.Index(names, c.name)
	}
	for i := range names {
		if texts[i] != nil && i != r.bound {
			r.codes = append(r.codes, i)
		}
	}
	return r
}

// Add takes the rows of a batch. Rows that cannot be placed are problems.
func (r *RowReader) Add(b *serving.Batch, path string, base int64, problems *serving.Problems) error {
	for i := range b.N {
		at := serving.Pos{Path: path, Row: base + b.Row + int64(i) + 1}
		t, ok := r.time(b, i)
		if !ok {
			problems.AddKind("time", serving.Problem{At: at, Message: "no timestamp_ns, want nanoseconds since the epoch; the row is left out"})
			continue
		}
		g := r.group(b, i)
		if g == nil {
			problems.AddKind("metric", serving.Problem{At: at, Message: "no metric_name that Prometheus knows; the row is left out"})
			continue
		}
		if len(r.byKey) > maxSeries {
			return &serving.FormatError{At: at, Format: FormatServerMetrics, Found: fmt.Sprintf("more than %d series", maxSeries), Remedy: "give server_metrics_export.json instead"}
		}
		if !r.put(g, b, i, t) {
			return &serving.FormatError{At: at, Format: FormatServerMetrics, Found: errTooManyPoints.Error(), Remedy: "give server_metrics_export.json instead"}
		}
	}
	return nil
}

func (r *RowReader) time(b *serving.Batch, i int) (int64, bool) {
	v := &b.Cols[r.when]
	return v.Ints[i], v.Has(i) && v.Ints[i] >= 1e18
}

// number returns a column's value in row i; ok is false where there is none.
func number(b *serving.Batch, col, i int) (float64, bool) {
	if col < 0 || !b.Cols[col].Has(i) {
		return 0, false
	}
	x := b.Cols[col].Floats[i]
	return x, !math.IsNaN(x) && !math.IsInf(x, 0)
}

// textAt returns a text column's value in row i, "" where there is none.
func (r *RowReader) textAt(b *serving.Batch, col, i int) string {
	if v := &b.Cols[col]; v.Has(i) && v.Codes[i] >= 0 {
		return r.texts[col].Name(v.Codes[i])
	}
	return ""
}

// group returns what row i is of, nil where it has no usable name.
func (r *RowReader) group(b *serving.Batch, i int) *rowGroup {
	r.key = r.key[:0]
	for _, c := range r.codes {
		code := int32(-1)
		if v := &b.Cols[c]; v.Has(i) {
			code = v.Codes[i]
		}
		r.key = binary.AppendVarint(r.key, int64(code))
	}
	g, ok := r.groups[string(r.key)]
	if !ok {
		g = r.newGroup(b, i)
		r.groups[string(r.key)] = g
	}
	return g
}

func (r *RowReader) newGroup(b *serving.Batch, i int) *rowGroup {
	g := &rowGroup{endpoint: shortURL(r.textAt(b, r.endpoint, i)), name: r.textAt(b, r.metric, i)}
	if !isName(g.name) {
		return nil
	}
	for _, c := range r.codes {
		if c == r.endpoint || c == r.metric || c == r.kind {
			continue
		}
		if s := r.textAt(b, c, i); s != "" {
			g.labels = append(g.labels, label{r.names[c], s})
		}
	}
	switch kind := r.textAt(b, r.kind, i); {
	case kind == "histogram":
		g.hist = true
		g.sum, g.count = r.series(g, "_sum"), r.series(g, "_count")
		g.buckets = map[int32]*metricSeries{}
	case kind == "counter" && !strings.HasSuffix(g.name, total):
		g.value = []*metricSeries{r.series(g, total)}
	case kind == "gauge" || strings.HasSuffix(g.name, total):
		g.value = []*metricSeries{r.series(g, "")}
	default:
		g.value = []*metricSeries{r.series(g, ""), r.series(g, total)}
	}
	return g
}

// series returns a series of a group. Groups may share one: a label that is empty
// is one that is missing, and a metric without a type has two names.
func (r *RowReader) series(g *rowGroup, suffix string, more ...label) *metricSeries {
	key := seriesKey(g.name+suffix, append(slices.Clone(g.labels), more...))
	s := r.byKey[[2]string{g.endpoint, key}]
	if s == nil {
		s = &metricSeries{endpoint: g.endpoint, key: key}
		r.byKey[[2]string{g.endpoint, key}] = s
		r.m.put(s)
	}
	return s
}

// put takes a row's numbers. It reports whether there was room.
func (r *RowReader) put(g *rowGroup, b *serving.Batch, i int, t int64) bool {
	if r.epochs[g.endpoint] == nil {
		r.epochs[g.endpoint] = map[int64]bool{}
	}
	r.epochs[g.endpoint][t] = true
	if !g.hist {
		x, ok := number(b, r.value, i)
		for _, s := range g.value {
			if ok && !r.point(s, t, x) {
				return false
			}
		}
		return true
	}
	if x, ok := number(b, r.sum, i); ok && !r.point(g.sum, t, x) {
		return false
	}
	if x, ok := number(b, r.count, i); ok && !r.point(g.count, t, x) {
		return false
	}
	x, ok := number(b, r.bucket, i)
	if !ok || r.bound < 0 || !b.Cols[r.bound].Has(i) || b.Cols[r.bound].Codes[i] < 0 {
		return true
	}
	code := b.Cols[r.bound].Codes[i]
	s := g.buckets[code]
	if s == nil {
		s = r.series(g, "_bucket", label{"le", r.texts[r.bound].Name(code)})
		g.buckets[code] = s
	}
	return r.point(s, t, x)
}

// point adds a value; sum and count stand in the row of every bucket.
func (r *RowReader) point(s *metricSeries, t int64, x float64) bool {
	if n := len(s.times); n > 0 && s.times[n-1] == t {
		s.values[n-1] = x
		return true
	}
	s.times, s.values = append(s.times, t), append(s.values, x)
	return r.m.room(1)
}

// Metrics returns what was read, and the number of scrapes it is of.
func (r *RowReader) Metrics() (m *Metrics, scrapes int64) {
	for _, s := range r.m.series {
		s.sort()
	}
	for _, e := range r.epochs {
		scrapes += int64(len(e))
	}
	return r.m, scrapes
}

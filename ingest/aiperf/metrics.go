package aiperf

import (
	"bufio"
	"cmp"
	"container/heap"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/vreport/vreport/ingest/serving"
)

// Metrics is what a server metrics export says, in a form that a reader of
// Prometheus scrapes understands: the exports are scrapes of /metrics pages that
// AIPerf has aggregated, so their names are those of the exporter and the program
// has one vocabulary for them.
type Metrics struct {
	// Relative says that no time stands in the file: the scrapes count from
	// Base, and only their distances mean something.
	Relative bool
	// Aggregated says that there are but the differences over the whole run:
	// two scrapes an endpoint, the first of zeros, and no gauges.
	Aggregated bool
	// Levels are the statistics of gauges that have no values over time, by
	// endpoint.
	Levels map[string][]serving.Setting

	series []*metricSeries
	points int
	spans  map[string]span // of an endpoint: what the file says of its scraping
}

// Base is the time of the first scrape where there is none, in nanoseconds.
const Base = int64(1e18)

// A span is the time an endpoint was scraped, ns.
type span struct{ first, last int64 }

// A metricSeries is one sample name with its labels at one endpoint.
type metricSeries struct {
	endpoint string
	key      string // name and labels, as text exposition writes them
	times    []int64
	values   []float64
}

// maxPoints bounds the values of one export.
const maxPoints = 16 << 20

func newMetrics() *Metrics {
	return &Metrics{Levels: map[string][]serving.Setting{}, spans: map[string]span{}}
}

// room reports whether n more points fit.
func (m *Metrics) room(n int) bool {
	m.points += n
	return m.points <= maxPoints
}

// A label of a series.
type label struct{ name, value string }

// seriesKey writes a sample's name and labels.
func seriesKey(name string, labels []label) string {
	var b strings.Builder
	b.WriteString(name)
	for i, l := range labels {
		b.WriteByte(",{"[btoi(i == 0)])
		b.WriteString(l.name)
		b.WriteByte('=')
		b.WriteString(quote(l.value))
	}
	if len(labels) > 0 {
		b.WriteByte('}')
	}
	return b.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// quote writes a label value as the text format escapes it.
func quote(s string) string { return `"` + escaper.Replace(strings.ToValidUTF8(s, "\uFFFD")) + `"` }

// isName reports whether s can stand as a metric's or label's name.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != "" && len(s) < 256
}

// A sample is an aggregated series as an export has it.
type sample struct {
	endpoint, name string
	kind           string // gauge, counter, histogram, unknown, info
	labels         []label
	stats          map[string]float64
	buckets        []bucket // cumulative, over the whole run
	slices         []slice
}

type bucket struct {
	bound string
	n     float64
}

// A slice is a time window of an aggregated series.
type slice struct {
	start, end int64
	stats      map[string]float64
	buckets    []bucket
}

// total is the suffix that AIPerf's parser takes off the names of counters.
const total = "_total"

// add takes an aggregated series. Where it has time slices they are a series over
// time: a gauge's mean in each, the running sum of a counter's and a histogram's
// increases. Else the first scrape is zero and the second the increase over the
// run.
func (m *Metrics) add(s *sample) bool {
	switch s.kind {
	case "gauge", "unknown", "untyped":
		return m.addGauge(s)
	case "counter":
		name := s.name
		if !strings.HasSuffix(name, total) {
			name += total
		}
		return m.addSum(s, seriesKey(name, s.labels), "total", func(sl *slice) (float64, bool) { v, ok := sl.stats["total"]; return v, ok })
	case "histogram":
		return m.addHistogram(s)
	case "info":
		return m.room(2) && m.put(&metricSeries{endpoint: s.endpoint, key: seriesKey(s.name, s.labels), values: []float64{1}})
	}
	return true // summaries: quantiles of no known window
}

func (m *Metrics) put(se *metricSeries) bool {
	m.series = append(m.series, se)
	return true
}

func (m *Metrics) addGauge(s *sample) bool {
	if len(s.slices) == 0 {
		if !ofEngine(s.name) {
			return true
		}
		for _, k := range []string{"avg", "min", "p50", "p99", "max"} {
			if v, ok := s.stats[k]; ok && len(m.Levels[s.endpoint]) < maxSettings {
				m.Levels[s.endpoint] = append(m.Levels[s.endpoint], serving.Setting{
					Key: k + " of " + seriesKey(s.name, slices.DeleteFunc(slices.Clone(s.labels), isIdentity)), Value: strconv.FormatFloat(v, 'g', -1, 64)})
			}
		}
		return true
	}
	if !m.room(len(s.slices)) {
		return false
	}
	se := &metricSeries{endpoint: s.endpoint, key: seriesKey(s.name, s.labels)}
	for i := range s.slices {
		if v, ok := s.slices[i].stats["avg"]; ok {
			se.times, se.values = append(se.times, s.slices[i].end), append(se.values, v)
		}
	}
	return m.put(se)
}

// ofEngine leaves out what exporters say of their own process.
func ofEngine(name string) bool {
	for _, p := range []string{"process_", "python_", "http_", "go_", "promhttp_", "node_"} {
		if strings.HasPrefix(name, p) {
			return false
		}
	}
	return true
}

// isIdentity reports labels that say which server a series is of.
func isIdentity(l label) bool { return l.name == "model_name" || l.name == "engine" }

// addSum adds one cumulative series.
func (m *Metrics) addSum(s *sample, key, stat string, of func(*slice) (float64, bool)) bool {
	se := &metricSeries{endpoint: s.endpoint, key: key}
	if len(s.slices) > 0 {
		if !m.room(len(s.slices) + 1) {
			return false
		}
		sum := 0.0
		se.times, se.values = append(se.times, s.slices[0].start), append(se.values, 0)
		for i := range s.slices {
			if v, ok := of(&s.slices[i]); ok && v >= 0 {
				sum += v
			}
			se.times, se.values = append(se.times, s.slices[i].end), append(se.values, sum)
		}
		return m.put(se)
	}
	v, ok := s.stats[stat]
	if !ok || !(v >= 0) {
		return true
	}
	if !m.room(2) {
		return false
	}
	se.values = []float64{0, v}
	return m.put(se)
}

func (m *Metrics) addHistogram(s *sample) bool {
	stat := func(k string) func(*slice) (float64, bool) {
		return func(sl *slice) (float64, bool) { v, ok := sl.stats[k]; return v, ok }
	}
	if !m.addSum(s, seriesKey(s.name+"_count", s.labels), "count", stat("count")) {
		return false
	}
	if _, ok := s.stats["sum"]; ok {
		if !m.addSum(s, seriesKey(s.name+"_sum", s.labels), "sum", stat("sum")) {
			return false
		}
	}
	bounds := s.buckets
	if len(s.slices) > 0 {
		bounds = s.slices[0].buckets
	}
	for _, b := range bounds {
		one := *s
		one.stats = map[string]float64{"bucket": b.n}
		key := seriesKey(s.name+"_bucket", append(slices.Clone(s.labels), label{"le", b.bound}))
		if !m.addSum(&one, key, "bucket", func(sl *slice) (float64, bool) {
			for _, x := range sl.buckets {
				if x.bound == b.bound {
					return x.n, true
				}
			}
			return 0, false
		}) {
			return false
		}
	}
	return true
}

// A rated is what a counter says of the length of the run.
type rated struct{ total, rate float64 }

// length returns how long a run was, in ns, from the largest of its counters:
// its rate has the most digits.
func (r rated) length() int64 {
	if d := r.total / r.rate * 1e9; r.rate > 0 && d > 0 && d < 1e18 {
		return int64(math.Round(d))
	}
	return 0
}

// lengths are the counters of each endpoint that tell best how long the run was.
type lengths map[string]rated

func (l lengths) see(s *sample) {
	if t, r := s.stats["total"], s.stats["rate"]; s.kind == "counter" && t > l[s.endpoint].total && r > 0 {
		l[s.endpoint] = rated{t, r}
	}
}

// date gives the series that have no times of their own the two of the run: its
// end as the file says it, and its beginning as totals and rates give it.
func (m *Metrics) date(lengths lengths) {
	starts := map[string]int64{} // of endpoints with time slices
	for _, s := range m.series {
		if len(s.times) > 0 {
			t, ok := starts[s.endpoint]
			if !ok || s.times[0] < t {
				starts[s.endpoint] = s.times[0]
			}
		}
	}
	for _, s := range m.series {
		start, sliced := starts[s.endpoint]
		switch {
		case len(s.times) > 0:
		case sliced && len(s.values) == 1: // info: true all along
			s.times = []int64{start}
		case sliced:
			s.values = nil // no slices where others have some: nothing happened
		default:
			sp := m.spanOf(s.endpoint, lengths[s.endpoint].length())
			s.times = []int64{sp.first, sp.last}
			if len(s.values) == 1 {
				s.values = []float64{1, 1}
			}
			m.Aggregated = true
		}
	}
}

// spanOf is when an endpoint was scraped; length is 0 where no counter tells.
func (m *Metrics) spanOf(endpoint string, length int64) span {
	sp, known := m.spans[endpoint]
	switch {
	case !known || sp.last <= 0:
		m.Relative = true
		return span{Base, Base + max(length, 1)}
	case length > 0:
		sp.first = sp.last - length
	}
	if sp.first >= sp.last {
		sp.first = sp.last - 1
	}
	return sp
}

// WriteTo writes the series as concatenated scrapes in the Prometheus text
// format, each under comments with its endpoint and time.
func (m *Metrics) WriteTo(w io.Writer) (int64, error) {
	c := &countingWriter{w: bufio.NewWriter(w)}
	byEndpoint := map[string][]*metricSeries{}
	for _, s := range m.series {
		byEndpoint[s.endpoint] = append(byEndpoint[s.endpoint], s)
	}
	endpoints := make([]string, 0, len(byEndpoint))
	for e := range byEndpoint {
		endpoints = append(endpoints, e)
	}
	slices.Sort(endpoints)
	for _, e := range endpoints {
		writeEndpoint(c, e, byEndpoint[e])
	}
	if c.err == nil {
		c.err = c.w.Flush()
	}
	return c.n, c.err
}

// writeEndpoint writes an endpoint's scrapes in order of time, and in each the
// series in their order. A heap finds the next value: a file may have as many
// times as values, and looking at each series at each time would take for ever.
func writeEndpoint(c *countingWriter, endpoint string, list []*metricSeries) {
	var next cursors
	for i, s := range list {
		if min(len(s.times), len(s.values)) > 0 {
			next = append(next, seriesCursor{series: s, order: i})
		}
	}
	heap.Init(&next)
	for last := int64(math.MinInt64); len(next) > 0; {
		k := &next[0]
		if t := k.time(); t != last {
			writeHead(c, endpoint, t)
			last = t
		}
		c.print(k.series.key, " ", strconv.FormatFloat(k.series.values[k.at], 'g', -1, 64), "\n")
		if k.at++; k.at < min(len(k.series.times), len(k.series.values)) {
			heap.Fix(&next, 0)
		} else {
			heap.Pop(&next)
		}
	}
}

// A seriesCursor stands at the next value of a series.
type seriesCursor struct {
	series    *metricSeries
	at, order int
}

func (k *seriesCursor) time() int64 { return k.series.times[k.at] }

// cursors are a heap: the earliest time first, then the order of the series.
type cursors []seriesCursor

func (h cursors) Len() int      { return len(h) }
func (h cursors) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h cursors) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].time(), h[j].time()), cmp.Compare(h[i].order, h[j].order)) < 0
}
func (h *cursors) Push(x any) { *h = append(*h, x.(seriesCursor)) }
func (h *cursors) Pop() any {
	k := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return k
}

// sort puts the values in order of time, of two at one time the later one.
func (s *metricSeries) sort() {
	if slices.IsSorted(s.times) {
		return
	}
	at := make([]int, len(s.times))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(s.times[a], s.times[b]) })
	times, values := s.times, s.values
	s.times, s.values = nil, nil
	for _, i := range at {
		if n := len(s.times); n > 0 && s.times[n-1] == times[i] {
			s.values[n-1] = values[i]
			continue
		}
		s.times, s.values = append(s.times, times[i]), append(s.values, values[i])
	}
}

// writeHead writes the comments above a scrape.
func writeHead(c *countingWriter, endpoint string, t int64) {
	c.print("# Timestamp: ", strconv.FormatInt(t, 10), "\n# Pod: ", strings.Join(strings.Fields(cmp.Or(endpoint, "server")), " "), "\n")
}

type countingWriter struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (c *countingWriter) print(parts ...string) {
	for _, p := range parts {
		if c.err != nil {
			return
		}
		n, err := c.w.WriteString(p)
		c.n, c.err = c.n+int64(n), err
	}
}

// errTooManyPoints says that an export is too large to be put in order.
var errTooManyPoints = fmt.Errorf("more than %d values", maxPoints)

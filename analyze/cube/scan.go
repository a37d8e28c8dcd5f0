package cube

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/vreport/vreport/ingest/serving"
)

// Fill scans the requests and returns the cube of the plan. Parts are scanned
// concurrently; the result does not depend on how many workers there are, nor
// on the order in which parts come in.
//
// Records that the source finds damaged, and values that are no finite number,
// go to problems (which may be nil) in part order. progress, where given, is
// called now and then with the rows scanned so far, never from two goroutines
// at once. An error is that of the first part that has one, or the context's.
func Fill(ctx context.Context, src serving.Requests, plan Plan, problems *serving.Problems, progress func(rows int64)) (*Cube, error) {
	lay, err := newLayout(src, &plan)
	if err != nil {
		return nil, err
	}
	s := &scanner{lay: lay, progress: progress, workers: workers(plan.Workers)}
	if src.Rescannable() && !isSmall(src) {
		c, err := s.fillLarge(ctx, src, &plan, problems)
		// What the scans needed is most of the memory there is: whoever goes on
		// should find it free, not ask for more.
		runtime.GC()
		return c, err
	}
	t, scanned, err := s.scan(ctx, src.Parts(), problems)
	if err != nil {
		return nil, err
	}
	c := &Cube{Rows: scanned, Excluded: t.excluded(), Relative: lay.relative}
	index, err := t.count(ctx, c, &plan, s.workers)
	if err != nil {
		return nil, err
	}
	if c.Examples, err = t.examples(ctx, src, &plan); err != nil {
		return nil, err
	}
	t.codes, t.within = nil, nil // not needed any more, and values need room
	return c, t.summarize(ctx, c.Groups, index, &plan, s.workers)
}

// mostWorkers is how many goroutines a scan has where nobody says: each has
// histograms of its own, which have to be merged.
const mostWorkers = 16

func workers(n int) int {
	if n <= 0 {
		n = min(runtime.GOMAXPROCS(0), mostWorkers)
	}
	return n
}

// A layout is a plan resolved against the columns of a source.
type layout struct {
	columns  map[string]serving.Column
	wanted   []string
	position map[string]int

	arrival, end, outcome, phase, id int // columns, -1 where there is none
	streaming                        int
	streamed                         *serving.Dict // of streaming
	relative                         bool
	window                           Window
	phases, outcomes                 *serving.Dict

	metrics                           []metric
	index                             map[serving.MetricKey]int // into metrics
	prompt, output, cached, ttft, e2e int                       // into metrics, -1
	gap                               int                       // ITL, whose worst value a row is kept; -1
	dims                              []*dimension
	dim                               map[string]int
	watch                             *Watch
	watched                           []int // its columns
	conditions                        []threshold
	limits                            []threshold
}

// A metric is a column of values to summarize or to test.
type metric struct {
	key   serving.MetricKey
	col   int
	kind  serving.ColumnKind
	shown bool // the plan wants its summary
	worst bool // of gaps: the worst of a row is tested
}

// A threshold is a condition or a limit on a metric.
type threshold struct {
	metric int     // -1: the source does not have it
	max    float64 // within means at most this
	gaps   bool    // the metric is undefined for one-token outputs, which meet it
	first  bool    // the metric is TTFT
}

func newLayout(src serving.Requests, plan *Plan) (*layout, error) {
	lay := emptyLayout(src, plan)
	lay.arrival = lay.wantKind(serving.ColArrival, serving.KindTime)
	lay.end = lay.wantKind(serving.ColEnd, serving.KindTime)
	lay.outcome = lay.wantKind(serving.ColOutcome, serving.KindText)
	lay.phase = lay.wantKind(serving.ColPhase, serving.KindText)
	lay.phases, lay.outcomes = src.Dict(serving.ColPhase), src.Dict(serving.ColOutcome)
	if plan.Examples > 0 && !src.Rescannable() {
		lay.id = lay.wantKind(serving.ColRequestID, serving.KindText)
	}
	lay.prompt = lay.scalar(serving.PromptTokens)
	lay.output = lay.scalar(serving.OutputTokens)
	lay.cached = lay.scalar(serving.CachedTokens)
	lay.ttft, lay.e2e = lay.scalar(serving.TTFT), lay.scalar(serving.E2E)
	for _, k := range plan.Metrics {
		if i := lay.metric(k); i >= 0 {
			lay.metrics[i].shown = true
		}
		if i := lay.index[k]; plan.Examples > 0 && k == serving.ITL && lay.metric(k) >= 0 && lay.metrics[i].kind == serving.KindGaps {
			lay.metrics[i].worst, lay.gap = true, i
		}
	}
	if len(plan.Conditions)+len(plan.Limits) > 0 {
		lay.streaming, lay.streamed = lay.wantKind(serving.ColStreaming, serving.KindText), src.Dict(serving.ColStreaming)
	}
	for _, c := range plan.Conditions {
		lay.conditions = append(lay.conditions, lay.threshold(c.Metric, c.Limit))
	}
	for _, l := range plan.Limits {
		lay.limits = append(lay.limits, lay.threshold(l.Metric, l.Max))
	}
	if plan.Watch != nil {
		lay.watch = plan.Watch
		for _, name := range plan.Watch.Columns {
			lay.watched = append(lay.watched, lay.want(name))
		}
	}
	return lay, lay.addDims(src, plan)
}

// show has the watcher see a batch. view is room for its columns.
func (lay *layout) show(part int, b, view *serving.Batch) {
	if lay.watch == nil {
		return
	}
	view.Row, view.N, view.Cols = b.Row, b.N, view.Cols[:0]
	for _, i := range lay.watched {
		view.Cols = append(view.Cols, b.Cols[i])
	}
	lay.watch.See(part, view)
}

// emptyLayout is a layout that wants no columns.
func emptyLayout(src serving.Requests, plan *Plan) *layout {
	lay := &layout{
		columns: map[string]serving.Column{}, position: map[string]int{},
		window: plan.Window, index: map[serving.MetricKey]int{}, dim: map[string]int{},
		arrival: -1, end: -1, outcome: -1, phase: -1, id: -1, streaming: -1,
		prompt: -1, output: -1, cached: -1, ttft: -1, e2e: -1, gap: -1,
	}
	for _, c := range src.Columns() {
		lay.columns[c.Name] = c
	}
	lay.relative = lay.columns[serving.ColArrival].Relative
	return lay
}

func (lay *layout) addDims(src serving.Requests, plan *Plan) error {
	for name, b := range plan.Buckets {
		if err := b.check(name); err != nil {
			return err
		}
	}
	var names []string
	for _, g := range plan.Groupings {
		names = append(names, g...)
	}
	if plan.Explore != nil {
		names = append(names, plan.Explore.Dims...)
	}
	for _, l := range plan.Limits {
		for _, t := range l.By {
			names = append(names, t.Dim)
		}
	}
	for _, name := range names {
		if _, ok := lay.dim[name]; ok {
			continue
		}
		d, err := newDimension(name, src, plan, lay)
		if err != nil {
			return err
		}
		lay.dim[name] = len(lay.dims)
		lay.dims = append(lay.dims, d)
	}
	return nil
}

// want adds a column to the scan and returns its position, or -1 where the
// source does not have it.
func (lay *layout) want(name string) int {
	if _, ok := lay.columns[name]; !ok {
		return -1
	}
	if i, ok := lay.position[name]; ok {
		return i
	}
	lay.position[name] = len(lay.wanted)
	lay.wanted = append(lay.wanted, name)
	return len(lay.wanted) - 1
}

func (lay *layout) wantKind(name string, kind serving.ColumnKind) int {
	if c, ok := lay.columns[name]; !ok || c.Kind != kind {
		return -1
	}
	return lay.want(name)
}

// metric returns the index of a metric, or -1 where the source has no such
// column of numbers.
func (lay *layout) metric(k serving.MetricKey) int {
	if i, ok := lay.index[k]; ok {
		return i
	}
	c, ok := lay.columns[string(k)]
	if !ok || c.Kind == serving.KindText || c.Kind == serving.KindTime {
		return -1
	}
	lay.index[k] = len(lay.metrics)
	lay.metrics = append(lay.metrics, metric{key: k, col: lay.want(string(k)), kind: c.Kind})
	return len(lay.metrics) - 1
}

// scalar returns the index of a metric with one value a request, or -1.
func (lay *layout) scalar(k serving.MetricKey) int {
	if lay.columns[string(k)].Kind == serving.KindGaps {
		return -1
	}
	return lay.metric(k)
}

func (lay *layout) threshold(k serving.MetricKey, limit float64) threshold {
	t := threshold{metric: lay.metric(k), max: limit, gaps: k == serving.TPOT || k == serving.ITL, first: k == serving.TTFT}
	if t.metric >= 0 && lay.metrics[t.metric].kind == serving.KindGaps {
		lay.metrics[t.metric].worst = true
	}
	return t
}

// asksOf reports whether a limit is for a row of that state: of an answer that
// came whole there is no TTFT, TPOT or ITL to be within.
func (t threshold) asksOf(state uint8) bool {
	return state&wholeBit == 0 || !t.gaps && !t.first
}

// ranks are the metrics that examples are the slowest in: a late first token, a
// long request, a single stall.
func (lay *layout) ranks() []int {
	var out []int
	for _, m := range []int{lay.ttft, lay.e2e, lay.gap} {
		if m >= 0 {
			out = append(out, m)
		}
	}
	return out
}

// A scanner runs the parts of one scan.
type scanner struct {
	lay      *layout
	workers  int
	progress func(int64)

	mu       sync.Mutex
	rows     int64 // scanned so far
	reported time.Time
	failed   int // the first part that has an error; len(parts) where none has
}

// errAbandoned ends the scan of a part behind one that failed.
var errAbandoned = errors.New("abandoned")

// scan reads all parts and joins them in part order.
func (s *scanner) scan(ctx context.Context, parts []serving.Part, problems *serving.Problems) (*table, int64, error) {
	chunks := make([]*chunk, len(parts))
	errs := make([]error, len(parts))
	s.failed = len(parts)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(s.workers, len(parts)) {
		wg.Go(func() {
			for i := range next {
				chunks[i] = newChunk(s.lay, parts[i])
				errs[i] = s.scanPart(ctx, i, parts[i], chunks[i])
			}
		})
	}
	for i := range parts {
		next <- i
	}
	close(next)
	wg.Wait()
	// Parts before a failed one run to their end, so that the same error is
	// reported however the scan went.
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if s.failed < len(parts) {
		return nil, 0, errs[s.failed]
	}
	if s.progress != nil {
		s.progress(s.rows)
	}
	t := join(s.lay, chunks)
	if problems != nil {
		t.report(problems)
	}
	return t, s.rows, nil
}

func (s *scanner) scanPart(ctx context.Context, i int, p serving.Part, c *chunk) error {
	var view serving.Batch
	err := s.live(ctx, i, 0)
	if err == nil {
		err = guard(p, func() error {
			return p.Scan(ctx, s.lay.wanted, &c.problems, func(b *serving.Batch) error {
				if err := s.live(ctx, i, int64(b.N)); err != nil {
					return err
				}
				s.lay.show(i, b, &view)
				c.add(b)
				return nil
			})
		})
	}
	c.size = max(c.size, p.Rows())
	if err != nil {
		s.mu.Lock()
		s.failed = min(s.failed, i)
		s.mu.Unlock()
	}
	return err
}

// live counts rows, reports progress, and says whether part i is still wanted.
func (s *scanner) live(ctx context.Context, i int, rows int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i > s.failed {
		return errAbandoned
	}
	s.rows += rows
	if s.progress != nil && rows > 0 && time.Since(s.reported) > progressEvery {
		s.reported = time.Now()
		s.progress(s.rows)
	}
	return nil
}

// progressEvery keeps a fast scan from spending its time on reporting.
const progressEvery = 50 * time.Millisecond

// isWarmUp reports whether a phase is left out of all figures.
func isWarmUp(phase string) bool {
	switch strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(phase)) {
	case "warmup", "warming", "warmupphase":
		return true
	}
	return false
}

// noTime marks a row without an arrival time.
const noTime = math.MinInt64

// endTime returns when a request ended: as stated, or arrival + e2e.
func endTime(arrival, end int64, e2e float64) int64 {
	if end != noTime || arrival == noTime || math.IsNaN(e2e) {
		return end
	}
	ns := math.Round(e2e * 1e9)
	if !(math.Abs(ns) < math.MaxInt64/4) || arrival > math.MaxInt64/2 || arrival < math.MinInt64/2 {
		return noTime
	}
	return arrival + int64(ns)
}

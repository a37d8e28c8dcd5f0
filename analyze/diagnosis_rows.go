package analyze

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// Limits of reading requests one by one. Beyond keptRows every k-th is kept,
// which changes no mean or percentile but by chance, and rates are multiplied.
const (
	keptRows = 1 << 18
	maxDrawn = 8 << 20 // rows of a table beyond which it is not read again
)

var errTooManyRows = errors.New("too many rows")

// attemptColumns are names under which traces count attempts, from 1, or
// retries, from 0.
var attemptColumns = []struct {
	name  string
	first float64
}{{"attempt", 1}, {"attempts", 1}, {"attempt_no", 1}, {"retry", 0}, {"retries", 0}, {"retry_count", 0}}

// A diagRow is one request. NaN is not known.
type diagRow struct {
	at, ttft, tpot, e2e, queue, prefill, decode  float64 // seconds
	prompt, output, cached, preempt, gaps, worst float64
	outcome                                      serving.Outcome
	workload, replica                            int32 // into the readers' names; -1
	retry                                        bool
	row                                          int64 // within its part
	src, part                                    int32
}

// rowSource is a table of requests, read one by one and in order of arrival.
type rowSource struct {
	name                string
	side                serving.Side
	relative            bool
	rows                []diagRow
	every               float64 // one row stands for so many
	workloads, replicas []string
	attempts            bool  // the table says which attempt a row is
	origin              int64 // ns: where the rows' time begins
	has                 map[string]bool
	srcs                []serving.Requests // the tables that rows are of
}

func readRows(ctx context.Context, src serving.Requests, w cube.Window) (*rowSource, error) {
	out := &rowSource{name: src.Name(), side: src.Side(), has: map[string]bool{}, srcs: []serving.Requests{src}}
	total := int64(0)
	for _, p := range src.Parts() {
		total += max(0, p.Rows())
	}
	if total > maxDrawn {
		return nil, errTooManyRows
	}
	every := max(1, (total+keptRows-1)/keptRows)
	out.every = float64(every)
	r := &rowReader{src: src, out: out, window: w, every: every, col: map[string]int{}, codes: map[string]map[int32]int32{}}
	for _, c := range src.Columns() {
		if r.wants(c) {
			r.col[c.Name] = len(r.cols)
			r.cols = append(r.cols, c.Name)
			out.has[c.Name] = true
			if c.Name == serving.ColArrival {
				out.relative = c.Relative
			}
		}
	}
	if !out.has[serving.ColArrival] {
		return nil, nil
	}
	for i, p := range src.Parts() {
		r.part = int32(i)
		if err := p.Scan(ctx, r.cols, nil, r.batch); err != nil {
			return nil, err
		}
	}
	out.setOrigin(r.times)
	return out, nil
}

func (s *rowSource) setOrigin(times []int64) {
	if len(times) == 0 {
		return
	}
	s.origin = slices.Min(times)
	for i := range s.rows {
		s.rows[i].at = float64(times[i]-s.origin) / 1e9
	}
	slices.SortStableFunc(s.rows, func(a, b diagRow) int { return cmp.Compare(a.at, b.at) })
}

type rowReader struct {
	src    serving.Requests
	out    *rowSource
	window cube.Window
	every  int64
	seen   int64
	part   int32
	cols   []string
	col    map[string]int
	times  []int64
	codes  map[string]map[int32]int32 // of a column: the table's codes to ours
	retry  string
	first  float64
}

var rowColumns = []string{serving.ColArrival, serving.ColOutcome, serving.ColPhase, serving.ColWorkload, serving.ColReplica, serving.ColPreempt,
	string(serving.TTFT), string(serving.TPOT), string(serving.E2E), string(serving.ITL), string(serving.Queue), string(serving.Prefill), string(serving.Decode),
	string(serving.PromptTokens), string(serving.OutputTokens), string(serving.CachedTokens)}

func (r *rowReader) wants(c serving.Column) bool {
	for _, a := range attemptColumns {
		if c.Name == a.name && r.retry == "" && (c.Kind == serving.KindCount || c.Kind == serving.KindNumber || c.Kind == serving.KindText) {
			r.retry, r.first, r.out.attempts = a.name, a.first, true
			return true
		}
	}
	return slices.Contains(rowColumns, c.Name)
}

func (r *rowReader) vector(b *serving.Batch, name string) *serving.Vector {
	if i, ok := r.col[name]; ok {
		return &b.Cols[i]
	}
	return nil
}

func (r *rowReader) number(b *serving.Batch, name string, i int) float64 {
	v := r.vector(b, name)
	switch {
	case v == nil || !v.Has(i):
		return nan
	case v.Kind == serving.KindCount:
		return float64(v.Ints[i])
	case v.Kind == serving.KindDuration || v.Kind == serving.KindNumber || v.Kind == serving.KindRatio:
		return v.Floats[i]
	case v.Kind == serving.KindText: // whole numbers without a known meaning are offered as text
		if x, err := strconv.ParseFloat(r.src.Dict(name).Name(v.Codes[i]), 64); err == nil {
			return x
		}
	}
	return nan
}

// name interns a text value: codes of tables depend on the order of a scan.
func (r *rowReader) name(b *serving.Batch, column string, i int, names *[]string) int32 {
	v := r.vector(b, column)
	if v == nil || !v.Has(i) || v.Kind != serving.KindText {
		return -1
	}
	m := r.codes[column]
	if m == nil {
		m = map[int32]int32{}
		r.codes[column] = m
	}
	k, ok := m[v.Codes[i]]
	if !ok {
		k = int32(len(*names))
		*names = append(*names, r.src.Dict(column).Name(v.Codes[i]))
		m[v.Codes[i]] = k
	}
	return k
}

func (r *rowReader) batch(b *serving.Batch) error {
	at, outcome, ph := r.vector(b, serving.ColArrival), r.vector(b, serving.ColOutcome), r.vector(b, serving.ColPhase)
	for i := range b.N {
		switch {
		case !at.Has(i):
			continue
		case r.window != (cube.Window{}) && (at.Ints[i] < r.window.From || at.Ints[i] >= r.window.To):
			continue
		case ph != nil && ph.Has(i) && cube.IsWarmUp(r.src.Dict(serving.ColPhase).Name(ph.Codes[i])):
			continue
		}
		r.seen++
		if (r.seen-1)%r.every != 0 {
			continue
		}
		row := diagRow{row: b.Row + int64(i), part: r.part, worst: nan, gaps: nan,
			ttft: r.number(b, string(serving.TTFT), i), tpot: r.number(b, string(serving.TPOT), i), e2e: r.number(b, string(serving.E2E), i),
			queue: r.number(b, string(serving.Queue), i), prefill: r.number(b, string(serving.Prefill), i), decode: r.number(b, string(serving.Decode), i),
			prompt: r.number(b, string(serving.PromptTokens), i), output: r.number(b, string(serving.OutputTokens), i), cached: r.number(b, string(serving.CachedTokens), i),
			preempt:  r.number(b, serving.ColPreempt, i),
			workload: r.name(b, serving.ColWorkload, i, &r.out.workloads), replica: r.name(b, serving.ColReplica, i, &r.out.replicas)}
		if outcome != nil && outcome.Has(i) {
			row.outcome = serving.Outcome(outcome.Codes[i])
		}
		if r.retry != "" {
			row.retry = r.number(b, r.retry, i) > r.first
		}
		if v := r.vector(b, string(serving.ITL)); v != nil && v.Has(i) && v.Kind == serving.KindGaps {
			gaps := v.Floats[v.Offsets[i]:v.Offsets[i+1]]
			row.gaps = float64(len(gaps))
			if len(gaps) > 0 {
				row.worst = slices.Max(gaps)
			} else if row.output > 1 {
				row.ttft = nan // not streamed: all of it came at once
			}
		}
		r.out.rows = append(r.out.rows, row)
		r.times = append(r.times, at.Ints[i])
	}
	return nil
}

// front is what a request's engine stages do not account for until its first
// token (of one that was not streamed until its end).
func (r *diagRow) front() float64 {
	if !math.IsNaN(r.ttft) {
		return r.ttft - r.queue - r.prefill
	}
	return r.e2e - r.queue - r.prefill - r.decode
}

// first is the time to the first token, of a request that was not streamed the
// sum of what lies before it.
func (r *diagRow) first() float64 {
	if !math.IsNaN(r.ttft) {
		return r.ttft
	}
	return r.e2e - r.decode
}

func (s *rowSource) span() float64 {
	if len(s.rows) == 0 {
		return 0
	}
	return s.rows[len(s.rows)-1].at
}

// finerStep is the step of levels that are counted from requests.
func (s *rowSource) finerStep() float64 { return max(1, math.Ceil(s.span()/1200)) }

// levels counts requests that wait and that run over time, of one replica (-1:
// of all). A request waits from its arrival at the server until it is scheduled;
// one that never was, until it was given up.
func (s *rowSource) levels(replica int32) (waiting, running *signal) {
	step := s.finerStep()
	n := int(s.span()/step) + 1
	w, r := make([]float64, n+1), make([]float64, n+1)
	known := s.has[string(serving.Queue)]
	add := func(d []float64, from, to float64) {
		// The time that it fills of each window, so that short stays count.
		for i := max(0, int(from/step)); i < n && float64(i)*step < to; i++ {
			d[i] += s.every * (min(to, float64(i+1)*step) - max(from, float64(i)*step)) / step
		}
	}
	for i := range s.rows {
		q := &s.rows[i]
		if replica >= 0 && q.replica != replica || math.IsNaN(q.e2e) {
			continue
		}
		front := max(0, q.front())
		if math.IsNaN(front) {
			front = 0
		}
		switch {
		case !known:
			add(r, q.at, q.at+q.e2e)
		case math.IsNaN(q.queue):
			if q.outcome != serving.OK {
				add(w, q.at, q.at+q.e2e)
			}
		default:
			add(w, q.at+front, q.at+front+q.queue)
			add(r, q.at+front+q.queue, q.at+q.e2e)
		}
	}
	waiting = &signal{name: "waiting", step: step, values: w[:n]}
	if !known {
		for i := range waiting.values {
			waiting.values[i] = nan
		}
	}
	return waiting, &signal{name: "running", step: step, values: r[:n]}
}

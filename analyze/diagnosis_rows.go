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
	keptRows = 1 << 16
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
	workload, replica, model                     int32 // into the readers' names; -1
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
	models              []string
	attempts            bool  // the table says which attempt a row is
	origin              int64 // ns: where the rows' time begins
	has                 map[string]bool
	srcs                []serving.Requests // the tables that rows are of
	goodput             []serving.Condition
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
	room := min(int(total/every)+1, keptRows) // a list that grows leaves its smaller selves behind
	out.rows, r.times = make([]diagRow, 0, room), make([]int64, 0, room)
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
	if !slices.IsSorted(times) {
		slices.SortStableFunc(s.rows, func(a, b diagRow) int { return cmp.Compare(a.at, b.at) })
	}
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
	codes  map[string]map[int32]int32 // of a text column: the table's codes to ours
	retry  string
	first  float64
}

var rowColumns = []string{serving.ColArrival, serving.ColOutcome, serving.ColPhase, serving.ColWorkload, serving.ColReplica, serving.ColModel, serving.ColPreempt,
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

// A rowColumn is one column of a batch, as numbers or as names.
type rowColumn struct {
	*serving.Vector                 // nil: the table has none
	dict            *serving.Dict   // of text
	codes           map[int32]int32 // the table's codes to ours
}

func (r *rowReader) column(b *serving.Batch, name string) rowColumn {
	i, ok := r.col[name]
	if !ok {
		return rowColumn{}
	}
	c := rowColumn{Vector: &b.Cols[i]}
	if c.Kind == serving.KindText {
		c.dict = r.src.Dict(name)
		if r.codes[name] == nil {
			r.codes[name] = map[int32]int32{}
		}
		c.codes = r.codes[name]
	}
	return c
}

func (c *rowColumn) number(i int) float64 {
	switch {
	case c.Vector == nil || !c.Has(i):
		return nan
	case c.Kind == serving.KindCount:
		return float64(c.Ints[i])
	case c.Kind == serving.KindDuration || c.Kind == serving.KindNumber || c.Kind == serving.KindRatio:
		return c.Floats[i]
	case c.Kind == serving.KindText: // whole numbers without a known meaning are offered as text
		if x, err := strconv.ParseFloat(c.dict.Name(c.Codes[i]), 64); err == nil {
			return x
		}
	}
	return nan
}

// name interns a text value: codes of tables depend on the order of a scan.
func (c *rowColumn) name(i int, names *[]string) int32 {
	if c.Vector == nil || !c.Has(i) || c.Kind != serving.KindText {
		return -1
	}
	k, ok := c.codes[c.Codes[i]]
	if !ok {
		k = int32(len(*names))
		*names = append(*names, c.dict.Name(c.Codes[i]))
		c.codes[c.Codes[i]] = k
	}
	return k
}

func (r *rowReader) batch(b *serving.Batch) error {
	of := func(name string) rowColumn { return r.column(b, name) }
	metric := func(k serving.MetricKey) rowColumn { return of(string(k)) }
	at, outcome, ph := of(serving.ColArrival), of(serving.ColOutcome), of(serving.ColPhase)
	ttft, tpot, e2e, itl := metric(serving.TTFT), metric(serving.TPOT), metric(serving.E2E), metric(serving.ITL)
	queue, prefill, decode := metric(serving.Queue), metric(serving.Prefill), metric(serving.Decode)
	prompt, output, cached := metric(serving.PromptTokens), metric(serving.OutputTokens), metric(serving.CachedTokens)
	preempt, retry := of(serving.ColPreempt), of(r.retry)
	workload, replica, model := of(serving.ColWorkload), of(serving.ColReplica), of(serving.ColModel)
	for i := range b.N {
		switch {
		case !at.Has(i):
			continue
		case r.window != (cube.Window{}) && (at.Ints[i] < r.window.From || at.Ints[i] >= r.window.To):
			continue
		case ph.Vector != nil && ph.Has(i) && cube.IsWarmUp(ph.dict.Name(ph.Codes[i])):
			continue
		}
		r.seen++
		if (r.seen-1)%r.every != 0 {
			continue
		}
		row := diagRow{row: b.Row + int64(i), part: r.part, worst: nan, gaps: nan,
			ttft: ttft.number(i), tpot: tpot.number(i), e2e: e2e.number(i),
			queue: queue.number(i), prefill: prefill.number(i), decode: decode.number(i),
			prompt: prompt.number(i), output: output.number(i), cached: cached.number(i),
			preempt:  preempt.number(i),
			workload: workload.name(i, &r.out.workloads), replica: replica.name(i, &r.out.replicas), model: model.name(i, &r.out.models)}
		if outcome.Vector != nil && outcome.Has(i) {
			row.outcome = serving.Outcome(outcome.Codes[i])
		}
		if r.retry != "" {
			row.retry = retry.number(i) > r.first
		}
		if itl.Vector != nil && itl.Has(i) && itl.Kind == serving.KindGaps {
			gaps := itl.Floats[itl.Offsets[i]:itl.Offsets[i+1]]
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

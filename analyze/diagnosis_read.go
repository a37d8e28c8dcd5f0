package analyze

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/vreport/vreport/analyze/cube"
	"github.com/vreport/vreport/ingest/serving"
)

// Limits of reading requests one by one. Beyond keptRows every k-th is kept,
// which changes no mean or percentile but by chance, and rates are multiplied.
const (
	keptRows = 1 << 16
	maxDrawn = 8 << 20 // rows of a table beyond which it is not read for a diagnosis alone
)

var errTooManyRows = errors.New("too many rows")

// attemptColumns are names under which traces count attempts, from 1, or
// retries, from 0.
var attemptColumns = []struct {
	name  string
	first float64
}{{"attempt", 1}, {"attempts", 1}, {"attempt_no", 1}, {"retry", 0}, {"retries", 0}, {"retry_count", 0}}

var rowColumns = []string{serving.ColArrival, serving.ColOutcome, serving.ColPhase, serving.ColWorkload, serving.ColReplica, serving.ColModel, serving.ColPreempt,
	string(serving.TTFT), string(serving.TPOT), string(serving.E2E), string(serving.ITL), string(serving.Queue), string(serving.Prefill), string(serving.Decode),
	string(serving.PromptTokens), string(serving.OutputTokens), string(serving.CachedTokens)}

// A rowReader picks every k-th request of a table out of its batches, whoever
// scans them.
type rowReader struct {
	src    serving.Requests
	window cube.Window
	every  int64
	cols   []string
	col    map[string]int
	parts  []partRows
	rows   []diagRow // of all parts: each has room for its own
	times  []int64
	retry  string
	first  float64
}

// partRows are the requests of a part, in its order. Names are the table's codes.
type partRows struct {
	before int64 // rows of the parts before it, as far as they say
	every  int64
	room   int // of the reader's
	rows   []diagRow
	times  []int64
}

// newRowReader returns nil for a table without arrival times.
func newRowReader(src serving.Requests, w cube.Window) *rowReader {
	r := &rowReader{src: src, window: w, every: 1, col: map[string]int{}}
	for _, c := range src.Columns() {
		if r.wants(c) {
			r.col[c.Name] = len(r.cols)
			r.cols = append(r.cols, c.Name)
		}
	}
	if _, ok := r.col[serving.ColArrival]; !ok {
		return nil
	}
	parts := src.Parts()
	r.parts = make([]partRows, len(parts))
	total := int64(0)
	for i, p := range parts {
		r.parts[i].before = total
		total += max(0, p.Rows())
	}
	r.every = max(1, (total+keptRows-1)/keptRows)
	// Parts side by side, so that they can be joined where they are. A list that
	// grows leaves its smaller selves behind.
	all := 0
	for i, p := range parts {
		r.parts[i].every, r.parts[i].room = r.every, int(min(max(0, p.Rows())/r.every+1, keptRows))
		all += r.parts[i].room
	}
	r.rows, r.times = make([]diagRow, all), make([]int64, all)
	at := 0
	for i := range r.parts {
		p := &r.parts[i]
		to := at + p.room
		p.rows, p.times = r.rows[at:at:to], r.times[at:at:to]
		at = to
	}
	return r
}

func (r *rowReader) wants(c serving.Column) bool {
	for _, a := range attemptColumns {
		if c.Name == a.name && r.retry == "" && (c.Kind == serving.KindCount || c.Kind == serving.KindNumber || c.Kind == serving.KindText) {
			r.retry, r.first = a.name, a.first
			return true
		}
	}
	return slices.Contains(rowColumns, c.Name)
}

// readRows reads a table of which no cube was made.
func readRows(ctx context.Context, src serving.Requests, w cube.Window) (*rowSource, error) {
	total := int64(0)
	for _, p := range src.Parts() {
		total += max(0, p.Rows())
	}
	if total > maxDrawn {
		return nil, errTooManyRows
	}
	r := newRowReader(src, w)
	if r == nil {
		return nil, nil
	}
	for i, p := range src.Parts() {
		if err := p.Scan(ctx, r.cols, nil, func(b *serving.Batch) error { r.see(i, b); return nil }); err != nil {
			return nil, err
		}
	}
	return r.source(), nil
}

// A rowColumn is one column of a batch, as numbers or as names.
type rowColumn struct {
	*serving.Vector               // nil: the table has none
	dict            *serving.Dict // of text
}

func (r *rowReader) column(b *serving.Batch, name string) rowColumn {
	i, ok := r.col[name]
	if !ok {
		return rowColumn{}
	}
	c := rowColumn{Vector: &b.Cols[i]}
	if c.Kind == serving.KindText {
		c.dict = r.src.Dict(name)
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

// code returns the table's code of a name, -1 where there is none.
func (c *rowColumn) code(i int) int32 {
	if c.Vector == nil || !c.Has(i) || c.Kind != serving.KindText {
		return -1
	}
	return c.Codes[i]
}

// see takes the requests of a batch.
func (r *rowReader) see(part int, b *serving.Batch) {
	of := func(name string) rowColumn { return r.column(b, name) }
	metric := func(k serving.MetricKey) rowColumn { return of(string(k)) }
	at, outcome, ph := of(serving.ColArrival), of(serving.ColOutcome), of(serving.ColPhase)
	ttft, tpot, e2e, itl := metric(serving.TTFT), metric(serving.TPOT), metric(serving.E2E), metric(serving.ITL)
	queue, prefill, decode := metric(serving.Queue), metric(serving.Prefill), metric(serving.Decode)
	prompt, output, cached := metric(serving.PromptTokens), metric(serving.OutputTokens), metric(serving.CachedTokens)
	preempt, retry := of(serving.ColPreempt), of(r.retry)
	workload, replica, model := of(serving.ColWorkload), of(serving.ColReplica), of(serving.ColModel)
	p := &r.parts[part]
	for i := p.next(b.Row); i < int64(b.N); i += p.every {
		i := int(i)
		switch {
		case !at.Has(i):
			continue
		case r.window != (cube.Window{}) && (at.Ints[i] < r.window.From || at.Ints[i] >= r.window.To):
			continue
		case ph.Vector != nil && ph.Has(i) && cube.IsWarmUp(ph.dict.Name(ph.Codes[i])):
			continue
		}
		row := diagRow{row: b.Row + int64(i), part: int32(part), worst: nan, gaps: nan,
			ttft: ttft.number(i), tpot: tpot.number(i), e2e: e2e.number(i),
			queue: queue.number(i), prefill: prefill.number(i), decode: decode.number(i),
			prompt: prompt.number(i), output: output.number(i), cached: cached.number(i),
			preempt:  preempt.number(i),
			workload: workload.code(i), replica: replica.code(i), model: model.code(i)}
		if outcome.Vector != nil && outcome.Has(i) {
			row.outcome = serving.Outcome(outcome.Codes[i])
		}
		if r.retry != "" {
			row.retry = retry.number(i) > r.first
		}
		row.setGaps(&itl, i)
		p.rows, p.times = append(p.rows, row), append(p.times, at.Ints[i])
	}
	for len(p.rows) > 2*keptRows { // the table did not say how many there are
		p.thin(2 * p.every)
	}
}

// setGaps takes the gaps between tokens.
func (row *diagRow) setGaps(itl *rowColumn, i int) {
	if itl.Vector == nil || !itl.Has(i) || itl.Kind != serving.KindGaps {
		return
	}
	gaps := itl.Floats[itl.Offsets[i]:itl.Offsets[i+1]]
	row.gaps = float64(len(gaps))
	if len(gaps) > 0 {
		row.worst = slices.Max(gaps)
	} else if row.output > 1 {
		row.ttft = nan // not streamed: all of it came at once
	}
}

// next returns the first row to take, from a row of the part on, relative to it.
func (p *partRows) next(row int64) int64 {
	return (p.every - (p.before+row)%p.every) % p.every
}

// thin leaves every k-th row of the table, k a multiple of what it was.
func (p *partRows) thin(every int64) {
	if every == p.every {
		return
	}
	n := 0
	for i, row := range p.rows {
		if (p.before+row.row)%every == 0 {
			p.rows[n], p.times[n] = row, p.times[i]
			n++
		}
	}
	p.rows, p.times, p.every = p.rows[:n], p.times[:n], every
}

// join returns every k-th row of all parts. They move to the front of the room
// they have in common, unless one of them had too little of it.
func (r *rowReader) join(every int64) ([]diagRow, []int64) {
	rows, times := r.rows[:0], r.times[:0]
	n, fits := 0, true
	for i := range r.parts {
		p := &r.parts[i]
		p.thin(every)
		n, fits = n+len(p.rows), fits && len(p.rows) <= p.room
	}
	if !fits {
		rows, times = make([]diagRow, 0, n), make([]int64, 0, n)
	}
	for _, p := range r.parts {
		rows, times = append(rows, p.rows...), append(times, p.times...)
	}
	r.parts, r.rows, r.times = nil, nil, nil
	return rows, times
}

// source joins the parts.
func (r *rowReader) source() *rowSource {
	out := &rowSource{name: r.src.Name(), side: r.src.Side(), has: map[string]bool{}, srcs: []serving.Requests{r.src}, attempts: r.retry != ""}
	for _, c := range r.src.Columns() {
		if _, ok := r.col[c.Name]; ok {
			out.has[c.Name] = true
		}
		if c.Name == serving.ColArrival {
			out.relative = c.Relative
		}
	}
	every := r.every
	for i := range r.parts {
		every = max(every, r.parts[i].every)
	}
	out.every = float64(every)
	var times []int64
	out.rows, times = r.join(every)
	workloads, replicas, models := r.namer(serving.ColWorkload, &out.workloads), r.namer(serving.ColReplica, &out.replicas), r.namer(serving.ColModel, &out.models)
	for i := range out.rows {
		q := &out.rows[i]
		q.workload, q.replica, q.model = workloads(q.workload), replicas(q.replica), models(q.model)
	}
	out.setOrigin(times)
	return out
}

// namer numbers the names of a column in the order they come: the table's codes
// depend on the order of a scan.
func (r *rowReader) namer(col string, names *[]string) func(int32) int32 {
	known := map[int32]int32{}
	return func(code int32) int32 {
		if code < 0 {
			return -1
		}
		k, ok := known[code]
		if !ok {
			k = int32(len(*names))
			*names = append(*names, r.src.Dict(col).Name(code))
			known[code] = k
		}
		return k
	}
}

package cube

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/vreport/vreport/ingest/serving"
	"github.com/vreport/vreport/ingest/wide"
)

// A chunk holds the counted rows of one part, in columns. It is filled by one
// goroutine.
type chunk struct {
	source   string
	problems serving.Problems
	scanned  int64 // rows seen
	size     int64 // rows the part has, damaged ones included
	excluded [numReasons]int64
	bad      []badValues // by metric
	holes    []bool      // by metric: some rows have no value

	table
	part  int     // of a stream: the part it is of
	whole bool    // all rows of the batch are selected
	sel   []int32 // the selected rows of a batch: every or some
	every []int32 // 0, 1, 2, …
	some  []int32
	phase []bool // by code: is warm-up
	// Scratch: a bit for each of the rows that were added last.
	completed, streamed, good, met, more []uint64
	numbers                              []map[string]int32
}

// Reasons for leaving rows out.
const (
	reasonWarmUp = iota
	reasonWindow
	reasonNoTime
	numReasons
)

var reasons = [numReasons]string{"warm-up", "outside the window", "no arrival time, so not known to be in the window"}

// A table holds counted rows in columns: n of them, in the order of the source.
type table struct {
	lay     *layout
	n       int
	state   []uint8     // outcome, and whether all conditions hold
	arrival []int64     // noTime where missing; nil without such a column
	values  [][]float64 // by metric: NaN where missing; of gaps the worst of the row
	gaps    []gapColumn // by metric: of gaps only, of a piece of a stream
	lists   []gapLists  // by metric: of gaps only, of a table that is held
	codes   [][]int32   // by dimension
	within  [][]bool    // by limit
	ids     []int32     // codes of request ids, where they were scanned
	lastEnd int64
	runs    []run // of a chunk: where its rows stand in the part

	// Of the whole table, once joined.
	chunks []*chunk
	starts []int // the first row of each chunk
}

// A gapColumn holds the gaps of the rows of a piece; those of row i are
// gaps[ends[i-1]:ends[i]].
type gapColumn struct {
	gaps []float64
	ends []uint32
}

// gapLists holds the gaps of all rows as a slice a row. A source in memory keeps
// its values where they are; what does not last is copied to blocks.
type gapLists struct {
	rows  [][]float64
	block []float64 // with room for more
}

// blockGaps is the room of a block: growing one slice of millions of gaps would
// leave it behind several times over.
const blockGaps = 32 << 10

func (g *gapLists) copy(gaps []float64) []float64 {
	if n := len(gaps); n > cap(g.block)-len(g.block) {
		g.block = make([]float64, 0, max(n, blockGaps))
	}
	at := len(g.block)
	g.block = append(g.block, gaps...)
	return slices.Clip(g.block[at:])
}

// A run is a stretch of rows that follow each other in the source, too.
type run struct {
	at  int   // index of the first
	row int64 // its 0-based position in the part
}

const (
	outcomeBits = 7
	goodBit     = 8
	wholeBit    = 16 // the answer came whole, not streamed: it has no first token
)

// maxHint bounds the rows that room is made for in advance: what a part says of
// its size may be damaged, too.
const maxHint = 1 << 20

func newChunk(lay *layout, p serving.Part) *chunk {
	c := &chunk{source: p.Source(), table: newTable(lay)}
	c.lists = make([]gapLists, len(lay.metrics))
	if n := min(p.Rows(), maxHint); n > 0 && (c.lay.window == Window{}) {
		c.grow(int(n))
	}
	c.bad, c.holes = make([]badValues, len(lay.metrics)), make([]bool, len(lay.metrics))
	c.numbers = make([]map[string]int32, len(lay.dims))
	for i := range c.numbers {
		c.numbers[i] = map[string]int32{}
	}
	return c
}

func (c *chunk) grow(n int) {
	c.state = make([]uint8, 0, n)
	for m := range c.values {
		if c.lay.metrics[m].kind != serving.KindGaps {
			c.values[m] = make([]float64, 0, n)
		}
	}
	for d, dim := range c.lay.dims {
		if dim.kind != dimNone && dim.kind != dimTime {
			c.codes[d] = make([]int32, 0, n)
		}
	}
	for l := range c.within {
		c.within[l] = make([]bool, 0, n)
	}
	if c.lay.arrival >= 0 {
		c.arrival = make([]int64, 0, n)
	}
}

func newTable(lay *layout) table {
	return table{
		lay: lay, lastEnd: noTime,
		values: make([][]float64, len(lay.metrics)), gaps: make([]gapColumn, len(lay.metrics)),
		codes: make([][]int32, len(lay.dims)), within: make([][]bool, len(lay.limits)),
	}
}

// add appends the rows of a batch that count.
func (c *chunk) add(b *serving.Batch) {
	lay := c.lay
	c.scanned += int64(b.N)
	c.size = max(c.size, b.Row+int64(b.N))
	c.selectRows(b, lay.window)
	c.whole = len(c.sel) == b.N
	if len(c.sel) == 0 {
		return
	}
	c.addRuns(b.Row)
	for m := range lay.metrics {
		c.addMetric(b, m)
	}
	for d, dim := range lay.dims {
		if dim.kind != dimTime && dim.kind != dimNone {
			c.codes[d] = dim.appendCodes(c.codes[d], b, c.sel, c.numbers[d])
		}
	}
	if lay.id >= 0 {
		c.ids = appendText(c.ids, &b.Cols[lay.id], c.sel)
	}
	c.addTimes(b)
	c.addStates(b)
	c.n += len(c.sel)
}

// selectRows leaves out warm-up rows and rows outside the window.
func (c *chunk) selectRows(b *serving.Batch, win Window) {
	if c.lay.phase < 0 && win == (Window{}) {
		for len(c.every) < b.N {
			c.every = append(c.every, int32(len(c.every)))
		}
		c.sel = c.every[:b.N:b.N]
		return
	}
	c.some = c.some[:0]
	for i := range b.N {
		switch {
		case c.isWarmUp(b, i):
			c.excluded[reasonWarmUp]++
		case win != Window{}:
			t := c.arrivalOf(b, i)
			if t == noTime {
				c.excluded[reasonNoTime]++
			} else if t < win.From || t >= win.To {
				c.excluded[reasonWindow]++
			} else {
				c.some = append(c.some, int32(i))
			}
		default:
			c.some = append(c.some, int32(i))
		}
	}
	c.sel = c.some
}

func (c *chunk) isWarmUp(b *serving.Batch, i int) bool {
	if c.lay.phase < 0 {
		return false
	}
	v := &b.Cols[c.lay.phase]
	if !v.Has(i) || v.Codes[i] < 0 {
		return false
	}
	for code := len(c.phase); code <= int(v.Codes[i]); code++ {
		c.phase = append(c.phase, isWarmUp(c.lay.phases.Name(int32(code))))
	}
	return c.phase[v.Codes[i]]
}

func (c *chunk) arrivalOf(b *serving.Batch, i int) int64 { return timeOf(b, c.lay.arrival, i) }

func timeOf(b *serving.Batch, col, i int) int64 {
	if col < 0 || !b.Cols[col].Has(i) {
		return noTime
	}
	return b.Cols[col].Ints[i]
}

func (c *chunk) addRuns(first int64) {
	if last := len(c.runs) - 1; c.whole && (last < 0 || first-c.runs[last].row != int64(c.n-c.runs[last].at)) {
		c.runs = append(c.runs, run{c.n, first})
	}
	if c.whole {
		return
	}
	for k, i := range c.sel {
		at, row := c.n+k, first+int64(i)
		if last := len(c.runs) - 1; last < 0 || row-c.runs[last].row != int64(at-c.runs[last].at) {
			c.runs = append(c.runs, run{at, row})
		}
	}
}

func (c *chunk) addMetric(b *serving.Batch, m int) {
	v := &b.Cols[c.lay.metrics[m].col]
	dst := c.values[m]
	if v.Valid != nil {
		c.holes[m] = true
	}
	switch {
	case v.Kind == serving.KindGaps && c.lists != nil:
		c.addLists(b, m)
		return
	case v.Kind == serving.KindGaps:
		c.addGaps(b, m)
		return
	case c.whole:
		c.values[m] = c.appendWhole(dst, b, m)
		return
	case v.Kind == serving.KindCount:
		for _, i := range c.sel {
			x := math.NaN()
			if v.Has(int(i)) {
				x = float64(v.Ints[i])
			}
			dst = append(dst, x)
		}
	default:
		for _, i := range c.sel {
			x := math.NaN()
			if v.Has(int(i)) {
				x = v.Floats[i]
				if !isFinite(x) {
					x = c.notFinite(b, m, i)
				}
			}
			dst = append(dst, x)
		}
	}
	c.values[m] = dst
}

// appendWhole adds all values of a batch.
func (c *chunk) appendWhole(dst []float64, b *serving.Batch, m int) []float64 {
	v := &b.Cols[c.lay.metrics[m].col]
	at := len(dst)
	dst = slices.Grow(dst, b.N)[:at+b.N]
	// What stands in rows without a value is no value: it may be anything.
	if v.Kind == serving.KindCount {
		wide.Floats(dst[at:], v.Ints[:b.N])
	} else if !wide.Copy(dst[at:], v.Floats[:b.N]) {
		for i, x := range v.Floats[:b.N] {
			if !isFinite(x) && v.Has(i) {
				dst[at+i] = c.notFinite(b, m, int32(i))
			}
		}
	}
	missingRows(v.Valid, b.N, func(i int) { dst[at+i] = math.NaN() })
	return dst
}

// missingRows calls yield for the rows of a batch that have no value.
func missingRows(valid serving.Bitmap, n int, yield func(i int)) {
	for w := 0; w*64 < n && valid != nil; w++ {
		for left := ^valid[w]; left != 0; left &= left - 1 {
			if i := w*64 + bits.TrailingZeros64(left); i < n {
				yield(i)
			}
		}
	}
}

func isFinite(x float64) bool { return x-x == 0 }

// A badValues counts the values of a metric that are no finite numbers.
type badValues struct {
	row   int64 // of the first, 0-based in its part
	count int
}

// notFinite notes a value that is no number and returns the missing value.
func (c *chunk) notFinite(b *serving.Batch, m int, i int32) float64 {
	if c.bad[m].count == 0 {
		c.bad[m].row = b.Row + int64(i)
	}
	c.bad[m].count++
	c.holes[m] = true
	return math.NaN()
}

// report adds the problems of the scan in part order.
func (t *table) report(problems *serving.Problems) {
	for i, c := range t.chunks {
		problems.Merge(&c.problems)
		for m, bad := range c.bad {
			if bad.count == 0 {
				continue
			}
			addNotFinite(problems, t.lay.metrics[m].key, c.source, t.fileRow(i, bad.row), bad.count)
		}
	}
}

// addNotFinite reports the values of a metric in a part that are no numbers.
func addNotFinite(problems *serving.Problems, k serving.MetricKey, source string, row int64, count int) {
	problems.AddKind("not finite: "+string(k), serving.Problem{
		At:      serving.Pos{Path: source, Row: row, Field: string(k)},
		Message: "not a finite number, want a value or none; it counts as missing",
		Count:   count,
	})
}

// fileRow returns the 1-based row within the file of a 0-based row of a part:
// parts of one file follow each other.
func (t *table) fileRow(part int, row int64) int64 {
	for i := part - 1; i >= 0 && t.chunks[i].source == t.chunks[part].source; i-- {
		row += t.chunks[i].size
	}
	return row + 1
}

func (c *chunk) addGaps(b *serving.Batch, m int) {
	v := &b.Cols[c.lay.metrics[m].col]
	g := &c.gaps[m]
	for _, i := range c.sel {
		worst := math.NaN()
		if v.Has(int(i)) {
			for _, x := range v.Floats[v.Offsets[i]:v.Offsets[i+1]] {
				if !isFinite(x) {
					c.notFinite(b, m, i)
					continue
				}
				if !(worst >= x) {
					worst = x
				}
				if c.lay.metrics[m].shown {
					g.gaps = append(g.gaps, x)
				}
			}
		}
		if c.lay.metrics[m].worst {
			c.values[m] = append(c.values[m], worst)
		}
		g.ends = append(g.ends, uint32(len(g.gaps)))
	}
}

// addLists adds the gaps of the selected rows of a table that is held.
func (c *chunk) addLists(b *serving.Batch, m int) {
	v, metric := &b.Cols[c.lay.metrics[m].col], &c.lay.metrics[m]
	g := &c.lists[m]
	for _, i := range c.sel {
		var gaps []float64
		worst := math.NaN()
		if v.Has(int(i)) {
			gaps = c.finite(b, m, i, v.Floats[v.Offsets[i]:v.Offsets[i+1]])
			for _, x := range gaps {
				if !(worst >= x) {
					worst = x
				}
			}
		}
		if metric.worst {
			c.values[m] = append(c.values[m], worst)
		}
		if metric.shown {
			if !b.Lasting {
				gaps = g.copy(gaps)
			}
			g.rows = append(g.rows, gaps)
		}
	}
}

// finite returns the gaps of a row that are finite numbers.
func (c *chunk) finite(b *serving.Batch, m int, row int32, gaps []float64) []float64 {
	if !slices.ContainsFunc(gaps, func(x float64) bool { return !isFinite(x) }) {
		return gaps
	}
	var good []float64
	for _, x := range gaps {
		if isFinite(x) {
			good = append(good, x)
		} else {
			c.notFinite(b, m, row)
		}
	}
	return good
}

func (c *chunk) addTimes(b *serving.Batch) {
	if c.lay.arrival < 0 && c.lay.end < 0 || c.addOrderly(b) {
		return
	}
	for k, i := range c.sel {
		t := c.arrivalOf(b, int(i))
		if c.lay.arrival >= 0 {
			c.arrival = append(c.arrival, t)
		}
		e2e := math.NaN()
		if c.lay.e2e >= 0 {
			e2e = c.values[c.lay.e2e][c.n+k]
			if c.lay.end < 0 && endsBefore(t, e2e, c.lastEnd) {
				continue
			}
		}
		c.lastEnd = max(c.lastEnd, endTime(t, timeOf(b, c.lay.end, int(i)), e2e))
	}
}

// addOrderly adds the times of a batch that is counted whole, of requests that
// all say when they arrived and none when it ended.
func (c *chunk) addOrderly(b *serving.Batch) bool {
	if !c.whole || c.lay.arrival < 0 || c.lay.end >= 0 || b.Cols[c.lay.arrival].Valid != nil {
		return false
	}
	times := b.Cols[c.lay.arrival].Ints[:b.N]
	c.arrival = append(c.arrival, times...)
	if c.lay.e2e < 0 {
		return true
	}
	e2e := c.values[c.lay.e2e][c.n:][:b.N]
	for i, t := range times {
		if !endsBefore(t, e2e[i], c.lastEnd) {
			c.lastEnd = max(c.lastEnd, endTime(t, noTime, e2e[i]))
		}
	}
	return true
}

// endsBefore reports that arrival + e2e is not after a time; false says nothing.
func endsBefore(arrival int64, e2e float64, end int64) bool {
	const most = 1 << 62 // later than any time since the epoch
	return e2e >= 0 && e2e < 1e6 && arrival > -most && arrival < most && arrival+int64(e2e*1e9)+1 <= end
}

// addStates settles what became of each row: a request is within a limit, or
// good, only if it completed.
func (c *chunk) addStates(b *serving.Batch) {
	c.addOutcomes(b)
	if len(c.lay.limits)+len(c.lay.conditions) == 0 {
		return
	}
	state := c.state[c.n:]
	for _, m := range []*[]uint64{&c.completed, &c.streamed, &c.good, &c.met, &c.more} {
		*m = sized(*m, (len(state)+63)/64)
	}
	wide.Without(c.completed, state, outcomeBits) // OK is 0
	wide.Without(c.streamed, state, wholeBit)
	for l, t := range c.lay.limits {
		c.meet(t)
		for row := range state {
			c.within[l] = append(c.within[l], c.met[row>>6]>>(row&63)&1 != 0)
		}
	}
	if len(c.lay.conditions) == 0 {
		return
	}
	copy(c.good, c.completed)
	for _, t := range c.lay.conditions {
		c.meet(t)
		for w, met := range c.met {
			c.good[w] &= met
		}
	}
	wide.Set(state, c.good, goodBit)
}

// meet sets the bits, in met, of those of the rows that were added last that
// completed and whose value is not above the threshold; a one-token output has no
// gap to be late in.
func (c *chunk) meet(th threshold) {
	met := c.met
	c.atMost(met, th.metric, th.max)
	if th.gaps && c.lay.output >= 0 {
		c.atMost(c.more, c.lay.output, 1)
		for w, one := range c.more {
			met[w] |= one
		}
	}
	for w, ok := range c.completed {
		met[w] &= ok
	}
	if !th.gaps && !th.first {
		return
	}
	// An answer that came whole has no gaps, and its first token with the last.
	if th.gaps {
		copy(c.more, c.completed)
	} else {
		c.atMost(c.more, c.lay.e2e, th.max)
	}
	for w, streamed := range c.streamed {
		met[w] = met[w]&streamed | c.more[w]&c.completed[w]&^streamed
	}
}

// atMost sets the bits of those of the rows that were added last whose value of a
// metric is not above a limit.
func (c *chunk) atMost(dst []uint64, metric int, limit float64) {
	if x := c.lately(metric); x != nil {
		wide.AtMost(dst, x, limit)
		return
	}
	clear(dst)
}

// addOutcomes says how each row ended and whether its answer came whole.
func (c *chunk) addOutcomes(b *serving.Batch) {
	no, asked := none, c.lay.streaming >= 0
	if asked {
		if code, ok := c.lay.streamed.Find("no"); ok {
			no = code
		} else {
			asked = false
		}
	}
	if c.whole && c.lay.outcome >= 0 && b.Cols[c.lay.outcome].Valid == nil {
		c.addWholeOutcomes(b, no, asked)
		return
	}
	for _, i := range c.sel {
		s := uint8(c.outcomeOf(b, int(i)))
		if asked {
			if v := &b.Cols[c.lay.streaming]; v.Codes[i] == no && v.Has(int(i)) {
				s |= wholeBit
			}
		}
		c.state = append(c.state, s)
	}
}

// addWholeOutcomes is addOutcomes of a batch that is counted whole.
func (c *chunk) addWholeOutcomes(b *serving.Batch, no int32, asked bool) {
	at := len(c.state)
	c.state = slices.Grow(c.state, b.N)[:at+b.N]
	state := c.state[at:]
	for i, o := range b.Cols[c.lay.outcome].Codes[:b.N] {
		if uint32(o) >= uint32(serving.NumOutcomes) {
			o = int32(serving.Failed)
		}
		state[i] = uint8(o)
	}
	if !asked {
		return
	}
	v := &b.Cols[c.lay.streaming]
	c.more = sized(c.more, (b.N+63)/64)
	wide.Equal(c.more, v.Codes[:b.N], no)
	for w := range c.more {
		if v.Valid != nil {
			c.more[w] &= v.Valid[w]
		}
	}
	wide.Set(state, c.more, wholeBit)
}

// outcomeOf returns how a request ended. A request that does not say counts as
// completed: most traces list completed requests only.
func (c *chunk) outcomeOf(b *serving.Batch, i int) serving.Outcome {
	if c.lay.outcome < 0 || !b.Cols[c.lay.outcome].Has(i) {
		return serving.OK
	}
	if o := b.Cols[c.lay.outcome].Codes[i]; o >= 0 && int(o) < serving.NumOutcomes {
		return serving.Outcome(o)
	}
	return serving.Failed
}

// lately returns the values of a metric of the rows that were added last; nil
// where there are none.
func (c *chunk) lately(metric int) []float64 {
	x := c.column(metric)
	if x == nil {
		return nil
	}
	return x[c.n:][:len(c.state)-c.n]
}

// ok reports whether a row completed.
func (t *table) ok(row int) bool { return t.state[row]&outcomeBits == uint8(serving.OK) }

// join puts the chunks behind each other, in part order.
func join(lay *layout, chunks []*chunk) *table {
	t := newTable(lay)
	t.lists = make([]gapLists, len(lay.metrics))
	t.chunks = chunks
	for _, c := range chunks {
		t.starts = append(t.starts, t.n)
		t.n += c.n
		t.lastEnd = max(t.lastEnd, c.lastEnd)
	}
	t.state = joined(chunks, func(c *chunk) *[]uint8 { return &c.state })
	t.arrival = joined(chunks, func(c *chunk) *[]int64 { return &c.arrival })
	t.ids = joined(chunks, func(c *chunk) *[]int32 { return &c.ids })
	for m := range lay.metrics {
		t.values[m] = joined(chunks, func(c *chunk) *[]float64 { return &c.values[m] })
		t.lists[m].rows = joined(chunks, func(c *chunk) *[][]float64 { return &c.lists[m].rows })
	}
	for d := range lay.dims {
		t.codes[d] = joined(chunks, func(c *chunk) *[]int32 { return &c.codes[d] })
	}
	for l := range lay.limits {
		t.within[l] = joined(chunks, func(c *chunk) *[]bool { return &c.within[l] })
	}
	return &t
}

// joined concatenates one column of all chunks and gives the pieces up.
func joined[T any](chunks []*chunk, column func(*chunk) *[]T) []T {
	if len(chunks) == 1 {
		return *column(chunks[0])
	}
	n := 0
	for _, c := range chunks {
		n += len(*column(c))
	}
	if n == 0 {
		return nil
	}
	out := make([]T, 0, n)
	for _, c := range chunks {
		out = append(out, *column(c)...)
		*column(c) = nil
	}
	return out
}

// excluded sums what was left out.
func (t *table) excluded() []Exclusion {
	var out []Exclusion
	for r := range numReasons {
		e := Exclusion{Reason: reasons[r]}
		for _, c := range t.chunks {
			e.Rows += c.excluded[r]
		}
		if e.Rows > 0 {
			out = append(out, e)
		}
	}
	return out
}

// where returns the chunk of a row and the row's 0-based position in its part.
func (t *table) where(row int) (chunk int, pos int64) {
	i := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > row }) - 1
	c, at := t.chunks[i], row-t.starts[i]
	r := sort.Search(len(c.runs), func(r int) bool { return c.runs[r].at > at }) - 1
	return i, c.runs[r].row + int64(at-c.runs[r].at)
}

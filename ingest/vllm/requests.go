package vllm

import (
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// requests turns the record's arrays into a table, one row a request in the
// order of dispatch. Arrays of different lengths are aligned at their start.
func (rec *record) requests(r *serving.Run) {
	a := &rec.arrays
	rows := rec.rows(r)
	if rows == 0 {
		return
	}
	c := &converter{rec: rec, run: r, rows: rows, ok: serving.NewBitmap(rows), table: column.NewTable(r.Label, r.Source.Path, serving.Client, rows)}
	c.outcomes()
	c.arrivals()
	c.counts(inputLens, serving.PromptTokens, "input_lens")
	c.counts(outputLens, serving.OutputTokens, "output_lens")
	c.times()
	r.Requests = c.table
	if completed := int64(c.ok.Count()); !r.Completed.OK {
		r.Completed = serving.Some(completed)
	} else if r.Completed.V != completed {
		r.Notes = append(r.Notes, fmt.Sprintf("the file says %d completed requests, its arrays have %d", r.Completed.V, completed))
	}
	a.numbers = [len(a.numbers)][]float64{} // what the table needs it holds
}

// rows is the number of requests the arrays have; 0 where nothing in them says
// which requests went well.
func (rec *record) rows(r *serving.Run) int {
	a := &rec.arrays
	rows := 0
	for k := inputLens; k <= errorTexts; k++ {
		rows = max(rows, a.len(k))
	}
	if rows == 0 || a.has[outputLens] || a.has[ttfts] || a.has[errorTexts] {
		rec.checkLengths(rows)
		return rows
	}
	if a.has[latencies] && r.Completed.OK && r.Completed.V == int64(a.len(latencies)) {
		return rows
	}
	r.Notes = append(r.Notes, "the request arrays are left out: without output_lens, ttfts and errors nothing says which requests completed")
	return 0
}

func (rec *record) checkLengths(rows int) {
	for k := inputLens; k <= errorTexts; k++ {
		if n := rec.arrays.len(k); rec.arrays.has[k] && n != rows {
			name := arrayName(k)
			rec.decoder.in.Problems.AddKind("length "+name, serving.Problem{At: serving.Pos{Path: rec.decoder.path, Line: rec.decoder.r.Line(), Field: name},
				Message: fmt.Sprintf("%d elements, want %d as in the longest array; the requests after them are taken to have none", n, rows)})
		}
	}
}

func arrayName(k array) string {
	for name, v := range arrayNames {
		if v == k {
			return name
		}
	}
	return ""
}

// A converter fills one table.
type converter struct {
	rec   *record
	run   *serving.Run
	rows  int
	ok    serving.Bitmap // requests that completed
	table *column.Table
}

// value returns element i of a number array, NaN where there is none.
func (c *converter) value(k array, i int) float64 {
	if v := c.rec.arrays.numbers[k]; i < len(v) {
		return v[i]
	}
	return math.NaN()
}

// row returns the gaps of request i, and whether the file has them all.
func (c *converter) row(i int) ([]float64, bool) {
	a := &c.rec.arrays
	if i+1 >= len(a.offsets) {
		return nil, false
	}
	return a.gaps[a.offsets[i]:a.offsets[i+1]], !a.badGaps[i]
}

// outcomes decides which requests completed: no error, and a token or a first
// chunk to show for it, which is vLLM's own test.
func (c *converter) outcomes() {
	a := &c.rec.arrays
	codes := make([]int32, c.rows)
	reasons, has := make([]int32, c.rows), serving.NewBitmap(c.rows)
	dict := a.reasons
	if dict == nil {
		dict = serving.NewDict()
	}
	silent := dict.Len() // the code of a failure without a text, if it comes to one
	for i := range c.rows {
		if i < len(a.failures) && a.failures[i].outcome != serving.OK {
			codes[i], reasons[i] = int32(a.failures[i].outcome), a.failures[i].reason
			has.Set(i)
			continue
		}
		if c.produced(i) {
			c.ok.Set(i)
			continue
		}
		codes[i], reasons[i] = int32(serving.Failed), int32(silent)
		has.Set(i)
	}
	c.table.Text(serving.Column{Name: serving.ColOutcome, Kind: serving.KindText, From: c.from(errorTexts, outputLens, ttfts), How: "derived"},
		codes, serving.NewOutcomeDict(), nil)
	if has.Count() == 0 {
		return
	}
	dict.Code("no token and no error text")
	c.table.Text(serving.Column{Name: serving.ColError, Kind: serving.KindText, From: "errors", How: "dialect"}, reasons, dict, has)
}

// produced reports whether request i has something to show.
func (c *converter) produced(i int) bool {
	a := &c.rec.arrays
	if a.has[outputLens] || a.has[ttfts] {
		return c.value(outputLens, i) > 0 || c.value(ttfts, i) > 0
	}
	gaps, _ := c.row(i)
	return len(gaps) > 0 || c.value(latencies, i) > 0 || !a.has[itls] && !a.has[latencies]
}

// from joins the names of those arrays that the file has.
func (c *converter) from(ks ...array) string {
	s := ""
	for _, k := range ks {
		if c.rec.arrays.has[k] {
			if s != "" {
				s += ", "
			}
			s += arrayName(k)
		}
	}
	return s
}

// counts adds a column of token counts.
func (c *converter) counts(k array, m serving.MetricKey, name string) {
	if !c.rec.arrays.has[k] {
		return
	}
	values, valid := make([]int64, c.rows), serving.NewBitmap(c.rows)
	for i := range c.rows {
		v := c.value(k, i)
		if v == math.Trunc(v) && v < 1<<53 {
			values[i] = int64(v)
			valid.Set(i)
		} else if !math.IsNaN(v) {
			c.problem(k, i, "%g, want a whole number; taken as missing", v)
		}
	}
	c.table.Ints(serving.Column{Name: string(m), Kind: serving.KindCount, From: name, Unit: "tokens", How: "dialect"}, values, column.AllRows(valid, c.rows))
}

func (c *converter) problem(k array, i int, format string, args ...any) {
	name := arrayName(k)
	c.rec.decoder.in.Problems.AddKind(name+" value", serving.Problem{
		At:      serving.Pos{Path: c.rec.decoder.path, Field: fmt.Sprintf("%s[%d]", name, i)},
		Message: fmt.Sprintf(format, args...),
	})
}

// arrivals adds arrival times. The client's clock has an arbitrary origin, so
// they count from the first request; a failed request that never started has 0.
func (c *converter) arrivals() {
	if !c.rec.arrays.has[startTimes] {
		return
	}
	started := func(i int) (float64, bool) {
		v := c.value(startTimes, i)
		return v, !math.IsNaN(v) && (v != 0 || c.ok.Get(i))
	}
	values, valid := column.FromFirst(c.rows, started, func(i int, late float64) {
		c.problem(startTimes, i, "%g s after the first request; taken as missing", late)
	})
	if valid.Count() > 0 {
		c.table.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime, Relative: true, From: "start_times", Unit: "s", How: "dialect"}, values, column.AllRows(valid, c.rows))
	}
}

// times adds TTFT, E2E, TPOT and the gaps. All are seconds in the file and here.
func (c *converter) times() {
	a := &c.rec.arrays
	ttft, e2e, tpot := column.NewDurations(c.rows), column.NewDurations(c.rows), column.NewDurations(c.rows)
	var odd column.GapTally
	noTTFT := 0
	for i := range c.rows {
		first := c.value(ttfts, i)
		if first > 0 { // 0.0: no chunk came
			ttft.Set(i, first)
		} else if c.ok.Get(i) && a.has[ttfts] {
			noTTFT++
		}
		if !c.ok.Get(i) {
			continue
		}
		gaps, whole := c.row(i)
		decode, total := column.DecodeOf(c.value(latencies, i), first, gaps, whole)
		if !math.IsNaN(total) {
			e2e.Set(i, total)
		}
		out := c.value(outputLens, i)
		if out >= 2 && decode > 0 {
			tpot.Set(i, decode/(out-1))
		}
		if whole {
			odd.Look(len(gaps), out)
		}
	}
	c.table.AddDurations(serving.TTFT, ttft, c.from(ttfts), "dialect")
	c.table.AddDurations(serving.E2E, e2e, c.fromE2E(), c.howE2E())
	c.table.AddDurations(serving.TPOT, tpot, c.from(latencies, ttfts, itls, outputLens), "derived")
	c.gaps(odd.Kind())
	c.notes(&odd, noTTFT)
}

func (c *converter) fromE2E() string {
	if c.rec.arrays.has[latencies] {
		return c.from(latencies)
	}
	return c.from(ttfts, itls)
}

func (c *converter) howE2E() string {
	if c.rec.arrays.has[latencies] {
		return "dialect"
	}
	return "derived"
}

// gaps adds the gaps as recorded, between tokens or chunks.
func (c *converter) gaps(kind string) {
	a := &c.rec.arrays
	if len(a.gaps) == 0 {
		return
	}
	valid := serving.NewBitmap(c.rows)
	for i := range min(c.rows, a.len(itls)) {
		valid.Set(i)
	}
	for len(a.offsets) < c.rows+1 {
		a.offsets = append(a.offsets, int32(len(a.gaps)))
	}
	c.table.Gaps(serving.Column{Name: string(serving.ITL), Kind: serving.KindGaps, From: "itls", Unit: "s", How: "dialect", Gaps: kind}, a.gaps, a.offsets, column.AllRows(valid, c.rows))
}

func (c *converter) notes(odd *column.GapTally, noTTFT int) {
	note := func(format string, args ...any) { c.run.Notes = append(c.run.Notes, fmt.Sprintf(format, args...)) }
	if odd.Different > 0 {
		note("%d of %d completed requests have another number of gaps in itls than output tokens − 1: there the gaps are between chunks, not tokens", odd.Different, odd.Compared)
	}
	switch c.run.OnePiece = odd.PieceShare(); {
	case odd.InOnePiece():
		note("no completed request has a gap: the answers came in one piece, so that TTFT is E2E and there is no TPOT")
	case c.run.OnePiece > 0.01:
		note("%d of %d completed requests of two or more tokens have no gap: they came in one piece (not streamed, or held back on the way), so that their TTFT, which is in the figures, is their E2E", odd.OneChunk, odd.Longer)
	}
	if noTTFT > 0 {
		note("%d completed requests have no time to first token (0.0 in ttfts)", noTTFT)
	}
}

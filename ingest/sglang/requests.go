package sglang

import (
	"errors"
	"fmt"
	"math"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

const (
	maxGaps      = 1 << 30 // of a record, so that offsets fit 32 bits
	maxErrorText = 64 << 10
	maxReasons   = 1000
)

var errTooManyGaps = errors.New("more than 2^30 gaps in one record")

// arrays are the request arrays of one record as they stand: in seconds, NaN for
// an element that is missing or bad.
type arrays struct {
	d        *decoder
	numbers  map[string][]float64
	gaps     []float64
	offsets  []int32
	badGaps  map[int]bool
	failures []int32 // codes of reasons; -1 where there is no error
	outcomes []serving.Outcome
	reasons  *serving.Dict
}

func newArrays(d *decoder) *arrays {
	return &arrays{d: d, numbers: map[string][]float64{}, badGaps: map[int]bool{}, reasons: serving.NewDict()}
}

// take reads a value if it is one of the request arrays.
func (a *arrays) take(name string) (bool, error) {
	if _, ok := arrayFields[name]; !ok || a.d.r.Peek() != '[' {
		return false, nil
	}
	a.d.fields.Add(servingField(name))
	switch name {
	case keyITLs:
		return true, a.readGaps()
	case keyErrors:
		return true, a.readErrors()
	}
	var dst []float64
	_, err := a.d.r.Numbers(func(vs []float64) error {
		dst = append(dst, vs...)
		return a.d.ctx.Err()
	}, func(i int) error {
		if i&(1<<14-1) == 1<<14-1 && a.d.ctx.Err() != nil {
			return a.d.ctx.Err()
		}
		v, err := a.number(name)
		dst = append(dst, v)
		return err
	})
	a.numbers[name] = dst
	return true, err
}

// number reads one element; NaN where there is none.
func (a *arrays) number(name string) (float64, error) {
	null := a.d.r.Peek() == 'n'
	v, ok, err := a.d.r.Float()
	switch {
	case err != nil || null:
		return math.NaN(), err
	case !ok:
		a.d.in.Problems.AddKind(name+" no number", a.d.r.Problemf("no number, want one; taken as missing"))
		return math.NaN(), nil
	case v < 0 || math.IsInf(v, 0):
		a.d.in.Problems.AddKind(name+" range", a.d.r.Problemf("%g, want a number that is not negative and not infinite; taken as missing", v))
		return math.NaN(), nil
	}
	return v, nil
}

func (a *arrays) readGaps() error {
	a.gaps, a.offsets = a.gaps[:0], append(a.offsets[:0], 0)
	clear(a.badGaps)
	_, err := a.d.r.Array(func(i int) error {
		if a.d.ctx.Err() != nil {
			return a.d.ctx.Err()
		}
		list, err := a.d.r.Numbers(func(vs []float64) error {
			if len(a.gaps)+len(vs) > maxGaps {
				return errTooManyGaps
			}
			a.gaps = append(a.gaps, vs...)
			return nil
		}, func(int) error {
			v, err := a.number(keyITLs)
			switch {
			case err != nil:
				return err
			case math.IsNaN(v):
				a.badGaps[i] = true
			case len(a.gaps) >= maxGaps:
				return errTooManyGaps
			default:
				a.gaps = append(a.gaps, v)
			}
			return nil
		})
		if !list {
			a.badGaps[i] = true
		}
		a.offsets = append(a.offsets, int32(len(a.gaps)))
		return err
	})
	return err
}

// readErrors reads errors: "" for a request that went well, else a reason or a
// whole traceback.
func (a *arrays) readErrors() error {
	a.failures, a.outcomes = a.failures[:0], a.outcomes[:0]
	_, err := a.d.r.Array(func(int) error {
		s, ok, err := a.d.r.Scalar(maxErrorText)
		if err != nil {
			return err
		}
		switch {
		case !ok:
			a.fail("an error that is no text")
		case s.Text != "" && s.Kind != 'n' && s.Kind != 'f':
			a.fail(s.Text)
		default:
			a.failures, a.outcomes = append(a.failures, -1), append(a.outcomes, serving.OK)
		}
		return nil
	})
	return err
}

func (a *arrays) fail(text string) {
	outcome, reason := classify(text)
	if a.reasons.Len() >= maxReasons {
		reason = "(other)"
	}
	a.failures, a.outcomes = append(a.failures, a.reasons.Code(reason)), append(a.outcomes, outcome)
}

// rows is the number of requests the arrays have.
func (a *arrays) rows() int {
	n := max(len(a.offsets)-1, len(a.failures), 0)
	for _, v := range a.numbers {
		n = max(n, len(v))
	}
	return n
}

func (a *arrays) value(name string, i int) float64 {
	if v := a.numbers[name]; i < len(v) {
		return v[i]
	}
	return math.NaN()
}

// row returns the gaps of request i, and whether the file has them all.
func (a *arrays) row(i int) ([]float64, bool) {
	if i+1 >= len(a.offsets) {
		return nil, false
	}
	return a.gaps[a.offsets[i]:a.offsets[i+1]], !a.badGaps[i]
}

// requests turns the arrays into a table, one row a request in the order of
// dispatch. Only they say how many requests were sent.
func (a *arrays) requests(r *serving.Run) {
	rows := a.rows()
	if rows == 0 {
		return
	}
	if a.numbers[keyOutputLens] == nil && a.numbers[keyTTFTs] == nil {
		note(r, "the request arrays are left out: without output_lens and ttfts nothing says which requests completed")
		return
	}
	a.checkLengths(rows)
	t := &tableBuilder{a: a, r: r, rows: rows, ok: serving.NewBitmap(rows), table: column.NewTable(r.Label, r.Source.Path, serving.Client, rows)}
	t.outcomes()
	t.arrivals()
	t.counts(keyInputLens, serving.PromptTokens)
	t.counts(keyOutputLens, serving.OutputTokens)
	t.counts(keyCached, serving.CachedTokens)
	t.times()
	r.Requests = t.table
	completed := int64(t.ok.Count())
	if r.Completed.OK && r.Completed.V != completed {
		note(r, "the file says %d completed requests, its arrays have %d", r.Completed.V, completed)
	}
	r.Sent = serving.Some(int64(rows))
	or(&r.Completed, serving.Some(completed))
	r.Failed = serving.Some(max(r.Sent.V-r.Completed.V, 0))
}

func (a *arrays) checkLengths(rows int) {
	check := func(name string, n int) {
		if n != rows {
			a.d.in.Problems.AddKind("length "+name, serving.Problem{At: serving.Pos{Path: a.d.path, Line: a.d.r.Line(), Field: name},
				Message: fmt.Sprintf("%d elements, want %d as in the longest array; the requests after them are taken to have none", n, rows)})
		}
	}
	for _, name := range []string{keyInputLens, keyOutputLens, keyTTFTs, keyCached, keyStarts, keyLatencies} {
		if v, ok := a.numbers[name]; ok {
			check(name, len(v))
		}
	}
	if a.offsets != nil {
		check(keyITLs, len(a.offsets)-1)
	}
	if a.failures != nil {
		check(keyErrors, len(a.failures))
	}
}

// A tableBuilder fills one table.
type tableBuilder struct {
	a     *arrays
	r     *serving.Run
	rows  int
	ok    serving.Bitmap // requests that completed
	table *column.Table
}

// outcomes decides which requests completed: no error, and a token or a first
// chunk to show for it.
func (t *tableBuilder) outcomes() {
	codes, reasons, has := make([]int32, t.rows), make([]int32, t.rows), serving.NewBitmap(t.rows)
	silent := t.a.reasons.Code("no token and no error text")
	for i := range t.rows {
		switch {
		case i < len(t.a.failures) && t.a.failures[i] >= 0:
			codes[i], reasons[i] = int32(t.a.outcomes[i]), t.a.failures[i]
			has.Set(i)
		case t.a.value(keyOutputLens, i) > 0 || t.a.value(keyTTFTs, i) > 0:
			t.ok.Set(i)
		default:
			codes[i], reasons[i] = int32(serving.Failed), silent
			has.Set(i)
		}
	}
	t.table.Text(serving.Column{Name: serving.ColOutcome, Kind: serving.KindText, From: "errors, output_lens, ttfts", How: "derived"}, codes, serving.NewOutcomeDict(), nil)
	if has.Count() > 0 {
		t.table.Text(serving.Column{Name: serving.ColError, Kind: serving.KindText, From: keyErrors, How: "dialect"}, reasons, t.a.reasons, has)
	}
}

func (t *tableBuilder) problem(name string, i int, format string, args ...any) {
	t.a.d.in.Problems.AddKind(name+" value", serving.Problem{At: serving.Pos{Path: t.a.d.path, Field: fmt.Sprintf("%s[%d]", name, i)}, Message: fmt.Sprintf(format, args...)})
}

func (t *tableBuilder) counts(name string, m serving.MetricKey) {
	if t.a.numbers[name] == nil {
		return
	}
	values, valid := make([]int64, t.rows), serving.NewBitmap(t.rows)
	for i := range t.rows {
		v := t.a.value(name, i)
		if v == math.Trunc(v) && v < 1<<53 {
			values[i] = int64(v)
			valid.Set(i)
		} else if !math.IsNaN(v) {
			t.problem(name, i, "%g, want a whole number; taken as missing", v)
		}
	}
	t.table.Ints(serving.Column{Name: string(m), Kind: serving.KindCount, From: name, Unit: "tokens", How: "dialect"}, values, column.AllRows(valid, t.rows))
}

// arrivals adds arrival times, from the first request on: the client's clock has
// an arbitrary origin. Released versions do not write them.
func (t *tableBuilder) arrivals() {
	if t.a.numbers[keyStarts] == nil {
		return
	}
	started := func(i int) (float64, bool) {
		v := t.a.value(keyStarts, i)
		return v, !math.IsNaN(v) && (v != 0 || t.ok.Get(i))
	}
	values, valid := column.FromFirst(t.rows, started, func(i int, late float64) {
		t.problem(keyStarts, i, "%g s after the first request; taken as missing", late)
	})
	if valid.Count() > 0 {
		t.table.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime, Relative: true, From: keyStarts, Unit: "s", How: "dialect"}, values, column.AllRows(valid, t.rows))
	}
}

// times adds TTFT, E2E, TPOT and the gaps. All are seconds in the file and here.
func (t *tableBuilder) times() {
	ttft, e2e, tpot := column.NewDurations(t.rows), column.NewDurations(t.rows), column.NewDurations(t.rows)
	var odd column.GapTally
	for i := range t.rows {
		first := t.a.value(keyTTFTs, i)
		if first > 0 { // 0.0: no chunk came
			ttft.Set(i, first)
		}
		if !t.ok.Get(i) {
			continue
		}
		gaps, whole := t.a.row(i)
		decode, total := column.DecodeOf(t.a.value(keyLatencies, i), first, gaps, whole)
		if !math.IsNaN(total) {
			e2e.Set(i, total)
		}
		out := t.a.value(keyOutputLens, i)
		if out >= 2 && decode > 0 {
			tpot.Set(i, decode/(out-1))
		}
		if whole {
			odd.Look(len(gaps), out)
		}
	}
	if odd.InOnePiece() {
		note(t.r, "no completed request has a gap between chunks: the answers were not streamed, so that the recorded TTFT is the E2E latency and is left out")
	} else {
		t.table.AddDurations(serving.TTFT, ttft, keyTTFTs, "dialect")
	}
	if t.a.numbers[keyLatencies] != nil {
		t.table.AddDurations(serving.E2E, e2e, keyLatencies, "dialect")
	} else {
		t.table.AddDurations(serving.E2E, e2e, "ttfts, itls", "derived")
	}
	t.table.AddDurations(serving.TPOT, tpot, "ttfts, itls, output_lens", "derived")
	t.gaps(&odd)
}

// gaps adds the gaps as recorded, between tokens or chunks.
func (t *tableBuilder) gaps(o *column.GapTally) {
	a := t.a
	if len(a.gaps) == 0 {
		return
	}
	kind := o.Kind()
	valid := serving.NewBitmap(t.rows)
	for i := range min(t.rows, len(a.offsets)-1) {
		valid.Set(i)
	}
	for len(a.offsets) < t.rows+1 {
		a.offsets = append(a.offsets, int32(len(a.gaps)))
	}
	t.table.Gaps(serving.Column{Name: string(serving.ITL), Kind: serving.KindGaps, From: keyITLs, Unit: "s", How: "dialect", Gaps: kind}, a.gaps, a.offsets, column.AllRows(valid, t.rows))
	if o.Different > 0 {
		note(t.r, "%d of %d completed requests have another number of gaps in itls than output tokens − 1: there the gaps are between chunks, not tokens", o.Different, o.Compared)
	}
	if b := t.r.Backend.V; kind == "token" && (b == "sglang" || b == "sglang-native") {
		note(t.r, "SGLang's client divides the gap before a chunk evenly among the chunk's tokens: bursts do not show in ITL")
	}
}

func cut(s string) string { return jsonscan.Cut(s, 160) }

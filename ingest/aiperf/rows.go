package aiperf

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/serving"
)

// rows collects records by columns.
type rows struct {
	n int // whole records; the columns may hold one more that is being read

	arrival, end                            col[int64] // ns since the epoch
	prompt, output, cached, reasoning, turn col[int64]
	ttft, tpot, e2e                         col[float64] // seconds
	outcome                                 []int32
	reason, phase, id, session              col[int32]
	reasons, phases, ids, sessions          *serving.Dict

	gaps    []float64 // seconds, of all requests
	offsets []int32
	hasGap  col[struct{}]
	hasGaps bool // the record being read has some

	units map[string]string // of a column: as first seen in the file
}

func newRows() *rows {
	return &rows{reasons: serving.NewDict(), phases: serving.NewDict(), ids: serving.NewDict(), sessions: serving.NewDict(), offsets: []int32{0}, units: map[string]string{}}
}

// cut forgets what a record that was not added left behind.
func (w *rows) cut() {
	for _, c := range []*col[int64]{&w.arrival, &w.end, &w.prompt, &w.output, &w.cached, &w.reasoning, &w.turn} {
		c.cut(w.n)
	}
	for _, c := range []*col[float64]{&w.ttft, &w.tpot, &w.e2e} {
		c.cut(w.n)
	}
	for _, c := range []*col[int32]{&w.reason, &w.phase, &w.id, &w.session} {
		c.cut(w.n)
	}
	w.gaps = w.gaps[:w.offsets[w.n]]
	w.hasGaps = false
}

// intern sets a text of the row being read. Distinct texts are bounded.
func (w *rows) intern(c *col[int32], dict *serving.Dict, s string) {
	code, known := dict.Find(s)
	if !known {
		if dict.Len() >= maxIDs {
			return
		}
		code = dict.Code(s)
	}
	c.set(w.n, code)
}

// addGap appends a gap. Growing by halves leaves the slice behind several times
// in garbage; instead what the file holds is estimated from what was read, once
// that is enough to tell. Room that stays unused is never touched and costs no
// memory, while to grow once more at the end costs the whole slice again.
func (w *rows) addGap(v float64, read, size int64) {
	if len(w.gaps) == cap(w.gaps) {
		more := 0.0
		if read > 1<<20 {
			more = float64(max(size-read, 0)) / float64(read) * float64(len(w.gaps)) * 1.2
		}
		w.gaps = slices.Grow(w.gaps, int(max(1<<16, min(more, 64<<20))))
	}
	w.gaps = append(w.gaps, v)
}

// add completes the row being read.
func (w *rows) add(row *record) {
	o, reason := w.judge(row)
	w.outcome = append(w.outcome, int32(o))
	if reason != "" {
		if w.reasons.Len() >= maxReasons {
			reason = "(other)"
		}
		w.reason.set(w.n, w.reasons.Code(reason))
	}
	if s := row.correl; s != "" {
		w.intern(&w.session, w.sessions, s)
	} else if row.conv != "" {
		w.intern(&w.session, w.sessions, row.conv)
	}
	if w.hasGaps {
		w.hasGap.set(w.n, struct{}{})
	}
	w.offsets = append(w.offsets, int32(len(w.gaps)))
	w.deriveTPOT()
	w.n++
}

// judge says how a request ended. 499 is what the harness writes for a request
// it cancelled itself.
func (w *rows) judge(row *record) (serving.Outcome, string) {
	reason := row.reasonOf()
	if row.failed {
		words := strings.ToLower(row.kind + " " + row.text)
		switch {
		case row.code == 499 || row.cancelled || strings.Contains(words, "cancel"):
			return serving.Cancelled, reason
		case row.code == 408 || row.code == 504 || strings.Contains(words, "timeout") || strings.Contains(words, "timed out"):
			return serving.Timeout, reason
		}
		return serving.Failed, reason
	}
	_, whole := w.e2e.get(w.n)
	switch {
	case row.cancelled:
		return serving.Cancelled, "was_cancelled"
	case row.skipped:
		return serving.Failed, "context_overflow_skip"
	case !whole:
		return serving.Incomplete, "no request_latency"
	}
	return serving.OK, ""
}

// deriveTPOT fills in what inter_token_latency is defined to be where a record
// lacks it.
func (w *rows) deriveTPOT() {
	if _, ok := w.tpot.get(w.n); ok {
		return
	}
	e, a := w.e2e.get(w.n)
	t, b := w.ttft.get(w.n)
	out, c := w.output.get(w.n)
	if a && b && c && out > 1 && e >= t {
		w.tpot.set(w.n, (e-t)/float64(out-1))
	}
}

// run makes a run of all records.
func (w *rows) run(path string) *serving.Run {
	w.cut()
	r := &serving.Run{Source: serving.Pos{Path: path}, Format: FormatRecords, Label: baseLabel(path), Load: serving.Load{Mode: serving.UnknownLoad}}
	w.counts(r)
	w.notes(r)
	r.Requests = w.table(r.Label, path)
	return r
}

func baseLabel(path string) string {
	base := filepath.Base(path)
	if stem := strings.TrimSuffix(base, filepath.Ext(base)); stem != "" {
		return stem
	}
	return base
}

// warmup reports whether row i is of the warm-up.
func (w *rows) warmup(i int) bool {
	c, ok := w.phase.get(i)
	return ok && isWarmup(w.phases.Name(c))
}

func isWarmup(phase string) bool { return strings.HasPrefix(strings.ToLower(phase), "warm") }

// counts fills in the run's counts, tokens and duration, warm-up left out. A sum
// of tokens of which a request's are missing is no sum.
func (w *rows) counts(r *serving.Run) {
	var sent, ok, in, out int64
	inWhole, outWhole := true, true
	first, last := int64(math.MaxInt64), int64(0)
	for i := range w.n {
		if w.warmup(i) {
			continue
		}
		sent++
		if t, has := w.arrival.get(i); has {
			first = min(first, t)
		}
		if serving.Outcome(w.outcome[i]) != serving.OK {
			continue
		}
		ok++
		p, hasP := w.prompt.get(i)
		o, hasO := w.output.get(i)
		in, out, inWhole, outWhole = in+p, out+o, inWhole && hasP, outWhole && hasO
		if t, has := w.ended(i); has {
			last = max(last, t)
		}
	}
	r.Sent, r.Completed, r.Failed = serving.Some(sent), serving.Some(ok), serving.Some(sent-ok)
	if ok > 0 && inWhole {
		r.Input = serving.Some(in)
	}
	if ok > 0 && outWhole {
		r.Output = serving.Some(out)
	}
	if last > first {
		r.Duration = serving.Some(float64(last-first) / 1e9)
	}
}

// ended is when a request ended: as recorded, or its start and latency.
func (w *rows) ended(i int) (int64, bool) {
	if t, ok := w.end.get(i); ok {
		return t, true
	}
	t, a := w.arrival.get(i)
	e, b := w.e2e.get(i)
	return t + int64(math.Round(e*1e9)), a && b && e < 1e9
}

// gapTally tells gaps between tokens from gaps between chunks.
func (w *rows) gapTally() (t column.GapTally) {
	for i := range w.n {
		out, hasOut := w.output.get(i)
		if _, has := w.hasGap.get(i); has && hasOut && serving.Outcome(w.outcome[i]) == serving.OK && !w.warmup(i) {
			t.Look(int(w.offsets[i+1]-w.offsets[i]), float64(out))
		}
	}
	return t
}

func (w *rows) notes(r *serving.Run) {
	note := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	warm := 0
	for i := range w.n {
		if w.warmup(i) {
			warm++
		}
	}
	if warm > 0 {
		note("%d warm-up requests are left out", warm)
	}
	if t := w.gapTally(); t.Different > 0 {
		note("%d of %d completed requests have another number of gaps in inter_chunk_latency than output tokens − 1: there the gaps are between chunks, not tokens", t.Different, t.Compared)
	}
	if w.ids.Len() >= maxIDs {
		note("ids beyond the first %d are left out", maxIDs)
	}
}

// table makes the requests a table.
func (w *rows) table(name, path string) *column.Table {
	t := column.NewTable(name, path, serving.Client, w.n)
	t.Text(serving.Column{Name: serving.ColOutcome, Kind: serving.KindText, From: "error, metadata.was_cancelled, metrics.request_latency", How: "derived"},
		w.outcome, serving.NewOutcomeDict(), nil)
	text := func(name, from string, c *col[int32], dict *serving.Dict) {
		if c.n > 0 {
			codes, valid := c.done(w.n)
			t.Text(serving.Column{Name: name, Kind: serving.KindText, From: from, How: "dialect"}, codes, dict, valid)
		}
	}
	ints := func(name string, kind serving.ColumnKind, from, unit, how string, c *col[int64]) {
		if c.n > 0 {
			values, valid := c.done(w.n)
			t.Ints(serving.Column{Name: name, Kind: kind, From: from, Unit: unit, How: how}, values, valid)
		}
	}
	floats := func(m serving.MetricKey, from string, c *col[float64]) {
		if c.n > 0 {
			values, valid := c.done(w.n)
			t.Floats(serving.Column{Name: string(m), Kind: serving.KindDuration, From: from, Unit: w.units[string(m)], How: "sibling"}, values, valid)
		}
	}
	ints(serving.ColArrival, serving.KindTime, "metadata.request_start_ns", "ns", "dialect", &w.arrival)
	ints(serving.ColEnd, serving.KindTime, "metadata.request_end_ns", "ns", "dialect", &w.end)
	text(serving.ColRequestID, "metadata.x_request_id", &w.id, w.ids)
	text(serving.ColSession, "metadata.x_correlation_id, metadata.conversation_id", &w.session, w.sessions)
	text(serving.ColPhase, "metadata.benchmark_phase", &w.phase, w.phases)
	text(serving.ColError, "error", &w.reason, w.reasons)
	ints(colTurn, serving.KindCount, "metadata.turn_index", "", "dialect", &w.turn)
	ints(string(serving.PromptTokens), serving.KindCount, "input_sequence_length", "tokens", "sibling", &w.prompt)
	ints(string(serving.OutputTokens), serving.KindCount, "output_sequence_length", "tokens", "sibling", &w.output)
	ints(string(serving.CachedTokens), serving.KindCount, "usage_prompt_cache_read_tokens", "tokens", "sibling", &w.cached)
	ints("reasoning_tokens", serving.KindCount, "reasoning_token_count", "tokens", "sibling", &w.reasoning)
	floats(serving.TTFT, "time_to_first_token", &w.ttft)
	floats(serving.TPOT, "inter_token_latency", &w.tpot)
	floats(serving.E2E, "request_latency", &w.e2e)
	if w.hasGap.n > 0 {
		tally := w.gapTally()
		_, valid := w.hasGap.done(w.n)
		t.Gaps(serving.Column{Name: string(serving.ITL), Kind: serving.KindGaps, From: "inter_chunk_latency", Unit: w.units[string(serving.ITL)], How: "sibling", Gaps: tally.Kind()}, w.gaps, w.offsets, valid)
	}
	return t
}

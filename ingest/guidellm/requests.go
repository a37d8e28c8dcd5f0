package guidellm

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// rows are a benchmark's requests by columns: seconds, NaN where there is no
// value. All clocks count from 1970.
type rows struct {
	start, first, last, end []float64
	ttft, tpot, e2e         []float64
	input, output, cached   []float64
	outcome                 []int32
	id, session, reason     []int32 // -1 where there is none
	ids, sessions, reasons  *serving.Dict
	of                      map[serving.Outcome]int64 // requests a list
	odd                     int64                     // completed with a TPOT that their times do not give
}

func newRows() *rows {
	return &rows{ids: serving.NewDict(), sessions: serving.NewDict(), reasons: serving.NewDict(), of: map[serving.Outcome]int64{}}
}

func (t *rows) len() int { return len(t.start) }

// A request is one record as it is read.
type request struct {
	start, first, last, end float64
	ttftMS, tpotMS, e2e     float64
	input, output, cached   float64
	inputText, outputText   float64 // of input_metrics, output_metrics
	id, session, err, info  string
}

// lists are the lists below requests, by what became of their requests.
var lists = map[string]serving.Outcome{"successful": serving.OK, "incomplete": serving.Incomplete, "errored": serving.Failed}

func (b *benchmark) list(name string) error {
	outcome, ok := lists[name]
	if !ok {
		return b.r.Skip() // total: null
	}
	_, err := b.r.Array(func(i int) error {
		if i&0xff == 0 && b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		nan := math.NaN()
		q := request{start: nan, first: nan, last: nan, end: nan, ttftMS: nan, tpotMS: nan, e2e: nan, input: nan, output: nan, cached: nan, inputText: nan, outputText: nan}
		ok, err := b.r.Object(func(name string) error { return b.value(&q, name) })
		if err != nil {
			return err
		}
		if !ok {
			b.in.Problems.AddKind("no request", b.r.Problemf("no request, want an object; left out"))
			return nil
		}
		b.rows.add(&q, outcome)
		return nil
	})
	return err
}

// A place is where a number of a request goes.
type place struct {
	as, unit string
	at       func(*request) *float64
}

var places = map[string]place{
	"start_time":                         {serving.ColArrival, "s", func(q *request) *float64 { return &q.start }},
	"request_start_time":                 {serving.ColArrival, "s", func(q *request) *float64 { return &q.start }},
	"end_time":                           {serving.ColEnd, "s", func(q *request) *float64 { return &q.end }},
	"request_end_time":                   {serving.ColEnd, "s", func(q *request) *float64 { return &q.end }},
	"first_token_time":                   {serving.ColFirstToken, "s", func(q *request) *float64 { return &q.first }},
	"last_token_time":                    {"", "s", func(q *request) *float64 { return &q.last }},
	"request_latency":                    {string(serving.E2E), "s", func(q *request) *float64 { return &q.e2e }},
	keyTTFT:                              {string(serving.TTFT), "ms", func(q *request) *float64 { return &q.ttftMS }},
	keyITL:                               {string(serving.TPOT), "ms", func(q *request) *float64 { return &q.tpotMS }},
	"prompt_tokens":                      {string(serving.PromptTokens), "tokens", func(q *request) *float64 { return &q.input }},
	"output_tokens":                      {string(serving.OutputTokens), "tokens", func(q *request) *float64 { return &q.output }},
	"cached_tokens":                      {string(serving.CachedTokens), "tokens", func(q *request) *float64 { return &q.cached }},
	"info.timings.request_start":         {serving.ColArrival, "s", func(q *request) *float64 { return &q.start }},
	"info.timings.request_end":           {serving.ColEnd, "s", func(q *request) *float64 { return &q.end }},
	"info.timings.first_token_iteration": {serving.ColFirstToken, "s", func(q *request) *float64 { return &q.first }},
	"info.timings.last_token_iteration":  {"", "s", func(q *request) *float64 { return &q.last }},
	"input_metrics.text_tokens":          {string(serving.PromptTokens), "tokens", func(q *request) *float64 { return &q.inputText }},
	"output_metrics.text_tokens":         {string(serving.OutputTokens), "tokens", func(q *request) *float64 { return &q.outputText }},
}

// value reads one member of a request, or of an object inside it.
func (b *benchmark) value(q *request, name string) error {
	if p, ok := places[name]; ok {
		return b.number(q, name, p)
	}
	text := func(dst *string, max int) error {
		s, _, err := b.r.Text(max)
		if err == nil {
			*dst = s
		}
		return err
	}
	switch name {
	case "info", "info.timings", "input_metrics", "output_metrics":
		_, err := b.r.Object(func(n string) error { return b.value(q, name+"."+n) })
		return err
	case "request_id":
		return text(&q.id, 128)
	case "info.conversation_id":
		return text(&q.session, 128)
	case "error":
		return text(&q.err, 4096)
	case "info.error":
		return text(&q.info, 4096)
	}
	return b.r.Skip() // prompt, output, request_args, scheduler_info, …
}

func (b *benchmark) number(q *request, name string, p place) error {
	null := b.r.Peek() == 'n'
	v, ok, err := b.r.Float()
	switch {
	case err != nil || null:
		return err
	case !ok || math.IsNaN(v) || math.IsInf(v, 0) || v < 0:
		b.in.Problems.AddKind("request "+name, b.r.Problemf("no number from 0 on, want one; taken as missing"))
		return nil
	}
	b.field("requests."+name, p.as, p.unit, "dialect")
	*p.at(q) = v
	return nil
}

// add appends a request. TPOT is inter_token_latency_ms, which is
// (last − first token) / (output tokens − 1) in all versions;
// time_per_output_token_ms is not read.
func (t *rows) add(q *request, o serving.Outcome) {
	t.of[o]++
	if math.IsNaN(q.input) {
		q.input = q.inputText
	}
	if math.IsNaN(q.output) {
		q.output = q.outputText
	}
	// Before the first token an unfinished request has the number of tokens it
	// was to get, not what it got.
	if o != serving.OK && !(q.first > 0) && !(q.ttftMS > 0) {
		q.output = math.NaN()
	}
	ttft, tpot := positive(q.ttftMS/1e3), positive(q.tpotMS/1e3)
	if math.IsNaN(ttft) {
		ttft = positive(q.first - q.start)
	}
	if given := positive((q.last - q.first) / (q.output - 1)); math.IsNaN(tpot) && q.output > 1 {
		tpot = given
	} else if o == serving.OK && math.Abs(tpot-given) > 0.01*given {
		t.odd++
	}
	if !(q.output > 1) {
		tpot = math.NaN()
	}
	e2e := positive(q.e2e)
	if math.IsNaN(e2e) {
		e2e = positive(q.end - q.start)
	}
	t.start, t.first, t.last, t.end = append(t.start, positive(q.start)), append(t.first, positive(q.first)), append(t.last, positive(q.last)), append(t.end, positive(q.end))
	t.ttft, t.tpot, t.e2e = append(t.ttft, ttft), append(t.tpot, tpot), append(t.e2e, e2e)
	t.input, t.output, t.cached = append(t.input, q.input), append(t.output, q.output), append(t.cached, q.cached)
	reason := cmp.Or(q.err, q.info)
	if o == serving.Failed {
		o = kindOf(reason)
	}
	t.outcome = append(t.outcome, int32(o))
	t.id, t.session = append(t.id, intern(t.ids, q.id, math.MaxInt32)), append(t.session, intern(t.sessions, q.session, math.MaxInt32))
	t.reason = append(t.reason, intern(t.reasons, reasonLine(reason), maxReasons))
}

func positive(v float64) float64 {
	if v > 0 && !math.IsInf(v, 0) {
		return v
	}
	return math.NaN()
}

func intern(d *serving.Dict, s string, most int) int32 {
	if s == "" {
		return -1
	}
	if _, ok := d.Find(s); !ok && d.Len() >= most {
		s = "(other)"
	}
	return d.Code(s)
}

// kindOf says what kind of failure an error text tells of.
func kindOf(text string) serving.Outcome {
	t := strings.ToLower(text)
	switch {
	case strings.Contains(t, "timeout") || strings.Contains(t, "timed out"):
		return serving.Timeout
	case strings.Contains(t, "cancelled") || strings.Contains(t, "canceled"):
		return serving.Cancelled
	}
	return serving.Failed
}

func reasonLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return jsonscan.Cut(strings.TrimSpace(line), 160)
}

// window is the measured time of a benchmark that had a warm-up or cool-down.
type window struct{ from, to float64 }

// holds is GuideLLM's own test: a request counts that overlaps the window.
func (w window) holds(start, end float64) bool { return end >= w.from && start <= w.to }

// table makes a table of the requests, in the order they were sent in. Those
// outside the window are of the phase warmup.
func (t *rows) table(label, path string, w *window) *column.Table {
	idx := make([]int, t.len())
	for i := range idx {
		idx[i] = i
	}
	slices.SortStableFunc(idx, func(a, b int) int {
		x, y := t.start[a], t.start[b]
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return 0
		case math.IsNaN(x):
			return 1
		case math.IsNaN(y):
			return -1
		}
		return cmp.Compare(x, y)
	})
	c := column.NewTable(label, path, serving.Client, len(idx))
	f := column.Filler{Table: c}
	col := func(name, from, how string) serving.Column { return serving.Column{Name: name, From: from, How: how} }
	ms := func(m serving.MetricKey, from string) serving.Column {
		return serving.Column{Name: string(m), From: from, Unit: "ms", How: "suffix"}
	}
	tokens := func(m serving.MetricKey, from string) serving.Column {
		return serving.Column{Name: string(m), From: from, Unit: "tokens", How: "dialect"}
	}
	f.Instants(col(serving.ColArrival, "start_time", "dialect"), pick(t.start, idx), 0)
	f.Instants(col(serving.ColFirstToken, "first_token_time", "dialect"), pick(t.first, idx), 0)
	f.Instants(col(serving.ColEnd, "end_time", "dialect"), pick(t.end, idx), 0)
	f.Codes(col(serving.ColRequestID, "request_id", "dialect"), pick(t.id, idx), t.ids)
	f.Codes(col(serving.ColSession, "conversation_id", "dialect"), pick(t.session, idx), t.sessions)
	f.Codes(col(serving.ColOutcome, "successful, incomplete, errored", "dialect"), pick(t.outcome, idx), serving.NewOutcomeDict())
	f.Codes(col(serving.ColError, "error", "dialect"), pick(t.reason, idx), t.reasons)
	f.Counts(tokens(serving.PromptTokens, "prompt_tokens"), pick(t.input, idx))
	f.Counts(tokens(serving.OutputTokens, "output_tokens"), pick(t.output, idx))
	f.Counts(tokens(serving.CachedTokens, "cached_tokens"), pick(t.cached, idx))
	f.Durations(ms(serving.TTFT, keyTTFT), pick(t.ttft, idx))
	f.Durations(ms(serving.TPOT, keyITL), pick(t.tpot, idx))
	f.Durations(col(string(serving.E2E), "request_latency", "dialect"), pick(t.e2e, idx))
	if w != nil {
		phase := make([]int32, len(idx))
		for i, k := range idx {
			if !w.holds(t.start[k], t.end[k]) {
				phase[i] = 1
			}
		}
		f.Codes(col(serving.ColPhase, "start_time, end_time", "derived"), phase, serving.NewDict("profiling", "warmup"))
	}
	return c
}

func pick[T any](v []T, idx []int) []T {
	out := make([]T, len(idx))
	for i, k := range idx {
		out[i] = v[k]
	}
	return out
}

// counts are the requests of each list that count: all, or those in the window.
func (t *rows) counts(w *window) map[serving.Outcome]int64 {
	if w == nil {
		return t.of
	}
	out := map[serving.Outcome]int64{}
	for i := range t.start {
		if w.holds(t.start[i], t.end[i]) {
			o := serving.Outcome(t.outcome[i])
			if o != serving.OK && o != serving.Incomplete {
				o = serving.Failed
			}
			out[o]++
		}
	}
	return out
}

// values are a column's values over the completed requests that count.
func (t *rows) values(col []float64, w *window) []float64 {
	var out []float64
	for i, v := range col {
		if t.outcome[i] == int32(serving.OK) && !math.IsNaN(v) && (w == nil || w.holds(t.start[i], t.end[i])) {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

package inferenceperf

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// rows are requests by columns, in the order of the file: seconds, NaN where
// there is no value.
type rows struct {
	start, end, ttft, tpot []float64
	input, output, cached  []float64
	gaps                   []float64
	offsets                []int32 // one more than requests
	outcome                []int32
	reason, session        []int32 // −1 where there is none
	reasons, sessions      *serving.Dict
	shared                 int // gaps of tokens that share a time
	hasGaps                bool
}

// maxGaps bounds the gaps of a file, so that offsets fit 32 bits.
const maxGaps = 1 << 30

// maxReasons bounds distinct error texts, maxSessions distinct sessions.
const (
	maxReasons  = 1000
	maxSessions = 1 << 20
)

// A request is one record as it is read.
type request struct {
	start, end, ttft, tpot float64
	input, output, cached  float64
	times                  []float64 // of the output tokens
	gaps                   []float64 // as computed by the producer
	errType, errText       string
	failed                 bool
	session                string
}

type requestReader struct {
	path string
	r    *jsonscan.Reader
	in   *serving.Input
	rows *rows
	q    request
	seen map[string]bool
	sum  string // what the last record lacked
}

// decodeRequests reads per_request_lifecycle_metrics.json: an array of requests
// of all stages, whose times have an arbitrary origin. Texts are skipped.
func decodeRequests(ctx context.Context, path string, rd io.Reader, in *serving.Input) (*serving.Run, error) {
	d := &requestReader{path: path, r: jsonscan.NewReader(path, rd), in: in, seen: map[string]bool{},
		rows: &rows{offsets: []int32{0}, reasons: serving.NewDict(), sessions: serving.NewDict()}}
	_, _, err := d.r.Records(Format, &in.Problems, func(i int) error {
		if i&0xff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return d.record(i)
	})
	if err != nil {
		return nil, d.r.Describe(err, Format)
	}
	in.Records = int64(len(d.rows.start))
	if in.Records == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: "no request: " + d.sum, Want: "requests with start_time and end_time"}
	}
	return d.rows.sorted().run(path, baseLabel(path)), nil
}

func (d *requestReader) record(i int) error {
	nan := math.NaN()
	times, gaps := d.q.times[:0], d.q.gaps[:0]
	d.q = request{start: nan, end: nan, ttft: nan, tpot: nan, input: nan, output: nan, cached: nan, times: times, gaps: gaps}
	line := d.r.NextLine()
	ok, err := d.r.Object(d.member)
	if err != nil {
		return err
	}
	at := serving.Pos{Path: d.path, Line: line, Row: int64(i + 1)}
	if !ok || math.IsNaN(d.q.start) || math.IsNaN(d.q.end) {
		d.sum = "no start_time or end_time"
		d.in.Problems.AddKind("no request", serving.Problem{At: at, Message: "the record has no start_time and end_time: left out"})
		return nil
	}
	if d.q.end < d.q.start {
		d.in.Problems.AddKind("order", serving.Problem{At: at, Message: fmt.Sprintf("the request ends (%g) before it starts (%g): its times are left out", d.q.end, d.q.start)})
		d.q.end = nan
	}
	d.rows.add(&d.q)
	return nil
}

func (d *requestReader) field(name, as, unit, how string) {
	addField(d.in, d.seen, name, as, unit, how)
}

func (d *requestReader) number(dst *float64, name, as, unit string) error {
	null := d.r.Peek() == 'n'
	v, ok, err := d.r.Float()
	switch {
	case err != nil || null:
		return err
	case !ok || math.IsNaN(v) || math.IsInf(v, 0):
		d.in.Problems.AddKind(name+" number", d.r.Problemf("no number, want one; taken as missing"))
		return nil
	}
	d.field(name, as, unit, "dialect")
	*dst = v
	return nil
}

func (d *requestReader) member(name string) error {
	switch name {
	case "start_time":
		return d.number(&d.q.start, name, serving.ColArrival, "s")
	case "end_time":
		return d.number(&d.q.end, name, serving.ColEnd, "s")
	case "session_id":
		s, _, err := d.r.Text(256)
		d.q.session = s
		return err
	case "error":
		return d.failure()
	case "info":
		return d.object(d.info)
	case "computed_metrics":
		return d.object(d.computed)
	}
	return d.r.Skip() // request, response: texts
}

func (d *requestReader) object(member func(string) error) error {
	_, err := d.r.Object(member)
	return err
}

// failure reads error: null, or an object with its type and text.
func (d *requestReader) failure() error {
	switch d.r.Peek() {
	case 'n':
		return d.r.Skip()
	case '{':
		d.q.failed = true
		return d.object(func(name string) (err error) {
			switch name {
			case "error_type":
				d.q.errType, _, err = d.r.Text(256)
			case "error_msg":
				d.q.errText, _, err = d.r.Text(4096)
			default:
				err = d.r.Skip()
			}
			return err
		})
	}
	s, _, err := d.r.Scalar(4096)
	d.q.failed = s.Text != "" && s.Kind != 'f'
	d.q.errText = s.Text
	return err
}

// info reads what the client knows of a request: flat up to 2025, split into the
// metrics of request and response since.
func (d *requestReader) info(name string) error {
	switch name {
	case "input_tokens", "prompt_tokens":
		return d.number(&d.q.input, "info."+name, string(serving.PromptTokens), "tokens")
	case "output_tokens":
		return d.number(&d.q.output, "info."+name, string(serving.OutputTokens), "tokens")
	case "output_token_times":
		return d.times()
	case "request_metrics", "response_metrics", "text":
		return d.object(d.info)
	case "server_usage":
		return d.object(func(name string) error {
			if name != "prompt_tokens_details" {
				return d.r.Skip()
			}
			return d.object(func(name string) error {
				if name != "cached_tokens" {
					return d.r.Skip()
				}
				return d.number(&d.q.cached, "info.response_metrics.server_usage.prompt_tokens_details.cached_tokens", string(serving.CachedTokens), "tokens")
			})
		})
	}
	return d.r.Skip()
}

func (d *requestReader) computed(name string) error {
	const p = "computed_metrics."
	switch name {
	case "time_to_first_token":
		return d.number(&d.q.ttft, p+name, string(serving.TTFT), "s")
	case "time_per_output_token":
		return d.number(&d.q.tpot, p+name, string(serving.TPOT), "s")
	case "input_tokens":
		return d.number(&d.q.input, p+name, string(serving.PromptTokens), "tokens")
	case "output_tokens":
		return d.number(&d.q.output, p+name, string(serving.OutputTokens), "tokens")
	case "inter_token_latencies":
		return d.floats(&d.q.gaps, p+name)
	}
	return d.r.Skip()
}

func (d *requestReader) times() error {
	return d.floats(&d.q.times, "info.output_token_times")
}

func (d *requestReader) floats(dst *[]float64, name string) error {
	ok, err := d.r.Array(func(int) error {
		v, ok, err := d.r.Float()
		if err == nil && ok && !math.IsNaN(v) && !math.IsInf(v, 0) && len(*dst) < maxGaps {
			*dst = append(*dst, v)
		}
		return err
	})
	if ok {
		d.field(name, string(serving.ITL), "s", "dialect")
	}
	return err
}

// add appends a request. What the producer computed is taken; else its formulas
// are used: TTFT from the first token's time, TPOT over output tokens − 1.
func (t *rows) add(q *request) {
	n := len(q.times)
	if n > 1 && slices.IsSorted(q.times) && q.times[0] >= q.start {
		if math.IsNaN(q.ttft) {
			q.ttft = q.times[0] - q.start
		}
		if math.IsNaN(q.tpot) && q.output > 1 {
			q.tpot = (q.times[n-1] - q.times[0]) / (q.output - 1)
		}
		if len(q.gaps) == 0 {
			for i := 1; i < n; i++ {
				q.gaps = append(q.gaps, q.times[i]-q.times[i-1])
			}
		}
	}
	t.start, t.end, t.ttft, t.tpot = append(t.start, q.start), append(t.end, q.end), append(t.ttft, positive(q.ttft)), append(t.tpot, positive(q.tpot))
	t.input, t.output, t.cached = append(t.input, q.input), append(t.output, q.output), append(t.cached, q.cached)
	t.addGaps(q.gaps)
	o, reason := outcomeOf(q)
	t.outcome = append(t.outcome, int32(o))
	t.reason = append(t.reason, intern(t.reasons, reason, maxReasons))
	t.session = append(t.session, intern(t.sessions, q.session, maxSessions))
}

func positive(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

func (t *rows) addGaps(gaps []float64) {
	for _, g := range gaps {
		if g < 0 || len(t.gaps) >= maxGaps {
			continue
		}
		if g < sharedTime {
			t.shared++
		}
		t.gaps, t.hasGaps = append(t.gaps, g), true
	}
	t.offsets = append(t.offsets, int32(len(t.gaps)))
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

func outcomeOf(q *request) (serving.Outcome, string) {
	if !q.failed {
		return serving.OK, ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(q.errText), "\n")
	reason := strings.Trim(q.errType+": "+line, ": ")
	if reason == "" {
		reason = "an error without a text"
	}
	reason = jsonscan.Cut(reason, 160)
	low := strings.ToLower(q.errType + " " + q.errText)
	switch {
	case strings.Contains(low, "timeout") || strings.Contains(low, "timed out") || strings.Contains(low, "deadline exceeded"):
		return serving.Timeout, reason
	case strings.Contains(low, "cancelled") || strings.Contains(low, "canceled"):
		return serving.Cancelled, reason
	}
	return serving.Failed, reason
}

// epochFrom is the time from which a number is seconds since 1970: a monotonic
// clock counts from the start of the machine, which was not thirty years ago.
const epochFrom = 1e9

// A table is requests that can still be divided among stages.
type table struct {
	*column.Table
	rows *rows
}

// run makes a run of requests.
func (t *rows) run(path, label string) *serving.Run {
	n := len(t.start)
	r := &serving.Run{Source: serving.Pos{Path: path}, Format: Format, Label: label, Load: serving.Load{Mode: serving.UnknownLoad}}
	c := column.NewTable(label, path, serving.Client, n)
	f := column.Filler{Table: c}
	first, last := slices.Min(t.start), math.Inf(-1)
	completed := int64(0)
	e2e := make([]float64, n)
	for i := range n {
		e2e[i] = math.NaN()
		if !math.IsNaN(t.end[i]) {
			last = max(last, t.end[i])
			e2e[i] = positive(t.end[i] - t.start[i])
		}
		if t.outcome[i] == int32(serving.OK) {
			completed++
		}
	}
	origin := 0.0
	if first < epochFrom {
		origin = first
	}
	f.Instants(serving.Column{Name: serving.ColArrival, Relative: origin != 0, From: "start_time", How: "dialect"}, t.start, origin)
	f.Instants(serving.Column{Name: serving.ColEnd, Relative: origin != 0, From: "end_time", How: "dialect"}, t.end, origin)
	f.Codes(serving.Column{Name: serving.ColOutcome, From: "error", How: "dialect"}, t.outcome, serving.NewOutcomeDict())
	f.Codes(serving.Column{Name: serving.ColError, From: "error", How: "dialect"}, t.reason, t.reasons)
	f.Codes(serving.Column{Name: serving.ColSession, From: "session_id", How: "dialect"}, t.session, t.sessions)
	f.Counts(serving.Column{Name: string(serving.PromptTokens), From: "input_tokens", Unit: "tokens", How: "dialect"}, t.input)
	f.Counts(serving.Column{Name: string(serving.OutputTokens), From: "output_tokens", Unit: "tokens", How: "dialect"}, t.output)
	f.Counts(serving.Column{Name: string(serving.CachedTokens), From: "cached_tokens", Unit: "tokens", How: "dialect"}, t.cached)
	f.Durations(serving.Column{Name: string(serving.TTFT), From: "output_token_times, start_time", How: "derived"}, t.ttft)
	f.Durations(serving.Column{Name: string(serving.E2E), From: "start_time, end_time", How: "derived"}, e2e)
	f.Durations(serving.Column{Name: string(serving.TPOT), From: "output_token_times, output_tokens", How: "derived"}, t.tpot)
	if t.hasGaps {
		kind := "token"
		if t.shared*100 > len(t.gaps) {
			kind = "chunk"
			r.Notes = append(r.Notes, fmt.Sprintf("%d of %d gaps between tokens are 0: the tokens of a chunk share its arrival time, so the gaps are between chunks", t.shared, len(t.gaps)))
		}
		c.Gaps(serving.Column{Name: string(serving.ITL), Kind: serving.KindGaps, From: "output_token_times", Unit: "s", How: "dialect", Gaps: kind}, t.gaps, t.offsets, nil)
	}
	r.Sent, r.Completed, r.Failed = serving.Some(int64(n)), serving.Some(completed), serving.Some(int64(n)-completed)
	if last > first {
		r.Duration = serving.Some(last - first)
	}
	r.Requests = &table{c, t}
	return r
}

// sorted returns the requests in the order they were sent in; the file has them
// in the order they came back.
func (t *rows) sorted() *rows {
	idx := make([]int, len(t.start))
	for i := range idx {
		idx[i] = i
	}
	byStart := func(a, b int) int { return cmp.Compare(t.start[a], t.start[b]) }
	if slices.IsSortedFunc(idx, byStart) {
		return t
	}
	slices.SortStableFunc(idx, byStart)
	return t.subset(idx)
}

// subset returns the given requests.
func (t *rows) subset(idx []int) *rows {
	out := &rows{offsets: []int32{0}, reasons: t.reasons, sessions: t.sessions}
	pick := func(v []float64) []float64 {
		o := make([]float64, len(idx))
		for i, k := range idx {
			o[i] = v[k]
		}
		return o
	}
	codes := func(v []int32) []int32 {
		o := make([]int32, len(idx))
		for i, k := range idx {
			o[i] = v[k]
		}
		return o
	}
	out.start, out.end, out.ttft, out.tpot = pick(t.start), pick(t.end), pick(t.ttft), pick(t.tpot)
	out.input, out.output, out.cached = pick(t.input), pick(t.output), pick(t.cached)
	out.outcome, out.reason, out.session = codes(t.outcome), codes(t.reason), codes(t.session)
	for _, k := range idx {
		out.addGaps(t.gaps[t.offsets[k]:t.offsets[k+1]])
	}
	return out
}

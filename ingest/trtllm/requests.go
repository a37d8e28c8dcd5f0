package trtllm

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/vreport/vreport/ingest/column"
	"github.com/vreport/vreport/ingest/flat"
	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffRequests says whether a record with these names is one of
// --request_json, and why not.
func SniffRequests(keys map[string]bool) (ok bool, why string) {
	for _, k := range []string{"start_timestamp", "end_timestamp", "num_input_tokens"} {
		if !keys[k] {
			return false, fmt.Sprintf("no %q", k)
		}
	}
	if !keys["first_token_timestamp"] || !keys["decode_iteration"] && !keys["error_tokens"] {
		return false, `no "first_token_timestamp" with "decode_iteration"`
	}
	return true, ""
}

// DecidedRequests says whether these first names already decide.
func DecidedRequests(keys map[string]bool) bool {
	ok, _ := SniffRequests(keys)
	return ok
}

// requestNames are the names of a raw request and what they become. Instants are
// nanoseconds of a clock with an arbitrary origin; -1 is what was never set.
// Everything else in a record is computed from these.
var requestNames = map[string]serving.Field{
	"start_timestamp":         {As: serving.ColArrival, Unit: "ns"},
	"first_token_timestamp":   {As: string(serving.TTFT), Unit: "ns"},
	"end_timestamp":           {As: string(serving.E2E), Unit: "ns"},
	"num_input_tokens":        {As: string(serving.PromptTokens), Unit: "tokens"},
	"output_tokens":           {As: string(serving.OutputTokens), Unit: "tokens"},
	"num_total_output_tokens": {As: string(serving.OutputTokens), Unit: "tokens"},
	"num_output_tokens":       {As: string(serving.OutputTokens), Unit: "tokens"},
	"error_tokens":            {As: serving.ColOutcome},
}

// missing stands for a number that is not there or not set.
const missing = math.MinInt64

// maxRequests bounds a file.
const maxRequests = 1 << 26

// raw are the requests of a file by columns.
type raw struct {
	start, first, end, input, output []int64
	failed                           []bool
}

// DecodeRequests reads a --request_json file into one run with its requests.
func DecodeRequests(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	jr := jsonscan.NewReader(path, r)
	fields := flat.Fields{In: in}
	c := &raw{}
	_, _, err := jr.Records(Format, &in.Problems, func(i int) error {
		if i&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return c.read(jr, in, &fields, i)
	})
	in.Records = int64(len(c.start))
	if err != nil {
		return nil, jr.Describe(err, Format)
	}
	if len(c.start) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: Format, Found: "no request", Want: "records with start_timestamp and end_timestamp"}
	}
	return []*serving.Run{c.run(path)}, nil
}

// read reads one request.
func (c *raw) read(r *jsonscan.Reader, in *serving.Input, fields *flat.Fields, i int) error {
	v := map[string]int64{}
	keys := map[string]bool{}
	line := r.NextLine()
	ok, err := r.Object(func(name string) error {
		f, known := requestNames[name]
		if len(keys) < 64 {
			keys[name] = true
		}
		if i == 0 {
			f.Name, f.How = name, "dialect"
			fields.Add(f)
		}
		if !known {
			return r.Skip()
		}
		s, ok, err := r.Scalar(64)
		if n, is := whole(s); ok && is && n >= 0 {
			v[name] = n
		}
		return err
	})
	if err != nil {
		return err
	}
	at := serving.Pos{Line: line, Row: int64(i + 1)}
	if !ok || !keys["start_timestamp"] || !keys["end_timestamp"] {
		in.Problems.AddKind("no request", serving.Problem{At: at, Message: "no request with start_timestamp and end_timestamp: left out"})
		return nil
	}
	if len(c.start) >= maxRequests {
		return fmt.Errorf("more than %d requests", maxRequests)
	}
	get := func(names ...string) int64 {
		for _, n := range names {
			if x, ok := v[n]; ok {
				return x
			}
		}
		return missing
	}
	start, first, end := get("start_timestamp"), get("first_token_timestamp"), get("end_timestamp")
	if end != missing && start != missing && end < start {
		in.Problems.AddKind("order", serving.Problem{At: at, Message: "end_timestamp is before start_timestamp: its times are taken as missing"})
		end, first = missing, missing
	}
	if first != missing && (first < start || end != missing && first > end) {
		first = missing
	}
	c.start, c.first, c.end = append(c.start, start), append(c.first, first), append(c.end, end)
	c.input = append(c.input, get("num_input_tokens"))
	c.output = append(c.output, get("output_tokens", "num_total_output_tokens", "num_output_tokens"))
	c.failed = append(c.failed, get("error_tokens") > 0)
	return nil
}

// whole reads an integer as it stands: nanoseconds since the epoch do not fit a
// float64.
func whole(s jsonscan.Scalar) (int64, bool) {
	if s.Kind != '0' {
		return 0, false
	}
	if n, err := strconv.ParseInt(s.Text, 10, 64); err == nil {
		return n, true
	}
	f, ok := s.Float()
	return int64(f), ok && f == math.Trunc(f) && math.Abs(f) < 1<<62
}

// run turns the requests into a run.
func (c *raw) run(path string) *serving.Run {
	n := len(c.start)
	r := &serving.Run{Source: serving.Pos{Path: path}, Format: Format, Label: baseLabel(path), Engine: serving.Some("tensorrt-llm"), Notes: []string{inProcess}}
	r.Load.Mode = serving.UnknownLoad
	t := column.NewTable(r.Label, path, serving.Client, n)
	codes := make([]int32, n)
	done := serving.NewBitmap(n)
	var in, out int64
	origin, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range n {
		switch {
		case c.failed[i]:
			codes[i] = int32(serving.Failed)
		case c.end[i] == missing || c.start[i] == missing:
			codes[i] = int32(serving.Incomplete)
		default:
			done.Set(i)
			in += max(c.input[i], 0)
			out += max(c.output[i], 0)
		}
		if c.start[i] != missing {
			origin = min(origin, c.start[i])
		}
		if c.end[i] != missing {
			last = max(last, c.end[i])
		}
	}
	t.Text(serving.Column{Name: serving.ColOutcome, Kind: serving.KindText, From: "error_tokens, end_timestamp", How: "derived"}, codes, serving.NewOutcomeDict(), nil)
	c.arrivals(t, origin)
	counts(t, serving.PromptTokens, "num_input_tokens", c.input)
	counts(t, serving.OutputTokens, "output_tokens", c.output)
	c.times(t, r, done)
	r.Requests = t
	completed := int64(done.Count())
	r.Sent, r.Completed, r.Failed = serving.Some(int64(n)), serving.Some(completed), serving.Some(int64(n)-completed)
	r.Input, r.Output = serving.Some(in), serving.Some(out)
	if last > origin && origin != math.MaxInt64 {
		r.Duration = serving.Some(float64(last-origin) / 1e9)
	}
	c.load(r, origin, last)
	return r
}

// load says that all requests were sent at once where their starts show it.
func (c *raw) load(r *serving.Run, origin, last int64) {
	latest := origin
	for _, s := range c.start {
		if s != missing {
			latest = max(latest, s)
		}
	}
	if last > origin && float64(latest-origin) <= atOnce*float64(last-origin) {
		r.Load = serving.LoadOf(serving.None[int64](), serving.None[float64](), true)
	}
}

// maxSpan bounds the time between two requests of one run, ns: a century.
const maxSpan = 3_000_000_000_000_000_000

func (c *raw) arrivals(t *column.Table, origin int64) {
	values, valid := make([]int64, len(c.start)), serving.NewBitmap(len(c.start))
	for i, s := range c.start {
		if s != missing && s-origin < maxSpan {
			values[i] = s - origin
			valid.Set(i)
		}
	}
	t.Ints(serving.Column{Name: serving.ColArrival, Kind: serving.KindTime, Relative: true, From: "start_timestamp", Unit: "ns", How: "dialect"}, values, valid)
}

func counts(t *column.Table, m serving.MetricKey, from string, from64 []int64) {
	values, valid := make([]int64, len(from64)), serving.NewBitmap(len(from64))
	for i, v := range from64 {
		if v != missing {
			values[i] = v
			valid.Set(i)
		}
	}
	if valid.Count() > 0 {
		t.Ints(serving.Column{Name: string(m), Kind: serving.KindCount, From: from, Unit: "tokens", How: "dialect"}, values, valid)
	}
}

// times adds TTFT, E2E and TPOT, the tool's own definitions in seconds. A first
// token that came with the last one, of all longer answers, was not streamed:
// then there is no TTFT.
func (c *raw) times(t *column.Table, r *serving.Run, done serving.Bitmap) {
	n := len(c.start)
	ttft, e2e, tpot := make([]float64, n), make([]float64, n), make([]float64, n)
	hasTTFT, hasE2E, hasTPOT := serving.NewBitmap(n), serving.NewBitmap(n), serving.NewBitmap(n)
	longer, atEnd := 0, 0
	for i := range n {
		if !done.Get(i) {
			continue
		}
		e2e[i] = float64(c.end[i]-c.start[i]) / 1e9
		hasE2E.Set(i)
		if c.first[i] == missing {
			continue
		}
		ttft[i] = float64(c.first[i]-c.start[i]) / 1e9
		hasTTFT.Set(i)
		if c.output[i] < 2 {
			continue
		}
		longer++
		if c.first[i] == c.end[i] {
			atEnd++
			continue
		}
		tpot[i] = float64(c.end[i]-c.first[i]) / 1e9 / float64(c.output[i]-1)
		hasTPOT.Set(i)
	}
	add := func(m serving.MetricKey, from, how string, v []float64, valid serving.Bitmap) {
		if valid.Count() > 0 {
			t.Floats(serving.Column{Name: string(m), Kind: serving.KindDuration, From: from, Unit: "ns", How: how}, v, valid)
		}
	}
	if longer > 0 && atEnd == longer {
		r.Notes = append(r.Notes, "the first token of every answer came with the last one: not streamed, so that TTFT is left out")
	} else {
		add(serving.TTFT, "start_timestamp, first_token_timestamp", "derived", ttft, hasTTFT)
	}
	add(serving.E2E, "start_timestamp, end_timestamp", "derived", e2e, hasE2E)
	add(serving.TPOT, "first_token_timestamp, end_timestamp, output_tokens", "derived", tpot, hasTPOT)
}

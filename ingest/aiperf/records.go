package aiperf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// Bounds on what a records file may make us remember.
const (
	maxText    = 160     // of an error
	maxID      = 128     // of a request or session
	maxIDs     = 1 << 20 // distinct ids; requests after them have none
	maxReasons = 1000    // distinct error texts
	maxGaps    = 1 << 30 // of a file, so that offsets fit 32 bits
	maxFields  = 1000    // of an input
	checkEvery = 1<<14 - 1
)

// SniffRecords says whether a file is AIPerf's profile_export.jsonl, by the names
// of its first record and the beginning of its text, and why not.
func SniffRecords(keys map[string]bool, head []byte) (ok bool, why string) {
	switch {
	case !keys["metadata"] || !keys["metrics"]:
		return false, `no "metadata" and "metrics" in a record`
	case !hasAny(head, `"benchmark_phase"`, `"credit_phase"`, `"request_start_ns"`, `"x_request_id"`):
		return false, `"metadata" has neither "benchmark_phase" nor "request_start_ns"`
	}
	return true, ""
}

// DecidedRecords says whether these first names already make the decision.
func DecidedRecords(keys map[string]bool) bool { return keys["metadata"] && keys["metrics"] }

// DecodeRecords reads the records of one run, a line a request, into a run with
// a table of requests. Warm-up requests are rows with their phase; counts, tokens
// and duration of the run leave them out.
//
// It fills in Records, Fields and Problems of the input. Damaged records are
// problems; an error means that there was no record at all.
func DecodeRecords(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	d := &recordsDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, seen: map[string]bool{}, rows: newRows()}
	_, _, err := d.r.Records(FormatRecords, &in.Problems, d.record)
	in.Records = int64(d.rows.n)
	if errors.Is(err, errTooManyGaps) {
		in.Problems.Add(serving.Problem{At: serving.Pos{Path: path, Line: d.r.Line()}, Message: err.Error() + ": the records after them are left out"})
		err = nil
	}
	if err != nil {
		return nil, d.r.Describe(err, FormatRecords)
	}
	if d.rows.n == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: FormatRecords, Found: "no request record",
			Want: `lines with "metadata" and "metrics"`}
	}
	return []*serving.Run{d.rows.run(path)}, nil
}

type recordsDecoder struct {
	ctx  context.Context
	path string
	r    *jsonscan.Reader
	in   *serving.Input
	seen map[string]bool
	rows *rows
}

// record reads one record into the next row. A record that is damaged in its
// middle leaves nothing behind.
func (d *recordsDecoder) record(int) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	w := d.rows
	w.cut()
	at := serving.Pos{Path: d.path, Line: d.r.NextLine()}
	var row record
	ok, err := d.r.Object(func(name string) error {
		switch name {
		case "metadata":
			_, err := d.r.Object(func(name string) error { return d.metadata(&row, name) })
			return err
		case "metrics":
			has, err := d.r.Object(func(tag string) error { return d.metric(tag) })
			row.hasMetrics = row.hasMetrics || has
			return err
		case "error":
			return d.failure(&row)
		}
		return d.r.Skip()
	})
	if err != nil {
		return err
	}
	if !ok || !row.hasMetrics && !row.failed {
		d.in.Problems.AddKind("no record", serving.Problem{At: at, Message: `the value is no request record, want an object with "metadata" and "metrics"; left out`})
		return nil
	}
	w.add(&row)
	return nil
}

// A record is what one line says beside what went into columns at once.
type record struct {
	hasMetrics bool
	failed     bool // it has an error
	cancelled  bool
	skipped    bool // never sent: the context would have overflowed
	code       int64
	kind, text string
	correl     string
	conv       string
}

// metadata reads one member of metadata.
func (d *recordsDecoder) metadata(row *record, name string) error {
	w := d.rows
	switch name {
	case "request_start_ns", "timestamp_ns":
		return d.nanos(name, serving.ColArrival, &w.arrival)
	case "request_end_ns":
		return d.nanos(name, serving.ColEnd, &w.end)
	case "x_request_id":
		return d.id(name, serving.ColRequestID, &w.id, w.ids)
	case "x_correlation_id", "conversation_id":
		s, ok, err := d.r.Text(maxID)
		if ok && name[0] == 'x' {
			row.correl = s
		} else if ok {
			row.conv = s
		}
		d.field("metadata."+name, serving.ColSession, "", "dialect")
		return err
	case "benchmark_phase", "credit_phase":
		s, ok, err := d.r.Text(maxID)
		if ok && w.phases.Len() < maxReasons {
			w.phase.set(w.n, w.phases.Code(s))
		}
		d.field("metadata."+name, serving.ColPhase, "", "dialect")
		return err
	case "turn_index":
		v, ok, err := d.r.Float()
		if ok && v >= 0 && v < 1<<31 && v == float64(int64(v)) {
			w.turn.set(w.n, int64(v))
		}
		d.field("metadata."+name, colTurn, "", "dialect")
		return err
	case "was_cancelled", "context_overflow_skip":
		s, ok, err := d.r.Scalar(8)
		if ok && s.Kind == 't' {
			row.cancelled = row.cancelled || name == "was_cancelled"
			row.skipped = row.skipped || name != "was_cancelled"
		}
		d.field("metadata."+name, serving.ColOutcome, "", "dialect")
		return err
	}
	d.field("metadata."+name, "", "", "")
	return d.r.Skip()
}

// colTurn is the turn of a conversation, from 0.
const colTurn = "turn"

// nanos reads an instant in nanoseconds since the epoch. Such a number does not
// fit a float64, so its digits are read as they are.
func (d *recordsDecoder) nanos(name, as string, c *col[int64]) error {
	d.field("metadata."+name, as, "ns", "dialect")
	s, ok, err := d.r.Scalar(32)
	if err != nil || !ok || s.IsNull() {
		return err
	}
	if v, ok := epochNanos(s.Text); ok {
		c.set(d.rows.n, v)
		return nil
	}
	d.in.Problems.AddKind(name, d.r.Problemf("%q is no time in nanoseconds since the epoch; taken as missing", s.Text))
	return nil
}

// epochNanos reads a whole number of nanoseconds, after 2001 and before 2262.
func epochNanos(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f >= 1e18 && f < 9.2e18) {
			return 0, false
		}
		v = int64(f)
	}
	return v, v >= 1e18
}

func (d *recordsDecoder) id(name, as string, c *col[int32], dict *serving.Dict) error {
	d.field("metadata."+name, as, "", "dialect")
	s, ok, err := d.r.Text(maxID)
	if err == nil && ok && s != "" {
		d.rows.intern(c, dict, s)
	}
	return err
}

// failure reads a record's error: null, or {code, type, message}.
func (d *recordsDecoder) failure(row *record) error {
	d.field("error", serving.ColOutcome, "", "dialect")
	switch d.r.Peek() {
	case 'n', 'f':
		return d.r.Skip()
	case '{':
	default:
		row.failed = true
		s, ok, err := d.r.Text(maxText)
		if ok {
			row.text = s
		}
		return err
	}
	row.failed = true
	_, err := d.r.Object(func(name string) error {
		var err error
		switch name {
		case "code":
			v, ok, err := d.r.Float()
			if ok && v >= 0 && v < 1e6 {
				row.code = int64(v)
			}
			return err
		case "type":
			row.kind, _, err = d.r.Text(maxText)
		case "message":
			row.text, _, err = d.r.Text(maxText)
		default:
			err = d.r.Skip()
		}
		return err
	})
	return err
}

// metric reads one {value, unit}.
func (d *recordsDecoder) metric(tag string) error {
	w := d.rows
	switch tagOf(tag) {
	case "time_to_first_token":
		return d.duration(tag, serving.TTFT, &w.ttft)
	case "inter_token_latency":
		return d.duration(tag, serving.TPOT, &w.tpot)
	case "request_latency":
		return d.duration(tag, serving.E2E, &w.e2e)
	case "input_sequence_length", "error_isl":
		return d.count(tag, serving.PromptTokens, &w.prompt)
	case "output_sequence_length":
		return d.count(tag, serving.OutputTokens, &w.output)
	case "usage_prompt_cache_read_tokens":
		return d.count(tag, serving.CachedTokens, &w.cached)
	case "reasoning_token_count":
		return d.count(tag, "reasoning_tokens", &w.reasoning)
	case "inter_chunk_latency":
		return d.gaps(tag)
	case "max_response_timestamp":
		return d.responseTime(tag)
	}
	d.field("metrics."+tag, "", "", "")
	return d.r.Skip()
}

// value reads a {value, unit} object; read reads the value, which stands before
// or after its unit.
func (d *recordsDecoder) value(read func() error) (unit string, err error) {
	_, err = d.r.Object(func(name string) error {
		switch name {
		case "value":
			return read()
		case "unit":
			s, _, err := d.r.Text(32)
			unit = s
			return err
		}
		return d.r.Skip()
	})
	return unit, err
}

// number reads a metric that is one number, in base units. ok is false where it
// is missing or bad; what is bad is a problem.
func (d *recordsDecoder) number(tag, as string, dim dimension) (v float64, ok bool, err error) {
	null := false
	unit, err := d.value(func() error {
		null = d.r.Peek() == 'n'
		v, ok, err = d.r.Float()
		return err
	})
	if err != nil || null {
		return 0, false, err
	}
	d.field("metrics."+tag, as, unit, "sibling")
	per, known := perBase(unit, dim)
	switch {
	case !ok:
		d.in.Problems.AddKind(tag+" number", d.r.Problemf("%s: no number, want one; taken as missing", tag))
	case !known:
		d.in.Problems.AddKind(tag+" unit", d.r.Problemf("%s: unit %q, want %s; taken as missing", tag, unit, dim.want()))
	case !(v >= 0) || v > 1e300:
		d.in.Problems.AddKind(tag+" range", d.r.Problemf("%s: %g, want a number that is not negative and not infinite; taken as missing", tag, v))
	default:
		return v / per, true, nil
	}
	return 0, false, nil
}

func (d *recordsDecoder) duration(tag string, m serving.MetricKey, c *col[float64]) error {
	v, ok, err := d.number(tag, string(m), duration)
	if ok {
		c.set(d.rows.n, v)
	}
	return err
}

func (d *recordsDecoder) count(tag string, m serving.MetricKey, c *col[int64]) error {
	v, ok, err := d.number(tag, string(m), count)
	switch {
	case !ok:
	case v != float64(int64(v)) || v >= 1<<53:
		d.in.Problems.AddKind(tag+" whole", d.r.Problemf("%s: %g, want a whole number; taken as missing", tag, v))
	default:
		c.set(d.rows.n, int64(v))
	}
	return err
}

// responseTime reads the end of a request where the metadata has none: the first
// versions kept it as a metric, in nanoseconds.
func (d *recordsDecoder) responseTime(tag string) error {
	var s jsonscan.Scalar
	unit, err := d.value(func() error {
		var err error
		s, _, err = d.r.Scalar(32)
		return err
	})
	d.field("metrics."+tag, serving.ColEnd, unit, "sibling")
	if v, ok := epochNanos(s.Text); ok && unit == "ns" && err == nil {
		d.rows.end.set(d.rows.n, v)
	}
	return err
}

var errTooManyGaps = errors.New("more than 2^30 gaps between chunks")

// gaps reads the list of gaps between responses.
func (d *recordsDecoder) gaps(tag string) error {
	w := d.rows
	start, bad, list := len(w.gaps), false, false
	unit, err := d.value(func() error {
		var err error
		list, err = d.r.Array(func(i int) error {
			if i&checkEvery == checkEvery && d.ctx.Err() != nil {
				return d.ctx.Err()
			}
			v, ok, err := d.r.Float()
			switch {
			case err != nil:
				return err
			case !ok || !(v >= 0) || v > 1e300:
				bad = true
			case len(w.gaps) >= maxGaps:
				return errTooManyGaps
			default:
				w.addGap(v, d.r.Offset(), d.in.Bytes)
			}
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	d.field("metrics."+tag, string(serving.ITL), unit, "sibling")
	per, known := perBase(unit, duration)
	if !list || bad || !known {
		w.gaps = w.gaps[:start]
		d.in.Problems.AddKind(tag, d.r.Problemf("%s: want a list of numbers that are not negative, in ns, us, ms or sec; taken as missing", tag))
		return nil
	}
	for i := start; i < len(w.gaps); i++ {
		w.gaps[i] /= per
	}
	w.hasGaps = true
	return nil
}

// field notes once what a name was taken for.
func (d *recordsDecoder) field(name, as, unit, how string) {
	if d.seen[name] || len(d.in.Fields) >= maxFields {
		return
	}
	d.seen[name] = true
	if _, ok := d.rows.units[as]; !ok {
		d.rows.units[as] = unit
	}
	d.in.Fields = append(d.in.Fields, serving.Field{Name: name, As: as, Unit: unit, How: how})
}

// reasonOf is an error as one line.
func (row *record) reasonOf() string {
	s := row.text
	if row.kind != "" && s != "" {
		s = row.kind + ": " + s
	} else if s == "" {
		s = row.kind
	}
	if s == "" && row.code != 0 {
		s = fmt.Sprintf("code %d", row.code)
	}
	return jsonscan.Cut(s, maxText)
}

package vllm

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/vreport/vreport/ingest/jsonscan"
	"github.com/vreport/vreport/ingest/serving"
)

// SniffThroughput says whether a record with these names is a result of `vllm
// bench throughput`, and why not.
func SniffThroughput(keys map[string]bool) (ok bool, why string) {
	return hasAll(keys, "elapsed_time", "num_requests", "requests_per_second", "tokens_per_second")
}

// SniffLatency says whether a record with these names is a result of `vllm
// bench latency`, and why not.
func SniffLatency(keys map[string]bool) (ok bool, why string) {
	return hasAll(keys, "avg_latency", "latencies", "percentiles")
}

func hasAll(keys map[string]bool, names ...string) (bool, string) {
	for _, k := range names {
		if !keys[k] {
			return false, fmt.Sprintf("no %q", k)
		}
	}
	return true, ""
}

// DecodeThroughput reads a result of `vllm bench throughput`, a run each record.
//
// It fills in Records, Fields and Problems of the input. An error means that no
// run could be read.
func DecodeThroughput(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	return decodeOffline(ctx, path, r, in, FormatThroughput, SniffThroughput, (*record).throughputRun)
}

// DecodeLatency reads a result of `vllm bench latency`, a run each record. Its
// figures are times of whole batches: see batchLatency.
func DecodeLatency(ctx context.Context, path string, r io.Reader, in *serving.Input) ([]*serving.Run, error) {
	return decodeOffline(ctx, path, r, in, FormatLatency, SniffLatency, (*record).latencyRun)
}

func decodeOffline(ctx context.Context, path string, r io.Reader, in *serving.Input, format string,
	sniff func(map[string]bool) (bool, string), convert func(*record, serving.Pos) *serving.Run) ([]*serving.Run, error) {
	d := &serveDecoder{ctx: ctx, path: path, r: jsonscan.NewReader(path, r), in: in, seen: map[string]bool{}}
	_, d.layout, d.err = d.r.Records(format, &in.Problems, func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := serving.Pos{Path: path, Line: d.r.NextLine(), Field: fmt.Sprintf("[%d]", i)}
		rec := d.newRecord()
		if _, err := d.r.Object(rec.offlineMember); err != nil {
			return err
		}
		if ok, why := sniff(rec.keys); !ok {
			d.why = why
			in.Problems.AddKind("no record", serving.Problem{At: at, Message: "the record is no " + format + " result: " + why + "; left out"})
			return nil
		}
		d.runs = append(d.runs, convert(rec, at))
		return nil
	})
	in.Records = int64(len(d.runs))
	if d.err != nil {
		return nil, d.r.Describe(d.err, format)
	}
	if len(d.runs) == 0 {
		return nil, &serving.FormatError{At: serving.Pos{Path: path}, Format: format, Found: "no result: " + d.why}
	}
	d.place()
	return d.runs, nil
}

func (d *serveDecoder) newRecord() *record {
	return &record{decoder: d, keys: map[string]bool{}, scalars: map[string]jsonscan.Scalar{}, arrays: newArrays()}
}

// offlineMember reads a member of an offline bench's record, whose names mean
// other things than those of a serve result: latencies are a batch each.
func (rec *record) offlineMember(key string) error {
	rec.describe(key, offlineField(key))
	return rec.member(key)
}

// describe tells what a name was taken for, once an input.
func (rec *record) describe(key string, f serving.Field) {
	d := rec.decoder
	if !d.seen[key] && len(d.in.Fields) < maxFields {
		d.seen[key] = true
		d.in.Fields = append(d.in.Fields, f)
	}
}

// throughputRun turns a record into a run: all requests handed to the engine at
// once, in the same process, so there is no arrival, no stream and no TTFT.
func (rec *record) throughputRun(at serving.Pos) *serving.Run {
	r := rec.offlineRun(at, FormatThroughput)
	r.Sent = rec.count("num_requests")
	r.Completed = r.Sent
	if r.Sent.OK {
		r.Failed = serving.Some(int64(0)) // the tool ends without a result where one fails
	}
	if v, ok := rec.number("elapsed_time"); ok && v > 0 {
		r.Duration = serving.Some(v)
	}
	r.Load = serving.LoadOf(serving.None[int64](), serving.None[float64](), true)
	rec.offlineReported(r)
	r.Notes = append(r.Notes, "an offline bench: all requests at once and none streamed, so there are no latencies; tokens/s are prompt and output tokens together")
	return r
}

// latencyRun turns a record into a run.
func (rec *record) latencyRun(at serving.Pos) *serving.Run {
	r := rec.offlineRun(at, FormatLatency)
	times := slices.DeleteFunc(slices.Clone(rec.arrays.numbers[latencies]), math.IsNaN)
	rec.arrays = arrays{}
	if n := len(times); n > 0 {
		r.Settings = append(r.Settings, serving.Setting{Key: "num_iters", Value: fmt.Sprint(n)})
	}
	rec.offlineReported(r)
	for _, key := range rec.order {
		p, ok := strings.CutPrefix(key, "percentiles.")
		s := rec.scalars[key]
		ms, isNum := s.Float()
		q, isP := jsonscan.Scalar{Kind: '"', Text: trimP(p)}.Float()
		if stat, named := percentileName(q); ok && isP && isNum && named && ms-ms == 0 {
			r.Reported = append(r.Reported, serving.Reported{Field: key, Metric: batchLatency, Stat: stat, File: ms, PerBase: 1})
		}
	}
	for _, m := range []struct {
		stat string
		of   func([]float64) float64
	}{{"min", slices.Min[[]float64]}, {"max", slices.Max[[]float64]}} {
		if len(times) > 0 {
			r.Reported = append(r.Reported, serving.Reported{Field: "latencies (" + m.stat + ")", Metric: batchLatency, Stat: m.stat, File: m.of(times), PerBase: 1})
		}
	}
	r.Notes = append(r.Notes, "an offline bench: each time is that of a whole batch until its last request is done, not the E2E of a request")
	return r
}

// offlineRun fills in what both offline benches share.
func (rec *record) offlineRun(at serving.Pos, format string) *serving.Run {
	r := &serving.Run{Source: at, Format: format, Label: baseLabel(rec.decoder.path),
		Model: rec.text("model"), Tokenizer: rec.text("tokenizer")}
	if !r.Model.OK {
		r.Model = rec.text(keyModel)
	}
	for _, key := range rec.order {
		s := rec.scalars[key]
		_, isTotal := offlineTotals[key]
		if isTotal || s.IsNull() || offlineField(key).As != "setting" {
			continue
		}
		r.Settings = append(r.Settings, serving.Setting{Key: key, Value: s.Text})
	}
	facts(r)
	return r
}

func (rec *record) offlineReported(r *serving.Run) {
	for _, key := range rec.order {
		t, ok := offlineTotals[key]
		v, isNum := rec.number(key)
		if ok && isNum {
			r.Reported = append(r.Reported, serving.Reported{Field: key, Metric: t.metric, Stat: offlineStats[key], File: v, PerBase: t.per})
		}
	}
}
